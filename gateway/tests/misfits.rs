//! Items of a server that the revision of a client cannot express.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod kit;

use std::sync::Arc;

use kit::*;
use mcp_sansio::{CallOptions, ClientConfig};
use mcp_sansio_gateway::config::{GatewayConfig, UpstreamConfig, UpstreamTransport};
use mcp_sansio_gateway::{Connect, ConnectFuture, Gateway, UpstreamHandler};
use mcp_sansio_tokio::{ConnectionOptions, Json, connect_with};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

/// A server that checks nothing. These are its tools.
struct Careless(Value);

impl Connect for Careless {
    fn connect(&self, config: ClientConfig, handler: UpstreamHandler) -> ConnectFuture<'_> {
        let (ours, theirs) = tokio::io::duplex(64 << 10);
        let tools = self.0.clone();
        tokio::spawn(async move {
            let (reader, mut writer) = tokio::io::split(theirs);
            let mut lines = BufReader::new(reader).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                let message: Value = serde_json::from_str(&line).unwrap();
                let Some(id) = message.get("id") else { continue };
                let info = json!({"name": "careless", "version": "1"});
                let mut response = match message["method"].as_str() {
                    Some("initialize") => json!({"result": {"protocolVersion": "2025-11-25",
                        "capabilities": {"tools": {}}, "serverInfo": info}}),
                    Some("tools/list") => json!({"result": {"tools": tools}}),
                    _ => json!({"error": {"code": -32601, "message": "method not found"}}),
                };
                response["jsonrpc"] = "2.0".into();
                response["id"] = id.clone();
                writer.write_all(format!("{response}\n").as_bytes()).await.unwrap();
            }
        });
        Box::pin(async move {
            let (reader, writer) = tokio::io::split(ours);
            connect_with(config, &ConnectionOptions::new(), reader, writer, handler).await
        })
    }
}

/// Returns the names of the tools, page by page.
async fn pages(client: &Peer) -> Vec<Vec<String>> {
    let (mut pages, mut cursor) = (Vec::new(), None::<String>);
    loop {
        let params = Json(cursor.map_or_else(|| json!({}), |cursor| json!({"cursor": cursor})));
        let page = client.handle().call_method("tools/list", &params, CallOptions::new()).await;
        let page: Value = page.unwrap().raw().parse().unwrap();
        let name = |tool: &Value| tool["name"].as_str().unwrap().to_owned();
        pages.push(page["tools"].as_array().unwrap().iter().map(name).collect());
        cursor = page.get("nextCursor").map(|cursor| cursor.as_str().unwrap().to_owned());
        if cursor.is_none() {
            return pages;
        }
    }
}

/// Every tool with an even number has a schema without a type.
#[tokio::test(start_paused = true)]
async fn a_page_has_every_item_that_fits_once() {
    let tools = (0..200).map(|number| match number % 2 {
        0 => json!({"name": format!("t{number}"), "inputSchema": {}}),
        _ => json!({"name": format!("t{number}"), "inputSchema": {"type": "object"}}),
    });
    let careless = UpstreamTransport::Custom(Arc::new(Careless(tools.collect())));
    let other = Fake::modern("other");
    let upstreams = vec![UpstreamConfig::new("careless", careless), other.config()];
    let mut config = GatewayConfig::new("gateway", upstreams);
    config.page_size = 30;
    let gateway = Gateway::start(config).unwrap();
    let fitting = (0..200).filter(|number| number % 2 == 1).map(|n| format!("careless__t{n}"));
    let expected: Vec<String> =
        fitting.chain(TOOLS.iter().map(|name| format!("other__{name}"))).collect();
    for client in [Peer::legacy(&gateway, "a").await, Peer::modern(&gateway, "b").await] {
        let pages = pages(&client).await;
        assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), [30, 30, 30, 20]);
        assert_eq!(pages.concat(), expected);
    }
    let problem = gateway.status().upstreams[0].last_problem.clone().unwrap();
    let reason = "tools[0].inputSchema.type is missing";
    assert_eq!(problem, format!("tools: careless__t198 is left out for a client: {reason}"));
}
