//! `Session`: the identity of this side, and the negotiated revision and capabilities.

use alloc::sync::Arc;

use super::context::Negotiated;
use super::identity::Identity;
use super::last_request_meta::LastRequestMeta;
use super::request_meta::{RequestMeta, common_extensions};
use super::routing::Side;
use crate::capability::{Capability, CapabilitySet, ExtensionSet, Owner};
use crate::dialect::methods::Declared;
use crate::dialect::{EraRules, NotAllowed};
use crate::json::{KnownMembers, Object};
use crate::model::LoggingLevel;
use crate::version::{Revision, RevisionSet};

/// The identity of this side, and the negotiated revision and capabilities.
///
/// In the legacy era the handshake sets `negotiated`. On a modern client `negotiated` applies to every request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Session {
    pub(crate) role: Side,
    pub(crate) negotiated: Option<Negotiated>,
    /// The revisions that this side speaks.
    pub(super) spoken: RevisionSet,
    /// The capabilities that this side offers.
    pub(crate) offered: CapabilitySet,
    /// The extensions that both sides have. `None` if the peer was not asked: it is assumed to have all of them.
    pub(crate) common_extensions: Option<ExtensionSet>,
    /// The identity that this side declares in the modern era.
    pub(super) identity: Option<Arc<Identity>>,
    /// The cached `_meta` of the last modern request. The cache is valid only for the current identity.
    last_request_meta: LastRequestMeta,
    /// The level of log messages that requests of this side ask for.
    pub(crate) request_level: Option<LoggingLevel>,
    /// Whether a modern request has been served.
    pub(super) has_served_modern: bool,
    /// Whether the peer has sent a result with a `resultType`, which only a modern server does.
    pub(crate) has_modern_result: bool,
    /// Whether the identity was released to save memory, and has to be set again before a message is received.
    pub(crate) is_anonymous: bool,
}

impl Session {
    /// Creates the state before negotiation.
    pub(super) const fn new(role: Side, spoken: RevisionSet, offered: CapabilitySet) -> Self {
        Self {
            role,
            negotiated: None,
            spoken,
            offered,
            common_extensions: None,
            identity: None,
            last_request_meta: LastRequestMeta::NONE,
            request_level: None,
            has_served_modern: false,
            has_modern_result: false,
            is_anonymous: false,
        }
    }

    /// Returns the rules of the negotiated era, or [`EraRules::UNDECIDED`] before negotiation.
    pub(crate) fn rules(&self) -> &'static EraRules {
        self.negotiated.map_or(&EraRules::UNDECIDED, |negotiated| negotiated.revision.rules())
    }

    /// Whether this side sends responses at all. A client of the modern era receives no requests, and sends none, not
    /// even an error response to a broken message.
    pub(super) fn sends_responses(&self) -> bool {
        let has_legacy = !self.spoken.and(RevisionSet::LEGACY).is_empty();
        self.role == Side::Server || self.rules().server_asks && has_legacy
    }

    /// Stores the negotiated revision and capabilities, of a session or of a modern client.
    pub(crate) fn open(&mut self, revision: Revision, theirs: CapabilitySet) {
        let ours = self.offered.known_to(revision);
        self.negotiated = Some(Negotiated { revision, ours, theirs: theirs.known_to(revision) });
        self.common_extensions = Some(ExtensionSet::default());
    }

    /// Whether this side speaks a revision, and the revision has sessions.
    pub(super) fn speaks_legacy(&self, revision: Revision) -> bool {
        self.spoken.and(RevisionSet::LEGACY).contains(revision)
    }

    /// Limits the negotiated capabilities of this side to these, which an earlier process has declared.
    pub(super) fn limit_offered(&mut self, declared: CapabilitySet) {
        if let Some(negotiated) = &mut self.negotiated {
            negotiated.ours = negotiated.ours.and(declared);
        }
    }

    /// Opens the connection in the modern era. Without declared capabilities the server is assumed to have all of
    /// them.
    pub(crate) fn open_modern(&mut self, revision: Revision, theirs: Option<CapabilitySet>) {
        let all = || Capability::ALL.iter().copied().filter(|one| one.owner() == Owner::Server);
        self.open(revision, theirs.unwrap_or_else(|| all().collect()));
        self.common_extensions = None;
    }

    /// Notes the extensions in the capabilities of the server.
    pub(crate) fn declared_by_server(&mut self, capabilities: &str) {
        let common = self.identity().map(|own| common_extensions(capabilities, own));
        self.common_extensions = Some(common.unwrap_or_default());
    }

    /// Checks whether both sides have the extension of a method. Before the peer has declared its extensions, there is
    /// nothing to compare.
    pub(crate) fn check_extension(&self, name: Option<&'static str>) -> Result<(), NotAllowed> {
        match (name, self.common_extensions) {
            (Some(name), Some(common)) if !self.has_extension(name, common) => {
                Err(NotAllowed::Extension)
            }
            _ => Ok(()),
        }
    }

    /// Returns the capabilities that both sides have declared.
    pub(super) fn declared(&self) -> Declared {
        match self.negotiated {
            Some(negotiated) => self.role.declared(negotiated.ours, negotiated.theirs),
            None => self.role.declared(self.offered, CapabilitySet::NONE),
        }
    }

    pub(crate) fn identity(&self) -> Option<&Identity> {
        self.identity.as_deref()
    }

    /// Replaces the identity of this side.
    pub(crate) fn identify(&mut self, identity: Option<Identity>) {
        self.identity = identity.map(Arc::new);
        self.last_request_meta = LastRequestMeta::NONE;
    }

    /// Sets the identity that this side declares in the modern era.
    pub(crate) fn set_identity(&mut self, identity: Arc<Identity>) {
        self.identity = Some(identity);
        self.last_request_meta = LastRequestMeta::NONE;
        self.is_anonymous = false;
    }

    /// Returns the era, revision and capabilities in the `_meta` of a request, on a server with an identity.
    ///
    /// The first modern request is not cached: over HTTP a connection serves only one, and the allocation would be
    /// wasted.
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

    /// Returns the cached `_meta` members of modern requests.
    #[inline]
    pub(super) fn known_members(&self) -> Option<&KnownMembers> {
        self.last_request_meta.members()
    }

    /// Returns the capabilities that this side offers to modern requests.
    pub(super) fn offered_modern(&self) -> CapabilitySet {
        self.identity().map_or(CapabilitySet::NONE, |own| own.offered)
    }

    /// Whether both sides have an extension. `declared` contains the extensions of the peer.
    pub(super) fn has_extension(&self, name: &str, declared: ExtensionSet) -> bool {
        let own = self.identity().and_then(|own| own.extension(name));
        own.is_some_and(|extension| declared.contains(extension))
    }

    /// Whether a session exists, or can still be opened.
    pub(super) fn may_have_session(&self) -> bool {
        let may_come = !self.spoken.and(RevisionSet::LEGACY).is_empty();
        self.role == Side::Client
            || self.negotiated.is_some()
            || (may_come && !self.has_served_modern)
    }

    /// Whether the peer allows its tasks to be cancelled.
    pub(super) fn may_cancel_tasks(&self) -> bool {
        let Some(negotiated) = self.negotiated else { return false };
        let capability = match self.role {
            Side::Client => Capability::ServerTasksCancel,
            Side::Server => Capability::ClientTasksCancel,
        };
        !self.rules().tasks.cancel_is_declared || negotiated.theirs.contains(capability)
    }

    /// Releases the identity of a server, which can be rebuilt from the configuration, and the cached `_meta`.
    pub(super) fn release_identity(&mut self) {
        self.last_request_meta = LastRequestMeta::NONE;
        if self.role == Side::Server {
            self.is_anonymous |= self.identity.take().is_some();
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::config::CacheHints;
    use crate::json::{Envelope, Member};

    const FRAME: &[u8] = br#"{"id":1,"method":"x","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;

    fn session(role: Side) -> Session {
        let mut session = Session::new(role, RevisionSet::ALL, CapabilitySet::NONE);
        let (offered, hints) = (CapabilitySet::NONE, CacheHints::default());
        session.identify(Some(Identity::of_server(None, offered, hints, Vec::new())));
        session
    }

    /// Whether a request with complete metadata is modern.
    fn reads_modern(session: &mut Session) -> bool {
        let envelope = Envelope::scan(FRAME, 128);
        let meta = envelope.object(Member::ParamsMeta);
        matches!(session.request_meta(meta.as_ref()), RequestMeta::Modern(_))
    }

    #[test]
    fn metadata_is_cached_from_the_second_modern_request_on() {
        let mut session = session(Side::Server);
        assert!(reads_modern(&mut session) && session.known_members().is_none());
        session.has_served_modern = true;
        assert!(reads_modern(&mut session) && session.known_members().is_some());
        assert!(reads_modern(&mut session), "from the cache");
    }

    #[test]
    fn an_idle_server_releases_its_identity_and_the_cache() {
        let mut session = session(Side::Server);
        session.has_served_modern = true;
        assert!(reads_modern(&mut session));
        session.release_identity();
        assert!(session.identity().is_none() && session.is_anonymous);
        assert!(session.known_members().is_none());
    }

    #[test]
    fn a_client_keeps_its_identity_and_reads_no_metadata() {
        let mut session = session(Side::Client);
        session.has_served_modern = true;
        assert!(!reads_modern(&mut session) && session.known_members().is_none());
        session.release_identity();
        assert!(session.identity().is_some() && !session.is_anonymous);
    }
}
