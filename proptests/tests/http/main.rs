//! HTTP without IO: both roles by literals, and both with faults between them.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod client;
mod server;
mod simulation;
