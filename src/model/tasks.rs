//! Messages about tasks of 2025-11-25
//! ([basic/utilities/tasks](https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks)).
//!
//! These are the shapes alone. The machines offer no tasks yet: they declare none, and requests about
//! them are refused.

use serde::{Deserialize, Serialize};

use super::list::List;
use super::open::open_enum;
use super::text::Text;
use crate::json::Raw;

open_enum! {
    /// How far a task is.
    TaskStatus {
        /// It is being worked on.
        Working = "working",
        /// It goes on when the requesting side has answered something.
        InputRequired = "input_required",
        /// It is done, and has a result. Final.
        Completed = "completed",
        /// It is done, and has an error, or a tool result that is one. Final.
        Failed = "failed",
        /// It was cancelled. Final.
        Cancelled = "cancelled",
    }
}

impl TaskStatus<'_> {
    /// Whether nothing comes after it.
    pub const fn is_final(&self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

/// A task: the result of `tasks/get` and `tasks/cancel`, the params of `notifications/tasks/status`,
/// and an element of the lists.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Task<'a> {
    /// Its name, chosen by whoever works on it.
    #[serde(borrow)]
    pub task_id: Text<'a>,
    /// How far it is.
    #[serde(borrow)]
    pub status: TaskStatus<'a>,
    /// The same for people.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub status_message: Option<Text<'a>>,
    /// When it was begun, in the form of ISO 8601.
    #[serde(borrow)]
    pub created_at: Text<'a>,
    /// When it last changed, in the same form.
    #[serde(borrow)]
    pub last_updated_at: Text<'a>,
    /// How many milliseconds after its beginning it may be forgotten. `None` is written as `null`: it
    /// is kept.
    pub ttl: Option<u64>,
    /// How many milliseconds to wait between two questions about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poll_interval: Option<u64>,
    /// Metadata.
    #[serde(borrow, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Raw<'a>>,
}

impl<'a> Task<'a> {
    /// A task that has just been begun.
    pub fn new(task_id: impl Into<Text<'a>>, created_at: impl Into<Text<'a>>) -> Self {
        let created_at = created_at.into();
        Self {
            task_id: task_id.into(),
            status: TaskStatus::Working,
            status_message: None,
            last_updated_at: created_at.clone(),
            created_at,
            ttl: None,
            poll_interval: None,
            meta: None,
        }
    }
}

/// The member `task` of a request that asks for a task instead of a result.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TaskMetadata {
    /// How many milliseconds the task should be kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl: Option<u64>,
}

/// The answer to a request that asked for a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CreateTaskResult<'a> {
    /// The task.
    #[serde(borrow)]
    pub task: Task<'a>,
    /// Metadata.
    #[serde(borrow, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Raw<'a>>,
}

/// The params of `tasks/get`, `tasks/result` and `tasks/cancel`, and the metadata
/// `io.modelcontextprotocol/related-task`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TaskParams<'a> {
    /// The task.
    #[serde(borrow, rename = "taskId")]
    pub task_id: Text<'a>,
    /// Metadata.
    #[serde(borrow, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Raw<'a>>,
}

impl<'a> TaskParams<'a> {
    /// About this task.
    pub fn new(task_id: impl Into<Text<'a>>) -> Self {
        Self { task_id: task_id.into(), meta: None }
    }
}

/// The result of `tasks/list`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ListTasksResult<'a> {
    /// One page of tasks.
    #[serde(borrow)]
    pub tasks: List<'a, Task<'a>>,
    /// Where the next page begins, if there is one.
    #[serde(borrow, rename = "nextCursor", skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<Text<'a>>,
    /// Metadata.
    #[serde(borrow, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Raw<'a>>,
}
