//! Capabilities as a set of bits: read from a handshake, looked up on every message.

use core::fmt;

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

        impl Capability {
            /// Every capability, in the order of their definition.
            pub(crate) const ALL: &[Self] = &[$(Self::$name,)*];

            /// The side that declares it.
            pub(crate) const fn owner(self) -> Owner {
                match self {
                    $(Self::$name => Owner::$owner,)*
                }
            }

            /// Its key in `capabilities`, and the key in the object there: `resources.subscribe`.
            pub(crate) const fn path(self) -> &'static str {
                match self {
                    $(Self::$name => $path,)*
                }
            }

            /// The revisions that know it.
            pub(crate) const fn revisions(self) -> RevisionSet {
                let since = match self {
                    $(Self::$name => RevisionSet::since(Revision::$since),)*
                };
                match self {
                    // Where there is no session nobody is told without having asked, and tasks are an
                    // extension.
                    Self::RootsListChanged
                    | Self::ServerTasks
                    | Self::ServerTasksList
                    | Self::ServerTasksCancel
                    | Self::ServerTasksCallTool
                    | Self::ClientTasks
                    | Self::ClientTasksList
                    | Self::ClientTasksCancel
                    | Self::ClientTasksCreateMessage
                    | Self::ClientTasksElicit => since.and(RevisionSet::HANDSHAKE),
                    _ => since,
                }
            }
        }
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
    /// A server works on tasks, in sessions.
    ServerTasks, Server, "tasks", V2025_11_25;
    /// A server lists its tasks.
    ServerTasksList, Server, "tasks.list", V2025_11_25;
    /// A server lets its tasks be cancelled.
    ServerTasksCancel, Server, "tasks.cancel", V2025_11_25;
    /// Calls of the tools of a server may become tasks.
    ServerTasksCallTool, Server, "tasks.requests.tools.call", V2025_11_25;
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
    /// A client works on tasks, in sessions.
    ClientTasks, Client, "tasks", V2025_11_25;
    /// A client lists its tasks.
    ClientTasksList, Client, "tasks.list", V2025_11_25;
    /// A client lets its tasks be cancelled.
    ClientTasksCancel, Client, "tasks.cancel", V2025_11_25;
    /// What a server asks of the model of a client may become a task.
    ClientTasksCreateMessage, Client, "tasks.requests.sampling.createMessage", V2025_11_25;
    /// What a server asks the user of a client may become a task.
    ClientTasksElicit, Client, "tasks.requests.elicitation.create", V2025_11_25;
}

impl fmt::Display for Capability {
    /// Its path in `capabilities`: `resources.subscribe`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.path())
    }
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

    /// The capabilities that are in both sets.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self { bits: self.bits & other.bits }
    }

    /// The capabilities that are in one of the sets.
    #[must_use]
    pub(crate) const fn or(self, other: Self) -> Self {
        Self { bits: self.bits | other.bits }
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
        let mut left = self.bits;
        core::iter::from_fn(move || {
            // Where there is no bit left, there is no such capability either.
            let capability = Capability::ALL.get(left.trailing_zeros() as usize)?;
            left &= left - 1;
            Some(*capability)
        })
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

/// One of the extensions that this side has configured
/// ([extensions](https://modelcontextprotocol.io/specification/2026-07-28/basic/lifecycle#extensions)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Extension(u8);

impl Extension {
    /// How many of them can be told apart. Further ones are declared, and never found in a set.
    const MOST: usize = 32;

    /// The one at this place among those that are configured.
    pub(crate) fn at(index: usize) -> Option<Self> {
        u8::try_from(index).ok().filter(|_| index < Self::MOST).map(Self)
    }
}

/// Extensions that both sides have.
///
/// ```
/// use mcp_sansio::{ExtensionSet, Server, ServerConfig};
///
/// let server = Server::new(ServerConfig::new("s", "1").into());
/// assert_eq!(server.extension("com.example/weather"), None, "it has none");
/// assert!(ExtensionSet::default().is_empty());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ExtensionSet {
    bits: u32,
}

impl ExtensionSet {
    /// Whether the extension is in the set.
    pub const fn contains(self, extension: Extension) -> bool {
        self.bits & (1 << extension.0) != 0
    }

    /// Whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.bits == 0
    }
}

impl FromIterator<Extension> for ExtensionSet {
    fn from_iter<I: IntoIterator<Item = Extension>>(extensions: I) -> Self {
        let bits = extensions.into_iter().fold(0, |bits, extension| bits | 1 << extension.0);
        Self { bits }
    }
}
