//! Errors: the code of each situation, and their unchanged transmission.

use mcp_sansio::config::RepliesWithoutId;
use mcp_sansio::error::ErrorObject;
use mcp_sansio::error::{BadArguments, ViolationKind};
use mcp_sansio::event::ConnectFailure;
use mcp_sansio::json::Raw;
use mcp_sansio::model::{CallToolResult, LoggingLevel};
use mcp_sansio::{
    ClientEvent, ErrorCode, IncomingId, Outcome, Revision, ServerConfig, ServerEvent,
};
use mcp_sansio_proptests::{ClientSide, ServerSide, config, payload};

/// Before this revision, invalid arguments are an error of the request.
const SINCE_ARGUMENTS_ARE_THE_TOOLS: Revision = Revision::V2025_11_25;

/// Calls a method of a server that responds in this way. Returns the sent message and the outcome at the client.
#[track_caller]
fn exchange(
    revision: Revision,
    method: &str,
    answer: impl FnOnce(&mut ServerSide, IncomingId),
) -> (String, Outcome<'static>) {
    exchange_with(config::server(), revision, method, answer)
}

#[track_caller]
fn exchange_with(
    config: ServerConfig,
    revision: Revision,
    method: &str,
    answer: impl FnOnce(&mut ServerSide, IncomingId),
) -> (String, Outcome<'static>) {
    let mut server = ServerSide::ready_with(config, revision);
    let mut client = ClientSide::ready(revision);
    let call = client.call(method);
    let request = client.sent().remove(0);
    let id = server.request(&request);
    answer(&mut server, id);
    let mut sent = server.sent();
    assert_eq!(sent.len(), 1, "one answer");
    let frame = sent.remove(0);
    match client.receive(&frame) {
        Some(ClientEvent::CallEnded(ended)) if ended.call == call => (frame, ended.outcome),
        other => panic!("no outcome: {other:?}"),
    }
}

/// Returns the code, the message and the data of an error.
#[track_caller]
fn error(outcome: &Outcome<'_>) -> (ErrorCode, String, Option<String>) {
    let Outcome::PeerError(error) = outcome else { panic!("no error: {outcome:?}") };
    let data = error.data.as_ref().map(|data| data.as_json().to_string());
    (error.code, error.message.to_str().into_owned(), data)
}

fn is_resource_not_found(outcome: &Outcome<'_>) -> bool {
    matches!(outcome, Outcome::PeerError(error) if error.is_resource_not_found())
}

/// Whether a tool result is an error.
#[track_caller]
fn failed(outcome: &Outcome<'_>) -> bool {
    let Outcome::Result(result) = outcome else { panic!("no result: {outcome:?}") };
    result.parse::<CallToolResult<'_>>().unwrap().failed()
}

/// Expects that a server refuses a frame by itself: nothing reaches the application, and one error is sent.
#[track_caller]
fn refusal(side: &mut ServerSide, frame: &str) -> (ViolationKind, String) {
    match side.receive(frame) {
        Some(ServerEvent::Violation(violation)) if violation.answered => {
            let mut sent = side.sent();
            assert_eq!(sent.len(), 1, "{frame}");
            (violation.kind, sent.remove(0))
        }
        other => panic!("{frame} is not refused: {other:?}"),
    }
}

fn request(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":9,"method":"{method}","params":{params}}}"#)
}

/// A rejection by the application: the method, the code, the message, the data, and the sent error.
type Refusal = (&'static str, ErrorCode, &'static str, Option<&'static str>, &'static str);

const REFUSALS: [Refusal; 10] = [
    // L-ERR-11, L-TOOL-04.
    (
        "tools/call",
        ErrorCode::INVALID_PARAMS,
        "Unknown tool: n",
        None,
        r#"{"code":-32602,"message":"Unknown tool: n"}"#,
    ),
    // L-ERR-15, L-PROMPT-04: an unknown prompt.
    (
        "prompts/get",
        ErrorCode::INVALID_PARAMS,
        "Unknown prompt: n",
        None,
        r#"{"code":-32602,"message":"Unknown prompt: n"}"#,
    ),
    // L-ERR-15, L-PROMPT-04: a missing argument of the prompt.
    (
        "prompts/get",
        ErrorCode::INVALID_PARAMS,
        "Missing argument: code",
        None,
        r#"{"code":-32602,"message":"Missing argument: code"}"#,
    ),
    // L-PROMPT-04: an internal failure.
    (
        "prompts/get",
        ErrorCode::INTERNAL_ERROR,
        "the template is broken",
        None,
        r#"{"code":-32603,"message":"the template is broken"}"#,
    ),
    // L-ERR-16, L-RES-05, L-AMB-27.
    (
        "resources/read",
        ErrorCode::RESOURCE_NOT_FOUND,
        "Resource not found",
        Some(r#"{"uri":"x:y"}"#),
        r#"{"code":-32002,"message":"Resource not found","data":{"uri":"x:y"}}"#,
    ),
    // L-RES-07.
    (
        "resources/read",
        ErrorCode::INTERNAL_ERROR,
        "the disk is gone",
        None,
        r#"{"code":-32603,"message":"the disk is gone"}"#,
    ),
    // L-ERR-17, L-COMP-06: an unknown prompt.
    (
        "completion/complete",
        ErrorCode::INVALID_PARAMS,
        "Unknown prompt: n",
        None,
        r#"{"code":-32602,"message":"Unknown prompt: n"}"#,
    ),
    // L-COMP-06: an internal failure.
    (
        "completion/complete",
        ErrorCode::INTERNAL_ERROR,
        "the index is broken",
        None,
        r#"{"code":-32603,"message":"the index is broken"}"#,
    ),
    // L-ERR-19.
    (
        "logging/setLevel",
        ErrorCode::INTERNAL_ERROR,
        "the log is read-only",
        None,
        r#"{"code":-32603,"message":"the log is read-only"}"#,
    ),
    // L-ERR-38.
    (
        "x/own",
        ErrorCode::INTERNAL_ERROR,
        "out of luck",
        None,
        r#"{"code":-32603,"message":"out of luck"}"#,
    ),
];

/// Proves L-ERR-11, L-ERR-15, L-ERR-16, L-ERR-19, L-ERR-38, L-TOOL-04, L-RES-05, L-RES-07, L-PROMPT-04, L-COMP-06: a
/// rejection by the application arrives with its code and its data.
#[test]
fn a_refusal_arrives_as_it_was_given() {
    for (method, code, message, data, text) in REFUSALS {
        for revision in Revision::LEGACY {
            let (frame, outcome) = exchange(revision, method, |side, id| {
                let answered = match data.map(|data| Raw::new(data).unwrap()) {
                    None => side.server.reject(id, code, message, &mut side.out),
                    Some(data) => side.server.reject_with(
                        id,
                        &ErrorObject::with(code, message, &data).unwrap(),
                        &mut side.out,
                    ),
                };
                assert_eq!(answered, Ok(()), "{text}");
            });
            assert_eq!(frame, format!(r#"{{"jsonrpc":"2.0","id":2,"error":{text}}}"#));
            let expected = (code, message.to_string(), data.map(String::from));
            assert_eq!(error(&outcome), expected, "{revision}");
        }
    }
}

/// Proves L-ERR-01: JSON-RPC has a code for invalid JSON; over lines, MCP sends it only if this is configured.
#[test]
fn invalid_json_is_a_parse_error() {
    let noise = "Listening on port 80";
    for revision in Revision::LEGACY {
        let mut side = ServerSide::ready(revision);
        let Some(ServerEvent::Violation(violation)) = side.receive(noise) else { panic!() };
        assert_eq!((violation.kind, violation.answered), (ViolationKind::NotJson, false));
        assert_eq!(violation.kind.code(), Some(ErrorCode::PARSE_ERROR));
        assert_eq!(side.sent(), [""; 0]);

        let mut config = config::server();
        let rate = RepliesWithoutId::at_most(1, std::time::Duration::from_secs(1));
        config.connection.replies_without_id = Some(rate);
        let mut side = ServerSide::ready_with(config, revision);
        assert!(side.receive(noise).is_some());
        let id = if revision == Revision::V2025_11_25 { "" } else { r#""id":null,"# };
        let expected = format!(
            r#"{{"jsonrpc":"2.0",{id}"error":{{"code":-32700,"message":"the line is not JSON"}}}}"#
        );
        assert_eq!(side.sent(), [expected], "{revision}");
    }
    // A request with a readable id gets an error in any case.
    let mut side = ServerSide::ready(Revision::V2025_11_25);
    let (kind, sent) = refusal(&mut side, r#"{"jsonrpc":"2.0","id":9,"method":"x",oops}"#);
    assert_eq!(kind, ViolationKind::NotJson);
    assert_eq!(
        sent,
        r#"{"jsonrpc":"2.0","id":9,"error":{"code":-32700,"message":"the line is not JSON"}}"#
    );
}

/// The metadata of a request is an object, also in a call of a tool that is otherwise as usual.
#[test]
fn a_call_with_malformed_metadata_is_refused() {
    let mut side = ServerSide::ready(Revision::V2025_11_25);
    for params in [r#"{"name":"t","_meta":7}"#, r#"{"name":"t","_meta":[],"arguments":{}}"#] {
        let frame =
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
        let (kind, sent) = refusal(&mut side, &frame);
        assert_eq!(kind, ViolationKind::InvalidParams, "{params}");
        assert!(sent.contains("_meta"), "{sent}");
    }
}

/// An error that has no room because of its long id is sent without the id. No other error loses its id.
#[test]
fn only_a_too_long_id_is_left_out_of_its_error() {
    let mut config = config::server();
    let rate = RepliesWithoutId::at_most(9, std::time::Duration::from_secs(1));
    config.connection.replies_without_id = Some(rate);
    config.connection.limits.reserve_bytes = 150;
    let mut side = ServerSide::ready_with(config, Revision::V2025_11_25);
    side.out.set_limit(0);
    let answers = [
        ("7".repeat(300), ViolationKind::LongId, true),
        ("7".repeat(200), ViolationKind::WrongJsonrpc, false),
    ];
    for (id, kind, is_answered) in answers {
        let event = side.receive(&format!(r#"{{"jsonrpc":"1.0","id":{id},"method":"ping"}}"#));
        let Some(ServerEvent::Violation(violation)) = event else { panic!("{event:?}") };
        assert_eq!((violation.kind, violation.answered), (kind, is_answered));
        let error = r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"the id is too long"}}"#;
        assert_eq!(side.sent(), vec![error; usize::from(is_answered)]);
    }
}

/// Proves L-ERR-10: the error contains the supported and the requested revisions, and the client reports them.
#[test]
fn a_refused_revision_names_those_that_are_spoken() {
    let mut config = config::server();
    config.refuse_other_revisions = true;
    let mut server = ServerSide::with(config);
    let frame = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"1.0.0","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
    assert_eq!(server.receive(frame), None);
    let sent = server.sent();
    let data = r#"{"supported":["2024-11-05","2025-03-26","2025-06-18","2025-11-25"],"requested":"1.0.0"}"#;
    let expected = format!(
        r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":-32602,"message":"Unsupported protocol version","data":{data}}}}}"#
    );
    assert_eq!(sent, [expected]);
    let mut client = ClientSide::fresh();
    client.client.connect(client.now, &mut client.out).unwrap();
    let Some(ClientEvent::ConnectFailed(ConnectFailure::PeerError(error))) =
        client.receive(&sent[0])
    else {
        panic!("no failure");
    };
    assert_eq!(error.code, ErrorCode::INVALID_PARAMS);
    assert_eq!(error.data.unwrap().as_json(), data);
}

/// Proves L-AMB-28: servers report it in one of two ways, and the client recognizes both.
#[test]
fn a_client_learns_of_an_unknown_tool_either_way() {
    let answers = [
        (r#""error":{"code":-32602,"message":"Unknown tool: n"}"#, false),
        (r#""result":{"content":[{"type":"text","text":"Unknown tool: n"}],"isError":true}"#, true),
    ];
    for revision in Revision::LEGACY {
        for (answer, is_result) in answers {
            let mut client = ClientSide::ready(revision);
            client.call("tools/call");
            let event = client.receive(&format!(r#"{{"jsonrpc":"2.0","id":2,{answer}}}"#));
            let Some(ClientEvent::CallEnded(ended)) = event else { panic!("{event:?}") };
            if is_result {
                assert!(failed(&ended.outcome), "{revision}");
            } else {
                let (code, message, _) = error(&ended.outcome);
                assert_eq!((code.get(), message.as_str()), (-32602, "Unknown tool: n"));
            }
        }
    }
}

const THE_REQUEST_IS_AT_FAULT: &str =
    r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"a: not a number"}}"#;
const THE_TOOL_FAILS: &str = r#"{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"a: not a number"}],"isError":true}}"#;

/// Proves L-ERR-12, L-ERR-13, L-TOOL-05, L-TOOL-06, L-AMB-52: by the revision, unless the configuration overrides it.
#[test]
fn bad_arguments_are_refused_as_the_revision_says() {
    for revision in Revision::LEGACY {
        let by_revision = SINCE_ARGUMENTS_ARE_THE_TOOLS <= revision;
        let policies = [
            (None, by_revision),
            (Some(BadArguments::ByRevision), by_revision),
            (Some(BadArguments::Request), false),
            (Some(BadArguments::Tool), true),
        ];
        for (policy, tool_fails) in policies {
            let mut config = config::server();
            config.bad_arguments = policy.unwrap_or(config.bad_arguments);
            let (frame, outcome) = exchange_with(config, revision, "tools/call", |side, id| {
                side.server.reject_arguments(id, "a: not a number", &mut side.out).unwrap();
            });
            if tool_fails {
                assert_eq!(frame, THE_TOOL_FAILS, "{revision} {policy:?}");
                assert!(failed(&outcome));
            } else {
                assert_eq!(frame, THE_REQUEST_IS_AT_FAULT, "{revision} {policy:?}");
                assert_eq!(error(&outcome).0, ErrorCode::INVALID_PARAMS);
            }
        }
    }
}

/// Proves L-TOOL-06 for an invalid `tools/call`: it is an error of the request in every revision, under every policy.
#[test]
fn a_call_without_a_name_is_no_failure_of_a_tool() {
    for revision in Revision::LEGACY {
        for policy in [BadArguments::ByRevision, BadArguments::Request, BadArguments::Tool] {
            let mut config = config::server();
            config.bad_arguments = policy;
            let mut side = ServerSide::ready_with(config, revision);
            let (kind, sent) = refusal(&mut side, &request("tools/call", r#"{"arguments":{}}"#));
            assert_eq!(kind, ViolationKind::InvalidParams);
            assert_eq!(
                sent,
                r#"{"jsonrpc":"2.0","id":9,"error":{"code":-32602,"message":"invalid params: name is missing"}}"#
            );
        }
    }
}

/// Proves L-ERR-14, L-TOOL-07: the failure is a result, so that the model sees it.
#[test]
fn a_tool_that_fails_says_so_in_its_result() {
    for revision in Revision::LEGACY {
        let (frame, outcome) = exchange(revision, "tools/call", |side, id| {
            let result = CallToolResult::error("a: not a number");
            side.server.respond(id, &result, &mut side.out).unwrap();
        });
        assert_eq!(frame, THE_TOOL_FAILS, "{revision}");
        assert!(failed(&outcome));
        // A successful result does not contain `isError`.
        let (frame, outcome) = exchange(revision, "tools/call", |side, id| {
            side.server.respond(id, &CallToolResult::text("1"), &mut side.out).unwrap();
        });
        assert_eq!(
            frame,
            r#"{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"1"}]}}"#
        );
        assert!(!failed(&outcome));
    }
}

/// Proves L-ERR-16, L-RES-06, L-AMB-27, M-RSRC-02: servers report it with one of two codes.
#[test]
fn a_missing_resource_is_known_by_either_code() {
    let errors = [
        (r#"{"code":-32002,"message":"m","data":{"uri":"x:y"}}"#, true),
        (r#"{"code":-32002,"message":"m"}"#, true),
        (r#"{"code":-32602,"message":"m","data":{"uri":"x:y"}}"#, true),
        (r#"{"code":-32602,"message":"m"}"#, false),
        (r#"{"code":-32602,"message":"m","data":{"field":"uri"}}"#, false),
        (r#"{"code":-32602,"message":"m","data":"uri"}"#, false),
        (r#"{"code":-32603,"message":"m","data":{"uri":"x:y"}}"#, false),
        (r#"{"code":0,"message":"m","data":{"uri":"x:y"}}"#, false),
    ];
    for revision in Revision::LEGACY {
        for (error, is_missing) in errors {
            let mut client = ClientSide::ready(revision);
            client.call("resources/read");
            let frame = format!(r#"{{"jsonrpc":"2.0","id":2,"error":{error}}}"#);
            let Some(ClientEvent::CallEnded(ended)) = client.receive(&frame) else { panic!() };
            assert_eq!(is_resource_not_found(&ended.outcome), is_missing, "{error}");
        }
    }
}

/// Proves L-ERR-17, L-COMP-06: an undeclared completion is an unknown method, and an invalid one is refused.
#[test]
fn a_completion_is_refused_in_one_of_three_ways() {
    let fitting = payload::params("completion/complete");
    for revision in
        Revision::LEGACY.into_iter().filter(|revision| Revision::V2024_11_05 < *revision)
    {
        let mut bare = ServerSide::ready_with(config::bare_server(), revision);
        let (kind, sent) = refusal(&mut bare, &request("completion/complete", fitting.as_json()));
        assert_eq!(kind, ViolationKind::MethodNotAvailable, "{revision}");
        assert_eq!(
            sent,
            r#"{"jsonrpc":"2.0","id":9,"error":{"code":-32601,"message":"method not available in this session"}}"#
        );
        let mut side = ServerSide::ready(revision);
        let params = r#"{"ref":{"type":"ref/prompt","name":"n"}}"#;
        let (kind, sent) = refusal(&mut side, &request("completion/complete", params));
        assert_eq!(kind, ViolationKind::InvalidParams, "{revision}");
        assert_eq!(
            sent,
            r#"{"jsonrpc":"2.0","id":9,"error":{"code":-32602,"message":"invalid params: argument is missing"}}"#
        );
        let (frame, outcome) = exchange(revision, "completion/complete", |side, id| {
            let (code, message) = (ErrorCode::INTERNAL_ERROR, "the index is broken");
            side.server.reject(id, code, message, &mut side.out).unwrap();
        });
        assert_eq!(
            frame,
            r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"the index is broken"}}"#
        );
        assert_eq!(error(&outcome).0, ErrorCode::INTERNAL_ERROR);
    }
}

/// Proves L-ERR-19: a level that was rejected does not apply.
#[test]
fn a_log_level_that_is_refused_changes_nothing() {
    let mut side = ServerSide::ready(Revision::V2025_11_25);
    let before = side.server.notifications().log_level();
    let id = side.request(&request("logging/setLevel", r#"{"level":"alert"}"#));
    let (code, message) = (ErrorCode::INTERNAL_ERROR, "the log is read-only");
    side.server.reject(id, code, message, &mut side.out).unwrap();
    assert_eq!(
        side.sent(),
        [r#"{"jsonrpc":"2.0","id":9,"error":{"code":-32603,"message":"the log is read-only"}}"#]
    );
    assert_eq!(
        (before, side.server.notifications().log_level()),
        (LoggingLevel::Debug, LoggingLevel::Debug)
    );
}

/// Proves L-ERR-38: other failures are -32603, by this crate and by the application, in both directions.
#[test]
fn trouble_of_any_other_kind_is_an_internal_error() {
    let mut config = config::server();
    config.connection.limits.inbound_requests = 0;
    let mut side = ServerSide::ready_with(config, Revision::V2025_11_25);
    let (kind, sent) = refusal(&mut side, &request("x/own", "{}"));
    assert_eq!(kind, ViolationKind::TooManyRequests);
    assert_eq!(
        sent,
        r#"{"jsonrpc":"2.0","id":9,"error":{"code":-32603,"message":"too many requests in flight"}}"#
    );
    let mut client = ClientSide::ready(Revision::V2025_11_25);
    let mut server = ServerSide::ready(Revision::V2025_11_25);
    let call = server.call("roots/list");
    let id = client.request(&server.sent()[0]);
    client.client.reject(id, ErrorCode::INTERNAL_ERROR, "no disk", &mut client.out).unwrap();
    let sent = client.sent();
    assert_eq!(sent, [r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no disk"}}"#]);
    let Some(ServerEvent::CallEnded(ended)) = server.receive(&sent[0]) else { panic!() };
    assert_eq!(ended.call, call);
    assert_eq!(error(&ended.outcome), (ErrorCode::INTERNAL_ERROR, "no disk".to_string(), None));
}
