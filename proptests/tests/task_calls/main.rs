//! Calls that become tasks of the other side, from the call to its outcome.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod both_eras;
mod world;
