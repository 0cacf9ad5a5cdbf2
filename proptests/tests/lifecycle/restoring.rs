//! Sessions of a server that continue on another connection.

use std::sync::Arc;
use std::time::Duration;

use mcp_sansio::config::KeepAlive;
use mcp_sansio::drive::SavedSession;
use mcp_sansio::error::{NotifyError, RestoreSessionError};
use mcp_sansio::model::{ElicitParams, method};
use mcp_sansio::subscription::{ChangedList, Delivery};
use mcp_sansio::{
    CallOptions, Cause, ConnectionNumber, Limits, Phase, Revision, RevisionSet, Server,
    ServerConfig, ServerEvent,
};
use mcp_sansio_proptests::{ServerSide, config};
use serde_json::{Value, json};

const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const PING: &str = r#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#;
const PONG: &str = r#"{"jsonrpc":"2.0","id":9,"result":{}}"#;

fn initialize(revision: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":"{revision}","capabilities":{{"elicitation":{{"url":{{}}}}}},"clientInfo":{{"name":"c","version":"1"}}}}}}"#
    )
}

fn opened(revision: &str, config: ServerConfig) -> ServerSide {
    let mut side = ServerSide::with(config);
    assert!(matches!(side.receive(&initialize(revision)), Some(ServerEvent::Opened(_))));
    side.sent();
    side
}

/// Replaces the server by one that continues its session.
#[track_caller]
fn restore(side: &mut ServerSide, config: ServerConfig) {
    let saved = SavedSession::of(&side.server).expect("an open session");
    let text = serde_json::to_string(&saved).unwrap();
    let saved: SavedSession = serde_json::from_str(&text).unwrap();
    let number = ConnectionNumber::new(7);
    side.server = saved.restore(Arc::new(config), number).unwrap();
    assert_eq!(side.server.connection_number(), number);
    assert_eq!(SavedSession::of(&side.server), Some(saved));
}

#[test]
fn a_session_continues_in_every_legacy_revision() {
    for revision in Revision::LEGACY {
        let mut side = opened(revision.name(), config::server_of_both_eras());
        assert_eq!(side.receive(INITIALIZED), Some(ServerEvent::Ready));
        let capabilities = side.server.peer_capabilities();
        restore(&mut side, config::server_of_both_eras());
        let server = &side.server;
        assert_eq!((server.phase(), server.revision()), (Phase::Ready, Some(revision)));
        assert_eq!(server.peer_capabilities(), capabilities);
        assert_eq!(side.receive(PING), None);
        assert_eq!(side.sent(), [PONG]);
        // The session is open, so another `initialize` is refused as before.
        side.receive(&initialize(revision.name()));
        assert!(side.sent()[0].contains(r#""id":1,"error""#));
    }
}

#[test]
fn a_handshake_is_completed_on_the_restored_server() {
    let mut side = opened("2025-11-25", config::server_of_both_eras());
    restore(&mut side, config::server_of_both_eras());
    assert_eq!(side.server.phase(), Phase::Handshake);
    let held = side.server.notifications().list_changed(ChangedList::Tools, &mut side.out);
    assert_eq!(held, Ok(Delivery::Held));
    assert!(side.sent().is_empty());
    assert_eq!(side.receive(INITIALIZED), Some(ServerEvent::Ready));
    let changed = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    assert_eq!(side.sent(), [changed]);
}

#[test]
fn the_completion_of_a_visit_is_reported_after_the_restore() {
    let mut side = opened("2025-11-25", config::server_of_both_eras());
    side.receive(INITIALIZED);
    let params = ElicitParams::url("m", "https://x/", "visit");
    let (now, options) = (side.now, CallOptions::new());
    side.server.call::<method::Elicit>(&params, options, now, &mut side.out).unwrap();
    assert!(side.sent()[0].contains(r#""id":1,"method":"elicitation/create""#));
    restore(&mut side, config::server_of_both_eras());
    let mut complete = |id| side.server.notifications().elicitation_complete(id, &mut side.out);
    assert!(matches!(complete("other"), Err(NotifyError::UnknownElicitation)));
    assert_eq!(complete("visit"), Ok(Delivery::Sent));
    // The ids of the server continue.
    side.sent();
    side.server.call::<method::Elicit>(&params, CallOptions::new(), now, &mut side.out).unwrap();
    assert!(side.sent()[0].contains(r#""id":2,"method":"elicitation/create""#));
}

#[test]
fn the_handshake_is_kept_if_both_configurations_keep_it() {
    for (before, after) in [(false, true), (true, false), (true, true)] {
        let keeping = |keeps| {
            let mut config = config::server_of_both_eras();
            config.connection.keep_handshake = keeps;
            config
        };
        let mut side = opened("2025-11-25", keeping(before));
        let handshake = side.server.handshake().cloned();
        assert_eq!(handshake.is_some(), before);
        let saved = SavedSession::of(&side.server).unwrap();
        side.server = saved.restore(Arc::new(keeping(after)), Default::default()).unwrap();
        assert_eq!(side.server.handshake(), handshake.as_ref().filter(|_| after));
    }
}

#[test]
fn only_an_open_session_is_saved() {
    let config = config::server_of_both_eras;
    assert_eq!(SavedSession::of(&Server::new(Arc::new(config()))), None);
    let mut draining = ServerSide::ready(Revision::V2025_11_25);
    assert!(SavedSession::of(&draining.server).is_some());
    draining.server.shut_down(Duration::from_secs(1), draining.now);
    assert_eq!(SavedSession::of(&draining.server), None);
    let mut closed = ServerSide::ready(Revision::V2025_11_25);
    closed.server.disconnected(Cause::EndOfInput, closed.now);
    assert_eq!(SavedSession::of(&closed.server), None);
    let mut modern = ServerSide::with(config());
    let list = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    assert!(matches!(modern.receive(list), Some(ServerEvent::Request(_))));
    assert_eq!(SavedSession::of(&modern.server), None);
}

/// Restores a session with another value in its saved form.
fn restore_altered(
    member: &str,
    value: Value,
    config: ServerConfig,
) -> Option<RestoreSessionError> {
    let mut side = opened("2025-11-25", config::server_of_both_eras());
    side.receive(INITIALIZED);
    let mut saved = serde_json::to_value(SavedSession::of(&side.server).unwrap()).unwrap();
    assert!(saved.get(member).is_some(), "{member} is saved");
    saved[member] = value;
    let saved: SavedSession = serde_json::from_value(saved).unwrap();
    saved.restore(Arc::new(config), ConnectionNumber::default()).err()
}

#[test]
fn a_session_that_was_altered_is_not_restored() {
    let config = config::server_of_both_eras;
    let mut keeping = config();
    keeping.connection.keep_handshake = true;
    let mut modern = config();
    modern.revisions = RevisionSet::MODERN;
    let cases = [
        ("revision", json!("2025-11-25"), config(), None),
        ("revision", json!("2025-11-26"), config(), Some(RestoreSessionError::Revision)),
        ("revision", json!("2026-07-28"), config(), Some(RestoreSessionError::Revision)),
        ("revision", json!("2025-11-25"), modern, Some(RestoreSessionError::Revision)),
        ("initialize", json!("{}"), keeping.clone(), None),
        ("initialize", json!("{"), config(), None),
        ("initialize", json!("{"), keeping, Some(RestoreSessionError::Malformed)),
        ("nextId", json!(1_u64 << 52), config(), None),
        ("nextId", json!(u64::MAX), config(), Some(RestoreSessionError::Malformed)),
    ];
    for (member, value, config, expected) in cases {
        let name = format!("{member}: {value}");
        assert_eq!(restore_altered(member, value, config), expected, "{name}");
    }
}

/// The limits of the new configuration apply to what the session holds.
#[test]
fn a_session_beyond_the_limits_is_not_restored() {
    let too_large = Some(RestoreSessionError::TooLarge);
    let restore = |change: fn(&mut Limits)| {
        let mut config = config::server_of_both_eras();
        change(&mut config.connection.limits);
        let resources = json!(["file:///a", format!("file:///{}", "b".repeat(992))]);
        restore_altered("resources", resources, config)
    };
    assert_eq!(restore(|_| {}), None);
    assert_eq!(restore(|limits| limits.subscriptions = 2), None);
    assert_eq!(restore(|limits| limits.subscriptions = 1), too_large);
    assert_eq!(restore(|limits| limits.uri_bytes = 1000), None);
    assert_eq!(restore(|limits| limits.uri_bytes = 999), too_large);
    assert_eq!(restore(|limits| limits.connection_bytes = 4096), None);
    assert_eq!(restore(|limits| limits.connection_bytes = 1000), too_large);
}

/// A host that saves a session after each change notices with the next one that another process has the session.
#[test]
fn a_request_that_repeats_the_state_is_a_change() {
    let mut side = opened("2025-11-25", config::server_of_both_eras());
    side.receive(INITIALIZED);
    let requests = [
        ("logging/setLevel", r#"{"level":"error"}"#),
        ("resources/subscribe", r#"{"uri":"file:///a"}"#),
        ("resources/unsubscribe", r#"{"uri":"file:///b"}"#),
    ];
    for (method, params) in requests {
        let request =
            format!(r#"{{"jsonrpc":"2.0","id":3,"method":"{method}","params":{params}}}"#);
        let mut saved = Vec::new();
        for _ in 0..3 {
            let id = side.request(&request);
            side.server.respond(id, &(), &mut side.out).unwrap();
            saved.push(SavedSession::of(&side.server).unwrap());
        }
        assert!(saved.windows(2).all(|pair| pair[0] != pair[1]), "{method}");
        let last = saved.pop().unwrap();
        restore(&mut side, config::server_of_both_eras());
        assert_eq!(SavedSession::of(&side.server), Some(last), "{method}");
    }
}

/// Proves promise 10 for saved sessions.
#[test]
fn debug_shows_no_text_of_the_client() {
    let mut side = opened("2025-11-25", config::server_of_both_eras());
    side.receive(INITIALIZED);
    let subscribe = r#"{"jsonrpc":"2.0","id":3,"method":"resources/subscribe","params":{"uri":"file:///secret"}}"#;
    let Some(ServerEvent::Request(request)) = side.receive(subscribe) else { panic!("a request") };
    side.server.respond(request.id, &(), &mut side.out).unwrap();
    let saved = SavedSession::of(&side.server).unwrap();
    assert!(serde_json::to_string(&saved).unwrap().contains("file:///secret"));
    let shown = format!("{saved:?}");
    assert_eq!(shown, r#"SavedSession { revision: "2025-11-25", ready: true, resources: 1, .. }"#);
}

/// The silence of a client is timed from the first timeout on: restoring a session has no time.
///
/// Proves L-PING-04, L-PING-05.
#[test]
fn a_restored_session_is_pinged() {
    let mut config = config::server_of_both_eras();
    config.connection.keep_alive = Some(KeepAlive::every(Duration::from_secs(10)));
    for is_heard in [false, true] {
        let mut side = opened("2025-11-25", config.clone());
        side.receive(INITIALIZED);
        restore(&mut side, config.clone());
        if is_heard {
            assert_eq!(side.receive(PING), None);
            assert_eq!(side.sent(), [PONG]);
        } else {
            assert!(side.server.poll_timeout().is_some_and(|due| due <= side.now));
        }
        assert_eq!((side.outcomes(), side.sent()), (vec![], vec![]));
        assert_eq!(side.server.poll_timeout(), Some(side.now + Duration::from_secs(10)));
        assert_eq!((side.elapse(9_999), side.sent()), (vec![], vec![]));
        assert_eq!(side.elapse(1), []);
        assert_eq!(side.sent(), [r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#]);
        assert_eq!(side.elapse(30_000), [ServerEvent::Unresponsive { missed: 1 }]);
    }
    // Without keep-alive there is nothing to do.
    let mut side = opened("2025-11-25", config::server());
    side.receive(INITIALIZED);
    restore(&mut side, config::server());
    assert_eq!(side.server.poll_timeout(), None);
}
