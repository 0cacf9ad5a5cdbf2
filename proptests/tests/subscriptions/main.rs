//! What one side tells the other without being asked: resources, lists, log messages and roots.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod lists;
mod logging;
mod resources;
mod roots;
