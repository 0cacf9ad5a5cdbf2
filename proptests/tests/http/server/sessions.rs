//! Sessions: how they begin, their owners, and how they end.

use std::time::Duration;

use mcp_sansio::http::{ResponsePart, SessionId};
use mcp_sansio::{Cause, Principal, ServerEvent};

use super::message::{self, error, fault, initialize, notification, plain, result};
use super::site::{
    POST, ResponseParts, Site, get, in_session, json, priming, status, stream, without,
};

const UNKNOWN_SESSION: &str = "00000000000000000000000000000000";

fn missing() -> ResponseParts {
    json(400, fault(-32600, "Mcp-Session-Id is missing: initialize first"))
}

fn unknown(id: &str) -> ResponseParts {
    json(404, error(id, -32600, "there is no such session"))
}

fn gone() -> ResponseParts {
    json(404, fault(-32600, "there is no such session"))
}

/// Expects the last event to be `Closed` with this cause.
fn closed(events: &[ServerEvent<'_>], expected: Cause) {
    let Some(ServerEvent::Closed { cause }) = events.last() else { panic!("{events:?}") };
    assert_eq!(*cause, expected);
}

/// Proves H-HTTP-161.
#[test]
fn a_session_gets_its_id_with_the_answer_that_opens_it() {
    for revision in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut site = Site::new();
        let received = site.post(POST, initialize("0", revision));
        assert_eq!((received.status, received.headers.len()), (200, 2));
        assert_eq!(received.headers[0], "Content-Type: application/json");
        let start =
            format!(r#"{{"jsonrpc":"2.0","id":0,"result":{{"protocolVersion":"{revision}""#);
        assert!(received.chunks[0].starts_with(&start), "{received:?}");
        let session = received.headers[1].strip_prefix("Mcp-Session-Id: ").unwrap().to_string();
        assert_eq!(session, "a1".repeat(16));
        let received = site.post(&in_session(&session), plain("1", "ping", ""));
        assert_eq!(received, json(200, result("1", "")), "it is not said again");
        assert_eq!(site.http.sessions(), 1);
    }
    // Without a successful response no session is created, and nothing is left behind.
    let mut site = Site::new();
    let received = site.post(POST, plain("0", "initialize", ""));
    assert_eq!(received.headers.len(), 1);
    assert!(received.chunks[0].starts_with(r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32602,"#));
    assert_eq!(received.status, 200, "it was dispatched");
    site.assert_forgotten();
    let turn = site.send("POST", POST, plain("0", "initialize", ""));
    site.disconnect(turn);
    site.assert_forgotten();
}

/// Proves H-HTTP-162.
#[test]
fn the_id_of_a_session_is_all_its_random_bits_in_visible_letters() {
    let ids: Vec<String> = (0..=255_u8)
        .map(|byte| SessionId::from_random([byte; 16]).to_string())
        .chain((0..16).map(|at| {
            let mut bytes = [0; 16];
            bytes[at] = 0x80;
            SessionId::from_random(bytes).to_string()
        }))
        .collect();
    for id in &ids {
        assert_eq!(id.len(), 32);
        assert!(id.bytes().all(|byte| (0x21..=0x7e).contains(&byte)), "{id}");
    }
    let mut different = ids.clone();
    different.sort();
    different.dedup();
    assert_eq!(different.len(), ids.len());
}

/// Proves H-HTTP-149, H-HTTP-160, H-HTTP-165, H-HTTP-167, H-HTTP-173, H-HTTP-223, H-HA-02.
#[test]
fn a_message_names_a_session_that_there_is() {
    let mut site = Site::new();
    site.open("2025-11-25");
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#.to_string();
    for (body, id) in [
        (plain("1", "tools/list", ""), Some("1")),
        (plain("1", "ping", ""), Some("1")),
        (notification("notifications/initialized", ""), None),
        (answer, None),
        (error("1", 5, "no"), None),
        (format!("[{}]", plain("1", "ping", "")), None),
    ] {
        let expected = match id {
            Some(id) => json(400, error(id, -32600, "Mcp-Session-Id is missing: initialize first")),
            None => missing(),
        };
        assert_eq!(site.post(POST, &body), expected, "{body}");
        // A malformed session id and an unknown one.
        let expected = id.map_or_else(gone, unknown);
        assert_eq!(site.post(&in_session("nobody"), &body), expected, "{body}");
        assert_eq!(site.post(&in_session(UNKNOWN_SESSION), &body), gone(), "{body}");
    }
    for method in ["GET", "DELETE"] {
        let turn = site.send(method, &without(&get(""), "Mcp-Session-Id"), "");
        assert_eq!(site.read_response(turn), missing(), "{method}");
        for session in ["", "nobody", UNKNOWN_SESSION] {
            let turn = site.send(method, &get(session), "");
            assert_eq!(site.read_response(turn), gone(), "{method}");
        }
    }
    assert_eq!(site.http.connections().count(), 1);
}

/// Proves H-HTTP-148, H-HTTP-176.
#[test]
fn a_session_is_opened_once_and_by_itself() {
    let mut site = Site::new();
    let session = site.open("2025-03-26");
    let refused =
        json(400, error("9", -32600, "initialize opens a session, so it cannot be in one"));
    for id in [&*session, UNKNOWN_SESSION, "nobody", ""] {
        assert_eq!(site.post(&in_session(id), initialize("9", "2025-03-26")), refused, "{id}");
    }
    let refused = json(400, fault(-32600, "initialize must not be in a batch"));
    for lines in [POST.to_string(), in_session(&session)] {
        let body = format!("[{},{}]", plain("1", "ping", ""), initialize("9", "2025-03-26"));
        assert_eq!(site.post(&lines, body), refused);
    }
    assert_eq!(site.post(&in_session(&session), plain("1", "ping", "")).status, 200);
    assert_eq!(site.http.connections().count(), 1);
}

/// Proves H-HTTP-172, H-HA-01, H-HR-05.
#[test]
fn a_client_ends_its_session_and_everything_in_it() {
    let mut site = Site::new();
    let session = site.open("2025-11-25");
    let (turn, request) = site.ask(&in_session(&session), &plain("1", "tools/list", ""));
    let token = r#""_meta":{"progressToken":2}"#;
    let (slow, other) = site.ask(&in_session(&session), &plain("2", "tools/list", token));
    site.progress(other.id, 1);
    let listening = site.send("GET", &get(&session), "");
    assert_eq!(site.read_response(listening), stream(&[priming("0-0")], false));
    assert_eq!(site.read_response(slow).chunks.len(), 2);

    let ended = site.send("DELETE", &get(&session), "");
    assert_eq!(site.read_response(ended), status(200));
    // The session ends at the next poll, and a response comes too late.
    let refused =
        site.with_machine(request.id, |server, out| server.respond(request.id, &(), out).is_err());
    assert!(refused);
    for turn in [turn, slow, listening] {
        let chunks = site.read_response(turn).chunks.len();
        assert!(site.read_response(turn).is_over);
        assert_eq!(site.read_response(turn).chunks.len(), chunks);
    }
    let events = site.settle();
    let cancelled = |event: &&ServerEvent<'_>| matches!(event, ServerEvent::Cancelled(_));
    assert_eq!(events.iter().filter(cancelled).count(), 2);
    closed(&events, Cause::ShutDown);
    assert_eq!(site.post(&in_session(&session), plain("3", "ping", "")), gone());
    for method in ["GET", "DELETE"] {
        let turn = site.send(method, &get(&session), "");
        assert_eq!(site.read_response(turn), gone(), "{method}");
    }
    site.assert_forgotten();
}

/// Proves H-HTTP-174.
#[test]
fn a_session_is_bound_to_its_principal() {
    let mut site = Site::new();
    site.principal = Principal::new(1);
    let session = site.open("2025-11-25");
    site.principal = Principal::new(2);
    assert_eq!(site.post(&in_session(&session), plain("1", "ping", "")), gone());
    for method in ["GET", "DELETE"] {
        let turn = site.send(method, &get(&session), "");
        assert_eq!(site.read_response(turn), gone());
    }
    site.principal = Principal::new(1);
    assert_eq!(site.post(&in_session(&session), plain("1", "ping", "")).status, 200);
}

/// Proves H-HTTP-166, H-HTTP-175, H-HR-18.
#[test]
fn an_idle_session_ends_after_the_timeout() {
    let mut site = Site::with(|http, _| http.session_idle = Some(Duration::from_secs(60)));
    let session = site.open("2025-11-25");
    site.elapse(59_000);
    assert_eq!(site.post(&in_session(&session), plain("1", "ping", "")).status, 200);
    assert!(site.elapse(59_999).is_empty());
    assert_eq!(site.http.sessions(), 1);
    closed(&site.elapse(1), Cause::ShutDown);
    assert_eq!(site.post(&in_session(&session), plain("1", "ping", "")), gone());
    site.assert_forgotten();

    // An open stream is use, and so is an open request.
    let session = site.open("2025-11-25");
    let listening = site.send("GET", &get(&session), "");
    site.read_response(listening);
    assert!(site.elapse(600_000).is_empty());
    site.disconnect(listening);
    let (turn, request) = site.ask(&in_session(&session), &plain("1", "tools/list", ""));
    assert!(site.elapse(600_000).is_empty());
    site.read_response(turn);
    site.respond(request.id, r#"{"tools":[]}"#);
    assert!(site.read_response(turn).is_over);
    closed(&site.elapse(600_000), Cause::ShutDown);
    site.assert_forgotten();

    // A resumable stream does not extend the life of an idle session.
    let session = site.open("2025-11-25");
    let (turn, request) = site.ask(&in_session(&session), &plain("1", "tools/list", ""));
    site.elapse(15_000);
    site.read_response(turn);
    site.disconnect(turn);
    assert!(site.elapse(120_000).is_empty(), "it is worked on");
    site.respond(request.id, r#"{"tools":[]}"#);
    closed(&site.elapse(60_000), Cause::ShutDown);
    site.assert_forgotten();
}

/// Proves H-HTTP-175.
#[test]
fn there_are_as_many_sessions_as_allowed() {
    let mut site = Site::with(|http, _| http.most_sessions = 2);
    let first = site.open("2025-11-25");
    site.open("2025-11-25");
    assert_eq!(site.post(POST, initialize("0", "2025-11-25")), super::flood::full());
    let received =
        site.post(&super::site::modern_headers("server/discover"), super::validator::discover());
    assert_eq!(received.status, 200, "what stands alone is not meant");
    let turn = site.send("DELETE", &get(&first), "");
    site.read_response(turn);
    site.open("2025-11-25");
    assert_eq!(site.http.sessions(), 2);
}

/// A session whose server closes by itself leaves nothing behind.
///
/// Proves H-HTTP-166.
#[test]
fn a_session_that_the_server_ends_is_gone() {
    let mut site = Site::new();
    let session = site.open("2025-11-25");
    let listening = site.send("GET", &get(&session), "");
    site.read_response(listening);
    let (turn, request) = site.ask(&in_session(&session), &plain("1", "tools/list", ""));
    site.with_machine(request.id, |server, _| server.close());
    assert_eq!(site.post(&in_session(&session), plain("2", "ping", "")), gone());
    closed(&site.settle(), Cause::ShutDown);
    assert_eq!(site.read_response(listening), stream(&[priming("0-0")], true));
    // The stream ends without a response.
    assert_eq!(site.read_response(turn), stream::<&str>(&[], true));
    site.assert_forgotten();
}

/// Proves H-HR-17.
#[test]
fn a_shutdown_finishes_open_requests_and_refuses_new_ones() {
    let mut site = Site::new();
    let session = site.open("2025-11-25");
    let listening = site.send("GET", &get(&session), "");
    site.read_response(listening);
    let (old, in_it) = site.ask(&in_session(&session), &plain("1", "tools/list", ""));
    let (new, beside) = site.ask(
        &super::site::modern_headers("tools/list"),
        &message::modern_request("1", "tools/list", ""),
    );
    let subscribed = site.send(
        "POST",
        &super::site::modern_headers("subscriptions/listen"),
        message::modern_request(
            "7",
            "subscriptions/listen",
            r#""notifications":{"toolsListChanged":true}"#,
        ),
    );
    assert_eq!(site.read_response(subscribed).chunks.len(), 1);

    site.http.shut_down(Duration::from_secs(5), site.now);
    let events = site.settle();
    let draining = events.iter().filter(|event| matches!(event, ServerEvent::Draining { .. }));
    assert_eq!(draining.count(), 3, "{events:?}");
    let refused = json(503, fault(-32603, "the server is shutting down"));
    let turns = [
        site.send("POST", POST, initialize("0", "2025-11-25")),
        site.send(
            "POST",
            &super::site::modern_headers("server/discover"),
            super::validator::discover(),
        ),
        site.send("GET", &get(&session), ""),
    ];
    for turn in turns {
        assert_eq!(site.read_response(turn), refused);
    }
    let received = site.post(&in_session(&session), plain("2", "tools/list", ""));
    assert_eq!(received, json(503, error("2", -32603, "the connection is shutting down")));
    let received = site.read_response(subscribed);
    assert_eq!((received.chunks.len(), received.is_over), (2, true), "{received:?}");
    assert!(received.chunks[1].starts_with(r#"data: {"jsonrpc":"2.0","id":7,"result":{"#));
    site.respond(in_it.id, r#"{"tools":[]}"#);
    site.respond(beside.id, r#"{"tools":[]}"#);
    assert_eq!(site.read_response(old), json(200, result("1", r#""tools":[]"#)));
    assert_eq!(site.read_response(new), json(200, message::cacheable("1", r#""tools":[]"#)));
    closed(&site.settle(), Cause::ShutDown);
    assert_eq!(site.read_response(listening), stream(&[priming("0-0")], true));
    site.assert_forgotten();

    // A request that exceeds the grace period is cancelled.
    let mut site = Site::new();
    let (turn, request) = site.ask(
        &super::site::modern_headers("tools/list"),
        &message::modern_request("1", "tools/list", ""),
    );
    site.http.shut_down(Duration::from_secs(5), site.now);
    site.settle();
    let events = site.elapse(5_000);
    assert!(
        matches!(&events[..], [ServerEvent::Cancelled(cancelled), ServerEvent::Closed { .. }]
        if cancelled.id == request.id),
        "{events:?}"
    );
    assert!(site.read_response(turn).is_over);
    site.assert_forgotten();
}

/// Proves H-HTTP-137, H-HTTP-147, H-HR-06, H-HR-07.
#[test]
fn notifications_and_responses_are_accepted_at_any_time() {
    let mut site = Site::new();
    let opening = site.send("POST", POST, initialize("0", "2025-11-25"));
    let session = site.read_response(opening).headers[1].replace("Mcp-Session-Id: ", "");
    let lines = in_session(&session);
    assert!(matches!(site.events()[..], [ServerEvent::Opened(_)]));
    // The first request overtakes `notifications/initialized`.
    let (turn, request) = site.ask(&lines, &plain("1", "tools/list", ""));
    site.respond(request.id, r#"{"tools":[]}"#);
    assert_eq!(site.read_response(turn), json(200, result("1", r#""tools":[]"#)));
    for body in [
        notification("notifications/initialized", ""),
        notification("notifications/initialized", ""),
        notification("notifications/cancelled", r#""requestId":77"#),
        notification("notifications/cancelled", ""),
        notification("notifications/unheard", ""),
        // Responses to unknown or ended requests.
        r#"{"jsonrpc":"2.0","id":5,"result":{}}"#.into(),
        error(r#""x""#, 5, "no"),
        fault(-32700, "what?"),
    ] {
        assert_eq!(site.post(&lines, &body), status(202), "{body}");
    }
    let body = r#"{"jsonrpc":"2.0","id":5,"result":{},"error":{}}"#;
    assert_eq!(site.post(&lines, body).status, 400);
}

/// Proves H-HR-19.
#[test]
fn an_id_is_in_flight_once_in_a_session() {
    let mut site = Site::with(|_, server| server.connection.limits.violations_in_a_row = 3);
    let session = site.open("2025-11-25");
    let body = plain("1", "tools/list", "");
    let (turn, request) = site.ask(&in_session(&session), &body);
    let refused = json(400, error("1", -32600, "the id is in flight already"));
    for _ in 0..3 {
        assert_eq!(site.post(&in_session(&session), &body), refused);
    }
    // After several violations the error is generic, and the request is still refused.
    let received = site.post(&in_session(&session), &body);
    assert_eq!(received, json(400, fault(-32600, "the request was refused")));
    site.respond(request.id, r#"{"tools":[]}"#);
    assert_eq!(site.read_response(turn), json(200, result("1", r#""tools":[]"#)));
    let (turn, request) = site.ask(&in_session(&session), &body);
    site.respond(request.id, r#"{"tools":[]}"#);
    assert_eq!(site.read_response(turn), json(200, result("1", r#""tools":[]"#)));
}

/// The limit of requests in flight is no matter of HTTP.
///
/// Proves H-HR-19.
#[test]
fn a_request_too_many_is_refused_with_an_error() {
    let mut site = Site::with(|_, server| server.connection.limits.inbound_requests = 1);
    let session = site.open("2025-11-25");
    let (turn, request) = site.ask(&in_session(&session), &plain("1", "tools/list", ""));
    let refused = json(200, error("2", -32603, "too many requests in flight"));
    assert_eq!(site.post(&in_session(&session), plain("2", "tools/list", "")), refused);
    site.respond(request.id, r#"{"tools":[]}"#);
    assert_eq!(site.read_response(turn), json(200, result("1", r#""tools":[]"#)));
}

/// A request that is cancelled before any message about it was sent gets no response.
///
/// Proves H-HTTP-143.
#[test]
fn a_cancelled_request_of_a_session_ends_without_an_answer() {
    let mut site = Site::new();
    let session = site.open("2025-11-25");
    let (turn, request) = site.ask(&in_session(&session), &plain("1", "tools/list", ""));
    assert_eq!(site.read_response(turn).status, 0);
    let cancelled = notification("notifications/cancelled", r#""requestId":1"#);
    assert_eq!(site.post(&in_session(&session), cancelled), status(202));
    assert_eq!(site.read_response(turn), stream::<&str>(&[], true));
    let late =
        site.with_machine(request.id, |server, out| server.respond(request.id, &(), out).is_err());
    assert!(late);

    // The cancellation of a request to the client, whose parent was cancelled, belongs to no other POST.
    let call = plain("3", "tools/call", r#""name":"t""#);
    let (turn, request) = site.ask(&in_session(&session), &call);
    let now = site.now;
    site.with_machine(request.id, |server, out| {
        let need = mcp_sansio::model::InputRequired::new().roots("r");
        server.require_input(&request, &need, now, out).unwrap();
    });
    assert!(site.news(turn).concat().contains("roots/list"));
    let cancelled = notification("notifications/cancelled", r#""requestId":3"#);
    assert_eq!(site.post(&in_session(&session), cancelled), status(202));
    assert!(site.settle().is_empty());
    assert!(site.read_response(turn).is_over);

    // A disconnect is no cancellation.
    let (turn, request) = site.ask(&in_session(&session), &plain("2", "tools/list", ""));
    site.disconnect(turn);
    assert!(site.settle().is_empty());
    site.respond(request.id, r#"{"tools":[]}"#);
    assert_eq!(site.part_after_end(turn), ResponsePart::End);
    assert!(site.settle().is_empty());
}
