//! Interoperability with rmcp, the official Rust SDK, in one process and on one runtime, over a pipe of 64 bytes.

mod their_client;
mod their_server;

use std::future::Future;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::Value;

/// A timeout longer than any operation of these tests takes: a test that reaches it has failed.
const A_LONG_TIME: Duration = Duration::from_secs(120);

/// The capacity of the pipe in bytes.
const PIPE: usize = 64;

const REVISIONS: [&str; 5] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];

fn of<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

/// Runs a test on a runtime with one thread and on one with several.
fn on_every_runtime<F: Future<Output = ()>>(test: impl Fn() -> F) {
    use tokio::runtime::Builder;
    for mut runtime in [Builder::new_current_thread(), Builder::new_multi_thread()] {
        let runtime = runtime.enable_all().build().unwrap();
        let test = async { tokio::time::timeout(A_LONG_TIME, test()).await.unwrap() };
        runtime.block_on(test);
    }
}
