//! Requests and notifications in a session: dispatch to the application, and responses.

use mcp_sansio::capability::Capability;
use mcp_sansio::config::UnknownMethods;
use mcp_sansio::error::ErrorObject;
use mcp_sansio::error::ViolationKind;
use mcp_sansio::json::Raw;
use mcp_sansio::model::{LoggingLevel, method};
use mcp_sansio::schema::Json;
use mcp_sansio::{
    ClientEvent, ClientRequest, ErrorCode, Limits, Principal, RespondError, Revision, ServerEvent,
    ServerRequest,
};
use mcp_sansio_proptests::{ClientSide, ServerSide, config};

fn request(id: &str, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
}

fn ready() -> ServerSide {
    ServerSide::ready(Revision::V2025_11_25)
}

#[track_caller]
fn refused(side: &mut ServerSide, frame: &str) -> (ViolationKind, String) {
    match side.receive(frame) {
        Some(ServerEvent::Violation(violation)) => {
            assert!(violation.answered);
            let mut sent = side.sent();
            assert_eq!(sent.len(), 1, "{frame}");
            (violation.kind, sent.remove(0))
        }
        other => panic!("{frame} is not refused: {other:?}"),
    }
}

/// Proves L-JSONRPC-07, L-JSONRPC-08, L-AMB-56. Pains 8, 20 and 21.
#[test]
fn ids_come_back_byte_for_byte() {
    let mut side = ready();
    for id in [
        "0",
        "-1",
        "9007199254740993",
        "18446744073709551615",
        r#""""#,
        r#""é""#,
        r#""\u0041/""#,
        r#""7""#,
        "7",
    ] {
        assert_eq!(side.receive(&request(id, "ping", "{}")), None);
        assert_eq!(side.sent(), [format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)]);
    }
    // 7 and "7" are in flight together, and each gets its own response.
    let number = side.request(&request("7", "x/work", "{}"));
    let string = side.request(&request(r#""7""#, "x/work", "{}"));
    side.server.respond(string, &(), &mut side.out).unwrap();
    side.server.respond(number, &(), &mut side.out).unwrap();
    assert_eq!(
        side.sent(),
        [r#"{"jsonrpc":"2.0","id":"7","result":{}}"#, r#"{"jsonrpc":"2.0","id":7,"result":{}}"#]
    );
}

/// Proves L-JSONRPC-03, L-JSONRPC-04, L-AMB-56. Pain 8: a request is never treated as a notification.
#[test]
fn a_request_with_an_invalid_id_is_not_dispatched() {
    let mut side = ready();
    let ids = [
        ("1.0", ViolationKind::MalformedId),
        ("1.5", ViolationKind::MalformedId),
        ("1e2", ViolationKind::MalformedId),
        ("-0", ViolationKind::MalformedId),
        ("null", ViolationKind::NullId),
        ("true", ViolationKind::MalformedId),
        ("[]", ViolationKind::MalformedId),
        ("{}", ViolationKind::MalformedId),
        (r#"1,"id":1"#, ViolationKind::DuplicateId),
    ];
    for (id, kind) in ids {
        let Some(ServerEvent::Violation(violation)) =
            side.receive(&request(id, "tools/list", "{}"))
        else {
            panic!("{id} is a violation");
        };
        assert_eq!((violation.kind, violation.answered, violation.id), (kind, false, None), "{id}");
        assert_eq!(side.sent(), [""; 0], "{id}");
    }
    side.request(&request("1", "tools/list", "{}"));
    // With the policy on, each gets exactly one error, and none with that id.
    let mut config = config::server();
    let rate =
        mcp_sansio::config::RepliesWithoutId::at_most(100, std::time::Duration::from_secs(1));
    config.connection.replies_without_id = Some(rate);
    let mut side = ServerSide::ready_with(config, Revision::V2025_11_25);
    for (id, kind) in ids {
        assert!(side.receive(&request(id, "tools/list", "{}")).is_some());
        let error =
            format!(r#"{{"jsonrpc":"2.0","error":{{"code":-32600,"message":{:?}}}}}"#, kind.text());
        assert_eq!(side.sent(), [error], "{id}");
    }
}

/// Proves L-JSONRPC-01, L-JSONRPC-23, L-ERR-02. Pains 9, 54 and 75.
#[test]
fn a_broken_envelope_is_answered_with_the_id_that_could_be_read() {
    let mut side = ready();
    let table = [
        (r#"{"jsonrpc":"2.0","id":5,"method":42}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":5,"method":null}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":5}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":5,"params":{}}"#, -32600),
        (r#"{"id":5,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"1.0","id":5,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":5,"method":"ping","method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":5,"method":"ping","result":{}}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":5,"method":"ping","params":[]}"#, -32602),
        (r#"{"jsonrpc":"2.0","id":5,"method":"ping","params":7}"#, -32602),
        (r#"{"jsonrpc":"2.0","id":5,"method":"x","params":{oops}}"#, -32700),
    ];
    for (frame, code) in table {
        let (_, sent) = refused(&mut side, frame);
        let expected = format!(r#"{{"jsonrpc":"2.0","id":5,"error":{{"code":{code},"#);
        assert!(sent.starts_with(&expected), "{frame}: {sent}");
        assert_eq!(side.receive(r#"{"jsonrpc":"2.0","id":6,"method":"ping"}"#), None);
        assert_eq!(side.sent(), [r#"{"jsonrpc":"2.0","id":6,"result":{}}"#], "the next one works");
    }
}

/// Pain 10: content that the JSON library rejects is not dropped silently.
#[test]
fn odd_content_is_answered_or_passed_on() {
    let mut side = ready();
    let deep = "[".repeat(10_000) + &"]".repeat(10_000);
    let (kind, sent) =
        refused(&mut side, &request("4", "tools/call", &format!(r#"{{"a":{deep}}}"#)));
    assert_eq!(kind, ViolationKind::TooDeep);
    assert!(sent.starts_with(r#"{"jsonrpc":"2.0","id":4,"error":{"code":-32600,"#), "{sent}");
    // By default the message and its params are two of 128 levels.
    for levels in [126, 127] {
        let deep = "[".repeat(levels) + &"]".repeat(levels);
        let event = side.receive(&request("4", "x/deep", &format!(r#"{{"a":{deep}}}"#)));
        match event {
            Some(ServerEvent::Request(request)) if levels == 126 => side.respond(request.id, "{}"),
            Some(ServerEvent::Violation(violation)) if levels == 127 => {
                assert_eq!(violation.kind, ViolationKind::TooDeep);
            }
            other => panic!("{levels}: {other:?}"),
        }
        assert_eq!(side.sent().len(), 1);
    }

    let bytes =
        b"{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"tools/call\",\"params\":{\"a\":\"\xff\"}}";
    let Some(ServerEvent::Violation(violation)) = side.receive_bytes(bytes) else { panic!() };
    assert_eq!((violation.kind, violation.answered), (ViolationKind::NotUtf8, true));
    assert!(side.sent()[0].starts_with(r#"{"jsonrpc":"2.0","id":4,"error":{"code":-32700,"#));

    let frame = request("4", "tools/call", r#"{"name":"a\ud83d","arguments":{"n":1e999}}"#);
    let Some(ServerEvent::Request(request)) = side.receive(&frame) else { panic!("served") };
    let ClientRequest::CallTool(call) = request.kind else { panic!("a tool") };
    assert_eq!(call.name.to_str(), "a\u{fffd}");
    assert_eq!(call.arguments.unwrap().as_json(), r#"{"n":1e999}"#);
}

/// Proves L-JSONRPC-15, L-CAP-01, L-CAP-02, L-CAP-05, L-ERR-07, L-ERR-08, L-ROOT-01, L-TASK-15. The served methods
/// follow from the declared capabilities.
#[test]
fn methods_that_are_not_served_are_refused() {
    let mut bare = ServerSide::ready_with(config::bare_server(), Revision::V2025_11_25);
    let methods = [
        "tools/list",
        "tools/call",
        "resources/list",
        "resources/read",
        "resources/templates/list",
        "resources/subscribe",
        "resources/unsubscribe",
        "prompts/list",
        "prompts/get",
        "completion/complete",
        "logging/setLevel",
        "roots/list",
        "sampling/createMessage",
        "elicitation/create",
        "tasks/list",
        "tasks/get",
    ];
    for method in methods {
        let (kind, sent) = refused(&mut bare, &request("1", method, "{}"));
        assert_eq!(kind, ViolationKind::MethodNotAvailable, "{method}");
        assert_eq!(
            sent,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"method not available in this session"}}"#
        );
    }
    let mut client = ClientSide::ready(Revision::V2025_06_18);
    for method in ["tools/call", "initialize", "completion/complete", "tasks/get"] {
        let Some(ClientEvent::Violation(violation)) = client.receive(&request("1", method, "{}"))
        else {
            panic!("{method} is refused");
        };
        assert_eq!(violation.kind.code(), Some(ErrorCode::METHOD_NOT_FOUND));
        assert!(client.sent()[0].contains("-32601"));
    }
    let mut bare = ClientSide::ready_with(config::bare_client(), Revision::V2025_11_25);
    for method in ["roots/list", "sampling/createMessage", "elicitation/create"] {
        let event = bare.receive(&request("1", method, "{}"));
        let Some(ClientEvent::Violation(violation)) = event else { panic!("{method} is refused") };
        assert_eq!(violation.kind, ViolationKind::MethodNotAvailable, "{method}");
        assert!(bare.sent()[0].contains("-32601"));
    }
}

/// Proves L-CAP-12, L-AMB-44: the session decides, not the configuration.
#[test]
fn the_served_methods_depend_on_the_revision() {
    let complete = request(
        "1",
        "completion/complete",
        r#"{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""}}"#,
    );
    let mut bare = ServerSide::ready_with(config::bare_server(), Revision::V2024_11_05);
    bare.request(&complete);
    let mut bare = ServerSide::ready_with(config::bare_server(), Revision::V2025_03_26);
    refused(&mut bare, &complete);

    let elicit = request(
        "1",
        "elicitation/create",
        r#"{"message":"m","requestedSchema":{"type":"object","properties":{}}}"#,
    );
    for revision in Revision::LEGACY {
        let mut client = ClientSide::ready(revision);
        let served = matches!(client.receive(&elicit), Some(ClientEvent::Request(_)));
        assert_eq!(served, Revision::V2025_06_18 <= revision, "{revision}");
    }
}

/// Proves L-JSONRPC-16, L-ERR-09, L-TOOL-02, L-PROMPT-02, L-COMP-02, L-COMP-03, L-LOG-03,
/// L-ERR-18, L-SAMP-01, L-AMB-30. Pain 75.
#[test]
fn params_that_do_not_fit_never_reach_the_application() {
    let table = [
        ("tools/call", r#"{}"#),
        ("tools/call", r#"{"name":42}"#),
        ("tools/call", r#"{"name":null}"#),
        ("tools/call", r#"{"name":"t","arguments":[]}"#),
        ("tools/call", r#"{"name":"t","arguments":"x"}"#),
        ("tools/list", r#"{"cursor":7}"#),
        ("resources/list", r#"{"cursor":{}}"#),
        ("resources/templates/list", r#"{"cursor":true}"#),
        ("prompts/list", r#"{"cursor":1}"#),
        ("resources/read", r#"{}"#),
        ("resources/read", r#"{"uri":1}"#),
        ("resources/subscribe", r#"{}"#),
        ("resources/unsubscribe", r#"{"uri":null}"#),
        ("prompts/get", r#"{}"#),
        ("prompts/get", r#"{"name":"p","arguments":{"n":1}}"#),
        ("prompts/get", r#"{"name":"p","arguments":[]}"#),
        ("completion/complete", r#"{"argument":{"name":"a","value":""}}"#),
        (
            "completion/complete",
            r#"{"ref":{"type":"ref/other","name":"p"},"argument":{"name":"a","value":""}}"#,
        ),
        (
            "completion/complete",
            r#"{"ref":{"type":"ref/prompt"},"argument":{"name":"a","value":""}}"#,
        ),
        (
            "completion/complete",
            r#"{"ref":{"type":"ref/resource","name":"p"},"argument":{"name":"a","value":""}}"#,
        ),
        (
            "completion/complete",
            r#"{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a"}}"#,
        ),
        (
            "completion/complete",
            r#"{"ref":{"type":"ref/prompt","name":"p"},"argument":{"value":"a"}}"#,
        ),
        (
            "completion/complete",
            r#"{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""},"context":1}"#,
        ),
        ("logging/setLevel", r#"{"level":"trace"}"#),
        ("logging/setLevel", r#"{}"#),
        ("tools/list", r#"{"_meta":{"progressToken":1.5}}"#),
        ("tools/list", r#"{"_meta":{"progressToken":true}}"#),
    ];
    let mut side = ready();
    for (method, params) in table {
        let (_, sent) = refused(&mut side, &request("1", method, params));
        assert!(
            sent.starts_with(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"#),
            "{method} {params}"
        );
    }
    assert_eq!(side.server.in_flight().counts().inbound, 0);

    let mut client = ClientSide::ready(Revision::V2025_11_25);
    let table = [
        ("sampling/createMessage", r#"{"messages":[]}"#),
        ("sampling/createMessage", r#"{"maxTokens":1}"#),
        ("sampling/createMessage", r#"{"messages":{},"maxTokens":1}"#),
        ("sampling/createMessage", r#"{"messages":[],"maxTokens":"1"}"#),
        ("elicitation/create", r#"{}"#),
        ("elicitation/create", r#"{"message":1}"#),
    ];
    for (method, params) in table {
        let event = client.receive(&request("1", method, params));
        assert!(matches!(event, Some(ClientEvent::Violation(_))), "{method} {params}");
        assert!(client.sent()[0].contains("-32602"), "{method} {params}");
    }
}

/// Proves L-TOOL-02, L-RES-08.
#[test]
fn requests_arrive_as_views_on_their_params() {
    let mut side = ready();
    let mut id = 0;
    let mut call = |method: &str, params: &str| {
        id += 1;
        match side.receive(&request(&id.to_string(), method, params)) {
            Some(ServerEvent::Request(request)) => request,
            other => panic!("{method} {params}: {other:?}"),
        }
    };
    let got = call(
        "tools/call",
        r#"{"name":"\u0061dd","arguments":{"a":1},"arguments":{"a":2},"x":0,"_meta":{"k":1}}"#,
    );
    let ClientRequest::CallTool(tool) = &got.kind else { panic!("{:?}", got.kind) };
    assert_eq!(tool.name, "add");
    assert_eq!(tool.arguments.as_ref().unwrap().as_json(), r#"{"a":2}"#, "the last of several");
    assert_eq!(got.meta.unwrap().as_json(), r#"{"k":1}"#);
    assert_eq!(got.params.unwrap().get("x").unwrap().as_json(), "0");
    assert_eq!(got.method, "tools/call");
    #[derive(serde::Deserialize)]
    struct Arguments {
        a: u8,
    }
    assert_eq!(tool.parse::<Arguments>().unwrap().a, 2);
    assert!(matches!(call("tools/call", r#"{"name":"t","arguments":null}"#).kind,
        ClientRequest::CallTool(tool) if tool.arguments.is_none() && tool.parse::<Arguments>().is_err()));
    assert!(
        matches!(call("tools/list", "{}").kind, ClientRequest::ListTools(page) if page.cursor.is_none())
    );
    assert!(
        matches!(call("tools/list", r#"{"cursor":null}"#).kind, ClientRequest::ListTools(page) if page.cursor.is_none())
    );
    assert!(
        matches!(call("prompts/list", r#"{"cursor":""}"#).kind, ClientRequest::ListPrompts(page) if page.cursor.as_ref().is_some_and(|cursor| *cursor == ""))
    );
    assert!(matches!(call("resources/list", "{}").kind, ClientRequest::ListResources(_)));
    assert!(matches!(
        call("resources/templates/list", "{}").kind,
        ClientRequest::ListResourceTemplates(_)
    ));
    assert!(
        matches!(call("resources/read", r#"{"uri":"a b"}"#).kind, ClientRequest::ReadResource { uri } if uri == "a b")
    );
    assert!(
        matches!(call("resources/subscribe", r#"{"uri":"u"}"#).kind, ClientRequest::Subscribe { uri } if uri == "u")
    );
    assert!(
        matches!(call("resources/unsubscribe", r#"{"uri":"u"}"#).kind, ClientRequest::Unsubscribe { uri } if uri == "u")
    );
    assert!(matches!(
        call("logging/setLevel", r#"{"level":"alert"}"#).kind,
        ClientRequest::SetLevel(LoggingLevel::Alert)
    ));
    let got = call("prompts/get", r#"{"name":"p","arguments":{"a":"b"}}"#);
    assert!(
        matches!(got.kind, ClientRequest::GetPrompt(prompt) if prompt.arguments.as_ref().map(Raw::as_json) == Some(r#"{"a":"b"}"#))
    );
    let got = call(
        "completion/complete",
        r#"{"ref":{"type":"ref/resource","uri":"u"},"argument":{"name":"a","value":"v"},"context":{"arguments":{"b":"c"}}}"#,
    );
    assert!(
        matches!(got.kind, ClientRequest::Complete(complete) if complete.name == "a" && complete.value == "v" && complete.context.is_some())
    );
}

#[test]
fn a_client_is_asked_in_views_too() {
    let mut client = ClientSide::ready(Revision::V2025_06_18);
    let mut call = |id: u8, method: &str, params: &str| match client.receive(&request(
        &id.to_string(),
        method,
        params,
    )) {
        Some(ClientEvent::Request(request)) => request.kind,
        other => panic!("{method}: {other:?}"),
    };
    assert_eq!(call(1, "roots/list", "{}"), ServerRequest::ListRoots);
    let sampling = r#"{"messages":[],"maxTokens":5}"#;
    assert!(
        matches!(call(2, "sampling/createMessage", sampling), ServerRequest::CreateMessage(raw) if raw.as_json() == sampling)
    );
    let form = r#"{"message":"m","requestedSchema":{"type":"object","properties":{}}}"#;
    assert!(
        matches!(call(3, "elicitation/create", form), ServerRequest::Elicit(raw) if raw.as_json() == form)
    );
    assert_eq!(call(4, "x/own", "{}"), ServerRequest::Other);
}

/// Proves L-JSONRPC-15 for methods outside MCP. Pain 90 in part.
#[test]
fn unknown_methods_are_the_applications_or_are_refused() {
    let mut side = ready();
    let id = side.request(&request("1", "tools/lit", "{}"));
    side.server.reject(id, ErrorCode::METHOD_NOT_FOUND, "no such method", &mut side.out).unwrap();
    assert_eq!(
        side.sent(),
        [r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no such method"}}"#]
    );
    let mut config = config::server();
    config.connection.unknown_methods = UnknownMethods::Reject;
    let mut side = ServerSide::ready_with(config, Revision::V2025_11_25);
    let (kind, sent) = refused(&mut side, &request("1", "tools/lit", "{}"));
    assert_eq!(kind, ViolationKind::UnknownMethod);
    assert_eq!(
        sent,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"method not found"}}"#
    );
}

/// Proves L-JSONRPC-25, L-JSONRPC-17, L-JSONRPC-09.
#[test]
fn every_request_is_answered_once() {
    let mut side = ready();
    let id = side.request(&request("1", "x/work", "{}"));
    side.server.respond(id, &(), &mut side.out).unwrap();
    let again = side.server.respond(id, &(), &mut side.out);
    assert_eq!(again, Err(RespondError::Answered));
    let again = side.server.reject(id, ErrorCode::INTERNAL_ERROR, "x", &mut side.out);
    assert_eq!(again, Err(RespondError::Answered));
    assert_eq!(side.sent(), [r#"{"jsonrpc":"2.0","id":1,"result":{}}"#]);
    let id = side.request(&request("2", "x/work", "{}"));
    let data = serde_json::json!(null);
    side.server
        .reject_with(
            id,
            &ErrorObject::with(ErrorCode::INTERNAL_ERROR, "it \"broke\"\n", &data).unwrap(),
            &mut side.out,
        )
        .unwrap();
    assert_eq!(
        side.sent(),
        [
            r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"it \"broke\"\n","data":null}}"#
        ]
    );
}

/// A response that cannot be encoded leaves the request open.
#[test]
fn a_failed_answer_can_be_tried_again() {
    let mut side = ready();
    let id = side.request(&request("1", "x/work", "{}"));
    let wrong = side.server.respond(id, &Json(&[1]), &mut side.out);
    assert_eq!(wrong, Err(RespondError::Encode(mcp_sansio::schema::EncodeError::NotAnObject)));
    let wrong = side.server.respond(id, &serde_json::Value::Null, &mut side.out);
    assert_eq!(wrong, Ok(()), "nothing at all is an empty result");
    assert_eq!(side.sent(), [r#"{"jsonrpc":"2.0","id":1,"result":{}}"#]);
}

/// Proves L-JSONRPC-26, L-AMB-09, L-RACE-11. Pain 19.
#[test]
fn a_duplicate_request_id_leaves_the_first_intact() {
    let mut side = ready();
    let first = side.request(&request("1", "x/work", "{}"));
    let Some(ServerEvent::Violation(violation)) = side.receive(&request("1", "x/other", "{}"))
    else {
        panic!("a violation");
    };
    assert_eq!(violation.kind, ViolationKind::DuplicateRequestId);
    assert_eq!((violation.answered, violation.id.unwrap().as_wire()), (false, "1"));
    // The response to a ping would be taken for that of the first request, too.
    assert!(side.receive(&request("1", "ping", "{}")).is_some());
    assert_eq!(side.sent(), [""; 0]);
    side.server.respond(first, &(), &mut side.out).unwrap();
    assert_eq!(side.sent().len(), 1);
    side.request(&request("1", "x/work", "{}"));
}

/// Pain 19, the other policy: both requests get a response, and a cancellation applies to both.
#[test]
fn duplicate_ids_can_be_served() {
    let mut config = config::server();
    config.connection.duplicate_ids = mcp_sansio::config::DuplicateIds::Serve;
    let mut side = ServerSide::ready_with(config, Revision::V2025_06_18);
    let first = side.request(&request("1", "x/work", "{}"));
    let second = side.request(&request("1", "x/other", "{}"));
    assert_ne!(first, second);
    side.server.respond(second, &serde_json::json!({"b": 1}), &mut side.out).unwrap();
    side.server.respond(first, &serde_json::json!({"a": 1}), &mut side.out).unwrap();
    assert_eq!(
        side.sent(),
        [
            r#"{"jsonrpc":"2.0","id":1,"result":{"b":1}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"a":1}}"#
        ]
    );
    let ids = [
        side.request(&request("1", "x/work", "{}")),
        side.request(&request("1", "x/work", "{}")),
        side.request(&request("2", "x/work", "{}")),
        side.request(&request("1", "x/work", "{}")),
    ];
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    let mut events = vec![side.receive(cancel).unwrap()];
    assert_eq!(side.server.respond(ids[3], &(), &mut side.out), Err(RespondError::Cancelled));
    assert_eq!(side.server.in_flight().requests().collect::<Vec<_>>(), [ids[2]]);
    events.extend(side.outcomes());
    let mut cancelled: Vec<_> = events
        .iter()
        .map(|event| match event {
            ServerEvent::Cancelled(cancelled) => cancelled.id,
            other => panic!("{other:?}"),
        })
        .collect();
    cancelled.sort_unstable();
    assert_eq!(cancelled, [ids[0], ids[1], ids[3]]);
    assert_eq!(side.server.in_flight().counts().inbound, 1);
}

/// Proves L-JSONRPC-32 for requests in flight. Pain 6.
#[test]
fn more_requests_than_the_limit_are_refused_with_their_own_id() {
    let mut config = config::server();
    config.connection.limits.inbound_requests = 2;
    let mut side = ServerSide::ready_with(config, Revision::V2025_06_18);
    let first = side.request(&request("1", "x/work", "{}"));
    side.request(&request("2", "x/work", "{}"));
    let (kind, sent) = refused(&mut side, &request("3", "x/work", "{}"));
    assert_eq!(kind, ViolationKind::TooManyRequests);
    assert!(sent.starts_with(r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32603,"#));
    assert_eq!(side.receive(&request("4", "ping", "{}")), None, "pings are no work");
    side.server.respond(first, &(), &mut side.out).unwrap();
    side.request(&request("5", "x/work", "{}"));
}

/// Proves L-JSONRPC-32 for ids: a request with an id that is too long to keep is refused under this id, so that the
/// peer does not wait forever.
#[test]
fn a_request_with_a_long_id_is_refused_under_this_id() {
    let limits = Limits::default();
    for id in [
        format!("\"{}\"", "x".repeat(limits.id_bytes - 1)),
        "7".repeat(limits.id_bytes + 1),
        format!("\"{}\"", r"\u00e9".repeat(1_000_000)),
    ] {
        let mut side = ready();
        let error = r#"{"code":-32600,"message":"the id is too long"}"#;
        for text in [
            request(&id, "ping", "{}"),
            request(&id, "x/work", "{}"),
            format!(r#"{{"jsonrpc":"1.0","id":{id},"method":"ping"}}"#),
        ] {
            let (kind, sent) = refused(&mut side, &text);
            assert_eq!(kind, ViolationKind::LongId);
            assert!(sent == format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#));
        }
        // A response needs no response.
        let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
        assert!(matches!(side.receive(&answer), Some(ServerEvent::Violation(_))));
        assert_eq!(side.sent(), [""; 0]);
        assert_eq!(side.receive(&request("1", "ping", "{}")), None);
        assert_eq!(side.sent().len(), 1);
    }
    // The error does not fit, and that is not the fault of a peer that reads.
    let mut config = config::server();
    config.connection.limits.outbox_bytes = 600;
    config.connection.limits.reserve_bytes = 400;
    let mut side = ServerSide::ready_with(config, Revision::V2025_06_18);
    let Some(ServerEvent::Violation(violation)) =
        side.receive(&request(&"7".repeat(2_000), "ping", "{}"))
    else {
        panic!("too long");
    };
    assert_eq!((violation.kind, violation.answered), (ViolationKind::LongId, false));
    assert_eq!(side.receive(&request("1", "ping", "{}")), None);
    assert_eq!(side.sent().len(), 1);
}

/// Proves L-JSONRPC-32 for lengths. Pain 93 in part.
#[test]
fn ids_tokens_and_methods_have_a_length() {
    let limits = Limits::default();
    let mut side = ready();
    let long = "x".repeat(limits.id_bytes - 2);
    assert_eq!(side.receive(&request(&format!("\"{long}\""), "ping", "{}")), None);
    assert_eq!(side.sent().len(), 1);
    let token = "x".repeat(limits.token_bytes - 1);
    let (kind, _) = refused(
        &mut side,
        &request("1", "tools/list", &format!(r#"{{"_meta":{{"progressToken":"{token}"}}}}"#)),
    );
    assert_eq!(kind, ViolationKind::MalformedToken);
    let method = "x".repeat(limits.method_bytes + 1);
    let (kind, sent) = refused(&mut side, &request("1", &method, "{}"));
    assert_eq!(kind, ViolationKind::LongMethod);
    assert!(sent.contains("-32601"));
}

/// Proves L-JSONRPC-14, L-JSONRPC-13, L-JSONRPC-23, L-CAP-06, L-META-03. Pains 65 and 66.
#[test]
fn notifications_are_never_answered() {
    let mut side = ready();
    let frames = [
        r#"{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"a":1}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/foo"}"#,
        r#"{"jsonrpc":"2.0","method":"$/x"}"#,
        r#"{"jsonrpc":"2.0","method":"tools/list"}"#,
        r#"{"jsonrpc":"2.0","method":"ping"}"#,
        r#"{"jsonrpc":"2.0","method":"initialize"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#,
        // Only a request has a progress token; here the member is data.
        r#"{"jsonrpc":"2.0","method":"x","params":{"_meta":{"progressToken":true}}}"#,
    ];
    for frame in frames {
        let event = side.receive(frame);
        let Some(ServerEvent::Notification(notification)) = event else { panic!("{event:?}") };
        assert!(frame.contains(&*notification.method.to_str()));
    }
    let broken = [
        r#"{"jsonrpc":"2.0","method":"x","params":[]}"#,
        r#"{"jsonrpc":"1.0","method":"x"}"#,
        r#"{"jsonrpc":"2.0","method":7}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/progress"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{}}"#,
        // A client may not send this notification.
        r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
    ];
    for frame in broken {
        assert!(
            matches!(side.receive(frame), Some(ServerEvent::Violation(v)) if !v.answered),
            "{frame}"
        );
    }
    assert_eq!(side.sent(), [""; 0]);
}

#[test]
fn notifications_can_be_read_by_type() {
    let mut client = ClientSide::ready(Revision::V2025_06_18);
    let frame = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":null}}"#;
    let Some(ClientEvent::Notification(notification)) = client.receive(frame) else { panic!() };
    assert!(notification.is::<method::Log>());
    let log = notification.parse::<method::Log>().unwrap().unwrap();
    assert_eq!((log.level, log.data.as_json()), (LoggingLevel::Error, "null"));
    assert!(notification.parse::<method::ToolsChanged>().is_none());
    let frame = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    let Some(ClientEvent::Notification(notification)) = client.receive(frame) else { panic!() };
    assert!(notification.parse::<method::ToolsChanged>().unwrap().is_ok());
}

#[test]
fn the_request_context_describes_its_session() {
    let mut side = ServerSide::ready(Revision::V2025_06_18);
    let frame = request("1", "tools/list", r#"{"_meta":{"progressToken":0}}"#);
    let received = mcp_sansio::Received::from(side.now).principal(Principal::new(42));
    let event = side.server.receive(frame.as_str(), received, &mut side.out);
    let Some(ServerEvent::Request(got)) = event else { panic!("served") };
    assert_eq!(got.context.revision, Revision::V2025_06_18);
    assert!(got.context.capabilities.contains(Capability::Sampling));
    assert!(got.context.wants_progress);
    assert_eq!(got.context.principal, Principal::new(42));
    assert_eq!(side.server.in_flight().context(got.id), Some(got.context));
    let plain = side.request(&request("2", "tools/list", "{}"));
    assert!(!side.server.in_flight().context(plain).unwrap().wants_progress);
}
