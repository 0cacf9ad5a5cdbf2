//! Tasks that are cancelled.

use mcp_sansio::config::{ConnectionConfig, DuplicateIds};
use mcp_sansio::error::ViolationKind;
use mcp_sansio::event::CancelCause;
use mcp_sansio::json::Raw;
use mcp_sansio::model::InputRequired;
use mcp_sansio::task::{NewTask, Status, TaskError, TaskNews, Tasks, TasksConfig};
use mcp_sansio::{ErrorCode, Revision};
use mcp_sansio_proptests::ServerSide;

use crate::sessions::kit::{
    Host, Reaction, Stage, about, cancelled, changed, error, on_both, result, result_of, shown,
    was_cancelled,
};

fn over(id: &str) -> String {
    error(id, -32602, "the task has ended already")
}

/// Proves L-TASK-66, L-TASK-67: a task is `cancelled` before the cancellation is answered. The application is
/// notified to stop the work, and a request in between gets the same status.
#[test]
fn a_task_is_cancelled_at_once() {
    fn check<H: Host>() {
        let mut stage = Stage::<H>::quiet();
        let key = stage.begin("a");
        stage.pass(2);
        let Reaction::Task(get, call) = stage.receive(&about("1", "get", "a")) else { panic!() };
        assert_eq!(stage.serve(&about("2", "cancel", "a")), Some(TaskNews::Cancelled(key)));
        stage.host.serve(get, &call, &mut stage.tasks).unwrap();
        let task = shown("a", "cancelled").updated(2);
        assert_eq!(stage.sent(), [result("2", &task), result("1", &task)]);
        let view = stage.tasks.get(key).unwrap();
        assert!(view.is_cancel_requested() && view.status() == Status::Cancelled);
    }
    on_both!(check);
}

/// Proves L-TASK-65, L-ERR-29, L-RACE-39: a task that has ended cannot be cancelled and does not change.
#[test]
fn cancelling_a_task_that_has_ended_is_refused() {
    fn check<H: Host>() {
        for end in [Status::Completed, Status::Failed, Status::Cancelled] {
            let mut stage = Stage::<H>::quiet();
            let key = stage.begin("a");
            let now = stage.now();
            match end {
                Status::Completed => stage.complete(key),
                Status::Failed => stage.tasks.fail(key, ErrorCode::new(5), "m", now).unwrap(),
                _ => {
                    assert_eq!(
                        stage.serve(&about("0", "cancel", "a")),
                        Some(TaskNews::Cancelled(key))
                    );
                    stage.sent();
                }
            }
            let before = stage.tasks.save(key);
            stage.pass(1);
            for id in ["1", "2"] {
                assert_eq!(stage.serve(&about(id, "cancel", "a")), None);
                assert_eq!(stage.sent(), [over(id)]);
            }
            assert!(stage.tasks.save(key) == before);
        }
    }
    on_both!(check);
}

/// Proves L-TASK-30, L-TASK-68, L-RACE-38, L-RACE-54: of a cancellation and an end, the first one wins, in both
/// orders. The outcome of cancelled work is dropped.
#[test]
fn a_cancellation_and_an_end_cross() {
    fn check<H: Host>() {
        let outcome = Raw::new(H::RESULT).unwrap();
        let mut stage = Stage::<H>::quiet();
        let key = stage.begin("a");
        stage.serve(&about("1", "result", "a"));
        assert_eq!(stage.serve(&about("2", "cancel", "a")), Some(TaskNews::Cancelled(key)));
        assert_eq!(stage.sent(), [result("2", shown("a", "cancelled")), was_cancelled("1")]);
        stage.pass(1);
        let (now, late) = (stage.now(), Err(TaskError::Final(Status::Cancelled)));
        assert_eq!(stage.tasks.complete(key, &outcome, now), late);
        assert_eq!(stage.tasks.fail(key, ErrorCode::new(1), "m", now), late);
        assert_eq!(stage.settled_messages(), [""; 0]);
        let task = shown("a", "cancelled");
        assert_eq!(stage.answers(&about("3", "get", "a")), [result("3", task)]);
        assert_eq!(stage.answers(&about("4", "result", "a")), [was_cancelled("4")]);
        // The other order; the waiting requests have no response yet.
        let mut stage = Stage::<H>::quiet();
        let key = stage.begin("a");
        stage.serve(&about("1", "result", "a"));
        stage.complete(key);
        assert_eq!(stage.serve(&about("2", "cancel", "a")), None);
        assert_eq!(stage.sent(), [over("2"), result_of::<H>("1", "a")]);
        let task = shown("a", "completed");
        assert_eq!(stage.answers(&about("3", "get", "a")), [result("3", task)]);
    }
    on_both!(check);
}

/// Proves L-TASK-69: a cancelled task may be forgotten and is unknown afterwards.
#[test]
fn a_cancelled_task_may_be_forgotten() {
    fn check<H: Host>() {
        let mut stage = Stage::<H>::quiet();
        let key = stage.begin("a");
        assert_eq!(stage.serve(&about("1", "cancel", "a")), Some(TaskNews::Cancelled(key)));
        assert!(stage.tasks.remove(key));
        stage.sent();
        for what in ["get", "result", "cancel"] {
            assert_eq!(stage.answers(&about("2", what, "a")), [crate::sessions::kit::unknown("2")]);
        }
        assert_eq!(stage.tasks.get(key).map(|_| ()), None);
        let now = stage.now();
        assert_eq!(stage.tasks.cancel(key, now), Err(TaskError::Unknown));
    }
    on_both!(check);
}

/// Proves L-CANCEL-17, L-RACE-37: a request that asks for a task is not cancelled with `notifications/cancelled`,
/// neither before nor after the task exists; its response is sent.
#[test]
fn a_task_is_not_cancelled_like_a_request() {
    fn check<H: Host>() {
        let violation = [Reaction::Violation(ViolationKind::TaskCancellation)];
        let mut stage = Stage::<H>::quiet();
        let request = stage.requested("1", r#""task":{}"#);
        assert_eq!(stage.receive(&cancelled("1")), Reaction::Nothing);
        assert_eq!(stage.host.due(), violation);
        let key = stage.create(request, NewTask::new("a")).unwrap();
        assert_eq!(stage.receive(&cancelled("1")), Reaction::Nothing);
        assert_eq!(stage.host.due(), violation);
        stage.host.announce(request, key, &mut stage.tasks).unwrap();
        let task = shown("a", "working");
        assert_eq!(stage.sent(), [result("1", format!(r#"{{"task":{task}}}"#))]);
        // Now the request has been answered.
        assert_eq!(stage.receive(&cancelled("1")), Reaction::Nothing);
        assert_eq!(stage.answers(&about("2", "get", "a")), [result("2", task)]);
        // A request in flight that asks for no task is cancelled.
        stage.requested("3", "");
        assert!(matches!(stage.receive(&cancelled("3")), Reaction::Cancelled(..)));
        // So is a request that asks for a task where tasks are not declared.
        let mut stage = Stage::of(H::plain(), Tasks::default());
        stage.requested("1", r#""task":{}"#);
        assert!(matches!(stage.receive(&cancelled("1")), Reaction::Cancelled(..)));
        assert_eq!(stage.host.due(), []);
    }
    on_both!(check);
}

/// Proves L-CANCEL-17: of several requests with one id, a cancellation applies to those that ask for no task, in any
/// order of the requests.
#[test]
fn a_cancellation_passes_over_the_requests_for_tasks() {
    fn check<H: Host>() {
        for asks in [[true, false, false], [false, true, false], [false, false, true]] {
            let serve = |config: &mut ConnectionConfig| config.duplicate_ids = DuplicateIds::Serve;
            let mut quiet = TasksConfig::default();
            quiet.notify = false;
            let host = H::host_with(Revision::V2025_11_25, serve);
            let mut stage = Stage::of(host, Tasks::new(quiet));
            let ids = asks.map(|asks| stage.requested("1", if asks { r#""task":{}"# } else { "" }));
            let reactions: Vec<_> =
                [stage.receive(&cancelled("1"))].into_iter().chain(stage.host.due()).collect();
            let expected = |reaction: &Reaction| match reaction {
                Reaction::Cancelled(_, CancelCause::Peer) => true,
                reaction => *reaction == Reaction::Violation(ViolationKind::TaskCancellation),
            };
            assert!(reactions.iter().all(expected), "{reactions:?}");
            assert_eq!(reactions.len(), 3, "{reactions:?}");
            for (id, asks) in ids.into_iter().zip(asks) {
                let is_cancelled = reactions.contains(&Reaction::Cancelled(id, CancelCause::Peer));
                assert_eq!(is_cancelled, !asks, "{reactions:?}");
                if asks {
                    stage.host.begin(id, NewTask::new("a"), &mut stage.tasks).unwrap();
                    let task = shown("a", "working");
                    assert_eq!(stage.sent(), [result("1", format!(r#"{{"task":{task}}}"#))]);
                }
            }
            assert_eq!(stage.receive(&cancelled("1")), Reaction::Nothing);
            assert_eq!(stage.host.due(), []);
        }
    }
    on_both!(check);
}

/// Pain 81: a cancelled task requests no input and does not hang.
#[test]
fn a_cancelled_task_asks_for_nothing() {
    let mut stage = Stage::<ServerSide>::new();
    let key = stage.begin("a");
    assert_eq!(stage.serve(&about("1", "cancel", "a")), Some(TaskNews::Cancelled(key)));
    let task = shown("a", "cancelled");
    assert_eq!(stage.sent(), [result("1", &task), changed(&task)]);
    let (now, needed) = (stage.now(), InputRequired::new().roots("k"));
    let required = stage.tasks.require_input(key, &needed, now);
    assert_eq!(required, Err(TaskError::Final(Status::Cancelled)));
    assert_eq!(
        (stage.settled_messages().len(), stage.host.server.in_flight().calls().count()),
        (0, 0)
    );
    assert_eq!(stage.answers(&about("2", "result", "a")), [was_cancelled("2")]);
}

/// Pain 80: a cancelled task keeps its status, also if an input response arrives afterwards.
#[test]
fn an_answer_after_the_cancellation_changes_nothing() {
    let mut stage = Stage::<ServerSide>::quiet();
    let key = stage.begin("a");
    let (now, needed) = (stage.now(), InputRequired::new().roots("k"));
    stage.tasks.require_input(key, &needed, now).unwrap();
    assert_eq!(stage.settled_messages().len(), 1);
    // The task is cancelled after its input response arrived and before the application passes it on.
    let Reaction::Answer(answer) = stage.receive(&result("1", r#"{"roots":[]}"#)) else { panic!() };
    stage.tasks.cancel(key, now).unwrap();
    assert_eq!(stage.tasks.answered(&answer, now), None);
    let view = stage.tasks.get(key).unwrap();
    assert_eq!((view.status(), view.inputs().as_json()), (Status::Cancelled, "{}"));
    assert_eq!(stage.settled_messages(), [""; 0]);
}
