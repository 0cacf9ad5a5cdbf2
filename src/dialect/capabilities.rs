//! The conversion of `capabilities` objects to sets.

use crate::capability::{Capability, CapabilitySet, Owner};
use crate::json::{MemberTexts, Raw, member};
use crate::model::{ClientCapabilities, ServerCapabilities};
use crate::schema::Payload;
use crate::version::Revision;

impl CapabilitySet {
    /// Returns the capabilities that a revision knows. A newer capability has no effect in an older session.
    /// Elicitation is removed if the revision knows none of its modes.
    pub(crate) fn known_to(self, revision: Revision) -> Self {
        let known: Self =
            self.iter().filter(|capability| capability.revisions().contains(revision)).collect();
        if known.has_elicitation_mode() { known } else { known.without(Capability::Elicitation) }
    }

    /// Returns the part of the declared capabilities that a call declares with this set.
    ///
    /// A member declares the capability that it belongs to, and elicitation without a mode means form. So the written
    /// declaration and this set say the same.
    pub(crate) fn narrow(self, declared: Self) -> Self {
        let mut set = self;
        let parent = |member: Capability| {
            let (parent, _) = member.path().split_once('.')?;
            let is_it = |one: &&Capability| one.owner() == member.owner() && one.path() == parent;
            Capability::ALL.iter().find(is_it)
        };
        for parent in self.iter().filter_map(parent) {
            set = set.with(*parent);
        }
        if set.contains(Capability::Elicitation) && !set.has_elicitation_mode() {
            set = set.with(Capability::ElicitationForm);
        }
        let set = set.and(declared);
        if set.has_elicitation_mode() { set } else { set.without(Capability::Elicitation) }
    }

    const fn has_elicitation_mode(self) -> bool {
        self.contains(Capability::ElicitationForm) || self.contains(Capability::ElicitationUrl)
    }

    /// Reads the `capabilities` of a handshake, JSON that has been scanned.
    ///
    /// Returns `None` if it is not an object, or if a known capability is neither an object nor `null`. `null` counts
    /// as absent.
    pub(crate) fn read(owner: Owner, capabilities: &str) -> Option<Self> {
        if !capabilities.starts_with('{') {
            return None;
        }
        let mut set = Self::NONE;
        for (key, value) in MemberTexts::of(capabilities) {
            // The path of a member in the object of a capability is no key of this object, although it can look like one.
            let is_it = |known: &&Capability| {
                known.owner() == owner && key == known.path() && !known.path().contains('.')
            };
            let Some(capability) = Capability::ALL.iter().find(is_it) else { continue };
            match value.as_bytes().first() {
                Some(b'{') => set = set.with(*capability).with_flags(*capability, value),
                Some(b'n') => {}
                _ => return None,
            }
        }
        // An elicitation capability without modes means form.
        if set.contains(Capability::Elicitation) && !set.has_elicitation_mode() {
            set = set.with(Capability::ElicitationForm);
        }
        Some(set)
    }

    /// Adds the members of a capability: flags that are true, and objects.
    fn with_flags(self, parent: Capability, object: &str) -> Self {
        let mut set = self;
        for (key, value) in MemberTexts::of(object) {
            let declared = value == "true" || value.starts_with('{');
            if declared && let Some(flag) = flags_of(parent).find(|(_, name)| key == *name) {
                set = set.with(flag.0);
            }
            if key == "requests" && parent.path() == "tasks" {
                set = set.with_requests(parent, value);
            }
        }
        set
    }

    /// Adds the requests that may become tasks. Unknown requests are ignored.
    fn with_requests(self, parent: Capability, requests: &str) -> Self {
        let is_declared = |one: &Capability| {
            let mut path = one.path().split('.').skip(1);
            one.owner() == parent.owner()
                && one.path().starts_with("tasks.requests.")
                && path.next() == Some("requests")
                && path.try_fold(requests, member).is_some_and(|declared| declared.starts_with('{'))
        };
        Capability::ALL.iter().copied().filter(is_declared).fold(self, Self::with)
    }

    /// Returns the set that a configuration declares.
    fn declared(owner: Owner, capabilities: &dyn Payload) -> Self {
        Raw::from_payload(&capabilities)
            .ok()
            .and_then(|raw| Self::read(owner, raw.as_json()))
            .unwrap_or_default()
    }
}

/// Returns the flags that the object of a capability may hold, with their names.
fn flags_of(parent: Capability) -> impl Iterator<Item = (Capability, &'static str)> {
    let candidates = Capability::ALL.iter().filter(move |flag| flag.owner() == parent.owner());
    candidates.filter_map(move |flag| {
        let name = flag.path().strip_prefix(parent.path())?.strip_prefix('.')?;
        // A longer path is no flag, but a part of `requests`.
        (!name.contains('.')).then_some((*flag, name))
    })
}

impl From<&ClientCapabilities<'_>> for CapabilitySet {
    fn from(capabilities: &ClientCapabilities<'_>) -> Self {
        Self::declared(Owner::Client, capabilities)
    }
}

impl From<&ServerCapabilities<'_>> for CapabilitySet {
    fn from(capabilities: &ServerCapabilities<'_>) -> Self {
        Self::declared(Owner::Server, capabilities)
    }
}

/// Returns the capabilities that a client may declare in a revision. Other members are filtered by the tables.
///
/// Without the form mode, a client has no elicitation in a revision that knows only forms.
pub(crate) fn declarable<'c>(
    capabilities: &ClientCapabilities<'c>,
    revision: Revision,
) -> ClientCapabilities<'c> {
    let mut declarable = capabilities.clone();
    if !CapabilitySet::from(capabilities).known_to(revision).contains(Capability::Elicitation) {
        declarable.elicitation = None;
    }
    declarable
}
