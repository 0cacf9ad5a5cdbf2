//! Many exchanges at once.

use std::time::Instant;

use mcp_sansio::{CallOptions, ClientConfig, Revision, RevisionSet};
use mcp_sansio_http::{ConnectionOptions, RefuseAll, connect};
use serde_json::json;

use crate::http::kit::{Served, server_config, soon};
use crate::http::load::{runtime, size};

/// Returns the CPU time of this thread in milliseconds; 0 where it is not available.
fn worked() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text.split(' ').next().and_then(|text| text.parse::<f64>().ok());
    nanoseconds.unwrap_or_default() / 1e6
}

/// Makes this many calls at once, each of which takes 100 ms. Returns the CPU time of this thread.
async fn call(served: &Served, revision: Revision, calls: usize) -> f64 {
    let mut config = ClientConfig::new("client", "1");
    config.revisions = RevisionSet::only(revision);
    config.connection.limits.outbound_calls = u32::try_from(calls).unwrap();
    let connection = soon(connect(config, &served.url(), RefuseAll::new())).await.unwrap();
    let (before, began) = (worked(), Instant::now());
    let pending: Vec<_> = (0..calls)
        .map(|call| {
            let text = format!("0100{}", "0".repeat(call % 7));
            let params = json!({"name": "pause", "arguments": {"text": format!("{text} {call}")}});
            connection.handle().call_method("tools/call", &params, CallOptions::new())
        })
        .collect();
    for (call, one) in pending.into_iter().enumerate() {
        let reply = soon(one).await.unwrap();
        assert!(reply.raw().as_json().contains(&format!(" {call}\"")), "{call}: {:?}", reply.raw());
    }
    let worked = worked() - before;
    println!("{calls} calls of {revision}: {worked:.0} ms of work, {:?} in all", began.elapsed());
    assert_eq!(connection.handle().counts().outbound, 0);
    worked
}

async fn compare(revision: Revision) {
    let mut options = mcp_sansio_http::EndpointOptions::new();
    options.connection = ConnectionOptions::new().handlers(10_000);
    let mut config = server_config();
    let calls = size("HTTP_CALLS", 500);
    config.connection.limits.inbound_requests = u32::try_from(calls).unwrap();
    let served = Served::with(config, options, std::time::Duration::ZERO).await;
    call(&served, revision, 10).await;
    let few = call(&served, revision, calls / 10).await;
    let many = call(&served, revision, calls).await;
    println!("ten times as many calls of {revision}: {:.1} times the work", many / few);
    served.is_quiet().await;
}

#[test]
fn many_stateless_calls() {
    runtime().build().unwrap().block_on(compare(Revision::V2026_07_28));
}

#[test]
fn many_calls_of_one_session() {
    runtime().build().unwrap().block_on(compare(Revision::V2025_11_25));
}
