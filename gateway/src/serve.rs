//! Serves a gateway over HTTP, with an address for its operators.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{ALLOW, CONTENT_TYPE, HOST, HeaderValue, ORIGIN};
use hyper::http::uri::Authority;
use hyper::{Method, Request, Response, StatusCode};
use mcp_sansio::auth::Scopes;
use mcp_sansio::auth::resource_server::ProtectedResource;
use mcp_sansio::http::{HostPolicy, OriginPolicy};
use mcp_sansio_http::{
    Endpoint, EndpointOptions, JwtVerifier, Protection, ToolHeaders, serve_connection,
};
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::gateway::Gateway;
use crate::status::Reloaded;

/// How a gateway is served over HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServeConfig {
    /// The address for clients.
    pub listen: Option<SocketAddr>,
    /// The path of the endpoint. Default `/mcp`.
    pub path: String,
    /// The address for operators. Programs that can connect to it can see the state of the gateway and reload it; web pages
    /// cannot.
    pub admin: Option<SocketAddr>,
    /// The certificate for TLS. Default none.
    pub tls: Option<TlsFiles>,
    /// The host names of the endpoint. Default those of the local computer.
    pub hosts: Option<Vec<String>>,
    /// The web origins that may send requests. Default those of the local computer.
    pub origins: Option<Vec<String>>,
    /// The access control by access tokens. Default every client has access.
    pub authorization: Option<AuthorizationConfig>,
    /// How long open requests may go on after the gateway was stopped. Default 10 s.
    pub grace: Duration,
}

impl ServeConfig {
    /// Creates the default configuration.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Default for ServeConfig {
    fn default() -> Self {
        Self {
            listen: None,
            path: "/mcp".into(),
            admin: None,
            tls: None,
            hosts: None,
            origins: None,
            authorization: None,
            grace: Duration::from_secs(10),
        }
    }
}

/// The files of a certificate and its key, in the PEM format.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TlsFiles {
    /// The chain of certificates.
    pub certificate: PathBuf,
    /// The private key.
    pub key: PathBuf,
}

impl TlsFiles {
    /// Creates the names of the files.
    pub fn new(certificate: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Self {
        Self { certificate: certificate.into(), key: key.into() }
    }
}

/// The access control of the endpoint: access tokens in the format of JWT, which are issued for the gateway. They are not
/// passed on to the servers.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AuthorizationConfig {
    /// The URL of the endpoint, for which tokens are issued.
    pub resource: String,
    /// The issuer of the tokens.
    pub issuer: String,
    /// The file with the public keys of the issuer, a JSON Web Key Set.
    pub keys: PathBuf,
    /// The scopes that every request needs. Default none.
    pub scopes: Scopes,
}

impl AuthorizationConfig {
    /// Creates the configuration for tokens of this issuer.
    pub fn new(
        resource: impl Into<String>,
        issuer: impl Into<String>,
        keys: impl Into<PathBuf>,
    ) -> Self {
        Self {
            resource: resource.into(),
            issuer: issuer.into(),
            keys: keys.into(),
            scopes: Scopes::none(),
        }
    }
}

/// Creates the endpoint of a gateway.
///
/// # Errors
///
/// A file cannot be read or has other content than it should, or a URL is invalid.
pub fn endpoint(gateway: &Gateway, config: &ServeConfig) -> io::Result<Endpoint> {
    let mut options = EndpointOptions::new();
    options.connection = gateway.connection_options();
    let weak = gateway.downgrade();
    options.tool_headers =
        Some(ToolHeaders::new(move |tool| weak.upgrade()?.routes().headers_of(tool)));
    if let Some(hosts) = hosts(config)? {
        options.http.hosts = hosts;
    }
    if let Some(origins) = origins(config)? {
        options.http.origins = origins;
    }
    if let Some(authorization) = &config.authorization {
        let protection = protection(gateway, authorization)?;
        gateway.protect(&protection);
        options = options.protect(protection);
    }
    Ok(Endpoint::with(gateway.server_config(), options, gateway.clone()))
}

/// Checks whether a gateway can be served with a configuration, and reads its files. No address is bound.
///
/// # Errors
///
/// As for [`serve`].
pub fn check(config: &ServeConfig) -> io::Result<()> {
    hosts(config)?;
    origins(config)?;
    config.authorization.as_ref().map(resource).transpose()?;
    config.tls.as_ref().map(certificate).transpose()?;
    Ok(())
}

fn hosts(config: &ServeConfig) -> io::Result<Option<HostPolicy>> {
    let Some(hosts) = &config.hosts else { return Ok(None) };
    let allow = |all: HostPolicy, host: &String| {
        all.allow(host).map_err(|error| invalid(format!("the host {host}: {error}")))
    };
    hosts.iter().try_fold(HostPolicy::none(), allow).map(Some)
}

fn origins(config: &ServeConfig) -> io::Result<Option<OriginPolicy>> {
    let Some(origins) = &config.origins else { return Ok(None) };
    let allow = |all: OriginPolicy, origin: &String| {
        all.allow(origin).map_err(|error| invalid(format!("the origin {origin}: {error}")))
    };
    origins.iter().try_fold(OriginPolicy::none(), allow).map(Some)
}

fn invalid(problem: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, problem)
}

/// Reads the keys for access tokens, and returns what they give access to.
fn resource(config: &AuthorizationConfig) -> io::Result<(ProtectedResource, JwtVerifier)> {
    let problem = |error: io::Error| {
        io::Error::new(error.kind(), format!("{}: {error}", config.keys.display()))
    };
    let keys = std::fs::read_to_string(&config.keys).map_err(problem)?;
    let verifier = JwtVerifier::new(&keys).map_err(problem)?;
    let resource = ProtectedResource::new(&config.resource, &config.issuer)
        .map_err(|error| invalid(format!("the access control: {error}")))?;
    Ok((resource.scopes(config.scopes.clone()), verifier))
}

fn protection(gateway: &Gateway, config: &AuthorizationConfig) -> io::Result<Protection> {
    let (resource, verifier) = resource(config)?;
    let resource = resource.supported_scopes(gateway.scopes());
    let gateway = gateway.downgrade();
    Ok(Protection::new(resource, verifier).scopes_for(move |operation| {
        let name = operation.name.as_ref().map(|name| name.to_str());
        match gateway.upgrade() {
            Some(gateway) => gateway.routes().scopes_of(name.as_deref()),
            None => Scopes::none(),
        }
    }))
}

/// The sockets of a gateway.
#[derive(Debug)]
#[non_exhaustive]
pub struct Listeners {
    /// For clients.
    pub clients: TcpListener,
    /// For operators.
    pub admin: Option<TcpListener>,
}

impl Listeners {
    /// Binds the addresses of a configuration. Without an address for clients it is a free port of the local computer.
    ///
    /// # Errors
    ///
    /// The error of the operating system, with the address.
    pub async fn bind(config: &ServeConfig) -> io::Result<Self> {
        let clients = config.listen.unwrap_or_else(|| ([127, 0, 0, 1], 0).into());
        let admin = match config.admin {
            Some(address) => Some(bind(address).await?),
            None => None,
        };
        Ok(Self { clients: bind(clients).await?, admin })
    }
}

async fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let bound = TcpListener::bind(address).await;
    bound.map_err(|error| io::Error::new(error.kind(), format!("{address}: {error}")))
}

/// Serves a gateway until `stop` is ready: its endpoint to clients, and `/health`, `/ready`, `/status` and `/reload` to
/// operators. `reload` is called for `POST /reload`; it returns what has changed, or a text about the mistake.
///
/// After `stop`, no more connections of clients are accepted, and open requests have [`ServeConfig::grace`] to finish.
/// Then the connections to the servers [are closed](Gateway::close). Operators are served until that is done. The
/// chapter [`shutdown`](mcp_sansio::manual::shutdown) compares the ways to stop.
///
/// # Errors
///
/// As for [`endpoint`], and the certificate cannot be used.
pub async fn serve<F>(
    gateway: Gateway,
    config: &ServeConfig,
    listeners: Listeners,
    reload: impl Fn() -> F + Clone + Send + Sync + 'static,
    stop: impl Future<Output = ()>,
) -> io::Result<()>
where
    F: Future<Output = Result<Reloaded, String>> + Send + 'static,
{
    let endpoint = endpoint(&gateway, config)?;
    let tls = match &config.tls {
        Some(files) => Some(certificate(files)?),
        None => None,
    };
    let (stopping, stopped) = watch::channel(());
    let admin = listeners
        .admin
        .map(|listener| tokio::spawn(serve_operators(gateway.clone(), listener, reload, stopped)));
    let (clients, path, grace) = (listeners.clients, &config.path, config.grace);
    let served = match tls {
        Some(tls) => mcp_sansio_http::serve_tls(endpoint, path, clients, tls, stop, grace).await,
        None => mcp_sansio_http::serve(endpoint, path, clients, stop, grace).await,
    };
    // Open requests have had their time.
    gateway.close(Duration::ZERO, config.grace).await;
    drop(stopping);
    if let Some(admin) = admin {
        // A panic there has been reported.
        _ = admin.await;
    }
    served
}

fn certificate(files: &TlsFiles) -> io::Result<Arc<mcp_sansio_http::rustls::ServerConfig>> {
    let read = |path: &PathBuf| {
        let read = std::fs::read(path);
        read.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
    };
    mcp_sansio_http::server_certificate(&read(&files.certificate)?, &read(&files.key)?)
}

/// The pause after a failed accept: most likely the process has too many open files.
const BREATH: Duration = Duration::from_millis(50);

/// The most connections of operators.
const MOST_OPERATORS: usize = 64;

async fn serve_operators<F>(
    gateway: Gateway,
    listener: TcpListener,
    reload: impl Fn() -> F + Clone + Send + Sync + 'static,
    mut stopped: watch::Receiver<()>,
) where
    F: Future<Output = Result<Reloaded, String>> + Send + 'static,
{
    let mut connections = tokio::task::JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let accepted = tokio::select! {
            // The sender is only dropped.
            _ = stopped.changed() => return,
            _ = connections.join_next(), if MOST_OPERATORS <= connections.len() => continue,
            accepted = listener.accept(), if connections.len() < MOST_OPERATORS => accepted,
        };
        let Ok((stream, _)) = accepted else {
            tokio::time::sleep(BREATH).await;
            continue;
        };
        let (gateway, reload, mut stopped) = (gateway.clone(), reload.clone(), stopped.clone());
        connections.spawn(async move {
            let respond = move |request: Request<Incoming>| {
                let asked = Asked::of(&request);
                operate(gateway.clone(), reload.clone(), asked)
            };
            let stopped = async move { _ = stopped.changed().await };
            // The failure of one connection does not concern the others.
            _ = serve_connection(stream, respond, stopped).await;
        });
    }
}

/// A request of an operator.
struct Asked {
    method: Method,
    path: String,
    /// Whether a web page may have sent it: it has an origin, or the name of a host that is not this computer.
    is_foreign: bool,
}

impl Asked {
    fn of(request: &Request<Incoming>) -> Self {
        let host = request.headers().get(HOST).and_then(|host| host.to_str().ok());
        let host = host.or_else(|| request.uri().authority().map(Authority::as_str));
        let is_address = |host: &str| {
            // The port is optional, and an IPv6 address contains colons as well.
            let with_port = host.rsplit_once(':').filter(|_| !host.ends_with(']'));
            let host = with_port.map_or(host, |(name, _)| name);
            let host = host.trim_matches(['[', ']']);
            host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok()
        };
        Self {
            method: request.method().clone(),
            path: request.uri().path().to_owned(),
            is_foreign: request.headers().contains_key(ORIGIN) || !host.is_some_and(is_address),
        }
    }
}

async fn operate<F>(gateway: Gateway, reload: impl Fn() -> F, asked: Asked) -> Response<Full<Bytes>>
where
    F: Future<Output = Result<Reloaded, String>> + Send + 'static,
{
    let Asked { method, path, is_foreign } = asked;
    let allowed = if path == "/reload" { Method::POST } else { Method::GET };
    match &*path {
        _ if is_foreign => text(StatusCode::FORBIDDEN, "address the gateway by its IP address\n"),
        "/health" | "/ready" | "/status" | "/reload" if method != allowed => {
            let mut response = text(StatusCode::METHOD_NOT_ALLOWED, "");
            let allowed = HeaderValue::from_static(if path == "/reload" { "POST" } else { "GET" });
            response.headers_mut().insert(ALLOW, allowed);
            response
        }
        "/health" => text(StatusCode::OK, "ok\n"),
        "/ready" if gateway.status().is_ready() => text(StatusCode::OK, "ready\n"),
        "/ready" => text(StatusCode::SERVICE_UNAVAILABLE, "no server is connected\n"),
        "/status" => json(&gateway.status()),
        "/reload" => match reload().await {
            Ok(reloaded) => json(&reloaded),
            Err(mistake) => text(StatusCode::UNPROCESSABLE_ENTITY, &format!("{mistake}\n")),
        },
        _ => text(StatusCode::NOT_FOUND, ""),
    }
}

fn text(status: StatusCode, text: &str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(Bytes::copy_from_slice(text.as_bytes())));
    *response.status_mut() = status;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, plain);
    response
}

fn json(value: &impl serde::Serialize) -> Response<Full<Bytes>> {
    match serde_json::to_vec(value) {
        Ok(body) => {
            let mut response = Response::new(Full::from(Bytes::from(body)));
            let json = HeaderValue::from_static("application/json");
            response.headers_mut().insert(CONTENT_TYPE, json);
            response
        }
        Err(error) => text(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}
