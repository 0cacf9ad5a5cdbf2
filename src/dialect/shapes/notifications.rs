//! Params of notifications that have no family of their own.

use super::META;
use crate::schema::shape::{Field, Record, Shape};
use crate::version::Revision;

/// The id is a string or an integer; both sides look at it by themselves.
pub(crate) static CANCELLED: Record = Record::of(&[
    Field::optional("requestId", Shape::Any),
    Field::optional("reason", Shape::Text),
    META,
]);

/// So is the token.
pub(crate) static PROGRESS: Record = Record::of(&[
    Field::required("progressToken", Shape::Any),
    Field::required("progress", Shape::Number),
    Field::optional("total", Shape::Number),
    Field::optional("message", Shape::Text).since(Revision::V2025_03_26),
    META,
]);

pub(crate) static RESOURCE_UPDATED: Record =
    Record::of(&[Field::required("uri", Shape::Text), META]);

pub(crate) static ELICITATION_COMPLETE: Record =
    Record::of(&[Field::required("elicitationId", Shape::Text), META]);
