//! Tasks of several nodes: any node serves requests about them, and they outlive the node that works on them.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod ends;
mod expiry;
#[path = "../kit/mod.rs"]
mod kit;
mod lists;
mod panics;
mod places;
mod unreadable;
