//! Calls that are cancelled or time out before and after they become tasks.

use mcp_sansio::call::{Cancellation, TaskOptions, Timeout};
use mcp_sansio::error::{CancelError, NotAllowed};
use mcp_sansio::event::Expiry;
use mcp_sansio::{CallError, CallOptions, ClientEvent, Outcome, Revision, RevisionSet};
use mcp_sansio_proptests::ClientSide;

use super::kit::*;

const UNCANCELLED: &str = r#","tasks":{"requests":{"tools":{"call":{}}}}"#;

/// A call that asks for a task and has been sent.
fn sent_with(tasks: &str) -> (ClientSide, mcp_sansio::CallId) {
    let mut side = in_session_with(of_sessions(), Revision::V2025_11_25, tasks);
    let call = call(&mut side);
    assert_eq!(side.sent().len(), 1);
    (side, call)
}

/// Proves L-CANCEL-15, M-CANC-19, M-TASKX-44: a call that has become a task is cancelled with `tasks/cancel`.
#[test]
fn a_task_is_cancelled_by_its_name() {
    for modern in [false, true] {
        let (mut side, call) = if modern { with_modern_task() } else { with_task() };
        let cancelled = side.client.cancel(call, Some("why"), &mut side.out);
        assert_eq!(cancelled, Ok(Cancellation::Notified));
        let expected = if modern { modern_task_request(3, "cancel") } else { about(3, "cancel") };
        assert_eq!(side.sent(), [expected]);
        assert!(!side.client.in_flight().is_pending(call));
        assert_eq!(side.client.cancel(call, None, &mut side.out), Err(CancelError::NotInFlight));
        assert_eq!(
            side.client.cancel_task(call, side.now, &mut side.out),
            Err(CallError::NotATask)
        );
        let answer = if modern { understood(3) } else { result(3, &task("cancelled")) };
        assert_eq!(task_event_text(side.receive(&answer)), "");
        assert_eq!(task_event_text(side.receive(&error(3, -32602))), "unmatched Completed");
        is_over(&mut side);
    }
}

/// A cancellation without a response is forgotten after a limited time, with any timeouts.
#[test]
fn a_cancellation_without_an_answer_is_forgotten() {
    for (idle, total) in [(Some(60), Some(600)), (None, Some(600)), (Some(60), None)] {
        let seconds = |seconds: Option<u64>| seconds.map(std::time::Duration::from_secs);
        let mut config = of_sessions();
        config.connection.timeouts.idle = seconds(idle);
        config.connection.timeouts.total = seconds(total);
        let (mut side, call) = task_in(in_session_with(config, Revision::V2025_11_25, TASKS));
        _ = side.client.cancel(call, None, &mut side.out).unwrap();
        assert_eq!(side.sent(), [about(3, "cancel")]);
        assert_eq!(task_event_texts(side.outcomes()), [""; 0]);
        assert_eq!(task_event_texts(side.elapse(600_000)), [""; 0]);
        assert_eq!(side.sent(), [timed_out(3)]);
        is_over(&mut side);
    }
}

/// Proves L-TASK-64, L-CAP-17 for the requesting side: a task whose server does not declare `tasks.cancel` is not
/// cancelled and continues.
#[test]
fn a_task_that_may_not_be_cancelled_goes_on() {
    let uncancelled =
        || task_in(in_session_with(of_sessions(), Revision::V2025_11_25, UNCANCELLED));
    let (mut side, call) = uncancelled();
    let refused = side.client.cancel_task(call, side.now, &mut side.out);
    assert!(
        matches!(refused, Err(CallError::NotAllowed(NotAllowed::Capability(_)))),
        "{refused:?}"
    );
    assert_eq!(side.sent(), [""; 0]);
    _ = side.elapse(1_000);
    assert_eq!(side.sent(), [about(3, "get")], "asking needs no capability of its own");
    let (mut side, call) = uncancelled();
    let cancelled = side.client.cancel(call, None, &mut side.out);
    assert_eq!(cancelled, Ok(Cancellation::TaskGoesOn));
    is_over(&mut side);
}

/// Proves L-CANCEL-16, L-RACE-35, L-RACE-37, L-AMB-14: a cancellation before the task id is known is deferred until
/// the id arrives.
#[test]
fn an_early_cancellation_is_remembered() {
    let cases = [
        (TASKS, created(2, "working"), "orphan t-1", vec![about(3, "cancel")]),
        (UNCANCELLED, created(2, "working"), "orphan t-1 goes on", vec![]),
        (TASKS, result(2, DONE), "", vec![]),
        (TASKS, error(2, -32603), "", vec![]),
        (TASKS, result(2, r#"{"task":{}}"#), "", vec![]),
    ];
    for (tasks, answer, says, sent) in cases {
        let (mut side, call) = sent_with(tasks);
        let cancelled = side.client.cancel(call, None, &mut side.out);
        assert_eq!(cancelled, Ok(Cancellation::Deferred));
        assert_eq!(side.sent(), [""; 0]);
        assert_eq!(task_event_texts(side.outcomes()), [""; 0]);
        assert!(!side.client.in_flight().is_pending(call));
        assert_eq!(task_event_text(side.receive(&answer)), says, "{answer}");
        assert_eq!(side.sent(), sent);
        if !sent.is_empty() {
            assert_eq!(task_event_text(side.receive(&result(3, &task("cancelled")))), "");
        }
        is_over(&mut side);
    }
}

/// Proves L-TIME-07, L-RACE-36: a call without a response in time ends, and no cancellation is sent. If the call
/// becomes a task later, that task is cancelled with `tasks/cancel`.
#[test]
fn a_call_that_times_out_may_still_become_a_task() {
    for (tasks, says, sent) in [
        (TASKS, "orphan t-1", vec![about(3, "cancel")]),
        (UNCANCELLED, "orphan t-1 goes on", vec![]),
    ] {
        let (mut side, call) = sent_with(tasks);
        let events = side.elapse(60_000);
        assert_eq!(events.len(), 1);
        let outcome = ended(events.into_iter().next());
        assert_eq!(outcome, (call, task_outcome_text(&Outcome::TimedOut(Expiry::Idle))));
        assert_eq!(side.sent(), [""; 0]);
        assert_eq!(task_event_text(side.receive(&created(2, "working"))), says);
        assert_eq!(side.sent(), sent);
        if !sent.is_empty() {
            assert_eq!(task_event_text(side.receive(&error(3, -32602))), "");
        }
        is_over(&mut side);
    }
}

/// A cancelled or expired call is remembered for a limited time and reports no events meanwhile.
#[test]
fn an_abandoned_call_is_remembered_for_a_limited_time() {
    for by_time in [false, true] {
        let mut side = in_session();
        let options = CallOptions::new().task(TaskOptions::new()).progress();
        let call = call_with(&mut side, options);
        assert_eq!(side.sent().len(), 1);
        if by_time {
            assert_eq!(side.elapse(60_000).len(), 1);
        } else {
            _ = side.client.cancel(call, None, &mut side.out).unwrap();
            assert_eq!(task_event_texts(side.outcomes()), [""; 0]);
        }
        let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2,"progress":1}}"#;
        assert_eq!(task_event_text(side.receive(progress)), "");
        assert_eq!(side.client.in_flight().counts().outbound, 1);
        assert_eq!(task_event_texts(side.elapse(600_000)), [""; 0]);
        assert_eq!(side.client.in_flight().counts().outbound, 0);
        let late = if by_time { "unmatched TimedOut" } else { "unmatched Cancelled" };
        assert_eq!(task_event_text(side.receive(&created(2, "working"))), late);
        is_over(&mut side);
    }
}

/// A call that has not left the outbox is withdrawn, like any other call.
#[test]
fn a_call_that_was_not_sent_is_taken_back() {
    let mut side = in_session();
    let call = call(&mut side);
    let cancelled = side.client.cancel(call, None, &mut side.out);
    assert_eq!(cancelled, Ok(Cancellation::Withdrawn));
    is_over(&mut side);
}

/// A plain call in a session, and any modern call, is cancelled with `notifications/cancelled`.
#[test]
fn a_call_that_asks_for_no_task_is_cancelled_as_ever() {
    let mut side = in_session();
    let plain = call_with(&mut side, CallOptions::new());
    let mut modern = without_session();
    let task = call(&mut modern);
    for (mut side, call) in [(side, plain), (modern, task)] {
        assert_eq!(side.sent().len(), 1);
        let cancellation = side.client.cancel(call, None, &mut side.out);
        assert_eq!(cancellation, Ok(Cancellation::Notified));
        assert_eq!(side.sent(), [cancelled(2)]);
        assert_eq!(
            task_event_text(side.receive(&modern_task_created(2, "working"))),
            "unmatched Cancelled"
        );
        is_over(&mut side);
    }
}

/// Proves L-CANCEL-18 for the requesting side: `tasks/result` is cancelled under its own request id, and only that
/// request.
#[test]
fn a_cancelled_task_is_not_waited_for() {
    let (mut side, call) = with_task();
    assert_eq!(
        task_event_text(side.receive(&status(&task("input_required")))),
        "task t-1 input_required"
    );
    assert_eq!(side.sent(), [about(3, "result")]);
    _ = side.client.cancel(call, None, &mut side.out).unwrap();
    assert_eq!(side.sent(), [cancelled(3), about(4, "cancel")]);
    assert_eq!(task_event_text(side.receive(&result(4, &task("cancelled")))), "");
    is_over(&mut side);
    // The `tasks/result` request is still in the outbox.
    let (mut side, call) = with_task();
    drop(side.receive(&status(&task("input_required"))));
    _ = side.client.cancel(call, None, &mut side.out).unwrap();
    assert_eq!(side.sent(), [about(4, "cancel")]);
    assert_eq!(task_event_text(side.receive(&result(4, &task("cancelled")))), "");
    is_over(&mut side);
}

/// Proves M-TASKX-40, M-TASKX-43 for clients: the acknowledgement of a cancellation does not end the call; the
/// status of the task does.
#[test]
fn a_cancellation_that_is_waited_for_ends_with_the_task() {
    let (mut side, call) = with_task();
    side.client.cancel_task(call, side.now, &mut side.out).unwrap();
    assert_eq!(side.sent(), [about(3, "cancel")]);
    assert!(side.client.in_flight().is_pending(call));
    assert_eq!(ended(side.receive(&result(3, &task("cancelled")))), (call, "TaskCancelled".into()));
    is_over(&mut side);
    let (mut side, call) = with_modern_task();
    side.client.cancel_task(call, side.now, &mut side.out).unwrap();
    assert_eq!(side.sent(), [modern_task_request(3, "cancel")]);
    assert_eq!(task_event_text(side.receive(&understood(3))), "");
    assert_eq!(side.sent(), [modern_task_request(4, "get")]);
    assert_eq!(
        task_event_text(side.receive(&result(4, &modern_task("working", "01", "")))),
        "task t-1 working"
    );
    _ = side.elapse(1_000);
    assert_eq!(side.sent(), [modern_task_request(5, "get")]);
    let gone = result(5, &modern_task("cancelled", "05", ""));
    assert_eq!(ended(side.receive(&gone)), (call, "TaskCancelled".into()));
    is_over(&mut side);
}

/// A cancellation that times out leaves the task unchanged.
#[test]
fn a_cancellation_that_times_out_leaves_the_task() {
    let (mut side, call) = with_task();
    side.client.cancel_task(call, side.now, &mut side.out).unwrap();
    assert_eq!(side.sent(), [about(3, "cancel")]);
    let slow = task_with("working", "01", r#","pollInterval":3600000"#);
    assert_eq!(task_event_text(side.receive(&status(&slow))), "task t-1 working");
    assert_eq!(task_event_texts(side.elapse(60_000)), [""; 0]);
    assert_eq!(side.sent(), [timed_out(3)]);
    assert!(side.client.in_flight().is_pending(call));
    assert!(side.client.poll_timeout().is_some());
    let done = status(&task_with("completed", "09", ""));
    assert_eq!(task_event_text(side.receive(&done)), "task t-1 completed");
    assert_eq!(side.sent(), [about(4, "result")]);
    assert_eq!(ended(side.receive(&result(4, DONE))).0, call);
    is_over(&mut side);
}

/// Proves M-TASKX-66 for clients: a call that is cancelled before it is a task is cancelled as a request. A task
/// that arrives afterwards is left to expire.
#[test]
fn a_task_created_after_cancellation_is_unmatched() {
    let mut side = without_session();
    let never = CallOptions::new().idle(Timeout::Never).total(Timeout::Never);
    let call = call_with(&mut side, never);
    assert_eq!(side.sent().len(), 1);
    assert_eq!(side.client.cancel(call, None, &mut side.out), Ok(Cancellation::Notified));
    assert_eq!(side.sent(), [cancelled(2)]);
    assert_eq!(
        task_event_text(side.receive(&modern_task_created(2, "working"))),
        "unmatched Cancelled"
    );
    is_over(&mut side);
}

/// A cancelled call does not count against the limit of calls: at the limit it is forgotten.
#[test]
fn a_cancelled_call_does_not_count_against_the_limit() {
    let mut config = of_sessions();
    config.connection.limits.outbound_calls = 1;
    let mut side = in_session_with(config, Revision::V2025_11_25, TASKS);
    let first = call(&mut side);
    assert_eq!(side.sent().len(), 1);
    assert_eq!(side.client.cancel(first, None, &mut side.out), Ok(Cancellation::Deferred));
    let second = call(&mut side);
    assert!(side.client.in_flight().is_pending(second));
    let late = task_event_text(side.receive(&created(2, "working")));
    assert!(late.starts_with("unmatched") || late.contains("UnmatchedResponse"), "{late}");
    assert_eq!(ended(side.receive(&result(3, DONE))).0, second);
}

/// A call that fits the limit displaces no cancelled call.
#[test]
fn a_call_within_the_limit_forgets_no_cancelled_call() {
    let mut config = of_sessions();
    config.connection.limits.outbound_calls = 2;
    let mut side = in_session_with(config, Revision::V2025_11_25, TASKS);
    let first = call(&mut side);
    assert_eq!(side.sent().len(), 1);
    assert_eq!(side.client.cancel(first, None, &mut side.out), Ok(Cancellation::Deferred));
    let second = call(&mut side);
    assert_eq!(side.sent().len(), 1);
    assert_eq!(task_event_text(side.receive(&created(2, "working"))), "orphan t-1");
    assert_eq!(side.sent(), [about(4, "cancel")]);
    assert_eq!(ended(side.receive(&result(3, DONE))).0, second);
}

/// A call that cannot be made does not displace a cancelled call: the state is unchanged.
#[test]
fn a_call_that_cannot_be_made_forgets_nothing() {
    let mut config = of_sessions();
    config.connection.limits.outbound_calls = 1;
    let mut side = in_session_with(config, Revision::V2025_11_25, TASKS);
    let first = call(&mut side);
    assert_eq!(side.sent().len(), 1);
    assert_eq!(side.client.cancel(first, None, &mut side.out), Ok(Cancellation::Deferred));
    let (before, now) = (side.client.clone(), side.now);
    let params = serde_json::json!({"name": "p", "arguments": {"of": 1}});
    let options = CallOptions::new();
    let made = side.client.call_method("prompts/get", &params, options, now, &mut side.out);
    assert!(matches!(made, Err(CallError::Encode(_))), "{made:?}");
    assert!(before == side.client);
    assert_eq!(task_event_text(side.receive(&created(2, "working"))), "orphan t-1");
    assert_eq!(side.sent(), [about(3, "cancel")]);
}

/// A call that waits for input has no request in flight that could become a task, even if a session was opened
/// since.
#[test]
fn a_call_that_waits_for_input_becomes_no_task() {
    let mut config = of_both_eras(RevisionSet::ALL);
    config.known = Some(Revision::V2026_07_28);
    let mut side = begun(config);
    assert_eq!(side.outcomes().len(), 1);
    let call = call(&mut side);
    side.sent();
    let asks = inputs(&["a"]).replacen(',', "", 1);
    let asked = format!(r#"{{"resultType":"input_required",{asks}}}"#);
    assert_eq!(question(side.receive(&result(2, &asked))).1, Some(call));
    // The server supports only sessions.
    side.receive(&error(1, -32601));
    assert_eq!(side.sent().len(), 1);
    let opened = opening(Revision::V2025_11_25, TASKS).replace(r#""id":1"#, r#""id":4"#);
    assert!(matches!(side.receive(&opened), Some(ClientEvent::Connected(_))));
    side.sent();
    assert_eq!(side.client.cancel(call, None, &mut side.out), Ok(Cancellation::Withdrawn));
    assert_eq!(task_event_texts(side.outcomes()), ["withdrawn CallEnded"]);
    is_over(&mut side);
}

/// Proves L-CANCEL-15, M-TASKX-40 for clients: the end of the connection does not withdraw a cancellation that
/// `cancel` has reported. Other requests about the task are withdrawn.
#[test]
fn the_end_of_the_connection_withdraws_no_task_cancellation() {
    for shuts_down in [false, true] {
        for modern in [false, true] {
            let (mut side, call) = if modern { with_modern_task() } else { with_task() };
            // A further request in front of the cancellation is withdrawn, if the connection does not wait for it.
            let other = (!shuts_down).then(|| side.call("prompts/get"));
            let cancelled = side.client.cancel(call, None, &mut side.out);
            assert_eq!(cancelled, Ok(Cancellation::Notified));
            let cause = if shuts_down {
                side.client.shut_down(std::time::Duration::from_secs(5), side.now);
                "Draining"
            } else {
                side.client.disconnected(mcp_sansio::Cause::EndOfInput, side.now);
                "NotSent"
            };
            let events = side.outcomes();
            assert_eq!(events.len(), 2, "{events:?}");
            assert!(format!("{:?}", events[0]).contains(cause), "{events:?}");
            let id = 3 + u64::from(other.is_some());
            let expected =
                if modern { modern_task_request(id, "cancel") } else { about(id, "cancel") };
            assert_eq!(side.sent(), [expected]);
            is_over(&mut side);
        }
    }
}

/// Proves L-CANCEL-15, L-TIME-07: a connection that drains still cancels tasks: by `cancel`, by `cancel_task`, after
/// the total timeout, and when a cancelled call becomes a task.
#[test]
fn a_draining_connection_cancels_tasks() {
    for way in ["cancel", "cancel_task", "timeout", "deferred"] {
        let mut side = in_session();
        let never = CallOptions::new().idle(Timeout::Never).total(Timeout::Never);
        let other = call_with(&mut side, never);
        let total = Timeout::After(std::time::Duration::from_secs(1));
        let call = call_with(&mut side, CallOptions::new().task(TaskOptions::new()).total(total));
        assert_eq!(side.sent().len(), 2);
        let cancelled = |side: &mut ClientSide| side.client.cancel(call, None, &mut side.out);
        if way == "deferred" {
            assert_eq!(cancelled(&mut side), Ok(Cancellation::Deferred));
            side.client.shut_down(std::time::Duration::from_secs(5), side.now);
            assert_eq!(side.outcomes().len(), 1);
            assert_eq!(task_event_text(side.receive(&created(3, "working"))), "orphan t-1");
        } else {
            assert_eq!(task_event_text(side.receive(&created(3, "working"))), "task t-1 working");
            side.client.shut_down(std::time::Duration::from_secs(5), side.now);
            assert_eq!(side.outcomes().len(), 1);
        }
        match way {
            "cancel" => assert_eq!(cancelled(&mut side), Ok(Cancellation::Notified)),
            "cancel_task" => side.client.cancel_task(call, side.now, &mut side.out).unwrap(),
            "timeout" => assert_eq!(side.elapse(1_000).len(), 1),
            _ => {}
        }
        assert_eq!(side.sent(), [about(4, "cancel")], "{way}");
        let over = task_event_text(side.receive(&result(4, &task("cancelled"))));
        assert_eq!(over.contains("TaskCancelled"), way == "cancel_task", "{way}: {over}");
        assert_eq!(ended(side.receive(&result(2, DONE))).0, other);
        assert_eq!(task_event_texts(side.outcomes()), ["Closed { cause: ShutDown }"]);
        is_over(&mut side);
    }
}

/// Proves L-CANCEL-15: the timeout of a cancellation that is still in the outbox does not withdraw it, also if a call
/// expires at the same time. It gets its response as if it had been made when it was sent.
#[test]
fn a_cancellation_that_times_out_is_still_sent() {
    for (modern, asks, has_other) in [
        (false, "cancel", false),
        (false, "cancel_task", true),
        (true, "cancel", false),
        (true, "cancel_task", false),
        (true, "cancel_task", true),
    ] {
        let (mut side, call) = if modern { with_modern_task() } else { with_task() };
        let id = 3 + u64::from(has_other);
        let other = has_other.then(|| side.call("prompts/get"));
        if asks == "cancel" {
            let cancelled = side.client.cancel(call, None, &mut side.out);
            assert_eq!(cancelled, Ok(Cancellation::Notified));
        } else {
            side.client.cancel_task(call, side.now, &mut side.out).unwrap();
        }
        // Ten minutes are longer than any timeout of a request.
        let events: Vec<_> = [60_000, 540_000, 60_000]
            .into_iter()
            .flat_map(|time| task_event_texts(side.elapse(time)))
            .filter(|event| event.contains("TimedOut"))
            .collect();
        assert_eq!(events.len(), usize::from(has_other), "{events:?}");
        assert!(other.is_none_or(|other| !side.client.in_flight().is_pending(other)));
        let expected = if modern { modern_task_request(id, "cancel") } else { about(id, "cancel") };
        let sent = side.sent();
        assert_eq!(sent.iter().filter(|message| **message == expected).count(), 1, "{sent:?}");
        let cancels = sent.iter().filter(|message| message.contains("notifications/cancelled"));
        assert_eq!(cancels.count(), 0, "{sent:?}");
        let answer = if modern { understood(id) } else { result(id, &task("cancelled")) };
        let event = task_event_text(side.receive(&answer));
        assert!(!event.contains("unmatched"), "{event}");
        if asks == "cancel" {
            assert_eq!(event, "");
            is_over(&mut side);
        }
    }
}

/// A cancellation that was sent late waits for its response for a limited time.
#[test]
fn a_cancellation_that_was_sent_late_is_forgotten() {
    let (mut side, call) = with_task();
    _ = side.client.cancel(call, None, &mut side.out).unwrap();
    assert_eq!(task_event_texts(side.elapse(600_000)), [""; 0]);
    assert_eq!(side.sent(), [about(3, "cancel")]);
    assert_eq!(task_event_texts(side.elapse(60_000)), [""; 0]);
    assert_eq!(side.sent(), [timed_out(3)]);
    is_over(&mut side);
}
