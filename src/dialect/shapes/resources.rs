//! The shapes of resources: lists of them, templates, and reading one.

use super::content::{ANNOTATED, MIME_TYPE, RESOURCE_CONTENTS};
use super::{
    CACHE_SCOPE, DESCRIPTION, ICONS, INNER_META, INPUT_RESPONSES, META, NEXT_CURSOR, REQUEST_STATE,
    TITLE, TTL,
};
use crate::schema::shape::{Field, Record, Shape};

static RESOURCE: Record = Record::of(&[
    Field::required("uri", Shape::Text),
    Field::required("name", Shape::Text),
    TITLE,
    DESCRIPTION,
    MIME_TYPE,
    Field::optional("size", Shape::Natural),
    ANNOTATED,
    ICONS,
    INNER_META,
]);

static TEMPLATE: Record = Record::of(&[
    Field::required("uriTemplate", Shape::Text),
    Field::required("name", Shape::Text),
    TITLE,
    DESCRIPTION,
    MIME_TYPE,
    ANNOTATED,
    ICONS,
    INNER_META,
]);

/// Params that name one resource.
pub(crate) static READ_RESOURCE: Record =
    Record::of(&[Field::required("uri", Shape::Text), INPUT_RESPONSES, REQUEST_STATE, META]);

pub(crate) static URI: Record = Record::of(&[Field::required("uri", Shape::Text), META]);

pub(crate) static LIST_RESOURCES_RESULT: Record = Record::of(&[
    Field::required("resources", Shape::List(&Shape::Record(&RESOURCE))),
    NEXT_CURSOR,
    TTL,
    CACHE_SCOPE,
    META,
]);

pub(crate) static LIST_TEMPLATES_RESULT: Record = Record::of(&[
    Field::required("resourceTemplates", Shape::List(&Shape::Record(&TEMPLATE))),
    NEXT_CURSOR,
    TTL,
    CACHE_SCOPE,
    META,
]);

pub(crate) static READ_RESOURCE_RESULT: Record = Record::of(&[
    Field::required("contents", Shape::List(&Shape::Record(&RESOURCE_CONTENTS))),
    TTL,
    CACHE_SCOPE,
    META,
]);
