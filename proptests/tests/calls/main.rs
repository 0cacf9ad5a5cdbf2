//! Requests that this side sends: correlation, cancellation, progress, timeouts, pages, subscriptions.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod cache;
mod crossing;
mod crossing_session;
mod forgotten;
mod mishaps;
mod modern;
mod outcomes;
mod owned;
mod pages;
mod races;
mod subscribers;
mod subscribing;
mod tasks;
mod waiting;
