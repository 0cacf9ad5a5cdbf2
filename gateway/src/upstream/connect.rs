//! [`Connect`]: opens connections to a server.

use std::future::Future;
use std::pin::Pin;
use std::process::Command;

use mcp_sansio::auth::{AuthorizerConfig, BrowserUrl, ConfiguredClient, Flow};
use mcp_sansio::http::HttpClientConfig;
use mcp_sansio::{Client, ClientConfig};
use mcp_sansio_http::{Authorization, AuthorizationHost, Authorized, HostFuture, Transport};
use mcp_sansio_tokio::{Connection, ConnectionOptions, Exchange, Handle, Handler, OpenError};

use super::table::TableHandler;
use crate::config::{CommandConfig, HttpConfig, OAuthConfig, UpstreamTransport};

/// Opens connections to a server in the application's own way, for example to a server in the same process.
///
/// ```
/// use mcp_sansio::{ClientConfig, ServerConfig};
/// use mcp_sansio_gateway::{Connect, ConnectFuture, UpstreamHandler};
/// use mcp_sansio_tokio::{ConnectionOptions, Router, connect_in_memory_with};
///
/// struct InProcess(Router);
///
/// impl Connect for InProcess {
///     fn connect(&self, config: ClientConfig, handler: UpstreamHandler) -> ConnectFuture<'_> {
///         let server = ServerConfig::new("in process", "1.0");
///         let (router, options) = (self.0.clone(), ConnectionOptions::new());
///         Box::pin(async move { connect_in_memory_with(config, handler, server, router).await })
///     }
/// }
/// ```
pub trait Connect: Send + Sync + 'static {
    /// Opens a connection. The gateway sets its capabilities and timeouts in `config`, and serves the requests of the
    /// server with `handler`. Dropping the future gives the attempt up.
    fn connect(&self, config: ClientConfig, handler: UpstreamHandler) -> ConnectFuture<'_>;
}

/// The result of an attempt to connect.
pub type ConnectFuture<'a> =
    Pin<Box<dyn Future<Output = Result<Connection, OpenError>> + Send + 'a>>;

/// The handler for the requests of a server behind the gateway.
pub struct UpstreamHandler(pub(super) TableHandler);

impl Handler<Client> for UpstreamHandler {
    async fn serve(&self, exchange: Exchange<Client>) {
        self.0.serve(exchange).await;
    }

    async fn event(&self, handle: &Handle<Client>, event: mcp_sansio::ClientEvent<'static>) {
        self.0.event(handle, event).await;
    }
}

impl std::fmt::Debug for UpstreamHandler {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("UpstreamHandler").finish_non_exhaustive()
    }
}

/// How many requests of the server are handled at the same time. Each waits for its client.
const MOST_REQUESTS: usize = 1_024;

/// Opens a connection to a server.
pub(super) async fn open(
    transport: &UpstreamTransport,
    config: ClientConfig,
    handler: UpstreamHandler,
) -> Result<Connection, OpenFailure> {
    let options = ConnectionOptions::new().handlers(MOST_REQUESTS);
    Ok(match transport {
        UpstreamTransport::Command(command) => {
            mcp_sansio_tokio::spawn_with(config, &options, start(command), handler).await?
        }
        UpstreamTransport::Http(http) => over_http(http, config, &options, handler).await?,
        UpstreamTransport::Custom(connect) => connect.connect(config, handler).await?,
    })
}

fn start(config: &CommandConfig) -> Command {
    let mut command = Command::new(&config.program);
    command.args(&config.arguments).envs(&config.environment);
    if let Some(directory) = &config.directory {
        command.current_dir(directory);
    }
    command
}

async fn over_http(
    http: &HttpConfig,
    config: ClientConfig,
    options: &ConnectionOptions,
    handler: UpstreamHandler,
) -> Result<Connection, OpenFailure> {
    let mut target = HttpClientConfig::new(&*http.url);
    for (name, value) in &http.headers {
        if let Err(error) = target.header(name, value) {
            let problem = format!("the header field {name}: {error}");
            return Err(OpenFailure::Invalid(problem));
        }
    }
    let is_https = http.url.get(..6).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https:"));
    if is_https {
        let transport = mcp_sansio_http::tls().map_err(OpenError::RootCertificates)?;
        authorized(transport, http, target, config, options, handler).await
    } else {
        authorized(mcp_sansio_http::plain(), http, target, config, options, handler).await
    }
}

/// Connects with access tokens, if the configuration has credentials for them.
async fn authorized(
    transport: impl Transport,
    http: &HttpConfig,
    target: HttpClientConfig,
    config: ClientConfig,
    options: &ConnectionOptions,
    handler: UpstreamHandler,
) -> Result<Connection, OpenFailure> {
    Ok(match &http.oauth {
        None => mcp_sansio_http::connect_with(config, target, options, transport, handler).await?,
        Some(oauth) => {
            let authorization = Authorization::new(credentials(&http.url, oauth)?, NoUser);
            let transport = Authorized::new(transport, authorization);
            mcp_sansio_http::connect_with(config, target, options, transport, handler).await?
        }
    })
}

fn credentials(url: &str, oauth: &OAuthConfig) -> Result<AuthorizerConfig, OpenFailure> {
    let invalid = |error| OpenFailure::Invalid(format!("the URL: {error}"));
    let mut config = AuthorizerConfig::new(url).map_err(invalid)?;
    let mut client = ConfiguredClient::new(&*oauth.client_id).secret(&*oauth.client_secret);
    if let Some(issuer) = &oauth.issuer {
        client = client.issuer(&**issuer);
    }
    config.clients.push(client);
    config.flow = Flow::ClientCredentials;
    config.scopes = oauth.scopes.clone();
    Ok(config)
}

/// A gateway has no user in front of it.
struct NoUser;

impl AuthorizationHost for NoUser {
    fn open_url<'a>(
        &'a self,
        _: &'a BrowserUrl,
        authorization: &'a Authorization,
    ) -> HostFuture<'a, ()> {
        // Its own credentials need no browser.
        authorization.abandon();
        Box::pin(async {})
    }
}

/// The reason why there is no connection to a server.
#[derive(Debug, thiserror::Error)]
pub(super) enum OpenFailure {
    /// The configuration of the server is not usable.
    #[error("{0}")]
    Invalid(String),
    #[error(transparent)]
    Open(#[from] OpenError),
}
