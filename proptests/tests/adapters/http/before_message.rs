//! The function of a host that sees each message before the endpoint processes it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::Request;
use mcp_sansio::http::{Reply, RequestSource, SessionId};
use mcp_sansio_http::{BeforeMessage, EndpointOptions, OneStreamPaths};
use serde_json::{Value, json};

use crate::http::kit::{Served, server_config, soon};
use crate::http::raw::{call, post, request_to};

/// Each message of a client of 2024-11-05 waits for the function, which can refuse it.
#[tokio::test]
async fn messages_for_one_event_stream_wait_for_the_host() {
    let mut options = EndpointOptions::new();
    options.one_stream = Some(OneStreamPaths::default());
    let mut served = Served::with(server_config(), options, Duration::ZERO).await;
    let source = RequestSource::default();
    let events = Request::get(served.url()).header("Accept", "text/event-stream").body(());
    let events = served.endpoint.handle_event_stream(source, events.unwrap()).await;
    let mut events = events.into_body();
    let path = soon(events.frame()).await.unwrap().unwrap().into_data().unwrap();
    let path = String::from_utf8(path.to_vec()).unwrap();
    let path = path.split("data: ").nth(1).unwrap().trim();
    let id = path.split('=').nth(1).unwrap();
    let requestor = source.requestor(SessionId::parse(id));

    let seen = Arc::<Mutex<Vec<Value>>>::default();
    let log = Arc::clone(&seen);
    let before = BeforeMessage::new(move |body, asked_for| {
        assert_eq!(asked_for, requestor);
        let message: Value = serde_json::from_slice(body).unwrap();
        let is_refused = message["method"] == "tools/call";
        log.lock().unwrap().push(message["method"].clone());
        is_refused.then_some(async { Err(Reply::empty(503)) })
    });
    let send = async |path: &str, message: &str| {
        let url = format!("http://{}{path}", served.address);
        let mut request = request_to(&url, post("", message));
        request.extensions_mut().insert(before.clone());
        soon(served.endpoint.handle_message(source, request)).await.status().as_u16()
    };
    let params = json!({"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
    let initialize = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
    assert_eq!(send(path, &initialize.to_string()).await, 202);
    let note = call(1, "note", "no", &json!({}));
    assert_eq!(send(path, &note).await, 503);
    assert_eq!(*seen.lock().unwrap(), ["initialize", "tools/call"]);
    // The function is not called for a session that does not exist, and for a text that is no message.
    let unknown = path.replace(id, &"f".repeat(32));
    assert_eq!((send(&unknown, &note).await, send(path, "{").await), (404, 400));
    assert_eq!(seen.lock().unwrap().len(), 2);
    assert!(served.log.is_silent());
}
