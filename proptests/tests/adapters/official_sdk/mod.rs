//! Clients and servers of rmcp, the official Rust SDK, against ours.
// rmcp calls sampling, roots and logging deprecated.
#![allow(deprecated, reason = "they are what is tested")]

#[path = "../../../../examples/everything_server/everything/mod.rs"]
mod everything;
#[cfg(unix)]
mod sessions;
#[cfg(unix)]
mod stateless;

mod on_tokio;
