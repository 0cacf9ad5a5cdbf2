//! Tasks: of the protocol in 2025-11-25, of an extension from 2026-07-28 on.

use super::{META, NEXT_CURSOR, choice, open};
use crate::schema::shape::{Field, Record, Shape};
use crate::version::Revision;

const SESSIONLESS: Revision = Revision::V2026_07_28;

const ID: Field = Field::required("taskId", Shape::Text);

/// `null` says that it is kept, and some leave it out then.
const KEPT_FOR: Field = Field::optional("ttl", Shape::Any).before(SESSIONLESS);

pub(crate) static TASK_ID: Record = Record::of(&[ID, META]);

pub(crate) static UPDATE_TASK: Record =
    Record::of(&[ID, Field::required("inputResponses", Shape::Map(&Shape::Object)), META]);

pub(crate) static TASK: Record = Record::of(&[
    ID,
    Field::required("status", Shape::OneOf(&STATUS)),
    Field::optional("statusMessage", Shape::Text),
    Field::required("createdAt", Shape::Text),
    Field::required("lastUpdatedAt", Shape::Text),
    KEPT_FOR,
    Field::optional("pollInterval", Shape::Number).before(SESSIONLESS),
    Field::optional("ttlMs", Shape::Any).since(SESSIONLESS),
    Field::optional("pollIntervalMs", Shape::Number).since(SESSIONLESS),
    Field::optional("inputRequests", Shape::Map(&Shape::Object)).since(SESSIONLESS),
    Field::optional("result", Shape::Object).since(SESSIONLESS),
    Field::optional("error", Shape::Object).since(SESSIONLESS),
    META,
]);

/// In a session the task, where there are none a word that it has been heard.
pub(crate) static CANCEL_TASK_RESULT: Record = Record::of(&[
    Field::required("taskId", Shape::Text).before(SESSIONLESS),
    Field::required("status", Shape::OneOf(&STATUS)).before(SESSIONLESS),
    Field::optional("statusMessage", Shape::Text).before(SESSIONLESS),
    Field::required("createdAt", Shape::Text).before(SESSIONLESS),
    Field::required("lastUpdatedAt", Shape::Text).before(SESSIONLESS),
    KEPT_FOR,
    Field::optional("pollInterval", Shape::Number).before(SESSIONLESS),
    META,
]);

pub(crate) static LIST_TASKS_RESULT: Record =
    Record::of(&[Field::required("tasks", Shape::List(&Shape::Record(&TASK))), NEXT_CURSOR, META]);

static STATUS: crate::schema::shape::Choices = open(&[
    choice("working"),
    choice("input_required"),
    choice("completed"),
    choice("failed"),
    choice("cancelled"),
]);
