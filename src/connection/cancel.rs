//! Calls that are given up: taken back where that is possible, cancelled on the wire where it is not.

/// How a cancelled call ended. No event follows, and an answer that still comes is a
/// [`UnmatchedResponse`](crate::event::UnmatchedResponse).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cancellation {
    /// It was taken back before any of it was sent: the peer never sees it.
    Withdrawn,
    /// The peer is told, with `notifications/cancelled`, or with `tasks/cancel` if the call has become a
    /// task; it may have served the call already.
    Notified,
    /// The call asks for a task, which cannot be cancelled before it has a name. If it gets one within ten
    /// minutes, and there is room to remember it until then, the peer is told, and
    /// [`AbandonedTask`](crate::event::AbandonedTask) says so.
    Deferred,
    /// The call has become a task, and the peer does not let its tasks be cancelled, or there is no room to
    /// tell it. The task goes on.
    TaskGoesOn,
}

/// Why a call could not be cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum CancelError {
    /// The call has ended, or the handle is of another connection, or of `initialize`, which is never
    /// cancelled. Nothing was sent.
    #[error("the call is not in flight")]
    NotInFlight,
    /// The connection has ended; the outcome of the call is about to be handed out.
    #[error("the connection has ended")]
    Closed,
}
