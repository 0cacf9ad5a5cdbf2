//! Tasks: calls that become tasks, tasks that a side hosts in a session, and the extension.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod calls;
mod extension;
mod sessions;

use mcp_sansio_proptests::allocations::Counting;

// Some of these tests count the allocations of a thread.
#[global_allocator]
static ALLOCATOR: Counting = Counting::new();
