//! Messages about tasks: those of 2025-11-25
//! ([basic/utilities/tasks](https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks)), and
//! those of the extension `io.modelcontextprotocol/tasks` from 2026-07-28 on.
//!
//! [`task`](crate::task) reads and writes these messages itself; the types are for applications that do not use it.

use super::input::InputRequest;
use super::integer::OptionalInteger;
use super::list::List;
use super::map::Map;
use super::open::open_enum;
use super::text::Text;
use crate::json::Raw;
use crate::schema::merge::{count_members, merge_members};
use crate::schema::shape::{Field, Record};
use crate::version::Revision;

/// The name of the tasks extension of the modern era (from 2026-07-28 on). Both sides declare it among the extensions
/// of their capabilities.
pub const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

open_enum! {
    /// The status of a task.
    TaskStatus {
        /// The task is running.
        Working = "working";
        /// The task waits for input from the requesting side.
        InputRequired = "input_required";
        /// The task has a result. Final.
        Completed = "completed";
        /// The task has an error, or a tool result that reports one. Final.
        Failed = "failed";
        /// The task was cancelled. Final.
        Cancelled = "cancelled";
    }
}

impl TaskStatus<'_> {
    /// Whether the status is final.
    pub const fn is_final(&self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

record! {
    /// A task: the result of `tasks/get` and `tasks/cancel`, the params of `notifications/tasks/status`, and an
    /// element of lists.
    #[doc(alias = "TaskStatusNotificationParams")]
    #[doc(alias = "notifications/tasks/status")]
    #![record = &TASK]
    pub struct Task<'a> {
        /// The id of the task, chosen by the side that runs it.
        pub task_id: Text<'a> = "taskId";
        /// The status of the task.
        pub status: TaskStatus<'a> = "status";
        /// The status as text for people.
        pub status_message: Option<Text<'a>> = "statusMessage";
        /// The creation time in ISO 8601 format.
        pub created_at: Text<'a> = "createdAt";
        /// The time of the last change in ISO 8601 format.
        pub last_updated_at: Text<'a> = "lastUpdatedAt";
        /// The time after the creation of the task until the task may be deleted, in milliseconds. `None` means that
        /// the task is kept, and is written as `null`.
        pub ttl: Option<u64> = "ttl" as OrNull by OptionalInteger<u64>,
            before V2026_07_28;
        /// The interval between two polls of the task, in milliseconds.
        pub poll_interval: Option<u64> = "pollInterval" as Numeric by OptionalInteger<u64>,
            before V2026_07_28;
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object;
    }
}

impl<'a> Task<'a> {
    /// Creates a task in the status `working`.
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
    /// The member `task` of a request for a task instead of a result.
    #[doc(alias = "TaskAugmentedRequestParams")]
    pub struct TaskMetadata {
        /// The requested lifetime of the task in milliseconds.
        pub ttl: Option<u64> = "ttl" by OptionalInteger<u64>;
    }
}

plain_setters! { TaskMetadata { ttl[u64] } }

record! {
    /// The response to a request for a task.
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
        /// The id of the task.
        pub task_id: Text<'a> = "taskId";
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object;
    }
}

setters! { TaskParams { meta[Raw<'a>] } }

impl<'a> TaskParams<'a> {
    /// Creates params about this task.
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
        /// The cursor of the next page; `None` on the last page.
        pub next_cursor: Option<Text<'a>> = "nextCursor";
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object;
    }
}

record! {
    /// A task of the extension (from 2026-07-28 on): the response to a request that became a task, the result of
    /// `tasks/get`, and the params of `notifications/tasks`.
    ///
    /// The input requests, the result and the error are present only with the matching status. The response to a
    /// request that became a task never has them.
    #[doc(alias = "notifications/tasks")]
    #![record = &TASK]
    pub struct DetailedTask<'a> {
        /// The id of the task, chosen by the server.
        pub task_id: Text<'a> = "taskId";
        /// The status of the task.
        pub status: TaskStatus<'a> = "status";
        /// The status as text for people.
        pub status_message: Option<Text<'a>> = "statusMessage";
        /// The creation time in ISO 8601 format.
        pub created_at: Text<'a> = "createdAt";
        /// The time of the last change in ISO 8601 format.
        pub last_updated_at: Text<'a> = "lastUpdatedAt";
        /// The time after the creation of the task until the task may be deleted, in milliseconds. `None` means that
        /// the task is kept, and is written as `null`.
        pub ttl_ms: Option<u64> = "ttlMs" as OrNull by OptionalInteger<u64>,
            since V2026_07_28;
        /// The interval between two polls of the task, in milliseconds.
        pub poll_interval_ms: Option<u64> = "pollIntervalMs" as Numeric by OptionalInteger<u64>,
            since V2026_07_28;
        /// The input requests of a task that requires input, by keys of its choice.
        pub input_requests: Option<Map<'a, InputRequest<'a>>> = "inputRequests", since V2026_07_28;
        /// The result of the request, if the task is completed.
        pub result: Option<Raw<'a>> = "result" as Object, since V2026_07_28;
        /// The error of the request, if the task has failed.
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
        /// The id of the task.
        pub task_id: Text<'a> = "taskId";
        /// The results of the input requests, by the keys of these input requests.
        #[doc(alias = "inputResponses")]
        pub inputs: Map<'a, Raw<'a>> = "inputResponses" as Object;
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object;
    }
}

setters! { UpdateTaskParams { meta[Raw<'a>] } }

impl<'a> UpdateTaskParams<'a> {
    /// Creates the responses to the input requests of this task.
    pub fn new(task_id: impl Into<Text<'a>>, inputs: Map<'a, Raw<'a>>) -> Self {
        Self { task_id: task_id.into(), inputs, meta: None }
    }
}

/// The table of a task, in both eras.
static TASK: Record = {
    const OTHERS: &[&Record] = &[&Record::of(DetailedTask::FIELDS)];
    const COUNT: usize = count_members(Task::FIELDS, OTHERS);
    static FIELDS: [Field; COUNT] = merge_members(Task::FIELDS, OTHERS, false);
    Record::of(&FIELDS)
};

/// The result of `tasks/cancel`: the task in the legacy era, and an empty result in the modern era.
pub(crate) enum CancelledTask {}

impl CancelledTask {
    /// The table that values of this type are compared with.
    pub(crate) const RECORD: &'static Record = {
        static FIELDS: [Field; Task::FIELDS.len()] = of_sessions(Task::FIELDS);
        static RECORD: Record = Record::of(&FIELDS);
        &RECORD
    };
}

/// Returns the members restricted to the legacy era, except for the metadata, which both eras have.
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
