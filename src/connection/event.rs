//! The events that both roles have: outcomes, cancellations, progress, violations, the end.

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

/// A notification, of MCP or not. It is never answered.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Notification<'a> {
    /// The method.
    pub method: Str<'a>,
    /// What goes with it, an object.
    pub params: Option<Raw<'a>>,
}

impl Notification<'_> {
    /// Whether it is this notification.
    pub fn is<N: method::Notification>(&self) -> bool {
        self.method == N::NAME
    }

    /// The params, decoded, if it is this notification.
    ///
    /// # Errors
    ///
    /// [`ParseError`] inside if the params do not fit: the peer is at fault. Absent params count
    /// as `{}`.
    pub fn parse<N: method::Notification>(&self) -> Option<Result<N::Params<'_>, ParseError>> {
        if !self.is::<N>() {
            return None;
        }
        Some(match &self.params {
            Some(params) => params.parse(),
            None => decoded("{}"),
        })
    }

    /// The same with its own copy of the text.
    pub fn into_owned(self) -> Notification<'static> {
        Notification { method: self.method.into_owned(), params: self.params.map(Raw::into_owned) }
    }
}

/// A request of the peer is not to be answered any more. Its handle is dead.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Cancelled<'a> {
    /// The request.
    pub id: IncomingId,
    /// Who ended it.
    pub cause: CancelCause,
    /// Why, in the peer's words, if it is the peer who cancelled.
    pub reason: Option<Str<'a>>,
}

/// Who ended a request of the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CancelCause {
    /// The peer cancelled it.
    Peer,
    /// The connection ended, or its drain deadline passed.
    Closed,
    /// It was needed for a call of this side, which has ended. Nobody waits for the answer.
    CallEnded,
    /// What was needed to serve it is not to be had from the peer. The machine has answered it.
    InputFailed,
}

/// In a sentence.
impl fmt::Display for CancelCause {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::Peer => "the peer cancelled the request",
            Self::Closed => "the connection has ended",
            Self::CallEnded => "the call that the request was needed for has ended",
            Self::InputFailed => "what was needed to serve the request was not to be had",
        })
    }
}

impl Cancelled<'_> {
    /// The same with its own copy of the text.
    pub fn into_owned(self) -> Cancelled<'static> {
        Cancelled { reason: self.reason.map(Str::into_owned), ..self }
    }
}

/// How far a call of ours is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ProgressUpdate<'a> {
    /// The call.
    pub call: CallId,
    /// How far it is; greater than in the update before.
    pub progress: Number,
    /// How far it has to go, if known.
    pub total: Option<Number>,
    /// What is going on, for people.
    pub message: Option<Str<'a>>,
}

impl ProgressUpdate<'_> {
    /// The same with its own copy of the text.
    pub fn into_owned(self) -> ProgressUpdate<'static> {
        ProgressUpdate { message: self.message.map(Str::into_owned), ..self }
    }
}

/// A page of a list that is read page by page, and not the last one: that is the outcome of the call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ListPage<'a> {
    /// The call.
    pub call: CallId,
    /// The result that holds the page. The next one has been asked for.
    pub result: Raw<'a>,
    /// Whether the list has changed since its first page was asked for.
    pub stale: bool,
}

impl ListPage<'_> {
    /// The page, decoded as the result of the method that lists.
    ///
    /// # Errors
    ///
    /// [`ParseError`] if it does not fit: the peer is at fault.
    pub fn parse<M: Method>(&self) -> Result<M::Result<'_>, ParseError> {
        self.result.parse()
    }

    /// The same with its own copy of the text.
    pub fn into_owned(self) -> ListPage<'static> {
        ListPage { result: self.result.into_owned(), ..self }
    }
}

/// A list that is read page by page is read from its beginning again: forget the pages so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ListRestarted {
    /// The call.
    pub call: CallId,
    /// Why.
    pub cause: RestartCause,
}

/// Why a list is read from its beginning again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RestartCause {
    /// The peer said that the list has changed.
    Changed,
    /// The peer does not know its cursor any more, as happens if the list has changed. A second time
    /// ends the call.
    InvalidCursor,
}

/// The one outcome of a call. Its handle is dead.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct CallEnded<'a> {
    /// The call.
    pub call: CallId,
    /// How it ended.
    pub outcome: Outcome<'a>,
    /// Whether the peer has said, since the call was made, that the list which it asks for has changed:
    /// the result may be what it was before. Ask again, once.
    pub stale: bool,
    /// Whether the peer needed something before it answered, so that the result is an answer to that as
    /// well, and nothing to use again for the same request.
    pub needed_input: bool,
    /// The status of HTTP with which the server has refused, if it has.
    pub status: Option<u16>,
}

impl<'a> CallEnded<'a> {
    /// One that is not about a list that has changed, needed no input and was not refused by a status.
    pub(crate) const fn new(call: CallId, outcome: Outcome<'a>) -> Self {
        Self { call, outcome, stale: false, needed_input: false, status: None }
    }
}

impl CallEnded<'_> {
    /// The same with its own copy of the text.
    pub fn into_owned(self) -> CallEnded<'static> {
        CallEnded { outcome: self.outcome.into_owned(), ..self }
    }
}

/// What came of something that a [task](crate::task) of this side has asked for in a session: hand it to
/// [`Tasks::answered`](crate::task::Tasks::answered).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct TaskAnswer<'a> {
    /// The task.
    pub task: TaskKey,
    /// The call by which it was asked.
    pub call: CallId,
    /// What came of it.
    pub outcome: Outcome<'a>,
}

impl TaskAnswer<'_> {
    /// The same with its own copy of the text.
    pub fn into_owned(self) -> TaskAnswer<'static> {
        TaskAnswer { outcome: self.outcome.into_owned(), ..self }
    }
}

/// How a call ended. A call that this side cancelled has no outcome event: `cancel` returns the outcome.
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
    /// The list has more pages or items than allowed, or repeats a cursor.
    Truncated {
        /// Why the next page was not requested.
        stop: PageStop,
        /// The last page that was received. The pages before it were events.
        last: Raw<'a>,
    },
    /// The peer needs something before it can answer, and the call was to be
    /// [driven by hand](crate::CallOptions::input_by_hand), or cannot be made again by the machine
    /// because its params are longer than [`Limits::kept_bytes`](crate::Limits::kept_bytes): an
    /// [`InputRequired`](crate::model::InputRequired). Make another call, with the same params and what
    /// the peer needs.
    InputRequired(Raw<'a>),
    /// The call became a [task](crate::task) that this connection does not poll: the application polls it
    /// ([`TaskOptions::by_hand`](crate::call::TaskOptions::by_hand)), or the connection has ended. The task goes on and can be
    /// polled on another connection.
    Task(BegunTask<'a>),
    /// The call became a task, and the task was cancelled.
    TaskCancelled,
    /// The call became a task that the peer no longer has, or whose time to live is over. Its result is lost.
    TaskNotFound,
    /// The peer required input, and the application [rejected](crate::Connection::reject) that request with this code.
    /// Nothing was sent to the peer.
    InputRefused(ErrorCode),
    /// The peer required input more than [`Limits::input_rounds`](crate::Limits::input_rounds) times.
    TooManyRounds,
    /// The machine could not send the call, or could not send it again. A call that was queued before the session opened
    /// is not allowed in it, or a request with the gathered input does not fit in the outbox, or the server needs a
    /// session. The peer waits for nothing.
    CallError(CallError),
    /// The transport of this call failed, and the connection lives on. The [kind](TransportFailure::kind) of the failure
    /// says whether the peer may have served the call.
    TransportFailed(TransportFailure<'a>),
    /// No response came in time. The call was cancelled on the wire, or withdrawn before it was sent.
    TimedOut(Expiry),
    /// The connection ended first. The peer may have served the call.
    Closed(Cause),
    /// The connection ended before a byte of the call was sent. The peer never received it.
    NotSent,
}

impl Outcome<'_> {
    /// The result, decoded as that of the method; `None` if the call has ended in any other way.
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

    /// The same with its own copy of the text.
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

/// Which time was up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Expiry {
    /// No answer and no progress for [`Timeouts::idle`](crate::config::Timeouts::idle).
    Idle,
    /// [`Timeouts::total`](crate::config::Timeouts::total) since the call.
    Total,
    /// The timers of the call have stood still for [`Timeouts::person`](crate::config::Timeouts::person),
    /// because a person was asked on behalf of the peer.
    Paused,
}

/// In a sentence.
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

/// A response that belongs to no pending call. It changes nothing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct UnmatchedResponse<'a> {
    /// The id of the response.
    pub id: Id<'a>,
    /// Why no call waits for it.
    pub cause: UnmatchedCause,
}

impl UnmatchedResponse<'_> {
    /// The same with its own copy of the text.
    pub fn into_owned(self) -> UnmatchedResponse<'static> {
        UnmatchedResponse { id: self.id.into_owned(), cause: self.cause }
    }
}

/// Something the peer may not do. The session goes on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Violation<'a> {
    /// What it is.
    pub kind: ViolationKind,
    /// The id of the message, if it has one that could be read.
    pub id: Option<Id<'a>>,
    /// Whether an error went back.
    pub answered: bool,
    /// The message. Empty for one that was too long to keep.
    pub message: MessageBytes<'a>,
    /// How many bytes it has, also if it was too long to keep.
    pub length: u64,
    /// Which part of the params does not fit, if that is what is wrong.
    pub misfit: Option<Misfit>,
}

impl<'a> Violation<'a> {
    pub(super) fn of(kind: ViolationKind, id: Option<Id<'a>>, message: &'a [u8]) -> Self {
        let length = message.len() as u64;
        Self { kind, id, answered: false, message: message.into(), length, misfit: None }
    }

    /// The same with its own copy of the message.
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

/// Why a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Cause {
    /// The peer ended its output: it has exited, or wants us to.
    #[error("the peer ended the connection")]
    EndOfInput,
    /// Reading failed.
    #[error("reading from the peer failed")]
    ReadFailed,
    /// Writing failed.
    #[error("writing to the peer failed")]
    WriteFailed,
    /// This side asked for it.
    #[error("the connection was shut down")]
    ShutDown,
    /// The connection was to end, by the wish of either side, and the deadline passed before everything
    /// was answered.
    #[error("the deadline for shutting down passed")]
    DrainDeadline,
    /// No session came about.
    #[error("the handshake failed")]
    HandshakeFailed,
    /// The server has ended the session, or does not know it any more
    /// ([session management](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management)).
    #[error("the server has ended the session")]
    SessionLost,
    /// The peer has not answered a number of pings
    /// ([`KeepAlive::close_after`](crate::config::KeepAlive::close_after)).
    #[error("the peer does not answer any more")]
    Unresponsive,
    /// The peer sends and does not read: not even the machine's own answers fit any more.
    #[error("the peer does not read its answers")]
    OutboxOverflow,
}
