//! Tools.

use super::content::BLOCK;
use super::{DESCRIPTION, ICONS, INNER_META, META, NEXT_CURSOR, TITLE, choice, closed, open};
use crate::json::shape::{Field, Record, Shape};
use crate::version::Revision;

pub(super) static TOOL: Record = Record::of(&[
    Field::required("name", Shape::Text),
    TITLE,
    DESCRIPTION,
    Field::required("inputSchema", Shape::Record(&OBJECT_SCHEMA)),
    Field::optional("outputSchema", Shape::Record(&OBJECT_SCHEMA)).since(Revision::V2025_06_18),
    Field::optional("annotations", Shape::Record(&ANNOTATIONS)).since(Revision::V2025_03_26),
    Field::optional("execution", Shape::Record(&EXECUTION)).since(Revision::V2025_11_25),
    ICONS,
    INNER_META,
]);

/// A JSON Schema of an object.
static OBJECT_SCHEMA: Record = Record::of(&[
    Field::required("type", Shape::OneOf(&closed(&[choice("object")]))),
    Field::optional("properties", Shape::Map(&Shape::Object)),
    Field::optional("required", Shape::List(&Shape::Text)),
    Field::optional("$schema", Shape::Text),
]);

static ANNOTATIONS: Record = Record::of(&[
    Field::optional("title", Shape::Text),
    Field::optional("readOnlyHint", Shape::Boolean),
    Field::optional("destructiveHint", Shape::Boolean),
    Field::optional("idempotentHint", Shape::Boolean),
    Field::optional("openWorldHint", Shape::Boolean),
]);

static EXECUTION: Record = Record::of(&[Field::optional(
    "taskSupport",
    Shape::OneOf(&open(&[choice("forbidden"), choice("optional"), choice("required")])),
)]);

pub(crate) static LIST_TOOLS_RESULT: Record =
    Record::of(&[Field::required("tools", Shape::List(&Shape::Record(&TOOL))), NEXT_CURSOR, META]);

pub(crate) static CALL_TOOL: Record = Record::of(&[
    Field::required("name", Shape::Text),
    Field::optional("arguments", Shape::Object),
    Field::optional("task", Shape::Any).since(Revision::V2025_11_25),
    META,
]);

pub(crate) static CALL_TOOL_RESULT: Record = Record::of(&[
    Field::required("content", Shape::List(&Shape::Record(&BLOCK))),
    Field::optional("structuredContent", Shape::Object).since(Revision::V2025_06_18),
    Field::optional("isError", Shape::Boolean),
    META,
]);
