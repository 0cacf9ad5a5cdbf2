//! `Connection`: one machine of a server behind HTTP.

use super::session_id::SessionId;
use super::source::RequestSource;
use super::streams::Streams;
use crate::server::Server;
use crate::time::Instant;

/// A machine and where its output goes.
#[derive(Clone, Debug)]
pub(super) struct Connection {
    pub(super) server: Server,
    pub(super) streams: Streams,
    pub(super) deadline: Option<Instant>,
    /// Whose it is.
    pub(super) source: RequestSource,
    /// Under which id its client finds it.
    pub(super) session: Option<SessionId>,
}
