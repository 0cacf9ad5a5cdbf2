//! `Session`: who the two sides of a connection are, and what they have agreed on.

use alloc::sync::Arc;

use super::claim::Claim;
use super::context::Terms;
use super::identity::Identity;
use super::last_claim::LastClaim;
use super::route::Role;
use crate::capability::{Capability, CapabilitySet, ExtensionSet, Owner};
use crate::dialect::EraRules;
use crate::dialect::methods::Declared;
use crate::json::{KnownMembers, Object};
use crate::model::LoggingLevel;
use crate::version::{Revision, RevisionSet};

/// Who the two sides are, and what they have agreed on.
///
/// `terms` are those of the session that a handshake has opened; on a client without sessions they are those of every
/// request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Session {
    pub(crate) role: Role,
    pub(crate) terms: Option<Terms>,
    /// The revisions that this side speaks.
    pub(super) spoken: RevisionSet,
    /// What this side offers.
    pub(crate) offered: CapabilitySet,
    /// What this side says of itself where there are no sessions.
    pub(super) identity: Option<Arc<Identity>>,
    /// What the last request without a session has said of its sender; it holds only for the same identity.
    last_claim: LastClaim,
    /// The level of log messages that requests of ours ask for.
    pub(crate) request_level: Option<LoggingLevel>,
    /// A request that belongs to no session has been served.
    pub(super) has_served_modern: bool,
    /// The identity was released to save memory, and has to be set again before a message is received.
    pub(crate) is_anonymous: bool,
}

impl Session {
    /// Before anything has been agreed on.
    pub(super) const fn new(role: Role, spoken: RevisionSet, offered: CapabilitySet) -> Self {
        Self {
            role,
            terms: None,
            spoken,
            offered,
            identity: None,
            last_claim: LastClaim::NONE,
            request_level: None,
            has_served_modern: false,
            is_anonymous: false,
        }
    }

    /// The rules of the era that both sides have found, [`EraRules::UNDECIDED`] before.
    pub(crate) fn rules(&self) -> &'static EraRules {
        self.terms.map_or(&EraRules::UNDECIDED, |terms| terms.revision.rules())
    }

    /// Opens the session that a handshake has settled, or what stands for it on a client where there
    /// are none.
    pub(crate) fn open(&mut self, revision: Revision, theirs: CapabilitySet) {
        let ours = self.offered.known_to(revision);
        self.terms = Some(Terms { revision, ours, theirs: theirs.known_to(revision) });
    }

    /// Opens the connection in the modern era. A server that has not declared capabilities may have all of them.
    pub(crate) fn open_modern(&mut self, revision: Revision, theirs: Option<CapabilitySet>) {
        let all = || Capability::ALL.iter().copied().filter(|one| one.owner() == Owner::Server);
        self.open(revision, theirs.unwrap_or_else(|| all().collect()));
    }

    /// What both sides have declared.
    pub(super) fn declared(&self) -> Declared {
        match self.terms {
            Some(terms) => self.role.declared(terms.ours, terms.theirs),
            None => self.role.declared(self.offered, CapabilitySet::NONE),
        }
    }

    pub(crate) fn identity(&self) -> Option<&Identity> {
        self.identity.as_deref()
    }

    /// Replaces who this side says it is.
    pub(crate) fn identify(&mut self, identity: Option<Identity>) {
        self.identity = identity.map(Arc::new);
        self.last_claim = LastClaim::NONE;
    }

    /// Sets who this side is where there are no sessions.
    pub(crate) fn set_identity(&mut self, identity: Arc<Identity>) {
        self.identity = Some(identity);
        self.last_claim = LastClaim::NONE;
        self.is_anonymous = false;
    }

    /// What the metadata of a request says of its sender, where that matters.
    ///
    /// The first request remembers nothing: over HTTP a machine serves one, and would allocate for no other.
    pub(super) fn claim<'a>(&mut self, meta: Option<&Object<'_, 'a>>) -> Claim<'a> {
        match &self.identity {
            Some(own) if self.role == Role::Server => {
                let spoken = self.spoken;
                if !self.has_served_modern {
                    return Claim::read(meta, spoken, own);
                }
                self.last_claim.of(meta, || Claim::read(meta, spoken, own))
            }
            _ => Claim::Absent,
        }
    }

    /// The members of `_meta` that requests without a session have repeated.
    #[inline]
    pub(super) fn known_members(&self) -> Option<&KnownMembers> {
        self.last_claim.members()
    }

    /// What this side offers to requests that belong to no session.
    pub(super) fn offered_modern(&self) -> CapabilitySet {
        self.identity().map_or(CapabilitySet::NONE, |own| own.offered)
    }

    /// Whether both sides have an extension, of which the peer has declared these.
    pub(super) fn has_extension(&self, name: &str, declared: ExtensionSet) -> bool {
        let own = self.identity().and_then(|own| own.extension(name));
        own.is_some_and(|extension| declared.contains(extension))
    }

    /// Whether there is a session, or one may come.
    pub(super) fn may_have_session(&self) -> bool {
        let may_come = !self.spoken.and(RevisionSet::LEGACY).is_empty();
        self.role == Role::Client || self.terms.is_some() || (may_come && !self.has_served_modern)
    }

    /// Whether the peer lets its tasks be cancelled.
    pub(super) fn may_cancel_tasks(&self) -> bool {
        let Some(terms) = self.terms else { return false };
        let capability = match self.role {
            Role::Client => Capability::ServerTasksCancel,
            Role::Server => Capability::ClientTasksCancel,
        };
        !self.rules().tasks.cancel_is_declared || terms.theirs.contains(capability)
    }

    /// Releases the identity of a server, which its configuration can make again, and what the last request has said of
    /// its sender.
    pub(super) fn release_identity(&mut self) {
        self.last_claim = LastClaim::NONE;
        if self.role == Role::Server {
            self.is_anonymous |= self.identity.take().is_some();
        }
    }
}
