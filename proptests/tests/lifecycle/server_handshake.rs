//! The handshake from the server's side.

use mcp_sansio::capability::Capability;
use mcp_sansio::error::ViolationKind;
use mcp_sansio::model::{Icon, Implementation, ListChanged};
use mcp_sansio::{Cause, Phase, Revision, RevisionSet, ServerEvent};
use mcp_sansio_proptests::{ServerSide, config};

const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const LIST: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;

fn initialize(version: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":"{version}","capabilities":{{}},"clientInfo":{{"name":"c","version":"1"}}}}}}"#
    )
}

fn violation(event: Option<ServerEvent<'static>>) -> Option<ViolationKind> {
    match event {
        Some(ServerEvent::Violation(violation)) => Some(violation.kind),
        Some(other) => panic!("not a violation: {other:?}"),
        None => None,
    }
}

/// Proves L-LIFE-03, L-VER-03, L-VER-13, L-LIFE-32, L-LIFE-13, L-LIFE-33, L-RACE-15.
#[test]
fn initialize_is_answered_at_once_in_the_words_of_its_revision() {
    let mut config = config::bare_server();
    config.info.title = Some("S".into());
    config.info.icons = Some(vec![Icon::new("data:,")]);
    config.capabilities.tools = Some(ListChanged::notified());
    config.capabilities.completions = Some(Default::default());
    config.instructions = Some(String::new());
    let expected = [
        r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2024-11-05","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"s","version":"1"},"instructions":""}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-03-26","capabilities":{"tools":{"listChanged":true},"completions":{}},"serverInfo":{"name":"s","version":"1"},"instructions":""}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true},"completions":{}},"serverInfo":{"name":"s","title":"S","version":"1"},"instructions":""}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"completions":{}},"serverInfo":{"name":"s","title":"S","version":"1","icons":[{"src":"data:,"}]},"instructions":""}}"#,
    ];
    for (revision, expected) in Revision::LEGACY.into_iter().zip(expected) {
        let mut side = ServerSide::with(config.clone());
        let Some(ServerEvent::Opened(opened)) = side.receive(&initialize(revision.name())) else {
            panic!("the session is open");
        };
        assert_eq!(opened.revision, revision);
        assert_eq!(opened.params.pointer("/clientInfo/name").unwrap().as_json(), "\"c\"");
        assert_eq!(opened.client_info(), Some(Implementation::new("c", "1")));
        assert_eq!(side.sent(), [expected]);
        // The request pipelined behind it finds the session open.
        assert!(matches!(side.receive(LIST), Some(ServerEvent::Request(_))));
        assert_eq!(side.server.phase(), Phase::Handshake);
        assert_eq!(side.receive(INITIALIZED), Some(ServerEvent::Ready));
        assert_eq!(side.server.phase(), Phase::Ready);
    }
}

/// Proves L-VER-04, L-VER-05, L-VER-10, L-VER-14, L-AMB-55.
#[test]
fn a_client_that_asks_for_another_revision_is_offered_the_newest() {
    let only = RevisionSet::only(Revision::V2025_06_18);
    let table = [
        (RevisionSet::LEGACY, "1999-01-01", "2025-11-25"),
        (RevisionSet::LEGACY, "2099-01-01", "2025-11-25"),
        (RevisionSet::LEGACY, "2026-07-28", "2025-11-25"),
        (RevisionSet::LEGACY, "2024-10-07", "2025-11-25"),
        (RevisionSet::LEGACY, "2025-06-18 ", "2025-11-25"),
        (RevisionSet::LEGACY, "", "2025-11-25"),
        (only, "2025-11-25", "2025-06-18"),
        (only.with(Revision::V2024_11_05), "2025-03-26", "2025-06-18"),
        (only.with(Revision::V2024_11_05), "2024-11-05", "2024-11-05"),
    ];
    for (revisions, requested, chosen) in table {
        let mut config = config::server();
        config.revisions = revisions;
        let mut side = ServerSide::with(config);
        let Some(ServerEvent::Opened(opened)) = side.receive(&initialize(requested)) else {
            panic!("the session is open");
        };
        assert_eq!(opened.revision.name(), chosen, "{requested}");
        assert_eq!(side.server.revision(), Some(opened.revision));
    }
}

/// Proves L-VER-11, L-AMB-01.
#[test]
fn a_server_can_refuse_other_revisions() {
    let mut config = config::server();
    config.refuse_other_revisions = true;
    config.revisions = RevisionSet::since(Revision::V2025_06_18).and(RevisionSet::LEGACY);
    let mut side = ServerSide::with(config);
    assert_eq!(side.receive(&initialize("1.0")), None);
    assert_eq!(
        side.sent(),
        [
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Unsupported protocol version","data":{"supported":["2025-06-18","2025-11-25"],"requested":"1.0"}}}"#
        ]
    );
    assert_eq!(side.server.phase(), Phase::Opening);
    assert!(matches!(side.receive(&initialize("2025-06-18")), Some(ServerEvent::Opened(_))));
}

/// Proves L-LIFE-20, L-CAP-08.
#[test]
fn malformed_initialize_leaves_the_server_where_it_was() {
    let params = [
        r#"{}"#,
        r#"{"protocolVersion":5,"capabilities":{},"clientInfo":{"name":"c","version":"1"}}"#,
        r#"{"protocolVersion":"2025-06-18","clientInfo":{"name":"c","version":"1"}}"#,
        r#"{"protocolVersion":"2025-06-18","capabilities":[],"clientInfo":{"name":"c","version":"1"}}"#,
        r#"{"protocolVersion":"2025-06-18","capabilities":{"roots":true},"clientInfo":{"name":"c","version":"1"}}"#,
        r#"{"protocolVersion":"2025-06-18","capabilities":{}}"#,
        r#"{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c"}}"#,
        r#"{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":1,"version":"1"}}"#,
        r#"null"#,
    ];
    let mut side = ServerSide::fresh();
    for params in params {
        let frame =
            format!(r#"{{"jsonrpc":"2.0","id":9,"method":"initialize","params":{params}}}"#);
        assert!(violation(side.receive(&frame)).is_some());
        let sent = side.sent();
        assert!(
            sent[0].starts_with(r#"{"jsonrpc":"2.0","id":9,"error":{"code":-32602,"#),
            "{sent:?}"
        );
        assert_eq!((sent.len(), side.server.phase()), (1, Phase::Opening), "{params}");
    }
    assert!(matches!(side.receive(&initialize("2025-06-18")), Some(ServerEvent::Opened(_))));
}

/// Proves L-LIFE-09, L-LIFE-10, L-LIFE-11, L-LIFE-12, L-ERR-05, L-AMB-02, L-RACE-16.
///
/// Pain 30: no early message ends the session.
#[test]
fn messages_before_initialize_except_ping_are_refused() {
    let mut side = ServerSide::fresh();
    assert_eq!(violation(side.receive(INITIALIZED)), Some(ViolationKind::UnexpectedNotification));
    let early = r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#;
    assert_eq!(violation(side.receive(early)), Some(ViolationKind::UnexpectedNotification));
    assert_eq!(side.sent(), [""; 0]);
    assert_eq!(violation(side.receive(LIST)), Some(ViolationKind::NotInitialized));
    let discover = r#"{"jsonrpc":"2.0","id":3,"method":"server/discover"}"#;
    assert_eq!(violation(side.receive(discover)), Some(ViolationKind::UnknownMethod));
    assert_eq!(side.receive(r#"{"jsonrpc":"2.0","id":4,"method":"ping"}"#), None);
    assert_eq!(
        side.sent(),
        [
            r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32600,"message":"the session is not initialized"}}"#,
            r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"method not found"}}"#,
            r#"{"jsonrpc":"2.0","id":4,"result":{}}"#,
        ]
    );
    assert_eq!(side.server.phase(), Phase::Opening);
    assert!(matches!(side.receive(&initialize("2025-06-18")), Some(ServerEvent::Opened(_))));
}

/// Proves L-LIFE-14, L-ERR-06, L-AMB-07, L-VER-08, L-LIFE-21, L-RACE-19. Pain 40.
#[test]
fn a_second_initialize_changes_nothing() {
    let mut side = ServerSide::ready(Revision::V2025_11_25);
    let again = initialize("2024-11-05");
    assert_eq!(violation(side.receive(&again)), Some(ViolationKind::AlreadyInitialized));
    assert_eq!(
        side.sent(),
        [
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"the session is initialized already"}}"#
        ]
    );
    assert_eq!(side.server.revision(), Some(Revision::V2025_11_25));
    assert!(side.server.peer_capabilities().contains(Capability::Roots));
    assert_eq!(side.server.phase(), Phase::Ready);
    // The session keeps its first revision: 2024-11-05 has no progress messages.
    let frame =
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{"progressToken":1}}}"#;
    let request = side.request(frame);
    let report = mcp_sansio::progress::Progress::new(1_u8).message("m");
    side.server.progress(request, report, side.now, &mut side.out).unwrap();
    assert!(side.sent()[0].ends_with(r#""progress":1,"message":"m"}}"#));
}

/// Proves L-LIFE-15, L-RACE-19.
#[test]
fn initialized_twice_is_initialized_once() {
    let mut side = ServerSide::ready(Revision::V2025_06_18);
    assert_eq!(side.receive(INITIALIZED), None);
    assert_eq!(side.sent(), [""; 0]);
}

/// Proves L-CANCEL-13, L-RACE-05: `initialize` already has its response, so the cancellation has no effect.
#[test]
fn cancelling_initialize_is_ignored() {
    let mut side = ServerSide::fresh();
    assert!(side.receive(&initialize("2025-06-18")).is_some());
    _ = side.sent();
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    assert_eq!(side.receive(cancel), None);
    assert_eq!((side.sent().len(), side.server.phase()), (0, Phase::Handshake));
}

/// Proves L-LIFE-07, L-LIFE-08, L-RACE-17, L-RACE-18, L-RACE-20, L-AMB-04. Pain 36.
#[test]
fn a_server_serves_early_and_asks_late() {
    let mut side = ServerSide::fresh();
    let offer = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"roots":{},"sampling":{}},"clientInfo":{"name":"c","version":"1"}}}"#;
    assert!(side.receive(offer).is_some());
    _ = side.sent();
    // Requests are served before `notifications/initialized`.
    let level = r#"{"jsonrpc":"2.0","id":3,"method":"logging/setLevel","params":{"level":"info"}}"#;
    let list = side.request(LIST);
    let level = side.request(level);
    side.server.respond(list, &serde_json::json!({"tools": []}), &mut side.out).unwrap();
    side.server.respond(level, &(), &mut side.out).unwrap();
    // Log messages and pings are sent; calls and change notifications wait.
    let now = side.now;
    let first = side.call("roots/list");
    side.server
        .notify_method("notifications/tools/list_changed", &(), None, &mut side.out)
        .unwrap();
    let second = side.call("sampling/createMessage");
    let log = serde_json::json!({"level": "info", "data": "x"});
    side.server.notify_method("notifications/message", &log, None, &mut side.out).unwrap();
    let ping = side.call("ping");
    assert_eq!(
        side.sent(),
        [
            r#"{"jsonrpc":"2.0","id":2,"result":{"tools":[]}}"#,
            r#"{"jsonrpc":"2.0","id":3,"result":{}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"x","level":"info"}}"#,
            r#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#,
        ]
    );
    assert_eq!(side.server.in_flight().calls().collect::<Vec<_>>(), [first, second, ping]);
    assert!(0 < side.server.in_flight().counts().held_bytes);
    assert_eq!(side.receive(INITIALIZED), Some(ServerEvent::Ready));
    assert_eq!(
        side.sent(),
        [
            r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
            r#"{"jsonrpc":"2.0","id":2,"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}"#,
        ]
    );
    assert_eq!(side.server.in_flight().counts().held_bytes, 0);
    assert_eq!(side.now, now);
}

/// Proves L-LIFE-27: closing is an operation of the transport and sends no message.
#[test]
fn closing_sends_nothing() {
    let mut side = ServerSide::ready(Revision::V2025_06_18);
    side.server.close();
    assert_eq!(side.server.phase(), Phase::Closed);
    assert_eq!(side.outcomes(), [ServerEvent::Closed { cause: Cause::ShutDown }]);
    assert_eq!(side.sent(), [""; 0]);
}

#[test]
fn the_server_keeps_the_handshake_only_if_configured() {
    let mut config = config::server();
    assert_eq!(
        ServerSide::ready_with(config.clone(), Revision::V2025_06_18).server.handshake(),
        None
    );
    config.connection.keep_handshake = true;
    let side = ServerSide::ready_with(config, Revision::V2025_06_18);
    let client = side.server.handshake().unwrap();
    assert_eq!(client.pointer("/clientInfo/name").unwrap().as_json(), "\"client\"");
}

/// Proves L-JSONRPC-33: a side without any feature still completes the handshake and responds to pings.
#[test]
fn the_base_protocol_needs_no_feature() {
    let mut side = ServerSide::ready_with(config::bare_server(), Revision::V2024_11_05);
    assert_eq!(side.receive(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#), None);
    assert_eq!(side.sent(), [r#"{"jsonrpc":"2.0","id":1,"result":{}}"#]);
}
