//! `CallOptions`: the options of one call, and `CallError`: the reason why a call was not made.

use core::time::Duration;

use crate::capability::CapabilitySet;
use crate::dialect::NotAllowed;
use crate::handle::IncomingId;
use crate::model::LoggingLevel;
use crate::model::method::Method;
use crate::schema::EncodeError;

/// The options of a call.
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
    pub(super) extension: Option<&'static str>,
}

/// A timeout of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Timeout {
    /// The timeout of the configuration.
    #[default]
    Default,
    /// No timeout.
    Never,
    /// This timeout.
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
    /// Creates options without progress, with the timeouts of the configuration.
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
            extension: None,
        }
    }

    /// Asks the peer for progress. Every update restarts the idle timeout.
    pub const fn progress(mut self) -> Self {
        self.progress = true;
        self
    }

    /// Sets the longest time to wait for a response or progress.
    pub const fn idle(mut self, timeout: Timeout) -> Self {
        self.idle = timeout;
        self
    }

    /// Sets the longest time to wait for the response, regardless of progress. The time stands still while this side
    /// gives input that the peer has asked for, such as sampling: [`Timeouts::person`](crate::config::Timeouts::person)
    /// bounds that.
    ///
    /// A duration that is set here also bounds a [task](Self::task) that the call becomes; the task is cancelled when
    /// the time is up. The timeout of the configuration stops when the call becomes a task.
    pub const fn total(mut self, timeout: Timeout) -> Self {
        self.total = timeout;
        self
    }

    /// Sets the least severe log messages that the server sends while it works on the call. Only in the modern era;
    /// in a session, `logging/setLevel` sets the level once.
    pub const fn log_level(mut self, level: LoggingLevel) -> Self {
        self.level = Some(level);
        self
    }

    /// Restricts the capabilities that this side declares for this call to a subset of its own. Only in the modern
    /// era. Extensions are declared as always. A member includes the capability that it belongs to, and elicitation
    /// without a mode means elicitation by forms.
    pub const fn capabilities(mut self, capabilities: CapabilitySet) -> Self {
        self.capabilities = Some(capabilities);
        self
    }

    /// Leaves input that the server requires to the application. Only in the modern era.
    ///
    /// If the server requires input before it responds, the call ends with
    /// [`Outcome::InputRequired`](crate::Outcome::InputRequired). The application gathers the input and makes another
    /// call with it. For gateways, and for input that takes days.
    pub const fn input_by_hand(mut self) -> Self {
        self.by_hand = true;
        self
    }

    /// Allows the call to become a [task](crate::task) of the peer.
    pub const fn task(mut self, options: TaskOptions) -> Self {
        self.task = Some(options);
        self
    }

    /// Makes the call only if both sides have declared this extension, by its name in the capabilities. A typed call sets
    /// the [extension](Method::EXTENSION) of its method.
    ///
    /// As long as the peer has declared nothing, every extension is assumed: before the session is open, and for a
    /// client with a [known](crate::ClientConfig::known) modern revision until the response to its `server/discover`.
    /// The legacy era has no extensions, and an extension after the first 32 of this side counts as not declared.
    pub const fn extension(mut self, name: &'static str) -> Self {
        self.extension = Some(name);
        self
    }

    /// Sets the extension of a method, if it has one.
    pub(super) const fn of_method<M: Method>(self) -> Self {
        match M::EXTENSION {
            Some(name) => self.extension(name),
            None => self,
        }
    }

    /// Sets the request of the peer that the call is made because of. The call is sent on the route of that exchange. A
    /// request for input that a modern server needs for a call has no route, so the call gets its own.
    pub const fn parent(mut self, parent: IncomingId) -> Self {
        self.parent = Some(parent);
        self
    }
}

/// The reason why a call could not be made. Nothing was sent and nothing is pending.
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
    /// The session does not allow the request.
    #[error("the request may not be sent: {0}")]
    NotAllowed(#[from] NotAllowed),
    /// The request could not be written.
    #[error("the request could not be written: {0}")]
    Encode(#[from] EncodeError),
}

/// How a call becomes a task, and how the task is polled.
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
    /// Creates options that make the call a task if the peer supports tasks, otherwise an ordinary call. The machine
    /// polls the task.
    ///
    /// In a session, the peer must have declared its support (`tasks.requests.…`), and a tool its own
    /// (`execution.taskSupport`). The caller has to check the tool. In the modern era, the server decides: clients
    /// that have declared the [extension](crate::task::EXTENSION) receive tasks without asking for them.
    pub const fn new() -> Self {
        Self { ttl: None, poll_interval: None, insist: false, by_hand: false }
    }

    /// Sets how long the peer should keep the task. The peer may choose another time.
    pub const fn ttl(mut self, ttl: Duration) -> Self {
        self.ttl = Some(ttl);
        self
    }

    /// Sets the interval between two polls of the task, if the peer does not name one. Default 1 s, then longer each
    /// time, up to 5 s.
    pub const fn poll_interval(mut self, interval: Duration) -> Self {
        self.poll_interval = Some(interval);
        self
    }

    /// Requires a task: in a session whose peer has not declared support, the call fails.
    pub const fn required(mut self) -> Self {
        self.insist = true;
        self
    }

    /// Ends the call with [`Outcome::Task`](crate::Outcome::Task). The application polls the task.
    pub const fn by_hand(mut self) -> Self {
        self.by_hand = true;
        self
    }
}
