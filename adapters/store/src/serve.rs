//! Serves a node on sockets.

use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::{Request, Response, StatusCode};
use mcp_sansio_http::{PeerAddress, serve_connection};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;

use crate::body::NodeBody;
use crate::node::{Node, Origin, empty};
use crate::tasks::TASK;

/// The pause after a failed accept: most likely the process has too many open files.
const ACCEPT_RETRY: Duration = Duration::from_millis(50);

/// The sockets of a node: one for its clients, and one for the other nodes. Two, so that clients cannot claim to be a
/// node, and that requests of other nodes are served also if this node has as many clients as it may have.
#[derive(Debug)]
#[allow(clippy::exhaustive_structs, reason = "the caller creates it")]
pub struct Listeners {
    /// For clients, behind the balancer.
    pub clients: TcpListener,
    /// For the other nodes, at the address of [`Node::join`]. It belongs to a private network.
    pub nodes: TcpListener,
}

/// The limits of [`serve`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ServeOptions {
    /// The maximum number of open connections of clients, and the same again of other nodes. Further ones wait. Default
    /// 10,000.
    pub connections: usize,
    /// How long open requests have to finish when the node leaves. Default 10 s.
    pub grace: Duration,
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self { connections: 10_000, grace: Duration::from_secs(10) }
    }
}

impl ServeOptions {
    /// Creates the default options.
    pub fn new() -> Self {
        Self::default()
    }
}

/// Serves a node on a path until `stop` is ready. The metadata of a protected endpoint is at its own paths; other paths are 404.
///
/// After `stop` the node [leaves](Node::leave) the others, and serves requests until it has left. Open requests have
/// [`ServeOptions::grace`] to finish. Dropping this future closes all connections. The chapter
/// [`shutdown`](mcp_sansio::manual::shutdown) compares the ways to stop.
///
/// The time limits for clients are those of [`mcp_sansio_http::serve`].
///
/// # Errors
///
/// If the node cannot store its sessions at the end. A failed connection does not affect others, and accepting is retried.
pub async fn serve(
    node: Node,
    path: &str,
    listeners: Listeners,
    stop: impl Future<Output = ()>,
    options: ServeOptions,
) -> io::Result<()> {
    let (stopping, stopped) = watch::channel(());
    let mut connections = Connections { node, path: path.into(), stopped, tasks: JoinSet::new() };
    let ServeOptions { connections: most, grace } = options;
    let (of_clients, of_nodes) = (Arc::new(Semaphore::new(most)), Arc::new(Semaphore::new(most)));
    let leaving_node = connections.node.clone();
    let mut leaving = pin!(async {
        stop.await;
        leaving_node.leave(grace).await
    });
    let left = loop {
        tokio::select! {
            left = &mut leaving => break left,
            accepted = accept(&listeners.clients, &of_clients) => {
                connections.begin(accepted, Origin::Client);
            }
            accepted = accept(&listeners.nodes, &of_nodes) => {
                connections.begin(accepted, Origin::Node);
            }
            Some(_) = connections.tasks.join_next() => {}
        }
    };
    drop((listeners, stopping));
    // The responses that are left belong to clients that do not read.
    let ended = async { while connections.tasks.join_next().await.is_some() {} };
    _ = tokio::time::timeout(grace, ended).await;
    left.map_err(io::Error::other)
}

type Accepted = (TcpStream, PeerAddress, OwnedSemaphorePermit);

/// Accepts a connection, when there is room for it.
async fn accept(listener: &TcpListener, room: &Arc<Semaphore>) -> Accepted {
    loop {
        // The semaphore is never closed.
        let permit = Arc::clone(room).acquire_owned().await;
        if let (Ok(permit), Ok((stream, peer))) = (permit, listener.accept().await) {
            return (stream, PeerAddress::new(peer), permit);
        }
        tokio::time::sleep(ACCEPT_RETRY).await;
    }
}

/// The open connections. Dropping them closes them.
struct Connections {
    node: Node,
    path: Arc<str>,
    /// It changes when the node has left.
    stopped: watch::Receiver<()>,
    tasks: JoinSet<()>,
}

impl Connections {
    fn begin(&mut self, (stream, peer, permit): Accepted, origin: Origin) {
        // Without it a small event waits for the confirmation of the one before it.
        _ = stream.set_nodelay(true);
        let (node, path) = (self.node.clone(), Arc::clone(&self.path));
        let mut stopped = self.stopped.clone();
        self.tasks.spawn(async move {
            let respond = move |mut request: Request<Incoming>| {
                if origin == Origin::Client {
                    request.extensions_mut().insert(peer);
                }
                respond(node.clone(), Arc::clone(&path), origin, request)
            };
            let stopped = async move { _ = stopped.changed().await };
            // The failure of one connection does not concern the others.
            _ = serve_connection(stream, respond, stopped).await;
            drop(permit);
        });
    }
}

async fn respond(
    node: Node,
    path: Arc<str>,
    origin: Origin,
    request: Request<Incoming>,
) -> Response<NodeBody> {
    let is_for_node = origin == Origin::Node && request.headers().contains_key(TASK);
    if request.uri().path() != &*path && !is_for_node {
        let metadata = node.endpoint().metadata(&request);
        return match metadata {
            Some(metadata) => metadata.map(NodeBody::whole),
            None => empty(StatusCode::NOT_FOUND),
        };
    }
    match origin {
        Origin::Client => node.handle(request).await,
        Origin::Node => node.handle_forwarded(request).await,
    }
}
