//! The test kit: one side of a connection under test, two sides linked by a wire, and a counting allocator.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test kit fails by panicking")]

mod machine;
mod shared;
mod side;
mod silence_model;

pub mod allocations;
pub mod authorization_server;
pub mod authorization_world;
pub mod exploration;
pub mod http_world;
pub mod memory_formula;
pub mod oracles;
pub mod payload;
pub mod single;
pub mod world;

pub use machine::{Machine, Meaning};
pub use mcp_sansio::testing::{Pair, Seen};
pub use shared::shared;
pub use side::{ClientSide, ServerSide, config};

// Tests count the allocations of a thread, and the simulation compares the memory of each side with its formula.
#[global_allocator]
static ALLOCATOR: allocations::Counting = allocations::Counting::new();

/// Returns a client and a server that are connected.
pub fn ready(client: mcp_sansio::ClientConfig, server: mcp_sansio::ServerConfig) -> Pair {
    let mut pair = Pair::new(client, server);
    pair.connect().unwrap();
    assert!(pair.client.revision().is_some());
    pair
}
