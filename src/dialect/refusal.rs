//! `NotAllowed` and `RespondError`: the reasons why the session or its revision refuses a command of the application.

use crate::capability::Capability;
use crate::schema::EncodeError;

/// The reason why a message may not be sent. The sender is at fault, except for [`Transport`](Self::Transport) and
/// [`Closing`](Self::Closing).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum NotAllowed {
    /// Only the other side may send the message.
    #[error("it is for the other side to send")]
    Direction,
    /// The revision of the session does not have the message.
    #[error("the revision of the session does not have it")]
    Revision,
    /// The message needs a capability that has not been declared.
    #[error("the {owner} has not declared the capability {0}", owner = .0.owner().name())]
    Capability(Capability),
    /// The method belongs to an extension that not both sides have declared.
    // Without the name: this type is one byte, and every call and every response returns it.
    #[error("not both sides have declared the extension of the method")]
    Extension,
    /// The revision reserves the error code.
    #[error("the revision reserves this code")]
    Code,
    /// The tool does not run as a task.
    #[error("the tool does not run as a task")]
    TaskSupport,
    /// The response to this method cannot be a request for input.
    #[error("this method cannot be answered with a request for input")]
    Method,
    /// The transport currently has no route for a request to the peer.
    #[error("the transport cannot bring a request to the peer now")]
    Transport,
    /// The connection is closing: open requests can be answered, but no new request can be sent.
    #[error("the connection is closing, and nothing can be asked any more")]
    Closing,
}

/// The reason why a request could not be answered or reported on. Nothing was sent.
///
/// The application is at fault for a second answer, for [`TooManyRounds`](Self::TooManyRounds), and usually for
/// [`NotAllowed`](Self::NotAllowed) and [`Encode`](Self::Encode). The others happen without a fault: a request can be
/// cancelled while its handler runs, and a peer that does not read fills the outbox ([`EncodeError::Full`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum RespondError {
    /// The request has been answered already.
    #[error("the request has been answered already")]
    Answered,
    /// The peer has cancelled the request, so it must not be answered.
    #[error("the peer has cancelled the request")]
    Cancelled,
    /// The connection has ended.
    #[error("the connection has ended")]
    Closed,
    /// The handle belongs to another connection, or to a request that ended long ago.
    #[error("no such request on this connection")]
    Stale,
    /// The session does not allow this response. The request is still open.
    #[error("the answer may not be given: {0}")]
    NotAllowed(#[from] NotAllowed),
    /// The response could not be written. The request is still open.
    #[error("the answer could not be written: {0}")]
    Encode(#[from] EncodeError),
    /// Input was required more than [`Limits::input_rounds`](crate::Limits::input_rounds) times for this request, or
    /// too much input at once. The request is still open.
    #[error("too much input is required for this request")]
    TooManyRounds,
}
