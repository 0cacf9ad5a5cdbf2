//! The exact bytes on the wire of HTTP/1.1, and the same messages over HTTP/2.

use std::time::Duration;

use http_body_util::BodyExt;
use mcp_sansio_http::EndpointOptions;
use serde_json::Value;
use tokio::io::AsyncWriteExt;

use crate::http::kit::{Served, server_config, soon};
use crate::http::raw::{
    Raw, http2, legacy, listen, modern, modern_body, modern_fields, post, request, text_of,
};

/// Both eras on one endpoint and on one connection.
///
/// Proves H-HTTP-26, H-HTTP-161, H-HTTP-162
#[tokio::test]
async fn heads_of_answers_are_exact() {
    let served = Served::new().await;
    let mut raw = Raw::connect(served.address).await;
    raw.send(modern(1, "echo", "hello")).await;
    let answer = raw.answer().await;
    let expected = r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[{"type":"text","text":"hello"}],"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"server","version":"1"}}}}"#;
    assert_eq!(answer.body, expected);
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        expected.len()
    );
    assert_eq!(answer.head, head);
    let session = raw.initialize("2025-06-18").await;
    assert_eq!(session.len(), 32);
    assert!(session.bytes().all(|byte| byte.is_ascii_hexdigit()), "{session}");
    raw.send(legacy(&session, 2, "echo", "hello")).await;
    let answer = raw.answer().await;
    let expected =
        r#"{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"hello"}]}}"#;
    assert_eq!(answer.body, expected);
    assert_eq!(answer.field("mcp-session-id"), None);
    raw.send(modern(3, "steps", "1")).await;
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\nx-accel-buffering: no\r\ntransfer-encoding: chunked\r\n\r\n";
    assert_eq!(raw.head().await, head);
    let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":3,"progress":1}}"#;
    assert_eq!(raw.chunk().await, format!("data: {progress}\n\n"));
    let last = raw.chunk().await;
    assert!(last.starts_with(r#"data: {"jsonrpc":"2.0","id":3,"result":{"#), "{last}");
    assert_eq!(raw.chunk().await, "");
    assert_eq!((served.endpoint.sessions(), served.endpoint.open_requests()), (1, 0));
}

/// Proves H-HTTP-15, H-HTTP-18, H-HTTP-22, H-HTTP-160, H-HTTP-165, H-HTTP-167, H-HTTP-173
#[tokio::test]
async fn each_refused_http_request_gets_its_status() {
    let mut served = Served::new().await;
    let body = modern_body(1, "note", "no");
    let fields = modern_fields("note");
    let fine = post(&fields, &body);
    let unknown = "f".repeat(32);
    let plain = |method: &str, fields: &str| {
        format!("{method} /mcp HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n")
    };
    let events = "Accept: text/event-stream\r\n";
    let cases = [
        (fine.replace("/mcp", "/other"), "404"),
        (fine.replace("/mcp", "/mcp/"), "404"),
        (fine.replace("POST", "PUT"), "405"),
        (fine.replace("application/json\r\nAccept", "text/plain\r\nAccept"), "415"),
        (fine.replace("application/json, text/event-stream", "application/json"), "406"),
        (fine.replace("application/json, text/event-stream", "text/event-stream"), "406"),
        (fine.replace("Host: localhost", "Host: evil.example.com"), "403"),
        (post(&(fields + "Origin: http://evil.example.com\r\n"), &body), "403"),
        (fine.replace("Mcp-Name: note", "Mcp-Name: other"), "400"),
        (fine.replace("Mcp-Name: note", "Mcp-Name: note\r\nMcp-Name: note"), "400"),
        (post("", "{"), "400"),
        (post("", "\u{feff}{}"), "400"),
        (legacy(&unknown, 1, "note", "no"), "404"),
        (listen(&unknown, ""), "404"),
        (listen(&unknown, "").replace("text/event-stream", "text/html"), "406"),
        (plain("GET", events), "400"),
        (plain("DELETE", ""), "400"),
        (plain("DELETE", &format!("Mcp-Session-Id: {unknown}\r\n")), "404"),
    ];
    let mut raw = Raw::connect(served.address).await;
    for (request, status) in cases {
        raw.send(&request).await;
        let answer = raw.answer().await;
        assert_eq!(answer.status(), status, "{request}\n{answer:?}");
        if status == "405" {
            assert_eq!(answer.field("allow"), Some("GET, POST, DELETE"));
        }
        if answer.field("connection") == Some("close") || raw_is_unusable(&request) {
            raw = Raw::connect(served.address).await;
        }
    }
    assert!(served.log.is_silent(), "no handler has run");
    assert_eq!((served.endpoint.sessions(), served.endpoint.open_requests()), (0, 0));
}

/// Whether the body of this request was not read, so that the connection cannot be used again.
fn raw_is_unusable(request: &str) -> bool {
    request.starts_with("P")
}

/// Proves H-HTTP-21
#[tokio::test]
async fn a_too_long_body_gets_413_before_its_end() {
    let mut options = EndpointOptions::new();
    options.http.body_bytes = 1000;
    let mut served = Served::with(server_config(), options, Duration::ZERO).await;
    let long = modern_body(1, "note", &"x".repeat(1000));
    let whole = post(&modern_fields("note"), &long);
    let (head, _) = whole.split_once("\r\n\r\n").unwrap();
    let mut raw = Raw::connect(served.address).await;
    // Sends the head without any byte of the body.
    raw.send(format!("{head}\r\n\r\n")).await;
    assert_eq!(raw.answer().await.status(), "413");
    let head = head.rsplit_once("Content-Length").unwrap().0;
    let mut raw = Raw::connect(served.address).await;
    raw.send(format!("{head}Transfer-Encoding: chunked\r\n\r\n")).await;
    for part in [&long[..600], &long[600..1100]] {
        raw.send(format!("{:x}\r\n{part}\r\n", part.len())).await;
    }
    // A body that is too long is refused before its end.
    assert_eq!(raw.answer().await.status(), "413");
    let mut raw = Raw::connect(served.address).await;
    let short = modern_body(1, "note", "short");
    let (first, second) = short.split_at(20);
    raw.send(format!("{head}Transfer-Encoding: chunked\r\n\r\n")).await;
    for part in [first, second, ""] {
        raw.send(format!("{:x}\r\n{part}\r\n", part.len())).await;
    }
    assert_eq!(raw.answer().await.status(), "200");
    assert_eq!(served.log.next().await, "note short");
    assert!(served.log.is_silent());
}

#[tokio::test]
async fn a_body_that_breaks_off_is_nothing() {
    let mut served = Served::new().await;
    let whole = modern(1, "note", "broken");
    for cut in [whole.len() - 1, whole.find("\r\n\r\n").unwrap() + 4, whole.len() / 2, 10] {
        let mut raw = Raw::connect(served.address).await;
        raw.send(&whole[..cut]).await;
        raw.stream.shutdown().await.unwrap();
        raw.count().await;
    }
    let mut raw = Raw::connect(served.address).await;
    raw.send(modern(1, "note", "whole")).await;
    assert_eq!(raw.answer().await.status(), "200");
    assert_eq!(served.log.next().await, "note whole");
    assert!(served.log.is_silent());
    assert_eq!(served.endpoint.open_requests(), 0);
}

#[tokio::test]
async fn requests_in_a_row_are_answered_in_a_row() {
    let served = Served::new().await;
    let mut raw = Raw::connect(served.address).await;
    let all: String =
        (0..50).map(|id| modern(id, "sleep", if id % 2 == 0 { "3" } else { "0" })).collect();
    raw.send(all).await;
    for id in 0..50 {
        assert_eq!(raw.answer().await.json()["id"], id);
    }
}

#[tokio::test]
async fn there_are_only_so_many_header_fields() {
    let served = Served::new().await;
    for (fields, status) in [(90, "200"), (101, "431")] {
        let mut raw = Raw::connect(served.address).await;
        let more = "X-More: 1\r\n".repeat(fields);
        raw.send(post(&(more + &modern_fields("echo")), &modern_body(1, "echo", ""))).await;
        assert_eq!(raw.answer().await.status(), status);
    }
}

/// The buffer of a head is in no budget, so it has a limit of its own.
#[tokio::test]
async fn a_head_has_at_most_64_kibibytes() {
    let served = Served::new().await;
    for (length, status) in [(60 << 10, "200"), (66 << 10, "431")] {
        let mut raw = Raw::connect(served.address).await;
        let more = format!("X-More: {}\r\n", "1".repeat(length));
        raw.send(post(&(more + &modern_fields("echo")), &modern_body(1, "echo", ""))).await;
        assert_eq!(raw.answer().await.status(), status);
    }
}

/// A client that does not finish its head in time is disconnected, whether it has sent any bytes or not.
#[tokio::test(start_paused = true)]
async fn a_head_has_to_come_in_time() {
    let served = Served::new().await;
    let fine = modern(1, "echo", "");
    for begun in ["", "P", "PRI * HTTP/2.0\r\n", &fine[..30], &fine[..100]] {
        let mut raw = Raw::connect(served.address).await;
        let began = tokio::time::Instant::now();
        raw.send(begun).await;
        raw.count().await;
        assert!(began.elapsed() < Duration::from_secs(40), "{begun:?}: {:?}", began.elapsed());
    }
}

/// The head of a further request has the same time, however often a byte of it arrives.
#[tokio::test(start_paused = true)]
async fn a_further_head_has_to_come_in_time() {
    let served = Served::new().await;
    let fine = modern(1, "echo", "");
    for begun in ["", &fine[..100]] {
        let mut raw = Raw::connect(served.address).await;
        raw.send(modern(1, "sleep", "5000")).await;
        assert_eq!(raw.answer().await.status(), "200");
        let began = tokio::time::Instant::now();
        for byte in begun.bytes().take(5) {
            raw.send([byte]).await;
            tokio::time::sleep(Duration::from_secs(5)).await;
        }
        raw.count().await;
        let took = began.elapsed();
        assert!((25..40).contains(&took.as_secs()), "{begun:?}: {took:?}");
    }
}

/// A client that stops in the middle of a body is disconnected as well.
#[tokio::test(start_paused = true)]
async fn a_body_has_to_go_on() {
    let mut served = Served::new().await;
    let whole = modern(1, "note", "slow");
    let (begun, rest) = whole.split_at(whole.len() - 5);
    let mut raw = Raw::connect(served.address).await;
    raw.send(begun).await;
    let answer = raw.answer().await;
    assert_eq!((answer.status(), answer.json()["error"]["code"].as_i64()), ("408", Some(-32700)));
    let mut raw = Raw::connect(served.address).await;
    raw.send(begun).await;
    for byte in rest.bytes() {
        // Neither a pause nor the whole body exceeds its time limit.
        tokio::time::sleep(Duration::from_secs(20)).await;
        raw.send([byte]).await;
    }
    assert_eq!(raw.answer().await.status(), "200");
    assert_eq!(served.log.next().await, "note slow");
    assert!(served.log.is_silent());
}

/// Bytes that are not HTTP end only their own connection.
#[tokio::test]
async fn bytes_that_are_not_http_end_only_their_connection() {
    let mut served = Served::new().await;
    let fine = modern(1, "note", "no");
    let long = format!("X-Long: {}\r\nHost", "x".repeat(1 << 20));
    let cases = [
        "\r\n\r\n\0\0\0\0".repeat(10),
        "\u{16}\u{3}\u{1}\u{2}\0\u{1}\0\u{1}\u{fc}\u{3}\u{3}aaaaaaaaaaaaaaaaaaaaaaaa".to_owned(),
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n".repeat(10),
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned() + &"\u{7f}".repeat(100),
        fine.replace("Mcp-Name: note", "Mcp-Name: no\0te"),
        fine.replace("Mcp-Name: note", "Mcp-Name: note\r\n X-Folded: yes"),
        fine.replace("Mcp-Name: note", "Mcp-Name : note"),
        fine.replace("Content-Length: ", "Content-Length: -"),
        fine.replace("Content-Length: ", "Content-Length: 99999999999999999999"),
        fine.replace("Content-Length: ", "Content-Length: 1\r\nContent-Length: "),
        fine.replace("HTTP/1.1", "HTTP/9.9"),
        fine.replace("Host", &long),
    ];
    for case in cases {
        let mut raw = Raw::connect(served.address).await;
        // The server may refuse the case before it has been sent completely.
        _ = soon(raw.stream.write_all(case.as_bytes())).await;
        _ = raw.stream.shutdown().await;
        raw.count().await;
    }
    let mut raw = Raw::connect(served.address).await;
    raw.send(modern(1, "note", "yes")).await;
    assert_eq!(raw.answer().await.status(), "200");
    assert_eq!(served.log.next().await, "note yes");
    assert!(served.log.is_silent());
    assert_eq!(served.endpoint.open_requests(), 0);
}

/// Proves H-HTTP-12
#[tokio::test]
async fn both_eras_over_one_connection_of_http2() {
    let mut served = Served::new().await;
    let client = http2();
    let send = async |text: String| {
        let answer = soon(client.request(request(&served, text))).await.unwrap();
        let (parts, body) = answer.into_parts();
        let body = soon(body.collect()).await.unwrap().to_bytes();
        (parts, serde_json::from_slice::<Value>(&body).unwrap_or_default())
    };
    // A request that waits does not block the others.
    let waiting = send(modern(1, "gate", "first"));
    let others = async {
        let (head, message) = send(modern(2, "echo", "modern")).await;
        assert_eq!((head.version, text_of(&message)), (hyper::Version::HTTP_2, "modern"));
        let open = post(
            "",
            r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"h2","version":"1"}}}"#,
        );
        let (head, message) = send(open).await;
        assert_eq!(message["result"]["protocolVersion"], "2025-11-25");
        let session = head.headers["mcp-session-id"].to_str().unwrap().to_owned();
        let (_, message) = send(legacy(&session, 3, "echo", "legacy")).await;
        assert_eq!(text_of(&message), "legacy");
        served.script.gate.add_permits(1);
    };
    let ((_, message), ()) = tokio::join!(waiting, others);
    assert_eq!(text_of(&message), "through first");
    assert_eq!(served.log.next().await, "at the gate first");
}
