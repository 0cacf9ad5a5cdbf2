//! The shared layer of the adapters of [`mcp_sansio`]: a connection with its handlers and its callers, without a
//! runtime.
//!
//! The core implements the protocol. The adapters, `mcp-sansio-std`, `mcp-sansio-tokio`, `mcp-sansio-async-std` and
//! `mcp-sansio-http`, read, write, supply the time and run handlers. This crate is the layer between the two, and the
//! adapters re-export it. Depend on an adapter, unless you write one for another runtime.
//!
//! - [`Wire`] is a connection without its streams: a machine and its outbox behind a lock. Handlers and callers
//!   never wait for the peer or for each other.
//! - [`Drive`] is a future that reads, writes and handles timeouts, on streams of any kind. Threads can drive a
//!   [`Wire`] in the same way.
//! - [`Run`] is the executor that an adapter supplies: it runs the [`Job`]s of handlers.
//! - [`Exchange`] is an incoming request in its handler. Callers use [`Handle`] and [`PendingCall`]. All three are
//!   the same for blocking and for asynchronous code.
//! - [`Router`] serves tools, prompts and resources from functions. It is the complete handler of a simple server.
//! - [`ConnectionGroup`] is the set of all connections of a server. It broadcasts changes.
//! - [`SharedTasks`] stores tasks, which outlive the request that created them and the connection.
//! - [`Process`] is a server that runs as a child process. Its shutdown takes a bounded time.
//!
//! # Features
//!
//! | feature | default | what it adds |
//! |---|---|---|
//! | `client` | yes | [`Connection`], [`Process`] and the calls of `Handle<Client>`, with crates for signals to child processes |
//! | `server` | yes | [`Router`] and [`ConnectionGroup`] |
//! | `stdio` | no | [`StandardStream`], on Linux and Android |
//! | `http` | no | `Wire::behind_http`, `Connection::open_over_http`, and the feature `http` of the core; turns both roles on |
//! | `jsonschema` | no | compares arguments and results of tools with their schemas, also rules such as a minimum |
//! | `schemars` | no | JSON Schemas of the arguments of tools, derived from their types; turns `server` on |
//! | `tracing` | no | `tracing` spans of requests and calls, and events of connections, without payloads |
//!
//! [`Exchange`], and [`Wire`] and [`Handle`] of a server, work without features; `Wire::client` needs `client`. An
//! adapter should turn the default features off, offer `client` and `server` as features of its own, and forward them.

//! # Traces
//!
//! With the feature `tracing`, a handler runs in the span of its request, and each call has a span. Both are spans of
//! the target `mcp` and of the level `INFO`:
//!
//! | span | name for OpenTelemetry | begins | ends |
//! |---|---|---|---|
//! | `mcp.request` | `tools/call search`, of the kind server | when the handler starts | with the last clone of the [`Exchange`] |
//! | `mcp.call` | `tools/call search`, of the kind client | when the call is made | when its result is taken, or the call is dropped |
//!
//! The attributes are those of the [semantic conventions of OpenTelemetry for
//! MCP](https://opentelemetry.io/docs/specs/semconv/gen-ai/mcp/): `mcp.method.name`, `mcp.protocol.version`,
//! `mcp.session.id` (of a request over HTTP), `mcp.resource.uri`, `jsonrpc.request.id`, `gen_ai.operation.name`,
//! `gen_ai.tool.name`, `gen_ai.prompt.name`, `rpc.response.status_code` and `error.type`. The fields `otel.name`,
//! `otel.kind` and `otel.status_code` are for `tracing-opentelemetry`. A span has no arguments and no results, but
//! methods, names, ids and URIs that the peer chose, up to 256 characters of each. So the peer chooses the names of spans:
//! a sampler or a view of the subscriber bounds their number.
//!
//! `error.type` is the code of the error (`-32602`), `tool_error` for a tool that has failed, or the reason: `cancelled`,
//! `invalid_arguments`, `missing_capability`, `timeout`, and others on a client.
//!
//! `TracePropagator` connects the spans of both sides. Not traced are notifications, subscriptions, tasks that are
//! followed, and requests that the machine answers without a handler; calls for lists have a span but pass no trace
//! context on. `Exchange::span` returns the span, for further attributes and for tasks that the handler spawns.
//!
//! Further events of the target `mcp`, of the levels `DEBUG` and `WARN`, show when a request has been answered, a
//! call has ended, or a connection has been disconnected.

#![cfg_attr(
    not(all(feature = "client", feature = "server")),
    allow(
        dead_code,
        reason = "a connection is written once for both roles; each alone leaves some of it unused"
    )
)]

pub mod asynchronous;

mod after_unlock;
mod block;
mod blocking;
mod byte_stream;
mod calls;
mod changes;
#[cfg(feature = "client")]
mod client;
mod clock;
#[cfg(feature = "server")]
mod connection_group;
mod deliver;
#[cfg(test)]
mod deliver_tests;
mod events;
mod exchange;
mod expiry_watch;
mod extensions;
mod failure;
mod handle;
mod host;
mod host_requests;
mod hosting;
#[cfg(feature = "http")]
mod http;
#[cfg(not(feature = "http"))]
#[path = "no_http.rs"]
mod http;
#[cfg(all(test, shuttle))]
mod interleavings;
mod jobs;
#[cfg(feature = "jsonschema")]
mod json_schema;
mod lazy_box;
mod machine;
mod options;
mod out;
mod output;
mod pages;
mod pending;
mod pool;
mod requests;
#[cfg(feature = "server")]
mod router;
mod run;
mod serialized;
#[cfg(feature = "http")]
mod side_waker;
mod signal;
mod sleep;
#[cfg(feature = "tracing")]
mod spans;
#[cfg(not(feature = "tracing"))]
#[path = "no_spans.rs"]
mod spans;
#[cfg(all(feature = "stdio", any(target_os = "linux", target_os = "android")))]
mod standard_stream;
mod streams;
mod sync;
mod task_handle;
mod tasks;
mod threads;
mod timing;
#[cfg(all(feature = "client", feature = "jsonschema"))]
mod tool_schemas;
mod trace;
#[cfg(feature = "tracing")]
mod trace_propagator;
mod waiting;
mod wakers;
mod wire;
#[cfg(test)]
mod wire_tests;
mod workers;
#[cfg(test)]
mod workers_tests;

pub use blocking::Blocking;
pub use byte_stream::{read_into, write_from};
#[cfg(feature = "client")]
pub use client::{ClientParts, Connection, KillSwitch, OpenError, Process, ProcessOptions, Stderr};
pub use clock::{Clock, StoppedClock};
#[cfg(feature = "server")]
pub use connection_group::ConnectionGroup;
pub use events::{EventDelivery, EventsHandled};
pub use exchange::{Exchange, RequestSlot};
pub use extensions::Attachment;
pub use failure::CallFailure;
pub use handle::{Handle, RoomFuture};
#[cfg(feature = "http")]
pub use http::{AcceptedPost, KeptTotal, PostEntry, PostRefused, PostRoom};
#[cfg(feature = "jsonschema")]
pub use json_schema::{CompiledSchema, JsonSchemaValidator};
pub use machine::Machine;
pub use mcp_sansio::schema::Json;
pub use options::ConnectionOptions;
pub use pages::{Pages, PendingPages};
pub use pending::{ByName, PendingCall, ProgressUpdates, Reply};
pub use pool::Pool;
pub use requests::{Admission, Permit};
#[cfg(feature = "server")]
pub use router::{
    DuplicateNames, Entry, Failed, FunctionResult, InvalidUriTemplate, Next, PromptOutput,
    ResourceOutput, Router, ToolOutput,
};
#[cfg(feature = "schemars")]
pub use router::{Typed, tool_for};
pub use run::{Job, Run};
#[cfg(feature = "schemars")]
pub use schemars;
#[cfg(feature = "http")]
pub use side_waker::SideWaker;
pub use signal::Notified;
pub use sleep::Sleep;
#[cfg(all(feature = "stdio", any(target_os = "linux", target_os = "android")))]
pub use standard_stream::StandardStream;
pub use streams::{Drive, ExternalStream, Incoming, Outgoing, Streams, Timer};
pub use task_handle::{TaskHandle, TaskInputs};
pub use tasks::{SharedTasks, new_task, random_bytes};
pub use timing::Timing;
#[cfg(all(feature = "client", feature = "jsonschema"))]
pub use tool_schemas::ToolSchemas;
#[cfg(feature = "tracing")]
pub use trace_propagator::TracePropagator;
#[cfg(feature = "tracing")]
pub use tracing;
pub use waiting::Waiting;
pub use wire::Wire;
