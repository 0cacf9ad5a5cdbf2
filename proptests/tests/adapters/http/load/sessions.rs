//! Many idle sessions.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::{Request, Response};
use mcp_sansio::model::CallToolResult;
use mcp_sansio_http::{Endpoint, EndpointOptions, Exchange, RefuseAll, ResponseBody};
use tokio::time::Instant;

use crate::http::kit::server_config;
use crate::http::load::{holding, runtime, size};

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"idle","version":"1"}}}"#;

fn request(method: &str, session: Option<&str>, body: &'static str) -> Request<Full<Bytes>> {
    let mut request = Request::builder()
        .method(method)
        .uri("http://localhost/mcp")
        .header("Host", "localhost")
        .header("Content-Type", "application/json")
        .header("Accept", "application/json, text/event-stream");
    if let Some(session) = session {
        request = request.header("Mcp-Session-Id", session);
    }
    request.body(Full::new(Bytes::from_static(body.as_bytes()))).unwrap()
}

/// Opens a session, and returns its event stream if it listens.
async fn open(endpoint: &Endpoint, listens: bool) -> Option<Response<ResponseBody>> {
    let answer = endpoint.handle(request("POST", None, INITIALIZE)).await;
    assert_eq!(answer.status(), 200);
    let session = answer.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    drop(answer);
    let body = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let answer = endpoint.handle(request("POST", Some(&session), body)).await;
    assert_eq!(answer.status(), 202);
    if !listens {
        return None;
    }
    let answer = endpoint.handle(request("GET", Some(&session), "")).await;
    assert_eq!(answer.status(), 200);
    Some(answer)
}

/// Returns the resident memory of this process in KiB; 0 where it is not available.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    number.unwrap_or_default()
}

/// Idle sessions take little memory, and end at their timeout.
///
/// Proves H-HTTP-175, H-HR-18
#[test]
fn sessions_that_idle() {
    let runtime = runtime().start_paused(true).build().unwrap();
    let sessions = size("HTTP_SESSIONS", 1000);
    let mut options = EndpointOptions::new();
    options.http.most_sessions = sessions;
    let idle = options.http.session_idle.unwrap();
    let endpoint = {
        let _guard = runtime.enter();
        Endpoint::with(server_config(), options, RefuseAll::new())
    };
    for listening in [0, sessions / 20, sessions / 2, sessions] {
        let before = resident();
        let (streams, bytes) = holding(&runtime, async {
            let mut streams = Vec::new();
            for number in 0..sessions {
                streams.extend(open(&endpoint, number < listening).await);
            }
            // Waits until all tasks are idle.
            tokio::time::sleep(Duration::from_secs(1)).await;
            streams
        });
        let each = bytes / sessions;
        let resident = resident().saturating_sub(before) * 1024 / sessions;
        println!("{sessions} sessions, {listening} listen: {each} bytes each, {resident} resident");
        assert_eq!(endpoint.sessions(), sessions);
        runtime.block_on(async {
            let refused = endpoint.handle(request("POST", None, INITIALIZE)).await;
            assert_eq!(refused.status(), 503);
            tokio::time::sleep(idle + Duration::from_secs(1)).await;
        });
        // Sessions with an open event stream are in use.
        assert_eq!(endpoint.sessions(), listening);
        drop(streams);
        let ((), left) = holding(&runtime, async { tokio::time::sleep(2 * idle).await });
        assert_eq!((endpoint.sessions(), left.cast_signed() <= 0), (0, true));
    }
}

/// A response begins in time however long its session was idle before: the endpoint wakes up for its deadline.
#[test]
fn a_slow_answer_in_a_session_that_was_idle() {
    const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"any"}}"#;
    let runtime = runtime().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let mut options = EndpointOptions::new();
        options.http.stream_after = Some(Duration::from_secs(1));
        let handler = |exchange: Exchange| async move {
            tokio::time::sleep(Duration::from_secs(60)).await;
            exchange.respond(&CallToolResult::text("late"))
        };
        let endpoint = Endpoint::with(server_config(), options, handler);
        let answer = endpoint.handle(request("POST", None, INITIALIZE)).await;
        let session = answer.headers()["mcp-session-id"].to_str().unwrap().to_owned();
        drop(answer);
        let body = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        assert_eq!(endpoint.handle(request("POST", Some(&session), body)).await.status(), 202);
        for _ in 0..2 {
            // The response before has arrived, too.
            tokio::time::sleep(Duration::from_secs(100)).await;
            let began = Instant::now();
            let answer = endpoint.handle(request("POST", Some(&session), CALL)).await;
            assert_eq!(answer.status(), 200);
            assert_eq!(answer.headers()["content-type"], "text/event-stream");
            assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
        }
    });
}
