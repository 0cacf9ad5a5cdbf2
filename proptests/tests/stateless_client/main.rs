//! Clients without sessions, and how they find out that they need none.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod input;
mod input_checks;
mod input_limits;
mod kit;
mod memory;
mod opening;
mod pages;
mod probing;
mod probing_late;
mod races;
mod requests;
mod results;
mod subscriptions;
mod subscriptions_ended;
