//! Messages about tasks of a server that no outbox can hold.

use mcp_sansio::Revision;
use mcp_sansio::event::Counts;
use mcp_sansio::json::Raw;
use mcp_sansio::model::{InputRequired, TasksCapability};
use mcp_sansio::task::{NewTask, TaskKey, Tasks, TasksConfig};
use mcp_sansio_proptests::{ServerSide, config};

/// A server in a session with a task.
fn with_task(notify: bool) -> (ServerSide, Tasks, TaskKey) {
    let mut config = config::server();
    config.capabilities.tasks = Some(TasksCapability::of_tools());
    let mut side = ServerSide::ready_with(config, Revision::V2025_11_25);
    let mut tasks_config = TasksConfig::default();
    tasks_config.notify = notify;
    let mut tasks = Tasks::new(tasks_config);
    let id = side.request(
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","task":{}}}"#,
    );
    let (now, new) = (side.now, NewTask::new("t-1"));
    let key = side.server.tasks(&mut tasks).begin(id, new, now, &mut side.out).unwrap();
    assert_eq!(side.sent().len(), 1);
    (side, tasks, key)
}

/// Sends the messages about tasks, while the outbox holds so many bytes.
fn settle(side: &mut ServerSide, tasks: &mut Tasks, limit: usize) -> Vec<String> {
    side.out.set_limit(limit);
    side.server.tasks(tasks).settle(side.now, &mut side.out);
    side.sent()
}

/// A notification of a status is optional: one that not even an empty outbox can hold is dropped.
#[test]
fn a_status_that_never_fits_is_dropped() {
    let (mut side, mut tasks, key) = with_task(true);
    tasks.set_message(key, Some("half done"), side.now).unwrap();
    assert_eq!(settle(&mut side, &mut tasks, 10), [""; 0]);
    assert_eq!(settle(&mut side, &mut tasks, 5_000), [""; 0]);
    // One that has to wait for others is sent later.
    side.call("x/own");
    tasks.set_message(key, Some("nearly done"), side.now).unwrap();
    assert_eq!(settle(&mut side, &mut tasks, 10).len(), 1, "only the call");
    let sent = settle(&mut side, &mut tasks, 5_000);
    assert!(matches!(&sent[..], [one] if one.contains("nearly done")), "{sent:?}");
}

/// An input that cannot be requested here stays in the status of the task, and is no call.
#[test]
fn an_input_that_can_never_be_requested_is_no_call() {
    let (mut side, mut tasks, key) = with_task(false);
    tasks.require_input(key, &InputRequired::new().roots("where"), side.now).unwrap();
    assert_eq!(settle(&mut side, &mut tasks, 10), [""; 0]);
    assert_eq!(settle(&mut side, &mut tasks, 5_000), [""; 0]);
    let Counts { outbound, .. } = side.server.in_flight().counts();
    assert_eq!(outbound, 0);
    let result = Raw::new(r#"{"content":[]}"#).unwrap();
    assert!(tasks.complete(key, &result, side.now).is_ok());
}
