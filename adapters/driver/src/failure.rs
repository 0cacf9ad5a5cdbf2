//! [`CallFailure`]: why a call has no result.

use mcp_sansio::call::BegunTask;
use mcp_sansio::error::{ErrorObject, TransportFailure, ViolationKind};
use mcp_sansio::event::Expiry;
use mcp_sansio::json::Raw;
use mcp_sansio::{CallError, Cause, ErrorCode, Outcome};

/// Why a call has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CallFailure {
    /// It was not made.
    #[error("{0}")]
    CallError(#[from] CallError),
    /// The other side refused.
    #[error("the peer answered with error {0}")]
    PeerError(ErrorObject<'static>),
    /// The other side answered with something that is no response, or not what was asked for.
    #[error("the peer answered with nonsense: {0}")]
    Malformed(ViolationKind),
    /// The server needs something before it answers, and that is for the caller to see to: an
    /// [`InputRequired`](mcp_sansio::model::InputRequired).
    #[error("the server needs something before it answers")]
    InputRequired(Raw<'static>),
    /// What the server needed before it answered was refused with this code.
    #[error("what the server needed was refused with error {0}")]
    InputRefused(ErrorCode),
    /// The server needed something again and again.
    #[error("the server needs something again and again")]
    TooManyRounds,
    /// It has become a task, and nobody asks about it here any more: it was to be looked after by hand, or
    /// the connection has ended. The task goes on.
    #[error("the call has become a task, which goes on")]
    Task(Box<BegunTask<'static>>),
    /// It had become a task, which was cancelled.
    #[error("the task was cancelled")]
    TaskCancelled,
    /// It became a task that the other side no longer has.
    #[error("the peer no longer has the task")]
    TaskNotFound,
    /// The transport of this call failed, and the connection lives on.
    #[error(transparent)]
    TransportFailed(Box<TransportFailure<'static>>),
    /// No answer came in time.
    #[error("{0}")]
    TimedOut(Expiry),
    /// It was cancelled here: with the request that it was made because of, or by
    /// [`Handle::cancel`](crate::Handle::cancel).
    #[error("the call was cancelled")]
    Cancelled,
    /// The connection ended first.
    #[error("the connection ended first: {0}")]
    Closed(Cause),
    /// The connection ended before the call was sent.
    #[error("the connection ended before the call was sent")]
    NotSent,
    /// In a way that this version does not know. The other side may have served it.
    #[error("the call ended in a way that this version does not know")]
    Other,
}

/// The result of a call, or why there is none.
pub(crate) fn result_of(outcome: Outcome<'static>) -> Result<Raw<'static>, CallFailure> {
    Err(match outcome {
        Outcome::Result(raw) => return Ok(raw),
        Outcome::PeerError(error) => CallFailure::PeerError(error),
        Outcome::Malformed { kind, .. } => CallFailure::Malformed(kind),
        Outcome::InputRequired(result) => CallFailure::InputRequired(result),
        Outcome::InputRefused(code) => CallFailure::InputRefused(code),
        Outcome::TooManyRounds => CallFailure::TooManyRounds,
        Outcome::Task(task) => CallFailure::Task(Box::new(task)),
        Outcome::TaskCancelled => CallFailure::TaskCancelled,
        Outcome::TaskNotFound => CallFailure::TaskNotFound,
        Outcome::TimedOut(expiry) => CallFailure::TimedOut(expiry),
        Outcome::CallError(error) => CallFailure::CallError(error),
        Outcome::TransportFailed(failure) => CallFailure::TransportFailed(Box::new(failure)),
        Outcome::Closed(cause) => CallFailure::Closed(cause),
        Outcome::NotSent => CallFailure::NotSent,
        // Lists that are cut have been taken care of, and what else there will be nobody knows yet.
        _ => CallFailure::Other,
    })
}
