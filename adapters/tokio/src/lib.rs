//! tokio for [`mcp_sansio`]: servers and clients on stdio, child processes, sockets and pipes.
//!
//! The core implements the protocol. This crate reads and writes streams, supplies the time, runs handlers as tasks
//! and manages child processes.
//!
//! - [`serve_stdio`] and [`serve`] serve a client with a [`Handler`].
//! - [`connect`] and [`spawn`] open a [`Connection`] to a server; its [`Handle`] makes calls. Handles can be cloned
//!   and used from many tasks.
//! - [`Router`] serves tools, prompts and resources from functions. It is the shortest way to a server.
//! - [`SharedTasks`] stores tasks, which outlive the request that created them and the connection.
//! - [`read_into`], [`write_from`] and [`clock`] are for custom event loops over a
//!   [`ByteStream`](mcp_sansio::ByteStream).
//!
//! Any future may be dropped at any time: no bytes are lost, and nothing is left behind. Values can be dropped
//! without a runtime. Much of the implementation is in [`mcp_sansio_driver`], which the other adapters share.
//! The examples on its pages import from it; import the same names from this crate.
//!
//! The crate requires a runtime with timers ([`enable_time`](tokio::runtime::Builder::enable_time)), of either
//! flavor, and with IO for child processes and sockets.
//!
//! # Features
//!
//! | feature | default | what it adds |
//! |---|---|---|
//! | `client` | yes | [`connect`], [`spawn`], a crate for signals to child processes, and the feature `process` of tokio |
//! | `server` | yes | [`serve`], [`serve_stdio`], [`Router`] and [`ConnectionGroup`] |
//! | `in-memory` | no | a client and a server in one process, for tests; turns both roles on |
//! | `jsonschema` | no | compares arguments and results of tools with their schemas, also rules such as a minimum |
//! | `schemars` | no | JSON Schemas of the arguments of tools, derived from their types; turns `server` on |
//! | `tracing` | no | `tracing` spans of requests and calls, and events of connections, without payloads |
//!
//! A program with a single role compiles faster without the other:
//! `default-features = false, features = ["server"]`. HTTP is in `mcp-sansio-http`; this crate does not enable it.
//!
//! # Example
//!
//! ```no_run
//! use mcp_sansio::model::{CallToolResult, ListChanged};
//! use mcp_sansio::{ClientRequest, ErrorCode, ServerConfig};
//! use mcp_sansio_tokio::Exchange;
//!
//! # async fn example() -> std::io::Result<()> {
//! let mut config = ServerConfig::new("shout", "1.0");
//! config.capabilities.tools = Some(ListChanged::default());
//! mcp_sansio_tokio::serve_stdio(config, |exchange: Exchange| async move {
//!     match &exchange.request().kind {
//!         ClientRequest::CallTool(call) if call.name == "shout" => {
//!             exchange.respond(&CallToolResult::text("HELLO"))
//!         }
//!         _ => exchange.reject(ErrorCode::METHOD_NOT_FOUND, "I can only shout"),
//!     }
//! })
//! .await
//! # }
//! ```

mod byte_stream;
#[cfg(feature = "client")]
mod connect;
#[cfg(feature = "in-memory")]
mod in_memory;
pub mod runtime;
#[cfg(feature = "server")]
mod serve;
#[cfg(feature = "server")]
mod stdio;
mod streams;

pub use byte_stream::{read_into, write_from};
#[cfg(feature = "client")]
pub use connect::{connect, connect_with, spawn, spawn_with};
#[cfg(feature = "in-memory")]
pub use in_memory::{connect_in_memory, connect_in_memory_with};
pub use mcp_sansio;
#[cfg(all(feature = "client", feature = "jsonschema"))]
pub use mcp_sansio_driver::ToolSchemas;
pub use mcp_sansio_driver::asynchronous::{Handler, RefuseAll};
pub use mcp_sansio_driver::{
    Blocking, ByName, CallFailure, Clock, ConnectionOptions, Exchange, Handle, Json, Machine,
    Notified, Pages, PendingCall, PendingPages, ProgressUpdates, Reply, RoomFuture, SharedTasks,
    TaskHandle, TaskInputs, Waiting, new_task, random_bytes,
};
#[cfg(feature = "jsonschema")]
pub use mcp_sansio_driver::{CompiledSchema, JsonSchemaValidator};
#[cfg(feature = "client")]
pub use mcp_sansio_driver::{Connection, KillSwitch, OpenError, Process, ProcessOptions, Stderr};
#[cfg(feature = "server")]
pub use mcp_sansio_driver::{
    ConnectionGroup, DuplicateNames, Entry, Failed, FunctionResult, InvalidUriTemplate, Next,
    PromptOutput, ResourceOutput, Router, ToolOutput,
};
#[cfg(feature = "tracing")]
pub use mcp_sansio_driver::{TracePropagator, tracing};
#[cfg(feature = "schemars")]
pub use mcp_sansio_driver::{Typed, schemars, tool_for};
pub use runtime::clock;
#[cfg(feature = "server")]
pub use serve::{serve, serve_stdio, serve_stdio_with, serve_with};

/// Compiles the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
