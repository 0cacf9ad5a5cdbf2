//! A request of ours: what is kept of it, how it is made, and why it could not be.

use alloc::boxed::Box;
use core::time::Duration;

use super::outlets::Lane;
use super::pages::Walk;
use super::rules::Kept;
use crate::dialect::NotAllowed;
use crate::dialect::methods::RequestKind;
use crate::frame::Serial;
use crate::handle::InboundId;
use crate::json::{EncodeError, Number};
use crate::rpc::Recycle;
use crate::time::Instant;

/// What is kept of a call until it ends.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Call {
    pub(super) purpose: Purpose,
    /// What is called; nothing if MCP does not have it or the machine is not to look.
    pub(super) kind: Option<RequestKind>,
    /// The request that it was made because of.
    pub(super) parent: Option<InboundId>,
    pub(super) wants_progress: bool,
    pub(super) progress: Option<Number>,
    /// How long to wait for an answer or progress.
    pub(super) idle: Option<Duration>,
    /// Until when, on the clock that stands still while a person is asked.
    pub(super) idle_deadline: Option<Instant>,
    pub(super) total_deadline: Option<Instant>,
    /// For how long that clock had stood still when the call was made, and how much longer it may.
    pub(super) lag: Duration,
    pub(super) pause: Option<Duration>,
    pub(super) lane: Lane,
    pub(super) whereabouts: Whereabouts,
    /// What the answer has to fit.
    pub(super) kept: Kept,
    /// How often the list that is asked for had changed when it was asked for.
    pub(super) changes: u32,
    /// What is known of a list that is read page by page.
    pub(super) walk: Option<Box<Walk>>,
}

/// Who made a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Purpose {
    /// The application.
    Application,
    /// The machine, to open the session. It is never cancelled.
    Initialize,
    /// The machine, to hear whether the peer is still there.
    KeepAlive,
    /// The machine, because a request of the peer needs something of it.
    Input,
}

/// Where the request was put.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Whereabouts {
    /// Among what waits for the handshake.
    Held(Serial),
    /// Into the outbox of its lane.
    Lane(Serial),
    /// Into the outbox of its lane, together with others in one batch.
    Batch(Serial),
    /// Nowhere any more: it has been taken back or could not be sent, and the call is about to end.
    Withdrawn,
}

impl Default for Call {
    fn default() -> Self {
        Self {
            purpose: Purpose::Application,
            kind: None,
            parent: None,
            wants_progress: false,
            progress: None,
            idle: None,
            idle_deadline: None,
            total_deadline: None,
            lag: Duration::ZERO,
            pause: None,
            lane: Lane::Connection,
            whereabouts: Whereabouts::Lane(Serial::default()),
            kept: Kept::default(),
            changes: 0,
            walk: None,
        }
    }
}

impl Call {
    /// The earlier of its two deadlines.
    pub(super) fn deadline(&self) -> Option<Instant> {
        match (self.idle_deadline, self.total_deadline) {
            (Some(idle), Some(total)) => Some(idle.min(total)),
            (idle, total) => idle.or(total),
        }
    }
}

impl Recycle for Call {
    fn recycle(&mut self) {
        let mut kept = core::mem::take(&mut self.kept);
        kept.clear();
        *self = Self { kept, ..Self::default() };
    }
}

/// How a call is made.
///
/// ```
/// use core::time::Duration;
/// use mcp_sansio::{CallOptions, Timeout};
///
/// let options = CallOptions::new().progress().idle(Timeout::After(Duration::from_secs(5)));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct CallOptions {
    pub(super) progress: bool,
    pub(super) idle: Timeout,
    pub(super) total: Timeout,
    pub(super) parent: Option<InboundId>,
}

/// How long to wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
        Self { progress: false, idle: Timeout::Default, total: Timeout::Default, parent: None }
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

    /// How long to wait for the answer at most, whatever the progress.
    pub const fn total(mut self, timeout: Timeout) -> Self {
        self.total = timeout;
        self
    }

    /// The request that the call is made because of: it goes out on the lane of that exchange.
    pub const fn parent(mut self, parent: InboundId) -> Self {
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
    #[error("too many calls are pending")]
    TooManyCalls,
    /// The session does not allow it.
    #[error("the request may not be sent: {0}")]
    NotAllowed(#[from] NotAllowed),
    /// The request could not be written.
    #[error("the request could not be written: {0}")]
    Encode(#[from] EncodeError),
}
