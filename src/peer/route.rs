//! Which requests may be made now: a pure function of the message and the session.

use super::Session;
use crate::dialect::CapabilitySet;
use crate::dialect::methods::{RequestKind, Sender};
use crate::error::ViolationKind;

/// Which side of the connection this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Role {
    Client,
    Server,
}

impl Role {
    /// Who sends what this side receives.
    pub(crate) const fn other_side(self) -> Sender {
        match self {
            Self::Client => Sender::Server,
            Self::Server => Sender::Client,
        }
    }
}

/// What is to be done with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// It opens the session.
    Handshake,
    /// It is a request of the session: one of MCP, or one that MCP does not have.
    InSession(Option<RequestKind>),
    /// It is refused.
    Refuse(ViolationKind),
}

/// Where the request stood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Alone,
    InBatch,
}

/// Decides on a request other than `ping`, which is answered in every phase.
///
/// A known method that comes too early is `-32600`; one that is not MCP is `-32601` even then,
/// because newer clients probe that way.
pub(crate) fn route(
    kind: Option<RequestKind>,
    role: Role,
    standing: Standing,
    session: Option<Session>,
    offered: CapabilitySet,
) -> Route {
    match (kind, session) {
        (Some(RequestKind::Initialize), _) if role == Role::Client => {
            Route::Refuse(ViolationKind::MethodNotAvailable)
        }
        (Some(RequestKind::Initialize), _) if standing == Standing::InBatch => {
            Route::Refuse(ViolationKind::InitializeInBatch)
        }
        (Some(RequestKind::Initialize), None) => Route::Handshake,
        (Some(RequestKind::Initialize), Some(_)) => {
            Route::Refuse(ViolationKind::AlreadyInitialized)
        }
        (Some(_), None) => Route::Refuse(ViolationKind::NotInitialized),
        (None, None) => Route::Refuse(ViolationKind::UnknownMethod),
        (None, Some(_)) => Route::InSession(None),
        (Some(kind), Some(session)) => {
            if kind.is_served(role.other_side(), session.revision, offered) {
                Route::InSession(Some(kind))
            } else {
                Route::Refuse(ViolationKind::MethodNotAvailable)
            }
        }
    }
}
