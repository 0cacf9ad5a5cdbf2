//! `TaskUpdate` and its parts: the news of a task of the peer that a call has become.

use alloc::string::String;
use core::fmt;

use crate::handle::CallId;
use crate::json::{Raw, Str};
use crate::model::TaskStatus;

/// What is needed to ask about a task on another connection, or after a crash.
#[derive(Clone, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct TaskTicket {
    /// What the peer calls it. Keep it secret: it may be all that somebody needs to see the result.
    pub task_id: String,
    /// The method of the request that has become the task, which says what its result is.
    pub method: String,
}

impl TaskTicket {
    /// Of a task that is known from elsewhere.
    pub fn new(task_id: impl Into<String>, method: impl Into<String>) -> Self {
        Self { task_id: task_id.into(), method: method.into() }
    }
}

/// Without the id.
impl fmt::Debug for TaskTicket {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("TaskTicket").field("method", &self.method).finish_non_exhaustive()
    }
}

/// A task that a call has become and that this connection does not poll.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct BegunTask<'a> {
    /// To ask about it elsewhere, with `resume_task`.
    pub ticket: TaskTicket,
    /// What is known of it: in a session a [`Task`](crate::model::Task), where there are no sessions what
    /// the extension has for that. `null` if that is nothing.
    pub task: Raw<'a>,
    /// What a session has beside it, if the call has become a task just now: there may be something to
    /// tell a model at once (`io.modelcontextprotocol/model-immediate-response`).
    pub meta: Option<Raw<'a>>,
}

impl BegunTask<'_> {
    /// The same with its own copy of the text.
    pub fn into_owned(self) -> BegunTask<'static> {
        let meta = self.meta.map(Raw::into_owned);
        BegunTask { ticket: self.ticket, task: self.task.into_owned(), meta }
    }
}

/// How far a task is that a call has become.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct TaskUpdate<'a> {
    /// The call.
    pub call: CallId,
    /// To ask about it elsewhere, with `resume_task`: keep it if the task is to survive this process.
    pub ticket: TaskTicket,
    /// How far it is.
    pub status: TaskStatus<'a>,
    /// The same for people.
    pub message: Option<Str<'a>>,
    /// All that the peer says of it.
    pub task: Raw<'a>,
    /// What a session has beside it, if the call has become a task just now: there may be something to
    /// tell a model at once (`io.modelcontextprotocol/model-immediate-response`).
    pub meta: Option<Raw<'a>>,
}

impl TaskUpdate<'_> {
    /// The same with its own copy of the text.
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

/// A call that was cancelled or timed out has become a task after all.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct AbandonedTask {
    /// To ask about it, with `resume_task`.
    pub ticket: TaskTicket,
    /// Whether the peer has been asked to cancel it. If not it goes on until its time is over.
    pub cancelled: bool,
}
