//! Capabilities as a set of bits: read from a handshake, looked up on every message.

use core::fmt;

use crate::json::{MemberTexts, Raw};
use crate::model::{ClientCapabilities, ServerCapabilities};
use crate::version::{Revision, RevisionSet};

macro_rules! capabilities {
    ($($(#[$documentation:meta])* $name:ident, $owner:ident, $path:literal, $since:ident;)*) => {
        /// Something that one side offers to the other.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        #[non_exhaustive]
        pub enum Capability {
            $($(#[$documentation])* $name,)*
        }

        const TABLE: &[Row] = &[
            $(Row {
                capability: Capability::$name,
                owner: Owner::$owner,
                path: $path,
                since: Revision::$since,
            },)*
        ];
    };
}

capabilities! {
    /// A server has tools.
    Tools, Server, "tools", V2024_11_05;
    /// A server says when its tools change.
    ToolsListChanged, Server, "tools.listChanged", V2024_11_05;
    /// A server has resources.
    Resources, Server, "resources", V2024_11_05;
    /// Single resources of a server can be subscribed to.
    ResourcesSubscribe, Server, "resources.subscribe", V2024_11_05;
    /// A server says when its list of resources changes.
    ResourcesListChanged, Server, "resources.listChanged", V2024_11_05;
    /// A server has prompts.
    Prompts, Server, "prompts", V2024_11_05;
    /// A server says when its prompts change.
    PromptsListChanged, Server, "prompts.listChanged", V2024_11_05;
    /// A server sends log messages.
    Logging, Server, "logging", V2024_11_05;
    /// A server completes arguments.
    Completions, Server, "completions", V2025_03_26;
    /// A client lists the places a server may work in.
    Roots, Client, "roots", V2024_11_05;
    /// A client says when its roots change.
    RootsListChanged, Client, "roots.listChanged", V2024_11_05;
    /// A client asks a model on behalf of a server.
    Sampling, Client, "sampling", V2024_11_05;
    /// A client adds context of servers when it asks a model.
    SamplingContext, Client, "sampling.context", V2025_11_25;
    /// A client lets the model use tools.
    SamplingTools, Client, "sampling.tools", V2025_11_25;
    /// A client asks the user on behalf of a server.
    Elicitation, Client, "elicitation", V2025_06_18;
    /// A client asks by forms.
    ElicitationForm, Client, "elicitation.form", V2025_06_18;
    /// A client sends the user to URLs.
    ElicitationUrl, Client, "elicitation.url", V2025_11_25;
}

struct Row {
    capability: Capability,
    owner: Owner,
    /// The key, and the key in its object.
    path: &'static str,
    since: Revision,
}

/// The side that declares a capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Owner {
    Client,
    Server,
}

/// A set of capabilities.
///
/// ```
/// use mcp_sansio::{Capability, CapabilitySet};
///
/// let set = CapabilitySet::NONE.with(Capability::Tools).with(Capability::Logging);
/// assert!(set.contains(Capability::Tools));
/// assert!(!set.contains(Capability::Prompts));
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct CapabilitySet {
    bits: u32,
}

impl CapabilitySet {
    /// No capability.
    pub const NONE: Self = Self { bits: 0 };

    /// This set and one capability more.
    #[must_use]
    pub const fn with(self, capability: Capability) -> Self {
        Self { bits: self.bits | 1 << capability as u32 }
    }

    /// Whether the capability is in the set.
    pub const fn contains(self, capability: Capability) -> bool {
        self.bits & (1 << capability as u32) != 0
    }

    /// The capabilities of this set that are missing in another one.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self { bits: self.bits & !other.bits }
    }

    /// Whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.bits == 0
    }

    /// The capabilities, in the order of their definition.
    pub fn iter(self) -> impl Iterator<Item = Capability> {
        TABLE.iter().map(|row| row.capability).filter(move |capability| self.contains(*capability))
    }

    /// Those that a revision knows; a capability has no effect in an older session. Elicitation in
    /// modes that the revision does not know is none.
    pub(crate) fn known_to(self, revision: Revision) -> Self {
        let known = TABLE
            .iter()
            .filter(|row| self.contains(row.capability))
            .filter(|row| RevisionSet::since(row.since).contains(revision))
            .fold(Self::NONE, |set, row| set.with(row.capability));
        let modes = [Capability::ElicitationForm, Capability::ElicitationUrl];
        if modes.into_iter().any(|mode| known.contains(mode)) {
            return known;
        }
        known.without(Self::NONE.with(Capability::Elicitation))
    }

    /// Reads the `capabilities` of a handshake, JSON that has been scanned.
    ///
    /// `None` if it is no object or a known capability is neither an object nor `null`, which counts
    /// as absent.
    pub(crate) fn read(owner: Owner, capabilities: &str) -> Option<Self> {
        if !capabilities.starts_with('{') {
            return None;
        }
        let mut set = Self::NONE;
        for (key, value) in MemberTexts::of(capabilities) {
            let Some(row) = TABLE.iter().find(|row| row.owner == owner && key == row.path) else {
                continue;
            };
            match value.as_bytes().first() {
                Some(b'{') => set = set.with(row.capability).with_flags(row, value),
                Some(b'n') => {}
                _ => return None,
            }
        }
        // Neither mode named means form.
        let modes =
            set.contains(Capability::ElicitationForm) || set.contains(Capability::ElicitationUrl);
        if set.contains(Capability::Elicitation) && !modes {
            set = set.with(Capability::ElicitationForm);
        }
        Some(set)
    }

    /// Adds what the object of a capability says: flags that are true, and objects.
    fn with_flags(self, parent: &Row, object: &str) -> Self {
        let mut set = self;
        for (key, value) in MemberTexts::of(object) {
            let declared = value == "true" || value.starts_with('{');
            let row = TABLE.iter().find(|row| {
                row.owner == parent.owner
                    && row
                        .path
                        .split_once('.')
                        .is_some_and(|(outer, inner)| outer == parent.path && key == inner)
            });
            if let Some(row) = row.filter(|_| declared) {
                set = set.with(row.capability);
            }
        }
        set
    }

    /// The set that a configuration declares.
    fn declared(owner: Owner, capabilities: &impl serde::Serialize) -> Self {
        Raw::from_serialize(capabilities)
            .ok()
            .and_then(|raw| Self::read(owner, raw.as_str()))
            .unwrap_or_default()
    }
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

impl FromIterator<Capability> for CapabilitySet {
    fn from_iter<I: IntoIterator<Item = Capability>>(capabilities: I) -> Self {
        capabilities.into_iter().fold(Self::NONE, Self::with)
    }
}

impl fmt::Debug for CapabilitySet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.iter()).finish()
    }
}

impl fmt::Display for Capability {
    /// Its path in `capabilities`: `resources.subscribe`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = TABLE.iter().find(|row| row.capability == *self);
        formatter.pad(row.map_or("", |row| row.path))
    }
}
