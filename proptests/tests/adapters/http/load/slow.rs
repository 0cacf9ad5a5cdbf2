//! Clients that do not read.

use std::time::Duration;

use http_body_util::BodyExt;
use mcp_sansio_http::EndpointOptions;
use serde_json::Value;

use crate::http::kit::{A_LONG_TIME, Served, server_config, soon};
use crate::http::load::{holding, runtime, size};
use crate::http::raw::{Raw, http2, legacy, modern, request, text_of};

/// The number of bytes that may wait for a client on each stream.
const MOST: usize = 1 << 20;

/// The number of bytes that hyper, the system and the test hold in addition.
const BESIDE: usize = 4 << 20;

async fn serve() -> Served {
    let mut config = server_config();
    config.connection.limits.outbox_bytes = MOST;
    Served::with(config, EndpointOptions::new(), Duration::ZERO).await
}

async fn is_served(served: &Served) {
    let mut raw = Raw::connect(served.address).await;
    raw.send(modern(99, "echo", "meanwhile")).await;
    assert_eq!(text_of(&raw.answer().await.json()), "meanwhile");
}

fn sent(line: &str) -> usize {
    line.strip_prefix("sent ").unwrap().parse().unwrap()
}

/// Reads an event stream to its end. Returns the number of notifications before the response, which comes last.
async fn read(raw: &mut Raw) -> (usize, Value) {
    assert!(raw.head().await.contains("text/event-stream"));
    let mut notifications = 0;
    loop {
        let chunk = raw.chunk().await;
        let data = chunk.lines().find_map(|line| line.strip_prefix("data: "));
        let Some(data) = data.filter(|data| !data.is_empty()) else { continue };
        let message: Value = serde_json::from_str(data).unwrap();
        if message["method"].is_null() {
            assert_eq!(raw.chunk().await, "");
            return (notifications, message);
        }
        assert_eq!(message["method"], "notifications/progress");
        notifications += 1;
    }
}

/// Proves H-HTTP-08
#[test]
fn unread_notifications_use_bounded_memory() {
    let runtime = runtime().build().unwrap();
    let steps = size("HTTP_STEPS", 20_000);
    let mut served = runtime.block_on(serve());
    let session = runtime
        .block_on(async { Raw::connect(served.address).await.initialize("2025-11-25").await });
    let text = steps.to_string();
    for request in [modern(1, "steps", &text), legacy(&session, 1, "steps", &text)] {
        let mut raw = runtime.block_on(Raw::connect(served.address));
        let (accepted, bytes) = holding(&runtime, async {
            raw.send(request).await;
            sent(&served.log.next().await)
        });
        println!("{steps} notifications, of which {accepted} were taken, hold {bytes} bytes");
        assert!(bytes < MOST + BESIDE, "{bytes}");
        runtime.block_on(is_served(&served));
        let (came, answer) = runtime.block_on(read(&mut raw));
        assert_eq!(came, accepted, "what was taken comes, and nothing else");
        assert_eq!(text_of(&answer), format!("{steps} steps"));
    }
}

/// Proves H-HTTP-08
#[test]
fn a_large_unread_result_uses_bounded_memory() {
    let runtime = runtime().build().unwrap();
    let large = size("HTTP_BYTES", 10_000_000);
    let mut served = runtime.block_on(serve());
    let mut raw = runtime.block_on(Raw::connect(served.address));
    let ((), bytes) = holding(&runtime, async {
        raw.send(modern(1, "large", &large.to_string())).await;
        assert_eq!(served.log.next().await, "answered");
        is_served(&served).await;
    });
    println!("an answer of {large} bytes holds {bytes}");
    assert!(bytes < 3 * large + BESIDE, "{bytes}");
    let (came, answer) = runtime.block_on(read(&mut raw));
    assert_eq!((came, text_of(&answer).len()), (1, large));
    drop((raw, answer));
    let after = runtime.block_on(async {
        let mut raw = Raw::connect(served.address).await;
        raw.send(modern(2, "echo", "")).await;
        raw.answer().await
    });
    assert_eq!(after.status(), "200");
}

/// An unread HTTP/2 stream does not block the other streams of its connection.
///
/// Proves H-HTTP-08
#[test]
fn an_unread_http2_stream_does_not_block_other_streams() {
    let runtime = runtime().build().unwrap();
    let large = size("HTTP_BYTES", 10_000_000);
    let mut served = runtime.block_on(serve());
    let client = http2();
    runtime.block_on(async {
        let unread = request(&served, modern(1, "large", &large.to_string()));
        let unread = soon(client.request(unread)).await.unwrap();
        assert_eq!(served.log.next().await, "answered");
        for id in 2..100 {
            let answer = request(&served, modern(id, "echo", "meanwhile"));
            let answer = soon(client.request(answer)).await.unwrap();
            let answer = soon(answer.into_body().collect()).await.unwrap().to_bytes();
            let answer: Value = serde_json::from_slice(&answer).unwrap();
            assert_eq!((&answer["id"], text_of(&answer)), (&id.into(), "meanwhile"));
        }
        let body = unread.into_body().collect();
        let body = tokio::time::timeout(A_LONG_TIME, body).await.unwrap().unwrap().to_bytes();
        assert!(large < body.len());
        assert!(body.ends_with(b"\n\n"));
    });
}
