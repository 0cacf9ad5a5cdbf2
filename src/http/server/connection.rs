//! [`Connection`], one machine of a server over HTTP.

use super::session_id::SessionId;
use super::source::RequestSource;
use super::streams::Streams;
use crate::server::Server;
use crate::time::Instant;

/// A machine and its outboxes.
#[derive(Clone, Debug)]
pub(super) struct Connection {
    pub(super) server: Server,
    pub(super) streams: Streams,
    pub(super) deadline: Option<Instant>,
    /// The client of the connection.
    pub(super) source: RequestSource,
    /// The id by which the client names the session.
    pub(super) session: Option<SessionId>,
}
