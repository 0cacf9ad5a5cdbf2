//! Several processes serve one endpoint of [`mcp_sansio_http`], and its sessions outlive each of them.
//!
//! A [`Node`] is such a process. Nodes share a [`Store`]: `SqliteStore` (feature `sqlite`, on by default) for processes
//! of one computer, `RedisStore` (feature `redis`) for several computers, or a store of your own. A balancer in front of
//! them gives each request to any node, without sticky sessions.
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use mcp_sansio_http::mcp_sansio::ServerConfig;
//! use mcp_sansio_http::{Endpoint, EndpointOptions, Router};
//! use mcp_sansio_store::{Listeners, Node, ServeOptions, SqliteStore, serve};
//! use tokio::net::TcpListener;
//!
//! # async fn main_of(router: Router, stop: impl Future<Output = ()>) -> Result<(), Box<dyn std::error::Error>> {
//! let mut options = EndpointOptions::new();
//! // A node that stops hands its sessions over.
//! options.keep_sessions = true;
//! let endpoint = Endpoint::with(ServerConfig::new("server", "1.0"), options, router);
//! let store = Arc::new(SqliteStore::open("/var/lib/server/sessions.sqlite")?);
//! let listeners = Listeners {
//!     clients: TcpListener::bind("0.0.0.0:3001").await?,
//!     nodes: TcpListener::bind("127.0.0.1:4001").await?,
//! };
//! let node = Node::join(endpoint, store, "127.0.0.1:4001").await?;
//! serve(node, "/mcp", listeners, stop, ServeOptions::new()).await?;
//! # Ok(())
//! # }
//! ```
//!
//! # How a session moves
//!
//! - A session of the legacy era is served by one node at a time. Its record in the store names that node. Another node that
//!   gets a request of the session passes it on, over HTTP.
//! - A node stores a session before it sends anything that its client could rely on: the response to a request that has
//!   changed the session, and each event of an event stream. A request that changes nothing is not stored.
//! - A node is gone if its address refuses connections, if it gives no sign of life for [5 s](NodeOptions::silence), or
//!   if it could not be reached for as long. The next node that gets a request of one of its sessions takes the session
//!   over. After a failure of the store, missing heartbeats are ignored for one [`silence`](NodeOptions::silence)
//!   period.
//! - Each write names the version that it expects. A replaced node stops serving the session at its next write, which
//!   conflicts. Without a write, it reads the record again at the first request after 5 s. Until then it answers
//!   read-only requests from its own state. An event stream at that node ends at its next event or comment
//!   ([`keep_alive`](mcp_sansio::http::HttpServerConfig::keep_alive)).
//! - A node that is [stopped](Node::leave) stores each session without a node as soon as no request of it is open. A request that
//!   arrives at the node after that gets 503 with `Retry-After`, so let the balancer send it none.
//! - A request of a session gets 503 with `Retry-After` while it cannot be served: the store fails, the session moves, or its
//!   node cannot be reached and is not gone yet.
//!
//! Modern requests (2026-07-28) belong to no session: each node serves what it gets. Their request state is valid at every node
//! if all nodes protect it with the same key: [`shared_key`].
//!
//! # Tasks
//!
//! A node shares the [tasks](mcp_sansio_http::ConnectionOptions::tasks) of its endpoint with the other nodes:
//!
//! - The work of a task is done by the node that has begun it. That node stores the record of the task before it sends anything
//!   that tells about it: the task itself, its status, its result.
//! - Every other node serves requests about the task from a copy of the record. It sends a cancellation, or the input that the
//!   task requires, to the node of the task before it responds. While a request or a subscription waits for the task, it
//!   reads the record [every 500 ms](NodeOptions::task_refresh).
//! - If the node of a task is gone, the next node that gets a request about the task takes it over. The task fails, unless the
//!   application continues the work: a task with a [checkpoint](mcp_sansio::task::NewTask::checkpoint) goes to
//!   [`NodeOptions::resume_task`]. A superseded node gives its work up at the next change or request, or within four
//!   times [`silence`](NodeOptions::silence).
//! - A node that is stopped waits for the work that no other node can continue, and hands the rest over.
//! - A change that the node of a task did not get is undone, and its request gets 503. Event streams that would show it end, and
//!   their clients resume them.
//! - The copies of a node count for its limits ([`TasksConfig`](mcp_sansio::task::TasksConfig)): give it room for the tasks of all
//!   nodes. Copies that nothing waits for make room for others, or are dropped after a minute.
//! - The end of a session without a user ends its tasks at the node of the session. Work on them at other nodes goes on,
//!   although no request can reach it: give such tasks a time to live.
//! - `tasks/list` lists the tasks of all nodes, of a user or a session the latest 10,000. Let every node have the same
//!   [`cursor_key`](mcp_sansio::task::TasksConfig::cursor_key), and let
//!   [`identify`](mcp_sansio_http::EndpointOptions::identify) number users alike. The clocks of the nodes should agree to a few
//!   seconds, because tasks expire by them.
//!
//! ```
//! use std::sync::Arc;
//!
//! use mcp_sansio_http::mcp_sansio::model::CallToolResult;
//! use mcp_sansio_http::{SharedTasks, TaskHandle, new_task};
//! use mcp_sansio_store::NodeOptions;
//!
//! /// The work of a task, from a step on. It stores the steps that it has done.
//! async fn work(task: TaskHandle, first: u32) {
//!     for step in first..10 {
//!         if task.is_cancelled() {
//!             return;
//!         }
//!         // … the step itself, which must be safe to repeat …
//!         _ = task.set_checkpoint(&(step + 1).to_string());
//!     }
//!     _ = task.complete(&CallToolResult::text("done"));
//! }
//!
//! let mut options = NodeOptions::new();
//! options.resume_task = Some(Arc::new(|task, checkpoint| {
//!     tokio::spawn(work(task, checkpoint.parse().unwrap_or(0)));
//! }));
//! // The handler begins such a task, and works on it: `exchange.begin_task(new_task()?.checkpoint("0"))`.
//! # _ = (options, new_task, SharedTasks::default());
//! ```
//!
//! # What is kept, and what is lost
//!
//! | after a node was killed | |
//! |---|---|
//! | a session whose `initialize` was answered | kept |
//! | log level, subscriptions to resources, and the rest of [`SavedHttpSession`](mcp_sansio::http::SavedHttpSession) | kept, if the request was answered |
//! | events that were sent, for `Last-Event-ID` | kept, within the limits of [`HttpServerConfig`](mcp_sansio::http::HttpServerConfig), except for the streams of requests without a response |
//! | a message of the server that is not sent yet | kept, if a request of the session was answered after it |
//! | a request without a response | lost: the HTTP connection breaks, and the client asks again |
//! | a request of the server without a response | lost |
//! | a task that was acknowledged, its result, a cancellation, and input that was acknowledged | kept, until its time to live ends |
//! | the work of a task | goes on from its checkpoint at another node, when a request asks for the task; without a checkpoint the task fails |
//! | progress of a task in a session | lost: its status stays |
//! | sessions of HTTP+SSE (2024-11-05) | lost: they end with their event stream, and their messages need a sticky balancer and a server of your own, as [`serve`] has no paths for them |
//!
//! A request may be served although its response is lost, so a client that asks again may cause its effect twice, as with every
//! server.
//!
//! # Addresses and trust
//!
//! A node has two sockets ([`Listeners`]). That for other nodes belongs to a private network: requests are passed on without TLS,
//! with all their header fields, and the node believes the address of the client that they name. The node that
//! serves the session checks access tokens, host names and origins, as it does without other nodes. If a balancer hides the
//! addresses of clients, let [`EndpointOptions::identify`](mcp_sansio_http::EndpointOptions::identify) take the one that it reports.
//!
//! A request that is passed on takes a connection between two nodes, and an event stream does for as long as it is open. Its body
//! is read whole first, up to [`NodeOptions::body_bytes`], and counts for [`NodeOptions::forwarded_bytes`].
//!
//! Give the endpoints more room than they use: a node takes over the sessions of another one only within
//! [`most_sessions`](mcp_sansio::http::HttpServerConfig::most_sessions) and
//! [`sessions_of_client`](mcp_sansio::http::HttpServerConfig::sessions_of_client), and displaces none for it.
//!
//! The records contain the ids of sessions and tasks, which grant access to them, texts of clients and results. Protect the store
//! like the memory of the server.
//!
//! # Costs
//!
//! Microseconds for each request, without sockets, on one thread (`cargo run --release -p mcp-sansio-store --features redis
//! --example cost -- [REDIS-URL]`):
//!
//! | store | a call of a tool, 1 client | 64 clients | a request that changes its session, 1 client | 64 clients | a task, 1 client | 64 clients |
//! |---|---:|---:|---:|---:|---:|---:|
//! | none | 2.3 | 2.4 | 2.5 | 2.5 | 20 | 23 |
//! | [`MemoryStore`] | 3.5 | 3.6 | 6.2 | 6.5 | 26 | 30 |
//! | `SqliteStore`, on disk | 3.6 | 3.9 | 181 | 14 | 270 | 66 |
//! | `RedisStore`, `appendfsync always` | 3.8 | 3.9 | 250 | 23 | 300 | 55 |
//!
//! The endpoint has tasks, which add half a microsecond to a call at a node. A task is begun, completed and read.
//!
//! The writes of all sessions of a node are done in batches: all that arrive during one batch are the next. The record of a
//! session is written whole, with the events that are kept for its client. Keep
//! [`kept_bytes`](mcp_sansio::http::HttpServerConfig::kept_bytes) small if its event streams carry much.

mod batch;
mod body;
mod forwarding;
mod liveness;
mod local_sessions;
mod memory;
mod node;
mod options;
mod peers;
mod placing;
mod record;
#[cfg(feature = "redis")]
mod redis;
mod serve;
mod shared_key;
#[cfg(feature = "sqlite")]
mod sqlite;
mod store;
mod storing;
mod tasks;
mod upkeep;

pub use body::{BodyError, NodeBody};
pub use memory::MemoryStore;
pub use node::{JoinError, Node};
pub use options::{NodeOptions, OnError, ResumeTask};
pub use peers::{ForwardError, Forwarded, HttpPeers, Peers};
#[cfg(feature = "redis")]
pub use redis::RedisStore;
pub use serve::{Listeners, ServeOptions, serve};
pub use shared_key::shared_key;
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteStore;
pub use store::{Change, Store, StoreError, StoreFuture, Stored, Write, Written};

/// Compiles the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
