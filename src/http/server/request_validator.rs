//! [`RequestValidator`]: the checks of an HTTP request before its messages reach a machine
//! ([security](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#security-warning),
//! [standard headers](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http)).

use alloc::sync::Arc;

use super::config::{HttpServerConfig, SessionMode};
use super::reply::Reply;
use super::session_id::SessionId;
use crate::codes::ErrorCode;
use crate::config::ServerConfig;
use crate::connection::Identity;
use crate::http::media::{accepts, accepts_both_plainly};
use crate::http::{Field, Headers, is_json, name};
use crate::rpc::Id;
use crate::server::ServerTemplate;
use crate::version::{Revision, RevisionSet};

/// A stateless validator of HTTP requests, which also determines the destination of their messages.
///
/// The validator checks first the [head](Self::admit), then the [body](Self::post). The reply reports the first
/// error, in the order in which the specification lists the checks.
#[derive(Clone, Debug)]
pub struct RequestValidator {
    pub(super) config: Arc<HttpServerConfig>,
    pub(super) server: Arc<ServerConfig>,
    /// The template of machines for modern messages; `session` is the template for sessions. Each supports only the
    /// revisions of its era.
    pub(super) modern: ServerTemplate,
    pub(super) session: ServerTemplate,
    /// The template of sessions whose clients are indistinguishable, so that their tasks are not listed.
    pub(super) session_without_list: ServerTemplate,
    /// The identity that the server sends, if it supports the modern era.
    pub(super) identity: Option<Identity>,
}

/// The head of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct RequestHead<'a> {
    /// The HTTP method, in capitals as sent.
    pub method: &'a str,
    /// The header fields.
    pub headers: Headers<'a>,
    /// The `:authority` of HTTP/2, which replaces `Host` there.
    pub authority: Option<&'a str>,
}

impl<'a> RequestHead<'a> {
    /// Creates the head of a request with this method and these header fields.
    pub fn new(method: &'a str, headers: impl Into<Headers<'a>>) -> Self {
        Self { method, headers: headers.into(), authority: None }
    }

    /// Sets the authority of HTTP/2.
    #[must_use]
    pub const fn authority(mut self, authority: Option<&'a str>) -> Self {
        self.authority = authority;
        self
    }
}

/// The purpose of a request with a valid head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Accepted<'a> {
    /// A message: read the body, of at most [`HttpServerConfig::body_bytes`], and pass it to
    /// [`RequestValidator::post`]. Respond to a longer body with [`RequestValidator::too_large`].
    Post,
    /// An event stream of a session ([`Streams::listen`](super::Streams::listen)).
    Listen {
        /// The session.
        session: SessionId,
        /// The id of the last received event, to resume a stream that broke off.
        last_event: Option<&'a str>,
    },
    /// The end of a session.
    End {
        /// The session.
        session: SessionId,
    },
}

impl RequestValidator {
    /// Creates the validator of a server with this configuration.
    pub fn new(config: Arc<HttpServerConfig>, server: Arc<ServerConfig>) -> Self {
        let identity = server.identity();
        let (modern, session) =
            (speaking(&server, RevisionSet::MODERN), speaking(&server, RevisionSet::LEGACY));
        let session_without_list = ServerTemplate::new(without_list(&session));
        let (modern, session) = (ServerTemplate::new(modern), ServerTemplate::new(session));
        Self { config, server, modern, session, session_without_list, identity }
    }

    /// Returns the HTTP configuration.
    pub const fn config(&self) -> &Arc<HttpServerConfig> {
        &self.config
    }

    /// Whether the server has sessions.
    pub(super) fn has_sessions(&self) -> bool {
        self.serves_sessions(SessionMode::Sessions)
    }

    /// Whether the server assumes sessions.
    pub(super) fn assumes_sessions(&self) -> bool {
        self.serves_sessions(SessionMode::Assumed)
    }

    fn serves_sessions(&self, mode: SessionMode) -> bool {
        self.config.sessions == mode && self.speaks_in_sessions()
    }

    pub(super) fn speaks_in_sessions(&self) -> bool {
        !self.server.revisions.and(RevisionSet::LEGACY).is_empty()
    }

    /// Returns the supported HTTP methods.
    fn methods(&self) -> &'static str {
        if self.has_sessions() { "GET, POST, DELETE" } else { "POST" }
    }

    /// Checks the head of a request.
    ///
    /// # Errors
    ///
    /// The [`Reply`] that refuses the request: 403, 405, 406 or 415; for invalid fields of a session also 400 or 404.
    pub fn admit<'a>(&self, head: &RequestHead<'a>) -> Result<Accepted<'a>, Reply> {
        self.check_access(head)?;
        let version = || head.headers.get(name::PROTOCOL_VERSION);
        match head.method {
            "POST" => {
                if !is_json(head.headers) {
                    return Err(Self::not_json());
                }
                self.check_accept(head.headers, &["application/json", "text/event-stream"])?;
                Ok(Accepted::Post)
            }
            "GET" | "DELETE" if self.has_sessions() && !names_modern_revision(version()) => {
                if head.method == "GET" {
                    self.check_accept(head.headers, &["text/event-stream"])?;
                }
                let session = self.session_of(head.headers, None)?;
                self.check_version(version(), None)?;
                if head.method == "DELETE" {
                    return Ok(Accepted::End { session });
                }
                let last_event = match head.headers.get(name::LAST_EVENT_ID) {
                    Field::Absent => None,
                    Field::Once(id) => Some(id),
                    Field::Repeated | Field::NotText => {
                        return Err(unusable(name::LAST_EVENT_ID, None));
                    }
                };
                Ok(Accepted::Listen { session, last_event })
            }
            _ => Err(Reply::not_allowed(self.methods())),
        }
    }

    /// Checks host and origin of a request, regardless of its purpose.
    ///
    /// # Errors
    ///
    /// The [`Reply`] that refuses the request: 403.
    pub fn check_access(&self, head: &RequestHead<'_>) -> Result<(), Reply> {
        let refused = if !self.config.hosts.allows(head.headers, head.authority) {
            "the Host is not allowed (HttpServerConfig::hosts)"
        } else if !self.config.origins.allows(head.headers) {
            "the Origin is not allowed (HttpServerConfig::origins)"
        } else {
            return Ok(());
        };
        Err(Reply::refusal(403, ErrorCode::INVALID_REQUEST, refused))
    }

    /// Returns the reply to a body longer than [`HttpServerConfig::body_bytes`], which was not read.
    pub fn too_large(&self) -> Reply {
        Reply::refusal(413, ErrorCode::INVALID_REQUEST, "the body is too long")
    }

    /// Returns the reply to a request for an unknown session. A session of another client gets the same reply.
    pub fn no_session() -> Reply {
        Reply::refusal(404, NO_SESSION.0, NO_SESSION.1)
    }

    /// Returns the reply to a new session when [`HttpServerConfig::most_sessions`] or
    /// [`HttpServerConfig::sessions_of_client`] is reached.
    pub fn full() -> Reply {
        Reply::busy("there are too many sessions (HttpServerConfig::most_sessions)")
    }

    /// Returns the reply to new connections during shutdown.
    pub fn closing() -> Reply {
        Reply::refusal(503, ErrorCode::INTERNAL_ERROR, "the server is shutting down")
    }

    pub(super) fn not_json() -> Reply {
        let text = "the body must be application/json";
        Reply::refusal(415, ErrorCode::INVALID_REQUEST, text)
    }

    pub(super) fn check_accept(&self, headers: Headers<'_>, media: &[&str]) -> Result<(), Reply> {
        let accepts = |one: &&str| accepts(headers, one).unwrap_or(self.config.lenient_accept);
        if accepts_both_plainly(headers) || media.iter().all(accepts) {
            return Ok(());
        }
        let text = match media {
            [_] => "Accept must have text/event-stream",
            _ => "Accept must have application/json and text/event-stream",
        };
        Err(Reply::refusal(406, ErrorCode::INVALID_REQUEST, text))
    }

    /// Returns the session that the message must name. `id` is the id of its request.
    pub(super) fn session_of(
        &self,
        headers: Headers<'_>,
        id: Option<&Id<'_>>,
    ) -> Result<SessionId, Reply> {
        if let Some(session) = headers.only(name::SESSION_ID).and_then(SessionId::from_digits) {
            return Ok(session);
        }
        match headers.get(name::SESSION_ID) {
            Field::Absent => {
                let text = "Mcp-Session-Id is missing: initialize first";
                Err(Reply::error(400, id, ErrorCode::INVALID_REQUEST, &text))
            }
            Field::Once(session) => SessionId::parse(session)
                .ok_or_else(|| Reply::error(404, id, NO_SESSION.0, &NO_SESSION.1)),
            Field::Repeated | Field::NotText => Err(unusable(name::SESSION_ID, id)),
        }
    }

    /// Checks the version header of a message in a session, which may differ from the revision of the session. `id`
    /// is the id of the request.
    pub(super) fn check_version(
        &self,
        version: Field<'_>,
        id: Option<&Id<'_>>,
    ) -> Result<(), Reply> {
        let spoken = self.server.revisions.and(RevisionSet::LEGACY);
        match version {
            Field::Absent => Ok(()),
            Field::Once(version) => match Revision::from_name(version) {
                Some(revision) if spoken.contains(revision) => Ok(()),
                _ => Err(unusable(name::PROTOCOL_VERSION, id)),
            },
            Field::Repeated | Field::NotText => Err(unusable(name::PROTOCOL_VERSION, id)),
        }
    }
}

/// The destination of the messages of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Destination {
    /// A machine for this body alone: [`RequestValidator::modern`].
    Modern,
    /// A new session, if the handshake succeeds: [`RequestValidator::session`].
    Opening,
    /// The session with this id.
    Session(SessionId),
    /// A machine for this body alone, in the middle of a session of this revision, or without a revision at its start
    /// ([`SessionMode::Assumed`]): [`RequestValidator::assumed`].
    Assumed(Option<Revision>),
    /// No machine: the message is valid and needs no processing.
    Discarded,
}

/// Returns the configuration of a server that supports only these revisions.
fn speaking(server: &ServerConfig, revisions: RevisionSet) -> Arc<ServerConfig> {
    let mut config = server.clone();
    config.revisions = config.revisions.and(revisions);
    Arc::new(config)
}

/// Returns the configuration without `tasks.list`.
fn without_list(server: &Arc<ServerConfig>) -> Arc<ServerConfig> {
    let has_list = server.capabilities.tasks.as_ref().is_some_and(|tasks| tasks.list.is_some());
    if !has_list {
        return Arc::clone(server);
    }
    let mut config = ServerConfig::clone(server);
    if let Some(tasks) = &mut config.capabilities.tasks {
        tasks.list = None;
    }
    Arc::new(config)
}

/// Whether the header field names a modern revision.
pub(super) fn names_modern_revision(version: Field<'_>) -> bool {
    let Field::Once(version) = version else { return false };
    Revision::from_name(version).is_some_and(|named| named.rules().requests_are_self_contained)
}

/// Returns the refusal of a header field that is repeated or has an invalid value.
pub(super) fn unusable(name: &str, id: Option<&Id<'_>>) -> Reply {
    Reply::error(400, id, ErrorCode::INVALID_REQUEST, &format_args!("{name} is not usable"))
}

const NO_SESSION: (ErrorCode, &str) = (ErrorCode::INVALID_REQUEST, "there is no such session");
