//! `TransportFailure`: the failure of the transport that ended a call or a subscription.

use core::fmt;

use super::transport_error::TransportError;
use crate::json::Str;
use crate::rpc::ErrorObject;

/// The failure of the exchange that carried a call, on a connection that continues. Only transports with an exchange
/// per call, such as HTTP, report it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct TransportFailure<'a> {
    /// The kind of the failure.
    pub kind: TransportFailureKind,
    /// The HTTP status, if a response arrived.
    pub status: Option<u16>,
    /// The `WWW-Authenticate` of the server: its requirement for serving this client. The challenges of several such
    /// fields are joined by a comma and a space. Bytes beyond ASCII are read as UTF-8, with U+FFFD for invalid
    /// sequences.
    pub challenge: Option<Str<'a>>,
    /// The `Retry-After` of the server, unparsed.
    pub retry_after: Option<Str<'a>>,
    /// The error of the transport, if it failed and reported one.
    pub cause: Option<TransportError>,
}

/// The kind of the failure of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum TransportFailureKind {
    /// The request did not reach the server, as far as the client can detect.
    #[error("the request did not reach the server")]
    Unreachable,
    /// The response broke off, or ended, before the JSON-RPC response arrived. The server may have processed the
    /// call.
    #[error("the response ended before the answer came")]
    BrokenOff,
    /// The server refused the exchange with a status, without a JSON-RPC error.
    #[error("the server refused the request")]
    Refused,
    /// The server requires authorization: status 401, or 403 with a challenge.
    #[error("the server asks for authorization")]
    Unauthorized,
    /// The body cannot be the response to a request: it is empty, has another content type, or carries another id.
    #[error("the response is no answer to a request")]
    NoAnswer,
    /// The response, or an event of it, exceeds [`Limits::frame_bytes`](crate::Limits::frame_bytes).
    #[error("the response is too long")]
    TooLong,
    /// The call cannot be made over this transport, and was not sent: the schema of the tool contains a value that no
    /// header field can hold, or requires an argument in a header field where it does not fit.
    #[error("the arguments cannot be repeated in header fields")]
    UnencodableHeader,
}

/// Formats a sentence. It contains the kind and the target of the cause and the challenge of the server, because they
/// show the user which condition is missing.
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
    /// Returns the error of the transport. `Display` includes the [`cause`](Self::cause) itself.
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        self.cause.as_ref()?.source()
    }
}

impl TransportFailure<'_> {
    /// Creates a failure of this kind, without details.
    pub const fn new(kind: TransportFailureKind) -> Self {
        Self { kind, status: None, challenge: None, retry_after: None, cause: None }
    }

    /// Converts into a failure that owns its text.
    pub fn into_owned(self) -> TransportFailure<'static> {
        TransportFailure {
            kind: self.kind,
            status: self.status,
            challenge: self.challenge.map(Str::into_owned),
            retry_after: self.retry_after.map(Str::into_owned),
            cause: self.cause,
        }
    }

    /// Whether a server that does not know the request refuses it in this way.
    pub(crate) const fn is_refused(&self) -> bool {
        match (self.kind, self.status) {
            // These statuses ask for a later retry, so the server may know the request.
            (TransportFailureKind::Refused, Some(408 | 425 | 429)) => false,
            (TransportFailureKind::Refused, Some(400..=499)) => true,
            _ => false,
        }
    }
}

/// The end of the exchange of a call without a JSON-RPC response that carries the id of the call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ExchangeEnd<'a> {
    /// An error that can only belong to this call.
    Error {
        /// The error.
        error: ErrorObject<'a>,
        /// The HTTP status of the response.
        status: u16,
        /// Whether the transport has learned how the call should have been made. The call is then made again under a
        /// new id. The call ends only if its params have not been kept.
        is_mended: bool,
    },
    /// No JSON-RPC error.
    Failure(TransportFailure<'a>),
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;
    use core::error::Error;

    use super::super::transport_error::TransportErrorKind;
    use super::*;

    /// `Display` shows the cause, so its own source is the next error of the chain.
    #[test]
    fn the_source_of_a_failure_is_that_of_its_cause() {
        let mut failure = TransportFailure::new(TransportFailureKind::Unreachable);
        assert!(failure.source().is_none());
        let cause = TransportError::new(TransportErrorKind::Dns);
        failure.cause = Some(cause.clone());
        assert!(failure.source().is_none());
        failure.cause = Some(cause.caused_by("no such host"));
        assert_eq!(failure.source().map(ToString::to_string).as_deref(), Some("no such host"));
    }

    /// A server that asks for a later retry may know the request.
    #[test]
    fn a_request_is_refused_by_most_client_errors() {
        let refused =
            |kind, status| TransportFailure { status, ..TransportFailure::new(kind) }.is_refused();
        for status in [400, 404, 405, 415, 499] {
            assert!(refused(TransportFailureKind::Refused, Some(status)), "{status}");
        }
        for status in [399, 408, 425, 429, 500, 503] {
            assert!(!refused(TransportFailureKind::Refused, Some(status)), "{status}");
        }
        assert!(!refused(TransportFailureKind::Refused, None));
        assert!(!refused(TransportFailureKind::NoAnswer, Some(404)));
    }
}
