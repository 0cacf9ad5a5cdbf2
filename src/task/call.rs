//! `TaskCall`: the requests about tasks.

use crate::dialect::methods::RequestKind;
use crate::json::{Raw, Str, member};

/// A request of the peer about tasks. Pass it to [`ConnectionTasks::serve`](crate::drive::ConnectionTasks::serve).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TaskCall<'a> {
    /// `tasks/get`: returns the status of a task.
    Get {
        /// The id of the task.
        task: Str<'a>,
    },
    /// `tasks/result`: returns the result of a task once it has ended (2025-11-25).
    Result {
        /// The id of the task.
        task: Str<'a>,
    },
    /// `tasks/list`: returns the tasks (2025-11-25).
    List {
        /// The cursor of the page; absent for the first page.
        cursor: Option<Str<'a>>,
    },
    /// `tasks/cancel`: cancels a task.
    Cancel {
        /// The id of the task.
        task: Str<'a>,
    },
    /// `tasks/update`: sends the input that a task requires (since 2026-07-28).
    Update {
        /// The id of the task.
        task: Str<'a>,
        /// An object with one response under each key.
        inputs: Raw<'a>,
    },
}

impl<'a> TaskCall<'a> {
    /// Reads the params of a request about tasks, whose shape has been checked. Returns `None` for another method.
    pub(crate) fn read(kind: RequestKind, params: &'a str) -> Option<Self> {
        let task = || member(params, "taskId").and_then(Str::from_literal);
        Some(match kind {
            RequestKind::GetTask => Self::Get { task: task()? },
            RequestKind::TaskResult => Self::Result { task: task()? },
            RequestKind::ListTasks => {
                let cursor = member(params, "cursor").and_then(Str::from_literal);
                Self::List { cursor }
            }
            RequestKind::CancelTask => Self::Cancel { task: task()? },
            RequestKind::UpdateTask => {
                let inputs = member(params, "inputResponses")?;
                Self::Update { task: task()?, inputs: Raw::trusted(inputs) }
            }
            _ => return None,
        })
    }

    /// Returns an owned copy.
    pub fn into_owned(self) -> TaskCall<'static> {
        match self {
            Self::Get { task } => TaskCall::Get { task: task.into_owned() },
            Self::Result { task } => TaskCall::Result { task: task.into_owned() },
            Self::List { cursor } => TaskCall::List { cursor: cursor.map(Str::into_owned) },
            Self::Cancel { task } => TaskCall::Cancel { task: task.into_owned() },
            Self::Update { task, inputs } => {
                TaskCall::Update { task: task.into_owned(), inputs: inputs.into_owned() }
            }
        }
    }
}

/// The effect of a request about a task, for the application to act on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[must_use = "the work waits for this value"]
pub enum TaskNews {
    /// A task has been cancelled: stop the work. Its outcome is discarded.
    Cancelled(super::TaskKey),
    /// The requestor wants a task cancelled: stop the work if possible, and report its outcome. Only if
    /// [`TasksConfig::cancel_at_once`](super::TasksConfig::cancel_at_once) is false.
    CancelRequested(super::TaskKey),
    /// All input that a task required has been answered or refused: continue the work with
    /// [`TaskView::inputs`](super::TaskView::inputs).
    Input(super::TaskKey),
}
