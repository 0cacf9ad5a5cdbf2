//! The hostile server over HTTP.

use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use tokio::net::TcpListener;

use crate::Failure;
use crate::held::AbortOnDrop;
use crate::hostile::pages;

/// A server that runs until this is dropped.
pub(super) struct HostileServer {
    pub(super) url: String,
    _serving: AbortOnDrop,
}

pub(super) async fn start() -> Result<HostileServer, Failure> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let url = format!("http://{}/mcp", listener.local_addr()?);
    let pages = Arc::new(AtomicU64::new(0));
    let serving = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let pages = Arc::clone(&pages);
            let service = service_fn(move |request| answer(request, Arc::clone(&pages)));
            let builder = Builder::new(TokioExecutor::new());
            let stream = TokioIo::new(stream);
            tokio::spawn(async move { _ = builder.serve_connection(stream, service).await });
        }
    });
    Ok(HostileServer { url, _serving: AbortOnDrop(serving) })
}

async fn answer(
    request: Request<Incoming>,
    pages: Arc<AtomicU64>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let is_post = request.method() == hyper::Method::POST;
    let body = request.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    // A page number is never used twice, even by concurrent requests.
    let mut page = pages.fetch_add(1, Ordering::Relaxed);
    let (status, text) = match pages::answer(&body, &mut page) {
        Some(answer) => (200, answer),
        None if is_post => (202, String::new()),
        None => (405, String::new()),
    };
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = hyper::StatusCode::from_u16(status).unwrap_or_default();
    let json = hyper::header::HeaderValue::from_static("application/json");
    response.headers_mut().insert(hyper::header::CONTENT_TYPE, json);
    Ok(response)
}
