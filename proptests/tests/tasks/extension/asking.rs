//! The visible state of a task, and the requests that may read it.

use mcp_sansio::error::NotAllowed;
use mcp_sansio::json::Raw;
use mcp_sansio::model::{CallToolResult, InputRequired};
use mcp_sansio::task::{NewTask, RestoreError, Status, TaskError, TaskKey, TaskRecord, Tasks};
use mcp_sansio::{ErrorCode, RespondError};

use crate::extension::kit::*;

/// Brings a working task to a status.
fn bring(host: &mut Host, key: TaskKey, status: Status) {
    match status {
        Status::Working => {}
        Status::InputRequired => host.asks(key, &["a"]),
        Status::Completed => host.completes(key),
        Status::Failed => host.fails(key),
        Status::Cancelled => host.tasks.cancel(key, host.side.now).unwrap(),
    }
}

/// The members of a task in each status, with this id.
fn shown(status: Status, task: &str) -> String {
    match status {
        Status::Working | Status::Cancelled => fresh(task, status.name()),
        Status::InputRequired => {
            detailed(task, status.name(), &format!(r#""inputRequests":{{"a":{QUESTION}}}"#))
        }
        Status::Completed => detailed(
            task,
            status.name(),
            &format!(r#""result":{{"resultType":"complete",{DONE}}}"#),
        ),
        Status::Failed => format!(
            r#""taskId":"{task}","status":"failed","statusMessage":"broken",{TIMES},{PACE},"error":{{"code":-32603,"message":"broken"}}"#
        ),
    }
}

/// Proves M-TASKX-21, M-TASKX-10, M-TASKX-12, M-TASKX-24, M-AMB-15: `tasks/get` returns the whole task, with the
/// members of its status and no others, in a complete result.
#[test]
fn a_task_is_shown_as_its_status_has_it() {
    for status in Status::ALL {
        let mut host = Host::new();
        let key = host.begin("t");
        bring(&mut host, key, status);
        let expected = shown(status, "t");
        host.answers(&get("1", "t"), &complete("1", &expected));
        let has = |member: &str| expected.contains(member);
        assert_eq!(has(r#""inputRequests":"#), status == Status::InputRequired);
        assert_eq!(has(r#""result":"#), status == Status::Completed);
        assert_eq!(has(r#""error":"#), status == Status::Failed);
        assert!(!has("requestState") && !has(r#""ttl":"#) && !has(r#""pollInterval":"#));
        // A task that has ended returns the same members at any later time.
        host.wait(1_000);
        host.answers(&get("2", "t"), &complete("2", &expected));
    }
}

/// Proves M-TASKX-21: every open input of a task is returned, including inputs that were required later.
#[test]
fn everything_that_a_task_waits_for_is_shown() {
    let mut host = Host::new();
    let key = host.begin("t");
    let sample = mcp_sansio::model::CreateMessageParams::new(
        [mcp_sansio::model::SamplingMessage::new(
            mcp_sansio::model::Role::User,
            mcp_sansio::model::Content::text("hi"),
        )]
        .to_vec(),
        5,
    );
    let now = host.side.now;
    host.tasks.require_input(key, &questions(&["a"]).sample("b", sample), now).unwrap();
    host.tasks.require_input(key, &InputRequired::new().roots("c"), now).unwrap();
    let model = r#"{"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":5}}"#;
    let asked =
        format!(r#""inputRequests":{{"a":{QUESTION},"b":{model},"c":{{"method":"roots/list"}}}}"#);
    host.answers(&get("1", "t"), &complete("1", &detailed("t", "input_required", &asked)));
}

/// Proves M-TASKX-22, M-AMB-17: the result of a task is the result of its request, with `resultType` `complete`.
#[test]
fn the_result_is_that_of_the_request() {
    for members in [
        r#""content":[]"#,
        r#""content":[{"type":"text","text":"a"}],"structuredContent":{"n":1.50,"x":null},"isError":false"#,
        r#""content":[{"type":"text","text":"","y":[1]}],"own":{"z":"\u0041"},"_meta":{"com.example/a":1}"#,
        r#""content":[],"structuredContent":[1]"#,
    ] {
        let text = format!("{{{members}}}");
        let raw = Raw::new(&text).unwrap();
        let mut host = Host::new();
        let inline = host.called("1");
        host.side.server.respond(inline, &raw, &mut host.side.out).unwrap();
        let answer = host.sent().remove(0);
        let key = host.begin("t");
        host.tasks.complete(key, &raw, host.side.now).unwrap();
        let stored = format!(r#"{{"resultType":"complete",{members}}}"#);
        let ended = detailed("t", "completed", &format!(r#""result":{stored}"#));
        host.answers(&get("1", "t"), &complete("1", &ended));
        assert_eq!(host.tasks.get(key).unwrap().result().unwrap().as_json(), stored);
        // The inline result is equal except for the server information, which the response to `tasks/get` carries
        // itself.
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        let mut inline = value(&answer)["result"].take();
        let meta = inline["_meta"].as_object_mut().unwrap();
        meta.remove("io.modelcontextprotocol/serverInfo").unwrap();
        if meta.is_empty() {
            inline.as_object_mut().unwrap().remove("_meta");
        }
        assert_eq!(inline, value(&stored));
    }
}

/// Proves M-TASKX-22: a value that is no valid result of the request is no result of the task either, and the task
/// continues.
#[test]
fn an_invalid_result_leaves_the_task_running() {
    let mut host = Host::new();
    let key = host.begin("t");
    for text in [r#"{"content":7}"#, "[]", "7", r#"{"isError":false}"#] {
        let raw = Raw::new(text).unwrap();
        let inline = host.called("1");
        let answered = host.side.server.respond(inline, &raw, &mut host.side.out);
        let ended = host.tasks.complete(key, &raw, host.side.now);
        match answered {
            Err(RespondError::Encode(error)) => assert_eq!(ended, Err(TaskError::Encode(error))),
            other => panic!("{text}: {other:?}"),
        }
        host.side.server.respond(inline, &done(), &mut host.side.out).unwrap();
        host.sent();
    }
    let mut short = Host::with(|config| config.result_bytes = 40);
    let long = short.begin("t");
    let full = Err(TaskError::Encode(mcp_sansio::schema::EncodeError::Full));
    assert_eq!(short.tasks.complete(long, &done(), short.side.now), full);
    host.answers(&get("1", "t"), &complete("1", &fresh("t", "working")));
}

/// Proves M-TASKX-23, M-TASKX-24: a failed tool has a result. A failed task has the error of its request and a
/// reason for people.
#[test]
fn a_tool_that_has_failed_has_a_result() {
    let mut host = Host::new();
    let key = host.begin("t");
    host.tasks.complete(key, &CallToolResult::error("no luck"), host.side.now).unwrap();
    let failure = r#""result":{"resultType":"complete","content":[{"type":"text","text":"no luck"}],"isError":true}"#;
    host.answers(&get("1", "t"), &complete("1", &detailed("t", "completed", failure)));
    let key = host.begin("u");
    let code = ErrorCode::new(7);
    host.tasks.fail_with(key, code, "bad \"luck\"", &[1, 2], host.side.now).unwrap();
    let failed = format!(
        r#""taskId":"u","status":"failed","statusMessage":"bad \"luck\"",{TIMES},{PACE},"error":{{"code":7,"message":"bad \"luck\"","data":[1,2]}}"#
    );
    host.answers(&get("2", "u"), &complete("2", &failed));
}

/// Proves M-TASKX-25, M-TASKX-19: an unknown task and a task of another requestor get the same error from every
/// method.
#[test]
fn a_task_of_another_requestor_is_not_found() {
    let mut host = Host::new();
    let call = of_client("1", "tools/call", ABLE, r#""name":"t""#);
    let request = request_of(&mut host.side, &call, 7).id;
    let key = host.begin_for(request, NewTask::new("t"));
    host.asks(key, &["a"]);
    host.sent();
    let before = host.tasks.clone();
    let answer = format!(r#""a":{ANSWER}"#);
    for (owner, task) in [(0, "t"), (8, "t"), (7, "u"), (7, "T"), (7, ""), (u64::MAX, "t")] {
        for frame in [
            get("1", task),
            cancel("1", task),
            update("1", task, ""),
            update("1", task, &answer),
            update("1", task, r#""a":{"action":"nonsense"}"#),
        ] {
            assert_eq!(serve_of(&mut host.side, &mut host.tasks, &frame, owner), None);
            assert_eq!(host.sent(), [unknown("1")], "{owner} {frame}");
        }
    }
    assert_eq!(host.tasks, before);
    serve_of(&mut host.side, &mut host.tasks, &get("1", "t"), 7);
    assert_eq!(host.sent(), [complete("1", &shown(Status::InputRequired, "t"))]);
}

/// Proves M-TASKX-27, M-TASKX-39: every request about a task has a `taskId`, and `tasks/update` has
/// `inputResponses`.
#[test]
fn a_question_about_a_task_names_it() {
    let mut host = Host::new();
    host.begin("t");
    let before = host.tasks.clone();
    let id = "invalid params: taskId";
    for (method, more) in
        [("tasks/get", ""), ("tasks/cancel", ""), ("tasks/update", r#","inputResponses":{}"#)]
    {
        let none = format!("{id} is missing");
        let wrong = format!("{id} has the wrong type");
        for (members, text) in [
            (r#""x":0"#, &none),
            (r#""taskid":"t""#, &none),
            (r#""taskId":null"#, &none),
            (r#""taskId":7"#, &wrong),
            (r#""taskId":true"#, &wrong),
            (r#""taskId":["t"]"#, &wrong),
            (r#""taskId":{"taskId":"t"}"#, &wrong),
        ] {
            let frame = knowing("1", method, &format!("{members}{more}"));
            host.refuses(&frame, &error("1", -32602, text));
        }
    }
    let inputs = "invalid params: inputResponses";
    for (members, problem) in [
        ("", " is missing"),
        (r#","inputResponses":null"#, " is missing"),
        (r#","inputResponses":[]"#, " has the wrong type"),
        (r#","inputResponses":"a""#, " has the wrong type"),
        (r#","inputResponses":7"#, " has the wrong type"),
        (r#","inputResponses":{"a":7}"#, ".* has the wrong type"),
        (r#","inputResponses":{"a":null}"#, ".* has the wrong type"),
    ] {
        for task in ["t", "absent"] {
            let frame = knowing("1", "tasks/update", &format!(r#""taskId":"{task}"{members}"#));
            host.refuses(&frame, &error("1", -32602, &format!("{inputs}{problem}")));
        }
    }
    assert_eq!(host.tasks, before);
}

/// Proves M-TASKX-20, M-R-22: the table of transitions. A final status stays.
#[test]
fn a_task_goes_only_where_it_may() {
    let may = |from: Status, to: Status| match from {
        Status::Working => to != Status::Working,
        Status::InputRequired => to != Status::InputRequired,
        _ => false,
    };
    for from in Status::ALL {
        for to in Status::ALL {
            assert_eq!(from.may_become(to), may(from, to), "{from} {to}");
            let mut host = Host::new();
            let key = host.begin("t");
            bring(&mut host, key, from);
            let before = host.tasks.clone();
            let now = host.side.now;
            let (expected, done) = match to {
                Status::Working => continue,
                Status::InputRequired => {
                    let asked = host.tasks.require_input(key, &questions(&["b"]), now);
                    (!from.is_final(), asked)
                }
                Status::Completed => (may(from, to), host.tasks.complete(key, &done(), now)),
                Status::Failed => {
                    let code = ErrorCode::INTERNAL_ERROR;
                    (may(from, to), host.tasks.fail(key, code, "broken", now))
                }
                Status::Cancelled => (may(from, to), host.tasks.cancel(key, now)),
            };
            if expected {
                assert_eq!(done, Ok(()), "{from} {to}");
                assert_eq!(host.tasks.get(key).unwrap().status(), to);
            } else {
                assert_eq!(done, Err(TaskError::Final(from)), "{from} {to}");
                assert_eq!(host.tasks, before);
            }
        }
    }
}

/// Proves M-TASKX-20: a task that has ended accepts no further message or interval.
#[test]
fn an_ended_task_accepts_no_message_or_interval() {
    for status in [Status::Completed, Status::Failed, Status::Cancelled] {
        let mut host = Host::new();
        let key = host.begin("t");
        bring(&mut host, key, status);
        let later = host.side.now + std::time::Duration::from_secs(1);
        let ended = Err(TaskError::Final(status));
        assert_eq!(host.tasks.set_message(key, Some("more"), later), ended);
        let interval = std::time::Duration::from_secs(9);
        assert_eq!(host.tasks.set_poll_interval(key, interval, later), ended);
        host.answers(&get("1", "t"), &complete("1", &shown(status, "t")));
    }
}

/// Proves M-STATE-03, M-STATE-04, M-TASKX-01: a task is found by its id alone, on any connection, by a server that
/// did not begin it.
#[test]
fn any_server_serves_any_task() {
    let mut tasks = Tasks::default();
    let mut first = connection(1, config());
    let call = of_client("1", "tools/call", ABLE, r#""name":"t""#);
    let request = request_of(&mut first, &call, 0).id;
    let now = first.now;
    let new = NewTask::new("t");
    let key = first.server.tasks(&mut tasks).begin(request, new, now, &mut first.out).unwrap();
    tasks.require_input(key, &questions(&["a"]), now).unwrap();
    drop(first);
    let mut second = connection(2, config());
    serve(&mut second, &mut tasks, &get("1", "t"));
    assert_eq!(second.sent(), [complete("1", &shown(Status::InputRequired, "t"))]);
    let news = serve(&mut second, &mut tasks, &update("2", "t", &format!(r#""a":{ANSWER}"#)));
    assert_eq!(news, Some(mcp_sansio::task::TaskNews::Input(key)));
    assert_eq!(second.sent(), [complete("2", "")]);
    // The same in another process, from the saved records.
    let mut restored = Tasks::default();
    for record in tasks.save_all() {
        restored.restore(record).unwrap();
    }
    let mut third = connection(1, config());
    serve(&mut third, &mut restored, &get("1", "t"));
    assert_eq!(third.sent(), [complete("1", &shown(Status::Working, "t"))]);
    assert_eq!(serve(&mut third, &mut restored, &get("2", "u")), None);
    assert_eq!(third.sent(), [unknown("2")]);
    tasks.complete(key, &done(), now).unwrap();
    let mut fourth = connection(3, config());
    serve(&mut fourth, &mut tasks, &get("1", "t"));
    assert_eq!(fourth.sent(), [complete("1", &shown(Status::Completed, "t"))]);
}

/// Proves M-STATE-04: a saved task is restored unchanged in any status, and a corrupt record is refused.
#[test]
fn a_task_is_restored_as_it_was() {
    for status in Status::ALL {
        let mut host = Host::new();
        let key = host.begin("t");
        bring(&mut host, key, status);
        let text = serde_json::to_string(&host.tasks.save(key).unwrap()).unwrap();
        let read = |text: &str| serde_json::from_str::<TaskRecord>(text).unwrap();
        let mut other = Host::new();
        other.tasks.restore(read(&text)).unwrap();
        assert_eq!(other.tasks.restore(read(&text)), Err(RestoreError::Present));
        other.answers(&get("1", "t"), &complete("1", &shown(status, "t")));
        let next = other.begin("u");
        assert_eq!(other.tasks.get(next).unwrap().status(), Status::Working);
        for (from, to, wrong) in [
            (r#""serial":0"#, r#""serial":18446744073709551615"#, "serial"),
            (r#""id":"t""#, r#""id":"""#, "id"),
            (r#""method":"tools/call""#, r#""method":"tools/list""#, "method"),
            (r#""revision":"2026-07-28""#, r#""revision":"2026""#, "revision"),
            (&format!(r#""status":"{status}""#), r#""status":"done""#, "status"),
        ] {
            assert!(text.contains(from), "{text}");
            let restored = Host::new().tasks.restore(read(&text.replace(from, to)));
            assert_eq!(restored, Err(RestoreError::Corrupt(wrong)));
        }
    }
}

/// Proves M-TASKX-64: a request about a task is never answered with a request for input.
#[test]
fn questions_about_tasks_need_no_input() {
    let mut host = Host::new();
    host.begin("t");
    for frame in [get("1", "t"), cancel("1", "t"), update("1", "t", "")] {
        let request = host.request(&frame.replace(KNOWING, ABLE));
        assert_eq!((&request.inputs, &request.state), (&None, &None), "{frame}");
        let (now, out) = (host.side.now, &mut host.side.out);
        let need = InputRequired::new().roots("r");
        let asked = host.side.server.require_input(&request, &need, now, out);
        assert_eq!(asked, Err(RespondError::NotAllowed(NotAllowed::Method)), "{frame}");
        assert_eq!(host.sent(), [""; 0]);
        host.side
            .server
            .reject(request.id, ErrorCode::INTERNAL_ERROR, "no", &mut host.side.out)
            .unwrap();
        assert_eq!(host.sent(), [error("1", -32603, "no")]);
    }
}

/// Proves M-TASKX-58: an application can refuse a request about a task because of its rate.
#[test]
fn frequent_task_requests_can_be_refused() {
    let mut host = Host::new();
    host.begin("t");
    let request = host.request(&get("1", "t")).id;
    let code = ErrorCode::new(429);
    host.side.server.reject(request, code, "slower", &mut host.side.out).unwrap();
    assert_eq!(host.sent(), [error("1", 429, "slower")]);
    host.answers(&get("1", "t"), &complete("1", &fresh("t", "working")));
}

/// Proves M-R-23: every response is consistent, although the task changes while the response is in the outbox.
#[test]
fn an_answer_shows_one_moment() {
    let mut host = Host::new();
    let key = host.begin("t");
    host.serve(&get("1", "t"));
    host.asks(key, &["a"]);
    host.serve(&get("2", "t"));
    host.completes(key);
    host.serve(&get("3", "t"));
    let expected = [
        complete("1", &shown(Status::Working, "t")),
        complete("2", &shown(Status::InputRequired, "t")),
        complete("3", &shown(Status::Completed, "t")),
    ];
    assert_eq!(host.sent(), expected);
}
