//! The `tracing` output: events without payloads.

use std::io::pipe;
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
