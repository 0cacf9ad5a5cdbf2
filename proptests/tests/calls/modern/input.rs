//! Input that a server needs before it answers a call: requested of the application, collected, and returned.

use mcp_sansio::event::{CancelCause, UnmatchedCause};
use mcp_sansio::json::Raw;
use mcp_sansio::model::LoggingLevel;
use mcp_sansio::{
    CallId, CallOptions, ClientEvent, ErrorCode, Outcome, RespondError, Revision, ServerRequest,
};
use mcp_sansio_proptests::{ClientSide, payload};

use super::kit::{asked, asked_again, complete, connected, ended, is_alive, needed, only, result};

pub(super) const FORM: &str = r#"{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"string"}}}}}"#;
pub(super) const SAMPLE: &str =
    r#"{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":7}}"#;
pub(super) const ROOTS: &str = r#"{"method":"roots/list"}"#;
pub(super) const NAME: &str = r#""name":"n""#;
const DONE: &str = r#"{"resultType":"complete","content":[]}"#;

/// An interim result with these members.
pub(super) fn interim(id: u64, members: &str) -> String {
    let comma = if members.is_empty() { "" } else { "," };
    result(id, &format!(r#"{{"resultType":"input_required"{comma}{members}}}"#))
}

/// An interim result with these input requests, by key.
pub(super) fn asking(id: u64, requests: &[(&str, &str)], state: Option<&str>) -> String {
    let requests: Vec<_> =
        requests.iter().map(|(key, request)| format!("{key:?}:{request}")).collect();
    let state = state.map(|state| format!(r#","requestState":{state}"#)).unwrap_or_default();
    interim(id, &format!(r#""inputRequests":{{{}}}{state}"#, requests.join(",")))
}

/// A client that has called a tool, with id 2.
pub(super) fn calling() -> (ClientSide, CallId) {
    let mut side = connected();
    let call = side.call("tools/call");
    assert_eq!(side.sent(), [asked(2, "tools/call", NAME)]);
    (side, call)
}

/// The repeated request of a tool call.
pub(super) fn again(id: u64, more: &str) -> String {
    asked_again(id, "tools/call", "", NAME, more)
}

/// Proves M-MRTR-09, M-MRTR-11, M-MRTR-16, M-MRTR-17, M-MRTR-19, M-META-18, M-R-16: three inputs, given in every
/// order, and one repeated request after the last.
#[test]
fn everything_is_gathered_before_the_call_is_made_again() {
    let answers = [
        ("f", r#"{"action":"accept","content":{"a":"x"}}"#),
        ("r", r#"{"roots":[{"uri":"file:///a"}]}"#),
        ("s", r#"{"role":"assistant","content":{"type":"text","text":"t"},"model":"m"}"#),
    ];
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let (mut side, call) = calling();
        let first = needed(side.receive(&asking(
            2,
            &[("f", FORM), ("r", ROOTS), ("s", SAMPLE)],
            Some(r#""st""#),
        )));
        let rest = side.outcomes();
        let [ClientEvent::Request(second), ClientEvent::Request(third)] = &rest[..] else {
            panic!("{rest:?}")
        };
        let requests = [first, second.clone(), third.clone()];
        for request in &requests {
            assert_eq!(request.needed_for, Some(call));
            assert_eq!(request.context.revision, Revision::V2026_07_28);
        }
        assert!(
            matches!(&requests[0].kind, ServerRequest::Elicit(params) if params.as_json().starts_with(r#"{"message":"m","#))
        );
        assert!(matches!(requests[1].kind, ServerRequest::ListRoots));
        assert!(
            matches!(&requests[2].kind, ServerRequest::CreateMessage(params) if params.as_json() == r#"{"messages":[],"maxTokens":7}"#)
        );
        assert!(side.client.in_flight().requests().eq(requests.iter().map(|request| request.id)));
        for index in order {
            assert_eq!(side.sent(), [""; 0], "not before everything is there");
            side.respond(requests[index].id, answers[index].1);
        }
        let [(_, form), (_, roots), (_, sample)] = answers;
        let more = format!(
            r#""inputResponses":{{"f":{form},"r":{roots},"s":{sample}}},"requestState":"st""#
        );
        assert_eq!(side.sent(), [again(3, &more)]);
        for request in &requests {
            let twice = side.client.respond(request.id, &(), &mut side.out);
            assert_eq!(twice, Err(RespondError::Answered));
        }
        assert_eq!(side.sent(), [""; 0]);
        assert_eq!(complete(side.receive(&result(3, DONE))), (call, DONE.to_owned()));
        is_alive(&mut side);
    }
}

/// Proves M-MRTR-11, M-MRTR-17, M-PROG-12, M-META-21, and M-AMB-44: the params and the call's own metadata stay the
/// same, for each of the three methods; the progress token is new.
#[test]
fn the_request_is_the_same_again() {
    let params = [
        ("tools/call", r#""name":"n","arguments":{"b":1,"a":[1.50,"\u0041"],"a":2},"x":null"#),
        ("prompts/get", r#""name":"n","arguments":{"k":"v"}"#),
        ("resources/read", r#""uri":"x:y?\u0041""#),
    ];
    for (method, params) in params {
        let mut side = connected();
        let options = CallOptions::new().progress().log_level(LoggingLevel::Warning);
        let raw = Raw::try_from(format!("{{{params}}}")).unwrap();
        let call = side.client.call_method(method, &raw, options, side.now, &mut side.out).unwrap();
        let meta =
            |id| format!(r#""progressToken":{id},"io.modelcontextprotocol/logLevel":"warning""#);
        assert_eq!(side.sent(), [asked_again(2, method, &meta(2), params, "")]);
        for id in 2..5 {
            let request = needed(side.receive(&asking(id, &[("k", ROOTS)], None)));
            // The token of the previous round has no effect any more.
            let late = format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{id},"progress":9}}}}"#
            );
            assert_eq!(side.receive(&late), None);
            side.respond(request.id, r#"{"roots":[]}"#);
            let more = r#""inputResponses":{"k":{"roots":[]}}"#;
            let next = id + 1;
            assert_eq!(side.sent(), [asked_again(next, method, &meta(next), params, more)]);
            let progress = format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{next},"progress":1}}}}"#
            );
            assert!(
                matches!(side.receive(&progress), Some(ClientEvent::Progress(update)) if update.call == call)
            );
        }
    }
}

/// The application's members of `_meta` are sent in every round.
#[test]
fn the_applications_meta_is_sent_again() {
    let mut side = connected();
    let params = Raw::new(r#"{"name":"n","_meta":{"a/b":1,"traceparent":"t"}}"#).unwrap();
    side.client
        .call_method("tools/call", &params, CallOptions::new(), side.now, &mut side.out)
        .unwrap();
    let first = side.sent();
    assert!(first[0].contains(r#""a/b":1,"traceparent":"t"}"#), "{first:?}");
    let request = needed(side.receive(&asking(2, &[("k", ROOTS)], None)));
    side.respond(request.id, r#"{"roots":[]}"#);
    let more = r#","inputResponses":{"k":{"roots":[]}}}}"#;
    let expected = first[0].replace(r#""id":2"#, r#""id":3"#);
    let expected = format!("{}{more}", expected.strip_suffix("}}").unwrap());
    assert_eq!(side.sent(), [expected]);
}

/// Proves M-MRTR-12, M-MRTR-13: the state is returned byte for byte, also an empty one.
#[test]
fn the_state_is_brought_back_as_it_came() {
    let long = format!("\"{}\"", "x".repeat(70_000));
    for state in [
        r#""""#,
        r#"" ""#,
        r#""a\u0041\/\n\u00e9\ud83d\ude00\ud800""#,
        "\"é😀\u{2028}\"",
        r#""{\"a\":1}""#,
        &long,
    ] {
        let (mut side, call) = calling();
        let request = needed(side.receive(&asking(2, &[("k", ROOTS)], Some(state))));
        side.respond(request.id, r#"{"roots":[]}"#);
        let more = format!(r#""inputResponses":{{"k":{{"roots":[]}}}},"requestState":{state}"#);
        assert_eq!(side.sent(), [again(3, &more)]);
        assert_eq!(complete(side.receive(&result(3, DONE))), (call, DONE.to_owned()));
        assert!(!format!("{:?}", side.client).contains("u0041"), "nor is it shown");
    }
}

/// Proves M-MRTR-14, M-MRTR-15: each round returns its own answers and state, and none of earlier rounds.
#[test]
fn a_round_brings_back_only_its_own() {
    let (mut side, call) = calling();
    let rounds = [
        (
            vec![("a", ROOTS), ("b", ROOTS)],
            Some(r#""one""#),
            r#""inputResponses":{"a":{"roots":[]},"b":{"roots":[]}},"requestState":"one""#,
        ),
        (vec![("c", ROOTS)], None, r#""inputResponses":{"c":{"roots":[]}}"#),
        (vec![], Some(r#""three""#), r#""requestState":"three""#),
        (
            vec![("a", ROOTS)],
            Some(r#""""#),
            r#""inputResponses":{"a":{"roots":[]}},"requestState":"""#,
        ),
    ];
    for (id, (requests, state, more)) in (2..).zip(rounds) {
        let event = side.receive(&asking(id, &requests, state));
        let more_requests = side.outcomes();
        for event in event.into_iter().chain(more_requests) {
            side.respond(needed(Some(event)).id, r#"{"roots":[]}"#);
        }
        if requests.is_empty() {
            assert_eq!(side.elapse(1_000), []);
        }
        assert_eq!(side.sent(), [again(id + 1, more)]);
    }
    assert_eq!(complete(side.receive(&result(6, DONE))), (call, DONE.to_owned()));
    is_alive(&mut side);
}

/// Proves M-MRTR-18: the inputs of one call are independent of other calls.
#[test]
fn inputs_of_concurrent_calls_are_independent() {
    let mut side = connected();
    let calls = [side.call("tools/call"), side.call("tools/call")];
    side.sent();
    let requests = [
        needed(side.receive(&asking(3, &[("k", ROOTS)], Some(r#""two""#)))),
        needed(side.receive(&asking(2, &[("k", FORM)], Some(r#""one""#)))),
    ];
    assert_eq!([requests[1].needed_for, requests[0].needed_for], calls.map(Some));
    side.respond(requests[1].id, r#"{"action":"cancel"}"#);
    assert_eq!(
        side.sent(),
        [again(5, r#""inputResponses":{"k":{"action":"cancel"}},"requestState":"one""#)]
    );
    side.respond(requests[0].id, r#"{"roots":[]}"#);
    assert_eq!(
        side.sent(),
        [again(4, r#""inputResponses":{"k":{"roots":[]}},"requestState":"two""#)]
    );
    assert_eq!(complete(side.receive(&result(4, DONE))).0, calls[1]);
    assert_eq!(complete(side.receive(&result(5, DONE))).0, calls[0]);
}

/// Proves M-MRTR-10: without input requests the request is repeated after a growing pause, and each repetition
/// counts as a round.
#[test]
fn with_nothing_to_gather_the_call_is_made_again_after_a_while() {
    let (mut side, call) = calling();
    let pauses = [50, 100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600];
    for (id, pause) in (2..).zip(pauses) {
        let state = format!("\"{id}\"");
        // An empty object and `null` contain no input requests either.
        let members = match id % 3 {
            0 => format!(r#""requestState":{state}"#),
            1 => format!(r#""inputRequests":{{}},"requestState":{state}"#),
            _ => format!(r#""inputRequests":null,"requestState":{state}"#),
        };
        assert_eq!(side.receive(&interim(id, &members)), None);
        assert_eq!(
            side.client.poll_timeout(),
            Some(side.now + std::time::Duration::from_millis(pause))
        );
        assert_eq!(side.elapse(pause - 1), []);
        assert_eq!(side.sent(), [""; 0]);
        assert_eq!(side.elapse(1), []);
        assert_eq!(side.sent(), [again(id + 1, &format!(r#""requestState":{state}"#))]);
        assert!(side.client.in_flight().is_pending(call));
    }
    let outcome = ended(side.receive(&interim(12, r#""requestState":"s""#)));
    assert_eq!(outcome, (call, Outcome::TooManyRounds));
    is_alive(&mut side);
}

/// A call that needs no input is sent again on time while a person answers for another call, and the time of the person
/// does not count for it.
///
/// Proves M-MRTR-10, M-MRTR-18.
#[test]
fn a_person_who_answers_for_another_call_delays_no_repetition() {
    let mut side = connected();
    let [first, second] = [side.call("tools/call"), side.call("tools/call")];
    side.sent();
    let asked = needed(side.receive(&asking(3, &[("k", FORM)], None)));
    assert_eq!(asked.needed_for, Some(second));
    side.elapse(1_000);
    assert_eq!(side.receive(&interim(2, r#""requestState":"s""#)), None);
    let pause = std::time::Duration::from_millis(50);
    assert_eq!(side.client.poll_timeout(), Some(side.now + pause));
    assert_eq!(side.elapse(49), []);
    assert_eq!(side.sent(), [""; 0]);
    assert_eq!(side.elapse(1), []);
    assert_eq!(side.sent(), [again(5, r#""requestState":"s""#)]);
    assert_eq!(complete(side.receive(&result(5, DONE))).0, first);
}

/// Proves M-MRTR-16, M-MRTR-46, M-R-14, M-R-15, M-CANC-04: between rounds nothing is cancelled at the server;
/// afterwards the current round is.
#[test]
fn a_call_can_be_cancelled_in_every_round() {
    // While the application is asked.
    let (mut side, call) = calling();
    let delivered =
        needed(side.receive(&asking(2, &[("a", ROOTS), ("b", FORM), ("c", SAMPLE)], None)));
    let [ClientEvent::Request(second), ClientEvent::Request(third)] = &side.outcomes()[..] else {
        panic!()
    };
    side.respond(second.id, r#"{"action":"decline"}"#);
    side.client.cancel(call, Some("enough"), &mut side.out).unwrap();
    assert_eq!(side.sent(), [""; 0]);
    let withdrawn = side.outcomes();
    let [ClientEvent::Cancelled(first), ClientEvent::Cancelled(last)] = &withdrawn[..] else {
        panic!("{withdrawn:?}")
    };
    assert_eq!((first.id, first.cause), (delivered.id, CancelCause::CallEnded));
    assert_eq!((last.id, last.cause), (third.id, CancelCause::CallEnded));
    for id in [delivered.id, third.id] {
        let late = side.client.respond(id, &payload::result("roots/list"), &mut side.out);
        assert_eq!(late, Err(RespondError::Cancelled));
        assert_eq!(
            side.client.reject(id, ErrorCode::USER_REJECTED, "no", &mut side.out),
            Err(RespondError::Cancelled)
        );
    }
    is_alive(&mut side);
    // A request that the application has not received yet is dropped.
    let (mut side, call) = calling();
    let delivered = needed(side.receive(&asking(2, &[("a", ROOTS), ("b", ROOTS)], None)));
    side.client.cancel(call, None, &mut side.out).unwrap();
    let withdrawn = side.outcomes();
    assert!(
        matches!(&withdrawn[..], [ClientEvent::Cancelled(one)] if one.id == delivered.id),
        "{withdrawn:?}"
    );
    is_alive(&mut side);
    // During the pause before the repetition.
    let (mut side, call) = calling();
    assert_eq!(side.receive(&interim(2, r#""requestState":"s""#)), None);
    side.client.cancel(call, None, &mut side.out).unwrap();
    assert_eq!((side.elapse(1_000), side.sent()), (vec![], vec![]));
    is_alive(&mut side);
    // While the repeated request is in flight.
    let (mut side, call) = calling();
    let request = needed(side.receive(&asking(2, &[("a", ROOTS)], None)));
    side.respond(request.id, r#"{"roots":[]}"#);
    side.sent();
    side.client.cancel(call, None, &mut side.out).unwrap();
    assert_eq!(side.sent(), [super::kit::cancelled(3)]);
    let event = side.receive(&asking(3, &[("a", ROOTS)], None));
    assert!(
        matches!(event, Some(ClientEvent::UnmatchedResponse(unmatched)) if unmatched.cause == UnmatchedCause::Cancelled)
    );
    is_alive(&mut side);
    // Before the repeated request has left.
    let (mut side, call) = calling();
    let request = needed(side.receive(&asking(2, &[("a", ROOTS)], None)));
    side.respond(request.id, r#"{"roots":[]}"#);
    side.client.cancel(call, None, &mut side.out).unwrap();
    is_alive(&mut side);
}

/// Proves M-MRTR-22: an input that the application refuses ends the call, and nothing is sent to the server.
#[test]
fn rejecting_an_input_request_ends_the_call() {
    for code in [ErrorCode::USER_REJECTED, ErrorCode::INTERNAL_ERROR, ErrorCode::new(7)] {
        let (mut side, call) = calling();
        let delivered =
            needed(side.receive(&asking(2, &[("a", SAMPLE), ("b", ROOTS)], Some(r#""s""#))));
        let other = needed(only(side.outcomes()));
        side.client.reject(delivered.id, code, "no", &mut side.out).unwrap();
        assert_eq!(side.sent(), [""; 0]);
        let events = side.outcomes();
        let [ClientEvent::Cancelled(withdrawn), ClientEvent::CallEnded(end)] = &events[..] else {
            panic!("{events:?}")
        };
        assert_eq!((withdrawn.id, withdrawn.cause), (other.id, CancelCause::CallEnded));
        assert_eq!((end.call, &end.outcome), (call, &Outcome::InputRefused(code)));
        assert!(end.needed_input);
        assert_eq!(side.client.in_flight().counts().inbound, 0);
        let answer = side.receive(&result(2, DONE));
        assert!(matches!(answer, Some(ClientEvent::UnmatchedResponse(_))), "{answer:?}");
        is_alive(&mut side);
    }
}

/// Proves M-MRTR-23, M-ELIC-05, M-ELIC-08: to decline is an answer, and so is to agree to visit a page.
#[test]
fn to_decline_is_an_answer() {
    let url = r#"{"method":"elicitation/create","params":{"mode":"url","message":"m","url":"https://x.test/a?b#c"}}"#;
    for request in [FORM, url] {
        for action in ["accept", "decline", "cancel"] {
            if request == FORM && action == "accept" {
                continue;
            }
            let (mut side, call) = calling();
            let asked = needed(side.receive(&asking(2, &[("k", request)], None)));
            let answer = format!(r#"{{"action":"{action}"}}"#);
            side.respond(asked.id, &answer);
            assert_eq!(side.sent(), [again(3, &format!(r#""inputResponses":{{"k":{answer}}}"#))]);
            // The server may ask again.
            let asked = needed(side.receive(&asking(3, &[("k", request)], None)));
            assert_eq!(asked.needed_for, Some(call));
            side.respond(asked.id, &answer);
            assert_eq!(side.sent(), [again(4, &format!(r#""inputResponses":{{"k":{answer}}}"#))]);
            assert_eq!(complete(side.receive(&result(4, DONE))).0, call);
        }
    }
}

/// Proves M-MRTR-25, M-MRTR-47, M-R-17, M-ARCH-12: with input by hand, the application receives the interim result
/// and makes another call at any time; a refusal is the outcome.
#[test]
fn input_can_be_seen_to_by_hand() {
    let mut side = connected();
    let options = CallOptions::new().input_by_hand();
    let params = payload::params("tools/call");
    let call =
        side.client.call_method("tools/call", &params, options, side.now, &mut side.out).unwrap();
    side.sent();
    let members = r#""inputRequests":{"a":{"method":"sampling/createMessage","params":{}},"b":{"method":"roots/list"}},"requestState":"s\u0041""#;
    let (over, outcome) = ended(side.receive(&interim(2, members)));
    let Outcome::InputRequired(interim_result) = outcome else { panic!("{outcome:?}") };
    assert_eq!(over, call);
    assert_eq!(interim_result.as_json(), format!(r#"{{"resultType":"input_required",{members}}}"#));
    assert_eq!(side.client.in_flight().counts(), connected().client.in_flight().counts());
    is_alive(&mut side);
    // The call can be repeated on this connection or another one, and twice if the response was lost.
    for mut side in [side, connected()] {
        for _ in 0..2 {
            let retry = format!(
                r#"{{"name":"n","inputResponses":{{"b":{{"roots":[]}}}},"requestState":{}}}"#,
                interim_result.get("requestState").unwrap().as_json()
            );
            let retry = Raw::try_from(retry).unwrap();
            side.client
                .call_method("tools/call", &retry, options, side.now, &mut side.out)
                .unwrap();
            let sent = side.sent();
            let body = r#""params":{"name":"n","inputResponses":{"b":{"roots":[]}},"requestState":"s\u0041","_meta""#;
            assert!(sent[0].contains(body), "{sent:?}");
        }
        side.client.in_flight().calls().count();
    }
    // An empty interim result is invalid, also with input by hand.
    let mut side = connected();
    let call =
        side.client.call_method("tools/call", &params, options, side.now, &mut side.out).unwrap();
    let (ended, kind) = super::kit::malformed(side.receive(&interim(2, "")));
    assert_eq!((ended, kind), (call, mcp_sansio::error::ViolationKind::InvalidResult));
}
