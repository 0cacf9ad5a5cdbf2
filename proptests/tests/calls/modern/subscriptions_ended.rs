//! The ends of subscriptions of a client.

use mcp_sansio::call::Cancellation;
use mcp_sansio::error::ViolationKind;
use mcp_sansio::event::{SubscriptionEnd, SubscriptionNews, UnmatchedCause};
use mcp_sansio::model::SubscriptionFilter;
use mcp_sansio::schema::EncodeError;
use mcp_sansio::{CallError, Cause, ClientEvent, ErrorCode};
use mcp_sansio_proptests::config;

use super::kit::{
    SESSION, SUPPORTED, begun, cancelled, error, is_alive, news, only, result, tagged,
};
use super::subscriptions::{granting, listen, open, opening};

const FINISHED: &str = r#"{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":2,"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}}}"#;

fn given_up(id: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id},"reason":"r"}}}}"#
    )
}

/// The ways in which a server ends a subscription.
fn ways() -> [String; 4] {
    [
        result(2, FINISHED),
        given_up("2"),
        error(2, -32603, ""),
        result(2, r#"{"resultType":"complete"}"#),
    ]
}

/// Proves M-SUB-19, M-SUB-20, M-SUB-21, M-CANC-13, M-AMB-01: every way to end a subscription, before and after the
/// acknowledgement.
/// Pain 78.
#[test]
fn each_way_to_end_a_subscription_has_its_name() {
    for granted in [false, true] {
        for (index, way) in ways().iter().enumerate() {
            let (mut side, call) = if granted { open() } else { opening() };
            let (id, what) = news(side.receive(way));
            assert_eq!(id, call);
            let SubscriptionNews::Ended(end) = what else { panic!("{what:?}") };
            match (index, granted, &end) {
                (0 | 3, _, SubscriptionEnd::Finished) => {}
                (1, _, SubscriptionEnd::Cancelled { reason: Some(reason) }) => {
                    assert!(*reason == "r")
                }
                (2, false, SubscriptionEnd::Rejected(error))
                | (2, true, SubscriptionEnd::Failed(error)) => {
                    assert_eq!(error.code, ErrorCode::INTERNAL_ERROR);
                }
                _ => panic!("{way} {granted}: {end:?}"),
            }
            assert_eq!(side.client.in_flight().subscriptions().count(), 0);
            is_alive(&mut side);
        }
    }
}

/// Proves M-SUB-19, M-R-07, M-R-08: the first end counts; later messages have no effect.
#[test]
fn the_first_end_is_the_end() {
    for first in ways() {
        for second in ways() {
            let (mut side, _) = open();
            assert!(matches!(side.receive(&first), Some(ClientEvent::Subscription(_))));
            let event = side.receive(&second);
            assert!(
                matches!(event, None | Some(ClientEvent::UnmatchedResponse(_))),
                "{first} {second}: {event:?}"
            );
            for late in [tagged("tools/list_changed", "2", ""), granting("2", "{}")] {
                assert_eq!(side.receive(&late), None, "{first} {late}");
            }
            is_alive(&mut side);
        }
    }
    // The same for the end of the connection.
    let (mut side, call) = open();
    side.client.disconnected(Cause::ReadFailed, side.now);
    let events = side.outcomes();
    let [ClientEvent::Subscription(update), ClientEvent::Closed { .. }] = &events[..] else {
        panic!("{events:?}")
    };
    assert_eq!(update.call, call);
    assert_eq!(update.news, SubscriptionNews::Ended(SubscriptionEnd::Lost(Cause::ReadFailed)));
}

/// Proves M-SUB-16, M-R-04, M-R-06, M-R-09: this side ends a subscription with a cancellation, at any time, and
/// drops later messages.
#[test]
fn a_subscription_is_ended_with_a_cancellation() {
    for granted in [false, true] {
        let (mut side, call) = if granted { open() } else { opening() };
        let over = side.client.cancel(call, None, &mut side.out);
        assert_eq!(over, Ok(Cancellation::Notified));
        assert_eq!(side.sent(), [cancelled(2)]);
        for late in [granting("2", "{}"), tagged("tools/list_changed", "2", ""), given_up("2")] {
            assert_eq!(side.receive(&late), None, "{late}");
        }
        let event = side.receive(&result(2, FINISHED));
        assert!(
            matches!(event, Some(ClientEvent::UnmatchedResponse(unmatched)) if unmatched.cause == UnmatchedCause::Cancelled)
        );
        assert!(side.client.cancel(call, None, &mut side.out).is_err());
        assert_eq!(side.client.in_flight().subscriptions().count(), 0);
        is_alive(&mut side);
    }
    // A subscription that has not left is withdrawn.
    let mut side = super::kit::connected();
    let filter = SubscriptionFilter::new();
    let call = side.client.subscribe(&filter, side.now, &mut side.out).unwrap();
    assert_eq!(side.client.cancel(call, None, &mut side.out), Ok(Cancellation::Withdrawn));
    is_alive(&mut side);
}

/// Proves M-CANC-13, M-CANC-14: only by its exact id.
#[test]
fn a_server_gives_up_a_subscription_by_its_exact_id() {
    let (mut side, call) = open();
    for id in [r#""2""#, "3", "1", "2.0", "null", "{}"] {
        let event = side.receive(&given_up(id));
        assert!(matches!(event, None | Some(ClientEvent::Violation(_))), "{id}: {event:?}");
        assert!(side.client.in_flight().is_pending(call), "{id}");
    }
    is_alive(&mut side);
    assert!(
        matches!(news(side.receive(&given_up("2"))), (id, SubscriptionNews::Ended(_)) if id == call)
    );
}

/// A malformed response ends a subscription as `Malformed`.
#[test]
fn a_broken_answer_ends_a_subscription_badly() {
    let broken = r#"{"jsonrpc":"2.0","id":2,"result":{},"error":{"code":1,"message":"m"}}"#;
    let (mut side, call) = open();
    let end = SubscriptionEnd::Malformed(ViolationKind::MalformedResponse);
    assert_eq!(news(side.receive(broken)), (call, SubscriptionNews::Ended(end)));
    is_alive(&mut side);
}

/// An unknown kind of result, or one that a subscription cannot have, is invalid as well.
/// Proves M-RES-03, M-SUB-33.
#[test]
fn a_strange_kind_of_result_ends_a_subscription_badly() {
    for kind in [r#""later""#, r#""task""#, r#""input_required""#, "1", "null"] {
        let (mut side, call) = open();
        let text = format!(r#"{{"resultType":{kind},"requestState":"s"}}"#);
        let end = SubscriptionEnd::Malformed(ViolationKind::InvalidResult);
        let event = side.receive(&result(2, &text));
        assert_eq!(news(event), (call, SubscriptionNews::Ended(end)), "{kind}");
        is_alive(&mut side);
    }
}

/// A subscription that is refused for its version is repeated like any request.
/// Proves M-DISC-12.
#[test]
fn a_refused_version_is_corrected_for_a_subscription_too() {
    let (mut side, call) = opening();
    assert_eq!(side.receive(&error(2, -32022, SUPPORTED)), None);
    assert_eq!(side.sent(), [listen(3, r#"{"toolsListChanged":true}"#)]);
    let (id, what) = news(side.receive(&granting("3", "{}")));
    assert!(id == call && matches!(what, SubscriptionNews::Granted { .. }));
    // Only once.
    let (mut side, call) = opening();
    side.receive(&error(2, -32022, SUPPORTED));
    side.sent();
    let (id, what) = news(side.receive(&error(3, -32022, SUPPORTED)));
    assert!(id == call);
    assert!(matches!(what, SubscriptionNews::Ended(SubscriptionEnd::Rejected(_))), "{what:?}");
    is_alive(&mut side);
}

/// Closing the connection ends its subscriptions at once.
#[test]
fn a_subscription_ends_with_the_connection() {
    let (mut side, call) = open();
    side.client.close();
    let events = side.outcomes();
    let [ClientEvent::Subscription(update), ClientEvent::Closed { .. }] = &events[..] else {
        panic!("{events:?}")
    };
    assert_eq!(update.call, call);
    assert_eq!(update.news, SubscriptionNews::Ended(SubscriptionEnd::Lost(Cause::ShutDown)));
    assert_eq!(side.client.in_flight().counts().outbound, 0);
}

/// An open subscription has no timers: it outlasts a pause that ends every call (`Timeouts::person`). The same
/// holds for a subscription that a legacy session has adopted.
#[test]
fn an_open_subscription_outlasts_every_pause() {
    let (modern, open) = open();
    let mut legacy = begun(config::client_of_both_eras());
    let filter = SubscriptionFilter::new().with_tools();
    let adopted = legacy.client.subscribe(&filter, legacy.now, &mut legacy.out).unwrap();
    assert_eq!(legacy.receive(&error(1, -32601, "")), None);
    legacy.sent();
    assert!(matches!(legacy.receive(&result(3, SESSION)), Some(ClientEvent::Connected(_))));
    assert!(matches!(news(only(legacy.outcomes())).1, SubscriptionNews::Granted { .. }));
    legacy.sent();
    for (mut side, call) in [(modern, open), (legacy, adopted)] {
        side.client.set_paused(true, side.now);
        assert_eq!(side.elapse(10 * 900_000), []);
        side.client.set_paused(false, side.now);
        assert_eq!(side.outcomes(), []);
        assert_eq!(side.client.in_flight().subscriptions().collect::<Vec<_>>(), [call]);
    }
    // A subscription that is not open yet ends like any call.
    let (mut side, call) = opening();
    side.client.set_paused(true, side.now);
    let (id, end) = news(only(side.elapse(900_000)));
    assert_eq!((id, end), (call, SubscriptionNews::Ended(SubscriptionEnd::TimedOut)));
}

/// A subscription that has to be requested again ends if no outbox can hold the request.
#[test]
fn a_subscription_that_cannot_be_requested_again_ends() {
    let (mut side, call) = opening();
    side.out.set_limit(10);
    assert_eq!(side.receive(&error(2, -32022, SUPPORTED)), None);
    let full = CallError::Encode(EncodeError::Full);
    let end = SubscriptionNews::Ended(SubscriptionEnd::CallError(full));
    assert_eq!(news(only(side.outcomes())), (call, end));
    assert_eq!(side.client.in_flight().subscriptions().count(), 0);
}

/// Notifications that arrived before the end are reported before it, also if the acknowledgement and the end arrive in
/// one read.
///
/// Proves M-SUB-12.
#[test]
fn the_end_follows_the_notifications_before_it() {
    for (index, way) in ways().iter().enumerate() {
        for is_lost in [false, true] {
            let (mut side, call) = opening();
            assert_eq!(side.receive(&tagged("tools/list_changed", "2", "")), None);
            let (granted, _) = news(side.receive(&granting("2", r#"{"toolsListChanged":true}"#)));
            assert_eq!(granted, call);
            assert_eq!(side.receive(way), None, "{way}");
            assert!(side.client.in_flight().subscriptions().eq([call]));
            // What still names it has no effect.
            for late in [tagged("tools/list_changed", "2", ""), granting("2", "{}"), given_up("2")]
            {
                assert_eq!(side.receive(&late), None, "{late}");
            }
            let event = side.receive(&result(2, FINISHED));
            assert!(
                matches!(&event, Some(ClientEvent::UnmatchedResponse(unmatched)) if unmatched.cause == UnmatchedCause::Completed),
                "{event:?}"
            );
            if is_lost {
                side.client.disconnected(Cause::EndOfInput, side.now);
            }
            let mut events = side.outcomes().into_iter();
            assert!(matches!(events.next(), Some(ClientEvent::Violation(_))));
            let (id, what) = news(events.next());
            assert!(id == call && matches!(what, SubscriptionNews::Changed(_)), "{what:?}");
            let (id, what) = news(events.next());
            assert_eq!(id, call);
            let is_expected = match &what {
                SubscriptionNews::Ended(SubscriptionEnd::Finished) => matches!(index, 0 | 3),
                SubscriptionNews::Ended(SubscriptionEnd::Cancelled { .. }) => index == 1,
                SubscriptionNews::Ended(SubscriptionEnd::Failed(_)) => index == 2,
                _ => false,
            };
            assert!(is_expected, "{way}: {what:?}");
            let left: Vec<_> = events.collect();
            assert_eq!(left.len(), usize::from(is_lost), "{left:?}");
            assert_eq!(side.client.in_flight().counts().outbound, 0);
            assert_eq!(side.client.in_flight().counts().kept_bytes, 0);
            let mut next = super::kit::successor(&side);
            next.client.connect(next.now, &mut next.out).unwrap();
            assert_eq!(next.sent().len(), 1, "the subscription has ended, so it is not reopened");
            if !is_lost {
                is_alive(&mut side);
            }
        }
    }
}

/// A subscription whose end waits can still be cancelled: nothing is sent for it.
#[test]
fn a_subscription_whose_end_waits_can_be_cancelled() {
    let (mut side, call) = opening();
    assert_eq!(side.receive(&tagged("tools/list_changed", "2", "")), None);
    news(side.receive(&granting("2", r#"{"toolsListChanged":true}"#)));
    assert_eq!(side.receive(&result(2, FINISHED)), None);
    assert!(side.client.cancel(call, None, &mut side.out).is_ok());
    assert!(matches!(&side.outcomes()[..], [ClientEvent::Violation(_)]));
    assert_eq!(side.client.in_flight().counts().outbound, 0);
    is_alive(&mut side);
}
