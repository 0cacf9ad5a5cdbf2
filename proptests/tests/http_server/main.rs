//! The server's side of HTTP, by literals: what each request of HTTP is answered with, to the byte.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod alone;
mod gate;
mod headers;
mod message;
mod sessions;
mod site;
mod streaming;
