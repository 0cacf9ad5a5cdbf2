//! Nodes in trouble: superseded, leaving, slow, full, out of reach. Each test is a defect that once was there.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod forwarding;
#[path = "../kit/mod.rs"]
mod kit;
mod leaving;
mod owners;
mod store;

use mcp_sansio_store::Node;
use serde_json::{Value, json};

fn subscribe(id: u64, uri: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "resources/subscribe", "params": {"uri": uri}})
}

fn sessions(nodes: &[&Node]) -> Vec<usize> {
    nodes.iter().map(|node| node.endpoint().sessions()).collect()
}
