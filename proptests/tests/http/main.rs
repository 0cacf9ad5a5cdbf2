//! HTTP without I/O: both roles against literal messages, and both roles connected with faults in between.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod client;
mod server;
mod simulation;
