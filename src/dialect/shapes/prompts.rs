//! Prompts.

use super::content::{BLOCK, ROLES};
use super::{
    CACHE_SCOPE, DESCRIPTION, ICONS, INNER_META, INPUT_RESPONSES, META, NEXT_CURSOR, REQUEST_STATE,
    TITLE, TTL,
};
use crate::schema::shape::{Field, Record, Shape};

static PROMPT: Record = Record::of(&[
    Field::required("name", Shape::Text),
    TITLE,
    DESCRIPTION,
    Field::optional("arguments", Shape::List(&Shape::Record(&ARGUMENT))),
    ICONS,
    INNER_META,
]);

static ARGUMENT: Record = Record::of(&[
    Field::required("name", Shape::Text),
    TITLE,
    DESCRIPTION,
    Field::optional("required", Shape::Boolean),
]);

static MESSAGE: Record = Record::of(&[
    Field::required("role", Shape::OneOf(&ROLES)),
    Field::required("content", Shape::Record(&BLOCK)),
]);

pub(crate) static LIST_PROMPTS_RESULT: Record = Record::of(&[
    Field::required("prompts", Shape::List(&Shape::Record(&PROMPT))),
    NEXT_CURSOR,
    TTL,
    CACHE_SCOPE,
    META,
]);

pub(crate) static GET_PROMPT: Record = Record::of(&[
    Field::required("name", Shape::Text),
    Field::optional("arguments", Shape::Map(&Shape::Text)),
    INPUT_RESPONSES,
    REQUEST_STATE,
    META,
]);

pub(crate) static GET_PROMPT_RESULT: Record = Record::of(&[
    DESCRIPTION,
    Field::required("messages", Shape::List(&Shape::Record(&MESSAGE))),
    META,
]);
