//! Nodes in one process: the network between them is a map, and a node that is killed is no longer in it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(dead_code, reason = "each test uses some of it")]

pub(crate) mod worker;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Request, Response, StatusCode};
use mcp_sansio::json::Raw;
use mcp_sansio::model::{CallToolResult, ListChanged, LoggingLevel, ResourcesCapability};
use mcp_sansio::progress::Progress;
use mcp_sansio::subscription::Log;
use mcp_sansio::{ClientRequest, ErrorCode, RespondError, ServerConfig};
use mcp_sansio_http::{Endpoint, EndpointOptions, Exchange};
use mcp_sansio_store::{
    ForwardError, Forwarded, MemoryStore, Node, NodeBody, NodeOptions, Peers, Store, StoreFuture,
    Stored, Write, Written,
};
use serde_json::{Value, json};

/// The nodes that can be reached, by their addresses.
#[derive(Clone, Default)]
pub(crate) struct Network {
    nodes: Arc<Mutex<BTreeMap<String, Node>>>,
    /// The addresses that do not respond to attempts to connect.
    cut_off: Arc<Mutex<BTreeSet<String>>>,
    /// The addresses that accept connections, and do not respond.
    hanging: Arc<Mutex<BTreeSet<String>>>,
}

impl Network {
    pub(crate) fn node(&self, address: &str) -> Option<Node> {
        self.nodes.lock().unwrap().get(address).cloned()
    }

    /// Cuts a node off from the others, although it goes on by itself.
    pub(crate) fn cut(&self, address: &str) -> Option<Node> {
        self.cut_off.lock().unwrap().insert(address.to_owned());
        self.remove(address)
    }

    /// Lets a node hang for the other nodes.
    pub(crate) fn hang(&self, address: &str) {
        self.hanging.lock().unwrap().insert(address.to_owned());
    }

    /// Removes a node: its computer refuses connections.
    pub(crate) fn remove(&self, address: &str) -> Option<Node> {
        self.nodes.lock().unwrap().remove(address)
    }

    pub(crate) fn connect(&self, address: &str, node: Node) {
        self.cut_off.lock().unwrap().remove(address);
        self.nodes.lock().unwrap().insert(address.to_owned(), node);
    }
}

impl Peers for Network {
    fn forward<'p>(&'p self, address: &'p str, request: Request<Full<Bytes>>) -> Forwarded<'p> {
        Box::pin(async move {
            if self.cut_off.lock().unwrap().contains(address) {
                return Err(ForwardError::NotReached);
            }
            if self.hanging.lock().unwrap().contains(address) {
                std::future::pending::<()>().await;
            }
            let node = self.node(address).ok_or(ForwardError::Refused)?;
            Ok(node.handle_forwarded(request).await)
        })
    }
}

/// A store whose writes take this time.
pub(crate) struct SlowStore(pub(crate) MemoryStore, pub(crate) Duration);

impl Store for SlowStore {
    fn read<'s>(&'s self, key: &'s str) -> StoreFuture<'s, Option<Stored>> {
        self.0.read(key)
    }

    fn write<'s>(&'s self, writes: &'s [Write]) -> StoreFuture<'s, Vec<Written>> {
        Box::pin(async move {
            tokio::time::sleep(self.1).await;
            self.0.write(writes).await
        })
    }
}

/// A store whose writes panic at times.
pub(crate) struct PanickingStore(pub(crate) MemoryStore, pub(crate) Arc<AtomicBool>);

impl Store for PanickingStore {
    fn read<'s>(&'s self, key: &'s str) -> StoreFuture<'s, Option<Stored>> {
        self.0.read(key)
    }

    fn write<'s>(&'s self, writes: &'s [Write]) -> StoreFuture<'s, Vec<Written>> {
        assert!(!self.1.load(Ordering::SeqCst), "the store panics");
        self.0.write(writes)
    }
}

/// Some nodes that share a store.
pub(crate) struct Cluster {
    pub(crate) store: MemoryStore,
    pub(crate) network: Network,
    pub(crate) options: NodeOptions,
    /// The maximum number of sessions of a node.
    pub(crate) most_sessions: usize,
}

impl Cluster {
    pub(crate) fn new() -> Self {
        Self {
            store: MemoryStore::new(),
            network: Network::default(),
            options: NodeOptions::new(),
            most_sessions: 1_000,
        }
    }

    /// Starts a node at an address.
    pub(crate) async fn start(&self, address: &str) -> Node {
        self.start_on(Arc::new(self.store.clone()), address).await
    }

    /// Starts a node that reaches the store in another way.
    pub(crate) async fn start_on(&self, store: Arc<dyn Store>, address: &str) -> Node {
        self.start_with(endpoint(self.most_sessions), store, address).await
    }

    /// Starts a node with another endpoint.
    pub(crate) async fn start_with(
        &self,
        endpoint: Endpoint,
        store: Arc<dyn Store>,
        address: &str,
    ) -> Node {
        let peers = Arc::new(self.network.clone());
        let node = Node::join_with(endpoint, store, address, peers, self.options.clone());
        let node = node.await.unwrap();
        self.network.connect(address, node.clone());
        node
    }

    /// Kills a node: it is gone, with everything that it has not stored.
    pub(crate) fn kill(&self, address: &str) {
        self.network.remove(address).unwrap();
    }
}

pub(crate) fn endpoint(most_sessions: usize) -> Endpoint {
    let (config, mut options) = configuration();
    options.http.most_sessions = most_sessions;
    Endpoint::with(config, options, serve)
}

pub(crate) fn configuration() -> (ServerConfig, EndpointOptions) {
    let mut config = ServerConfig::new("test", "1");
    config.capabilities.tools = Some(ListChanged::default());
    let mut resources = ResourcesCapability::default();
    resources.subscribe = Some(true);
    config.capabilities.resources = Some(resources);
    config.capabilities.logging = Some(mcp_sansio::model::EmptyCapability::default());
    let mut options = EndpointOptions::new();
    options.keep_sessions = true;
    (config, options)
}

/// Tools: `echo` and `data` respond at once, `touch` reports that a resource has changed, `later` takes its argument in milliseconds.
pub(crate) async fn serve(exchange: Exchange) -> Result<(), RespondError> {
    let call = match &exchange.request().kind {
        ClientRequest::CallTool(call) => call,
        ClientRequest::Subscribe { .. } | ClientRequest::Unsubscribe { .. } => {
            return exchange.respond(&());
        }
        _ => return exchange.reject(ErrorCode::METHOD_NOT_FOUND, "method not found"),
    };
    let arguments = call.arguments.as_ref().map_or("null", |arguments| arguments.as_json());
    let arguments: Value = serde_json::from_str(arguments).unwrap();
    match &*call.name.to_str() {
        "echo" => exchange.respond(&CallToolResult::text(arguments.to_string())),
        // As data, in which members have their names.
        "data" => {
            let data = Raw::new(call.arguments.as_ref().map_or("{}", |data| data.as_json()));
            let result = CallToolResult::text("data").structured_content(data.unwrap());
            exchange.respond(&result)
        }
        "touch" => {
            let uri = arguments["uri"].as_str().unwrap_or("test://one");
            _ = exchange.handle().resource_updated(uri);
            exchange.respond(&CallToolResult::text("touched"))
        }
        // A message of a number, on the event stream of the session.
        "note" => {
            let time = arguments["time"].as_u64().unwrap_or(0);
            tokio::time::sleep(Duration::from_millis(time)).await;
            // A client without a log level gets none.
            _ = exchange.handle().log(&Log::new(LoggingLevel::Info, &arguments));
            exchange.respond(&CallToolResult::text("noted"))
        }
        // Its progress makes the response a stream.
        "progress" => {
            _ = exchange.progress(Progress::new(1));
            let time = arguments["time"].as_u64().unwrap_or(10_000);
            tokio::time::sleep(Duration::from_millis(time)).await;
            exchange.respond(&CallToolResult::text("done"))
        }
        "later" => {
            let time = arguments["time"].as_u64().unwrap_or(10_000);
            tokio::time::sleep(Duration::from_millis(time)).await;
            exchange.respond(&CallToolResult::text("later"))
        }
        _ => exchange.reject(ErrorCode::INVALID_PARAMS, "unknown tool"),
    }
}

/// A client's request.
pub(crate) fn request(session: Option<&str>, body: &Value) -> Request<Full<Bytes>> {
    let builder = Request::post("/mcp")
        .header("host", "localhost")
        .header("content-type", "application/json");
    let mut builder = builder.header("accept", "application/json, text/event-stream");
    if let Some(session) = session {
        builder = builder.header("mcp-session-id", session);
        builder = builder.header("mcp-protocol-version", "2025-11-25");
    }
    builder.body(Full::new(Bytes::from(body.to_string()))).unwrap()
}

pub(crate) fn initialize() -> Value {
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}});
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
}

/// Opens a session at a node, with both steps of the handshake.
pub(crate) async fn open(first: &Node, second: &Node) -> String {
    let response = first.handle(request(None, &initialize())).await;
    assert_eq!(response.status(), StatusCode::OK);
    let session = response.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let response = second.handle(request(Some(&session), &initialized)).await;
    assert_eq!(response.status(), StatusCode::ACCEPTED);
    session
}

pub(crate) fn call(id: u64, tool: &str, arguments: &Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

/// Sends a request of a session, and returns the status and the message of the response.
pub(crate) async fn send(node: &Node, session: &str, body: &Value) -> (u16, Value) {
    whole(node.handle(request(Some(session), body)).await).await
}

pub(crate) async fn whole(response: Response<NodeBody>) -> (u16, Value) {
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&body).unwrap_or(Value::Null))
}

/// The text of a tool's result.
pub(crate) fn text(message: &Value) -> &str {
    message["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{message}"))
}

/// Opens the event stream of a session, after an event if its id is given.
pub(crate) async fn listen(
    node: &Node,
    session: &str,
    last_event: Option<&str>,
) -> Response<NodeBody> {
    node.handle(listen_request(session, last_event)).await
}

pub(crate) fn listen_request(session: &str, last_event: Option<&str>) -> Request<Full<Bytes>> {
    let builder =
        Request::get("/mcp").header("host", "localhost").header("accept", "text/event-stream");
    let mut builder =
        builder.header("mcp-session-id", session).header("mcp-protocol-version", "2025-11-25");
    if let Some(event) = last_event {
        builder = builder.header("last-event-id", event);
    }
    builder.body(Full::default()).unwrap()
}

pub(crate) async fn end(node: &Node, session: &str) -> u16 {
    node.handle(end_request(session)).await.status().as_u16()
}

pub(crate) fn end_request(session: &str) -> Request<Full<Bytes>> {
    let builder =
        Request::delete("/mcp").header("host", "localhost").header("mcp-session-id", session);
    builder.header("mcp-protocol-version", "2025-11-25").body(Full::default()).unwrap()
}

/// Returns the next event with a message of a stream: its id, and the message.
pub(crate) async fn event(stream: &mut Response<NodeBody>) -> (String, Value) {
    loop {
        // Time passes at once, so that a missing event ends the test.
        let event = tokio::time::timeout(Duration::from_secs(600), next_event(stream)).await;
        let (id, message) = event.unwrap().unwrap();
        if !message.is_null() {
            return (id, message);
        }
    }
}

/// Returns the next event that has an id, which may have no message: a client can resume after it. `None` if the stream
/// ends.
pub(crate) async fn next_event(stream: &mut Response<NodeBody>) -> Option<(String, Value)> {
    loop {
        let frame = stream.body_mut().frame().await?.ok()?.into_data().unwrap();
        let text = String::from_utf8(frame.to_vec()).unwrap();
        let field = |name| text.lines().find_map(|line| line.strip_prefix(name));
        if let Some(id) = field("id: ") {
            let message = field("data: ").and_then(|data| serde_json::from_str(data).ok());
            return Some((id.to_owned(), message.unwrap_or_default()));
        }
    }
}

/// Returns the next event with a message of a stream whose events have no ids.
pub(crate) async fn message(stream: &mut Response<NodeBody>) -> Value {
    try_message(stream).await.unwrap()
}

/// As [`message`], and `None` if the stream ends.
pub(crate) async fn try_message(stream: &mut Response<NodeBody>) -> Option<Value> {
    loop {
        let frame = tokio::time::timeout(Duration::from_secs(600), stream.body_mut().frame()).await;
        let frame = frame.unwrap()?.ok()?.into_data().unwrap();
        let text = String::from_utf8(frame.to_vec()).unwrap();
        let data = text.lines().find_map(|line| line.strip_prefix("data: "));
        if let Some(message) = data.and_then(|data| serde_json::from_str(data).ok()) {
            return Some(message);
        }
    }
}
