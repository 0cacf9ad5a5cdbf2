//! The `tracing` output: events without payloads.

use std::io::{Read, Write, pipe};
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use mcp_sansio::model::{CallToolResult, ListChanged};
use mcp_sansio::{CallOptions, ClientConfig, ErrorCode, RevisionSet, Server, ServerConfig};
use mcp_sansio_std::{Exchange, RefuseAll, connect, serve};
use serde_json::json;

use crate::records::Records;

/// Pain 94.
#[test]
fn traces_contain_events_but_no_payloads() {
    let records = Records::of_this_process();
    let ((from_client, to_server), (from_server, to_client)) = (pipe().unwrap(), pipe().unwrap());
    let mut config = ServerConfig::new("server", "1");
    config.revisions = RevisionSet::LEGACY;
    config.capabilities.tools = Some(ListChanged::default());
    let handler = |exchange: &Exchange<Server>| match &exchange.request().kind {
        mcp_sansio::ClientRequest::CallTool(call) if call.name == "forget" => Ok(()),
        mcp_sansio::ClientRequest::CallTool(call) if call.name == "wait" => {
            while !exchange.is_cancelled() {
                thread::sleep(Duration::from_millis(1));
            }
            Ok(())
        }
        mcp_sansio::ClientRequest::CallTool(_) => {
            exchange.respond(&CallToolResult::text("SECRET answer"))
        }
        _ => exchange.reject(ErrorCode::METHOD_NOT_FOUND, "SECRET refusal"),
    };
    let server = thread::spawn(move || serve(config, from_client, to_client, handler));
    let mut config = ClientConfig::new("client", "1");
    config.revisions = RevisionSet::LEGACY;
    let connection = connect(config, from_server, to_server, RefuseAll::new()).unwrap();
    let call = |tool: &str| {
        let params = json!({"name": tool, "arguments": {"password": "SECRET argument"}});
        _ = connection.handle().call_method("tools/call", &params, CallOptions::new()).wait();
    };
    call("any");
    call("forget");
    let params = json!({"name": "wait"});
    drop(connection.handle().call_method("tools/call", &params, CallOptions::new()));
    let params = json!({"text": "SECRET params"});
    _ = connection.handle().call_method("x/unknown", &params, CallOptions::new()).wait();
    connection.handle().notify_method("x/notification", &params).unwrap();
    connection.close(Duration::from_secs(60)).wait().unwrap();
    server.join().unwrap().unwrap();

    let text = records.text();
    assert!(!text.contains("SECRET"), "{text}");
    for event in [
        "a request is served id=IncomingId(#0.0) method=\"tools/call\"",
        "a request has been answered",
        "a handler has not answered its request",
        "a call has ended",
        "an event event=Notification(",
        "disconnected",
    ] {
        assert!(text.contains(event), "{event}: {text}");
    }
    // The request that was cancelled needed no response.
    assert_eq!(text.matches("a handler has not answered its request").count(), 1, "{text}");
}

/// A message that a server over HTTP refuses, or does not answer, is not sent again, and no event reports it.
#[tokio::test(flavor = "multi_thread")]
async fn messages_that_a_server_has_not_accepted_are_traced() {
    let records = Records::of_this_process();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let server = thread::spawn(move || {
        for head in
            ["HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", ""]
        {
            let mut stream = listener.accept().unwrap().0;
            let (mut request, mut bytes) = (Vec::new(), [0; 4096]);
            while !request.ends_with(b"}") {
                let count = stream.read(&mut bytes).unwrap();
                request.extend_from_slice(&bytes[..count]);
            }
            stream.write_all(head.as_bytes()).unwrap();
        }
    });
    let mut config = ClientConfig::new("client", "1");
    config.revisions = RevisionSet::MODERN;
    config.probe = false;
    let refuse = mcp_sansio_http::RefuseAll::new();
    let client = mcp_sansio_http::connect(config, &url, refuse).await.unwrap();
    for status in ["Some(400)", "None"] {
        client.handle().notify_method("x/note", &json!({"text": "SECRET"})).unwrap();
        let event = format!("the server has not accepted a message status={status}");
        records.wait_for(&event);
    }
    server.join().unwrap();
    assert!(
        records.text().lines().any(|line| line.contains("WARN") && line.contains("status=None"))
    );
}
