//! [`Node`]: one of several processes that serve the same endpoint.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use bytes::{Buf, Bytes};
use http_body_util::{BodyExt, Full};
use hyper::body::Body;
use hyper::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use hyper::http::uri::Authority;
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use mcp_sansio::http::SessionId;
use mcp_sansio::http::name::{PROTOCOL_VERSION, SESSION_ID};
use mcp_sansio::{Era, Revision};
use mcp_sansio_http::{Endpoint, ResponseBody, random_bytes};
use tokio::sync::{Notify, Semaphore, watch};

use crate::batch::Batches;
use crate::body::{BodyError, NodeBody, StoredStream};
use crate::liveness::Liveness;
use crate::local_sessions::{LocalSession, LocalSessions};
use crate::options::{NodeOptions, OnError};
use crate::peers::{HttpPeers, Peers};
use crate::placing::{Look, NotPlaced, Place};
use crate::store::{Store, StoreError};
use crate::tasks::{Concerned, NodeTasks, TaskNotStored};

/// The longest silence that can be counted with.
const LONGEST_SILENCE: Duration = Duration::from_secs(24 * 3600);

/// The number of sessions that have ended here and are still to be removed from the store, at which no more are opened.
const SURPLUS: usize = 10_000;

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
    /// The tasks, if the endpoint has any.
    pub(crate) tasks: Option<NodeTasks>,
    /// How many ownerships of sessions this node has had.
    ownerships: AtomicU64,
    /// Whether the node takes no session over any more.
    is_leaving: AtomicBool,
    /// Whether the node gives no sign of life any more.
    has_left: watch::Sender<bool>,
    /// Begins the next sweep.
    pub(crate) sweep_now: Arc<Notify>,
    /// The bytes that the bodies of requests that are passed on may still take.
    pub(crate) forwarded_bytes: Arc<Semaphore>,
}

/// The sender of a request.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    Client,
    /// A node that believes that this node serves the session.
    Node,
}

/// A node could not join the others.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JoinError {
    /// The store cannot be written to, or the system has no random bytes.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The address is no host, such as `10.0.0.7:4000`: the mistake of the caller. Without a port it is that of HTTP.
    #[error("{0:?} is not the address of a node")]
    Address(String),
}

impl Node {
    /// Joins the nodes that share this store. The others pass requests on to this node at `address`, such as
    /// `10.0.0.7:4000`. No other node that is alive has the same address.
    ///
    /// A task renews the sign of life of the node, until the node [leaves](Self::leave) or its last clone is dropped.
    ///
    /// # Errors
    ///
    /// [`JoinError`]: the node has not joined.
    ///
    /// # Panics
    ///
    /// Outside a runtime of tokio.
    pub async fn join(
        endpoint: Endpoint,
        store: Arc<dyn Store>,
        address: impl Into<String>,
    ) -> Result<Self, JoinError> {
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
        mut options: NodeOptions,
    ) -> Result<Self, JoinError> {
        options.silence = options.silence.min(LONGEST_SILENCE);
        options.on_error = never_unwinding(options.on_error);
        let most = options.forwarded_bytes.min(Semaphore::MAX_PERMITS);
        let forwarded_bytes = Arc::new(Semaphore::new(most));
        let address = address.into();
        if !is_address(&address) {
            return Err(JoinError::Address(address));
        }
        let id = u128::from_ne_bytes(random_bytes().map_err(StoreError::new)?);
        let inner = Inner {
            tasks: endpoint.tasks().cloned().map(NodeTasks::new),
            endpoint,
            batches: Batches::new(store),
            peers,
            id: format!("{id:032x}"),
            address,
            options,
            sessions: LocalSessions::default(),
            liveness: Liveness::default(),
            ownerships: AtomicU64::new(0),
            is_leaving: AtomicBool::new(false),
            has_left: watch::Sender::new(false),
            sweep_now: Arc::default(),
            forwarded_bytes,
        };
        let inner = Arc::new(inner);
        inner.write_heartbeat().await?;
        tokio::spawn(Inner::write_heartbeats(Arc::downgrade(&inner)));
        tokio::spawn(Inner::sweep_periodically(Arc::downgrade(&inner)));
        if let Some(tasks) = &inner.tasks {
            tokio::spawn(Inner::follow_tasks(Arc::downgrade(&inner), tasks.tasks.clone()));
        }
        Ok(Self { inner })
    }

    /// Returns the endpoint.
    pub fn endpoint(&self) -> &Endpoint {
        &self.inner.endpoint
    }

    /// Handles a request of a client on any path, as [`Endpoint::handle`] does: here, or at the node that has its session.
    pub async fn handle<B>(&self, request: Request<B>) -> Response<NodeBody>
    where
        B: Body<Data: Buf, Error: Into<BodyError>>,
    {
        let mut response = match requested_session(request.headers()) {
            Some(id) => self.inner.in_session(id, request, Origin::Client).await,
            None => self.inner.without_session(request).await,
        };
        if response.status() == StatusCode::SERVICE_UNAVAILABLE {
            // The balancer sends the next attempt elsewhere, most likely.
            response.headers_mut().entry(RETRY_AFTER).or_insert(HeaderValue::from_static("1"));
        }
        response
    }

    /// Handles a request that another node has [passed on](Peers::forward). Only nodes may send it: serve it on a private
    /// network.
    pub async fn handle_forwarded<B>(&self, request: Request<B>) -> Response<NodeBody>
    where
        B: Body<Data: Buf, Error: Into<BodyError>>,
    {
        self.inner.forwarded(request).await
    }

    /// Returns the number of sessions that this node serves or is looking for.
    pub fn known_sessions(&self) -> usize {
        self.inner.sessions.len()
    }

    /// Leaves the other nodes. A session is stored without a node as soon as it has no open request, and the next node that
    /// gets a request of it serves it. Open requests that are served here have `grace` to finish, and at most a day. Modern
    /// requests have at least a second.
    ///
    /// Let the balancer send no more requests to this node, and serve those of the other nodes until this method returns.
    /// The endpoint needs [`EndpointOptions::keep_sessions`](mcp_sansio_http::EndpointOptions::keep_sessions): without it
    /// the sessions that are in use after `grace` end. The work is done in a task, also if this future is dropped.
    ///
    /// # Errors
    ///
    /// The first [`StoreError`]: the other nodes take the sessions over when this node gives no sign of life.
    pub async fn leave(&self, grace: Duration) -> Result<(), StoreError> {
        self.inner.is_leaving.store(true, Ordering::SeqCst);
        let leaving = Arc::clone(&self.inner).leave(grace);
        tokio::spawn(leaving).await.map_err(StoreError::new)?
    }
}

/// Returns a function that catches the panics of another one: no work of the node may end because an error cannot be logged.
fn never_unwinding(on_error: OnError) -> OnError {
    Arc::new(move |error| {
        _ = catch_unwind(AssertUnwindSafe(|| on_error(error)));
    })
}

/// Whether a text is a host, with or without a port.
fn is_address(text: &str) -> bool {
    text.parse::<Authority>().is_ok_and(|authority| {
        let rest = text.strip_prefix(authority.host());
        rest == Some("") || rest.is_some() && authority.port_u16().is_some()
    })
}

/// Returns the session in a header field. HTTP/2 leaves the spaces around a value, which do not belong to it.
fn session_of(headers: &HeaderMap) -> Option<SessionId> {
    SessionId::parse(headers.get(SESSION_ID)?.to_str().ok()?.trim_matches([' ', '\t']))
}

/// Returns the session that a request belongs to. A modern request belongs to none, whatever it names.
pub(crate) fn requested_session(headers: &HeaderMap) -> Option<SessionId> {
    let version = headers.get(PROTOCOL_VERSION).and_then(|version| version.to_str().ok());
    let revision =
        version.and_then(|version| Revision::from_name(version.trim_matches([' ', '\t'])));
    if revision.is_some_and(|revision| revision.era() == Era::Modern) {
        return None;
    }
    session_of(headers)
}

impl Inner {
    /// Handles a request without a session, which may open one.
    async fn without_session<B>(self: &Arc<Self>, request: Request<B>) -> Response<NodeBody>
    where
        B: Body<Data: Buf, Error: Into<BodyError>>,
    {
        let names_session = request.headers().contains_key(SESSION_ID);
        let (response, concerned) = match self.serve(request).await {
            Ok(served) => served,
            Err(error) => return self.unavailable(&error),
        };
        let Some(id) = session_of(response.headers()).filter(|_| !names_session) else {
            return self.with_tasks_stored(response, concerned);
        };
        if SURPLUS < self.sessions.unused().saturating_sub(self.endpoint.sessions()) {
            // Many sessions were opened and not used. The endpoint has dropped them, and their records are still to be removed.
            self.sweep_now.notify_one();
            self.endpoint.suspend_session(id);
            return self.unavailable(&"too many sessions are being opened");
        }
        let session = self.sessions.request(id);
        let ownership = self.begin_ownership(&session).await;
        match self.store_session(&session, Some(ownership)).await {
            Ok(()) if self.endpoint.has_session(id) => {
                self.stored(session, (ownership, concerned), response)
            }
            // Its client has not used it in time, because it does not know it yet.
            Ok(()) => self.unavailable(&"storing a new session has taken too long"),
            Err(error) => {
                self.give_up(&mut session.lock().await);
                self.unavailable(&error)
            }
        }
    }

    /// Handles a request of a session, wherever it is served.
    pub(crate) async fn in_session<B>(
        self: &Arc<Self>,
        id: SessionId,
        request: Request<B>,
        origin: Origin,
    ) -> Response<NodeBody>
    where
        B: Body<Data: Buf, Error: Into<BodyError>>,
    {
        let session = self.sessions.request(id);
        // An event stream is open for long, and refused if its last event is unknown: its node must be the right one.
        let look = if request.method() == Method::GET { Look::Always } else { Look::IfOld };
        match self.place(&session, look, None).await {
            Ok(Place::Here(ownership)) => self.serve_here(session, ownership, request).await,
            Ok(Place::Nowhere) => {
                drop(session);
                self.endpoint.handle(request).await.map(NodeBody::whole)
            }
            // The node that has passed the request on looks again, and may take the session.
            Ok(Place::There(..)) | Err(NotPlaced::Leaving) if origin == Origin::Node => {
                // If the body were not read, the connection could break before the response arrives.
                _ = self.read_body(request.into_body()).await;
                empty(StatusCode::MISDIRECTED_REQUEST)
            }
            Ok(Place::There(node, address)) => {
                self.serve_elsewhere(session, (node, address), request).await
            }
            Err(error) => self.unavailable(&error),
        }
    }

    /// Handles a request of a session that is served here.
    pub(crate) async fn serve_here<B>(
        self: &Arc<Self>,
        session: LocalSession,
        ownership: u64,
        request: Request<B>,
    ) -> Response<NodeBody>
    where
        B: Body<Data: Buf, Error: Into<BodyError>>,
    {
        let is_event_stream = request.method() == Method::GET;
        let (response, concerned) = match self.serve(request).await {
            Ok(served) => served,
            Err(error) => return self.unavailable(&error),
        };
        if response.status().is_client_error() {
            // Another node may know better, if it has taken the session over.
            match self.place(&session, Look::Always, None).await {
                Ok(Place::Here(number)) if number == ownership => {}
                Ok(Place::Nowhere) => return response.map(NodeBody::whole),
                Ok(_) => return self.unavailable(&"the session has moved"),
                Err(error) => return self.unavailable(&error),
            }
        }
        match self.store_session(&session, Some(ownership)).await {
            // The session waits for the response to a request, and not for an event stream, when the node leaves.
            Ok(()) if is_event_stream => {
                self.stored(session.without_request(), (ownership, concerned), response)
            }
            Ok(()) => self.stored(session, (ownership, concerned), response),
            Err(error) => self.unavailable(&error),
        }
    }

    /// Returns a response of a session that is stored. Each event of a stream is stored before it is sent.
    fn stored(
        self: &Arc<Self>,
        session: LocalSession,
        (ownership, concerned): (u64, Concerned),
        response: Response<ResponseBody>,
    ) -> Response<NodeBody> {
        if response.body().as_whole().is_some() {
            return response.map(NodeBody::whole);
        }
        let (inner, session) = (Arc::clone(self), Arc::new(session));
        let store = move |part: &[u8]| {
            let (inner, session) = (Arc::clone(&inner), Arc::clone(&session));
            let (concerned, wait) = (concerned.clone(), concerned.wait(part));
            // A body is polled only while its client reads. The lock of the session must not wait for that.
            let task = tokio::spawn(async move {
                if let Some(wait) = wait {
                    inner.store_tasks_of(&concerned, wait).await?;
                }
                inner.store_session(&session, Some(ownership)).await.map_err(BodyError::from)
            });
            async move { task.await? }
        };
        response.map(|body| NodeBody::new(StoredStream::new(body, store)))
    }

    /// Handles a request at the endpoint. The tasks that it is about are fetched before, and their changes are stored after
    /// that. An event stream stores them itself.
    async fn serve<B>(
        self: &Arc<Self>,
        mut request: Request<B>,
    ) -> Result<(Response<ResponseBody>, Concerned), TaskNotStored>
    where
        B: Body<Data: Buf, Error: Into<BodyError>>,
    {
        let concerned = self.tasks.as_ref().map(Concerned::begin).unwrap_or_default();
        if self.tasks.is_some() {
            request.extensions_mut().insert(self.before_message(&concerned));
        }
        let response = self.endpoint.handle(request).await;
        let body = response.body().as_whole().filter(|_| self.tasks.is_some());
        let wait = body.and_then(|body| concerned.wait(body));
        if let Some(wait) = wait {
            self.store_tasks_of(&concerned, wait).await?;
        }
        Ok((response, concerned))
    }

    /// Returns a response that belongs to no session. A task is stored before an event about it.
    fn with_tasks_stored(
        self: &Arc<Self>,
        response: Response<ResponseBody>,
        concerned: Concerned,
    ) -> Response<NodeBody> {
        if self.tasks.is_none() || response.body().as_whole().is_some() {
            return response.map(NodeBody::whole);
        }
        let inner = Arc::clone(self);
        let store = move |part: &[u8]| {
            let task = concerned.wait(part).map(|wait| {
                let (inner, concerned) = (Arc::clone(&inner), concerned.clone());
                // A body is polled only while its client reads. The other tasks must not wait for that.
                tokio::spawn(async move { inner.store_tasks_of(&concerned, wait).await })
            });
            async move {
                match task {
                    Some(task) => task.await?.map_err(BodyError::from),
                    None => Ok(()),
                }
            }
        };
        response.map(|body| NodeBody::new(StoredStream::new(body, store)))
    }

    pub(crate) fn next_ownership(&self) -> u64 {
        self.ownerships.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn is_leaving(&self) -> bool {
        self.is_leaving.load(Ordering::SeqCst)
    }

    pub(crate) fn has_left(&self) -> bool {
        *self.has_left.borrow()
    }

    pub(crate) fn set_left(&self) {
        self.has_left.send_replace(true);
    }

    /// Waits until the node has left.
    pub(crate) async fn wait_until_left(&self) {
        // The sender is part of this value.
        _ = self.has_left.subscribe().wait_for(|has_left| *has_left).await;
    }

    /// The response to a request that cannot be served at this time.
    pub(crate) fn unavailable(&self, error: &dyn fmt::Display) -> Response<NodeBody> {
        (self.options.on_error)(error);
        let text = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"the session cannot be served at this time"}}"#;
        let mut response = whole(StatusCode::SERVICE_UNAVAILABLE, text);
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
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
