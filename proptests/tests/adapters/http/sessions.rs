//! The cost of a session, and its behaviour without room.

use std::time::Duration;

use http_body_util::BodyExt;
use hyper::Request;
use mcp_sansio::Principal;
use mcp_sansio_http::{EndpointOptions, OneStreamPaths};
use serde_json::{Value, json};

use crate::http::kit::{Served, server_config, soon};
use crate::http::raw::{Raw, call, legacy, post, text_of};

/// One tokio task keeps the time of all sessions, and ends with the last of them.
#[tokio::test]
async fn a_session_costs_no_task() {
    let served = Served::new().await;
    let mut raw = Raw::connect(served.address).await;
    let end = |session: &str| {
        let field = format!("Mcp-Session-Id: {session}");
        format!("DELETE /mcp HTTP/1.1\r\nHost: localhost\r\n{field}\r\n\r\n")
    };
    // The connection has a tokio task of its own, and the events of all sessions have one that stays.
    let first = raw.initialize("2025-06-18").await;
    raw.send(end(&first)).await;
    assert_eq!(raw.answer().await.status(), "200");
    let metrics = tokio::runtime::Handle::current().metrics();
    let time_is_kept = async {
        while served.endpoint.sessions() != 0 || metrics.num_alive_tasks() > 3 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    soon(time_is_kept).await;
    let before = metrics.num_alive_tasks();
    let mut sessions = Vec::new();
    for _ in 0..20 {
        sessions.push(raw.initialize("2025-06-18").await);
    }
    let quiet = async {
        while before + 1 < metrics.num_alive_tasks() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    soon(quiet).await;
    for session in sessions {
        raw.send(end(&session)).await;
        assert_eq!(raw.answer().await.status(), "200");
    }
    let over = async {
        while before < metrics.num_alive_tasks() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    soon(over).await;
}

/// Starts an endpoint whose sessions have room for one long request, which counts with twice its length.
async fn narrow() -> Served {
    let mut config = server_config();
    config.connection.limits.connection_bytes = 20_000;
    let mut options = EndpointOptions::new();
    options.one_stream = Some(OneStreamPaths::default());
    Served::with(config, options, Duration::ZERO).await
}

/// Starts such an endpoint, with a session whose first request is at the gate. Returns the connection of the request,
/// and the session.
async fn at_the_gate() -> (Served, Raw, String) {
    let mut served = narrow().await;
    let mut first = Raw::connect(served.address).await;
    let session = first.initialize("2025-06-18").await;
    first.send(legacy(&session, 1, "gate", &"a".repeat(6_000))).await;
    assert!(served.log.next().await.starts_with("at the gate a"));
    (served, first, session)
}

/// Returns the cancellation of a request.
fn cancel(id: &Value) -> String {
    json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})
        .to_string()
}

/// Returns the first request of a client of 2024-11-05.
fn initialize() -> String {
    let params = json!({"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}).to_string()
}

/// Waits until this many requests are open.
async fn has_open(served: &Served, many: usize) {
    let open = async {
        while served.endpoint.open_requests() != many {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    soon(open).await;
}

/// A request without room waits, in order, and is served when there is room. Notifications and responses do not wait.
///
/// Pain 3
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_post_waits_for_room() {
    let mut served = narrow().await;
    let mut raws = Vec::new();
    for _ in 0..4 {
        raws.push(Raw::connect(served.address).await);
    }
    let session = raws[0].initialize("2025-06-18").await;
    for (number, raw) in (0_u32..).zip(&mut raws[..3]) {
        let text = number.to_string().repeat(6_000);
        raw.send(legacy(&session, number, "gate", &text)).await;
        has_open(&served, number as usize + 1).await;
    }
    assert!(served.log.next().await.starts_with("at the gate 0"));
    assert!(40_000 < served.endpoint.kept_bytes(), "what waits counts");
    let progress = json!({
        "jsonrpc": "2.0",
        "method": "notifications/progress",
        "params": {"progressToken": 1, "progress": 1},
    });
    raws[3].send(post(&format!("Mcp-Session-Id: {session}\r\n"), &progress.to_string())).await;
    assert_eq!(raws[3].answer().await.status(), "202");
    raws[3].send(legacy(&session, 9, "echo", "")).await;
    for (number, raw) in raws[..3].iter_mut().enumerate() {
        served.script.gate.add_permits(1);
        let answer = raw.answer().await;
        assert_eq!(answer.status(), "200");
        assert!(text_of(&answer.json()).starts_with(&format!("through {number}")));
    }
    assert_eq!(raws[3].answer().await.status(), "200");
    // No two requests were at the gate at the same time.
    let mut order = Vec::new();
    while order.len() < 5 {
        let line = served.log.next().await;
        let is_it = line.starts_with("at the gate") || line.starts_with("through");
        order.extend(is_it.then(|| line[..line.len() - 5_999].to_owned()));
    }
    let expected = ["through 0", "at the gate 1", "through 1", "at the gate 2", "through 2"];
    assert_eq!(order, expected);
}

/// A waiting request whose client disconnects, or whose session ends, blocks no other request.
#[tokio::test]
async fn a_post_that_waits_can_go() {
    let (served, mut first, session) = at_the_gate().await;
    let mut others = Vec::new();
    for number in 2..5_u32 {
        let mut raw = Raw::connect(served.address).await;
        raw.send(legacy(&session, number, "gate", &"b".repeat(6_000))).await;
        has_open(&served, number as usize).await;
        others.push(raw);
    }
    drop(others.remove(0));
    has_open(&served, 3).await;
    served.script.gate.add_permits(2);
    assert_eq!(first.answer().await.status(), "200");
    assert_eq!(others.remove(0).answer().await.status(), "200");
    // The last request is at the gate, and another one waits behind it.
    let mut last = Raw::connect(served.address).await;
    last.send(legacy(&session, 5, "gate", &"c".repeat(6_000))).await;
    has_open(&served, 2).await;
    let field = format!("Mcp-Session-Id: {session}");
    first.send(format!("DELETE /mcp HTTP/1.1\r\nHost: localhost\r\n{field}\r\n\r\n")).await;
    assert_eq!(first.answer().await.status(), "200");
    assert_eq!(last.answer().await.status(), "404");
    served.is_quiet().await;
}

/// A request that is cancelled while it waits for room never reaches the handler. Its response is an event stream
/// without events, and the requests behind it keep their order.
///
/// Pain 3
///
/// Proves L-CANCEL-05, L-CANCEL-06.
#[tokio::test]
async fn a_post_that_waits_can_be_cancelled() {
    let (mut served, mut first, session) = at_the_gate().await;
    let mut others = Vec::new();
    for (number, text) in (2..5_u32).zip(["b", "c", "d"]) {
        let mut raw = Raw::connect(served.address).await;
        raw.send(legacy(&session, number, "gate", &text.repeat(6_000))).await;
        has_open(&served, number as usize).await;
        others.push(raw);
    }
    let mut canceller = Raw::connect(served.address).await;
    let field = format!("Mcp-Session-Id: {session}\r\n");
    // The id is a number, and no request has the id 9.
    for id in [json!("3"), json!(9)] {
        canceller.send(post(&field, &cancel(&id))).await;
        assert_eq!(canceller.answer().await.status(), "202");
    }
    has_open(&served, 4).await;
    // One in the middle, and then the first one that waits.
    for (number, place) in [(3, 1), (2, 0)] {
        canceller.send(post(&field, &cancel(&json!(number)))).await;
        assert_eq!(canceller.answer().await.status(), "202");
        let answer = others.remove(place).answer().await;
        assert_eq!((answer.status(), &*answer.body), ("200", ""));
        assert_eq!(answer.field("content-type"), Some("text/event-stream"));
    }
    has_open(&served, 2).await;
    served.script.gate.add_permits(2);
    assert_eq!(first.answer().await.status(), "200");
    let last = others.remove(0).answer().await;
    assert!(text_of(&last.json()).starts_with("through d"));
    has_open(&served, 0).await;
    let mut order = Vec::new();
    while order.len() < 3 {
        let line = served.log.next().await;
        let is_it = line.starts_with("at the gate") || line.starts_with("through");
        order.extend(is_it.then(|| line[..line.len() - 5_999].to_owned()));
    }
    assert_eq!(order, ["through a", "at the gate d", "through d"]);
}

/// A cancellation of a request that waits can be the last message of a batch. The batch is answered nevertheless.
///
/// Pain 3
///
/// Proves L-CANCEL-05, L-CANCEL-06.
#[tokio::test]
async fn the_end_of_a_batch_can_cancel_a_post_that_waits() {
    let mut served = narrow().await;
    let mut first = Raw::connect(served.address).await;
    let session = first.initialize("2025-03-26").await;
    first.send(legacy(&session, 1, "gate", &"a".repeat(6_000))).await;
    assert!(served.log.next().await.starts_with("at the gate a"));
    let mut waiting = Raw::connect(served.address).await;
    waiting.send(legacy(&session, 2, "gate", &"b".repeat(6_000))).await;
    has_open(&served, 2).await;
    let batch = format!("[{},{}]", call(3, "echo", "hello", &json!({})), cancel(&json!(2)));
    let mut raw = Raw::connect(served.address).await;
    raw.send(post(&format!("Mcp-Session-Id: {session}\r\n"), &batch)).await;
    let response =
        r#"[{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"hello"}]}}]"#;
    assert_eq!(raw.answer().await.body, response);
    let cancelled = waiting.answer().await;
    assert_eq!((cancelled.status(), &*cancelled.body), ("200", ""));
    served.script.gate.add_permits(1);
    assert_eq!(first.answer().await.status(), "200");
    has_open(&served, 0).await;
    assert!(served.log.next().await.starts_with("through a"));
    assert!(served.log.is_silent());
}

/// The same for a client of 2024-11-05, whose POST has no body in its response.
///
/// Pain 3
#[tokio::test]
async fn a_message_that_waits_can_be_cancelled() {
    let mut served = narrow().await;
    let mut events = Raw::connect(served.address).await;
    events.send("GET /sse HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n").await;
    events.head().await;
    let endpoint = events.chunk().await;
    let path = endpoint.split("data: ").nth(1).unwrap().trim().to_owned();
    let send = |message: &str| post("", message).replacen("/mcp", &path, 1);
    let mut raw = Raw::connect(served.address).await;
    raw.send(send(&initialize())).await;
    assert_eq!(raw.answer().await.status(), "202");
    events.chunk().await;
    raw.send(send(&call(1, "gate", &"a".repeat(6_000), &json!({})))).await;
    assert_eq!(raw.answer().await.status(), "202");
    assert!(served.log.next().await.starts_with("at the gate a"));
    let mut waiting = Raw::connect(served.address).await;
    waiting.send(send(&call(2, "gate", &"b".repeat(6_000), &json!({})))).await;
    has_open(&served, 2).await;
    raw.send(send(&cancel(&json!(2)))).await;
    assert_eq!(raw.answer().await.status(), "202");
    assert_eq!(waiting.answer().await.status(), "202");
    has_open(&served, 1).await;
    served.script.gate.add_permits(1);
    assert!(events.chunk().await.contains("through a"));
    has_open(&served, 0).await;
}

/// A session that the server has ended does not count for the limits, although its client does not know yet that it has
/// ended. Here the client of 2024-11-05 does not read the end of its event stream.
#[tokio::test]
async fn a_session_that_the_server_has_ended_does_not_count() {
    let mut options = EndpointOptions::new();
    options.http.most_sessions = 1;
    options.one_stream = Some(OneStreamPaths::default());
    let served = Served::with(server_config(), options, Duration::ZERO).await;
    let mut raw = Raw::connect(served.address).await;
    let session = raw.initialize("2025-06-18").await;
    let events = Request::get(served.url()).header("Accept", "text/event-stream").body(());
    let unread = served.endpoint.handle_event_stream(Principal::default(), events.unwrap()).await;
    let mut unread = unread.into_body();
    let path = soon(unread.frame()).await.unwrap().unwrap().into_data().unwrap();
    let path = String::from_utf8(path.to_vec()).unwrap();
    let path = path.split("data: ").nth(1).unwrap().trim();
    for message in [initialize(), call(1, "leave", "", &json!({}))] {
        raw.send(post("", &message).replacen("/mcp", path, 1)).await;
        assert_eq!(raw.answer().await.status(), "202");
    }
    raw.send(legacy(&session, 1, "leave", "")).await;
    assert_eq!(raw.answer().await.status(), "200");
    let have_ended = async {
        while served.endpoint.sessions() != 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    soon(have_ended).await;
    raw.send(legacy(&session, 2, "echo", "")).await;
    assert_eq!(raw.answer().await.status(), "404");
    // There is room for another one.
    raw.initialize("2025-06-18").await;
    assert_eq!(served.endpoint.sessions(), 1);
}
