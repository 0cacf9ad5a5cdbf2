//! Calls that become tasks in a session of 2025-11-25, message by message.

use std::time::Duration;

use mcp_sansio::call::TaskOptions;
use mcp_sansio::error::NotAllowed;
use mcp_sansio::{CallError, CallOptions, Revision};

use super::kit::*;

const PLAIN: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t"}}"#;

/// Proves L-TASK-16: a request asks for a task with the member `task`, which may contain a `ttl`.
#[test]
fn a_request_says_that_it_is_to_become_a_task() {
    let hour = TaskOptions::new().ttl(Duration::from_secs(3_600));
    for (options, reported) in [(TaskOptions::new(), "{}"), (hour, r#"{"ttl":3600000}"#)] {
        let mut side = in_session();
        call_with(&mut side, CallOptions::new().task(options));
        assert_eq!(
            side.sent(),
            [format!(
                r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"task":{reported},"name":"t"}}}}"#
            )]
        );
    }
}

/// Proves L-TASK-02, L-TASK-07, L-TASK-15, L-AMB-15: no task is requested that the server has not declared, and
/// nothing is sent if the call requires a task.
#[test]
fn no_task_is_asked_for_that_the_server_has_not_declared() {
    let latest = Revision::V2025_11_25;
    let without = [
        (latest, ""),
        (latest, r#","tasks":{}"#),
        (latest, r#","tasks":{"list":{},"cancel":{},"requests":{}}"#),
        (latest, r#","tasks":{"requests":{"tools":{}}}"#),
        (latest, EXTENSION),
        (Revision::V2025_06_18, TASKS),
        (Revision::V2025_03_26, TASKS),
        (Revision::V2024_11_05, TASKS),
    ];
    for (revision, tasks) in without {
        let mut side = in_session_with(of_sessions(), revision, tasks);
        let required = CallOptions::new().task(TaskOptions::new().required());
        let params = mcp_sansio::json::Raw::new(r#"{"name":"t"}"#).unwrap();
        let refused =
            side.client.call_method("tools/call", &params, required, side.now, &mut side.out);
        assert!(matches!(refused, Err(CallError::NotAllowed(_))), "{revision} {tasks}");
        assert_eq!(side.sent(), [""; 0]);
        call(&mut side);
        assert_eq!(side.sent(), [PLAIN], "{revision} {tasks}");
        assert_eq!(task_event_text(side.receive(&result(2, DONE))), format!("result {DONE}"));
        is_over(&mut side);
    }
}

/// Proves L-TASK-14 for requests: only the methods that may become tasks ask for one.
#[test]
fn other_methods_never_ask_for_tasks() {
    for method in ["prompts/get", "x/y"] {
        let mut side = in_session();
        let params = mcp_sansio::json::Raw::new(r#"{"name":"t"}"#).unwrap();
        let options = CallOptions::new().task(TaskOptions::new());
        side.client.call_method(method, &params, options, side.now, &mut side.out).unwrap();
        assert_eq!(side.sent(), [PLAIN.replace("tools/call", method)]);
        let options = CallOptions::new().task(TaskOptions::new().required());
        let refused = side.client.call_method(method, &params, options, side.now, &mut side.out);
        assert_eq!(refused, Err(CallError::NotAllowed(NotAllowed::Revision)), "{method}");
        // The response is no task either.
        let answer = side.receive(&created(2, "working"));
        assert!(task_event_text(answer).starts_with("result "), "{method}");
        is_over(&mut side);
    }
}

/// Proves L-TASK-05, L-AMB-15: a server that ignores the request for a task and returns a plain result has answered
/// the call.
#[test]
fn a_plain_answer_to_a_request_for_a_task_is_the_answer() {
    let mut side = in_session();
    let call = call(&mut side);
    assert_eq!(side.sent().len(), 1);
    assert_eq!(ended(side.receive(&result(2, DONE))), (call, format!("result {DONE}")));
    is_over(&mut side);
}

/// Proves L-TASK-26 for the requesting side: an error without a task ends the call as an error.
#[test]
fn a_refusal_of_a_request_for_a_task_ends_the_call() {
    let mut side = in_session();
    let call = call(&mut side);
    assert_eq!(side.sent().len(), 1);
    assert_eq!(ended(side.receive(&error(2, -32602))), (call, String::from("error -32602")));
    is_over(&mut side);
}

/// Proves L-TASK-06, L-AMB-24: the request decides whether a result is read as a task.
#[test]
fn a_result_is_read_as_a_task_only_if_requested() {
    let is_task = created(2, "working");
    let is_both = result(2, r#"{"content":[],"task":{"taskId":"t-1","status":"working"}}"#);
    let is_other = result(2, r#"{"content":[],"task":7}"#);
    let cases = [
        (is_task, String::from("malformed InvalidResult")),
        (is_both, r#"result {"content":[],"task":{"taskId":"t-1","status":"working"}}"#.into()),
        (is_other, String::from(r#"result {"content":[],"task":7}"#)),
    ];
    for (answer, says) in cases {
        let mut side = in_session();
        let call = call_with(&mut side, CallOptions::new());
        assert_eq!(side.sent(), [PLAIN]);
        assert_eq!(ended(side.receive(&answer)), (call, says));
        is_over(&mut side);
    }
}

/// Proves L-TASK-27, L-TASK-35, L-TASK-36, L-TASK-43, L-TASK-53, L-TASK-56: a task is polled until it has ended,
/// then its result is fetched, without any notification from the server.
#[test]
fn a_task_is_asked_about_until_it_has_ended() {
    let (mut side, call) = with_task();
    for id in 3..6 {
        assert_eq!(task_event_texts(side.elapse(999)), [""; 0]);
        assert_eq!(side.sent(), [""; 0]);
        assert_eq!(task_event_texts(side.elapse(1)), [""; 0]);
        assert_eq!(side.sent(), [about(id, "get")]);
        assert_eq!(task_event_text(side.receive(&result(id, &task("working")))), "");
    }
    _ = side.elapse(1_000);
    assert_eq!(side.sent(), [about(6, "get")]);
    assert_eq!(
        task_event_text(side.receive(&result(6, &task_with("completed", "09", "")))),
        "task t-1 completed"
    );
    assert_eq!(side.sent(), [about(7, "result")]);
    assert!(side.client.in_flight().is_pending(call));
    let related = DONE.replace(
        r#"{"content""#,
        r#"{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t-1"}},"content""#,
    );
    assert_eq!(ended(side.receive(&result(7, &related))), (call, format!("result {related}")));
    assert!(!side.client.in_flight().is_pending(call));
    is_over(&mut side);
}

/// Proves L-TASK-38, L-AMB-17, L-AMB-19 for the requesting side: a failed task ends its call like the work itself,
/// with its error or with a result that has `isError`.
#[test]
fn a_failed_task_ends_its_call_with_its_error_or_result() {
    let is_error = r#"{"content":[],"isError":true}"#;
    let cases = [
        (error(4, -32050), String::from("error -32050")),
        (result(4, is_error), format!("result {is_error}")),
    ];
    for (answer, says) in cases {
        let (mut side, call) = with_task();
        _ = side.elapse(1_000);
        assert_eq!(side.sent(), [about(3, "get")]);
        let failed = task_with("failed", "05", r#","statusMessage":"why""#);
        assert_eq!(task_event_text(side.receive(&result(3, &failed))), "task t-1 failed (why)");
        assert_eq!(side.sent(), [about(4, "result")]);
        assert_eq!(ended(side.receive(&answer)), (call, says));
        is_over(&mut side);
    }
}

/// Proves L-TASK-37, L-AMB-18, L-RACE-43 for the requesting side: a task that was cancelled elsewhere ends the call
/// as cancelled, and a task that is gone ends it as lost.
#[test]
fn a_task_that_is_gone_ends_its_call() {
    let cases = [
        (result(3, &task("cancelled")), "TaskCancelled"),
        (error(3, -32602), "TaskNotFound"),
        (error(3, -32601), "error -32601"),
    ];
    for (answer, says) in cases {
        let (mut side, call) = with_task();
        _ = side.elapse(1_000);
        assert_eq!(side.sent(), [about(3, "get")]);
        assert_eq!(ended(side.receive(&answer)), (call, String::from(says)));
        is_over(&mut side);
    }
}

/// Proves L-TASK-47, L-RACE-48, L-TIME-08: a task that requires input is awaited with one `tasks/result`. No idle
/// timeout ends that request, and its response counts in any state.
#[test]
fn a_task_that_asks_for_something_is_waited_for_once() {
    let (mut side, call) = with_task();
    _ = side.elapse(1_000);
    assert_eq!(side.sent(), [about(3, "get")]);
    let asks = result(3, &task("input_required"));
    assert_eq!(task_event_text(side.receive(&asks)), "task t-1 input_required");
    assert_eq!(side.sent(), [about(4, "result")]);
    for (id, status, says) in
        [(5, "input_required", ""), (6, "working", "task t-1 working"), (7, "working", "")]
    {
        _ = side.elapse(1_000);
        assert_eq!(side.sent(), [about(id, "get")], "it is asked about as well");
        assert_eq!(task_event_text(side.receive(&result(id, &task(status)))), says);
        assert_eq!(side.sent(), [""; 0], "and waited for once");
    }
    assert_eq!(ended(side.receive(&result(4, DONE))), (call, format!("result {DONE}")));
    is_over(&mut side);
}

/// Proves L-TASK-49, L-TASK-50, L-TASK-52, L-RACE-49, L-AMB-20, L-AMB-21, L-HTTP-08 for the requesting side: a
/// nested request of a task is served at any time, and its result names the task.
#[test]
fn nested_requests_of_a_task_are_served_in_any_status() {
    for statuses in [&[][..], &["input_required"], &["input_required", "working"]] {
        let (mut side, call) = with_task();
        for (id, status) in [3, 5].into_iter().zip(statuses) {
            _ = side.elapse(1_000);
            assert_eq!(side.sent(), [about(id, "get")]);
            drop(side.receive(&result(id, &task(status))).unwrap());
            _ = side.sent();
        }
        let (asked, needed_for) = question(side.receive(&nested(70)));
        assert_eq!(needed_for, Some(call), "{statuses:?}");
        side.respond(asked, ANSWER);
        let related = r#""_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t-1"}}"#;
        let answer = format!(r#"{{"action":"accept","content":{{}},{related}}}"#);
        assert_eq!(side.sent(), [result(70, &answer)], "{statuses:?}");
    }
}

/// Proves L-RACE-51, L-TASK-57: a nested request of an unknown task belongs to no call and is served.
#[test]
fn nested_requests_of_an_unknown_task_belong_to_no_call() {
    let (mut side, _) = with_task();
    let unknown = nested(70).replace("t-1", "t-2");
    let (asked, needed_for) = question(side.receive(&unknown));
    assert_eq!(needed_for, None);
    side.respond(asked, ANSWER);
    assert!(side.sent()[0].contains(r#""io.modelcontextprotocol/related-task":{"taskId":"t-2"}"#));
    _ = side.elapse(1_000);
    assert_eq!(side.sent(), [about(3, "get")]);
    drop(side.receive(&result(3, &task("cancelled"))).unwrap());
    let (asked, needed_for) = question(side.receive(&nested(71)));
    assert_eq!(needed_for, None, "it is over");
    side.respond(asked, ANSWER);
    assert_eq!(side.sent().len(), 1);
    is_over(&mut side);
}

/// Proves L-RACE-50: the server cancels a nested request, and the task ends.
#[test]
fn a_nested_request_of_a_task_can_be_cancelled() {
    let (mut side, call) = with_task();
    let (asked, _) = question(side.receive(&nested(70)));
    assert_eq!(task_event_text(side.receive(&cancelled(70))), "withdrawn Peer");
    let answer = mcp_sansio::json::Raw::new(ANSWER).unwrap();
    assert!(side.client.respond(asked, &answer, &mut side.out).is_err());
    assert_eq!(side.sent(), [""; 0]);
    assert_eq!(ended(side.receive(&status(&task("cancelled")))), (call, "TaskCancelled".into()));
    is_over(&mut side);
}

/// Proves L-PROG-16, L-PROG-17, L-RACE-52, L-RACE-53: progress belongs to the call until the task has ended, and no
/// other call shares its token.
#[test]
fn progress_goes_on_until_the_task_has_ended() {
    let progress = |step: u32| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":2,"progress":{step}}}}}"#
        )
    };
    let mut side = in_session();
    let options = CallOptions::new().task(TaskOptions::new()).progress();
    let call = call_with(&mut side, options);
    assert_eq!(
        side.sent(),
        [
            r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"task":{},"name":"t","_meta":{"progressToken":2}}}"#
        ]
    );
    assert_eq!(task_event_text(side.receive(&progress(1))), "progress 1");
    drop(side.receive(&created(2, "working")).unwrap());
    assert_eq!(task_event_text(side.receive(&progress(2))), "progress 2");
    let other = call_with(&mut side, options);
    assert!(side.sent()[0].contains(r#""progressToken":3"#));
    assert_ne!(call, other);
    assert_eq!(task_event_text(side.receive(&status(&task("completed")))), "task t-1 completed");
    assert_eq!(side.sent(), [about(4, "result")]);
    assert_eq!(task_event_text(side.receive(&progress(3))), "progress 3", "it may still come");
    assert_eq!(ended(side.receive(&result(4, DONE))).0, call);
    assert_eq!(task_event_text(side.receive(&progress(4))), "");
    assert_eq!(ended(side.receive(&result(3, DONE))).0, other);
    is_over(&mut side);
}
