//! What the adapters report to `tracing`.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod events;
mod records;
mod spans;

/// A tool without arguments.
fn tool(name: &str) -> mcp_sansio::model::Tool<'static> {
    let schema = mcp_sansio::json::Raw::new(r#"{"type":"object"}"#).unwrap().into_owned();
    mcp_sansio::model::Tool::new(name.to_owned(), schema)
}
