//! A machine keeps nothing of calls, requests and sessions that have ended. Machines in the same state are equal.

use mcp_sansio::json::Raw;
use mcp_sansio::model::{ElicitParams, LoggingLevel, method};
use mcp_sansio::{CallOptions, ClientEvent, Revision, RevisionSet, ServerEvent};
use mcp_sansio_proptests::{ClientSide, ServerSide, config};

/// A call of a server that has received its response.
fn answered(method: &str, params: &str, options: CallOptions) -> ServerSide {
    let mut side = ServerSide::ready(Revision::V2025_11_25);
    let params = Raw::new(params).unwrap();
    side.server.call_method(method, &params, options, side.now, &mut side.out).unwrap();
    _ = side.sent();
    let event = side.receive(r#"{"jsonrpc":"2.0","id":1,"result":{"action":"decline"}}"#);
    assert!(matches!(event, Some(ServerEvent::CallEnded(_))), "{event:?}");
    side
}

#[test]
fn the_content_of_a_call_ends_with_it() {
    const FORM: &str = r#"{"message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"string"}}}}"#;
    let options = CallOptions::new();
    let plain = answered("x/own", "{}", options);
    assert_eq!(answered("roots/list", "{}", options.progress()).server, plain.server);
    assert_eq!(answered("elicitation/create", FORM, options).server, plain.server);
}

/// The params and the options of a modern call are kept because the call may be sent again.
#[test]
fn the_params_of_a_modern_call_end_with_it() {
    let answered = |method: &str, options: CallOptions| {
        let mut config = config::client_of_both_eras();
        config.revisions = RevisionSet::MODERN;
        config.probe = false;
        let mut side = ClientSide::with(config);
        side.client.connect(side.now, &mut side.out).unwrap();
        assert_eq!(side.outcomes().len(), 1);
        let params = Raw::new(r#"{"name":"n"}"#).unwrap();
        side.client.call_method(method, &params, options, side.now, &mut side.out).unwrap();
        _ = side.sent();
        let event = side.receive(r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete"}}"#);
        assert!(matches!(event, Some(ClientEvent::CallEnded(_))), "{event:?}");
        side.client
    };
    let options = CallOptions::new();
    let plain = answered("tools/call", options);
    assert_eq!(answered("tools/call", options.log_level(LoggingLevel::Error)), plain);
    assert_eq!(answered("tools/call", options.input_by_hand()), plain);
    assert_eq!(answered("prompts/get", options), plain);
}

/// A visit to a URL can be completed only in the session that asked for it.
#[test]
fn a_session_takes_its_elicitations_with_it() {
    let ended = |id: &str| {
        let mut side = ServerSide::ready(Revision::V2025_11_25);
        let params = ElicitParams::url("m", "https://x/", id);
        let (now, options) = (side.now, CallOptions::new());
        side.server.call::<method::Elicit>(&params, options, now, &mut side.out).unwrap();
        side.server.close();
        assert_eq!(side.outcomes().len(), 2, "the call and the connection");
        side.server
    };
    assert_eq!(ended("e"), ended("f"));
}
