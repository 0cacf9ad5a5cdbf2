//! The lifetime of tasks.

use std::time::Duration;

use mcp_sansio::Instant;
use mcp_sansio::task::{NewTask, Status, TaskError, TaskEvent, Tasks};
use mcp_sansio_proptests::{ClientSide, ServerSide};

use crate::sessions::kit::{Host, Stage, about, changed, on_both, result, shown, unknown};

fn expired(tasks: &mut Tasks, now: Instant) -> Vec<(String, bool)> {
    let events = std::iter::from_fn(|| tasks.handle_timeout(now));
    let delivered = events.map(|event| match event {
        TaskEvent::Expired { id, was_going_on, .. } => (id, was_going_on),
        other => panic!("{other:?}"),
    });
    delivered.collect()
}

/// Proves L-TASK-72, L-TASK-73, L-RACE-36, L-AMB-22: a task is forgotten after its `ttl`, counted from its
/// beginning, in any status. The application is notified whether it was still running, and its id is unknown.
#[test]
fn a_task_is_forgotten_in_time() {
    fn check<H: Host>() {
        for ends in [false, true] {
            let mut stage = Stage::<H>::quiet();
            let begun = stage.now();
            let key = stage.begin_new(r#""task":{"ttl":5000}"#, NewTask::new("a"));
            assert_eq!(stage.tasks.poll_timeout(), Some(begun + Duration::from_secs(5)));
            stage.pass(4);
            if ends {
                stage.complete(key);
                assert_eq!(stage.tasks.poll_timeout(), Some(begun + Duration::from_secs(5)));
            }
            let now = stage.now();
            assert_eq!(expired(&mut stage.tasks, now), []);
            assert_eq!(stage.answers(&about("1", "get", "a")).len(), 1);
            stage.pass(1);
            let now = stage.now();
            assert_eq!(expired(&mut stage.tasks, now), [(String::from("a"), !ends)]);
            assert_eq!((stage.tasks.len(), stage.tasks.poll_timeout()), (0, None));
            for what in ["get", "result", "cancel"] {
                assert_eq!(stage.answers(&about("2", what, "a")), [unknown("2")]);
            }
            assert_eq!(stage.tasks.cancel(key, now), Err(TaskError::Unknown));
            assert_eq!(stage.tasks.find("a"), None);
            // The slot is reused, and the old handle does not match.
            let next = stage.begin("b");
            assert_eq!((next.index(), next == key), (key.index(), false));
            assert!(stage.tasks.get(key).is_none() && stage.tasks.save(key).is_none());
        }
    }
    on_both!(check);
}

/// Proves L-TASK-74: a task with an unlimited `ttl` never expires.
#[test]
fn a_task_with_unlimited_ttl_never_expires() {
    let mut stage = Stage::<ServerSide>::quiet();
    let key = stage.begin_new(r#""task":{"ttl":5}"#, NewTask::new("a").ttl(None));
    assert_eq!(stage.tasks.poll_timeout(), None);
    let end = Instant::from_nanos(u64::MAX);
    assert_eq!(expired(&mut stage.tasks, end), []);
    // The longest representable time does not overflow.
    stage.tasks.set_ttl(key, Some(Duration::MAX)).unwrap();
    assert_eq!(stage.tasks.poll_timeout(), Some(end));
    let shown_task = shown("a", "working").ttl(&u64::MAX.to_string());
    assert_eq!(stage.answers(&about("1", "get", "a")), [result("1", shown_task)]);
    let longest = format!(r#""task":{{"ttl":{}}}"#, u64::MAX);
    let mut stage = Stage::<ServerSide>::with(|config| config.longest_ttl = None);
    stage.begin_new(&longest, NewTask::new("b"));
    assert_eq!(stage.tasks.poll_timeout(), Some(end));
}

/// Proves L-TASK-72, L-AMB-22: the `ttl` can be changed, also to one that has passed.
#[test]
fn a_task_can_be_kept_longer() {
    fn check<H: Host>() {
        let mut stage = Stage::<H>::new();
        let begun = stage.now();
        let key = stage.begin_new(r#""task":{"ttl":5000}"#, NewTask::new("a"));
        stage.tasks.set_ttl(key, Some(Duration::from_secs(9))).unwrap();
        assert_eq!(stage.settled_messages(), [changed(shown("a", "working").ttl("9000"))]);
        stage.pass(8);
        let now = stage.now();
        assert_eq!(expired(&mut stage.tasks, now), []);
        // The `ttl` counts from the beginning of the task, not from its last change.
        stage.tasks.set_message(key, Some("m"), now).unwrap();
        stage.tasks.set_ttl(key, Some(Duration::from_secs(3))).unwrap();
        assert_eq!(stage.tasks.poll_timeout(), Some(begun + Duration::from_secs(3)));
        assert_eq!(expired(&mut stage.tasks, now), [(String::from("a"), true)]);
        assert_eq!(stage.settled_messages(), [""; 0]);
        assert_eq!(stage.tasks.set_ttl(key, None), Err(TaskError::Unknown));
    }
    on_both!(check);
}

/// Pain 82: a task expires by time alone, in the order of the deadlines, and an early or late `handle_timeout` does
/// no harm.
#[test]
fn tasks_expire_by_time_in_order_of_their_deadlines() {
    fn check<H: Host>() {
        let mut stage = Stage::<H>::quiet();
        let begun = stage.now();
        for (id, ttl) in [("a", 3_000), ("b", 1_000), ("c", 2_000), ("d", 1_000)] {
            stage.begin_new(&format!(r#""task":{{"ttl":{ttl}}}"#), NewTask::new(id));
        }
        assert_eq!(stage.tasks.poll_timeout(), Some(begun + Duration::from_secs(1)));
        let after = |millis| begun + Duration::from_millis(millis);
        assert_eq!(expired(&mut stage.tasks, after(999)), []);
        let gone = |ids: &[&str]| ids.iter().map(|id| (id.to_string(), true)).collect::<Vec<_>>();
        assert_eq!(expired(&mut stage.tasks, after(1_000)), gone(&["b", "d"]));
        assert_eq!(stage.tasks.poll_timeout(), Some(after(2_000)));
        assert_eq!(expired(&mut stage.tasks, after(60_000)), gone(&["c", "a"]));
        assert_eq!((stage.tasks.poll_timeout(), stage.tasks.is_empty()), (None, true));
    }
    on_both!(check);
}

/// A task with a `ttl` of zero expires at once, but not before its announcement.
#[test]
fn a_task_that_is_not_kept_is_announced_first() {
    let mut stage = Stage::<ClientSide>::quiet();
    let key = stage.begin_new(r#""task":{"ttl":0}"#, NewTask::new("a"));
    assert_eq!(stage.tasks.get(key).unwrap().status(), Status::Working);
    let now = stage.now();
    assert_eq!(expired(&mut stage.tasks, now), [(String::from("a"), true)]);
}
