//! Valid and invalid messages.

use bytes::Bytes;
use serde_json::{Value, json};

/// The revision of the modern era.
pub(crate) const MODERN: &str = "2026-07-28";

/// The last message of the handshake.
pub(crate) const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// A request.
pub(crate) fn request(id: &Value, method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

/// A request to open a session. The client declares every capability for requests of the server.
pub(crate) fn initialize(version: &str) -> String {
    let params = json!({
        "protocolVersion": version,
        "capabilities": {"sampling": {}, "elicitation": {}, "roots": {}},
        "clientInfo": {"name": "attack", "version": "1"},
    });
    request(&"initialize".into(), "initialize", &params)
}

/// A ping with this id.
pub(crate) fn ping(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":"{id}","method":"ping"}}"#)
}

/// A tool call in the legacy era.
pub(crate) fn call(id: &str, tool: &str, arguments: &Value) -> String {
    request(&id.into(), "tools/call", &json!({"name": tool, "arguments": arguments}))
}

/// A tool call as a task.
pub(crate) fn call_as_task(id: &str, tool: &str, arguments: &Value) -> String {
    let params = json!({"name": tool, "arguments": arguments, "task": {"ttl": 600_000}});
    request(&id.into(), "tools/call", &params)
}

/// A modern request.
pub(crate) fn modern(id: &str, method: &str, mut params: Value) -> String {
    if let Some(params) = params.as_object_mut() {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": {"sampling": {}, "elicitation": {}},
        });
        params.insert("_meta".into(), meta);
    }
    request(&id.into(), method, &params)
}

/// A modern response of this many bytes to the required input of a task that does not exist.
pub(crate) fn task_update(id: &str, bytes: usize) -> String {
    let params = json!({
        "taskId": "none",
        "inputResponses": {"input": {"text": text(bytes)}},
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": {
                "extensions": {"io.modelcontextprotocol/tasks": {}},
            },
        },
    });
    request(&id.into(), "tasks/update", &params)
}

/// The cancellation of a request.
pub(crate) fn cancelled(id: &str) -> String {
    let params = json!({"requestId": id});
    let method = "notifications/cancelled";
    json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string()
}

/// A tool call in the modern era.
pub(crate) fn modern_call(id: &str, tool: &str, arguments: &Value) -> String {
    modern(id, "tools/call", json!({"name": tool, "arguments": arguments}))
}

/// A subscription to `uris` resources, whose URIs have about `bytes` bytes each.
pub(crate) fn listen(id: &str, uris: usize, bytes: usize) -> String {
    let uri = |number: usize| format!("test://{number}/{}", "u".repeat(bytes));
    let uris: Vec<String> = (0..uris).map(uri).collect();
    modern(id, "subscriptions/listen", json!({"notifications": {"resourceSubscriptions": uris}}))
}

/// A text of this many bytes.
pub(crate) fn text(bytes: usize) -> String {
    "x".repeat(bytes)
}

/// A batch of this many pings, kept open by one slow call.
pub(crate) fn open_batch(number: usize, pings: usize) -> String {
    let slow = call(&format!("s{number}"), "slow", &json!({"ms": 600_000}));
    let pings = (0..pings).map(|ping_number| ping(&format!("b{number}-{ping_number}")));
    let elements: Vec<String> = std::iter::once(slow).chain(pings).collect();
    format!("[{}]", elements.join(","))
}

/// Arrays nested to about this depth.
pub(crate) fn nesting(depth: usize) -> Bytes {
    let params = format!("{}{}", "[".repeat(depth / 2), "]".repeat(depth / 2));
    format!(r#"{{"jsonrpc":"2.0","id":"deep","method":"ping","params":{{"a":{params}}}}}"#).into()
}
