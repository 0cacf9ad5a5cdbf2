//! Completion of arguments.

use super::{META, TITLE};
use crate::schema::shape::{Field, Kind, Kinds, Record, Shape};
use crate::version::Revision;

/// How many proposals there may be at once.
const MOST_VALUES: usize = 100;

pub(crate) static COMPLETE: Record = Record::of(&[
    Field::required("ref", Shape::Record(&REFERENCE)),
    Field::required("argument", Shape::Record(&ARGUMENT)),
    Field::optional("context", Shape::Record(&CONTEXT)).since(Revision::V2025_06_18),
    META,
]);

static REFERENCE: Record = Record::with(
    &[
        Field::required("type", Shape::Text),
        Field::optional("name", Shape::Text),
        TITLE,
        Field::optional("uri", Shape::Text),
    ],
    Some(Kinds {
        tag: "type",
        kinds: &[Kind::of("ref/prompt", &["name"]), Kind::of("ref/resource", &["uri"])],
        default: None,
        open: false,
    }),
    &[],
);

static ARGUMENT: Record =
    Record::of(&[Field::required("name", Shape::Text), Field::required("value", Shape::Text)]);

static CONTEXT: Record = Record::of(&[Field::optional("arguments", Shape::Map(&Shape::Text))]);

pub(crate) static COMPLETE_RESULT: Record =
    Record::of(&[Field::required("completion", Shape::Record(&COMPLETION)), META]);

static COMPLETION: Record = Record::of(&[
    Field::required("values", Shape::ListUpTo(MOST_VALUES, &Shape::Text)),
    Field::optional("total", Shape::Integer),
    Field::optional("hasMore", Shape::Boolean),
]);
