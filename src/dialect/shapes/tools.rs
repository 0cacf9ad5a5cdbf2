//! The shapes of tools: lists of them, their schemas, and calling one.

use super::content::{BLOCK, STRUCTURED};
use super::{
    CACHE_SCOPE, DESCRIPTION, ICONS, INNER_META, INPUT_RESPONSES, META, NEXT_CURSOR, REQUEST_STATE,
    TITLE, TTL, choice, closed, open,
};
use crate::schema::shape::{Field, Record, Shape, Widened};
use crate::version::{Revision, RevisionSet};

pub(super) static TOOL: Record = Record::of(&[
    Field::required("name", Shape::Text),
    TITLE,
    DESCRIPTION,
    Field::required("inputSchema", Shape::Widened(&INPUT_SCHEMA)),
    Field::fitting("outputSchema", Shape::Widened(&OUTPUT_SCHEMA)).since(Revision::V2025_06_18),
    Field::optional("annotations", Shape::Record(&ANNOTATIONS)).since(Revision::V2025_03_26),
    Field::optional("execution", Shape::Record(&EXECUTION))
        .since(Revision::V2025_11_25)
        .before(Revision::V2026_07_28),
    ICONS,
    INNER_META,
]);

/// A JSON Schema of an object, of which any keyword may be used since 2026-07-28.
static INPUT_SCHEMA: Widened = Widened {
    widened: RevisionSet::STATELESS,
    before: Shape::Record(&OBJECT_SCHEMA),
    after: Shape::Record(&ANY_OBJECT_SCHEMA),
};

/// The same of anything.
static OUTPUT_SCHEMA: Widened = Widened {
    widened: RevisionSet::STATELESS,
    before: Shape::Record(&OBJECT_SCHEMA),
    after: Shape::Record(&ANY_SCHEMA),
};

static ANY_OBJECT_SCHEMA: Record = Record::of(&[TYPE, DIALECT]);

static ANY_SCHEMA: Record = Record::of(&[DIALECT]);

const DIALECT: Field = Field::optional("$schema", Shape::Advice(&Shape::Text));

const TYPE: Field = Field::required("type", Shape::OneOf(&closed(&[choice("object")])));

static OBJECT_SCHEMA: Record = Record::of(&[
    TYPE,
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

pub(crate) static LIST_TOOLS_RESULT: Record = Record::of(&[
    Field::required("tools", Shape::List(&Shape::Record(&TOOL))),
    NEXT_CURSOR,
    TTL,
    CACHE_SCOPE,
    META,
]);

pub(crate) static CALL_TOOL: Record = Record::of(&[
    Field::required("name", Shape::Text),
    Field::optional("arguments", Shape::Object),
    Field::optional("task", Shape::Any).since(Revision::V2025_11_25).before(Revision::V2026_07_28),
    INPUT_RESPONSES,
    REQUEST_STATE,
    META,
]);

pub(crate) static CALL_TOOL_RESULT: Record = Record::of(&[
    Field::required("content", Shape::List(&Shape::Record(&BLOCK))),
    STRUCTURED.since(Revision::V2025_06_18),
    Field::optional("isError", Shape::Boolean),
    META,
]);
