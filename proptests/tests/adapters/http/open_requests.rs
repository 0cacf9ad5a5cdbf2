//! The limits on concurrent requests of an endpoint, in total and of each client.

use std::time::Duration;

use mcp_sansio::Principal;
use mcp_sansio_http::{EndpointOptions, OneStreamPaths};
use serde_json::{Value, json};

use super::kit::{Served, server_config, soon};
use super::raw::{Answer, Raw, legacy, modern, post};

const FULL: &str = "too many requests are being answered (EndpointOptions::most_open)";
const FULL_FOR_CLIENT: &str =
    "too many requests of this client are being answered (EndpointOptions::open_of_client)";

/// Starts a server whose clients identify themselves in `X-User`, if they do.
async fn serve(set: impl FnOnce(&mut EndpointOptions)) -> Served {
    let mut options = EndpointOptions::new().identify(|head| {
        let user = head.headers.get("x-user").and_then(|user| user.to_str().ok());
        Ok(Principal::new(user.and_then(|user| user.parse().ok()).unwrap_or_default()))
    });
    set(&mut options);
    Served::with(server_config(), options, Duration::ZERO).await
}

async fn ask(served: &Served, text: String) -> Answer {
    let mut raw = Raw::connect(served.address).await;
    raw.send(text).await;
    raw.answer().await
}

/// Sends a request and does not wait for its response.
async fn begin(served: &Served, text: String) -> Raw {
    let mut raw = Raw::connect(served.address).await;
    raw.send(text).await;
    raw
}

/// Opens a session of a user, or of an anonymous client. Returns the session id, followed by the field of the user.
async fn open(served: &Served, user: u64) -> String {
    let fields = format!("X-User: {user}\r\n");
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
    let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
    let answer = ask(served, post(&fields, &body.to_string())).await;
    let session = answer.field("mcp-session-id").unwrap();
    format!("{session}\r\nX-User: {user}")
}

fn message(session: &str, message: &Value) -> String {
    post(&format!("Mcp-Session-Id: {session}\r\n"), &message.to_string())
}

fn ping() -> Value {
    json!({"jsonrpc": "2.0", "id": "ping", "method": "ping"})
}

#[track_caller]
fn assert_refused(answer: &Answer, text: &str) {
    assert_eq!((answer.status(), answer.field("retry-after")), ("503", Some("1")), "{answer:?}");
    let error = json!({"jsonrpc": "2.0", "error": {"code": -32603, "message": text}});
    assert_eq!(answer.json(), error);
}

/// Waits until this many requests are open.
async fn until(served: &Served, open: usize) {
    let reached = async {
        while served.endpoint.open_requests() != open {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    soon(reached).await;
}

/// At the limit every request is refused, in any session. Terminations, and messages that need no work, are accepted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_of_sessions_count_with_all_others() {
    let mut served = serve(|options| options.most_open = 3).await;
    let (one, other) = (open(&served, 0).await, open(&served, 0).await);
    let _first = begin(&served, legacy(&one, 1, "gate", "1")).await;
    let _second = begin(&served, legacy(&other, 2, "gate", "2")).await;
    let _third = begin(&served, modern(3, "gate", "3")).await;
    served.log.sorted(3).await;
    assert_eq!(served.endpoint.open_requests(), 3);
    for _ in 0..3 {
        assert_refused(&ask(&served, legacy(&other, 4, "note", "4")).await, FULL);
        assert_refused(&ask(&served, modern(4, "note", "4")).await, FULL);
    }
    assert_eq!(ask(&served, message(&one, &ping())).await.status(), "200");
    let answer = json!({"jsonrpc": "2.0", "id": 1, "result": {}});
    assert_eq!(ask(&served, message(&one, &answer)).await.status(), "202");
    let cancel =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    assert_eq!(ask(&served, message(&one, &cancel)).await.status(), "202");
    assert_eq!(served.log.next().await, "cancelled 1");
    until(&served, 2).await;
    assert_eq!(ask(&served, legacy(&other, 5, "note", "5")).await.status(), "200");
    assert_eq!(served.log.next().await, "note 5");
    served.script.gate.add_permits(2);
    until(&served, 0).await;
}

/// A client at its limit leaves room for others. Indistinguishable clients have only the total limit.
#[tokio::test]
async fn a_client_has_its_share_of_the_requests() {
    let mut served = serve(|options| {
        (options.most_open, options.open_of_client) = (6, 2);
    })
    .await;
    let (one, again, other) =
        (open(&served, 1).await, open(&served, 1).await, open(&served, 2).await);
    let _first = begin(&served, legacy(&one, 1, "gate", "1")).await;
    let _second = begin(&served, legacy(&again, 2, "gate", "2")).await;
    served.log.sorted(2).await;
    for session in [&one, &again] {
        assert_refused(&ask(&served, legacy(session, 3, "note", "3")).await, FULL_FOR_CLIENT);
        assert_eq!(ask(&served, message(session, &ping())).await.status(), "200");
    }
    let stateless = modern(3, "note", "3").replacen("Host:", "X-User: 1\r\nHost:", 1);
    assert_refused(&ask(&served, stateless).await, FULL_FOR_CLIENT);
    assert_eq!(ask(&served, legacy(&other, 4, "note", "4")).await.status(), "200");
    let unknown = open(&served, 0).await;
    let mut many = Vec::new();
    for id in 5..8 {
        many.push(begin(&served, legacy(&unknown, id, "gate", "many")).await);
    }
    served.log.sorted(4).await;
    served.script.gate.add_permits(5);
    until(&served, 0).await;
    assert_eq!(ask(&served, legacy(&one, 9, "note", "9")).await.status(), "200");
}

/// A request counts until its handler has ended, even if its client has disconnected or its response has been sent. A
/// handler that panics has ended.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_counts_until_its_handler_has_ended() {
    let mut served = serve(|options| options.most_open = 1).await;
    let session = open(&served, 0).await;
    let not_wanted =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    for is_stateless in [false, true] {
        // The handler waits only for the gate.
        let text =
            if is_stateless { modern(1, "later", "") } else { legacy(&session, 1, "later", "") };
        let raw = begin(&served, text).await;
        assert_eq!(served.log.next().await, "closed false");
        drop(raw);
        if !is_stateless {
            assert_eq!(ask(&served, message(&session, &not_wanted)).await.status(), "202");
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert_eq!(served.endpoint.open_requests(), 1);
        assert_refused(&ask(&served, legacy(&session, 2, "note", "2")).await, FULL);
        assert_refused(&ask(&served, modern(2, "note", "2")).await, FULL);
        served.script.gate.add_permits(1);
        until(&served, 0).await;
        assert_eq!(ask(&served, legacy(&session, 3, "note", "3")).await.status(), "200");
        assert_eq!(served.log.next().await, "note 3");
        until(&served, 0).await;
    }
    for id in 10..13 {
        let answer = ask(&served, legacy(&session, id, "panic", "")).await;
        assert_eq!(answer.json()["error"]["code"], -32603);
        until(&served, 0).await;
        let answer = ask(&served, modern(id, "panic", "")).await;
        assert_eq!(answer.json()["error"]["code"], -32603);
        until(&served, 0).await;
    }
    assert_eq!(ask(&served, legacy(&session, 20, "note", "20")).await.status(), "200");
}

/// The end of a session releases the requests that wait for a handler, but not a running handler.
#[tokio::test]
async fn the_end_of_a_session_releases_its_waiting_requests() {
    let mut served = serve(|options| {
        options.most_open = 3;
        options.connection = options.connection.clone().handlers(1);
    })
    .await;
    let session = open(&served, 0).await;
    let mut open = Vec::new();
    for id in 1..4 {
        open.push(begin(&served, legacy(&session, id, "later", "")).await);
        until(&served, id as usize).await;
    }
    assert_eq!(served.log.next().await, "closed false");
    assert_refused(&ask(&served, modern(4, "note", "4")).await, FULL);
    let fields = format!("Host: localhost\r\nMcp-Session-Id: {session}\r\n");
    assert_eq!(ask(&served, format!("DELETE /mcp HTTP/1.1\r\n{fields}\r\n")).await.status(), "200");
    until(&served, 1).await;
    served.script.gate.add_permits(1);
    until(&served, 0).await;
    assert!(served.log.is_silent(), "the others have not begun");
}

/// The requests of a batch count one by one. Requests without room are refused in the response to the batch.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_requests_of_a_batch_count_one_by_one() {
    let mut served = serve(|options| options.most_open = 2).await;
    let mut raw = Raw::connect(served.address).await;
    let session = raw.initialize("2025-03-26").await;
    until(&served, 0).await;
    let call = |id| {
        let params = json!({"name": "gate", "arguments": {"text": "batch"}});
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
    };
    raw.send(message(&session, &json!([call(1), call(2), call(3), ping()]))).await;
    assert_eq!(served.log.sorted(2).await, ["at the gate batch"; 2]);
    assert_eq!(served.endpoint.open_requests(), 2);
    let other = json!({"jsonrpc": "2.0", "id": "other", "method": "ping"});
    // A batch is not refused as a whole, because it may contain cancellations.
    let refused = ask(&served, message(&session, &json!([call(4), other]))).await;
    assert_eq!((refused.status(), refused.json().as_array().unwrap().len()), ("200", 2));
    served.script.gate.add_permits(2);
    for (answer, refused) in [(raw.answer().await, 3), (refused, 4)] {
        let answers = answer.json();
        let answers = answers.as_array().unwrap();
        let errors: Vec<_> = answers.iter().filter(|one| one.get("error").is_some()).collect();
        let error =
            json!({"jsonrpc": "2.0", "id": refused, "error": {"code": -32603, "message": FULL}});
        assert_eq!(errors, [&error]);
    }
    until(&served, 0).await;
}

/// A request counts while it waits for input of its client. The input is accepted at the limit, and the request is
/// not refused when its handler runs again.
#[tokio::test]
async fn a_request_that_waits_for_input_counts() {
    let served = serve(|options| options.most_open = 1).await;
    let mut raw = Raw::connect(served.address).await;
    let session = raw.initialize("2025-06-18").await;
    until(&served, 0).await;
    let mut asked = begin(&served, legacy(&session, 1, "need", "")).await;
    asked.head().await;
    let question = asked.chunk().await;
    let (_, data) = question.split_once("data: ").unwrap();
    let question: Value = serde_json::from_str(data.trim()).unwrap();
    assert_eq!(question["method"], "elicitation/create");
    assert_refused(&ask(&served, modern(2, "note", "2")).await, FULL);
    let given = json!({"action": "accept", "content": {"name": "Ann"}});
    let given = json!({"jsonrpc": "2.0", "id": question["id"], "result": given});
    assert_eq!(ask(&served, message(&session, &given)).await.status(), "202");
    let answer = asked.chunk().await;
    assert!(answer.contains("Ann"), "{answer}");
    until(&served, 0).await;
    // A request that is cancelled meanwhile no longer counts.
    let mut asked = begin(&served, legacy(&session, 3, "need", "")).await;
    asked.head().await;
    asked.chunk().await;
    until(&served, 1).await;
    let cancel =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 3}});
    assert_eq!(ask(&served, message(&session, &cancel)).await.status(), "202");
    drop(asked);
    until(&served, 0).await;
}

/// Requests of clients of 2024-11-05 count with the others.
#[tokio::test]
async fn requests_of_an_event_stream_count() {
    let mut served = serve(|options| {
        options.most_open = 1;
        options.one_stream = Some(OneStreamPaths::default());
    })
    .await;
    let mut events = Raw::connect(served.address).await;
    events.send("GET /sse HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n").await;
    events.head().await;
    let endpoint = events.chunk().await;
    let path = endpoint.split("data: ").nth(1).unwrap().trim().to_owned();
    let send = |message: &Value| post("", &message.to_string()).replacen("/mcp", &path, 1);
    let params = json!({"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
    let initialize = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
    assert_eq!(ask(&served, send(&initialize)).await.status(), "202");
    events.chunk().await;
    let call = |id, tool| {
        let params = json!({"name": tool, "arguments": {"text": "sse"}});
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
    };
    assert_eq!(ask(&served, send(&call(1, "gate"))).await.status(), "202");
    assert_eq!(served.log.next().await, "at the gate sse");
    assert_refused(&ask(&served, send(&call(2, "note"))).await, FULL);
    assert_eq!(ask(&served, send(&ping())).await.status(), "202");
    assert!(events.chunk().await.contains("ping"));
    served.script.gate.add_permits(1);
    assert!(events.chunk().await.contains("through sse"));
    until(&served, 0).await;
}
