//! Messages and values against the official schemas, the official examples and the tables of each revision.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod arbitrary;
mod generated;
mod official;
mod official_examples;
mod shapes;
