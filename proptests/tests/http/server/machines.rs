//! The machines of one connection, which a host drives without `HttpServer`.

use std::sync::Arc;

use mcp_sansio::error::RestoreSessionError;
use mcp_sansio::http::{
    HttpServerConfig, Reply, RequestHead, RequestSource, RequestValidator, ResponseId,
    ResponsePart, SavedHttpSession, SessionId, Sessions, Streams,
};
use mcp_sansio::json::Raw;
use mcp_sansio::request::Requestor;
use mcp_sansio::subscription::{ChangedList, Delivery};
use mcp_sansio::{ConnectionNumber, Frame, Instant, Principal, RespondError, Server, ServerEvent};
use mcp_sansio_proptests::config;

use super::message::{error, fault, initialize, notification, other_version, plain, result};
use super::site::{Site, json, modern_headers, numbered, priming, replaced};

const NOW: Instant = Instant::from_millis(1_000_000);
const TOOLS_CHANGED: &str = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
const NUMBER: ConnectionNumber = ConnectionNumber::new(1);

fn validator() -> RequestValidator {
    validator_with(|_| {})
}

fn validator_with(change: impl FnOnce(&mut HttpServerConfig)) -> RequestValidator {
    let mut http = HttpServerConfig::default();
    change(&mut http);
    RequestValidator::new(Arc::new(http), Arc::new(config::server_of_both_eras()))
}

/// Passes a message in, which is the body of a POST.
fn post<'m>(
    (server, streams): &mut (Server, Streams),
    message: &'m str,
) -> (ResponseId, Option<ServerEvent<'m>>) {
    let response = streams.begin(NOW);
    let received = streams.message_context(response, Principal::default(), NOW);
    let event = server.receive(Frame::from(message), received, streams);
    event.iter().for_each(|event| streams.watch(event));
    streams.received(response);
    (response, event)
}

/// Returns the parts of the body of a response so far, and what follows them.
fn read(streams: &mut Streams, response: ResponseId) -> (Vec<String>, ResponsePart) {
    let mut parts = Vec::new();
    loop {
        let mut buffer = Vec::new();
        match streams.next(response, NOW, &mut buffer) {
            ResponsePart::Head(_) => {}
            ResponsePart::Body => parts.push(String::from_utf8(buffer).unwrap()),
            end => return (parts, end),
        }
    }
}

/// Opens a session.
fn opened() -> (Server, Streams) {
    let mut session = validator().session(NUMBER, SessionId::from_random([7; 16]));
    for message in [initialize("0", "2025-11-25"), notification("notifications/initialized", "")] {
        let (response, _) = post(&mut session, &message);
        assert_eq!(read(&mut session.1, response).1, ResponsePart::End);
    }
    session
}

fn is_refused(reply: Reply, status: u16, allow: Option<&str>, text: &str) {
    assert_eq!((reply.status, reply.allow), (status, allow));
    assert_eq!(String::from_utf8(reply.body).unwrap(), fault(-32600, text));
}

/// The connection of one modern message has no event stream that a GET could open.
#[test]
fn a_machine_of_one_message_serves_no_event_stream() {
    let (_, mut streams) = validator().modern(NUMBER);
    assert!(streams.serves_one_request() && !streams.is_one_stream());
    for last_event in [None, Some("0-1")] {
        let refused = streams.listen(last_event, NOW).unwrap_err();
        is_refused(refused, 405, Some("POST"), "this method is not served here");
    }
    let (_, mut streams) = opened();
    assert!(!streams.serves_one_request());
    assert!(streams.listen(None, NOW).is_ok());
    let again = streams.listen(None, NOW).unwrap_err();
    let text = "the session has an event stream already";
    is_refused(again, 409, None, text);
}

/// A connection waits for its first POST, and the end of the response to it is the end of the connection.
#[test]
fn a_connection_does_not_end_before_its_first_message() {
    let validator = validator();
    let (source, session) = (Principal::default(), SessionId::from_random([7; 16]));
    for mut connection in [
        validator.modern(NUMBER),
        validator.session(NUMBER, session),
        validator.assumed(NUMBER, None, source, NOW),
    ] {
        assert!(!connection.1.has_ended());
        let (response, _) = post(&mut connection, r#"{"jsonrpc":"2.0","id":1,"method":"x/own"}"#);
        assert!(!connection.1.has_ended());
        assert_eq!(read(&mut connection.1, response).1, ResponsePart::End);
        assert!(connection.1.has_ended());
    }
}

/// The numbers of streams begin at 1, also if a saved session says otherwise, and all of them can be reserved.
#[test]
fn a_restored_machine_has_numbers_for_its_streams() {
    let mut site = Site::new();
    site.open("2025-11-25");
    let mut saved = site.http.save_sessions().remove(0);
    let mut altered = serde_json::to_value(&saved).unwrap();
    altered["nextStream"] = 0.into();
    let altered: SavedHttpSession = serde_json::from_value(altered).unwrap();
    saved.reserve_streams(u32::MAX);
    for (saved, expected) in [(altered, 1), (saved, (1 << 31) - 1)] {
        let (_, mut streams) = validator().restore(NUMBER, &saved, NOW).unwrap();
        assert_eq!(streams.begin(NOW).stream(), expected);
    }
}

/// An error that the machine finds in the form of a message has a status of HTTP.
#[test]
fn a_malformed_message_is_refused_with_400() {
    for mut connection in [validator().modern(NUMBER), opened()] {
        let (response, _) = post(&mut connection, r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#);
        let part = connection.1.next(response, NOW, &mut Vec::new());
        assert!(matches!(part, ResponsePart::Head(head) if head.status == 400), "{part:?}");
        let (parts, _) = read(&mut connection.1, response);
        assert_eq!(parts, [error("1", -32600, "jsonrpc must be \\\"2.0\\\"")]);
    }
}

/// The connection of one modern message has one stream, so messages need no route.
#[test]
fn a_modern_message_needs_no_route() {
    let (mut server, mut streams) = validator().modern(NUMBER);
    let response = streams.begin(NOW);
    let event = server.receive(r#"{"jsonrpc":"2.0","id":1,"method":5}"#, NOW, &mut streams);
    event.iter().for_each(|event| streams.watch(event));
    streams.received(response);
    let expected = error("1", -32600, "method must be a string");
    assert_eq!(read(&mut streams, response), (vec![expected], ResponsePart::End));
}

/// A saved session with an altered id is no session.
#[test]
fn a_machine_is_not_restored_from_an_altered_session() {
    let mut site = Site::new();
    site.open("2025-11-25");
    let saved = serde_json::to_value(&site.http.save_sessions()[0]).unwrap();
    let restore = |id: &str| {
        let mut altered = saved.clone();
        altered["id"] = id.into();
        let altered: SavedHttpSession = serde_json::from_value(altered).unwrap();
        validator().restore(NUMBER, &altered, NOW).map(|(server, _)| server.revision())
    };
    assert!(restore(saved["id"].as_str().unwrap()).is_ok());
    for id in ["", "x", "not-a-session-id-at-all"] {
        assert_eq!(restore(id), Err(RestoreSessionError::Malformed), "{id}");
    }
}

/// A body for the one event stream of a client may not be longer than other bodies.
#[test]
fn a_long_message_for_one_event_stream_is_refused() {
    let ping = plain("1", "ping", "");
    let validator = validator_with(|http| http.body_bytes = ping.len());
    assert_eq!(validator.message(ping.as_bytes()), Ok(()));
    let long = format!("{ping} ");
    let refused = validator.message(long.as_bytes()).unwrap_err();
    is_refused(refused, 413, None, "the body is too long");
}

/// An endpoint without room refuses only bodies that are a request other than `ping`.
#[test]
fn a_body_that_is_work_is_recognised() {
    let validator = validator();
    let call = plain("1", "tools/call", r#""name":"t""#);
    let ping = plain("1", "ping", "");
    for (body, expected) in [
        (call.clone(), true),
        (plain("1", "x/own", ""), true),
        (ping, false),
        (format!("[{call}]"), false),
        (notification("notifications/initialized", ""), false),
        (result("1", ""), false),
        (call.replace("\"2.0\"", "\"1.0\""), false),
        ("{".into(), false),
        (String::new(), false),
    ] {
        assert_eq!(validator.is_request(body.as_bytes()), expected, "{body}");
    }
}

/// The version of a modern notification must be one text, once.
#[test]
fn a_notification_with_an_unusable_version_is_refused() {
    let claim = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"},"requestId":1"#;
    let body = notification("notifications/cancelled", claim);
    let good = modern_headers("notifications/cancelled");
    let mut site = Site::new();
    let repeated = format!("{good}\nMCP-Protocol-Version: 2026-07-28");
    let unusable = json(400, fault(-32600, "MCP-Protocol-Version is not usable"));
    assert_eq!(site.post(&repeated, &body), unusable);
    let other = replaced(&good, "MCP-Protocol-Version", "2031-01-01");
    let text = "MCP-Protocol-Version is not what the body says";
    assert_eq!(site.post(&other, &body), json(400, fault(-32020, text)));
    let silent = notification("notifications/cancelled", r#""requestId":1"#);
    assert_eq!(site.post(&other, &silent), json(400, other_version("", "2031-01-01")));
    assert_eq!(site.post(&good, &body).status, 202);
}

/// The response that carries the standalone stream ends, and the stream continues with the next one.
#[test]
fn a_host_closes_the_standalone_stream() {
    let mut session = opened();
    session.1.close_standalone();
    let response = session.1.listen(None, NOW).unwrap();
    let (parts, end) = read(&mut session.1, response);
    assert_eq!((parts, end), (vec![priming("0-0")], ResponsePart::Nothing));
    session.1.close_standalone();
    assert_eq!(read(&mut session.1, response), (vec![], ResponsePart::End));
    let (server, streams) = &mut session;
    let delivery = server.notifications().list_changed(ChangedList::Tools, streams);
    assert_eq!(delivery, Ok(Delivery::Sent));
    assert!(!streams.is_empty());
    assert_eq!(streams.unsent_bytes(), TOOLS_CHANGED.len());
    let next = streams.listen(None, NOW).unwrap();
    let (parts, _) = read(streams, next);
    assert_eq!(parts, [priming("0-0"), numbered("0-1", TOOLS_CHANGED)]);
    assert!(streams.is_empty());
    assert_eq!(streams.unsent_bytes(), 0);
}

/// The limit of a host applies to the stream of a request.
#[test]
fn a_host_limits_the_bytes_of_a_stream() {
    let call = plain("7", "tools/call", r#""name":"t""#);
    let mut session = opened();
    session.1.set_limit(64);
    let (response, event) = post(&mut session, &call);
    let Some(ServerEvent::Request(request)) = event else { panic!("{event:?}") };
    assert_eq!(session.1.stream_count(), 1);
    let long = format!(r#"{{"content":[],"x":"{}"}}"#, "x".repeat(64));
    let refused = session.0.respond(request.id, &Raw::new(&long).unwrap(), &mut session.1);
    assert!(matches!(refused, Err(RespondError::Encode(_))), "{refused:?}");
    session.1.set_limit(1 << 20);
    let content = Raw::new(r#"{"content":[]}"#).unwrap();
    session.0.respond(request.id, &content, &mut session.1).unwrap();
    assert_eq!(read(&mut session.1, response).0, [result("7", r#""content":[]"#)]);
    session.1.release();
    assert_eq!(session.1.stream_count(), 0);
    assert!(!session.1.is_congested());
}

/// Tasks of a client without a principal belong to its session, and end with it.
#[test]
fn a_host_finds_the_owner_of_the_tasks_of_a_session() {
    let mut session = opened();
    let (_, event) = post(&mut session, r#"{"jsonrpc":"2.0","id":7,"method":"tools/list"}"#);
    let Some(ServerEvent::Request(request)) = event else { panic!("{event:?}") };
    let owner = session.1.session_requestor();
    assert!(matches!(owner, Some(Requestor::Session(_))), "{owner:?}");
    assert_eq!(owner, Some(request.context.requestor));
    let (_, modern) = validator_with(|_| {}).modern(NUMBER);
    assert_eq!(modern.session_requestor(), None);
}

/// The sessions of a host know their client and are reached in the order of their ids.
#[test]
fn a_host_finds_the_client_of_a_session() {
    let mut sessions = Sessions::new(&HttpServerConfig::default());
    let ids = [9, 3].map(|byte| SessionId::from_random([byte; 16]));
    let of_principal = RequestSource::from(Principal::new(7));
    let of_address = RequestSource::default().address([10, 0, 0, 1]);
    assert_eq!(sessions.insert(ids[0], of_principal, 'a', NOW, |_| None), Ok(None));
    assert_eq!(sessions.insert(ids[1], of_address, 'b', NOW, |_| None), Ok(None));
    assert_eq!(sessions.source(ids[0]), Some(of_principal));
    assert_eq!(sessions.source(ids[1]), Some(of_address));
    assert_eq!(sessions.source(SessionId::from_random([1; 16])), None);
    for (_, value) in sessions.iter_mut() {
        *value = value.to_ascii_uppercase();
    }
    let found: Vec<_> = sessions.iter().map(|(id, value)| (id, *value)).collect();
    assert_eq!(found, [(ids[1], 'B'), (ids[0], 'A')]);
}

/// The authority of HTTP/2 is checked like the field `Host`, which may be absent then.
#[test]
fn an_authority_that_is_not_allowed_is_refused() {
    let fields = |host: Option<&'static str>| -> Vec<(&str, &[u8])> {
        let json: (&str, &[u8]) = ("Content-Type", b"application/json");
        let accept: (&str, &[u8]) = ("Accept", b"application/json, text/event-stream");
        let host = host.map(|host| ("Host", host.as_bytes()));
        host.into_iter().chain([json, accept]).collect()
    };
    let validator = validator();
    for (host, authority, is_allowed) in [
        (None, Some("localhost:3000"), true),
        (None, Some("evil.example.com"), false),
        (None, None, false),
        (Some("localhost"), None, true),
        (Some("evil.example.com"), None, false),
        (Some("evil.example.com"), Some("localhost"), false),
        (Some("localhost"), Some("evil.example.com"), false),
    ] {
        let fields = fields(host);
        let head = RequestHead::new("POST", &fields[..]).authority(authority);
        let admitted = validator.admit(&head);
        assert_eq!(admitted.is_ok(), is_allowed, "{host:?} {authority:?}: {admitted:?}");
        if let Err(reply) = admitted {
            let text = "the Host is not allowed (HttpServerConfig::hosts)";
            is_refused(reply, 403, None, text);
        }
    }
}

/// The challenge of a host is a field of the response.
#[test]
fn a_client_without_a_token_gets_a_challenge() {
    let reply = Reply::unauthorized("Bearer");
    let fields: Vec<_> = reply.headers().collect();
    assert_eq!((reply.status, fields), (401, vec![("WWW-Authenticate", "Bearer")]));
    assert!(reply.body.is_empty());
}
