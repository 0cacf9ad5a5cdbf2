//! Sessions that continue in another process.

use std::sync::Arc;

use mcp_sansio::error::RestoreSessionError;
use mcp_sansio::http::{HttpServer, HttpServerConfig, SavedHttpSession};
use mcp_sansio::model::{LoggingLevel, method};
use mcp_sansio::subscription::{ChangedList, Delivery, Log};
use mcp_sansio::{CallOptions, ClientRequest, Principal, Revision, ServerConfig, ServerEvent};
use mcp_sansio_proptests::config;
use serde_json::{Value, json};

use super::message::{error, fault, plain, progress, result};
use super::site::{
    ResponseParts, Site, Turn, get, in_session, json as json_response, numbered, priming, status,
    stream,
};
use super::standalone::{accept, changed, elicit, listen};

const CONTENT: &str = r#"{"content":[]}"#;

fn call(id: &str) -> String {
    plain(id, "tools/call", &format!(r#""name":"t","_meta":{{"progressToken":{id}}}"#))
}

fn answer(id: &str) -> String {
    result(id, r#""content":[]"#)
}

fn resume(site: &mut Site, session: &str, last: &str) -> Turn {
    site.send("GET", &format!("{}\nLast-Event-ID: {last}", get(session)), "")
}

/// Ends a session for its client.
fn end(site: &mut Site, session: &str) -> ResponseParts {
    let turn = site.send("DELETE", &in_session(session), "");
    site.read_response(turn)
}

/// Sends the notification of a changed resource in the only session.
fn updated(site: &mut Site, uri: &str) -> Option<Delivery> {
    let connection = site.http.connections().next().unwrap();
    let notified = site.http.with(connection, site.now, |server, out| {
        server.notifications().resource_updated(uri, out)
    });
    notified.unwrap().ok()
}

fn log(site: &mut Site, level: LoggingLevel) -> Option<Delivery> {
    let connection = site.http.connections().next().unwrap();
    let (log, now) = (Log::new(level, "text"), site.now);
    let logged =
        site.http.with(connection, now, |server, out| server.notifications().log(&log, out));
    logged.unwrap().ok()
}

#[test]
fn a_request_is_served_in_the_next_process() {
    for revision in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut site = Site::new();
        let session = site.open(revision);
        site.restart();
        let (turn, request) = site.ask(&in_session(&session), &call("7"));
        assert_eq!(Some(request.context.revision), Revision::from_name(revision));
        assert_eq!(request.context.capabilities.to_string(), capabilities_in(revision));
        site.respond(request.id, CONTENT);
        assert_eq!(site.read_response(turn), json_response(200, answer("7")), "{revision}");
        assert_eq!(end(&mut site, &session), status(200));
        site.assert_forgotten();
    }
}

/// Returns the capabilities that the client of [`Site::open`] has declared.
fn capabilities_in(revision: &str) -> &'static str {
    if revision == "2025-03-26" {
        "roots, sampling"
    } else {
        "roots, sampling, elicitation, elicitation.form"
    }
}

#[test]
fn events_are_resumed_in_the_next_process() {
    let mut site = Site::new();
    let session = site.open("2025-11-25");
    let (turn, request) = site.ask(&in_session(&session), &call("7"));
    site.progress(request.id, 1);
    let begun = [priming("3-0"), numbered("3-1", progress("7", 1))];
    assert_eq!(site.read_response(turn), stream(&begun, false));
    site.progress(request.id, 2);
    site.read_response(turn);
    site.disconnect(turn);
    // This response is never sent by the first process.
    site.respond(request.id, CONTENT);
    let standalone = listen(&mut site, &session);
    assert_eq!(site.news(standalone).len(), 0);
    site.restart();

    let turn = resume(&mut site, &session, "3-1");
    let rest = [numbered("3-2", progress("7", 2)), numbered("3-3", answer("7"))];
    assert_eq!(site.read_response(turn), stream(&rest, true));
    // The next process restarts as well, and a stream that ended is still resumable.
    site.restart();
    let turn = resume(&mut site, &session, "3-2");
    assert_eq!(site.read_response(turn), stream(&rest[1..], true));
    let standalone = resume(&mut site, &session, "0-0");
    assert_eq!(site.read_response(standalone), stream::<&str>(&[], false));
    // The numbers of streams continue, so the ids of events remain unique in the session.
    let (turn, request) = site.ask(&in_session(&session), &call("8"));
    site.progress(request.id, 1);
    let begun = [priming("4-0"), numbered("4-1", progress("8", 1))];
    assert_eq!(site.read_response(turn), stream(&begun, false));
}

#[test]
fn a_request_in_flight_is_not_saved() {
    let mut site = Site::new();
    let session = site.open("2025-11-25");
    let (turn, request) = site.ask(&in_session(&session), &call("7"));
    site.progress(request.id, 1);
    assert_eq!(site.read_response(turn).chunks.len(), 2);
    elicit(&mut site, request.id).unwrap();
    site.restart();
    let gone = json_response(400, fault(-32600, "there is no such event any more"));
    let turn = resume(&mut site, &session, "3-1");
    assert_eq!(site.read_response(turn), gone);
    // The id may be used again, because its first request has ended with its process.
    let (turn, request) =
        site.ask(&in_session(&session), &plain("7", "tools/call", r#""name":"t""#));
    // The server's own ids continue: a response to the lost call is not taken for one to the next call.
    elicit(&mut site, request.id).unwrap();
    let asked = site.read_response(turn);
    assert!(asked.chunks[1].contains(r#""id":2,"method":"elicitation/create""#), "{asked:?}");
    for (id, is_known) in [("1", false), ("2", true)] {
        let turn = site.send("POST", &in_session(&session), accept(id));
        assert_eq!(site.read_response(turn), status(202));
        let events = site.events();
        let has_ended = matches!(events[..], [ServerEvent::CallEnded(_)]);
        let is_late = matches!(events[..], [ServerEvent::UnmatchedResponse(_)]);
        assert_eq!((has_ended, is_late), (is_known, !is_known), "{events:?}");
    }
}

/// The host of a call learns its end in its own process, so the client must not be asked by the next one.
#[test]
fn an_unsent_request_of_the_server_is_not_saved() {
    let mut site = Site::new();
    let session = site.open("2025-11-25");
    let connection = site.http.connections().next().unwrap();
    let now = site.now;
    let called = site.http.with(connection, now, |server, out| {
        let options = CallOptions::new();
        server.call::<method::ListRoots>(&Default::default(), options, now, out)
    });
    called.unwrap().unwrap();
    assert_eq!(changed(&mut site, ChangedList::Tools), Some(Delivery::Sent));
    site.restart();
    let standalone = listen(&mut site, &session);
    let received = site.read_response(standalone).chunks;
    assert_eq!(received.len(), 2, "{received:?}");
    assert!(received[1].contains("notifications/tools/list_changed"), "{received:?}");
}

#[test]
fn subscriptions_and_the_log_level_continue() {
    let mut site = Site::new();
    let session = site.open("2025-11-25");
    for (id, uri) in [("1", "file:///a"), ("2", "file:///b")] {
        let subscribe = plain(id, "resources/subscribe", &format!(r#""uri":"{uri}""#));
        let (_, request) = site.ask(&in_session(&session), &subscribe);
        site.respond(request.id, "{}");
    }
    let unsubscribe = plain("3", "resources/unsubscribe", r#""uri":"file:///b""#);
    let (_, request) = site.ask(&in_session(&session), &unsubscribe);
    site.respond(request.id, "{}");
    let level = plain("4", "logging/setLevel", r#""level":"error""#);
    let level = site.send("POST", &in_session(&session), level);
    let events = site.events();
    if let [ServerEvent::Request(request)] = &events[..] {
        assert!(matches!(request.kind, ClientRequest::SetLevel { .. }), "{request:?}");
        let id = request.id;
        site.respond(id, "{}");
    }
    site.read_response(level);
    // This message waits for a reader, and the next process sends it.
    assert_eq!(updated(&mut site, "file:///a"), Some(Delivery::Sent));
    site.restart();
    let reached = [
        updated(&mut site, "file:///a"),
        updated(&mut site, "file:///b"),
        log(&mut site, LoggingLevel::Warning),
        log(&mut site, LoggingLevel::Error),
    ];
    let deliveries = [Delivery::Sent, Delivery::NotWanted, Delivery::NotWanted, Delivery::Sent];
    assert_eq!(reached, deliveries.map(Some));
    let standalone = listen(&mut site, &session);
    let received = site.read_response(standalone).chunks;
    assert_eq!(received.len(), 4, "{received:?}");
    assert!(received[1].contains("file:///a") && received[2].contains("file:///a"));
    assert!(received[3].contains("notifications/message"), "{received:?}");
}

/// Until a client sets a level, that of the configuration applies.
#[test]
fn a_new_session_has_the_configured_log_level() {
    let mut site = Site::with(|_, server| server.log_level = LoggingLevel::Error);
    site.open("2025-11-25");
    assert_eq!(log(&mut site, LoggingLevel::Warning), Some(Delivery::NotWanted));
    assert_eq!(log(&mut site, LoggingLevel::Error), Some(Delivery::Sent));
}

/// Returns a site with one session, and the saved session as a value.
fn saved() -> (Site, String, Value) {
    let mut site = Site::new();
    let session = site.open("2025-11-25");
    let saved = serde_json::to_value(site.http.save_sessions()).unwrap();
    (site, session, saved[0].clone())
}

/// A later release must be able to read this text.
#[test]
fn the_format_of_version_1() {
    let mut site = Site::with(|_, server| server.connection.keep_handshake = true);
    site.principal = Principal::new(7);
    site.address = Some([192, 0, 2, 1].into());
    let session = site.open("2025-11-25");
    let (turn, request) = site.ask(&in_session(&session), &call("7"));
    site.progress(request.id, 1);
    site.respond(request.id, CONTENT);
    site.part(turn);
    site.part(turn);
    site.part(turn);
    site.disconnect(turn);
    let saved = serde_json::to_string(&site.http.save_sessions()).unwrap();
    let expected = format!(
        concat!(
            r#"[{{"session":{{"version":1,"revision":"2025-11-25","ready":true,"#,
            r#""serverCapabilities":["tools","tools.listChanged","resources","resources.subscribe","#,
            r#""resources.listChanged","prompts","prompts.listChanged","logging","completions"],"#,
            r#""clientCapabilities":["roots","sampling","elicitation","elicitation.form"],"#,
            r#""logLevel":"debug","grants":0,"resources":[],"nextId":1,"elicitations":[],"#,
            r#""initialize":"{{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{{\"roots\":{{}},"#,
            r#"\"sampling\":{{}},\"elicitation\":{{}}}},\"clientInfo\":{{\"name\":\"c\",\"version\":\"1\"}}}}"}},"#,
            r#""id":"{}","principal":7,"address":"192.0.2.1","nextStream":4,"#,
            r#""streams":[{{"number":3,"latest":1,"events":[[1,"{}"]],"unsent":["{}"]}}]}}]"#,
        ),
        session,
        progress("7", 1).replace('"', "\\\""),
        answer("7").replace('"', "\\\""),
    );
    assert_eq!(saved, expected);
    site.restart();
    let again = serde_json::to_string(&site.http.save_sessions()).unwrap();
    assert_eq!(again, expected);
}

/// The stream of an open request is not saved. Its number belongs to it even if the process is killed, because its client
/// could resume the stream of another request by it.
#[test]
fn reserved_numbers_of_streams_are_not_used_again() {
    let mut site = Site::new();
    let session = site.open("2025-11-25");
    let mut before = site.http.save_sessions().remove(0);
    let (turn, request) = site.ask(&in_session(&session), &call("7"));
    site.progress(request.id, 1);
    assert!(site.read_response(turn).chunks[0].starts_with("id: 3-"));
    let latest = site.http.save_sessions().remove(0);
    assert!(!before.covers(&latest), "stream 3 could be used again");
    before.reserve_streams(2);
    assert!(before.covers(&latest) && !latest.covers(&before));
    let level = site.send(
        "POST",
        &in_session(&session),
        plain("4", "resources/subscribe", r#""uri":"file:///a""#),
    );
    if let [ServerEvent::Request(request)] = &site.events()[..] {
        site.respond(request.id, "{}");
    }
    site.read_response(level);
    let changed = site.http.save_sessions().remove(0);
    assert!(!before.covers(&changed), "a subscription is missing");
    // A request that repeats the state is a change as well: it must not be acknowledged by a process that has lost the
    // session.
    let again = plain("5", "resources/subscribe", r#""uri":"file:///a""#);
    let (turn, request) = site.ask(&in_session(&session), &again);
    site.respond(request.id, "{}");
    site.read_response(turn);
    assert!(!changed.covers(&site.http.save_sessions()[0]));
    site.restart_with(&[before]);
    let gone = json_response(400, fault(-32600, "there is no such event any more"));
    let (turn, request) = site.ask(&in_session(&session), &call("8"));
    site.progress(request.id, 1);
    assert!(site.read_response(turn).chunks[0].starts_with("id: 5-"));
    let turn = resume(&mut site, &session, "3-1");
    assert_eq!(site.read_response(turn), gone);
}

#[test]
fn a_restored_session_belongs_to_its_owner() {
    let mut site = Site::new();
    site.principal = Principal::new(7);
    let session = site.open("2025-11-25");
    site.restart();
    let ping = plain("1", "ping", "");
    assert_eq!(site.post(&in_session(&session), &ping), json_response(200, result("1", "")));
    site.principal = Principal::new(8);
    assert_eq!(site.post(&in_session(&session), &ping).status, 404);
}

fn restore(
    saved: &Value,
    http: HttpServerConfig,
    server: ServerConfig,
) -> Result<(), RestoreSessionError> {
    let saved: SavedHttpSession = serde_json::from_value(saved.clone()).unwrap();
    let mut http = HttpServer::new(Arc::new(http), Arc::new(server));
    let restored = http.restore_session(&saved, Site::new().now).map(|_| ());
    assert_eq!(http.sessions(), usize::from(restored.is_ok()));
    assert_eq!(http.connections().count(), usize::from(restored.is_ok()));
    restored
}

#[test]
fn a_session_that_cannot_be_continued_is_refused() {
    let (site, _, saved) = saved();
    let other = |pointer: &str, value: Value| {
        let mut changed = saved.clone();
        *changed.pointer_mut(pointer).unwrap() = value;
        restore(&changed, HttpServerConfig::default(), config::server_of_both_eras())
    };
    assert_eq!(other("/principal", json!(3)), Ok(()));
    assert_eq!(other("/id", json!("x")), Err(RestoreSessionError::Malformed));
    assert_eq!(other("/session/nextId", json!(1_u64 << 53)), Err(RestoreSessionError::Malformed));
    let stream = json!([{"number": 9, "latest": 1}]);
    assert_eq!(other("/streams", stream), Err(RestoreSessionError::Malformed));
    for streams in [
        json!([{"number": 2, "latest": u64::MAX}]),
        json!([{"number": 2, "latest": 1, "events": [[u64::MAX, "{}"]]}]),
        json!([{"number": 2, "latest": null}]),
        json!([{"number": 2, "latest": 0}, {"number": 2, "latest": 0}]),
        json!([{"number": 2, "latest": 0}, {"number": 1, "latest": 0}]),
    ] {
        assert_eq!(
            other("/streams", streams.clone()),
            Err(RestoreSessionError::Malformed),
            "{streams}"
        );
    }
    assert_eq!(
        other("/streams", json!([{"number": 0, "latest": null}, {"number": 2, "latest": 0}])),
        Ok(())
    );
    assert_eq!(other("/nextStream", json!(1_u32 << 31)), Err(RestoreSessionError::Malformed));
    for revision in ["2026-07-28", "2031-01-01"] {
        assert_eq!(other("/session/revision", json!(revision)), Err(RestoreSessionError::Revision));
    }
    let limits = config::server_of_both_eras().connection.limits;
    let long = "x".repeat(limits.uri_bytes + 1);
    assert_eq!(other("/session/resources", json!([long])), Err(RestoreSessionError::TooLarge));
    let most = limits.subscriptions as usize;
    let uris: Vec<String> = (0..=most).map(|number| number.to_string()).collect();
    assert_eq!(other("/session/resources", json!(uris)), Err(RestoreSessionError::TooLarge));
    assert_eq!(other("/session/resources", json!(uris[1..])), Ok(()));

    let mut server = config::server_of_both_eras();
    server.revisions = server.revisions.without(Revision::V2025_11_25);
    let refused = restore(&saved, HttpServerConfig::default(), server);
    assert_eq!(refused, Err(RestoreSessionError::Revision));
    let mut http = HttpServerConfig::default();
    http.most_sessions = 0;
    assert_eq!(
        restore(&saved, http, config::server_of_both_eras()),
        Err(RestoreSessionError::Full)
    );
    // A second session with the same id would take over the first.
    let mut site = site;
    let again: SavedHttpSession = serde_json::from_value(saved.clone()).unwrap();
    assert_eq!(site.http.restore_session(&again, site.now), Err(RestoreSessionError::Present));
    assert_eq!(site.http.sessions(), 1);

    let mut newer = saved;
    newer["session"]["version"] = json!(2);
    let error = serde_json::from_value::<SavedHttpSession>(newer).unwrap_err().to_string();
    let text = "the session was saved in version 2 of the format; this release reads version 1";
    assert!(error.starts_with(text), "{error}");
}

#[test]
fn a_session_of_one_client_counts_for_its_limit() {
    let mut site = Site::with(|http, _| http.sessions_of_client = 1);
    site.principal = Principal::new(7);
    let session = site.open("2025-11-25");
    site.restart();
    let refused =
        site.send("POST", super::site::POST, super::message::initialize("0", "2025-11-25"));
    assert_eq!(site.read_response(refused).status, 503);
    assert_eq!(end(&mut site, &session), status(200));
    site.open("2025-11-25");
}

/// A session that the application closes in the next process is removed.
#[test]
fn a_restored_session_can_be_closed() {
    let mut site = Site::new();
    site.open("2025-11-25");
    site.restart();
    let connection = site.http.connections().next().unwrap();
    site.http.with(connection, site.now, |server, _| server.close());
    site.settle();
    assert_eq!(site.http.sessions(), 0);
    site.assert_forgotten();
}

/// A stream is restored only if its client can resume it in the next process.
#[test]
fn a_stream_is_not_restored_without_resumption() {
    let mut site = Site::new();
    let session = site.open("2025-11-25");
    let (turn, request) = site.ask(&in_session(&session), &call("7"));
    site.progress(request.id, 1);
    site.respond(request.id, CONTENT);
    site.read_response(turn);
    let saved = serde_json::to_string(&site.http.save_sessions()).unwrap();
    let saved: Vec<SavedHttpSession> = serde_json::from_str(&saved).unwrap();
    for (resumable, status) in [(true, 200), (false, 400)] {
        let mut next = Site::with(|http, _| http.resumable = resumable);
        for session in &saved {
            next.http.restore_session(session, next.now).unwrap();
        }
        let turn = resume(&mut next, &session, "3-0");
        assert_eq!(next.read_response(turn).status, status, "{resumable}");
    }
}

/// The client does not know a capability that the next process newly has.
#[test]
fn capabilities_are_those_that_both_processes_have() {
    let (_, session, mut saved) = saved();
    saved["session"]["serverCapabilities"] = json!(["tools", "prompts.listChanged", "prompts"]);
    saved["session"]["clientCapabilities"] = json!(["sampling", "unknown.later"]);
    let mut site = Site::with(|_, server| server.capabilities.prompts = None);
    let saved: SavedHttpSession = serde_json::from_value(saved).unwrap();
    let connection = site.http.restore_session(&saved, site.now).unwrap();
    let capabilities = site.http.with(connection, site.now, |server, _| server.peer_capabilities());
    assert_eq!(capabilities.unwrap().to_string(), "sampling");
    for (method, params) in [("prompts/list", ""), ("resources/list", "")] {
        let received = site.post(&in_session(&session), plain("1", method, params));
        let refused =
            error("1", -32601, &format!("method not available in this session: {method}"));
        assert_eq!(received.chunks.len(), 1, "{received:?}");
        assert!(received.chunks[0].contains("-32601"), "{received:?} {refused}");
    }
    let (turn, request) = site.ask(&in_session(&session), &call("2"));
    site.respond(request.id, CONTENT);
    assert_eq!(site.read_response(turn), json_response(200, answer("2")));
}

/// A restored session lives as long as one that was just used.
#[test]
fn an_idle_session_ends_in_the_next_process_as_well() {
    let mut site = Site::new();
    let session = site.open("2025-11-25");
    let (turn, request) = site.ask(&in_session(&session), &call("7"));
    site.progress(request.id, 1);
    site.respond(request.id, CONTENT);
    site.read_response(turn);
    for (milliseconds, status) in [(299_999, 200), (300_000, 400)] {
        site.restart();
        site.elapse(milliseconds);
        let turn = resume(&mut site, &session, "3-1");
        assert_eq!(site.read_response(turn).status, status, "streams are kept for five minutes");
    }
    site.restart();
    site.elapse(1_800_001);
    assert_eq!(site.post(&in_session(&session), plain("1", "ping", "")).status, 404);
    site.assert_forgotten();
}

#[test]
fn only_open_sessions_are_saved() {
    let mut site = Site::new();
    // A modern request has no session.
    let modern = super::message::modern_request("1", "tools/call", r#""name":"t""#);
    site.ask(&super::site::about("tools/call", "t"), &modern);
    assert_eq!(site.http.connections().count(), 1);
    let session = site.open("2025-11-25");
    assert_eq!(site.http.save_sessions().len(), 1);
    assert_eq!(site.http.save_sessions()[0].id().unwrap().to_string(), session);
    site.http.shut_down(std::time::Duration::from_secs(1), site.now);
    assert!(site.http.save_sessions().is_empty());
}
