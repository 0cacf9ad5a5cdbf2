//! Bytes, frames and messages: recognition of messages, and responses to anything else.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod batch_refusals;
mod batches;
mod broken;
mod byte_stream;
mod dispatch;
mod errors;
mod framing;
mod json;
mod local_failures;
mod observed;
mod seeds;
mod streams;
