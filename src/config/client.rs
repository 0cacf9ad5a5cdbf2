//! `ClientConfig`: the configuration of a client.

use alloc::string::String;

use super::ConnectionConfig;
use crate::capability::CapabilitySet;
use crate::model::{ClientCapabilities, Implementation, LoggingLevel, SubscriptionFilter};
use crate::version::{Revision, RevisionSet};

/// Who a client is, what it offers and how it behaves. Connections share it in an `Arc`.
///
/// ```
/// use mcp_sansio::capability::Capability;
/// use mcp_sansio::model::ListChanged;
/// use mcp_sansio::ClientConfig;
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
    /// The revisions it speaks. Default all, of both eras: which one the server belongs to is found out
    /// with `server/discover`, and if it does not know that, with `initialize`.
    pub revisions: RevisionSet,
    /// The revision that was used with this server before ([`Client::revision`](crate::Connection::revision)):
    /// nothing is found out then. If it turns out to be wrong the server is asked after all, and a second
    /// [`Connected`](crate::ClientEvent::Connected) says what came of that. Default none.
    pub known: Option<Revision>,
    /// Whether a client without sessions asks a server what it is before anything else. Default true: a
    /// server that has only sessions then fails at once, and in a way that says so.
    pub probe: bool,
    /// Whether every request says who the client is, where there are no sessions. Default true.
    pub identify: bool,
    /// The least severe log messages that requests ask for, where there are no sessions, unless
    /// [they say otherwise](crate::CallOptions::log_level). Default none.
    pub log_level: Option<LoggingLevel>,
    /// What to [subscribe](crate::Client::subscribe) to as soon as the connection is open. Default nothing.
    pub listen: Option<SubscriptionFilter<'static>>,
    /// The revision of a session that it asks for. Default the newest of those it speaks. The server may
    /// choose another one; connecting fails if the client does not speak that.
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
            known: None,
            probe: true,
            identify: true,
            log_level: None,
            listen: None,
            offer: None,
            required: CapabilitySet::NONE,
            connection: ConnectionConfig::default(),
        }
    }
}
