//! Clients over HTTP.

use std::error::Error;
use std::fmt;
use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::http::uri::InvalidUri;
use hyper::{Request, Response, Uri};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::{Connect, HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use mcp_sansio::error::{TransportError, TransportErrorKind};
use mcp_sansio::http::{Action, ExchangeNumber, Headers, HttpClientConfig, HttpRequest};
use mcp_sansio::{Client, ClientConfig};
use mcp_sansio_driver::asynchronous::Handler;
use mcp_sansio_driver::{
    ClientParts, Clock, Connection, ConnectionOptions, Drive, OpenError, Timer, Wire,
};
use mcp_sansio_tokio::runtime::{Sleeps, clock, sleep, spawner};
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout, timeout_at};

use crate::open_exchanges::OpenExchanges;
use crate::transport_error::{Stage, transport_error};

/// Sends HTTP requests: a hyper client with any connector.
///
/// A request may contain tokens and client secrets. `Debug` of a request hides them in its fields, but shows its body,
/// so a transport must not log bodies.
pub trait Transport: Clone + Send + Sync + 'static {
    /// Sends a request. Returns the response as soon as its head has arrived.
    fn send(
        &self,
        request: Request<Full<Bytes>>,
    ) -> impl Future<Output = Result<Response<Incoming>, SendError>> + Send;

    /// Returns the clock for a connection over this transport, if it needs a special one: for example a clock that
    /// stops while a user is asked.
    fn clock(&self) -> Option<Clock> {
        None
    }
}

/// The reason why an HTTP request got no response.
///
/// The call that the request carried fails with a [`TransportError`]. Its kind is derived from the error here and
/// from the [sources](Error::source) of that error. A transport whose errors are not those of hyper, its connectors
/// or the system can add a [`TransportErrorKind`] to the sources.
#[derive(Debug)]
#[allow(
    clippy::exhaustive_enums,
    reason = "either the server can have seen the request, or it cannot"
)]
pub enum SendError {
    /// No connection could be made, so no server has seen the request.
    Unreachable(Box<dyn Error + Send + Sync>),
    /// The failure came later. The server may have received the request.
    BrokenOff(Box<dyn Error + Send + Sync>),
}

impl fmt::Display for SendError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Unreachable(_) => "there is no connection to the server",
            Self::BrokenOff(_) => "the connection to the server has broken off",
        })
    }
}

impl Error for SendError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Unreachable(error) | Self::BrokenOff(error) => Some(&**error),
        }
    }
}

impl<C: Connect + Clone + Send + Sync + 'static> Transport for legacy::Client<C, Full<Bytes>> {
    async fn send(&self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, SendError> {
        if request.uri().authority().is_none() {
            return Err(SendError::Unreachable(TransportErrorKind::InvalidUrl.into()));
        }
        self.request(request).await.map_err(|error| match error.is_connect() {
            true => SendError::Unreachable(error.into()),
            false => SendError::BrokenOff(error.into()),
        })
    }
}

/// Connects to a server at a URL, and waits until its protocol revision is known. `https` URLs need the feature `tls`;
/// a server is trusted if the system trusts its certificate. The root certificates of the system are read once per
/// process.
///
/// The handler serves the requests of the server.
///
/// ```no_run
/// use mcp_sansio::model::{PageParams, method};
/// use mcp_sansio::{CallOptions, ClientConfig};
/// use mcp_sansio_http::{RefuseAll, connect};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let config = ClientConfig::new("example", "1.0");
/// let connection = connect(config, "http://127.0.0.1:3000/mcp", RefuseAll::new()).await?;
/// let server = connection.handle();
/// let reply = server.call::<method::ListTools>(&PageParams::default(), CallOptions::new()).await?;
/// for tool in reply.parse()?.tools.iter() {
///     println!("{}", tool.name);
/// }
/// connection.close(std::time::Duration::from_secs(5)).await?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// [`OpenError`] if the connection fails. Without the feature `tls`, an `https` URL is [`OpenError::NoTls`].
pub async fn connect(
    config: ClientConfig,
    url: &str,
    handler: impl Handler<Client>,
) -> Result<Connection, OpenError> {
    let (http, options) = (HttpClientConfig::new(url), ConnectionOptions::new());
    if !is_https(url) {
        return connect_with(config, http, &options, plain(), handler).await;
    }
    #[cfg(feature = "tls")]
    {
        let transport = crate::tls::shared_tls().await.map_err(OpenError::RootCertificates)?;
        connect_with(config, http, &options, transport, handler).await
    }
    #[cfg(not(feature = "tls"))]
    Err(OpenError::NoTls)
}

/// Whether a URL has the scheme `https`, in any case of letters.
fn is_https(url: &str) -> bool {
    url.split_once("://").is_some_and(|(scheme, _)| scheme.eq_ignore_ascii_case("https"))
}

/// Returns a hyper client without TLS.
pub fn plain() -> legacy::Client<HttpConnector, Full<Bytes>> {
    let mut connector = HttpConnector::new();
    // Requests are written whole, so Nagle's algorithm would only delay them.
    connector.set_nodelay(true);
    pooled(connector)
}

/// Returns a hyper client that closes idle connections. Without a timer, hyper would close them only at the next
/// request to the same server.
pub(crate) fn pooled<C: Connect + Clone>(connector: C) -> legacy::Client<C, Full<Bytes>> {
    legacy::Client::builder(TokioExecutor::new()).pool_timer(TokioTimer::new()).build(connector)
}

/// Connects with options and with a hyper client: [`plain`], one of the feature `tls`, or one with a connector of
/// another TLS library.
///
/// # Errors
///
/// As for [`connect`].
pub async fn connect_with(
    config: ClientConfig,
    http: HttpClientConfig,
    options: &ConnectionOptions,
    transport: impl Transport,
    handler: impl Handler<Client>,
) -> Result<Connection, OpenError> {
    let parts =
        ClientParts::new(transport.clock().unwrap_or_else(clock), spawner(handler), sleep());
    let attach = |wire: &Arc<Wire<Client>>| {
        tokio::spawn(Drive::timed(wire, Sleeps::default()));
        tokio::spawn(carry(Arc::clone(wire), transport));
        Ok(())
    };
    Connection::open_over_http(config, http, options, &parts, attach).await
}

/// Sends the requests of a connection until it ends.
async fn carry(wire: Arc<Wire<Client>>, transport: impl Transport) {
    let mut open = OpenExchanges::new();
    let mut sleeps = Sleeps::default();
    while let Some(action) = poll_fn(|context| next(&wire, &mut sleeps, context)).await {
        match action {
            Action::Send { exchange, request } => {
                let exchanged = exchanged(Arc::clone(&wire), transport.clone(), exchange, request);
                let task = tokio::spawn(exchanged).abort_handle();
                open.insert(exchange, task, AbortHandle::is_finished);
            }
            Action::Abort { exchange } => {
                if let Some(task) = open.remove(&exchange) {
                    task.abort();
                }
            }
            _ => {}
        }
    }
    open.into_tasks().for_each(|task| task.abort());
}

/// Returns the next action, now or when it becomes due.
fn next(
    wire: &Arc<Wire<Client>>,
    sleeps: &mut Sleeps,
    context: &mut Context<'_>,
) -> Poll<Option<Action>> {
    loop {
        let action = wire.poll_action(context);
        if action.is_ready() || sleeps.poll_until(context, wire.next_action()).is_pending() {
            return action;
        }
    }
}

/// Reports an exchange as broken if the transport of the application, or the body of its response, panics. Without the
/// report, the call would wait for its time limit, and the exchange would stay open.
struct OnPanic {
    wire: Arc<Wire<Client>>,
    exchange: ExchangeNumber,
}

impl Drop for OnPanic {
    fn drop(&mut self) {
        if thread::panicking() {
            let error = TransportError::new(TransportErrorKind::Other);
            self.wire.response_broken(self.exchange, error.caused_by("the transport panicked"));
        }
    }
}

/// How long the body of a response may take that decides nothing. The connection could be used again after it. A body
/// that may decide has this time for each of its parts.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long the body of a refusal may take that may decide how a call ends.
const LONGEST_PATIENCE: Duration = Duration::from_secs(30);

/// Sends one request and reports its response or error.
async fn exchanged(
    wire: Arc<Wire<Client>>,
    transport: impl Transport,
    exchange: ExchangeNumber,
    request: HttpRequest,
) {
    let _on_panic = OnPanic { wire: Arc::clone(&wire), exchange };
    let request = match translated(request) {
        Ok(request) => request,
        Err(error) => return wire.response_failed(exchange, error),
    };
    let url = request.uri().clone();
    let response = match transport.send(request).await {
        Ok(response) => response,
        Err(SendError::Unreachable(error)) => {
            let error = transport_error(&url, Stage::Connecting, error);
            return wire.response_failed(exchange, error);
        }
        Err(SendError::BrokenOff(error)) => {
            let error = transport_error(&url, Stage::Connected, error);
            return wire.response_broken(exchange, error);
        }
    };
    let (parts, mut body) = response.into_parts();
    let fields: Vec<(&str, &[u8])> =
        parts.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
    let head = wire.response_head(exchange, parts.status.as_u16(), Headers::from(&*fields));
    let Some(mut reader) = head else {
        _ = timeout(PATIENCE, body.frame()).await;
        return;
    };
    let patience = match () {
        () if reader.is_decided() => Some(PATIENCE),
        () if reader.is_refusal() => Some(LONGEST_PATIENCE),
        () => None,
    };
    let deadline = patience.map(|patience| Instant::now() + patience);
    while !reader.is_done() {
        let frame = match deadline {
            // A body that comes too late, or never, is dropped.
            Some(deadline) => {
                let within = deadline.min(Instant::now() + PATIENCE);
                timeout_at(within, body.frame()).await.unwrap_or_default()
            }
            None => body.frame().await,
        };
        match frame {
            Some(Ok(frame)) => {
                if let Some(data) = frame.data_ref() {
                    wire.response_chunk(&mut reader, data);
                }
            }
            Some(Err(error)) => {
                let error = transport_error(&url, Stage::Connected, error.into());
                return wire.response_broken(exchange, error);
            }
            None => break,
        }
    }
    wire.response_end(&mut reader);
}

/// Converts a request to hyper's type. Fails if the URL or a header field is invalid.
fn translated(request: HttpRequest) -> Result<Request<Full<Bytes>>, TransportError> {
    let failed =
        |kind, error: Box<dyn Error + Send + Sync>| TransportError::new(kind).caused_by(error);
    let url: Uri = request
        .url
        .parse()
        .map_err(|error: InvalidUri| failed(TransportErrorKind::InvalidUrl, error.into()))?;
    let mut builder = Request::builder().method(request.method).uri(url);
    for (name, value) in &request.headers {
        builder = builder.header(&**name, value);
    }
    let body = Full::new(Bytes::from(request.body));
    builder.body(body).map_err(|error| failed(TransportErrorKind::Other, error.into()))
}
