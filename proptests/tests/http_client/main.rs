//! A client behind HTTP: which requests it makes, and what it concludes from what comes back.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod answers;
mod broken_off;
mod eras;
mod kit;
mod one_stream;
mod requests;
mod resuming;
mod sessions;
mod tools;
