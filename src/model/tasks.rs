//! Messages about tasks: of 2025-11-25
//! ([basic/utilities/tasks](https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks)),
//! and of the extension `io.modelcontextprotocol/tasks` from 2026-07-28 on.
//!
//! [`task`](crate::task) writes and reads them by itself; these are for those who do without it.

use super::input::InputRequest;
use super::list::List;
use super::map::Map;
use super::open::open_enum;
use super::text::Text;
use crate::json::Raw;
use crate::schema::merge::{count_members, merge_members};
use crate::schema::shape::{Field, Record};
use crate::version::Revision;

/// The extension by which tasks are had where there are no sessions (from 2026-07-28 on). Both sides
/// declare it among the extensions of their capabilities.
pub const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

open_enum! {
    /// How far a task is.
    TaskStatus {
        /// It is being worked on.
        Working = "working";
        /// It goes on when the requesting side has answered something.
        InputRequired = "input_required";
        /// It is done, and has a result. Final.
        Completed = "completed";
        /// It is done, and has an error, or a tool result that is one. Final.
        Failed = "failed";
        /// It was cancelled. Final.
        Cancelled = "cancelled";
    }
}

impl TaskStatus<'_> {
    /// Whether nothing comes after it.
    pub const fn is_final(&self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

record! {
    /// A task: the result of `tasks/get` and `tasks/cancel`, the params of `notifications/tasks/status`,
    /// and an element of the lists.
    #[doc(alias = "notifications/tasks/status")]
    #![record = &TASK]
    pub struct Task<'a> {
        /// Its name, chosen by whoever works on it.
        pub task_id: Text<'a> = "taskId";
        /// How far it is.
        pub status: TaskStatus<'a> = "status";
        /// The same for people.
        pub status_message: Option<Text<'a>> = "statusMessage";
        /// When it was begun, in the form of ISO 8601.
        pub created_at: Text<'a> = "createdAt";
        /// When it last changed, in the same form.
        pub last_updated_at: Text<'a> = "lastUpdatedAt";
        /// How many milliseconds after its beginning it may be forgotten. `None` is written as `null`: it
        /// is kept.
        pub ttl: Option<u64> = "ttl" as OrNull, before V2026_07_28;
        /// How many milliseconds to wait between two questions about it.
        pub poll_interval: Option<u64> = "pollInterval" as Numeric, before V2026_07_28;
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object;
    }
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

plain_record! {
    /// The member `task` of a request that asks for a task instead of a result.
    pub struct TaskMetadata {
        /// How many milliseconds the task should be kept.
        pub ttl: Option<u64> = "ttl";
    }
}

record! {
    /// The answer to a request that asked for a task.
    pub struct CreateTaskResult<'a> {
        /// The task.
        pub task: Task<'a> = "task";
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object;
    }
}

record! {
    /// The params of `tasks/get`, `tasks/result` and `tasks/cancel`, and the metadata
    /// `io.modelcontextprotocol/related-task`.
    #[doc(alias("tasks/get", "tasks/result", "tasks/cancel", "RelatedTaskMetadata"))]
    #[derive(Default)]
    pub struct TaskParams<'a> {
        /// The task.
        pub task_id: Text<'a> = "taskId";
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object;
    }
}

impl<'a> TaskParams<'a> {
    /// About this task.
    pub fn new(task_id: impl Into<Text<'a>>) -> Self {
        Self { task_id: task_id.into(), meta: None }
    }
}

record! {
    /// The result of `tasks/list`.
    #[doc(alias = "tasks/list")]
    #[derive(Default)]
    pub struct ListTasksResult<'a> {
        /// One page of tasks.
        pub tasks: List<'a, Task<'a>> = "tasks";
        /// Where the next page begins, if there is one.
        pub next_cursor: Option<Text<'a>> = "nextCursor";
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object;
    }
}

record! {
    /// A task as the extension has it (from 2026-07-28 on): the answer to a request that has become one, the
    /// result of `tasks/get`, and the params of `notifications/tasks`.
    ///
    /// What it asks for and what came of it are there if its status says so, and never in the answer to a
    /// request that has become a task.
    #[doc(alias = "notifications/tasks")]
    #![record = &TASK]
    pub struct DetailedTask<'a> {
        /// Its name, chosen by the server.
        pub task_id: Text<'a> = "taskId";
        /// How far it is.
        pub status: TaskStatus<'a> = "status";
        /// The same for people.
        pub status_message: Option<Text<'a>> = "statusMessage";
        /// When it was begun, in the form of ISO 8601.
        pub created_at: Text<'a> = "createdAt";
        /// When it last changed, in the same form.
        pub last_updated_at: Text<'a> = "lastUpdatedAt";
        /// How many milliseconds after its beginning it may be forgotten. `None` is written as `null`: it
        /// is kept.
        pub ttl_ms: Option<u64> = "ttlMs" as OrNull, since V2026_07_28;
        /// How many milliseconds to wait between two questions about it.
        pub poll_interval_ms: Option<u64> = "pollIntervalMs" as Numeric, since V2026_07_28;
        /// What it asks for, if it requires input, by keys of its choice.
        pub input_requests: Option<Map<'a, InputRequest<'a>>> = "inputRequests", since V2026_07_28;
        /// What the request would have been answered with, if it is completed.
        pub result: Option<Raw<'a>> = "result" as Object, since V2026_07_28;
        /// The error that the request would have been answered with, if it has failed.
        pub error: Option<Raw<'a>> = "error" as Object, since V2026_07_28;
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object;
    }
}

record! {
    /// The params of `tasks/update` (from 2026-07-28 on).
    #[doc(alias = "tasks/update")]
    #[derive(Default)]
    pub struct UpdateTaskParams<'a> {
        /// The task.
        pub task_id: Text<'a> = "taskId";
        /// An answer under each key: the result of what was asked for there.
        #[doc(alias = "inputResponses")]
        pub inputs: Map<'a, Raw<'a>> = "inputResponses" as Object;
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object;
    }
}

impl<'a> UpdateTaskParams<'a> {
    /// Answers to what this task asks for.
    pub fn new(task_id: impl Into<Text<'a>>, inputs: Map<'a, Raw<'a>>) -> Self {
        Self { task_id: task_id.into(), inputs, meta: None }
    }
}

/// A task, in sessions and without them.
static TASK: Record = {
    const OTHERS: &[&Record] = &[&Record::of(DetailedTask::FIELDS)];
    const COUNT: usize = count_members(Task::FIELDS, OTHERS);
    static FIELDS: [Field; COUNT] = merge_members(Task::FIELDS, OTHERS, false);
    Record::of(&FIELDS)
};

/// The result of `tasks/cancel`: in a session the task, and nothing without one.
pub(crate) enum CancelledTask {}

impl CancelledTask {
    /// What it is compared with.
    pub(crate) const RECORD: &'static Record = {
        static FIELDS: [Field; Task::FIELDS.len()] = of_sessions(Task::FIELDS);
        static RECORD: Record = Record::of(&FIELDS);
        &RECORD
    };
}

/// The same members where there are sessions. Metadata is everywhere.
const fn of_sessions<const N: usize>(fields: &[Field]) -> [Field; N] {
    let [first, ..] = fields else { panic!("a task has members") };
    let mut all = [*first; N];
    let (mut rest, mut fields): (&mut [Field], _) = (&mut all, fields);
    while let ([slot, behind @ ..], [field, others @ ..]) = (rest, fields) {
        let is_meta = matches!(field.name.as_bytes(), b"_meta");
        *slot = if is_meta { *field } else { field.before(Revision::V2026_07_28) };
        (rest, fields) = (behind, others);
    }
    all
}
