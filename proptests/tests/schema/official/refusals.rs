//! Errors that a modern server sends by itself, byte for byte and against the types of the schema.

use std::time::Duration;

use mcp_sansio::config::{RepliesWithoutId, UnknownMethods};
use mcp_sansio::{Frames, RevisionSet, ServerConfig, ServerEvent};
use mcp_sansio_proptests::{ServerSide, config};
use serde_json::Value;

use crate::official::closed::Schemas;
use crate::official::parse;
use crate::official::stateless::{REVISION, claim, frame, only};

/// A message that is refused.
struct Case {
    /// Adjusts the config of the server.
    configure: fn(&mut ServerConfig),
    /// Earlier messages, whose responses are ignored.
    before: Vec<String>,
    frame: String,
    /// The id of the response as it is sent; `None` without an id.
    id: Option<&'static str>,
    /// The error.
    error: String,
    /// The name in the schema of the whole response, or of its `error`.
    name: &'static str,
}

fn case(frame: String, error: &str, name: &'static str) -> Case {
    let (configure, before): (fn(&mut ServerConfig), _) = (|_| {}, Vec::new());
    Case { configure, before, frame, id: Some("7"), error: error.to_owned(), name }
}

/// Returns a request with this metadata, an object without its braces.
fn with_meta(meta: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{{"_meta":{{{meta}}}}}}}"#)
}

fn request(method: &str, params: &str) -> String {
    frame(7, method, params, &claim(""))
}

/// M-RPC-02, M-RPC-04, M-RPC-11, M-RPC-24, M-ERR-01.
fn not_a_request() -> Vec<Case> {
    let answers: fn(&mut ServerConfig) = |config| {
        let policy = RepliesWithoutId::at_most(1, Duration::from_secs(1));
        config.connection.replies_without_id = Some(policy);
    };
    let without_id = |text: &str, error: &str, name| Case {
        configure: answers,
        id: None,
        ..case(text.to_owned(), error, name)
    };
    let list = request("tools/list", "{}");
    let (parse, invalid) = ("ParseError", "InvalidRequestError");
    vec![
        without_id("{oops}", r#"{"code":-32700,"message":"the line is not JSON"}"#, parse),
        case(
            format!("[{list}]"),
            r#"{"code":-32600,"message":"this revision has no batches"}"#,
            invalid,
        ),
        without_id("7", r#"{"code":-32600,"message":"not a JSON-RPC message"}"#, invalid),
        without_id(
            &list.replace(r#""id":7"#, r#""id":null"#),
            r#"{"code":-32600,"message":"the id must not be null"}"#,
            invalid,
        ),
        without_id(
            &list.replace(r#""id":7"#, r#""id":1.5"#),
            r#"{"code":-32600,"message":"the id must be a string or an integer"}"#,
            invalid,
        ),
        case(
            list.replace(r#""jsonrpc":"2.0","#, ""),
            r#"{"code":-32600,"message":"jsonrpc must be \"2.0\""}"#,
            invalid,
        ),
        case(
            r#"{"jsonrpc":"2.0","id":7,"params":{}}"#.to_owned(),
            r#"{"code":-32600,"message":"method must be a string"}"#,
            invalid,
        ),
        case(
            r#"{"jsonrpc":"2.0","id":7,"method":"tools/list","params":[]}"#.to_owned(),
            r#"{"code":-32602,"message":"params must be an object"}"#,
            "InvalidParamsError",
        ),
    ]
}

/// M-ERR-13, M-ERR-14, M-DISC-04, M-META-20.
fn wrong_claims() -> Vec<Case> {
    const VERSION: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#;
    const CAPABILITIES: &str = r#""io.modelcontextprotocol/clientCapabilities":{}"#;
    let none = r#"{"code":-32602,"message":"params._meta needs io.modelcontextprotocol/protocolVersion (2026-07-28), or initialize first"}"#;
    let malformed = |key: &str, problem: &str| {
        format!(
            r#"{{"code":-32602,"message":"malformed _meta: io.modelcontextprotocol/{key} {problem}"}}"#
        )
    };
    let missing = malformed("clientCapabilities", "is missing");
    let invalid = "InvalidParamsError";
    let wrong = "has the wrong type";
    let version_7 = VERSION.replace("\"2026-07-28\"", "7");
    let no_object = CAPABILITIES.replace("{}", "[]");
    vec![
        case(r#"{"jsonrpc":"2.0","id":7,"method":"tools/list"}"#.to_owned(), none, invalid),
        case(
            r#"{"jsonrpc":"2.0","id":7,"method":"server/discover","params":{}}"#.to_owned(),
            none,
            invalid,
        ),
        case(
            r#"{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"_meta":7}}"#.to_owned(),
            none,
            invalid,
        ),
        case(with_meta(""), none, invalid),
        case(with_meta(CAPABILITIES), none, invalid),
        case(with_meta(VERSION), &missing, invalid),
        case(
            with_meta(&format!("{version_7},{CAPABILITIES}")),
            &malformed("protocolVersion", wrong),
            invalid,
        ),
        case(
            with_meta(&format!("{VERSION},{no_object}")),
            &malformed("clientCapabilities", wrong),
            invalid,
        ),
        case(
            with_meta(&claim(r#""io.modelcontextprotocol/logLevel":"loud""#)),
            &malformed("logLevel", "has a value that is not allowed"),
            invalid,
        ),
        case(
            with_meta(&claim(r#""progressToken":[]"#)),
            r#"{"code":-32602,"message":"the progress token must be a string or an integer"}"#,
            invalid,
        ),
    ]
}

/// M-ERR-09, M-ERR-10, M-DISC-09, M-DISC-11, M-DISC-18, M-DISC-21.
fn wrong_versions() -> Vec<Case> {
    let error = |requested: &str| {
        format!(
            r#"{{"code":-32022,"message":"Unsupported protocol version","data":{{"supported":["2026-07-28"],"requested":"{requested}"}}}}"#
        )
    };
    let name = "UnsupportedProtocolVersionError";
    let mut cases = Vec::new();
    for version in ["v999.0.0", "2025-11-25", "2026-07-28-beta", "2099-01-01", ""] {
        let meta = claim("").replace("2026-07-28", version);
        cases.push(case(with_meta(&meta), &error(version), name));
        cases.push(case(frame(7, "server/discover", "{}", &meta), &error(version), name));
        cases.push(case(frame(7, "foo/bar", "{}", &meta), &error(version), name));
    }
    let initialize = r#"{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
    cases.push(Case {
        configure: |config| config.revisions = RevisionSet::MODERN,
        ..case(initialize.to_owned(), &error("2025-11-25"), name)
    });
    cases
}

/// M-ERR-15.
fn wrong_methods() -> Vec<Case> {
    let unknown = "MethodNotFoundError";
    let gone = r#"{"code":-32601,"message":"method not available in this session"}"#;
    let mut cases = Vec::new();
    let removed = [
        ("initialize", "{}"),
        ("ping", "{}"),
        ("logging/setLevel", r#"{"level":"debug"}"#),
        ("resources/subscribe", r#"{"uri":"x:y"}"#),
        ("resources/unsubscribe", r#"{"uri":"x:y"}"#),
        ("roots/list", "{}"),
        ("sampling/createMessage", r#"{"messages":[],"maxTokens":1}"#),
        (
            "elicitation/create",
            r#"{"message":"m","requestedSchema":{"type":"object","properties":{}}}"#,
        ),
        ("tasks/list", "{}"),
        ("tasks/result", r#"{"taskId":"t"}"#),
    ];
    for (method, params) in removed {
        cases.push(case(request(method, params), gone, unknown));
    }
    for (method, params) in [
        ("tools/list", "{}"),
        ("tools/call", r#"{"name":"n"}"#),
        ("prompts/list", "{}"),
        ("resources/templates/list", "{}"),
        (
            "completion/complete",
            r#"{"ref":{"type":"ref/prompt","name":"n"},"argument":{"name":"a","value":""}}"#,
        ),
    ] {
        let configure: fn(&mut ServerConfig) = |config| config.capabilities = Default::default();
        cases.push(Case { configure, ..case(request(method, params), gone, unknown) });
    }
    cases.push(Case {
        configure: |config| config.connection.unknown_methods = UnknownMethods::Reject,
        ..case(request("foo/bar", "{}"), r#"{"code":-32601,"message":"method not found"}"#, unknown)
    });
    cases
}

/// M-MRTR-35, M-SUB-02.
fn wrong_params() -> Vec<Case> {
    let mut cases = Vec::new();
    let misfit = |text: &str| format!(r#"{{"code":-32602,"message":"invalid params: {text}"}}"#);
    for (method, params, text) in [
        ("tools/call", "{}", "name is missing"),
        ("tools/call", r#"{"name":"n","arguments":[]}"#, "arguments has the wrong type"),
        ("tools/call", r#"{"name":"n","requestState":7}"#, "requestState has the wrong type"),
        ("tools/call", r#"{"name":"n","inputResponses":[]}"#, "inputResponses has the wrong type"),
        ("prompts/get", r#"{"name":"n","arguments":{"a":1}}"#, "arguments.* has the wrong type"),
        ("tools/list", r#"{"cursor":1}"#, "cursor has the wrong type"),
        ("subscriptions/listen", "{}", "notifications is missing"),
        (
            "subscriptions/listen",
            r#"{"notifications":{"toolsListChanged":1}}"#,
            "notifications.toolsListChanged has the wrong type",
        ),
        (
            "subscriptions/listen",
            r#"{"notifications":{"resourceSubscriptions":"x:y"}}"#,
            "notifications.resourceSubscriptions has the wrong type",
        ),
        (
            "subscriptions/listen",
            r#"{"notifications":{"resourceSubscriptions":[1]}}"#,
            "notifications.resourceSubscriptions[0] has the wrong type",
        ),
        ("subscriptions/listen", r#"{"notifications":[]}"#, "notifications has the wrong type"),
    ] {
        cases.push(case(request(method, params), &misfit(text), "InvalidParamsError"));
    }
    cases
}

/// M-SUB-29.
fn limits() -> Vec<Case> {
    let listen = |id| frame(id, "subscriptions/listen", r#"{"notifications":{}}"#, &claim(""));
    let internal = "InternalError";
    vec![
        Case {
            configure: |config| config.connection.limits.listens = 1,
            before: vec![listen(1)],
            ..case(
                listen(7),
                r#"{"code":-32603,"message":"too many subscriptions are open"}"#,
                internal,
            )
        },
        Case {
            configure: |config| config.connection.limits.inbound_requests = 1,
            before: vec![frame(1, "tools/list", "{}", &claim(""))],
            ..case(
                request("tools/list", "{}"),
                r#"{"code":-32603,"message":"too many requests in flight"}"#,
                internal,
            )
        },
    ]
}

/// Checks an error against the schema. Some types describe the whole response; the others describe its `error`.
pub(crate) fn check(schemas: &Schemas, name: &str, answer: &Value) {
    schemas.closed("JSONRPCErrorResponse", answer).unwrap();
    let is_whole = ["UnsupportedProtocolVersionError", "MissingRequiredClientCapabilityError"];
    let value = if is_whole.contains(&name) { answer } else { &answer["error"] };
    schemas.closed(name, value).unwrap();
}

/// Proves M-RPC-01, M-RPC-02, M-RPC-04, M-RPC-11, M-RPC-23, M-RPC-24, M-ERR-01, M-ERR-09, M-ERR-10, M-ERR-13,
/// M-ERR-14, M-ERR-15, M-DISC-04, M-DISC-09, M-DISC-11, M-DISC-18, M-DISC-21, M-META-20, M-MRTR-35, M-SUB-02,
/// M-SUB-29: at least one case for each. Only the error is sent, and the next request is served.
#[test]
fn every_error_of_the_machine_fits_its_type() {
    let Some(schemas) = Schemas::of(REVISION) else { return };
    let cases = [
        not_a_request(),
        wrong_claims(),
        wrong_versions(),
        wrong_methods(),
        wrong_params(),
        limits(),
    ];
    for Case { configure, before, frame: text, id, error, name } in cases.into_iter().flatten() {
        let mut config = config::server_of_both_eras();
        configure(&mut config);
        let mut side = ServerSide::with(config);
        for text in &before {
            assert!(side.receive(text).is_some(), "{text}");
            side.sent();
        }
        let limits = mcp_sansio::Limits::default();
        let mut events = Vec::new();
        for frame in Frames::of(text.as_bytes(), &limits) {
            events.extend(side.server.receive(frame, side.now, &mut side.out));
        }
        assert!(matches!(events[..], [ServerEvent::Violation(_)]), "{text}: {events:?}");
        let sent = side.sent();
        let id = id.map_or(String::new(), |id| format!(r#""id":{id},"#));
        assert_eq!(sent, [format!(r#"{{"jsonrpc":"2.0",{id}"error":{error}}}"#)], "{text}");
        check(schemas, name, &parse(&sent));
        assert_eq!(side.receive(&frame(8, "server/discover", "{}", &claim(""))), None);
        let answer = only(&mut side);
        let supported = &answer["result"]["supportedVersions"];
        for version in parse(&sent)["error"]["data"]["supported"].as_array().into_iter().flatten() {
            assert!(supported.as_array().unwrap().contains(version), "{version}");
        }
    }
}

/// If the params of `initialize` contain no version, the error has no value for `requested`, which the schema
/// requires.
#[test]
fn an_error_about_versions_always_names_the_one_that_was_asked_for() {
    let Some(schemas) = Schemas::of(REVISION) else { return };
    for params in ["{}", r#"{"protocolVersion":7}"#] {
        let mut config = config::server_of_both_eras();
        config.revisions = RevisionSet::MODERN;
        let mut side = ServerSide::with(config);
        let text = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"initialize","params":{params}}}"#);
        assert!(side.receive(&text).is_some());
        let answer = only(&mut side);
        let is_about_versions = answer["error"]["code"] == -32022;
        let name = match is_about_versions {
            true => "UnsupportedProtocolVersionError",
            false => "InvalidParamsError",
        };
        check(schemas, name, &answer);
        assert!(answer["error"].to_string().contains("2026-07-28"));
    }
}
