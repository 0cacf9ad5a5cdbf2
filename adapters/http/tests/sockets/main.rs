//! Servers and clients on real sockets: exact bytes, connections that break off, and everything through both.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod disconnects;
mod fake;
mod heads;
mod kit;
mod meeting;
mod mishaps;
mod raw;
mod stopping;
