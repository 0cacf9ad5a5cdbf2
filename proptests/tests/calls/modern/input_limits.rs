//! Timeouts, memory and other limits while input is collected for a call.

use std::time::Duration;

use mcp_sansio::call::Timeout;
use mcp_sansio::error::ViolationKind;
use mcp_sansio::event::{CancelCause, Expiry};
use mcp_sansio::{CallOptions, Cause, ClientEvent, Outcome, RespondError};
use mcp_sansio_proptests::payload;

use super::input::{FORM, ROOTS, again, asking, calling, interim};
use super::kit::{
    SUPPORTED, asked, complete, connected, connected_with, ended, error, is_alive, malformed,
    modern, needed, only, result, timed_out,
};

const NO_ROOTS: &str = r#"{"roots":[]}"#;

/// Proves M-MRTR-24: ten rounds, or the configured number, and no more.
#[test]
fn rounds_are_counted() {
    for most in [0, 1, 3, 10] {
        let mut config = modern();
        config.connection.limits.input_rounds = most;
        let mut side = connected_with(config);
        let call = side.call("tools/call");
        side.sent();
        for id in 2..u64::from(most) + 2 {
            let request = needed(side.receive(&asking(id, &[("k", ROOTS)], None)));
            side.respond(request.id, NO_ROOTS);
            assert_eq!(side.sent(), [again(id + 1, r#""inputResponses":{"k":{"roots":[]}}"#)]);
        }
        let last = u64::from(most) + 2;
        let event = side.receive(&asking(last, &[("k", ROOTS)], None));
        assert_eq!(ended(event), (call, Outcome::TooManyRounds));
        assert_eq!(side.client.in_flight().counts().inbound, 0);
        is_alive(&mut side);
        // Another call has its own rounds.
        if 0 < most {
            side.call("tools/call");
            side.sent();
            let event = side.receive(&asking(last + 2, &[("k", ROOTS)], None));
            assert!(matches!(event, Some(ClientEvent::Request(_))), "{event:?}");
        }
    }
}

/// Proves M-SECL-01: the number of input requests at the same time is limited.
#[test]
fn a_round_has_so_many_things() {
    for (asked, fits) in [(3, true), (4, false)] {
        let mut config = modern();
        config.connection.limits.input_requests = 3;
        let mut side = connected_with(config);
        let call = side.call("tools/call");
        side.sent();
        let keys: Vec<String> = (0..asked).map(|number| number.to_string()).collect();
        let requests: Vec<_> = keys.iter().map(|key| (&**key, ROOTS)).collect();
        let event = side.receive(&asking(2, &requests, None));
        if fits {
            assert_eq!(needed(event).needed_for, Some(call));
            assert_eq!(side.outcomes().len(), 2);
        } else {
            assert_eq!(malformed(event), (call, ViolationKind::InvalidResult));
            is_alive(&mut side);
        }
    }
}

/// Without room for the input requests, the application receives the interim result.
#[test]
fn without_room_input_is_seen_to_by_hand() {
    let asked = asking(2, &[("a", ROOTS), ("b", ROOTS)], Some(r#""s""#));
    let by_hand = |event, call| {
        let (over, outcome) = ended(event);
        assert_eq!(over, call);
        let Outcome::InputRequired(interim) = outcome else { panic!("{outcome:?}") };
        assert_eq!(interim.get("requestState").unwrap().as_json(), r#""s""#);
    };
    // There is no room for the requests.
    let mut config = modern();
    config.connection.limits.inbound_requests = 1;
    let mut side = connected_with(config);
    let call = side.call("tools/call");
    side.sent();
    by_hand(side.receive(&asked), call);
    is_alive(&mut side);
    // There is room for exactly as many.
    let mut config = modern();
    config.connection.limits.inbound_requests = 2;
    let mut side = connected_with(config);
    let call = side.call("tools/call");
    side.sent();
    assert_eq!(needed(side.receive(&asked)).needed_for, Some(call));
    // There is no room for the params, to the byte: they are kept with `_meta`.
    let sent = again(2, "");
    let length = sent.len() - r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":}"#.len();
    for (most, fits) in [(length, true), (length - 1, false)] {
        let mut config = modern();
        config.connection.limits.kept_bytes = most;
        let mut side = connected_with(config);
        let call = side.call("tools/call");
        assert_eq!(side.sent(), std::slice::from_ref(&sent));
        let event = side.receive(&asked);
        if fits {
            assert_eq!(needed(event).needed_for, Some(call));
        } else {
            by_hand(event, call);
            is_alive(&mut side);
        }
    }
}

/// The timers of a call are paused while its input is requested, and each round has its own idle timeout. Proves
/// M-MRTR-17.
#[test]
fn the_clock_stops_while_a_person_is_asked() {
    let mut side = connected();
    let after = |seconds| Timeout::After(Duration::from_secs(seconds));
    let options = CallOptions::new().idle(after(10)).total(after(25));
    let params = payload::params("tools/call");
    let call =
        side.client.call_method("tools/call", &params, options, side.now, &mut side.out).unwrap();
    side.sent();
    assert_eq!(side.elapse(9_000), []);
    let request = needed(side.receive(&asking(2, &[("k", FORM)], None)));
    assert_eq!(side.elapse(800_000), []);
    side.respond(request.id, r#"{"action":"cancel"}"#);
    assert_eq!((side.sent().len(), side.outcomes()), (1, vec![]));
    // Nine of the twenty-five seconds have passed, and none of the ten.
    assert_eq!(side.elapse(9_999), []);
    let request = needed(side.receive(&asking(3, &[("k", FORM)], None)));
    assert_eq!(side.elapse(60_000), []);
    side.respond(request.id, r#"{"action":"cancel"}"#);
    assert_eq!((side.sent().len(), side.outcomes()), (1, vec![]));
    assert_eq!(side.elapse(6_000), []);
    assert_eq!(ended(only(side.elapse(1))), (call, Outcome::TimedOut(Expiry::Total)));
    assert_eq!(side.sent(), [timed_out(4)]);
    is_alive(&mut side);
}

/// A call ends if a person does not answer in time, and nothing is sent to the server. Proves M-MRTR-46, M-R-19.
#[test]
fn a_person_may_take_only_so_long() {
    let (mut side, call) = calling();
    let request = needed(side.receive(&asking(2, &[("k", FORM)], None)));
    assert_eq!(side.elapse(899_999), []);
    let events = side.elapse(1);
    let [ClientEvent::CallEnded(end), ClientEvent::Cancelled(withdrawn)] = &events[..] else {
        panic!("{events:?}")
    };
    assert_eq!((end.call, &end.outcome), (call, &Outcome::TimedOut(Expiry::Paused)));
    assert_eq!((withdrawn.id, withdrawn.cause), (request.id, CancelCause::CallEnded));
    assert_eq!(side.client.respond(request.id, &(), &mut side.out), Err(RespondError::Cancelled));
    is_alive(&mut side);
    // An interim result after the timeout of its request is not handed out.
    let (mut side, call) = calling();
    assert_eq!(ended(only(side.elapse(60_000))), (call, Outcome::TimedOut(Expiry::Idle)));
    assert_eq!(side.sent(), [timed_out(2)]);
    let event = side.receive(&asking(2, &[("k", FORM)], None));
    assert!(matches!(event, Some(ClientEvent::UnmatchedResponse(_))), "{event:?}");
    is_alive(&mut side);
}

/// Proves M-R-39: a message that arrives when a call expires counts if it is fed first.
#[test]
fn an_answer_at_the_deadline_counts_if_it_comes_first() {
    let (mut side, call) = calling();
    side.now = side.now + Duration::from_secs(60);
    let request = needed(side.receive(&asking(2, &[("k", ROOTS)], None)));
    assert_eq!(side.outcomes(), []);
    side.respond(request.id, NO_ROOTS);
    assert_eq!(side.sent().len(), 1);
    assert_eq!(complete(side.receive(&result(3, r#"{"resultType":"complete"}"#))).0, call);
}

/// Proves M-STDIO-09, M-R-37: the end of the connection ends a call that waits for input, and its input requests,
/// each once.
#[test]
fn the_connection_end_ends_a_call_that_waits_for_input() {
    for delivered in [false, true] {
        let (mut side, call) = calling();
        let request = needed(side.receive(&asking(2, &[("a", ROOTS), ("b", ROOTS)], None)));
        if delivered {
            assert_eq!(side.outcomes().len(), 1);
        }
        side.client.disconnected(Cause::EndOfInput, side.now);
        let late = side.client.respond(request.id, &(), &mut side.out);
        assert!(late.is_err(), "{late:?}");
        let events = side.outcomes();
        let ends: Vec<_> = events
            .iter()
            .filter_map(|event| match event {
                ClientEvent::CallEnded(end) => Some((end.call, end.outcome.clone())),
                _ => None,
            })
            .collect();
        assert_eq!(ends, [(call, Outcome::Closed(Cause::EndOfInput))]);
        let withdrawn = events.iter().filter(|event| matches!(event, ClientEvent::Cancelled(_)));
        assert_eq!(withdrawn.count(), if delivered { 2 } else { 1 });
        assert!(!events.iter().any(|event| matches!(event, ClientEvent::Request(_))));
        assert!(matches!(events.last(), Some(ClientEvent::Closed { cause: Cause::EndOfInput })));
        assert_eq!(
            (side.client.in_flight().counts().inbound, side.client.in_flight().counts().outbound),
            (0, 0)
        );
        assert_eq!(side.sent(), [""; 0]);
    }
    // During the pause before the repetition.
    let (mut side, call) = calling();
    assert_eq!(side.receive(&interim(2, r#""requestState":"s""#)), None);
    side.client.disconnected(Cause::EndOfInput, side.now);
    assert_eq!(
        ended(side.outcomes().into_iter().next()),
        (call, Outcome::Closed(Cause::EndOfInput))
    );
    assert_eq!(side.sent(), [""; 0]);
}

/// A call that is about to be repeated was sent before: its outcome at the end is not `NotSent`.
#[test]
fn a_call_that_is_made_again_was_sent() {
    let (mut side, call) = calling();
    let request = needed(side.receive(&asking(2, &[("k", ROOTS)], None)));
    side.respond(request.id, NO_ROOTS);
    side.client.disconnected(Cause::EndOfInput, side.now);
    let end = ended(side.outcomes().into_iter().next());
    assert_eq!(end, (call, Outcome::Closed(Cause::EndOfInput)));
    assert_eq!(side.sent(), [""; 0]);
}

/// A request without room in the outbox is sent once there is room.
#[test]
fn a_full_outbox_delays_the_next_round() {
    let mut config = modern();
    config.connection.limits.outbox_bytes = 600;
    config.connection.limits.reserve_bytes = 64;
    let mut side = connected_with(config);
    let call = side.call("tools/call");
    side.sent();
    let request = needed(side.receive(&asking(2, &[("k", ROOTS)], None)));
    side.call("tools/list");
    side.respond(request.id, NO_ROOTS);
    let sent = side.sent();
    assert_eq!(sent.len(), 1);
    assert!(sent[0].contains("tools/list"));
    assert_eq!(side.outcomes(), []);
    side.elapse(49);
    assert_eq!(side.sent(), [""; 0]);
    side.elapse(1);
    assert_eq!(side.sent(), [again(3, r#""inputResponses":{"k":{"roots":[]}}"#)]);
    assert_eq!(complete(side.receive(&result(3, r#"{"resultType":"complete"}"#))).0, call);
}

/// Answers that fit no outbox end the call. Its outcome is returned before the next timeout is `None`.
#[test]
fn input_responses_larger_than_the_outbox_end_the_call() {
    let mut config = modern();
    config.connection.limits.outbox_bytes = 700;
    let mut side = connected_with(config);
    let call = side.call("tools/call");
    side.sent();
    let request = needed(side.receive(&asking(2, &[("k", ROOTS)], None)));
    side.call("tools/list");
    let long = "x".repeat(1_000);
    side.respond(request.id, &format!(r#"{{"roots":[{{"uri":"file:///{long}"}}]}}"#));
    assert_eq!(side.outcomes(), [], "there may be room when the other call has left");
    assert_eq!(side.sent().len(), 1);
    // `elapse` asserts that nothing is due any more.
    let (ended_call, outcome) = ended(only(side.elapse(50)));
    assert_eq!(ended_call, call);
    assert!(matches!(outcome, Outcome::CallError(_)), "{outcome:?}");
}

/// The connection drains while input is collected: answers in time are sent.
#[test]
fn a_call_may_end_while_the_connection_drains() {
    let (mut side, call) = calling();
    let request = needed(side.receive(&asking(2, &[("k", ROOTS)], None)));
    side.client.shut_down(Duration::from_secs(9), side.now);
    assert!(matches!(only(side.outcomes()), Some(ClientEvent::Draining { .. })));
    side.respond(request.id, NO_ROOTS);
    assert_eq!(side.sent(), [again(3, r#""inputResponses":{"k":{"roots":[]}}"#)]);
    assert_eq!(complete(side.receive(&result(3, r#"{"resultType":"complete"}"#))).0, call);
    assert!(matches!(only(side.outcomes()), Some(ClientEvent::Closed { .. })));
}

/// Any JSON that resembles an interim result is accepted or refused, and leaves no state.
#[test]
fn nothing_is_left_of_any_interim_result() {
    let keys = [r#""a""#, r#""""#];
    let requests = [ROOTS, FORM, "{}", "null"];
    let states = ["", r#","requestState":"s""#, r#","requestState":null"#];
    for key in keys {
        for request in requests {
            for state in states {
                let (mut side, call) = calling();
                let text = format!(
                    r#"{{"resultType":"input_required","inputRequests":{{{key}:{request}}}{state}}}"#
                );
                let event = side.receive(&result(2, &text));
                if let Some(ClientEvent::Request(request)) = event {
                    assert_eq!(request.needed_for, Some(call));
                    side.client.cancel(call, None, &mut side.out).unwrap();
                    assert_eq!(side.outcomes().len(), 1);
                } else {
                    assert_eq!(malformed(event).0, call);
                }
                is_alive(&mut side);
                assert_eq!(
                    (
                        side.client.in_flight().counts().inbound,
                        side.client.in_flight().counts().outbound
                    ),
                    (0, 0)
                );
            }
        }
    }
}

/// The same for a request that is repeated because its revision was refused. The idle timeout of the first request
/// has ended, and no timeout runs until the repeated request is written.
#[test]
fn a_full_outbox_delays_a_repeated_request() {
    let mut config = modern();
    config.connection.limits.outbox_bytes = 600;
    config.connection.limits.reserve_bytes = 64;
    let mut side = connected_with(config);
    let call = side.call("tools/list");
    side.sent();
    assert_eq!(side.elapse(59_960), []);
    side.call("tools/list");
    assert_eq!(side.receive(&error(2, -32022, SUPPORTED)), None);
    assert_eq!(side.elapse(40), []);
    assert_eq!(side.sent(), [asked(3, "tools/list", "")]);
    assert_eq!(side.elapse(10), []);
    assert_eq!(side.sent(), [asked(4, "tools/list", "")]);
    let answer = r#"{"resultType":"complete","tools":[]}"#;
    assert_eq!(complete(side.receive(&result(4, answer))).0, call);
}

/// A call with a response to its unsent request, which is about to be repeated, does not end as `NotSent`.
#[test]
fn a_call_that_was_answered_before_it_was_sent_was_answered() {
    let mut config = modern();
    config.connection.limits.outbox_bytes = 800;
    config.connection.limits.reserve_bytes = 64;
    let mut side = connected_with(config);
    let (first, second) = (side.call("tools/list"), side.call("tools/list"));
    assert_eq!(side.receive(&error(3, -32022, SUPPORTED)), None);
    side.client.disconnected(Cause::EndOfInput, side.now);
    let mut events = side.outcomes().into_iter();
    assert_eq!(ended(events.next()), (first, Outcome::NotSent));
    assert_eq!(ended(events.next()), (second, Outcome::Closed(Cause::EndOfInput)));
    assert_eq!(side.sent(), [""; 0]);
}
