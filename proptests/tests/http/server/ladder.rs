//! The order in which a request is validated, and its statuses.

use std::sync::Arc;

use mcp_sansio::ServerConfig;
use mcp_sansio::http::ParamHeaders;
use mcp_sansio::json::Raw;

use super::message::{self, initialize, notification, plain};
use super::site::{POST, Site, get, in_session, modern_headers, replaced, without};
use super::validator::{DISCOVER, discover};

/// A request with defects, one for each step of the validation.
#[derive(Clone, Debug)]
struct Wrong {
    method: &'static str,
    lines: String,
    body: Vec<u8>,
}

impl Wrong {
    /// Returns a tool call without defects.
    fn nowhere() -> Self {
        let members = r#""name":"t","arguments":{"region":"eu"}"#;
        let body = message::modern_request("1", "tools/call", members).into_bytes();
        let lines = format!("{}\nMcp-Name: t\nMcp-Param-Region: eu", modern_headers("tools/call"));
        Self { method: "POST", lines, body }
    }

    fn line(&mut self, name: &str, value: &str) {
        self.lines = replaced(&self.lines, name, value);
    }

    fn body(&mut self, old: &str, new: &str) {
        let body = String::from_utf8(self.body.clone()).unwrap();
        assert!(body.contains(old), "{old} {body}");
        self.body = body.replace(old, new).into_bytes();
    }

    /// Adds the defect of this step.
    fn at(&mut self, rung: usize) {
        match RUNGS[rung].0 {
            "origin" => self.line("Origin", "http://evil.example.com"),
            "method of HTTP" => self.method = "PUT",
            "type" => self.line("Content-Type", "text/plain"),
            "accept" => self.line("Accept", "text/html"),
            "size" => self.body.extend([b' '; 1_000]),
            "json" => {
                self.body.truncate(self.body.len() - 1);
            }
            "shape" => self.body(r#""2.0""#, r#""1.0""#),
            "claim" => self.body(r#""io.modelcontextprotocol/clientCapabilities":{}"#, r#""x":{}"#),
            "version header" => self.line("MCP-Protocol-Version", "2026-07-29"),
            "version" => {
                self.body(r#""2026-07-28""#, r#""2027-01-01""#);
                // Keeps a defect of the preceding step; otherwise the header field matches the body.
                let is_named = self.lines.contains("2026-07-28");
                if is_named {
                    self.line("MCP-Protocol-Version", "2027-01-01");
                }
            }
            "method header" => self.line("Mcp-Method", "tools/list"),
            "name header" => self.line("Mcp-Name", "u"),
            "known" => {
                self.body(r#""tools/call""#, r#""resources/subscribe""#);
                let is_right = self.lines.contains("Mcp-Method: tools/call");
                if is_right {
                    self.line("Mcp-Method", "resources/subscribe");
                }
            }
            "argument headers" => self.line("Mcp-Param-Region", "us"),
            "params" => self.body(r#""_meta":{"#, r#""_meta":{"progressToken":[],"#),
            other => panic!("{other}"),
        }
    }
}

/// The steps of the validation in order, each with the status and the error code of a failure.
const RUNGS: [(&str, u16, i64); 15] = [
    ("origin", 403, -32600),
    ("method of HTTP", 405, -32600),
    ("type", 415, -32600),
    ("accept", 406, -32600),
    ("size", 413, -32600),
    ("json", 400, -32700),
    ("shape", 400, -32600),
    ("claim", 400, -32602),
    ("version header", 400, -32020),
    ("version", 400, -32022),
    ("method header", 400, -32020),
    ("name header", 400, -32020),
    ("known", 404, -32601),
    ("argument headers", 400, -32020),
    ("params", 400, -32602),
];

fn site() -> Site {
    site_with(|_| {})
}

fn site_with(change: impl FnOnce(&mut ServerConfig)) -> Site {
    let mut site = Site::with(|http, server| {
        http.body_bytes = 1_000;
        change(server);
    });
    let schema: Raw<'_> =
        Raw::new(r#"{"properties":{"region":{"type":"string","x-mcp-header":"Region"}}}"#).unwrap();
    site.tools.insert("t".into(), Arc::new(ParamHeaders::of(&schema).unwrap()));
    site
}

#[track_caller]
fn check(request: &Wrong, rung: usize, also: usize) {
    let mut site = site();
    let turn = site.send(request.method, &request.lines, &request.body);
    let received = site.read_response(turn);
    let (name, status, code) = RUNGS[rung];
    let with = RUNGS[also].0;
    assert_eq!(received.status, status, "{name} (and {with}): {request:?} {received:?}");
    let code = format!(r#""error":{{"code":{code},"#);
    assert!(received.chunks[0].contains(&code), "{name} (and {with}): {received:?}");
    // The error contains the id as soon as the body is a valid message.
    let has_id = received.chunks[0].contains(r#""id":1,"#);
    assert_eq!(has_id, 6 <= rung, "{name} (and {with}): {received:?}");
}

/// Proves H-HTTP-22, H-HTTP-42, M-AMB-07.
#[test]
fn a_request_is_refused_at_the_first_rung_that_it_fails() {
    let mut fine = site();
    let right = Wrong::nowhere();
    let turn = fine.send(right.method, &right.lines, &right.body);
    assert_eq!((fine.events().len(), fine.read_response(turn).status), (1, 0));
    // A server without tools does not check the arguments.
    let mut without_tools = site_with(|server| server.capabilities.tools = None);
    let mut request = Wrong::nowhere();
    request.line("Mcp-Param-Region", "us");
    let received = without_tools.post(&request.lines, &request.body);
    assert_eq!(received.status, 404, "{received:?}");
    for (first, (name, ..)) in RUNGS.into_iter().enumerate() {
        let mut request = Wrong::nowhere();
        request.at(first);
        check(&request, first, first);
        for (second, (later, ..)) in RUNGS.into_iter().enumerate().skip(first + 1) {
            // This method has no name that could be wrong.
            if (name, later) == ("name header", "known") {
                continue;
            }
            let mut request = Wrong::nowhere();
            // After the JSON is broken, no other defect can be added.
            let in_order = if later == "json" { [first, second] } else { [second, first] };
            for rung in in_order {
                request.at(rung);
            }
            check(&request, first, second);
        }
    }
}

/// The kind of a message by its claimed version, the version in its header field, and the session that it names:
/// `alone`, `session`, or the status of a refusal.
///
/// Proves H-HTTP-220, H-HTTP-221.
#[test]
fn the_era_is_in_the_body_and_if_not_there_in_the_header() {
    let sound = message::modern_request("1", "tools/list", "");
    let malformed = message::with_meta(
        "1",
        "tools/list",
        r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#,
        "",
    );
    let legacy = plain("1", "tools/list", "");
    let opening = initialize("1", "2025-11-25");
    let claiming = {
        let members = r#""protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}"#;
        message::modern_request("1", "initialize", members)
    };
    let (new, old, none) = (Some("2026-07-28"), Some("2025-06-18"), None);
    for (body, version, names_session, expected) in [
        (&sound, new, false, "alone"),
        (&sound, new, true, "alone"),
        (&sound, old, true, "400 -32020"),
        (&sound, none, true, "400 -32020"),
        (&malformed, new, false, "400 -32602"),
        (&malformed, old, true, "400 -32602"),
        (&malformed, none, true, "400 -32602"),
        (&legacy, new, false, "400 -32602"),
        (&legacy, new, true, "400 -32602"),
        (&legacy, old, true, "session"),
        (&legacy, none, true, "session"),
        (&legacy, old, false, "400 -32600"),
        (&legacy, none, false, "400 -32600"),
        (&opening, none, false, "opening"),
        (&opening, old, false, "opening"),
        (&opening, new, false, "400 -32020"),
        (&claiming, new, false, "404 -32601"),
        (&claiming, none, false, "400 -32020"),
    ] {
        let mut site = Site::new();
        let session = site.open("2025-11-25");
        let mut lines = POST.to_string();
        if let Some(version) = version {
            let method = if body == &claiming { "initialize" } else { "tools/list" };
            lines = format!("{lines}\nMCP-Protocol-Version: {version}\nMcp-Method: {method}");
        }
        if names_session {
            lines = format!("{lines}\nMcp-Session-Id: {session}");
        }
        let connections = site.http.connections().count();
        let turn = site.send("POST", &lines, body);
        let received = site.read_response(turn);
        let found = match received.status {
            0 if connections < site.http.connections().count() => "alone".to_string(),
            0 => "session".into(),
            200 => {
                assert_eq!(site.http.sessions(), 2);
                "opening".into()
            }
            status => {
                let (_, code) = received.chunks[0].split_once(r#""code":"#).unwrap();
                format!("{status} {}", code.split(',').next().unwrap())
            }
        };
        assert_eq!(found, expected, "{body} {version:?} {names_session}");
    }
}

/// Every reachable status of the table occurs, and no other one.
///
/// Proves H-HTTP-11, H-HTTP-21, H-HTTP-29, H-HTTP-33.
#[test]
fn there_are_these_statuses_and_no_others() {
    let mut site = Site::with(|http, _| (http.body_bytes, http.most_sessions) = (1_000, 1));
    let session = site.open("2025-11-25");
    let long = "x".repeat(1_001);
    let lines = in_session(&session);
    let table: [(u16, &str, String, String); 14] = [
        (200, "POST", modern_headers(DISCOVER), discover()),
        (200, "POST", lines.clone(), plain("1", "ping", "")),
        (200, "POST", lines.clone(), plain("1", "tasks/list", "")),
        (202, "POST", POST.into(), sessionless_notification()),
        (202, "POST", lines.clone(), notification("notifications/x", "")),
        (400, "POST", POST.into(), plain("1", "ping", "")),
        (403, "POST", replaced(POST, "Host", "evil"), discover()),
        (404, "POST", modern_headers("ping"), message::modern_request("1", "ping", "")),
        (404, "POST", in_session("nobody"), plain("1", "ping", "")),
        (405, "PUT", lines.clone(), String::new()),
        (406, "POST", replaced(POST, "Accept", "text/html"), discover()),
        (413, "POST", lines, long),
        (415, "POST", without(POST, "Content-Type"), discover()),
        (503, "POST", POST.into(), initialize("1", "2025-11-25")),
    ];
    for (status, method, lines, body) in table {
        let lines = match status {
            202 if !lines.contains("Mcp-Session-Id") => modern_headers("notifications/x"),
            _ => lines,
        };
        let turn = site.send(method, &lines, &body);
        assert_eq!(site.read_response(turn).status, status, "{method} {body}");
    }
    let first = site.send("GET", &get(&session), "");
    assert_eq!(site.read_response(first).status, 200);
    let second = site.send("GET", &get(&session), "");
    assert_eq!(site.read_response(second).status, 409);
    let ended = site.send("DELETE", &get(&session), "");
    assert_eq!(site.read_response(ended).status, 200);
}

fn sessionless_notification() -> String {
    notification("notifications/x", "")
}
