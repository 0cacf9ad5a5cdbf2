//! Modern clients, and the discovery of the era of a server.

mod input;
mod input_checks;
mod input_limits;
mod kept_bytes;
mod kit;
mod known;
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
