//! `ClientConfig`: the configuration of a client.

use alloc::string::String;

use super::ConnectionConfig;
use crate::capability::CapabilitySet;
use crate::model::{ClientCapabilities, Implementation, LoggingLevel, SubscriptionFilter};
use crate::version::{Revision, RevisionSet};

/// The configuration of a client: its identity, capabilities and behaviour. Connections share it in an `Arc`.
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
    /// The name and version of the client.
    pub info: Implementation<'static>,
    /// The capabilities of the client. Requests that need other capabilities are refused before the application sees
    /// them.
    pub capabilities: ClientCapabilities<'static>,
    /// The revisions that the client speaks. Default all, of both eras: the client determines the era of the server
    /// with `server/discover`, and if the server does not know that method, with `initialize`.
    pub revisions: RevisionSet,
    /// The revision that was used with this server before ([`Client::revision`](crate::Connection::revision)). The
    /// client then does not wait for a probe. With a legacy revision it begins with `initialize`. With a modern one it
    /// sends calls at once, beside `server/discover`; if that shows another era, the client negotiates after all, and
    /// a second [`Connected`](crate::ClientEvent::Connected) event reports the result. A failure of the transport, or a
    /// missing response of a server that has given modern results, shows no other era. A revision that is not among
    /// [`revisions`](Self::revisions) is ignored. Default none.
    pub known: Option<Revision>,
    /// Whether a client that speaks only the modern era sends `server/discover` at the beginning. Default true:
    /// connecting to a legacy server then fails at once, with a clear error.
    pub probe: bool,
    /// Whether every modern request names the client. Default true.
    pub identify: bool,
    /// The least severe level of log messages that modern requests ask for, unless [their
    /// options](crate::CallOptions::log_level) differ. Default none.
    pub log_level: Option<LoggingLevel>,
    /// The [subscription](crate::Client::subscribe) to open as soon as the connection is open. Default none.
    pub listen: Option<SubscriptionFilter<'static>>,
    /// The legacy revision that the client offers in `initialize`. Default the newest that it speaks. The server may
    /// choose another revision; connecting fails if the client does not speak it.
    pub offer: Option<Revision>,
    /// The capabilities that a server must have for connecting to succeed. Default none.
    pub required: CapabilitySet,
    /// Limits, timeouts and policies.
    pub connection: ConnectionConfig,
}

impl ClientConfig {
    /// Returns the configuration of a client with a name and a version that has no capabilities yet.
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
