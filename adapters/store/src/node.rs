//! [`Node`]: one of several processes that serve the same endpoint.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::{Buf, Bytes};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Body;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use mcp_sansio::http::SessionId;
use mcp_sansio::http::name::SESSION_ID;
use mcp_sansio_http::{Endpoint, ResponseBody, random_bytes};

use crate::batch::Batches;
use crate::body::{BodyError, NodeBody, StoredStream};
use crate::liveness::Liveness;
use crate::local_sessions::{LocalSessions, Owned};
use crate::options::NodeOptions;
use crate::peers::{ForwardError, HttpPeers, Peers};
use crate::store::{Store, StoreError};

/// The field of a request that another node has passed on.
pub(crate) const FORWARDED: &str = "mcp-node-forwarded";

/// How often a request looks for its session, which may move meanwhile.
const ATTEMPTS: usize = 4;

/// A process that serves an endpoint together with others. Clones are the same node.
///
/// Any node accepts any request. A session (2025-03-26 to 2025-11-25) is served by one node at a time; the others pass its
/// requests on. If that node does not exist any more, the next one that gets a request takes the session over from the
/// store. Modern requests (2026-07-28) belong to no session, and each node serves those that it gets.
///
/// See the [crate documentation](crate) for what is kept and what is lost.
#[derive(Clone)]
pub struct Node {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) endpoint: Endpoint,
    pub(crate) batches: Batches,
    pub(crate) peers: Arc<dyn Peers>,
    /// A random number, so that a process that starts again is another node.
    pub(crate) id: String,
    pub(crate) address: String,
    pub(crate) options: NodeOptions,
    pub(crate) sessions: LocalSessions,
    pub(crate) liveness: Liveness,
    pub(crate) has_left: AtomicBool,
}

/// Where the requests of a session are served.
pub(crate) enum Place {
    /// By this node, or nowhere: then its endpoint refuses them.
    Here,
    /// By the node with this id and address.
    There(String, String),
}

impl Node {
    /// Joins the nodes that share this store. The others reach this node at `address`, such as `10.0.0.7:3000`.
    ///
    /// A task renews the sign of life of the node, until the node [leaves](Self::leave) or its last clone is dropped.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store cannot be written to, or the system has no random bytes.
    ///
    /// # Panics
    ///
    /// Outside a runtime of tokio.
    pub async fn join(
        endpoint: Endpoint,
        store: Arc<dyn Store>,
        address: impl Into<String>,
    ) -> Result<Self, StoreError> {
        let peers = Arc::new(HttpPeers::new());
        Self::join_with(endpoint, store, address, peers, NodeOptions::new()).await
    }

    /// As [`join`](Self::join), with other ways to reach the nodes and with options.
    ///
    /// # Errors
    ///
    /// As for [`join`](Self::join).
    ///
    /// # Panics
    ///
    /// As for [`join`](Self::join).
    pub async fn join_with(
        endpoint: Endpoint,
        store: Arc<dyn Store>,
        address: impl Into<String>,
        peers: Arc<dyn Peers>,
        options: NodeOptions,
    ) -> Result<Self, StoreError> {
        let id = u128::from_ne_bytes(random_bytes().map_err(StoreError::new)?);
        let inner = Inner {
            endpoint,
            batches: Batches::new(store),
            peers,
            id: format!("{id:032x}"),
            address: address.into(),
            options,
            sessions: LocalSessions::default(),
            liveness: Liveness::default(),
            has_left: AtomicBool::new(false),
        };
        let inner = Arc::new(inner);
        inner.show_life().await?;
        tokio::spawn(Inner::show_life_again(Arc::downgrade(&inner)));
        Ok(Self { inner })
    }

    /// Returns the endpoint.
    pub fn endpoint(&self) -> &Endpoint {
        &self.inner.endpoint
    }

    /// Handles a request on any path, as [`Endpoint::handle`] does: here, or at the node that has its session.
    pub async fn handle<B>(&self, request: Request<B>) -> Response<NodeBody>
    where
        B: Body<Data: Buf, Error: Into<BodyError>>,
    {
        let id =
            request.headers().get(SESSION_ID).and_then(|id| SessionId::parse(id.to_str().ok()?));
        match id {
            Some(id) => self.inner.in_session(id, request).await,
            None => self.inner.without_session(request).await,
        }
    }

    /// Leaves the other nodes. Open requests have `grace` to finish. Then all sessions are stored without a node, and the
    /// next node that gets a request of one of them serves it.
    ///
    /// The endpoint needs [`EndpointOptions::keep_sessions`](mcp_sansio_http::EndpointOptions::keep_sessions): without it
    /// the sessions end.
    ///
    /// # Errors
    ///
    /// [`StoreError`]: the other nodes take the sessions over when this node gives no sign of life.
    pub async fn leave(&self, grace: Duration) -> Result<(), StoreError> {
        self.inner.has_left.store(true, Ordering::SeqCst);
        self.inner.leave(grace).await
    }
}

impl Inner {
    /// Handles a request without a session, which may open one.
    async fn without_session<B>(self: &Arc<Self>, request: Request<B>) -> Response<NodeBody>
    where
        B: Body<Data: Buf, Error: Into<BodyError>>,
    {
        let response = self.endpoint.handle(request).await;
        let opened = response.headers().get(SESSION_ID);
        let Some(id) = opened.and_then(|id| SessionId::parse(id.to_str().ok()?)) else {
            return response.map(NodeBody::whole);
        };
        let local = self.sessions.get(id);
        *local.lock().await = Some(Owned::new(0, None));
        drop(local);
        self.stored(id, response).await
    }

    /// Handles a request of a session, wherever it is served.
    async fn in_session<B>(
        self: &Arc<Self>,
        id: SessionId,
        request: Request<B>,
    ) -> Response<NodeBody>
    where
        B: Body<Data: Buf, Error: Into<BodyError>>,
    {
        let local = self.sessions.get(id);
        // An event stream is open for long, and refused if its last event is unknown: its node must be the right one.
        let place = match *request.method() {
            Method::GET => self.place_by_store(id, &local).await,
            _ => self.place(id, &local, None).await,
        };
        let mut place = match place {
            Ok(place) => place,
            Err(error) => return self.unavailable(&error),
        };
        if matches!(place, Place::Here) {
            self.sessions.forget_unless_owned(id, local);
            return self.here(id, request).await;
        }
        // From here on the request is sent to several places, one after the other.
        let (head, body) = request.into_parts();
        let limited = Limited::new(body, self.options.body_bytes);
        let body = match tokio::time::timeout(self.options.body_within, limited.collect()).await {
            Ok(Ok(body)) => body.to_bytes(),
            Ok(Err(_)) => return empty(StatusCode::PAYLOAD_TOO_LARGE),
            Err(_) => return empty(StatusCode::REQUEST_TIMEOUT),
        };
        for _ in 0..ATTEMPTS {
            let request = Request::from_parts(head.clone(), Full::new(body.clone()));
            let (node, address) = match place {
                Place::Here => {
                    self.sessions.forget_unless_owned(id, local);
                    return self.here(id, request).await;
                }
                Place::There(node, address) => (node, address),
            };
            if head.headers.contains_key(FORWARDED) {
                // The node that has passed it on looks again.
                self.sessions.forget_unless_owned(id, local);
                return empty(StatusCode::MISDIRECTED_REQUEST);
            }
            let gone = match self.forward(&address, request).await {
                Ok(response) if response.status() != StatusCode::MISDIRECTED_REQUEST => {
                    self.sessions.forget_unless_owned(id, local);
                    return response;
                }
                Ok(_) => None,
                Err(ForwardError::NotReached) => Some(node),
                Err(error @ ForwardError::Broken) => return self.unavailable(&error),
            };
            place = match self.place(id, &local, gone.as_deref()).await {
                Ok(place) => place,
                Err(error) => return self.unavailable(&error),
            };
        }
        self.unavailable(&"the session moves too often")
    }

    async fn forward(
        &self,
        address: &str,
        mut request: Request<Full<Bytes>>,
    ) -> Result<Response<NodeBody>, ForwardError> {
        request.headers_mut().insert(FORWARDED, HeaderValue::from_static("1"));
        self.peers.forward(address, request).await
    }

    /// Handles a request of a session that is served here, or nowhere.
    async fn here<B>(self: &Arc<Self>, id: SessionId, request: Request<B>) -> Response<NodeBody>
    where
        B: Body<Data: Buf, Error: Into<BodyError>>,
    {
        let ends = request.method() == Method::DELETE;
        let response = self.endpoint.handle(request).await;
        if ends && response.status().is_success() {
            // It must not come back at another node.
            return match self.remove(id).await {
                Ok(()) => response.map(NodeBody::whole),
                Err(error) => self.unavailable(&error),
            };
        }
        if response.status().is_client_error() {
            // Another node may know better, if it has taken the session over.
            let local = self.sessions.get(id);
            let place = self.place_by_store(id, &local).await;
            self.sessions.forget_unless_owned(id, local);
            match place {
                Ok(Place::Here) => {}
                Ok(Place::There(..)) => return self.unavailable(&"the session has moved"),
                Err(error) => return self.unavailable(&error),
            }
        }
        self.stored(id, response).await
    }

    /// Returns a response of a session, once the session is stored.
    async fn stored(
        self: &Arc<Self>,
        id: SessionId,
        response: Response<ResponseBody>,
    ) -> Response<NodeBody> {
        if let Err(error) = self.store_session(id).await {
            return self.unavailable(&error);
        }
        let content = response.headers().get(CONTENT_TYPE);
        let is_stream =
            content.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
        if !is_stream {
            return response.map(NodeBody::whole);
        }
        let inner = Arc::clone(self);
        let store = move || {
            let inner = Arc::clone(&inner);
            // A body is polled only while its client reads. The lock of the session must not wait for that.
            let task = tokio::spawn(async move { inner.store_session(id).await });
            async move { task.await?.map_err(BodyError::from) }
        };
        response.map(|body| NodeBody::new(StoredStream::new(body, store)))
    }

    /// The response to a request that cannot be served at this time.
    fn unavailable(&self, error: &dyn fmt::Display) -> Response<NodeBody> {
        (self.options.on_error)(error);
        let text = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"the session cannot be served at this time"}}"#;
        let mut response = whole(StatusCode::SERVICE_UNAVAILABLE, text);
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(hyper::header::RETRY_AFTER, HeaderValue::from_static("1"));
        response
    }
}

pub(crate) fn empty(status: StatusCode) -> Response<NodeBody> {
    whole(status, "")
}

fn whole(status: StatusCode, text: &'static str) -> Response<NodeBody> {
    let body = Full::new(Bytes::from_static(text.as_bytes())).map_err(|never| match never {});
    let mut response = Response::new(NodeBody::new(body));
    *response.status_mut() = status;
    response
}

/// Nodes are compared by their ids in logs.
impl fmt::Debug for Node {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Node")
            .field("id", &self.inner.id)
            .field("address", &self.inner.address)
            .finish_non_exhaustive()
    }
}
