//! Requests that become tasks, and requests that do not.

use std::time::Duration;

use mcp_sansio::capability::Capability;
use mcp_sansio::error::{NotAllowed, ViolationKind};
use mcp_sansio::model::{TaskSupport, TasksCapability};
use mcp_sansio::request::{TaskMode, TaskRequest};
use mcp_sansio::schema::EncodeError;
use mcp_sansio::task::{NewTask, TaskError, Tasks};
use mcp_sansio::{ErrorCode, RespondError, Revision};
use mcp_sansio_proptests::{ClientSide, ServerSide, config};

use crate::sessions::kit::{
    Host, Reaction, Stage, WITH_TASKS, asking, client_config, error, on_both, request, result,
    server_config, shown, unknown,
};

/// The response to a request that has become a task.
fn created(id: &str, task: impl std::fmt::Display) -> String {
    result(id, format!(r#"{{"task":{task}}}"#))
}

/// Proves L-CAP-01, L-CAP-02, L-TASK-01, L-CAP-18: a side accepts as tasks exactly the requests that it declares,
/// in the words of the protocol.
#[test]
fn tasks_are_declared() {
    let mut server = ServerSide::with(server_config());
    let initialize = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
    server.receive(initialize);
    let declared = r#""tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}"#;
    assert!(server.sent()[0].contains(declared));
    let mut client = ClientSide::with(client_config());
    client.client.connect(client.now, &mut client.out).unwrap();
    let declared = r#""tasks":{"list":{},"cancel":{},"requests":{"sampling":{"createMessage":{}},"elicitation":{"create":{}}}}"#;
    assert!(client.sent()[0].contains(declared));
    // Without `listed` the capability has no `list`, and no members beside these two.
    let mut config = config::server();
    config.capabilities.tasks = Some(TasksCapability::of_tools());
    let mut server = ServerSide::with(config);
    server.receive(initialize);
    let declared = r#""tasks":{"cancel":{},"requests":{"tools":{"call":{}}}}"#;
    assert!(server.sent()[0].contains(declared));
}

/// Proves L-TASK-03, L-AMB-15: a side that declares no tasks ignores `task` and returns an ordinary result.
#[test]
fn a_task_param_is_ignored_without_declared_tasks() {
    fn check<H: Host>() {
        let mut stage = Stage::of(H::plain(), Tasks::default());
        for task in [r#"{}"#, r#"{"ttl":1}"#, r#"{"ttl":-1}"#, "7", "null"] {
            let request = stage.requested("1", &format!(r#""task":{task}"#));
            assert_eq!(
                stage.host.machine().in_flight().context(request).unwrap().task,
                None,
                "{task}"
            );
            let begun = stage.host.begin(request, NewTask::new("a"), &mut stage.tasks);
            assert_eq!(begun, Err(TaskError::NotWanted), "{task}");
            stage.host.answer(request, H::RESULT).unwrap();
            assert_eq!(stage.sent(), [result("1", H::RESULT)], "{task}");
        }
        assert!(stage.tasks.is_empty());
    }
    on_both!(check);
}

/// Proves L-TASK-04, L-ERR-30, L-AMB-16: a side may require tasks, and answers a plain request with -32600. For
/// tools each tool decides.
#[test]
fn a_side_can_insist_on_tasks() {
    let mut client = ClientSide::host_with(WITH_TASKS, |config| config.insist_on_tasks = true);
    let elicit = r#""message":"m","requestedSchema":{"type":"object","properties":{}}"#;
    for (method, params) in
        [(ClientSide::METHOD, ClientSide::PARAMS), ("elicitation/create", elicit)]
    {
        let reaction = client.take_in(&request("1", method, params), 0);
        assert_eq!(reaction, Reaction::Violation(ViolationKind::TaskRequired));
        let text = "this request has to ask for a task";
        assert_eq!(client.sent(), [error("1", -32600, text)]);
        let params = format!(r#"{params},"task":{{}}"#);
        let reaction = client.take_in(&request("2", method, &params), 0);
        assert!(matches!(reaction, Reaction::Request(_)), "{reaction:?}");
        client.take_in(&request("3", "ping", ""), 0);
        let Reaction::Request(id) = reaction else { panic!() };
        client.client.reject(id, ErrorCode::INTERNAL_ERROR, "no", &mut client.out).unwrap();
        client.sent();
    }
    let reaction = client.take_in(&request("4", "roots/list", ""), 0);
    assert!(matches!(reaction, Reaction::Request(_)), "{reaction:?}");
    let mut server = ServerSide::host_with(WITH_TASKS, |config| config.insist_on_tasks = true);
    server.request(&asking::<ServerSide>("1", ""));
}

/// Proves L-TASK-09, L-TASK-11, L-TASK-12, L-ERR-31, L-ERR-32, L-AMB-16: a tool that runs only as a task, or never
/// as one, answers the other kind of call with -32601, as an error and not as a result. A server that does not
/// declare tasks cannot have a tool that requires one.
#[test]
fn a_tool_says_whether_it_is_a_task() {
    use TaskMode::{Inline, Task};
    let never = || error("1", -32601, "the tool cannot run as a task");
    let only = || error("1", -32601, "the tool runs only as a task");
    let silent = TaskSupport::Other("x".into());
    let cases = [
        (TaskSupport::Forbidden, "", Some(Inline), None),
        (TaskSupport::Forbidden, r#""task":{}"#, None, Some(never())),
        (silent.clone(), "", Some(Inline), None),
        (silent, r#""task":{}"#, None, Some(never())),
        (TaskSupport::Optional, "", Some(Inline), None),
        (TaskSupport::Optional, r#""task":{}"#, Some(Task), None),
        (TaskSupport::Required, "", None, Some(only())),
        (TaskSupport::Required, r#""task":{}"#, Some(Task), None),
    ];
    for (support, more, expected, refusal) in cases {
        let mut side = ServerSide::host();
        let id = side.request(&asking::<ServerSide>("1", more));
        let mode = side.server.task_mode(id, &support, &mut side.out);
        assert_eq!(mode, Ok(expected), "{support:?} {more}");
        assert_eq!(side.server.in_flight().counts().inbound, usize::from(expected.is_some()));
        assert_eq!(side.sent(), refusal.as_slice(), "{support:?} {more}");
    }
    for more in ["", r#""task":{}"#] {
        let mut side = ServerSide::plain();
        let id = side.request(&asking::<ServerSide>("1", more));
        let mode =
            |side: &mut ServerSide, support| side.server.task_mode(id, &support, &mut side.out);
        assert_eq!(mode(&mut side, TaskSupport::Optional), Ok(Some(Inline)), "{more}");
        let missing = NotAllowed::Capability(Capability::ServerTasksCallTool);
        let expected = Err(RespondError::NotAllowed(missing));
        assert_eq!(mode(&mut side, TaskSupport::Required), expected, "{more}");
        assert_eq!((side.sent().len(), side.server.in_flight().counts().inbound), (0, 1));
    }
}

/// Proves L-TASK-14: only three methods can become tasks; `task` in any other request is ignored.
#[test]
fn other_requests_are_no_tasks() {
    let mut server = ServerSide::host();
    let cases = [
        ("prompts/get", r#""name":"p""#),
        ("prompts/list", r#""cursor":"c""#),
        ("resources/read", r#""uri":"x:y""#),
        ("x/own", r#""a":1"#),
    ];
    for (number, (method, params)) in cases.into_iter().enumerate() {
        for (part, task) in ["{}", "7"].into_iter().enumerate() {
            let params = format!(r#"{params},"task":{task}"#);
            let id = server.request(&request(&format!("1{number}{part}"), method, &params));
            assert_eq!(server.server.in_flight().context(id).unwrap().task, None, "{method}");
            let begun = server.begin(id, NewTask::new("a"), &mut Tasks::default());
            assert_eq!(begun, Err(TaskError::NotWanted), "{method}");
        }
    }
    let mut client = ClientSide::host();
    let id = client.request(&request("1", "roots/list", r#""task":{}"#));
    assert_eq!(client.client.in_flight().context(id).unwrap().task, None);
    let id = client.request(&request(
        "2",
        "elicitation/create",
        r#""message":"m","requestedSchema":{"type":"object","properties":{}},"task":{"ttl":5}"#,
    ));
    let task = client.client.in_flight().context(id).unwrap().task;
    assert_eq!(task.and_then(|task: TaskRequest| task.ttl), Some(Duration::from_millis(5)));
}

/// Proves L-TASK-15, L-ERR-33: before 2025-11-25 there are no tasks, with any configuration.
#[test]
fn older_sessions_have_no_tasks() {
    fn check<H: Host>() {
        for revision in [Revision::V2025_06_18, Revision::V2025_03_26, Revision::V2024_11_05] {
            let mut stage = Stage::of(H::host_with(revision, |_| ()), Tasks::default());
            let request = stage.requested("1", r#""task":{"ttl":-1}"#);
            assert_eq!(stage.host.machine().in_flight().context(request).unwrap().task, None);
            for what in ["get", "result", "cancel"] {
                stage.receive(&crate::sessions::kit::about("2", what, "a"));
                let sent = stage.sent();
                assert!(sent[0].contains(r#""id":2,"error":{"code":-32601,"#), "{sent:?}");
            }
            stage.receive(&crate::sessions::kit::request("3", "tasks/list", ""));
            assert!(stage.sent()[0].contains(r#""id":3,"error":{"code":-32601,"#));
            stage.receive(&crate::sessions::kit::changed(shown("a", "working")));
            assert_eq!(
                (stage.sent().len(), stage.host.machine().in_flight().requests().count()),
                (0, 1),
                "{revision}"
            );
        }
    }
    on_both!(check);
}

/// Proves L-TASK-17, L-TASK-18, L-TASK-19, L-TASK-22, L-AMB-20: the response is a `working` task and leaves at
/// once. The task id occurs in the task and not in metadata.
#[test]
fn a_request_is_answered_with_its_task() {
    fn check<H: Host>() {
        let mut stage = Stage::<H>::new();
        let request = stage.requested(r#""x""#, r#""task":{}"#);
        let key = stage.host.begin(request, NewTask::new("a"), &mut stage.tasks).unwrap();
        assert_eq!(stage.sent(), [created(r#""x""#, shown("a", "working"))]);
        assert_eq!(
            (stage.host.machine().in_flight().requests().count(), stage.tasks.len()),
            (0, 1)
        );
        let again = stage.host.begin(request, NewTask::new("b"), &mut stage.tasks);
        assert_eq!(again, Err(TaskError::Respond(RespondError::Answered)));
        assert_eq!(stage.tasks.find("a"), Some(key));
        assert_eq!(stage.tasks.get(key).unwrap().method(), H::METHOD);
        assert_eq!(stage.settled_messages(), [""; 0]);
    }
    on_both!(check);
}

/// Proves L-TASK-20: an id belongs to one task, and the requestor does not choose it.
#[test]
fn ids_are_of_one_task_each() {
    fn check<H: Host>() {
        let mut stage = Stage::<H>::new();
        stage.begin("a");
        let request = stage.requested("1", r#""task":{"taskId":"b"}"#);
        for bad in ["a", ""] {
            let begun = stage.host.begin(request, NewTask::new(bad), &mut stage.tasks);
            assert_eq!(begun, Err(TaskError::BadId));
        }
        assert_eq!((stage.sent().len(), stage.tasks.len()), (0, 1));
        stage.host.begin(request, NewTask::new("c"), &mut stage.tasks).unwrap();
        assert_eq!(stage.sent(), [created("1", shown("c", "working"))]);
        assert_eq!(stage.tasks.find("b"), None);
        assert_eq!(stage.answers(&crate::sessions::kit::about("2", "get", "b")), [unknown("2")]);
    }
    on_both!(check);
}

/// Proves L-TASK-21: an id keeps all of its 128 random bits, which the application obtains from its system.
#[test]
fn a_task_id_keeps_all_128_random_bits() {
    let mut ids = std::collections::BTreeSet::new();
    for bit in 0..128_usize {
        let mut random = [0; 16];
        random[bit / 8] = 1 << (bit % 8);
        let id = NewTask::id_of(random);
        assert!(id.len() == 32 && id.bytes().all(|digit| digit.is_ascii_hexdigit()), "{id}");
        assert!(ids.insert(id));
    }
    assert_eq!(NewTask::id_of([0xa5; 16]), "a5".repeat(16));
}

/// Proves L-JSONRPC-29, L-TASK-23, L-TASK-24, L-TASK-74, L-AMB-23: every task reports the `ttl` that applies,
/// whichever side decided it, and the `ttl` is never negative.
#[test]
fn a_task_says_how_long_it_is_kept() {
    fn check<H: Host>() {
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        let cases = [
            // The requested `ttl`, the two values of the configuration, the `ttl` of the application, the reported
            // `ttl`.
            (r#"{}"#, seconds(60), seconds(600), None, "60000"),
            (r#"{"ttl":null}"#, seconds(60), seconds(600), None, "60000"),
            (r#"{"ttl":0}"#, seconds(60), seconds(600), None, "0"),
            (r#"{"ttl":1}"#, seconds(60), seconds(600), None, "1"),
            (r#"{"ttl":3600000}"#, seconds(60), seconds(600), None, "600000"),
            (r#"{"ttl":3600000}"#, None, None, None, "3600000"),
            (r#"{}"#, None, None, None, "null"),
            (r#"{}"#, None, seconds(600), None, "600000"),
            (r#"{"ttl":5}"#, seconds(60), seconds(600), Some(None), "null"),
            (r#"{"ttl":5}"#, seconds(60), seconds(600), Some(seconds(7_000)), "7000000"),
        ];
        for (task, ttl, longest, wanted, reported) in cases {
            let mut stage =
                Stage::<H>::with(|config| (config.ttl, config.longest_ttl) = (ttl, longest));
            let request = stage.requested("1", &format!(r#""task":{task}"#));
            let mut new = NewTask::new("a").poll_interval(Duration::from_millis(250));
            if let Some(wanted) = wanted {
                new = new.ttl(wanted);
            }
            stage.host.begin(request, new, &mut stage.tasks).unwrap();
            let task = shown("a", "working").ttl(reported).poll(250);
            assert_eq!(stage.sent(), [created("1", &task)]);
            assert_eq!(
                stage.answers(&crate::sessions::kit::about("2", "get", "a")),
                [result("2", &task)]
            );
        }
        for task in [r#"{"ttl":-1}"#, r#"{"ttl":"1"}"#, r#"{"ttl":{}}"#, "[]", "true"] {
            let mut stage = Stage::<H>::new();
            let reaction = stage.receive(&asking::<H>("1", &format!(r#""task":{task}"#)));
            assert_eq!(reaction, Reaction::Violation(ViolationKind::InvalidParams), "{task}");
            let sent = stage.sent();
            assert!(sent[0].contains(r#""id":1,"error":{"code":-32602,"#), "{sent:?}");
            assert_eq!(
                (sent.len(), stage.host.machine().in_flight().requests().count()),
                (1, 0),
                "{task}"
            );
        }
    }
    on_both!(check);
}

/// Proves L-TASK-25: the immediate response for the model is a string and is sent with the task.
#[test]
fn an_immediate_response_is_sent_with_the_task() {
    fn check<H: Host>() {
        let mut stage = Stage::<H>::new();
        let request = stage.requested("1", r#""task":{}"#);
        let new = NewTask::new("a").message("begun").immediate_response("wait \"here\"");
        stage.host.begin(request, new, &mut stage.tasks).unwrap();
        let task = shown("a", "working").message("begun");
        let meta =
            r#""_meta":{"io.modelcontextprotocol/model-immediate-response":"wait \"here\""}"#;
        assert_eq!(stage.sent(), [result("1", format!(r#"{{"task":{task},{meta}}}"#))]);
        assert_eq!(
            stage.answers(&crate::sessions::kit::about("2", "get", "a")),
            [result("2", task)]
        );
    }
    on_both!(check);
}

/// Proves L-TASK-26: a refused request is rejected like any other request, and no task exists.
#[test]
fn a_refusal_leaves_no_task() {
    fn check<H: Host>(reject: impl FnOnce(&mut H, mcp_sansio::IncomingId)) {
        let mut stage = Stage::<H>::new();
        let request = stage.requested("1", r#""task":{}"#);
        reject(&mut stage.host, request);
        assert_eq!(stage.sent(), [error("1", -32602, "unknown")]);
        let list = stage.answers(&crate::sessions::kit::request("2", "tasks/list", ""));
        assert_eq!(list, [result("2", r#"{"tasks":[]}"#)]);
        // A request with malformed params creates no task either.
        let frame = crate::sessions::kit::request("3", H::METHOD, r#""task":{}"#);
        assert_eq!(stage.receive(&frame), Reaction::Violation(ViolationKind::InvalidParams));
        assert!(stage.sent()[0].contains(r#""id":3,"error":{"code":-32602,"#));
        assert!(stage.tasks.is_empty());
    }
    let code = ErrorCode::INVALID_PARAMS;
    check::<ServerSide>(|side, id| {
        side.server.reject(id, code, "unknown", &mut side.out).unwrap();
    });
    check::<ClientSide>(|side, id| {
        side.client.reject(id, code, "unknown", &mut side.out).unwrap();
    });
}

/// Proves L-TASK-75: the number of tasks is limited in total and per requestor.
#[test]
fn tasks_are_limited() {
    fn check<H: Host>() {
        let mut stage = Stage::<H>::with(|config| (config.tasks, config.tasks_of_owner) = (3, 2));
        let first = stage.begin("a");
        stage.begin("b");
        let refused = |stage: &mut Stage<H>, id: &str| {
            let request = stage.requested(id, r#""task":{}"#);
            let begun = stage.host.begin(request, NewTask::new("x"), &mut stage.tasks);
            assert_eq!(begun, Err(TaskError::TooManyTasks));
            assert_eq!((stage.sent().len(), stage.tasks.find("x")), (0, None));
        };
        refused(&mut stage, "1");
        stage.principal = 7;
        stage.begin("c");
        // The limit for all tasks together applies.
        refused(&mut stage, "2");
        // A task that has ended counts until it is forgotten.
        stage.complete(first);
        refused(&mut stage, "3");
        assert!(stage.tasks.remove(first));
        assert!(!stage.tasks.remove(first));
        stage.begin("d");
        refused(&mut stage, "4");
    }
    on_both!(check);
}

/// A task exists only if its response can be sent.
#[test]
fn a_task_that_cannot_be_announced_is_none() {
    fn check<H: Host>() {
        let host = H::host_with(WITH_TASKS, |config| config.limits.outbox_bytes = 800);
        let mut stage = Stage::of(host, Tasks::default());
        let request = stage.requested("1", r#""task":{}"#);
        let long = NewTask::new("a").message("m".repeat(800));
        let begun = stage.host.begin(request, long, &mut stage.tasks);
        assert_eq!(begun, Err(TaskError::Encode(EncodeError::Full)));
        assert_eq!((stage.sent().len(), stage.tasks.len()), (0, 0));
        assert_eq!(stage.tasks.poll_timeout(), None);
        stage.host.begin(request, NewTask::new("a"), &mut stage.tasks).unwrap();
        assert_eq!(stage.sent(), [created("1", shown("a", "working"))]);
    }
    on_both!(check);
}

/// A task can be saved before the peer receives its id.
#[test]
fn a_task_is_there_before_it_is_announced() {
    fn check<H: Host>() {
        let mut stage = Stage::<H>::new();
        let request = stage.requested("1", r#""task":{}"#);
        let other = stage.requested("2", "");
        let key = stage.create(request, NewTask::new("a")).unwrap();
        assert_eq!(
            (stage.sent().len(), stage.host.machine().in_flight().requests().count()),
            (0, 2)
        );
        assert!(stage.tasks.save(key).is_some());
        let announced = stage.host.announce(other, key, &mut stage.tasks);
        assert_eq!(announced, Err(TaskError::NotWanted));
        stage.host.announce(request, key, &mut stage.tasks).unwrap();
        assert_eq!(stage.sent(), [created("1", shown("a", "working"))]);
        let announced = stage.host.announce(request, key, &mut stage.tasks);
        assert_eq!(announced, Err(TaskError::Respond(RespondError::Answered)));
        // A request of another requestor cannot announce the task.
        stage.principal = 1;
        let foreign = stage.requested("4", r#""task":{}"#);
        let announced = stage.host.announce(foreign, key, &mut stage.tasks);
        assert_eq!((announced, stage.sent().len()), (Err(TaskError::Unknown), 0));
        let third = stage.requested("3", r#""task":{}"#);
        stage.tasks.remove(key);
        let announced = stage.host.announce(third, key, &mut stage.tasks);
        assert_eq!(announced, Err(TaskError::Unknown));
    }
    on_both!(check);
}
