//! JSON-RPC rules of modern requests, and error codes.

use std::time::Duration;

use mcp_sansio::config::{RepliesWithoutId, UnknownMethods};
use mcp_sansio::error::ErrorObject;
use mcp_sansio::error::{NotAllowed, ViolationKind};
use mcp_sansio::json::Raw;
use mcp_sansio::{ErrorCode, RespondError, Revision, ServerEvent};
use mcp_sansio_proptests::ServerSide;

use crate::modern::kit::*;

/// A server that also answers messages without a readable id.
fn talkative() -> ServerSide {
    server_with(|config| {
        let policy = RepliesWithoutId::at_most(99, Duration::from_secs(1));
        config.connection.replies_without_id = Some(policy);
    })
}

/// An error without an id.
fn nameless(code: i64, message: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","error":{{"code":{code},"message":"{message}"}}}}"#)
}

/// Proves M-RPC-02: a message with another `jsonrpc` is refused with its id.
#[test]
fn a_message_has_to_be_json_rpc() {
    let mut side = server();
    let good = modern_request("1", "tools/list", "");
    let sent = error("1", -32600, r#"jsonrpc must be \"2.0\""#);
    for version in [r#""1.0""#, "2.0", "2", "null", r#""2.00""#] {
        let frame = good.replacen(r#""2.0""#, version, 1);
        refused(&mut side, &frame, ViolationKind::WrongJsonrpc, &sent);
    }
    let frame = good.replacen(r#""jsonrpc":"2.0","#, "", 1);
    refused(&mut side, &frame, ViolationKind::WrongJsonrpc, &sent);
}

/// Proves M-RPC-04, M-RPC-05, M-RPC-05a, M-AMB-12: an id is an integer or a string; `1.0` is neither.
#[test]
fn an_id_is_an_integer_or_a_string() {
    let mut side = talkative();
    for id in ["1.5", "1.0", "1e0", "-0", "true", "{}", "[1]"] {
        let sent = nameless(-32600, "the id must be a string or an integer");
        let frame = modern_request(id, "tools/list", "");
        refused(&mut side, &frame, ViolationKind::MalformedId, &sent);
    }
    let sent = nameless(-32600, "the id must not be null");
    refused(&mut side, &modern_request("null", "tools/list", ""), ViolationKind::NullId, &sent);
}

/// Proves M-RPC-05, M-RPC-10, M-RPC-08: ids are returned unchanged, and `1` is not `"1"`.
#[test]
fn an_id_comes_back_as_it_came() {
    let ids = ["1", r#""1""#, "0", r#""""#, "-7", "9007199254740993", r#""\u0061""#, r#""a/b ü""#];
    let mut side = server();
    let requests = ids.map(|id| side.request(&modern_request(id, "tools/list", "")));
    for (id, request) in ids.into_iter().zip(requests).rev() {
        side.respond(request, r#"{"tools":[]}"#);
        assert_eq!(side.sent(), [cacheable(id, r#""tools":[]"#)]);
    }
}

/// Proves M-RPC-11: an unreadable message is answered without an id, if the configuration permits it.
#[test]
fn an_unreadable_message_gets_an_error_without_id() {
    let mut side = talkative();
    let sent = nameless(-32700, "the line is not JSON");
    refused(&mut side, "hello", ViolationKind::NotJson, &sent);
    let mut side = server();
    let event = side.receive("hello");
    assert!(matches!(event, Some(ServerEvent::Violation(_))), "{event:?}");
    assert_eq!(side.sent(), [""; 0]);
    lives(&mut side);
}

/// Proves M-RPC-13, M-RPC-27, M-AMB-43: a notification is never answered, even a malformed one.
#[test]
fn a_notification_is_never_answered() {
    let mut side = talkative();
    for (method, params) in [
        ("notifications/unknown", "{}"),
        ("notifications/future", r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"x"}}"#),
        ("notifications/initialized", "{}"),
        ("notifications/roots/list_changed", "{}"),
        ("notifications/progress", r#"{"progressToken":1,"progress":1}"#),
        ("notifications/elicitation/complete", r#"{"elicitationId":"e"}"#),
        ("notifications/tasks/status", "{}"),
        ("notifications/cancelled", "[]"),
        ("tools/list", "{}"),
    ] {
        let frame = format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#);
        let event = side.receive(&frame);
        assert!(!matches!(event, Some(ServerEvent::Request(_))), "{event:?}");
        assert_eq!(side.sent(), [""; 0], "{frame}");
        lives(&mut side);
    }
}

/// Proves M-RPC-17: a response is dropped. A server sends no requests, so no response can match.
#[test]
fn a_response_is_dropped() {
    for mut side in [server(), without_sessions()] {
        for frame in [
            plain("5", ""),
            error("5", -32603, "no"),
            nameless(-32603, "no"),
            r#"{"jsonrpc":"2.0","id":5,"result":{},"error":{"code":1,"message":"m"}}"#.into(),
        ] {
            assert!(side.receive(&frame).is_some(), "{frame}");
            assert_eq!(side.sent(), [""; 0], "{frame}");
            lives(&mut side);
        }
    }
}

/// Proves M-RPC-25: a duplicate member has one meaning.
#[test]
fn a_member_that_stands_there_twice_has_one_meaning() {
    let mut side = server();
    let frame = modern_request("1", "tools/list", "").replacen(
        r#""method":"tools/list""#,
        r#""method":"tools/list","method":"prompts/list""#,
        1,
    );
    let sent = error("1", -32600, "duplicate member");
    refused(&mut side, &frame, ViolationKind::DuplicateMember, &sent);
    // The last one counts, as everywhere in `_meta` and params.
    let version = r#""io.modelcontextprotocol/protocolVersion":"#;
    let frame = modern_request("1", "tools/list", "");
    let frame = frame.replacen(version, &format!(r#"{version}"x",{version}"#), 1);
    side.request(&frame);
}

/// Proves M-RPC-26: a method that MCP does not define, or not in this era.
#[test]
fn an_unknown_method_is_the_applications_or_refused() {
    let mut side = server();
    let request = request(&mut side, &modern_request("1", "foo/bar", r#""x":1"#));
    assert_eq!(request.method, "foo/bar");
    let (code, message) = (ErrorCode::METHOD_NOT_FOUND, "Method not found");
    side.server.reject(request.id, code, message, &mut side.out).unwrap();
    assert_eq!(side.sent(), [error("1", -32601, "Method not found")]);
    let mut strict = server_with(|config| {
        config.connection.unknown_methods = UnknownMethods::Reject;
    });
    let frame = modern_request("1", "foo/bar", "");
    let event = strict.receive(&frame);
    assert!(matches!(event, Some(ServerEvent::Violation(_))), "{event:?}");
    assert_eq!(strict.sent(), [error("1", -32601, "method not found")]);
    for method in [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
        "tasks/list",
        "tasks/result",
        "roots/list",
        "sampling/createMessage",
        "elicitation/create",
    ] {
        let kind = ViolationKind::MethodNotAvailable;
        refused(&mut side, &modern_request("1", method, ""), kind, &unavailable("1"));
    }
}

/// Proves M-ERR-15, M-CAP-14: methods of an undeclared capability are not available.
#[test]
fn methods_of_undeclared_capabilities_are_unavailable() {
    let mut side = server_with(|config| config.capabilities = Default::default());
    for (method, params, _) in METHODS {
        let kind = ViolationKind::MethodNotAvailable;
        refused(&mut side, &modern_request("1", method, params), kind, &unavailable("1"));
    }
}

/// Proves M-ERR-02, M-ERR-03, M-ERR-05, M-ERR-07: applications cannot use the codes that the revision reserves.
#[test]
fn reserved_codes_are_not_for_applications() {
    let mut side = server();
    let id = side.request(&modern_request("1", "resources/read", r#""uri":"x:y""#));
    let reserved = (-32_099..=-32_000).filter(|code| ![-32_002, -32_042].contains(code));
    for code in reserved {
        let refused = side.server.reject(id, ErrorCode::new(code), "no", &mut side.out);
        assert_eq!(refused, Err(RespondError::NotAllowed(NotAllowed::Code)), "{code}");
    }
    let urls = Raw::new(r#"{"elicitations":[]}"#).unwrap();
    let code = ErrorCode::URL_ELICITATION_REQUIRED;
    let refused =
        side.server.reject_with(id, &ErrorObject::with(code, "no", &urls).unwrap(), &mut side.out);
    assert_eq!(refused, Err(RespondError::NotAllowed(NotAllowed::Revision)));
    assert_eq!(side.sent(), [""; 0]);
    assert_eq!(side.server.in_flight().requests().count(), 1, "it can still be answered");
    side.server.reject(id, ErrorCode::new(7), "no", &mut side.out).unwrap();
    assert_eq!(side.sent(), [error("1", 7, "no")]);
}

/// Proves M-ERR-01, M-ERR-16, M-ERR-17, M-RPC-23, M-TOOL-07, M-PRMT-01: the standard codes of JSON-RPC keep their
/// meaning.
#[test]
fn standard_codes_go_out_as_they_are() {
    let mut side = server();
    for (code, message) in [
        (ErrorCode::INVALID_REQUEST, "no"),
        (ErrorCode::METHOD_NOT_FOUND, "no"),
        (ErrorCode::INVALID_PARAMS, "Unknown tool: t"),
        (ErrorCode::INTERNAL_ERROR, "Internal error"),
        (ErrorCode::new(-31_999), "mine"),
        (ErrorCode::new(-32_769), "mine"),
        (ErrorCode::new(1), "mine"),
    ] {
        let id = side.request(&modern_request("1", "tools/call", r#""name":"t""#));
        side.server.reject(id, code, message, &mut side.out).unwrap();
        assert_eq!(side.sent(), [error("1", code.get(), message)]);
        lives(&mut side);
    }
}

/// Proves M-ERR-05, M-RSRC-01: the error for a missing resource has the code of its revision, and the URI.
#[test]
fn a_missing_resource_has_the_code_of_its_revision() {
    let mut side = beside_session(Revision::V2025_11_25);
    let data = Raw::new(r#"{"uri":"x:y"}"#).unwrap();
    for (frame, code) in [
        (modern_request("1", "resources/read", r#""uri":"x:y""#), -32602),
        (of_session("1", "resources/read", r#""uri":"x:y""#), -32002),
    ] {
        let id = side.request(&frame);
        let (not_found, text) = (ErrorCode::RESOURCE_NOT_FOUND, "Resource not found");
        side.server
            .reject_with(id, &ErrorObject::with(not_found, text, &data).unwrap(), &mut side.out)
            .unwrap();
        assert_eq!(side.sent(), [error_with("1", code, text, r#"{"uri":"x:y"}"#)]);
    }
}

/// Proves M-ERR-09, M-ERR-10: the error for an unsupported version lists the supported ones, and discovery lists
/// the same.
#[test]
fn versions_are_named_alike_everywhere() {
    for mut side in [server(), without_sessions()] {
        let sent = other_version("1", "v999.0.0");
        let frame = of_version("1", "tools/list", "v999.0.0", "{}", "");
        refused(&mut side, &frame, ViolationKind::UnsupportedRevision, &sent);
        assert_eq!(side.receive(&modern_request("1", "server/discover", "")), None);
        let sent = side.sent();
        assert!(sent[0].contains(r#""supportedVersions":["2026-07-28"]"#), "{sent:?}");
    }
}

/// Proves M-ERR-16, M-TOOL-08, M-PRMT-02, M-COMP-02, M-META-20, M-MRTR-35, M-PAGE-03: malformed params never reach
/// the application.
#[test]
fn params_that_do_not_fit_are_refused() {
    let mut side = server();
    let reference =
        |reference: &str| format!(r#""ref":{reference},"argument":{{"name":"a","value":""}}"#);
    for (method, params) in [
        ("tools/call", String::new()),
        ("tools/call", r#""name":7"#.into()),
        ("tools/call", r#""name":"t","arguments":[]"#.into()),
        ("tools/call", r#""name":"t","inputResponses":[]"#.into()),
        ("tools/call", r#""name":"t","requestState":{}"#.into()),
        ("prompts/get", r#""name":"p","arguments":{"a":1}"#.into()),
        ("prompts/get", r#""name":"p","inputResponses":"x""#.into()),
        ("prompts/get", r#""name":"p","requestState":7"#.into()),
        ("resources/read", String::new()),
        ("resources/read", r#""uri":"x:y","inputResponses":7"#.into()),
        ("resources/read", r#""uri":"x:y","requestState":[]"#.into()),
        ("tools/list", r#""cursor":7"#.into()),
        ("resources/templates/list", r#""cursor":{}"#.into()),
        ("completion/complete", reference(r#"{"type":"ref/tool","name":"t"}"#)),
        ("completion/complete", reference(r#"{"type":"ref/prompt"}"#)),
        ("completion/complete", reference(r#"{"type":"ref/resource","name":"p"}"#)),
        (
            "completion/complete",
            reference(r#"{"type":"ref/prompt","name":"p"}"#) + r#","context":7"#,
        ),
    ] {
        let event = side.receive(&modern_request("1", method, &params));
        let Some(ServerEvent::Violation(violation)) = event else { panic!("{event:?} {params}") };
        assert_eq!(violation.kind, ViolationKind::InvalidParams, "{method} {params}");
        let text = format!("invalid params: {}", violation.misfit.unwrap());
        assert_eq!(side.sent(), [error("1", -32602, &text)]);
        lives(&mut side);
    }
    let has_wrong_type = "has the wrong type";
    for (level, problem) in [
        (r#""loud""#, "has a value that is not allowed"),
        ("7", has_wrong_type),
        (r#"["debug"]"#, has_wrong_type),
        ("true", has_wrong_type),
    ] {
        let more = format!(r#""io.modelcontextprotocol/logLevel":{level}"#);
        let frame = with_more("1", "tools/list", &more, "");
        let text = format!("malformed _meta: io.modelcontextprotocol/logLevel {problem}");
        let sent = error("1", -32602, &text);
        refused(&mut side, &frame, ViolationKind::MalformedRequestMeta, &sent);
    }
}
