//! Blocking std IO for [`mcp_sansio`]: servers on stdio, clients of child processes.
//!
//! The protocol is in the core; this crate moves bytes, tells the time, runs handlers on threads and
//! looks after child processes.
//!
//! - [`serve_stdio`] and [`serve`] serve a client with a [`Handler`].
//! - [`Connection`] starts a server, connects to it and ends it; its [`Handle`] calls it.
//! - [`SharedTasks`] keep the work that outlives the request which asked for it, and the connection.
//! - [`Reader`], [`Writer`] and [`Clock`] are for event loops of your own.
//!
//! ```no_run
//! use mcp_sansio::model::{CallToolResult, ListChanged};
//! use mcp_sansio::{Call, ErrorCode, Server, ServerConfig};
//! use mcp_sansio_std::Exchange;
//!
//! let mut config = ServerConfig::new("shout", "1.0");
//! config.capabilities.tools = Some(ListChanged::default());
//! mcp_sansio_std::serve_stdio(config, |exchange: &Exchange<Server>| {
//!     match &exchange.request().call {
//!         Call::CallTool(call) if call.name == "shout" => {
//!             exchange.respond(&CallToolResult::text("HELLO"))
//!         }
//!         _ => exchange.reject(ErrorCode::METHOD_NOT_FOUND, "I can only shout"),
//!     }
//! })?;
//! # Ok::<(), std::io::Error>(())
//! ```

mod clock;
mod connection;
mod exchange;
mod handle;
mod host;
mod hosting;
mod machine;
mod pending;
mod process;
mod reader;
mod serve;
mod signal;
mod socket;
mod task_handle;
mod tasks;
mod threads;
mod wire;
mod workers;
mod writer;

pub use clock::Clock;
pub use connection::{Connection, OpenError};
pub use exchange::Exchange;
pub use handle::Handle;
pub use machine::Machine;
pub use pending::{CallFailure, Pages, PendingCall, Reply};
pub use process::ProcessOptions;
pub use reader::Reader;
pub use serve::{Handler, RefuseAll, serve, serve_stdio, serve_stdio_with_tasks, serve_with_tasks};
pub use socket::{HalfClose, SocketWriter};
pub use task_handle::TaskHandle;
pub use tasks::{SharedTasks, new_task, random_bytes};
pub use writer::Writer;
