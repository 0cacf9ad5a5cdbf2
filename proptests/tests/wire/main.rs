//! Bytes, frames and messages: what is taken for one, and the answer to what is none.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod batches;
mod broken;
mod byte_stream;
mod dispatch;
mod errors;
mod framing;
mod json;
mod local_failures;
mod seeds;
mod streams;
