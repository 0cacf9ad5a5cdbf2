//! Mishaps where there may be no session: each of these has happened once.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod calling;
mod kit;
mod serving;
