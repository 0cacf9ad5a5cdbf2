//! Requests of the peer: context, input, progress, responses, subscriptions.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod elicitation;
mod elicitation_by_url;
mod elicitation_ids;
mod exchanges;
mod modern;
mod request_state;
mod sampling;
mod subscriptions;
mod substituted;
mod task_messages;
mod written;
