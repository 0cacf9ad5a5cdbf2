//! async-std, smol and every other runtime of [`futures_io`] for [`mcp_sansio`]: servers and clients on stdio,
//! child processes, sockets and pipes.
//!
//! The protocol is in the core; this crate moves bytes, tells the time, runs handlers as tasks and looks after
//! child processes. It begins no runtime and depends on none: what begins a task is an argument, and its timers
//! work everywhere.
//!
//! - [`serve_stdio`] and [`serve`] serve a client with a [`Handler`].
//! - [`connect`] and [`spawn`] give a [`Connection`] to a server; its [`Handle`] calls it. Handles can be cloned
//!   and used from many tasks.
//! - [`Router`] are tools, prompts and resources as functions: the shortest way to a server.
//! - [`SharedTasks`] keep the work that outlives the request which asked for it, and the connection.
//! - [`Reader`], [`Writer`] and [`Clock`] are for event loops of your own.
//!
//! Any future may be dropped at any time: no byte is lost by that and nothing is left behind. Much of it is in
//! [`mcp_sansio_driver`], which the other adapters share.
//!
//! # Features
//!
//! | feature | default | what it adds |
//! |---|---|---|
//! | `client` | yes | [`connect`], [`spawn`], and a crate for signals to child processes |
//! | `server` | yes | [`serve`], [`serve_stdio`], [`Router`] and [`ConnectionGroup`] |
//! | `schemars` | no | JSON Schemas of the arguments of tools, from their types; turns `server` on |
//! | `tracing` | no | events of `tracing` that say what happens on a connection, without payloads |
//!
//! A program with one role is built faster without the other one: `default-features = false, features = ["server"]`.
//! HTTP is in `mcp-sansio-http`; this crate does not turn it on.
//!
//! # Example
//!
//! ```no_run
//! use mcp_sansio::model::{CallToolResult, ListChanged};
//! use mcp_sansio::{ClientRequest, ErrorCode, ServerConfig};
//! use mcp_sansio_async_std::Exchange;
//!
//! let mut config = ServerConfig::new("shout", "1.0");
//! config.capabilities.tools = Some(ListChanged::default());
//! let handler = |exchange: Exchange| async move {
//!     match &exchange.request().kind {
//!         ClientRequest::CallTool(call) if call.name == "shout" => {
//!             exchange.respond(&CallToolResult::text("HELLO"))
//!         }
//!         _ => exchange.reject(ErrorCode::METHOD_NOT_FOUND, "I can only shout"),
//!     }
//! };
//! let spawn = |work| smol::spawn(work).detach();
//! smol::block_on(mcp_sansio_async_std::serve_stdio(config, handler, spawn))?;
//! # Ok::<(), std::io::Error>(())
//! ```

#![cfg_attr(
    not(any(feature = "client", feature = "server")),
    allow(dead_code, reason = "without a role there are streams of frames only")
)]

#[cfg(feature = "client")]
mod connect;
mod framed;
mod runtime;
#[cfg(feature = "server")]
mod serve;
mod streams;

#[cfg(feature = "client")]
pub use connect::{connect, connect_with, spawn, spawn_with};
pub use framed::{Reader, Writer};
pub use mcp_sansio;
pub use mcp_sansio_driver::asynchronous::{Handler, RefuseAll, Work};
pub use mcp_sansio_driver::{
    Blocking, ByName, CallFailure, Clock, ConnectionOptions, Exchange, Handle, Json, Machine,
    Notified, Pages, PendingCall, PendingPages, ProgressUpdates, Reply, Room, SharedTasks,
    TaskHandle, TaskInputs, Waiting, new_task, random_bytes,
};
#[cfg(feature = "client")]
pub use mcp_sansio_driver::{Connection, KillSwitch, OpenError, Process, ProcessOptions, Stderr};
#[cfg(feature = "server")]
pub use mcp_sansio_driver::{
    ConnectionGroup, Failed, PromptOutput, ResourceOutput, Router, ToolOutput,
};
#[cfg(feature = "schemars")]
pub use mcp_sansio_driver::{Typed, schemars};
#[cfg(feature = "server")]
pub use serve::{serve, serve_stdio, serve_stdio_with, serve_with};
