//! The status of a task, and its transitions.

use std::time::Duration;

use mcp_sansio::ErrorCode;
use mcp_sansio::json::Raw;
use mcp_sansio::model::InputRequired;
use mcp_sansio::task::{NewTask, Status, TaskError, TaskKey};
use mcp_sansio_proptests::{ClientSide, ServerSide};

use crate::sessions::kit::{
    Host, Reaction, Stage, about, error, on_both, related, request, result, shown, unknown,
};

/// Proves L-TASK-34, L-TASK-22, L-TASK-54, L-AMB-20: `tasks/get` returns the task itself, not nested in another
/// member, and without related-task metadata.
#[test]
fn a_task_is_shown_as_it_is() {
    fn check<H: Host>() {
        let mut stage = Stage::<H>::quiet();
        let key = stage.begin("a");
        stage.pass(5);
        assert_eq!(stage.answers(&about("1", "get", "a")), [result("1", shown("a", "working"))]);
        let now = stage.now();
        stage.tasks.set_message(key, Some("half"), now).unwrap();
        let half = shown("a", "working").message("half").updated(5);
        assert_eq!(stage.answers(&about("2", "get", "a")), [result("2", &half)]);
        let list = format!(r#"{{"tasks":[{half}]}}"#);
        assert_eq!(stage.answers(&request("3", "tasks/list", "")), [result("3", list)]);
        stage.tasks.set_poll_interval(key, Duration::from_secs(9), now).unwrap();
        stage.tasks.set_message(key, None, now).unwrap();
        stage.tasks.set_ttl(key, None).unwrap();
        let slow = shown("a", "working").updated(5).poll(9_000).ttl("null");
        assert_eq!(stage.answers(&about("4", "get", "a")), [result("4", slow)]);
        stage.pass(1);
        let over = shown("a", "cancelled").updated(6).poll(9_000).ttl("null");
        assert_eq!(stage.answers(&about("5", "cancel", "a")), [result("5", over)]);
    }
    on_both!(check);
}

/// Proves L-TASK-33, L-ERR-28: an unknown task, or a task of another requestor, gets the same error from every
/// method. A malformed id does not reach the application.
#[test]
fn an_unknown_task_gets_the_same_error_from_every_method() {
    fn check<H: Host>() {
        let mut stage = Stage::<H>::quiet();
        stage.begin("a");
        stage.principal = 1;
        for what in ["get", "result", "cancel"] {
            for id in ["b", "", "A", "a ", "a\\u0000", "\\ud800"] {
                assert_eq!(stage.answers(&about("1", what, id)), [unknown("1")], "{what} {id}");
            }
            assert_eq!(stage.answers(&about("1", what, "a")), [unknown("1")], "{what}");
            for members in ["", r#""taskId":7"#, r#""taskId":null"#, r#""task":"a""#] {
                let reaction = stage.receive(&request("1", &format!("tasks/{what}"), members));
                assert!(matches!(reaction, Reaction::Violation(_)), "{what} {members}");
                let sent = stage.sent();
                assert!(sent[0].contains(r#""id":1,"error":{"code":-32602,"#), "{sent:?}");
            }
        }
        stage.principal = 0;
        assert_eq!(
            stage.answers(&about("1", "get", "\\u0061")),
            [result("1", shown("a", "working"))]
        );
    }
    on_both!(check);
}

/// Proves L-TASK-53: the related-task metadata of a request about a task is ignored.
#[test]
fn the_task_that_is_meant_is_the_one_in_the_params() {
    fn check<H: Host>() {
        let mut stage = Stage::<H>::quiet();
        stage.begin("a");
        stage.begin("b");
        let frame = request("2", "tasks/cancel", &format!(r#""taskId":"a",{}"#, related("b")));
        assert_eq!(stage.answers(&frame), [result("2", shown("a", "cancelled"))]);
        let frame = request("3", "tasks/get", &format!(r#""taskId":"b",{}"#, related("a")));
        assert_eq!(stage.answers(&frame), [result("3", shown("b", "working"))]);
        let malformed = r#""taskId":"b","_meta":{"io.modelcontextprotocol/related-task":7}"#;
        let frame = request("4", "tasks/get", malformed);
        assert_eq!(stage.answers(&frame), [result("4", shown("b", "working"))]);
        assert_eq!(stage.host.due(), []);
    }
    on_both!(check);
}

/// Attempts to bring a task to a status.
fn step(stage: &mut Stage<ServerSide>, key: TaskKey, to: Status) -> Result<(), TaskError> {
    let now = stage.now();
    let Stage { host, tasks, .. } = stage;
    match to {
        Status::Working if tasks.get(key).unwrap().status() == Status::InputRequired => {
            let reaction = host.take_in(&result("1", r#"{"roots":[]}"#), 0);
            let Reaction::Answer(answer) = reaction else { panic!("{reaction:?}") };
            assert!(tasks.answered(&answer, now).is_some());
            Ok(())
        }
        Status::Working => tasks.set_message(key, Some("working"), now),
        Status::InputRequired => {
            let needed = InputRequired::new().roots("k");
            tasks.require_input(key, &needed, now).map(|()| host.settle(tasks))
        }
        Status::Completed => tasks.complete(key, &done(), now),
        Status::Failed => tasks.fail(key, ErrorCode::new(-1), "broken", now),
        Status::Cancelled => tasks.cancel(key, now),
    }
}

fn done() -> Raw<'static> {
    Raw::new(ServerSide::RESULT).unwrap().into_owned()
}

/// Proves L-TASK-29, L-TASK-30: of the 25 pairs of statuses, these eight are permitted; a final status does not
/// change.
#[test]
fn a_task_takes_these_steps_and_no_others() {
    use Status::{Cancelled, Completed, Failed, InputRequired, Working};
    let allowed = [
        (Working, InputRequired),
        (Working, Completed),
        (Working, Failed),
        (Working, Cancelled),
        (InputRequired, Working),
        (InputRequired, Completed),
        (InputRequired, Failed),
        (InputRequired, Cancelled),
    ];
    for from in Status::ALL {
        for to in Status::ALL {
            let may = allowed.contains(&(from, to));
            assert_eq!(from.may_become(to), may, "{from} to {to}");
            let mut stage = Stage::<ServerSide>::quiet();
            let key = stage.begin("a");
            if from != Working {
                step(&mut stage, key, from).unwrap();
            }
            stage.pass(5);
            let before = stage.tasks.save(key);
            let stepped = step(&mut stage, key, to);
            let task = stage.tasks.get(key).unwrap();
            if may {
                assert_eq!((stepped, task.status()), (Ok(()), to), "{from} to {to}");
                assert_eq!(task.updated() - task.created(), Duration::from_secs(5));
                assert_eq!(task.created().since_epoch(), Duration::from_secs(1_000));
            } else if from.is_final() {
                assert_eq!(stepped, Err(TaskError::Final(from)), "{from} to {to}");
                assert!(stage.tasks.save(key) == before, "{from} to {to} has changed something");
            } else {
                assert_eq!(task.status(), from, "{from} to {to}");
            }
        }
    }
}

/// Proves L-TASK-30: a task that has ended has no further news of any kind.
#[test]
fn a_task_that_has_ended_never_changes() {
    fn check<H: Host>() {
        for end in [Status::Completed, Status::Failed, Status::Cancelled] {
            let mut stage = Stage::<H>::quiet();
            let key = stage.begin("a");
            let now = stage.now();
            match end {
                Status::Completed => stage.complete(key),
                Status::Failed => {
                    stage.tasks.fail(key, ErrorCode::new(5), "broken", now).unwrap();
                }
                _ => stage.tasks.cancel(key, now).unwrap(),
            }
            let shown = stage.answers(&about("1", "get", "a"));
            stage.pass(9);
            let (now, expected) = (stage.now(), Err(TaskError::Final(end)));
            let raw = Raw::new(H::RESULT).unwrap();
            assert_eq!(stage.tasks.complete(key, &raw, now), expected);
            assert_eq!(stage.tasks.fail(key, ErrorCode::new(1), "m", now), expected);
            assert_eq!(stage.tasks.cancel(key, now), expected);
            assert_eq!(stage.tasks.set_message(key, Some("m"), now), expected);
            assert_eq!(stage.tasks.set_poll_interval(key, Duration::ZERO, now), expected);
            let needed = InputRequired::new().roots("k");
            assert_eq!(stage.tasks.require_input(key, &needed, now), expected);
            assert_eq!(stage.answers(&about("1", "get", "a")), shown);
        }
    }
    on_both!(check);
}

/// Proves L-TASK-30: time that goes backwards does not move `lastUpdatedAt` back.
#[test]
fn a_task_is_never_older_than_it_was() {
    let mut stage = Stage::<ServerSide>::quiet();
    let key = stage.begin("a");
    let begun = stage.now();
    stage.pass(8);
    let late = stage.now();
    stage.tasks.set_message(key, Some("m"), late).unwrap();
    stage.tasks.set_message(key, None, begun).unwrap();
    stage.tasks.cancel(key, begun).unwrap();
    let over = shown("a", "cancelled").updated(8);
    assert_eq!(stage.answers(&about("1", "get", "a")), [result("1", over)]);
}

/// Proves L-TASK-31, L-TASK-38, L-AMB-17: a tool result with `isError: true` makes its task `failed`, and
/// `tasks/result` still returns that result. A member that only resembles `isError` has no effect.
#[test]
fn a_tool_that_fails_is_a_task_that_fails() {
    let cases = [
        (r#"{"content":[],"isError":true}"#, "failed"),
        (r#"{"content":[],"isError":false}"#, "completed"),
        (r#"{"content":[]}"#, "completed"),
        (r#"{"content":[],"structuredContent":{"isError":true}}"#, "completed"),
    ];
    for (outcome, status) in cases {
        let mut stage = Stage::<ServerSide>::quiet();
        let key = stage.begin("a");
        let now = stage.now();
        stage.tasks.complete(key, &Raw::new(outcome).unwrap(), now).unwrap();
        assert_eq!(stage.answers(&about("1", "get", "a")), [result("1", shown("a", status))]);
        let members = outcome.strip_suffix('}').unwrap();
        let expected = result("2", format!("{members},{}}}", related("a")));
        assert_eq!(stage.answers(&about("2", "result", "a")), [expected], "{outcome}");
        let list = result("3", format!(r#"{{"tasks":[{}]}}"#, shown("a", status)));
        assert_eq!(stage.answers(&request("3", "tasks/list", "")), [list]);
    }
    // A sampling result has no `isError`.
    let mut stage = Stage::<ClientSide>::quiet();
    let key = stage.begin("a");
    let now = stage.now();
    let odd = r#"{"role":"user","content":{"type":"text","text":""},"model":"m","isError":true}"#;
    stage.tasks.complete(key, &Raw::new(odd).unwrap(), now).unwrap();
    let done = result("1", shown("a", "completed"));
    assert_eq!(stage.answers(&about("1", "get", "a")), [done]);
}

/// Proves L-TASK-31, L-TASK-32: a failed task has the reason as its status message.
#[test]
fn a_failure_says_why() {
    fn check<H: Host>() {
        let mut stage = Stage::<H>::quiet();
        let key = stage.begin_new(r#""task":{}"#, NewTask::new("a").message("at work"));
        let now = stage.now();
        stage.tasks.fail(key, ErrorCode::new(-32050), "no disk", now).unwrap();
        let failed = shown("a", "failed").message("no disk");
        assert_eq!(stage.answers(&about("1", "get", "a")), [result("1", failed)]);
        assert_eq!(stage.answers(&about("2", "result", "a")), [error("2", -32050, "no disk")]);
    }
    on_both!(check);
}
