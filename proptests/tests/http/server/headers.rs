//! Header fields that repeat parts of the body (2026-07-28), which the server verifies.

use std::sync::Arc;

use mcp_sansio::http::ParamHeaders;
use mcp_sansio::json::Raw;

use super::message::{self, cacheable, complete, error, initialize, plain, with_meta};
use super::site::{POST, Site, about, in_session, json, modern_headers, replaced, status, without};

fn mismatch(text: &str) -> super::site::ResponseParts {
    json(400, error("1", -32020, text))
}

/// Proves H-HTTP-52, H-HR-20.
#[test]
fn the_method_is_in_its_header() {
    let mut site = Site::new();
    let body = message::modern_request("1", "tools/list", "");
    let lines = modern_headers("tools/list");
    for other in ["tools/call", "tools/list/", "", "=?base64?dG9vbHMvbGlzdA==?="] {
        let received = site.post(&replaced(&lines, "Mcp-Method", other), &body);
        assert_eq!(received, mismatch("Mcp-Method is not what the body says"), "{other}");
    }
    let received = site.post(&replaced(&lines, "Mcp-Method", "é"), &body);
    assert_eq!(received, mismatch("Mcp-Method is not text"));
    assert_eq!(site.post(&without(&lines, "Mcp-Method"), &body), mismatch("Mcp-Method is missing"));
    site.assert_forgotten();
}

/// Proves H-HTTP-53, H-HTTP-54, H-HTTP-58.
#[test]
fn the_name_is_in_its_header_where_there_is_one() {
    let mut site = Site::new();
    let differs = "Mcp-Name is not what the body says";
    for (method, member, result) in [
        ("tools/call", "name", r#""content":[]"#),
        ("prompts/get", "name", r#""messages":[]"#),
        ("resources/read", "uri", r#""contents":[]"#),
    ] {
        let body = message::modern_request("1", method, &format!(r#""{member}":"x:h\u00e9""#));
        for (header, is_right) in [
            ("=?base64?eDpow6k=?=", true),
            ("x:h", false),
            ("", false),
            ("=?base64?eDpow6k?=", false),
            ("=?base64?eDpow6k=", false),
            ("=?BASE64?eDpow6k=?=", false),
            ("=?base64?eDpo!6k=?=", false),
            ("=?base64?eDpoww==?=", false),
        ] {
            let lines = about(method, header);
            if is_right {
                let (turn, request) = site.ask(&lines, &body);
                site.respond(request.id, &format!("{{{result}}}"));
                let received = site.read_response(turn);
                assert_eq!(received.status, 200, "{method}");
                assert!(received.chunks[0].contains(result));
            } else {
                assert_eq!(site.post(&lines, &body), mismatch(differs), "{method} {header}");
            }
        }
        assert_eq!(site.post(&modern_headers(method), &body), mismatch("Mcp-Name is missing"));
        for members in [String::new(), format!(r#""{member}":5"#), format!(r#""{member}":null"#)] {
            let body = message::modern_request("1", method, &members);
            let received = site.post(&modern_headers(method), &body);
            assert_eq!(received.status, 400);
            assert!(
                received.chunks[0]
                    .starts_with(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"#)
            );
            assert_eq!(site.post(&about(method, "x"), &body), mismatch(differs), "{body}");
        }
    }
    // A name that looks encoded is encoded once more.
    let body = message::modern_request("1", "tools/call", r#""name":"=?base64?eA==?=""#);
    assert_eq!(site.post(&about("tools/call", "=?base64?eA==?="), &body), mismatch(differs));
    let lines = about("tools/call", "=?base64?PT9iYXNlNjQ/ZUE9PT89?=");
    let (_, request) = site.ask(&lines, &body);
    assert_eq!(request.method, "tools/call");
}

/// A method that no header field can hold is encoded.
///
/// Proves H-HTTP-52.
#[test]
fn the_method_header_is_decoded() {
    let mut site = Site::new();
    let body = message::modern_request("1", "x/\\u00e9", "");
    let differs = "Mcp-Method is not what the body says";
    for other in ["x/", "x", "=?base64?eC8=?=", "=?base64?eC/DqQ==?=x", "=?base64?eA?="] {
        assert_eq!(site.post(&modern_headers(other), &body), mismatch(differs), "{other}");
    }
    let (_, request) = site.ask(&modern_headers("=?base64?eC/DqQ==?="), &body);
    assert_eq!(request.method, *"x/é");
    let body = message::notification("x/\\u00e9", "");
    assert_eq!(site.post(&modern_headers("=?base64?eC/DqQ==?="), &body), status(202));
    assert_eq!(site.post(&modern_headers("x/"), &body).status, 400);
}

/// The members that name a task are repeated in the header field as well, if the server offers tasks.
///
/// Proves H-HTTP-53.
#[test]
fn the_task_is_in_the_name_header() {
    let meta = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;
    for (method, more) in
        [("tasks/get", ""), ("tasks/update", r#","inputResponses":{}"#), ("tasks/cancel", "")]
    {
        let mut site = Site::with(|_, server| {
            server.capabilities = std::mem::take(&mut server.capabilities).with_tasks();
        });
        let body = with_meta("1", method, meta, &format!(r#""taskId":"h\u00e9"{more}"#));
        let missing = site.post(&modern_headers(method), &body);
        assert_eq!(missing, mismatch("Mcp-Name is missing"), "{method}");
        for other in ["h", "", "=?base64?aMM=?="] {
            let differs = site.post(&about(method, other), &body);
            assert_eq!(differs, mismatch("Mcp-Name is not what the body says"), "{method} {other}");
        }
        site.assert_forgotten();
        let (_, request) = site.ask(&about(method, "=?base64?aMOp?="), &body);
        assert_eq!(request.method, method);
    }
}

/// Proves H-HTTP-55, H-HTTP-61.
#[test]
fn headers_that_mean_nothing_are_ignored() {
    let mut site = Site::new();
    let lines = about("tools/list", "whatever");
    let (turn, request) = site.ask(&lines, &message::modern_request("1", "tools/list", ""));
    site.respond(request.id, r#"{"tools":[]}"#);
    assert_eq!(site.read_response(turn), json(200, cacheable("1", r#""tools":[]"#)));

    let extra = "Mcp-Method: something/else\nMcp-Name: x\nMcp-Param-Region: y\nMcp-Method: twice";
    let received = site.post(&format!("{POST}\n{extra}"), initialize("1", "2025-06-18"));
    assert_eq!(received.status, 200);
    let session = received.headers[1].strip_prefix("Mcp-Session-Id: ").unwrap();
    let lines = format!("{}\n{extra}", in_session(session));
    let (turn, request) = site.ask(&lines, &plain("2", "tools/call", r#""name":"t""#));
    site.respond(request.id, r#"{"content":[]}"#);
    assert_eq!(site.read_response(turn), json(200, message::result("2", r#""content":[]"#)));
}

fn with_tool(schema: &str) -> Site {
    let mut site = Site::new();
    let schema: Raw<'_> = Raw::new(schema).unwrap();
    let headers = ParamHeaders::of(&schema).unwrap_or_default();
    site.tools.insert("t".into(), Arc::new(headers));
    site
}

const SCHEMA: &str = r#"{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"count":{"type":"integer","x-mcp-header":"Count"}}}"#;

/// Proves H-HTTP-84, H-HTTP-85, H-HTTP-86, H-HTTP-87, H-HTTP-88, H-HTTP-89, M-AMB-11, M-AMB-30.
#[test]
fn arguments_are_in_the_headers_that_the_tool_asks_for() {
    let mut site = with_tool(SCHEMA);
    for (arguments, lines, is_right) in [
        (r#"{"region":"eu"}"#, "Mcp-Param-Region: eu", true),
        (r#"{"region":"eu"}"#, "mcp-param-region: =?base64?ZXU=?=", true),
        (r#"{"region":"eu"}"#, "Mcp-Param-Region: eu\nMcp-Param-Other: x", true),
        (r#"{"region":"eu"}"#, "Mcp-Param-Other: x", false),
        (r#"{"region":"eu"}"#, "Mcp-Param-Region: us", false),
        (r#"{"region":"eu"}"#, "Mcp-Param-Region: EU", false),
        (r#"{"region":"eu"}"#, "Mcp-Param-Region: eu\nMcp-Param-Region: eu", false),
        (r#"{"region":"eu"}"#, "Mcp-Param-Region: =?base64?ZXU?=", false),
        (r#"{"region":"eu"}"#, "Mcp-Param-Region: =?base64?ZX!=?=", false),
        (r#"{"region":"é"}"#, "Mcp-Param-Region: é", false),
        (r#"{"count":42}"#, "Mcp-Param-Count: 42", true),
        (r#"{"count":42}"#, "Mcp-Param-Count: 42.0", true),
        (r#"{"count":42.0}"#, "Mcp-Param-Count: 42", true),
        (r#"{"count":42}"#, "Mcp-Param-Count: 0x2a", false),
        (r#"{"count":42}"#, "Mcp-Param-Count: 4.2e1", false),
        (r#"{"count":42}"#, "Mcp-Param-Count: 43", false),
        (r#"{"region":null}"#, "X: y", true),
        ("{}", "X: y", true),
        (r#"{"region":null}"#, "Mcp-Param-Region: eu", false),
        ("{}", "Mcp-Param-Region: eu", false),
        ("{}", "Mcp-Param-Region:", false),
    ] {
        let body = message::modern_request(
            "1",
            "tools/call",
            &format!(r#""name":"t","arguments":{arguments}"#),
        );
        let lines = format!("{}\n{lines}", about("tools/call", "t"));
        if is_right {
            let (turn, request) = site.ask(&lines, &body);
            site.respond(request.id, r#"{"content":[]}"#);
            assert_eq!(
                site.read_response(turn),
                json(200, complete("1", r#""content":[]"#)),
                "{lines}"
            );
        } else {
            let received = site.post(&lines, &body);
            assert_eq!(received.status, 400, "{lines} {arguments}");
            let start = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32020,"message":"Mcp-Param-"#;
            assert!(received.chunks[0].starts_with(start), "{received:?}");
        }
    }
    // Without arguments there is nothing to repeat.
    let body = message::modern_request("1", "tools/call", r#""name":"t""#);
    site.ask(&about("tools/call", "t"), &body);
}

/// Proves H-HTTP-90, H-HTTP-92, M-AMB-49.
#[test]
fn arguments_are_looked_at_after_everything_else_and_for_known_tools_only() {
    // A tool with an invalid annotation is refused when it is registered.
    let invalid: Raw<'_> =
        Raw::new(r#"{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}"#).unwrap();
    assert!(ParamHeaders::of(&invalid).is_err());

    let mut site = with_tool(SCHEMA);
    let members = r#""name":"t","arguments":{"region":"eu"}"#;
    let body = message::modern_request("1", "tools/call", members);
    let lines = about("tools/call", "t");
    assert_eq!(site.post(&lines, &body), mismatch("Mcp-Param-Region is missing"));
    let received = site.post(&without(&lines, "Mcp-Name"), &body);
    assert_eq!(received, mismatch("Mcp-Name is missing"));
    let received = site.post(&without(&lines, "Mcp-Method"), &body);
    assert_eq!(received, mismatch("Mcp-Method is missing"));

    // The header fields of an unknown tool are unknown.
    let body = message::modern_request("1", "tools/call", &members.replace(r#""t""#, r#""u""#));
    let lines = format!("{}\nMcp-Param-Region: us", about("tools/call", "u"));
    let (turn, request) = site.ask(&lines, &body);
    site.reject(request.id, -32602, "unknown tool");
    assert_eq!(site.read_response(turn), json(200, error("1", -32602, "unknown tool")));
}
