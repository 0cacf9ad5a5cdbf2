//! Servers behind HTTP, for a program that blocks.

use std::sync::Arc;

use mcp_sansio::http::HttpClientConfig;
use mcp_sansio::{Client, ClientConfig};
use mcp_sansio_http::{Exchange, Handle, Handler, connect_with, plain};
use mcp_sansio_std::{Connection, ConnectionOptions, Handler as Blocking};
use tokio::runtime::Runtime;

use crate::answers::Answers;

/// Answers on threads of their own, because some of them wait for somebody.
struct OnThreads(Arc<Answers>);

impl Handler<Client> for OnThreads {
    async fn serve(&self, exchange: Exchange<Client>) {
        let answers = Arc::clone(&self.0);
        // One that panics has its request answered by the exchange that it drops.
        _ = tokio::task::spawn_blocking(move || answers.serve(&exchange)).await;
    }

    fn begin(&self, handle: &Handle<Client>) {
        self.0.begin(handle);
    }

    async fn event(&self, handle: &Handle<Client>, event: mcp_sansio::ClientEvent<'static>) {
        self.0.event(handle, event);
    }
}

/// Connects to a server at a URL. The connection lives as long as the runtime.
pub(crate) fn connect(
    config: ClientConfig,
    url: &str,
    headers: &[(String, String)],
    answers: Answers,
) -> Result<(Connection, Runtime), String> {
    let mut http = HttpClientConfig::new(url);
    for (name, value) in headers {
        http.header(name, value).map_err(|error| format!("{name}: {error}"))?;
    }
    let runtime = Runtime::new().map_err(|error| error.to_string())?;
    let (options, answers) = (ConnectionOptions::new(), OnThreads(Arc::new(answers)));
    let connecting = async { connect_with(config, http, &options, plain(), answers).await };
    let connection = runtime.block_on(connecting).map_err(|error| format!("{url}: {error}"))?;
    Ok((connection, runtime))
}
