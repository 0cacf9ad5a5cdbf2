//! A client and a server in one process.

use mcp_sansio::{Client, ClientConfig, Server, ServerConfig};
use mcp_sansio_driver::asynchronous::{Handler, RefuseAll};
use mcp_sansio_driver::{Connection, OpenError};

use crate::connect::connect;
use crate::serve::serve;

/// The room of a pipe in bytes.
const PIPE: usize = 64 << 10;

/// Connects a client to a server in this process, for tests: with the real handler, over pipes in memory. The client has the
/// default configuration, and its handler refuses every request; [`connect_in_memory_with`] takes others. The server
/// ends with the connection.
///
/// ```
/// use mcp_sansio::model::Tool;
/// use mcp_sansio_tokio::{Router, connect_in_memory};
/// use serde_json::{Value, json};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let router = Router::new();
/// let schema = mcp_sansio::json::Raw::new(r#"{"type":"object"}"#)?;
/// router.tool_with(Tool::new("greet", schema), |_: Value, _| "hello");
///
/// let connection = connect_in_memory(router.config("greeter", "1.0"), router).await?;
/// let result = connection.handle().call_tool("greet", &json!({})).await?;
/// assert_eq!(result.texts().next(), Some("hello"));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// [`OpenError`] if the connection could not be opened.
pub async fn connect_in_memory(
    server: ServerConfig,
    handler: impl Handler<Server>,
) -> Result<Connection, OpenError> {
    let client = ClientConfig::new("in-memory client", env!("CARGO_PKG_VERSION"));
    connect_in_memory_with(client, RefuseAll::new(), server, handler).await
}

/// As [`connect_in_memory`], with the configuration and the handler of the client.
///
/// # Errors
///
/// As for [`connect_in_memory`].
pub async fn connect_in_memory_with(
    client: ClientConfig,
    client_handler: impl Handler<Client>,
    server: ServerConfig,
    server_handler: impl Handler<Server>,
) -> Result<Connection, OpenError> {
    let (ours, theirs) = tokio::io::duplex(PIPE);
    let (reader, writer) = tokio::io::split(theirs);
    tokio::spawn(serve(server, reader, writer, server_handler));
    let (reader, writer) = tokio::io::split(ours);
    connect(client, reader, writer, client_handler).await
}
