//! Sampling.

use super::content::{ROLES, SAMPLING_BLOCK};
use super::tools::TOOL;
use super::{META, choice, open};
use crate::capability::Capability;
use crate::schema::shape::{Choice, Choices, Field, Record, Shape};
use crate::version::{Revision, RevisionSet};

/// A block or, from 2025-11-25 on, several.
const CONTENT: Field = Field::required(
    "content",
    Shape::OneOrMany { one: &SAMPLING_BLOCK, many: RevisionSet::since(Revision::V2025_11_25) },
);

static MESSAGE: Record = Record::of(&[
    Field::required("role", Shape::OneOf(&ROLES)),
    CONTENT,
    META.since(Revision::V2025_11_25),
]);

pub(crate) static CREATE_MESSAGE: Record = Record::of(&[
    Field::required("messages", Shape::List(&Shape::Record(&MESSAGE))),
    Field::optional("modelPreferences", Shape::Record(&PREFERENCES)),
    Field::optional("systemPrompt", Shape::Text),
    Field::optional("includeContext", Shape::OneOf(&CONTEXTS)),
    Field::optional("temperature", Shape::Number),
    Field::required("maxTokens", Shape::Integer),
    Field::optional("stopSequences", Shape::List(&Shape::Text)),
    Field::optional("metadata", Shape::Object),
    Field::optional("task", Shape::Any).since(Revision::V2025_11_25).before(Revision::V2026_07_28),
    Field::essential("tools", Shape::List(&Shape::Record(&TOOL)))
        .since(Revision::V2025_11_25)
        .gated(Capability::SamplingTools),
    Field::essential("toolChoice", Shape::Record(&TOOL_CHOICE))
        .since(Revision::V2025_11_25)
        .gated(Capability::SamplingTools),
    META,
]);

static PREFERENCES: Record = Record::of(&[
    Field::optional("hints", Shape::List(&Shape::Record(&HINT))),
    Field::optional("costPriority", Shape::Share),
    Field::optional("speedPriority", Shape::Share),
    Field::optional("intelligencePriority", Shape::Share),
]);

static HINT: Record = Record::of(&[Field::optional("name", Shape::Text)]);

/// Context of servers needs a capability only where there is one.
static CONTEXTS: Choices = open(&[
    choice("none"),
    Choice { name: "thisServer", gate: Some(Capability::SamplingContext) },
    Choice { name: "allServers", gate: Some(Capability::SamplingContext) },
]);

static TOOL_CHOICE: Record = Record::of(&[Field::optional(
    "mode",
    Shape::OneOf(&open(&[choice("auto"), choice("required"), choice("none")])),
)]);

pub(crate) static CREATE_MESSAGE_RESULT: Record = Record::of(&[
    Field::required("role", Shape::OneOf(&ROLES)),
    CONTENT,
    Field::required("model", Shape::Text),
    Field::optional("stopReason", Shape::Text),
    META,
]);
