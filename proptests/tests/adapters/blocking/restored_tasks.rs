//! Tasks that another process has begun.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use mcp_sansio::model::CallToolResult;
use mcp_sansio::progress::{Progress, ProgressReport};
use mcp_sansio::task::{Status, TaskError, TaskKey, TaskRecord, TaskSharing};
use mcp_sansio::{ErrorCode, Instant};
use mcp_sansio_std::SharedTasks;
use serde_json::{Value, json};

/// The record of a task that requires an input.
fn record(id: &str) -> Value {
    let request = json!({"method": "tools/call", "revision": "2026-07-28",
        "capabilities": ["elicitation"], "form": null});
    let times = json!({"created_ns": 0, "updated_ns": 0, "ttl_ms": null, "poll_interval_ms": null});
    let wanted = json!([{"key": "name", "method": "elicitation/create",
        "params": "{\"message\":\"m\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{}}}",
        "is_open": true, "answer": null}]);
    json!({"id": id, "owner": 0, "owner_kind": "unknown", "serial": 1, "request": request,
        "times": times, "message": null, "checkpoint": "half", "status": "input_required",
        "cancel_requested": false, "result": null, "error": null, "wanted": wanted,
        "used_keys": []})
}

fn read(record: &Value) -> TaskRecord {
    serde_json::from_value(record.clone()).unwrap()
}

fn restored(tasks: &SharedTasks, id: &str) -> TaskKey {
    tasks.with(|tasks, _| tasks.restore(read(&record(id))).unwrap())
}

fn status(tasks: &SharedTasks, key: TaskKey) -> Status {
    tasks.inspect(|tasks, _| tasks.get(key).unwrap().status())
}

/// The work of a restored task continues: with the input that it waits for, its checkpoint and its result.
#[test]
fn the_work_of_a_restored_task_continues() {
    let tasks = SharedTasks::default();
    let key = restored(&tasks, "a");
    let handle = tasks.resume(key).unwrap();
    assert_eq!(handle.key(), key);
    let report = handle.progress(Progress::new(1));
    assert_eq!(report, Ok(ProgressReport::NotWanted), "its requestor is elsewhere");
    handle.set_checkpoint("more").unwrap();
    let checkpoint = |tasks: &mut mcp_sansio::task::Tasks, _: Instant| {
        tasks.get(key).unwrap().checkpoint().map(str::to_owned)
    };
    assert_eq!(tasks.inspect(checkpoint).as_deref(), Some("more"));
    let (sender, receiver) = channel();
    let worker = thread::spawn(move || {
        sender.send(()).unwrap();
        let inputs = handle.inputs().wait().unwrap();
        handle.complete(&CallToolResult::text(inputs.as_json().to_owned())).unwrap();
    });
    receiver.recv().unwrap();
    thread::sleep(Duration::from_millis(20));
    assert_eq!(status(&tasks, key), Status::InputRequired);
    let mut given = record("a");
    given["status"] = "working".into();
    given["wanted"][0]["is_open"] = false.into();
    given["wanted"][0]["answer"] = r#"{"action":"decline"}"#.into();
    tasks.merge(read(&given)).unwrap();
    worker.join().unwrap();
    assert_eq!(status(&tasks, key), Status::Completed);
    let result = tasks
        .inspect(|tasks, _| tasks.get(key).unwrap().result().map(|result| result.into_owned()));
    let result = result.unwrap();
    assert!(result.as_json().contains("decline"), "{}", result.as_json());
    // The task has ended.
    assert!(tasks.resume(key).is_none());
}

/// A restored task fails if its work is forgotten, and has no handle after that.
#[test]
fn a_resumed_handle_that_is_dropped() {
    let tasks = SharedTasks::default();
    let key = restored(&tasks, "a");
    drop(tasks.resume(key).unwrap());
    assert_eq!(status(&tasks, key), Status::Failed);
    assert!(tasks.resume(key).is_none());
    tasks.with(|tasks, _| tasks.remove(key));
    assert!(tasks.resume(key).is_none(), "it is forgotten");
}

/// Work whose task was taken over by another process learns that it is not wanted.
#[test]
fn a_handle_of_a_forgotten_task() {
    let tasks = SharedTasks::default();
    let key = restored(&tasks, "a");
    let handle = tasks.resume(key).unwrap();
    assert!(!handle.is_cancelled());
    assert!(tasks.remove(key));
    assert!(!tasks.remove(key));
    // The same task again is another one for this work.
    let again = restored(&tasks, "a");
    assert!(handle.is_cancelled());
    assert_eq!(handle.complete(&CallToolResult::text("late")), Err(TaskError::Unknown));
    drop(handle);
    assert_eq!(status(&tasks, again), Status::InputRequired);
}

/// A program that stores its tasks is woken by each change, whatever made it.
#[test]
fn changes_wake_who_stores_them() {
    let tasks = SharedTasks::default();
    tasks.with(|tasks, _| TaskSharing::of(tasks).begin());
    let key = restored(&tasks, "a");
    let handle = tasks.resume(key).unwrap();
    {
        let mut changed = pin!(tasks.changed());
        let poll = changed.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert_eq!(poll, Poll::Pending, "a restored task has not changed");
    }
    for number in 0..3 {
        let (waiting, (sender, receiver)) = (tasks.clone(), channel());
        let storing = thread::spawn(move || {
            smol::block_on(async {
                let mut changed = pin!(waiting.changed());
                let poll = changed.as_mut().poll(&mut Context::from_waker(Waker::noop()));
                assert_eq!(poll, Poll::Pending);
                sender.send(()).unwrap();
                changed.await;
            });
            waiting.inspect(|tasks, _| TaskSharing::of(tasks).next_changed())
        });
        receiver.recv().unwrap();
        match number {
            0 => handle.set_message("going on").unwrap(),
            1 => handle.fail(ErrorCode::INTERNAL_ERROR, "broken").unwrap(),
            _ => assert!(tasks.with(|tasks, _| tasks.remove(key))),
        }
        assert_eq!(storing.join().unwrap(), Some(key), "{number}");
    }
    assert!(!tasks.inspect(|tasks, _| TaskSharing::of(tasks).has_changed()));
}

/// Counts how often it is woken.
#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// The change of a copy wakes the work of its task, and no other work.
#[test]
fn a_change_wakes_the_work_of_its_task() {
    let tasks = SharedTasks::default();
    let mut other = record("b");
    other["serial"] = 2.into();
    let (a, b) = (restored(&tasks, "a"), tasks.refresh(read(&other)).unwrap());
    let handles = [a, b].map(|key| tasks.resume(key).unwrap());
    let counts = [Arc::new(Count::default()), Arc::new(Count::default())];
    let wakers = counts.clone().map(Waker::from);
    let [first, second] = &handles;
    let mut waiting = [Box::pin(first.cancelled()), Box::pin(second.cancelled())];
    let mut woken = || {
        let woken = counts.each_ref().map(|count| count.0.swap(0, Ordering::SeqCst));
        for ((future, waker), handle) in waiting.iter_mut().zip(&wakers).zip(&handles) {
            if !handle.is_cancelled() {
                let poll = future.as_mut().poll(&mut Context::from_waker(waker));
                assert_eq!(poll, Poll::Pending);
            }
        }
        woken
    };
    assert_eq!(woken(), [0, 0]);
    let mut changed = record("a");
    changed["message"] = "half".into();
    assert_eq!(tasks.refresh(read(&changed)), Ok(a));
    assert_eq!(woken(), [1, 0]);
    tasks.with(|_, _| ());
    assert_eq!(woken(), [1, 1], "any task may have changed");
    changed["status"] = "cancelled".into();
    changed["wanted"][0]["is_open"] = false.into();
    tasks.merge(read(&changed)).unwrap();
    assert_eq!(woken(), [1, 0]);
    assert!(tasks.remove(b));
    assert_eq!(woken(), [0, 1]);
    assert!(first.is_cancelled() && second.is_cancelled());
}

/// A handle that is revoked does nothing any more, and neither does an earlier handle of a task.
#[test]
fn a_handle_that_is_revoked() {
    let tasks = SharedTasks::default();
    let key = restored(&tasks, "a");
    let first = tasks.resume(key).unwrap();
    let second = tasks.resume(key).unwrap();
    assert!(first.is_cancelled() && !second.is_cancelled());
    assert_eq!(first.set_message("late"), Err(TaskError::Unknown));
    drop(first);
    assert_eq!(status(&tasks, key), Status::InputRequired);
    second.set_message("in time").unwrap();
    tasks.revoke(key);
    assert!(second.is_cancelled());
    assert!(second.wait_cancelled(Duration::from_secs(60)));
    assert_eq!(second.progress(Progress::new(1)), Err(TaskError::Unknown));
    assert_eq!(second.complete(&CallToolResult::text("late")), Err(TaskError::Unknown));
    assert_eq!(second.inputs().wait().map(|_| ()), Err(TaskError::Unknown));
    drop(second);
    assert_eq!(status(&tasks, key), Status::InputRequired);
}
