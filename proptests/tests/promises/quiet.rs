//! Promise 10: `Debug` shows kinds, ids and lengths, and no text of the peer or the application.

use mcp_sansio::call::TaskOptions;
use mcp_sansio::json::Raw;
use mcp_sansio::model::{ElicitParams, InputRequired, ObjectSchema, SubscriptionFilter};
use mcp_sansio::progress::Progress;
use mcp_sansio::{CallOptions, ClientEvent, Revision, ServerEvent};
use mcp_sansio_proptests::{ClientSide, ServerSide, config};

/// A word in every text that is handed to a machine.
const SECRET: &str = "s3cr3t";

#[track_caller]
fn is_quiet(value: &impl std::fmt::Debug) {
    for shown in [format!("{value:?}"), format!("{value:#?}")] {
        assert!(!shown.contains(SECRET), "{shown}");
        assert!(!shown.is_empty());
    }
}

fn result(id: u32, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

/// A client in the middle of calls of every kind.
#[test]
fn a_busy_client_shows_no_text() {
    let mut config = config::client();
    config.capabilities = config.capabilities.with_tasks();
    let mut side = ClientSide::with(config);
    side.client.connect(side.now, &mut side.out).unwrap();
    let opened = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true},"tasks":{"cancel":{},"requests":{"tools":{"call":{}}}}},"serverInfo":{"name":"s3cr3t","version":"s3cr3t"},"instructions":"s3cr3t"}"#;
    let event = side.receive(&result(1, opened));
    is_quiet(&event);
    assert!(matches!(event, Some(ClientEvent::Connected(_))));
    let params = Raw::new(r#"{"name":"s3cr3t","arguments":{"a":"s3cr3t"}}"#).unwrap();
    let (now, options) = (side.now, CallOptions::new().progress());
    let (client, out) = (&mut side.client, &mut side.out);
    client.call_method("tools/call", &params, options, now, out).unwrap();
    is_quiet(client);
    let options = CallOptions::new().task(TaskOptions::new());
    client.call_method("tools/call", &params, options, now, out).unwrap();
    let filter = SubscriptionFilter::new().with_resource("file:///s3cr3t");
    client.subscribe(&filter, now, out).unwrap();
    is_quiet(&side.client);
    is_quiet(&side.out);
    let sent = side.sent();
    assert!(sent.iter().any(|message| message.contains(SECRET)), "{sent:?}");
    let task = r#"{"task":{"taskId":"s3cr3t","status":"working","statusMessage":"s3cr3t","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttl":null}}"#;
    let event = side.receive(&result(3, task));
    assert!(matches!(event, Some(ClientEvent::Task(_))), "{event:?}");
    is_quiet(&event);
    is_quiet(&side.client);
    let ask = r#"{"jsonrpc":"2.0","id":"s3cr3t-id","method":"elicitation/create","params":{"message":"s3cr3t","requestedSchema":{"type":"object","properties":{}}}}"#;
    let event = side.receive(ask);
    let Some(ClientEvent::Request(_)) = &event else { panic!("{event:?}") };
    is_quiet(&side.client);
    let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2,"progress":1,"message":"s3cr3t"}}"#;
    let event = side.receive(progress);
    assert!(matches!(event, Some(ClientEvent::Progress(_))));
    is_quiet(&event);
    let error =
        r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"s3cr3t","data":"s3cr3t"}}"#;
    let event = side.receive(error);
    assert!(matches!(event, Some(ClientEvent::CallEnded(_))));
    is_quiet(&event);
}

/// A server in the middle of requests of every kind.
#[test]
fn a_busy_server_shows_no_text() {
    let mut side = ServerSide::ready(Revision::V2025_11_25);
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"s3cr3t","arguments":{"a":"s3cr3t"},"_meta":{"progressToken":"s3cr3t"}}}"#;
    let event = side.receive(call);
    is_quiet(&event);
    let Some(ServerEvent::Request(request)) = event else { panic!("a request") };
    let progress = Progress::new(1).message("s3cr3t");
    side.server.progress(request.id, progress, side.now, &mut side.out).unwrap();
    is_quiet(&side.server);
    let form = ElicitParams::form("s3cr3t", ObjectSchema::default());
    let need = InputRequired::new().elicit("s3cr3t", form).state("s3cr3t");
    side.server.require_input(&request, &need, side.now, &mut side.out).unwrap();
    let subscribe = r#"{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"file:///s3cr3t"}}"#;
    let id = side.request(subscribe);
    side.respond(id, "{}");
    is_quiet(&side.server);
    is_quiet(&side.out);
    let sent = side.sent();
    assert!(sent.iter().any(|message| message.contains(SECRET)), "{sent:?}");
    // A modern subscription, and what it waits for.
    let mut side = ServerSide::with(config::server_of_both_eras());
    let listen = r#"{"jsonrpc":"2.0","id":3,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["file:///s3cr3t"]},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"s3cr3t","version":"1"}}}}"#;
    let event = side.receive(listen);
    assert!(matches!(event, Some(ServerEvent::Subscribed(_))), "{event:?}");
    is_quiet(&event);
    is_quiet(&side.server);
}
