//! A server on smol: on standard input and output, or for many clients on a Unix socket.
//!
//! Shows a handler written by hand, and tasks that are started on a runtime of your choice.
//!
//! Usage: `cargo run -p mcp-sansio-async-std --example smol_server [PATH]`

use std::time::Duration;

use mcp_sansio::json::Raw;
use mcp_sansio::model::{CallToolResult, ListChanged, ListToolsResult, Tool};
use mcp_sansio::{ClientRequest, ErrorCode, RespondError, ServerConfig};
use mcp_sansio_async_std::{Exchange, Work, serve_stdio};

const NO_ARGUMENTS: &str = r#"{"type":"object"}"#;

fn spawn(work: Work) {
    smol::spawn(work).detach();
}

async fn answer(exchange: Exchange) -> Result<(), RespondError> {
    match &exchange.request().kind {
        ClientRequest::ListTools(_) => {
            let tool = |name| Tool::new(name, Raw::new(NO_ARGUMENTS).expect("it is JSON"));
            exchange.respond(&ListToolsResult::new([tool("hello"), tool("sleep")]))
        }
        ClientRequest::CallTool(call) if call.name == "hello" => {
            exchange.respond(&CallToolResult::text("hello"))
        }
        ClientRequest::CallTool(call) if call.name == "sleep" => {
            let slept = async {
                smol::Timer::after(Duration::from_secs(1)).await;
                "slept well"
            };
            let woken = async {
                exchange.cancelled().await;
                "somebody woke me up"
            };
            exchange.respond(&CallToolResult::text(smol::future::or(slept, woken).await))
        }
        ClientRequest::CallTool(_) => exchange.reject(ErrorCode::INVALID_PARAMS, "unknown tool"),
        _ => exchange.reject(ErrorCode::METHOD_NOT_FOUND, "method not found"),
    }
}

fn main() -> std::io::Result<()> {
    let mut config = ServerConfig::new("smol_server", env!("CARGO_PKG_VERSION"));
    config.capabilities.tools = Some(ListChanged::default());
    match std::env::args_os().nth(1) {
        None => smol::block_on(serve_stdio(config, answer, spawn)),
        Some(path) => smol::block_on(listen(config, path.as_ref())),
    }
}

#[cfg(unix)]
async fn listen(config: ServerConfig, path: &std::path::Path) -> std::io::Result<()> {
    let listener = smol::net::unix::UnixListener::bind(path)?;
    loop {
        let Ok((socket, _)) = listener.accept().await else {
            // Most likely the process has too many open files.
            smol::Timer::after(Duration::from_millis(50)).await;
            continue;
        };
        let writer = socket.clone();
        let serving = mcp_sansio_async_std::serve(config.clone(), socket, writer, answer, spawn);
        smol::spawn(async {
            if let Err(error) = serving.await {
                eprintln!("a client: {error}");
            }
        })
        .detach();
    }
}

#[cfg(not(unix))]
async fn listen(_: ServerConfig, _: &std::path::Path) -> std::io::Result<()> {
    Err(std::io::Error::other("there are no Unix sockets here"))
}
