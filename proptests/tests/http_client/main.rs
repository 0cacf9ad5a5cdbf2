//! A client behind HTTP: which requests it makes, and what it concludes from what comes back.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod answers;
mod kit;
mod requests;
mod sessions;
