//! Failures of other implementations at the border of the two eras, which do not occur here.

use std::time::Duration;

use mcp_sansio::event::{CancelCause, ConnectFailure, NegotiationBasis, UnmatchedCause};
use mcp_sansio::json::Raw;
use mcp_sansio::model::CallToolResult;
use mcp_sansio::progress::Progress;
use mcp_sansio::subscription::ChangedList;
use mcp_sansio::{ClientEvent, Phase, RespondError, Revision, ServerEvent};
use mcp_sansio_proptests::{ClientSide, ServerSide, config};

const META: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}"#;

/// Returns a modern request.
fn modern_request_with_members(id: u8, method: &str, members: &str, meta: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{members}"_meta":{{{META}{meta}}}}}}}"#
    )
}

fn call(id: u8) -> String {
    modern_request_with_members(id, "tools/call", r#""name":"t","#, r#","progressToken":"p""#)
}

fn server() -> ServerSide {
    ServerSide::with(config::server_of_both_eras())
}

/// Pain 18 (P2): the same loop serves the first message and all later ones. Messages of its handler are sent, and
/// other requests are read meanwhile.
#[test]
fn the_first_request_is_like_any_other() {
    let mut side = server();
    let first = side.request(&call(1));
    let second = side.request(&call(2));
    let half = Progress::new(1_u8).total(2_u8);
    side.server.progress(first, half, side.now, &mut side.out).unwrap();
    side.server.respond(second, &CallToolResult::text("2"), &mut side.out).unwrap();
    side.server.respond(first, &CallToolResult::text("1"), &mut side.out).unwrap();
    let answer = |id: u8| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","content":[{{"type":"text","text":"{id}"}}],"_meta":{{"io.modelcontextprotocol/serverInfo":{{"name":"server","version":"1"}}}}}}}}"#
        )
    };
    let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1,"total":2}}"#;
    assert_eq!(side.sent(), [progress.into(), answer(2), answer(1)]);
}

/// Pain 18 (P2): the first request can be cancelled, too.
#[test]
fn the_first_request_can_be_cancelled() {
    let mut side = server();
    let first = side.request(&call(1));
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    let Some(ServerEvent::Cancelled(cancelled)) = side.receive(cancel) else { panic!() };
    assert_eq!((cancelled.id, cancelled.cause), (first, CancelCause::Peer));
    let late = side.server.respond(first, &CallToolResult::text("1"), &mut side.out);
    assert_eq!(late, Err(RespondError::Cancelled));
    assert_eq!(side.sent(), [""; 0]);
}

/// Pain 18 (P2): a subscription can be the first message as well, and is acknowledged before any other notification.
#[test]
fn a_subscription_can_come_first() {
    let mut side = server();
    let listen = modern_request_with_members(
        1,
        "subscriptions/listen",
        r#""notifications":{"toolsListChanged":true},"#,
        "",
    );
    assert!(matches!(side.receive(&listen), Some(ServerEvent::Subscribed(_))));
    side.server.notifications().list_changed(ChangedList::Tools, &mut side.out).unwrap();
    let tag = r#""_meta":{"io.modelcontextprotocol/subscriptionId":1}"#;
    assert_eq!(
        side.sent(),
        [
            format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{{"notifications":{{"toolsListChanged":true}},{tag}}}}}"#
            ),
            format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{{{tag}}}}}"#
            ),
        ]
    );
}

/// Pain 33 (P2): neither `server/discover` nor `initialize` decides the era of later messages. Each request is
/// handled by its own rules.
#[test]
fn both_eras_on_one_connection() {
    let mut side = server();
    assert_eq!(side.receive(&modern_request_with_members(1, "server/discover", "", "")), None);
    let initialize = r#"{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
    assert!(matches!(side.receive(initialize), Some(ServerEvent::Opened(_))));
    let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    assert!(matches!(side.receive(initialized), Some(ServerEvent::Ready)));
    assert_eq!(side.sent().len(), 2);
    let in_session = side.request(r#"{"jsonrpc":"2.0","id":3,"method":"tools/list"}"#);
    let modern = side.request(&modern_request_with_members(4, "tools/list", "", ""));
    let revision =
        |request| side.server.in_flight().context(request).map(|context| context.revision);
    assert_eq!(revision(in_session), Some(Revision::V2025_06_18));
    assert_eq!(revision(modern), Some(Revision::V2026_07_28));
    let tools = Raw::new(r#"{"tools":[]}"#).unwrap();
    for request in [in_session, modern] {
        side.server.respond(request, &tools, &mut side.out).unwrap();
    }
    assert_eq!(
        side.sent(),
        [
            r#"{"jsonrpc":"2.0","id":3,"result":{"tools":[]}}"#,
            r#"{"jsonrpc":"2.0","id":4,"result":{"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"server","version":"1"}}}}"#,
        ]
    );
}

/// Returns a client of both eras whose probe has timed out, so that it sends `initialize`.
fn fallen_back() -> ClientSide {
    let mut side = ClientSide::with(config::client_of_both_eras());
    side.client.connect(side.now, &mut side.out).unwrap();
    let sent = side.sent();
    assert!(
        sent.len() == 1 && sent[0].contains(r#""id":1,"method":"server/discover""#),
        "{sent:?}"
    );
    side.now = side.now + Duration::from_secs(10);
    assert_eq!(side.client.poll_timeout(), Some(side.now));
    assert_eq!(side.client.handle_timeout(side.now, &mut side.out), None);
    let sent = side.sent();
    assert!(sent.len() == 1 && sent[0].contains(r#""id":2,"method":"initialize""#), "{sent:?}");
    side
}

const OPENED: &str = r#"{"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}"#;

/// Pain 31 (P5): a late response to the abandoned probe does no harm.
#[test]
fn a_late_answer_to_the_probe_is_harmless() {
    let answers = [
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"unknown"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{}}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
    ];
    for late in answers {
        let mut side = fallen_back();
        let Some(ClientEvent::UnmatchedResponse(unmatched)) = side.receive(late) else {
            panic!("{late}")
        };
        assert_eq!(unmatched.cause, UnmatchedCause::TimedOut);
        let Some(ClientEvent::Connected(connected)) = side.receive(OPENED) else {
            panic!("{late}")
        };
        assert_eq!(connected.revision, Revision::V2025_11_25);
        assert_eq!(connected.basis, NegotiationBasis::ProbeTimedOut);
        let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        assert_eq!(side.sent(), [initialized]);
    }
}

/// Pain 34 (P6): no version is accepted that the client does not support.
#[test]
fn an_initialize_result_with_an_unsupported_version_is_refused() {
    for version in [r#""1999-01-01""#, r#""""#, r#""2026-07-28""#] {
        let mut side = fallen_back();
        let Some(ClientEvent::ConnectFailed(failure)) =
            side.receive(&OPENED.replace(r#""2025-11-25""#, version))
        else {
            panic!("{version}")
        };
        assert!(matches!(failure, ConnectFailure::UnsupportedRevision { .. }), "{failure:?}");
        assert_eq!((side.client.phase(), side.sent()), (Phase::Closed, Vec::new()));
    }
    for version in ["5", "null"] {
        let mut side = fallen_back();
        let event = side.receive(&OPENED.replace(r#""2025-11-25""#, version));
        let malformed =
            matches!(event, Some(ClientEvent::ConnectFailed(ConnectFailure::Malformed { .. })));
        assert!(malformed && side.client.phase() == Phase::Closed, "{version}");
    }
}

/// Pain 37 (P7): a server that pings during the handshake gets its response, in either era.
#[test]
fn a_ping_is_answered_while_the_connection_is_opened() {
    let ping = r#"{"jsonrpc":"2.0","id":"s1","method":"ping"}"#;
    let pong = r#"{"jsonrpc":"2.0","id":"s1","result":{}}"#;
    let mut probing = ClientSide::with(config::client_of_both_eras());
    probing.client.connect(probing.now, &mut probing.out).unwrap();
    probing.sent();
    for mut side in [probing, fallen_back()] {
        assert_eq!(side.receive(ping), None);
        assert_eq!(side.sent(), [pong]);
        assert_eq!(side.client.phase(), Phase::Handshake);
    }
}

/// A server can be restricted to one era, like others.
#[test]
fn a_connection_can_be_of_one_era_only() {
    let one_era = || {
        let mut config = config::server_of_both_eras();
        config.one_era = true;
        ServerSide::with(config)
    };
    let initialize = r#"{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
    let mut side = one_era();
    let request = side.request(&call(1));
    side.server.respond(request, &CallToolResult::text("1"), &mut side.out).unwrap();
    side.sent();
    assert!(matches!(side.receive(initialize), Some(ServerEvent::Violation(_))));
    assert_eq!(
        side.sent(),
        [
            r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32022,"message":"Unsupported protocol version","data":{"supported":["2026-07-28"],"requested":"2025-06-18"}}}"#
        ]
    );
    let mut side = one_era();
    // A probe alone decides nothing.
    assert_eq!(side.receive(&modern_request_with_members(1, "server/discover", "", "")), None);
    assert!(matches!(side.receive(initialize), Some(ServerEvent::Opened(_))));
    side.sent();
    assert!(matches!(side.receive(&call(3)), Some(ServerEvent::Violation(_))));
    assert_eq!(
        side.sent(),
        [
            r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32600,"message":"this connection has a session"}}"#
        ]
    );
    // A probe is answered also beside the session.
    assert_eq!(side.receive(&modern_request_with_members(4, "server/discover", "", "")), None);
    let answer = side.sent();
    assert!(answer[0].starts_with(r#"{"jsonrpc":"2.0","id":4,"result":{"#), "{answer:?}");
}
