//! The handshake.

use super::{DESCRIPTION, ICONS, META, TITLE};
use crate::schema::shape::{Field, Record, Shape};
use crate::version::Revision;

pub(crate) static IMPLEMENTATION: Record = Record::of(&[
    Field::required("name", Shape::Text),
    TITLE,
    Field::required("version", Shape::Text),
    DESCRIPTION.since(Revision::V2025_11_25),
    ICONS,
    Field::optional("websiteUrl", Shape::Text).since(Revision::V2025_11_25),
]);

const EXPERIMENTAL: Field = Field::optional("experimental", Shape::Map(&Shape::Object));

/// One whose settings are no object is not supported, and nothing else is wrong.
const EXTENSIONS: Field = Field::optional("extensions", Shape::Map(&Shape::Advice(&Shape::Object)))
    .since(Revision::V2026_07_28);

/// Where there are no sessions it is an extension.
const TASKS: Field = Field::optional("tasks", Shape::Object)
    .since(Revision::V2025_11_25)
    .before(Revision::V2026_07_28);

const LIST_CHANGED: Field = Field::optional("listChanged", Shape::Boolean);

static LISTED: Record = Record::of(&[LIST_CHANGED]);

pub(crate) static CLIENT_CAPABILITIES: Record = Record::of(&[
    Field::optional("roots", Shape::Record(&ROOTS)),
    Field::optional("sampling", Shape::Record(&SAMPLING)),
    Field::optional("elicitation", Shape::Record(&ELICITATION)).since(Revision::V2025_06_18),
    TASKS,
    EXPERIMENTAL,
    EXTENSIONS,
]);

static ROOTS: Record = Record::of(&[LIST_CHANGED.before(Revision::V2026_07_28)]);

static SAMPLING: Record = Record::of(&[
    Field::optional("context", Shape::Object).since(Revision::V2025_11_25),
    Field::optional("tools", Shape::Object).since(Revision::V2025_11_25),
]);

static ELICITATION: Record = Record::of(&[
    Field::optional("form", Shape::Object).since(Revision::V2025_11_25),
    Field::optional("url", Shape::Object).since(Revision::V2025_11_25),
]);

pub(super) static SERVER_CAPABILITIES: Record = Record::of(&[
    Field::optional("tools", Shape::Record(&LISTED)),
    Field::optional("resources", Shape::Record(&RESOURCES)),
    Field::optional("prompts", Shape::Record(&LISTED)),
    Field::optional("completions", Shape::Object).since(Revision::V2025_03_26),
    Field::optional("logging", Shape::Object),
    TASKS,
    EXPERIMENTAL,
    EXTENSIONS,
]);

static RESOURCES: Record =
    Record::of(&[Field::optional("subscribe", Shape::Boolean), LIST_CHANGED]);

pub(crate) static INITIALIZE: Record = Record::of(&[
    Field::required("protocolVersion", Shape::Text),
    Field::required("capabilities", Shape::Record(&CLIENT_CAPABILITIES)),
    Field::required("clientInfo", Shape::Record(&IMPLEMENTATION)),
    META,
]);

pub(crate) static INITIALIZE_RESULT: Record = Record::of(&[
    Field::required("protocolVersion", Shape::Text),
    Field::required("capabilities", Shape::Record(&SERVER_CAPABILITIES)),
    Field::required("serverInfo", Shape::Record(&IMPLEMENTATION)),
    Field::optional("instructions", Shape::Text),
    META,
]);
