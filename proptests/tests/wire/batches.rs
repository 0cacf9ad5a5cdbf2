//! JSON-RPC batches, which only 2025-03-26 has: responses to batches of the peer, and batches of this side.

use std::collections::BTreeMap;

use mcp_sansio::call::Cancellation;
use mcp_sansio::error::{BatchError, NotAllowed, NotifyError, ViolationKind};
use mcp_sansio::event::{CancelCause, Expiry, UnmatchedCause};
use mcp_sansio::model::LoggingLevel;
use mcp_sansio::progress::{Progress, ProgressReport};
use mcp_sansio::schema::{EncodeError, Json};
use mcp_sansio::subscription::{Delivery, Log};
use mcp_sansio::{
    CallError, CallId, CallOptions, Cause, ClientEvent, ErrorCode, Frames, IncomingId, Limits,
    Outcome, Revision, ServerEvent,
};
use mcp_sansio_proptests::{ClientSide, ServerSide, config};

const BATCHED: Revision = Revision::V2025_03_26;
const PING: &str = r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#;
const PONG: &str = r#"{"jsonrpc":"2.0","id":"p","result":{}}"#;

fn server() -> ServerSide {
    ServerSide::ready(BATCHED)
}

fn client() -> ClientSide {
    ClientSide::ready(BATCHED)
}

fn work(id: u8) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"x/work"}}"#)
}

fn result(id: u8) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)
}

fn cancelled(id: u8) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
    )
}

fn array(messages: &[&str]) -> String {
    format!("[{}]", messages.join(","))
}

/// Receives a batch, element by element.
fn server_takes(side: &mut ServerSide, messages: &[&str]) -> Vec<ServerEvent<'static>> {
    let batch = array(messages);
    Frames::of(batch.as_bytes(), &Limits::default())
        .filter_map(|frame| side.server.receive(frame, side.now, &mut side.out))
        .map(ServerEvent::into_owned)
        .collect()
}

fn client_takes(side: &mut ClientSide, messages: &[&str]) -> Vec<ClientEvent<'static>> {
    let batch = array(messages);
    Frames::of(batch.as_bytes(), &Limits::default())
        .filter_map(|frame| side.client.receive(frame, side.now, &mut side.out))
        .map(ClientEvent::into_owned)
        .collect()
}

/// Receives a batch of requests that all reach the application.
#[track_caller]
fn requests<const COUNT: usize>(side: &mut ServerSide, ids: [u8; COUNT]) -> [IncomingId; COUNT] {
    let messages = ids.map(work);
    let events = server_takes(side, &messages.each_ref().map(String::as_str));
    let handles: Vec<IncomingId> = events
        .iter()
        .map(|event| match event {
            ServerEvent::Request(request) => request.id,
            other => panic!("not a request: {other:?}"),
        })
        .collect();
    handles.try_into().unwrap()
}

/// Returns the calls that have ended, all of them with a result.
fn ended(events: &[ClientEvent<'static>]) -> Vec<CallId> {
    events
        .iter()
        .map(|event| match event {
            ClientEvent::CallEnded(ended) if matches!(ended.outcome, Outcome::Result(_)) => {
                ended.call
            }
            other => panic!("no result: {other:?}"),
        })
        .collect()
}

/// Sends two calls and a notification as one batch.
fn send_two(side: &mut ClientSide) -> [CallId; 2] {
    side.client
        .batch(side.now, &mut side.out, |batch| {
            let first = batch.call_method("x/a", &(), CallOptions::new())?;
            let delivery = batch.notify_method("x/note", &())?;
            assert_eq!(delivery, Delivery::Sent);
            let second = batch.call_method("x/b", &(), CallOptions::new())?;
            Ok::<_, BatchError>([first, second])
        })
        .unwrap()
}

/// Proves L-BATCH-02: single calls are sent one by one, also held ones.
#[test]
fn nothing_is_batched_unless_that_is_asked_for() {
    let mut side = ClientSide::fresh();
    side.call("x/a");
    side.call("x/b");
    side.client.connect(side.now, &mut side.out).unwrap();
    let answer = r#"{"jsonrpc":"2.0","id":3,"result":{"protocolVersion":"2025-03-26","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}"#;
    assert!(matches!(side.receive(answer), Some(ClientEvent::Connected(_))));
    side.call("x/c");
    side.call("x/d");
    let sent = side.sent();
    assert_eq!(
        sent[1..],
        [
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"x/a"}"#,
            r#"{"jsonrpc":"2.0","id":2,"method":"x/b"}"#,
            r#"{"jsonrpc":"2.0","id":4,"method":"x/c"}"#,
            r#"{"jsonrpc":"2.0","id":5,"method":"x/d"}"#,
        ]
    );
    let mut server = server();
    server.call("x/a");
    server.call("x/b");
    assert_eq!(
        server.sent(),
        [
            r#"{"jsonrpc":"2.0","id":1,"method":"x/a"}"#,
            r#"{"jsonrpc":"2.0","id":2,"method":"x/b"}"#
        ]
    );
}

/// Proves L-BATCH-02, L-BATCH-08: an explicit batch is one array, of requests and notifications only.
#[test]
fn a_batch_that_is_asked_for_is_one_array() {
    let mut side = client();
    send_two(&mut side);
    assert_eq!(
        side.sent(),
        [concat!(
            r#"[{"jsonrpc":"2.0","id":2,"method":"x/a"},"#,
            r#"{"jsonrpc":"2.0","method":"x/note"},"#,
            r#"{"jsonrpc":"2.0","id":3,"method":"x/b"}]"#
        )]
    );
    let empty = side.client.batch(side.now, &mut side.out, |_| Ok::<_, BatchError>(()));
    assert_eq!((empty, side.sent().len()), (Ok(()), 0), "an empty array is no batch");
    for revision in Revision::LEGACY.into_iter().filter(|revision| *revision != BATCHED) {
        let mut side = ClientSide::ready(revision);
        let sent = side.client.batch(side.now, &mut side.out, |batch| {
            Ok::<_, BatchError>(batch.call_method("x/a", &(), CallOptions::new())?)
        });
        assert_eq!(sent, Err(BatchError::NotInRevision), "{revision}");
        assert_eq!((side.sent().len(), side.client.in_flight().counts().outbound), (0, 0));
    }
}

/// If one part of a batch may not be sent, no part is sent.
#[test]
fn a_batch_leaves_whole_or_not_at_all() {
    let mut side = client();
    let outcome = side.client.batch(side.now, &mut side.out, |batch| {
        batch.call_method("x/a", &(), CallOptions::new())?;
        Ok::<_, BatchError>(batch.call_method("roots/list", &(), CallOptions::new())?)
    });
    let refused = BatchError::Call(CallError::NotAllowed(NotAllowed::Direction));
    assert_eq!(outcome, Err(refused));
    assert_eq!((side.sent().len(), side.client.in_flight().counts().outbound), (0, 0));
    assert_eq!(side.client.poll_timeout(), None);
    let initialize = side.client.batch(side.now, &mut side.out, |batch| {
        Ok::<_, BatchError>(batch.call_method("initialize", &(), CallOptions::new())?)
    });
    assert_eq!(initialize, Err(BatchError::Call(CallError::Reserved)));
    assert_eq!(side.sent(), [""; 0]);
}

/// A notification that cannot be written is not in the batch. The messages before and behind it may be sent.
#[test]
fn a_notification_that_cannot_be_written_leaves_nothing_in_the_batch() {
    let mut side = client();
    let share = Json(BTreeMap::from([("share", f64::NAN)]));
    let call = side.client.batch(side.now, &mut side.out, |batch| {
        let call = batch.call_method("x/a", &(), CallOptions::new())?;
        let refused = batch.notify_method("x/note", &share);
        assert_eq!(refused, Err(NotifyError::Encode(EncodeError::NotFinite)));
        batch.notify_method("x/other", &())?;
        Ok::<_, BatchError>(call)
    });
    assert!(call.is_ok());
    assert_eq!(
        side.sent(),
        [concat!(
            r#"[{"jsonrpc":"2.0","id":2,"method":"x/a"},"#,
            r#"{"jsonrpc":"2.0","method":"x/other"}]"#
        )]
    );
}

/// Proves L-BATCH-08: both kinds are handled, and a violation is reported.
#[test]
fn a_mixed_batch_is_served_and_reported() {
    let mut side = client();
    let call = side.call("x/a");
    _ = side.sent();
    for messages in [[PING, &result(2)], [&result(3), PING]] {
        let mut side = side.clone();
        let call = if messages[0] == PING { call } else { side.call("x/b") };
        _ = side.sent();
        assert_eq!(ended(&client_takes(&mut side, &messages)), [call]);
        assert_eq!(side.sent(), [array(&[PONG])]);
        let events = side.outcomes();
        let [ClientEvent::Violation(violation)] = &events[..] else { panic!("{events:?}") };
        assert_eq!((violation.kind, violation.answered), (ViolationKind::MixedBatch, false));
    }
    // Batches that are not mixed are no violation.
    let note = r#"{"jsonrpc":"2.0","method":"x/note"}"#;
    assert_eq!(client_takes(&mut side, &[PING, note]).len(), 1);
    let events = client_takes(&mut side, &[&result(2), &result(9)]);
    assert_eq!(ended(&events[..1]), [call]);
    assert!(
        matches!(&events[1], ClientEvent::UnmatchedResponse(events) if events.cause == UnmatchedCause::NeverIssued)
    );
    assert_eq!(side.outcomes(), []);
}

/// Proves L-BATCH-10, L-RACE-33.
#[test]
fn a_cancelled_element_is_left_out() {
    let mut side = server();
    let [first, second] = requests(&mut side, [1, 2]);
    let event = side.receive(&cancelled(1));
    assert!(
        matches!(&event, Some(ServerEvent::Cancelled(over)) if over.id == first && over.cause == CancelCause::Peer),
        "{event:?}"
    );
    assert_eq!(side.sent(), [""; 0]);
    side.respond(second, "{}");
    assert_eq!(side.sent(), [array(&[&result(2)])]);
    // In the other order: the cancelled request is the last for which the array waits.
    let [first, second] = requests(&mut side, [1, 2]);
    side.respond(second, "{}");
    assert_eq!(side.sent(), [""; 0]);
    let event = side.receive(&cancelled(1));
    assert!(matches!(event, Some(ServerEvent::Cancelled(over)) if over.id == first));
    assert_eq!(side.sent(), [array(&[&result(2)])]);
    assert_eq!(side.server.in_flight().counts().inbound, 0);
}

/// The responses to one batch may together take as many bytes as the outbox.
#[test]
fn the_responses_of_a_batch_may_fill_the_outbox() {
    let mut config = config::server();
    config.connection.limits.outbox_bytes = 1_000;
    let mut side = ServerSide::ready_with(config, BATCHED);
    let requests = requests(&mut side, [1, 2]);
    let answer = format!(r#"{{"text":"{}"}}"#, "x".repeat(300));
    for request in requests {
        side.respond(request, &answer);
    }
    let expected = [1, 2].map(|id| result(id).replace("{}", &answer));
    assert_eq!(side.sent(), [array(&[&expected[0], &expected[1]])]);
}

/// Waiting responses leave only with the last one of their batch, so no response waits for their room.
#[test]
fn a_response_without_room_in_its_batch_is_sent_alone() {
    let mut config = config::server();
    config.connection.limits.outbox_bytes = 1_000;
    let mut side = ServerSide::ready_with(config, BATCHED);
    let requests = requests(&mut side, [1, 2, 3, 4, 5]);
    let answer = format!(r#"{{"text":"{}"}}"#, "x".repeat(300));
    let expected = [1, 2, 3, 4].map(|id| result(id).replace("{}", &answer));
    for (request, expected) in requests.into_iter().zip(&expected) {
        side.respond(request, &answer);
        let alone = [expected.clone()];
        let sent: &[String] = if request < requests[2] { &[] } else { &alone };
        assert_eq!(side.sent(), sent);
    }
    side.server.reject(requests[4], ErrorCode::INTERNAL_ERROR, "e", &mut side.out).unwrap();
    let error = r#"{"jsonrpc":"2.0","id":5,"error":{"code":-32603,"message":"e"}}"#;
    assert_eq!(side.sent(), [array(&[&expected[0], &expected[1], error])]);
    assert_eq!(side.server.in_flight().counts().inbound, 0);
}

/// Proves L-BATCH-10, L-RACE-33: an empty array is not sent.
#[test]
fn nothing_is_sent_if_every_element_is_cancelled() {
    let mut side = server();
    requests(&mut side, [1, 2]);
    assert!(side.receive(&cancelled(2)).is_some());
    assert!(side.receive(&cancelled(1)).is_some());
    // The cancellation can be in the same batch.
    let events = server_takes(&mut side, &[&work(1), &cancelled(1)]);
    assert!(matches!(events[..], [ServerEvent::Request(_), ServerEvent::Cancelled(_)]));
    assert_eq!(side.sent(), [""; 0]);
    assert_eq!(side.server.in_flight().counts().inbound, 0);
    assert_eq!(side.server.poll_timeout(), None);
    let [again] = requests(&mut side, [1]);
    side.respond(again, "{}");
    assert_eq!(side.sent(), [array(&[&result(1)])]);
}

/// Proves L-BATCH-10 for an id that occurs twice in a batch: the second request is neither served nor answered.
#[test]
fn a_duplicate_request_id_in_a_batch_gets_no_response() {
    let mut side = server();
    let events = server_takes(&mut side, &[&work(1), &work(1), &work(2)]);
    let [
        ServerEvent::Request(first),
        ServerEvent::Violation(violation),
        ServerEvent::Request(second),
    ] = &events[..]
    else {
        panic!("{events:?}")
    };
    assert_eq!((violation.kind, violation.answered), (ViolationKind::DuplicateRequestId, false));
    side.respond(second.id, "{}");
    side.respond(first.id, "{}");
    assert_eq!(side.sent(), [array(&[&result(2), &result(1)])]);
}

/// Proves L-BATCH-10: an id is in flight until its response has been sent, and responses to a batch wait.
#[test]
fn an_answer_that_waits_keeps_its_id_in_flight() {
    let mut side = server();
    let [first, second] = requests(&mut side, [1, 2]);
    side.respond(first, "{}");
    let event = side.receive(&work(1));
    let Some(ServerEvent::Violation(violation)) = event else { panic!("served twice: {event:?}") };
    assert_eq!((violation.kind, violation.answered), (ViolationKind::DuplicateRequestId, false));
    side.respond(second, "{}");
    assert_eq!(side.sent(), [array(&[&result(1), &result(2)])]);
    side.request(&work(1));
}

/// Proves L-BATCH-11: only responses wait for each other.
#[test]
fn messages_caused_by_a_batch_element_are_sent_immediately() {
    let mut side = server();
    let progressed =
        r#"{"jsonrpc":"2.0","id":1,"method":"x/work","params":{"_meta":{"progressToken":"t"}}}"#;
    let events = server_takes(&mut side, &[progressed, &work(2)]);
    let [ServerEvent::Request(first), ServerEvent::Request(second)] = &events[..] else {
        panic!("{events:?}")
    };
    let report = side.server.progress(first.id, Progress::new(1_u8), side.now, &mut side.out);
    assert_eq!(report, Ok(ProgressReport::Sent));
    assert_eq!(
        side.sent(),
        [
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1}}"#
        ]
    );
    let log = Log::new(LoggingLevel::Info, "busy").about(first.id);
    assert_eq!(side.server.notifications().log(&log, &mut side.out), Ok(Delivery::Sent));
    assert_eq!(
        side.sent(),
        [
            r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"busy"}}"#
        ]
    );
    let options = CallOptions::new().parent(first.id);
    let call =
        side.server.call_method("roots/list", &(), options, side.now, &mut side.out).unwrap();
    assert_eq!(side.sent(), [r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#]);
    let event = side.receive(r#"{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}"#);
    assert!(matches!(event, Some(ServerEvent::CallEnded(ended)) if ended.call == call));
    side.respond(first.id, "{}");
    assert_eq!(side.sent(), [""; 0]);
    side.respond(second.id, "{}");
    assert_eq!(side.sent(), [array(&[&result(1), &result(2)])]);
}

/// Proves L-BATCH-11, L-RACE-33: a slow element delays no other batch.
#[test]
fn a_slow_element_delays_its_own_batch_only() {
    let mut side = server();
    let [slow, fast] = requests(&mut side, [1, 2]);
    side.respond(fast, "{}");
    assert_eq!(side.receive(PING), None);
    assert_eq!(side.sent(), [PONG]);
    let single = side.request(&work(3));
    side.respond(single, "{}");
    assert_eq!(side.sent(), [result(3)]);
    let [fourth, fifth] = requests(&mut side, [4, 5]);
    side.respond(fifth, "{}");
    side.respond(fourth, "{}");
    assert_eq!(side.sent(), [array(&[&result(5), &result(4)])]);
    assert_eq!(server_takes(&mut side, &[PING]), []);
    assert_eq!(side.sent(), [array(&[PONG])]);
    side.respond(slow, "{}");
    assert_eq!(side.sent(), [array(&[&result(2), &result(1)])]);
}

/// Proves L-BATCH-12, L-AMB-38: the peer may group its responses in any way.
#[test]
fn answers_to_a_batch_come_together_or_one_by_one() {
    let mut side = client();
    let calls = send_two(&mut side);
    let single: Vec<_> = [3, 2].iter().filter_map(|id| side.receive(&result(*id))).collect();
    assert_eq!(ended(&single), [calls[1], calls[0]]);
    let calls = send_two(&mut side);
    let events = client_takes(&mut side, &[&result(5), &result(4)]);
    assert_eq!(ended(&events), [calls[1], calls[0]]);
    // Arrays of other sizes, together with the responses to single calls.
    let calls = send_two(&mut side);
    let single = side.call("x/c");
    let mut events = client_takes(&mut side, &[&result(6)]);
    events.extend(client_takes(&mut side, &[&result(8), &result(7)]));
    assert_eq!(ended(&events), [calls[0], single, calls[1]]);
    assert_eq!(side.client.in_flight().counts().outbound, 0);
    assert_eq!((side.outcomes(), side.client.in_flight().counts().violations), (vec![], 0));
}

/// Proves L-BATCH-12, L-AMB-38: this side responds to an array with an array, also to an array of one.
#[test]
fn a_batch_is_answered_by_one_array() {
    let mut side = server();
    let [first, second] = requests(&mut side, [1, 2]);
    side.respond(second, "{}");
    assert_eq!(side.sent(), [""; 0]);
    side.server.reject(first, ErrorCode::INTERNAL_ERROR, "broken", &mut side.out).unwrap();
    let error = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"broken"}}"#;
    assert_eq!(side.sent(), [array(&[&result(2), error])]);
    let [only] = requests(&mut side, [1]);
    side.respond(only, "{}");
    assert_eq!(side.sent(), [array(&[&result(1)])]);
    let mut client = client();
    let event = client_takes(&mut client, &[&work(1), PING]);
    let [ClientEvent::Request(request)] = &event[..] else { panic!("{event:?}") };
    assert_eq!(client.sent(), [""; 0]);
    client.respond(request.id, "{}");
    assert_eq!(client.sent(), [array(&[PONG, &result(1)])]);
}

/// Proves L-RACE-33 for batches of this side: a single call of a batch can be cancelled, fail or time out.
#[test]
fn calls_of_a_batch_end_each_by_itself() {
    let mut side = client();
    let calls = send_two(&mut side);
    assert_eq!(side.client.cancel(calls[0], None, &mut side.out), Ok(Cancellation::Notified));
    assert_eq!(side.sent()[1..], [cancelled(2)]);
    assert!(side.client.in_flight().is_pending(calls[1]));
    let events = client_takes(&mut side, &[&result(3)]);
    assert_eq!(ended(&events), [calls[1]]);
    let calls = send_two(&mut side);
    _ = side.sent();
    let event = side.receive(&result(4));
    assert_eq!(ended(event.as_slice()), [calls[0]]);
    let events = side.elapse(60_000);
    let [ClientEvent::CallEnded(over)] = &events[..] else { panic!("{events:?}") };
    assert_eq!(over.call, calls[1]);
    assert_eq!(over.outcome, Outcome::TimedOut(Expiry::Idle));
    assert_eq!(
        side.sent(),
        [
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5,"reason":"the request timed out"}}"#
        ]
    );
    assert_eq!(side.client.in_flight().counts().outbound, 0);
}

/// Calls that the peer cannot have read end as not sent, also in a batch.
#[test]
fn calls_of_a_batch_that_has_not_left_were_never_made() {
    for sent in [0, 1] {
        let mut side = client();
        let calls = send_two(&mut side);
        side.out.sent(sent);
        side.client.disconnected(Cause::WriteFailed, side.now);
        let events = side.outcomes();
        let outcome =
            if sent == 0 { Outcome::NotSent } else { Outcome::Closed(Cause::WriteFailed) };
        let outcomes = events.iter().filter_map(|event| match event {
            ClientEvent::CallEnded(ended) => Some((ended.call, ended.outcome.clone())),
            _ => None,
        });
        let expected = calls.map(|call| (call, outcome.clone()));
        assert_eq!(outcomes.collect::<Vec<_>>(), expected, "{sent} bytes had left");
        assert_eq!(side.out.is_empty(), sent == 0);
    }
}
