//! Interoperability with rmcp, the official Rust SDK, in both roles, over a socket, in the modern era.

mod their_client;
mod their_server;

use std::os::unix::net::UnixStream;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::everything;

/// A timeout longer than any operation of these tests takes: a test that reaches it has failed.
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
