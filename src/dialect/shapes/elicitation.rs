//! Elicitation.

use super::{META, choice, closed, open};
use crate::capability::Capability;
use crate::schema::shape::{Field, Kind, Kinds, Record, Shape};
use crate::version::{Revision, RevisionSet};

const FORMS: Revision = Revision::V2025_06_18;
const URLS: Revision = Revision::V2025_11_25;
const STATELESS: Revision = Revision::V2026_07_28;

pub(crate) static ELICIT: Record = Record::with(
    &[
        Field::optional("mode", Shape::Text).since(URLS),
        Field::required("message", Shape::Text),
        Field::optional("requestedSchema", Shape::Record(&FORM)),
        Field::essential("url", Shape::Uri).since(URLS),
        Field::essential("elicitationId", Shape::Text).since(URLS).before(STATELESS),
        Field::optional("task", Shape::Any).since(Revision::V2025_11_25).before(STATELESS),
        META,
    ],
    Some(Kinds {
        tag: "mode",
        kinds: &[
            Kind::of("form", &["requestedSchema"]).since(FORMS).gated(Capability::ElicitationForm),
            Kind::of("url", &["url", "elicitationId"])
                .since(URLS)
                .gated(Capability::ElicitationUrl),
        ],
        default: Some("form"),
        open: false,
    }),
    &[],
);

/// What a form asks for: an object without depth.
pub(crate) static FORM: Record = Record::of(&[
    Field::required("type", Shape::OneOf(&closed(&[choice("object")]))),
    Field::required("properties", Shape::Map(&Shape::Record(&FIELD))),
    Field::optional("required", Shape::List(&Shape::Text)),
    Field::optional("$schema", Shape::Text).since(URLS),
]);

/// One field of a form.
static FIELD: Record = Record::with(
    &[
        Field::required("type", Shape::Text),
        Field::optional("title", Shape::Text),
        Field::optional("description", Shape::Text),
        Field::optional("default", Shape::Any).since(URLS).in_kind_since("boolean", FORMS),
        Field::optional("minLength", Shape::Integer),
        Field::optional("maxLength", Shape::Integer),
        Field::optional(
            "format",
            Shape::OneOf(&open(&[
                choice("email"),
                choice("uri"),
                choice("date"),
                choice("date-time"),
            ])),
        ),
        Field::optional("pattern", Shape::Text),
        Field::optional("enum", Shape::List(&Shape::Text)),
        Field::optional("enumNames", Shape::List(&Shape::Text)),
        Field::essential("oneOf", Shape::List(&Shape::Record(&OPTION))).since(URLS),
        Field::optional("minimum", Shape::Number),
        Field::optional("maximum", Shape::Number),
        Field::optional("minItems", Shape::Integer),
        Field::optional("maxItems", Shape::Integer),
        Field::optional("items", Shape::Record(&ITEMS)),
    ],
    Some(Kinds {
        tag: "type",
        kinds: &[
            Kind::of("string", &[]),
            Kind::of("number", &[]),
            Kind::of("integer", &[]),
            Kind::of("boolean", &[]),
            Kind::of("array", &["items"]).since(URLS),
        ],
        default: None,
        open: false,
    }),
    &[],
);

static OPTION: Record =
    Record::of(&[Field::required("const", Shape::Text), Field::required("title", Shape::Text)]);

static ITEMS: Record = Record::with(
    &[
        Field::optional("type", Shape::OneOf(&closed(&[choice("string")]))),
        Field::optional("enum", Shape::List(&Shape::Text)),
        Field::optional("anyOf", Shape::List(&Shape::Record(&OPTION))),
    ],
    None,
    &["enum", "anyOf"],
);

pub(crate) static ELICIT_RESULT: Record = Record::of(&[
    Field::required(
        "action",
        Shape::OneOf(&closed(&[choice("accept"), choice("decline"), choice("cancel")])),
    ),
    Field::optional("content", Shape::Map(&Shape::Answer { lists: RevisionSet::since(URLS) })),
    META,
]);

/// The `data` of the error that says which URLs the user has to visit first.
pub(crate) static URL_REQUIRED: Record = Record::of(&[Field::required(
    "elicitations",
    Shape::NonEmpty(&Shape::Record(&URL_ELICITATION)),
)]);

static URL_ELICITATION: Record = Record::of(&[
    Field::required("mode", Shape::OneOf(&closed(&[choice("url")]))),
    Field::required("message", Shape::Text),
    Field::required("url", Shape::Uri),
    Field::required("elicitationId", Shape::Text),
]);
