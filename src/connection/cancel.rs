//! The result of a cancellation: withdrawn if nothing was sent yet, cancelled on the wire otherwise.

/// The result of a cancelled call. No event follows. A response that is still received is an
/// [`UnmatchedResponse`](crate::event::UnmatchedResponse).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cancellation {
    /// Nothing of the call is in flight. Its request was removed from the outbox before a byte was sent, so the peer
    /// never receives it. If the call waits for input or for its next page, the peer has answered earlier requests.
    Withdrawn,
    /// The peer is notified with `notifications/cancelled`, or with `tasks/cancel` if the call has become a task. The
    /// notification stays in the outbox if the connection ends before it is sent. The peer may have served the call
    /// already.
    Notified,
    /// The call asks for a task, which cannot be cancelled before it has an id. The call is remembered for ten
    /// minutes, if there is room. If its response is a task within that time, the machine sends `tasks/cancel` if the
    /// peer supports it, and [`AbandonedTask`](crate::event::AbandonedTask) reports the task and whether it was sent.
    Deferred,
    /// The call has become a task, and the peer does not support its cancellation, or there is no room for the
    /// notification. The task continues.
    TaskGoesOn,
}

/// The reason why a call could not be cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum CancelError {
    /// The call has ended, or the handle belongs to another connection or to `initialize`, which is never cancelled.
    /// Nothing was sent.
    #[error("the call is not in flight")]
    NotInFlight,
    /// The connection has ended; the outcome of the call is about to be handed out.
    #[error("the connection has ended")]
    Closed,
}
