//! Load tests: slow readers, many exchanges, many sessions. The tests print their measurements.
//!
//! The sizes are small by default. Environment variables increase them: `HTTP_STEPS` (unread notifications),
//! `HTTP_BYTES` (unread bytes of a response), `HTTP_CALLS` (concurrent calls) and `HTTP_SESSIONS` (idle sessions).

mod exchanges;
mod sessions;
mod slow;

use std::future::Future;

use mcp_sansio_proptests::allocations::held;

/// Returns a size that the environment can override.
fn size(name: &str, default: usize) -> usize {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

/// Creates a runtime on this thread, so that all memory is counted here.
fn runtime() -> tokio::runtime::Builder {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all();
    builder
}

/// Runs a future. Returns its output and the number of bytes that it has allocated and not freed.
fn holding<T>(runtime: &tokio::runtime::Runtime, run: impl Future<Output = T>) -> (T, usize) {
    held(|| runtime.block_on(run))
}
