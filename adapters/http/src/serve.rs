//! Serves an endpoint on sockets.

use std::convert::Infallible;
use std::future::{Future, poll_fn, ready};
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response, Version};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulConnection;
use mcp_sansio::http::{Reply, RequestSource};
use mcp_sansio_driver::SideWaker;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::body::ResponseBody;
use crate::busy_body::BusyBody;
use crate::endpoint::Endpoint;
use crate::exchange::reply;
use crate::identify::{PeerAddress, Sender};
use crate::idle::Activity;
#[cfg(feature = "tls")]
use crate::idle::HEAD;
use crate::prompt::Prompt;
use crate::service_future::ServiceFuture;
use crate::unread::discard_all;

/// The pause after a failed accept: most likely the process has too many open files.
const BREATH: Duration = Duration::from_millis(50);

/// Serves an endpoint on a path, on every connection that a listener accepts, until `stop` is ready. The client
/// chooses between HTTP/1.1 and HTTP/2. Other paths are 404, except those of
/// [`EndpointOptions::one_stream`](crate::EndpointOptions::one_stream).
///
/// After `stop`, no more connections are accepted, and open requests have `grace` to finish. The rest is then
/// aborted, and so is everything if this future is dropped ([`shutdown`](mcp_sansio::manual::shutdown)).
///
/// A client has 30 s to send the head of a request, also for the next request on the same connection. An HTTP/2
/// connection ends after a minute without a request. A connection also ends when a response is complete and its client
/// reads no byte of any response for a minute.
///
/// The sender of a request is identified by [`EndpointOptions::identify`](crate::EndpointOptions::identify), or by
/// its access token ([`EndpointOptions::protect`](crate::EndpointOptions::protect)). The metadata of a protected
/// endpoint is served at its well-known paths.
///
/// # Errors
///
/// Currently none: a failed connection does not affect others, and accepting is retried.
pub async fn serve(
    endpoint: Endpoint,
    path: &str,
    listener: TcpListener,
    stop: impl Future<Output = ()>,
    grace: Duration,
) -> io::Result<()> {
    let plain = |stream| ready(Ok::<TcpStream, io::Error>(stream));
    serve_with(endpoint, path, listener, plain, stop, grace).await
}

/// As [`serve`], with TLS: [`server_certificate`](crate::server_certificate) makes a configuration of rustls from a
/// certificate and its key.
///
/// A client has 30 s for the TLS handshake. A connection whose handshake fails is dropped, and so is one that is still
/// in its handshake at `stop`.
///
/// # Errors
///
/// As for [`serve`].
#[cfg(feature = "tls")]
pub async fn serve_tls(
    endpoint: Endpoint,
    path: &str,
    listener: TcpListener,
    tls: std::sync::Arc<rustls::ServerConfig>,
    stop: impl Future<Output = ()>,
    grace: Duration,
) -> io::Result<()> {
    let acceptor = tokio_rustls::TlsAcceptor::from(tls);
    let (stopping, stopped) = watch::channel(());
    let stop = async move {
        stop.await;
        // Its drop ends the handshakes.
        drop(stopping);
    };
    let handshake = move |stream| {
        let accepted = tokio::time::timeout(HEAD, acceptor.accept(stream));
        let mut stopped = stopped.clone();
        async move {
            let (mut accepted, mut stopped) = (pin!(accepted), pin!(stopped.changed()));
            poll_fn(|context| match accepted.as_mut().poll(context) {
                Poll::Ready(accepted) => Poll::Ready(accepted?),
                Poll::Pending => {
                    let aborted = || io::ErrorKind::ConnectionAborted.into();
                    stopped.as_mut().poll(context).map(|_| Err(aborted()))
                }
            })
            .await
        }
    };
    serve_with(endpoint, path, listener, handshake, stop, grace).await
}

/// Serves every connection of a listener, after its handshake.
async fn serve_with<S, F>(
    endpoint: Endpoint,
    path: &str,
    listener: TcpListener,
    handshake: impl Fn(TcpStream) -> F,
    stop: impl Future<Output = ()>,
    grace: Duration,
) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    F: Future<Output = io::Result<S>> + Send + 'static,
{
    let (stopping, stopped) = watch::channel(());
    let mut connections = JoinSet::new();
    let most = endpoint.most_connections();
    let mut stop = std::pin::pin!(stop);
    loop {
        let accepted = poll_fn(|context| match stop.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(None),
            Poll::Pending => {
                while let Poll::Ready(Some(_)) = connections.poll_join_next(context) {}
                if connections.len() < most {
                    listener.poll_accept(context).map(Some)
                } else {
                    Poll::Pending
                }
            }
        });
        let Some(accepted) = accepted.await else { break };
        let Ok((stream, address)) = accepted else {
            tokio::time::sleep(BREATH).await;
            continue;
        };
        // Responses are written whole, so Nagle's algorithm would only delay them.
        _ = stream.set_nodelay(true);
        let activity = Activity::new();
        let service = service(endpoint.clone(), path.to_owned(), Some(address), activity.clone());
        let (stream, mut stopped) = (handshake(stream), stopped.clone());
        // The failure of one connection does not concern the others.
        connections.spawn(async move {
            let Ok(stream) = stream.await else { return };
            let stream = Prompt::new(TokioIo::new(stream), activity.clone());
            let connection = builder().serve_connection(stream, service).into_owned();
            let stopped = async move { _ = stopped.changed().await };
            _ = drive(connection, activity, stopped).await;
        });
    }
    drop(listener);
    endpoint.shut_down(grace);
    drop(stopping);
    // After `grace`, the remaining connections are aborted.
    let ended = async {
        while connections.join_next().await.is_some() {}
        if endpoint.inner.keeps_sessions() {
            // A request of a session may go on without a response, for which its client comes back later.
            endpoint.inner.open_requests.ended().await;
        }
    };
    _ = tokio::time::timeout(grace, ended).await;
    connections.shutdown().await;
    Ok(())
}

/// Serves an endpoint on a path, on one connection: a TLS connection, for example.
///
/// ```no_run
/// # async fn example(endpoint: mcp_sansio_http::Endpoint) -> std::io::Result<()> {
/// # #[derive(Clone, Copy)] struct Tls; impl Tls { async fn accept(&self, stream: tokio::net::TcpStream)
/// #     -> std::io::Result<tokio::net::TcpStream> { Ok(stream) } }
/// # let tls = Tls;
/// let listener = tokio::net::TcpListener::bind("0.0.0.0:443").await?;
/// loop {
///     let (stream, _) = listener.accept().await?;
///     let endpoint = endpoint.clone();
///     tokio::spawn(async move {
///         // An acceptor of any TLS library. Name `h2` and `http/1.1` in its ALPN protocols.
///         let stream = tls.accept(stream).await?;
///         mcp_sansio_http::serve_stream(endpoint, "/mcp", stream).await
///     });
/// }
/// # }
/// ```
///
/// # Errors
///
/// The error of hyper if the connection fails. A client that disconnects between requests is not an error.
pub async fn serve_stream(
    endpoint: Endpoint,
    path: &str,
    stream: impl AsyncRead + AsyncWrite + Unpin + 'static,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    serve_one(endpoint, path, stream, None).await
}

/// Serves a connection from this address, which counts for the limits per client
/// ([`HttpServerConfig::sessions_of_client`](mcp_sansio::http::HttpServerConfig::sessions_of_client)).
///
/// # Errors
///
/// As for [`serve_stream`].
pub async fn serve_stream_from(
    endpoint: Endpoint,
    path: &str,
    stream: impl AsyncRead + AsyncWrite + Unpin + 'static,
    address: SocketAddr,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    serve_one(endpoint, path, stream, Some(address)).await
}

async fn serve_one(
    endpoint: Endpoint,
    path: &str,
    stream: impl AsyncRead + AsyncWrite + Unpin + 'static,
    address: Option<SocketAddr>,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let activity = Activity::new();
    let service = service(endpoint, path.to_owned(), address, activity.clone());
    let builder = builder();
    let stream = Prompt::new(TokioIo::new(stream), activity.clone());
    let connection = builder.serve_connection(stream, service);
    drive(connection, activity, std::future::pending()).await
}

/// Drives a connection until it ends or has been idle for too long. After `stopped`, it ends with the requests that it is
/// serving.
pub(crate) async fn drive<C: GracefulConnection>(
    connection: C,
    activity: Activity,
    stopped: impl Future<Output = ()>,
) -> Result<(), C::Error> {
    let (mut connection, mut ceased) = (pin!(connection), pin!(activity.ceased()));
    let (mut stopped, mut is_stopped) = (pin!(stopped), false);
    let mut waker = SideWaker::new();
    poll_fn(|context| {
        let is_woken = waker.take_woken(context);
        if is_woken && !is_stopped && stopped.as_mut().poll(&mut waker.context()).is_ready() {
            is_stopped = true;
            connection.as_mut().graceful_shutdown();
        }
        match connection.as_mut().poll(context) {
            Poll::Ready(ended) => Poll::Ready(ended),
            Poll::Pending if is_woken => ceased.as_mut().poll(&mut waker.context()).map(Ok),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

/// The most bytes of the head of a request over HTTP/1.1. A longer one is refused with 431. It is also the size to which the
/// buffer of a connection grows, which no budget counts.
const HEAD_BYTES: usize = 64 << 10;

pub(crate) fn builder() -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    // `Activity` limits the time of heads.
    builder.http1().header_read_timeout(None).max_buf_size(HEAD_BYTES);
    builder.http2().timer(TokioTimer::new());
    builder
}

fn service(
    endpoint: Endpoint,
    path: String,
    address: Option<SocketAddr>,
    activity: Activity,
) -> impl hyper::service::Service<
    Request<Incoming>,
    Response = Response<BusyBody<ResponseBody>>,
    Error = Infallible,
    Future = impl Future<Output = Result<Response<BusyBody<ResponseBody>>, Infallible>> + Send,
> {
    service_fn(move |mut request: Request<Incoming>| {
        let mut sender = Sender::Asked;
        if let Some(address) = address {
            if endpoint.has_identify() {
                request.extensions_mut().insert(PeerAddress::new(address));
            } else {
                // No function reads the extensions, which take three allocations.
                sender = Sender::Known(RequestSource::default().address(address.ip()));
            }
        }
        if request.version() == Version::HTTP_2 {
            activity.note_http2();
        }
        let busy = activity.begin();
        if request.uri().path() == path {
            ServiceFuture::of_endpoint(endpoint.handle_of(sender, request), busy)
        } else {
            ServiceFuture::boxed(handle_other_path(endpoint.clone(), sender, request), busy)
        }
    })
}

/// Handles a request for another path than that of the endpoint.
async fn handle_other_path(
    endpoint: Endpoint,
    sender: Sender,
    request: Request<Incoming>,
) -> Response<ResponseBody> {
    let path = request.uri().path();
    let paths = endpoint.one_stream_paths();
    if paths.is_some_and(|paths| paths.events == path) {
        endpoint.event_stream(sender, request).await
    } else if paths.is_some_and(|paths| paths.messages == path) {
        endpoint.message(sender, request).await
    } else if let Some(metadata) = endpoint.metadata(&request) {
        metadata
    } else {
        let (parts, body) = request.into_parts();
        let mut response = reply(Reply::empty(404));
        discard_all(body, &parts, &mut response).await;
        response
    }
}
