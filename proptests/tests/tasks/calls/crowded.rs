//! Tasks on a connection without room for more messages or calls.

use mcp_sansio::call::{Cancellation, TaskOptions, TaskTicket};
use mcp_sansio::json::Raw;
use mcp_sansio::{CallError, CallOptions, Framing, Outbox, Revision};
use mcp_sansio_proptests::ClientSide;

use super::kit::*;

/// Replaces the outbox with one that has no room. Returns the previous outbox.
fn filled(side: &mut ClientSide) -> Outbox {
    let mut config = side.client.config().connection.limits.clone();
    config.outbox_bytes = 1;
    config.reserve_bytes = 1;
    std::mem::replace(&mut side.out, Outbox::new(Framing::Messages, &config))
}

/// Like `filled`, but the room is taken by a message that the peer has not read.
fn crowded(side: &mut ClientSide) -> Outbox {
    let mut config = side.client.config().connection.limits.clone();
    config.outbox_bytes = 64;
    let roomy = std::mem::replace(&mut side.out, Outbox::new(Framing::Messages, &config));
    side.client.notify_method("x/fill", &(), None, &mut side.out).unwrap();
    roomy
}

/// Polling of tasks continues at the limit of calls, when every call has become a task.
#[test]
fn tasks_are_asked_about_although_no_more_calls_can_be_made() {
    let mut config = of_no_sessions();
    config.connection.limits.outbound_calls = 2;
    let mut side = without_session_with(config);
    let calls = [call(&mut side), call(&mut side)];
    let params = Raw::new(r#"{"name":"t"}"#).unwrap();
    let (options, now) = (CallOptions::new(), side.now);
    let refused = side.client.call_method("tools/call", &params, options, now, &mut side.out);
    assert_eq!(refused, Err(CallError::TooManyCalls));
    assert_eq!(side.sent().len(), 2);
    drop(side.receive(&modern_task_created(2, "working")));
    drop(side.receive(&modern_task_created(3, "working").replace("t-1", "t-2")));
    _ = side.elapse(1_000);
    assert_eq!(
        side.sent(),
        [modern_task_request(4, "get"), modern_task_request(5, "get").replace("t-1", "t-2")]
    );
    let done = modern_task("completed", "09", &format!(r#","result":{DONE}"#));
    assert_eq!(ended(side.receive(&result(4, &done))).0, calls[0]);
    assert_eq!(ended(side.receive(&result(5, &done.replace("t-1", "t-2")))).0, calls[1]);
    is_over(&mut side);
}

/// `tasks/cancel` is sent even at the limit of calls.
#[test]
fn a_task_is_cancelled_although_no_more_calls_can_be_made() {
    let mut config = of_no_sessions();
    config.connection.limits.outbound_calls = 1;
    let (mut side, call) = modern_task_in(without_session_with(config));
    assert_eq!(side.client.cancel(call, None, &mut side.out), Ok(Cancellation::Notified));
    assert_eq!(side.sent(), [modern_task_request(3, "cancel")]);
    assert_eq!(task_event_text(side.receive(&understood(3))), "");
    is_over(&mut side);
}

/// Messages that find no room are sent later: `tasks/get`, `tasks/result` and an input response.
#[test]
fn task_messages_without_outbox_room_are_sent_later() {
    let (mut side, call) = with_task();
    let roomy = filled(&mut side);
    assert_eq!(task_event_texts(side.elapse(1_000)), [""; 0]);
    side.out = roomy;
    assert_eq!(task_event_texts(side.elapse(1_000)), [""; 0]);
    assert_eq!(side.sent(), [about(3, "get")]);
    let roomy = filled(&mut side);
    let asks = result(3, &task("input_required"));
    assert_eq!(task_event_text(side.receive(&asks)), "task t-1 input_required");
    side.out = roomy;
    _ = side.elapse(1_000);
    assert_eq!(side.sent(), [about(4, "get")]);
    assert_eq!(task_event_text(side.receive(&result(4, &task("input_required")))), "");
    assert_eq!(side.sent(), [about(5, "result")]);
    assert_eq!(ended(side.receive(&result(5, DONE))).0, call);
    is_over(&mut side);

    let (mut side, _) = with_modern_task();
    _ = side.elapse(1_000);
    let asks = modern_task("input_required", "05", &inputs(&["a"]));
    _ = side.sent();
    drop(side.receive(&result(3, &asks)));
    let asked = questions(side.outcomes());
    let roomy = crowded(&mut side);
    side.respond(asked[0].0, ANSWER);
    side.out = roomy;
    assert_eq!(task_event_texts(side.outcomes()), [""; 0]);
    _ = side.elapse(1_000);
    let expected = [update(4, &format!(r#"{{"a":{ANSWER}}}"#)), modern_task_request(5, "get")];
    assert_eq!(side.sent(), expected);
}

/// An input response that fits no outbox ends the call, and polling of the task stops.
#[test]
fn an_answer_that_never_fits_ends_the_call() {
    let (mut side, call) = with_modern_task();
    _ = side.elapse(1_000);
    _ = side.sent();
    drop(side.receive(&result(3, &modern_task("input_required", "05", &inputs(&["a"])))));
    let asked = questions(side.outcomes());
    _ = filled(&mut side);
    side.respond(asked[0].0, ANSWER);
    let mut events = side.outcomes().into_iter();
    let (ended, reported) = ended(events.next());
    assert_eq!((ended, &*reported), (call, "CallError(Encode(Full))"));
    assert_eq!(events.next(), None);
    is_over(&mut side);
}

/// A cancellation that finds no room leaves the task to expire and returns `TaskGoesOn`.
#[test]
fn a_cancellation_without_room_leaves_the_task() {
    let (mut side, begun) = with_task();
    let roomy = filled(&mut side);
    let refused = side.client.cancel_task(begun, side.now, &mut side.out);
    assert!(matches!(refused, Err(CallError::Encode(_))), "{refused:?}");
    assert!(side.client.in_flight().is_pending(begun));
    assert_eq!(side.client.cancel(begun, None, &mut side.out), Ok(Cancellation::TaskGoesOn));
    side.out = roomy;
    is_over(&mut side);
    // The outbox is also full when the task id arrives.
    let mut side = in_session();
    let call = call(&mut side);
    _ = side.sent();
    _ = side.client.cancel(call, None, &mut side.out).unwrap();
    let roomy = filled(&mut side);
    assert_eq!(task_event_text(side.receive(&created(2, "working"))), "orphan t-1 goes on");
    side.out = roomy;
    is_over(&mut side);
}

/// At the limit of open requests the remaining inputs of a task are requested later.
#[test]
fn inputs_beyond_the_request_limit_are_requested_later() {
    let mut config = of_no_sessions();
    config.connection.limits.inbound_requests = 1;
    let (mut side, _) = modern_task_in(without_session_with(config));
    _ = side.elapse(1_000);
    _ = side.sent();
    let asks = modern_task("input_required", "05", &inputs(&["a", "b"]));
    drop(side.receive(&result(3, &asks)));
    let mut events = side.outcomes();
    let (asked, _) = question(events.pop());
    side.respond(asked, ANSWER);
    assert_eq!(side.sent(), [update(4, &format!(r#"{{"a":{ANSWER}}}"#))]);
    _ = side.outcomes();
    _ = side.elapse(1_000);
    assert_eq!(side.sent(), [modern_task_request(5, "get")]);
    assert_eq!(task_event_text(side.receive(&result(5, &asks))), "");
    let (asked, _) = question(side.outcomes().pop());
    side.respond(asked, ANSWER);
    assert_eq!(side.sent(), [update(6, &format!(r#"{{"b":{ANSWER}}}"#))]);
}

/// Requests about tasks do not count against the limit for calls of the application.
#[test]
fn questions_about_tasks_take_no_room_from_calls() {
    let mut config = of_sessions();
    config.connection.limits.outbound_calls = 3;
    let mut side = in_session_with(config, Revision::V2025_11_25, TASKS);
    for (id, name) in [(2, "t-1"), (4, "t-2")] {
        _ = call(&mut side);
        drop(side.receive(&created(id, "input_required").replace("t-1", name)));
    }
    _ = side.elapse(1_000);
    assert!(
        3 < side.client.in_flight().counts().outbound,
        "two calls, and more that is asked about them"
    );
    let third = call(&mut side);
    assert!(side.client.in_flight().is_pending(third));
    let params = Raw::new("{}").unwrap();
    let (options, now) = (CallOptions::new(), side.now);
    let fourth = side.client.call_method("tools/list", &params, options, now, &mut side.out);
    assert_eq!(fourth, Err(CallError::TooManyCalls));
}

/// At the end of a connection the requests about tasks end in a loop, not by recursion, however many there are.
#[test]
fn the_end_of_many_questions_takes_no_stack() {
    let work = || {
        let mut config = of_sessions();
        config.connection.limits.outbound_calls = 4_000;
        let mut side = in_session_with(config, Revision::V2025_11_25, TASKS);
        for number in 0..4_000 {
            _ = call(&mut side);
            let id = side.sent().pop().unwrap();
            let id = Raw::new(&id).unwrap().get("id").unwrap().as_json().parse().unwrap();
            let name = format!("t-{number}");
            drop(side.receive(&created(id, "input_required").replace("t-1", &name)));
        }
        side.client.disconnected(mcp_sansio::Cause::EndOfInput, side.now);
        assert_eq!(side.outcomes().len(), 4_001);
        assert_eq!(side.client.in_flight().counts().outbound, 0);
    };
    let small = std::thread::Builder::new().stack_size(256 << 10);
    small.spawn(work).unwrap().join().unwrap();
}

/// A task that is resumed counts as a call.
#[test]
fn a_task_is_not_resumed_at_the_limit_of_calls() {
    let mut config = of_sessions();
    config.connection.limits.outbound_calls = 1;
    let mut side = in_session_with(config, Revision::V2025_11_25, TASKS);
    let ticket: TaskTicket =
        serde_json::from_str(r#"{"task_id":"t-1","method":"tools/call"}"#).unwrap();
    let resume = |side: &mut ClientSide| {
        side.client.resume_task(&ticket, TaskOptions::new(), side.now, &mut side.out)
    };
    let ping = side.call("ping");
    _ = side.sent();
    assert_eq!(resume(&mut side), Err(CallError::TooManyCalls));
    assert_eq!(side.sent(), [""; 0]);
    assert_eq!(ended(side.receive(&result(2, "{}"))).0, ping);
    let resumed = resume(&mut side).unwrap();
    // The resumed call has the id 3, which no request carries.
    assert_eq!(side.sent(), [about(4, "get")]);
    assert!(side.client.in_flight().is_pending(resumed));
}

/// Requests about tasks have a limit of their own: four for each call.
#[test]
fn requests_about_a_task_are_limited() {
    let mut config = of_no_sessions();
    config.connection.limits.outbound_calls = 1;
    let (mut side, call) = modern_task_in(without_session_with(config));
    for id in 3..6 {
        assert_eq!(side.client.cancel_task(call, side.now, &mut side.out), Ok(()));
        assert_eq!(side.sent(), [modern_task_request(id, "cancel")]);
    }
    let refused = side.client.cancel_task(call, side.now, &mut side.out);
    assert_eq!(refused, Err(CallError::TooManyCalls));
    assert_eq!(side.sent(), [""; 0]);
    assert_eq!(task_event_text(side.receive(&understood(3))), "");
    assert_eq!(side.sent(), [modern_task_request(6, "get")]);
    assert_eq!(task_event_text(side.receive(&understood(4))), "");
    assert_eq!(side.client.cancel_task(call, side.now, &mut side.out), Ok(()));
    assert_eq!(side.sent(), [modern_task_request(7, "cancel")]);
}
