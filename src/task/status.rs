//! The status of a task, and the permitted transitions.

use core::fmt;

/// How far a task is
/// ([task status lifecycle](https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks#task-status-lifecycle)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(clippy::exhaustive_enums, reason = "these are the states of the machine itself")]
pub enum Status {
    /// It is being worked on.
    #[default]
    Working,
    /// It goes on when whoever asked for it has answered something.
    InputRequired,
    /// It is done, and has a result.
    Completed,
    /// It is done, and has an error.
    Failed,
    /// It was cancelled.
    Cancelled,
}

impl Status {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Working, Self::InputRequired, Self::Completed, Self::Failed, Self::Cancelled];

    /// Whether nothing comes after it.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }

    /// The table of transitions: whether a task may go from here to there.
    pub const fn may_become(self, next: Self) -> bool {
        match self {
            Self::Working => !matches!(next, Self::Working),
            Self::InputRequired => !matches!(next, Self::InputRequired),
            Self::Completed | Self::Failed | Self::Cancelled => false,
        }
    }

    /// As it stands on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::InputRequired => "input_required",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// The one of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}
