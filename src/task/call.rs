//! `TaskCall`: the requests about tasks.

use crate::dialect::methods::RequestKind;
use crate::json::{Raw, Str, member};

/// What a peer asks about tasks: hand it to `serve_task`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TaskCall<'a> {
    /// `tasks/get`: how far a task is.
    Get {
        /// The task.
        task: Str<'a>,
    },
    /// `tasks/result`: what came of a task, once that is known (2025-11-25).
    Result {
        /// The task.
        task: Str<'a>,
    },
    /// `tasks/list`: which tasks there are (2025-11-25).
    List {
        /// Where the page begins that is asked for; absent for the first one.
        cursor: Option<Str<'a>>,
    },
    /// `tasks/cancel`: a task is not wanted any more.
    Cancel {
        /// The task.
        task: Str<'a>,
    },
    /// `tasks/update`: what a task has asked for (from 2026-07-28 on).
    Update {
        /// The task.
        task: Str<'a>,
        /// An object with an answer under each key.
        inputs: Raw<'a>,
    },
}

impl<'a> TaskCall<'a> {
    /// Reads the params of a request about tasks, whose shape is right; `None` if it is about something
    /// else.
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

    /// The same with its own copy of the text.
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

/// What a request about a task has brought about, for the application to act on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[must_use = "the work waits for it"]
pub enum TaskNews {
    /// A task has been cancelled: stop the work. What it comes to is lost.
    Cancelled(super::TaskKey),
    /// A task is not wanted any more: stop the work if that can be done, and say what came of it
    /// ([`TasksConfig::cancel_at_once`](super::TasksConfig::cancel_at_once) is false).
    CancelRequested(super::TaskKey),
    /// Everything that a task has asked for has been answered or refused: the work can go on
    /// ([`TaskView::inputs`](super::TaskView::inputs)).
    Input(super::TaskKey),
}
