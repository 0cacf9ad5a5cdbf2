//! Against rmcp, the official Rust SDK, in both roles, over a socket, where there are no sessions.

mod their_client;
mod their_server;

use std::os::unix::net::UnixStream;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::everything;

/// Longer than anything takes here: a test that waits this long has failed.
const A_LONG_TIME: Duration = Duration::from_secs(120);

fn of<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

fn asynchronous(socket: UnixStream) -> tokio::net::UnixStream {
    socket.set_nonblocking(true).unwrap();
    tokio::net::UnixStream::from_std(socket).unwrap()
}
