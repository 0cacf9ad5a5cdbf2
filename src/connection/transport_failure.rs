//! `TransportFailure`: the failure of the transport that ended a call or a subscription.

use core::fmt;

use super::transport_error::TransportError;
use crate::json::Str;
use crate::rpc::ErrorObject;

/// Why a call has no answer although the connection lives on: the exchange that carried it has failed. Only
/// transports with an exchange for each call, such as HTTP, have these.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct TransportFailure<'a> {
    /// What went wrong.
    pub kind: TransportFailureKind,
    /// The status of HTTP, if a response came.
    pub status: Option<u16>,
    /// What the server asks for before it serves this client: its `WWW-Authenticate`. The challenges of several
    /// such fields are joined by a comma and a space; bytes beyond ASCII are read as UTF-8, with U+FFFD for what
    /// is not UTF-8.
    pub challenge: Option<Str<'a>>,
    /// When to try again, in the words of the server: its `Retry-After`.
    pub retry_after: Option<Str<'a>>,
    /// Why the transport failed, if it did and the transport said so.
    pub cause: Option<TransportError>,
}

/// What went wrong with the exchange of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum TransportFailureKind {
    /// The request did not reach the server, as far as the client can know.
    #[error("the request did not reach the server")]
    Unreachable,
    /// The response broke off, or ended, before the answer came. The server may have served the call.
    #[error("the response ended before the answer came")]
    BrokenOff,
    /// The server refused the exchange with a status, and no error of JSON-RPC.
    #[error("the server refused the request")]
    Refused,
    /// The server wants to know who is asking: status 401, or 403 with a challenge.
    #[error("the server asks for authorization")]
    Unauthorized,
    /// The response is none that can answer a request: empty, of another content type, for another id.
    #[error("the response is no answer to a request")]
    NoAnswer,
    /// The response, or an event of it, is longer than [`Limits::frame_bytes`](crate::Limits::frame_bytes).
    #[error("the response is too long")]
    TooLong,
    /// The call cannot be made over this transport: the schema of the tool says something that no header field
    /// can hold, or asks for an argument in one that does not fit there. It was not sent.
    #[error("the arguments cannot be repeated in header fields")]
    Unsayable,
}

/// In a sentence. Kind and target of the cause are in it, and what the server asks for, because they tell the user
/// what is missing.
impl fmt::Display for TransportFailure<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(formatter)?;
        if let Some(status) = self.status {
            write!(formatter, " (HTTP status {status})")?;
        }
        if let Some(cause) = &self.cause {
            write!(formatter, ": {cause}")?;
        }
        if let Some(challenge) = &self.challenge {
            write!(formatter, ": {challenge}")?;
        }
        Ok(())
    }
}

impl core::error::Error for TransportFailure<'_> {
    /// The error of the transport: `Display` shows the [`cause`](Self::cause) itself.
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        self.cause.as_ref()?.source()
    }
}

impl TransportFailure<'_> {
    /// Nothing but what went wrong.
    pub const fn new(kind: TransportFailureKind) -> Self {
        Self { kind, status: None, challenge: None, retry_after: None, cause: None }
    }

    /// The same with its own copy of the text.
    pub fn into_owned(self) -> TransportFailure<'static> {
        TransportFailure {
            kind: self.kind,
            status: self.status,
            challenge: self.challenge.map(Str::into_owned),
            retry_after: self.retry_after.map(Str::into_owned),
            cause: self.cause,
        }
    }

    /// Whether this is how a server refuses that knows nothing of what it was asked.
    pub(crate) const fn is_refused(&self) -> bool {
        match (self.kind, self.status) {
            // It is asked to come back later, so it may well be known.
            (TransportFailureKind::Refused, Some(408 | 425 | 429)) => false,
            (TransportFailureKind::Refused, Some(400..=499)) => true,
            _ => false,
        }
    }
}

/// How the exchange of a call has ended without a response of JSON-RPC that names the call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ExchangeEnd<'a> {
    /// With an error that can only be about this call.
    Error {
        /// The error.
        error: ErrorObject<'a>,
        /// The status of HTTP that came with it.
        status: u16,
        /// The transport has found out meanwhile how the call should have been made: it is made again, under a new
        /// id, unless its params have not been kept. Only then does the call end.
        is_mended: bool,
    },
    /// Without any.
    Failure(TransportFailure<'a>),
}
