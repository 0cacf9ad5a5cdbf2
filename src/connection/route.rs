//! Which requests may be made now: a pure function of the message and of what has been agreed.

use super::claim::{Claim, Facts};
use super::context::Terms;
use crate::capability::{CapabilitySet, Owner};
use crate::dialect::methods::{Declared, RequestKind, Sender};
use crate::error::ViolationKind;
use crate::version::{Era, RevisionSet};

/// Which side of the connection this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Role {
    Client,
    Server,
}

impl Role {
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

/// What is to be done with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// It opens the session.
    Handshake,
    /// It asks whether this side is there.
    Ping,
    /// It is a request of the session: one of MCP, or one that MCP does not have.
    InSession(Option<RequestKind>),
    /// It stands alone: one of MCP, or one that MCP does not have.
    Alone(Option<RequestKind>, Facts),
    /// It is refused.
    Refuse(ViolationKind),
}

/// How a request came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Alone,
    InBatch,
}

/// What a request meets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Situation {
    pub(crate) role: Role,
    pub(crate) standing: Standing,
    pub(crate) session: Option<Terms>,
    /// The revisions that this side speaks.
    pub(crate) spoken: RevisionSet,
    /// What this side offers to a request that stands alone.
    pub(crate) offered_modern: CapabilitySet,
    /// The only era that the connection may still be used in, if that has been decided.
    pub(crate) era: Option<Era>,
    /// A client asks whether there have to be sessions.
    pub(crate) is_probing: bool,
}

impl Situation {
    const fn has(&self, revisions: RevisionSet) -> bool {
        !self.spoken.and(revisions).is_empty()
    }
}

/// Decides on a request.
///
/// The era of a request is its own: one that claims to stand alone does, whatever else happens on the
/// connection, and the others belong to the session, if there is one
/// ([versioning](https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning)).
pub(crate) fn route(kind: Option<RequestKind>, claim: &Claim<'_>, situation: &Situation) -> Route {
    if situation.role == Role::Client {
        return to_client(kind, situation);
    }
    // A client that sends `initialize` wants a session, whatever it thinks of the version.
    let opens = kind == Some(RequestKind::Initialize);
    match claim {
        _ if !situation.has(RevisionSet::MODERN) => in_session(kind, situation),
        Claim::Sound(facts) => alone(kind, *facts, situation),
        Claim::Unsupported(_) if !opens => Route::Refuse(ViolationKind::UnsupportedRevision),
        Claim::Malformed(_) if !opens => Route::Refuse(ViolationKind::MalformedClaim),
        _ => in_session(kind, situation),
    }
}

fn to_client(kind: Option<RequestKind>, situation: &Situation) -> Route {
    match (kind, situation.session) {
        (_, Some(terms)) if !terms.revision.rules().server_asks => {
            Route::Refuse(ViolationKind::RequestFromServer)
        }
        _ if !situation.has(RevisionSet::LEGACY) => Route::Refuse(ViolationKind::RequestFromServer),
        // To a server without sessions nothing is ever answered. One with sessions may ask whether anybody
        // is there.
        (kind, None) if situation.is_probing && kind != Some(RequestKind::Ping) => {
            Route::Refuse(ViolationKind::RequestFromServer)
        }
        (Some(RequestKind::Initialize), _) => Route::Refuse(ViolationKind::MethodNotAvailable),
        _ => in_session(kind, situation),
    }
}

/// A request that says all it has to of itself.
fn alone(kind: Option<RequestKind>, facts: Facts, situation: &Situation) -> Route {
    if situation.standing == Standing::InBatch {
        return Route::Refuse(ViolationKind::BatchNotAllowed);
    }
    if situation.era == Some(Era::Legacy) && kind != Some(RequestKind::Discover) {
        return Route::Refuse(ViolationKind::OtherEra);
    }
    let Some(known) = kind else { return Route::Alone(None, facts) };
    let declared = situation.role.declared(situation.offered_modern, facts.capabilities);
    match known.rule().check(situation.role.other_side(), facts.revision, declared) {
        Ok(()) => Route::Alone(kind, facts),
        Err(_) => Route::Refuse(ViolationKind::MethodNotAvailable),
    }
}

/// A request that says nothing of itself, or to which it does not matter.
///
/// Without a session, a known method that comes too early is `-32600`; one that is not MCP is `-32601`
/// even then, because newer clients probe that way. Where requests may stand alone both are `-32602`:
/// they lack what would make them do so.
fn in_session(kind: Option<RequestKind>, situation: &Situation) -> Route {
    let has_sessions = situation.has(RevisionSet::LEGACY);
    let is_of_sessions =
        |kind: RequestKind| !kind.rule().revisions().and(RevisionSet::LEGACY).is_empty();
    match (kind, situation.session) {
        (Some(RequestKind::Initialize), _) if !has_sessions => {
            Route::Refuse(ViolationKind::UnsupportedRevision)
        }
        (Some(RequestKind::Initialize), _) if situation.era == Some(Era::Modern) => {
            Route::Refuse(ViolationKind::UnsupportedRevision)
        }
        (Some(RequestKind::Initialize), _) if situation.standing == Standing::InBatch => {
            Route::Refuse(ViolationKind::InitializeInBatch)
        }
        (Some(RequestKind::Initialize), None) => Route::Handshake,
        (Some(RequestKind::Initialize), Some(_)) => {
            Route::Refuse(ViolationKind::AlreadyInitialized)
        }
        (Some(RequestKind::Ping), _) if has_sessions => Route::Ping,
        (_, None) if situation.role == Role::Server && situation.has(RevisionSet::MODERN) => {
            Route::Refuse(ViolationKind::NoClaim)
        }
        (Some(kind), None) if is_of_sessions(kind) => Route::Refuse(ViolationKind::NotInitialized),
        (_, None) => Route::Refuse(ViolationKind::UnknownMethod),
        (None, Some(_)) => Route::InSession(None),
        (Some(kind), Some(terms)) => {
            let declared = situation.role.declared(terms.ours, terms.theirs);
            match kind.rule().check(situation.role.other_side(), terms.revision, declared) {
                Ok(()) => Route::InSession(Some(kind)),
                Err(_) => Route::Refuse(ViolationKind::MethodNotAvailable),
            }
        }
    }
}
