//! `NotAllowed` and `RespondError`: why a command of the application does not fit the session or its revision.

use crate::capability::Capability;
use crate::schema::EncodeError;

/// Why a message may not be sent. Whoever sends it is at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum NotAllowed {
    /// It is for the other side to send.
    #[error("it is for the other side to send")]
    Direction,
    /// The revision of the session does not have it.
    #[error("the revision of the session does not have it")]
    Revision,
    /// It needs a capability that the side which has to declare it has not declared.
    #[error("the {owner} has not declared the capability {0}", owner = .0.owner().name())]
    Capability(Capability),
    /// The revision reserves the code of the error for something else.
    #[error("the revision reserves this code")]
    Code,
    /// The tool does not run as a task.
    #[error("the tool does not run as a task")]
    TaskSupport,
    /// The method is none of those that can be answered with a request for input.
    #[error("this method cannot be answered with a request for input")]
    Method,
    /// The transport has no way to bring a request to the peer now.
    #[error("the transport cannot bring a request to the peer now")]
    Transport,
    /// The connection is closing: what is open can be answered, and nothing new can be asked.
    #[error("the connection is closing, and nothing can be asked any more")]
    Closing,
}

/// Why a request could not be answered or reported on. Nothing was sent.
///
/// None of this is the application's fault except [`Encode`](Self::Encode),
/// [`NotAllowed`](Self::NotAllowed) and answering twice: a request can be cancelled while it is being
/// worked on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum RespondError {
    /// It has been answered already.
    #[error("the request has been answered already")]
    Answered,
    /// The peer has cancelled it, so it must not be answered.
    #[error("the peer has cancelled the request")]
    Cancelled,
    /// The connection has ended.
    #[error("the connection has ended")]
    Closed,
    /// The handle is of another connection, or of a request that ended long ago.
    #[error("no such request on this connection")]
    Stale,
    /// The session does not allow this answer; the request is still open.
    #[error("the answer may not be given: {0}")]
    NotAllowed(#[from] NotAllowed),
    /// The answer could not be written; the request is still open.
    #[error("the answer could not be written: {0}")]
    Encode(#[from] EncodeError),
    /// Input was required more than [`Limits::input_rounds`](crate::Limits::input_rounds) times for this
    /// request, or more is asked for at once than may be; the request is still open.
    #[error("too much input is required for this request")]
    TooManyRounds,
}
