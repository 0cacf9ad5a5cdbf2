//! Blocking std IO for [`mcp_sansio`]: servers on stdio, clients of child processes.
//!
//! The protocol is in the core; this crate moves bytes, tells the time, runs handlers on threads and
//! looks after child processes.
//!
//! - [`serve_stdio`] and [`serve`] serve a client with a [`Handler`].
//! - [`connect`] and [`spawn`] give a [`Connection`] to a server; its [`Handle`] calls it. What takes its time
//!   has a method `wait`.
//! - [`Offers`] are tools, prompts and resources as functions: the shortest way to a server.
//! - [`SharedTasks`] keep the work that outlives the request which asked for it, and the connection.
//! - [`FrameReader`], [`OutboxWriter`] and [`Clock`] are for event loops of your own.
//!
//! Much of it is in [`mcp_sansio_driver`], which the adapters for asynchronous runtimes share.
//!
//! ```no_run
//! use mcp_sansio::model::{CallToolResult, ListChanged};
//! use mcp_sansio::{Call, ErrorCode, ServerConfig};
//! use mcp_sansio_std::Exchange;
//!
//! let mut config = ServerConfig::new("shout", "1.0");
//! config.capabilities.tools = Some(ListChanged::default());
//! mcp_sansio_std::serve_stdio(config, |exchange: &Exchange| {
//!     match &exchange.request().call {
//!         Call::CallTool(call) if call.name == "shout" => {
//!             exchange.respond(&CallToolResult::text("HELLO"))
//!         }
//!         _ => exchange.reject(ErrorCode::METHOD_NOT_FOUND, "I can only shout"),
//!     }
//! })?;
//! # Ok::<(), std::io::Error>(())
//! ```

mod connect;
mod handler;
mod reader;
mod serve;
mod socket;
mod writer;

pub use connect::{connect, connect_with, spawn, spawn_with};
pub use handler::{Handler, RefuseAll, Sleeps};
pub use mcp_sansio;
pub use mcp_sansio_driver::{
    Audience, ByName, CallFailure, Clock, Connection, ConnectionOptions, Exchange, Failed, Handle,
    Json, KillSwitch, Machine, Offers, OpenError, Pages, PendingCall, PendingPages, Process,
    ProcessOptions, ProgressUpdates, PromptOutput, Raised, Reply, ResourceOutput, Room,
    SharedTasks, Sleep, Stderr, TaskHandle, TaskInputs, ToolOutput, Waiting, new_task,
    random_bytes,
};
#[cfg(feature = "schemars")]
pub use mcp_sansio_driver::{Typed, schemars};
pub use reader::FrameReader;
pub use serve::{serve, serve_stdio, serve_stdio_with, serve_with};
pub use socket::{HalfClose, SocketWriter};
pub use writer::OutboxWriter;
