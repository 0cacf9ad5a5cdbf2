//! Refused requests whose bodies nothing has read.

use std::time::Duration;

use mcp_sansio::RevisionSet;
use mcp_sansio_http::EndpointOptions;

use crate::http::kit::{Served, let_pass, server_config};
use crate::http::raw::{Raw, modern, modern_body, modern_fields, post};

/// Refused requests: for another host, for another path, and with a method of HTTP that the endpoint does not have.
fn refused() -> [(String, &'static str); 3] {
    let whole = modern(1, "echo", "hello");
    [
        (whole.replacen("Host: localhost", "Host: evil.example", 1), "403"),
        (whole.replacen("POST /mcp", "POST /other", 1), "404"),
        (whole.replacen("POST /mcp", "PUT /mcp", 1), "405"),
    ]
}

/// A client sends the body after the head. The connection serves its next request.
#[tokio::test]
async fn a_connection_stays_usable_after_a_refusal() {
    let served = Served::new().await;
    for (request, status) in refused() {
        let (head, body) = request.split_at(request.find("\r\n\r\n").unwrap() + 4);
        for chunks in [1, 3] {
            let mut raw = Raw::connect(served.address).await;
            raw.send(head).await;
            tokio::time::sleep(Duration::from_millis(20)).await;
            for chunk in body.as_bytes().chunks(body.len().div_ceil(chunks)) {
                raw.send(chunk).await;
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            let answer = raw.answer().await;
            assert_eq!((answer.status(), answer.field("connection")), (status, None));
            raw.send(modern(2, "echo", "again")).await;
            assert_eq!(raw.answer().await.status(), "200");
        }
    }
}

/// A body that does not come, a long one, and one that waits to be wanted: the response says that the connection ends.
#[tokio::test]
async fn a_response_announces_the_end_of_the_connection() {
    let served = Served::new().await;
    let body = modern_body(1, "echo", "hello");
    let other = |fields: &str, body: &str| {
        let request = post(&format!("{}{fields}", modern_fields("echo")), body);
        request.replacen("POST /mcp", "POST /other", 1)
    };
    let head_of = |request: &str| request[..request.find("\r\n\r\n").unwrap() + 4].to_owned();
    let long = "x".repeat((64 << 10) + 1);
    for (request, waits) in [
        (head_of(&other("", &body)), true),
        (head_of(&other("", &long)), false),
        (head_of(&other("Expect: 100-continue\r\n", &body)), false),
    ] {
        let mut raw = Raw::connect(served.address).await;
        raw.send(request).await;
        if waits {
            tokio::time::sleep(Duration::from_millis(20)).await;
            let_pass(Duration::from_secs(1)).await;
        }
        let answer = raw.answer().await;
        assert_eq!((answer.status(), answer.field("connection")), ("404", Some("close")));
        assert_eq!(raw.until("x").await, None, "it has ended");
    }
}

/// A notification of a session, at an endpoint without sessions, needs no processing.
#[tokio::test]
async fn a_notification_that_is_discarded_is_accepted() {
    let mut config = server_config();
    config.revisions = RevisionSet::MODERN;
    let served = Served::with(config, EndpointOptions::new(), Duration::ZERO).await;
    let mut raw = Raw::connect(served.address).await;
    raw.send(post("", r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)).await;
    let answer = raw.answer().await;
    assert_eq!((answer.status(), answer.field("connection")), ("202", None));
    // The connection goes on.
    raw.send(modern(2, "echo", "again")).await;
    assert_eq!(raw.answer().await.status(), "200");
}
