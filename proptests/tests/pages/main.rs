//! Lists in pages, on both sides: a client walks them under one handle, a server cuts them.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod changes;
mod cursors;
mod served;
mod walk;
