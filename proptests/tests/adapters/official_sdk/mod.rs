//! Clients and servers of rmcp, the official Rust SDK, against those of this crate.
// rmcp marks sampling, roots and logging as deprecated.
#![allow(deprecated, reason = "they are what is tested")]

#[cfg(unix)]
#[path = "../../../../examples/everything_server/everything/mod.rs"]
mod everything;
#[cfg(unix)]
mod modern;
#[cfg(unix)]
mod sessions;

mod on_tokio;

/// Calls the tool `wait` with a deadline, and expects the server to receive the call and its cancellation. On a busy
/// computer a call can expire before it is sent, so a call that the server has not received is repeated with a longer
/// deadline.
#[cfg(unix)]
fn times_out_there(
    handle: &mcp_sansio_std::Handle,
    reported: &std::sync::mpsc::Receiver<&'static str>,
) {
    use std::time::Duration;

    use mcp_sansio::CallOptions;
    use mcp_sansio::call::Timeout;
    use mcp_sansio::event::Expiry;
    use mcp_sansio::model::{CallToolParams, method};
    use mcp_sansio_std::CallFailure;

    for milliseconds in [100, 1_000, 10_000, 60_000] {
        let time = Duration::from_millis(milliseconds);
        let options = CallOptions::new().total(Timeout::After(time));
        let wait = handle.call::<method::CallTool>(&CallToolParams::new("wait"), options).wait();
        assert!(matches!(wait, Err(CallFailure::TimedOut(Expiry::Total))), "{wait:?}");
        if let Ok(begun) = reported.recv_timeout(time) {
            assert_eq!(begun, "waiting");
            assert_eq!(reported.recv_timeout(Duration::from_secs(60)), Ok("cancelled"));
            return;
        }
    }
    panic!("the server has heard of no call");
}
