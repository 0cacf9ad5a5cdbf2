//! Streamable HTTP for [`mcp_sansio`], on hyper and tokio: servers and clients of every revision.
//!
//! The protocol, including its HTTP part, is implemented by the core ([`mcp_sansio::http`]). This crate moves bytes,
//! provides the clock and runs handlers as tasks.
//!
//! - An [`Endpoint`] serves HTTP requests with a [`Handler`]: modern requests and the sessions of legacy clients, on
//!   the same path. An endpoint accepts requests from any stack that uses the types of [`http`](hyper::http), or
//!   from [`serve`].
//! - [`connect`] opens a [`Connection`] to a server of either era; its [`Handle`] makes calls.
//!
//! A function of the application identifies the sender of a request ([`EndpointOptions::identify`]): sessions and
//! tasks belong to the principal that it returns. Without such a function a session owns its tasks.
//!
//! TLS is the responsibility of the stack in front: accept a connection with any library and pass the stream to
//! [`serve_stream`].

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
mod stateless;
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
    ProgressUpdates, PromptOutput, Reply, ResourceOutput, RoomFuture, Router, SharedTasks,
    TaskHandle, TaskInputs, ToolOutput, Waiting, new_task, random_bytes,
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

/// Compiles the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
