//! Which requests may be made now: a pure function of the message and the session.

use super::Session;
use crate::capability::Owner;
use crate::dialect::methods::{Declared, RequestKind, Sender};
use crate::error::ViolationKind;

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
    declared: Declared,
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
            match kind.rule().check(role.other_side(), session.revision, declared) {
                Ok(()) if !kind.is_about_tasks() => Route::InSession(Some(kind)),
                _ => Route::Refuse(ViolationKind::MethodNotAvailable),
            }
        }
    }
}
