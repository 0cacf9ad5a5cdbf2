//! Servers that request sampling and elicitation as tasks of the client. Only sessions of 2025-11-25 have such
//! tasks.

use mcp_sansio::call::{Cancellation, TaskOptions};
use mcp_sansio::json::Raw;
use mcp_sansio::{
    CallError, CallId, CallOptions, Cause, Outbox, Outboxes, Outcome, Revision, Route, ServerEvent,
};
use mcp_sansio_proptests::{ServerSide, config};

use super::kit::{about, created, error, result, status, task, task_outcome_text, timed_out};

const CREATE: &str = "sampling/createMessage";
const ELICIT: &str = "elicitation/create";

/// The params of the request.
fn params(method: &str) -> &'static str {
    match method {
        CREATE => {
            r#""messages":[{"role":"user","content":{"type":"text","text":"?"}}],"maxTokens":7"#
        }
        _ => {
            r#""message":"?","requestedSchema":{"type":"object","properties":{"a":{"type":"string"}}}"#
        }
    }
}

/// The result of the client.
fn answer(method: &str) -> &'static str {
    match method {
        CREATE => r#"{"role":"assistant","content":{"type":"text","text":"!"},"model":"m"}"#,
        _ => r#"{"action":"accept","content":{"a":"b"}}"#,
    }
}

/// The task capabilities of a client that supports tasks for both methods.
const BOTH: &str = r#","tasks":{"cancel":{},"requests":{"sampling":{"createMessage":{}},"elicitation":{"create":{}}}}"#;

/// A server in a session with a client that declares these task capabilities. Its first request has id 1.
fn in_session(revision: Revision, tasks: &str) -> ServerSide {
    let mut side = ServerSide::with(config::server());
    let opened = side.receive(&format!(
        r#"{{"jsonrpc":"2.0","id":"init","method":"initialize","params":{{"protocolVersion":"{revision}","capabilities":{{"sampling":{{}},"elicitation":{{}}{tasks}}},"clientInfo":{{"name":"c","version":"1"}}}}}}"#
    ));
    assert!(matches!(opened, Some(ServerEvent::Opened(_))), "{opened:?}");
    drop(side.receive(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#));
    assert_eq!(side.sent().len(), 1);
    side
}

fn ask(side: &mut ServerSide, method: &str, options: TaskOptions) -> Result<CallId, CallError> {
    let text = format!("{{{}}}", params(method));
    let options = CallOptions::new().task(options);
    let params = Raw::new(&text).unwrap();
    side.server.call_method(method, &params, options, side.now, &mut side.out)
}

/// A server whose request, with id 1, has become a task.
fn with_task(method: &str) -> (ServerSide, CallId) {
    let mut side = in_session(Revision::V2025_11_25, BOTH);
    let call = ask(&mut side, method, TaskOptions::new()).unwrap();
    assert_eq!(side.sent(), [request(method, r#""task":{},"#)]);
    assert_eq!(event_summary(side.receive(&created(1, "working"))), "task t-1 working");
    (side, call)
}

fn request(method: &str, task: &str) -> String {
    let params = params(method);
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{task}{params}}}}}"#)
}

fn event_summary(event: Option<ServerEvent<'static>>) -> String {
    match event {
        None => String::new(),
        Some(ServerEvent::Task(update)) => {
            format!("task {} {}", update.ticket.task_id, update.status.as_str())
        }
        Some(ServerEvent::CallEnded(ended)) => task_outcome_text(&ended.outcome),
        Some(ServerEvent::AbandonedTask(orphan)) => {
            format!("orphan {} {}", orphan.ticket.task_id, orphan.cancelled)
        }
        Some(other) => format!("{other:?}"),
    }
}

#[track_caller]
fn is_over(side: &mut ServerSide) {
    assert_eq!(side.sent(), [""; 0]);
    assert_eq!(side.elapse(36_000_000), []);
    let counts = side.server.in_flight().counts();
    assert_eq!((counts.inbound, counts.outbound, counts.held_bytes), (0, 0, 0));
    assert_eq!((side.sent().len(), side.server.poll_timeout()), (0, None));
}

/// Proves L-TASK-02, L-TASK-14, L-TASK-16: a server requests a task only for the methods that the client declares
/// for tasks.
#[test]
fn a_server_asks_for_the_tasks_that_the_client_declared() {
    let latest = Revision::V2025_11_25;
    let sampling = r#","tasks":{"requests":{"sampling":{"createMessage":{}}}}"#;
    let elicitation = r#","tasks":{"requests":{"elicitation":{"create":{}}}}"#;
    let cases = [
        (latest, BOTH, [true, true]),
        (latest, sampling, [true, false]),
        (latest, elicitation, [false, true]),
        (latest, "", [false, false]),
        (latest, r#","tasks":{"requests":{"tools":{"call":{}}}}"#, [false, false]),
        (Revision::V2025_06_18, BOTH, [false, false]),
    ];
    for (revision, tasks, as_tasks) in cases {
        for (method, as_task) in [CREATE, ELICIT].into_iter().zip(as_tasks) {
            let mut side = in_session(revision, tasks);
            ask(&mut side, method, TaskOptions::new()).unwrap();
            let task = if as_task { r#""task":{},"# } else { "" };
            let sent = side.sent();
            assert_eq!(sent, [request(method, task)], "{revision} {tasks}");
            assert_eq!(
                event_summary(side.receive(&result(1, answer(method)))),
                format!("result {}", answer(method))
            );
            let insisting = ask(&mut side, method, TaskOptions::new().required());
            assert_eq!(insisting.is_ok(), as_task, "{revision} {tasks} {method}");
        }
    }
}

/// Proves L-TASK-27, L-TASK-35, L-TASK-43 for servers: the result is that of the requested method, and content that
/// does not match the form is invalid.
#[test]
fn a_client_task_ends_with_the_result_of_its_method() {
    for method in [CREATE, ELICIT] {
        let (mut side, call) = with_task(method);
        assert_eq!(side.elapse(999), []);
        assert_eq!(side.sent(), [""; 0]);
        assert_eq!(side.elapse(1), []);
        assert_eq!(side.sent(), [about(2, "get")]);
        assert_eq!(
            event_summary(side.receive(&result(2, &task("completed")))),
            "task t-1 completed"
        );
        assert_eq!(side.sent(), [about(3, "result")]);
        assert!(side.server.in_flight().is_pending(call));
        let says = event_summary(side.receive(&result(3, answer(method))));
        assert_eq!(says, format!("result {}", answer(method)));
        is_over(&mut side);
    }
    let (mut side, _) = with_task(ELICIT);
    drop(side.receive(&status(&task("completed"))));
    assert_eq!(side.sent(), [about(2, "result")]);
    let misfit = r#"{"action":"accept","content":{"a":7}}"#;
    assert_eq!(event_summary(side.receive(&result(2, misfit))), "malformed InvalidResult");
    is_over(&mut side);
}

/// Proves L-TASK-58, L-RACE-46 for servers: status notifications count for either side that hosts the task.
#[test]
fn news_of_the_tasks_of_a_client_counts() {
    for (news, says) in [("cancelled", "TaskCancelled"), ("working", "")] {
        let (mut side, _) = with_task(CREATE);
        assert_eq!(event_summary(side.receive(&status(&task(news)))), says);
    }
}

/// Proves L-CANCEL-15, L-CANCEL-16, L-CAP-17 for servers: a task of a client is cancelled with `tasks/cancel` if
/// the client declares that.
#[test]
fn a_server_cancels_the_task_of_a_client() {
    let (mut side, call) = with_task(ELICIT);
    let cancelled = side.server.cancel(call, None, &mut side.out);
    assert_eq!(cancelled, Ok(Cancellation::Notified));
    assert_eq!(side.sent(), [about(2, "cancel")]);
    assert_eq!(event_summary(side.receive(&result(2, &task("cancelled")))), "");
    is_over(&mut side);
    let uncancelled = BOTH.replace(r#""cancel":{},"#, "");
    for (tasks, is_cancelled) in [(BOTH, true), (&uncancelled, false)] {
        let mut side = in_session(Revision::V2025_11_25, tasks);
        let call = ask(&mut side, CREATE, TaskOptions::new()).unwrap();
        _ = side.sent();
        let cancelled = side.server.cancel(call, None, &mut side.out);
        assert_eq!(cancelled, Ok(Cancellation::Deferred));
        assert_eq!(side.sent(), [""; 0]);
        assert_eq!(
            event_summary(side.receive(&created(1, "working"))),
            format!("orphan t-1 {is_cancelled}")
        );
        assert_eq!(side.sent().len(), usize::from(is_cancelled));
        if is_cancelled {
            assert_eq!(event_summary(side.receive(&error(2, -32602))), "");
        }
        is_over(&mut side);
    }
}

/// Proves L-TIME-07 for servers: a request to a person has a long timeout, and after it no request that could be a
/// task is cancelled.
#[test]
fn a_question_that_times_out_may_still_become_a_task() {
    let mut side = in_session(Revision::V2025_11_25, BOTH);
    ask(&mut side, ELICIT, TaskOptions::new()).unwrap();
    _ = side.sent();
    let mut events = side.elapse(900_000);
    assert_eq!(event_summary(events.pop()), "TimedOut(Total)");
    assert_eq!((side.sent().len(), events.len()), (0, 0));
    assert_eq!(event_summary(side.receive(&created(1, "working"))), "orphan t-1 true");
    assert_eq!(side.sent(), [about(2, "cancel")]);
    assert_eq!(side.outcomes(), []);
    assert_eq!(side.elapse(60_000), []);
    assert_eq!(side.sent(), [timed_out(2)]);
    is_over(&mut side);
}

/// Proves L-TASK-76, M-TASKX-50 for servers: a task of a client outlives the connection and is resumed.
#[test]
fn a_server_goes_on_with_the_task_of_a_client() {
    for method in [CREATE, ELICIT] {
        let (mut side, call) = with_task(method);
        side.server.disconnected(Cause::ReadFailed, side.now);
        let mut events = side.outcomes().into_iter();
        let Some(ServerEvent::CallEnded(ended)) = events.next() else { panic!("no end") };
        let Outcome::Task(begun) = ended.outcome else { panic!("no task") };
        assert_eq!(ended.call, call);
        assert_eq!(events.len(), 1, "and it is closed");
        is_over(&mut side);
        let mut next = in_session(Revision::V2025_11_25, BOTH);
        let now = next.now;
        let resumed =
            next.server.resume_task(&begun.ticket, TaskOptions::new(), now, &mut next.out);
        assert_eq!(next.sent(), [about(2, "get")]);
        assert_eq!(
            event_summary(next.receive(&result(2, &task("completed")))),
            "task t-1 completed"
        );
        assert_eq!(next.sent(), [about(3, "result")]);
        assert!(next.server.in_flight().is_pending(resumed.unwrap()));
        let says = event_summary(next.receive(&result(3, answer(method))));
        assert_eq!(says, format!("result {}", answer(method)));
        is_over(&mut next);
    }
}

/// A server whose input has ended does not wait for responses that cannot arrive.
#[test]
fn a_server_without_input_leaves_its_tasks() {
    let (mut side, _) = with_task(CREATE);
    side.server.disconnected(Cause::EndOfInput, side.now);
    let events = side.outcomes();
    let left = events.iter().filter(
        |event| matches!(event, ServerEvent::CallEnded(ended) if matches!(ended.outcome, Outcome::Task(_))),
    );
    assert_eq!(left.count(), 1, "{events:?}");
    _ = side.sent();
    is_over(&mut side);
}

/// A server over HTTP: the stream on which the client can be asked may be closed.
struct OverHttp {
    out: Outbox,
    is_open: bool,
}

impl Outboxes for OverHttp {
    fn outbox(&mut self, _: Route) -> &mut Outbox {
        &mut self.out
    }

    fn can_ask(&self, _: Route) -> bool {
        self.is_open
    }
}

/// A task outlives the stream on which it is polled: the next poll after the stream was opened again is sent.
#[test]
fn a_task_is_polled_again_on_the_next_stream() {
    let (ServerSide { mut server, out, .. }, _) = with_task(CREATE);
    let mut http = OverHttp { out, is_open: false };
    for (is_open, expected) in [(false, vec![]), (true, vec![about(2, "get")])] {
        http.is_open = is_open;
        let due = server.poll_timeout().unwrap();
        assert_eq!(server.handle_timeout(due, &mut http), None, "the task goes on");
        let sent = http.out.messages().map(|text| String::from_utf8(text.to_vec()).unwrap());
        assert_eq!(sent.collect::<Vec<_>>(), expected);
    }
}
