//! The limit on the bytes that all clients of an endpoint together make it hold.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use http_body_util::BodyExt;
use hyper_util::rt::{TokioExecutor, TokioIo};
use mcp_sansio::subscription::ChangedList;
use mcp_sansio_http::EndpointOptions;
use serde_json::json;
use tokio::net::TcpStream;

use crate::http::kit::{Served, let_pass, server_config, soon};
use crate::http::raw::{Raw, legacy, listen, modern, modern_body, modern_fields, post, request};

/// Returns a request without the end of its body.
fn unfinished(bytes: usize) -> String {
    let body = modern_body(1, "echo", &"x".repeat(bytes));
    let whole = post(&modern_fields("echo"), &body);
    whole[..whole.len() - 10].to_owned()
}

/// Waits until the endpoint holds this many bytes.
async fn keeps(served: &Served, is_it: impl Fn(usize) -> bool) {
    let kept = async {
        while !is_it(served.endpoint.kept_bytes()) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    soon(kept).await;
}

/// Unfinished bodies count with the bytes received so far. Without room a request is refused with `Retry-After`; open
/// requests continue, and finished requests release their room.
#[tokio::test]
async fn bodies_have_so_many_bytes_together() {
    let mut options = EndpointOptions::new();
    options.bytes = 180_000;
    let served = Served::with(server_config(), options, Duration::ZERO).await;
    let mut begun = Vec::new();
    for count in 1..4 {
        let mut raw = Raw::connect(served.address).await;
        raw.send(unfinished(10_000)).await;
        keeps(&served, |bytes| count * 48_000 < bytes).await;
        begun.push(raw);
    }
    let mut refused = Raw::connect(served.address).await;
    refused.send(modern(2, "echo", &"x".repeat(10_000))).await;
    let answer = refused.answer().await;
    assert_eq!((answer.status(), answer.field("retry-after")), ("503", Some("1")));
    let error = r#"{"jsonrpc":"2.0","error":{"code":-32603,"message":"the server keeps too many bytes (EndpointOptions::bytes)"}}"#;
    assert_eq!(answer.body, error);
    // A short request is served meanwhile, and so are the earlier requests.
    let mut short = Raw::connect(served.address).await;
    short.send(modern(3, "echo", "hello")).await;
    assert_eq!(short.answer().await.status(), "200");
    let body = modern_body(1, "echo", &"x".repeat(10_000));
    let mut first = begun.remove(0);
    first.send(&body[body.len() - 10..]).await;
    assert_eq!(first.answer().await.status(), "200");
    drop(begun);
    keeps(&served, |bytes| bytes == 0).await;
    let mut again = Raw::connect(served.address).await;
    again.send(modern(2, "echo", &"x".repeat(10_000))).await;
    assert_eq!(again.answer().await.status(), "200");
    keeps(&served, |bytes| bytes == 0).await;
}

/// A request counts until it has a response, and its response until it has been sent.
#[tokio::test]
async fn requests_and_answers_count_until_they_are_over() {
    let mut options = EndpointOptions::new();
    options.http.body_bytes = 16 << 20;
    let mut served = Served::with(server_config(), options, Duration::ZERO).await;
    let mut raw = Raw::connect(served.address).await;
    raw.send(modern(1, "gate", &"x".repeat(10_000))).await;
    assert!(served.log.next().await.starts_with("at the gate"));
    assert!(40_000 < served.endpoint.kept_bytes());
    served.script.gate.add_permits(1);
    assert_eq!(raw.answer().await.status(), "200");
    keeps(&served, |bytes| bytes == 0).await;
    // The response exceeds the socket buffers, 4 MiB for sending on Linux, and the client does not read it.
    let mut unread = Raw::connect(served.address).await;
    unread.send(modern(2, "echo", &"x".repeat(10_000_000))).await;
    keeps(&served, |bytes| 10_000_000 < bytes && bytes < 30_000_000).await;
    drop(unread);
    keeps(&served, |bytes| bytes == 0).await;
}

/// A client that sends a byte now and then is disconnected at the deadline.
#[tokio::test]
async fn a_body_has_so_much_time() {
    let served = Served::new().await;
    let mut raw = Raw::connect(served.address).await;
    raw.send(unfinished(1_000)).await;
    keeps(&served, |bytes| 8_192 < bytes).await;
    let mut kept = served.endpoint.kept_bytes();
    for _ in 0..4 {
        let_pass(Duration::from_secs(29)).await;
        raw.send("x").await;
        keeps(&served, |bytes| kept < bytes).await;
        kept = served.endpoint.kept_bytes();
    }
    let_pass(Duration::from_secs(5)).await;
    assert_eq!(raw.answer().await.status(), "408");
    keeps(&served, |bytes| bytes == 0).await;
}

/// At the limit of open connections, the next one waits until another has ended.
#[tokio::test]
async fn there_are_so_many_connections_at_a_time() {
    let mut options = EndpointOptions::new();
    options.most_connections = 2;
    let served = Served::with(server_config(), options, Duration::ZERO).await;
    let mut first = Raw::connect(served.address).await;
    let mut second = Raw::connect(served.address).await;
    for raw in [&mut first, &mut second] {
        raw.send(modern(1, "echo", "hello")).await;
        assert_eq!(raw.answer().await.status(), "200");
    }
    let mut third = Raw::of(TcpStream::connect(served.address).await.unwrap());
    third.send(modern(1, "note", "third")).await;
    second.send(modern(2, "echo", "hello")).await;
    assert_eq!(second.answer().await.status(), "200");
    assert!(is_silent(&third).await, "nobody has accepted it");
    drop(first);
    assert_eq!(third.answer().await.status(), "200");
}

/// Whether no bytes have arrived although all other tasks had time to run.
async fn is_silent(raw: &Raw) -> bool {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    let mut byte = [0];
    let mut peeked = pin!(raw.stream.peek(&mut byte));
    poll_fn(|context| Poll::Ready(peeked.as_mut().poll(context).is_pending())).await
}

/// HTTP/2 keeps a connection open without a time limit. An idle connection is closed; a connection with a slow
/// request is not.
#[tokio::test]
async fn an_idle_connection_of_http2_ends() {
    let mut served = Served::new().await;
    let stream = TcpStream::connect(served.address).await.unwrap();
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .unwrap();
    let connection = tokio::spawn(connection);
    let request = request(&served, modern(1, "gate", "long"));
    let answer = tokio::spawn(sender.send_request(request));
    assert!(served.log.next().await.starts_with("at the gate"));
    for _ in 0..4 {
        let_pass(Duration::from_secs(59)).await;
    }
    served.script.gate.add_permits(1);
    let answer = soon(answer).await.unwrap().unwrap();
    assert_eq!(answer.status(), 200);
    drop(answer);
    let_pass(Duration::from_secs(50)).await;
    assert!(!connection.is_finished());
    let_pass(Duration::from_secs(30)).await;
    let_pass(Duration::from_secs(61)).await;
    _ = soon(connection).await.unwrap();
}

/// The data that a session keeps after its client has disconnected counts until it is released. Here the request
/// continues, and the client could resume its response.
#[tokio::test]
async fn bytes_kept_after_a_disconnect_count_until_released() {
    let mut options = EndpointOptions::new();
    options.bytes = 110_000;
    let mut served = Served::with(server_config(), options, Duration::ZERO).await;
    let mut raw = Raw::connect(served.address).await;
    let session = raw.initialize("2025-11-25").await;
    let mut gone = Raw::connect(served.address).await;
    gone.send(legacy(&session, 2, "gate", &"x".repeat(20_000))).await;
    assert!(served.log.next().await.starts_with("at the gate"));
    drop(gone);
    // The response has ended, and the request has not.
    keeps(&served, |bytes| 40_000 < bytes && bytes < 80_000).await;
    let mut refused = Raw::connect(served.address).await;
    refused.send(modern(3, "echo", &"x".repeat(15_000))).await;
    assert_eq!(refused.answer().await.status(), "503");
    served.script.gate.add_permits(1);
    assert!(served.log.next().await.starts_with("through"));
    let mut again = Raw::connect(served.address).await;
    let_pass(Duration::from_millis(200)).await;
    again.send(modern(3, "echo", &"x".repeat(15_000))).await;
    assert_eq!(again.answer().await.status(), "200");
}

/// Events that wait on an event stream count while the stream is open, and until they are read.
#[tokio::test]
async fn unread_events_of_an_open_stream_count() {
    let mut options = EndpointOptions::new();
    options.bytes = 70_000;
    let served = Served::with(server_config(), options, Duration::ZERO).await;
    let mut raw = Raw::connect(served.address).await;
    let session = raw.initialize("2025-06-18").await;
    keeps(&served, |bytes| bytes == 0).await;
    let response = served.endpoint.handle(request(&served, listen(&session, ""))).await;
    assert_eq!(response.status(), 200);
    let mut body = response.into_body();
    let before = served.endpoint.kept_bytes();
    raw.send(legacy(&session, 1, "chat", "500")).await;
    assert_eq!(raw.answer().await.status(), "200");
    keeps(&served, |bytes| bytes < before + 40_000).await;
    let unread = served.endpoint.kept_bytes() - before;
    assert!(500 * 50 < unread && unread < 500 * 100, "{unread}");
    let text = "x".repeat(10_000);
    raw.send(legacy(&session, 2, "echo", &text)).await;
    assert_eq!(raw.answer().await.status(), "503");
    for _ in 0..500 {
        let event = soon(body.frame()).await.unwrap().unwrap().into_data().unwrap();
        assert!(event.ends_with(b"\n\n"));
    }
    keeps(&served, |bytes| bytes == before).await;
    raw.send(legacy(&session, 3, "echo", &text)).await;
    assert_eq!(raw.answer().await.status(), "200");
    drop(body);
    keeps(&served, |bytes| bytes == 0).await;
}

/// Events that are stored for a client count until the session ends. With little room, none are stored.
#[tokio::test]
async fn stored_events_count_and_give_way() {
    let mut options = EndpointOptions::new();
    options.bytes = 400_000;
    let served = Served::with(server_config(), options, Duration::ZERO).await;
    let mut raw = Raw::connect(served.address).await;
    let session = raw.initialize("2025-11-25").await;
    let response = served.endpoint.handle(request(&served, listen(&session, ""))).await;
    assert_eq!(response.status(), 200);
    let mut body = response.into_body();
    soon(body.frame()).await.unwrap().unwrap();
    let before = served.endpoint.kept_bytes();
    raw.send(legacy(&session, 1, "chat", "500")).await;
    assert_eq!(raw.answer().await.status(), "200");
    for _ in 0..500 {
        soon(body.frame()).await.unwrap().unwrap();
    }
    keeps(&served, |bytes| before + 500 * 100 < bytes && bytes < before + 500 * 200).await;
    let mut begun = Raw::connect(served.address).await;
    begun.send(unfinished(40_000)).await;
    keeps(&served, |bytes| before + 160_000 + 500 * 100 < bytes).await;
    raw.send(legacy(&session, 2, "chat", "1")).await;
    assert_eq!(raw.answer().await.status(), "200");
    soon(body.frame()).await.unwrap().unwrap();
    keeps(&served, |bytes| bytes < before + 160_000 + 10_000).await;
    drop((body, begun));
    keeps(&served, |bytes| bytes < 10_000).await;
}

/// A session whose client reads nothing keeps more than the endpoint has room for. Small requests of others are served
/// nevertheless.
#[tokio::test]
async fn small_requests_have_a_reserve() {
    let mut options = EndpointOptions::new();
    options.bytes = 160_000;
    let served = Served::with(server_config(), options, Duration::ZERO).await;
    let mut raw = Raw::connect(served.address).await;
    let session = raw.initialize("2025-06-18").await;
    let response = served.endpoint.handle(request(&served, listen(&session, ""))).await;
    assert_eq!(response.status(), 200);
    let mut begun = Raw::connect(served.address).await;
    begun.send(unfinished(30_000)).await;
    keeps(&served, |bytes| 120_000 < bytes).await;
    raw.send(legacy(&session, 1, "chat", "1000")).await;
    assert_eq!(raw.answer().await.status(), "200");
    keeps(&served, |bytes| 160_000 < bytes).await;
    let mut other = Raw::connect(served.address).await;
    other.send(modern(1, "echo", &"x".repeat(2_000))).await;
    assert_eq!(other.answer().await.status(), "503");
    let mut small = Raw::connect(served.address).await;
    for number in 2..10 {
        small.send(modern(number, "echo", "hello")).await;
        assert_eq!(small.answer().await.status(), "200");
    }
    drop((response, begun));
    keeps(&served, |bytes| bytes < 100_000).await;
    let mut again = Raw::connect(served.address).await;
    again.send(modern(1, "echo", &"x".repeat(2_000))).await;
    assert_eq!(again.answer().await.status(), "200");
}

/// The unread events of a small request fill the reserve as its response does, and further requests are refused. The
/// connection of the request has served another one when there was room.
#[tokio::test]
async fn unread_events_of_a_small_request_fill_the_reserve() {
    let mut options = EndpointOptions::new();
    options.bytes = 160_000;
    let served = Served::with(server_config(), options, Duration::ZERO).await;
    let ask =
        async |tool, text| served.endpoint.handle(request(&served, modern(1, tool, text))).await;
    assert_eq!(ask("echo", "").await.status(), 200);
    let mut raw = Raw::connect(served.address).await;
    let session = raw.initialize("2025-06-18").await;
    let unread = served.endpoint.handle(request(&served, listen(&session, ""))).await;
    let mut begun = Raw::connect(served.address).await;
    begun.send(unfinished(30_000)).await;
    keeps(&served, |bytes| 120_000 < bytes).await;
    raw.send(legacy(&session, 1, "chat", "1000")).await;
    assert_eq!(raw.answer().await.status(), "200");
    keeps(&served, |bytes| 160_000 < bytes).await;
    // A request counts 8 KiB, and the reserve has 20,000 bytes.
    let before = served.endpoint.kept_bytes();
    let steps = ask("steps", "50").await;
    assert_eq!(steps.status(), 200);
    let events = served.endpoint.kept_bytes() - before - 8_192;
    assert!(50 * 80 < events && events < 50 * 150, "{events}");
    assert_eq!(ask("echo", "").await.status(), 503);
    drop(steps);
    assert_eq!(ask("echo", "").await.status(), 200);
    drop((unread, begun));
}

/// Unread events of a modern subscription count as well; unread events of a session that ends no longer count.
#[tokio::test]
async fn unread_events_count_until_their_connection_ends() {
    let served = Served::new().await;
    let mut raw = Raw::connect(served.address).await;
    let session = raw.initialize("2025-06-18").await;
    let in_session = served.endpoint.handle(request(&served, listen(&session, ""))).await;
    let params = json!({
        "notifications": {"toolsListChanged": true},
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    });
    let body =
        json!({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params});
    let fields = "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\n";
    let stateless = served.endpoint.handle(request(&served, post(fields, &body.to_string()))).await;
    assert_eq!(
        (in_session.status(), stateless.status()),
        (hyper::StatusCode::OK, hyper::StatusCode::OK)
    );
    let before = served.endpoint.kept_bytes();
    served.script.audience.list_changed(ChangedList::Tools);
    assert!(before + 2 * 50 < served.endpoint.kept_bytes());
    drop(stateless);
    let of_session = served.endpoint.kept_bytes();
    assert!(8_192 + 50 < of_session && of_session < 8_192 + 100, "{of_session}");
    let end =
        format!("DELETE /mcp HTTP/1.1\r\nHost: localhost\r\nMcp-Session-Id: {session}\r\n\r\n");
    raw.send(end).await;
    assert_eq!(raw.answer().await.status(), "200");
    drop(in_session);
    keeps(&served, |bytes| bytes == 0).await;
}
