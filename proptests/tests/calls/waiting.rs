//! Waiting: for people, without the ordinary timeouts; for nested work; and for the next progress report.

use std::time::Duration;

use mcp_sansio::call::Timeout;
use mcp_sansio::event::{CancelCause, Expiry, UnmatchedCause};
use mcp_sansio::progress::{Progress, ProgressReport};
use mcp_sansio::schema::EncodeError;
use mcp_sansio::{
    CallId, CallOptions, ClientEvent, ErrorCode, IncomingId, Instant, Outcome, Received,
    RespondError, Revision, Route, ServerEvent,
};
use mcp_sansio_proptests::{ClientSide, Pair, Seen, ServerSide, config, payload};

/// The defaults, in milliseconds.
const IDLE: u64 = 60_000;
const TOTAL: u64 = 600_000;
const PERSON: u64 = 900_000;

fn ready() -> ClientSide {
    ClientSide::ready(Revision::V2025_11_25)
}

fn request(id: u32, method: &str) -> String {
    let params = payload::params(method);
    let params = params.as_json().replace("null", "{}");
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
}

fn cancelled(id: u32) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
    )
}

fn timed_out(id: u32) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id},"reason":"the request timed out"}}}}"#
    )
}

/// The calls that ended, and the timeout that expired.
#[track_caller]
fn expired(events: Vec<ClientEvent<'static>>) -> Vec<(CallId, Expiry)> {
    let expired = events.into_iter().map(|event| match event {
        ClientEvent::CallEnded(ended) => match ended.outcome {
            Outcome::TimedOut(expiry) => (ended.call, expiry),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    });
    expired.collect()
}

fn after(time: Instant, milliseconds: u64) -> Option<Instant> {
    Some(time + Duration::from_millis(milliseconds))
}

/// Proves L-TIME-01, L-TIME-02, L-TIME-09 while a person is asked: the time does not count.
/// Pain 62.
#[test]
fn calls_do_not_wait_shorter_because_a_person_thinks() {
    for method in ["elicitation/create", "sampling/createMessage"] {
        let mut side = ready();
        let call = side.call("a");
        assert_eq!(side.elapse(10_000), []);
        let asked = side.request(&request(1, method));
        assert_eq!(side.client.poll_timeout(), after(side.now, PERSON), "{method}");
        assert_eq!(side.elapse(PERSON - 1), [], "{method}");
        side.respond(asked, payload::result(method).as_json());
        assert_eq!(side.client.poll_timeout(), Some(Instant::EPOCH), "it asks what time it is");
        assert_eq!(side.outcomes(), []);
        assert_eq!(side.client.poll_timeout(), after(side.now, IDLE - 10_000), "{method}");
        assert_eq!(side.elapse(IDLE - 10_001), []);
        _ = side.sent();
        assert_eq!(expired(side.elapse(1)), [(call, Expiry::Idle)], "{method}");
        assert_eq!(side.sent(), [timed_out(2)]);
    }
    // A request for roots asks no person.
    let mut side = ready();
    let call = side.call("a");
    side.request(&request(1, "roots/list"));
    assert_eq!(expired(side.elapse(IDLE)), [(call, Expiry::Idle)]);
}

/// A call that was late already is not saved by a later request to a person.
#[test]
fn a_question_does_not_save_a_call_that_was_late() {
    let mut side = ready();
    let call = side.call("a");
    side.now = side.now + Duration::from_millis(IDLE);
    side.request(&request(1, "elicitation/create"));
    assert!(side.client.poll_timeout().unwrap() <= side.now);
    assert_eq!(expired(side.outcomes()), [(call, Expiry::Idle)]);
}

/// Proves L-TIME-05, L-TIME-06 while a person is asked: progress does not extend the longest wait.
#[test]
fn a_person_has_so_much_time_and_no_more() {
    let mut side = ready();
    let options = CallOptions::new().progress();
    let first = side.client.call_method("a", &(), options, side.now, &mut side.out).unwrap();
    side.request(&request(1, "elicitation/create"));
    assert_eq!(side.elapse(100_000), []);
    let second = side.client.call_method("b", &(), options, side.now, &mut side.out).unwrap();
    _ = side.sent();
    for step in 1..=7 {
        assert_eq!(side.elapse(100_000), [], "step {step}");
        for token in [2, 3] {
            let update = side.receive(&format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":{step}}}}}"#
            ));
            assert!(matches!(update, Some(ClientEvent::Progress(_))));
        }
    }
    assert_eq!(side.client.poll_timeout(), after(side.now, 100_000));
    assert_eq!(side.elapse(99_999), []);
    assert_eq!(expired(side.elapse(1)), [(first, Expiry::Paused)]);
    assert_eq!(side.sent(), [timed_out(2)]);
    let late = side.receive(r#"{"jsonrpc":"2.0","id":2,"result":{}}"#);
    let Some(ClientEvent::UnmatchedResponse(unmatched)) = late else { panic!("{late:?}") };
    assert_eq!(unmatched.cause, UnmatchedCause::TimedOut);
    // The other call was made later, and its pause is measured from there.
    assert_eq!(side.elapse(99_999), []);
    assert_eq!(expired(side.elapse(1)), [(second, Expiry::Paused)]);
    assert_eq!(side.client.poll_timeout(), None);

    // Progress while a person is asked resets the idle time, which restarts after the answer.
    let mut side = ready();
    let call = side.client.call_method("a", &(), options, side.now, &mut side.out).unwrap();
    side.elapse(IDLE - 1);
    let asked = side.request(&request(1, "elicitation/create"));
    side.elapse(100_000);
    let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2,"progress":1}}"#;
    assert!(matches!(side.receive(progress), Some(ClientEvent::Progress(_))));
    side.elapse(100_000);
    side.respond(asked, r#"{"action":"decline"}"#);
    assert_eq!(side.outcomes(), []);
    assert_eq!(side.elapse(IDLE - 1), []);
    assert_eq!(expired(side.elapse(1)), [(call, Expiry::Idle)]);
}

/// The total time of a call is paused like its idle time, for any end of the request to the person.
#[test]
fn the_total_timeout_resumes_after_user_requests_end() {
    let total = CallOptions::new().idle(Timeout::Never);
    let ends: [fn(&mut ClientSide, IncomingId); 3] = [
        |side, asked| side.respond(asked, r#"{"action":"cancel"}"#),
        |side, asked| {
            let code = ErrorCode::INTERNAL_ERROR;
            side.client.reject(asked, code, "m", &mut side.out).unwrap();
        },
        |side, _| assert!(matches!(side.receive(&cancelled(1)), Some(ClientEvent::Cancelled(_)))),
    ];
    for end in ends {
        let mut side = ready();
        let call = side.client.call_method("a", &(), total, side.now, &mut side.out).unwrap();
        side.elapse(TOTAL - 1_000);
        let first = side.request(&request(1, "elicitation/create"));
        side.elapse(200_000);
        let second = side.request(&request(2, "sampling/createMessage"));
        side.elapse(200_000);
        end(&mut side, first);
        assert_eq!(side.elapse(200_000), [], "the other one is still open");
        side.respond(second, payload::result("sampling/createMessage").as_json());
        assert_eq!(side.outcomes(), []);
        assert_eq!(side.elapse(999), []);
        assert_eq!(expired(side.elapse(1)), [(call, Expiry::Total)]);
    }
}

/// The application pauses the timers of calls for its own reasons, on either side.
#[test]
fn the_application_can_make_time_stand_still() {
    let mut side = ready();
    let call = side.call("a");
    side.client.set_paused(true, side.now);
    side.elapse(PERSON - 1);
    side.client.set_paused(true, side.now);
    side.client.set_paused(false, side.now);
    assert_eq!(side.elapse(IDLE - 1), [], "stopping twice is stopping once");
    assert_eq!(expired(side.elapse(1)), [(call, Expiry::Idle)]);
    side.client.set_paused(false, side.now);
    let call = side.call("b");
    assert_eq!(expired(side.elapse(IDLE)), [(call, Expiry::Idle)], "nothing was stopped");

    // The timers are paused until both pauses have ended.
    let call = side.call("c");
    side.client.set_paused(true, side.now);
    let asked = side.request(&request(1, "elicitation/create"));
    side.respond(asked, r#"{"action":"decline"}"#);
    assert_eq!(side.elapse(IDLE), []);
    side.client.set_paused(false, side.now);
    assert_eq!(expired(side.elapse(IDLE)), [(call, Expiry::Idle)]);

    let mut server = ServerSide::ready(Revision::V2025_11_25);
    let call = server.call("roots/list");
    server.server.set_paused(true, server.now);
    assert_eq!(server.elapse(PERSON - 1), []);
    server.server.set_paused(false, server.now);
    assert_eq!(server.elapse(IDLE - 1), []);
    let events = server.elapse(1);
    let [ServerEvent::CallEnded(ended)] = &events[..] else { panic!("{events:?}") };
    assert_eq!((ended.call, &ended.outcome), (call, &Outcome::TimedOut(Expiry::Idle)));
}

/// Proves L-TIME-01, L-TIME-04 for requests of a server to a person: other timeouts, unless the call sets one.
#[test]
fn a_server_gives_people_their_time() {
    for method in ["elicitation/create", "sampling/createMessage"] {
        let mut side = ServerSide::ready(Revision::V2025_11_25);
        let call = side.call(method);
        _ = side.sent();
        assert_eq!(side.server.poll_timeout(), after(side.now, PERSON), "{method}");
        assert_eq!(side.elapse(PERSON - 1), []);
        let events = side.elapse(1);
        let [ServerEvent::CallEnded(ended)] = &events[..] else { panic!("{events:?}") };
        assert_eq!((ended.call, &ended.outcome), (call, &Outcome::TimedOut(Expiry::Total)));
        assert_eq!(side.sent(), [timed_out(1)]);
        let options = CallOptions::new().idle(Timeout::After(Duration::from_secs(5)));
        let params = payload::params(method);
        side.server.call_method(method, &params, options, side.now, &mut side.out).unwrap();
        assert_eq!(side.server.poll_timeout(), after(side.now, 5_000), "{method}");
    }
    let mut side = ServerSide::ready(Revision::V2025_11_25);
    side.call("roots/list");
    assert_eq!(side.server.poll_timeout(), after(side.now, IDLE), "that is asked of a program");
}

/// Proves L-TIME-04 for the timeout of people: it is configured like any other.
#[test]
fn the_time_of_people_can_be_set() {
    let mut config = config::client();
    config.connection.timeouts.person = Some(Duration::from_secs(7));
    let mut side = ClientSide::ready_with(config, Revision::V2025_11_25);
    let call = side.call("a");
    side.request(&request(1, "elicitation/create"));
    assert_eq!(side.elapse(6_999), []);
    assert_eq!(expired(side.elapse(1)), [(call, Expiry::Paused)]);

    let mut config = config::client();
    config.connection.timeouts.person = None;
    let mut side = ClientSide::ready_with(config, Revision::V2025_11_25);
    let call = side.call("a");
    let asked = side.request(&request(1, "elicitation/create"));
    assert_eq!(side.client.poll_timeout(), None);
    assert_eq!(side.elapse(1_000_000_000), []);
    side.respond(asked, r#"{"action":"decline"}"#);
    assert_eq!(side.outcomes(), []);
    assert_eq!(expired(side.elapse(IDLE)), [(call, Expiry::Idle)]);

    let mut config = config::server();
    config.connection.timeouts.person = None;
    let mut side = ServerSide::ready_with(config, Revision::V2025_11_25);
    side.call("elicitation/create");
    assert_eq!(side.server.poll_timeout(), None);
}

/// Proves L-TIME-04: a call without timers has none that could be paused for too long.
#[test]
fn a_call_that_takes_as_long_as_it_takes_survives_every_question() {
    let mut side = ready();
    let options = CallOptions::new().idle(Timeout::Never).total(Timeout::Never);
    let call = side.client.call_method("a", &(), options, side.now, &mut side.out).unwrap();
    side.request(&request(1, "elicitation/create"));
    assert_eq!(side.client.poll_timeout(), None);
    assert_eq!(side.elapse(2 * PERSON), []);
    assert!(side.client.in_flight().is_pending(call));
}

/// Proves L-TIME-01 for `initialize`: a pause before the handshake does not extend it.
#[test]
fn the_handshake_takes_no_longer_because_time_has_stood_still() {
    let mut side = ClientSide::fresh();
    side.client.set_paused(true, side.now);
    side.elapse(10_000);
    side.client.set_paused(false, side.now);
    side.client.connect(side.now, &mut side.out).unwrap();
    let handshake = config::client().connection.timeouts.handshake.unwrap();
    assert_eq!(side.client.poll_timeout(), Some(side.now + handshake));
}

/// Proves L-CANCEL-19: after a cancellation the application can find and cancel the calls that were made for the
/// request.
#[test]
fn calls_know_the_request_they_were_made_for() {
    let mut side = ServerSide::ready(Revision::V2025_11_25);
    let (one, two) =
        (side.request(&request(1, "tools/call")), side.request(&request(2, "tools/call")));
    let mut call = |parent: Option<IncomingId>| {
        let options = parent.map_or(CallOptions::new(), |id| CallOptions::new().parent(id));
        let params = payload::params("sampling/createMessage");
        let (now, out) = (side.now, &mut side.out);
        side.server.call_method("sampling/createMessage", &params, options, now, out).unwrap()
    };
    let calls = [call(Some(one)), call(Some(two)), call(Some(one)), call(None)];
    _ = side.sent();
    let Some(ServerEvent::Cancelled(event)) = side.receive(&cancelled(1)) else { panic!() };
    assert_eq!((event.id, event.cause), (one, CancelCause::Peer));
    assert_eq!(
        side.server.in_flight().calls_made_for(one).collect::<Vec<_>>(),
        [calls[0], calls[2]]
    );
    assert_eq!(
        side.server.in_flight().calls().collect::<Vec<_>>(),
        calls,
        "nothing ends by itself"
    );
    assert_eq!(side.sent(), [""; 0]);
    assert_eq!(side.server.cancel_calls_made_for(one, Some("why"), &mut side.out), 2);
    let cancelled_with_reason = |id: u32| cancelled(id).replace("}}", r#","reason":"why"}}"#);
    assert_eq!(side.sent(), [cancelled_with_reason(1), cancelled_with_reason(3)]);
    assert_eq!(side.server.in_flight().calls().collect::<Vec<_>>(), [calls[1], calls[3]]);
    assert_eq!(side.server.in_flight().calls_made_for(one).collect::<Vec<_>>(), []);
    assert_eq!(side.server.cancel_calls_made_for(one, None, &mut side.out), 0);
    // A later request under the same id is another request.
    let again = side.request(&request(1, "tools/call"));
    assert_eq!(side.server.in_flight().calls_made_for(again).collect::<Vec<_>>(), []);
    assert_eq!(side.server.in_flight().calls_made_for(two).collect::<Vec<_>>(), [calls[1]]);
    assert_eq!(side.sent(), [""; 0]);
}

/// Proves L-RACE-30: the nested request is withdrawn, and a response in flight is dropped.
#[test]
fn a_question_ends_with_the_request_it_was_asked_for() {
    for answered_first in [false, true] {
        let mut pair = mcp_sansio_proptests::ready(config::client(), config::server());
        let params = payload::params("tools/call");
        let (now, options) = (pair.now, CallOptions::new());
        let outer = pair
            .client
            .call_method("tools/call", &params, options, now, &mut pair.client_out)
            .unwrap();
        let seen = pair.to_server(usize::MAX);
        let [Seen::Server(ServerEvent::Request(work))] = &seen[..] else { panic!("{seen:?}") };
        let (params, options) =
            (payload::params("elicitation/create"), CallOptions::new().parent(work.id));
        pair.server
            .call_method("elicitation/create", &params, options, now, &mut pair.server_out)
            .unwrap();
        let seen = pair.to_client(usize::MAX);
        let [Seen::Client(ClientEvent::Request(asked))] = &seen[..] else { panic!("{seen:?}") };
        pair.client.cancel(outer, None, &mut pair.client_out).unwrap();
        let declined = mcp_sansio::model::ElicitResult::decline();
        let answer =
            |pair: &mut Pair| pair.client.respond(asked.id, &declined, &mut pair.client_out);
        if answered_first {
            assert_eq!(answer(&mut pair), Ok(()));
            // The server receives the cancellation first.
            let cancel = pair.client_out.unsent().iter().position(|byte| *byte == b'\n').unwrap();
            let seen = pair.to_server(cancel + 1);
            assert!(
                matches!(&seen[..], [Seen::Server(ServerEvent::Cancelled(c))] if c.id == work.id)
            );
            assert_eq!(pair.server.cancel_calls_made_for(work.id, None, &mut pair.server_out), 1);
            let seen = pair.settle();
            let [Seen::Server(ServerEvent::UnmatchedResponse(unmatched))] = &seen[..] else {
                panic!("{seen:?}")
            };
            assert_eq!(unmatched.cause, UnmatchedCause::Cancelled);
        } else {
            let seen = pair.to_server(usize::MAX);
            assert!(
                matches!(&seen[..], [Seen::Server(ServerEvent::Cancelled(c))] if c.id == work.id)
            );
            assert_eq!(pair.server.cancel_calls_made_for(work.id, None, &mut pair.server_out), 1);
            let seen = pair.settle();
            let [Seen::Client(ClientEvent::Cancelled(gone))] = &seen[..] else {
                panic!("{seen:?}")
            };
            assert_eq!((gone.id, gone.cause), (asked.id, CancelCause::Peer));
            assert_eq!(answer(&mut pair), Err(RespondError::Cancelled));
            assert_eq!(pair.client_out.unsent(), b"");
        }
        let work =
            pair.server.respond(work.id, &payload::result("tools/call"), &mut pair.server_out);
        assert_eq!(work, Err(RespondError::Cancelled));
        assert_eq!(pair.settle(), []);
        let counts = [pair.client.in_flight().counts(), pair.server.in_flight().counts()];
        assert!(counts.iter().all(|counts| (counts.inbound, counts.outbound) == (0, 0)));
    }
}

/// A request with a progress token equal to its id.
fn watched(side: &mut ServerSide, id: u32) -> IncomingId {
    side.request(&format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"x/work","params":{{"_meta":{{"progressToken":{id}}}}}}}"#
    ))
}

fn progress(token: u32, progress: u32) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":{progress}}}}}"#
    )
}

/// Proves L-PROG-13.
#[test]
fn progress_comes_no_faster_than_it_may_and_the_newest_of_it_comes() {
    let mut config = config::server();
    config.connection.progress_interval = Some(Duration::from_secs(1));
    let mut side = ServerSide::ready_with(config, Revision::V2025_11_25);
    let (one, two) = (watched(&mut side, 1), watched(&mut side, 2));
    let report = |side: &mut ServerSide, id, far: u32| {
        side.server.progress(id, Progress::new(far), side.now, &mut side.out)
    };
    assert_eq!(report(&mut side, one, 1), Ok(ProgressReport::Sent));
    assert_eq!(report(&mut side, one, 2), Ok(ProgressReport::Delayed));
    assert_eq!(report(&mut side, two, 1), Ok(ProgressReport::Sent), "each has its own time");
    assert_eq!(report(&mut side, one, 3), Ok(ProgressReport::Delayed));
    assert_eq!(report(&mut side, one, 3), Ok(ProgressReport::NotIncreasing));
    assert_eq!(side.sent(), [progress(1, 1), progress(2, 1)]);
    assert_eq!(side.server.poll_timeout(), after(side.now, 1_000));
    assert_eq!((side.elapse(999), side.sent()), (vec![], vec![]));
    assert_eq!((side.elapse(1), side.sent()), (vec![], vec![progress(1, 3)]));
    // The next report waits for the same interval, and is sent before the response at the latest.
    assert_eq!(report(&mut side, one, 4), Ok(ProgressReport::Delayed));
    assert_eq!(report(&mut side, two, 2), Ok(ProgressReport::Sent));
    side.server.respond(one, &(), &mut side.out).unwrap();
    let answer = String::from(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    assert_eq!(side.sent(), [progress(2, 2), progress(1, 4), answer]);
    // A cancelled request reports no progress.
    assert_eq!(report(&mut side, two, 3), Ok(ProgressReport::Delayed));
    assert!(matches!(side.receive(&cancelled(2)), Some(ServerEvent::Cancelled(_))));
    assert_eq!((side.elapse(10_000), side.sent()), (vec![], vec![]));
    assert_eq!(side.server.poll_timeout(), None);
    // Without an interval every report is sent.
    let mut side = ServerSide::ready(Revision::V2025_11_25);
    let one = watched(&mut side, 1);
    for far in 1..=3 {
        assert_eq!(report(&mut side, one, far), Ok(ProgressReport::Sent));
    }
    assert_eq!(side.sent(), [progress(1, 1), progress(1, 2), progress(1, 3)]);
}

/// A report that is sent replaces a delayed one whose time has passed unnoticed.
///
/// Proves L-PROG-13.
#[test]
fn a_sent_report_replaces_the_delayed_one() {
    let mut config = config::server();
    config.connection.progress_interval = Some(Duration::from_secs(1));
    let mut side = ServerSide::ready_with(config, Revision::V2025_11_25);
    let one = watched(&mut side, 1);
    let report = |side: &mut ServerSide, far: u32| {
        side.server.progress(one, Progress::new(far), side.now, &mut side.out)
    };
    assert_eq!(report(&mut side, 1), Ok(ProgressReport::Sent));
    assert_eq!(report(&mut side, 2), Ok(ProgressReport::Delayed));
    // The application reports before it handles the timeout.
    side.now = side.now + Duration::from_secs(1);
    assert_eq!(report(&mut side, 3), Ok(ProgressReport::Sent));
    assert_eq!(side.elapse(10_000), []);
    assert_eq!(side.sent(), [progress(1, 1), progress(1, 3)]);
}

/// A delayed report precedes the response, also if this is an error.
///
/// Proves L-PROG-13.
#[test]
fn a_delayed_report_precedes_an_error() {
    let mut config = config::server();
    config.connection.progress_interval = Some(Duration::from_secs(1));
    let mut side = ServerSide::ready_with(config, Revision::V2025_11_25);
    let one = watched(&mut side, 1);
    for far in 1..=2 {
        side.server.progress(one, Progress::new(far), side.now, &mut side.out).unwrap();
    }
    side.server.reject(one, ErrorCode::INTERNAL_ERROR, "no", &mut side.out).unwrap();
    let error = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no"}}"#;
    assert_eq!(side.sent(), [progress(1, 1), progress(1, 2), error.into()]);
}

/// A response that does not fit changes nothing, so the delayed report in front of it stays delayed.
///
/// Proves L-PROG-13.
#[test]
fn a_response_that_does_not_fit_sends_no_delayed_progress() {
    let mut config = config::server();
    config.connection.progress_interval = Some(Duration::from_secs(1));
    config.connection.limits.outbox_bytes = 400;
    let mut side = ServerSide::ready_with(config, Revision::V2025_11_25);
    let one = watched(&mut side, 1);
    for far in 1..=2 {
        side.server.progress(one, Progress::new(far), side.now, &mut side.out).unwrap();
    }
    assert_eq!(side.sent(), [progress(1, 1)]);
    let full = Err(RespondError::Encode(EncodeError::Full));
    let large = serde_json::json!({"content": [], "large": "x".repeat(400)});
    assert_eq!(side.server.respond(one, &large, &mut side.out), full);
    let text = "x".repeat(400);
    assert_eq!(side.server.reject(one, ErrorCode::INTERNAL_ERROR, &text, &mut side.out), full);
    assert_eq!((side.elapse(999), side.sent()), (vec![], vec![]));
    assert_eq!((side.elapse(1), side.sent()), (vec![], vec![progress(1, 2)]));
}

/// A request takes the slot of one that has ended, whose interval must not delay its progress.
///
/// Proves L-PROG-13.
#[test]
fn the_progress_of_a_request_that_has_ended_holds_up_no_other() {
    type End = fn(&mut ServerSide, IncomingId);
    let ends: [End; 3] = [
        |side, id| side.server.respond(id, &(), &mut side.out).unwrap(),
        |side, id| {
            let code = ErrorCode::INTERNAL_ERROR;
            side.server.reject(id, code, "no", &mut side.out).unwrap();
        },
        |side, _| {
            let event = side.receive(&cancelled(1));
            assert!(matches!(event, Some(ServerEvent::Cancelled(_))), "{event:?}");
        },
    ];
    let mut config = config::server();
    config.connection.progress_interval = Some(Duration::from_secs(1));
    for (case, end) in ends.into_iter().enumerate() {
        let mut side = ServerSide::ready_with(config.clone(), Revision::V2025_11_25);
        let report = |side: &mut ServerSide, id, far: u32| {
            side.server.progress(id, Progress::new(far), side.now, &mut side.out)
        };
        let one = watched(&mut side, 1);
        assert_eq!(report(&mut side, one, 1), Ok(ProgressReport::Sent));
        assert_eq!(report(&mut side, one, 2), Ok(ProgressReport::Delayed));
        end(&mut side, one);
        assert_eq!(side.server.poll_timeout(), None, "{case}");
        _ = side.sent();
        assert_eq!(side.elapse(100), []);
        let two = watched(&mut side, 2);
        assert_eq!(two.index(), one.index(), "the place is used again");
        assert_eq!(report(&mut side, two, 1), Ok(ProgressReport::Sent), "{case}");
        assert_eq!(report(&mut side, two, 2), Ok(ProgressReport::Delayed), "{case}");
        assert_eq!(side.server.poll_timeout(), after(side.now, 1_000), "its own time");
        assert_eq!(side.elapse(1_000), []);
        assert_eq!(side.sent(), [progress(2, 1), progress(2, 2)], "{case}");
    }
}

/// A request on the route of a call belongs to that call while the call is pending.
#[test]
fn a_request_belongs_to_the_call_on_whose_route_it_comes() {
    let mut side = ready();
    let calls = [side.call("tools/call"), side.call("tools/call")];
    _ = side.sent();
    let asked = |side: &mut ClientSide, id: u32, route: Route| {
        let (frame, received) = (request(id, "roots/list"), Received::from(side.now).route(route));
        match side.client.receive(frame.as_str(), received, &mut side.out) {
            Some(ClientEvent::Request(request)) => request.needed_for,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(asked(&mut side, 1, Route::Call(calls[1])), Some(calls[1]));
    assert_eq!(asked(&mut side, 2, Route::Call(calls[0])), Some(calls[0]));
    assert_eq!(asked(&mut side, 3, Route::Connection), None);
    _ = side.client.cancel(calls[0], None, &mut side.out);
    assert_eq!(asked(&mut side, 4, Route::Call(calls[0])), None);
}
