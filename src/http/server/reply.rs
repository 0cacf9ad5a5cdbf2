//! [`Reply`], a complete response without a machine: a refusal, or an empty response.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Display};

use crate::codes::ErrorCode;
use crate::rpc::{Fault, Id, ReplyTo, write_error};
use crate::schema::Writer;

/// A complete HTTP response that needs no machine: a refusal, or an empty response. The `Reply` of the adapters is
/// another type: the result of a call.
#[derive(Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// The value of `Allow`, if the method is not supported.
    pub allow: Option<&'static str>,
    /// The value of `WWW-Authenticate`, if the client must authenticate.
    pub challenge: Option<String>,
    /// The value of `Retry-After` in seconds, if the client may try again.
    pub retry_after: Option<String>,
    /// A JSON-RPC error, or empty.
    pub body: Vec<u8>,
}

/// Omits the body, which may contain data of the client.
impl fmt::Debug for Reply {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Reply")
            .field("status", &self.status)
            .field("allow", &self.allow)
            .field("bytes", &self.body.len())
            .finish()
    }
}

impl Reply {
    /// Creates a response with a status only.
    pub const fn empty(status: u16) -> Self {
        Self { status, allow: None, challenge: None, retry_after: None, body: Vec::new() }
    }

    /// Creates a refusal with an error, but without a request id.
    pub fn refusal(status: u16, code: ErrorCode, message: &str) -> Self {
        Self::error(status, None, code, &message)
    }

    /// Creates the refusal of a request beyond a limit: 503, with a message that names the limit and the advice to
    /// try again after a second.
    pub fn busy(message: &str) -> Self {
        let refusal = Self::refusal(503, ErrorCode::INTERNAL_ERROR, message);
        Self { retry_after: Some("1".into()), ..refusal }
    }

    /// Creates the refusal of an HTTP method that is not supported.
    pub(super) fn not_allowed(allow: &'static str) -> Self {
        let message = "this method is not served here";
        let refusal = Self::refusal(405, ErrorCode::INVALID_REQUEST, message);
        Self { allow: Some(allow), ..refusal }
    }

    /// Creates the refusal of the request with this id.
    pub(super) fn error(
        status: u16,
        id: Option<&Id<'_>>,
        code: ErrorCode,
        message: &dyn Display,
    ) -> Self {
        Self::with(status, id, Fault { code, message, data: None })
    }

    /// Creates the refusal of the request with this id, with error data.
    pub(super) fn with(status: u16, id: Option<&Id<'_>>, fault: Fault<'_>) -> Self {
        let mut body = Vec::new();
        let answer = id.map_or(ReplyTo::Absent, ReplyTo::To);
        // Writing cannot fail: the buffer has no limit, and no payload fails.
        _ = write_error(&mut Writer::new(&mut body, usize::MAX), answer, fault, None);
        Self { status, allow: None, challenge: None, retry_after: None, body }
    }

    /// Creates the response to a client that must authenticate: 401 with this challenge, the value of
    /// `WWW-Authenticate`.
    ///
    /// ```
    /// use mcp_sansio::http::Reply;
    ///
    /// let reply = Reply::unauthorized(r#"Bearer error="invalid_token""#);
    /// assert_eq!(reply.status, 401);
    /// assert!(reply.headers().any(|(name, _)| name == "WWW-Authenticate"));
    /// ```
    pub fn unauthorized(challenge: impl Into<String>) -> Self {
        Self { challenge: Some(challenge.into()), ..Self::empty(401) }
    }

    /// Returns the header fields of the response.
    pub fn headers(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let json = (!self.body.is_empty()).then_some(("Content-Type", "application/json"));
        let allow = self.allow.map(|methods| ("Allow", methods));
        let challenge = self.challenge.as_deref().map(|challenge| ("WWW-Authenticate", challenge));
        let retry = self.retry_after.as_deref().map(|seconds| ("Retry-After", seconds));
        json.into_iter().chain(allow).chain(challenge).chain(retry)
    }
}
