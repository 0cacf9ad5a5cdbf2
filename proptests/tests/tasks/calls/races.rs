//! Messages that cross on the wire, in either order.

use super::kit::*;
use mcp_sansio::{CallId, ClientEvent};
use mcp_sansio_proptests::ClientSide;

/// A client that polls its task. The `tasks/get` has id 3.
fn asking() -> (ClientSide, CallId) {
    let (mut side, call) = with_task();
    _ = side.elapse(1_000);
    assert_eq!(side.sent(), [about(3, "get")]);
    (side, call)
}

/// A client whose task requires input: `tasks/result` has id 4, and the next request has id 5.
fn waiting() -> (ClientSide, CallId) {
    let (mut side, call) = asking();
    let asks = result(3, &task("input_required"));
    assert_eq!(task_event_text(side.receive(&asks)), "task t-1 input_required");
    assert_eq!(side.sent(), [about(4, "result")]);
    (side, call)
}

/// Proves L-TASK-57, L-RACE-45: a notification about a task that is not known yet goes to the application and
/// changes nothing.
#[test]
fn news_before_the_task_changes_nothing() {
    let mut side = in_session();
    let call = call(&mut side);
    assert_eq!(side.sent().len(), 1);
    for early in ["working", "completed", "cancelled"] {
        let event = side.receive(&status(&task(early)));
        assert_eq!(task_event_text(event), "notified notifications/tasks/status");
    }
    assert_eq!(task_event_text(side.receive(&created(2, "working"))), "task t-1 working");
    _ = side.elapse(1_000);
    assert_eq!(side.sent(), [about(3, "get")]);
    assert_eq!(ended(side.receive(&result(3, &task("cancelled")))).0, call);
    let late = side.receive(&status(&task("cancelled")));
    assert_eq!(task_event_text(late), "notified notifications/tasks/status");
    is_over(&mut side);
}

/// Proves L-TASK-58, L-RACE-46: the later change wins; at equal times the later arrival wins; a final status stays.
#[test]
fn the_newer_news_wins() {
    let working = "task t-1 working";
    let asks = "task t-1 input_required";
    let cases = [
        (("working", "05"), ("input_required", "06"), asks),
        (("working", "05"), ("input_required", "05"), asks),
        (("working", "05"), ("input_required", "04"), ""),
        (("input_required", "05"), ("working", "06"), working),
        (("input_required", "05"), ("working", "05"), working),
        (("input_required", "05"), ("working", "04"), ""),
        (("working", "05"), ("completed", "04"), "task t-1 completed"),
        (("completed", "05"), ("working", "06"), ""),
        (("completed", "05"), ("cancelled", "06"), ""),
        (("failed", "05"), ("completed", "06"), ""),
    ];
    for ((first, at), (second, later), says) in cases {
        for by_answer in [false, true] {
            let (mut side, _) = asking();
            drop(side.receive(&status(&task_with(first, at, ""))));
            let news = task_with(second, later, "");
            let event = if by_answer { result(3, &news) } else { status(&news) };
            assert_eq!(
                task_event_text(side.receive(&event)),
                says,
                "{first} {at}, {second} {later}"
            );
        }
    }
}

/// A status without a time replaces the known status, but not the time: an older status is still recognized.
#[test]
fn news_without_a_time_keeps_the_known_time() {
    let (mut side, _) = asking();
    let timeless = r#"{"taskId":"t-1","status":"input_required","ttl":null}"#;
    for (message, says) in [
        (status(&task_with("working", "05", "")), "task t-1 working"),
        (result(3, timeless), "task t-1 input_required"),
        (status(&task_with("working", "04", "")), ""),
        (status(&task_with("working", "06", "")), "task t-1 working"),
    ] {
        assert_eq!(task_event_text(side.receive(&message)), says, "{message}");
    }
}

/// Proves L-TASK-37, L-RACE-47, M-TASKX-48: at most one `tasks/get` is in flight, however many notifications
/// arrive.
#[test]
fn one_question_is_asked_at_a_time() {
    let (mut side, _) = asking();
    for second in ["01", "02", "03"] {
        let news = status(&task_with("working", second, r#","pollInterval":10"#));
        assert_eq!(task_event_text(side.receive(&news)), "task t-1 working");
        assert_eq!(task_event_texts(side.elapse(1_000)), [""; 0]);
        assert_eq!(side.sent(), [""; 0], "the first has not been answered");
    }
    assert_eq!(
        task_event_text(side.receive(&result(3, &task_with("working", "01", "")))),
        "",
        "stale"
    );
    _ = side.elapse(1_000);
    assert_eq!(side.sent(), [about(4, "get")]);
}

/// Proves L-RACE-38, L-RACE-39, L-TASK-71, M-R-22: a task that ended before it could be cancelled keeps its
/// outcome.
#[test]
fn a_task_that_ends_before_it_is_cancelled_has_ended() {
    let (mut side, call) = with_task();
    side.client.cancel_task(call, side.now, &mut side.out).unwrap();
    assert_eq!(side.sent(), [about(3, "cancel")]);
    assert_eq!(task_event_text(side.receive(&error(3, -32602))), "");
    assert!(side.client.in_flight().is_pending(call), "it is asked how it is");
    assert_eq!(side.sent(), [about(4, "get")]);
    assert_eq!(task_event_text(side.receive(&result(4, &task("completed")))), "task t-1 completed");
    assert_eq!(side.sent(), [about(5, "result")]);
    assert_eq!(ended(side.receive(&result(5, DONE))), (call, format!("result {DONE}")));
    is_over(&mut side);
}

/// Proves L-RACE-38, L-RACE-40: the responses to `tasks/cancel` and `tasks/result` come in any order, and there is
/// one outcome.
#[test]
fn a_cancelled_task_releases_its_pending_result_request() {
    let gone = |id| error(id, -32603);
    for status_first in [true, false] {
        let (mut side, call) = waiting();
        side.client.cancel_task(call, side.now, &mut side.out).unwrap();
        assert_eq!(side.sent(), [about(5, "cancel")]);
        let is_cancelled = result(5, &task("cancelled"));
        if status_first {
            assert_eq!(ended(side.receive(&is_cancelled)), (call, "TaskCancelled".into()));
            assert_eq!(side.sent(), [cancelled(4)], "nobody waits any more");
            assert_eq!(task_event_text(side.receive(&gone(4))), "unmatched Cancelled");
        } else {
            assert_eq!(task_event_text(side.receive(&gone(4))), "", "it can be about anything");
            assert_eq!(side.sent(), [about(6, "get")]);
            assert_eq!(ended(side.receive(&is_cancelled)), (call, "TaskCancelled".into()));
            assert_eq!(task_event_text(side.receive(&result(6, &task("cancelled")))), "");
        }
        is_over(&mut side);
    }
}

/// Proves L-AMB-18: a server that answers `tasks/result` of a cancelled task with an empty result has cancelled the
/// task as well.
#[test]
fn an_empty_result_of_a_cancelled_task_is_none() {
    for empty in ["{}", r#"{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t-1"}}}"#] {
        let (mut side, call) = waiting();
        assert_eq!(task_event_text(side.receive(&result(4, empty))), "");
        assert_eq!(side.sent(), [about(5, "get")]);
        assert_eq!(
            ended(side.receive(&result(5, &task("cancelled")))),
            (call, "TaskCancelled".into())
        );
        is_over(&mut side);
    }
}

/// A server that refuses to wait is not sent `tasks/result` again until the task has ended: neither side spins.
#[test]
fn a_server_that_refuses_to_be_waited_for_is_asked_at_the_usual_pace() {
    for answer in [error(4, -32600), error(4, -32603), result(4, "{}")] {
        let (mut side, call) = waiting();
        assert_eq!(task_event_text(side.receive(&answer)), "");
        assert_eq!(side.sent(), [about(5, "get")]);
        assert_eq!(task_event_text(side.receive(&result(5, &task("input_required")))), "");
        for id in 6..9 {
            assert_eq!(side.sent(), [""; 0], "not at once");
            _ = side.elapse(1_000);
            assert_eq!(side.sent(), [about(id, "get")]);
            assert_eq!(task_event_text(side.receive(&result(id, &task("input_required")))), "");
        }
        _ = side.elapse(1_000);
        assert_eq!(side.sent(), [about(9, "get")]);
        assert_eq!(
            task_event_text(side.receive(&result(9, &task("completed")))),
            "task t-1 completed"
        );
        assert_eq!(side.sent(), [about(10, "result")]);
        assert_eq!(ended(side.receive(&result(10, DONE))), (call, format!("result {DONE}")));
        is_over(&mut side);
    }
}

/// Proves L-RACE-41: the result arrives in response to `tasks/result`, before or after the notification of the end.
#[test]
fn the_result_of_a_task_ends_its_call_once() {
    for news in [None, Some(false), Some(true)] {
        let (mut side, call) = waiting();
        let completed = task_with("completed", "09", "");
        if news == Some(true) {
            assert_eq!(task_event_text(side.receive(&status(&completed))), "task t-1 completed");
            assert_eq!(task_event_texts(side.elapse(5_000)), [""; 0]);
            assert_eq!(side.sent(), [""; 0], "nothing is asked while the result is on its way");
        }
        assert_eq!(ended(side.receive(&result(4, DONE))), (call, format!("result {DONE}")));
        if news == Some(false) {
            let late = side.receive(&status(&completed));
            assert_eq!(task_event_text(late), "notified notifications/tasks/status");
        }
        is_over(&mut side);
    }
    // A `tasks/get` crosses the result.
    let (mut side, call) = waiting();
    _ = side.elapse(1_000);
    assert_eq!(side.sent(), [about(5, "get")]);
    assert_eq!(ended(side.receive(&result(4, DONE))).0, call);
    assert_eq!(task_event_text(side.receive(&result(5, &task("completed")))), "");
    is_over(&mut side);
}

/// Proves L-RACE-43, L-RACE-44, L-TASK-69: a task that is gone ends its call as lost, whichever request reveals it.
#[test]
fn a_task_that_is_not_found_ends_its_call_as_lost() {
    // During `tasks/result`: each of the two responses first.
    let (mut side, call) = waiting();
    assert_eq!(task_event_text(side.receive(&error(4, -32602))), "");
    assert_eq!(side.sent(), [about(5, "get")]);
    assert_eq!(ended(side.receive(&error(5, -32602))), (call, "TaskNotFound".into()));
    is_over(&mut side);
    let (mut side, call) = waiting();
    _ = side.elapse(1_000);
    assert_eq!(side.sent(), [about(5, "get")]);
    assert_eq!(ended(side.receive(&error(5, -32602))), (call, "TaskNotFound".into()));
    assert_eq!(side.sent(), [cancelled(4)]);
    assert_eq!(task_event_text(side.receive(&error(4, -32602))), "unmatched Cancelled");
    is_over(&mut side);
    // Between the end of the task and the `tasks/result` request.
    for (end, says) in [("completed", "TaskNotFound"), ("failed", "error -32602")] {
        let (mut side, call) = asking();
        drop(side.receive(&result(3, &task(end))));
        assert_eq!(side.sent(), [about(4, "result")]);
        assert_eq!(ended(side.receive(&error(4, -32602))), (call, says.into()));
        is_over(&mut side);
    }
}

/// Proves M-TASKX-54, M-R-23: an older snapshot that crosses newer news withdraws no open input request and repeats
/// no answered one.
#[test]
fn an_older_answer_takes_nothing_back() {
    let (mut side, _) = with_modern_task();
    _ = side.elapse(1_000);
    assert_eq!(side.sent(), [modern_task_request(3, "get")]);
    let asks = modern_task("input_required", "05", &inputs(&["a"]));
    assert_eq!(task_event_text(side.receive(&result(3, &asks))), "task t-1 input_required");
    let asked = questions(side.outcomes());
    _ = side.elapse(1_000);
    assert_eq!(side.sent(), [modern_task_request(4, "get")]);
    for older in
        [modern_task("working", "04", ""), modern_task("input_required", "04", &inputs(&["old"]))]
    {
        let news = older.replace(r#""resultType":"complete","#, "");
        let news = format!(r#"{{"jsonrpc":"2.0","method":"notifications/tasks","params":{news}}}"#);
        drop(side.receive(&news));
        assert_eq!(task_event_texts(side.outcomes()), [""; 0]);
    }
    assert_eq!(task_event_text(side.receive(&result(4, &modern_task("working", "04", "")))), "");
    assert_eq!(task_event_texts(side.outcomes()), [""; 0]);
    side.respond(asked[0].0, ANSWER);
    assert_eq!(side.sent(), [update(5, &format!(r#"{{"a":{ANSWER}}}"#))]);
}

/// An input request that was withdrawn is handed out again if the task requires it again.
#[test]
fn a_withdrawn_input_request_can_be_requested_again() {
    let (mut side, _) = with_modern_task();
    let steps: [(&str, &[&str], &[&str]); 3] = [
        ("input_required", &["a"], &["asked"]),
        ("working", &[], &["withdrawn CallEnded"]),
        ("input_required", &["a"], &["asked"]),
    ];
    for (id, (status, keys, says)) in (3..).zip(steps) {
        _ = side.elapse(1_000);
        assert_eq!(side.sent(), [modern_task_request(id, "get")]);
        let more = if keys.is_empty() { String::new() } else { inputs(keys) };
        drop(side.receive(&result(id, &modern_task(status, "05", &more))));
        assert_eq!(task_event_texts(side.outcomes()), says);
    }
}

/// Proves M-R-20, M-R-21, M-TASKX-43: if responses or a cancellation cross the end of a task, the status of the
/// task decides.
#[test]
fn answers_and_cancellations_cross_with_the_end() {
    for (status, more, says) in [
        ("completed", format!(r#","result":{DONE}"#), format!("result {DONE}")),
        ("failed", r#","error":{"code":-7,"message":"m"}"#.into(), "error -7".into()),
        ("cancelled", String::new(), "TaskCancelled".into()),
    ] {
        for cancels in [false, true] {
            let (mut side, call) = with_modern_task();
            _ = side.elapse(1_000);
            assert_eq!(side.sent(), [modern_task_request(3, "get")]);
            let asks = modern_task("input_required", "05", &inputs(&["a"]));
            drop(side.receive(&result(3, &asks)));
            let asked = questions(side.outcomes());
            side.respond(asked[0].0, ANSWER);
            assert_eq!(side.sent(), [update(4, &format!(r#"{{"a":{ANSWER}}}"#))]);
            let mut next = 5;
            if cancels {
                side.client.cancel_task(call, side.now, &mut side.out).unwrap();
                assert_eq!(side.sent(), [modern_task_request(5, "cancel")]);
                assert_eq!(task_event_text(side.receive(&understood(5))), "");
                assert_eq!(side.sent(), [modern_task_request(6, "get")], "how it is decides");
                next = 6;
            } else {
                _ = side.outcomes();
                _ = side.elapse(1_000);
                assert_eq!(side.sent(), [modern_task_request(5, "get")]);
            }
            let end = result(next, &modern_task(status, "09", &more));
            assert_eq!(ended(side.receive(&end)), (call, says.clone()));
            assert_eq!(task_event_text(side.receive(&understood(4))), "");
            is_over(&mut side);
        }
    }
}

/// Proves M-R-24 for clients: a notification about an unknown task belongs to no call.
#[test]
fn news_of_an_unknown_task_changes_nothing() {
    let (mut side, call) = with_modern_task();
    let other = modern_task("cancelled", "09", "").replace("t-1", "t-2");
    let news = format!(r#"{{"jsonrpc":"2.0","method":"notifications/tasks","params":{other}}}"#);
    let event = side.receive(&news);
    assert!(!matches!(event, Some(ClientEvent::CallEnded(_) | ClientEvent::Task(_))), "{event:?}");
    assert!(side.client.in_flight().is_pending(call));
}

/// Proves M-R-23, M-TASKX-54: a notification of the end that overtakes a response ends the call, and the response
/// has no effect.
#[test]
fn news_of_the_end_overtakes_an_answer() {
    let (mut side, call) = with_modern_task();
    _ = side.elapse(1_000);
    assert_eq!(side.sent(), [modern_task_request(3, "get")]);
    let done = modern_task("completed", "09", &format!(r#","result":{DONE}"#));
    let news = done.replace(r#""resultType":"complete","#, "");
    let news = format!(r#"{{"jsonrpc":"2.0","method":"notifications/tasks","params":{news}}}"#);
    assert_eq!(ended(side.receive(&news)), (call, format!("result {DONE}")));
    assert_eq!(task_event_text(side.receive(&result(3, &modern_task("working", "05", "")))), "");
    is_over(&mut side);
}

/// A second response to the request that became a task is reported as late, not as never issued.
#[test]
fn a_second_answer_to_a_call_that_is_a_task_is_late() {
    let (mut side, _) = with_task();
    assert_eq!(task_event_text(side.receive(&created(2, "working"))), "unmatched Completed");
    assert_eq!(task_event_text(side.receive(&error(2, -32603))), "unmatched Completed");
    let (mut side, _) = with_modern_task();
    assert_eq!(
        task_event_text(side.receive(&modern_task_created(2, "working"))),
        "unmatched Completed"
    );
    // A resumed task has no request on this connection: id 2 was never issued.
    let mut side = in_session();
    let ticket = mcp_sansio::call::TaskTicket::new("t-1", "tools/call");
    let options = mcp_sansio::call::TaskOptions::new();
    side.client.resume_task(&ticket, options, side.now, &mut side.out).unwrap();
    assert_eq!(side.sent(), [about(3, "get")]);
    assert_eq!(task_event_text(side.receive(&result(2, DONE))), "unmatched NeverIssued");
}
