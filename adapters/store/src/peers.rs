//! [`Peers`]: how a node passes a request on to the node that has its session.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::header::{
    CONNECTION, HeaderName, HeaderValue, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRAILER,
    TRANSFER_ENCODING, UPGRADE,
};
use hyper::{HeaderMap, Request, Response, Uri, Version};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

use crate::body::NodeBody;

/// How long a connection to another node may take.
const CONNECT: Duration = Duration::from_secs(1);

/// The future of a request that is passed on.
pub type Forwarded<'p> =
    Pin<Box<dyn Future<Output = Result<Response<NodeBody>, ForwardError>> + Send + 'p>>;

/// How a node reaches the others: [`HttpPeers`], or what a simulation has instead.
pub trait Peers: Send + Sync + 'static {
    /// Passes a request on to the node with this address. The response may be an event stream without end.
    fn forward<'p>(&'p self, address: &'p str, request: Request<Full<Bytes>>) -> Forwarded<'p>;
}

/// The reason why a request could not be passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(
    clippy::exhaustive_enums,
    reason = "either the request was served, or it was not, or that is unknown"
)]
pub enum ForwardError {
    /// The node was not reached: the request was not served.
    #[error("the node cannot be reached")]
    NotReached,
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
        Self { client: Client::builder(TokioExecutor::new()).build(connector) }
    }
}

impl Peers for HttpPeers {
    fn forward<'p>(&'p self, address: &'p str, request: Request<Full<Bytes>>) -> Forwarded<'p> {
        Box::pin(async move {
            let request = directed(request, address).ok_or(ForwardError::NotReached)?;
            match self.client.request(request).await {
                Ok(response) => {
                    let (mut head, body) = response.into_parts();
                    remove_hop_by_hop(&mut head.headers);
                    Ok(Response::from_parts(head, NodeBody::new(body.map_err(broken))))
                }
                Err(error) if error.is_connect() => Err(ForwardError::NotReached),
                Err(_) => Err(ForwardError::Broken),
            }
        })
    }
}

/// Directs a request to an address. The field `Host` stays that of the client.
fn directed(request: Request<Full<Bytes>>, address: &str) -> Option<Request<Full<Bytes>>> {
    let (mut head, body) = request.into_parts();
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
    if !head.headers.contains_key(hyper::header::HOST) {
        // HTTP/2 has it in the target.
        let authority = head.uri.authority()?;
        head.headers.insert(hyper::header::HOST, HeaderValue::from_str(authority.as_str()).ok()?);
    }
    head.uri =
        Uri::builder().scheme("http").authority(address).path_and_query(path).build().ok()?;
    head.version = Version::HTTP_11;
    remove_hop_by_hop(&mut head.headers);
    Some(Request::from_parts(head, body))
}

/// Removes the fields that concern one connection only (RFC 9110, section 7.6.1).
fn remove_hop_by_hop(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    let keep_alive = HeaderName::from_static("keep-alive");
    let always = [
        CONNECTION,
        keep_alive,
        PROXY_AUTHENTICATE,
        PROXY_AUTHORIZATION,
        TE,
        TRAILER,
        TRANSFER_ENCODING,
        UPGRADE,
    ];
    for name in named.iter().chain(&always) {
        headers.remove(name);
    }
}

fn broken(error: hyper::Error) -> Box<dyn Error + Send + Sync> {
    Box::new(error)
}

impl fmt::Debug for HttpPeers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("HttpPeers").finish_non_exhaustive()
    }
}
