//! Routes requests: a pure function of the message and of the negotiated session.

use super::context::Negotiated;
use super::request_meta::{ModernMeta, RequestMeta};
use crate::capability::{CapabilitySet, Owner};
use crate::codes::ViolationKind;
use crate::dialect::methods::{Declared, RequestKind, Sender};
use crate::version::{Era, RevisionSet};

/// The role of this side of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Side {
    Client,
    Server,
}

impl Side {
    /// Returns the sender of messages of this side.
    pub(crate) const fn sender(self) -> Sender {
        match self {
            Self::Client => Sender::Client,
            Self::Server => Sender::Server,
        }
    }

    /// Returns the owner of the capabilities that this side declares.
    pub(crate) const fn owner(self) -> Owner {
        match self {
            Self::Client => Owner::Client,
            Self::Server => Owner::Server,
        }
    }

    /// Returns the sender of messages that this side receives.
    pub(crate) const fn other_side(self) -> Sender {
        match self {
            Self::Client => Sender::Server,
            Self::Server => Sender::Client,
        }
    }

    /// Combines the capabilities of this side and the peer into those of client and server.
    pub(crate) const fn declared(self, ours: CapabilitySet, theirs: CapabilitySet) -> Declared {
        match self {
            Self::Client => Declared { client: ours, server: theirs },
            Self::Server => Declared { client: theirs, server: ours },
        }
    }
}

/// How a request is routed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// `initialize`: it opens the session.
    Handshake,
    /// `ping`: the machine responds to it.
    Ping,
    /// A request of the session. The kind is `None` for a method that MCP does not have.
    InSession(Option<RequestKind>),
    /// A modern request. The kind is `None` for a method that MCP does not have.
    Modern(Option<RequestKind>, ModernMeta),
    /// The request is refused.
    Refuse(ViolationKind),
}

/// The state of the connection that decides how a request is routed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoutingContext {
    pub(crate) role: Side,
    /// Whether the request is an element of a batch.
    pub(crate) in_batch: bool,
    pub(crate) session: Option<Negotiated>,
    /// The revisions that this side speaks.
    pub(crate) spoken: RevisionSet,
    /// The capabilities that this side offers to modern requests.
    pub(crate) offered_modern: CapabilitySet,
    /// The only era of the connection, if that has been decided.
    pub(crate) era: Option<Era>,
    /// Whether a client is probing whether a session is needed.
    pub(crate) is_probing: bool,
    /// Whether the method is relayed, so that no capability and no revision is enforced.
    pub(crate) is_relayed: bool,
}

impl RoutingContext {
    const fn has(&self, revisions: RevisionSet) -> bool {
        !self.spoken.and(revisions).is_empty()
    }
}

/// Routes a request.
///
/// Each request has its own era: with a protocol version in its `_meta` it is modern, also on a connection that has a
/// session; without one it belongs to the session
/// ([versioning](https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning)).
pub(crate) fn decide(
    kind: Option<RequestKind>,
    request_meta: &RequestMeta<'_>,
    context: &RoutingContext,
) -> Decision {
    if context.role == Side::Client {
        return to_client(kind, context);
    }
    // `initialize` opens a session whatever its `_meta` contains, unless that is complete and modern.
    let opens = kind == Some(RequestKind::Initialize);
    match request_meta {
        _ if !context.has(RevisionSet::MODERN) => in_session(kind, context),
        RequestMeta::Modern(meta) => modern(kind, *meta, context),
        RequestMeta::Unsupported(_) if !opens => {
            Decision::Refuse(ViolationKind::UnsupportedRevision)
        }
        RequestMeta::Malformed(_) if !opens => {
            Decision::Refuse(ViolationKind::MalformedRequestMeta)
        }
        _ => in_session(kind, context),
    }
}

fn to_client(kind: Option<RequestKind>, context: &RoutingContext) -> Decision {
    match (kind, context.session) {
        (_, Some(negotiated)) if !negotiated.revision.rules().server_asks => {
            Decision::Refuse(ViolationKind::RequestFromServer)
        }
        _ if !context.has(RevisionSet::LEGACY) => {
            Decision::Refuse(ViolationKind::RequestFromServer)
        }
        // A modern server gets no response to a request. A legacy server may ping before `initialize`.
        (kind, None) if context.is_probing && kind != Some(RequestKind::Ping) => {
            Decision::Refuse(ViolationKind::RequestFromServer)
        }
        (Some(RequestKind::Initialize), _) => Decision::Refuse(ViolationKind::MethodNotAvailable),
        _ => in_session(kind, context),
    }
}

/// Routes a modern request.
fn modern(kind: Option<RequestKind>, meta: ModernMeta, context: &RoutingContext) -> Decision {
    if context.in_batch {
        return Decision::Refuse(ViolationKind::BatchNotAllowed);
    }
    if context.era == Some(Era::Legacy) && kind != Some(RequestKind::Discover) {
        return Decision::Refuse(ViolationKind::OtherEra);
    }
    let Some(known) = kind else { return Decision::Modern(None, meta) };
    let declared = context.role.declared(context.offered_modern, meta.capabilities);
    match known.rule().check(context.role.other_side(), meta.revision, declared) {
        Ok(()) => Decision::Modern(kind, meta),
        Err(_) if context.is_relayed => Decision::Modern(None, meta),
        Err(_) => Decision::Refuse(ViolationKind::MethodNotAvailable),
    }
}

/// Routes a request without `_meta`, or one whose `_meta` does not matter.
///
/// Without a session, a known method that comes too early is refused with `-32600`. A method outside MCP is refused
/// with `-32601` even then, because newer clients probe that way. If this side also speaks the modern era, both are
/// refused with `-32602`: they lack the `_meta` of a modern request.
fn in_session(kind: Option<RequestKind>, context: &RoutingContext) -> Decision {
    let has_sessions = context.has(RevisionSet::LEGACY);
    let is_of_sessions =
        |kind: RequestKind| !kind.rule().revisions().and(RevisionSet::LEGACY).is_empty();
    match (kind, context.session) {
        (Some(RequestKind::Initialize), _) if !has_sessions => {
            Decision::Refuse(ViolationKind::UnsupportedRevision)
        }
        (Some(RequestKind::Initialize), _) if context.era == Some(Era::Modern) => {
            Decision::Refuse(ViolationKind::UnsupportedRevision)
        }
        (Some(RequestKind::Initialize), _) if context.in_batch => {
            Decision::Refuse(ViolationKind::InitializeInBatch)
        }
        (Some(RequestKind::Initialize), None) => Decision::Handshake,
        (Some(RequestKind::Initialize), Some(_)) => {
            Decision::Refuse(ViolationKind::AlreadyInitialized)
        }
        (Some(RequestKind::Ping), _) if has_sessions => Decision::Ping,
        (_, None) if context.role == Side::Server && context.has(RevisionSet::MODERN) => {
            Decision::Refuse(ViolationKind::NoRequestMeta)
        }
        (Some(kind), None) if is_of_sessions(kind) => {
            Decision::Refuse(ViolationKind::NotInitialized)
        }
        (_, None) => Decision::Refuse(ViolationKind::UnknownMethod),
        (None, Some(_)) => Decision::InSession(None),
        (Some(kind), Some(negotiated)) => {
            let declared = context.role.declared(negotiated.ours, negotiated.theirs);
            match kind.rule().check(context.role.other_side(), negotiated.revision, declared) {
                Ok(()) => Decision::InSession(Some(kind)),
                Err(_) if context.is_relayed => Decision::InSession(None),
                Err(_) => Decision::Refuse(ViolationKind::MethodNotAvailable),
            }
        }
    }
}
