//! The events that both roles share: outcomes, cancellations, progress, violations, the end of the connection.

use core::fmt;

use super::call_options::CallError;
use super::task_update::BegunTask;
use super::transport_failure::TransportFailure;
use crate::codes::{ErrorCode, ViolationKind};
use crate::frame::MessageBytes;
use crate::handle::{CallId, IncomingId};
use crate::json::{Number, ParseError, Raw, Str, decoded};
use crate::model::method::{self, Method};
use crate::pagination::PageStop;
use crate::rpc::{ErrorObject, Id, UnmatchedCause};
use crate::schema::Misfit;
use crate::task::TaskKey;

/// A notification, defined by MCP or not. A notification is never answered.
#[doc(alias("ClientNotification", "ServerNotification", "JSONRPCNotification"))]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Notification<'a> {
    /// The method.
    pub method: Str<'a>,
    /// The params, an object.
    pub params: Option<Raw<'a>>,
}

impl Notification<'_> {
    /// Whether the notification is of this type.
    pub fn is<N: method::Notification>(&self) -> bool {
        self.method == N::NAME
    }

    /// Returns the decoded params if the notification is of this type.
    ///
    /// # Errors
    ///
    /// [`ParseError`] inside if the params do not fit: the peer is at fault. Absent params count as `{}`.
    pub fn parse<N: method::Notification>(&self) -> Option<Result<N::Params<'_>, ParseError>> {
        if !self.is::<N>() {
            return None;
        }
        Some(match &self.params {
            Some(params) => params.parse(),
            None => decoded("{}"),
        })
    }

    /// Converts the notification into one that owns its text.
    pub fn into_owned(self) -> Notification<'static> {
        Notification { method: self.method.into_owned(), params: self.params.map(Raw::into_owned) }
    }
}

/// A request of the peer that must not be answered any more. Its handle is stale.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Cancelled<'a> {
    /// The request.
    pub id: IncomingId,
    /// The reason for the end of the request.
    pub cause: CancelCause,
    /// The reason that the peer gave, if the peer cancelled the request.
    pub reason: Option<Str<'a>>,
}

/// The reason for the end of a request of the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CancelCause {
    /// The peer cancelled the request.
    Peer,
    /// The connection ended, or its drain deadline passed.
    Closed,
    /// The request was needed for a call of this side, and that call has ended. The response is no longer needed.
    CallEnded,
    /// The peer did not provide the input that was needed to serve the request. The machine has responded to the
    /// request.
    InputFailed,
}

/// Writes a sentence.
impl fmt::Display for CancelCause {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::Peer => "the peer cancelled the request",
            Self::Closed => "the connection has ended",
            Self::CallEnded => "the call that the request was needed for has ended",
            Self::InputFailed => "the peer did not provide the required input",
        })
    }
}

impl Cancelled<'_> {
    /// Converts the event into one that owns its text.
    pub fn into_owned(self) -> Cancelled<'static> {
        Cancelled { reason: self.reason.map(Str::into_owned), ..self }
    }
}

/// The progress of a call of this side.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ProgressUpdate<'a> {
    /// The call.
    pub call: CallId,
    /// The progress; greater than in the previous update, unless the call was sent again with required input since.
    pub progress: Number,
    /// The progress at the end, if known.
    pub total: Option<Number>,
    /// A message for people.
    pub message: Option<Str<'a>>,
}

impl ProgressUpdate<'_> {
    /// Converts the event into one that owns its text.
    pub fn into_owned(self) -> ProgressUpdate<'static> {
        ProgressUpdate { message: self.message.map(Str::into_owned), ..self }
    }
}

/// A page of a list that is read page by page, but not the last page: the last page is the outcome of the call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ListPage<'a> {
    /// The call.
    pub call: CallId,
    /// The result that contains the page. The next page has been requested.
    pub result: Raw<'a>,
    /// Whether the list has changed since its first page was requested.
    pub stale: bool,
}

impl ListPage<'_> {
    /// Returns the page, decoded as the result of the list method.
    ///
    /// # Errors
    ///
    /// [`ParseError`] if the result does not fit: the peer is at fault.
    pub fn parse<M: Method>(&self) -> Result<M::Result<'_>, ParseError> {
        self.result.parse()
    }

    /// Converts the event into one that owns its text.
    pub fn into_owned(self) -> ListPage<'static> {
        ListPage { result: self.result.into_owned(), ..self }
    }
}

/// A list that is read page by page is read from its beginning again: discard the previous pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ListRestarted {
    /// The call.
    pub call: CallId,
    /// The reason for the restart.
    pub cause: RestartCause,
}

/// The reason why a list is read from its beginning again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RestartCause {
    /// The peer has notified this side that the list has changed.
    Changed,
    /// The peer no longer knows its cursor, which can happen after the list has changed. The second such error ends
    /// the call.
    InvalidCursor,
}

/// The one outcome of a call. Its handle is stale.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct CallEnded<'a> {
    /// The call.
    pub call: CallId,
    /// The outcome.
    pub outcome: Outcome<'a>,
    /// Whether the peer has notified this side of a change of the requested list since the call was made. The result
    /// may be outdated: make the call again, once.
    pub stale: bool,
    /// Whether the peer required input before it responded. The result depends on that input, and must not be reused
    /// for the same request.
    pub needed_input: bool,
    /// The HTTP status with which the server refused the call, if it did.
    pub status: Option<u16>,
}

impl<'a> CallEnded<'a> {
    /// Creates an outcome with no stale list, no input and no HTTP status.
    pub(crate) const fn new(call: CallId, outcome: Outcome<'a>) -> Self {
        Self { call, outcome, stale: false, needed_input: false, status: None }
    }
}

impl CallEnded<'_> {
    /// Converts the event into one that owns its text.
    pub fn into_owned(self) -> CallEnded<'static> {
        CallEnded { outcome: self.outcome.into_owned(), ..self }
    }
}

/// The outcome of a call that a [task](crate::task) of this side has made in a session: pass it to
/// [`Tasks::answered`](crate::task::Tasks::answered).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct TaskAnswer<'a> {
    /// The task.
    pub task: TaskKey,
    /// The call that the task made.
    pub call: CallId,
    /// The outcome of the call.
    pub outcome: Outcome<'a>,
}

impl TaskAnswer<'_> {
    /// Converts the event into one that owns its text.
    pub fn into_owned(self) -> TaskAnswer<'static> {
        TaskAnswer { outcome: self.outcome.into_owned(), ..self }
    }
}

/// The outcome of a call. A call that this side cancelled has no outcome event: `cancel` returns the outcome.
#[doc(alias("ClientResult", "ServerResult", "JSONRPCResultResponse", "JSONRPCResponse"))]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Outcome<'a> {
    /// The peer returned a result, an object. [`Raw::parse`] checks whether it fits the method.
    Result(Raw<'a>),
    /// The peer returned an error.
    PeerError(ErrorObject<'a>),
    /// The response is not valid JSON-RPC, or its result does not fit the request. The peer is at fault.
    Malformed {
        /// The defect.
        kind: ViolationKind,
        /// The whole message.
        message: MessageBytes<'a>,
    },
    /// The list has more pages, items or bytes than allowed, or repeats a cursor, or the next request was not sent.
    Truncated {
        /// Why the next page was not requested.
        stop: PageStop,
        /// The last page that was received. The pages before it were events.
        last: Raw<'a>,
    },
    /// The peer requires input before it can respond, and the machine does not gather the input. The call is
    /// [driven by hand](crate::CallOptions::input_by_hand), its params are longer than
    /// [`Limits::kept_bytes`](crate::Limits::kept_bytes), or there is no room for the inputs. The result is an
    /// [`InputRequired`](crate::model::InputRequired). Make another call, with the same params and the input.
    InputRequired(Raw<'a>),
    /// The call became a [task](crate::task) that this connection does not poll: the application polls the task
    /// ([`TaskOptions::by_hand`](crate::call::TaskOptions::by_hand)), or the connection has ended. The task continues
    /// and can be polled on another connection.
    Task(BegunTask<'a>),
    /// The call became a task, and the task was cancelled.
    TaskCancelled,
    /// The call became a task that the peer no longer has, or whose time to live is over. Its result is lost.
    TaskNotFound,
    /// The peer required input, and the application [rejected](crate::Connection::reject) that request with this
    /// code. Nothing was sent to the peer.
    InputRefused(ErrorCode),
    /// The peer required input more than [`Limits::input_rounds`](crate::Limits::input_rounds) times.
    TooManyRounds,
    /// The machine could not send the call, or could not send it again, and the peer waits for nothing. A queued call
    /// is not allowed in the session that opened, a request with the gathered input does not fit in the outbox, or
    /// the server needs a session.
    CallError(CallError),
    /// The transport of this call failed, and the connection lives on. The [kind](TransportFailure::kind) of the
    /// failure shows whether the peer may have served the call.
    TransportFailed(TransportFailure<'a>),
    /// No response came in time. The call was cancelled on the wire, or withdrawn before it was sent.
    TimedOut(Expiry),
    /// The connection ended first. The peer may have served the call.
    Closed(Cause),
    /// The connection ended before a byte of the call was sent. The peer never received it.
    NotSent,
}

impl Outcome<'_> {
    /// Returns the decoded result of the method; `None` if the call ended in any other way.
    ///
    /// ```
    /// use mcp_sansio::Outcome;
    /// use mcp_sansio::json::Raw;
    /// use mcp_sansio::model::method;
    ///
    /// let outcome = Outcome::Result(Raw::new(r#"{"tools":[{"name":"add","inputSchema":{"type":"object"}}]}"#)?);
    /// let tools = outcome.parse::<method::ListTools>().expect("a result")?.tools;
    /// assert!(tools.iter().map(|tool| &*tool.name).eq(["add"]));
    /// assert!(Outcome::NotSent.parse::<method::ListTools>().is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ParseError`] inside if the result does not fit: the peer is at fault.
    pub fn parse<M: Method>(&self) -> Option<Result<M::Result<'_>, ParseError>> {
        match self {
            Self::Result(result) => Some(result.parse()),
            _ => None,
        }
    }

    /// Converts the outcome into one that owns its text.
    pub fn into_owned(self) -> Outcome<'static> {
        match self {
            Self::Result(result) => Outcome::Result(result.into_owned()),
            Self::PeerError(error) => Outcome::PeerError(error.into_owned()),
            Self::Malformed { kind, message } => {
                Outcome::Malformed { kind, message: message.into_owned() }
            }
            Self::Truncated { stop, last } => Outcome::Truncated { stop, last: last.into_owned() },
            Self::InputRequired(result) => Outcome::InputRequired(result.into_owned()),
            Self::Task(task) => Outcome::Task(task.into_owned()),
            Self::TaskCancelled => Outcome::TaskCancelled,
            Self::TaskNotFound => Outcome::TaskNotFound,
            Self::InputRefused(code) => Outcome::InputRefused(code),
            Self::TooManyRounds => Outcome::TooManyRounds,
            Self::CallError(error) => Outcome::CallError(error),
            Self::TransportFailed(failure) => Outcome::TransportFailed(failure.into_owned()),
            Self::TimedOut(expiry) => Outcome::TimedOut(expiry),
            Self::Closed(cause) => Outcome::Closed(cause),
            Self::NotSent => Outcome::NotSent,
        }
    }
}

/// The timeout that expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Expiry {
    /// No response and no progress was received for [`Timeouts::idle`](crate::config::Timeouts::idle).
    Idle,
    /// [`Timeouts::total`](crate::config::Timeouts::total) has passed since the call was made.
    Total,
    /// The timers of the call were stopped for [`Timeouts::person`](crate::config::Timeouts::person), because a
    /// person was asked on behalf of the peer.
    Paused,
}

/// Writes a sentence.
///
/// ```
/// assert_eq!(mcp_sansio::event::Expiry::Paused.to_string(), "a person took too long");
/// ```
impl fmt::Display for Expiry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::Idle => "no answer and no progress came in time",
            Self::Total => "no answer came in the time that a call may take at most",
            Self::Paused => "a person took too long",
        })
    }
}

/// A response that matches no pending call. The response changes nothing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct UnmatchedResponse<'a> {
    /// The id of the response.
    pub id: Id<'a>,
    /// The reason why no call waits for the response.
    pub cause: UnmatchedCause,
}

impl UnmatchedResponse<'_> {
    /// Converts the event into one that owns its text.
    pub fn into_owned(self) -> UnmatchedResponse<'static> {
        UnmatchedResponse { id: self.id.into_owned(), cause: self.cause }
    }
}

/// A violation of the protocol by the peer. The session continues.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Violation<'a> {
    /// The kind of the violation.
    pub kind: ViolationKind,
    /// The id of the message, if it has a readable one.
    pub id: Option<Id<'a>>,
    /// Whether an error response was sent.
    pub answered: bool,
    /// The message. Empty if it was too long to keep, or if its frame had an event of its own before this one.
    pub message: MessageBytes<'a>,
    /// The length of the message in bytes, even if it was too long to keep.
    pub length: u64,
    /// The part of the params that does not fit, if that is the violation.
    pub misfit: Option<Misfit>,
}

impl<'a> Violation<'a> {
    pub(super) fn of(kind: ViolationKind, id: Option<Id<'a>>, message: &'a [u8]) -> Self {
        let length = message.len() as u64;
        Self { kind, id, answered: false, message: message.into(), length, misfit: None }
    }

    /// Converts the event into one that owns its message.
    pub fn into_owned(self) -> Violation<'static> {
        Violation {
            kind: self.kind,
            id: self.id.map(Id::into_owned),
            answered: self.answered,
            message: self.message.into_owned(),
            length: self.length,
            misfit: self.misfit,
        }
    }
}

/// The reason for the end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Cause {
    /// The peer closed its output: it has exited, or requests that this side exits.
    #[error("the peer ended the connection")]
    EndOfInput,
    /// Reading failed.
    #[error("reading from the peer failed")]
    ReadFailed,
    /// Writing failed.
    #[error("writing to the peer failed")]
    WriteFailed,
    /// This side requested the end.
    #[error("the connection was shut down")]
    ShutDown,
    /// The connection was shutting down, at the request of either side, and the deadline passed before everything was
    /// answered.
    #[error("the deadline for shutting down passed")]
    DrainDeadline,
    /// No session was established.
    #[error("the handshake failed")]
    HandshakeFailed,
    /// The server has ended the session, or no longer knows it
    /// ([session management](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management)).
    #[error("the server has ended the session")]
    SessionLost,
    /// The peer has not answered a number of pings
    /// ([`KeepAlive::close_after`](crate::config::KeepAlive::close_after)).
    #[error("the peer does not answer any more")]
    Unresponsive,
    /// The peer sends and does not read: not even the responses of the machine itself fit into the outbox any more.
    #[error("the peer does not read its answers")]
    OutboxOverflow,
}
