//! Servers that stop.

use std::time::Duration;

use mcp_sansio_http::EndpointOptions;
use serde_json::Value;

use crate::http::kit::{A_LONG_TIME, Served, server_config, soon};
use crate::http::raw::{Raw, legacy, listen, modern, post, request, text_of};

/// Returns a subscription to changes of the tool list.
fn subscribe(id: u32) -> String {
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"subscriptions/listen","params":{{"notifications":{{"toolsListChanged":true}},"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
    );
    post("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\n", &body)
}

async fn event(raw: &mut Raw) -> Value {
    let chunk = raw.chunk().await;
    let data = chunk.strip_prefix("data: ").and_then(|data| data.strip_suffix("\n\n"));
    serde_json::from_str(data.unwrap()).unwrap()
}

/// Proves H-HTTP-112, H-HTTP-117, H-HR-17
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_graceful_stop_completes_open_requests_and_streams() {
    let mut served = Served::with(server_config(), EndpointOptions::new(), A_LONG_TIME).await;
    let mut listening = Raw::connect(served.address).await;
    listening.send(subscribe(1)).await;
    assert!(listening.head().await.contains("text/event-stream"));
    let acknowledged = event(&mut listening).await;
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
    let mut idle = Raw::connect(served.address).await;
    let session = idle.initialize("2025-06-18").await;
    let mut events = Raw::connect(served.address).await;
    events.send(listen(&session, "")).await;
    events.head().await;
    let (mut stateless, mut in_session) =
        (Raw::connect(served.address).await, Raw::connect(served.address).await);
    stateless.send(modern(2, "gate", "alone")).await;
    in_session.send(legacy(&session, 3, "gate", "in session")).await;
    let both = ["at the gate alone", "at the gate in session"];
    assert_eq!(served.log.sorted(2).await, both);
    served.stop();
    let end = event(&mut listening).await;
    assert_eq!((&end["id"], &end["result"]["resultType"]), (&1.into(), &"complete".into()));
    assert_eq!(listening.chunk().await, "");
    assert!(idle.is_over().await);
    // A request that reaches the endpoint without the server's listener is refused.
    let request = request(&served, modern(4, "note", "late"));
    assert_eq!(served.endpoint.handle(request).await.status(), 503);
    assert!(!served.task.is_finished());
    served.script.gate.add_permits(2);
    assert_eq!(text_of(&stateless.answer().await.json()), "through alone");
    assert_eq!(text_of(&in_session.answer().await.json()), "through in session");
    assert_eq!(events.chunk().await, "");
    soon(served.task).await.unwrap().unwrap();
    assert_eq!(served.log.sorted(2).await, ["through alone", "through in session"]);
    assert!(served.log.is_silent());
}

#[tokio::test]
async fn a_stop_closes_all_connections_after_the_grace_period() {
    let grace = Duration::from_millis(200);
    let mut served = Served::with(server_config(), EndpointOptions::new(), grace).await;
    let session = Raw::connect(served.address).await.initialize("2025-11-25").await;
    let mut deaf = Raw::connect(served.address).await;
    deaf.send(modern(1, "large", "50000000")).await;
    assert_eq!(served.log.next().await, "answered");
    let mut also_deaf = Raw::connect(served.address).await;
    also_deaf.send(legacy(&session, 2, "large", "50000000")).await;
    assert_eq!(served.log.next().await, "answered");
    let (mut slow, mut slow_in_session) =
        (Raw::connect(served.address).await, Raw::connect(served.address).await);
    slow.send(modern(3, "wait", "alone")).await;
    slow_in_session.send(legacy(&session, 4, "wait", "in session")).await;
    assert_eq!(served.log.sorted(2).await, ["waiting alone", "waiting in session"]);
    served.stop();
    soon(served.task).await.unwrap().unwrap();
    assert_eq!(served.log.sorted(2).await, ["cancelled alone", "cancelled in session"]);
    // The connections are closed as well, with the bytes that were in flight.
    for raw in [&mut deaf, &mut also_deaf, &mut slow, &mut slow_in_session] {
        assert!(raw.count().await < 50_000_000);
    }
}

/// Dropping the server ends it.
#[tokio::test]
async fn a_server_that_is_dropped_is_gone() {
    let mut served = Served::new().await;
    let session = Raw::connect(served.address).await.initialize("2025-06-18").await;
    let mut raw = Raw::connect(served.address).await;
    raw.send(legacy(&session, 1, "wait", "1")).await;
    let mut stateless = Raw::connect(served.address).await;
    stateless.send(modern(2, "wait", "2")).await;
    assert_eq!(served.log.sorted(2).await, ["waiting 1", "waiting 2"]);
    served.task.abort();
    drop(served.endpoint);
    assert_eq!(served.log.sorted(2).await, ["cancelled 1", "cancelled 2"]);
    assert!(raw.is_over().await && stateless.is_over().await);
}

/// A request that is refused for lack of room is not executed.
#[tokio::test]
async fn a_request_refused_at_the_open_limit_is_not_executed() {
    let mut options = EndpointOptions::new();
    options.most_open = 1;
    let mut served = Served::with(server_config(), options, Duration::ZERO).await;
    let mut first = Raw::connect(served.address).await;
    first.send(modern(1, "gate", "1")).await;
    assert_eq!(served.log.next().await, "at the gate 1");
    let mut second = Raw::connect(served.address).await;
    second.send(modern(2, "note", "2")).await;
    assert_eq!(second.answer().await.status(), "503");
    // A request that had been started would be finished by now.
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(served.log.is_silent());
}
