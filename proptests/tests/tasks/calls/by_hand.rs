//! Tasks that the application manages itself (`TaskOptions::by_hand`).

use mcp_sansio::call::TaskOptions;
use mcp_sansio::json::Raw;
use mcp_sansio::{CallOptions, ClientEvent, Outcome};

use super::kit::*;

/// The call ends with the whole task object, and the machine sends no request about the task.
#[test]
fn a_task_by_hand_ends_its_call() {
    for modern in [false, true] {
        for first in ["working", "input_required", "completed", "someday"] {
            let mut side = if modern { without_session() } else { in_session() };
            let by_hand = CallOptions::new().task(TaskOptions::new().by_hand());
            let call = call_with(&mut side, by_hand);
            assert_eq!(side.sent().len(), 1);
            let answer = if modern { modern_task_created(2, first) } else { created(2, first) };
            let event = side.receive(&answer);
            let Some(ClientEvent::CallEnded(ended)) = event else { panic!("{event:?}") };
            let Outcome::Task(begun) = ended.outcome else { panic!("no task") };
            assert_eq!((ended.call, &*begun.ticket.task_id), (call, "t-1"));
            assert_eq!(begun.ticket.method, "tools/call");
            if !modern {
                assert_eq!(begun.task.as_json(), task(first));
            }
            assert_eq!(begun.task.get("status").unwrap().as_json(), format!("{first:?}"));
            is_over(&mut side);
        }
    }
}

/// Proves L-TASK-59, L-TASK-64, L-CAP-17, L-AMB-25 for calls of the application itself: a `tasks/*` method is sent
/// if the server declares it, and its response is that of an ordinary call.
#[test]
fn the_application_asks_about_tasks_like_about_anything() {
    let all = r#","tasks":{"list":{},"cancel":{},"requests":{}}"#;
    let cases = [
        (all, [true, true, true, true]),
        (r#","tasks":{}"#, [true, true, false, false]),
        (r#","tasks":{"list":{}}"#, [true, true, true, false]),
        (r#","tasks":{"cancel":{}}"#, [true, true, false, true]),
        ("", [false; 4]),
    ];
    for (tasks, allowed) in cases {
        let revision = mcp_sansio::Revision::V2025_11_25;
        let mut side = in_session_with(of_sessions(), revision, tasks);
        let mut id = 2;
        for (method, allowed) in ["get", "result", "list", "cancel"].into_iter().zip(allowed) {
            let params = Raw::new(if method == "list" { "{}" } else { r#"{"taskId":"t-1"}"# });
            let (params, name) = (params.unwrap(), format!("tasks/{method}"));
            let (options, now) = (CallOptions::new(), side.now);
            let call = side.client.call_method(&name, &params, options, now, &mut side.out);
            assert_eq!(call.is_ok(), allowed, "{tasks} {method}");
            let Ok(call) = call else { continue };
            assert_eq!(side.sent().len(), 1);
            let answer = result(id, &task("completed"));
            assert_eq!(
                ended(side.receive(&answer)),
                (call, format!("result {}", task("completed")))
            );
            id += 1;
        }
        is_over(&mut side);
    }
}

/// Notifications about a task that the machine does not manage go to the application.
#[test]
fn news_of_tasks_by_hand_goes_to_the_application() {
    let mut side = in_session();
    let by_hand = CallOptions::new().task(TaskOptions::new().by_hand());
    call_with(&mut side, by_hand);
    drop(side.receive(&created(2, "working")));
    let news = side.receive(&status(&task("completed")));
    let Some(ClientEvent::Notification(notification)) = news else { panic!("{news:?}") };
    assert_eq!(notification.params.unwrap().as_json(), task("completed"));
    let (asked, needed_for) = question(side.receive(&nested(70)));
    assert_eq!(needed_for, None);
    side.respond(asked, ANSWER);
    assert!(side.sent().last().unwrap().contains("related-task"));
    is_over(&mut side);
}

/// Proves L-TASK-25 for the requesting side: the `_meta` of a new task reaches the application, whether or not the
/// machine manages the task.
#[test]
fn the_meta_of_a_new_task_is_delivered_once() {
    let meta = r#"{"io.modelcontextprotocol/model-immediate-response":"wait"}"#;
    let answer = result(2, &format!(r#"{{"task":{},"_meta":{meta}}}"#, task("working")));
    for by_hand in [false, true] {
        let mut side = in_session();
        let options = TaskOptions::new();
        let options = if by_hand { options.by_hand() } else { options };
        call_with(&mut side, CallOptions::new().task(options));
        let reported = match side.receive(&answer) {
            Some(ClientEvent::Task(update)) => update.meta,
            Some(ClientEvent::CallEnded(ended)) => match ended.outcome {
                Outcome::Task(begun) => begun.meta,
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        };
        assert_eq!(reported.unwrap().as_json(), meta);
        if !by_hand {
            let news = side.receive(&status(&task_with("working", "01", "")));
            let Some(ClientEvent::Task(update)) = news else { panic!("{news:?}") };
            assert_eq!(update.meta, None, "said once");
        }
    }
}
