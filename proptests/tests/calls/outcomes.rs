//! Calls of this side: correlation, cancellation, progress and timeouts, and their one outcome.

use std::time::Duration;

use mcp_sansio::call::{Cancellation, Timeout};
use mcp_sansio::error::{CancelError, ViolationKind};
use mcp_sansio::event::{Expiry, UnmatchedCause};
use mcp_sansio::schema::Json;
use mcp_sansio::{
    CallError, CallId, CallOptions, ClientEvent, ConnectionNumber, ErrorCode, Outcome, Revision,
};
use mcp_sansio_proptests::{ClientSide, config};

fn ready() -> ClientSide {
    ClientSide::ready(Revision::V2025_11_25)
}

/// The result of the call with this id. The first call of a session has id 2, because `initialize` has id 1.
fn result(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"n":{id}}}}}"#)
}

#[track_caller]
fn ended(event: Option<ClientEvent<'static>>) -> (CallId, Outcome<'static>) {
    match event {
        Some(ClientEvent::CallEnded(ended)) => (ended.call, ended.outcome),
        other => panic!("no outcome: {other:?}"),
    }
}

#[track_caller]
fn cause_of_unmatched_response(event: Option<ClientEvent<'static>>) -> UnmatchedCause {
    match event {
        Some(ClientEvent::UnmatchedResponse(unmatched)) => unmatched.cause,
        other => panic!("not unmatched: {other:?}"),
    }
}

fn progress(token: &str, progress: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":{progress}}}}}"#
    )
}

fn cancelled(id: u32) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
    )
}

/// Proves L-JSONRPC-06, L-JSONRPC-21, L-JSONRPC-28, L-RACE-12, L-RACE-13, L-AMB-51.
#[test]
fn answers_come_in_any_order_and_find_their_call() {
    let mut side = ready();
    let calls = [side.call("a"), side.call("b"), side.call("c")];
    assert_eq!(
        side.sent(),
        [
            r#"{"jsonrpc":"2.0","id":2,"method":"a"}"#,
            r#"{"jsonrpc":"2.0","id":3,"method":"b"}"#,
            r#"{"jsonrpc":"2.0","id":4,"method":"c"}"#,
        ]
    );
    for (id, call) in [("3", calls[1]), ("4", calls[2]), ("2", calls[0])] {
        let (ended, outcome) = ended(side.receive(&result(id)));
        assert_eq!(ended, call);
        let Outcome::Result(result) = outcome else { panic!("{outcome:?}") };
        assert_eq!(result.get("n").unwrap().as_json(), id);
    }
    assert_eq!(cause_of_unmatched_response(side.receive(&result("3"))), UnmatchedCause::Completed);
    assert_eq!(
        cause_of_unmatched_response(side.receive(&result("99"))),
        UnmatchedCause::NeverIssued
    );
    assert_eq!(
        cause_of_unmatched_response(side.receive(&result("\"x\""))),
        UnmatchedCause::NeverIssued
    );
    assert_eq!(side.sent(), [""; 0], "nothing is said about a response");
    assert_eq!(side.client.in_flight().counts().outbound, 0);
    assert_eq!(side.client.poll_timeout(), None);
}

/// Proves L-JSONRPC-06, L-JSONRPC-22, L-CANCEL-12, L-RACE-13. Pain 22.
#[test]
fn both_sides_use_the_same_ids_and_never_mix_them_up() {
    let mut side = ready();
    let call = side.call("tools/list");
    _ = side.sent();
    let inbound = side.request(r#"{"jsonrpc":"2.0","id":2,"method":"roots/list"}"#);
    let event = side.receive(&cancelled(2));
    assert!(matches!(&event, Some(ClientEvent::Cancelled(c)) if c.id == inbound), "{event:?}");
    assert!(side.client.in_flight().is_pending(call));
    let again = side.request(r#"{"jsonrpc":"2.0","id":2,"method":"roots/list"}"#);
    let (ended, outcome) = ended(side.receive(&result("2")));
    assert_eq!((ended, matches!(outcome, Outcome::Result(_))), (call, true));
    side.client.respond(again, &serde_json::json!({"roots": []}), &mut side.out).unwrap();
    assert_eq!(side.sent(), [r#"{"jsonrpc":"2.0","id":2,"result":{"roots":[]}}"#]);
}

/// Proves L-JSONRPC-08, L-AMB-08. Pain 20.
#[test]
fn a_stringified_id_matches_only_where_that_is_allowed() {
    let mut side = ready();
    let call = side.call("a");
    assert_eq!(
        cause_of_unmatched_response(side.receive(&result("\"2\""))),
        UnmatchedCause::NeverIssued
    );
    assert!(side.client.in_flight().is_pending(call));

    let mut config = config::client();
    config.connection.match_stringified_ids = true;
    let mut side = ClientSide::ready_with(config, Revision::V2025_06_18);
    let call = side.call("a");
    assert_eq!(ended(side.receive(&result("\"2\""))).0, call);
}

/// Proves L-CANCEL-11. Pain 21: zero is an id.
#[test]
fn the_first_id_can_be_zero() {
    let mut config = config::client();
    config.connection.first_call_id = 0;
    let mut side = ClientSide::with(config);
    let call = side.call("ping");
    assert_eq!(side.sent(), [r#"{"jsonrpc":"2.0","id":0,"method":"ping"}"#]);
    let cancellation = side.client.cancel(call, Some("enough"), &mut side.out);
    assert_eq!(cancellation, Ok(Cancellation::Notified));
    assert_eq!(
        side.sent(),
        [
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":0,"reason":"enough"}}"#
        ]
    );
    let zero = side.request_zero();
    let event = side.receive(&cancelled(0));
    assert!(matches!(event, Some(ClientEvent::Cancelled(c)) if c.id == zero));

    let mut config = config::client();
    config.connection.first_call_id = 0;
    let mut side = ClientSide::with(config);
    let options = CallOptions::new().progress();
    let call = side.client.call_method("ping", &(), options, side.now, &mut side.out).unwrap();
    let event = side.receive(&progress("0", "1"));
    assert!(matches!(event, Some(ClientEvent::Progress(update)) if update.call == call));
    let event = side.receive(r#"{"jsonrpc":"2.0","id":0,"result":{"a":0}}"#);
    assert!(matches!(ended(event), (over, Outcome::Result(_)) if over == call));
}

trait RequestZero {
    fn request_zero(&mut self) -> mcp_sansio::IncomingId;
}

impl RequestZero for ClientSide {
    /// Receives a request with id 0 and token 0 and reports progress. The request stays open.
    fn request_zero(&mut self) -> mcp_sansio::IncomingId {
        self.client.connect(self.now, &mut self.out).unwrap();
        let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{}}}"#;
        assert!(matches!(self.receive(answer), Some(ClientEvent::Connected(_))));
        _ = self.sent();
        let id = self.request(
            r#"{"jsonrpc":"2.0","id":0,"method":"roots/list","params":{"_meta":{"progressToken":0}}}"#,
        );
        let report = self.client.progress(
            id,
            mcp_sansio::progress::Progress::new(1_u8),
            self.now,
            &mut self.out,
        );
        assert_eq!(report, Ok(mcp_sansio::progress::ProgressReport::Sent));
        assert_eq!(
            self.sent(),
            [
                r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":0,"progress":1}}"#
            ]
        );
        id
    }
}

/// Proves L-JSONRPC-09, L-JSONRPC-10, L-JSONRPC-12, L-JSONRPC-31, L-AMB-10, L-JSONRPC-01 for
/// responses. Pains 10, 11 and 54.
#[test]
fn a_broken_answer_ends_its_call() {
    let deep = "[".repeat(500) + &"]".repeat(500);
    let too_deep = format!(r#"{{"jsonrpc":"2.0","id":2,"result":{{"a":{deep}}}}}"#);
    let malformed = [
        (r#"{"jsonrpc":"2.0","id":2}"#, ViolationKind::NotAMessage),
        (r#"{"jsonrpc":"2.0","id":2,"result":null}"#, ViolationKind::MalformedResponse),
        (r#"{"jsonrpc":"2.0","id":2,"result":7}"#, ViolationKind::MalformedResponse),
        (
            r#"{"jsonrpc":"2.0","id":2,"result":{},"error":{"code":1,"message":"x"}}"#,
            ViolationKind::MalformedResponse,
        ),
        (
            r#"{"jsonrpc":"2.0","id":2,"error":{"code":"x","message":"x"}}"#,
            ViolationKind::MalformedResponse,
        ),
        (
            r#"{"jsonrpc":"2.0","id":2,"error":{"code":1.5,"message":"x"}}"#,
            ViolationKind::MalformedResponse,
        ),
        (r#"{"jsonrpc":"2.0","id":2,"error":{"message":"x"}}"#, ViolationKind::MalformedResponse),
        (r#"{"jsonrpc":"2.0","id":2,"error":"x"}"#, ViolationKind::MalformedResponse),
        (r#"{"jsonrpc":"1.0","id":2,"result":{}}"#, ViolationKind::WrongJsonrpc),
        (r#"{"id":2,"result":{}}"#, ViolationKind::WrongJsonrpc),
        (r#"{"jsonrpc":"2.0","id":2,"result":{},"result":{}}"#, ViolationKind::DuplicateMember),
        (r#"{"jsonrpc":"2.0","id":2,"result":{"a":oops}}"#, ViolationKind::NotJson),
        (too_deep.as_str(), ViolationKind::TooDeep),
    ];
    for (frame, expected) in malformed {
        let mut side = ready();
        let call = side.call("a");
        _ = side.sent();
        let (ended, outcome) = ended(side.receive(frame));
        let Outcome::Malformed { kind, message } = outcome else { panic!("{frame}: {outcome:?}") };
        assert_eq!((ended, kind, &*message.to_text()), (call, expected, frame));
        assert_eq!(side.sent(), [""; 0], "no answer to an answer: {frame}");
        // Without a call to end, the same response is a violation.
        let again = side.receive(frame);
        assert!(
            matches!(again, Some(ClientEvent::Violation(_) | ClientEvent::UnmatchedResponse(_))),
            "{again:?}"
        );
    }
    let mut side = ready();
    let call = side.call("a");
    let answer = b"{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"a\":\"\xff\"}}";
    let (over, outcome) = ended(side.receive_bytes(answer));
    assert!(matches!(outcome, Outcome::Malformed { kind: ViolationKind::NotUtf8, .. }));
    assert_eq!(over, call);
}

/// Proves L-JSONRPC-11, L-ERR-40, L-AMB-30. Pain 11.
#[test]
fn an_error_is_delivered_as_far_as_it_goes() {
    let errors = [
        (r#"{"code":-32000}"#, -32000, "", None),
        (r#"{"code":0,"message":""}"#, 0, "", None),
        (r#"{"code":-32001,"message":"é\n","data":false}"#, -32001, "é\n", Some("false")),
        (
            r#"{"code":9007199254740993,"message":"m","data":null}"#,
            9_007_199_254_740_993,
            "m",
            Some("null"),
        ),
        (r#"{"code":1,"message":"m","data":{"a":[1]},"x":1}"#, 1, "m", Some(r#"{"a":[1]}"#)),
    ];
    for (error, code, message, data) in errors {
        let mut side = ready();
        side.call("a");
        let frame = format!(r#"{{"jsonrpc":"2.0","id":2,"error":{error}}}"#);
        let (_, outcome) = ended(side.receive(&frame));
        let Outcome::PeerError(error) = outcome else { panic!("{outcome:?}") };
        assert_eq!(error.code, ErrorCode::new(code));
        assert_eq!(error.message.to_str(), message);
        assert_eq!(error.data.as_ref().map(|data| data.as_json()), data);
    }
}

/// Pain 10: a result that serde cannot decode is delivered.
#[test]
fn a_result_with_half_a_character_is_delivered() {
    let mut side = ready();
    side.call("tools/call");
    let answer =
        r#"{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"cut \ud83d"}]}}"#;
    let (_, outcome) = ended(side.receive(answer));
    let Outcome::Result(result) = outcome else { panic!("{outcome:?}") };
    let value: serde_json::Value = result.parse_lossy().unwrap();
    assert_eq!(value["content"][0]["text"], "cut \u{fffd}");
}

/// Proves L-JSONRPC-19, L-JSONRPC-20. Pain 29.
#[test]
fn an_error_without_an_id_settles_nothing() {
    for id in ["", r#""id":null,"#] {
        for revision in Revision::LEGACY {
            let mut side = ClientSide::ready(revision);
            let call = side.call("a");
            let frame =
                format!(r#"{{"jsonrpc":"2.0",{id}"error":{{"code":-32700,"message":"?"}}}}"#);
            let Some(ClientEvent::UnsolicitedError(error)) = side.receive(&frame) else { panic!() };
            assert_eq!(error.code, ErrorCode::PARSE_ERROR);
            assert!(side.client.in_flight().is_pending(call));
        }
    }
}

/// A transport that knows the call of an error names it by the route.
#[test]
fn an_error_without_an_id_ends_the_call_of_its_route() {
    let mut side = ready();
    let call = side.call("a");
    let other = side.call("b");
    let received = mcp_sansio::Received::from(side.now).route(mcp_sansio::Route::Call(call));
    let frame = r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"?"}}"#;
    let event = side.client.receive(frame, received, &mut side.out).map(ClientEvent::into_owned);
    assert_eq!(ended(event).0, call);
    assert!(side.client.in_flight().is_pending(other));
}

/// Pain 74: an acknowledgement is any object.
#[test]
fn an_acknowledgement_may_hold_anything() {
    for result in ["{}", r#"{"_meta":{}}"#, r#"{"resultType":"complete"}"#, r#"{"x":1}"#] {
        let mut side = ready();
        side.call("logging/setLevel");
        let frame = format!(r#"{{"jsonrpc":"2.0","id":2,"result":{result}}}"#);
        let (_, outcome) = ended(side.receive(&frame));
        let Outcome::Result(raw) = outcome else { panic!("{outcome:?}") };
        assert_eq!(raw.as_json(), result);
        raw.parse::<mcp_sansio::model::method::Empty<'_>>().unwrap();
    }
}

/// Proves L-CANCEL-02, L-CANCEL-03, L-CANCEL-09, L-CANCEL-10, L-CANCEL-14, L-RACE-01, L-RACE-03.
/// Pains 16, 23 and 24, in both orders.
#[test]
fn cancelling_is_over_at_once() {
    let mut side = ready();
    let call = side.call("a");
    _ = side.sent();
    assert_eq!(side.client.cancel(call, None, &mut side.out), Ok(Cancellation::Notified));
    assert_eq!(side.client.in_flight().counts().outbound, 0);
    assert_eq!(side.client.poll_timeout(), None);
    assert_eq!(side.sent(), [cancelled(2)]);
    let again = side.client.cancel(call, None, &mut side.out);
    assert_eq!(again, Err(CancelError::NotInFlight));
    assert_eq!(cause_of_unmatched_response(side.receive(&result("2"))), UnmatchedCause::Cancelled);
    let error = r#"{"jsonrpc":"2.0","id":2,"error":{"code":0,"message":"cancelled"}}"#;
    assert_eq!(cause_of_unmatched_response(side.receive(error)), UnmatchedCause::Cancelled);
    // The other order: the response arrives first.
    let call = side.call("b");
    _ = side.sent();
    assert_eq!(ended(side.receive(&result("3"))).0, call);
    assert_eq!(side.client.cancel(call, None, &mut side.out), Err(CancelError::NotInFlight));
    assert_eq!(side.sent(), [""; 0]);
}

#[test]
fn a_call_that_has_not_left_is_withdrawn() {
    let mut side = ready();
    let first = side.call("a");
    let second = side.call("b");
    let third = side.call("c");
    assert_eq!(side.client.cancel(second, None, &mut side.out), Ok(Cancellation::Withdrawn));
    assert_eq!(
        side.sent(),
        [r#"{"jsonrpc":"2.0","id":2,"method":"a"}"#, r#"{"jsonrpc":"2.0","id":4,"method":"c"}"#]
    );
    assert_eq!(side.client.cancel(first, None, &mut side.out), Ok(Cancellation::Notified));
    assert_eq!(side.client.in_flight().calls().collect::<Vec<_>>(), [third]);
}

#[test]
fn a_held_call_is_withdrawn_too() {
    let mut side = ClientSide::fresh();
    let call = side.call("a");
    assert_eq!(side.client.cancel(call, None, &mut side.out), Ok(Cancellation::Withdrawn));
    assert_eq!(side.client.in_flight().counts().held_bytes, 0);
    assert_eq!(side.sent(), [""; 0]);
}

/// Pain 63: the machine chooses the token, so that two calls never share one.
#[test]
fn a_token_belongs_to_one_call() {
    let mut side = ready();
    let params = serde_json::json!({"name": "t", "_meta": {"progressToken": "t", "a": 1}});
    let options = CallOptions::new().progress();
    let calls = [(); 2].map(|()| {
        side.client.call_method("tools/call", &params, options, side.now, &mut side.out).unwrap()
    });
    let sent = side.sent();
    assert_eq!(sent.len(), 2);
    for (id, sent) in (2..).zip(sent) {
        assert_eq!(sent.matches("progressToken").count(), 1, "{sent}");
        let sent: serde_json::Value = serde_json::from_str(&sent).unwrap();
        assert_eq!(sent["params"]["_meta"], serde_json::json!({"progressToken": id, "a": 1}));
    }
    for (token, call) in [("3", calls[1]), ("2", calls[0])] {
        let event = side.receive(&progress(token, "1"));
        assert!(matches!(event, Some(ClientEvent::Progress(update)) if update.call == call));
    }
    let event = side.receive(&progress("\"t\"", "1"));
    let unknown = ViolationKind::UnknownToken;
    assert!(matches!(event, Some(ClientEvent::Violation(violation)) if violation.kind == unknown));
}

/// Both connections have the same history, so that only the connection number distinguishes their handles.
///
/// Proves L-CANCEL-01: only calls of this connection can be named.
#[test]
fn handles_of_another_connection_are_strangers() {
    let open = |number| {
        let mut side = ClientSide::fresh();
        let config = std::sync::Arc::new(config::client());
        side.client =
            mcp_sansio::Client::with_connection_number(config, ConnectionNumber::new(number));
        side.client.connect(side.now, &mut side.out).unwrap();
        let opened = side.receive(
            r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"server","version":"1"}}}"#,
        );
        assert!(matches!(opened, Some(ClientEvent::Connected(_))), "{opened:?}");
        let call = side.call("a");
        (side, call)
    };
    let ((mut side, call), (_, theirs)) = (open(0), open(1));
    // Apart from the number the handles are equal.
    let (_, same) = open(0);
    assert_eq!(same, call);
    assert_eq!((theirs.index(), theirs.connection().get()), (call.index(), 1));
    assert_eq!(side.client.cancel(theirs, None, &mut side.out), Err(CancelError::NotInFlight));
    assert!(!side.client.in_flight().is_pending(theirs));
    assert!(side.client.in_flight().is_pending(call));
    assert!(side.client.cancel(call, None, &mut side.out).is_ok());
}

/// Proves L-TIME-01, L-TIME-02, L-TIME-03, L-TIME-09, L-TIME-10, L-RACE-07. Pain 23.
/// Pain 61.
#[test]
fn a_call_that_is_not_answered_times_out() {
    let mut side = ready();
    let idle = config::client().connection.timeouts.idle.unwrap();
    let call = side.call("a");
    _ = side.sent();
    assert_eq!(side.client.poll_timeout(), Some(side.now + idle));
    let milliseconds = idle.as_millis() as u64;
    assert_eq!(side.elapse(milliseconds - 1), []);
    let mut events = side.elapse(1);
    assert_eq!(ended(events.pop()), (call, Outcome::TimedOut(Expiry::Idle)));
    assert_eq!(events, []);
    assert_eq!(
        side.sent(),
        [
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2,"reason":"the request timed out"}}"#
        ]
    );
    assert_eq!(cause_of_unmatched_response(side.receive(&result("2"))), UnmatchedCause::TimedOut);
    // A response that is fed first wins, at any time.
    let call = side.call("b");
    side.now = side.now + idle;
    assert_eq!(ended(side.receive(&result("3"))).0, call);
    assert_eq!(side.outcomes(), []);
}

/// Pain 1: a timeout does not wait for a write.
#[test]
fn a_timed_out_call_withdraws_its_unsent_request() {
    let mut config = config::client();
    config.connection.timeouts.idle = Some(Duration::from_millis(200));
    let mut side = ClientSide::ready_with(config, Revision::V2025_06_18);
    let call = side.call("a");
    assert_eq!(ended(side.elapse(200).pop()), (call, Outcome::TimedOut(Expiry::Idle)));
    assert_eq!(side.client.poll_timeout(), None);
    assert_eq!(side.sent(), [""; 0]);
}

/// Proves L-TIME-04.
#[test]
fn timeouts_can_be_set_per_call() {
    let mut side = ready();
    let mut call = |options: CallOptions| {
        side.client.call_method("a", &(), options, side.now, &mut side.out).unwrap()
    };
    let never = call(CallOptions::new().idle(Timeout::Never).total(Timeout::Never));
    assert_eq!(side.client.poll_timeout(), None);
    let mut call = |options: CallOptions| {
        side.client.call_method("a", &(), options, side.now, &mut side.out).unwrap()
    };
    let second = call(CallOptions::new().idle(Timeout::After(Duration::from_secs(2))));
    let first = call(CallOptions::new().idle(Timeout::After(Duration::from_secs(1))));
    let also =
        call(CallOptions::new().idle(Timeout::Never).total(Timeout::After(Duration::from_secs(2))));
    let calls: Vec<_> =
        side.elapse(1_000_000).into_iter().map(|event| ended(Some(event))).collect();
    assert_eq!(
        calls,
        [
            (first, Outcome::TimedOut(Expiry::Idle)),
            (second, Outcome::TimedOut(Expiry::Idle)),
            (also, Outcome::TimedOut(Expiry::Total)),
        ]
    );
    assert_eq!(side.client.in_flight().calls().collect::<Vec<_>>(), [never]);
}

/// Proves L-PROG-01, L-PROG-02, L-PROG-08, L-PROG-10, L-PROG-11, L-PROG-12, L-AMB-45, L-AMB-51.
#[test]
fn progress_finds_its_call_and_only_increases() {
    let mut side = ready();
    let params = serde_json::json!({"name": "t", "_meta": {"mine": 1}});
    let options = CallOptions::new().progress();
    let call =
        side.client.call_method("tools/call", &params, options, side.now, &mut side.out).unwrap();
    let other = side.call("a");
    let sent = side.sent();
    let first: serde_json::Value = serde_json::from_str(&sent[0]).unwrap();
    assert_eq!(
        first["params"],
        serde_json::json!({"name": "t", "_meta": {"mine": 1, "progressToken": 2}})
    );
    assert_eq!(sent[1], r#"{"jsonrpc":"2.0","id":3,"method":"a"}"#, "no token unless wanted");

    let full = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2,"progress":0.5,"total":2,"message":"half"}}"#;
    let Some(ClientEvent::Progress(update)) = side.receive(full) else { panic!("progress") };
    assert_eq!(update.call, call);
    assert_eq!((update.progress.as_f64(), update.total.unwrap().as_f64()), (0.5, 2.0));
    assert_eq!(update.message.unwrap(), "half");

    let mut kind = |frame: &str| match side.receive(frame) {
        Some(ClientEvent::Violation(violation)) => violation.kind,
        other => panic!("{frame}: {other:?}"),
    };
    assert_eq!(kind(&progress("2", "0.5")), ViolationKind::ProgressNotIncreasing);
    assert_eq!(kind(&progress("2", "0.25")), ViolationKind::ProgressNotIncreasing);
    assert_eq!(kind(&progress("\"2\"", "1")), ViolationKind::UnknownToken);
    assert_eq!(kind(&progress("\"zz\"", "1")), ViolationKind::UnknownToken);
    assert_eq!(kind(&progress("99", "1")), ViolationKind::UnknownToken);
    assert_eq!(kind(&progress("3", "1")), ViolationKind::UnknownToken, "it did not ask");
    assert_eq!(kind(&progress("true", "1")), ViolationKind::MalformedProgress);
    assert_eq!(kind(&progress("2", "\"1\"")), ViolationKind::MalformedProgress);
    assert!(matches!(side.receive(&progress("2", "1")), Some(ClientEvent::Progress(_))));
    assert!(side.client.in_flight().is_pending(other));
    assert_eq!(side.sent(), [""; 0]);
}

/// A report that does not increase is a violation, and no sign of life.
#[test]
fn progress_that_does_not_increase_renews_no_timeout() {
    let mut side = ready();
    let idle = Timeout::After(Duration::from_secs(10));
    let options = CallOptions::new().progress().idle(idle);
    let call = side.client.call_method("a", &(), options, side.now, &mut side.out).unwrap();
    assert_eq!(side.elapse(4_000), []);
    assert!(matches!(side.receive(&progress("2", "1")), Some(ClientEvent::Progress(_))));
    for value in ["1", "0.5"] {
        assert_eq!(side.elapse(4_000), []);
        let event = side.receive(&progress("2", value));
        assert!(matches!(event, Some(ClientEvent::Violation(_))), "{event:?}");
    }
    assert_eq!(side.elapse(1_999), []);
    let events = side.elapse(1);
    let [ClientEvent::CallEnded(ended)] = &events[..] else { panic!("{events:?}") };
    assert_eq!((ended.call, &ended.outcome), (call, &Outcome::TimedOut(Expiry::Idle)));
}

/// Proves L-PROG-09, L-RACE-08, L-RACE-09, L-JSONRPC-27. Pain 57.
#[test]
fn progress_after_the_end_is_ignored() {
    let mut side = ready();
    let options = CallOptions::new().progress();
    let mut call = || side.client.call_method("a", &(), options, side.now, &mut side.out).unwrap();
    let (answered, cancelled) = (call(), call());
    assert!(matches!(side.receive(&progress("2", "1")), Some(ClientEvent::Progress(_))));
    assert_eq!(ended(side.receive(&result("2"))).0, answered);
    assert_eq!(side.receive(&progress("2", "2")), None);
    side.client.cancel(cancelled, None, &mut side.out).unwrap();
    assert_eq!(side.receive(&progress("3", "2")), None, "it never left, and has no token any more");
}

/// Proves L-TIME-05, L-TIME-06, L-RACE-10. Pains 59 and 60.
#[test]
fn progress_begins_the_idle_time_anew_and_the_total_never() {
    let options = CallOptions::new()
        .progress()
        .idle(Timeout::After(Duration::from_secs(1)))
        .total(Timeout::After(Duration::from_secs(5)));
    let mut side = ready();
    let call = side.client.call_method("a", &(), options, side.now, &mut side.out).unwrap();
    for step in 1..6 {
        assert_eq!(side.elapse(900), [], "step {step}");
        let event = side.receive(&progress("2", &step.to_string()));
        assert!(matches!(event, Some(ClientEvent::Progress(_))));
    }
    // Progress that does not increase is ignored: 4.5 s have passed, and 1 s later the total of 5 s is over.
    assert!(matches!(side.receive(&progress("2", "5")), Some(ClientEvent::Violation(_))));
    assert_eq!(ended(side.elapse(500).pop()), (call, Outcome::TimedOut(Expiry::Total)));

    let mut side = ready();
    let call = side.client.call_method("a", &(), options, side.now, &mut side.out).unwrap();
    side.elapse(900);
    assert!(side.receive(&progress("2", "1")).is_some());
    assert_eq!(side.elapse(999), []);
    assert_eq!(ended(side.elapse(1).pop()), (call, Outcome::TimedOut(Expiry::Idle)));
}

#[test]
fn calls_have_bounds_and_reserved_names() {
    let mut config = config::client();
    config.connection.limits.outbound_calls = 2;
    let mut side = ClientSide::ready_with(config, Revision::V2025_06_18);
    let mut call = |method: &str| {
        side.client.call_method(method, &(), CallOptions::new(), side.now, &mut side.out)
    };
    assert_eq!(call("initialize"), Err(CallError::Reserved));
    let first = call("a").unwrap();
    call("b").unwrap();
    assert_eq!(call("c"), Err(CallError::TooManyCalls));
    side.client.cancel(first, None, &mut side.out).unwrap();
    side.call("d");
    for method in ["notifications/initialized", "notifications/cancelled", "notifications/progress"]
    {
        let notified = side.client.notify_method(method, &(), None, &mut side.out);
        assert_eq!(notified, Err(mcp_sansio::error::NotifyError::Reserved));
    }
}

/// Proves L-JSONRPC-02: a call that cannot be encoded is not sent.
#[test]
fn a_call_that_cannot_be_written_was_never_made() {
    struct Fails;
    impl serde::Serialize for Fails {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            use serde::ser::SerializeMap;
            let mut map = serializer.serialize_map(None)?;
            map.serialize_entry("half", &1)?;
            Err(serde::ser::Error::custom("no"))
        }
    }
    struct Panics;
    impl serde::Serialize for Panics {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            use serde::ser::SerializeMap;
            let mut map = serializer.serialize_map(None)?;
            map.serialize_entry("half", &1)?;
            panic!("in the middle")
        }
    }
    let mut side = ready();
    let options = CallOptions::new();
    let error = side.client.call_method("a", &Json(&Fails), options, side.now, &mut side.out);
    assert!(matches!(error, Err(CallError::Encode(_))));
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        _ = side.client.call_method("a", &Json(&Panics), options, side.now, &mut side.out);
    }));
    assert!(panic.is_err());
    assert_eq!(side.client.in_flight().counts().outbound, 0);
    assert_eq!(side.client.poll_timeout(), None);
    side.call("b");
    assert_eq!(side.sent(), [r#"{"jsonrpc":"2.0","id":2,"method":"b"}"#]);
    // The same for responses.
    let id = side.request(r#"{"jsonrpc":"2.0","id":1,"method":"x/work"}"#);
    assert!(side.client.respond(id, &Json(&Fails), &mut side.out).is_err());
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        _ = side.client.respond(id, &Json(&Panics), &mut side.out);
    }));
    assert!(panic.is_err());
    side.client.respond(id, &(), &mut side.out).unwrap();
    assert_eq!(side.sent(), [r#"{"jsonrpc":"2.0","id":1,"result":{}}"#]);
}

/// Proves L-PING-02: either side can ping in any phase.
#[test]
fn pings_go_out_in_every_phase() {
    let mut side = ClientSide::fresh();
    let early = side.call("ping");
    assert_eq!(side.sent(), [r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#]);
    let (call, outcome) = ended(side.receive(r#"{"jsonrpc":"2.0","id":1,"result":{"extra":1}}"#));
    assert_eq!((call, matches!(outcome, Outcome::Result(_))), (early, true));
}
