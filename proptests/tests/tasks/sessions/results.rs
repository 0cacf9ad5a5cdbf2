//! The outcome of a task, for requests after the end and for waiting requests.

use mcp_sansio::event::CancelCause;
use mcp_sansio::json::Raw;
use mcp_sansio::model::InputRequired;
use mcp_sansio::progress::{Progress, ProgressReport};
use mcp_sansio::schema::EncodeError;
use mcp_sansio::task::{NewTask, TaskError, Tasks};
use mcp_sansio::{ErrorCode, IncomingId, RespondError};
use mcp_sansio_proptests::ServerSide;

use crate::sessions::kit::{
    Host, Reaction, Stage, WITH_TASKS, about, cancelled, changed, error, on_both, result,
    result_of, shown, unknown, was_cancelled,
};

/// Proves L-TASK-38, L-TASK-41, L-ERR-35, L-AMB-19: the result is that of the original request and names its task;
/// an error is the same error, unchanged.
#[test]
fn tasks_result_returns_the_original_result_or_error() {
    fn check<H: Host>() {
        let mut stage = Stage::<H>::quiet();
        let key = stage.begin("a");
        stage.complete(key);
        assert_eq!(stage.answers(&about("1", "result", "a")), [result_of::<H>("1", "a")]);
        let key = stage.begin("b");
        let now = stage.now();
        let (code, data) = (ErrorCode::new(-32050), Raw::new(r#"{"z":[1,{"a":null}]}"#).unwrap());
        stage.tasks.fail_with(key, code, "no \"disk\"", &data, now).unwrap();
        let expected = r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32050,"message":"no \"disk\"","data":{"z":[1,{"a":null}]}}}"#;
        assert_eq!(stage.answers(&about("2", "result", "b")), [expected]);
        let key = stage.begin("c");
        stage.tasks.fail(key, ErrorCode::new(0), "", now).unwrap();
        assert_eq!(stage.answers(&about("3", "result", "c")), [error("3", 0, "")]);
    }
    on_both!(check);
}

/// Proves L-TASK-41: the metadata of a result is kept, except for the related task.
#[test]
fn the_metadata_of_a_result_stays() {
    fn check<H: Host>() {
        let members = H::RESULT.strip_suffix('}').unwrap();
        let tag = r#""io.modelcontextprotocol/related-task":{"taskId":"a"}"#;
        let cases = [
            (r#"{"b":1}"#, format!(r#"{{{tag},"b":1}}"#)),
            (r#"{}"#, format!("{{{tag}}}")),
            (
                r#"{"io.modelcontextprotocol/related-task":{"taskId":"x"},"b":1}"#,
                format!(r#"{{{tag},"b":1}}"#),
            ),
        ];
        for (meta, expected) in cases {
            let mut stage = Stage::<H>::quiet();
            let key = stage.begin("a");
            let (now, outcome) = (stage.now(), format!(r#"{members},"_meta":{meta}}}"#));
            stage.tasks.complete(key, &Raw::new(&outcome).unwrap(), now).unwrap();
            let answers = stage.answers(&about("1", "result", "a"));
            assert_eq!(answers, [result("1", format!(r#"{members},"_meta":{expected}}}"#))]);
        }
    }
    on_both!(check);
}

/// Members of the application stay, also `resultType`, which sessions do not define.
#[test]
fn a_result_type_of_the_application_stays() {
    let mut stage = Stage::<ServerSide>::quiet();
    let key = stage.begin("a");
    let (now, members) = (stage.now(), r#"{"resultType":"complete","content":[]"#);
    let outcome = format!("{members}}}");
    stage.tasks.complete(key, &Raw::new(&outcome).unwrap(), now).unwrap();
    let meta = r#""_meta":{"io.modelcontextprotocol/related-task":{"taskId":"a"}}"#;
    let expected = result("1", format!("{members},{meta}}}"));
    assert_eq!(stage.answers(&about("1", "result", "a")), [expected]);
}

/// An id is written as a JSON string.
#[test]
fn an_id_is_written_as_json() {
    let mut stage = Stage::<ServerSide>::quiet();
    let key = stage.begin("say \"a\"\n");
    stage.complete(key);
    let task = r#"say \"a\"\n"#;
    assert_eq!(stage.answers(&about("1", "result", task)), [result_of::<ServerSide>("1", task)]);
}

/// Proves L-TASK-39, L-TASK-40, L-RACE-41: each `tasks/result` before the end waits for it and gets one response of
/// its own. The result can be requested again.
#[test]
fn a_result_is_waited_for() {
    fn check<H: Host>() {
        let mut stage = Stage::<H>::quiet();
        let key = stage.begin("a");
        for id in ["1", r#""1""#, "2"] {
            assert_eq!(stage.answers(&about(id, "result", "a")), [""; 0]);
        }
        assert_eq!(stage.host.machine().in_flight().requests().count(), 3);
        let now = stage.now();
        stage.tasks.set_message(key, Some("half"), now).unwrap();
        assert_eq!(stage.settled_messages(), [""; 0]);
        stage.complete(key);
        assert_eq!(stage.tasks.next_connection(), Some(stage.host.machine().connection_number()));
        let all = ["1", r#""1""#, "2"].map(|id| result_of::<H>(id, "a"));
        assert_eq!(stage.settled_messages(), all);
        assert_eq!(
            (stage.tasks.next_connection(), stage.host.machine().in_flight().requests().count()),
            (None, 0)
        );
        assert_eq!(stage.settled_messages(), [""; 0]);
        for id in ["1", "2"] {
            assert_eq!(stage.answers(&about(id, "result", "a")), [result_of::<H>(id, "a")]);
        }
    }
    on_both!(check);
}

/// Proves L-TASK-42, L-ERR-34, L-AMB-18: a cancelled task has no result but an error.
#[test]
fn a_cancelled_task_has_no_result() {
    fn check<H: Host>() {
        for by_requestor in [false, true] {
            let mut stage = Stage::<H>::quiet();
            let key = stage.begin("a");
            let now = stage.now();
            if by_requestor {
                stage.serve(&about("0", "cancel", "a"));
                stage.sent();
            } else {
                stage.tasks.cancel(key, now).unwrap();
            }
            assert_eq!(stage.answers(&about("1", "result", "a")), [was_cancelled("1")]);
            assert_eq!(stage.answers(&about("2", "result", "a")), [was_cancelled("2")]);
        }
    }
    on_both!(check);
}

/// Proves L-RACE-40, L-TASK-66, L-TASK-70: the task becomes `cancelled`, then the cancellation is answered, then
/// the change is sent, then the waiting requests are answered.
#[test]
fn a_task_cancellation_is_answered_before_waiting_requests() {
    fn check<H: Host>() {
        let mut stage = Stage::<H>::new();
        stage.begin("a");
        stage.serve(&about("1", "result", "a"));
        stage.serve(&about("2", "result", "a"));
        stage.pass(1);
        let over = shown("a", "cancelled").updated(1);
        let expected = [result("3", &over), changed(&over), was_cancelled("1"), was_cancelled("2")];
        assert_eq!(stage.answers(&about("3", "cancel", "a")), expected);
        assert_eq!(stage.host.machine().in_flight().requests().count(), 0);
        assert_eq!(stage.answers(&about("4", "get", "a")), [result("4", over)]);
    }
    on_both!(check);
}

/// Proves L-TASK-44, L-RACE-43: when a task is forgotten, the waiting requests get the error for an unknown task.
#[test]
fn requests_waiting_for_a_removed_task_get_an_error() {
    fn check<H: Host>() {
        for expires in [false, true] {
            let mut stage = Stage::<H>::quiet();
            let key = stage.begin_new(r#""task":{"ttl":5000}"#, NewTask::new("a"));
            stage.serve(&about("1", "result", "a"));
            stage.serve(&about("2", "result", "a"));
            stage.pass(5);
            if expires {
                let now = stage.now();
                assert!(stage.tasks.handle_timeout(now).is_some());
            } else {
                assert!(stage.tasks.remove(key));
            }
            assert_eq!(stage.settled_messages(), [unknown("1"), unknown("2")]);
            for what in ["get", "result", "cancel"] {
                assert_eq!(stage.answers(&about("3", what, "a")), [unknown("3")]);
            }
        }
    }
    on_both!(check);
}

/// Proves L-CANCEL-18, L-RACE-42: a request about a task is cancelled like any other, which affects neither the
/// task nor other waiting requests.
#[test]
fn waiting_can_be_cancelled() {
    fn check<H: Host>() {
        let mut stage = Stage::<H>::quiet();
        let key = stage.begin("a");
        stage.serve(&about("1", "result", "a"));
        stage.serve(&about("2", "result", "a"));
        let reaction = stage.receive(&cancelled("1"));
        assert!(matches!(reaction, Reaction::Cancelled(_, CancelCause::Peer)), "{reaction:?}");
        assert_eq!(stage.settled_messages(), [""; 0]);
        assert_eq!(stage.answers(&about("3", "get", "a")), [result("3", shown("a", "working"))]);
        // A request that has not been served yet.
        for (what, members) in [("get", "a"), ("cancel", "a"), ("result", "a")] {
            let Reaction::Task(request, call) = stage.receive(&about("4", what, members)) else {
                panic!()
            };
            assert!(matches!(stage.receive(&cancelled("4")), Reaction::Cancelled(..)));
            let served = stage.host.serve(request, &call, &mut stage.tasks);
            assert_eq!(served, Err(RespondError::Cancelled), "{what}");
        }
        assert_eq!(stage.sent(), [""; 0]);
        stage.serve(&about("1", "result", "a"));
        stage.complete(key);
        assert_eq!(stage.settled_messages(), [result_of::<H>("2", "a"), result_of::<H>("1", "a")]);
    }
    on_both!(check);
}

/// Proves L-RACE-42: repeated `tasks/result` requests that are cancelled leave no state.
#[test]
fn waiting_again_and_again_takes_no_room() {
    fn check<H: Host>() {
        let mut stage = Stage::<H>::quiet();
        let key = stage.begin("a");
        let mut longest = 0;
        for _ in 0..1_000 {
            stage.serve(&about("1", "result", "a"));
            assert!(matches!(stage.receive(&cancelled("1")), Reaction::Cancelled(..)));
            // The debug output contains the handles of waiting requests.
            longest = longest.max(format!("{:?}", stage.tasks).len());
        }
        assert!(longest < 2_000, "{longest}");
        assert_eq!(stage.sent(), [""; 0]);
        stage.complete(key);
        assert_eq!(stage.settled_messages(), [""; 0]);
        assert_eq!(stage.tasks.next_connection(), None);
    }
    on_both!(check);
}

/// Proves L-RACE-41: a response without room leaves once there is room, followed by the others.
#[test]
fn an_answer_may_have_to_wait_for_room() {
    fn check<H: Host>() {
        let host = H::host_with(WITH_TASKS, |config| {
            config.limits.outbox_bytes = 400;
            config.limits.reserve_bytes = 100;
        });
        let mut stage = Stage::of(host, Tasks::default());
        let key = stage.begin("a");
        for id in ["1", "2", "3", "4", "5", "6"] {
            stage.serve(&about(id, "result", "a"));
        }
        stage.complete(key);
        let mut delivered = Vec::new();
        let mut rounds = 0;
        while stage.tasks.next_connection().is_some() {
            stage.settle();
            let bytes: usize = stage.host.out().unsent().len();
            assert!(0 < bytes && bytes <= 400, "{bytes}");
            // Without room no message is sent, and none is repeated.
            stage.settle();
            assert_eq!(stage.host.out().unsent().len(), bytes);
            delivered.extend(stage.sent());
            rounds += 1;
        }
        let mut expected = vec![changed(shown("a", "completed"))];
        expected.extend(["1", "2", "3", "4", "5", "6"].map(|id| result_of::<H>(id, "a")));
        assert_eq!(delivered, expected);
        assert!(1 < rounds);
        assert_eq!(stage.host.machine().in_flight().requests().count(), 0);
    }
    on_both!(check);
}

/// A request about a task whose response has no room stays open; a cancellation is answered nevertheless.
#[test]
fn a_full_outbox_delays_task_responses_but_not_cancellation() {
    fn check<H: Host>() {
        let host = H::host_with(WITH_TASKS, |config| config.limits.outbox_bytes = 500);
        let mut stage = Stage::of(host, Tasks::default());
        stage.begin("a");
        stage.serve(&about("1", "get", "a"));
        stage.serve(&about("2", "get", "a"));
        let Reaction::Task(request, call) = stage.receive(&about("3", "get", "a")) else {
            panic!()
        };
        let full = Err(RespondError::Encode(EncodeError::Full));
        assert_eq!(stage.host.serve(request, &call, &mut stage.tasks), full);
        assert_eq!(stage.host.machine().in_flight().requests().count(), 1);
        let news = stage.serve(&about("4", "cancel", "a"));
        let key = stage.tasks.find("a").unwrap();
        assert_eq!(news, Some(mcp_sansio::task::TaskNews::Cancelled(key)));
        let sent = stage.sent();
        assert_eq!((sent.len(), &sent[2]), (3, &result("4", shown("a", "cancelled"))));
        stage.host.serve(request, &call, &mut stage.tasks).unwrap();
        let over = shown("a", "cancelled");
        assert_eq!(stage.sent(), [result("3", &over), changed(&over)]);
    }
    on_both!(check);
}

/// Proves L-RACE-44: the outcome of a task is lost with the task.
#[test]
fn an_unfetched_task_result_expires_with_its_task() {
    fn check<H: Host>() {
        let mut stage = Stage::<H>::quiet();
        let key = stage.begin_new(r#""task":{"ttl":5000}"#, NewTask::new("a"));
        stage.serve(&about("1", "result", "a"));
        stage.complete(key);
        stage.pass(5);
        let now = stage.now();
        assert!(stage.tasks.handle_timeout(now).is_some());
        // The task completed, but it was forgotten before the outcome was sent.
        assert_eq!(stage.settled_messages(), [unknown("1")]);
        assert_eq!(stage.answers(&about("2", "result", "a")), [unknown("2")]);
    }
    on_both!(check);
}

/// A value that does not match the method, is too long or asks for input is no result, and the task continues.
#[test]
fn a_task_continues_after_an_invalid_result() {
    let mut stage = Stage::<ServerSide>::with(|config| config.result_bytes = 60);
    let key = stage.begin("a");
    let now = stage.now();
    let needed = InputRequired::new().roots("k");
    assert!(stage.tasks.complete(key, &needed, now).is_err());
    for asks in [r#""requestState":"s""#, r#""inputRequests":{}"#] {
        let asks = format!(r#"{{"content":[],{asks}}}"#);
        let completed = stage.tasks.complete(key, &Raw::new(&asks).unwrap(), now);
        assert_eq!(completed, Err(TaskError::NotAResult), "{asks}");
    }
    for bad in [r#"{"content":7}"#, "[]", "7"] {
        let completed = stage.tasks.complete(key, &Raw::new(bad).unwrap(), now);
        assert!(matches!(completed, Err(TaskError::Encode(_))), "{bad} {completed:?}");
    }
    let long = mcp_sansio::model::CallToolResult::text("0123456789012345678901234567890123456789");
    let completed = stage.tasks.complete(key, &long, now);
    assert_eq!(completed, Err(TaskError::Encode(EncodeError::Full)));
    assert_eq!((stage.settled_messages().len(), stage.tasks.get(key).unwrap().result()), (0, None));
    stage.complete(key);
    assert!(stage.tasks.get(key).unwrap().result().is_some());
    assert_eq!(stage.settled_messages(), [changed(shown("a", "completed"))]);
}

/// Proves L-PROG-13 for requests about tasks: a delayed report is sent before the response.
#[test]
fn delayed_progress_is_sent_before_the_result_of_a_task() {
    let second = std::time::Duration::from_secs(1);
    let host = ServerSide::host_with(WITH_TASKS, |config| config.progress_interval = Some(second));
    let mut stage = Stage::of(host, Tasks::default());
    let key = stage.begin("a");
    let waits = r#"{"jsonrpc":"2.0","id":1,"method":"tasks/result","params":{"taskId":"a","_meta":{"progressToken":7}}}"#;
    stage.serve(waits);
    let ServerSide { server, out, now, .. } = &mut stage.host;
    let waiting = server.in_flight().requests().next().unwrap();
    for (far, report) in [(1_u32, ProgressReport::Sent), (2, ProgressReport::Delayed)] {
        assert_eq!(server.progress(waiting, Progress::new(far), *now, out), Ok(report));
    }
    let progress = |far: u32| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":7,"progress":{far}}}}}"#
        )
    };
    stage.sent();
    stage.complete(key);
    let delivered = stage.settled_messages();
    assert_eq!(delivered[delivered.len() - 2..], [progress(2), result_of::<ServerSide>("1", "a")]);
}

/// A notification of the progress of the request with token 7.
fn progress_of_7(far: u32) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":7,"progress":{far}}}}}"#
    )
}

/// A server that sends a progress report each second. Its outbox has room for 300 bytes.
fn with_a_small_outbox() -> Stage<ServerSide> {
    let host = ServerSide::host_with(WITH_TASKS, |config| {
        config.progress_interval = Some(std::time::Duration::from_secs(1));
        config.limits.outbox_bytes = 300;
    });
    Stage { host, ..Stage::quiet() }
}

/// Reports progress on a request twice. The second report is delayed.
fn report_twice(stage: &mut Stage<ServerSide>, request: IncomingId) {
    let ServerSide { server, out, now, .. } = &mut stage.host;
    for (far, report) in [(1_u32, ProgressReport::Sent), (2, ProgressReport::Delayed)] {
        assert_eq!(server.progress(request, Progress::new(far), *now, out), Ok(report));
    }
}

/// Proves L-PROG-13 for requests that become tasks: a task that cannot be announced changes nothing, so the delayed
/// report in front of the response stays delayed.
#[test]
fn a_task_that_cannot_be_announced_sends_no_delayed_progress() {
    let mut stage = with_a_small_outbox();
    let request = stage.requested("1", r#""task":{},"_meta":{"progressToken":7}"#);
    report_twice(&mut stage, request);
    assert_eq!(stage.sent(), [progress_of_7(1)]);
    let long = NewTask::new("a").immediate_response("x".repeat(300));
    let begun = stage.host.begin(request, long, &mut stage.tasks);
    assert_eq!(begun, Err(TaskError::Encode(EncodeError::Full)));
    assert_eq!(stage.sent(), [""; 0]);
    let key = stage.create(request, NewTask::new("a")).unwrap();
    assert!(stage.tasks.remove(key));
    let announced = stage.host.announce(request, key, &mut stage.tasks);
    assert_eq!(announced, Err(TaskError::Unknown));
    assert_eq!(stage.sent(), [""; 0]);
    assert_eq!((stage.host.elapse(999), stage.sent()), (vec![], vec![]));
    assert_eq!((stage.host.elapse(1), stage.sent()), (vec![], vec![progress_of_7(2)]));
}

/// Proves L-PROG-13, L-TASK-38: the result of a task that has no room yet leaves the delayed report delayed, and
/// the request unrelated to the task.
#[test]
fn a_result_without_room_sends_no_delayed_progress() {
    let mut stage = with_a_small_outbox();
    let key = stage.begin("a");
    let waits = r#"{"jsonrpc":"2.0","id":1,"method":"tasks/result","params":{"taskId":"a","_meta":{"progressToken":7}}}"#;
    stage.serve(waits);
    let waiting = stage.host.server.in_flight().requests().next().unwrap();
    report_twice(&mut stage, waiting);
    stage.complete(key);
    stage.settle();
    assert_eq!(stage.sent(), [progress_of_7(1)]);
    assert_eq!((stage.host.elapse(999), stage.sent()), (vec![], vec![]));
    assert_eq!((stage.host.elapse(1), stage.sent()), (vec![], vec![progress_of_7(2)]));
    assert_eq!(stage.settled_messages(), [result_of::<ServerSide>("1", "a")]);
}
