//! A client and a server in one process.

use std::{io, thread};

use mcp_sansio::{Client, ClientConfig, Server, ServerConfig};
use mcp_sansio_driver::{Connection, OpenError};

use crate::connect::connect;
use crate::handler::{Handler, RefuseAll};
use crate::serve::serve;

/// Connects a client to a server in this process, for tests: with the real handler, over pipes. The client has the
/// default configuration, and its handler refuses every request; [`connect_in_memory_with`] takes others. The server
/// ends with the connection.
///
/// ```
/// use mcp_sansio::model::Tool;
/// use mcp_sansio_std::{Router, connect_in_memory};
/// use serde_json::{Value, json};
///
/// let router = Router::new();
/// let schema = mcp_sansio::json::Raw::new(r#"{"type":"object"}"#)?;
/// router.tool_with(Tool::new("greet", schema), |_: Value, _| "hello");
///
/// let connection = connect_in_memory(router.config("greeter", "1.0"), router)?;
/// let result = connection.handle().call_tool("greet", &json!({})).wait()?;
/// assert_eq!(result.texts().next(), Some("hello"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`OpenError`] if the connection could not be opened.
pub fn connect_in_memory(
    server: ServerConfig,
    handler: impl Handler<Server>,
) -> Result<Connection, OpenError> {
    let client = ClientConfig::new("in-memory client", env!("CARGO_PKG_VERSION"));
    connect_in_memory_with(client, RefuseAll::new(), server, handler)
}

/// As [`connect_in_memory`], with the configuration and the handler of the client.
///
/// # Errors
///
/// As for [`connect_in_memory`].
pub fn connect_in_memory_with(
    client: ClientConfig,
    client_handler: impl Handler<Client>,
    server: ServerConfig,
    server_handler: impl Handler<Server>,
) -> Result<Connection, OpenError> {
    let (from_client, to_server) = io::pipe().map_err(OpenError::Streams)?;
    let (from_server, to_client) = io::pipe().map_err(OpenError::Streams)?;
    // The thread ends with the connection. An error of the server ends the connection as well.
    let serving = move || serve(server, from_client, to_client, server_handler);
    let thread = thread::Builder::new().name("mcp server".into());
    thread.spawn(serving).map_err(OpenError::Streams)?;
    connect(client, from_server, to_server, client_handler)
}
