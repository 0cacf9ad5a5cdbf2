//! Tasks of requests that stand alone: the extension `io.modelcontextprotocol/tasks`, at a server.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod asking;
mod beginning;
mod both_eras;
mod cancelling;
mod declaring;
mod growth;
mod kit;
mod lagging;
mod time;
mod updating;
mod walks;
mod watching;

use mcp_sansio_proptests::allocations::Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting::new();
