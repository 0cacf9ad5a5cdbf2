//! Clients and servers of rmcp, the official Rust SDK, against ours.
// rmcp calls sampling, roots and logging deprecated.
#![allow(deprecated, reason = "they are what is tested")]

use std::time::Duration;

use mcp_sansio::model::{CallToolParams, method};
use mcp_sansio::{CallOptions, Expiry, Timeout};
use mcp_sansio_std::{CallFailure, Handle};

#[path = "../../../../examples/everything_server/everything/mod.rs"]
mod everything;
#[cfg(unix)]
mod sessions;
#[cfg(unix)]
mod stateless;

mod on_tokio;

/// Calls the tool `wait` of a server with a deadline, until the server has heard of the cancellation: on a busy machine
/// the call can be over before it has left. Each attempt waits longer.
#[cfg(unix)]
fn times_out_there(handle: &Handle, has_heard: impl Fn(Duration) -> bool) {
    for milliseconds in [100, 1_000, 10_000, 60_000] {
        let time = Duration::from_millis(milliseconds);
        let options = CallOptions::new().total(Timeout::After(time));
        let wait = handle.call::<method::CallTool>(&CallToolParams::new("wait"), options).wait();
        assert!(matches!(wait, Err(CallFailure::TimedOut(Expiry::Total))), "{wait:?}");
        if has_heard(time) {
            return;
        }
    }
    panic!("no call has been cancelled there");
}
