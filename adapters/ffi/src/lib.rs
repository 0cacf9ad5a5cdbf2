//! The Model Context Protocol for C, and for every language that calls C functions.
//!
//! A [`McpConnection`] is a server or a client for one byte stream, with its buffers: [`mcp_sansio::ByteStream`]. It
//! performs no IO, starts no threads and reads no clock. The program reads and writes the stream in the loop that it
//! already has:
//!
//! 1. [`mcp_feed`] what was read, and [`mcp_finish`] at the end of the input.
//! 2. [`mcp_next_event`] until it returns `false`. Answer requests with [`mcp_respond`] or [`mcp_reject`], now or later.
//! 3. Write [`mcp_unsent`], and report how much of it was written with [`mcp_sent`]. Then do step 2 again: notifications may
//!    have waited for room.
//! 4. Wait for input, for room to write, and until [`mcp_deadline`]. Do not wait for input while much is unsent, 64 KiB for
//!    example: a peer that does not read its responses would fill the outbox, and the next responses would find no room.
//!
//! `examples/poll_server.c` is such a loop on `poll(2)`. The header `include/mcp_sansio.h` is generated from this crate.
//!
//! # Rules
//!
//! - **Ownership**: the program owns a connection from [`mcp_server_new`] or [`mcp_client_new`] to [`mcp_free`]. Texts
//!   that the program passes are copied. Texts of an [`McpEvent`] belong to the connection, until the next call of
//!   [`mcp_next_event`] or `mcp_free`. The bytes of [`mcp_unsent`] are valid until the next call with the connection.
//! - **Texts** are UTF-8, with a length and without a terminating zero. JSON goes in and out as text.
//! - **Handles** of requests and calls are numbers that are never zero and never used again. A number whose request or
//!   call has ended is an error ([`McpStatus::Stale`]) and changes nothing.
//! - **Threads**: one connection is used by one thread at a time. Connections are independent of each other.
//! - **Times** are nanoseconds of a monotonic clock, from a start that the program chooses.
//! - **Errors**: functions return an [`McpStatus`]; [`mcp_last_error`] describes the last one of the thread. A failed
//!   function changes nothing. No panic leaves the library: after [`McpStatus::Panicked`] the connection is unusable,
//!   and only `mcp_free` may follow.

#![allow(
    unsafe_code,
    reason = "pointers come from the caller; each use names what the caller has promised"
)]
#![allow(
    clippy::exhaustive_enums,
    clippy::exhaustive_structs,
    reason = "their layout is the interface; C knows no other values"
)]

mod config;
mod connection;
mod error;
mod event;
mod functions;
mod text;

pub use connection::McpConnection;
pub use error::{McpStatus, mcp_last_error};
pub use event::{McpEvent, McpEventKind};
pub use functions::*;
pub use text::McpText;
