//! Clients of servers behind HTTP.

use std::collections::HashMap;
use std::error::Error;
use std::fmt;
use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::http::uri::InvalidUri;
use hyper::{Request, Response, Uri};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::{Connect, HttpConnector};
use hyper_util::rt::TokioExecutor;
use mcp_sansio::error::{TransportError, TransportErrorKind};
use mcp_sansio::http::{Action, ExchangeNumber, Headers, HttpClientConfig, HttpRequest};
use mcp_sansio::{Client, ClientConfig};
use mcp_sansio_driver::asynchronous::Handler;
use mcp_sansio_driver::{
    ClientParts, Clock, Connection, ConnectionOptions, Drive, OpenError, Timer, Wire,
};
use mcp_sansio_tokio::runtime::{Sleeps, clock, sleep, spawner};
use tokio::task::AbortHandle;

use crate::transport_error::{Stage, transport_error};

/// Makes requests of HTTP: a client of hyper, with whatever it connects by.
pub trait Transport: Clone + Send + Sync + 'static {
    /// Makes a request, and gives the response when its head has come.
    fn send(
        &self,
        request: Request<Full<Bytes>>,
    ) -> impl Future<Output = Result<Response<Incoming>, SendError>> + Send;

    /// The clock for a connection over this transport, if it is a special one: one that stands still while a user is
    /// asked, for example.
    fn clock(&self) -> Option<Clock> {
        None
    }
}

/// Why there is no response.
///
/// The call that the request carried fails with a [`TransportError`]: its kind comes from the error here and from what
/// that has as [sources](Error::source). A transport whose errors are not those of hyper, of its connectors or of the
/// system can put a [`TransportErrorKind`] among them.
#[derive(Debug)]
#[allow(
    clippy::exhaustive_enums,
    reason = "either the server can have seen the request, or it cannot"
)]
pub enum SendError {
    /// There was nobody to connect to, so nobody has seen the request.
    Unreachable(Box<dyn Error + Send + Sync>),
    /// Something went wrong later. The server may have taken the request.
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

/// Connects to a server at an `http` URL, and waits until it is found out how it is spoken to.
///
/// The handler serves what the server asks for.
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
/// [`OpenError`] says why there is no connection.
pub async fn connect(
    config: ClientConfig,
    url: &str,
    handler: impl Handler<Client>,
) -> Result<Connection, OpenError> {
    let http = HttpClientConfig::new(url);
    connect_with(config, http, &ConnectionOptions::new(), plain(), handler).await
}

/// A client of hyper without TLS.
pub fn plain() -> legacy::Client<HttpConnector, Full<Bytes>> {
    let mut connector = HttpConnector::new();
    // What is written is whole already.
    connector.set_nodelay(true);
    legacy::Client::builder(TokioExecutor::new()).build(connector)
}

/// The same with options, and with a client of hyper that connects in its own way: with TLS, by the connector of
/// `hyper-rustls` for example.
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

/// Makes the requests of a connection, until there are no more.
async fn carry(wire: Arc<Wire<Client>>, transport: impl Transport) {
    let mut open: HashMap<ExchangeNumber, AbortHandle> = HashMap::new();
    let mut sleeps = Sleeps::default();
    while let Some(action) = poll_fn(|context| next(&wire, &mut sleeps, context)).await {
        match action {
            Action::Send { exchange, request } => {
                open.retain(|_, task| !task.is_finished());
                let exchanged = exchanged(Arc::clone(&wire), transport.clone(), exchange, request);
                open.insert(exchange, tokio::spawn(exchanged).abort_handle());
            }
            Action::Abort { exchange } => {
                if let Some(task) = open.remove(&exchange) {
                    task.abort();
                }
            }
            _ => {}
        }
    }
    open.into_values().for_each(|task| task.abort());
}

/// The next thing to do, now or when its time has come.
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

/// Makes one request, and tells what comes of it.
async fn exchanged(
    wire: Arc<Wire<Client>>,
    transport: impl Transport,
    exchange: ExchangeNumber,
    request: HttpRequest,
) {
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
    let Some(mut reader) = head else { return };
    while !reader.is_done() {
        match body.frame().await {
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

/// A request as hyper has it; an error if the URL, or a header field, is none.
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
