//! Logging.

use super::{META, choice, closed};
use crate::schema::shape::{Choices, Field, Record, Shape};

static LEVELS: Choices = closed(&[
    choice("debug"),
    choice("info"),
    choice("notice"),
    choice("warning"),
    choice("error"),
    choice("critical"),
    choice("alert"),
    choice("emergency"),
]);

pub(crate) static SET_LEVEL: Record =
    Record::of(&[Field::required("level", Shape::OneOf(&LEVELS)), META]);

pub(crate) static LOG: Record = Record::of(&[
    Field::required("level", Shape::OneOf(&LEVELS)),
    Field::optional("logger", Shape::Text),
    Field::required("data", Shape::Any),
    META,
]);
