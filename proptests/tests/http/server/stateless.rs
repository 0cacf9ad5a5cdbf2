//! Modern requests (2026-07-28) and their responses.

use mcp_sansio::capability::{Capability, CapabilitySet};
use mcp_sansio::http::{ResponseMode, SessionMode};
use mcp_sansio::{Era, RevisionSet, ServerEvent};

use super::message::{
    self, cacheable, complete, error, fault, initialize, notification, other_version, plain,
    progress, watched,
};
use super::site::{
    POST, Site, about, event, in_session, json, modern_headers, replaced, status, stream, without,
};
use super::validator::{DISCOVER, discover, modern_only};

/// Proves H-HTTP-02, H-HTTP-03, H-HTTP-28, H-HTTP-93, H-HTTP-95, H-HTTP-243.
#[test]
fn a_request_is_answered_with_json_or_with_events_that_end() {
    let mut site = modern_only();
    let body = watched("1", "tools/list", "");
    let (turn, request) = site.ask(&modern_headers("tools/list"), &body);
    assert_eq!(site.read_response(turn).status, 0, "no response yet");
    site.respond(request.id, r#"{"tools":[]}"#);
    assert_eq!(site.read_response(turn), json(200, cacheable("1", r#""tools":[]"#)));

    let (turn, request) = site.ask(&modern_headers("tools/list"), &body);
    site.progress(request.id, 1);
    site.progress(request.id, 2);
    let reported = [event(progress("1", 1)), event(progress("1", 2))];
    assert_eq!(site.read_response(turn), stream(&reported, false));
    site.respond(request.id, r#"{"tools":[]}"#);
    let [one, two] = reported;
    let reported = [one, two, event(cacheable("1", r#""tools":[]"#))];
    assert_eq!(site.read_response(turn), stream(&reported, true));
    assert_eq!(reported[2].matches('\n').count(), 2);
    site.assert_forgotten();
}

/// Proves H-HTTP-04.
#[test]
fn the_request_context_comes_from_the_body_or_the_session() {
    let mut site = Site::new();
    let meta = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"sampling":{}},"progressToken":7"#;
    site.principal = mcp_sansio::Principal::new(9);
    let body = message::with_meta("1", "tools/list", meta, "");
    let (_, request) = site.ask(&modern_headers("tools/list"), &body);
    let context = request.context;
    assert_eq!((context.era(), context.revision.name()), (Era::Modern, "2026-07-28"));
    assert_eq!(context.capabilities, [Capability::Sampling].into_iter().collect::<CapabilitySet>());
    assert_eq!((context.wants_progress, context.principal.get()), (true, 9));

    let session = site.open("2025-06-18");
    let body = plain("1", "tools/list", "");
    let (_, request) = site.ask(&in_session(&session), &body);
    let context = request.context;
    assert_eq!((context.era(), context.revision.name()), (Era::Legacy, "2025-06-18"));
    assert_eq!((context.wants_progress, context.principal.get()), (false, 9));
}

/// Proves H-HTTP-29, H-HTTP-30, H-HTTP-31, M-AMB-10.
#[test]
fn a_notification_is_accepted_or_refused_without_an_id() {
    let mut site = modern_only();
    let cancelled = notification("notifications/cancelled", r#""requestId":1"#);
    let claiming = |version: &str| {
        notification(
            "notifications/x",
            &format!(r#""_meta":{{"io.modelcontextprotocol/protocolVersion":"{version}"}}"#),
        )
    };
    let modern = modern_headers("notifications/cancelled");
    for (lines, body) in [
        (POST.to_string(), cancelled.clone()),
        (POST.to_string(), notification("notifications/initialized", "")),
        (modern.clone(), cancelled.clone()),
        (without(&modern, "Mcp-Method"), cancelled.clone()),
        (modern_headers("notifications/x"), claiming("2026-07-28")),
        (without(&modern, "Mcp-Method"), claiming("2026-07-28")),
        (replaced(&modern, "MCP-Protocol-Version", "2025-11-25"), cancelled.clone()),
    ] {
        assert_eq!(site.post(&lines, &body), status(202), "{lines} {body}");
    }
    let unsupported = json(400, other_version("", "2099-01-01"));
    let wrong = |text: &str| json(400, fault(-32020, text));
    let mismatch = |text: &str| wrong(&format!("MCP-Protocol-Version {text}"));
    for (lines, body, refused) in [
        (
            replaced(&modern, "MCP-Protocol-Version", "2099-01-01"),
            cancelled.clone(),
            unsupported.clone(),
        ),
        (
            replaced(&modern, "MCP-Protocol-Version", "2099-01-01"),
            claiming("2099-01-01"),
            unsupported,
        ),
        (modern.clone(), claiming("2099-01-01"), mismatch("is not what the body says")),
        (POST.to_string(), claiming("2026-07-28"), mismatch("is missing")),
        (
            modern_headers("notifications/x"),
            cancelled.clone(),
            wrong("Mcp-Method is not what the body says"),
        ),
        (
            format!("{modern}\nMcp-Method: notifications/cancelled"),
            cancelled,
            wrong("Mcp-Method stands there more than once"),
        ),
    ] {
        assert_eq!(site.post(&lines, &body), refused, "{lines} {body}");
    }
    site.assert_forgotten();
}

/// Proves M-AMB-13.
#[test]
fn a_cancellation_that_is_posted_cancels_nothing() {
    let mut site = Site::new();
    let (turn, request) =
        site.ask(&modern_headers("tools/list"), &message::modern_request("1", "tools/list", ""));
    let cancelled = notification("notifications/cancelled", r#""requestId":1"#);
    let posted = site.send("POST", &modern_headers("notifications/cancelled"), cancelled);
    assert_eq!(site.read_response(posted), status(202));
    let events = site.settle();
    let is_cancelled = |event: &ServerEvent<'_>| matches!(event, ServerEvent::Cancelled(_));
    assert!(!events.iter().any(is_cancelled), "{events:?}");
    // Another request may have the same id, so the notification does not identify the request.
    site.respond(request.id, r#"{"tools":[]}"#);
    assert_eq!(site.read_response(turn), json(200, cacheable("1", r#""tools":[]"#)));
    site.assert_forgotten();
}

/// Proves H-HTTP-32.
#[test]
fn without_sessions_bodies_are_requests_and_notifications() {
    let mut site = modern_only();
    let no_batch = "this revision has no batches";
    for (body, text) in [
        (
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#.to_string(),
            "there are no sessions, so nothing is asked of clients",
        ),
        (error("1", 1, "no"), "there are no sessions, so nothing is asked of clients"),
        ("[]".into(), "a batch must not be empty"),
        (format!("[{}]", plain("1", "ping", "")), no_batch),
        (format!("[{}]", notification("notifications/x", "")), no_batch),
        (format!("[{}]", discover()), "a modern request must not be in a batch"),
        ("[1]".into(), "the batch holds something that is no message"),
        ("7".into(), "not a JSON-RPC message"),
        ("{}".into(), "not a JSON-RPC message"),
    ] {
        for lines in [POST.to_string(), modern_headers(DISCOVER)] {
            assert_eq!(site.post(&lines, &body), json(400, fault(-32600, text)), "{body}");
        }
    }
    for (body, text) in [
        (r#"{"jsonrpc":"1.0","id":1,"method":"x"}"#, r#"jsonrpc must be \"2.0\""#),
        (r#"{"jsonrpc":"2.0","id":1}"#, "not a JSON-RPC message"),
        (r#"{"jsonrpc":"2.0","id":1,"method":5}"#, "method must be a string"),
    ] {
        assert_eq!(
            site.post(&modern_headers("x"), body),
            json(400, error("1", -32600, text)),
            "{body}"
        );
    }
    site.assert_forgotten();
}

/// Proves H-HTTP-34, M-AMB-36.
#[test]
fn a_stateless_request_ignores_session_and_event_headers() {
    let mut site = Site::new();
    for line in [
        "Mcp-Session-Id: nobody",
        "Mcp-Session-Id: 00000000000000000000000000000000",
        "Mcp-Session-Id: a\nMcp-Session-Id: b",
        "Last-Event-ID: 0-0",
    ] {
        let lines = format!("{}\n{line}", modern_headers("ping"));
        assert_eq!(
            site.post(&lines, message::modern_request("1", "ping", "")).status,
            404,
            "no method"
        );
        let lines = format!("{}\n{line}", modern_headers("tools/list"));
        let (turn, request) = site.ask(&lines, &message::modern_request("1", "tools/list", ""));
        site.respond(request.id, r#"{"tools":[]}"#);
        assert_eq!(site.read_response(turn), json(200, cacheable("1", r#""tools":[]"#)), "{line}");
    }
    site.assert_forgotten();
}

/// Proves H-HTTP-35, H-HTTP-36, H-HTTP-37, H-HTTP-42, H-HTTP-51, M-AMB-07.
#[test]
fn request_meta_must_be_complete_and_match_the_headers() {
    let mut site = modern_only();
    let capabilities = r#""io.modelcontextprotocol/clientCapabilities":{}"#;
    let version = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#;
    let no_request_meta = "params._meta needs io.modelcontextprotocol/protocolVersion (2026-07-28), or initialize first";
    let malformed = |what: &str| format!("malformed _meta: io.modelcontextprotocol/{what}");
    let lines = modern_headers(DISCOVER);
    for (id, body, text) in [
        ("101", plain("101", DISCOVER, ""), no_request_meta.into()),
        ("102", message::with_meta("102", DISCOVER, capabilities, ""), no_request_meta.into()),
        (
            r#""x""#,
            message::with_meta(r#""x""#, DISCOVER, version, ""),
            malformed("clientCapabilities is missing"),
        ),
        (
            "-1",
            message::with_meta(
                "-1",
                DISCOVER,
                &format!(r#"{version},"io.modelcontextprotocol/clientCapabilities":1"#),
                "",
            ),
            malformed("clientCapabilities has the wrong type"),
        ),
        (
            "0",
            message::with_meta(
                "0",
                DISCOVER,
                &format!(r#""io.modelcontextprotocol/protocolVersion":7,{capabilities}"#),
                "",
            ),
            malformed("protocolVersion has the wrong type"),
        ),
    ] {
        assert_eq!(site.post(&lines, &body), json(400, error(id, -32602, &text)), "{body}");
    }
    // The client information is optional.
    assert_eq!(site.post(&lines, discover()).status, 200);

    let of = |version: &str| message::of_version("101", DISCOVER, version, "");
    let says = |version: &str| replaced(&lines, "MCP-Protocol-Version", version);
    let unsupported = |version: &str| json(400, other_version(r#""id":101,"#, version));
    assert_eq!(site.post(&says("v999.0.0"), of("v999.0.0")), unsupported("v999.0.0"));
    assert_eq!(site.post(&says("2025-11-25"), of("2025-11-25")), unsupported("2025-11-25"));
    let differs = error("101", -32020, "MCP-Protocol-Version is not what the body says");
    for (header, body) in
        [("2026-07-28", "v999.0.0"), ("2025-11-25", "2026-07-28"), ("", "2026-07-28")]
    {
        assert_eq!(site.post(&says(header), of(body)), json(400, &*differs), "{header} {body}");
    }
    let missing = error("101", -32020, "MCP-Protocol-Version is missing");
    let lines = without(&lines, "MCP-Protocol-Version");
    for version in ["2026-07-28", "v999.0.0"] {
        assert_eq!(site.post(&lines, of(version)), json(400, &*missing), "{version}");
    }
    site.assert_forgotten();
}

/// Proves H-HTTP-38, H-HTTP-39.
#[test]
fn a_method_that_is_not_served_is_not_found() {
    let mut site = Site::with(|_, server| server.capabilities.prompts = None);
    let unavailable = "method not available in this session";
    for (method, members) in [
        (
            "initialize",
            r#""protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}"#,
        ),
        ("ping", ""),
        ("logging/setLevel", r#""level":"info""#),
        ("resources/subscribe", r#""uri":"x:y""#),
        ("resources/unsubscribe", r#""uri":"x:y""#),
        ("tasks/list", ""),
        ("tasks/result", r#""taskId":"x""#),
        ("prompts/list", ""),
        ("sampling/createMessage", ""),
    ] {
        let received =
            site.post(&modern_headers(method), message::modern_request("101", method, members));
        assert_eq!(received, json(404, error("101", -32601, unavailable)), "{method}");
    }
    // The application may serve methods that MCP does not define.
    let (turn, request) = site.ask(
        &modern_headers("unknown/method"),
        &message::modern_request("101", "unknown/method", ""),
    );
    site.reject(request.id, -32601, "no such method");
    assert_eq!(site.read_response(turn), json(404, error("101", -32601, "no such method")));
    site.assert_forgotten();
}

/// Proves H-HTTP-40, H-HTTP-41, M-AMB-03, M-AMB-04, M-AMB-38.
#[test]
fn an_error_has_a_status_if_it_is_the_first_word() {
    let needs = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32021,"message":"Missing required client capability","data":{"requiredCapabilities":{"sampling":{}}}}}"#;
    let call = watched("1", "tools/call", r#""name":"t""#);
    for mode in [ResponseMode::Automatic, ResponseMode::EventStream, ResponseMode::Json] {
        let mut site = Site::with(|http, _| http.responses = mode);
        let (turn, request) = site.ask(&about("tools/call", "t"), &call);
        let sampling = [Capability::Sampling].into_iter().collect();
        site.with_machine(request.id, |server, out| {
            server.reject_missing(request.id, sampling, out).unwrap();
        });
        assert_eq!(site.read_response(turn), json(400, needs), "{mode:?}");

        let (turn, request) = site.ask(&about("tools/call", "t"), &call);
        site.progress(request.id, 1);
        site.with_machine(request.id, |server, out| {
            server.reject_missing(request.id, sampling, out).unwrap();
        });
        let late = stream(&[event(progress("1", 1)), event(needs)], true);
        // In this mode nothing was sent before the error, so it still sets the status.
        let late = if mode == ResponseMode::Json { json(400, needs) } else { late };
        assert_eq!(site.read_response(turn), late, "{mode:?}");

        for (code, text) in [(-32602, "unknown tool"), (-32603, "broken"), (5, "own")] {
            let (turn, request) = site.ask(&about("tools/call", "t"), &call);
            site.reject(request.id, code, text);
            let error = error("1", code, text);
            let is_stream = mode == ResponseMode::EventStream;
            let expected = if is_stream { stream(&[event(error)], true) } else { json(200, error) };
            assert_eq!(site.read_response(turn), expected, "{mode:?} {code}");
        }
        site.assert_forgotten();
    }
}

/// Proves M-AMB-24.
#[test]
fn an_unknown_name_in_a_served_method_is_not_http_404() {
    let mut site = Site::new();
    for (method, member) in
        [("tools/call", "name"), ("prompts/get", "name"), ("resources/read", "uri")]
    {
        let body = message::modern_request("1", method, &format!(r#""{member}":"x:unknown""#));
        let (turn, request) = site.ask(&about(method, "x:unknown"), &body);
        site.reject(request.id, -32602, "there is none");
        assert_eq!(
            site.read_response(turn),
            json(200, error("1", -32602, "there is none")),
            "{method}"
        );
    }
    site.assert_forgotten();
}

/// Proves H-HTTP-43, H-HTTP-44, M-RPC-09.
/// Pain 95.
#[test]
fn requests_know_nothing_of_each_other() {
    let mut site = modern_only();
    let body = watched("1", "tools/list", "");
    let asked = [(); 4].map(|()| site.ask(&modern_headers("tools/list"), &body));
    let mut numbers: Vec<_> = asked.iter().map(|(_, request)| request.id.connection()).collect();
    numbers.dedup();
    assert_eq!(numbers.len(), 4, "each has a connection of its own");
    let [(first, _), rest @ ..] = &asked;
    site.progress(asked[0].1.id, 1);
    assert_eq!(site.read_response(*first), stream(&[event(progress("1", 1))], false));
    for (turn, request) in rest.iter().rev() {
        site.respond(request.id, r#"{"tools":[]}"#);
        assert_eq!(site.read_response(*turn), json(200, cacheable("1", r#""tools":[]"#)));
    }
    site.respond(asked[0].1.id, r#"{"tools":[]}"#);
    assert_eq!(site.news(*first), [event(cacheable("1", r#""tools":[]"#))]);
    site.assert_forgotten();
}

/// Proves H-HTTP-225.
#[test]
fn one_endpoint_serves_sessions_and_stateless_requests() {
    let mut site = Site::with(|http, _| {
        http.session_idle = Some(std::time::Duration::from_secs(10));
    });
    let session = site.open("2025-11-25");
    let (old, in_it) = site.ask(&in_session(&session), &plain("1", "tools/call", r#""name":"t""#));
    site.elapse(9_000);
    // The request names the session, but does not use it.
    let lines = format!("{}\nMcp-Session-Id: {session}", about("tools/call", "t"));
    let (new, beside) =
        site.ask(&lines, &message::modern_request("1", "tools/call", r#""name":"t""#));
    assert_ne!(in_it.id.connection(), beside.id.connection());
    site.respond(beside.id, r#"{"content":[]}"#);
    assert_eq!(site.read_response(new), json(200, complete("1", r#""content":[]"#)));
    site.respond(in_it.id, r#"{"content":[]}"#);
    assert_eq!(site.read_response(old), json(200, message::result("1", r#""content":[]"#)));
    site.elapse(5_000);
    let lines = format!("{}\nMcp-Session-Id: {session}", modern_headers(DISCOVER));
    assert_eq!(site.post(&lines, discover()).status, 200);
    site.elapse(4_999);
    assert_eq!(site.http.sessions(), 1);
    let closed = site.elapse(1);
    assert!(matches!(closed[..], [.., ServerEvent::Closed { .. }]), "{closed:?}");
    let gone = site.post(&in_session(&session), plain("2", "ping", ""));
    assert_eq!(gone.status, 404);
    site.assert_forgotten();
}

/// Proves H-HTTP-234.
#[test]
fn a_server_without_sessions_reports_its_revisions() {
    let refused = r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32022,"message":"Unsupported protocol version","data":{"supported":["2026-07-28"],"requested":"2025-11-25"}}}"#;
    for mut site in [modern_only(), Site::with(|http, _| http.sessions = SessionMode::Nothing)] {
        assert_eq!(site.post(POST, initialize("0", "2025-11-25")), json(400, refused));
        let lines = format!("{POST}\nMCP-Protocol-Version: 2025-11-25");
        assert_eq!(site.post(&lines, initialize("0", "2025-11-25")), json(400, refused));
        site.assert_forgotten();
    }
    let mut site = Site::with(|_, server| server.revisions = RevisionSet::LEGACY);
    let received = site.post(&modern_headers(DISCOVER), discover());
    assert_eq!(
        received,
        json(400, error("101", -32600, "Mcp-Session-Id is missing: initialize first"))
    );
}
