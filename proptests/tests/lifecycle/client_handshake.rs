//! The handshake from the client's side.

use std::time::Duration;

use mcp_sansio::capability::{Capability, CapabilitySet};
use mcp_sansio::error::{CancelError, ConnectError, ViolationKind};
use mcp_sansio::event::ConnectFailure;
use mcp_sansio::model::Implementation;
use mcp_sansio::{
    CallError, CallId, CallOptions, Cause, ClientConfig, ClientEvent, ErrorCode, Framing, Outbox,
    Outboxes, Outcome, Phase, Revision, RevisionSet, Route,
};
use mcp_sansio_proptests::{ClientSide, config};

const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

fn result(version: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"result":{{"protocolVersion":{version},"capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"s","version":"1"}}}}}}"#
    )
}

fn connecting(config: ClientConfig) -> ClientSide {
    let mut side = ClientSide::with(config);
    side.client.connect(side.now, &mut side.out).unwrap();
    assert_eq!(side.sent().len(), 1);
    side
}

#[track_caller]
fn failure(event: Option<ClientEvent<'static>>) -> ConnectFailure<'static> {
    match event {
        Some(ClientEvent::ConnectFailed(failure)) => failure,
        other => panic!("not a failure: {other:?}"),
    }
}

/// Proves L-LIFE-02, L-VER-01, L-VER-02, L-VER-12.
#[test]
fn initialize_offers_the_newest_revision() {
    let mut config = config::bare_client();
    config.info.title = Some("C".into());
    let mut side = ClientSide::with(config.clone());
    side.client.connect(side.now, &mut side.out).unwrap();
    assert_eq!(
        side.sent(),
        [
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","title":"C","version":"1"}}}"#
        ]
    );
    assert_eq!(side.client.phase(), Phase::Handshake);
    let again = side.client.connect(side.now, &mut side.out);
    assert_eq!(again, Err(ConnectError::NotAtStart));

    config.offer = Some(Revision::V2024_11_05);
    let mut side = ClientSide::with(config.clone());
    side.client.connect(side.now, &mut side.out).unwrap();
    assert_eq!(
        side.sent(),
        [
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#
        ]
    );

    config.revisions = RevisionSet::since(Revision::V2025_06_18);
    let mut side = ClientSide::with(config.clone());
    assert_eq!(side.client.connect(side.now, &mut side.out), Err(ConnectError::NoRevision));
    config.offer = None;
    config.revisions = RevisionSet::NONE;
    let mut side = ClientSide::with(config);
    assert_eq!(side.client.connect(side.now, &mut side.out), Err(ConnectError::NoRevision));
    assert_eq!(side.sent(), [""; 0]);
}

/// Proves L-LIFE-04, L-LIFE-06, L-VER-09, L-RACE-15.
#[test]
fn held_messages_are_sent_after_initialized() {
    for revision in Revision::LEGACY {
        let mut side = connecting(config::client());
        let early = side.call("tools/list");
        side.client
            .notify_method("notifications/roots/list_changed", &(), None, &mut side.out)
            .unwrap();
        assert_eq!(side.sent(), [""; 0]);
        let Some(ClientEvent::Connected(connected)) =
            side.receive(&result(&format!("\"{revision}\"")))
        else {
            panic!("connected");
        };
        assert_eq!(connected.revision, revision);
        assert!(connected.capabilities.contains(Capability::Tools));
        assert_eq!(
            side.sent(),
            [
                INITIALIZED,
                r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#,
                r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#,
            ]
        );
        assert_eq!(side.client.phase(), Phase::Ready);
        assert_eq!(side.client.in_flight().calls().collect::<Vec<_>>(), [early]);
    }
}

/// Proves L-LIFE-01: calls before `connect` wait, too; only `ping` may be sent first.
#[test]
fn initialize_is_the_first_word() {
    let mut side = ClientSide::fresh();
    side.call("tools/list");
    side.call("ping");
    side.client.connect(side.now, &mut side.out).unwrap();
    let sent = side.sent();
    assert_eq!(sent.len(), 2);
    assert!(sent[0].contains(r#""method":"ping""#) && sent[1].contains(r#""method":"initialize""#));
}

/// Proves L-VER-06, L-VER-07, L-LIFE-05, L-AMB-03. Pain 34.
#[test]
fn a_revision_that_is_not_spoken_ends_the_connection() {
    let only = RevisionSet::only(Revision::V2025_11_25);
    let table = [
        (RevisionSet::LEGACY, "\"1999-01-01\""),
        (RevisionSet::LEGACY, "\"2099-01-01\""),
        (RevisionSet::LEGACY, "\"\""),
        (only, "\"2025-06-18\""),
    ];
    for (revisions, version) in table {
        let mut config = config::client();
        config.revisions = revisions;
        let mut side = connecting(config);
        let failure = failure(side.receive(&result(version)));
        let ConnectFailure::UnsupportedRevision { theirs, ours } = failure else {
            panic!("{failure:?}");
        };
        assert_eq!((theirs == version.trim_matches('"'), ours), (true, revisions));
        assert_eq!(side.client.phase(), Phase::Closed);
        assert_eq!(side.outcomes(), [ClientEvent::Closed { cause: Cause::HandshakeFailed }]);
        assert_eq!(side.sent(), [""; 0]);
    }
    for version in ["5", "null", "[]"] {
        let mut side = connecting(config::client());
        let failure = failure(side.receive(&result(version)));
        assert!(matches!(failure, ConnectFailure::Malformed { .. }), "{failure:?}");
        assert_eq!(side.client.phase(), Phase::Closed);
    }
    let mut side = connecting(config::client());
    let missing = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    assert!(matches!(failure(side.receive(missing)), ConnectFailure::Malformed { .. }));
}

/// Proves L-CAP-08 for a client.
#[test]
fn malformed_capabilities_fail_the_handshake() {
    let mut side = connecting(config::client());
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":true},"serverInfo":{"name":"s","version":"1"}}}"#;
    let ConnectFailure::Malformed { kind, .. } = failure(side.receive(answer)) else {
        panic!("malformed");
    };
    assert_eq!(kind, ViolationKind::MalformedCapabilities);
}

/// Proves L-LIFE-25, L-LIFE-05.
#[test]
fn a_server_without_a_required_capability_is_rejected() {
    let mut config = config::client();
    config.required = [Capability::Tools, Capability::Prompts].into_iter().collect();
    let mut side = connecting(config);
    let failure = failure(side.receive(&result("\"2025-06-18\"")));
    let missing = CapabilitySet::NONE.with(Capability::Prompts);
    assert_eq!(failure, ConnectFailure::MissingCapabilities(missing));
    assert_eq!(side.sent(), [""; 0]);
    assert_eq!(side.client.phase(), Phase::Closed);
}

/// A capability that the negotiated revision does not have is missing, even if the server names it.
///
/// Proves L-LIFE-05.
#[test]
fn a_required_capability_must_be_known_to_the_revision() {
    for (version, is_known) in [("2025-06-18", true), ("2024-11-05", false)] {
        let mut config = config::client();
        config.required = CapabilitySet::NONE.with(Capability::Completions);
        let mut side = connecting(config);
        let answer = result(&format!("\"{version}\"")).replace("tools", "completions");
        let event = side.receive(&answer);
        if is_known {
            assert!(matches!(event, Some(ClientEvent::Connected(_))), "{event:?}");
        } else {
            let missing = CapabilitySet::NONE.with(Capability::Completions);
            assert_eq!(failure(event), ConnectFailure::MissingCapabilities(missing));
        }
    }
}

/// Proves L-LIFE-19, L-LIFE-05.
#[test]
fn an_error_ends_the_attempt() {
    let mut side = connecting(config::client());
    let held = side.call("tools/list");
    let error = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Unsupported protocol version","data":{"supported":["2024-11-05"]}}}"#;
    let ConnectFailure::PeerError(error) = failure(side.receive(error)) else { panic!("an error") };
    assert_eq!(error.code, ErrorCode::INVALID_PARAMS);
    assert_eq!(error.data.unwrap().pointer("/supported/0").unwrap().as_json(), "\"2024-11-05\"");
    assert_eq!(side.sent(), [""; 0]);
    let outcomes = side.outcomes();
    assert_eq!(outcomes.len(), 2);
    let ClientEvent::CallEnded(ended) = &outcomes[0] else { panic!("{outcomes:?}") };
    assert_eq!((ended.call, &ended.outcome), (held, &Outcome::NotSent));
    assert_eq!(outcomes[1], ClientEvent::Closed { cause: Cause::HandshakeFailed });
}

/// Proves L-LIFE-26, L-CANCEL-04, L-AMB-13, L-RACE-06. Pains 27 and 41.
#[test]
fn an_initialize_that_is_not_answered_fails_in_silence() {
    let mut side = connecting(config::client());
    let timeout = config::client().connection.timeouts.handshake.unwrap();
    assert_eq!(side.client.poll_timeout(), Some(side.now + timeout));
    let events = side.elapse(timeout.as_millis() as u64);
    assert_eq!(
        events,
        [
            ClientEvent::ConnectFailed(ConnectFailure::TimedOut),
            ClientEvent::Closed { cause: Cause::HandshakeFailed },
        ]
    );
    assert_eq!(side.sent(), [""; 0], "`initialize` is never cancelled");
    assert_eq!(side.receive(&result("\"2025-06-18\"")), None, "the late answer is ignored");
    assert_eq!(side.client.poll_timeout(), None);
    let call = side.client.call_method("x", &(), CallOptions::new(), side.now, &mut side.out);
    assert_eq!(call, Err(CallError::Closed));
}

/// Proves L-CANCEL-04 for callers that know the handle: a transport sees it as the route of the call. Pain 27: no way
/// to end the attempt cancels it on the wire.
#[test]
fn initialize_cannot_be_cancelled_by_its_handle() {
    struct Spy(Outbox, Option<CallId>);
    impl Outboxes for Spy {
        fn outbox(&mut self, route: Route) -> &mut Outbox {
            if let Route::Call(call) = route {
                self.1 = Some(call);
            }
            &mut self.0
        }
    }
    let mut side = ClientSide::fresh();
    let mut spy = Spy(side.out.clone(), None);
    side.client.connect(side.now, &mut spy).unwrap();
    let call = spy.1.unwrap();
    assert!(!side.client.in_flight().is_pending(call));
    assert_eq!(side.client.cancel(call, None, &mut spy), Err(CancelError::NotInFlight));
    assert_eq!(spy.0.messages().count(), 1);
    let mut closed = side.clone();
    closed.client.close();
    assert_eq!(closed.outcomes().len(), 2);
    side.client.shut_down(Duration::from_secs(1), side.now);
    assert_eq!(side.elapse(1_000).len(), 3, "draining, failed, closed");
    assert_eq!((side.sent().len(), closed.sent().len(), spy.0.len()), (0, 0, 0));
}

#[test]
fn a_connection_that_ends_during_the_handshake_fails_it_once() {
    let mut side = connecting(config::client());
    side.client.disconnected(Cause::EndOfInput, side.now);
    assert_eq!(
        side.outcomes(),
        [
            ClientEvent::ConnectFailed(ConnectFailure::Closed(Cause::EndOfInput)),
            ClientEvent::Closed { cause: Cause::EndOfInput },
        ]
    );
}

/// Pain 29: an error without an id can only refer to the only open request.
#[test]
fn an_error_without_an_id_fails_the_handshake() {
    for id in ["", r#""id":null,"#] {
        let mut side = connecting(config::client());
        let error =
            format!(r#"{{"jsonrpc":"2.0",{id}"error":{{"code":-32700,"message":"Parse error"}}}}"#);
        let ConnectFailure::PeerError(error) = failure(side.receive(&error)) else {
            panic!("an error");
        };
        assert_eq!(error.code, ErrorCode::PARSE_ERROR);
    }
}

/// Proves L-LIFE-09, L-LIFE-16, L-LIFE-17, L-LIFE-18, L-PING-01. Pains 37 and 39.
#[test]
fn only_logs_and_pings_are_accepted_before_initialize_result() {
    let mut side = connecting(config::client());
    let log =
        r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}"#;
    let changed = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    let event = side.receive(log);
    assert!(matches!(event, Some(ClientEvent::Notification(_))), "{event:?}");
    for frame in [changed, r#"{"jsonrpc":"2.0","method":"x"}"#] {
        let Some(ClientEvent::Violation(violation)) = side.receive(frame) else {
            panic!("{frame} has no meaning yet");
        };
        assert_eq!(violation.kind, ViolationKind::UnexpectedNotification);
    }
    assert_eq!(side.receive(r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#), None);
    assert_eq!(side.sent(), [r#"{"jsonrpc":"2.0","id":"p","result":{}}"#]);
    let mut refused = |id: u32, method: &str| {
        let frame = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"}}"#);
        let Some(ClientEvent::Violation(violation)) = side.receive(&frame) else {
            panic!("{method} is refused");
        };
        assert!(violation.answered);
        (violation.kind, side.sent().remove(0))
    };
    let answer = |id: u32, code: i32, message: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"{message}"}}}}"#)
    };
    assert_eq!(
        refused(9, "x/unknown"),
        (ViolationKind::UnknownMethod, answer(9, -32601, "method not found"))
    );
    assert_eq!(
        refused(10, "roots/list"),
        (ViolationKind::NotInitialized, answer(10, -32600, "the session is not initialized"))
    );
    assert_eq!(
        refused(11, "initialize"),
        (
            ViolationKind::MethodNotAvailable,
            answer(11, -32601, "method not available in this session")
        )
    );
    assert!(matches!(side.receive(&result("\"2025-06-18\"")), Some(ClientEvent::Connected(_))));
    assert!(matches!(
        side.receive(r#"{"jsonrpc":"2.0","id":12,"method":"roots/list"}"#),
        Some(ClientEvent::Request(_))
    ));
}

#[test]
fn instructions_that_are_empty_differ_from_none() {
    let with = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"s","version":"1","foo":1},"instructions":"","bar":2}}"#;
    let mut config = config::client();
    config.connection.keep_handshake = true;
    let mut side = connecting(config);
    let Some(ClientEvent::Connected(connected)) = side.receive(with) else { panic!("connected") };
    let result: mcp_sansio::model::InitializeResult<'_> = connected.result.parse().unwrap();
    assert_eq!(result.instructions.as_deref(), Some(""));
    assert_eq!(result.server_info, Implementation::new("s", "1"));
    assert_eq!(side.client.handshake(), Some(&connected.result));
    assert_eq!(connected.server_info(), Some(Implementation::new("s", "1")));
    assert_eq!(connected.instructions().unwrap(), "");
    // L-JSONRPC-24: members without a field in the type are accessible.
    assert_eq!(connected.result.get("bar").unwrap().as_json(), "2");
    assert_eq!(connected.result.pointer("/serverInfo/foo").unwrap().as_json(), "1");
}

#[test]
fn shutting_down_during_the_handshake_waits_for_it_and_no_longer() {
    let mut side = connecting(config::client());
    side.client.shut_down(Duration::from_secs(1), side.now);
    assert!(matches!(side.outcomes()[..], [ClientEvent::Draining { .. }]));
    let failure = failure(side.receive(&result("\"2025-06-18\"")));
    assert_eq!(failure, ConnectFailure::Closed(Cause::ShutDown));
    assert_eq!(side.sent(), [""; 0]);
}

/// Without room for `notifications/initialized` the handshake fails, because the server would wait for the notification.
#[test]
fn a_handshake_that_cannot_be_completed_fails() {
    for is_crowded in [false, true] {
        let mut side = connecting(config::client());
        let mut limits = side.client.config().connection.limits.clone();
        (limits.outbox_bytes, limits.reserve_bytes) = (48, 0);
        side.out = Outbox::new(Framing::Messages, &limits);
        if is_crowded {
            assert_eq!(side.receive(r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#), None);
        }
        let failure = failure(side.receive(&result("\"2025-06-18\"")));
        assert_eq!(failure, ConnectFailure::Closed(Cause::OutboxOverflow));
        assert_eq!(side.sent().len(), usize::from(is_crowded));
        let cause = if is_crowded { Cause::OutboxOverflow } else { Cause::HandshakeFailed };
        assert_eq!(side.outcomes(), [ClientEvent::Closed { cause }]);
    }
}

/// Calls that fill the outbox do not prevent the fallback to a session if the known revision was wrong.
#[test]
fn a_full_outbox_does_not_prevent_the_fallback_to_a_session() {
    let mut config = config::client_of_both_eras();
    config.known = Some(Revision::V2026_07_28);
    config.connection.limits.outbox_bytes = 1_000;
    let mut side = connecting(config);
    assert_eq!(side.outcomes().len(), 1);
    let call = |side: &mut ClientSide| {
        side.client.call_method("x", &(), CallOptions::new(), side.now, &mut side.out).is_ok()
    };
    let made = (0..1_000).take_while(|_| call(&mut side)).count();
    let unknown = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"m"}}"#;
    assert_eq!(side.receive(unknown), None);
    let sent = side.sent();
    assert_eq!((0 < made, sent.len()), (true, made + 1));
    assert!(sent[made].contains(r#""method":"initialize""#), "{sent:?}");
}

/// A response to `initialize` that is no valid message is the reason why the handshake fails.
#[test]
fn an_invalid_response_to_initialize_is_reported_as_received() {
    let both = r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"m"}}"#;
    let versionless = r#"{"id":1,"result":{}}"#;
    for (answer, expected) in
        [(both, ViolationKind::MalformedResponse), (versionless, ViolationKind::WrongJsonrpc)]
    {
        let mut side = connecting(config::client());
        let ConnectFailure::Malformed { kind, message } = failure(side.receive(answer)) else {
            panic!("{answer}")
        };
        assert_eq!((kind, &*message.to_text()), (expected, answer));
        assert_eq!(side.outcomes(), [ClientEvent::Closed { cause: Cause::HandshakeFailed }]);
    }
}
