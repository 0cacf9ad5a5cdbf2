//! The floor over HTTP: the cost of the same requests for a hyper server without MCP.

use std::convert::Infallible;
use std::io;
use std::pin::pin;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use serde_json::json;

use super::until_closed::{listen, runtime, until_closed};

/// The parsed members of a message.
#[derive(serde::Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    id: Option<&'a serde_json::value::RawValue>,
    params: Option<Params<'a>>,
}

#[derive(serde::Deserialize)]
struct Params<'a> {
    #[serde(borrow)]
    arguments: Option<Greeting<'a>>,
}

#[derive(serde::Deserialize)]
struct Greeting<'a> {
    name: &'a str,
}

/// Serves on a socket, with the same kind of hyper server as the adapter, and its timeout for request heads.
pub(super) fn serve() -> io::Result<()> {
    runtime()?.block_on(async {
        let listener = listen().await?;
        let mut stop = pin!(until_closed());
        loop {
            let stream = tokio::select! {
                accepted = listener.accept() => accepted?.0,
                () = &mut stop => return Ok(()),
            };
            _ = stream.set_nodelay(true);
            tokio::spawn(async move {
                let mut builder = Builder::new(TokioExecutor::new());
                // A short response is written in one piece, as by the adapter.
                builder.http1().timer(TokioTimer::new()).writev(false);
                // A client that disconnects is no error of the server.
                _ = builder.serve_connection(TokioIo::new(stream), service_fn(answer)).await;
            });
        }
    })
}

/// Responds to every request like the tool. Every response to a request contains a session id.
async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let body = request.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let Ok(Message { id: Some(id), params }) = serde_json::from_slice(&body) else {
        let mut response = Response::new(Full::default());
        *response.status_mut() = StatusCode::ACCEPTED;
        return Ok(response);
    };
    let name = params.and_then(|params| params.arguments).map_or("", |arguments| arguments.name);
    let result = json!({"content": [{"type": "text", "text": format!("Hello, {name}!")}]});
    let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
    let response = Response::builder().header("content-type", "application/json");
    let response = response.header("mcp-session-id", "0123456789abcdef").body(text.into());
    Ok(response.unwrap_or_default())
}
