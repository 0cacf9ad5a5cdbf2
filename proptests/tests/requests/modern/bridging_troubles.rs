//! Required input in a session without room or time.

use mcp_sansio::error::NotAllowed;
use mcp_sansio::event::CancelCause;
use mcp_sansio::model::InputRequired;
use mcp_sansio::{Cause, Frames, Limits, Request, RespondError, Revision, ServerEvent};
use mcp_sansio_proptests::{ServerSide, config};

use crate::modern::kit::*;

/// The client refuses to list its roots.
const NO: &str = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}"#;
const NOT_GIVEN: &str = "the client did not give what was needed for this";

/// A session with a client that supports roots, and an outbox of 4,000 bytes.
fn narrow_session(revision: Revision) -> ServerSide {
    let mut config = config::server();
    config.connection.limits.outbox_bytes = 4_000;
    ServerSide::ready_with(config, revision)
}

fn call(id: &str) -> String {
    of_session(id, "tools/call", r#""name":"t""#)
}

/// A result that leaves no room for the error of the failed request.
fn long_result() -> String {
    format!(r#""content":[{{"type":"text","text":"{}"}}]"#, "x".repeat(3_850))
}

#[track_caller]
fn assert_input_failure(side: &mut ServerSide, request: &Request<'_>) {
    let Some(ServerEvent::Cancelled(cancelled)) = side.receive(NO) else { panic!("it goes on") };
    assert_eq!((cancelled.id, cancelled.cause), (request.id, CancelCause::InputFailed));
    let late = side.server.respond(request.id, &(), &mut side.out);
    assert_eq!(late, Err(RespondError::Answered));
}

/// Proves M-MRTR-41: the failed request is answered although the client does not read.
#[test]
fn an_input_failure_is_sent_despite_a_full_outbox() {
    let mut side = narrow_session(Revision::V2025_11_25);
    let waiting = request(&mut side, &call("1"));
    let other = request(&mut side, &call("2"));
    assert_eq!(require(&mut side, &waiting, &InputRequired::new().roots("where")), Ok(()));
    assert_eq!(side.sent().len(), 1);
    side.respond(other.id, &format!("{{{}}}", long_result()));
    assert_input_failure(&mut side, &waiting);
    assert_eq!(side.sent(), [plain("2", &long_result()), error("1", -32603, NOT_GIVEN)]);
    assert_eq!(side.server.in_flight().counts().inbound, 0);
    lives(&mut side);
}

/// Proves L-BATCH-07: a failed request does not hold back the responses of a batch either.
#[test]
fn an_input_failure_does_not_hold_back_batch_responses() {
    let mut side = narrow_session(Revision::V2025_03_26);
    let batch = format!("[{},{}]", call("1"), call("2"));
    let requests: Vec<Request<'static>> = Frames::of(batch.as_bytes(), &Limits::default())
        .filter_map(|frame| side.server.receive(frame, side.now, &mut side.out))
        .map(|event| match event.into_owned() {
            ServerEvent::Request(request) => request,
            other => panic!("{other:?}"),
        })
        .collect();
    let [waiting, other] = &requests[..] else { panic!("{requests:?}") };
    assert_eq!(require(&mut side, waiting, &InputRequired::new().roots("where")), Ok(()));
    assert_eq!(side.sent().len(), 1);
    side.respond(other.id, &format!("{{{}}}", long_result()));
    assert_eq!(side.sent(), [""; 0]);
    assert_input_failure(&mut side, waiting);
    // It has no room in the batch, so it is a message of its own.
    let failed = format!(r#""content":[{{"type":"text","text":"{NOT_GIVEN}"}}],"isError":true"#);
    let answered = [plain("1", &failed), format!("[{}]", plain("2", &long_result()))];
    assert_eq!(side.sent(), answered);
    // The ids of the batch are free again.
    let again = request(&mut side, &call("2"));
    side.respond(again.id, r#"{"content":[]}"#);
    assert_eq!(side.sent(), [plain("2", r#""content":[]"#)]);
}

/// While the connection closes, no input can be required. The request stays open and can be answered.
#[test]
fn nothing_can_be_asked_while_the_connection_closes() {
    let mut side = narrow_session(Revision::V2025_11_25);
    let open = request(&mut side, &call("1"));
    side.server.disconnected(Cause::EndOfInput, side.now);
    assert!(matches!(side.outcomes()[..], [ServerEvent::Draining { .. }]));
    let asked = require(&mut side, &open, &InputRequired::new().roots("where"));
    assert_eq!(asked, Err(RespondError::NotAllowed(NotAllowed::Closing)));
    assert_eq!(side.sent(), [""; 0]);
    side.respond(open.id, r#"{"content":[]}"#);
    assert_eq!(side.sent(), [plain("1", r#""content":[]"#)]);
}

/// Proves M-MRTR-41 for invalid answers: the user is not asked again, and the application is notified once.
#[test]
fn an_answer_that_does_not_fit_fails_the_request() {
    let needs = [
        InputRequired::new().sample("k", sample()),
        InputRequired::new().roots("k"),
        InputRequired::new().elicit("k", form()),
    ];
    for need in needs {
        let mut side = beside_session(Revision::V2025_11_25);
        let request = request(&mut side, &of_session("1", "tools/call", r#""name":"t""#));
        assert_eq!(require(&mut side, &request, &need), Ok(()));
        assert_eq!(side.sent().len(), 1, "the client is asked");
        let nonsense = r#"{"jsonrpc":"2.0","id":1,"result":{"nonsense":true}}"#;
        let Some(ServerEvent::Cancelled(cancelled)) = side.receive(nonsense) else {
            panic!("the request has failed")
        };
        assert_eq!((cancelled.id, cancelled.cause), (request.id, CancelCause::InputFailed));
        let sent = side.sent();
        assert!(sent.len() == 1 && sent[0].contains(r#""isError":true"#), "{sent:?}");
        assert_eq!(require(&mut side, &request, &need), Err(RespondError::Answered));
        assert_eq!((side.outcomes(), side.sent()), (vec![], vec![]), "nobody is asked again");
        lives(&mut side);
    }
}

/// The inputs of a request are kept until the request is handed out again.
#[test]
fn the_inputs_of_a_session_are_kept_bytes() {
    let mut side = ServerSide::ready(Revision::V2025_11_25);
    let kept = |side: &ServerSide| side.server.in_flight().counts().kept_bytes;
    let frame = call("1");
    let request = request(&mut side, &frame);
    let need = InputRequired::new().roots("a").roots("b");
    assert_eq!(require(&mut side, &request, &need), Ok(()));
    let of_request = 2 * frame.len();
    assert_eq!((side.sent().len(), kept(&side)), (2, of_request));
    assert_eq!(side.receive(&plain("1", r#""roots":[]"#)), None);
    assert_eq!(kept(&side), of_request + r#"{"roots":[]}"#.len());
    let event = side.receive(&plain("2", r#""roots":[]"#));
    assert!(matches!(event, Some(ServerEvent::Request(_))), "{event:?}");
    assert_eq!(kept(&side), of_request);
    side.respond(request.id, r#"{"content":[]}"#);
    assert_eq!(kept(&side), 0);
}

/// Requests that only gave a state for the next round are handed out again one by one, whether or not earlier ones have
/// ended.
#[test]
fn requests_that_wait_for_nothing_are_handed_out_again() {
    let mut side = ServerSide::ready(Revision::V2025_11_25);
    let requests = ["1", "2", "3"].map(|id| request(&mut side, &call(id)));
    for request in &requests {
        assert_eq!(require(&mut side, request, &InputRequired::new().state("s")), Ok(()));
    }
    let next = |side: &mut ServerSide| match side.server.handle_timeout(side.now, &mut side.out) {
        Some(ServerEvent::Request(request)) => Some(request.id),
        None => None,
        other => panic!("{other:?}"),
    };
    let [first, second, third] = requests.map(|request| request.id);
    assert_eq!(next(&mut side), Some(first));
    side.respond(first, r#"{"content":[]}"#);
    assert_eq!([next(&mut side), next(&mut side)], [Some(second), Some(third)]);
    assert_eq!((side.server.poll_timeout(), next(&mut side)), (None, None));
    // The last one is cancelled before it is handed out.
    let last = request(&mut side, &call("4"));
    assert_eq!(require(&mut side, &last, &InputRequired::new().state("s")), Ok(()));
    assert!(side.receive(&cancel("4")).is_some());
    assert_eq!((side.server.poll_timeout(), next(&mut side)), (None, None));
}

/// A request that ends while it waits for the client does not delay those that wait for nothing.
#[test]
fn a_request_that_ends_does_not_hold_up_others() {
    let mut side = ServerSide::ready(Revision::V2025_11_25);
    let asking = request(&mut side, &call("1"));
    assert_eq!(require(&mut side, &asking, &InputRequired::new().roots("a")), Ok(()));
    let [first, second] = ["2", "3"].map(|id| request(&mut side, &call(id)));
    for request in [&first, &second] {
        assert_eq!(require(&mut side, request, &InputRequired::new().state("s")), Ok(()));
    }
    let event = side.receive(&cancel("1"));
    assert!(matches!(event, Some(ServerEvent::Cancelled(one)) if one.id == asking.id));
    let resumed: Vec<_> = side.outcomes().into_iter().map(|event| resumed_id(&event)).collect();
    assert_eq!(resumed, [Some(first.id), Some(second.id)]);
}

fn resumed_id(event: &ServerEvent<'_>) -> Option<mcp_sansio::IncomingId> {
    match event {
        ServerEvent::Request(request) => Some(request.id),
        _ => None,
    }
}
