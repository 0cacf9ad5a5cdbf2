//! Responses that are complete from the start: refusals, and the empty ones.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Display};

use crate::codes::ErrorCode;
use crate::rpc::{Answer, Fault, Id, write_error};
use crate::schema::Writer;

/// A whole response, without the help of a machine: the client is refused, or there is nothing to say.
#[derive(Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Reply {
    /// The status of HTTP.
    pub status: u16,
    /// What `Allow` is to say, if the method is not served.
    pub allow: Option<&'static str>,
    /// What `WWW-Authenticate` is to say, if the client has to say who it is.
    pub challenge: Option<String>,
    /// What `Retry-After` is to say, in seconds, if the client may try again.
    pub retry_after: Option<String>,
    /// A JSON-RPC error, or nothing.
    pub body: Vec<u8>,
}

/// Without the body, in which there is something of the client.
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
    /// Nothing but a status.
    pub const fn empty(status: u16) -> Self {
        Self { status, allow: None, challenge: None, retry_after: None, body: Vec::new() }
    }

    /// A refusal that says why, and names no request.
    pub fn refusal(status: u16, code: ErrorCode, message: &str) -> Self {
        Self::error(status, None, code, &message)
    }

    /// There is no room for another request at the moment: 503, with a text that names the limit, and the advice to try
    /// again after a second.
    pub fn busy(message: &str) -> Self {
        let refusal = Self::refusal(503, ErrorCode::INTERNAL_ERROR, message);
        Self { retry_after: Some("1".into()), ..refusal }
    }

    /// The method of HTTP is none of those that are served here.
    pub(super) fn not_allowed(allow: &'static str) -> Self {
        let message = "this method is not served here";
        let refusal = Self::refusal(405, ErrorCode::INVALID_REQUEST, message);
        Self { allow: Some(allow), ..refusal }
    }

    /// A refusal of the request with this id.
    pub(super) fn error(
        status: u16,
        id: Option<&Id<'_>>,
        code: ErrorCode,
        message: &dyn Display,
    ) -> Self {
        Self::with(status, id, Fault { code, message, data: None })
    }

    /// The same with something more to say.
    pub(super) fn with(status: u16, id: Option<&Id<'_>>, fault: Fault<'_>) -> Self {
        let mut body = Vec::new();
        let answer = id.map_or(Answer::Absent, Answer::To);
        // The buffer has no limit and no payload can fail, so all of it is written.
        _ = write_error(&mut Writer::new(&mut body, usize::MAX), answer, fault, None);
        Self { status, allow: None, challenge: None, retry_after: None, body }
    }

    /// The host does not know who is asking, and has to: 401 with this challenge, the value of `WWW-Authenticate`.
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

    /// The header fields that go with it.
    pub fn headers(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let json = (!self.body.is_empty()).then_some(("Content-Type", "application/json"));
        let allow = self.allow.map(|methods| ("Allow", methods));
        let challenge = self.challenge.as_deref().map(|challenge| ("WWW-Authenticate", challenge));
        let retry = self.retry_after.as_deref().map(|seconds| ("Retry-After", seconds));
        json.into_iter().chain(allow).chain(challenge).chain(retry)
    }
}
