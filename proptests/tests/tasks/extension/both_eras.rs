//! Tasks of the legacy era and tasks of the modern era are the same tasks, each in the form of the reader's era.

use mcp_sansio::error::{NotAllowed, ViolationKind};
use mcp_sansio::task::{NewTask, Status, TaskError, TaskKey, TaskNews, Tasks};
use mcp_sansio::{ErrorCode, ServerConfig, ServerEvent};
use mcp_sansio_proptests::ServerSide;

use crate::extension::kit::*;

/// Begins a task for a call in a session.
#[track_caller]
fn begin_in_session(side: &mut ServerSide, tasks: &mut Tasks, task: &str) -> TaskKey {
    let request = side.request(&of_session("1", "tools/call", r#""name":"t","task":{}"#));
    let new = NewTask::new(task);
    let key = side.server.tasks(tasks).begin(request, new, side.now, &mut side.out).unwrap();
    let begun = format!(r#""task":{}"#, shown_in_session(task, "working"));
    assert_eq!(side.sent(), [plain("1", &begun)]);
    key
}

/// A task in its legacy form.
fn shown_in_session(task: &str, status: &str) -> String {
    format!(
        r#"{{"taskId":"{task}","status":"{status}",{TIMES},"ttl":3600000,"pollInterval":1000}}"#
    )
}

/// A `tasks/get` request in a session.
fn get_in_session(id: &str, task: &str) -> String {
    of_session(id, "tasks/get", &format!(r#""taskId":"{task}""#))
}

fn result_in_session(id: &str, task: &str) -> String {
    of_session(id, "tasks/result", &format!(r#""taskId":"{task}""#))
}

/// The response with the result of a task in a session.
fn related(id: &str, task: &str) -> String {
    let meta =
        format!(r#""_meta":{{"io.modelcontextprotocol/related-task":{{"taskId":"{task}"}}}}"#);
    plain(id, &format!("{DONE},{meta}"))
}

/// A server that lists its tasks in sessions.
fn listing() -> ServerConfig {
    let mut config = config();
    let tasks = config.capabilities.tasks.take().unwrap();
    config.capabilities.tasks = Some(tasks.listed());
    config
}

/// Proves M-TASKX-31: in a session the extension does not exist, even if both sides declare it.
#[test]
fn a_session_does_not_have_the_extension() {
    let mut side = connection(0, config());
    open_session(&mut side, r#","extensions":{"io.modelcontextprotocol/tasks":{}}"#);
    let mut tasks = Tasks::default();
    let request = request_of(&mut side, &of_session("1", "tools/call", r#""name":"t""#), 0);
    assert_eq!((request.context.task, request.context.extensions), (None, Default::default()));
    let new = NewTask::new("t");
    let begun = side.server.tasks(&mut tasks).begin(request.id, new, side.now, &mut side.out);
    assert_eq!(begun, Err(TaskError::NotWanted));
    side.respond(request.id, &format!("{{{DONE}}}"));
    assert_eq!(side.sent(), [plain("1", DONE)]);
    begin_in_session(&mut side, &mut tasks, "t");
    let members = r#""taskId":"t","inputResponses":{}"#;
    for (method, members) in
        [("tasks/update", members), ("subscriptions/listen", r#""notifications":{}"#)]
    {
        let Some(ServerEvent::Violation(violation)) =
            side.receive(&of_session("2", method, members))
        else {
            panic!()
        };
        assert_eq!(violation.kind, ViolationKind::MethodNotAvailable);
        assert_eq!(side.sent(), [unavailable("2")]);
    }
}

/// Proves M-TASKX-02, M-TASKX-31: a session declares tasks with the legacy capability.
#[test]
fn initialize_declares_the_legacy_task_capability() {
    let mut side = connection(0, config());
    let frame = of_session(
        "1",
        "initialize",
        r#""protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}"#,
    );
    assert!(side.receive(&frame).is_some());
    let expected = plain(
        "1",
        r#""protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"prompts":{"listChanged":true},"completions":{},"logging":{},"tasks":{"cancel":{},"requests":{"tools":{"call":{}}}}},"serverInfo":{"name":"server","version":"1"}"#,
    );
    assert_eq!(side.sent(), [expected]);
}

/// Proves M-TASKX-32, M-AMB-18, M-TASKX-22, M-STATE-04: a task that was begun by a modern request is read in a
/// session in its legacy form, on the same connection or another.
#[test]
fn a_session_reads_a_task_that_was_begun_without_it() {
    for same in [true, false] {
        let mut host = Host::new();
        let key = host.begin("t");
        let mut other = if same { host.side.clone() } else { connection(1, config()) };
        open_session(&mut other, "");
        let tasks = &mut host.tasks;
        serve(&mut other, tasks, &get_in_session("1", "t"));
        assert_eq!(
            other.sent(),
            [plain("1", shown_in_session("t", "working").trim_matches(['{', '}']))]
        );
        // A waiting `tasks/result` gets the result once it exists.
        assert_eq!(serve(&mut other, tasks, &result_in_session("2", "t")), None);
        assert_eq!(other.sent(), [""; 0]);
        tasks.complete(key, &done(), other.now).unwrap();
        assert_eq!(tasks.next_connection(), Some(other.server.connection_number()));
        other.server.tasks(tasks).settle(other.now, &mut other.out);
        assert_eq!(other.sent(), [related("2", "t")]);
        serve(&mut other, tasks, &result_in_session("3", "t"));
        assert_eq!(other.sent(), [related("3", "t")]);
        serve(&mut other, tasks, &get_in_session("4", "t"));
        let ended = shown_in_session("t", "completed");
        assert_eq!(other.sent(), [plain("4", ended.trim_matches(['{', '}']))]);
        // The extension can read the task on the same connection as well.
        let expected = format!(r#""result":{{"resultType":"complete",{DONE}}}"#);
        serve(&mut other, tasks, &get("5", "t"));
        assert_eq!(other.sent(), [complete("5", &detailed("t", "completed", &expected))]);
        assert_eq!(tasks.next_connection(), None);
    }
}

/// Proves M-TASKX-32, M-TASKX-22, M-STATE-04: a task that was begun in a session is read by modern requests that
/// declare the extension, on the same connection or another.
#[test]
fn the_extension_reads_a_task_that_was_begun_in_a_session() {
    for same in [true, false] {
        let mut tasks = Tasks::default();
        let mut session = in_session(0, config());
        let key = begin_in_session(&mut session, &mut tasks, "t");
        let mut side = if same { session } else { connection(1, config()) };
        serve(&mut side, &mut tasks, &get("1", "t"));
        assert_eq!(side.sent(), [complete("1", &fresh("t", "working"))]);
        tasks.complete(key, &done(), side.now).unwrap();
        serve(&mut side, &mut tasks, &get("2", "t"));
        let result = format!(r#""result":{{"resultType":"complete",{DONE}}}"#);
        let ended = detailed("t", "completed", &result);
        let status = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{}}}"#,
            shown_in_session("t", "completed")
        );
        let mut expected = vec![complete("2", &ended)];
        expected.extend(same.then_some(status));
        assert_eq!(side.sent(), expected);
        // The legacy capability for tasks does not give access.
        let frame = of_client("3", "tasks/get", r#"{"tasks":{}}"#, r#""taskId":"t""#);
        assert!(side.receive(&frame).is_some());
        assert_eq!(side.sent(), [undeclared("3")]);
    }
}

/// Proves M-TASKX-22, M-RES-01: the result of a task that was begun in a session has one `resultType` in the modern
/// era, as the response to a modern request has. In the session the result keeps the member of the application.
#[test]
fn the_result_of_a_task_of_a_session_has_one_result_type() {
    let complete_first = format!(r#""resultType":"complete",{DONE}"#);
    let complete_last = format!(r#"{DONE},"resultType":"complete""#);
    for (own, expected) in [
        (complete_first.clone(), &complete_first),
        (complete_last.clone(), &complete_last),
        (format!(r#"{DONE},"resultType":"other""#), &complete_last),
        (format!(r#"{DONE},"result\u0054ype":7,"resultType":8"#), &complete_last),
    ] {
        let mut tasks = Tasks::default();
        let mut side = in_session(0, config());
        let key = begin_in_session(&mut side, &mut tasks, "t");
        let result = format!("{{{own}}}");
        let result = mcp_sansio::json::Raw::new(&result).unwrap();
        tasks.complete(key, &result, side.now).unwrap();
        serve(&mut side, &mut tasks, &get("1", "t"));
        let sent = side.sent().swap_remove(0).replace(r"result\u0054ype", "resultType");
        let expected = format!(r#""result":{{{expected}}}"#);
        assert_eq!(sent, complete("1", &detailed("t", "completed", &expected)), "{own}");
        serve(&mut side, &mut tasks, &result_in_session("2", "t"));
        let sent = side.sent().swap_remove(0);
        assert!(sent.contains(&own), "{sent}");
    }
}

/// Proves M-TASKX-23, M-TASKX-32, L-TASK-32: a failed tool is a `failed` task in a session, and a `completed` task
/// in the modern era.
#[test]
fn a_failed_tool_has_another_status_in_a_session() {
    let mut host = Host::new();
    let key = host.begin("t");
    let failure = mcp_sansio::model::CallToolResult::error("no luck");
    host.tasks.complete(key, &failure, host.side.now).unwrap();
    let failure = r#""result":{"resultType":"complete","content":[{"type":"text","text":"no luck"}],"isError":true}"#;
    host.answers(&get("1", "t"), &complete("1", &detailed("t", "completed", failure)));
    open_session(&mut host.side, "");
    // In a session a failed task has a reason.
    let failed = shown_in_session("t", "failed")
        .replace(r#""failed","#, r#""failed","statusMessage":"no luck","#);
    host.answers(&get_in_session("2", "t"), &plain("2", failed.trim_matches(['{', '}'])));
}

/// The reason of a failed task in a session is the first text of the result, behind any other content.
#[test]
fn the_reason_of_a_failed_tool_is_its_first_text() {
    let mut host = Host::new();
    let key = host.begin("t");
    let image = r#"{"type":"image","data":"","mimeType":"image/png"}"#;
    let texts = r#"{"type":"text","text":"no luck"},{"type":"text","text":"other"}"#;
    let failure = format!(r#"{{"content":[{image},{texts}],"isError":true}}"#);
    host.tasks
        .complete(key, &mcp_sansio::json::Raw::new(&failure).unwrap(), host.side.now)
        .unwrap();
    open_session(&mut host.side, "");
    let failed = shown_in_session("t", "failed")
        .replace(r#""failed","#, r#""failed","statusMessage":"no luck","#);
    host.answers(&get_in_session("2", "t"), &plain("2", failed.trim_matches(['{', '}'])));
}

/// Proves M-RPC-14, M-MRTR-45, M-TASKX-37: the input requests of a modern task are visible in the task, and are not
/// sent in a session that happens to be open.
#[test]
fn a_session_gets_modern_task_inputs_only_on_request() {
    let mut host = Host { side: in_session(0, config()), tasks: Tasks::default() };
    let key = host.begin("t");
    host.asks(key, &["a"]);
    host.settle();
    assert_eq!(host.sent(), [""; 0]);
    assert_eq!(host.tasks.next_connection(), None);
    let asked = format!(r#""inputRequests":{{"a":{QUESTION}}}"#);
    host.answers(&get("1", "t"), &complete("1", &detailed("t", "input_required", &asked)));
    assert_eq!(host.side.server.in_flight().counts().outbound, 0);
    // A `tasks/result` in a session makes the server send them.
    assert_eq!(host.serve(&result_in_session("2", "t")), None);
    let asked = host.sent();
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert!(asked[0].contains(r#""method":"elicitation/create""#), "{asked:?}");
}

/// Proves M-TASKX-31: a session before `initialized` has tasks already, but receives no notifications and no
/// requests for them.
#[test]
fn a_session_gets_task_messages_after_initialized() {
    let mut side = connection(0, config());
    let members = r#""protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}"#;
    assert!(side.receive(&of_session("0", "initialize", members)).is_some());
    side.sent();
    let mut tasks = Tasks::default();
    let key = begin_in_session(&mut side, &mut tasks, "t");
    tasks.require_input(key, &questions(&["a"]), side.now).unwrap();
    side.server.tasks(&mut tasks).settle(side.now, &mut side.out);
    assert_eq!(side.sent(), [""; 0]);
    let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    assert_eq!(side.receive(initialized), Some(ServerEvent::Ready));
    side.server.tasks(&mut tasks).settle(side.now, &mut side.out);
    let sent = side.sent();
    assert_eq!(sent.len(), 1);
    assert!(sent[0].contains(r#""method":"elicitation/create""#), "{sent:?}");
}

/// Proves M-TASKX-47, M-PROG-09: no progress is sent about a modern task, not even to a session that waits for its
/// result.
#[test]
fn a_session_gets_no_progress_of_a_modern_task() {
    let mut host = Host { side: in_session(0, config()), tasks: Tasks::default() };
    let call = of_client("1", "tools/call", ABLE, r#""name":"t""#)
        .replace(r#""_meta":{"#, r#""_meta":{"progressToken":"p","#);
    let request = host.request(&call).id;
    let key = host.begin_for(request, NewTask::new("t"));
    assert_eq!(host.serve(&result_in_session("2", "t")), None);
    host.sent();
    let report = mcp_sansio::progress::Progress::new(1_u32);
    let (server, out) = (&mut host.side.server, &mut host.side.out);
    let reported = server.tasks(&mut host.tasks).report_progress(key, report, out);
    assert_eq!(reported, Ok(mcp_sansio::progress::ProgressReport::NotWanted));
    host.tasks.set_message(key, Some("half"), host.side.now).unwrap();
    host.settle();
    assert_eq!(host.sent(), [""; 0]);
}

/// Proves M-TASKX-33, M-R-27: an input request in a session can be answered with `tasks/update`. The request in the
/// session is cancelled.
#[test]
fn tasks_update_answers_an_input_request_in_a_session() {
    let mut tasks = Tasks::default();
    let mut side = in_session(0, config());
    let key = begin_in_session(&mut side, &mut tasks, "t");
    tasks.require_input(key, &questions(&["a"]), side.now).unwrap();
    side.server.tasks(&mut tasks).settle(side.now, &mut side.out);
    assert_eq!(side.sent().len(), 2);
    assert_eq!(side.server.in_flight().counts().outbound, 1);
    let news = serve(&mut side, &mut tasks, &update("2", "t", &format!(r#""a":{ANSWER}"#)));
    assert_eq!(news, Some(TaskNews::Input(key)));
    let sent = side.sent();
    assert_eq!(sent[0], complete("2", ""));
    assert!(sent[1].contains(r#""method":"notifications/cancelled""#), "{sent:?}");
    assert_eq!(side.server.in_flight().counts().outbound, 0);
    let view = tasks.get(key).unwrap();
    assert_eq!(
        (view.status(), view.inputs().as_json()),
        (Status::Working, &*format!(r#"{{"a":{ANSWER}}}"#))
    );
}

/// Proves M-TASKX-41, M-AMB-18: cancelling a task that has ended is an error in a session, and has no effect in the
/// modern era.
#[test]
fn cancelling_an_ended_task_differs_by_era() {
    let mut host = Host::new();
    let key = host.begin("t");
    host.completes(key);
    open_session(&mut host.side, "");
    let frame = of_session("1", "tasks/cancel", r#""taskId":"t""#);
    host.answers(&frame, &error("1", -32602, "the task has ended already"));
    host.answers(&cancel("2", "t"), &complete("2", ""));
}

/// Proves M-TASKX-19, M-STATE-03: a list contains all tasks of one owner, of both eras, page by page, and no task
/// of another owner.
#[test]
fn a_thousand_tasks_of_two_owners_are_listed() {
    let mut side = connection(0, listing());
    open_session(&mut side, "");
    let mut tasks = Tasks::default();
    let (stateless, in_session) = (
        of_client("1", "tools/call", ABLE, r#""name":"t""#),
        of_session("1", "tools/call", r#""name":"t","task":{}"#),
    );
    for number in 0..1_000_u64 {
        let frame = if number % 3 == 0 { &stateless } else { &in_session };
        let request = request_of(&mut side, frame, 1 + number % 2).id;
        let new = NewTask::new(format!("{number}"));
        side.server.tasks(&mut tasks).begin(request, new, side.now, &mut side.out).unwrap();
    }
    assert_eq!((side.sent().len(), tasks.len()), (1_000, 1_000));
    for owner in [1_u64, 2] {
        let mut cursor = String::new();
        let mut listed = Vec::new();
        for page in 0..5 {
            let frame = of_session("2", "tasks/list", &cursor);
            serve_of(&mut side, &mut tasks, &frame, owner);
            let answer = side.sent().remove(0);
            let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
            let shown = answer["result"]["tasks"].as_array().unwrap().clone();
            assert_eq!(shown.len(), 100);
            listed.extend(shown.iter().map(|task| task["taskId"].as_str().unwrap().to_owned()));
            let next = &answer["result"]["nextCursor"];
            assert_eq!(next.is_string(), page < 4, "{page}");
            // A cursor is valid only for its recipient.
            if let Some(next) = next.as_str() {
                cursor = format!(r#""cursor":"{next}""#);
                let frame = of_session("3", "tasks/list", &cursor);
                serve_of(&mut side, &mut tasks, &frame, 3 - owner);
                assert_eq!(side.sent(), [error("3", -32602, "invalid cursor")]);
            }
        }
        let expected: Vec<String> = (0..1_000)
            .filter(|number| 1 + number % 2 == owner)
            .map(|number| number.to_string())
            .collect();
        assert_eq!(listed, expected);
    }
    serve_of(&mut side, &mut tasks, &of_session("4", "tasks/list", ""), 3);
    assert_eq!(side.sent(), [plain("4", r#""tasks":[]"#)]);
}

/// Proves M-TASKX-23: a failed task of either era is an error in a session.
#[test]
fn a_failure_is_an_error_in_a_session() {
    let mut host = Host::new();
    let key = host.begin("t");
    host.tasks.fail(key, ErrorCode::new(5), "broken", host.side.now).unwrap();
    open_session(&mut host.side, "");
    host.answers(&result_in_session("1", "t"), &error("1", 5, "broken"));
}

/// In 2026-07-28 the code for a missing resource changed, and the range around it is reserved for the protocol.
#[test]
fn a_failure_has_a_code_that_its_revision_knows() {
    let mut tasks = Tasks::default();
    let mut side = in_session(0, config());
    let key = begin_in_session(&mut side, &mut tasks, "a");
    tasks.fail(key, ErrorCode::RESOURCE_NOT_FOUND, "m", side.now).unwrap();
    let code = |tasks: &Tasks, key| tasks.get(key).unwrap().error().unwrap().code;
    assert_eq!(code(&tasks, key), ErrorCode::RESOURCE_NOT_FOUND);
    let key = begin_in_session(&mut side, &mut tasks, "b");
    tasks.fail(key, ErrorCode::new(-32_050), "m", side.now).unwrap();
    assert_eq!(code(&tasks, key), ErrorCode::new(-32_050));

    let mut host = Host::new();
    let key = host.begin("c");
    let refused = host.tasks.fail(key, ErrorCode::new(-32_050), "m", host.side.now);
    assert_eq!(refused, Err(TaskError::NotAllowed(NotAllowed::Code)));
    host.tasks.fail(key, ErrorCode::RESOURCE_NOT_FOUND, "m", host.side.now).unwrap();
    assert_eq!(code(&host.tasks, key), ErrorCode::INVALID_PARAMS);
}
