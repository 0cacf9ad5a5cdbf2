//! Serves a node on sockets.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use mcp_sansio_http::PeerAddress;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::body::NodeBody;
use crate::node::{Node, empty};

/// How long a client may take for the head of a request.
const HEAD: Duration = Duration::from_secs(30);

/// The pause after a failed accept: most likely the process has too many open files.
const BREATH: Duration = Duration::from_millis(50);

/// Serves a node on a path, on every connection that a listener accepts, until `stop` is ready. The requests of clients and
/// those that other nodes pass on come in at the same listener. Other paths are 404.
///
/// After `stop` the node [leaves](Node::leave) the others: open requests have `grace` to finish, and the sessions are stored
/// for the others. Dropping this future accepts no more connections; those that are open go on.
///
/// At most `connections` connections are open, further ones wait. A client has 30 s for the head of a request.
///
/// # Errors
///
/// If the node cannot store its sessions at the end. A failed connection does not affect others, and accepting is retried.
pub async fn serve(
    node: Node,
    path: &str,
    listener: TcpListener,
    connections: usize,
    stop: impl Future<Output = ()>,
    grace: Duration,
) -> io::Result<()> {
    let graceful = GracefulShutdown::new();
    let room = Arc::new(Semaphore::new(connections));
    let path: Arc<str> = path.into();
    let mut stop = pin!(stop);
    loop {
        let accepted = async {
            let permit = Arc::clone(&room).acquire_owned().await.map_err(io::Error::other)?;
            let (stream, peer) = listener.accept().await?;
            Ok::<_, io::Error>(((stream, PeerAddress::new(peer)), permit))
        };
        tokio::select! {
            () = &mut stop => break,
            accepted = accepted => match accepted {
                Ok((client, permit)) => serve_connection(&node, &path, client, permit, &graceful),
                Err(_) => tokio::time::sleep(BREATH).await,
            },
        }
    }
    drop(listener);
    let left = node.leave(grace).await.map_err(io::Error::other);
    // The responses that are left belong to clients that do not read.
    _ = tokio::time::timeout(grace, graceful.shutdown()).await;
    left
}

fn serve_connection(
    node: &Node,
    path: &Arc<str>,
    (stream, peer): (TcpStream, PeerAddress),
    permit: OwnedSemaphorePermit,
    graceful: &GracefulShutdown,
) {
    // Without it a small event waits for the confirmation of the one before it.
    _ = stream.set_nodelay(true);
    let (node, path) = (node.clone(), Arc::clone(path));
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(peer);
        respond(node.clone(), Arc::clone(&path), request)
    });
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEAD);
    builder.http2().timer(TokioTimer::new()).keep_alive_interval(HEAD);
    let connection = builder.serve_connection(TokioIo::new(stream), service).into_owned();
    let connection = graceful.watch(connection);
    tokio::spawn(async move {
        _ = connection.await;
        drop(permit);
    });
}

async fn respond(
    node: Node,
    path: Arc<str>,
    request: Request<Incoming>,
) -> Result<Response<NodeBody>, Infallible> {
    if request.uri().path() != &*path {
        return Ok(empty(StatusCode::NOT_FOUND));
    }
    Ok(node.handle(request).await)
}
