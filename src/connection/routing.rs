//! Routes requests: a pure function of the message and of the negotiated session.

use super::context::Negotiated;
use super::request_meta::{ModernMeta, RequestMeta};
use crate::capability::{CapabilitySet, Owner};
use crate::codes::ViolationKind;
use crate::dialect::methods::{Declared, RequestKind, Sender};
use crate::version::{Era, RevisionSet};

/// Which side of the connection this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Side {
    Client,
    Server,
}

impl Side {
    /// Who sends what this side sends.
    pub(crate) const fn sender(self) -> Sender {
        match self {
            Self::Client => Sender::Client,
            Self::Server => Sender::Server,
        }
    }

    /// Whose capabilities this side declares.
    pub(crate) const fn owner(self) -> Owner {
        match self {
            Self::Client => Owner::Client,
            Self::Server => Owner::Server,
        }
    }

    /// Who sends what this side receives.
    pub(crate) const fn other_side(self) -> Sender {
        match self {
            Self::Client => Sender::Server,
            Self::Server => Sender::Client,
        }
    }

    /// What both sides have declared, from what this one and the other one have.
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
    /// `ping`: the machine answers it.
    Ping,
    /// A request of the session. The kind is `None` for a method that MCP does not have.
    InSession(Option<RequestKind>),
    /// A modern request. The kind is `None` for a method that MCP does not have.
    Modern(Option<RequestKind>, ModernMeta),
    /// It is refused.
    Refuse(ViolationKind),
}

/// The state of the connection that decides how a request is routed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoutingContext {
    pub(crate) role: Side,
    /// The request is an element of a batch.
    pub(crate) in_batch: bool,
    pub(crate) session: Option<Negotiated>,
    /// The revisions that this side speaks.
    pub(crate) spoken: RevisionSet,
    /// What this side offers to modern requests.
    pub(crate) offered_modern: CapabilitySet,
    /// The only era that the connection may still be used in, if that has been decided.
    pub(crate) era: Option<Era>,
    /// A client asks whether there have to be sessions.
    pub(crate) is_probing: bool,
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
    // A client that sends `initialize` wants a session, whatever it thinks of the version.
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
        // A modern server gets no answer to anything. A legacy server may ping before `initialize`.
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
        Err(_) => Decision::Refuse(ViolationKind::MethodNotAvailable),
    }
}

/// A request that says nothing of itself, or to which it does not matter.
///
/// Without a session, a known method that comes too early is `-32600`; one that is not MCP is `-32601`
/// even then, because newer clients probe that way. Where requests may stand alone both are `-32602`:
/// they lack what would make them do so.
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
                Err(_) => Decision::Refuse(ViolationKind::MethodNotAvailable),
            }
        }
    }
}
