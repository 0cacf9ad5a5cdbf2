//! What a client is configured with.

use alloc::string::String;

use crate::capability::CapabilitySet;
use crate::model::{ClientCapabilities, Implementation};
use crate::peer::ConnectionConfig;
use crate::version::{Revision, RevisionSet};

/// Who a client is, what it offers and how it behaves. Connections share it in an `Arc`.
///
/// ```
/// use mcp_sansio::{Capability, ClientConfig};
/// use mcp_sansio::model::ListChanged;
///
/// let mut config = ClientConfig::new("assistant", "1.0.0");
/// config.capabilities.roots = Some(ListChanged::default());
/// config.required = [Capability::Tools].into_iter().collect();
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ClientConfig {
    /// Who the client is.
    pub info: Implementation<'static>,
    /// What it offers. Requests for anything else are refused before the application sees them.
    pub capabilities: ClientCapabilities<'static>,
    /// The revisions it speaks. Default all.
    pub revisions: RevisionSet,
    /// The revision it asks for. Default the newest of those it speaks. The server may choose
    /// another one; connecting fails if the client does not speak that.
    pub offer: Option<Revision>,
    /// What a server must offer for connecting to succeed. Default nothing.
    pub required: CapabilitySet,
    /// Limits, timeouts and policies.
    pub connection: ConnectionConfig,
}

impl ClientConfig {
    /// A client with a name and a version that offers nothing yet.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            info: Implementation::new(name.into(), version.into()),
            capabilities: ClientCapabilities::default(),
            revisions: RevisionSet::ALL,
            offer: None,
            required: CapabilitySet::NONE,
            connection: ConnectionConfig::default(),
        }
    }
}
