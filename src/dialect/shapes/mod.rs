//! What params and results look like, in every revision: one table per type of the schemas.
//!
//! A member or a kind that came later says since when it is there. Members that are not named here may
//! be there, too: the schemas are open.

mod completion;
mod content;
mod elicitation;
mod lifecycle;
mod logging;
mod notifications;
mod prompts;
mod resources;
mod roots;
mod sampling;
mod stateless;
mod tasks;
mod tools;

use crate::schema::shape::{Choice, Choices, Field, Record, Shape};
use crate::version::Revision;

pub(crate) use completion::{COMPLETE, COMPLETE_RESULT};
pub(crate) use elicitation::{ELICIT, ELICIT_RESULT, URL_REQUIRED};
pub(crate) use lifecycle::{CLIENT_CAPABILITIES, IMPLEMENTATION, INITIALIZE, INITIALIZE_RESULT};
pub(crate) use logging::{LOG, SET_LEVEL};
pub(crate) use notifications::{CANCELLED, ELICITATION_COMPLETE, PROGRESS, RESOURCE_UPDATED};
pub(crate) use prompts::{GET_PROMPT, GET_PROMPT_RESULT, LIST_PROMPTS_RESULT};
pub(crate) use resources::{
    LIST_RESOURCES_RESULT, LIST_TEMPLATES_RESULT, READ_RESOURCE, READ_RESOURCE_RESULT, URI,
};
pub(crate) use roots::LIST_ROOTS_RESULT;
pub(crate) use sampling::{CREATE_MESSAGE, CREATE_MESSAGE_RESULT};
pub(crate) use stateless::{ACKNOWLEDGED, DISCOVER_RESULT, LISTEN};
pub(crate) use tasks::{CANCEL_TASK_RESULT, LIST_TASKS_RESULT, TASK, TASK_ID, UPDATE_TASK};
pub(crate) use tools::{CALL_TOOL, CALL_TOOL_RESULT, LIST_TOOLS_RESULT};

/// Params or a result without members of their own.
pub(crate) static EMPTY: Record = Record::of(&[META]);

/// Params of the methods that list something.
pub(crate) static PAGE: Record = Record::of(&[Field::optional("cursor", Shape::Text), META]);

/// Metadata of params and results, which every revision has.
const META: Field = Field::optional("_meta", Shape::Object);

/// Metadata of what is in them.
const INNER_META: Field = META.since(Revision::V2025_06_18);

/// For how many milliseconds a result may be used again.
const TTL: Field = Field::optional("ttlMs", Shape::Natural).since(Revision::V2026_07_28);

/// Who may use it again.
const CACHE_SCOPE: Field =
    Field::optional("cacheScope", Shape::Advice(&SCOPE)).since(Revision::V2026_07_28);

static SCOPE: Shape = Shape::OneOf(&open(&[choice("public"), choice("private")]));

/// What the client answers to what it was asked for when it made the request before.
const INPUT_RESPONSES: Field =
    Field::optional("inputResponses", Shape::Map(&Shape::Object)).since(Revision::V2026_07_28);

/// What the server gave the client to bring back with them.
const REQUEST_STATE: Field =
    Field::optional("requestState", Shape::Text).since(Revision::V2026_07_28);

const NEXT_CURSOR: Field = Field::optional("nextCursor", Shape::Text);

const TITLE: Field = Field::optional("title", Shape::Text).since(Revision::V2025_06_18);

const DESCRIPTION: Field = Field::optional("description", Shape::Text);

const ICONS: Field = Field::optional("icons", Shape::List(&AN_ICON)).since(Revision::V2025_11_25);

static AN_ICON: Shape = Shape::Record(&ICON);

static ICON: Record = Record::of(&[
    Field::required("src", Shape::Text),
    Field::optional("mimeType", Shape::Text),
    Field::optional("sizes", Shape::List(&Shape::Text)),
    Field::optional("theme", Shape::OneOf(&open(&[choice("light"), choice("dark")]))),
]);

const fn choice(name: &'static str) -> Choice {
    Choice { name, gate: None }
}

/// Strings that later revisions may add to.
const fn open(choices: &'static [Choice]) -> Choices {
    Choices { choices, open: true }
}

/// Strings of which there are no others.
const fn closed(choices: &'static [Choice]) -> Choices {
    Choices { choices, open: false }
}
