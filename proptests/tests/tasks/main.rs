//! Tasks: calls that become tasks, tasks that a side hosts in a session, and the extension.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod calls;
mod extension;
mod sessions;
