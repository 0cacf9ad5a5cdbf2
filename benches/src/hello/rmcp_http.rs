//! The server of the official SDK behind HTTP.

use std::io;
use std::pin::pin;
use std::sync::Arc;

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};

use super::rmcp_hello::Hello;
use super::until_closed::{listen, runtime, until_closed};

/// Serves on a socket, with the same kind of hyper server as the adapter. Responses are JSON where the SDK supports
/// that, like those of mcp-sansio; the default of the SDK is an event stream.
pub(super) fn serve() -> io::Result<()> {
    runtime()?.block_on(async {
        let listener = listen().await?;
        let config = StreamableHttpServerConfig::default().with_json_response(true);
        let sessions = Arc::new(LocalSessionManager::default());
        let service = StreamableHttpService::new(|| Ok(Hello), sessions, config);
        let mut stop = pin!(until_closed());
        loop {
            let stream = tokio::select! {
                accepted = listener.accept() => accepted?.0,
                () = &mut stop => return Ok(()),
            };
            _ = stream.set_nodelay(true);
            let service = service.clone();
            tokio::spawn(async move {
                let answer = service_fn(|request| {
                    let service = service.clone();
                    async move { Ok::<_, std::convert::Infallible>(service.handle(request).await) }
                });
                let builder = Builder::new(TokioExecutor::new());
                // A client that disconnects is no error of the server.
                _ = builder.serve_connection(TokioIo::new(stream), answer).await;
            });
        }
    })
}
