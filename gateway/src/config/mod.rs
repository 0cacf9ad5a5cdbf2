//! The configuration of a gateway and of the servers behind it.

pub mod file;
mod names;
mod server_entry;
mod variables;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use mcp_sansio::auth::Scopes;

pub use self::names::NameRules;
use crate::status::UpstreamEvent;
use crate::upstream::Connect;

/// The configuration of a gateway. The endpoint in front of it has its own ([`EndpointOptions`](mcp_sansio_http::EndpointOptions)).
#[derive(Clone)]
#[non_exhaustive]
pub struct GatewayConfig {
    /// The name of the gateway, for its clients and for the servers behind it.
    pub name: String,
    /// The instructions for the models of its clients.
    pub instructions: Option<String>,
    /// The servers behind it, in the order of their lists.
    pub upstreams: Vec<UpstreamConfig>,
    /// The key that authenticates request state which clients bring back. Gateways that serve one endpoint together need
    /// the same key. Default a random key.
    pub state_key: Option<[u8; 32]>,
    /// How many calls may wait for a modern client to repeat its request with input. Default 1,000.
    pub most_parked: usize,
    /// How long such a call waits. Default 15 min.
    pub parked_for: Duration,
    /// How many bytes of requests the gateway keeps, because a server may require input before it serves them: tool calls that
    /// are tasks of sessions. Beyond that, or beyond a half for one client, such a call fails if the server requires input.
    /// Default 64 MiB.
    pub kept_bytes: usize,
    /// The number of items in a page of a list. Default 500.
    pub page_size: usize,
    /// The function that sees what happens to the servers. Default none.
    pub observer: Option<Observer>,
}

/// `Debug` does not show the key.
impl fmt::Debug for GatewayConfig {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = formatter.debug_struct("GatewayConfig");
        debug.field("name", &self.name).field("upstreams", &self.upstreams).finish_non_exhaustive()
    }
}

impl GatewayConfig {
    /// Creates the configuration of a gateway with these servers.
    pub fn new(name: impl Into<String>, upstreams: Vec<UpstreamConfig>) -> Self {
        Self {
            name: name.into(),
            instructions: None,
            upstreams,
            state_key: None,
            most_parked: 1_000,
            parked_for: Duration::from_secs(900),
            kept_bytes: 64 << 20,
            page_size: 500,
            observer: None,
        }
    }
}

/// A function that sees what happens to the servers, for a log. It must not block. Clones share it.
#[derive(Clone)]
pub struct Observer(Arc<Observe>);

type Observe = dyn Fn(&str, &UpstreamEvent<'_>) + Send + Sync;

impl Observer {
    /// Creates an observer from a function of the name of a server and the event.
    pub fn new(observe: impl Fn(&str, &UpstreamEvent<'_>) + Send + Sync + 'static) -> Self {
        Self(Arc::new(observe))
    }

    pub(crate) fn observe(&self, server: &str, event: &UpstreamEvent<'_>) {
        (self.0)(server, event);
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Observer").finish_non_exhaustive()
    }
}

/// A server behind the gateway.
///
/// Two configurations are equal if a connection of the one can serve the other: a reload keeps the connections of a server
/// whose configuration has not changed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UpstreamConfig {
    /// The name of the server, in messages and in the status of the gateway.
    pub name: String,
    /// How the server is reached.
    pub transport: UpstreamTransport,
    /// The names of its tools and prompts. Default the name of the server and `__` in front of each name.
    pub names: NameRules,
    /// The scopes that an access token needs for the tools, prompts and resources of this server. Default none.
    pub scopes: Scopes,
    /// Which clients share a connection to the server. Default all.
    pub sharing: Sharing,
    /// How many calls the server gets at the same time; others wait. Default 512.
    pub most_calls: usize,
    /// How many of these calls may be of one client. Default 32.
    pub most_calls_of_client: usize,
    /// How long connecting may take. Default 60 s.
    pub connect_timeout: Duration,
    /// How long a list waits for this server, before it is sent without its items. Default 10 s.
    pub list_timeout: Duration,
    /// How long a call may take. Default 1 h.
    pub call_timeout: Duration,
    /// After which time a list is read again, if the server does not announce changes. Default 60 s.
    pub list_age: Duration,
    /// How often a silent server of the legacy era is pinged. After three pings without a response the gateway connects
    /// again. Default 30 s; `None` never.
    pub ping_every: Option<Duration>,
    /// How long calls may go on after the server was removed from the configuration. Default 10 min.
    pub drain: Duration,
}

impl UpstreamConfig {
    /// Creates the configuration of a server.
    pub fn new(name: impl Into<String>, transport: UpstreamTransport) -> Self {
        let name = name.into();
        Self {
            names: NameRules::prefix(format!("{name}__")),
            name,
            transport,
            scopes: Scopes::none(),
            sharing: Sharing::All,
            most_calls: 512,
            most_calls_of_client: 32,
            connect_timeout: Duration::from_secs(60),
            list_timeout: Duration::from_secs(10),
            call_timeout: Duration::from_secs(3600),
            list_age: Duration::from_secs(60),
            ping_every: Some(Duration::from_secs(30)),
            drain: Duration::from_secs(600),
        }
    }
}

impl UpstreamConfig {
    /// Returns the configuration with times that can be added to the clock.
    pub(crate) fn clamped(mut self) -> Self {
        for time in [
            &mut self.connect_timeout,
            &mut self.list_timeout,
            &mut self.call_timeout,
            &mut self.list_age,
            &mut self.drain,
        ] {
            *time = LONGEST.min(*time);
        }
        if let Sharing::PerClient { idle, .. } = &mut self.sharing {
            // Connections are checked twice in this time.
            *idle = (*idle).clamp(Duration::from_millis(100), LONGEST);
        }
        self
    }
}

/// The longest time of a configuration.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 3600);

/// Which clients share a connection to a server of the legacy era. Servers of the modern era have no sessions, and are
/// always reached through one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Sharing {
    /// All clients share one session.
    ///
    /// If the server asks for input and does not say for which call, the gateway knows the client only while all calls in
    /// progress are of one client; otherwise it refuses the request.
    All,
    /// Each authenticated client, and each session of a client that is not authenticated, has its own session at the
    /// server, and for a program its own process. Clients with neither share one.
    ///
    /// Calls and the other requests that the server answers use it. The lists and the subscriptions to resources come
    /// from the shared session, also for such a client: they must not depend on the client. A server that announces in
    /// the session of a client that a list has changed reaches the client only during its calls.
    PerClient {
        /// The most of these sessions. If another client needs one, the session that was not used for the longest time is
        /// closed, but not within ten seconds of its last call.
        most: usize,
        /// After which time without a call such a session is closed.
        idle: Duration,
    },
}

/// How a server is reached.
#[derive(Clone)]
#[non_exhaustive]
pub enum UpstreamTransport {
    /// The server is a program, which the gateway starts.
    Command(CommandConfig),
    /// The server has a URL.
    Http(HttpConfig),
    /// The application connects to the server itself.
    Custom(Arc<dyn Connect>),
}

impl PartialEq for UpstreamTransport {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Command(one), Self::Command(other)) => one == other,
            (Self::Http(one), Self::Http(other)) => one == other,
            (Self::Custom(one), Self::Custom(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }
}

impl Eq for UpstreamTransport {}

/// `Debug` shows no arguments, headers and variables, which may be secret.
impl fmt::Debug for UpstreamTransport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command(command) => formatter.debug_tuple("Command").field(command).finish(),
            Self::Http(http) => formatter.debug_tuple("Http").field(http).finish(),
            Self::Custom(_) => formatter.debug_tuple("Custom").finish(),
        }
    }
}

/// A server that is a program.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CommandConfig {
    /// The program.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Its variables, besides those of the gateway.
    pub environment: BTreeMap<String, String>,
    /// Its directory. Default that of the gateway.
    pub directory: Option<PathBuf>,
}

impl CommandConfig {
    /// Creates the configuration of a program without arguments.
    pub fn new(program: impl Into<String>) -> Self {
        Self {
            program: program.into(),
            arguments: Vec::new(),
            environment: BTreeMap::new(),
            directory: None,
        }
    }
}

impl fmt::Debug for CommandConfig {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("CommandConfig")
            .field("program", &self.program)
            .finish_non_exhaustive()
    }
}

/// A server at a URL.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpConfig {
    /// The URL of its endpoint.
    pub url: String,
    /// Header fields of every request. The token of a client is never passed on.
    pub headers: BTreeMap<String, String>,
    /// How the gateway gets access tokens. Default not at all.
    pub oauth: Option<OAuthConfig>,
}

impl HttpConfig {
    /// Creates the configuration of a server at a URL.
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), headers: BTreeMap::new(), oauth: None }
    }
}

impl fmt::Debug for HttpConfig {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The user and the query of a URL may be secret.
        let url = self.url.split(['?', '#']).next().unwrap_or_default();
        let url = url.rsplit_once('@').map_or(url, |(_, host)| host);
        formatter.debug_struct("HttpConfig").field("url", &url).finish_non_exhaustive()
    }
}

/// How the gateway, which has no user in front of it, gets access tokens: with its own credentials
/// ([OAuth client credentials](https://modelcontextprotocol.io/extensions/auth/oauth-client-credentials)).
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OAuthConfig {
    /// The identifier of the gateway at the authorization server.
    pub client_id: String,
    /// Its secret.
    pub client_secret: String,
    /// The issuer of the tokens. Without it, the credentials are sent to the authorization server that the server names.
    pub issuer: Option<String>,
    /// The scopes to request, besides those that the server names.
    pub scopes: Scopes,
}

impl OAuthConfig {
    /// Creates the configuration for these credentials.
    pub fn new(client_id: impl Into<String>, client_secret: impl Into<String>) -> Self {
        Self {
            client_id: client_id.into(),
            client_secret: client_secret.into(),
            issuer: None,
            scopes: Scopes::none(),
        }
    }
}

impl fmt::Debug for OAuthConfig {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("OAuthConfig")
            .field("client_id", &self.client_id)
            .finish_non_exhaustive()
    }
}
