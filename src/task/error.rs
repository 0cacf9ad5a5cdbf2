//! `TaskError`: the errors of commands about tasks.

use super::status::Status;
use crate::dialect::{NotAllowed, RespondError};
use crate::schema::EncodeError;

/// Why something could not be done with a task. Nothing has changed.
///
/// A request that could not become a task is still open: reject it, with
/// [`INTERNAL_ERROR`](crate::ErrorCode::INTERNAL_ERROR) if nothing fits better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum TaskError {
    /// There is no such task, or not any more.
    #[error("no such task")]
    Unknown,
    /// It has ended in this way, which is final. What came too late is lost, as it has to be.
    #[error("the task is {0} already")]
    Final(Status),
    /// Whoever asked for it wants it cancelled, so it cannot ask for anything.
    #[error("the task is to be cancelled")]
    CancelRequested,
    /// The id is empty, or that of another task.
    #[error("the task cannot have this id")]
    BadId,
    /// [`TasksConfig::tasks`](super::TasksConfig::tasks) are there, or
    /// [`TasksConfig::tasks_of_owner`](super::TasksConfig::tasks_of_owner) of this owner.
    #[error("there are too many tasks (TasksConfig::tasks, TasksConfig::tasks_of_owner)")]
    TooManyTasks,
    /// It would take more than [`TasksConfig::bytes`](super::TasksConfig::bytes) together with the other tasks. The task
    /// goes on: it can be failed, or completed with something shorter.
    #[error("too many bytes are kept for tasks (TasksConfig::bytes)")]
    TooManyBytes,
    /// The request may not become a task: it has not asked for that, or where that is not for it to ask
    /// for, it has not said that it knows tasks.
    #[error("this request may not become a task")]
    NotWanted,
    /// A task that asks for a key again, or for more than
    /// [`TasksConfig::inputs`](super::TasksConfig::inputs), or for nothing.
    #[error("the task has asked under this key before, or asks for too much or nothing")]
    BadInput,
    /// What it is to end with is no result: it asks for something.
    #[error("a result that asks for something ends no task")]
    NotAResult,
    /// What it asks for may not be asked for.
    #[error("the task may not ask for this: {0}")]
    NotAllowed(#[from] NotAllowed),
    /// The result, or what is asked for, could not be written.
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
