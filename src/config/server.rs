//! `ServerConfig`: the configuration of a server.

use alloc::string::String;

use super::{CacheHints, ConnectionConfig};
use crate::model::{Implementation, LoggingLevel, ServerCapabilities};
use crate::version::RevisionSet;

/// The configuration of a server: its identity, capabilities and behaviour. Connections share it in an `Arc`.
///
/// ```
/// use mcp_sansio::ServerConfig;
/// use mcp_sansio::model::ListChanged;
///
/// let mut config = ServerConfig::new("weather", "1.0.0");
/// config.capabilities.tools = Some(ListChanged::default());
/// config.instructions = Some("Ask for one city at a time.".into());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ServerConfig {
    /// The name and version of the server.
    pub info: Implementation<'static>,
    /// The capabilities of the server. Requests that need other capabilities are refused before the application sees
    /// them.
    pub capabilities: ServerCapabilities<'static>,
    /// The instructions for the model on how to use the server. Empty and absent are different.
    pub instructions: Option<String>,
    /// The revisions that the server speaks. Default all, of both eras: modern requests and a session are served on
    /// the same connection, each under its own rules. A client that asks for a session in another revision is offered
    /// the newest legacy revision of this set.
    pub revisions: RevisionSet,
    /// Whether a client that asks for a session in another revision is refused with `-32602` instead. Default false.
    pub refuse_other_revisions: bool,
    /// Whether the first era that a connection uses, apart from `server/discover`, is its only one. If so,
    /// `initialize` is refused with `-32022` after a modern request, and a modern request with `-32600` after
    /// `initialize`. Default false.
    pub one_era: bool,
    /// The least severe level of log messages that are sent before the client sets a level. Default all.
    pub log_level: LoggingLevel,
    /// Whose error it is if the arguments of a call do not fit the tool. Decides how
    /// [`Server::reject_arguments`](crate::Server::reject_arguments) responds. Default by revision.
    pub bad_arguments: BadArguments,
    /// Whether every modern response names the server. Default true.
    pub identify: bool,
    /// The cache hints of modern results. Default no caching.
    pub cache: CacheHints,
    /// Whether the machine or the application grants subscriptions. Default the machine.
    pub listening: Listening,
    /// Limits, timeouts and policies.
    pub connection: ConnectionConfig,
}

impl ServerConfig {
    /// Returns the configuration of a server with a name and a version that has no capabilities yet.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            info: Implementation::new(name.into(), version.into()),
            capabilities: ServerCapabilities::default(),
            instructions: None,
            revisions: RevisionSet::ALL,
            one_era: false,
            refuse_other_revisions: false,
            log_level: LoggingLevel::Debug,
            bad_arguments: BadArguments::default(),
            identify: true,
            cache: CacheHints::default(),
            listening: Listening::default(),
            connection: ConnectionConfig::default(),
        }
    }
}

/// Whose error it is if the arguments of a call do not fit the tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BadArguments {
    /// The revision decides. Until 2025-06-18 the request is at fault. Since 2025-11-25 the tool fails, so that the
    /// model sees the error and tries again
    /// ([error handling](https://modelcontextprotocol.io/specification/2025-11-25/server/tools#error-handling)).
    #[default]
    ByRevision,
    /// The request is at fault: the response is the error `-32602`.
    Request,
    /// The tool fails: the response is a result with `isError`.
    Tool,
}

/// Whether the machine or the application grants subscriptions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Listening {
    /// The machine grants everything that the server offers, and reports it with
    /// [`ServerEvent::Subscribed`](crate::ServerEvent::Subscribed). It does not grant tasks, because it does not know
    /// their owners.
    #[default]
    Granted,
    /// The application decides. It receives [`ClientRequest::Listen`](crate::ClientRequest::Listen), and answers with
    /// [`Server::grant`](crate::Server::grant).
    Asked,
    /// An adapter decides, because it has tasks: to the machine, the same as [`Asked`](Self::Asked). Adapters replace
    /// [`Granted`](Self::Granted) with it.
    AskedOfAdapter,
}
