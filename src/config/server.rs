//! `ServerConfig`: the configuration of a server.

use alloc::string::String;

use super::{CacheHints, ConnectionConfig};
use crate::model::{Implementation, LoggingLevel, ServerCapabilities};
use crate::version::RevisionSet;

/// Who a server is, what it offers and how it behaves. Connections share it in an `Arc`.
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
    /// Who the server is.
    pub info: Implementation<'static>,
    /// What it offers. Requests for anything else are refused before the application sees them.
    pub capabilities: ServerCapabilities<'static>,
    /// How to use it, for the model. Empty and absent are different.
    pub instructions: Option<String>,
    /// The revisions it speaks. Default all, of both eras: requests that stand alone and a session are
    /// served on the same connection, each under its own rules. A client that asks for a session of
    /// another revision is offered the newest of these that has sessions.
    pub revisions: RevisionSet,
    /// Refuses such a client with `-32602` instead. Default false.
    pub refuse_other_revisions: bool,
    /// Whether the first era that a connection is used in, apart from `server/discover`, is its only one:
    /// then `initialize` is refused with `-32022` after a request that stands alone, and such a request with
    /// `-32600` after `initialize`. Default false.
    pub one_era: bool,
    /// The least severe log messages that are sent before the client names a level. Default all.
    pub log_level: LoggingLevel,
    /// Whose failure it is if the arguments of a call do not fit the tool: how
    /// [`Server::reject_arguments`](crate::Server::reject_arguments) answers. Default by revision.
    pub bad_arguments: BadArguments,
    /// Whether every answer says who the server is, where there are no sessions. Default true.
    pub identify: bool,
    /// For how long, and by whom, results may be used again, where there are no sessions. Default not at
    /// all.
    pub cache: CacheHints,
    /// Who decides on subscriptions that clients keep open. Default the machine.
    pub listening: Listening,
    /// Limits, timeouts and policies.
    pub connection: ConnectionConfig,
}

impl ServerConfig {
    /// A server with a name and a version that offers nothing yet.
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

/// Whose failure it is if the arguments of a call do not fit the tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BadArguments {
    /// What the revision of the session says: until 2025-06-18 the request is at fault, since
    /// 2025-11-25 the tool fails, so that the model learns of it and tries again
    /// ([error handling](https://modelcontextprotocol.io/specification/2025-11-25/server/tools#error-handling)).
    #[default]
    ByRevision,
    /// The request is at fault: the answer is the error `-32602`.
    Request,
    /// The tool fails: the answer is a result with `isError`.
    Tool,
}

/// Who decides on subscriptions that clients keep open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Listening {
    /// Everything that the server offers is granted, and
    /// [`ServerEvent::Subscribed`](crate::ServerEvent::Subscribed) says so. That is not tasks, of which the
    /// machine does not know whose they are.
    #[default]
    Granted,
    /// The application is asked, with [`ClientRequest::Listen`](crate::ClientRequest::Listen). It answers with
    /// [`Server::grant`](crate::Server::grant).
    Asked,
}
