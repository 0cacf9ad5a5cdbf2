//! Sessions on one event stream, as in 2024-11-05.

use std::time::Duration;

use mcp_sansio::http::{Content, RequestHead, ResponsePart};
use mcp_sansio::subscription::ChangedList;
use mcp_sansio::{Cause, RevisionSet, ServerEvent};

use super::message::{error, fault, initialize, notification, plain, progress, result};
use super::site::{
    POST, ResponseParts, Site, Turn, event, get, in_session, json, modern_headers, replaced,
    status, stream,
};
use super::standalone::{accept, changed, elicit};
use super::validator::{DISCOVER, discover};

const GET: &str = "Host: localhost\nAccept: text/event-stream";

fn named(message: impl AsRef<str>) -> String {
    format!("event: message\n{}", event(message))
}

fn head(
    method: &str,
    lines: &str,
    act: impl FnOnce(&RequestHead<'_>) -> ResponseParts,
) -> ResponseParts {
    let fields: Vec<(&str, &[u8])> = lines
        .lines()
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name, value.as_bytes()))
        .collect();
    act(&RequestHead::new(method, &fields[..]))
}

/// Requests the event stream.
fn connect(site: &mut Site, method: &str, lines: &str) -> Turn {
    let mut outcome = None;
    head(method, lines, |head| {
        outcome = Some(site.http.validator().admit_event_stream(head));
        ResponseParts::default()
    });
    let random = site.random();
    let outcome = outcome.unwrap().and_then(|()| {
        let endpoint = |id| format!("/messages?session={id}");
        site.http.connect_one_stream(endpoint, site.principal, random, site.now)
    });
    site.note(outcome.map(Ok))
}

/// Posts a message.
fn message(site: &mut Site, method: &str, lines: &str, id: Option<&str>, body: &[u8]) -> Turn {
    let mut outcome = None;
    head(method, lines, |head| {
        outcome = Some(site.http.validator().admit_message(head, id));
        ResponseParts::default()
    });
    let outcome = outcome.unwrap().and_then(|session| {
        let exchange = site.http.message(session, body, site.principal, site.now)?;
        site.hand_in(exchange, body);
        Ok(exchange)
    });
    site.note(outcome.map(Ok))
}

#[track_caller]
fn accepted(site: &mut Site, id: &str, body: &str) {
    let turn = message(site, "POST", POST, Some(id), body.as_bytes());
    assert_eq!(site.read_response(turn), status(202), "{body}");
}

/// Opens a session, and returns its stream and its id.
fn open(site: &mut Site) -> (Turn, String) {
    let turn = connect(site, "GET", GET);
    let id = site.news(turn)[0].trim_end().rsplit('=').next().unwrap().to_string();
    accepted(site, &id, &initialize("0", "2024-11-05"));
    accepted(site, &id, &notification("notifications/initialized", ""));
    assert!(matches!(site.events()[..], [ServerEvent::Opened(_), ServerEvent::Ready]));
    assert_eq!(site.news(turn).len(), 1);
    (turn, id)
}

/// Proves H-HTTP-205, H-HTTP-206, H-HTTP-207, H-HTTP-219, H-HTTP-243.
#[test]
fn everything_the_server_says_is_on_one_stream() {
    let mut site = Site::new();
    let turn = connect(&mut site, "GET", GET);
    let id = "a1".repeat(16);
    let mut events = vec![format!("event: endpoint\ndata: /messages?session={id}\n\n")];
    assert_eq!(site.read_response(turn), stream(&events, false));
    accepted(&mut site, &id, &initialize("0", "2024-11-05"));
    let opened = &site.news(turn)[0];
    let start = "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"protocolVersion\":\"2024-11-05\"";
    assert!(opened.starts_with(start), "{opened}");
    events.push(opened.clone());
    accepted(&mut site, &id, &notification("notifications/initialized", ""));
    site.events();

    let call = plain("1", "tools/call", r#""name":"t","_meta":{"progressToken":"p"}"#);
    let posted = message(&mut site, "POST", POST, Some(&id), call.as_bytes());
    let [ServerEvent::Request(request)] = &site.events()[..] else { panic!("a request") };
    assert_eq!(site.read_response(posted), status(202), "no answer, and no id of a session");
    site.progress(request.id, 1);
    elicit(&mut site, request.id).unwrap_err();
    changed(&mut site, ChangedList::Tools);
    accepted(&mut site, &id, &plain("2", "ping", ""));
    site.respond(request.id, r#"{"content":[]}"#);
    events.extend([
        named(progress(r#""p""#, 1)),
        named(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#),
        named(result("2", "")),
        named(result("1", r#""content":[]"#)),
    ]);
    assert_eq!(site.read_response(turn), stream(&events, false));
    for chunk in events {
        assert!(!chunk.contains("\nid:") && !chunk.starts_with("id:") && !chunk.contains("retry:"));
    }
    site.elapse(15_000);
    assert_eq!(site.news(turn), [": \n\n"]);
    accepted(&mut site, &id, &accept("1"));
    assert!(matches!(site.events()[..], [ServerEvent::UnmatchedResponse(_)]));
}

/// Proves H-HTTP-208, H-HTTP-209, H-HTTP-205.
#[test]
fn both_sse_endpoints_refuse_invalid_requests() {
    let mut site = Site::new();
    let (turn, id) = open(&mut site);
    let refused = |allowed: &str| {
        let mut refused = json(405, fault(-32600, "this method is not served here"));
        refused.headers.push(format!("Allow: {allowed}"));
        refused
    };
    let evil = "Origin: http://evil.example.com";
    let other_site =
        json(403, fault(-32600, "the Origin is not allowed (HttpServerConfig::origins)"));
    let host = json(403, fault(-32600, "the Host is not allowed (HttpServerConfig::hosts)"));
    for (method, lines, expected) in [
        ("GET", format!("{GET}\n{evil}"), other_site.clone()),
        ("GET", replaced(GET, "Host", "evil.example.com"), host.clone()),
        ("POST", GET.into(), refused("GET")),
        ("DELETE", GET.into(), refused("GET")),
        (
            "GET",
            replaced(GET, "Accept", "application/json"),
            json(406, fault(-32600, "Accept must have text/event-stream")),
        ),
    ] {
        let turn = connect(&mut site, method, &lines);
        assert_eq!(site.read_response(turn), expected, "{method} {lines}");
    }
    let ping = plain("1", "ping", "");
    let no_session = json(404, fault(-32600, "there is no such session"));
    let no_id = json(400, fault(-32600, "the id of the session is missing"));
    let unread = |text: &str| json(400, fault(-32700, text));
    let plain_text = json(415, fault(-32600, "the body must be application/json"));
    for (method, lines, session, body, expected) in [
        ("POST", format!("{POST}\n{evil}"), Some(&*id), &*ping, other_site),
        ("POST", replaced(POST, "Host", "evil.example.com"), Some(&*id), &*ping, host),
        ("GET", POST.into(), Some(&*id), &*ping, refused("POST")),
        ("PUT", POST.into(), Some(&*id), &*ping, refused("POST")),
        ("POST", replaced(POST, "Content-Type", "text/plain"), Some(&*id), &*ping, plain_text),
        ("POST", POST.into(), None, &*ping, no_id),
        ("POST", POST.into(), Some(""), &*ping, no_session.clone()),
        ("POST", POST.into(), Some("00000000000000000000000000000000"), &*ping, no_session),
        ("POST", POST.into(), Some(&*id), "{", unread("the line is not JSON")),
        ("POST", POST.into(), Some(&*id), "", unread("there is no message")),
        ("POST", POST.into(), Some(&*id), "{}", json(400, fault(-32600, "not a JSON-RPC message"))),
        (
            "POST",
            POST.into(),
            Some(&*id),
            "[{\"jsonrpc\":\"2.0\",\"method\":\"x\"}]",
            json(400, fault(-32600, "this revision has no batches")),
        ),
    ] {
        let turn = message(&mut site, method, &lines, session, body.as_bytes());
        assert_eq!(site.read_response(turn), expected, "{method} {body}");
    }
    site.events();
    let mut small = Site::with(|http, _| http.body_bytes = 400);
    let (_, small_id) = open(&mut small);
    for (length, expected) in [(400, 202), (401, 413)] {
        let body = format!("{ping:length$}");
        let turn = message(&mut small, "POST", POST, Some(&small_id), body.as_bytes());
        assert_eq!(small.read_response(turn).status, expected, "{length}");
    }
    // The `Accept` field has no meaning for a response without a body.
    let lines = replaced(POST, "Accept", "text/html");
    let posted = message(&mut site, "POST", &lines, Some(&id), ping.as_bytes());
    assert_eq!(site.read_response(posted), status(202));
    assert_eq!(site.news(turn), [named(result("1", ""))]);
    let mut modern = Site::with(|_, server| server.revisions = RevisionSet::MODERN);
    let turn = connect(&mut modern, "GET", GET);
    assert_eq!(modern.read_response(turn).status, 404);
}

/// Proves H-HTTP-210.
#[test]
fn the_session_lasts_as_long_as_its_stream() {
    let mut site = Site::with(|http, _| http.session_idle = Some(Duration::from_secs(60)));
    let (turn, id) = open(&mut site);
    assert!(site.elapse(600_000).is_empty(), "it is in use");
    let call = plain("1", "tools/list", "");
    accepted(&mut site, &id, &call);
    let [ServerEvent::Request(request)] = &site.events()[..] else { panic!("a request") };
    site.disconnect(turn);
    let posted = message(&mut site, "POST", POST, Some(&id), call.as_bytes());
    assert_eq!(site.read_response(posted).status, 404);
    let events = site.settle();
    let [ServerEvent::Cancelled(cancelled), ServerEvent::Closed { cause }] = &events[..] else {
        panic!("{events:?}")
    };
    assert_eq!((cancelled.id, *cause), (request.id, Cause::WriteFailed));
    site.assert_forgotten();

    // The server can end the session, too, after it has sent its pending messages.
    let (turn, id) = open(&mut site);
    let connection = site.http.connections().next().unwrap();
    accepted(&mut site, &id, &plain("1", "ping", ""));
    site.http.with(connection, site.now, |server, _| server.close());
    site.settle();
    assert_eq!(site.news(turn), [named(result("1", ""))]);
    assert!(site.read_response(turn).is_over);
    site.assert_forgotten();

    let mut full = Site::with(|http, _| http.most_sessions = 1);
    open(&mut full);
    let turn = connect(&mut full, "GET", GET);
    assert_eq!(full.read_response(turn).status, 503);
    full.http.shut_down(Duration::ZERO, full.now);
    full.settle();
    let turn = connect(&mut full, "GET", GET);
    assert_eq!(full.read_response(turn).status, 503);
}

/// A client that disconnects before the response to a POST is complete keeps its session.
///
/// Proves H-HTTP-210.
#[test]
fn a_lost_confirmation_ends_no_session() {
    let mut site = Site::new();
    let (turn, id) = open(&mut site);
    let posted = message(&mut site, "POST", POST, Some(&id), plain("1", "ping", "").as_bytes());
    site.disconnect(posted);
    assert!(site.settle().is_empty());
    accepted(&mut site, &id, &plain("2", "ping", ""));
    assert_eq!(site.news(turn), [named(result("1", "")), named(result("2", ""))]);
}

/// A client that does not read its stream is congested, so that the application starts no new work for it.
#[test]
fn a_client_that_does_not_read_is_congested() {
    let mut site = Site::with(|_, server| server.connection.limits.congestion_bytes = 100);
    let (turn, id) = open(&mut site);
    let connection = site.http.connections().next().unwrap();
    let is_congested =
        |site: &mut Site| site.http.with(connection, site.now, |_, out| out.is_congested());
    assert_eq!(is_congested(&mut site), Some(false));
    for number in 1..=4 {
        accepted(&mut site, &id, &plain(&number.to_string(), "ping", ""));
    }
    assert_eq!(is_congested(&mut site), Some(true));
    assert_eq!(site.news(turn).len(), 4);
    assert_eq!(is_congested(&mut site), Some(false));
}

/// Proves H-HTTP-211.
#[test]
fn there_is_no_other_era_on_one_stream() {
    let mut site = Site::new();
    let turn = connect(&mut site, "GET", GET);
    let id = site.news(turn)[0].trim_end().rsplit('=').next().unwrap().to_string();
    accepted(&mut site, &id, &discover());
    let refused = &site.news(turn)[0];
    assert!(refused.contains(r#""id":101,"error":{"code":-32601,"#), "{refused}");
    site.events();
    for (wanted, revision) in [("2025-11-25", "2025-11-25"), ("2026-07-28", "2025-11-25")] {
        let mut site = Site::new();
        let turn = connect(&mut site, "GET", GET);
        let id = site.news(turn)[0].trim_end().rsplit('=').next().unwrap().to_string();
        accepted(&mut site, &id, &initialize("0", wanted));
        let opened = format!(r#"{{"protocolVersion":"{revision}""#);
        assert!(site.news(turn)[0].contains(&opened), "{wanted}");
        accepted(&mut site, &id, &plain("1", DISCOVER, ""));
        let text = "method not available in this session";
        assert_eq!(site.news(turn), [named(error("1", -32601, text))]);
    }
}

/// Proves H-HTTP-218, H-HTTP-219.
#[test]
fn it_stands_beside_the_other_endpoint_and_does_not_mix_with_it() {
    let mut site = Site::new();
    let (turn, id) = open(&mut site);
    let session = site.open("2025-11-25");
    let ping = plain("1", "ping", "");
    // The sessions of each endpoint are unknown to the other one.
    assert_eq!(site.post(&in_session(&id), &ping).status, 404);
    for method in ["GET", "DELETE"] {
        let turn = site.send(method, &get(&id), "");
        assert_eq!(site.read_response(turn).status, 404, "{method}");
    }
    let posted = message(&mut site, "POST", POST, Some(&session), ping.as_bytes());
    assert_eq!(site.read_response(posted).status, 404);
    // The header fields of other revisions have no meaning.
    let lines = format!("{POST}\nMCP-Protocol-Version: x\nMcp-Session-Id: y\nLast-Event-ID: 0-0");
    let posted = message(&mut site, "POST", &lines, Some(&id), ping.as_bytes());
    let (part, _) = site.part(posted);
    let ResponsePart::Head(head) = part else { panic!("{part:?}") };
    assert_eq!((head.status, head.content, head.session), (202, Content::Nothing, None));
    assert_eq!(site.news(turn), [named(result("1", ""))]);
    assert_eq!(site.post(&in_session(&session), &ping).status, 200);
    assert_eq!(site.post(&modern_headers(DISCOVER), discover()).status, 200);
}
