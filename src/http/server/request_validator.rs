//! [`RequestValidator`]: the checks that an HTTP request passes before a machine sees it
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

/// Looks at requests of HTTP, one at a time, and says where each belongs. It remembers nothing.
///
/// First the [head](Self::admit); then, if that is fine, a [body](Self::post). The first thing that is wrong is
/// what the client is told, in the order in which the specification lists it.
#[derive(Clone, Debug)]
pub struct RequestValidator {
    pub(super) config: Arc<HttpServerConfig>,
    pub(super) server: Arc<ServerConfig>,
    /// How the machines of what stands alone are configured, and those of sessions: they speak nothing else.
    pub(super) alone: ServerTemplate,
    pub(super) session: ServerTemplate,
    /// The same for clients that cannot be told apart, whose tasks are not listed.
    pub(super) session_without_list: ServerTemplate,
    /// What the server says of itself, if it serves requests that stand alone.
    pub(super) identity: Option<Identity>,
}

/// The head of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct RequestHead<'a> {
    /// The method of HTTP, in capitals as it is sent.
    pub method: &'a str,
    /// The header fields.
    pub headers: Headers<'a>,
    /// The `:authority` of HTTP/2, which stands for `Host` there.
    pub authority: Option<&'a str>,
}

impl<'a> RequestHead<'a> {
    /// A request with this method and these header fields.
    pub fn new(method: &'a str, headers: impl Into<Headers<'a>>) -> Self {
        Self { method, headers: headers.into(), authority: None }
    }

    /// The same with the authority of HTTP/2.
    #[must_use]
    pub const fn authority(mut self, authority: Option<&'a str>) -> Self {
        self.authority = authority;
        self
    }
}

/// What a request with a fine head wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Accepted<'a> {
    /// To bring a message: read its body, of at most [`HttpServerConfig::body_bytes`], and hand it to
    /// [`RequestValidator::post`]. If it has more, the answer is [`RequestValidator::too_large`].
    Post,
    /// An event stream of a session ([`Streams::listen`](super::Streams::listen)).
    Listen {
        /// The session.
        session: SessionId,
        /// The event after which a stream goes on that has broken off.
        last_event: Option<&'a str>,
    },
    /// The end of a session.
    End {
        /// The session.
        session: SessionId,
    },
}

impl RequestValidator {
    /// For a server that is configured like this.
    pub fn new(config: Arc<HttpServerConfig>, server: Arc<ServerConfig>) -> Self {
        let identity = server.identity();
        let (alone, session) =
            (speaking(&server, RevisionSet::MODERN), speaking(&server, RevisionSet::LEGACY));
        let session_without_list = ServerTemplate::new(without_list(&session));
        let (alone, session) = (ServerTemplate::new(alone), ServerTemplate::new(session));
        Self { config, server, alone, session, session_without_list, identity }
    }

    /// How HTTP is configured.
    pub const fn config(&self) -> &Arc<HttpServerConfig> {
        &self.config
    }

    /// Whether there are sessions.
    pub(super) fn has_sessions(&self) -> bool {
        self.serves_sessions(SessionMode::Sessions)
    }

    /// Whether sessions are taken for granted.
    pub(super) fn assumes_sessions(&self) -> bool {
        self.serves_sessions(SessionMode::Assumed)
    }

    fn serves_sessions(&self, mode: SessionMode) -> bool {
        self.config.sessions == mode && self.speaks_in_sessions()
    }

    pub(super) fn speaks_in_sessions(&self) -> bool {
        !self.server.revisions.and(RevisionSet::LEGACY).is_empty()
    }

    /// The methods of HTTP that are served.
    fn methods(&self) -> &'static str {
        if self.has_sessions() { "GET, POST, DELETE" } else { "POST" }
    }

    /// Looks at the head of a request.
    ///
    /// # Errors
    ///
    /// The [`Reply`] that refuses it: 403, 405, 406, 415, or for a session that cannot be 400 or 404.
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

    /// Whether the head may ask at all, whatever it asks.
    ///
    /// # Errors
    ///
    /// 403.
    pub fn check_access(&self, head: &RequestHead<'_>) -> Result<(), Reply> {
        let refused = if !self.config.hosts.allows(head.headers, head.authority) {
            "this server is not reached by that name"
        } else if !self.config.origins.allows(head.headers) {
            "this origin may not ask"
        } else {
            return Ok(());
        };
        Err(Reply::refusal(403, ErrorCode::INVALID_REQUEST, refused))
    }

    /// The body has more than [`HttpServerConfig::body_bytes`], so it was not read.
    pub fn too_large(&self) -> Reply {
        Reply::refusal(413, ErrorCode::INVALID_REQUEST, "the body is too long")
    }

    /// There is no session with that id, or it is somebody else's, which is nobody's business.
    pub fn no_session() -> Reply {
        Reply::refusal(404, NO_SESSION.0, NO_SESSION.1)
    }

    /// There are as many sessions as [may be](HttpServerConfig::sessions).
    pub fn full() -> Reply {
        Reply::busy("there are too many sessions (HttpServerConfig::most_sessions)")
    }

    /// Nobody new is served any more.
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

    /// The session that a message names, which has to name one. The id is that of its request.
    pub(super) fn session_of(
        &self,
        headers: Headers<'_>,
        id: Option<&Id<'_>>,
    ) -> Result<SessionId, Reply> {
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

    /// What a message of a session says of the version, which need not be that of the session. The id is
    /// that of its request.
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

/// Where the messages of a body belong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Destination {
    /// To a machine of their own: [`RequestValidator::alone`].
    Alone,
    /// To a new session, if one comes about: [`RequestValidator::session`].
    Opening,
    /// To this session.
    Session(SessionId),
    /// To a machine of its own in the middle of a session of this revision, or at its beginning if there is
    /// none ([`SessionMode::Assumed`]): [`RequestValidator::assumed`].
    Assumed(Option<Revision>),
    /// To nobody: it is fine, and that is all.
    Nobody,
}

/// The configuration of a server that speaks nothing else.
fn speaking(server: &ServerConfig, revisions: RevisionSet) -> Arc<ServerConfig> {
    let mut config = server.clone();
    config.revisions = config.revisions.and(revisions);
    Arc::new(config)
}

/// The same configuration without `tasks.list`.
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

/// Whether the version in the header field is a modern revision.
pub(super) fn names_modern_revision(version: Field<'_>) -> bool {
    let Field::Once(version) = version else { return false };
    Revision::from_name(version).is_some_and(|named| named.rules().requests_are_self_contained)
}

/// A header field stands there more than once, or with a value that it cannot have.
pub(super) fn unusable(name: &str, id: Option<&Id<'_>>) -> Reply {
    Reply::error(400, id, ErrorCode::INVALID_REQUEST, &format_args!("{name} is not usable"))
}

const NO_SESSION: (ErrorCode, &str) = (ErrorCode::INVALID_REQUEST, "there is no such session");
