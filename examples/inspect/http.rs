//! Servers behind HTTP, for a program that blocks.

use std::error::Error;
use std::sync::Arc;

use mcp_sansio::http::HttpClientConfig;
use mcp_sansio::{Client, ClientConfig};
use mcp_sansio_http::{Exchange, Handle, Handler, OpenError, connect_with, plain};
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
    let connection = runtime.block_on(connecting).map_err(|error| explain(url, &error))?;
    Ok((connection, runtime))
}

/// Why there is no session, with everything that led to it.
fn explain(url: &str, error: &OpenError) -> String {
    let mut text = format!("{}: {error}", without_secrets(url));
    let mut source = error.source();
    while let Some(cause) = source {
        text += &format!("\n  caused by: {cause}");
        source = cause.source();
    }
    text
}

/// A URL without what may hold passwords and tokens: the user in front of the host, and the query.
fn without_secrets(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    let Some((scheme, rest)) = url.split_once("://") else { return url.into() };
    let (authority, path) = rest.find('/').map_or((rest, ""), |path| rest.split_at(path));
    let host = authority.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}{path}")
}
