//! `Session`: who the two sides of a connection are, and what they have agreed on.

use alloc::sync::Arc;

use super::context::Negotiated;
use super::identity::Identity;
use super::last_request_meta::LastRequestMeta;
use super::request_meta::RequestMeta;
use super::routing::Side;
use crate::capability::{Capability, CapabilitySet, ExtensionSet, Owner};
use crate::dialect::EraRules;
use crate::dialect::methods::Declared;
use crate::json::{KnownMembers, Object};
use crate::model::LoggingLevel;
use crate::version::{Revision, RevisionSet};

/// Who the two sides are, and what they have agreed on.
///
/// `negotiated` are those of the session that a handshake has opened; on a client without sessions they are those of every
/// request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Session {
    pub(crate) role: Side,
    pub(crate) negotiated: Option<Negotiated>,
    /// The revisions that this side speaks.
    pub(super) spoken: RevisionSet,
    /// What this side offers.
    pub(crate) offered: CapabilitySet,
    /// What this side says of itself where there are no sessions.
    pub(super) identity: Option<Arc<Identity>>,
    /// What the last request without a session has said of its sender; it holds only for the same identity.
    last_request_meta: LastRequestMeta,
    /// The level of log messages that requests of ours ask for.
    pub(crate) request_level: Option<LoggingLevel>,
    /// A request that belongs to no session has been served.
    pub(super) has_served_modern: bool,
    /// The identity was released to save memory, and has to be set again before a message is received.
    pub(crate) is_anonymous: bool,
}

impl Session {
    /// Before anything has been agreed on.
    pub(super) const fn new(role: Side, spoken: RevisionSet, offered: CapabilitySet) -> Self {
        Self {
            role,
            negotiated: None,
            spoken,
            offered,
            identity: None,
            last_request_meta: LastRequestMeta::NONE,
            request_level: None,
            has_served_modern: false,
            is_anonymous: false,
        }
    }

    /// The rules of the era that both sides have found, [`EraRules::UNDECIDED`] before.
    pub(crate) fn rules(&self) -> &'static EraRules {
        self.negotiated.map_or(&EraRules::UNDECIDED, |negotiated| negotiated.revision.rules())
    }

    /// Opens the session that a handshake has settled, or what stands for it on a client where there
    /// are none.
    pub(crate) fn open(&mut self, revision: Revision, theirs: CapabilitySet) {
        let ours = self.offered.known_to(revision);
        self.negotiated = Some(Negotiated { revision, ours, theirs: theirs.known_to(revision) });
    }

    /// Opens the connection in the modern era. A server that has not declared capabilities may have all of them.
    pub(crate) fn open_modern(&mut self, revision: Revision, theirs: Option<CapabilitySet>) {
        let all = || Capability::ALL.iter().copied().filter(|one| one.owner() == Owner::Server);
        self.open(revision, theirs.unwrap_or_else(|| all().collect()));
    }

    /// What both sides have declared.
    pub(super) fn declared(&self) -> Declared {
        match self.negotiated {
            Some(negotiated) => self.role.declared(negotiated.ours, negotiated.theirs),
            None => self.role.declared(self.offered, CapabilitySet::NONE),
        }
    }

    pub(crate) fn identity(&self) -> Option<&Identity> {
        self.identity.as_deref()
    }

    /// Replaces who this side says it is.
    pub(crate) fn identify(&mut self, identity: Option<Identity>) {
        self.identity = identity.map(Arc::new);
        self.last_request_meta = LastRequestMeta::NONE;
    }

    /// Sets who this side is where there are no sessions.
    pub(crate) fn set_identity(&mut self, identity: Arc<Identity>) {
        self.identity = Some(identity);
        self.last_request_meta = LastRequestMeta::NONE;
        self.is_anonymous = false;
    }

    /// What the metadata of a request says of its sender, where that matters.
    ///
    /// The first request remembers nothing: over HTTP a machine serves one, and would allocate for no other.
    pub(super) fn request_meta<'a>(&mut self, meta: Option<&Object<'_, 'a>>) -> RequestMeta<'a> {
        match &self.identity {
            Some(own) if self.role == Side::Server => {
                let spoken = self.spoken;
                if !self.has_served_modern {
                    return RequestMeta::read(meta, spoken, own);
                }
                self.last_request_meta.of(meta, || RequestMeta::read(meta, spoken, own))
            }
            _ => RequestMeta::Absent,
        }
    }

    /// The members of `_meta` that requests without a session have repeated.
    #[inline]
    pub(super) fn known_members(&self) -> Option<&KnownMembers> {
        self.last_request_meta.members()
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
        self.role == Side::Client
            || self.negotiated.is_some()
            || (may_come && !self.has_served_modern)
    }

    /// Whether the peer lets its tasks be cancelled.
    pub(super) fn may_cancel_tasks(&self) -> bool {
        let Some(negotiated) = self.negotiated else { return false };
        let capability = match self.role {
            Side::Client => Capability::ServerTasksCancel,
            Side::Server => Capability::ClientTasksCancel,
        };
        !self.rules().tasks.cancel_is_declared || negotiated.theirs.contains(capability)
    }

    /// Releases the identity of a server, which its configuration can make again, and what the last request has said of
    /// its sender.
    pub(super) fn release_identity(&mut self) {
        self.last_request_meta = LastRequestMeta::NONE;
        if self.role == Side::Server {
            self.is_anonymous |= self.identity.take().is_some();
        }
    }
}
