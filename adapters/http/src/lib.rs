//! Streamable HTTP for [`mcp_sansio`], on hyper and tokio: servers and clients of every revision.
//!
//! The protocol, also that of HTTP, is in the core ([`mcp_sansio::http`]); this crate moves bytes, tells the
//! time and runs handlers as tasks.
//!
//! - An [`Endpoint`] serves requests of HTTP with a [`Handler`]: those of 2026-07-28, which stand alone, and
//!   the sessions of older clients, on the same path. It takes the requests of any stack that speaks
//!   [`http`](hyper::http), or of [`serve`].
//! - [`connect`] gives a [`Connection`] to a server, whichever era it is of; its [`Handle`] calls it.
//!
//! Who sends a request is found out by a function of the host ([`EndpointOptions::identify`]): sessions and tasks belong
//! to the principal that it gives. Without one a session owns its tasks.
//!
//! TLS is the business of the stack in front of it: accept a connection with the library of your choice and
//! hand the stream to [`serve_stream`].

mod alone;
#[cfg(feature = "auth")]
mod authorize;
mod body;
mod budget;
mod connect;
mod endpoint;
mod exchange;
mod identify;
mod idle;
mod one_stream;
mod open_requests;
mod options;
mod prompt;
#[cfg(feature = "auth")]
mod protect;
#[cfg(not(feature = "auth"))]
#[path = "no_protection.rs"]
mod protect;
mod serve;
mod timekeeper;
mod transport_error;

#[cfg(feature = "auth")]
pub use authorize::{
    Authorization, AuthorizationHost, Authorized, CheckedResolver, FileStorage, HostFuture,
    MemoryStorage, StorageLock, TokenStorage, checked,
};
pub use body::ResponseBody;
pub use connect::{SendError, Transport, connect, connect_with, plain};
pub use endpoint::Endpoint;
pub use identify::{Identify, PeerAddress};
pub use mcp_sansio;
pub use mcp_sansio_driver::asynchronous::{Handler, RefuseAll};
pub use mcp_sansio_driver::{
    Blocking, ByName, CallFailure, Clock, Connection, ConnectionGroup, ConnectionOptions, Exchange,
    Failed, Handle, Json, Machine, Notified, OpenError, Pages, PendingCall, PendingPages,
    ProgressUpdates, PromptOutput, Reply, ResourceOutput, Room, Router, SharedTasks, TaskHandle,
    TaskInputs, ToolOutput, Waiting, new_task, random_bytes,
};
#[cfg(feature = "schemars")]
pub use mcp_sansio_driver::{Typed, schemars};
pub use one_stream::OneStreamPaths;
pub use options::EndpointOptions;
#[cfg(feature = "jwt")]
pub use protect::{JwtVerifier, KeySource};
#[cfg(feature = "auth")]
pub use protect::{Protection, TokenVerifier, Verification, VerificationFuture};
pub use serve::{serve, serve_stream, serve_stream_from};
