//! Assumed sessions: single requests of clients up to 2025-11-25, without a session id.

use std::time::Duration;

use mcp_sansio::config::KeepAlive;
use mcp_sansio::error::NotAllowed;
use mcp_sansio::http::SessionMode;
use mcp_sansio::{CallError, CallOptions, Era, RevisionSet, ServerEvent};

use super::message::{error, fault, initialize, notification, plain, progress, result};
use super::site::{
    POST, Site, event, get, in_session, json, modern_headers, replaced, status, stream,
};
use super::standalone::elicit;
use super::validator::{DISCOVER, discover};

fn site() -> Site {
    Site::with(|http, _| http.sessions = SessionMode::Assumed)
}

/// Proves H-HTTP-150, H-HTTP-152, H-HTTP-172, H-HTTP-180, H-HTTP-226, H-HA-09, L-HTTP-06.
#[test]
fn a_request_of_a_session_can_be_served_without_one() {
    for (version, revision) in [
        (None, "2025-03-26"),
        (Some("2024-11-05"), "2024-11-05"),
        (Some("2025-06-18"), "2025-06-18"),
        (Some("2025-11-25"), "2025-11-25"),
    ] {
        let mut site = site();
        let lines = match version {
            Some(version) => replaced(POST, "MCP-Protocol-Version", version),
            None => POST.to_string(),
        };
        let body = plain("0", "tools/list", r#""_meta":{"progressToken":1}"#);
        let (turn, request) = site.ask(&lines, &body);
        let context = request.context;
        assert_eq!((context.era(), context.revision.name()), (Era::Legacy, revision));
        assert!(elicit(&mut site, request.id).is_err(), "nobody can be asked");
        // A request without a capability is not possible either: there is no stream for it.
        let now = site.now;
        site.with_machine(request.id, |server, out| {
            let options = CallOptions::new().parent(request.id);
            let asked = server.call_method("ping", &(), options, now, out);
            assert_eq!(asked, Err(CallError::NotAllowed(NotAllowed::Transport)));
            assert_eq!(server.in_flight().counts().outbound, 0);
        });
        site.respond(request.id, r#"{"tools":[]}"#);
        assert_eq!(site.read_response(turn), json(200, result("0", r#""tools":[]"#)));

        let (turn, request) = site.ask(&lines, &body);
        site.progress(request.id, 1);
        site.with_machine(request.id, |server, out| {
            _ = server
                .notifications()
                .list_changed(mcp_sansio::subscription::ChangedList::Tools, out);
        });
        site.reject(request.id, -32601, "no");
        let expected = [event(progress("1", 1)), event(error("0", -32601, "no"))];
        assert_eq!(site.read_response(turn), stream(&expected, true));
        let (turn, request) = site.ask(&lines, &body);
        site.reject(request.id, -32601, "no");
        assert_eq!(site.read_response(turn), json(200, error("0", -32601, "no")));

        assert_eq!(site.post(&lines, plain("1", "ping", "")), json(200, result("1", "")));
        let received = site.post(&lines, plain("1", "server/discover", ""));
        assert_eq!(received, json(200, error("1", -32601, "method not available in this session")));
        site.assert_forgotten();
    }
}

/// Proves H-HTTP-150, H-HTTP-223.
#[test]
fn nothing_is_remembered_of_a_session_that_is_taken_for_granted() {
    let mut site = site();
    let received = site.post(POST, initialize("0", "2025-11-25"));
    assert_eq!((received.status, received.headers.len()), (200, 1), "no id");
    assert!(received.chunks[0].contains(r#""protocolVersion":"2025-11-25""#));
    assert_eq!(site.post(POST, notification("notifications/initialized", "")), status(202));
    let cancelled = notification("notifications/cancelled", r#""requestId":1"#);
    assert_eq!(site.post(&in_session("whatever"), cancelled), status(202));
    let nothing_asked = "there are no sessions, so nothing is asked of clients";
    let received = site.post(POST, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    assert_eq!(received, json(400, fault(-32600, nothing_asked)));
    for method in ["GET", "DELETE"] {
        let turn = site.send(method, &get("whatever"), "");
        let received = site.read_response(turn);
        assert_eq!((received.status, &*received.headers[1]), (405, "Allow: POST"), "{method}");
    }
    let batch = format!("[{},{}]", plain("1", "ping", ""), plain("2", "ping", ""));
    let answers = format!("[{},{}]", result("1", ""), result("2", ""));
    assert_eq!(site.post(POST, &batch), json(200, answers));
    let lines = replaced(POST, "MCP-Protocol-Version", "2025-06-18");
    let refused = json(400, fault(-32600, "this revision has no batches"));
    assert_eq!(site.post(&lines, &batch), refused);
    let lines = replaced(POST, "MCP-Protocol-Version", "2024-13-99");
    let refused = json(400, error("1", -32600, "MCP-Protocol-Version is not usable"));
    assert_eq!(site.post(&lines, plain("1", "ping", "")), refused);
    assert_eq!(site.post(&modern_headers(DISCOVER), discover()).status, 200);
    site.assert_forgotten();

    // The mode is not the default, and it needs a revision with sessions.
    assert_eq!(Site::new().post(POST, plain("1", "ping", "")).status, 400);
    let mut modern = Site::with(|http, server| {
        http.sessions = SessionMode::Assumed;
        server.revisions = RevisionSet::MODERN;
    });
    assert_eq!(modern.post(POST, initialize("0", "2025-11-25")).status, 400);
}

/// A ping has no stream on which it could reach the client, so its absence says nothing.
#[test]
fn a_client_without_a_session_is_not_pinged() {
    let mut site = Site::with(|http, server| {
        http.sessions = SessionMode::Assumed;
        let mut policy = KeepAlive::every(Duration::from_secs(20));
        policy.close_after = Some(2);
        server.connection.keep_alive = Some(policy);
    });
    let lines = replaced(POST, "MCP-Protocol-Version", "2025-11-25");
    let (turn, request) = site.ask(&lines, &plain("1", "tools/list", ""));
    for _ in 0..40 {
        assert_eq!(site.elapse(5_000), []);
    }
    site.respond(request.id, r#"{"tools":[]}"#);
    assert_eq!(site.read_response(turn), json(200, result("1", r#""tools":[]"#)));
}

/// A disconnect is no cancellation in this mode either, and the server keeps nothing for a disconnected client.
///
/// Proves H-HTTP-143, H-HTTP-150.
#[test]
fn a_disconnect_from_an_assumed_session_cancels_no_request() {
    let mut site = site();
    let (turn, request) = site.ask(POST, &plain("1", "tools/list", ""));
    site.disconnect(turn);
    assert!(site.settle().is_empty());
    assert_eq!(site.http.connections().count(), 1);
    site.respond(request.id, r#"{"tools":[]}"#);
    site.assert_forgotten();
}

/// The responses to a batch are written together, and nothing reads them.
#[test]
fn the_batch_of_a_disconnected_client_is_forgotten() {
    let mut site = site();
    let list = |id| plain(id, "tools/list", "");
    let turn = site.send("POST", POST, format!("[{},{}]", list("1"), list("2")));
    let events = site.events().into_iter();
    let requests: Vec<_> = events
        .map(|event| match event {
            ServerEvent::Request(request) => request.id,
            other => panic!("not a request: {other:?}"),
        })
        .collect();
    site.disconnect(turn);
    assert!(site.settle().is_empty());
    for request in requests {
        assert_eq!(site.http.connections().count(), 1);
        site.respond(request, r#"{"tools":[]}"#);
    }
    site.assert_forgotten();
}
