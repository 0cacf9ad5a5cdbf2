//! Handlers learn who sends a request: its HTTP request, and the values of the host.

use std::time::Duration;

use http_body_util::BodyExt;
use mcp_sansio::Principal;
use mcp_sansio_http::{ConnectionOptions, EndpointOptions};
use serde_json::{Value, json};

use super::kit::{Deployment, Served, Tenant, server_config};
use super::raw::{Raw, modern, post, request, text_of};

async fn served() -> Served {
    let mut options = EndpointOptions::new();
    options.connection = ConnectionOptions::new().extension(Deployment("test"));
    Served::with(server_config(), options, Duration::ZERO).await
}

fn call(id: u32, text: &str) -> Value {
    let params = json!({"name": "who", "arguments": {"text": text}});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

/// A modern request shows its handler the head of the HTTP request, the values of middleware, the principal that the
/// host passes, and the value of the endpoint.
#[tokio::test]
async fn a_handler_of_a_stateless_request_sees_its_http_request() {
    let served = served().await;
    let mut asked = request(&served, modern(1, "who", "a"));
    asked.headers_mut().insert("x-who", "curl".parse().unwrap());
    asked.extensions_mut().insert(Tenant("blue"));
    let response = served.endpoint.handle_as(Principal::new(7), asked).await;
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let answer: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(text_of(&answer), "POST /mcp [curl] [blue] [true] [] [] [test]");
}

/// The built-in server reports the address of the client. Each request of a batch sees the HTTP request.
#[tokio::test]
async fn each_request_of_a_batch_sees_its_http_request() {
    let served = served().await;
    let mut raw = Raw::connect(served.address).await;
    let session = raw.initialize("2025-03-26").await;
    let batch = json!([call(1, "a"), call(2, "b"), call(3, "c")]).to_string();
    raw.send(post(&format!("Mcp-Session-Id: {session}\r\nX-Who: raw\r\n"), &batch)).await;
    let answers = raw.answer().await.json();
    let texts: Vec<&str> = answers.as_array().unwrap().iter().map(text_of).collect();
    assert_eq!(texts, ["POST /mcp [raw] [] [false] [127.0.0.1] [] [test]"; 3]);
    served.is_quiet().await;
}

/// A request that waits for input in a session is invoked again with the HTTP request that carried it, and not with
/// that of the response to the input.
#[tokio::test]
async fn a_request_that_required_input_keeps_its_http_request() {
    let served = served().await;
    let (mut raw, mut other) =
        (Raw::connect(served.address).await, Raw::connect(served.address).await);
    let session = raw.initialize("2025-11-25").await;
    let fields = |who: &str| format!("Mcp-Session-Id: {session}\r\nX-Who: {who}\r\n");
    raw.send(post(&fields("first"), &call(1, "ask").to_string())).await;
    assert!(raw.head().await.contains("text/event-stream"));
    let mut asked = String::new();
    while !asked.contains("elicitation/create") {
        asked = raw.chunk().await;
    }
    let asked = asked.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
    let id = &serde_json::from_str::<Value>(asked).unwrap()["id"];
    let result = json!({"action": "accept", "content": {}});
    let answer = json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
    other.send(post(&fields("second"), &answer)).await;
    assert_eq!(other.answer().await.status(), "202");
    let mut result = String::new();
    while !result.contains(r#""result""#) {
        result = raw.chunk().await;
    }
    let expected = "POST /mcp [first] [] [false] [127.0.0.1] [] [test]";
    assert!(result.contains(expected), "{result}");
}
