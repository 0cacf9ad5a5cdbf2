//! Modern requests: a POST for each message, with header fields that describe it.

use mcp_sansio::error::{TransportFailure, TransportFailureKind};
use mcp_sansio::http::{HeaderError, HttpClientConfig};

use super::kit::{
    Act, EVENTS, INITIALIZED, JSON, Side, URL, asked, ended, get, post, result, session,
};
use mcp_sansio::{ClientEvent, Outcome, Revision};
use mcp_sansio_proptests::config;

const VERSION: (&str, &str) = ("MCP-Protocol-Version", "2026-07-28");

/// Proves H-HTTP-16, H-HTTP-26, H-HTTP-27, H-HTTP-45, H-HTTP-46, H-HTTP-48, H-HTTP-128, M-AMB-10.
#[test]
fn each_modern_message_is_a_post_with_describing_headers() {
    let mut side = Side::begun(config::client_of_both_eras());
    let probe = side.sent_one();
    let headers = [VERSION, ("Mcp-Method", "server/discover")];
    assert_eq!(probe.text(), post(&headers, &asked(1, "server/discover", "")));
    assert_eq!(probe.header("Content-Type"), Some("application/json"));
    assert_eq!(probe.header("Accept"), Some("application/json, text/event-stream"));
    assert_eq!(probe.request.headers.len(), 4);

    let mut side = Side::modern();
    for (id, method) in (2..).zip(["tools/list", "prompts/list", "resources/list", "x/y"]) {
        let (_, request) = side.asks(method, r#"{"name":"n","uri":"u"}"#);
        let params = r#""name":"n","uri":"u""#;
        let headers = [VERSION, ("Mcp-Method", method)];
        assert_eq!(request.text(), post(&headers, &asked(id, method, params)));
    }
    // Several concurrent calls are several requests.
    side.call("tools/list", "{}");
    side.call("tools/list", "{}");
    assert_eq!(side.sent().len(), 2);
    side.http.with(|client, out| client.notify_method("notifications/x", &(), None, out)).unwrap();
    let notification = side.sent_one();
    let headers = [VERSION, ("Mcp-Method", "notifications/x")];
    assert_eq!(notification.text().split("\n\n").next(), post(&headers, "").split("\n\n").next());
}

/// Proves H-HTTP-47, H-HTTP-49, H-HTTP-50, M-TASKX-59.
#[test]
fn the_mcp_name_header_names_the_target_of_a_request() {
    let table = [
        ("tools/call", r#""name":"my-tool","arguments":{"name":"no"}"#, "my-tool"),
        ("prompts/get", r#""name":"a b""#, "a b"),
        ("resources/read", r#""uri":"file:///path%20x?id=1""#, "file:///path%20x?id=1"),
        ("tools/call", r#""name":"\u00e9""#, "=?base64?w6k=?="),
        ("tools/call", r#""name":" a""#, "=?base64?IGE=?="),
        ("tools/call", r#""name":"=?base64?x?=""#, "=?base64?PT9iYXNlNjQ/eD89?="),
        ("tools/call", r#""name":"a\r\nX: y""#, "=?base64?YQ0KWDogeQ==?="),
        ("tasks/get", r#""taskId":"t""#, "t"),
        ("tasks/update", r#""taskId":"t","inputResponses":{}"#, "t"),
        ("tasks/cancel", r#""taskId":"t""#, "t"),
    ];
    let mut side = Side::modern();
    for (method, params, name) in table {
        let (_, request) = side.asks(method, &format!("{{{params}}}"));
        assert_eq!(request.header("Mcp-Method"), Some(method));
        assert_eq!(request.header("Mcp-Name"), Some(name), "{params}");
    }
}

/// Proves H-HTTP-09, H-HTTP-129.
#[test]
fn the_application_adds_headers_and_replaces_none() {
    let mut http = HttpClientConfig::new(URL);
    http.header("Authorization", " Bearer x ").unwrap().header("X-Y", "").unwrap();
    for name in [
        "MCP-Protocol-Version",
        "mcp-session-id",
        "Mcp-Method",
        "Mcp-Name",
        "Mcp-Param-X",
        "accept",
        "Content-Type",
        "content-length",
        "Host",
        "Last-Event-ID",
        "transfer-encoding",
    ] {
        assert_eq!(http.header(name, "x").err(), Some(HeaderError::Reserved), "{name}");
    }
    for (name, value) in
        [("", "x"), ("a b", "x"), ("a:", "x"), ("\u{e9}", "x"), ("X", "a\r\nb"), ("X", "a\0b")]
    {
        assert_eq!(http.header(name, value).err(), Some(HeaderError::Invalid), "{name}: {value}");
    }
    let mut side = Side::modern_with(http.clone());
    let (_, request) = side.asks("tools/list", "{}");
    let own = [("Authorization", "Bearer x"), ("X-Y", "")];
    let headers = [VERSION, ("Mcp-Method", "tools/list"), own[0], own[1]];
    assert_eq!(request.text(), post(&headers, &asked(2, "tools/list", "")));
    // The fields are added to requests without a message, too.
    let (_, listening) = Side::listening(Revision::V2025_11_25, http);
    let headers =
        [("Mcp-Session-Id", "s-1"), ("MCP-Protocol-Version", "2025-11-25"), own[0], own[1]];
    assert_eq!(listening.text(), get(&headers));
}

/// Proves H-HTTP-130, H-HTTP-133, H-HTTP-233.
#[test]
fn there_is_no_session_where_there_is_none() {
    let mut side = Side::begun(config::client_of_both_eras());
    let probe = side.sent_one();
    let minted = ("Mcp-Session-Id", "s-1");
    side.answer(&probe, 200, &[JSON, minted], &result(1, super::kit::DISCOVERY));
    let (call, request) = side.asks("tools/list", "{}");
    assert_eq!(request.header("Mcp-Session-Id"), None);
    let answer = r#"{"resultType":"complete","tools":[]}"#;
    side.answer(&request, 200, &[EVENTS, minted], &format!("data: {}\n\n", result(2, answer)));
    let (again, request) = side.asks("tools/list", "{}");
    assert_ne!(call, again);
    assert_eq!(request.header("Mcp-Session-Id"), None);
    assert_eq!(side.http.transport().session_id(), None);
    // The client terminates no session and requests no event stream.
    side.http.with(|client, _| client.close());
    assert_eq!(side.due().len(), 2);
    side.aborts(request.exchange);
    assert!(side.http.is_over());

    // A session that a server opened for a request that it did not understand is not used.
    let mut side = Side::begun(config::client_of_both_eras());
    let probe = side.sent_one();
    assert_eq!(side.answer(&probe, 400, &[JSON, minted], &super::kit::error(1, -32600)), []);
    let initialize = side.sent_one();
    assert_eq!(initialize.header("Mcp-Session-Id"), None);
    let answer = result(2, &session(Revision::V2025_11_25));
    assert_eq!(side.answer(&initialize, 200, &[JSON], &answer).len(), 1);
    let initialized = side.sent_one();
    let headers = [("MCP-Protocol-Version", "2025-11-25")];
    assert_eq!(initialized.text(), post(&headers, INITIALIZED));
    assert!(request_count(&mut side) == 0);
}

fn request_count(side: &mut Side) -> usize {
    side.acts().iter().filter(|act| matches!(act, Act::Send(_))).count()
}

/// The arguments of a tool call, and the header fields that repeat them.
const REPEATED: [(&str, &[(&str, &str)]); 9] = [
    ("{}", &[]),
    (r#"{"region":"us-west1","query":"cats","float":1.5}"#, &[("Mcp-Param-Region", "us-west1")]),
    (r#"{"region":""}"#, &[("Mcp-Param-Region", "")]),
    (
        r#"{"region":"Hello, \u4e16\u754c"}"#,
        &[("Mcp-Param-Region", "=?base64?SGVsbG8sIOS4lueVjA==?=")],
    ),
    (r#"{"region":"a\r\nX: y"}"#, &[("Mcp-Param-Region", "=?base64?YQ0KWDogeQ==?=")]),
    (
        r#"{"priority":42.0,"verbose":false}"#,
        &[("Mcp-Param-Priority", "42"), ("Mcp-Param-Verbose", "false")],
    ),
    (
        r#"{"priority":-7,"deep":{"method":"m"}}"#,
        &[("Mcp-Param-Priority", "-7"), ("Mcp-Param-Method", "m")],
    ),
    (r#"{"region":null,"deep":null}"#, &[]),
    (r#"{"region":{"a":1},"priority":"x","deep":{"other":1}}"#, &[("Mcp-Param-Priority", "x")]),
];

pub(super) const TOOL: &str = r#"{"name":"t","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"priority":{"type":"integer","x-mcp-header":"Priority"},"verbose":{"type":"boolean","x-mcp-header":"Verbose"},"query":{"type":"string"},"float":{"type":"number"},"deep":{"type":"object","properties":{"method":{"type":"string","x-mcp-header":"Method"}}}}}}"#;

/// Lets the client list these tools.
pub(super) fn lists(side: &mut Side, tools: &str) -> String {
    let (call, request) = side.asks("tools/list", "{}");
    let answer = format!(
        r#"{{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{tools}]}}"#
    );
    let id = request.id();
    let (ended, listed) = super::kit::complete(side.json(&request, &result(id, &answer)));
    assert_eq!(ended, call);
    listed
}

/// Proves H-HTTP-09, H-HTTP-63, H-HTTP-64, H-HTTP-73, H-HTTP-75, H-HTTP-76, H-HTTP-77, H-HTTP-78, H-HTTP-79,
/// H-HTTP-80. Proves H-HTTP-83.
#[test]
fn arguments_of_listed_tools_are_repeated_in_headers() {
    let mut side = Side::modern();
    lists(&mut side, TOOL);
    for (id, (arguments, repeated)) in (3..).zip(REPEATED) {
        let params = format!(r#""name":"t","arguments":{arguments}"#);
        let (_, sent) = side.asks("tools/call", &format!("{{{params}}}"));
        let mut headers = vec![VERSION, ("Mcp-Method", "tools/call"), ("Mcp-Name", "t")];
        headers.extend(repeated);
        assert_eq!(sent.text(), post(&headers, &asked(id, "tools/call", &params)));
    }
}

/// Proves H-HTTP-74.
#[test]
fn a_call_with_an_unsafe_integer_for_a_header_is_not_sent() {
    let mut side = Side::modern();
    lists(&mut side, TOOL);
    for priority in ["9007199254740992", "-9007199254740992"] {
        let params = format!(r#"{{"name":"t","arguments":{{"priority":{priority}}}}}"#);
        let call = side.call("tools/call", &params);
        assert!(side.acts().is_empty());
        let (failed, outcome) = ended(side.due());
        assert_eq!(failed, call);
        let Outcome::TransportFailed(failure) = outcome else { panic!("{outcome:?}") };
        assert_eq!(failure.kind, TransportFailureKind::UnencodableHeader, "{priority}");
        side.does_nothing();
    }
    let params = r#"{"name":"t","arguments":{"priority":9007199254740991}}"#;
    let (_, sent) = side.asks("tools/call", params);
    assert_eq!(sent.header("Mcp-Param-Priority"), Some("9007199254740991"));
}

/// Proves H-HA-06, H-HA-07, H-HTTP-178.
#[test]
fn neither_an_origin_nor_a_version_is_made_up() {
    let (mut side, listening) = Side::listening(Revision::V2025_11_25, HttpClientConfig::new(URL));
    assert_eq!(listening.header("Origin"), None);
    assert_eq!(side.answer(&listening, 405, &[], ""), []);
    assert_eq!(side.asks("tools/list", "{}").1.header("Origin"), None);
    let opening = Side::begun(config::client()).sent_one();
    assert_eq!(opening.request.headers.len(), 2, "what kind of body it is, and what is accepted");
    // The application may set the `Origin` field.
    let mut http = HttpClientConfig::new(URL);
    http.header("Origin", "https://example.com").unwrap();
    let (_, request) = Side::modern_with(http).asks("tools/list", "{}");
    assert_eq!(request.header("Origin"), Some("https://example.com"));
}

/// Proves H-HTTP-08.
#[test]
fn messages_waiting_to_be_sent_over_http_are_bounded() {
    let mut client = config::client();
    client.connection.limits.outbox_bytes = 2000;
    client.connection.limits.held_bytes = 1000;
    let mut side = Side::begun(client);
    let opening = side.sent_one();
    side.answer(&opening, 200, &[JSON], &result(1, &session(Revision::V2025_11_25)));
    // The server has not accepted the end of the handshake, so every message waits.
    assert_eq!(side.sent().len(), 1);
    let now = side.now;
    let mut made = 0;
    let refused = loop {
        let params = mcp_sansio::json::Raw::new(r#"{"cursor":"cursorcursorcursor"}"#).unwrap();
        let options = mcp_sansio::CallOptions::new();
        let call = side
            .http
            .with(|client, out| client.call_method("tools/list", &params, options, now, out));
        match call {
            Ok(_) => made += 1,
            Err(error) => break error,
        }
        assert!(made < 100);
    };
    assert_eq!(refused, mcp_sansio::CallError::Encode(mcp_sansio::schema::EncodeError::Full));
    assert!(10 < made && side.http.transport().queued().len() <= 2000);
    assert!(side.acts().is_empty());
    side.elapse(250);
    assert_eq!(side.sent().len(), made, "later they all go");
}

/// Proves A-GEN-01: without an authorizer there are no credentials and no discovery. A 401 ends the call, and its
/// challenge is part of the outcome.
#[test]
fn a_client_without_an_authorizer_sends_no_credentials() {
    let text = "Bearer resource_metadata=\"https://h/meta\", scope=\"read\"";
    let http = HttpClientConfig::new(URL);
    let (mut session, listening) = Side::listening(Revision::V2025_11_25, http);
    let _stream = session.stream(&listening);
    for (mut side, earlier) in [(session, Some(listening)), (Side::modern(), None)] {
        for _ in 0..2 {
            let (call, request) = side.asks("tools/list", "{}");
            for sent in earlier.iter().chain([&request]) {
                let mut names = sent.request.headers.iter().map(|(name, _)| name);
                assert!(!names.any(|name| name.eq_ignore_ascii_case("authorization")), "{sent:?}");
                assert_eq!(sent.request.url, URL);
            }
            let events = side.answer(&request, 401, &[("WWW-Authenticate", text)], "");
            let [ClientEvent::CallEnded(ended)] = &events[..] else { panic!("{events:?}") };
            let mut expected = TransportFailure::new(TransportFailureKind::Unauthorized);
            (expected.status, expected.challenge) = (Some(401), Some(text.into()));
            let outcome = Outcome::TransportFailed(expected);
            assert_eq!((ended.call, &ended.outcome), (call, &outcome));
            side.does_nothing();
        }
    }
}
