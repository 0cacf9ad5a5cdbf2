//! Much at once: slow readers, many exchanges, many sessions. What is measured is printed.
//!
//! The sizes are small by default. `HTTP_STEPS` (how many notifications nobody reads), `HTTP_BYTES` (how much of an
//! answer nobody reads), `HTTP_CALLS` (how many at once) and `HTTP_SESSIONS` (how many that idle) make them larger.

mod exchanges;
mod sessions;
mod slow;

use std::future::Future;

use mcp_sansio_proptests::allocations::held;

/// A size that the environment may set.
fn size(name: &str, default: usize) -> usize {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

/// A runtime on this thread, so that all memory is counted here.
fn runtime() -> tokio::runtime::Builder {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all();
    builder
}

/// Runs something. Says how many bytes are held afterwards that were not before.
fn holding<T>(runtime: &tokio::runtime::Runtime, run: impl Future<Output = T>) -> (T, usize) {
    held(|| runtime.block_on(run))
}
