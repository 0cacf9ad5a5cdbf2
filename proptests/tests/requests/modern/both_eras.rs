//! Modern requests and a session, on one connection at the same time.

use std::time::Duration;

use mcp_sansio::error::{NotifyError, ViolationKind};
use mcp_sansio::event::CancelCause;
use mcp_sansio::subscription::{ChangedList, Delivery};
use mcp_sansio::{Cause, Inbox, Phase, Revision, RevisionSet, ServerEvent};
use mcp_sansio_proptests::{ServerSide, config};

use crate::modern::kit::*;

const LATEST: Revision = Revision::V2025_11_25;
const TOOLS: &str = r#""toolsListChanged":true"#;
const TOOLS_CHANGED: &str = "notifications/tools/list_changed";
const PLAIN_CHANGED: &str = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;

fn changed(side: &mut ServerSide) -> Delivery {
    side.server.notifications().list_changed(ChangedList::Tools, &mut side.out).unwrap()
}

/// Proves M-ERA-01, M-ERA-02, M-ERA-10, M-ARCH-01: each request is answered by the rules of its era, in any order.
#[test]
fn each_request_is_answered_by_its_own_rules() {
    for revision in Revision::LEGACY {
        for order in [[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2]] {
            let mut side = beside_session(revision);
            let frames = [
                modern_request("1", "tools/list", ""),
                of_session("2", "tools/list", ""),
                modern_request(r#""3""#, "tools/call", r#""name":"t""#),
                of_session("4", "tools/call", r#""name":"t""#),
            ];
            let ids = frames.map(|frame| side.request(&frame));
            let answers = [
                (r#""tools":[]"#, cacheable("1", r#""tools":[]"#)),
                (r#""tools":[]"#, plain("2", r#""tools":[]"#)),
                (r#""content":[]"#, complete(r#""3""#, r#""content":[]"#)),
                (r#""content":[]"#, plain("4", r#""content":[]"#)),
            ];
            for at in order {
                let (result, expected) = &answers[at];
                side.respond(ids[at], &format!("{{{result}}}"));
                assert_eq!(side.sent(), std::slice::from_ref(expected));
            }
        }
    }
}

/// Proves M-ERA-07: a request without a claim is refused, also after modern requests.
#[test]
fn a_request_that_says_nothing_is_refused_after_others_too() {
    let mut side = server();
    let id = side.request(&modern_request("1", "tools/list", ""));
    side.respond(id, r#"{"tools":[]}"#);
    side.sent();
    let frame = of_session("1", "tools/list", "");
    refused(&mut side, &frame, ViolationKind::NoRequestMeta, &no_request_meta("1"));
}

/// Proves M-ERA-02, M-ERA-03, M-ERA-08: a session can be opened at any time and does not affect open requests.
#[test]
fn a_session_can_be_opened_at_any_time() {
    let mut side = server();
    let open = side.request(&modern_request("1", "tools/list", ""));
    subscribe(&mut side, "2", TOOLS, TOOLS);
    let opened = side.receive(&initialize("3", "2025-06-18"));
    assert!(matches!(opened, Some(ServerEvent::Opened(_))), "{opened:?}");
    assert_eq!(side.sent().len(), 1);
    side.respond(open, r#"{"tools":[]}"#);
    assert_eq!(side.sent(), [cacheable("1", r#""tools":[]"#)]);
    let id = side.request(&of_session("1", "tools/list", ""));
    side.respond(id, r#"{"tools":[]}"#);
    assert_eq!(side.sent(), [plain("1", r#""tools":[]"#)]);
    assert_eq!(side.server.revision(), Some(Revision::V2025_06_18));
    // A modern request does not complete the handshake of the session.
    assert_eq!(side.server.phase(), Phase::Handshake);
    let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    assert_eq!(side.receive(initialized), Some(ServerEvent::Ready));
    assert_eq!(changed(&mut side), Delivery::Sent);
    assert_eq!(side.sent(), [PLAIN_CHANGED.to_owned(), tagged("2", TOOLS_CHANGED, "")]);
}

/// Proves M-R-34: a session is served before it is complete.
#[test]
fn a_session_is_served_before_it_is_complete() {
    let mut side = server();
    assert!(matches!(side.receive(&initialize("1", "2025-11-25")), Some(ServerEvent::Opened(_))));
    side.sent();
    let id = side.request(&of_session("2", "tools/list", ""));
    let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    assert_eq!(side.receive(initialized), Some(ServerEvent::Ready));
    side.respond(id, r#"{"tools":[]}"#);
    assert_eq!(side.sent(), [plain("2", r#""tools":[]"#)]);
}

/// Proves M-ERA-11, M-ARCH-07: a change is notified to the session once, to each subscription once, and nowhere
/// else.
#[test]
fn a_session_and_each_subscription_get_a_change_once() {
    let mut side = beside_session(LATEST);
    assert_eq!(changed(&mut side), Delivery::Sent);
    assert_eq!(side.sent(), [PLAIN_CHANGED]);
    subscribe(&mut side, "1", TOOLS, TOOLS);
    subscribe(&mut side, "2", TOOLS, TOOLS);
    assert_eq!(changed(&mut side), Delivery::Sent);
    let delivered =
        [PLAIN_CHANGED.to_owned(), tagged("1", TOOLS_CHANGED, ""), tagged("2", TOOLS_CHANGED, "")];
    assert_eq!(side.sent(), delivered);
    // Updates of resources need a subscription of either era.
    let uri = r#""resourceSubscriptions":["x:y"]"#;
    subscribe(&mut side, "3", uri, uri);
    let update = |side: &mut ServerSide| {
        side.server.notifications().resource_updated("x:y", &mut side.out).unwrap()
    };
    assert_eq!(update(&mut side), Delivery::Sent);
    assert_eq!(side.sent(), [updated("3", "x:y")]);
    let id = side.request(&of_session("4", "resources/subscribe", r#""uri":"x:y""#));
    side.server.respond(id, &(), &mut side.out).unwrap();
    side.sent();
    assert_eq!(update(&mut side), Delivery::Sent);
    let plain =
        r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"x:y"}}"#;
    assert_eq!(side.sent(), [plain.to_owned(), updated("3", "x:y")]);
}

/// Proves M-ERA-11: a client with neither a session nor a subscription receives no notification.
#[test]
fn a_client_without_subscription_gets_no_notifications() {
    for mut side in [server(), without_sessions()] {
        let id = side.request(&modern_request("1", "tools/list", ""));
        side.respond(id, r#"{"tools":[]}"#);
        side.sent();
        for list in [ChangedList::Tools, ChangedList::Prompts, ChangedList::Resources] {
            let delivered = side.server.notifications().list_changed(list, &mut side.out);
            assert_eq!(delivered, Ok(Delivery::NotWanted));
        }
        let delivered = side.server.notifications().resource_updated("x:y", &mut side.out);
        assert_eq!(delivered, Ok(Delivery::NotWanted));
        let delivered = side.server.notifications().elicitation_complete("e", &mut side.out);
        assert!(!matches!(delivered, Ok(Delivery::Sent | Delivery::Held)), "{delivered:?}");
        assert_eq!(side.sent(), [""; 0]);
        assert_eq!(side.server.in_flight().counts().held_bytes, 0);
    }
}

/// Proves M-ELIC-09: no completion of a visit is sent in the modern era.
#[test]
fn elicitation_complete_is_not_sent_in_modern_era() {
    let mut side = without_sessions();
    let id = side.request(&of_client("1", "tools/call", ABLE, r#""name":"t""#));
    let params = mcp_sansio::json::Raw::new(r#"{"elicitationId":"e"}"#).unwrap();
    let method = "notifications/elicitation/complete";
    let delivered = side.server.notify_method(method, &params, Some(id), &mut side.out);
    assert!(matches!(delivered, Err(NotifyError::NotAllowed(_))), "{delivered:?}");
    for related in [None, Some(id)] {
        for method in
            ["notifications/cancelled", "notifications/subscriptions/acknowledged", TOOLS_CHANGED]
        {
            let params = mcp_sansio::json::Raw::new(r#"{"requestId":1}"#).unwrap();
            let _ = side.server.notify_method(method, &params, related, &mut side.out);
            assert_eq!(side.sent(), [""; 0], "{method}");
        }
    }
}

/// Proves M-ERA-38, M-RPC-08, M-RPC-09, M-R-38: an id is in flight once, in either era, and a second request with
/// the id does no harm.
#[test]
fn an_id_is_in_flight_once_in_both_eras() {
    let (by_itself, in_session) =
        (modern_request("1", "tools/list", ""), of_session("1", "tools/list", ""));
    for (first, second) in [
        (&by_itself, &in_session),
        (&in_session, &by_itself),
        (&by_itself, &by_itself),
        (&by_itself, &modern_request("1", "server/discover", "")),
        (&in_session, &listen("1", TOOLS)),
    ] {
        let mut side = beside_session(LATEST);
        let id = side.request(first);
        let Some(ServerEvent::Violation(violation)) = side.receive(second) else { panic!() };
        assert_eq!(violation.kind, ViolationKind::DuplicateRequestId);
        assert_eq!(side.sent(), [""; 0]);
        side.respond(id, r#"{"tools":[]}"#);
        assert_eq!(side.sent().len(), 1);
        assert!(side.receive(second).is_some() || !side.sent().is_empty(), "now it is free");
    }
}

/// Proves M-ARCH-09, M-ERA-37, M-META-19, M-CANC-05, M-CANC-20: a cancellation names a request of either era and
/// needs no other member.
#[test]
fn a_cancellation_finds_its_request_in_both_eras() {
    let mut side = beside_session(LATEST);
    let ids = [modern_request("1", "tools/list", ""), of_session("2", "tools/list", "")]
        .map(|frame| side.request(&frame));
    for (id, wire) in ids.into_iter().zip(["1", "2"]) {
        let frame = cancel(wire).replace("}}", r#","reason":"enough"}}"#);
        let Some(ServerEvent::Cancelled(cancelled)) = side.receive(&frame) else { panic!() };
        assert_eq!((cancelled.id, cancelled.cause), (id, CancelCause::Peer));
        assert_eq!(cancelled.reason.unwrap().to_str(), "enough");
    }
    assert_eq!(side.sent(), [""; 0]);
    lives(&mut side);
}

/// Proves M-RPC-18, M-ERA-04: where a session has batches, they contain no modern request.
#[test]
fn modern_requests_in_a_batch_are_refused() {
    let mut side = beside_session(Revision::V2025_03_26);
    let batch = format!(
        "[{},{},{}]",
        of_session("1", "tools/list", ""),
        modern_request("2", "tools/list", ""),
        modern_request("3", "server/discover", "")
    );
    let mut served = Vec::new();
    for frame in mcp_sansio::Frames::of(batch.as_bytes(), &mcp_sansio::Limits::default()) {
        match side.server.receive(frame, side.now, &mut side.out) {
            Some(ServerEvent::Request(request)) => served.push(request.id),
            Some(ServerEvent::Violation(violation)) => {
                assert_eq!(violation.kind, ViolationKind::BatchNotAllowed);
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(served.len(), 1);
    side.respond(served[0], r#"{"tools":[]}"#);
    let refusal = |id: &str| error(id, -32600, "this revision has no batches");
    let (second, third) = (refusal("2"), refusal("3"));
    assert_eq!(side.sent(), [format!("[{second},{third},{}]", plain("1", r#""tools":[]"#))]);
    lives(&mut side);
}

/// Proves M-ERA-37: other notifications belong to the session.
#[test]
fn notifications_belong_to_the_session() {
    let mut fresh = server();
    fresh.request(&modern_request("1", "tools/list", ""));
    let mut session = beside_session(LATEST);
    session.request(&modern_request("1", "tools/list", ""));
    for method in ["notifications/roots/list_changed", "notifications/x"] {
        let frame = format!(r#"{{"jsonrpc":"2.0","method":"{method}"}}"#);
        let event = fresh.receive(&frame);
        let Some(ServerEvent::Violation(violation)) = event else { panic!("{event:?}") };
        assert_eq!(violation.kind, ViolationKind::UnexpectedNotification);
        let event = session.receive(&frame);
        assert!(matches!(event, Some(ServerEvent::Notification(_))), "{event:?}");
    }
    assert_eq!([fresh.sent(), session.sent()], [[""; 0]; 2]);
}

/// Proves M-ERA-39, M-R-31, M-R-32: messages that arrive in one piece are handled one by one, in order.
#[test]
fn pipelined_messages_of_both_eras_are_handled_in_order() {
    let lines = [
        modern_request("1", "server/discover", ""),
        modern_request("2", "tools/list", ""),
        initialize("3", "2025-11-25"),
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.into(),
        of_session("4", "tools/list", ""),
        modern_request("5", "tools/list", ""),
        of_version("6", "tools/list", "x", "{}", ""),
    ];
    let text = lines.join("\n") + "\n";
    for step in [1, 7, usize::MAX] {
        let mut side = server();
        let mut inbox = Inbox::new(&side.server.config().connection.limits.clone());
        let mut eras = Vec::new();
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            let fed = inbox.feed(&rest[..rest.len().min(step)]);
            rest = &rest[fed..];
            while let Some(frame) = inbox.next() {
                match side.server.receive(frame, side.now, &mut side.out) {
                    Some(ServerEvent::Request(request)) => eras.push(request.context.revision),
                    Some(ServerEvent::Violation(violation)) => {
                        assert_eq!(violation.kind, ViolationKind::UnsupportedRevision);
                    }
                    Some(ServerEvent::Opened(_) | ServerEvent::Ready) | None => {}
                    other => panic!("{other:?}"),
                }
            }
        }
        assert_eq!(eras, [Revision::V2026_07_28, LATEST, Revision::V2026_07_28]);
        let sent = side.sent();
        assert_eq!(sent.len(), 3);
        assert!(sent[0].contains("supportedVersions") && sent[1].contains("protocolVersion"));
        assert_eq!(sent[2], other_version("6", "x"));
        assert_eq!(side.server.in_flight().counts().inbound, 3);
    }
}

/// Proves M-ERA-36: a legacy-only server ignores claims.
#[test]
fn a_server_of_sessions_takes_no_claim() {
    let mut side = ServerSide::ready_with(config::server(), LATEST);
    let request = request(&mut side, &of_client("1", "tools/list", "{}", ""));
    assert_eq!(request.context.revision, LATEST);
    assert!(request.context.capabilities.contains(mcp_sansio::capability::Capability::Sampling));
    side.respond(request.id, r#"{"tools":[]}"#);
    assert_eq!(side.sent(), [plain("1", r#""tools":[]"#)]);
}

/// Proves M-ARCH-04: everything of this revision works without sessions.
#[test]
fn nothing_needs_a_session() {
    let both = server_with(|config| config.revisions = RevisionSet::ALL);
    let one = without_sessions();
    let mut sent = [both, one].map(|mut side| {
        let mut sent = Vec::new();
        for (method, params, result) in METHODS {
            let id = side.request(&modern_request("1", method, params));
            side.respond(id, &format!("{{{result}}}"));
        }
        assert_eq!(side.receive(&modern_request("1", "server/discover", "")), None);
        let _ = side.receive(&listen("1", TOOLS));
        assert_eq!(changed(&mut side), Delivery::Sent);
        let need = mcp_sansio::model::InputRequired::new().state("s");
        let tool = request(&mut side, &modern_request("2", "tools/call", r#""name":"t""#));
        side.server.require_input(&tool, &need, side.now, &mut side.out).unwrap();
        side.server.shut_down(Duration::ZERO, side.now);
        let _ = side.outcomes();
        sent.extend(side.sent());
        sent
    });
    // A response for each method; then the discovery, the acknowledgement, the change, the wish for input and the end
    // of the subscription.
    assert_eq!(sent[0].len(), METHODS.len() + 5);
    let [both, one] = &mut sent;
    assert_eq!(both, one);
}

/// Proves M-STDIO-07, M-R-37, M-R-40: at the end of the input requests of both eras may still be answered, then the
/// connection closes.
#[test]
fn the_end_of_the_input_is_the_same_for_both() {
    let mut side = beside_session(LATEST);
    let ids = [modern_request("1", "tools/list", ""), of_session("2", "tools/list", "")]
        .map(|frame| side.request(&frame));
    side.server.disconnected(Cause::EndOfInput, side.now);
    let events = side.outcomes();
    assert!(matches!(events.as_slice(), [ServerEvent::Draining { .. }]), "{events:?}");
    side.respond(ids[0], r#"{"tools":[]}"#);
    assert_eq!(side.sent(), [cacheable("1", r#""tools":[]"#)]);
    let events = side.elapse(5_000);
    let causes: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            ServerEvent::Cancelled(cancelled) => Some((cancelled.id, cancelled.cause)),
            _ => None,
        })
        .collect();
    assert_eq!(causes, [(ids[1], CancelCause::Closed)]);
    assert_eq!(events.last(), Some(&ServerEvent::Closed { cause: Cause::DrainDeadline }));
    let refused = r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"the connection is shutting down"}}"#;
    assert_eq!(side.sent(), [refused]);
    let mut side = beside_session(LATEST);
    side.request(&modern_request("1", "tools/list", ""));
    subscribe(&mut side, "2", TOOLS, TOOLS);
    side.server.disconnected(Cause::ReadFailed, side.now);
    assert_eq!(side.outcomes().len(), 3);
    assert_eq!(side.sent(), [""; 0], "nobody reads any more");
}
