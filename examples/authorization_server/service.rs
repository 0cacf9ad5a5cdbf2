//! An HTTP service for the sans-IO authorization server.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderName};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use mcp_sansio_proptests::authorization_server::{AuthorizationServer, Request as Asked};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// The server, shared by several connections.
pub(crate) type Shared = Arc<Mutex<AuthorizationServer>>;

/// The largest accepted body.
const MOST_BYTES: usize = 64 << 10;

/// Accepts and serves connections. Dropping the future aborts all connections.
pub(crate) async fn serve(listener: TcpListener, server: Shared) {
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        match listener.accept().await {
            Ok((stream, _)) => drop(connections.spawn(connection(stream, Arc::clone(&server)))),
            // For example too many open files: later there may be room.
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

async fn connection(stream: TcpStream, server: Shared) {
    let builder = auto::Builder::new(TokioExecutor::new());
    let service = service_fn(|request| {
        let server = Arc::clone(&server);
        async move { Ok::<_, Infallible>(answer(request, &server).await) }
    });
    // A client may disconnect at any time.
    _ = builder.serve_connection(TokioIo::new(stream), service).await;
}

async fn answer(request: Request<Incoming>, server: &Shared) -> Response<Full<Bytes>> {
    let (head, body) = request.into_parts();
    let Ok(body) = Limited::new(body, MOST_BYTES).collect().await else {
        return refused(StatusCode::PAYLOAD_TOO_LARGE);
    };
    let target = head.uri.path_and_query().map_or("", |target| target.as_str());
    let text = |name| head.headers.get(name).and_then(|value| value.to_str().ok());
    let content_type = text(CONTENT_TYPE).unwrap_or_default();
    let asked = Asked::post(target, content_type, body.to_bytes())
        .method(head.method.as_str())
        .authorization(text(AUTHORIZATION));
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let answer =
        server.lock().unwrap_or_else(PoisonError::into_inner).handle(&asked, now.as_secs());
    if let Some(delay) = answer.delay {
        tokio::time::sleep(delay).await;
    }
    let mut response = Response::builder().status(answer.status);
    for (name, value) in answer.fields {
        response = response.header(HeaderName::from_static(name), value);
    }
    let response = response.body(Full::new(Bytes::from(answer.body)));
    response.unwrap_or_else(|_| refused(StatusCode::INTERNAL_SERVER_ERROR))
}

fn refused(status: StatusCode) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    *response.status_mut() = status;
    response
}
