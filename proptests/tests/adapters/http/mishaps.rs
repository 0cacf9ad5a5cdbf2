//! Clients whose server misbehaves.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp_sansio::call::Timeout;
use mcp_sansio::error::{TransportFailure, TransportFailureKind};
use mcp_sansio::event::{ConnectFailure, Expiry};
use mcp_sansio::http::HttpClientConfig;
use mcp_sansio::subscription::Delivery;
use mcp_sansio::{CallOptions, Client, ClientConfig, ClientEvent, Revision, RevisionSet};
use mcp_sansio_http::{
    CallFailure, Connection, ConnectionOptions, Exchange, Handle, Handler, OpenError, PendingCall,
    RefuseAll, connect, connect_with,
};
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::http::fake::{Asked, Fake};
use crate::http::kit::{A_LONG_TIME, let_pass, soon};

fn config(revision: Revision) -> ClientConfig {
    let mut config = ClientConfig::new("client", "1");
    config.revisions = RevisionSet::only(revision);
    config
}

fn call(connection: &Connection, text: &str) -> PendingCall {
    call_with(connection, text, CallOptions::new())
}

fn call_with(connection: &Connection, text: &str, options: CallOptions) -> PendingCall {
    let params = json!({"name": "echo", "arguments": {"text": text}});
    connection.handle().call_method("tools/call", &params, options)
}

async fn modern(fake: &Fake) -> Connection {
    let url = fake.url();
    let connecting = connect(config(Revision::V2026_07_28), &url, RefuseAll::new());
    tokio::join!(connecting, fake.discover()).0.unwrap()
}

async fn legacy(fake: &Fake) -> Connection {
    let url = fake.url();
    let connecting = connect(config(Revision::V2025_06_18), &url, RefuseAll::new());
    tokio::join!(connecting, fake.open("first")).0.unwrap()
}

fn undelivered(failure: CallFailure) -> TransportFailure<'static> {
    match failure {
        CallFailure::TransportFailed(failure) => *failure,
        other => panic!("{other:?}"),
    }
}

/// Makes a call, responds to it with `treat`, and returns its failure.
async fn failed(
    connection: &Connection,
    fake: &Fake,
    treat: impl AsyncFnOnce(Asked),
) -> TransportFailure<'static> {
    let treated = async { treat(fake.next().await).await };
    let (failed, ()) = tokio::join!(soon(call(connection, "lost")), treated);
    undelivered(failed.unwrap_err())
}

async fn works(connection: &Connection, fake: &Fake) {
    let answered = async { fake.next().await.text("found").await };
    let (reply, ()) = tokio::join!(soon(call(connection, "found")), answered);
    assert!(reply.unwrap().raw().as_json().contains("found"));
}

/// Proves H-HTTP-06
#[tokio::test]
async fn a_call_that_fails_leaves_the_others() {
    let fake = Fake::new().await;
    for connection in [modern(&fake).await, legacy(&fake).await] {
        // The server has received the request, and may have served it.
        let lost = failed(&connection, &fake, async |asked| drop(asked)).await;
        assert_eq!(lost.kind, TransportFailureKind::BrokenOff);
        let lost = failed(&connection, &fake, async |mut asked| asked.events().await).await;
        assert_eq!(lost.kind, TransportFailureKind::BrokenOff);
        let lost = failed(&connection, &fake, async |asked| {
            let fields = "Content-Type: text/html\r\nRetry-After: 120\r\n";
            asked.answer("500 Internal Server Error", fields, "<h1>oh no</h1>").await;
        });
        let lost = lost.await;
        assert_eq!((lost.kind, lost.status), (TransportFailureKind::Refused, Some(500)));
        assert_eq!(&*lost.retry_after.unwrap().to_str(), "120");
        let lost = failed(&connection, &fake, async |asked| {
            let fields = "WWW-Authenticate: Bearer realm=\"mcp\"\r\n";
            asked.answer("401 Unauthorized", fields, "").await;
        });
        let lost = lost.await;
        assert_eq!((lost.kind, lost.status), (TransportFailureKind::Unauthorized, Some(401)));
        assert_eq!(&*lost.challenge.unwrap().to_str(), "Bearer realm=\"mcp\"");
        let lost = failed(&connection, &fake, async |asked| {
            let fields = "WWW-Authenticate: Negotiate\r\nWWW-Authenticate: Bearer realm=\"é\"\r\n";
            asked.answer("403 Forbidden", fields, "").await;
        });
        let lost = lost.await;
        assert_eq!((lost.kind, lost.status), (TransportFailureKind::Unauthorized, Some(403)));
        assert_eq!(&*lost.challenge.unwrap().to_str(), "Negotiate, Bearer realm=\"é\"");
        let lost = failed(&connection, &fake, async |asked| {
            asked.answer("307 Temporary Redirect", "Location: /elsewhere\r\n", "").await;
        });
        assert_eq!(lost.await.status, Some(307));
        let lost = failed(&connection, &fake, async |asked| {
            asked.answer("200 OK", "Content-Type: text/html\r\n", "<p>hello").await;
        });
        assert_eq!(lost.await.kind, TransportFailureKind::NoAnswer);
        works(&connection, &fake).await;
        // The client has not retried any of these calls, nor followed a redirect: the next request is the next call.
        works(&connection, &fake).await;
        assert_eq!(connection.handle().counts().outbound, 0);
    }
}

#[tokio::test]
async fn a_server_that_is_away_for_a_while() {
    let fake = Fake::new().await;
    let connection = modern(&fake).await;
    let address = fake.address;
    drop(fake);
    let lost = undelivered(soon(call(&connection, "lost")).await.unwrap_err());
    assert_eq!(lost.kind, TransportFailureKind::Unreachable);
    works(&connection, &Fake::at(address).await).await;
}

#[tokio::test]
async fn connecting_to_an_unreachable_url_fails() {
    let fake = Fake::new().await;
    let url = fake.url();
    drop(fake);
    for url in [&*url, "http://127.0.0.1:1/\r\nX: y", "no url", ""] {
        for revision in [Revision::V2026_07_28, Revision::V2025_11_25] {
            let failed = soon(connect(config(revision), url, RefuseAll::new())).await;
            let Err(OpenError::Connect(failure)) = failed else { panic!("{failed:?}") };
            let kind = match &failure {
                ConnectFailure::TransportFailed(failure) => failure.kind,
                other => panic!("{other:?}"),
            };
            assert_eq!(kind, TransportFailureKind::Unreachable, "{url}");
        }
    }
}

/// The name of a tool or resource cannot begin another header field.
///
/// Proves H-HTTP-09
#[tokio::test]
async fn a_tool_name_cannot_inject_a_header_field() {
    let fake = Fake::new().await;
    let connection = modern(&fake).await;
    for name in ["a\r\nX-Evil: yes", "a\nb", "nul\0", " space ", "naïve"] {
        let params = json!({"name": name, "arguments": {}});
        let options = CallOptions::new();
        let called = connection.handle().call_method("tools/call", &params, options);
        let answered = async {
            let asked = fake.next().await;
            let field = asked.field("mcp-name").unwrap();
            assert!(field.starts_with("=?base64?") && field.ends_with("?="), "{field}");
            assert_eq!(asked.field("x-evil"), None);
            asked.text("fine").await;
        };
        soon(async { tokio::join!(called, answered) }).await.0.unwrap();
    }
}

/// A handler that reports each session that is opened.
struct Tells(UnboundedSender<String>);

impl Handler<Client> for Tells {
    async fn serve(&self, _: Exchange<Client>) {}

    async fn event(&self, _: &Handle<Client>, event: ClientEvent<'static>) {
        match event {
            ClientEvent::Connected(connected) => self.0.send(connected.revision.to_string()),
            ClientEvent::Closed { cause } => self.0.send(format!("closed: {cause}")),
            _ => Ok(()),
        }
        .unwrap();
    }
}

/// Proves H-HTTP-168, H-HTTP-169, H-HR-04
#[tokio::test]
async fn a_session_that_is_lost_is_opened_again() {
    let fake = Fake::new().await;
    let (reported, mut events) = unbounded_channel();
    let url = fake.url();
    let connecting = connect(config(Revision::V2025_06_18), &url, Tells(reported));
    let connection = tokio::join!(connecting, fake.open("first")).0.unwrap();
    let handle = connection.handle().clone();
    let (one, two) = (call(&connection, "one"), call(&connection, "two"));
    let lost = async {
        let (one, two) = (fake.next().await, fake.next().await);
        assert_eq!(one.field("mcp-session-id"), Some("first"));
        one.answer("404 Not Found", "", "").await;
        fake.open("second").await;
        // This response comes too late to matter.
        two.answer("404 Not Found", "", "").await;
    };
    let (one, two, ()) = tokio::join!(soon(one), soon(two), lost);
    let causes = [one.unwrap_err().to_string(), two.unwrap_err().to_string()];
    assert!(causes[0].contains("session") && causes[0] == causes[1], "{causes:?}");
    assert_eq!(soon(events.recv()).await.unwrap(), "2025-06-18");
    let params = json!({"name": "echo"});
    let called = handle.call_method("tools/call", &params, CallOptions::new());
    let answered = async {
        let asked = fake.next().await;
        assert_eq!(asked.field("mcp-session-id"), Some("second"));
        asked.text("again").await;
    };
    assert!(tokio::join!(soon(called), answered).0.is_ok());
    assert!(events.try_recv().is_err());
}

/// Proves H-HTTP-122, H-HTTP-123, H-HTTP-124, M-CANC-02
#[tokio::test]
async fn without_a_session_the_exchange_is_broken_off() {
    let fake = Fake::new().await;
    let connection = modern(&fake).await;
    let pending = call(&connection, "dropped");
    let mut asked = fake.next().await;
    drop(pending);
    assert!(asked.raw.is_over().await);
    // Longer than any wait.
    let total = 10 * A_LONG_TIME;
    let late = CallOptions::new().idle(Timeout::Never).total(Timeout::After(total));
    let streaming = call_with(&connection, "late", late);
    let mut asked = fake.next().await;
    asked.events().await;
    let_pass(total).await;
    let failure = soon(streaming).await;
    assert_eq!(failure.unwrap_err(), CallFailure::TimedOut(Expiry::Total));
    assert!(asked.raw.is_over().await);
    // The client sends no message about either call.
    works(&connection, &fake).await;
}

/// Proves H-HTTP-171
#[tokio::test]
async fn dropping_a_call_in_a_session_sends_cancelled() {
    let fake = Fake::new().await;
    let connection = legacy(&fake).await;
    let pending = call(&connection, "dropped");
    let mut asked = fake.next().await;
    drop(pending);
    let delivered = fake.next().await;
    assert_eq!(delivered.json()["method"], "notifications/cancelled");
    assert_eq!(delivered.json()["params"]["requestId"], asked.json()["id"]);
    assert_eq!(delivered.field("mcp-session-id"), Some("first"));
    delivered.answer("202 Accepted", "", "").await;
    assert!(asked.raw.is_over().await);
    works(&connection, &fake).await;
    let farewell = async {
        let asked = fake.next().await;
        assert_eq!((asked.method(), asked.field("mcp-session-id")), ("DELETE", Some("first")));
        asked.answer("405 Method Not Allowed", "", "").await;
    };
    let (closed, ()) = tokio::join!(soon(async { connection.close(A_LONG_TIME).await }), farewell);
    assert_eq!(closed.unwrap(), None);
}

/// A server that accepts all requests and never responds does not delay closing.
#[tokio::test]
async fn a_server_that_hangs_does_not_hold_up_the_end() {
    let fake = Fake::new().await;
    let connection = legacy(&fake).await;
    let pending = call(&connection, "never");
    let asked = fake.next().await;
    let began = tokio::time::Instant::now();
    let closed = soon(async { connection.close(Duration::from_millis(100)).await });
    let farewell = async {
        let mut asked = Vec::new();
        loop {
            let next = fake.next().await;
            if next.method() == "DELETE" {
                // The server reads the request, and never responds.
                return next;
            }
            asked.push(next);
        }
    };
    let (closed, _farewell) = tokio::join!(closed, farewell);
    assert_eq!(closed.unwrap(), None);
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    assert!(matches!(pending.await.unwrap_err(), CallFailure::Closed(_)));
    drop(asked);
}

/// No runtime is left that could run a task.
#[test]
fn a_connection_outlives_its_runtime() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (connection, handle, pending) = runtime.block_on(async {
        let fake = Fake::new().await;
        let connection = legacy(&fake).await;
        let handle = connection.handle().clone();
        let pending = call(&connection, "never");
        drop(fake.next().await);
        (connection, handle, pending)
    });
    drop(runtime);
    drop(pending);
    assert!(handle.call_method("tools/call", &json!({}), CallOptions::new()).wait().is_err());
    drop(connection);
    drop(handle);
}

/// The header fields of the application are sent with every request.
#[tokio::test]
async fn application_headers_are_sent_with_each_request() {
    let fake = Fake::new().await;
    let mut http = HttpClientConfig::new(fake.url());
    http.header("Authorization", "Bearer abc").unwrap();
    for wrong in ["a\r\nb", "a\nb", "a\0b"] {
        assert!(http.header("X-More", wrong).is_err());
        assert!(http.header(wrong, "value").is_err());
    }
    let connector = hyper_util::client::legacy::connect::HttpConnector::new();
    let executor = hyper_util::rt::TokioExecutor::new();
    let transport = hyper_util::client::legacy::Client::builder(executor).build(connector);
    let options = ConnectionOptions::new();
    let config = config(Revision::V2026_07_28);
    let connecting = connect_with(config, http, &options, transport, RefuseAll::new());
    let connection = Arc::new(tokio::join!(connecting, fake.discover()).0.unwrap());
    let asked = async {
        let asked = fake.next().await;
        assert_eq!(asked.field("authorization"), Some("Bearer abc"));
        asked.text("fine").await;
    };
    assert!(tokio::join!(soon(call(&connection, "who")), asked).0.is_ok());
}

/// Proves H-HTTP-106. The server announces a body, and never sends it. A call is not kept waiting for it, and neither is
/// the connection of a notification.
#[tokio::test]
async fn bodies_that_never_arrive_keep_nothing_waiting() {
    let fake = Fake::new().await;
    let connection = modern(&fake).await;
    let head = |status: &str, fields: &str| {
        format!("HTTP/1.1 {status}\r\n{fields}Content-Length: 100\r\n\r\n")
    };
    let json = "Content-Type: application/json\r\n";
    for (text, kind, status) in [
        (head("202 Accepted", ""), TransportFailureKind::NoAnswer, None),
        (head("200 OK", "Content-Type: text/html\r\n"), TransportFailureKind::NoAnswer, None),
        (head("503 Service Unavailable", ""), TransportFailureKind::Refused, Some(503)),
        (head("400 Bad Request", json) + "{", TransportFailureKind::Refused, Some(400)),
    ] {
        let began = Instant::now();
        let lost = failed(&connection, &fake, async |mut asked| {
            asked.raw.send(text).await;
            // The client closes the connection.
            assert!(asked.raw.is_closed().await);
        });
        let lost = lost.await;
        assert_eq!((lost.kind, lost.status), (kind, status));
        assert!(Duration::from_secs(1) < began.elapsed(), "a slow body is waited for");
    }
    let sent = connection.handle().notify_method("notifications/x", &json!({}));
    assert_eq!(sent.unwrap(), Delivery::Sent);
    let mut asked = fake.next().await;
    asked.raw.send(head("202 Accepted", "")).await;
    assert!(asked.raw.is_closed().await);
}

/// The body of a refusal may be the JSON-RPC error that the call ends with, or that rules out the older transport. A
/// slow body is read, but one that never ends is not waited for without limit.
#[tokio::test]
async fn a_slow_body_of_a_refusal_is_read() {
    let fake = Fake::new().await;
    let connection = modern(&fake).await;
    let refuse = async |asked: &mut Asked| {
        let error = json!({"jsonrpc": "2.0", "id": asked.json()["id"], "error": {
            "code": -32_000, "message": "busy",
        }});
        let body = error.to_string();
        let (length, json) = (body.len(), "Content-Type: application/json\r\n");
        let head = format!("HTTP/1.1 400 Bad Request\r\n{json}Content-Length: {length}\r\n\r\n");
        asked.raw.send(head).await;
        for part in body.as_bytes().chunks(length.div_ceil(3)) {
            let_pass(Duration::from_millis(1_500)).await;
            asked.raw.send(part).await;
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let refused = async { refuse(&mut fake.next().await).await };
    let (ended, ()) = tokio::join!(soon(call(&connection, "lost")), refused);
    let CallFailure::PeerError(error) = ended.unwrap_err() else { panic!("another failure") };
    assert_eq!(error.code.get(), -32_000);

    // The client does not look for the older transport.
    let url = fake.url();
    let connecting = connect(config(Revision::V2025_06_18), &url, RefuseAll::new());
    let refused = async { refuse(&mut fake.next().await).await };
    let (connected, ()) = tokio::join!(soon(connecting), refused);
    let error = connected.map(drop).unwrap_err();
    assert!(error.to_string().contains("busy"), "{error}");
}

/// A peer that sends the body of a refusal bit by bit cannot hold a call for ever.
#[tokio::test]
async fn an_endless_body_of_a_refusal_is_not_read_for_ever() {
    let fake = Fake::new().await;
    let connection = modern(&fake).await;
    let pending = call(&connection, "lost");
    let pending = tokio::spawn(pending);
    let mut asked = fake.next().await;
    let json = "Content-Type: application/json\r\n";
    asked.raw.send(format!("HTTP/1.1 400 Bad Request\r\n{json}Content-Length: 100\r\n\r\n")).await;
    let mut parts = 0;
    while !pending.is_finished() && parts < 25 {
        let_pass(Duration::from_millis(1_500)).await;
        // The client may have closed the connection.
        _ = asked.raw.stream.write_all(b" ").await;
        tokio::time::sleep(Duration::from_millis(10)).await;
        parts += 1;
    }
    assert!((19..=21).contains(&parts), "{parts}");
    let lost = undelivered(soon(pending).await.unwrap().unwrap_err());
    assert_eq!((lost.kind, lost.status), (TransportFailureKind::Refused, Some(400)));
}
