//! The configuration of connections: plain data, shared by connections in an `Arc`.

mod cache_hints;
mod client;
mod connection;
mod server;

use alloc::sync::Arc;

pub use cache_hints::{CacheHint, CacheHints};
pub use client::ClientConfig;
pub use connection::{
    CapabilityPolicy, ConnectionConfig, DuplicateIds, KeepAlive, Relay, RepliesWithoutId, Timeouts,
    UnknownMethods,
};
pub use server::{BadArguments, Listening, ServerConfig};

/// The configuration of a server or of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RoleConfig {
    Server(Arc<ServerConfig>),
    Client(Arc<ClientConfig>),
}

impl RoleConfig {
    /// Returns the part that both roles share.
    pub(crate) fn connection(&self) -> &ConnectionConfig {
        match self {
            Self::Server(config) => &config.connection,
            Self::Client(config) => &config.connection,
        }
    }
}
