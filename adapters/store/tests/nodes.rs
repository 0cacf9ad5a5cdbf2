//! Nodes that share a store, without sockets: sessions move, and acknowledged changes stay.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod kit;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use http_body_util::BodyExt;
use kit::{Cluster, SlowStore, call, end, event, listen, open, send, text};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::Instant;

fn subscribe(id: u64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "resources/subscribe", "params": {"uri": "test://one"}})
}

#[tokio::test(start_paused = true)]
async fn any_node_serves_any_request() {
    let cluster = Cluster::new();
    let (a, b, c) = (cluster.start("a").await, cluster.start("b").await, cluster.start("c").await);
    // Each step of the handshake at another node.
    let session = open(&a, &b).await;
    for (id, node) in (1..).zip([&a, &b, &c, &b]) {
        let (status, message) = send(node, &session, &call(id, "echo", &json!({"n": id}))).await;
        assert_eq!((status, text(&message)), (200, &*format!(r#"{{"n":{id}}}"#)));
        assert_eq!(message["id"], id);
    }
    // One node has it.
    let sessions = [&a, &b, &c].map(|node| node.endpoint().sessions());
    assert_eq!(sessions, [1, 0, 0]);
}

/// A request that changes nothing for the client is not written.
#[tokio::test(start_paused = true)]
async fn a_session_is_stored_when_it_changes() {
    let mut cluster = Cluster::new();
    // Signs of life are writes as well.
    cluster.options.beat = Duration::from_secs(100_000);
    cluster.options.silence = Duration::from_secs(200_000);
    let a = cluster.start("a").await;
    assert_eq!(cluster.store.writes(), 1);
    let session = open(&a, &a).await;
    assert_eq!(cluster.store.writes(), 3, "both steps of the handshake");
    for id in 1..=20 {
        send(&a, &session, &call(id, "echo", &json!({}))).await;
    }
    assert_eq!(cluster.store.writes(), 3);
    send(&a, &session, &subscribe(21)).await;
    assert_eq!(cluster.store.writes(), 4);
    // The store would remove a session that is not written for an hour.
    tokio::time::advance(Duration::from_secs(1_000)).await;
    send(&a, &session, &call(22, "echo", &json!({}))).await;
    assert_eq!(cluster.store.writes(), 5);
    assert_eq!(end(&a, &session).await, 200);
    assert_eq!(cluster.store.writes(), 6);
    assert_eq!(send(&a, &session, &call(23, "echo", &json!({}))).await.0, 404);
}

#[tokio::test(start_paused = true)]
async fn a_session_outlives_its_node() {
    let cluster = Cluster::new();
    let (a, b, c) = (cluster.start("a").await, cluster.start("b").await, cluster.start("c").await);
    let session = open(&a, &a).await;
    assert_eq!(send(&b, &session, &subscribe(1)).await.0, 200);
    cluster.kill("a");
    drop(a);
    // The subscription is still there: it was stored before its response.
    let mut stream = listen(&c, &session, None).await;
    assert_eq!(stream.status(), 200);
    assert_eq!((b.endpoint().sessions(), c.endpoint().sessions()), (0, 1));
    let (status, message) = send(&b, &session, &call(2, "touch", &json!({}))).await;
    assert_eq!((status, text(&message)), (200, "touched"));
    let (_, update) = event(&mut stream).await;
    assert_eq!(update["params"]["uri"], "test://one");
}

/// Events with an id that a client has can be resumed from at another node, and those after it are not lost.
#[tokio::test(start_paused = true)]
async fn an_event_stream_is_resumed_at_another_node() {
    let cluster = Cluster::new();
    let (a, b) = (cluster.start("a").await, cluster.start("b").await);
    let session = open(&a, &a).await;
    send(&a, &session, &subscribe(1)).await;
    let mut stream = listen(&a, &session, None).await;
    for id in 2..=4 {
        send(&a, &session, &call(id, "touch", &json!({}))).await;
    }
    let (first, _) = event(&mut stream).await;
    let (second, _) = event(&mut stream).await;
    let (third, _) = event(&mut stream).await;
    assert!(first != second && second != third);
    cluster.kill("a");
    drop((stream, a));
    let mut resumed = listen(&b, &session, Some(&first)).await;
    assert_eq!(resumed.status(), 200);
    assert_eq!(event(&mut resumed).await.0, second);
    assert_eq!(event(&mut resumed).await.0, third);
    // And it goes on there, with the next number.
    send(&b, &session, &call(5, "touch", &json!({}))).await;
    let (fourth, _) = event(&mut resumed).await;
    assert!(![&first, &second, &third].contains(&&fourth), "{fourth}");
}

/// A node that is believed dead and is not: it must not send anything for a session that another one serves.
#[tokio::test(start_paused = true)]
async fn a_node_that_was_cut_off_serves_its_sessions_no_longer() {
    let cluster = Cluster::new();
    let (a, b) = (cluster.start("a").await, cluster.start("b").await);
    let session = open(&a, &a).await;
    send(&a, &session, &subscribe(1)).await;
    cluster.network.cut("a").unwrap();
    // It gives signs of life, so it is not replaced at once.
    let began = Instant::now();
    assert_eq!(send(&b, &session, &call(2, "echo", &json!({}))).await.0, 503);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let mut stream = listen(&a, &session, None).await;
    while send(&b, &session, &call(2, "echo", &json!({}))).await.0 == 503 {
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    assert_eq!(began.elapsed(), Duration::from_secs(5));
    assert_eq!((a.endpoint().sessions(), b.endpoint().sessions()), (1, 1));
    // An event is not sent, because it cannot be stored.
    cluster.network.connect("a", a.clone());
    let (status, _) = send(&a, &session, &call(3, "touch", &json!({}))).await;
    assert_eq!(status, 503);
    let broken = loop {
        match tokio::time::timeout(Duration::from_secs(600), stream.body_mut().frame())
            .await
            .unwrap()
        {
            Some(Ok(frame)) => {
                assert!(!String::from_utf8_lossy(&frame.into_data().unwrap()).contains("updated"))
            }
            other => break other,
        }
    };
    assert!(broken.is_none_or(|frame| frame.is_err()));
    assert_eq!((a.endpoint().sessions(), b.endpoint().sessions()), (0, 1));
    // Its clients find the session at the other node.
    let (status, message) = send(&a, &session, &call(4, "echo", &json!({"n": 4}))).await;
    assert_eq!((status, text(&message)), (200, r#"{"n":4}"#));
}

/// A node that hangs is reached, but gives no sign of life.
#[tokio::test(start_paused = true)]
async fn a_silent_node_loses_its_sessions() {
    let cluster = Cluster::new();
    let b = cluster.start("b").await;
    let mut silent = Cluster::new();
    (silent.store, silent.network) = (cluster.store.clone(), cluster.network.clone());
    silent.options.beat = Duration::from_secs(100_000);
    let a = silent.start("a").await;
    let session = open(&a, &b).await;
    assert_eq!(b.endpoint().sessions(), 0);
    tokio::time::sleep(Duration::from_millis(4_900)).await;
    assert_eq!(send(&b, &session, &call(1, "echo", &json!({}))).await.0, 200);
    assert_eq!(b.endpoint().sessions(), 0);
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    assert_eq!(send(&b, &session, &call(2, "echo", &json!({}))).await.0, 200);
    assert_eq!(b.endpoint().sessions(), 1);
}

/// A change that is not stored is not acknowledged. The session goes on when the store does.
#[tokio::test(start_paused = true)]
async fn a_store_that_fails_costs_no_session() {
    let errors = Arc::new(Mutex::new(Vec::new()));
    let mut cluster = Cluster::new();
    let noted = Arc::clone(&errors);
    cluster.options.on_error = Arc::new(move |error| noted.lock().unwrap().push(error.to_string()));
    let (a, b) = (cluster.start("a").await, cluster.start("b").await);
    let session = open(&a, &a).await;
    cluster.store.set_failing(true);
    assert_eq!(send(&a, &session, &subscribe(1)).await.0, 503);
    assert_eq!(*errors.lock().unwrap(), ["the store failed: it is set to fail"]);
    assert_eq!(send(&b, &session, &call(2, "echo", &json!({}))).await.0, 503);
    // A request that needs no write is served.
    let unopened = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
    assert_eq!(b.handle(kit::request(None, &unopened)).await.status(), 503);
    cluster.store.set_failing(false);
    let (status, message) = send(&a, &session, &call(3, "echo", &json!({}))).await;
    assert_eq!((status, text(&message)), (200, "{}"));
    cluster.kill("a");
    drop(a);
    let (status, message) = send(&b, &session, &call(4, "echo", &json!({}))).await;
    assert_eq!((status, text(&message)), (200, "{}"));
}

#[tokio::test(start_paused = true)]
async fn a_session_that_was_ended_does_not_come_back() {
    let cluster = Cluster::new();
    let (a, b) = (cluster.start("a").await, cluster.start("b").await);
    let session = open(&a, &a).await;
    assert_eq!(end(&b, &session).await, 200);
    for node in [&a, &b] {
        assert_eq!(send(node, &session, &call(1, "echo", &json!({}))).await.0, 404);
    }
    // A session that its node ended because it was not used.
    let session = open(&a, &a).await;
    tokio::time::sleep(Duration::from_secs(31 * 60)).await;
    assert_eq!(send(&b, &session, &call(1, "echo", &json!({}))).await.0, 404);
    assert_eq!((a.endpoint().sessions(), b.endpoint().sessions()), (0, 0));
}

/// A client that goes while its session is being stored leaves a session that is still served here.
#[tokio::test(start_paused = true)]
async fn a_request_may_be_dropped_during_a_write() {
    let cluster = Cluster::new();
    let a = cluster
        .start_on(Arc::new(SlowStore(cluster.store.clone(), Duration::from_secs(1))), "a")
        .await;
    let b = cluster.start("b").await;
    let session = open(&a, &a).await;
    let mut stream = listen(&a, &session, None).await;
    let written = cluster.store.writes();
    let request = subscribe(1);
    let subscribed = send(&a, &session, &request);
    assert!(tokio::time::timeout(Duration::from_millis(500), subscribed).await.is_err());
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(written < cluster.store.writes());
    // The stream is that of before, and the session has not moved.
    assert_eq!(send(&b, &session, &call(2, "touch", &json!({}))).await.0, 200);
    assert_eq!(event(&mut stream).await.1["params"]["uri"], "test://one");
    assert_eq!((a.endpoint().sessions(), b.endpoint().sessions()), (1, 0));
}

/// A planned restart: no request is refused by the other nodes, and a call that takes time is finished.
#[tokio::test(start_paused = true)]
async fn a_node_that_leaves_hands_its_sessions_over() {
    let cluster = Cluster::new();
    let (a, b) = (cluster.start("a").await, cluster.start("b").await);
    let session = open(&a, &a).await;
    send(&a, &session, &subscribe(1)).await;
    let slow = tokio::spawn({
        let (a, session) = (a.clone(), session.clone());
        async move { send(&a, &session, &call(2, "later", &json!({}))).await }
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    a.leave(Duration::from_secs(60)).await.unwrap();
    let (status, message) = slow.await.unwrap();
    assert_eq!((status, text(&message)), (200, "later"));
    assert_eq!((a.endpoint().sessions(), b.endpoint().sessions()), (0, 0));
    let (status, message) = send(&b, &session, &call(3, "echo", &json!({}))).await;
    assert_eq!((status, text(&message)), (200, "{}"));
    assert_eq!(b.endpoint().sessions(), 1);
}

/// A session that only waits on its event stream is still there when its node is killed hours later.
#[tokio::test(start_paused = true)]
async fn a_session_that_waits_stays_in_the_store() {
    let cluster = Cluster::new();
    let (a, b) = (cluster.start("a").await, cluster.start("b").await);
    let session = open(&a, &a).await;
    send(&a, &session, &subscribe(1)).await;
    let stream = listen(&a, &session, None).await;
    tokio::time::sleep(Duration::from_secs(4 * 3600)).await;
    cluster.kill("a");
    drop((stream, a));
    assert_eq!(listen(&b, &session, None).await.status(), 200);
}

/// A node that is leaving takes no session over, although it still gets requests.
#[tokio::test(start_paused = true)]
async fn a_node_that_leaves_takes_nothing_over() {
    let cluster = Cluster::new();
    let (a, b) = (cluster.start("a").await, cluster.start("b").await);
    let session = open(&a, &a).await;
    a.leave(Duration::ZERO).await.unwrap();
    assert_eq!(send(&a, &session, &call(1, "echo", &json!({}))).await.0, 503);
    assert_eq!(a.endpoint().sessions(), 0);
    assert_eq!(send(&b, &session, &call(1, "echo", &json!({}))).await.0, 200);
}

/// A process that starts again at the same address takes over what the earlier one had.
#[tokio::test(start_paused = true)]
async fn a_node_that_starts_again_has_its_sessions() {
    let cluster = Cluster::new();
    let session = {
        let a = cluster.start("a").await;
        let session = open(&a, &a).await;
        cluster.kill("a");
        session
    };
    let a = cluster.start("a").await;
    let (status, message) = send(&a, &session, &call(1, "echo", &json!({}))).await;
    assert_eq!((status, text(&message)), (200, "{}"));
}

/// Many requests at once for a session whose node is gone: it is taken over once.
#[tokio::test(start_paused = true)]
async fn a_session_is_taken_over_once() {
    let cluster = Cluster::new();
    let (a, b, c) = (cluster.start("a").await, cluster.start("b").await, cluster.start("c").await);
    let session = open(&a, &a).await;
    cluster.kill("a");
    drop(a);
    let mut calls = JoinSet::new();
    for id in 1..=40 {
        let (node, session) = (if id % 2 == 0 { b.clone() } else { c.clone() }, session.clone());
        let call = call(id, "echo", &json!({"n": id}));
        calls.spawn(async move { send(&node, &session, &call).await });
    }
    while let Some(done) = calls.join_next().await {
        let (status, message) = done.unwrap();
        assert_eq!((status, text(&message)), (200, &*format!(r#"{{"n":{}}}"#, message["id"])));
    }
    assert_eq!(b.endpoint().sessions() + c.endpoint().sessions(), 1);
}

/// Proves H-HTTP-34 for a node.
#[tokio::test(start_paused = true)]
async fn a_modern_request_needs_no_store() {
    let cluster = Cluster::new();
    let a = cluster.start("a").await;
    cluster.store.set_failing(true);
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "echo", "arguments": {}, "_meta": meta}});
    // A session that it names means nothing.
    for session in [None, Some("0123456789abcdef0123456789abcdef")] {
        let mut request = kit::request(session, &body);
        for (name, value) in [
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/call"),
            ("mcp-name", "echo"),
        ] {
            request.headers_mut().insert(name, value.parse().unwrap());
        }
        let (status, message) = kit::whole(a.handle(request).await).await;
        assert_eq!((status, text(&message)), (200, "{}"));
    }
}

/// An unknown id is refused.
#[tokio::test(start_paused = true)]
async fn an_unknown_session_is_refused() {
    let cluster = Cluster::new();
    let a = cluster.start("a").await;
    for unknown in ["0123456789abcdef0123456789abcdef", "none", ""] {
        let (status, _) = send(&a, unknown, &call(1, "echo", &json!({}))).await;
        assert!([400, 404].contains(&status), "{unknown}: {status}");
    }
    let mut stream = listen(&a, "0123456789abcdef0123456789abcdef", None).await;
    assert_eq!(stream.status(), 404);
    assert!(stream.body_mut().frame().await.is_some());
}
