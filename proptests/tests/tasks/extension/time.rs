//! The lifetime of tasks.

use std::time::Duration;

use mcp_sansio::task::{NewTask, TaskEvent, TaskKey};

use crate::extension::kit::*;

fn begin(host: &mut Host, task: &str, ttl: Option<Duration>) -> TaskKey {
    let request = host.called("1");
    let key = host.begin_for(request, NewTask::new(task).ttl(ttl));
    host.sent();
    key
}

/// Proves M-TASKX-56, M-TASKX-25, M-R-28, M-AMB-37: a task can be read for its whole `ttl`, to the millisecond, and
/// is unknown from then on.
#[test]
fn a_task_is_kept_for_its_time() {
    for end in ["working", "completed", "input_required"] {
        let mut host = Host::new();
        let key = begin(&mut host, "t", Some(Duration::from_millis(500)));
        match end {
            "completed" => host.completes(key),
            "input_required" => host.asks(key, &["a"]),
            _ => {}
        }
        assert_eq!(host.tasks.poll_timeout(), Some(host.side.now + Duration::from_millis(500)));
        host.wait(499);
        assert_eq!(host.tasks.handle_timeout(host.side.now), None);
        host.serve(&get("1", "t"));
        let shown = host.sent();
        assert!(shown[0].contains(&format!(r#""status":"{end}""#)), "{shown:?}");
        assert!(shown[0].contains(r#""ttlMs":500,"#), "{shown:?}");
        host.wait(1);
        let was_going_on = end != "completed";
        let expired = TaskEvent::Expired { key, id: "t".into(), was_going_on };
        assert_eq!(host.tasks.handle_timeout(host.side.now), Some(expired));
        assert_eq!(host.tasks.handle_timeout(host.side.now), None);
        host.answers(&get("1", "t"), &unknown("1"));
        host.answers(&cancel("2", "t"), &unknown("2"));
        host.answers(&update("3", "t", &format!(r#""a":{ANSWER}"#)), &unknown("3"));
        assert!(host.tasks.complete(key, &done(), host.side.now).is_err());
        assert!(host.tasks.is_empty());
    }
}

/// Proves M-TASKX-56: tasks expire one by one in the order of their deadlines, and tasks without a `ttl` do not
/// expire.
#[test]
fn tasks_expire_in_order() {
    let mut host = Host::new();
    let of = |seconds: u64| Some(Duration::from_secs(seconds));
    for (task, ttl) in [("c", of(3)), ("never", None), ("a", of(1)), ("b", of(2)), ("b2", of(2))] {
        begin(&mut host, task, ttl);
    }
    host.wait(u64::MAX / 2_000_000);
    let expired: Vec<String> = std::iter::from_fn(|| host.tasks.handle_timeout(host.side.now))
        .map(|event| match event {
            TaskEvent::Expired { id, .. } => id,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(expired, ["a", "b", "b2", "c"]);
    assert_eq!(host.tasks.poll_timeout(), None);
    assert_eq!(host.tasks.len(), 1);
}

/// Proves M-TASKX-57, M-TASKX-12: the `ttl` and the poll interval can change, and the latest values are sent.
#[test]
fn times_can_change() {
    let mut host = Host::new();
    let key = host.begin("t");
    host.subscribe("7", r#""t""#);
    host.sent();
    let shown = |ttl: &str, interval: &str| {
        format!(
            r#""taskId":"t","status":"working",{TIMES},"ttlMs":{ttl},"pollIntervalMs":{interval}"#
        )
    };
    host.tasks.set_ttl(key, Some(Duration::from_secs(5))).unwrap();
    host.tasks.set_poll_interval(key, Duration::from_millis(20), host.side.now).unwrap();
    host.settle();
    assert_eq!(host.sent(), [task_notification("7", &shown("5000", "20"))]);
    host.answers(&get("1", "t"), &complete("1", &shown("5000", "20")));
    assert_eq!(host.tasks.poll_timeout(), Some(host.side.now + Duration::from_secs(5)));
    host.tasks.set_ttl(key, None).unwrap();
    host.answers_then(
        &get("2", "t"),
        &complete("2", &shown("null", "20")),
        &task_notification("7", &shown("null", "20")),
    );
    assert_eq!(host.tasks.poll_timeout(), None);
    // A `ttl` that has passed already expires at once.
    host.wait(10);
    host.tasks.set_ttl(key, Some(Duration::from_millis(10))).unwrap();
    assert!(host.tasks.handle_timeout(host.side.now).is_some());
    host.answers(&get("3", "t"), &unknown("3"));
}

/// Proves M-TASKX-12, M-TASKX-56: the default and the longest `ttl` are configured, and a server may set another
/// one for each task.
#[test]
fn how_long_tasks_are_kept_is_configured() {
    let hour = Duration::from_secs(3_600);
    for (ttl, longest, shown) in [
        (Some(hour), None, "3600000"),
        (Some(hour), Some(hour / 2), "1800000"),
        (None, Some(hour), "3600000"),
        (None, None, "null"),
        (Some(Duration::ZERO), None, "0"),
    ] {
        let mut host = Host::with(|config| {
            (config.ttl, config.longest_ttl) = (ttl, longest);
        });
        let request = host.called("1");
        host.begin_for(request, NewTask::new("t"));
        let members = format!(
            r#""taskId":"t","status":"working",{TIMES},"ttlMs":{shown},"pollIntervalMs":1000"#
        );
        assert_eq!(host.sent(), [result("1", "task", &members)]);
    }
}

/// Proves M-TASKX-56, M-R-28: the expiry of a task is not notified, and the subscription stays open for its other
/// tasks.
#[test]
fn task_expiry_is_not_notified_to_subscribers() {
    let mut host = Host::new();
    let first = begin(&mut host, "a", Some(Duration::from_millis(1)));
    let second = host.begin("b");
    host.subscribe("1", r#""a","b""#);
    host.sent();
    host.tasks.set_message(first, Some("soon"), host.side.now).unwrap();
    host.wait(1);
    assert!(host.tasks.handle_timeout(host.side.now).is_some());
    // Another task, without subscriptions, takes the slot of the first one.
    let third = host.begin("c");
    assert_eq!(third.index(), first.index());
    host.settle();
    host.completes(third);
    host.settle();
    assert_eq!(host.sent(), [""; 0]);
    host.tasks.cancel(second, host.side.now).unwrap();
    host.settle();
    let sent = host.sent();
    assert_eq!(sent.len(), 1);
    assert!(sent[0].contains(r#""taskId":"b","status":"cancelled""#), "{sent:?}");
}
