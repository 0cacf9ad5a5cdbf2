//! A client and an endpoint in one process.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{Connected, Connection as Transport};
use hyper_util::rt::{TokioExecutor, TokioIo};
use mcp_sansio::ClientConfig;
use mcp_sansio::http::HttpClientConfig;
use mcp_sansio_driver::asynchronous::RefuseAll;
use mcp_sansio_driver::{Connection, ConnectionOptions, OpenError};
use tokio::io::DuplexStream;
use tower_service::Service;

use crate::connect::connect_with;
use crate::endpoint::Endpoint;
use crate::serve::serve_stream;

/// The room of a pipe in bytes.
const PIPE: usize = 64 << 10;

/// Connects a client to an endpoint in this process, for tests: with the real handler and real HTTP requests, over
/// pipes in memory. The endpoint has to allow the host `localhost`, as it does by default. The client has the default
/// configuration, and its handler refuses every request. For another client, for example one with an `Authorization` field
/// ([`HttpClientConfig::header`]), pass a hyper client with the connector [`InMemory`] to [`connect_with`].
///
/// ```
/// use mcp_sansio::model::Tool;
/// use mcp_sansio_http::{Endpoint, Router, connect_in_memory};
/// use serde_json::{Value, json};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let router = Router::new();
/// let schema = mcp_sansio::json::Raw::new(r#"{"type":"object"}"#)?;
/// router.tool_with(Tool::new("greet", schema), |_: Value, _| "hello");
///
/// let endpoint = Endpoint::new(router.config("greeter", "1.0"), router);
/// let connection = connect_in_memory(endpoint).await?;
/// let result = connection.handle().call_tool("greet", &json!({})).await?;
/// assert_eq!(result.texts().next(), Some("hello"));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// [`OpenError`] if the connection could not be opened.
pub async fn connect_in_memory(endpoint: Endpoint) -> Result<Connection, OpenError> {
    let config = ClientConfig::new("in-memory client", env!("CARGO_PKG_VERSION"));
    let http = HttpClientConfig::new("http://localhost/mcp");
    let client = Client::builder(TokioExecutor::new()).build(InMemory::new(endpoint));
    connect_with(config, http, &ConnectionOptions::new(), client, RefuseAll::new()).await
}

/// A connector of hyper that connects every URL to an endpoint in this process. The endpoint is at the path `/mcp`.
#[derive(Clone, Debug)]
pub struct InMemory {
    endpoint: Endpoint,
}

impl InMemory {
    /// Creates a connector to this endpoint.
    pub const fn new(endpoint: Endpoint) -> Self {
        Self { endpoint }
    }
}

impl Service<Uri> for InMemory {
    type Response = InMemoryStream;
    type Error = Infallible;
    type Future = Ready<Result<InMemoryStream, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let (ours, theirs) = tokio::io::duplex(PIPE);
        let endpoint = self.endpoint.clone();
        // The client sees the end of a connection that fails.
        tokio::spawn(async move { _ = serve_stream(endpoint, "/mcp", theirs).await });
        ready(Ok(InMemoryStream(TokioIo::new(ours))))
    }
}

/// A connection that [`InMemory`] makes.
#[derive(Debug)]
pub struct InMemoryStream(TokioIo<DuplexStream>);

impl Transport for InMemoryStream {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl Read for InMemoryStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl Write for InMemoryStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
