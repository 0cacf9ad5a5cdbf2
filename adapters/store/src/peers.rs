//! [`Peers`]: how a node passes a request on to the node that has its session.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Request, Response, Uri, Version};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Client, Error as ClientError};
use hyper_util::rt::{TokioExecutor, TokioTimer};

use crate::body::NodeBody;

/// How long a connection to another node may take.
const CONNECT: Duration = Duration::from_secs(1);

/// The interval at which a silent connection is probed. It breaks after a few probes without a response.
const PROBE: Duration = Duration::from_secs(5);

/// How long an unused connection is kept. Nodes close theirs after 30 s.
const IDLE: Duration = Duration::from_secs(15);

/// The future of a request that is passed on.
pub type Forwarded<'p> =
    Pin<Box<dyn Future<Output = Result<Response<NodeBody>, ForwardError>> + Send + 'p>>;

/// How a node reaches the others: [`HttpPeers`], or what a simulation has instead.
pub trait Peers: Send + Sync + 'static {
    /// Passes a request on to the node with this address, to its [`Node::handle_forwarded`](crate::Node::handle_forwarded).
    /// The response may be an event stream without end.
    fn forward<'p>(&'p self, address: &'p str, request: Request<Full<Bytes>>) -> Forwarded<'p>;
}

/// The reason why a request could not be passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(clippy::exhaustive_enums, reason = "a node decides by it, so it needs all of them")]
pub enum ForwardError {
    /// The computer of the node is reached, and no process accepts connections at the address: the node has ended.
    /// Its sessions are taken over at once.
    #[error("the node has ended")]
    Refused,
    /// The node does not respond to the attempt to connect. The request was not served. The sessions of the node are taken over if
    /// that lasts for [`NodeOptions::silence`](crate::NodeOptions::silence).
    #[error("the node cannot be reached")]
    NotReached,
    /// This computer lacks something, such as file descriptors. The request was not served, and nothing is known
    /// about the other node.
    #[error("the request could not be sent to its node")]
    NotSent,
    /// The request cannot be passed on: it names no host, for example. The mistake of the client, which gets 400.
    #[error("the request cannot be passed on")]
    Invalid,
    /// The node was reached and has not responded: the request may have been served.
    #[error("the node has not responded")]
    Broken,
}

/// Reaches other nodes over HTTP/1.1, without TLS: their addresses belong to a private network.
#[derive(Clone)]
pub struct HttpPeers {
    client: Client<HttpConnector, Full<Bytes>>,
}

impl Default for HttpPeers {
    fn default() -> Self {
        Self::new()
    }
}

impl HttpPeers {
    /// Begins without connections.
    pub fn new() -> Self {
        let mut connector = HttpConnector::new();
        connector.set_connect_timeout(Some(CONNECT));
        connector.set_nodelay(true);
        // The network may fail although both nodes reach the store.
        connector.set_keepalive(Some(PROBE));
        connector.set_keepalive_interval(Some(PROBE));
        connector.set_keepalive_retries(Some(3));
        #[cfg(any(target_os = "android", target_os = "fuchsia", target_os = "linux"))]
        connector.set_tcp_user_timeout(Some(4 * PROBE));
        let mut builder = Client::builder(TokioExecutor::new());
        builder.pool_idle_timeout(IDLE).pool_timer(TokioTimer::new());
        Self { client: builder.build(connector) }
    }
}

impl Peers for HttpPeers {
    fn forward<'p>(&'p self, address: &'p str, request: Request<Full<Bytes>>) -> Forwarded<'p> {
        Box::pin(async move {
            let (mut head, body) = request.into_parts();
            let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
            let uri = Uri::builder().scheme("http").authority(address).path_and_query(path);
            head.uri = uri.build().map_err(|_| ForwardError::NotSent)?;
            head.version = Version::HTTP_11;
            match self.client.request(Request::from_parts(head, body)).await {
                Ok(response) => Ok(response.map(|body| NodeBody::new(body.map_err(broken)))),
                Err(error) if error.is_connect() => Err(not_connected(&error)),
                Err(_) => Err(ForwardError::Broken),
            }
        })
    }
}

/// Returns what a failed attempt to connect says about the other node.
fn not_connected(error: &ClientError) -> ForwardError {
    let mut source = error.source();
    while let Some(error) = source {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            return match error.kind() {
                ErrorKind::ConnectionRefused => ForwardError::Refused,
                ErrorKind::TimedOut
                | ErrorKind::HostUnreachable
                | ErrorKind::NetworkUnreachable
                | ErrorKind::ConnectionReset
                | ErrorKind::ConnectionAborted => ForwardError::NotReached,
                _ => ForwardError::NotSent,
            };
        }
        source = error.source();
    }
    ForwardError::NotSent
}

fn broken(error: hyper::Error) -> Box<dyn Error + Send + Sync> {
    Box::new(error)
}

impl fmt::Debug for HttpPeers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("HttpPeers").finish_non_exhaustive()
    }
}
