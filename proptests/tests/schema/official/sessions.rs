//! Messages sent in sessions.

use mcp_sansio::config::RepliesWithoutId;
use mcp_sansio::error::ErrorObject;
use mcp_sansio::error::{NotAllowed, NotifyError};
use mcp_sansio::json::Raw;
use mcp_sansio::progress::Progress;
use mcp_sansio::{CallError, CallOptions, ErrorCode, RespondError, Revision};
use mcp_sansio_proptests::{ClientSide, ServerSide, payload};
use serde_json::{Value, json};

use crate::official::closed::Schemas;
use crate::official::messages::{NOTIFICATIONS, REQUESTS, Sender};
use crate::official::{Sent, check, parse, raw};

const REVISIONS: [Revision; 4] = Revision::LEGACY;

fn request(sender: Sender, method: &str, params: &str, revision: Revision) -> Sent {
    let (params, options) = (Raw::new(params).unwrap(), CallOptions::new());
    let (called, sent) = match sender {
        Sender::Client => {
            let mut side = ClientSide::ready(revision);
            let called = side.client.call_method(method, &params, options, side.now, &mut side.out);
            (called, side.sent())
        }
        Sender::Server => {
            let mut side = ServerSide::ready(revision);
            let called = side.server.call_method(method, &params, options, side.now, &mut side.out);
            (called, side.sent())
        }
    };
    match called {
        Ok(_) => Sent::Message(parse(&sent)),
        Err(CallError::Encode(_)) => Sent::NoWord,
        Err(CallError::NotAllowed(NotAllowed::Revision)) => Sent::NoMethod,
        Err(error) => panic!("{method}: {error}"),
    }
}

fn result(sender: Sender, method: &str, result: &str, revision: Revision) -> Sent {
    let (params, result) = (payload::params(method), Raw::new(result).unwrap());
    let frame = match params.as_json() {
        "null" => format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}"}}"#),
        params => format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{params}}}"#),
    };
    let (answered, sent) = match sender {
        Sender::Client => {
            let mut side = ServerSide::ready(revision);
            let request = side.request(&frame);
            let answered = side.server.respond(request, &result, &mut side.out);
            (answered, side.sent())
        }
        Sender::Server => {
            let mut side = ClientSide::ready(revision);
            let request = side.request(&frame);
            let answered = side.client.respond(request, &result, &mut side.out);
            (answered, side.sent())
        }
    };
    match answered {
        Ok(()) => Sent::Message(parse(&sent)["result"].take()),
        Err(RespondError::Encode(_)) => Sent::NoWord,
        Err(error) => panic!("{method}: {error}"),
    }
}

fn notification(sender: Sender, method: &str, params: &str, revision: Revision) -> Sent {
    let params = Raw::new(params).unwrap();
    let (sent, messages) = match sender {
        Sender::Client => {
            let mut side = ClientSide::ready(revision);
            (side.client.notify_method(method, &params, None, &mut side.out), side.sent())
        }
        Sender::Server => {
            let mut side = ServerSide::ready(revision);
            // Updates are sent to subscribers.
            let subscribe =
                r#"{"jsonrpc":"2.0","id":7,"method":"resources/subscribe","params":{"uri":"x:y"}}"#;
            let request = side.request(subscribe);
            side.respond(request, "{}");
            side.sent();
            (side.server.notify_method(method, &params, None, &mut side.out), side.sent())
        }
    };
    match sent {
        Ok(_) => Sent::Message(parse(&messages)),
        Err(NotifyError::Encode(_)) => Sent::NoWord,
        Err(NotifyError::NotAllowed(NotAllowed::Revision)) => Sent::NoMethod,
        Err(error) => panic!("{method}: {error}"),
    }
}

/// Proves L-TOOL-15.
#[test]
fn every_request_fits_the_schema_of_its_revision() {
    for revision in REVISIONS {
        let Some(schemas) = Schemas::of(revision) else { return };
        for exchange in REQUESTS {
            for params in exchange.params {
                let sent = request(exchange.sender, exchange.method, params, revision);
                let value = raw(exchange.method, params);
                check(schemas, exchange.request, sent, value, revision);
            }
        }
    }
}

/// Proves L-TOOL-15.
#[test]
fn every_result_fits_the_schema_of_its_revision() {
    for revision in REVISIONS {
        let Some(schemas) = Schemas::of(revision) else { return };
        for exchange in REQUESTS {
            if !schemas.defines(exchange.request) {
                continue;
            }
            for text in exchange.results {
                let sent = result(exchange.sender, exchange.method, text, revision);
                let value = serde_json::from_str(text).unwrap();
                check(schemas, exchange.result, sent, value, revision);
            }
        }
    }
}

#[test]
fn every_notification_fits_the_schema_of_its_revision() {
    for revision in REVISIONS {
        let Some(schemas) = Schemas::of(revision) else { return };
        for notice in NOTIFICATIONS {
            for params in notice.params {
                let sent = notification(notice.sender, notice.method, params, revision);
                check(schemas, notice.name, sent, raw(notice.method, params), revision);
            }
        }
    }
}

/// The messages that clients and servers write by themselves.
#[test]
fn handshake_progress_and_error_messages_match_the_schemas() {
    for revision in REVISIONS {
        let Some(schemas) = Schemas::of(revision) else { return };
        let mut config = mcp_sansio_proptests::config::client();
        config.offer = Some(revision);
        let mut client = ClientSide::with(config);
        client.client.connect(client.now, &mut client.out).unwrap();
        let initialize = client.sent();
        schemas.message("InitializeRequest", &parse(&initialize)).unwrap();

        let mut server = ServerSide::fresh();
        server.receive(&initialize[0]);
        let answer = server.sent();
        schemas.closed("InitializeResult", &parse(&answer)["result"]).unwrap();
        client.receive(&answer[0]);
        schemas.message("InitializedNotification", &parse(&client.sent())).unwrap();
        assert_eq!(client.client.revision(), Some(revision));

        let call = client.call("tools/list");
        client.sent();
        client.client.cancel(call, Some("late"), &mut client.out).unwrap();
        schemas.message("CancelledNotification", &parse(&client.sent())).unwrap();
        report(schemas, revision);
        fail(schemas, revision);
    }
}

fn report(schemas: &Schemas, revision: Revision) {
    let mut side = ServerSide::ready(revision);
    let request = side.request(
        r#"{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"_meta":{"progressToken":"p"}}}"#,
    );
    let progress = Progress::new(1_u8).total(2_u8).message("half");
    side.server.progress(request, progress, side.now, &mut side.out).unwrap();
    schemas.message("ProgressNotification", &parse(&side.sent())).unwrap();
}

fn fail(schemas: &Schemas, revision: Revision) {
    let name =
        if schemas.defines("JSONRPCError") { "JSONRPCError" } else { "JSONRPCErrorResponse" };
    let mut config = mcp_sansio_proptests::config::server();
    let period = std::time::Duration::from_secs(1);
    config.connection.replies_without_id = Some(RepliesWithoutId::at_most(1, period));
    let mut side = ServerSide::ready_with(config, revision);
    let data = json!({ "a": 1 });
    for code in [-32700, -32600, -32601, -32602, -32603, -32002, -1].map(ErrorCode::new) {
        let request = side.request(r#"{"jsonrpc":"2.0","id":"7","method":"tools/list"}"#);
        side.server
            .reject_with(request, &ErrorObject::with(code, "m", &data).unwrap(), &mut side.out)
            .unwrap();
        schemas.closed(name, &parse(&side.sent())).unwrap();
    }
    // For a request without a readable id, JSON-RPC requires `null`, for which only the newest schema has an
    // alternative.
    side.receive("{oops");
    let error = parse(&side.sent());
    assert_eq!(schemas.closed(name, &error).is_ok(), error.get("id").is_none(), "{error}");
    assert_eq!(error.get("id").is_none(), Revision::V2025_11_25 <= revision);
}

#[test]
fn asking_for_visits_fits_the_schema() {
    let revision = Revision::V2025_11_25;
    let Some(schemas) = Schemas::of(revision) else { return };
    let mut side = ServerSide::ready(revision);
    let asked = r#"{"mode":"url","message":"m","url":"https://example.com/","elicitationId":"e"}"#;
    let request =
        side.request(r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"n"}}"#);
    let data = json!({ "elicitations": [serde_json::from_str::<Value>(asked).unwrap()] });
    let code = ErrorCode::new(-32042);
    side.server
        .reject_with(request, &ErrorObject::with(code, "m", &data).unwrap(), &mut side.out)
        .unwrap();
    schemas.closed("URLElicitationRequiredError", &parse(&side.sent())).unwrap();
    side.server.notifications().elicitation_complete("e", &mut side.out).unwrap();
    schemas.message("ElicitationCompleteNotification", &parse(&side.sent())).unwrap();
}
