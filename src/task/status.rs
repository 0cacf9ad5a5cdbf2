//! The status of a task, and the permitted transitions.

use core::fmt;

/// The status of a task
/// ([task status lifecycle](https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks#task-status-lifecycle)).
#[doc(alias = "TaskStatus")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(clippy::exhaustive_enums, reason = "these are the states of the machine itself")]
pub enum Status {
    /// The work is in progress.
    #[default]
    Working,
    /// The task waits for input from its requestor.
    InputRequired,
    /// The task has ended with a result.
    Completed,
    /// The task has ended with an error.
    Failed,
    /// The task was cancelled.
    Cancelled,
}

impl Status {
    /// All statuses.
    pub const ALL: [Self; 5] =
        [Self::Working, Self::InputRequired, Self::Completed, Self::Failed, Self::Cancelled];

    /// Whether the status is final.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }

    /// Whether the transition to `next` is permitted.
    pub const fn may_become(self, next: Self) -> bool {
        match self {
            Self::Working => !matches!(next, Self::Working),
            Self::InputRequired => !matches!(next, Self::InputRequired),
            Self::Completed | Self::Failed | Self::Cancelled => false,
        }
    }

    /// The name of the status on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::InputRequired => "input_required",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Returns the status with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}
