//! The view that the application has of its tasks.

use std::time::Duration;

use mcp_sansio::ErrorCode;
use mcp_sansio::json::Raw;
use mcp_sansio::schema::EncodeError;
use mcp_sansio::task::{NewTask, Status, TaskError};

use crate::sessions::kit::{Host, Stage, changed, on_both, shown};

#[test]
fn a_task_view_shows_the_creation_parameters() {
    fn check<H: Host>() {
        let mut stage = Stage::<H>::quiet();
        assert!(stage.tasks.is_empty());
        let (ttl, interval) = (Duration::from_secs(60), Duration::from_secs(5));
        let new = NewTask::new("a").ttl(Some(ttl)).poll_interval(interval).message("begun");
        assert_eq!(new.id(), "a");
        let key = stage.begin_new(r#""task":{}"#, new);
        assert!(!stage.tasks.is_empty());
        let view = stage.tasks.get(key).unwrap();
        assert_eq!((view.id(), view.message()), ("a", Some("begun")));
        assert_eq!((view.ttl(), view.poll_interval()), (Some(ttl), Some(interval)));
        assert!(view.result().is_none() && view.error().is_none());
        let forever = stage.begin_new(r#""task":{}"#, NewTask::new("b").ttl(None));
        let view = stage.tasks.get(forever).unwrap();
        assert_eq!((view.message(), view.ttl()), (None, None));
    }
    on_both!(check);
}

#[test]
fn a_task_view_shows_the_result_or_error() {
    fn check<H: Host>() {
        let mut stage =
            Stage::<H>::with(|config| (config.notify, config.result_bytes) = (false, 90));
        let (key, now) = (stage.begin("a"), stage.now());
        let code = ErrorCode::new(5);
        let data = "x".repeat(89);
        let refused = stage.tasks.fail_with(key, code, "no disk", &data, now);
        assert_eq!(refused, Err(TaskError::Encode(EncodeError::Full)));
        assert_eq!(stage.tasks.get(key).unwrap().status(), Status::Working, "nothing happened");
        let data = "x".repeat(88);
        stage.tasks.fail_with(key, code, "no disk", &data, now).unwrap();
        let error = stage.tasks.get(key).unwrap().error().unwrap();
        assert_eq!((error.code, &*error.message.to_str()), (code, "no disk"));
        assert_eq!(error.data.unwrap().as_json(), format!("\"{data}\""));
        let key = stage.begin("b");
        stage.complete(key);
        let view = stage.tasks.get(key).unwrap();
        assert_eq!(view.result().unwrap().as_json(), H::RESULT);
        assert!(view.error().is_none());
    }
    on_both!(check);
}

/// Related-task metadata is removed from a stored result; it is added when the result is sent.
#[test]
fn a_result_is_kept_without_the_name_of_a_task() {
    fn check<H: Host>() {
        let mut stage = Stage::<H>::quiet();
        let (key, now) = (stage.begin("a"), stage.now());
        let members = H::RESULT.strip_suffix('}').unwrap();
        let related = r#""io.modelcontextprotocol/related-task":{"taskId":"x"}"#;
        let result = format!(r#"{members},"_meta":{{{related},"b":1}}}}"#);
        stage.tasks.complete(key, &Raw::new(&result).unwrap(), now).unwrap();
        let kept = stage.tasks.get(key).unwrap().result().unwrap();
        assert_eq!(kept.as_json(), format!(r#"{members},"_meta":{{"b":1}}}}"#));
    }
    on_both!(check);
}

/// Work can continue between the creation of a task and its announcement.
#[test]
fn a_change_before_the_task_announcement_is_notified() {
    fn check<H: Host>() {
        let mut stage = Stage::<H>::new();
        let request = stage.requested("1", r#""task":{}"#);
        let key = stage.create(request, NewTask::new("a")).unwrap();
        stage.pass(1);
        let now = stage.now();
        stage.tasks.set_message(key, Some("begun"), now).unwrap();
        stage.host.announce(request, key, &mut stage.tasks).unwrap();
        assert_eq!(stage.sent().len(), 1);
        let task = shown("a", "working").message("begun").updated(1);
        assert_eq!(stage.settled_messages(), [changed(task)]);
    }
    on_both!(check);
}

/// Work can end in the moment in which it begins, and before its task is announced.
#[test]
fn an_end_before_the_task_announcement_is_notified() {
    fn check<H: Host>() {
        let mut stage = Stage::<H>::new();
        let request = stage.requested("1", r#""task":{}"#);
        let key = stage.create(request, NewTask::new("a")).unwrap();
        stage.complete(key);
        stage.host.announce(request, key, &mut stage.tasks).unwrap();
        assert_eq!(stage.sent().len(), 1);
        assert_eq!(stage.settled_messages(), [changed(shown("a", "completed"))]);
    }
    on_both!(check);
}

/// A removed task leaves no state: task tables with the same history are equal, independent of ids and messages.
#[test]
fn a_task_that_is_forgotten_leaves_nothing_behind() {
    fn check<H: Host>() {
        let after = |id, message| {
            let mut stage = Stage::<H>::quiet();
            let key = stage.begin_new(r#""task":{}"#, NewTask::new(id).message(message));
            assert!(stage.tasks.remove(key));
            stage.tasks
        };
        assert_eq!(after("a", "begun"), after("b", "secret"));
    }
    on_both!(check);
}

/// Debug output contains neither task ids nor payloads, which are secrets.
#[test]
fn debug_shows_neither_ids_nor_payloads() {
    fn check<H: Host>() {
        let mut stage = Stage::<H>::quiet();
        let new = NewTask::new("secret").message("secret");
        let debug = format!("{new:?}");
        assert_eq!(debug, "NewTask { ttl: None, poll_interval: None, .. }");
        let key = stage.begin_new(r#""task":{}"#, new);
        assert_eq!(format!("{key:?}"), "TaskKey(0:0)");
        let debug = format!("{:?}", stage.tasks.save(key).unwrap());
        let method = H::METHOD;
        let record = format!("serial: 0, method: {method:?}, status: \"working\", ..");
        assert_eq!(debug, format!("TaskRecord {{ {record} }}"));
        let debug = format!("{:?}", stage.tasks);
        assert!(debug.contains("Record { serial: 0, kind: "), "{debug}");
        assert!(!debug.contains("secret"), "{debug}");
    }
    on_both!(check);
}
