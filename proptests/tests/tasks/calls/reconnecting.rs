//! Connections that end while tasks run, and tasks that are resumed on the next connection.

use std::time::Duration;

use mcp_sansio::call::{TaskOptions, TaskTicket};
use mcp_sansio::{
    CallError, CallId, CallOptions, Cause, ClientConfig, ClientEvent, ConnectionNumber, Outcome,
    Revision,
};
use mcp_sansio_proptests::ClientSide;

use super::kit::*;

/// A ticket that was serialized and deserialized.
fn kept(ticket: &TaskTicket) -> TaskTicket {
    let text = serde_json::to_string(ticket).unwrap();
    assert_eq!(text, r#"{"taskId":"t-1","method":"tools/call"}"#.replace("taskId", "task_id"));
    serde_json::from_str(&text).unwrap()
}

/// Every step in the life of a task in a session: the name, the client, the call, and the last known task.
fn steps() -> Vec<(&'static str, ClientSide, CallId, String)> {
    let mut steps = Vec::new();
    let (side, call) = with_task();
    steps.push(("begun", side.clone(), call, task("working")));
    let mut asked = side.clone();
    _ = asked.elapse(1_000);
    steps.push(("asked about", asked.clone(), call, task("working")));
    _ = asked.sent();
    steps.push(("asked about and sent", asked, call, task("working")));
    for status in ["input_required", "completed", "failed"] {
        let mut waiting = side.clone();
        drop(waiting.receive(&super::kit::status(&task(status))));
        steps.push((status, waiting.clone(), call, task(status)));
        _ = waiting.sent();
        steps.push((status, waiting.clone(), call, task(status)));
        drop(waiting.receive(&nested(70)));
        steps.push((status, waiting, call, task(status)));
    }
    let mut cancelling = side;
    cancelling.client.cancel_task(call, cancelling.now, &mut cancelling.out).unwrap();
    steps.push(("to be cancelled", cancelling, call, task("working")));
    steps
}

/// Proves M-TASKX-50, L-TASK-76 for the requesting side: a task outlives its connection in every state. The call
/// ends once, with the ticket that resumes the task.
#[test]
fn the_end_of_a_connection_leaves_the_task() {
    for (name, side, call, known) in steps() {
        for cause in [Cause::EndOfInput, Cause::ReadFailed, Cause::WriteFailed] {
            let mut side = side.clone();
            side.client.disconnected(cause, side.now);
            let events = side.outcomes();
            let mut outcomes = events.iter().filter_map(|event| match event {
                ClientEvent::CallEnded(ended) => Some((ended.call, &ended.outcome)),
                _ => None,
            });
            let Some((ended, Outcome::Task(begun))) = outcomes.next() else {
                panic!("{name}: {events:?}");
            };
            assert_eq!((ended, begun.task.as_json()), (call, &*known), "{name}");
            assert_eq!(outcomes.next(), None, "{name}");
            assert_eq!(events.last(), Some(&ClientEvent::Closed { cause }), "{name}");
            _ = side.sent();
            is_over(&mut side);

            let mut next = in_session();
            let ticket = kept(&begun.ticket);
            let now = next.now;
            let resumed = next.client.resume_task(&ticket, TaskOptions::new(), now, &mut next.out);
            let resumed = resumed.unwrap();
            assert_eq!(next.sent(), [about(3, "get")]);
            let event = next.receive(&result(3, &task("working")));
            let Some(ClientEvent::Task(update)) = event else { panic!("{event:?}") };
            assert_eq!((update.call, update.ticket), (resumed, ticket));
            drop(next.receive(&status(&task("completed"))));
            assert_eq!(next.sent(), [about(4, "result")]);
            let (ended, says) = super::kit::ended(next.receive(&result(4, DONE)));
            assert_eq!((ended, says), (resumed, format!("result {DONE}")));
            is_over(&mut next);
        }
    }
}

/// Proves M-TASKX-50, M-TASKX-61: the same in the modern era, including the input requests of the task.
#[test]
fn a_task_without_a_session_is_gone_on_with() {
    let (mut side, call) = with_modern_task();
    _ = side.elapse(1_000);
    let asks = modern_task("input_required", "05", &inputs(&["a"]));
    drop(side.receive(&result(3, &asks)));
    assert_eq!(questions(side.outcomes()).len(), 1);
    side.client.disconnected(Cause::EndOfInput, side.now);
    let events = side.outcomes();
    let ticket = events.into_iter().find_map(|event| match event {
        ClientEvent::CallEnded(ended) => match ended.outcome {
            Outcome::Task(begun) => {
                assert_eq!((ended.call, begun.task.as_json()), (call, &*asks));
                Some(begun.ticket)
            }
            _ => None,
        },
        _ => None,
    });
    _ = side.sent();
    is_over(&mut side);
    for gone in [false, true] {
        let mut next = without_session();
        let ticket = kept(ticket.as_ref().unwrap());
        let now = next.now;
        let resumed = next.client.resume_task(&ticket, TaskOptions::new(), now, &mut next.out);
        assert_eq!(next.sent(), [modern_task_request(3, "get")]);
        if gone {
            assert_eq!(
                ended(next.receive(&error(3, -32602))),
                (resumed.unwrap(), "TaskNotFound".into())
            );
        } else {
            assert_eq!(task_event_text(next.receive(&result(3, &asks))), "task t-1 input_required");
            let asked = questions(next.outcomes());
            assert_eq!(asked[0].1, Some(resumed.unwrap()));
            next.respond(asked[0].0, ANSWER);
            assert_eq!(next.sent(), [update(4, &format!(r#"{{"a":{ANSWER}}}"#))]);
            assert_eq!(task_event_text(next.receive(&understood(4))), "");
            assert_eq!(task_event_texts(next.outcomes()), [""; 0]);
            _ = next.elapse(1_000);
            assert_eq!(next.sent(), [modern_task_request(5, "get")]);
            let done = modern_task("completed", "09", &format!(r#","result":{DONE}"#));
            assert_eq!(task_event_text(next.receive(&result(5, &done))), format!("result {DONE}"));
        }
        is_over(&mut next);
    }
}

/// Proves M-TASKX-67, M-R-29: a call whose connection ends before it is a task is lost like any other call.
#[test]
fn a_call_that_is_no_task_yet_is_lost() {
    for (mut side, is_sent) in
        [(in_session(), true), (in_session(), false), (without_session(), true)]
    {
        let call = call(&mut side);
        if is_sent {
            _ = side.sent();
        }
        side.client.disconnected(Cause::EndOfInput, side.now);
        let says = if is_sent { "Closed(EndOfInput)" } else { "NotSent" };
        let mut events = side.outcomes().into_iter();
        assert_eq!(ended(events.next()), (call, says.into()));
        assert_eq!(task_event_text(events.next()), "Closed { cause: EndOfInput }");
        assert_eq!(events.next(), None);
        is_over(&mut side);
    }
    // A cancelled call has had its outcome.
    let mut side = in_session();
    let call = call(&mut side);
    _ = side.sent();
    _ = side.client.cancel(call, None, &mut side.out).unwrap();
    side.client.disconnected(Cause::EndOfInput, side.now);
    assert_eq!(task_event_texts(side.outcomes()), ["Closed { cause: EndOfInput }"]);
    is_over(&mut side);
}

/// A resumed task can end again with the connection before any message about it arrives.
#[test]
fn a_resumed_task_has_no_state_before_its_first_message() {
    let ticket = TaskTicket::new("t-1", "tools/call");
    for mut side in [in_session(), without_session()] {
        let now = side.now;
        side.client.resume_task(&ticket, TaskOptions::new(), now, &mut side.out).unwrap();
        side.client.disconnected(Cause::EndOfInput, side.now);
        let events = task_event_texts(side.outcomes());
        assert_eq!(events, ["left t-1 null", "Closed { cause: EndOfInput }"]);
        _ = side.sent();
        is_over(&mut side);
    }
}

/// A connection that is shut down does not wait for tasks, and stops polling them.
#[test]
fn draining_does_not_wait_for_tasks() {
    for (name, mut side, call, _) in steps() {
        if name == "to be cancelled" || side.client.in_flight().counts().inbound != 0 {
            continue;
        }
        side.client.shut_down(Duration::from_secs(5), side.now);
        let events = side.outcomes();
        let (ended, says) = ended(events.get(1).cloned());
        assert_eq!(ended, call, "{name}");
        assert!(says.starts_with("left t-1 {"), "{name}: {says}");
        assert_eq!(task_event_text(events.last().cloned()), "Closed { cause: ShutDown }");
        assert_eq!(events.len(), 3, "{name}: {events:?}");
        _ = side.sent();
        is_over(&mut side);
    }
}

/// While the connection drains another call, a response in flight still ends the task.
#[test]
fn a_draining_connection_receives_task_responses() {
    for has_reader in [false, true] {
        let (mut side, call) = with_task();
        _ = side.elapse(1_000);
        let other = side.call("prompts/get");
        assert_eq!(side.sent().len(), 2);
        side.client.shut_down(Duration::from_secs(5), side.now);
        assert_eq!(side.outcomes().len(), 1);
        if has_reader {
            let gone = side.receive(&result(3, &task("cancelled")));
            assert_eq!(ended(gone), (call, "TaskCancelled".into()));
        } else {
            assert_eq!(task_event_text(side.receive(&result(3, &task("working")))), "");
            assert_eq!(task_event_texts(side.elapse(2_000)), [""; 0]);
            assert_eq!(side.sent(), [""; 0], "it takes no more work");
        }
        assert_eq!(ended(side.receive(&result(4, r#"{"messages":[]}"#))).0, other);
        let mut events = task_event_texts(side.outcomes());
        assert_eq!(events.pop().unwrap(), "Closed { cause: ShutDown }");
        assert_eq!(events.len(), usize::from(!has_reader));
        is_over(&mut side);
    }
}

/// A ticket with a method that cannot become a task is refused and leaves no state.
#[test]
fn a_ticket_of_a_method_without_tasks_is_not_resumed() {
    let mut side = in_session();
    let resume = |side: &mut ClientSide, method: &str| {
        let ticket = TaskTicket::new("t-1", method);
        side.client.resume_task(&ticket, TaskOptions::new(), side.now, &mut side.out)
    };
    for method in ["tools/list", "tasks/get", "x/y", ""] {
        let refused = resume(&mut side, method);
        assert!(matches!(refused, Err(CallError::NotAllowed(_))), "{method}");
    }
    is_over(&mut side);
    side.client.disconnected(Cause::EndOfInput, side.now);
    assert_eq!(side.outcomes().len(), 1);
    assert_eq!(resume(&mut side, "tools/call"), Err(CallError::Closed));
    is_over(&mut side);
}

/// Resuming a task at a server without tasks ends the call with an error, and nothing is sent about it.
#[test]
fn a_server_without_tasks_is_not_asked() {
    let latest = Revision::V2025_11_25;
    let ticket = TaskTicket::new("t-1", "tools/call");
    let cases = [opening(latest, ""), opening(Revision::V2025_06_18, TASKS)];
    for answer in cases {
        for early in [true, false] {
            let mut side = begun(of_sessions());
            let resume = |side: &mut ClientSide| {
                let options = TaskOptions::new();
                side.client.resume_task(&ticket, options, side.now, &mut side.out).unwrap()
            };
            let resumed = early.then(|| resume(&mut side));
            let event = side.receive(&answer);
            assert!(matches!(event, Some(ClientEvent::Connected(_))), "{event:?}");
            let resumed = resumed.unwrap_or_else(|| resume(&mut side));
            let events = side.outcomes();
            assert_eq!(events.len(), 1, "{answer} {early} {events:?}");
            let (ended, says) = ended(events.into_iter().next());
            assert_eq!(ended, resumed);
            assert!(says.starts_with("CallError(NotAllowed("), "{says}");
            _ = side.sent();
            is_over(&mut side);
        }
    }
}

/// A task can be resumed before the connection is open, in each era.
#[test]
fn a_task_is_resumed_as_soon_as_the_connection_is_open() {
    let ticket = TaskTicket::new("t-1", "tools/call");
    for (config, answer, asked) in [
        (of_sessions(), opening(Revision::V2025_11_25, TASKS), about(3, "get")),
        (of_no_sessions(), discovery(EXTENSION), modern_task_request(3, "get")),
    ] {
        let mut side = begun(config);
        let now = side.now;
        let call = side.client.resume_task(&ticket, TaskOptions::new(), now, &mut side.out);
        assert_eq!(side.sent(), [""; 0]);
        drop(side.receive(&answer));
        assert_eq!(side.sent().last(), Some(&asked));
        assert_eq!(task_event_texts(side.outcomes()), [""; 0]);
        assert_eq!(ended(side.receive(&error(3, -32602))), (call.unwrap(), "TaskNotFound".into()));
        is_over(&mut side);
    }
    // The connection never opens.
    for shuts_down in [true, false] {
        let mut side = begun(of_sessions());
        let now = side.now;
        side.client.resume_task(&ticket, TaskOptions::new(), now, &mut side.out).unwrap();
        if shuts_down {
            side.client.shut_down(Duration::from_secs(5), side.now);
            _ = side.elapse(5_000);
        } else {
            side.client.disconnected(Cause::EndOfInput, side.now);
            let events = task_event_texts(side.outcomes());
            assert_eq!(events.iter().filter(|event| *event == "left t-1 null").count(), 1);
            assert!(events.iter().all(|event| event != "NotSent"), "{events:?}");
        }
        _ = side.sent();
        is_over(&mut side);
    }
}

/// Calls that are made before the capabilities of the server are known become tasks once they are known.
#[test]
fn calls_that_were_held_ask_for_tasks_where_that_can_be() {
    let hour = TaskOptions::new().ttl(Duration::from_secs(3_600));
    let plain = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t"}}"#;
    let asks = plain.replace(r#"{"name""#, r#"{"task":{"ttl":3600000},"name""#);
    let modern = modern_client_request(2, "tools/call", r#""name":"t""#);
    let refused = String::from("CallError(NotAllowed(");
    type Case = (fn() -> ClientConfig, String, TaskOptions, Result<String, String>);
    let latest = Revision::V2025_11_25;
    let cases: [Case; 7] = [
        (of_sessions, opening(latest, TASKS), hour, Ok(asks.clone())),
        (of_sessions, opening(latest, TASKS), hour.required(), Ok(asks)),
        (of_sessions, opening(latest, ""), hour, Ok(plain.into())),
        (of_sessions, opening(latest, ""), hour.required(), Err(refused.clone())),
        (of_sessions, opening(Revision::V2025_06_18, TASKS), hour, Ok(plain.into())),
        (of_sessions, opening(Revision::V2024_11_05, ""), hour.required(), Err(refused)),
        (of_no_sessions, discovery(EXTENSION), hour.required(), Ok(modern)),
    ];
    for (config, answer, options, expected) in cases {
        let mut side = begun(config());
        let call = call_with(&mut side, CallOptions::new().task(options));
        drop(side.receive(&answer));
        let sent = side.sent();
        let events = side.outcomes();
        match expected {
            Ok(request) => {
                assert_eq!(sent.last(), Some(&request));
                assert_eq!(task_event_texts(events), [""; 0]);
                assert_eq!(ended(side.receive(&error(2, -1))).0, call);
            }
            Err(start) => {
                assert!(sent.iter().all(|sent| !sent.contains("tools/call")));
                let (ended, says) = ended(events.into_iter().next());
                assert_eq!(ended, call);
                assert!(says.starts_with(&start), "{says}");
            }
        }
        is_over(&mut side);
    }
}

/// A handle of the last connection is invalid on the next one.
/// Pain 87.
#[test]
fn handles_of_the_last_connection_are_stale() {
    let (side, call) = with_task();
    let mut next = ClientSide::with(side.client.config().clone());
    next.client = side.client.reconnect(ConnectionNumber::new(1));
    next.client.connect(next.now, &mut next.out).unwrap();
    drop(next.receive(&opening(Revision::V2025_11_25, TASKS)));
    let ticket = TaskTicket::new("t-1", "tools/call");
    let now = next.now;
    next.client.resume_task(&ticket, TaskOptions::new(), now, &mut next.out).unwrap();
    assert_eq!(next.client.cancel_task(call, now, &mut next.out), Err(CallError::NotATask));
    assert!(next.client.cancel(call, None, &mut next.out).is_err());
}
