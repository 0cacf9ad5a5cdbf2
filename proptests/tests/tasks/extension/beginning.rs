//! The beginning of a task: the response that creates it, and its order.

use std::collections::BTreeSet;
use std::time::Duration;

use mcp_sansio::error::NotAllowed;
use mcp_sansio::event::CancelCause;
use mcp_sansio::model::LoggingLevel;
use mcp_sansio::progress::{Progress, ProgressReport};
use mcp_sansio::schema::EncodeError;
use mcp_sansio::subscription::Log;
use mcp_sansio::task::{NewTask, Status, TaskError, TaskNews};
use mcp_sansio::{Cause, ErrorCode, Framing, Limits, Outbox, RespondError, ServerEvent};

use crate::extension::kit::*;

/// Proves M-TASKX-09, M-TASKX-12, M-AMB-33: the response is the task itself, flat, and always has a `ttlMs`.
#[test]
fn a_call_is_answered_with_the_task() {
    let begin = |new: NewTask| {
        let mut host = Host::new();
        let request = host.called("1");
        host.begin_for(request, new);
        host.sent()
    };
    let new = || NewTask::new("t");
    let head = format!(r#""taskId":"t","status":"working",{TIMES}"#);
    let plain = result("1", "task", &format!("{head},{PACE}"));
    assert_eq!(begin(new()), std::slice::from_ref(&plain));
    let forever = format!(r#"{head},"ttlMs":null,"pollIntervalMs":1000"#);
    assert_eq!(begin(new().ttl(None)), [result("1", "task", &forever)]);
    let paced = format!(r#"{head},"ttlMs":60000,"pollIntervalMs":250"#);
    let ttl = Some(Duration::from_secs(60));
    let paced = result("1", "task", &paced);
    assert_eq!(begin(new().ttl(ttl).poll_interval(Duration::from_millis(250))), [paced]);
    // An interval is positive, however short.
    let short = result("1", "task", &format!(r#"{head},"ttlMs":3600000,"pollIntervalMs":1"#));
    for interval in [Duration::ZERO, Duration::from_nanos(1), Duration::from_millis(1)] {
        assert_eq!(begin(new().poll_interval(interval)), std::slice::from_ref(&short));
    }
    let worded =
        format!(r#""taskId":"t","status":"working","statusMessage":"so \"far\"",{TIMES},{PACE}"#);
    assert_eq!(begin(new().message("so \"far\"")), [result("1", "task", &worded)]);
    // Members of legacy tasks are left out.
    assert_eq!(begin(new().immediate_response("wait")), [plain]);
}

/// Proves M-TASKX-12: times belong to one timeline and have the form of ISO 8601.
#[test]
fn times_are_written_to_the_millisecond() {
    let mut host = Host::new();
    host.side.now = mcp_sansio::Instant::from_millis(1_764_066_600_789);
    let request = host.called("1");
    let key = host.begin_for(request, NewTask::new("t"));
    let created = r#""createdAt":"2025-11-25T10:30:00.789Z""#;
    let begun = format!(
        r#""taskId":"t","status":"working",{created},"lastUpdatedAt":"2025-11-25T10:30:00.789Z",{PACE}"#
    );
    assert_eq!(host.sent(), [result("1", "task", &begun)]);
    host.wait(8_123_456);
    host.completes(key);
    let ended = format!(
        r#""taskId":"t","status":"completed",{created},"lastUpdatedAt":"2025-11-25T12:45:24.245Z",{PACE},"result":{{"resultType":"complete",{DONE}}}"#
    );
    host.answers(&get("2", "t"), &complete("2", &ended));
}

/// Proves M-TASKX-09: a server without `identify` does not identify itself in a task either.
#[test]
fn a_nameless_server_begins_tasks() {
    let mut host = Host::configured(|config| config.identify = false);
    let request = host.called("1");
    host.begin_for(request, NewTask::new("t"));
    let head = r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"#;
    assert_eq!(host.sent(), [format!(r#"{head}"task",{}}}}}"#, fresh("t", "working"))]);
    host.answers(&get("1", "t"), &format!(r#"{head}"complete",{}}}}}"#, fresh("t", "working")));
}

/// Proves M-TASKX-14: in any status at its announcement, the first message of a task contains neither its input
/// requests nor its outcome.
#[test]
fn the_beginning_of_a_task_holds_no_more() {
    type Step = fn(&mut Host, mcp_sansio::task::TaskKey);
    let steps: [(&str, &str, Step); 4] = [
        ("input_required", "", |host, key| host.asks(key, &["a"])),
        ("completed", "", |host, key| host.completes(key)),
        ("failed", r#""statusMessage":"broken","#, |host, key| host.fails(key)),
        ("cancelled", "", |host, key| host.tasks.cancel(key, host.side.now).unwrap()),
    ];
    for (status, message, step) in steps {
        let mut host = Host::new();
        let request = host.called("1");
        let new = NewTask::new("t");
        let key = host.side.server.tasks(&mut host.tasks).create(request, new, host.side.now);
        step(&mut host, key.unwrap());
        let (server, out) = (&mut host.side.server, &mut host.side.out);
        server.tasks(&mut host.tasks).announce(request, key.unwrap(), None, out).unwrap();
        let members = format!(r#""taskId":"t","status":"{status}",{message}{TIMES},{PACE}"#);
        assert_eq!(host.sent(), [result("1", "task", &members)]);
    }
}

/// Proves M-TASKX-15: a task can be read as soon as its id is known.
#[test]
fn a_task_is_readable_as_soon_as_its_id_is_sent() {
    let mut host = Host::new();
    let request = host.called("1");
    host.begin_for(request, NewTask::new("t"));
    assert_eq!(host.tasks.len(), 1);
    host.serve(&get("2", "t"));
    let working = fresh("t", "working");
    assert_eq!(host.sent(), [result("1", "task", &working), complete("2", &working)]);
}

/// Proves M-TASKX-15: a task can be saved before its announcement.
#[test]
fn a_task_can_be_written_down_first() {
    let mut host = Host::new();
    let request = host.called("1");
    let now = host.side.now;
    let new = NewTask::new("t");
    let key = host.side.server.tasks(&mut host.tasks).create(request, new, now).unwrap();
    assert_eq!(host.sent(), [""; 0]);
    assert_eq!(host.side.server.in_flight().counts().inbound, 1);
    let record = host.tasks.save(key).unwrap();
    assert_eq!(record.id(), "t");
    // The same record is valid in another process.
    let mut elsewhere = Host::new();
    elsewhere.tasks.restore(record).unwrap();
    elsewhere.answers(&get("1", "t"), &complete("1", &fresh("t", "working")));
    let (server, out) = (&mut host.side.server, &mut host.side.out);
    server.tasks(&mut host.tasks).announce(request, key, None, out).unwrap();
    assert_eq!(host.sent(), [result("1", "task", &fresh("t", "working"))]);
    let again =
        host.side.server.tasks(&mut host.tasks).announce(request, key, None, &mut host.side.out);
    assert_eq!(again, Err(TaskError::Respond(RespondError::Answered)));
}

/// Proves M-TASKX-16: a task that could not be saved is an error and does not exist.
#[test]
fn a_task_that_could_not_be_written_down_is_an_error() {
    let mut host = Host::new();
    let request = host.called("1");
    let new = NewTask::new("t");
    let key = host.side.server.tasks(&mut host.tasks).create(request, new, host.side.now).unwrap();
    assert!(host.tasks.remove(key));
    let code = ErrorCode::INTERNAL_ERROR;
    host.side.server.reject(request, code, "no room", &mut host.side.out).unwrap();
    assert_eq!(host.sent(), [error("1", -32603, "no room")]);
    host.answers(&get("2", "t"), &unknown("2"));
    let (server, out) = (&mut host.side.server, &mut host.side.out);
    let late = server.tasks(&mut host.tasks).announce(request, key, None, out);
    assert_eq!(late, Err(TaskError::Respond(RespondError::Answered)));
    assert!(host.tasks.is_empty());
    assert_eq!(host.tasks.next_connection(), None);
}

/// Proves M-TASKX-16: a task whose announcement cannot be sent does not begin, and the request can still be
/// answered.
#[test]
fn a_task_that_cannot_be_announced_does_not_begin() {
    let mut host = Host::new();
    let mut limits = Limits::default();
    limits.outbox_bytes = 100;
    host.side.out = Outbox::new(Framing::Messages, &limits);
    let request = host.called("1");
    let (now, out) = (host.side.now, &mut host.side.out);
    let begun = host.side.server.tasks(&mut host.tasks).begin(request, NewTask::new("t"), now, out);
    assert_eq!(begun, Err(TaskError::Encode(EncodeError::Full)));
    assert!(host.tasks.is_empty());
    host.side.out = Outbox::new(Framing::Messages, &Limits::default());
    host.begin_for(request, NewTask::new("t"));
    assert_eq!(host.sent(), [result("1", "task", &fresh("t", "working"))]);
}

/// Proves M-TASKX-16: the number of tasks is limited, in total and per owner, and further tasks are errors.
#[test]
fn there_are_as_many_tasks_as_there_may_be() {
    let mut host = Host::with(|config| {
        config.tasks = 3;
        config.tasks_of_owner = 2;
    });
    let mut begin = |id: &str, owner: u64| {
        let call = knowing("1", "tools/call", r#""name":"t""#);
        let request = request_of(&mut host.side, &call, owner).id;
        let (now, out) = (host.side.now, &mut host.side.out);
        let begun =
            host.side.server.tasks(&mut host.tasks).begin(request, NewTask::new(id), now, out);
        if begun.is_err() {
            let code = ErrorCode::INTERNAL_ERROR;
            host.side.server.reject(request, code, "too many", &mut host.side.out).unwrap();
        }
        let sent = host.sent().remove(0);
        (begun.map(|key| key.index()), sent)
    };
    let delivered = |id: &str| result("1", "task", &fresh(id, "working"));
    let full = error("1", -32603, "too many");
    assert_eq!(begin("a", 1), (Ok(0), delivered("a")));
    assert_eq!(begin("b", 1), (Ok(1), delivered("b")));
    assert_eq!(begin("c", 1), (Err(TaskError::TooManyTasks), full.clone()));
    assert_eq!(begin("c", 2), (Ok(2), delivered("c")));
    assert_eq!(begin("d", 2), (Err(TaskError::TooManyTasks), full));
}

/// Proves M-TASKX-18: an id made of 128 random bits keeps all of them, and no two tasks have the same id.
#[test]
fn an_id_has_all_the_randomness_it_is_given() {
    let ids: BTreeSet<String> = (0..128)
        .map(|bit: u32| NewTask::id_of((1_u128 << bit).to_be_bytes()))
        .chain([NewTask::id_of([0; 16])])
        .collect();
    assert_eq!(ids.len(), 129);
    assert!(
        ids.iter().all(|id| id.len() == 32 && id.bytes().all(|digit| digit.is_ascii_hexdigit()))
    );
    assert_eq!(NewTask::id_of([0xab; 16]), "ab".repeat(16));
    let mut host = Host::new();
    host.begin("t");
    for id in ["t", ""] {
        let request = host.called("1");
        let (now, out) = (host.side.now, &mut host.side.out);
        let begun =
            host.side.server.tasks(&mut host.tasks).begin(request, NewTask::new(id), now, out);
        assert_eq!(begun, Err(TaskError::BadId), "{id}");
        host.side
            .server
            .reject(request, ErrorCode::INTERNAL_ERROR, "no", &mut host.side.out)
            .unwrap();
        assert_eq!(host.sent(), [error("1", -32603, "no")]);
    }
    assert_eq!(host.tasks.len(), 1);
    // An id is an opaque string.
    for id in ["\u{e9}", "a b", "..", "a/b?c", "\u{1}", "\"", "T"] {
        let request = host.called("1");
        host.begin_for(request, NewTask::new(id));
        let literal = serde_json::to_string(id).unwrap();
        let expected = fresh("t", "working").replace(r#""t""#, &literal);
        assert_eq!(host.sent(), [result("1", "task", &expected)]);
        let frame = knowing("2", "tasks/get", &format!(r#""taskId":{literal}"#));
        host.answers(&frame, &complete("2", &expected));
    }
}

/// Proves M-TASKX-17, M-MRTR-45, M-AMB-47: requests for input precede the task. Afterwards no `requestState` is
/// returned and the request cannot require input.
#[test]
fn questions_come_before_the_task() {
    let mut host = Host::new();
    let call = of_client("1", "tools/call", ABLE, r#""name":"t""#);
    let first = host.request(&call);
    let need = questions(&["who"]).state("s");
    let (now, out) = (host.side.now, &mut host.side.out);
    host.side.server.require_input(&first, &need, now, out).unwrap();
    let members = format!(r#""inputRequests":{{"who":{QUESTION}}},"requestState":"s""#);
    assert_eq!(host.sent(), [result("1", "input_required", &members)]);
    let members = format!(r#""name":"t","inputResponses":{{"who":{ANSWER}}},"requestState":"s""#);
    let second = host.request(&of_client("2", "tools/call", ABLE, &members));
    assert_eq!(second.input("who").unwrap().as_json(), ANSWER);
    let key = host.begin_for(second.id, NewTask::new("t"));
    assert_eq!(host.sent(), [result("2", "task", &fresh("t", "working"))]);
    let (now, out) = (host.side.now, &mut host.side.out);
    let late = host.side.server.require_input(&second, &need, now, out);
    assert_eq!(late, Err(RespondError::Answered));
    let asked = host.tasks.require_input(key, &need, now);
    assert_eq!(asked, Err(TaskError::NotAllowed(NotAllowed::Method)));
    let asks = r#"{"content":[],"inputRequests":{}}"#;
    let state = r#"{"content":[],"requestState":"s"}"#;
    for interim in [asks, state] {
        let interim = mcp_sansio::json::Raw::new(interim).unwrap();
        let ended = host.tasks.complete(key, &interim, now);
        assert_eq!(ended, Err(TaskError::NotAResult));
    }
    assert_eq!(host.tasks.get(key).unwrap().status(), Status::Working);
    host.completes(key);
    let ended =
        detailed("t", "completed", &format!(r#""result":{{"resultType":"complete",{DONE}}}"#));
    host.answers(&get("3", "t"), &complete("3", &ended));
}

/// Proves M-TASKX-66, M-CANC-19: the request ends with the announcement of its task. A cancellation of the request
/// does not end the task.
#[test]
fn a_task_outlives_its_request() {
    let mut host = Host::new();
    let request = host.called("1");
    let key = host.begin_for(request, NewTask::new("t"));
    host.sent();
    let cancelled =
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    let event = host.side.receive(cancelled);
    assert!(!matches!(event, Some(ServerEvent::Cancelled(_))), "{event:?}");
    assert_eq!(host.sent(), [""; 0]);
    assert_eq!(host.tasks.get(key).unwrap().status(), Status::Working);
    host.side.server.disconnected(Cause::EndOfInput, host.side.now);
    host.side.outcomes();
    host.settle();
    host.completes(key);
    let mut side = connection(1, config());
    serve(&mut side, &mut host.tasks, &get("1", "t"));
    let ended =
        detailed("t", "completed", &format!(r#""result":{{"resultType":"complete",{DONE}}}"#));
    assert_eq!(side.sent(), [complete("1", &ended)]);
}

/// Proves M-TASKX-66: a request that is cancelled before its task begins has no task.
#[test]
fn a_request_that_is_cancelled_has_no_task() {
    let mut host = Host::new();
    let request = host.called("1");
    let cancelled =
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    let Some(ServerEvent::Cancelled(event)) = host.side.receive(cancelled) else { panic!() };
    assert_eq!((event.id, event.cause), (request, CancelCause::Peer));
    let (now, out) = (host.side.now, &mut host.side.out);
    let gone = Err(TaskError::Respond(RespondError::Cancelled));
    let begun = host.side.server.tasks(&mut host.tasks).begin(request, NewTask::new("t"), now, out);
    assert_eq!(begun, gone);
    assert_eq!(
        host.side.server.tasks(&mut host.tasks).create(request, NewTask::new("t"), now),
        gone
    );
    assert!(host.tasks.is_empty());
    assert_eq!(host.sent(), [""; 0]);
}

/// Proves M-TASKX-66, M-R-29: a task that could not be announced stays until its `ttl` has passed.
#[test]
fn an_unannounced_task_expires_after_its_ttl() {
    for by_disconnection in [false, true] {
        let mut host = Host::new();
        let request = host.called("1");
        let new = NewTask::new("t").ttl(Some(Duration::from_secs(1)));
        let now = host.side.now;
        let key = host.side.server.tasks(&mut host.tasks).create(request, new, now).unwrap();
        let expected = if by_disconnection {
            host.side.server.disconnected(Cause::ReadFailed, now);
            host.side.outcomes();
            RespondError::Closed
        } else {
            let frame =
                r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
            assert!(host.side.receive(frame).is_some());
            RespondError::Cancelled
        };
        let (server, out) = (&mut host.side.server, &mut host.side.out);
        let announced = server.tasks(&mut host.tasks).announce(request, key, None, out);
        assert_eq!(announced, Err(TaskError::Respond(expected)));
        assert_eq!(host.sent(), [""; 0]);
        assert_eq!(host.tasks.handle_timeout(now), None);
        assert!(host.tasks.handle_timeout(now + Duration::from_secs(1)).is_some());
        assert!(host.tasks.is_empty());
    }
}

/// Proves M-TASKX-47, M-PROG-09: neither progress nor log messages are sent about a task, neither through its
/// request nor otherwise.
#[test]
fn a_task_has_neither_progress_nor_logs() {
    let mut host = Host::new();
    let mut frame = of_client("1", "tools/call", ABLE, r#""name":"t""#);
    frame = frame.replace(
        r#""_meta":{"#,
        r#""_meta":{"progressToken":"p","io.modelcontextprotocol/logLevel":"debug","#,
    );
    let request = host.request(&frame);
    assert!(request.context.wants_progress);
    let key = host.begin_for(request.id, NewTask::new("t"));
    assert_eq!(host.sent(), [result("1", "task", &fresh("t", "working"))]);
    let (now, out) = (host.side.now, &mut host.side.out);
    let report = || Progress::new(1_u32);
    let reported = host.side.server.progress(request.id, report(), now, out);
    assert_eq!(reported, Err(RespondError::Answered));
    let reported = host.side.server.tasks(&mut host.tasks).report_progress(key, report(), out);
    assert_eq!(reported, Ok(ProgressReport::NotWanted));
    let log = Log::new(LoggingLevel::Emergency, "fire").about(request.id);
    let logged = host.side.server.notifications().log(&log, out);
    assert!(!matches!(logged, Ok(mcp_sansio::subscription::Delivery::Sent)), "{logged:?}");
    host.tasks.set_message(key, Some("half"), now).unwrap();
    host.asks(key, &["a"]);
    let news = host.serve(&update("2", "t", &format!(r#""a":{ANSWER}"#)));
    assert_eq!(news, Some(TaskNews::Input(key)));
    host.completes(key);
    host.settle();
    assert_eq!(host.sent(), [complete("2", "")]);
    assert_eq!(host.tasks.next_connection(), None);
}
