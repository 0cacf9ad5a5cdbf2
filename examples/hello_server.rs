//! The smallest useful server: one tool, on standard input and output.
//!
//! Usage: `cargo run --example hello_server`, or name the binary in the configuration of a client.

use mcp_sansio::json::Raw;
use mcp_sansio::model::{CallToolResult, ListChanged, ListToolsResult, Tool};
use mcp_sansio::{ClientRequest, ErrorCode, RespondError, Server, ServerConfig};
use mcp_sansio_std::Exchange;

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

fn main() -> std::io::Result<()> {
    let mut config = ServerConfig::new("hello", "1.0.0");
    config.capabilities.tools = Some(ListChanged::default());
    mcp_sansio_std::serve_stdio(config, serve)
}
