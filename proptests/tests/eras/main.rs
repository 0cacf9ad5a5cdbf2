//! Clients and servers of either era, and of both, on one wire.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod changes;
mod input;
mod meeting;
mod world;
