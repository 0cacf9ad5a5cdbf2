//! A gateway of the [Model Context Protocol](https://modelcontextprotocol.io): many servers of any revision behind one
//! endpoint of all revisions.
//!
//! [`Gateway`] is a [handler](mcp_sansio_tokio::Handler) of the connections of clients, over HTTP or any other
//! transport. It keeps a connection to each server. The program of this package adds a [configuration
//! file](config::file) and serves the gateway [over HTTP](serve) or on standard streams; the README describes both.
//!
//! | layer | responsibility |
//! |---|---|
//! | [`serve`] | the endpoint, and the address of operators |
//! | [`Gateway`] | the servers of the moment, and their replacement |
//! | requests | one request: its server, its call there, and everything that both sides send meanwhile |
//! | upstream | one server: connections, lists, watched resources, limits |
//! | [`config`] | servers and rules |
//!
//! # Who a client is
//!
//! Input that a server asks for, log messages, tasks and request state belong to one client. A client is an authenticated
//! principal; without one, a session; without that, a connection. Limits per client count clients without a principal by
//! network, as [`RequestSource`](mcp_sansio::http::RequestSource) describes. If a server of the legacy era asks for input and does not
//! say for which call, the gateway passes the request on only if all calls in progress there are of one client. One case
//! remains: the request comes after the end of its call, and only calls of another client are in progress. Where that
//! matters, give each client its own session ([`config::Sharing::PerClient`]).
//!
//! Log messages and other notifications do not name their call in any revision. They are passed on in the same way, and
//! dropped if calls of several clients are in progress, or if 64 messages wait for a client that has to repeat its
//! request. So is the notification that a URL elicitation is complete, if it comes after the call.
//!
//! On transports other than HTTP, all connections share their tasks, unless each has a principal
//! ([`SharedTasks::on_behalf_of`](mcp_sansio_tokio::SharedTasks::on_behalf_of)). With one client there is nothing to share.
//!
//! # What is kept, and for how long
//!
//! - Calls that wait for a modern client to bring input ([`config::GatewayConfig::most_parked`]). They are lost with the
//!   process: the client then gets `-32602`, and calls again.
//! - Tasks, as long as their clients asked for. They are lost with the process as well.
//! - The params of tool calls that are tasks of sessions at modern servers, until they end
//!   ([`config::GatewayConfig::kept_bytes`]).
//! - The last lists of each server.
//!
//! The endpoint bounds everything else ([`mcp_sansio_http::EndpointOptions`]).
#![forbid(unsafe_code)]

mod budget;
mod client_key;
pub mod config;
mod gateway;
mod requests;
pub mod serve;
mod status;
mod upstream;

pub use gateway::{DuplicateServer, Gateway};
pub use status::{Reloaded, Status, UpstreamEvent, UpstreamState, UpstreamStatus};
pub use upstream::{Connect, ConnectFuture, UpstreamHandler};

/// Compiles the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
