//! [`Timers`] of a request of this side: how they are chosen ([`Patience`]), and what changes them ([`Wait`]).

use core::time::Duration;

use crate::time::Instant;

/// The timeouts of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Patience {
    /// The maximum time without a response or progress.
    pub(crate) idle: Option<Duration>,
    /// The maximum time until the response.
    pub(crate) total: Option<Duration>,
    /// The maximum total pause of the clock during this request; unlimited if the request has no timers.
    pub(crate) pause: Option<Duration>,
    /// Whether the total timeout also bounds the task that the request becomes.
    pub(crate) is_bounded: bool,
}

/// The timers of a request, on the clock that can pause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Timers {
    pub(super) idle: Option<Duration>,
    pub(super) idle_at: Option<Instant>,
    pub(super) total_at: Option<Instant>,
    /// The real time at which the request is to be sent again. It is in the heap of polls: the delay only paces
    /// requests, so it does not pause with the clock.
    pub(super) retry_at: Option<Instant>,
    /// The total pause of the clock when the request was created. `pause` is the maximum further pause.
    pub(super) lag: Duration,
    pub(super) pause: Option<Duration>,
    pub(super) is_bounded: bool,
}

impl Timers {
    /// Returns the time of the clock at which the request expires.
    pub(super) fn deadline(&self) -> Option<Instant> {
        Instant::earlier(self.idle_at, self.total_at)
    }
}

/// The next event that a request waits for, which determines its timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// A response or progress: the idle timer restarts.
    Response,
    /// An action of this side: the idle timer stops. If the request is to be sent again automatically, this is the
    /// delay.
    Retry(Option<Duration>),
    /// Nothing: the request cannot continue, and its outcome is about to be delivered.
    End,
    /// No particular event: the request has no timers any more.
    Forever,
    /// A task of the peer: only a total timeout that was chosen for this request continues.
    Task,
    /// A response that no caller awaits, for this duration.
    Late(Duration),
    /// A response that can arrive from now on, within this duration unless the request had an idle timeout before.
    Soon(Option<Duration>),
}

/// The timer of a request that expired first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expired {
    Idle,
    Total,
}
