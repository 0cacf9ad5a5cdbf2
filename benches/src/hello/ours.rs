//! README's server behind the adapters.

use std::io;
use std::time::Duration;

use mcp_sansio::json::Raw;
use mcp_sansio::model::{CallToolResult, ListChanged, ListToolsResult, Tool};
use mcp_sansio::{ClientRequest, ErrorCode, RespondError, Server, ServerConfig};
use mcp_sansio_http::{Endpoint, EndpointOptions};
use mcp_sansio_std::Exchange;

use super::until_closed::{answer_lines, listen, runtime, until_closed};

const SCHEMA: &str = r#"{"type":"object","properties":{"name":{"type":"string"}}}"#;

#[derive(serde::Deserialize)]
struct Greeting {
    name: String,
}

fn serve(exchange: &Exchange<Server>) -> Result<(), RespondError> {
    match &exchange.request().kind {
        ClientRequest::ListTools(_) => {
            let schema = Raw::new(SCHEMA).expect("it is JSON");
            exchange.respond(&ListToolsResult::new([Tool::new("hello", schema)]))
        }
        ClientRequest::CallTool(call) if call.name == "hello" => match call.parse() {
            Ok(Greeting { name }) => {
                exchange.respond(&CallToolResult::text(format!("Hello, {name}!")))
            }
            Err(error) => exchange.reject_arguments(&error.to_string()),
        },
        ClientRequest::CallTool(_) => exchange.reject(ErrorCode::INVALID_PARAMS, "unknown tool"),
        _ => exchange.reject(ErrorCode::METHOD_NOT_FOUND, "method not found"),
    }
}

pub(super) fn config() -> ServerConfig {
    let mut config = ServerConfig::new("hello", "1.0.0");
    config.capabilities.tools = Some(ListChanged::default());
    config
}

pub(super) fn std() -> io::Result<()> {
    mcp_sansio_std::serve_stdio(config(), serve)
}

pub(super) fn tokio() -> io::Result<()> {
    let handler = |exchange: Exchange<Server>| async move { serve(&exchange) };
    runtime()?.block_on(mcp_sansio_tokio::serve_stdio(config(), handler))
}

pub(super) fn smol() -> io::Result<()> {
    let handler = |exchange: Exchange<Server>| async move { serve(&exchange) };
    let spawn = |work| smol::spawn(work).detach();
    smol::block_on(mcp_sansio_async_std::serve_stdio(config(), handler, spawn))
}

pub(super) fn http() -> io::Result<()> {
    let handler = |exchange: Exchange<Server>| async move { serve(&exchange) };
    runtime()?.block_on(async {
        let listener = listen().await?;
        let endpoint = Endpoint::new(config(), handler);
        let stop = until_closed();
        mcp_sansio_http::serve(endpoint, "/mcp", listener, stop, Duration::ZERO).await
    })
}

/// The lifetime of a session without requests, so that a soak can wait for the end of all sessions.
const SESSION_IDLE: Duration = Duration::from_millis(200);

pub(super) fn http_expiring() -> io::Result<()> {
    let handler = |exchange: Exchange<Server>| async move { serve(&exchange) };
    let mut options = EndpointOptions::new();
    options.http.session_idle = Some(SESSION_IDLE);
    runtime()?.block_on(async {
        let listener = listen().await?;
        let endpoint = Endpoint::with(config(), options, handler);
        let counted = endpoint.clone();
        let counts = move || {
            let (sessions, open) = (counted.sessions(), counted.open_requests());
            format!("{sessions} {open} {}", counted.kept_bytes())
        };
        let stop = answer_lines(counts);
        mcp_sansio_http::serve(endpoint, "/mcp", listener, stop, Duration::ZERO).await
    })
}
