//! The promises of the crate, and the invariants of every connection.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod allocations;
mod allocations_of_patterns;
mod exploration;
mod kit;
mod linked;
mod machines;
mod memory;
mod memory_crowded;
mod memory_released;
mod memory_tables;
mod memory_unchecked;
mod models;
mod operations;
mod oracles;
mod promises;
mod quiet;
mod repeated;
mod room;
mod scale;
mod typed;
mod work;
mod work_client;
