//! The test kit: one side of a connection under test, two sides linked by a wire, and an allocator
//! that counts.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test kit fails by panicking")]

mod link;
mod machine;
mod side;

pub mod allocations;
pub mod payload;

pub use link::{Pair, Seen};
pub use machine::{Machine, Meaning};
pub use side::{ClientSide, ServerSide, config};
