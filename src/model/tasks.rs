//! Messages about tasks: of 2025-11-25
//! ([basic/utilities/tasks](https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks)),
//! and of the extension `io.modelcontextprotocol/tasks` from 2026-07-28 on.
//!
//! [`task`](crate::task) writes and reads them by itself; these are for those who do without it.

use serde::{Deserialize, Serialize};

use super::input::InputRequest;
use super::list::List;
use super::map::Map;
use super::open::open_enum;
use super::text::Text;
use crate::json::Raw;

/// The extension by which tasks are had where there are no sessions (from 2026-07-28 on). Both sides
/// declare it among the extensions of their capabilities.
pub const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

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
#[doc(alias = "notifications/tasks/status")]
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
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
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::object))]
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct TaskMetadata {
    /// How many milliseconds the task should be kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl: Option<u64>,
}

/// The answer to a request that asked for a task.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct CreateTaskResult<'a> {
    /// The task.
    #[serde(borrow)]
    pub task: Task<'a>,
    /// Metadata.
    #[serde(borrow, rename = "_meta", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::object))]
    pub meta: Option<Raw<'a>>,
}

/// The params of `tasks/get`, `tasks/result` and `tasks/cancel`, and the metadata
/// `io.modelcontextprotocol/related-task`.
#[doc(alias("tasks/get", "tasks/result", "tasks/cancel", "RelatedTaskMetadata"))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct TaskParams<'a> {
    /// The task.
    #[serde(borrow, rename = "taskId")]
    pub task_id: Text<'a>,
    /// Metadata.
    #[serde(borrow, rename = "_meta", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::object))]
    pub meta: Option<Raw<'a>>,
}

impl<'a> TaskParams<'a> {
    /// About this task.
    pub fn new(task_id: impl Into<Text<'a>>) -> Self {
        Self { task_id: task_id.into(), meta: None }
    }
}

/// The result of `tasks/list`.
#[doc(alias = "tasks/list")]
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
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
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::object))]
    pub meta: Option<Raw<'a>>,
}

/// A task as the extension has it (from 2026-07-28 on): the answer to a request that has become one, the
/// result of `tasks/get`, and the params of `notifications/tasks`.
///
/// What it asks for and what came of it are there if its status says so, and never in the answer to a
/// request that has become a task.
#[doc(alias = "notifications/tasks")]
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct DetailedTask<'a> {
    /// Its name, chosen by the server.
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
    pub ttl_ms: Option<u64>,
    /// How many milliseconds to wait between two questions about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poll_interval_ms: Option<u64>,
    /// What it asks for, if it requires input, by keys of its choice.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub input_requests: Option<Map<'a, InputRequest<'a>>>,
    /// What the request would have been answered with, if it is completed.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::object))]
    pub result: Option<Raw<'a>>,
    /// The error that the request would have been answered with, if it has failed.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::object))]
    pub error: Option<Raw<'a>>,
    /// Metadata.
    #[serde(borrow, rename = "_meta", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::object))]
    pub meta: Option<Raw<'a>>,
}

/// The params of `tasks/update` (from 2026-07-28 on).
#[doc(alias = "tasks/update")]
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct UpdateTaskParams<'a> {
    /// The task.
    #[serde(borrow, rename = "taskId")]
    pub task_id: Text<'a>,
    /// An answer under each key: the result of what was asked for there.
    #[doc(alias = "inputResponses")]
    #[serde(borrow, rename = "inputResponses")]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::object))]
    pub inputs: Map<'a, Raw<'a>>,
    /// Metadata.
    #[serde(borrow, rename = "_meta", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::object))]
    pub meta: Option<Raw<'a>>,
}

impl<'a> UpdateTaskParams<'a> {
    /// Answers to what this task asks for.
    pub fn new(task_id: impl Into<Text<'a>>, inputs: Map<'a, Raw<'a>>) -> Self {
        Self { task_id: task_id.into(), inputs, meta: None }
    }
}
