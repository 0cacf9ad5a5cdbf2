//! When tasks are polled, and for how long.

use std::time::Duration;

use mcp_sansio::call::{ExchangeEnd, TaskOptions, Timeout};
use mcp_sansio::error::{TransportFailure, TransportFailureKind};
use mcp_sansio::json::Raw;
use mcp_sansio::{
    CallId, CallOptions, Client, ClientEvent, Instant, Outbox, Outboxes, Revision, Route,
};
use mcp_sansio_proptests::ClientSide;

use super::kit::*;

/// Waits for the next `tasks/get`, with this id, and returns the wait in milliseconds.
#[track_caller]
fn waits(side: &mut ClientSide, id: u64) -> u64 {
    let due = side.client.poll_timeout().unwrap();
    let wait = due - side.now;
    let milliseconds = u64::try_from(wait.as_millis()).unwrap();
    if 0 < milliseconds {
        assert_eq!(task_event_texts(side.elapse(milliseconds - 1)), [""; 0]);
        assert_eq!(side.sent(), [""; 0]);
        assert_eq!(task_event_texts(side.elapse(1)), [""; 0]);
    }
    assert_eq!(side.sent(), [about(id, "get")]);
    milliseconds
}

/// Proves L-TASK-36, M-TASKX-48, M-TASKX-57: the latest interval of the server counts, and without one the interval
/// grows.
#[test]
fn the_latest_interval_counts() {
    let (mut side, _) = with_task();
    let rounds = [
        (r#","pollInterval":2500"#, 1_000),
        (r#","pollInterval":300"#, 2_500),
        (r#","pollInterval":1500.0"#, 300),
        (r#","pollInterval":0"#, 1_500),
        ("", 5_000),
        (r#","pollInterval":-5"#, 5_000),
        (r#","pollInterval":"soon""#, 5_000),
        (r#","pollInterval":1"#, 5_000),
        (r#","pollInterval":18446744073709551615"#, 10),
        (r#","pollInterval":1000"#, 3_600_000),
    ];
    for (id, (interval, wait)) in (3..).zip(rounds) {
        assert_eq!(waits(&mut side, id), wait, "before {interval}");
        assert_eq!(
            task_event_text(side.receive(&result(id, &task_with("working", "00", interval)))),
            ""
        );
    }
}

/// Proves L-TASK-36, M-TASKX-48 if the server names no interval: the first wait is one second, then the waits grow,
/// or the interval of the application applies.
#[test]
fn without_an_interval_it_is_asked_less_and_less_often() {
    let often = TaskOptions::new().poll_interval(Duration::from_millis(70));
    for (options, expected) in
        [(TaskOptions::new(), [1_000, 2_000, 4_000, 5_000, 5_000]), (often, [70; 5])]
    {
        let mut side = in_session();
        call_with(&mut side, CallOptions::new().task(options));
        assert_eq!(side.sent().len(), 1);
        let answer = format!(r#"{{"task":{}}}"#, task_with("working", "00", ""));
        assert_eq!(task_event_text(side.receive(&result(2, &answer))), "task t-1 working");
        for (id, wait) in (3..).zip(expected) {
            assert_eq!(waits(&mut side, id), wait);
            assert_eq!(
                task_event_text(side.receive(&result(id, &task_with("working", "00", "")))),
                ""
            );
        }
    }
}

/// Proves L-TASK-36, M-TASKX-48: the interval of the server takes precedence over that of the application.
#[test]
fn the_interval_of_the_server_counts_first() {
    let often = TaskOptions::new().poll_interval(Duration::from_millis(70));
    let mut side = in_session();
    call_with(&mut side, CallOptions::new().task(often));
    assert_eq!(side.sent().len(), 1);
    let answer = format!(r#"{{"task":{}}}"#, task_with("working", "00", r#","pollInterval":900"#));
    assert_eq!(task_event_text(side.receive(&result(2, &answer))), "task t-1 working");
    assert_eq!(waits(&mut side, 3), 900);
    assert_eq!(task_event_text(side.receive(&result(3, &task_with("working", "00", "")))), "");
    assert_eq!(waits(&mut side, 4), 70, "the server names none any more");
}

/// Proves L-TASK-35, M-TASKX-48 while a person is asked: polling continues as usual, because the task may have
/// ended elsewhere.
#[test]
fn a_task_is_asked_about_while_a_person_thinks() {
    let (mut side, call) = with_task();
    let (asked, _) = question(side.receive(&nested(70)));
    for id in 3..6 {
        assert_eq!(waits(&mut side, id), 1_000);
        assert_eq!(task_event_text(side.receive(&result(id, &task("working")))), "");
    }
    assert_eq!(waits(&mut side, 6), 1_000);
    assert_eq!(ended(side.receive(&result(6, &task("cancelled")))), (call, "TaskCancelled".into()));
    side.respond(asked, ANSWER);
    assert_eq!(side.sent().len(), 1);
    assert_eq!(task_event_texts(side.outcomes()), [""; 0]);
    is_over(&mut side);
}

/// The same while the application has paused the timers of its calls.
#[test]
fn a_task_is_asked_about_while_calls_do_not_age() {
    let (mut side, _) = with_task();
    side.client.set_paused(true, side.now);
    assert_eq!(waits(&mut side, 3), 1_000);
    assert_eq!(task_event_text(side.receive(&result(3, &task("working")))), "");
    side.client.set_paused(false, side.now);
    assert_eq!(waits(&mut side, 4), 1_000);
}

/// Proves L-TASK-56 for notifications without a change: repeated notifications do not postpone polling.
#[test]
fn repeated_news_does_not_put_off_the_question() {
    for older in ["00", "01"] {
        let (mut side, _) = with_task();
        let current = task_with("working", "01", r#","pollInterval":1000"#);
        assert_eq!(task_event_text(side.receive(&status(&current))), "task t-1 working");
        for _ in 0..9 {
            assert_eq!(task_event_texts(side.elapse(100)), [""; 0]);
            let again = task_with("working", older, r#","pollInterval":1000"#);
            assert_eq!(task_event_text(side.receive(&status(&again))), "");
        }
        assert_eq!(task_event_texts(side.elapse(100)), [""; 0]);
        assert_eq!(side.sent(), [about(3, "get")]);
    }
    // A shorter interval takes effect at once.
    let (mut side, _) = with_task();
    _ = side.elapse(100);
    let faster = task_with("working", "00", r#","pollInterval":200"#);
    assert_eq!(task_event_text(side.receive(&status(&faster))), "");
    assert_eq!(waits(&mut side, 3), 200);
}

/// Proves L-AMB-54: the timeouts of a call cover the time until the task exists, not the task.
#[test]
fn a_task_takes_as_long_as_it_takes() {
    let (mut side, call) = with_task();
    for id in 3..40 {
        let slow = task_with("working", "00", r#","pollInterval":600000"#);
        _ = waits(&mut side, id);
        assert_eq!(task_event_text(side.receive(&result(id, &slow))), "");
    }
    assert!(side.client.in_flight().is_pending(call));
}

/// Proves M-TASKX-55, M-TASKX-57: a task that has not ended within its `ttl`, measured from its receipt, is lost.
#[test]
fn a_task_that_outlives_its_time_is_lost() {
    let with = |ttl: &str| task_with("working", "00", "").replace(r#""ttl":null"#, ttl);
    let cases = [
        (r#""ttl":3000"#, None, 3_000),
        (r#""ttl":3000.5"#, None, 3_000),
        (r#""ttl":0"#, None, 0),
        (r#""ttl":500"#, None, 500),
        // The latest value counts.
        (r#""ttl":60000"#, Some(r#""ttl":2500"#), 2_500),
        (r#""ttl":2500"#, Some(r#""ttl":60000"#), 60_000),
    ];
    for (ttl, later, lost_at) in cases {
        let mut side = in_session();
        let call = call(&mut side);
        let created = result(2, &format!(r#"{{"task":{}}}"#, with(ttl)));
        assert_eq!(task_event_text(side.receive(&created)), "task t-1 working");
        let begun = side.now;
        let mut later = later;
        loop {
            side.now = side.client.poll_timeout().unwrap().max(side.now);
            let mut events = side.outcomes();
            if let Some(event) = events.pop() {
                assert_eq!(ended(Some(event)), (call, "TaskNotFound".into()));
                assert_eq!(side.now - begun, Duration::from_millis(lost_at), "{ttl}");
                break;
            }
            for sent in side.sent().iter().filter(|sent| sent.contains("tasks/get")) {
                let id: serde_json::Value = serde_json::from_str(sent).unwrap();
                let now = with(later.take().unwrap_or(ttl));
                let now = if lost_at == 60_000 { now.replace(ttl, r#""ttl":60000"#) } else { now };
                let now = if lost_at == 2_500 { now.replace(ttl, r#""ttl":2500"#) } else { now };
                assert_eq!(
                    task_event_text(side.receive(&result(id["id"].as_u64().unwrap(), &now))),
                    ""
                );
            }
        }
        _ = side.sent();
    }
    // A task without a `ttl` is never lost.
    let (mut side, call) = with_task();
    for id in 3..50 {
        _ = waits(&mut side, id);
        let slow = task_with("working", "00", r#","pollInterval":3600000"#);
        assert_eq!(task_event_text(side.receive(&result(id, &slow))), "");
    }
    assert!(side.client.in_flight().is_pending(call));
}

/// The `ttl` of a task that has ended is not the time for its result.
///
/// Proves M-TASKX-55.
#[test]
fn a_task_that_has_ended_is_not_lost_before_its_result_came() {
    let (mut side, call) = with_task();
    _ = side.elapse(1_000);
    assert_eq!(side.sent(), [about(3, "get")]);
    let done = task("completed").replace(r#""ttl":null"#, r#""ttl":1500"#);
    assert_eq!(task_event_text(side.receive(&result(3, &done))), "task t-1 completed");
    assert_eq!(side.sent(), [about(4, "result")]);
    assert_eq!(task_event_texts(side.elapse(10_000)), [""; 0]);
    assert_eq!(ended(side.receive(&result(4, DONE))), (call, format!("result {DONE}")));
    is_over(&mut side);
}

/// An outbox that knows the latest call that was sent.
struct Noting {
    out: Outbox,
    latest: Option<CallId>,
}

impl Outboxes for Noting {
    fn outbox(&mut self, route: Route) -> &mut Outbox {
        if let Route::Call(call) = route {
            self.latest = Some(call);
        }
        &mut self.out
    }
}

impl Noting {
    fn sent(&mut self) -> Vec<String> {
        let messages = self.out.messages();
        messages.map(|message| String::from_utf8(message.to_vec()).unwrap()).collect()
    }
}

/// A failure of the transport is not the outcome of a task: its result is requested again, a few times.
///
/// Proves L-TASK-40.
#[test]
fn a_broken_exchange_loses_no_result() {
    for breaks in [1, 5] {
        let (ClientSide { mut client, out, mut now, .. }, call) = with_task();
        let (mut noting, mut id) = (Noting { out, latest: None }, 3);
        let mut asks_for_result = |client: &mut Client, noting: &mut Noting| {
            now = now + Duration::from_secs(60);
            assert_eq!(client.handle_timeout(now, noting), None);
            assert_eq!(noting.sent(), [about(id, "get")]);
            _ = client.receive(result(id, &task("completed")).as_str(), now, noting);
            assert_eq!(noting.sent(), [about(id + 1, "result")]);
            id += 2;
            (now, id - 1)
        };
        let mut event = None;
        for _ in 0..breaks {
            assert_eq!(event, None);
            let (now, _) = asks_for_result(&mut client, &mut noting);
            let failure = TransportFailure::new(TransportFailureKind::BrokenOff);
            let (poll, end) = (noting.latest.unwrap(), ExchangeEnd::Failure(failure));
            event = client.exchange_ended(poll, end, now, &mut noting).map(ClientEvent::into_owned);
        }
        if breaks == 5 {
            let (ended, outcome) = ended(event);
            assert!(ended == call && outcome.starts_with("TransportFailed"), "{outcome}");
        } else {
            let (now, id) = asks_for_result(&mut client, &mut noting);
            let done = result(id, DONE);
            let event = client.receive(done.as_str(), now, &mut noting);
            assert_eq!(ended(event.map(ClientEvent::into_owned)), (call, format!("result {DONE}")));
        }
    }
}

/// The server of a task may ask for input only on an open request for the result, so that is opened again whenever its
/// exchange has broken off.
///
/// Proves L-TASK-47, L-RACE-42 for clients.
#[test]
fn a_broken_exchange_is_opened_again_for_input() {
    let (ClientSide { mut client, out, mut now, .. }, _) = with_task();
    let mut noting = Noting { out, latest: None };
    for id in (3..30).step_by(2) {
        now = now + Duration::from_secs(60);
        assert_eq!(client.handle_timeout(now, &mut noting), None);
        assert_eq!(noting.sent(), [about(id, "get")]);
        let waits = result(id, &task("input_required"));
        _ = client.receive(waits.as_str(), now, &mut noting);
        assert_eq!(noting.sent(), [about(id + 1, "result")]);
        let failure = TransportFailure::new(TransportFailureKind::BrokenOff);
        let (poll, end) = (noting.latest.unwrap(), ExchangeEnd::Failure(failure));
        assert_eq!(client.exchange_ended(poll, end, now, &mut noting), None);
    }
}

/// A task whose `ttl` has passed is not polled.
#[test]
fn a_task_whose_time_is_over_is_not_asked_about() {
    let mut side = in_session();
    call(&mut side);
    let short = task("working").replace(r#""ttl":null"#, r#""ttl":5000"#);
    assert_eq!(
        task_event_text(side.receive(&result(2, &format!(r#"{{"task":{short}}}"#)))),
        "task t-1 working"
    );
    _ = side.sent();
    assert_eq!(task_event_texts(side.elapse(3_600_000)), ["TaskNotFound"]);
    is_over(&mut side);
}

/// An unanswered `tasks/get` is repeated at growing intervals, five times in total.
#[test]
fn unanswered_questions_are_asked_again_a_few_times() {
    for answer in ["", "error", "nothing", "another"] {
        let (mut side, call) = with_task();
        let mut wait = 1_000;
        for id in 3..8 {
            assert_eq!(waits(&mut side, id), wait, "{answer} {id}");
            let says = match answer {
                "" => {
                    let events = side.elapse(60_000);
                    assert_eq!(side.sent(), [timed_out(id)]);
                    task_event_texts(events).pop().unwrap_or_default()
                }
                "error" => task_event_text(side.receive(&error(id, -32603))),
                "nothing" => task_event_text(side.receive(&result(id, "{}"))),
                _ => {
                    let other = task("completed").replace("t-1", "t-2");
                    task_event_text(side.receive(&result(id, &other)))
                }
            };
            if id < 7 {
                assert_eq!(says, "");
                wait *= 2;
                continue;
            }
            let expected = match answer {
                "" => "TimedOut(Idle)",
                "error" => "error -32603",
                _ => "malformed InvalidResult",
            };
            assert_eq!(says, expected);
            assert!(!side.client.in_flight().is_pending(call));
        }
        is_over(&mut side);
    }
}

/// A silent server is also given up while a person is asked, possibly about something else. Each request waits as
/// long as a call may wait for a person.
#[test]
fn a_silent_server_is_given_up_while_a_person_thinks() {
    let (mut side, call) = with_task();
    _ = question(side.receive(&nested(70)));
    let mut wait = 1_000;
    for id in 3..8 {
        assert_eq!(waits(&mut side, id), wait, "{id}");
        wait *= 2;
        assert_eq!(task_event_texts(side.elapse(900_000 - 1_000)), [""; 0], "{id}");
        let events = task_event_texts(side.elapse(61_000));
        assert_eq!(side.sent().first(), Some(&timed_out(id)));
        assert_eq!(events, if id < 7 { vec![] } else { vec!["TimedOut(Idle)"] });
    }
    assert!(!side.client.in_flight().is_pending(call));
}

/// One valid response resets the count of failures.
#[test]
fn only_failures_in_a_row_count() {
    let (mut side, call) = with_task();
    for id in 3..40 {
        _ = waits(&mut side, id);
        let answer = if id % 4 == 0 { result(id, &task("working")) } else { error(id, -32603) };
        assert_eq!(task_event_text(side.receive(&answer)), "");
    }
    assert!(side.client.in_flight().is_pending(call));
}

/// Proves L-TIME-08, L-RACE-42: `tasks/result` has its own timeout, which ends that request and not the task. It is
/// sent again later.
#[test]
fn a_tasks_result_timeout_does_not_end_the_task() {
    // The result of a completed task can be returned at once.
    for (end, patience) in [("input_required", 600_000), ("completed", 60_000)] {
        let (mut side, call) = with_task();
        let slow = |status| task_with(status, "01", r#","pollInterval":3600000"#);
        drop(side.receive(&status(&slow(end))));
        assert_eq!(side.sent(), [about(3, "result")]);
        assert_eq!(task_event_texts(side.elapse(patience - 1)), [""; 0]);
        assert_eq!(side.sent(), [""; 0]);
        assert_eq!(task_event_texts(side.elapse(1)), [""; 0]);
        assert_eq!(side.sent(), [timed_out(3)]);
        assert!(side.client.in_flight().is_pending(call));
        assert_eq!(task_event_text(side.receive(&result(3, DONE))), "unmatched TimedOut");
        _ = waits(&mut side, 4);
        assert_eq!(task_event_text(side.receive(&result(4, &slow(end)))), "");
        assert_eq!(side.sent(), [about(5, "result")]);
        assert_eq!(ended(side.receive(&result(5, DONE))).0, call);
        is_over(&mut side);
    }
}

/// The machine never requests a wake-up without work that is due.
#[test]
fn time_never_stands_at_something_that_is_not_done() {
    let (mut side, _) = with_task();
    for _ in 0..30 {
        let due = side.client.poll_timeout().unwrap();
        assert!(side.now < due && Instant::EPOCH < due);
        side.now = due;
        _ = side.outcomes();
        _ = side.sent();
        if side.client.in_flight().counts().outbound == 0 {
            return;
        }
    }
    panic!("a server that never answers is asked for ever");
}

/// An explicit total timeout of a call also covers its task, which ends with it.
#[test]
fn a_call_that_has_a_time_of_its_own_keeps_it_as_a_task() {
    for (total, ends) in
        [(Timeout::After(Duration::from_secs(30)), true), (Timeout::Default, false)]
    {
        let mut side = in_session();
        let options = CallOptions::new().task(TaskOptions::new()).total(total);
        let call = call_with(&mut side, options);
        _ = side.sent();
        drop(side.receive(&created(2, "working")));
        let mut id = 3;
        let mut ended = Vec::new();
        for _ in 0..40 {
            ended.extend(task_event_texts(side.elapse(1_000)));
            if side.sent().contains(&about(id, "get")) {
                drop(side.receive(&result(id, &task("working"))));
                id += 1;
            }
        }
        assert_eq!(side.client.in_flight().is_pending(call), !ends);
        let expected: &[&str] = if ends { &["TimedOut(Total)"] } else { &[] };
        assert_eq!(ended, expected);
    }
}

/// The same if the result was requested while the task ran, when the wait is unlimited.
#[test]
fn a_call_ends_if_an_early_tasks_result_gets_no_response() {
    let mut config = of_sessions();
    config.connection.timeouts.total = None;
    let idle = config.connection.timeouts.idle.unwrap();
    let mut side = in_session_with(config, Revision::V2025_11_25, TASKS);
    let call = call(&mut side);
    _ = side.sent();
    drop(side.receive(&created(2, "input_required")));
    assert_eq!(side.sent(), [about(3, "result")]);
    drop(side.receive(&status(&task("completed"))));
    let mut asked = vec![about(3, "result")];
    for _ in 0..100 {
        if !side.client.in_flight().is_pending(call) {
            break;
        }
        drop(side.elapse(u64::try_from(idle.as_millis()).unwrap()));
        asked.extend(side.sent());
    }
    assert!(!side.client.in_flight().is_pending(call), "{asked:?}");
    is_over(&mut side);
}

/// A server that reports the end of a task but never its result does not keep the call open without end.
#[test]
fn a_call_ends_if_a_completed_task_never_returns_a_result() {
    let (mut side, call) = with_task();
    _ = side.elapse(1_000);
    _ = side.sent();
    drop(side.receive(&result(3, &task("completed"))));
    let mut seconds = 0;
    while side.client.in_flight().is_pending(call) {
        seconds += 1;
        assert!(seconds < 3_600, "an hour is enough");
        drop(side.elapse(1_000));
        for message in side.sent() {
            let message = Raw::new(&message).unwrap();
            if message.get("method").is_some_and(|name| name.as_json() == "\"tasks/get\"") {
                let id = message.get("id").unwrap().as_json().parse().unwrap();
                drop(side.receive(&result(id, &task("completed"))));
            }
        }
    }
    is_over(&mut side);
}
