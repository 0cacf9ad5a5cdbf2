//! One of several nodes that serve the same endpoint. They share a store, and a balancer in front of them gives each request
//! to any of them.
//!
//! ```sh
//! cargo run -p mcp-sansio-store --features redis --example cluster_node -- --store sqlite:target/sessions.sqlite --listen 127.0.0.1:3001
//! ```
//!
//! Start several, each with another port. Its tools: `echo`; `note`, which sends its argument as a log message on the event
//! stream of the session; `work`, which takes some `seconds` as a task. If its node ends, another one continues the work.

use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use mcp_sansio_http::mcp_sansio::json::Raw;
use mcp_sansio_http::mcp_sansio::model::{
    CallToolResult, EmptyCapability, ListChanged, ListToolsResult, LoggingLevel,
    ResourcesCapability, TaskSupport, Tool, ToolExecution,
};
use mcp_sansio_http::mcp_sansio::request::TaskMode;
use mcp_sansio_http::mcp_sansio::subscription::Log;
use mcp_sansio_http::mcp_sansio::{ClientRequest, ErrorCode, RespondError, ServerConfig};
use mcp_sansio_http::{
    ConnectionOptions, Endpoint, EndpointOptions, Exchange, SharedTasks, TaskHandle, new_task,
};
use mcp_sansio_store::{
    HttpPeers, Listeners, Node, NodeOptions, RedisStore, ServeOptions, SqliteStore, Store, serve,
};
use serde_json::Value;
use tokio::net::TcpListener;

/// Serves an endpoint together with other nodes.
#[derive(Parser)]
struct Arguments {
    /// The store: `sqlite:FILE`, or the URL of a server of Redis, such as `redis://localhost`
    #[arg(long)]
    store: String,
    /// The address for clients; port 0 selects a free one
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// The address for the other nodes, in a private network
    #[arg(long, default_value = "127.0.0.1:0")]
    nodes: SocketAddr,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let store: Arc<dyn Store> = match arguments.store.strip_prefix("sqlite:") {
        Some(file) => Arc::new(SqliteStore::open(file)?),
        None => Arc::new(RedisStore::connect(&*arguments.store, "cluster_node/").await?),
    };
    let clients = TcpListener::bind(arguments.listen).await?;
    let nodes = TcpListener::bind(arguments.nodes).await?;
    let mut options = NodeOptions::new();
    options.resume_task = Some(Arc::new(|task, checkpoint| {
        tokio::spawn(work(task, serde_json::from_str(&checkpoint).unwrap_or_default()));
    }));
    let (address, peers) = (nodes.local_addr()?.to_string(), Arc::new(HttpPeers::new()));
    let node = Node::join_with(endpoint(), store, address, peers, options).await?;
    eprintln!("listening on {}", clients.local_addr()?);
    serve(node, "/mcp", Listeners { clients, nodes }, stop_signal(), ServeOptions::new()).await?;
    Ok(())
}

/// Waits for SIGINT or, on Unix, SIGTERM.
async fn stop_signal() {
    let interrupt = async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending().await
        }
    };
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let terminate = async {
            match signal(SignalKind::terminate()) {
                Ok(mut signal) => _ = signal.recv().await,
                Err(_) => std::future::pending().await,
            }
        };
        tokio::select! {
            () = interrupt => {}
            () = terminate => {}
        }
    }
    #[cfg(not(unix))]
    interrupt.await;
}

fn endpoint() -> Endpoint {
    let mut config = ServerConfig::new("cluster_node", env!("CARGO_PKG_VERSION"));
    let capabilities = &mut config.capabilities;
    capabilities.tools = Some(ListChanged::default());
    capabilities.logging = Some(EmptyCapability::default());
    let mut resources = ResourcesCapability::default();
    resources.subscribe = Some(true);
    capabilities.resources = Some(resources);
    config.capabilities = config.capabilities.with_tasks();
    let mut options = EndpointOptions::new();
    // A node that leaves hands its sessions over.
    options.keep_sessions = true;
    options.connection = ConnectionOptions::new().tasks(SharedTasks::default());
    Endpoint::with(config, options, handle)
}

async fn handle(exchange: Exchange) -> Result<(), RespondError> {
    let call = match &exchange.request().kind {
        ClientRequest::CallTool(call) => call,
        ClientRequest::ListTools(_) => {
            let schema = Raw::new(r#"{"type":"object"}"#).unwrap_or(Raw::EMPTY_OBJECT);
            let mut tools = ["echo", "note", "work"].map(|name| Tool::new(name, schema.clone()));
            let [_, _, work] = &mut tools;
            let mut execution = ToolExecution::default();
            execution.task_support = Some(TaskSupport::Required);
            work.execution = Some(execution);
            return exchange.respond(&ListToolsResult::new(tools));
        }
        ClientRequest::Subscribe { .. } | ClientRequest::Unsubscribe { .. } => {
            return exchange.respond(&());
        }
        _ => return exchange.reject(ErrorCode::METHOD_NOT_FOUND, "method not found"),
    };
    let arguments = call.parse::<Value>();
    let Ok(arguments) = arguments else {
        return exchange.respond(&CallToolResult::error("the arguments are no object"));
    };
    match &*call.name.to_str() {
        "echo" => exchange.respond(&CallToolResult::text(arguments.to_string())),
        "note" => {
            // A client that has not set a log level gets no messages.
            _ = exchange.handle().log(&Log::new(LoggingLevel::Info, &arguments));
            exchange.respond(&CallToolResult::text("noted"))
        }
        "work" => begin_work(&exchange, arguments).await,
        _ => exchange.reject(ErrorCode::INVALID_PARAMS, "unknown tool"),
    }
}

/// Makes a task of a call, which goes on after the node has ended: the arguments are its checkpoint.
async fn begin_work(exchange: &Exchange, arguments: Value) -> Result<(), RespondError> {
    if exchange.task_mode(&TaskSupport::Required)? != Some(TaskMode::Task) {
        return Ok(());
    }
    let failed = |error: &dyn Error| exchange.reject(ErrorCode::INTERNAL_ERROR, &error.to_string());
    let new = match new_task() {
        Ok(new) => new.checkpoint(arguments.to_string()),
        Err(error) => return failed(&error),
    };
    match exchange.begin_task(new.poll_interval(Duration::from_millis(200))) {
        Ok(task) => work(task, arguments).await,
        Err(error) => return failed(&error),
    }
    Ok(())
}

async fn work(task: TaskHandle, arguments: Value) {
    let seconds =
        arguments.get("seconds").and_then(Value::as_f64).unwrap_or(1.0).clamp(0.0, 3600.0);
    tokio::select! {
        () = tokio::time::sleep(Duration::from_secs_f64(seconds)) => {
            // It fails if the result is not wanted any more.
            _ = task.complete(&CallToolResult::text(arguments.to_string()));
        }
        () = task.cancelled() => {}
    }
}
