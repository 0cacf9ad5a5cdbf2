//! Responses that deviate from the specification, and the external view of tasks.

use mcp_sansio::{ClientEvent, Outbox, Outboxes, Received, Route};

use super::kit::*;

/// The response that turns a call into this task.
fn created_with(task: &str) -> String {
    result(2, &format!(r#"{{"task":{task}}}"#))
}

/// Proves L-TASK-28, L-AMB-23: missing or malformed members of a task, except its id and status, do no harm.
#[test]
fn tasks_may_lack_all_but_a_name_and_a_status() {
    let odd = [
        r#"{"taskId":"t-1","status":"working"}"#,
        r#"{"taskId":"t-1","status":"working","createdAt":7,"lastUpdatedAt":"yesterday"}"#,
        r#"{"taskId":"t-1","status":"working","ttl":"long","pollInterval":{}}"#,
        r#"{"taskId":"t-1","status":"working","ttl":-1,"pollInterval":1e300}"#,
        r#"{"taskId":"t-1","status":"working","ttl":18446744073709551615}"#,
        r#"{"taskId":"t-1","status":"working","ttl":99999999999999999999999}"#,
        r#"{"status":"working","x":[],"taskId":"t-1","_meta":7}"#,
    ];
    for odd in odd {
        let mut side = in_session();
        let call = call(&mut side);
        _ = side.sent();
        assert_eq!(task_event_text(side.receive(&created_with(odd))), "task t-1 working", "{odd}");
        _ = side.elapse(1_000);
        assert_eq!(side.sent(), [about(3, "get")], "{odd}");
        assert_eq!(task_event_text(side.receive(&result(3, odd))), "");
        _ = side.elapse(2_000);
        assert_eq!(side.sent(), [about(4, "get")], "{odd}");
        drop(side.receive(&result(4, r#"{"taskId":"t-1","status":"completed"}"#)));
        assert_eq!(side.sent(), [about(5, "result")], "{odd}");
        assert_eq!(ended(side.receive(&result(5, DONE))).0, call);
        is_over(&mut side);
    }
}

/// Proves L-TASK-23: a time is any JSON number, and only its integer part counts.
#[test]
fn times_may_be_written_with_a_fraction_or_an_exponent() {
    for (ttl, milliseconds, interval) in [
        ("8000", 8_000, "2000"),
        ("8000.0", 8_000, "2000.9"),
        ("8E3", 8_000, "2.0e3"),
        ("8.0E+3", 8_000, "20000e-1"),
        ("7999.9", 7_999, "2.0009E3"),
    ] {
        let mut side = in_session();
        _ = call(&mut side);
        _ = side.sent();
        let odd = format!(
            r#"{{"taskId":"t-1","status":"working","ttl":{ttl},"pollInterval":{interval}}}"#
        );
        assert_eq!(task_event_text(side.receive(&created_with(&odd))), "task t-1 working", "{odd}");
        assert_eq!((side.elapse(1_999), side.sent()), (vec![], vec![]), "{odd}");
        assert_eq!((side.elapse(1), side.sent()), (vec![], vec![about(3, "get")]), "{odd}");
        assert_eq!(side.elapse(milliseconds - 2_001), [], "{odd}");
        let events: Vec<String> =
            side.elapse(1).into_iter().map(|one| task_event_text(Some(one))).collect();
        assert_eq!(events, ["TaskNotFound"], "{odd}");
    }
}

/// Proves L-TASK-28, M-TASKX-13: an unknown status does not end a task; an object without an id or a status is no
/// task.
#[test]
fn an_unknown_status_is_no_end() {
    let (mut side, _) = with_task();
    for (id, (status, says)) in
        (3..).zip([("someday", "task t-1 someday"), ("someday", ""), ("", "task t-1 ")])
    {
        _ = side.elapse(1_000);
        assert_eq!(side.sent(), [about(id, "get")]);
        assert_eq!(task_event_text(side.receive(&result(id, &task(status)))), says);
    }
    let none = [
        r#"{"status":"working"}"#,
        r#"{"taskId":"","status":"working"}"#,
        r#"{"taskId":7,"status":"working"}"#,
        r#"{"taskId":"t-1"}"#,
        r#"{"taskId":"t-1","status":null}"#,
    ];
    for none in none {
        let mut side = in_session();
        let called = call(&mut side);
        _ = side.sent();
        let answer = side.receive(&created_with(none));
        assert_eq!(ended(answer), (called, "malformed InvalidResult".into()), "{none}");
        is_over(&mut side);
        let mut side = without_session();
        let called = call(&mut side);
        _ = side.sent();
        let task = none.replacen('{', r#"{"resultType":"task","#, 1);
        let answer = side.receive(&result(2, &task));
        assert_eq!(ended(answer), (called, "malformed InvalidResult".into()), "{none}");
        is_over(&mut side);
    }
}

/// Proves M-TASKX-11, M-AMB-15: a response to `tasks/get` may have `resultType` `task`.
#[test]
fn an_answer_about_a_task_may_say_that_it_is_one() {
    for kind in [r#""resultType":"task","#, "", r#""resultType":"complete","#] {
        let (mut side, call) = with_modern_task();
        for (id, status) in [(3, "working"), (4, "completed")] {
            _ = side.elapse(1_000);
            assert_eq!(side.sent(), [modern_task_request(id, "get")]);
            let more = if status == "working" { "" } else { r#","result":{"content":[]}"# };
            let answer = modern_task(status, "05", more);
            let answer = answer.replace(r#""resultType":"complete","#, kind);
            let event = side.receive(&result(id, &answer));
            if status == "completed" {
                assert_eq!(ended(event), (call, r#"result {"content":[]}"#.into()), "{kind}");
            }
        }
        _ = side.outcomes();
        is_over(&mut side);
    }
}

/// A response of another type is invalid, and nothing of it is used. Proves M-RES-03, M-RES-07.
#[test]
fn an_answer_about_a_task_of_another_type_is_not_used() {
    for kind in [r#""later""#, "1", r#""input_required""#] {
        let (mut side, call) = with_modern_task();
        let answer = modern_task("completed", "05", r#","result":{"content":[]}"#);
        let odd =
            answer.replace(r#""resultType":"complete","#, &format!(r#""resultType":{kind},"#));
        assert_ne!(odd, answer);
        _ = side.elapse(1_000);
        assert_eq!(side.sent(), [modern_task_request(3, "get")]);
        assert!(side.receive(&result(3, &odd)).is_none(), "{kind}");
        // After a failure, the task is asked about again in a while.
        _ = side.elapse(10_000);
        assert_eq!(side.sent(), [modern_task_request(4, "get")], "{kind}");
        let event = side.receive(&result(4, &answer));
        assert_eq!(ended(event), (call, r#"result {"content":[]}"#.into()), "{kind}");
        _ = side.outcomes();
        is_over(&mut side);
    }
}

/// A first status other than `working` is accepted.
#[test]
fn a_task_may_begin_in_any_state() {
    for first in ["input_required", "completed", "failed"] {
        let mut side = in_session();
        let call = call(&mut side);
        _ = side.sent();
        assert_eq!(task_event_text(side.receive(&created(2, first))), format!("task t-1 {first}"));
        assert_eq!(side.sent(), [about(3, "result")], "{first}");
        assert_eq!(ended(side.receive(&result(3, DONE))).0, call);
        is_over(&mut side);
    }
    let ends = [
        ("completed", r#","result":{"content":[]}"#, r#"result {"content":[]}"#),
        ("failed", r#","error":{"code":-7,"message":"m"}"#, "error -7"),
        ("cancelled", "", "TaskCancelled"),
    ];
    for (first, more, says) in ends {
        let mut side = without_session();
        let call = call(&mut side);
        _ = side.sent();
        drop(side.receive(&modern_task_created(2, first)));
        _ = side.elapse(1_000);
        assert_eq!(side.sent(), [modern_task_request(3, "get")], "{first}");
        let answer = result(3, &modern_task(first, "00", more));
        assert_eq!(ended(side.receive(&answer)), (call, says.into()));
        is_over(&mut side);
    }
    let mut side = in_session();
    let cancelled = call(&mut side);
    _ = side.sent();
    assert_eq!(task_event_text(side.receive(&created(2, "cancelled"))), "task t-1 cancelled");
    _ = side.elapse(1_000);
    assert_eq!(side.sent(), [about(3, "get")]);
    assert_eq!(
        ended(side.receive(&result(3, &task("cancelled")))),
        (cancelled, "TaskCancelled".into())
    );
    is_over(&mut side);
}

/// Two calls with the same task id: a fault of the server, and each call has its outcome.
#[test]
fn one_task_for_two_calls_ends_both() {
    let (mut side, first) = with_task();
    let second = call(&mut side);
    _ = side.sent();
    assert_eq!(task_event_text(side.receive(&created(3, "working"))), "task t-1 working");
    _ = side.elapse(1_000);
    assert_eq!(side.sent(), [about(4, "get"), about(5, "get")]);
    assert_eq!(ended(side.receive(&result(4, &task("cancelled")))).0, first);
    assert_eq!(ended(side.receive(&status(&task("cancelled")))).0, second);
    assert_eq!(task_event_text(side.receive(&result(5, &task("cancelled")))), "");
    is_over(&mut side);
}

/// A malformed response to `tasks/result` is the outcome of the call.
#[test]
fn a_broken_result_ends_the_call() {
    let (mut side, call) = with_task();
    drop(side.receive(&status(&task("completed"))));
    assert_eq!(side.sent(), [about(3, "result")]);
    let event = side.receive(r#"{"jsonrpc":"2.0","id":3,"result":7}"#);
    let (ended, says) = ended(event);
    assert_eq!(ended, call);
    assert!(says.starts_with("malformed "), "{says}");
    is_over(&mut side);
}

/// The debug output of a machine, an event or a ticket contains no task id and no payload.
#[test]
fn nothing_that_is_printed_says_which_task_it_is() {
    let secret = |text: &str| {
        text.replace("t-1", "S3CRET")
            .replace(r#""done""#, r#""S3CRET""#)
            .replace(r#""m""#, r#""S3CRET""#)
    };
    let mut side = in_session();
    call(&mut side);
    let mut printed = Vec::new();
    let messages = [
        created(2, "working"),
        status(&task_with("input_required", "05", r#","statusMessage":"S3CRET""#)),
        nested(70),
        status(&task_with("completed", "09", "")),
        result(3, DONE),
    ];
    for message in messages {
        let event = side.receive(&secret(&message));
        printed.push(format!("{event:?}"));
        printed.push(format!("{:?} {:?}", side.client, side.out));
    }
    let mut modern = without_session();
    call(&mut modern);
    drop(modern.receive(&secret(&modern_task_created(2, "working"))));
    _ = modern.elapse(1_000);
    let asks = modern_task("input_required", "05", &inputs(&["S3CRET"]));
    printed.push(format!("{:?}", modern.receive(&secret(&result(3, &asks)))));
    printed.push(format!("{:?}", modern.client));
    printed.push(format!("{:?}", modern.outcomes()));
    modern.client.disconnected(mcp_sansio::Cause::EndOfInput, modern.now);
    printed.push(format!("{:?}", modern.outcomes()));
    for text in printed {
        assert!(!text.contains("S3CRET"), "{text}");
    }
}

/// One outbox, and the route that was requested last.
struct Routes<'o>(&'o mut Outbox, Route);

impl Outboxes for Routes<'_> {
    fn outbox(&mut self, route: Route) -> &mut Outbox {
        self.1 = route;
        self.0
    }
}

/// An error without an id answers the request that the route of its transport names, also a request about a task,
/// and never an answered request.
#[test]
fn an_error_without_an_id_answers_the_question_of_its_route() {
    let (mut side, call) = with_task();
    let error = r#"{"jsonrpc":"2.0","error":{"code":-32602,"message":"m"}}"#;
    let late = Received::from(side.now).route(Route::Call(call));
    let event = side.client.receive(error, late, &mut side.out).map(ClientEvent::into_owned);
    assert!(matches!(event, Some(ClientEvent::UnsolicitedError(_))), "{event:?}");
    assert!(side.client.in_flight().is_pending(call));
    side.now = side.now + std::time::Duration::from_secs(1);
    let mut routes = Routes(&mut side.out, Route::Connection);
    assert_eq!(side.client.handle_timeout(side.now, &mut routes), None);
    let route = routes.1;
    assert_eq!(side.sent(), [about(3, "get")]);
    let received = Received::from(side.now).route(route);
    let event = side.client.receive(error, received, &mut side.out).map(ClientEvent::into_owned);
    assert_eq!(ended(event), (call, "TaskNotFound".into()));
    is_over(&mut side);
}
