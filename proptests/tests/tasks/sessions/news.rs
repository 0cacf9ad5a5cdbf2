//! Unrequested messages to a requestor: changes of status and progress.

use mcp_sansio::ErrorCode;
use mcp_sansio::model::InputRequired;
use mcp_sansio::progress::{Progress, ProgressReport};
use mcp_sansio::task::{NewTask, Status, TaskError, Tasks};
use mcp_sansio_proptests::ServerSide;

use crate::sessions::kit::{
    Host, Reaction, Stage, WITH_TASKS, about, changed, on_both, related, request, result, shown,
};

fn progress(token: &str, members: &str, task: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},{members},{}}}}}"#,
        related(task)
    )
}

/// The params of a request for a task with a progress token.
fn with_token(token: &str) -> String {
    format!(r#""task":{{}},"_meta":{{"progressToken":{token}}}"#)
}

/// Proves L-TASK-55, L-TASK-54, L-RACE-46: changes are sent in order, each with the current task, unless `notify`
/// is off. Changes that are not sent yet are merged.
#[test]
fn task_changes_are_notified_in_order() {
    fn check<H: Host>() {
        let mut stage = Stage::<H>::new();
        let key = stage.begin("a");
        assert_eq!(stage.settled_messages(), [""; 0]);
        let now = stage.now();
        stage.tasks.set_message(key, Some("one"), now).unwrap();
        assert!(stage.tasks.has_news_for(stage.host.machine().connection_number()));
        assert_eq!(stage.settled_messages(), [changed(shown("a", "working").message("one"))]);
        stage.pass(1);
        let now = stage.now();
        stage.tasks.set_message(key, Some("two"), now).unwrap();
        stage.tasks.set_message(key, Some("three"), now).unwrap();
        stage.tasks.fail(key, ErrorCode::new(5), "broken", now).unwrap();
        let failed = shown("a", "failed").message("broken").updated(1);
        assert_eq!(stage.settled_messages(), [changed(&failed)]);
        assert_eq!((stage.settled_messages().len(), stage.tasks.next_connection()), (0, None));
        assert_eq!(stage.answers(&about("1", "get", "a")), [result("1", failed)]);
        let mut stage = Stage::<H>::quiet();
        let key = stage.begin("a");
        stage.complete(key);
        assert_eq!(stage.settled_messages(), [""; 0]);
    }
    on_both!(check);
}

/// Proves L-RACE-45: no notification about a task precedes the response that creates it, if the application
/// announces the task before it settles.
#[test]
fn a_task_is_announced_before_it_changes() {
    fn check<H: Host>() {
        let mut stage = Stage::<H>::new();
        let request = stage.requested("1", r#""task":{}"#);
        let key = stage.create(request, NewTask::new("a")).unwrap();
        stage.host.announce(request, key, &mut stage.tasks).unwrap();
        stage.complete(key);
        stage.settle();
        let created = result("1", format!(r#"{{"task":{}}}"#, shown("a", "working")));
        assert_eq!(stage.sent(), [created, changed(shown("a", "completed"))]);
    }
    on_both!(check);
}

/// Proves L-PROG-14, L-PROG-15, L-TASK-52, L-RACE-52, L-RACE-53: progress continues under the token of the answered
/// request and names the task. It stops when the task ends.
#[test]
fn progress_outlives_the_request() {
    fn check<H: Host>() {
        for (token, status) in [("7", Status::Completed), (r#""t\"k""#, Status::Cancelled)] {
            let mut stage = Stage::<H>::quiet();
            let key = stage.begin_new(&with_token(token), NewTask::new("a"));
            let Stage { host, tasks, .. } = &mut stage;
            let report = Progress::new(1_u32).total(4_u32).message("m");
            assert_eq!(host.report(key, report, tasks), Ok(ProgressReport::Sent));
            for stale in [1_u32, 0] {
                let reported = host.report(key, Progress::new(stale), tasks);
                assert_eq!(reported, Ok(ProgressReport::NotIncreasing));
            }
            assert_eq!(host.report(key, Progress::new(2_u32), tasks), Ok(ProgressReport::Sent));
            let sent = [
                progress(token, r#""progress":1,"total":4,"message":"m""#, "a"),
                progress(token, r#""progress":2"#, "a"),
            ];
            assert_eq!(stage.sent(), sent);
            let now = stage.now();
            match status {
                Status::Completed => stage.complete(key),
                _ => stage.tasks.cancel(key, now).unwrap(),
            }
            let Stage { host, tasks, .. } = &mut stage;
            let late = host.report(key, Progress::new(3_u32), tasks);
            assert_eq!(late, Err(TaskError::Final(status)));
            tasks.remove(key);
            let gone = host.report(key, Progress::new(4_u32), tasks);
            assert_eq!((gone, stage.settled_messages().len()), (Err(TaskError::Unknown), 0));
        }
    }
    on_both!(check);
}

/// Proves L-PROG-14: progress before the task exists counts, and without a token no progress is sent.
#[test]
fn progress_of_the_request_is_progress_of_the_task() {
    let mut stage = Stage::<ServerSide>::quiet();
    let id = stage.requested("1", &with_token("7"));
    let now = stage.now();
    let ServerSide { server, out, .. } = &mut stage.host;
    let reported = server.progress(id, Progress::new(3_u32), now, out);
    assert_eq!(reported, Ok(ProgressReport::Sent));
    let key = stage.host.begin(id, NewTask::new("a"), &mut stage.tasks).unwrap();
    let Stage { host, tasks, .. } = &mut stage;
    let again = host.report(key, Progress::new(3_u32), tasks);
    assert_eq!(again, Ok(ProgressReport::NotIncreasing));
    assert_eq!(host.report(key, Progress::new(4_u32), tasks), Ok(ProgressReport::Sent));
    assert_eq!(stage.sent()[2], progress("7", r#""progress":4"#, "a"));
    let key = stage.begin("b");
    let Stage { host, tasks, .. } = &mut stage;
    let unwanted = host.report(key, Progress::new(1_u32), tasks);
    assert_eq!((unwanted, stage.sent().len()), (Ok(ProgressReport::NotWanted), 0));
}

/// Proves L-RACE-45: progress of a task is not sent before its announcement either.
#[test]
fn progress_waits_for_the_announcement() {
    fn check<H: Host>() {
        let mut stage = Stage::<H>::quiet();
        let request = stage.requested("1", &with_token("7"));
        let key = stage.create(request, NewTask::new("a")).unwrap();
        let Stage { host, tasks, .. } = &mut stage;
        let early = host.report(key, Progress::new(2_u32), tasks);
        assert_eq!((early, stage.sent().len()), (Ok(ProgressReport::NotWanted), 0));
        let Stage { host, tasks, .. } = &mut stage;
        host.announce(request, key, tasks).unwrap();
        assert_eq!(host.report(key, Progress::new(1_u32), tasks), Ok(ProgressReport::Sent));
        let created = result("1", format!(r#"{{"task":{}}}"#, shown("a", "working")));
        assert_eq!(stage.sent(), [created, progress("7", r#""progress":1"#, "a")]);
    }
    on_both!(check);
}

/// Before the client is ready, a server sends only responses about tasks.
#[test]
fn task_changes_are_not_notified_before_initialized() {
    let mut side = ServerSide::with(crate::sessions::kit::server_config());
    side.receive(
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"1"}}}"#,
    );
    let mut stage = Stage::of(side, Tasks::default());
    stage.sent();
    let key = stage.begin("a");
    let now = stage.now();
    stage.tasks.require_input(key, &InputRequired::new().roots("r"), now).unwrap();
    assert_eq!(stage.settled_messages(), [""; 0]);
    let ready = stage.receive(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    assert!(matches!(ready, Reaction::Other(_)), "{ready:?}");
    // A change is not kept until the client is ready, but a request is.
    assert_eq!(stage.settled_messages(), [request("1", "roots/list", &related("a"))]);
    stage.tasks.set_message(key, Some("m"), now).unwrap();
    assert_eq!(stage.settled_messages(), [changed(shown("a", "input_required").message("m"))]);
}

/// A change is sent once even if the request with it has to wait, and it does not delay other tasks.
#[test]
fn a_question_that_has_to_wait_is_no_news() {
    let host = ServerSide::host_with(WITH_TASKS, |config| config.limits.outbound_calls = 1);
    let mut stage = Stage::of(host, Tasks::default());
    let key = stage.begin("a");
    let other = stage.begin("b");
    stage.serve(&about("1", "result", "b"));
    stage.host.call("roots/list");
    stage.sent();
    let now = stage.now();
    stage.tasks.require_input(key, &InputRequired::new().roots("r"), now).unwrap();
    assert_eq!(stage.settled_messages(), [changed(shown("a", "input_required"))]);
    assert_eq!(stage.settled_messages(), [""; 0]);
    stage.complete(other);
    let done = changed(shown("b", "completed"));
    let delivered = stage.settled_messages();
    assert_eq!(delivered, [done, crate::sessions::kit::result_of::<ServerSide>("1", "b")]);
    stage.receive(&result("1", r#"{"roots":[]}"#));
    assert_eq!(stage.settled_messages(), [request("2", "roots/list", &related("a"))]);
    assert_eq!((stage.settled_messages().len(), stage.tasks.next_connection()), (0, None));
}
