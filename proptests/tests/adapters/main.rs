//! The adapters: one suite for all of them, tests of each adapter, and interoperability with the official Rust SDK.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod blocking;
mod for_gateways;
mod http;
mod in_memory;
mod large_messages;
mod official_sdk;
mod on_smol;
mod on_tokio;
mod runners;
mod suite;
mod waiting_people;
mod waiting_requests;
