//! Measures the cost of a store: the time of a call that changes nothing in its session, of a request that changes it, and of a
//! task that is begun, completed and read, with and without a store, for one client and for 64 at once.
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
use http_body_util::{BodyExt, Collected, Full};
use hyper::http::response::Parts;
use hyper::{Request, StatusCode};
use mcp_sansio_http::mcp_sansio::model::{
    CallToolResult, ListChanged, ResourcesCapability, TaskSupport,
};
use mcp_sansio_http::mcp_sansio::request::TaskMode;
use mcp_sansio_http::mcp_sansio::task::TasksConfig;
use mcp_sansio_http::mcp_sansio::{ClientRequest, ErrorCode, RespondError, ServerConfig};
use mcp_sansio_http::{
    ConnectionOptions, Endpoint, EndpointOptions, Exchange, SharedTasks, new_task,
};
use mcp_sansio_store::{MemoryStore, Node, RedisStore, SqliteStore, Store};
use tokio::task::JoinSet;

/// How many requests are measured.
const REQUESTS: usize = 6_400;

/// How many tasks are measured.
const TASKS: usize = 3_200;

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"cost","version":"1"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hello","arguments":{"name":"you"}}}"#;
const SUBSCRIBE: &str =
    r#"{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"test://one"}}"#;
const UNSUBSCRIBE: &str =
    r#"{"jsonrpc":"2.0","id":1,"method":"resources/unsubscribe","params":{"uri":"test://one"}}"#;

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}"#;

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
        let Ok(request) = request.body(Full::new(Bytes::from_static(body.as_bytes()))) else {
            return (StatusCode::BAD_REQUEST, None);
        };
        let (head, _) = self.handle(request).await;
        let session = head.headers.get("mcp-session-id").and_then(|id| id.to_str().ok());
        (head.status, session.map(str::to_owned))
    }

    async fn handle(&self, request: Request<Full<Bytes>>) -> (Parts, Bytes) {
        let (head, body) = match self {
            Self::Alone(endpoint) => {
                let (head, body) = endpoint.handle(request).await.into_parts();
                (head, body.collect().await.map(Collected::to_bytes).ok())
            }
            Self::Stored(node) => {
                let (head, body) = node.handle(request).await.into_parts();
                (head, body.collect().await.map(Collected::to_bytes).ok())
            }
        };
        (head, body.unwrap_or_default())
    }

    /// Sends a modern request, and returns the response.
    async fn ask(
        &self,
        method: &str,
        name: &str,
        params: &str,
    ) -> Result<String, Box<dyn Error + Send + Sync>> {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{params},{META}}}}}"#
        );
        let request = Request::post("/mcp")
            .header("host", "localhost")
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", "2026-07-28")
            .header("mcp-method", method)
            .header("mcp-name", name)
            .body(Full::new(Bytes::from(body)))?;
        let (head, body) = self.handle(request).await;
        let text = String::from_utf8(body.to_vec())?;
        if head.status == StatusCode::OK { Ok(text) } else { Err(text.into()) }
    }

    /// Measures the time of a task that is begun, completed and read, with so many clients at once.
    async fn measure_tasks(&self, clients: usize) -> Result<Duration, Box<dyn Error>> {
        let begin = Instant::now();
        let mut clients_of = JoinSet::new();
        for _ in 0..clients {
            let served = self.clone();
            clients_of.spawn(async move {
                for _ in 0..TASKS / clients {
                    let begun = served.ask("tools/call", "work", r#""name":"work""#).await?;
                    let id = begun.split(r#""taskId":""#).nth(1).and_then(|rest| rest.get(..32));
                    let id = id.ok_or("no task")?;
                    let read = served.ask("tasks/get", id, &format!(r#""taskId":"{id}""#)).await?;
                    assert!(read.contains("completed"), "{read}");
                }
                Ok::<_, Box<dyn Error + Send + Sync>>(())
            });
        }
        while let Some(ended) = clients_of.join_next().await {
            ended?.map_err(|error| error.to_string())?;
        }
        Ok(begin.elapsed() / TASKS as u32)
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
        ClientRequest::CallTool(call) if &*call.name.to_str() == "work" => {
            if exchange.task_mode(&TaskSupport::Required)? == Some(TaskMode::Task)
                && let Ok(new) = new_task()
                && let Ok(task) = exchange.begin_task(new)
            {
                _ = task.complete(&CallToolResult::text("done"));
            }
            Ok(())
        }
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
    config.capabilities = config.capabilities.with_tasks();
    let mut tasks = TasksConfig::default();
    (tasks.tasks, tasks.tasks_of_owner) = (u32::MAX, u32::MAX);
    let mut options = EndpointOptions::new();
    options.connection = ConnectionOptions::new().tasks(SharedTasks::new(tasks));
    Endpoint::with(config, options, handle)
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
    println!(
        "store | call, 1 client | call, 64 | change, 1 client | change, 64 | task, 1 client | task, 64 (µs)"
    );
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
        for clients in [1, 64] {
            let time = served.measure_tasks(clients).await?;
            line += &format!(" | {:.1}", time.as_secs_f64() * 1e6);
        }
        println!("{line}");
    }
    Ok(())
}
