//! [`CallFailure`]: the reason why a call has no result.

use mcp_sansio::call::BegunTask;
use mcp_sansio::error::{ErrorObject, TransportFailure, ViolationKind};
use mcp_sansio::event::Expiry;
use mcp_sansio::json::Raw;
use mcp_sansio::model::CallToolResult;
use mcp_sansio::pagination::PageStop;
use mcp_sansio::{CallError, Cause, ErrorCode, Outcome};

/// The reason why a call has no result.
///
/// Its text is that of `Display`. `Debug` hides the message of an error of the peer, so a test or a `main` that returns a
/// `Box<dyn Error>` shows only the code: display the failure, or return a type that does (`anyhow::Error`).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CallFailure {
    /// The call was not made.
    #[error("{0}")]
    CallError(#[from] CallError),
    /// The peer responded with an error.
    #[error("the peer answered with error {0}")]
    PeerError(ErrorObject<'static>),
    /// The peer responded with an invalid message, or with a result of the wrong type.
    #[error("the response is invalid: {0}")]
    Malformed(ViolationKind),
    /// The arguments do not fit the schema of the tool, so the call was not made.
    #[error("the arguments do not fit: {0}")]
    Arguments(String),
    /// The result does not have the type that the caller wants.
    #[error("the result does not fit: {0}")]
    Mismatch(String),
    /// The tool has failed, and the caller wants its structured result
    /// ([`Handle::call_tool_as`](crate::Handle::call_tool_as)).
    #[error("the tool has failed: {}", texts_of(.0))]
    ToolFailed(Box<CallToolResult<'static>>),
    /// The list has more pages than the limits allow, and the caller wants all of them.
    #[error("the list is not complete: {0}")]
    Truncated(PageStop),
    /// The server requires input before it responds, and the caller has to supply it: an
    /// [`InputRequired`](mcp_sansio::model::InputRequired).
    #[error("the server requires input before it responds")]
    InputRequired(Raw<'static>),
    /// The input that the server required was refused with this code.
    #[error("the input that the server required was refused with error {0}")]
    InputRefused(ErrorCode),
    /// The server required input in too many rounds.
    #[error("the server required input too many times")]
    TooManyRounds,
    /// The call has become a task, which the connection does not follow: the caller follows it by hand, or the
    /// connection has ended. The task continues.
    #[error("the call has become a task, which goes on")]
    Task(Box<BegunTask<'static>>),
    /// The call became a task, which was cancelled.
    #[error("the task was cancelled")]
    TaskCancelled,
    /// The call became a task that the peer no longer has.
    #[error("the peer no longer has the task")]
    TaskNotFound,
    /// The transport of this call failed. The connection continues.
    #[error(transparent)]
    TransportFailed(Box<TransportFailure<'static>>),
    /// No response arrived in time.
    #[error("{0}")]
    TimedOut(Expiry),
    /// The call was cancelled on this side: together with its parent request, or by
    /// [`Handle::cancel`](crate::Handle::cancel).
    #[error("the call was cancelled")]
    Cancelled,
    /// The connection ended before the response.
    #[error("the connection ended first: {0}")]
    Closed(Cause),
    /// The connection ended before the call was sent.
    #[error("the connection ended before the call was sent")]
    NotSent,
    /// The call ended for a reason that this version does not know. The peer may have served it.
    #[error("the call ended in a way that this version does not know")]
    Other,
}

impl CallFailure {
    /// Returns the name of the variant, for the attribute `error.type` of a span.
    #[cfg(feature = "tracing")]
    pub(crate) const fn kind(&self) -> &'static str {
        match self {
            Self::CallError(_) => "call_error",
            Self::PeerError(_) => "peer_error",
            Self::Malformed(_) => "malformed",
            Self::Arguments(_) => "arguments",
            Self::Mismatch(_) => "mismatch",
            Self::ToolFailed(_) => "tool_error",
            Self::Truncated(_) => "truncated",
            Self::InputRequired(_) => "input_required",
            Self::InputRefused(_) => "input_refused",
            Self::TooManyRounds => "too_many_rounds",
            Self::Task(_) => "task",
            Self::TaskCancelled => "task_cancelled",
            Self::TaskNotFound => "task_not_found",
            Self::TransportFailed(_) => "transport_failed",
            Self::TimedOut(_) => "timeout",
            Self::Cancelled => "cancelled",
            Self::Closed(_) => "closed",
            Self::NotSent => "not_sent",
            Self::Other => "_OTHER",
        }
    }
}

/// Returns the first 1,000 characters of the texts of a result.
fn texts_of(result: &CallToolResult<'_>) -> String {
    let texts = result.texts().flat_map(|text| text.chars().chain([' ']));
    let shown: String = texts.take(1000).collect();
    shown.trim_end().to_owned()
}

/// Converts an outcome into the result of the call, or the reason why there is none.
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
        // Truncated lists are handled before. Any other variant comes from a newer version.
        _ => CallFailure::Other,
    })
}
