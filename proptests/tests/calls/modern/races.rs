//! Messages that cross on the wire, in both orders: table 5, from the perspective of a client.
//!
//! Races of only calls or only subscriptions are tested with those; this file has the races that involve both.

use std::time::Duration;

use mcp_sansio::call::Timeout;
use mcp_sansio::error::ViolationKind;
use mcp_sansio::event::UnmatchedCause;
use mcp_sansio::json::Raw;
use mcp_sansio::{CallOptions, Cause, ClientEvent, Outcome};
use mcp_sansio_proptests::config;

use super::input::{ROOTS, again, asking, calling};
use super::kit::{
    DISCOVERY, SESSION, SUPPORTED, asked, begun, cancelled, complete, connected, ended, error,
    initialize, is_alive, needed, only, result, violation,
};

const DONE: &str = r#"{"resultType":"complete","content":[]}"#;

/// Proves M-R-01, M-CANC-09: a cancellation and a response of any kind, in both orders.
#[test]
fn a_cancellation_crosses_any_answer() {
    let answers = [
        result(2, DONE),
        error(2, -32603, ""),
        error(2, -32022, SUPPORTED),
        asking(2, &[("k", ROOTS)], None),
        result(2, r#"{"resultType":"later"}"#),
        result(2, "7"),
    ];
    for answer in answers {
        let (mut side, call) = calling();
        side.client.cancel(call, None, &mut side.out).unwrap();
        assert_eq!(side.sent(), [cancelled(2)]);
        let event = side.receive(&answer);
        assert!(
            matches!(&event, Some(ClientEvent::UnmatchedResponse(unmatched)) if unmatched.cause == UnmatchedCause::Cancelled)
                || matches!(event, Some(ClientEvent::Violation(_))),
            "{answer}: {event:?}"
        );
        is_alive(&mut side);
        // The other order: with any response, the call ends only once.
        let (mut side, call) = calling();
        let event = side.receive(&answer);
        let is_over = matches!(event, Some(ClientEvent::CallEnded(_)));
        side.sent();
        assert_eq!(side.client.cancel(call, None, &mut side.out).is_ok(), !is_over, "{answer}");
        side.sent();
        side.outcomes();
        assert_eq!(
            (side.client.in_flight().counts().outbound, side.client.in_flight().counts().inbound),
            (0, 0)
        );
        is_alive(&mut side);
    }
}

/// Proves M-R-14, M-R-15: the cancellation of a call after a round names the current request.
#[test]
fn a_cancellation_names_the_request_that_is_under_way() {
    let (mut side, call) = calling();
    let request = needed(side.receive(&asking(2, &[("k", ROOTS)], None)));
    side.respond(request.id, r#"{"roots":[]}"#);
    assert_eq!(side.sent(), [again(3, r#""inputResponses":{"k":{"roots":[]}}"#)]);
    // A repeated response to the first request has no effect.
    let event = side.receive(&result(2, DONE));
    assert!(
        matches!(event, Some(ClientEvent::UnmatchedResponse(unmatched)) if unmatched.cause == UnmatchedCause::Completed)
    );
    side.client.cancel(call, None, &mut side.out).unwrap();
    assert_eq!(side.sent(), [cancelled(3)]);
    is_alive(&mut side);
}

/// Proves M-R-16: the machine returns a state only once by itself.
#[test]
fn a_state_is_brought_back_once() {
    let (mut side, call) = calling();
    let request = needed(side.receive(&asking(2, &[("k", ROOTS)], Some(r#""s""#))));
    let event = side.receive(&asking(2, &[("k", ROOTS)], Some(r#""s""#)));
    assert!(matches!(event, Some(ClientEvent::UnmatchedResponse(_))), "{event:?}");
    // A response under the next id is not accepted before the repeated request is made.
    let event = side.receive(&result(3, DONE));
    assert!(
        matches!(event, Some(ClientEvent::UnmatchedResponse(unmatched)) if unmatched.cause == UnmatchedCause::NeverIssued)
    );
    side.respond(request.id, r#"{"roots":[]}"#);
    assert_eq!(side.sent().len(), 1);
    assert_eq!((side.elapse(59_999), side.sent()), (vec![], vec![]));
    assert_eq!(complete(side.receive(&result(3, DONE))).0, call);
}

/// Proves M-R-17: the refusal of an expired state is the outcome.
#[test]
fn a_state_that_is_too_old_is_the_outcome() {
    let (mut side, call) = calling();
    let request = needed(side.receive(&asking(2, &[("k", ROOTS)], Some(r#""s""#))));
    side.respond(request.id, r#"{"roots":[]}"#);
    side.sent();
    let event = side.receive(&error(3, -32602, ""));
    let Some(ClientEvent::CallEnded(end)) = event else { panic!("{event:?}") };
    assert_eq!(end.call, call);
    assert!(end.needed_input && matches!(end.outcome, Outcome::PeerError(_)));
    is_alive(&mut side);
}

/// Proves M-R-32, M-R-33: several requests are refused for their version at once, and each is repeated once.
#[test]
fn each_refused_request_is_made_again_once() {
    let mut side = connected();
    let calls: Vec<_> = (0..3).map(|_| side.call("tools/list")).collect();
    side.sent();
    for id in [4, 2, 3] {
        assert_eq!(side.receive(&error(id, -32022, SUPPORTED)), None);
    }
    let again: Vec<_> = (5..8).map(|id| asked(id, "tools/list", "")).collect();
    assert_eq!(side.sent(), again);
    for (id, index) in [(5, 2), (6, 0), (7, 1)] {
        assert_eq!(
            complete(side.receive(&result(id, r#"{"resultType":"complete","tools":[]}"#))).0,
            calls[index]
        );
    }
    is_alive(&mut side);
}

/// The same beside a refused probe: the assumed era was right except for the refusal.
/// Proves M-R-33.
#[test]
fn calls_beside_a_refused_probe_are_made_again_too() {
    let mut config = config::client_of_both_eras();
    config.known = Some(mcp_sansio::Revision::V2026_07_28);
    let mut side = begun(config);
    let call = side.call("tools/list");
    side.sent();
    side.outcomes();
    assert_eq!(side.receive(&error(1, -32022, SUPPORTED)), None);
    assert_eq!(side.sent(), [asked(3, "server/discover", "")]);
    assert_eq!(side.receive(&error(2, -32022, SUPPORTED)), None);
    // An event may or may not be returned.
    _ = side.receive(&result(3, DISCOVERY));
    assert_eq!(side.sent(), [asked(4, "tools/list", "")]);
    assert!(side.client.in_flight().is_pending(call));
}

/// Proves M-R-30, M-R-31: the response to the probe arrives after `initialize` was sent, before or after its
/// response.
#[test]
fn the_probe_crosses_initialize() {
    for late_first in [true, false] {
        let mut side = begun(config::client_of_both_eras());
        side.sent();
        side.elapse(10_000);
        assert_eq!(side.sent(), [initialize(2, "2025-11-25")]);
        let late = result(1, DISCOVERY);
        if late_first {
            assert!(matches!(side.receive(&late), Some(ClientEvent::UnmatchedResponse(_))));
        }
        assert!(matches!(side.receive(&result(2, SESSION)), Some(ClientEvent::Connected(_))));
        assert_eq!(side.sent().len(), 1);
        if !late_first {
            assert!(matches!(side.receive(&late), Some(ClientEvent::UnmatchedResponse(_))));
        }
        is_alive(&mut side);
        assert_eq!(side.client.revision(), Some(mcp_sansio::Revision::V2025_11_25));
    }
}

/// Proves M-R-40, M-R-37: a server that ends leaves no open calls or subscriptions.
#[test]
fn a_server_that_ends_leaves_nothing_open() {
    let (mut side, call) = super::subscriptions::open();
    let pending = side.call("tools/call");
    side.sent();
    let finished =
        r#"{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":2}}"#;
    assert!(
        matches!(side.receive(&result(2, finished)), Some(ClientEvent::Subscription(update)) if update.call == call)
    );
    side.client.disconnected(Cause::EndOfInput, side.now);
    let events = side.outcomes();
    assert_eq!(ended(events.first().cloned()), (pending, Outcome::Closed(Cause::EndOfInput)));
    assert_eq!(events.len(), 2);
    assert_eq!(
        (side.client.in_flight().counts().outbound, side.client.in_flight().counts().inbound),
        (0, 0)
    );
}

/// An input request is refused and its call is cancelled, in both orders.
#[test]
fn input_and_its_refusal_cross_the_end() {
    for cancel_first in [true, false] {
        let (mut side, call) = calling();
        let request = needed(side.receive(&asking(2, &[("k", ROOTS)], None)));
        let no = mcp_sansio::ErrorCode::USER_REJECTED;
        if cancel_first {
            side.client.cancel(call, None, &mut side.out).unwrap();
            assert!(side.client.reject(request.id, no, "no", &mut side.out).is_err());
            assert!(matches!(&side.outcomes()[..], [ClientEvent::Cancelled(_)]));
        } else {
            side.client.reject(request.id, no, "no", &mut side.out).unwrap();
            assert!(side.client.cancel(call, None, &mut side.out).is_ok());
            assert_eq!(side.outcomes(), []);
        }
        is_alive(&mut side);
        // The same for the end of the connection.
        let (mut side, call) = calling();
        let request = needed(side.receive(&asking(2, &[("k", ROOTS)], None)));
        side.client.reject(request.id, no, "no", &mut side.out).unwrap();
        side.client.disconnected(Cause::EndOfInput, side.now);
        // The pending outcome of the call precedes the end of the connection.
        let mut events = side.outcomes().into_iter();
        assert_eq!(ended(events.next()), (call, Outcome::InputRefused(no)));
        assert!(!events.any(|event| matches!(event, ClientEvent::CallEnded(_))));
    }
}

/// Proves L-PROG-08, M-PROG-06 for a guessed token: progress for a request that was not sent extends no timeout.
#[test]
fn progress_on_a_request_that_was_not_sent_is_a_violation() {
    let progress = |token: u64| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":1}}}}"#
        )
    };
    let fifty_seconds = Timeout::After(Duration::from_secs(50));
    let options = CallOptions::new().progress().idle(fifty_seconds);
    // The request will be repeated under id 3 once the application has answered.
    let mut side = connected();
    let params = Raw::new(r#"{"name":"n"}"#).unwrap();
    side.client.call_method("tools/call", &params, options, side.now, &mut side.out).unwrap();
    side.sent();
    let request = needed(side.receive(&asking(2, &[("k", ROOTS)], None)));
    assert_eq!(violation(side.receive(&progress(3))), ViolationKind::UnknownToken);
    side.respond(request.id, r#"{"roots":[]}"#);
    side.sent();
    assert!(matches!(side.receive(&progress(3)), Some(ClientEvent::Progress(_))));
    // The request waits for the handshake.
    let mut side = begun(config::client());
    let call = side.client.call_method("a", &(), options, side.now, &mut side.out).unwrap();
    side.sent();
    side.elapse(30_000);
    assert_eq!(violation(side.receive(&progress(2))), ViolationKind::UnknownToken);
    assert_eq!(ended(only(side.elapse(20_000))).0, call);
}
