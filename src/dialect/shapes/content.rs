//! Content blocks and what goes with them.

use super::resources::RESOURCE_CONTENTS;
use super::tools::STRUCTURED;
use super::{DESCRIPTION, ICONS, INNER_META, TITLE, choice, open};
use crate::json::shape::{Choices, Field, Kind, Kinds, Record, Shape};
use crate::version::Revision;

pub(super) static ROLES: Choices = open(&[choice("user"), choice("assistant")]);

static ANNOTATIONS: Record = Record::of(&[
    Field::optional("audience", Shape::List(&Shape::OneOf(&ROLES))),
    Field::optional("priority", Shape::Share),
    Field::optional("lastModified", Shape::Text).since(Revision::V2025_06_18),
]);

pub(super) const ANNOTATED: Field = Field::optional("annotations", Shape::Record(&ANNOTATIONS));

const TEXT: Kind = Kind::of("text", &["text"]);
const IMAGE: Kind = Kind::of("image", &["data", "mimeType"]);
const AUDIO: Kind = Kind::of("audio", &["data", "mimeType"]).since(Revision::V2025_03_26);

/// What tools return and prompts are made of.
pub(super) static BLOCK: Record = Record::with(
    &[
        Field::required("type", Shape::Text),
        Field::optional("text", Shape::Text),
        Field::optional("data", Shape::Base64),
        Field::optional("mimeType", Shape::Text),
        ANNOTATED,
        INNER_META,
        Field::optional("resource", Shape::Record(&RESOURCE_CONTENTS)),
        Field::optional("uri", Shape::Text),
        Field::optional("name", Shape::Text),
        TITLE,
        DESCRIPTION,
        Field::optional("size", Shape::Natural),
        ICONS,
    ],
    Some(Kinds {
        tag: "type",
        kinds: &[
            TEXT,
            IMAGE,
            AUDIO,
            Kind::of("resource", &["resource"]),
            Kind::of("resource_link", &["uri", "name"]).since(Revision::V2025_06_18),
        ],
        default: None,
        open: true,
    }),
    &[],
);

/// What messages to and from a model are made of.
pub(super) static SAMPLING_BLOCK: Record = Record::with(
    &[
        Field::required("type", Shape::Text),
        Field::optional("text", Shape::Text),
        Field::optional("data", Shape::Base64),
        Field::optional("mimeType", Shape::Text),
        ANNOTATED,
        INNER_META,
        Field::optional("id", Shape::Text),
        Field::optional("name", Shape::Text),
        Field::optional("input", Shape::Object),
        Field::optional("toolUseId", Shape::Text),
        Field::optional("content", Shape::List(&Shape::Record(&BLOCK))),
        STRUCTURED,
        Field::optional("isError", Shape::Boolean),
    ],
    Some(Kinds {
        tag: "type",
        kinds: &[
            TEXT,
            IMAGE,
            AUDIO,
            Kind::of("tool_use", &["id", "name", "input"]).since(Revision::V2025_11_25),
            Kind::of("tool_result", &["toolUseId", "content"]).since(Revision::V2025_11_25),
        ],
        default: None,
        open: true,
    }),
    &[],
);
