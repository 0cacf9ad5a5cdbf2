//! A client and a server in one process.

use mcp_sansio::{Client, ClientConfig, Server, ServerConfig};
use mcp_sansio_driver::asynchronous::{Handler, RefuseAll, Work};
use mcp_sansio_driver::{Connection, OpenError};

use crate::connect::connect;
use crate::serve::serve;

/// The room of a pipe in bytes.
const PIPE: usize = 64 << 10;

/// Connects a client to a server in this process, for tests: with the real handler, over pipes in memory. The client has the
/// default configuration, and its handler refuses every request; [`connect_in_memory_with`] takes others. The server
/// ends with the connection. `spawn` starts tasks, as for
/// [`connect`].
///
/// ```
/// use mcp_sansio::model::Tool;
/// use mcp_sansio_async_std::{Router, connect_in_memory};
/// use serde_json::{Value, json};
///
/// # smol::block_on(async {
/// let router = Router::new();
/// let schema = mcp_sansio::json::Raw::new(r#"{"type":"object"}"#)?;
/// router.tool_with(Tool::new("greet", schema), |_: Value, _| "hello");
///
/// let spawn = |work| smol::spawn(work).detach();
/// let connection = connect_in_memory(router.config("greeter", "1.0"), router, spawn).await?;
/// let result = connection.handle().call_tool("greet", &json!({})).await?;
/// assert_eq!(result.texts().next(), Some("hello"));
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`OpenError`] if the connection could not be opened.
pub async fn connect_in_memory(
    server: ServerConfig,
    handler: impl Handler<Server>,
    spawn: impl Fn(Work) + Clone + Send + Sync + 'static,
) -> Result<Connection, OpenError> {
    let client = ClientConfig::new("in-memory client", env!("CARGO_PKG_VERSION"));
    connect_in_memory_with(client, RefuseAll::new(), server, handler, spawn).await
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
    spawn: impl Fn(Work) + Clone + Send + Sync + 'static,
) -> Result<Connection, OpenError> {
    let ((from_client, to_server), (from_server, to_client)) =
        (piper::pipe(PIPE), piper::pipe(PIPE));
    let serving = serve(server, from_client, to_client, server_handler, spawn.clone());
    // An error of the server ends the connection as well.
    spawn(Box::pin(async move { _ = serving.await }));
    connect(client, from_server, to_server, client_handler, spawn).await
}
