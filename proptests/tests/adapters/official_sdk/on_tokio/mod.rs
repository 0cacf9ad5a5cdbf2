//! Against rmcp, the official Rust SDK, in one process and on one runtime, over a pipe of 64 bytes.

mod their_client;
mod their_server;

use std::future::Future;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::Value;

/// Longer than anything takes here: a test that waits this long has failed.
const A_LONG_TIME: Duration = Duration::from_secs(120);

/// How many bytes are on their way at most.
const PIPE: usize = 64;

const REVISIONS: [&str; 5] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];

fn of<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

/// Runs a test on either kind of runtime.
fn on_every_runtime<F: Future<Output = ()>>(test: impl Fn() -> F) {
    use tokio::runtime::Builder;
    for mut runtime in [Builder::new_current_thread(), Builder::new_multi_thread()] {
        let runtime = runtime.enable_all().build().unwrap();
        let test = async { tokio::time::timeout(A_LONG_TIME, test()).await.unwrap() };
        runtime.block_on(test);
    }
}
