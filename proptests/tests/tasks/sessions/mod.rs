//! Tasks that a side hosts in sessions of 2025-11-25.

mod asking;
mod beginning;
mod bytes;
mod cancelling;
#[allow(dead_code, reason = "another test uses the rest")]
#[path = "../../schema/official/closed.rs"]
mod closed;
mod connections;
mod copies;
mod forms;
mod gating;
mod input;
mod keeping;
mod kit;
mod listing;
mod looking;
mod news;
mod quiet;
mod requestors;
mod results;
mod routes;
mod schema;
mod time;
mod words;
