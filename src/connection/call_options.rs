//! `CallOptions`: what the application chooses for one call, and `CallError`: why a call was not made.

use core::time::Duration;

use crate::capability::CapabilitySet;
use crate::dialect::NotAllowed;
use crate::handle::IncomingId;
use crate::model::LoggingLevel;
use crate::schema::EncodeError;

/// How a call is made.
///
/// ```
/// use core::time::Duration;
/// use mcp_sansio::call::Timeout;
/// use mcp_sansio::CallOptions;
///
/// let options = CallOptions::new().progress().idle(Timeout::After(Duration::from_secs(5)));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[must_use]
pub struct CallOptions {
    pub(super) progress: bool,
    pub(super) idle: Timeout,
    pub(super) total: Timeout,
    pub(super) parent: Option<IncomingId>,
    pub(super) level: Option<LoggingLevel>,
    pub(super) capabilities: Option<CapabilitySet>,
    pub(super) by_hand: bool,
    pub(super) task: Option<TaskOptions>,
}

/// How long to wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Timeout {
    /// As long as the configuration says.
    #[default]
    Default,
    /// As long as it takes.
    Never,
    /// This long.
    After(Duration),
}

impl Timeout {
    pub(super) const fn or(self, default: Option<Duration>) -> Option<Duration> {
        match self {
            Self::Default => default,
            Self::Never => None,
            Self::After(duration) => Some(duration),
        }
    }
}

impl CallOptions {
    /// Without progress, with the timeouts of the configuration.
    pub const fn new() -> Self {
        Self {
            progress: false,
            idle: Timeout::Default,
            total: Timeout::Default,
            parent: None,
            level: None,
            capabilities: None,
            by_hand: false,
            task: None,
        }
    }

    /// Asks the peer for progress. Every update begins the idle timeout anew.
    pub const fn progress(mut self) -> Self {
        self.progress = true;
        self
    }

    /// How long to wait for an answer or progress.
    pub const fn idle(mut self, timeout: Timeout) -> Self {
        self.idle = timeout;
        self
    }

    /// How long to wait for the answer at most, whatever the progress. If it is said here, that is the time of
    /// a [task](Self::task) as well, which is cancelled then; the time of the configuration ends when a call
    /// becomes one.
    pub const fn total(mut self, timeout: Timeout) -> Self {
        self.total = timeout;
        self
    }

    /// The least severe log messages that the server is to send while it works on the call. Only where
    /// there are no sessions; in a session it is said once, by `logging/setLevel`.
    pub const fn log_level(mut self, level: LoggingLevel) -> Self {
        self.level = Some(level);
        self
    }

    /// What this side declares to be able to do for this call, if that is less than it is. Only where
    /// there are no sessions.
    pub const fn capabilities(mut self, capabilities: CapabilitySet) -> Self {
        self.capabilities = Some(capabilities);
        self
    }

    /// If the server needs something before it answers, the call ends with
    /// [`Outcome::InputRequired`](crate::Outcome::InputRequired): the application sees to it, and makes
    /// another call with what it has found out. For gateways, and for answers that take days. Only where
    /// there are no sessions.
    pub const fn input_by_hand(mut self) -> Self {
        self.by_hand = true;
        self
    }

    /// The call may become a [task](crate::task) of the peer.
    pub const fn task(mut self, options: TaskOptions) -> Self {
        self.task = Some(options);
        self
    }

    /// The request that the call is made because of: it goes out on the route of that exchange.
    pub const fn parent(mut self, parent: IncomingId) -> Self {
        self.parent = Some(parent);
        self
    }
}

/// Why a call could not be made. Nothing was sent and nothing is pending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The connection has ended or is shutting down.
    #[error("the connection takes no more calls")]
    Closed,
    /// The machine sends this method itself.
    #[error("the machine sends this method itself")]
    Reserved,
    /// [`Limits::outbound_calls`](crate::Limits::outbound_calls) calls are pending.
    #[error("too many calls are pending (Limits::outbound_calls)")]
    TooManyCalls,
    /// The call has not become a task.
    #[error("the call is no task")]
    NotATask,
    /// The session does not allow it.
    #[error("the request may not be sent: {0}")]
    NotAllowed(#[from] NotAllowed),
    /// The request could not be written.
    #[error("the request could not be written: {0}")]
    Encode(#[from] EncodeError),
}

/// How a call becomes a task, and what happens then.
///
/// ```
/// use core::time::Duration;
/// use mcp_sansio::call::TaskOptions;
/// use mcp_sansio::CallOptions;
///
/// let options = CallOptions::new().task(TaskOptions::new().ttl(Duration::from_secs(3_600)));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[must_use]
pub struct TaskOptions {
    pub(super) ttl: Option<Duration>,
    pub(super) poll_interval: Option<Duration>,
    pub(super) insist: bool,
    pub(super) by_hand: bool,
}

impl TaskOptions {
    /// As a task if the peer can, otherwise as any call; the machine looks after the task.
    ///
    /// In a session the peer has to have declared that it can
    /// (`tasks.requests.…`), and a tool that it can (its `execution.taskSupport`): the second is for the
    /// caller to know. Where there are no sessions it is the server that decides, and clients that have
    /// declared the [extension](crate::task::EXTENSION) get tasks without asking for them.
    pub const fn new() -> Self {
        Self { ttl: None, poll_interval: None, insist: false, by_hand: false }
    }

    /// How long the peer should keep the task. It may decide otherwise.
    pub const fn ttl(mut self, ttl: Duration) -> Self {
        self.ttl = Some(ttl);
        self
    }

    /// How long to wait between two questions about the task, if the peer does not say. Default a second,
    /// and longer each time, up to five.
    pub const fn poll_interval(mut self, interval: Duration) -> Self {
        self.poll_interval = Some(interval);
        self
    }

    /// Not at all if not as a task: the call fails in a session whose peer has not declared that it can.
    pub const fn required(mut self) -> Self {
        self.insist = true;
        self
    }

    /// The call ends with [`Outcome::Task`](crate::Outcome::Task), and the application asks about the task
    /// as it likes.
    pub const fn by_hand(mut self) -> Self {
        self.by_hand = true;
        self
    }
}
