//! Clients that disconnect, do not listen, or are slow.

use std::time::Duration;

use mcp_sansio::config::KeepAlive;
use mcp_sansio::error::NotAllowed;
use mcp_sansio::http::ResponseMode;
use mcp_sansio::model::LoggingLevel;
use mcp_sansio::subscription::{ChangedList, Log};
use mcp_sansio::{CallError, ServerEvent};

use super::message::{notification, plain, result};
use super::site::{Site, get, in_session, json, numbered, stream};
use super::standalone::{changed, elicit, listen};

const TOOLS: &str = r#"{"tools":[]}"#;

fn call(id: &str) -> String {
    plain(id, "tools/call", r#""name":"t""#)
}

fn come_back(session: &str, last: &str) -> String {
    format!("{}\nLast-Event-ID: {last}", get(session))
}

/// In JSON mode a slow response has no deadline, and the connection is not polled meanwhile.
#[test]
fn a_response_of_json_has_no_deadline() {
    let mut site = Site::with(|http, _| http.responses = ResponseMode::Json);
    let session = site.open("2025-11-25");
    let (turn, request) = site.ask(&in_session(&session), &plain("1", "tools/list", ""));
    assert_eq!(site.read_response(turn).status, 0);
    for _ in 0..3 {
        site.elapse(15_000);
        site.http.woken().for_each(drop);
        assert_eq!(site.read_response(turn).status, 0);
        assert_eq!(site.settle(), []);
        assert_eq!(site.http.woken().count(), 0);
    }
    site.respond(request.id, TOOLS);
    assert_eq!(site.read_response(turn), json(200, result("1", r#""tools":[]"#)));
}

/// The idle timeout of a session begins after its last use.
///
/// Proves H-HTTP-175.
#[test]
fn a_session_that_was_just_used_does_not_end() {
    let idle = |http: &mut mcp_sansio::http::HttpServerConfig| {
        http.session_idle = Some(Duration::from_secs(60));
    };
    // The last use is a response.
    let mut site = Site::with(|http, _| idle(http));
    let session = site.open("2025-11-25");
    let (turn, request) = site.ask(&in_session(&session), &plain("1", "tools/list", ""));
    site.elapse(59_000);
    site.respond(request.id, TOOLS);
    assert!(site.read_response(turn).is_over);
    site.elapse(59_999);
    assert_eq!(site.http.sessions(), 1);
    site.elapse(1);
    assert_eq!(site.http.sessions(), 0);
    // The last use is an event stream that breaks off.
    let mut site = Site::with(|http, _| idle(http));
    let session = site.open("2025-11-25");
    let listening = listen(&mut site, &session);
    site.elapse(60_000);
    site.elapse(59_000);
    site.disconnect(listening);
    site.elapse(59_999);
    let turn = site.send("GET", &come_back(&session, "0-0"), "");
    assert_eq!(site.read_response(turn).status, 200, "it comes back");
    // The last use is a request whose stream is no longer kept.
    let mut site = Site::with(|http, _| {
        idle(http);
        http.kept_for = Duration::from_secs(10);
    });
    let session = site.open("2025-11-25");
    let (turn, request) = site.ask(&in_session(&session), &plain("1", "tools/list", ""));
    site.elapse(15_000);
    site.read_response(turn);
    site.disconnect(turn);
    site.elapse(10_000);
    assert_eq!(site.elapse(600_000), []);
    site.respond(request.id, TOOLS);
    assert!(matches!(site.elapse(60_000)[..], [ServerEvent::Closed { .. }]));
}

/// A message that a cancelled request leaves behind is not its response.
///
/// Proves H-HTTP-138.
#[test]
fn a_notification_is_no_json_response() {
    let mut site = Site::new();
    let session = site.open("2025-06-18");
    let lines = in_session(&session);
    let (turn, request) = site.ask(&lines, &plain("1", "tools/list", ""));
    site.with_machine(request.id, |server, out| {
        let log = Log::new(LoggingLevel::Error, "busy").about(request.id);
        server.notifications().log(&log, out).unwrap();
    });
    site.post(&lines, notification("notifications/cancelled", r#""requestId":1"#));
    let log = notification("notifications/message", r#""level":"error","data":"busy""#);
    assert_eq!(site.read_response(turn), stream(&[super::site::event(log)], true));
    // A request of the server is not its response either.
    let (turn, request) = site.ask(&lines, &plain("2", "tools/list", ""));
    elicit(&mut site, request.id).unwrap();
    site.post(&lines, notification("notifications/cancelled", r#""requestId":2"#));
    let received = site.read_response(turn);
    assert!(received.headers.contains(&"Content-Type: text/event-stream".into()), "{received:?}");
}

/// The server requests that wait for a client that does not read its stream are limited.
///
/// Proves H-HTTP-08.
#[test]
fn server_requests_for_a_stalled_client_are_bounded() {
    let mut site = Site::with(|http, _| {
        http.responses = ResponseMode::Json;
        http.standalone_bytes = 1_000;
    });
    let session = site.open("2025-06-18");
    let lines = in_session(&session);
    let standalone = listen(&mut site, &session);
    let mut asked = Vec::new();
    for id in 1..40 {
        let (turn, request) = site.ask(&lines, &call(&id.to_string()));
        asked.push(elicit(&mut site, request.id).is_ok());
        site.read_response(turn);
        let cancelled = notification("notifications/cancelled", &format!(r#""requestId":{id}"#));
        site.post(&lines, cancelled);
        site.with_machine(request.id, |server, out| {
            server.cancel_calls_made_for(request.id, None, out);
        });
        site.read_response(turn);
        site.settle();
    }
    assert!(asked[0] && !asked[38]);
    let waited: usize = site.read_response(standalone).chunks.iter().map(String::len).sum();
    assert!((1_000..1_300).contains(&waited), "{waited} bytes");
    // The client reads again, and accepts new requests.
    let (_, request) = site.ask(&lines, &call("40"));
    assert!(elicit(&mut site, request.id).is_ok());
}

/// A client without an event stream is not unresponsive.
#[test]
fn a_client_that_does_not_listen_is_not_unresponsive() {
    let mut site = Site::with(|_, server| {
        let mut keep_alive = KeepAlive::every(Duration::from_secs(20));
        keep_alive.close_after = Some(2);
        server.connection.keep_alive = Some(keep_alive);
    });
    let session = site.open("2025-11-25");
    let (turn, request) = site.ask(&in_session(&session), &plain("1", "tools/list", ""));
    for _ in 0..40 {
        assert_eq!(site.elapse(5_000), []);
        site.read_response(turn);
    }
    site.respond(request.id, TOOLS);
    assert!(site.read_response(turn).is_over);
    // A client with an event stream receives pings, and has to respond.
    let listening = listen(&mut site, &session);
    let mut events = Vec::new();
    for _ in 0..40 {
        events.extend(site.elapse(5_000));
        site.read_response(listening);
    }
    assert!(
        matches!(
            events[..],
            [.., ServerEvent::Unresponsive { missed: 2 }, ServerEvent::Closed { .. }]
        ),
        "{events:?}"
    );
}

/// A response is closed only if its client can resume it.
///
/// Proves H-HTTP-186.
#[test]
fn no_more_responses_are_closed_than_streams_are_kept() {
    let mut site = Site::new();
    let session = site.open("2025-11-25");
    let mut closed = Vec::new();
    for id in 1..=17 {
        let (turn, request) = site.ask(&in_session(&session), &call(&id.to_string()));
        let is_closed = site.with_machine(request.id, |_, out| out.close_response(request.id));
        assert_eq!(is_closed, id <= 16, "{id}");
        assert_eq!(site.read_response(turn).is_over, is_closed);
        if is_closed {
            closed.push((request.id, id));
        }
    }
    for (request, id) in closed {
        site.respond(request, r#"{"content":[]}"#);
        let turn = site.send("GET", &come_back(&session, &format!("{}-0", id + 2)), "");
        let answer = result(&id.to_string(), r#""content":[]"#);
        let answer = numbered(&format!("{}-1", id + 2), answer);
        assert_eq!(site.read_response(turn), stream(&[answer], true), "call {id}");
    }
}

/// The same for responses that are closed before any of them has ended.
///
/// Proves H-HTTP-186.
#[test]
fn responses_that_are_about_to_close_count() {
    let mut site = Site::with(|http, _| http.kept_streams = 2);
    let session = site.open("2025-11-25");
    let calls = ["1", "2", "3"].map(|id| site.ask(&in_session(&session), &call(id)));
    let closed = calls.map(|(turn, request)| {
        let is_closed = site.with_machine(request.id, |_, out| out.close_response(request.id));
        (turn, is_closed)
    });
    for ((turn, is_closed), expected) in closed.into_iter().zip([true, true, false]) {
        assert_eq!((is_closed, site.read_response(turn).is_over), (expected, expected));
    }
}

/// Streams that no client can resume do not count.
///
/// Proves H-HTTP-186.
#[test]
fn a_stream_that_cannot_be_resumed_takes_no_room() {
    let mut site = Site::with(|http, _| http.kept_streams = 1);
    let session = site.open("2025-11-25");
    // The standalone stream waits for a client, and another stream broke off before its first event.
    changed(&mut site, ChangedList::Tools).unwrap();
    let (lost, _) = site.ask(&in_session(&session), &call("1"));
    site.disconnect(lost);
    let (turn, request) = site.ask(&in_session(&session), &call("2"));
    assert!(site.with_machine(request.id, |_, out| out.close_response(request.id)));
    assert!(site.read_response(turn).is_over);
}

/// A request of the server is refused if the client of its parent request has disconnected for good. Pain 43.
#[test]
fn a_server_request_for_a_disconnected_client_is_refused() {
    let refused = Err(CallError::NotAllowed(NotAllowed::Transport).to_string());
    let mut site = Site::new();
    let session = site.open("2025-06-18");
    let standalone = listen(&mut site, &session);
    let (turn, request) = site.ask(&in_session(&session), &call("1"));
    site.disconnect(turn);
    assert_eq!(elicit(&mut site, request.id).map(drop), refused);
    assert_eq!(site.news(standalone), [""; 0]);
    // A request about another parent is accepted.
    let (turn, request) = site.ask(&in_session(&session), &call("2"));
    assert!(elicit(&mut site, request.id).is_ok());
    assert_eq!(site.read_response(turn).chunks.len(), 1);
}

/// A response that is too large to be kept does not displace kept events.
///
/// Proves H-HTTP-199.
#[test]
fn an_event_that_cannot_be_kept_leaves_the_others() {
    let mut site = Site::new();
    let session = site.open("2025-11-25");
    let (turn, request) = site.ask(&in_session(&session), &call("7"));
    site.with_machine(request.id, |_, out| out.close_response(request.id));
    site.read_response(turn);
    site.respond(request.id, r#"{"content":[]}"#);
    let answer = [numbered("3-1", result("7", r#""content":[]"#))];
    let turn = site.send("GET", &come_back(&session, "3-0"), "");
    assert_eq!(site.read_response(turn), stream(&answer, true));
    let (beside, other) = site.ask(&in_session(&session), &call("8"));
    let large = "x".repeat(1 << 20);
    site.respond(other.id, &format!(r#"{{"content":[{{"type":"text","text":"{large}"}}]}}"#));
    assert!(site.read_response(beside).is_over);
    let turn = site.send("GET", &come_back(&session, "3-0"), "");
    assert_eq!(
        site.read_response(turn),
        stream(&answer, true),
        "once more, if it was lost on the way"
    );
}
