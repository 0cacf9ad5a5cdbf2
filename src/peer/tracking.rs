//! Calls that have to do with tasks.

use core::fmt;

use alloc::string::String;

use crate::task::TaskKey;

/// What a call has to do with a task.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum TaskPart {
    /// It asks for something that a task of this side needs.
    Question {
        task: TaskKey,
        /// The metadata that says so, a literal.
        related: String,
    },
}

impl TaskPart {
    /// The metadata that says that it belongs to a task of this side.
    pub(super) fn related(&self) -> Option<&str> {
        match self {
            Self::Question { related, .. } => Some(related),
        }
    }
}

/// Without ids of tasks.
impl fmt::Debug for TaskPart {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Question { .. } => "Question",
        })
    }
}
