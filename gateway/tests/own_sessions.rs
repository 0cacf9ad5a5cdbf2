//! Programs that belong to one client end as other programs do.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod kit;

use std::time::Duration;

use kit::*;
use mcp_sansio::Revision;
use mcp_sansio_gateway::config::{CommandConfig, Sharing, UpstreamConfig, UpstreamTransport};
use mcp_sansio_http::{Endpoint, EndpointOptions};
use serde_json::json;

/// A server in the shell, which writes a line into the file of its argument after the end of its input.
const SERVER: &str = r#"while read -r line; do
    id=${line#*'"id":'}; id=${id%%,*}
    case "$line" in
        *server/discover*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id" ;;
        *'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}\n' "$id" ;;
        *tools/list*) printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}}\n' "$id" ;;
        *tools/call*) printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"done"}]}}\n' "$id" ;;
    esac
done
echo ended >> "$1""#;

/// A killed process writes no line.
#[tokio::test]
async fn the_process_of_a_client_that_leaves_ends_by_itself() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("ended");
    let mut program = CommandConfig::new("sh");
    program.arguments = ["-c", SERVER, "sh", file.to_str().unwrap()].map(String::from).into();
    let mut config = UpstreamConfig::new("one", UpstreamTransport::Command(program));
    config.sharing = Sharing::PerClient { most: 2, idle: Duration::from_secs(600) };
    let gateway = start_with(vec![config]).await;
    let mut options = EndpointOptions::new();
    options.connection = gateway.connection_options();
    let endpoint = Endpoint::with(gateway.server_config(), options, gateway.clone());
    let client = Peer::over_http(&endpoint, Revision::V2025_11_25, ("x-any", "1"), "c").await;
    assert_eq!(client.call("one__a", json!({})).await.unwrap(), "done");
    assert_eq!(gateway.status().upstreams[0].client_sessions, 1);
    client.connection.close(Duration::ZERO).await.unwrap();
    while gateway.status().upstreams[0].client_sessions != 0 {
        tokio::task::yield_now().await;
    }
    // Its own process, and that of all clients.
    gateway.close(Duration::ZERO, Duration::from_secs(60)).await;
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "ended\nended\n");
}
