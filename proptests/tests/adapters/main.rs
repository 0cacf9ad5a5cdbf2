//! The adapters: one suite for all of them, what each has alone, and the official Rust SDK at the other end.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod blocking;
mod http;
mod official_sdk;
mod on_smol;
mod on_tokio;
mod runners;
#[cfg(unix)]
mod suite;
#[cfg(feature = "tracing")]
mod traced;

use mcp_sansio_proptests::allocations::Counting;

// The tests of load count what a thread holds.
#[global_allocator]
static ALLOCATOR: Counting = Counting::new();
