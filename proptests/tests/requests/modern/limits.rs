//! Limits on the memory that modern requests occupy in a server, and peers that do not read.

use std::time::Duration;

use mcp_sansio::error::{NotAllowed, ViolationKind};
use mcp_sansio::model::{ElicitParams, InputRequired};
use mcp_sansio::subscription::{ChangedList, Delivery};
use mcp_sansio::testing::WorkMeter;
use mcp_sansio::{CallError, CallOptions, Phase, ServerEvent};
use mcp_sansio_proptests::ServerSide;

use crate::modern::kit::*;

const TOOLS: &str = r#""toolsListChanged":true"#;
const TOOLS_CHANGED: &str = "notifications/tools/list_changed";

fn changed(side: &mut ServerSide) -> Delivery {
    side.server.notifications().list_changed(ChangedList::Tools, &mut side.out).unwrap()
}

fn update(side: &mut ServerSide, uri: &str) -> Delivery {
    side.server.notifications().resource_updated(uri, &mut side.out).unwrap()
}

/// Proves M-SUB-28, M-SUB-29, M-SECL-01: each limit has a defined error, and nothing else is affected.
#[test]
fn each_bound_has_its_answer() {
    let mut side = server_with(|config| {
        let limits = &mut config.connection.limits;
        (limits.listens, limits.subscriptions, limits.uri_bytes) = (2, 2, 8);
        (limits.inbound_requests, limits.id_bytes, limits.token_bytes) = (3, 16, 8);
        limits.method_bytes = 24;
    });
    let resources = |uris: &str| format!(r#""resourceSubscriptions":[{uris}]"#);
    for (frame, kind, code) in [
        (
            listen("1", &resources(r#""a:b","a:c","a:d""#)),
            ViolationKind::TooManySubscriptions,
            -32603,
        ),
        (listen("1", &resources(r#""a:bcdefgh""#)), ViolationKind::LongUri, -32602),
        (
            with_more("1", "tools/list", r#""progressToken":"1234567""#, ""),
            ViolationKind::MalformedToken,
            -32602,
        ),
        (modern_request("1", "x/234567890123456789012345", ""), ViolationKind::LongMethod, -32601),
    ] {
        refused(&mut side, &frame, kind, &error("1", code, kind.text()));
    }
    subscribe(&mut side, "1", TOOLS, TOOLS);
    let two = resources(r#""a:b","a:c""#);
    subscribe(&mut side, "2", &two, &two);
    let sent = error("3", -32603, "too many subscriptions are open");
    refused(&mut side, &listen("3", TOOLS), ViolationKind::TooManyListens, &sent);
    let last = side.request(&modern_request("4", "tools/list", ""));
    let event = side.receive(&modern_request("5", "tools/list", ""));
    assert!(matches!(event, Some(ServerEvent::Violation(_))), "{event:?}");
    assert_eq!(side.sent(), [error("5", -32603, "too many requests in flight")]);
    side.respond(last, r#"{"tools":[]}"#);
    assert_eq!(changed(&mut side), Delivery::Sent);
    assert_eq!(side.sent(), [cacheable("4", r#""tools":[]"#), tagged("1", TOOLS_CHANGED, "")]);
    // A slot that is free can be used again.
    assert!(side.receive(&cancel("1")).is_some());
    subscribe(&mut side, "3", TOOLS, TOOLS);
}

/// Proves M-SUB-28, M-SECL-01: a notification that the client has not read is not repeated.
#[test]
fn an_unread_notification_is_not_queued_twice() {
    let mut side = server();
    let filter = format!(r#"{TOOLS},"resourceSubscriptions":["x:a","x:b"]"#);
    subscribe(&mut side, "1", &filter, &filter);
    assert_eq!(changed(&mut side), Delivery::Sent);
    assert_eq!(update(&mut side, "x:a"), Delivery::Sent);
    for _ in 0..10_000 {
        assert_eq!(changed(&mut side), Delivery::Repeated);
        assert_eq!(update(&mut side, "x:a"), Delivery::Repeated);
    }
    assert_eq!(update(&mut side, "x:b"), Delivery::Sent);
    let expected = [tagged("1", TOOLS_CHANGED, ""), updated("1", "x:a"), updated("1", "x:b")];
    assert_eq!(side.sent(), expected);
    // A notification that has left does not absorb the next change.
    assert_eq!(changed(&mut side), Delivery::Sent);
    assert_eq!(side.sent(), [tagged("1", TOOLS_CHANGED, "")]);
}

/// Proves M-SUB-28, M-ARCH-07: a notification without room is sent once there is room, and delays nothing else.
#[test]
fn a_notification_without_room_is_sent_later() {
    let tag = tagged("1", TOOLS_CHANGED, "").len();
    let mut side = server_with(|config| config.connection.limits.outbox_bytes = 2 * tag);
    let filter = format!(r#"{TOOLS},"resourceSubscriptions":["x:a"]"#);
    subscribe(&mut side, "1", &filter, &filter);
    let request = side.request(&modern_request("2", "x/own", ""));
    assert_eq!(changed(&mut side), Delivery::Sent);
    assert_eq!(update(&mut side, "x:a"), Delivery::Lagged);
    assert_eq!(update(&mut side, "x:a"), Delivery::Repeated);
    // A short response still has room.
    let code = mcp_sansio::ErrorCode::new(1);
    side.server.reject(request, code, "n", &mut side.out).unwrap();
    assert_eq!(side.sent(), [tagged("1", TOOLS_CHANGED, ""), error("2", 1, "n")]);
    // Any received message makes the server retry, and so does a timeout.
    let mut other = side.clone();
    assert_eq!(side.receive(&cancel("77")), None);
    assert_eq!(other.outcomes(), []);
    for mut side in [side, other] {
        assert_eq!(side.sent(), [updated("1", "x:a")]);
        assert_eq!(update(&mut side, "x:a"), Delivery::Sent);
        assert_eq!(side.sent(), [updated("1", "x:a")]);
    }
}

/// Of several delayed notifications of a subscription, a short one does not wait for the room of a long one.
#[test]
fn a_short_delayed_notification_is_sent_before_a_long_one() {
    let mut side = server_with(|config| config.connection.limits.outbox_bytes = 1_000);
    let uri = format!("x:{}", "a".repeat(600));
    let filter = format!(r#"{TOOLS},"resourceSubscriptions":["{uri}"]"#);
    subscribe(&mut side, "1", &filter, &filter);
    let requests = ["2", "3"].map(|id| side.request(&modern_request(id, "x/own", "")));
    let text = "n".repeat(400);
    for request in requests {
        let code = mcp_sansio::ErrorCode::new(1);
        side.server.reject(request, code, &text, &mut side.out).unwrap();
    }
    assert_eq!(changed(&mut side), Delivery::Lagged);
    assert_eq!(update(&mut side, &uri), Delivery::Lagged);
    let first = error("2", 1, &text).len();
    side.out.sent(first);
    assert_eq!(side.receive(&cancel("77")), None);
    assert_eq!(side.sent(), [error("3", 1, &text), tagged("1", TOOLS_CHANGED, "")]);
    assert_eq!(side.receive(&cancel("77")), None);
    assert_eq!(side.sent(), [updated("1", &uri)]);
}

/// Proves M-SUB-18, M-R-07: a notification without room is sent before the end of the subscription, if there is
/// room by then.
#[test]
fn a_delayed_notification_is_sent_before_the_subscription_ends() {
    let tag = tagged("1", TOOLS_CHANGED, "").len();
    let mut side = server_with(|config| config.connection.limits.outbox_bytes = 2 * tag);
    let filter = format!(r#"{TOOLS},"resourceSubscriptions":["x:a"]"#);
    let id = subscribe(&mut side, "1", &filter, &filter);
    assert_eq!(changed(&mut side), Delivery::Sent);
    assert_eq!(update(&mut side, "x:a"), Delivery::Lagged);
    assert_eq!(side.sent().len(), 1);
    let ended_early = side.server.respond(id, &(), &mut side.out);
    assert!(ended_early.is_err(), "both of them are too much at once: {ended_early:?}");
    assert_eq!(side.sent(), [updated("1", "x:a")]);
    side.server.respond(id, &(), &mut side.out).unwrap();
    assert_eq!(side.sent(), [ended("1")]);
}

/// Proves M-SECL-01, M-MRTR-26: a server keeps no state of a request whose result requires input.
#[test]
fn an_interim_result_leaves_nothing_behind() {
    let mut side = server();
    let fresh = side.server.in_flight().counts();
    for _ in 0..100 {
        let request = request(&mut side, &of_client("1", "tools/call", ABLE, r#""name":"t""#));
        let visit = ElicitParams::visit("m", "https://example.com");
        let need = InputRequired::new().elicit("u", visit).state("s");
        side.server.require_input(&request, &need, side.now, &mut side.out).unwrap();
        assert_eq!(side.sent().len(), 1);
    }
    assert_eq!(side.server.in_flight().counts(), fresh);
    assert_eq!(side.server.poll_timeout(), None);
    assert_eq!(side.server.in_flight().calls().count(), 0);
}

/// Proves M-RPC-14, M-AMB-31, M-MRTR-06: a modern server without sessions never sends a request.
/// Pain 42.
#[test]
fn a_server_without_sessions_never_asks() {
    let mut side = without_sessions();
    let id = side.request(&of_client("1", "tools/call", ABLE, r#""name":"t""#));
    for method in ["ping", "sampling/createMessage", "elicitation/create", "roots/list", "x/own"] {
        for parent in [None, Some(id)] {
            let options = parent.map_or_else(CallOptions::new, |id| CallOptions::new().parent(id));
            let params = mcp_sansio_proptests::payload::params(method);
            let now = side.now;
            let asked = side.server.call_method(method, &params, options, now, &mut side.out);
            assert_eq!(side.sent(), [""; 0], "{method}");
            if method == "x/own" && parent.is_none() {
                // A custom method of the application waits for a session that may be opened.
                assert!(asked.is_ok());
                continue;
            }
            assert_eq!(asked, Err(CallError::NotAllowed(NotAllowed::Revision)), "{method}");
        }
    }
    side.respond(id, r#"{"content":[]}"#);
    assert_eq!(side.sent(), [complete("1", r#""content":[]"#)]);
    side.elapse(10_000_000);
    assert_eq!(side.sent(), [""; 0]);
}

/// Proves M-RPC-14: the machine itself sends no `ping` to a modern client either.
#[test]
fn a_silent_client_is_not_asked_whether_it_is_there() {
    let mut side = server_with(|config| {
        config.connection.keep_alive =
            Some(mcp_sansio::config::KeepAlive::every(Duration::from_secs(1)));
    });
    subscribe(&mut side, "1", TOOLS, TOOLS);
    assert_eq!(side.elapse(100_000), []);
    assert_eq!(side.sent(), [""; 0]);
    assert_ne!(side.server.phase(), Phase::Closed);
}

/// Proves M-RPC-14, M-AMB-31: an open session receives no request on behalf of a modern request.
#[test]
fn a_session_is_not_asked_on_behalf_of_others() {
    let mut side = beside_session(mcp_sansio::Revision::V2025_11_25);
    let id = side.request(&of_client("1", "tools/call", ABLE, r#""name":"t""#));
    let options = CallOptions::new().parent(id);
    for method in ["ping", "sampling/createMessage", "elicitation/create", "roots/list", "x/own"] {
        let params = mcp_sansio_proptests::payload::params(method);
        let now = side.now;
        let asked = side.server.call_method(method, &params, options, now, &mut side.out);
        assert!(asked.is_err(), "{method}");
        assert_eq!(side.sent(), [""; 0], "{method}");
    }
    side.respond(id, r#"{"content":[]}"#);
    assert_eq!(side.sent(), [complete("1", r#""content":[]"#)]);
}

/// The lag of a subscription does not depend on the length of its id, which is a part of every notification.
#[test]
fn a_lagging_subscription_with_a_long_id_catches_up() {
    let id = format!(r#""{}""#, "x".repeat(150));
    let notification = tagged(&id, TOOLS_CHANGED, "");
    let mut side = server();
    subscribe(&mut side, &id, TOOLS, TOOLS);
    for tries in [[0, 5_000].as_slice(), &[0, notification.len() - 1, 5_000]] {
        for (index, limit) in tries.iter().enumerate() {
            side.out.set_limit(*limit);
            if index == 0 {
                assert_eq!(changed(&mut side), Delivery::Lagged);
            }
            assert_eq!(side.outcomes(), []);
            let is_last = index + 1 == tries.len();
            assert_eq!(side.sent(), vec![notification.clone(); usize::from(is_last)]);
        }
    }
}

/// A subscription that cannot be acknowledged is refused, and leaves nothing behind.
#[test]
fn a_subscription_without_room_for_its_acknowledgement_is_refused() {
    let mut side = server();
    side.out.set_limit(20);
    let sent = error("1", -32603, "too many subscriptions are open");
    let event = side.receive(&listen("1", TOOLS));
    assert!(
        matches!(&event, Some(ServerEvent::Violation(violation)) if violation.kind == ViolationKind::TooManyListens),
        "{event:?}"
    );
    assert_eq!(side.sent(), [sent]);
    let counts = side.server.in_flight().counts();
    assert_eq!((counts.inbound, counts.kept_bytes), (0, 0));
    assert_eq!(changed(&mut side), Delivery::NotWanted);
    side.out.set_limit(5_000);
    subscribe(&mut side, "1", TOOLS, TOOLS);
}

/// As long as the outbox has no room for a pending change, a step makes no pass over the resources of its subscription.
#[test]
fn a_pending_change_without_room_costs_no_pass_over_its_subscription() {
    let mut side = server();
    let uris: Vec<String> = (0..500).map(|number| format!(r#""x:{number:03}""#)).collect();
    let filter = format!(r#""resourceSubscriptions":[{}]"#, uris.join(","));
    subscribe(&mut side, "1", &filter, &filter);
    side.out.set_limit(100);
    assert_eq!(update(&mut side, "x:499"), Delivery::Lagged);
    let meter = WorkMeter::start();
    assert_eq!(side.outcomes(), []);
    let steps = meter.steps();
    assert!(steps < 100, "{steps}");
    side.out.set_limit(5_000);
    assert_eq!((side.outcomes(), side.sent()), (vec![], vec![updated("1", "x:499")]));
}

/// A pending change of a part of a resource is not sent if an unsent notification reports the resource itself.
#[test]
fn a_pending_change_that_an_unsent_notification_reports_is_not_sent() {
    for more in [0, 1, 50] {
        let mut side = server();
        let filter = r#""resourceSubscriptions":["x:y"]"#;
        subscribe(&mut side, "1", filter, filter);
        assert_eq!(update(&mut side, "x:y"), Delivery::Sent);
        let unsent = side.out.len();
        side.out.set_limit(unsent);
        let mut notifications = side.server.notifications();
        let lagged = notifications.resource_updated_below("x:y", "x:y/z", &mut side.out);
        assert_eq!(lagged, Ok(Delivery::Lagged));
        // The room from which pending changes are tried: for a short notification with the URI and the id.
        let needed = 120 + "x:y/z".len() + "1".len();
        side.out.set_limit(unsent + needed + more);
        assert_eq!((side.outcomes(), side.sent()), (vec![], vec![updated("1", "x:y")]));
        side.out.set_limit(5_000);
        assert_eq!((side.outcomes(), side.sent()), (vec![], vec![]));
    }
}

/// The same part of a resource in a row is reported once while nobody reads, and does not hide that the whole was
/// reported.
///
/// Proves M-SUB-28.
#[test]
fn an_unread_notification_of_a_part_is_not_queued_twice() {
    let mut side = server();
    let filter = r#""resourceSubscriptions":["x:y"]"#;
    subscribe(&mut side, "1", filter, filter);
    let below = |side: &mut ServerSide, uri: &str| {
        side.server.notifications().resource_updated_below("x:y", uri, &mut side.out).unwrap()
    };
    assert_eq!(update(&mut side, "x:y"), Delivery::Sent);
    assert_eq!(below(&mut side, "x:y/1"), Delivery::Sent);
    for _ in 0..3 {
        assert_eq!(below(&mut side, "x:y/1"), Delivery::Repeated);
    }
    assert_eq!(update(&mut side, "x:y"), Delivery::Repeated);
    assert_eq!(below(&mut side, "x:y/2"), Delivery::Sent);
    let expected = ["x:y", "x:y/1", "x:y/2"].map(|uri| updated("1", uri));
    assert_eq!(side.sent(), expected);
    // What has been sent says nothing about later changes.
    assert_eq!(below(&mut side, "x:y/2"), Delivery::Sent);
    assert_eq!(update(&mut side, "x:y"), Delivery::Sent);
    assert_eq!(side.sent(), ["x:y/2", "x:y"].map(|uri| updated("1", uri)));
}
