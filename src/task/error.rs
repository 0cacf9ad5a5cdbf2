//! `TaskError`: the errors of commands about tasks.

use super::status::Status;
use crate::dialect::{NotAllowed, RespondError};
use crate::schema::EncodeError;

/// The reason why a command about a task failed. Nothing has changed.
///
/// A request that could not become a task is still open: reject it, with
/// [`INTERNAL_ERROR`](crate::ErrorCode::INTERNAL_ERROR) if no other code fits better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum TaskError {
    /// The task does not exist, or has been forgotten.
    #[error("no such task")]
    Unknown,
    /// The task has ended with this status, which is final. An outcome that comes later is discarded.
    #[error("the task is {0} already")]
    Final(Status),
    /// The requestor has asked to cancel the task, which still runs, so the task cannot require input. Only if
    /// [`TasksConfig::cancel_at_once`](super::TasksConfig::cancel_at_once) is false.
    #[error("the task is to be cancelled")]
    CancelRequested,
    /// The id is empty, or belongs to another task.
    #[error("the task cannot have this id")]
    BadId,
    /// The limit [`TasksConfig::tasks`](super::TasksConfig::tasks) is reached, or
    /// [`TasksConfig::tasks_of_owner`](super::TasksConfig::tasks_of_owner) for this owner.
    #[error("there are too many tasks (TasksConfig::tasks, TasksConfig::tasks_of_owner)")]
    TooManyTasks,
    /// The command would exceed [`TasksConfig::bytes`](super::TasksConfig::bytes) together with the other tasks. The
    /// task continues: it can fail, or complete with a shorter result.
    #[error("too many bytes are kept for tasks (TasksConfig::bytes)")]
    TooManyBytes,
    /// The request may not become a task: in the legacy era it did not ask for a task, or in the modern era its
    /// client did not declare the tasks extension.
    #[error("this request may not become a task")]
    NotWanted,
    /// The task requires input under a used key, more input than [`TasksConfig::inputs`](super::TasksConfig::inputs),
    /// or none.
    #[error("the task has asked under this key before, or asks for too much or nothing")]
    BadInput,
    /// The value is not a result, because it asks for input.
    #[error("a result that asks for something ends no task")]
    NotAResult,
    /// The task may not require this input, or the revision does not allow the error code.
    #[error("the task may not ask for this: {0}")]
    NotAllowed(#[from] NotAllowed),
    /// The result or the required input could not be written.
    #[error("it could not be written: {0}")]
    Encode(#[from] EncodeError),
    /// The request could not be answered.
    #[error("the request could not be answered: {0}")]
    Respond(RespondError),
}

impl From<RespondError> for TaskError {
    fn from(error: RespondError) -> Self {
        match error {
            RespondError::NotAllowed(reason) => Self::NotAllowed(reason),
            RespondError::Encode(error) => Self::Encode(error),
            error => Self::Respond(error),
        }
    }
}
