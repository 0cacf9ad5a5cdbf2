//! `TaskUpdate` and its parts: the events about a task of the peer that a call has become.

use alloc::string::String;
use core::fmt;

use crate::handle::CallId;
use crate::json::{Raw, Str};
use crate::model::TaskStatus;

/// The data needed to poll a task on another connection, or after a crash.
#[derive(Clone, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct TaskTicket {
    /// The task id of the peer. Keep it secret: the id alone may give access to the result.
    pub task_id: String,
    /// The method of the request that has become the task. It determines the type of the result.
    pub method: String,
}

impl TaskTicket {
    /// Creates the ticket of a task that is known from elsewhere.
    pub fn new(task_id: impl Into<String>, method: impl Into<String>) -> Self {
        Self { task_id: task_id.into(), method: method.into() }
    }
}

/// Leaves out the id.
impl fmt::Debug for TaskTicket {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("TaskTicket").field("method", &self.method).finish_non_exhaustive()
    }
}

/// A task that a call has become and that this connection does not poll.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct BegunTask<'a> {
    /// The ticket, to poll the task elsewhere with `resume_task`.
    pub ticket: TaskTicket,
    /// The latest known status: a [`Task`](crate::model::Task) in a session, and the task object of the extension in
    /// the modern era. `null` if none is known.
    pub task: Raw<'a>,
    /// The `_meta` of the legacy response that has just turned the call into a task. It may contain a text to pass to
    /// a model at once (`io.modelcontextprotocol/model-immediate-response`).
    pub meta: Option<Raw<'a>>,
}

impl BegunTask<'_> {
    /// Converts into a value that owns its text.
    pub fn into_owned(self) -> BegunTask<'static> {
        let meta = self.meta.map(Raw::into_owned);
        BegunTask { ticket: self.ticket, task: self.task.into_owned(), meta }
    }
}

/// The status of a task that a call has become.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct TaskUpdate<'a> {
    /// The call.
    pub call: CallId,
    /// The ticket, to poll the task elsewhere with `resume_task`. Keep it if the task is to survive this process.
    pub ticket: TaskTicket,
    /// The status of the task.
    pub status: TaskStatus<'a>,
    /// The human-readable status message.
    pub message: Option<Str<'a>>,
    /// The complete task object of the peer.
    pub task: Raw<'a>,
    /// The `_meta` of the legacy response that has just turned the call into a task. It may contain a text to pass to
    /// a model at once (`io.modelcontextprotocol/model-immediate-response`).
    pub meta: Option<Raw<'a>>,
}

impl TaskUpdate<'_> {
    /// Converts into an event that owns its text.
    pub fn into_owned(self) -> TaskUpdate<'static> {
        let status = TaskStatus::from(crate::model::Text::from(String::from(self.status.as_str())));
        TaskUpdate {
            call: self.call,
            ticket: self.ticket,
            status,
            message: self.message.map(Str::into_owned),
            task: self.task.into_owned(),
            meta: self.meta.map(Raw::into_owned),
        }
    }
}

/// The event that a call which was cancelled or timed out has become a task after all.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct AbandonedTask {
    /// The ticket, to poll the task with `resume_task`.
    pub ticket: TaskTicket,
    /// Whether the peer was asked to cancel the task. Otherwise the task continues until its lifetime ends.
    pub cancelled: bool,
}
