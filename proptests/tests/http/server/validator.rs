//! The validation of every request: its origin, its form, and its kind.

use mcp_sansio::RevisionSet;
use mcp_sansio::http::SessionMode;

use super::message::{self, cacheable, error, fault};
use super::site::{
    POST, Site, about, get, in_session, json, modern_headers, replaced, status, stream, without,
};

pub(crate) const DISCOVER: &str = "server/discover";

/// Returns a modern request to which the server responds itself.
pub(crate) fn discover() -> String {
    message::modern_request("101", DISCOVER, "")
}

/// Creates a server without sessions.
pub(crate) fn modern_only() -> Site {
    Site::with(|_, server| server.revisions = RevisionSet::MODERN)
}

/// Proves H-HTTP-01, H-HTTP-10, H-HTTP-11, H-HTTP-13, H-HA-06.
#[test]
fn an_origin_that_is_not_allowed_is_refused_before_anything_else() {
    let refused = json(403, fault(-32600, "the Origin is not allowed (HttpServerConfig::origins)"));
    for method in ["POST", "GET", "DELETE", "PUT", "OPTIONS"] {
        let mut site = Site::new();
        let session = site.open("2025-11-25");
        let good = replaced(&in_session(&session), "Content-Type", "application/json");
        let table = [
            ("Origin: http://evil.example.com", false),
            ("Origin: null", false),
            ("Origin: localhost", false),
            ("Origin:", false),
            ("Origin: http://localhost\nOrigin: http://localhost", false),
            ("Origin: ftp://localhost:3000", false),
            ("Origin: http://localhost.evil.example.com", false),
            ("Origin: http://LOCALHOST:6274", true),
            ("Origin: https://127.0.0.1", true),
            ("X: no origin at all", true),
        ];
        for (line, is_allowed) in table {
            // Other defects are not disclosed to a forbidden origin.
            let turn = site.send(method, &format!("{good}\n{line}"), "{");
            let received = site.read_response(turn);
            assert_eq!(received == refused, !is_allowed, "{method} {line}: {received:?}");
            if method == "DELETE" && is_allowed {
                break;
            }
        }
    }
}

/// Proves H-HTTP-12.
#[test]
fn a_host_that_is_not_allowed_is_refused() {
    let refused = json(403, fault(-32600, "the Host is not allowed (HttpServerConfig::hosts)"));
    let table = [
        ("localhost", true),
        ("localhost:3000", true),
        ("127.0.0.1:1", true),
        ("[::1]:65535", true),
        ("[::1]", true),
        ("evil.example.com", false),
        ("localhost.evil.example.com", false),
        ("evil.example.com:3000", false),
        ("", false),
    ];
    for (host, is_allowed) in table {
        let mut site = Site::new();
        let lines = replaced(&modern_headers(DISCOVER), "Host", host);
        let received = site.post(&lines, discover());
        assert_eq!(received.status, if is_allowed { 200 } else { 403 }, "{host}");
        assert_eq!(received == refused, !is_allowed, "{host}");
        assert_eq!(site.post(&without(&lines, "Host"), discover()), refused, "no host at all");
    }
}

/// Proves H-HTTP-17, H-HTTP-18, M-AMB-23.
#[test]
fn the_accept_header_must_cover_the_response_types() {
    let refused =
        json(406, fault(-32600, "Accept must have application/json and text/event-stream"));
    let table = [
        ("Accept: application/json, text/event-stream", true),
        ("Accept: application/json\naccept: text/event-stream", true),
        ("Accept: */*", true),
        ("Accept: application/*, text/*;q=0.1", true),
        ("Accept: application/json", false),
        ("Accept: text/event-stream", false),
        ("Accept: text/*", false),
        ("Accept: */*, text/event-stream;q=0", false),
        ("Accept: text/html", false),
        ("Accept:", false),
        ("X: no Accept at all", false),
    ];
    for (line, is_taken) in table {
        let mut site = Site::new();
        let lines = format!("{}\n{line}", without(&modern_headers(DISCOVER), "Accept"));
        let received = site.post(&lines, discover());
        assert_eq!((received.status == 200, received == refused), (is_taken, !is_taken), "{line}");
    }
    let mut lenient = Site::with(|http, _| http.lenient_accept = true);
    let lines = without(&modern_headers(DISCOVER), "Accept");
    assert_eq!(lenient.post(&lines, discover()).status, 200);
    assert_eq!(lenient.post(&format!("{lines}\nAccept: text/html"), discover()), refused);

    let refused = json(406, fault(-32600, "Accept must have text/event-stream"));
    let mut site = Site::new();
    let session = site.open("2025-11-25");
    for (value, is_taken) in
        [("application/json", false), ("text/event-stream;q=0", false), ("", false), ("*/*", true)]
    {
        let turn = site.send("GET", &replaced(&get(&session), "Accept", value), "");
        assert_eq!(site.read_response(turn) == refused, !is_taken, "{value}");
    }
    let turn = site.send("GET", &without(&get(&session), "Accept"), "");
    assert_eq!(site.read_response(turn), refused);
}

/// A server that accepts messages without `jsonrpc` accepts them over HTTP as well.
#[test]
fn a_message_without_a_version_is_accepted_if_configured() {
    for is_lenient in [true, false] {
        let mut site = Site::with(|_, server| server.connection.lenient_version = is_lenient);
        let unversioned = |body: &str| body.replacen(r#""jsonrpc":"2.0","#, "", 1);
        let complete = site.post(&modern_headers(DISCOVER), discover());
        let received = site.post(&modern_headers(DISCOVER), unversioned(&discover()));
        assert_eq!((received == complete, received.status == 400), (is_lenient, !is_lenient));
        let session = site.open("2025-11-25");
        let body = unversioned(&message::plain("7", "tools/list", ""));
        let validator = site.http.validator();
        assert_eq!(validator.is_request(body.as_bytes()), is_lenient);
        assert_eq!(validator.message(body.as_bytes()).is_ok(), is_lenient);
        let turn = site.send("POST", &in_session(&session), &body);
        assert_eq!(site.events().len(), usize::from(is_lenient));
        assert_eq!(site.read_response(turn).status, if is_lenient { 0 } else { 400 });
    }
}

/// Proves H-HTTP-19.
#[test]
fn a_request_body_must_be_declared_as_json() {
    let refused = json(415, fault(-32600, "the body must be application/json"));
    for (value, is_json) in [
        ("application/json", true),
        ("Application/JSON; charset=utf-8", true),
        ("text/plain", false),
        ("application/x-www-form-urlencoded", false),
        ("", false),
    ] {
        let mut site = Site::new();
        let lines = replaced(&modern_headers(DISCOVER), "Content-Type", value);
        let received = site.post(&lines, discover());
        assert_eq!((received.status == 200, received == refused), (is_json, !is_json), "{value}");
    }
    let mut site = Site::new();
    assert_eq!(site.post(&without(&modern_headers(DISCOVER), "Content-Type"), discover()), refused);
}

/// Proves H-HTTP-20.
#[test]
fn a_body_is_json() {
    let mut site = Site::new();
    // The error contains a readable id, unless the body may have been cut.
    let table: [(&[u8], &str); 8] = [
        (b"", "there is no message"),
        (b" \n ", "there is no message"),
        (b"{", "the line is not JSON"),
        (b"{\"jsonrpc\":\"2.0\",\n\"id\":1", "the line is not JSON"),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1", "the line is not JSON"),
        (b"nonsense", "the line is not JSON"),
        (b"[{}", "the line is not JSON"),
        (b"Content-Length: 2\r\n\r\n{}", "the line is not JSON"),
    ];
    for lines in [POST.to_string(), modern_headers(DISCOVER)] {
        for (body, text) in table {
            assert_eq!(site.post(&lines, body), json(400, fault(-32700, text)), "{body:?}");
        }
    }
    let table: [(&[u8], &str); 2] = [
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", "the message is not UTF-8"),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\x01\"}",
            "a string holds a raw control character or a wrong escape",
        ),
    ];
    for (body, text) in table {
        assert_eq!(site.post(POST, body), json(400, error("1", -32700, text)));
    }
    // The JSON may have several lines.
    let body = discover().replace(',', ",\r\n  ");
    assert_eq!(site.post(&modern_headers(DISCOVER), body).status, 200);
    site.assert_forgotten();
}

/// Proves H-HTTP-21.
#[test]
fn a_body_is_not_longer_than_allowed() {
    let body = discover();
    let refused = json(413, fault(-32600, "the body is too long"));
    let mut site = Site::with(|http, _| http.body_bytes = body.len());
    assert_eq!(site.post(&modern_headers(DISCOVER), &body).status, 200);
    assert_eq!(site.post(&modern_headers(DISCOVER), format!("{body} ")), refused);
    let mut site = Site::with(|_, server| server.connection.limits.frame_bytes = body.len() - 1);
    assert_eq!(site.post(&modern_headers(DISCOVER), &body), refused);
    site.assert_forgotten();
}

/// Proves H-HTTP-22, H-HTTP-33, H-HTTP-152, H-HTTP-222, M-AMB-36.
#[test]
fn methods_of_http_are_those_that_are_served() {
    let refused = |allowed: &str| {
        let mut refused = json(405, fault(-32600, "this method is not served here"));
        refused.headers.push(format!("Allow: {allowed}"));
        refused
    };
    let mut all = Site::new();
    let session = all.open("2025-11-25");
    for method in ["PUT", "PATCH", "HEAD", "OPTIONS", "get", "TRACE"] {
        let turn = all.send(method, &get(&session), "");
        assert_eq!(all.read_response(turn), refused("GET, POST, DELETE"), "{method}");
    }
    for method in ["GET", "DELETE"] {
        // A client of 2026-07-28 has no such request.
        let lines = format!("{}\nMCP-Protocol-Version: 2026-07-28", get(&session));
        let turn = all.send(method, &lines, "");
        assert_eq!(all.read_response(turn), refused("GET, POST, DELETE"), "{method}");
    }
    for mut site in [modern_only(), Site::with(|http, _| http.sessions = SessionMode::Nothing)] {
        for method in ["GET", "DELETE", "PUT"] {
            let turn = site.send(method, &get(&session), "");
            assert_eq!(site.read_response(turn), refused("POST"), "{method}");
        }
    }
    let turn = all.send("GET", &get(&session), "");
    assert_eq!(all.read_response(turn), stream(&[super::site::priming("0-0")], false));
    let turn = all.send("DELETE", &get(&session), "");
    assert_eq!(all.read_response(turn), status(200));
}

/// Proves H-HTTP-24, H-HTTP-56, H-HTTP-57, H-HA-05.
#[test]
fn names_of_headers_have_no_case_and_values_have() {
    let mut site = Site::new();
    site.tools.clear();
    let body = message::modern_request("1", "tools/call", r#""name":"tool""#);
    for lines in [
        "mcp-protocol-version: 2026-07-28\nmcp-method: tools/call\nmcp-name: tool",
        "MCP-PROTOCOL-VERSION:2026-07-28\nMCP-METHOD:tools/call\nMCP-NAME:tool",
        "Mcp-Protocol-Version:  2026-07-28\t \nMcp-Method: \t tools/call\nMcp-Name:   tool  ",
    ] {
        let (turn, request) = site.ask(&format!("{POST}\n{lines}"), &body);
        site.respond(request.id, r#"{"content":[]}"#);
        assert_eq!(site.read_response(turn), json(200, message::complete("1", r#""content":[]"#)));
    }
    for (name, value) in [
        ("Mcp-Method", "TOOLS/CALL"),
        ("Mcp-Method", "tools /call"),
        ("Mcp-Name", "Tool"),
        ("MCP-Protocol-Version", "\"2026-07-28\""),
    ] {
        let lines = replaced(&about("tools/call", "tool"), name, value);
        let text = format!("{name} is not what the body says");
        assert_eq!(site.post(&lines, &body), json(400, error("1", -32020, &text)));
    }
    let session = site.open("2025-11-25");
    for name in ["mcp-session-id", "MCP-Session-Id", "MCP-SESSION-ID"] {
        let lines = format!("{POST}\n{name}: {session}");
        assert_eq!(site.post(&lines, message::plain("1", "ping", "")).status, 200);
    }
    let lines = in_session(&session.to_uppercase());
    assert_eq!(site.post(&lines, message::plain("1", "ping", "")).status, 404);
}

/// Proves H-HTTP-25.
#[test]
fn headers_that_say_where_a_message_belongs_stand_there_once() {
    let mut site = Site::new();
    let body = message::modern_request("1", "tools/call", r#""name":"tool""#);
    for name in ["MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"] {
        for value in ["2026-07-28", "tools/call", "tool", "other"] {
            let lines =
                format!("{}\n{}: {value}", about("tools/call", "tool"), name.to_uppercase());
            let text = format!("{name} stands there more than once");
            assert_eq!(site.post(&lines, &body), json(400, error("1", -32020, &text)), "{value}");
        }
    }
    let session = site.open("2025-11-25");
    let ping = message::plain("1", "ping", "");
    for (line, name) in [
        (format!("Mcp-Session-Id: {session}"), "Mcp-Session-Id"),
        (format!("Mcp-Session-Id: {}", "0".repeat(32)), "Mcp-Session-Id"),
        (
            "MCP-Protocol-Version: 2025-11-25\nMCP-Protocol-Version: 2025-06-18".into(),
            "MCP-Protocol-Version",
        ),
    ] {
        let lines = format!("{}\n{line}", in_session(&session));
        let text = format!("{name} is not usable");
        assert_eq!(site.post(&lines, &ping), json(400, error("1", -32600, &text)));
        let turn = site.send("DELETE", &lines, "");
        assert_eq!(site.read_response(turn), json(400, fault(-32600, &text)));
    }
    for line in ["Last-Event-ID: 0-0\nLast-Event-ID: 0-0", "Last-Event-ID: é"] {
        let turn = site.send("GET", &format!("{}\n{line}", get(&session)), "");
        assert_eq!(
            site.read_response(turn),
            json(400, fault(-32600, "Last-Event-ID is not usable"))
        );
    }
    assert_eq!(site.http.sessions(), 1);
}

/// Proves H-HTTP-26, H-HTTP-60.
#[test]
fn json_is_compact_and_says_that_it_is_json() {
    let mut site = Site::new();
    // The body decides, also with escapes in its strings.
    let body = message::modern_request("1", r"tools\u002flist", "");
    let (turn, request) = site.ask(&modern_headers("tools/list"), &body);
    assert_eq!(request.method, "tools/list");
    site.respond(request.id, "{\"tools\":[\n],\r\n\"x\":\"\u{e9}\"}");
    let received = site.read_response(turn);
    assert_eq!(received, json(200, cacheable("1", "\"tools\":[],\"x\":\"\u{e9}\"")));
}
