//! The shapes of content: blocks, and the fields and records inside them that resources, prompts, tools and sampling
//! share. The files of these name this one, never the other way round.

use super::{DESCRIPTION, ICONS, INNER_META, TITLE, choice, open};
use crate::schema::shape::{Choices, Field, Kind, Kinds, Record, Shape, Widened};
use crate::version::{Revision, RevisionSet};

pub(super) static ROLES: Choices = open(&[choice("user"), choice("assistant")]);

static ANNOTATIONS: Record = Record::of(&[
    Field::optional("audience", Shape::List(&Shape::OneOf(&ROLES))),
    Field::optional("priority", Shape::Share),
    Field::optional("lastModified", Shape::Text).since(Revision::V2025_06_18),
]);

pub(super) const ANNOTATED: Field = Field::optional("annotations", Shape::Record(&ANNOTATIONS));

pub(super) const MIME_TYPE: Field = Field::optional("mimeType", Shape::Text);

pub(super) static RESOURCE_CONTENTS: Record = Record::with(
    &[
        Field::required("uri", Shape::Text),
        MIME_TYPE,
        Field::optional("text", Shape::Text),
        Field::optional("blob", Shape::Base64),
        INNER_META,
    ],
    None,
    &["text", "blob"],
);

/// The structured content of the result of a tool: an object, since 2026-07-28 any value.
pub(super) const STRUCTURED: Field = Field::fitting(
    "structuredContent",
    Shape::Widened(&Widened {
        widened: RevisionSet::STATELESS,
        before: Shape::Object,
        after: Shape::Any,
    }),
);

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
