//! Measures the cost of a store: the time of a call that changes nothing in its session, and of a request that changes it, with and
//! without a store, for one client and for 64 at once.
//!
//! ```sh
//! cargo run --release -p mcp-sansio-store --features redis --example cost -- [REDIS-URL]
//! ```
//!
//! The requests come from the same process, without sockets.

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Request, StatusCode};
use mcp_sansio_http::mcp_sansio::model::{CallToolResult, ListChanged, ResourcesCapability};
use mcp_sansio_http::mcp_sansio::{ClientRequest, ErrorCode, RespondError, ServerConfig};
use mcp_sansio_http::{Endpoint, Exchange};
use mcp_sansio_store::{MemoryStore, Node, RedisStore, SqliteStore, Store};
use tokio::task::JoinSet;

/// How many requests are measured.
const REQUESTS: usize = 6_400;

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"cost","version":"1"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hello","arguments":{"name":"you"}}}"#;
const SUBSCRIBE: &str =
    r#"{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"test://one"}}"#;
const UNSUBSCRIBE: &str =
    r#"{"jsonrpc":"2.0","id":1,"method":"resources/unsubscribe","params":{"uri":"test://one"}}"#;

/// An endpoint without a store, or a node.
#[derive(Clone)]
enum Served {
    Alone(Endpoint),
    Stored(Node),
}

impl Served {
    /// Sends a request. Returns its status and the id of its session.
    async fn send(
        &self,
        session: Option<&str>,
        body: &'static str,
    ) -> (StatusCode, Option<String>) {
        let request = Request::post("/mcp")
            .header("host", "localhost")
            .header("content-type", "application/json");
        let mut request = request.header("accept", "application/json, text/event-stream");
        if let Some(session) = session {
            request = request
                .header("mcp-session-id", session)
                .header("mcp-protocol-version", "2025-11-25");
        }
        let request = request.body(Full::new(Bytes::from_static(body.as_bytes())));
        let Ok(request) = request else { return (StatusCode::BAD_REQUEST, None) };
        let head = match self {
            Self::Alone(endpoint) => {
                let (head, body) = endpoint.handle(request).await.into_parts();
                _ = body.collect().await;
                head
            }
            Self::Stored(node) => {
                let (head, body) = node.handle(request).await.into_parts();
                _ = body.collect().await;
                head
            }
        };
        let session = head.headers.get("mcp-session-id").and_then(|id| id.to_str().ok());
        (head.status, session.map(str::to_owned))
    }

    /// Opens sessions, and measures the time of a request with so many clients at once.
    async fn measure(
        &self,
        clients: usize,
        bodies: [&'static str; 2],
    ) -> Result<Duration, Box<dyn Error>> {
        let mut sessions = Vec::new();
        for _ in 0..clients {
            let (_, session) = self.send(None, INITIALIZE).await;
            let session = session.ok_or("no session")?;
            self.send(Some(&session), INITIALIZED).await;
            sessions.push(session);
        }
        let begin = Instant::now();
        let mut tasks = JoinSet::new();
        for session in sessions {
            let served = self.clone();
            tasks.spawn(async move {
                for body in bodies.iter().cycle().take(REQUESTS / clients) {
                    let (status, _) = served.send(Some(&session), body).await;
                    assert_eq!(status, StatusCode::OK, "every request is served");
                }
            });
        }
        while let Some(ended) = tasks.join_next().await {
            ended?;
        }
        Ok(begin.elapsed() / REQUESTS as u32)
    }
}

async fn handle(exchange: Exchange) -> Result<(), RespondError> {
    match &exchange.request().kind {
        ClientRequest::CallTool(_) => exchange.respond(&CallToolResult::text("Hello, you!")),
        ClientRequest::Subscribe { .. } | ClientRequest::Unsubscribe { .. } => {
            exchange.respond(&())
        }
        _ => exchange.reject(ErrorCode::METHOD_NOT_FOUND, "method not found"),
    }
}

fn endpoint() -> Endpoint {
    let mut config = ServerConfig::new("cost", "1");
    config.capabilities.tools = Some(ListChanged::default());
    let mut resources = ResourcesCapability::default();
    resources.subscribe = Some(true);
    config.capabilities.resources = Some(resources);
    Endpoint::new(config, handle)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let mut stores: Vec<(&str, Option<Arc<dyn Store>>)> = vec![
        ("none", None),
        ("memory", Some(Arc::new(MemoryStore::new()))),
        ("SQLite", Some(Arc::new(SqliteStore::open(directory.path().join("cost.sqlite"))?))),
    ];
    match std::env::args().nth(1) {
        Some(url) => {
            stores.push(("Redis", Some(Arc::new(RedisStore::connect(&*url, "cost/").await?))))
        }
        None => eprintln!("NOT MEASURED: Redis; give the URL of a server"),
    }
    println!("store | call, 1 client | call, 64 | change, 1 client | change, 64 (µs)");
    for (name, store) in stores {
        let served = match store {
            None => Served::Alone(endpoint()),
            Some(store) => Served::Stored(Node::join(endpoint(), store, "127.0.0.1:1").await?),
        };
        let mut line = name.to_owned();
        for bodies in [[CALL, CALL], [SUBSCRIBE, UNSUBSCRIBE]] {
            for clients in [1, 64] {
                let time = served.measure(clients, bodies).await?;
                line += &format!(" | {:.1}", time.as_secs_f64() * 1e6);
            }
        }
        println!("{line}");
    }
    Ok(())
}
