//! `Listener`: receives the redirect of the browser on this computer
//! ([RFC 8252, section 7.3](https://www.rfc-editor.org/rfc/rfc8252#section-7.3)).

use std::convert::Infallible;
use std::io;
use std::net::Ipv4Addr;
use std::sync::Weak;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use mcp_sansio::auth::Redirected;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

use super::authorization::Shared;

/// Listens for the redirect of the browser until it is dropped. A response in progress is still completed.
pub(super) struct Listener {
    uri: String,
    accepting: AbortHandle,
}

const PATH: &str = "/callback";

/// The time limit for the browser's request and for reading the page.
const WITHIN: Duration = Duration::from_secs(30);

impl Listener {
    /// Binds to the port of the registered URI if that port is free, otherwise to any port.
    pub(super) async fn bind(shared: Weak<Shared>, registered: Option<&str>) -> io::Result<Self> {
        let registered = registered.and_then(|uri| uri.parse::<Uri>().ok());
        let port = registered.and_then(|uri| uri.port_u16()).unwrap_or(0);
        let socket = match TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await {
            Err(_) if port != 0 => TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?,
            socket => socket?,
        };
        let uri = format!("http://{}{PATH}", socket.local_addr()?);
        let accepting = tokio::spawn(accept(socket, shared)).abort_handle();
        Ok(Self { uri, accepting })
    }

    pub(super) fn uri(&self) -> &str {
        &self.uri
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(socket: TcpListener, shared: Weak<Shared>) {
    loop {
        match socket.accept().await {
            Ok((stream, _)) => drop(tokio::spawn(serve(stream, shared.clone()))),
            // The process may have too many open files, for example. Accepting is retried later.
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

async fn serve(stream: TcpStream, shared: Weak<Shared>) {
    let respond = |request: Request<_>| {
        let response = respond(&request, &shared);
        async move { Ok::<_, Infallible>(response) }
    };
    let mut builder = http1::Builder::new();
    let connection =
        builder.keep_alive(false).serve_connection(TokioIo::new(stream), service_fn(respond));
    // A browser that disconnects early needs no error handling.
    _ = tokio::time::timeout(WITHIN, connection).await;
}

fn respond<B>(request: &Request<B>, shared: &Weak<Shared>) -> Response<Full<Bytes>> {
    if request.method() != Method::GET || request.uri().path() != PATH {
        return page(StatusCode::NOT_FOUND, "There is nothing here.");
    }
    let query = request.uri().query().unwrap_or_default();
    let redirected = shared.upgrade().map(|shared| shared.redirected(query));
    match redirected {
        Some(Redirected::Accepted) => page(
            StatusCode::OK,
            "The authorization server has sent you back. Return to the program; you can close this window.",
        ),
        Some(Redirected::Failed) => {
            page(StatusCode::OK, "The login has failed. The program that asked for it says why.")
        }
        _ => page(StatusCode::BAD_REQUEST, "This belongs to no login that is under way."),
    }
}

fn page(status: StatusCode, text: &str) -> Response<Full<Bytes>> {
    let html = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Login</title><p>{text}</p></html>\n"
    );
    let mut response = Response::new(Full::new(Bytes::from(html)));
    *response.status_mut() = status;
    let fields = response.headers_mut();
    fields.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    fields.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    fields.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'"));
    response
}
