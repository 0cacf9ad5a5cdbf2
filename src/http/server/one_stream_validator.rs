//! The checks of the two endpoints for a session on one event stream
//! ([2024-11-05, HTTP with SSE](https://modelcontextprotocol.io/specification/2024-11-05/basic/transports#http-with-sse)).

use super::body::check_shape;
use super::reply::Reply;
use super::request_validator::{RequestHead, RequestValidator};
use super::session_id::SessionId;
use crate::codes::ErrorCode;
use crate::http::is_json;
use crate::json::ScannedFrame;

/// # With one event stream
///
/// An application that supports such clients serves two additional paths for them.
impl RequestValidator {
    /// Checks the head of a request for the event stream. If it is accepted, continue with
    /// [`RequestValidator::one_stream`].
    ///
    /// # Errors
    ///
    /// The [`Reply`] that refuses the request: 403, 404 if the server supports no legacy revision, 405 or 406.
    pub fn admit_event_stream(&self, head: &RequestHead<'_>) -> Result<(), Reply> {
        self.check_access(head)?;
        if !self.speaks_in_sessions() {
            let text = "there are no sessions here";
            return Err(Reply::refusal(404, ErrorCode::INVALID_REQUEST, text));
        }
        if head.method != "GET" {
            return Err(Reply::not_allowed("GET"));
        }
        self.check_accept(head.headers, &["text/event-stream"])
    }

    /// Checks the head of a POST to the endpoint for messages, and the session id in its URI. If it is accepted, read
    /// the body, of at most [`HttpServerConfig::body_bytes`](super::HttpServerConfig::body_bytes), and pass it to
    /// [`message`](Self::message).
    ///
    /// # Errors
    ///
    /// The [`Reply`] that refuses the request: 400 without an id, 403, 404, 405 or 415.
    pub fn admit_message(
        &self,
        head: &RequestHead<'_>,
        session: Option<&str>,
    ) -> Result<SessionId, Reply> {
        self.check_access(head)?;
        if head.method != "POST" {
            return Err(Reply::not_allowed("POST"));
        }
        if !is_json(head.headers) {
            return Err(Self::not_json());
        }
        let Some(session) = session else {
            let text = "the id of the session is missing";
            return Err(Reply::refusal(400, ErrorCode::INVALID_REQUEST, text));
        };
        SessionId::parse(session).ok_or_else(Self::no_session)
    }

    /// Checks that the body of such a POST is a message or a batch.
    ///
    /// # Errors
    ///
    /// The [`Reply`] that refuses the body: 400 or 413.
    pub fn message(&self, body: &[u8]) -> Result<(), Reply> {
        self.message_scanned(body, &mut ScannedFrame::new())
    }

    /// Like [`message`](Self::message), but if the body is a single message, `scanned` receives its scan, for use by
    /// [`Server::receive_scanned`](crate::Server::receive_scanned).
    ///
    /// # Errors
    ///
    /// Those of [`message`](Self::message).
    pub fn message_scanned<'b>(
        &self,
        body: &'b [u8],
        scanned: &mut ScannedFrame<'b>,
    ) -> Result<(), Reply> {
        if self.config.body_bytes < body.len() {
            return Err(self.too_large());
        }
        check_shape(self, body, scanned)
    }
}
