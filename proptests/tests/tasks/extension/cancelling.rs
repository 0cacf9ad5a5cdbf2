//! The effect of `tasks/cancel`.

use mcp_sansio::task::{NewTask, Status, TaskError, TaskKey, TaskNews, Tasks, TasksConfig};
use mcp_sansio::{Framing, Limits, Outbox, ServerEvent};

use crate::extension::kit::*;

/// A host with `cancel_at_once` off, where a cancellation is only a wish.
fn patient() -> Host {
    Host::with(|config| config.cancel_at_once = false)
}

fn status(host: &Host, key: TaskKey) -> Status {
    host.tasks.get(key).unwrap().status()
}

/// Proves M-TASKX-40, M-RES-14: a cancellation is acknowledged, and the acknowledgement contains nothing about the
/// task.
#[test]
fn a_cancellation_is_acknowledged() {
    let mut host = Host::new();
    let key = host.begin("t");
    host.wait(250);
    assert_eq!(host.serve(&cancel("1", "t")), Some(TaskNews::Cancelled(key)));
    assert_eq!(host.sent(), [complete("1", "")]);
    let times =
        r#""createdAt":"1970-01-01T00:16:40.000Z","lastUpdatedAt":"1970-01-01T00:16:40.250Z""#;
    let ended = format!(r#""taskId":"t","status":"cancelled",{times},{PACE}"#);
    host.answers(&get("2", "t"), &complete("2", &ended));
    // The outcome of the work is dropped.
    let late = host.tasks.complete(key, &done(), host.side.now);
    assert_eq!(late, Err(TaskError::Final(Status::Cancelled)));
    assert_eq!(host.tasks.require_input(key, &questions(&["a"]), host.side.now), late);
}

/// Proves M-TASKX-40: with `cancel_at_once` off, the task may end in any way, or continue.
#[test]
fn a_wish_to_cancel_decides_nothing() {
    for end in [Status::Completed, Status::Failed, Status::Cancelled] {
        let mut host = patient();
        let key = host.begin("t");
        assert_eq!(host.serve(&cancel("1", "t")), Some(TaskNews::CancelRequested(key)));
        assert_eq!(host.sent(), [complete("1", "")]);
        assert!(host.tasks.get(key).unwrap().is_cancel_requested());
        host.answers(&get("2", "t"), &complete("2", &fresh("t", "working")));
        // The application is notified once.
        host.answers(&cancel("3", "t"), &complete("3", ""));
        match end {
            Status::Completed => host.completes(key),
            Status::Failed => host.fails(key),
            _ => host.tasks.cancel(key, host.side.now).unwrap(),
        }
        assert_eq!(status(&host, key), end);
        host.answers(&cancel("4", "t"), &complete("4", ""));
        assert_eq!(status(&host, key), end);
    }
}

/// Proves M-TASKX-41, M-R-22: cancelling a task that has ended is acknowledged like any other cancellation and
/// changes nothing.
#[test]
fn cancelling_an_ended_task_changes_nothing() {
    for at_once in [true, false] {
        for end in [Status::Completed, Status::Failed, Status::Cancelled] {
            let mut host = Host::with(|config| config.cancel_at_once = at_once);
            let key = host.begin("t");
            match end {
                Status::Completed => host.completes(key),
                Status::Failed => host.fails(key),
                _ => host.tasks.cancel(key, host.side.now).unwrap(),
            }
            let before = host.tasks.clone();
            for id in ["1", "2"] {
                host.answers(&cancel(id, "t"), &complete(id, ""));
            }
            assert_eq!(host.tasks, before);
        }
    }
}

/// Proves M-TASKX-42, M-R-21: a cancelled task has no open inputs, and a late answer is acknowledged and dropped.
#[test]
fn a_cancelled_task_waits_for_nothing() {
    let mut host = Host::new();
    let key = host.begin("t");
    host.asks(key, &["a", "b"]);
    let answer = format!(r#""a":{ANSWER}"#);
    host.answers(&update("1", "t", &answer), &complete("1", ""));
    assert_eq!(host.serve(&cancel("2", "t")), Some(TaskNews::Cancelled(key)));
    assert_eq!(host.sent(), [complete("2", "")]);
    host.answers(&get("3", "t"), &complete("3", &fresh("t", "cancelled")));
    assert_eq!(host.tasks.get(key).unwrap().waits_for().count(), 0);
    let late = format!(r#""b":{ANSWER}"#);
    host.answers(&update("4", "t", &late), &complete("4", ""));
    host.answers(&get("5", "t"), &complete("5", &fresh("t", "cancelled")));
}

/// Proves M-TASKX-42, M-R-21: with `cancel_at_once` off, earlier inputs can still be answered, and no further input
/// is required.
#[test]
fn after_a_wish_to_cancel_nothing_more_is_asked_for() {
    let mut host = patient();
    let key = host.begin("t");
    host.asks(key, &["a"]);
    assert_eq!(host.serve(&cancel("1", "t")), Some(TaskNews::CancelRequested(key)));
    let asked = host.tasks.require_input(key, &questions(&["b"]), host.side.now);
    assert_eq!(asked, Err(TaskError::CancelRequested));
    let news = host.serve(&update("2", "t", &format!(r#""a":{ANSWER}"#)));
    assert_eq!(news, Some(TaskNews::Input(key)));
    assert_eq!(host.sent(), [complete("1", ""), complete("2", "")]);
    host.tasks.cancel(key, host.side.now).unwrap();
    host.answers(&get("3", "t"), &complete("3", &fresh("t", "cancelled")));
}

/// Proves M-TASKX-40, M-R-21: a cancellation counts even if there is hardly room for its acknowledgement.
#[test]
fn a_cancellation_finds_room() {
    for at_once in [true, false] {
        let mut host = Host::with(|config| config.cancel_at_once = at_once);
        let key = host.begin("t");
        let mut limits = Limits::default();
        limits.outbox_bytes = 10;
        host.side.out = Outbox::new(Framing::Messages, &limits);
        let news = host.serve(&cancel("1", "t"));
        let expected =
            if at_once { TaskNews::Cancelled(key) } else { TaskNews::CancelRequested(key) };
        assert_eq!(news, Some(expected));
        assert_eq!(host.sent(), [complete("1", "")]);
        assert_eq!(host.side.server.in_flight().counts().inbound, 0);
    }
}

/// Proves M-CANC-19: a cancellation of a request about a task cancels only that request.
#[test]
fn a_cancelled_question_is_no_cancelled_task() {
    let mut host = Host::new();
    let key = host.begin("t");
    let request = host.request(&get("1", "t"));
    let frame = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    assert!(matches!(host.side.receive(frame), Some(ServerEvent::Cancelled(_))));
    let mcp_sansio::ClientRequest::Task(call) = &request.kind else { panic!() };
    let (now, out) = (host.side.now, &mut host.side.out);
    let served = host.side.server.tasks(&mut host.tasks).serve(request.id, call, now, out);
    assert_eq!(served, Err(mcp_sansio::RespondError::Cancelled));
    assert_eq!(host.sent(), [""; 0]);
    assert_eq!(status(&host, key), Status::Working);
}

/// Proves M-TASKX-42: the requests of a cancelled task make room for those of other tasks, however low the limit on
/// requests.
#[test]
fn a_cancelled_task_makes_room_for_the_questions_of_others() {
    let mut config = config();
    config.connection.limits.outbound_calls = 1;
    let mut side = in_session(0, config);
    let mut tasks = Tasks::new(TasksConfig::default());
    let [first, second] = ["a", "b"].map(|task| {
        let request = side.request(&of_session("1", "tools/call", r#""name":"t","task":{}"#));
        let (now, new) = (side.now, NewTask::new(task));
        let key = side.server.tasks(&mut tasks).begin(request, new, now, &mut side.out).unwrap();
        tasks.require_input(key, &questions(&["q"]), now).unwrap();
        side.server.tasks(&mut tasks).settle(now, &mut side.out);
        key
    });
    let asked = |side: &mut mcp_sansio_proptests::ServerSide| {
        let is_question = |message: &&String| message.contains(r#""method":"elicitation/create""#);
        side.sent().iter().filter(is_question).count()
    };
    assert_eq!(asked(&mut side), 1);
    let frame = of_session("2", "tasks/cancel", r#""taskId":"a""#);
    assert_eq!(serve(&mut side, &mut tasks, &frame), Some(TaskNews::Cancelled(first)));
    side.server.tasks(&mut tasks).settle(side.now, &mut side.out);
    assert_eq!(asked(&mut side), 1, "it is the turn of the second one");
    assert_eq!(tasks.get(second).unwrap().status(), Status::InputRequired);
    assert_eq!(tasks.next_connection(), None);
}
