//! The declaration of the extension, and the treatment of requests without it.

use mcp_sansio::error::{NotAllowed, NotifyError};
use mcp_sansio::model::{ListToolsResult, TaskSupport, Tool, ToolExecution};
use mcp_sansio::request::TaskMode;
use mcp_sansio::subscription::Delivery;
use mcp_sansio::task::{NewTask, TaskError};
use mcp_sansio::{ClientRequest, RespondError};

use crate::extension::kit::*;

/// The methods of the extension, with the members that they need besides `taskId`.
const METHODS: [(&str, &str); 3] =
    [("tasks/get", ""), ("tasks/update", r#","inputResponses":{}"#), ("tasks/cancel", "")];

/// Capabilities that do not declare the extension.
const UNKNOWING: [&str; 8] = [
    "{}",
    r#"{"extensions":{}}"#,
    r#"{"extensions":{"io.modelcontextprotocol/tasks":true}}"#,
    r#"{"extensions":{"io.modelcontextprotocol/tasks":null}}"#,
    r#"{"extensions":{"io.modelcontextprotocol/tasks":[]}}"#,
    r#"{"extensions":{"io.modelcontextprotocol/task":{},"tasks":{}}}"#,
    r#"{"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}}"#,
    r#"{"experimental":{"io.modelcontextprotocol/tasks":{}}}"#,
];

fn mode(host: &mut Host, frame: &str, support: &TaskSupport<'_>) -> Option<TaskMode> {
    let request = host.request(frame);
    host.side.server.task_mode(request.id, support, &mut host.side.out).unwrap()
}

/// Proves M-TASKX-01, M-TASKX-02: a server declares the extension, and none of the legacy task capabilities.
#[test]
fn a_server_declares_the_extension() {
    let mut host = Host::new();
    assert_eq!(host.side.receive(&knowing("1", "server/discover", "")), None);
    let capabilities = r#"{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"prompts":{"listChanged":true},"completions":{},"logging":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;
    let members = format!(
        r#""supportedVersions":["2026-07-28"],"capabilities":{capabilities},"ttlMs":0,"cacheScope":"private""#
    );
    assert_eq!(host.sent(), [complete("1", &members)]);
}

/// Proves M-TASKX-01, M-TASKX-04, M-CAP-12: a declaration counts for its own request and no other.
#[test]
fn each_request_declares_the_extension_for_itself() {
    let mut host = Host::new();
    let call = r#""name":"t""#;
    assert!(host.request(&knowing("1", "tools/call", call)).context.task.is_some());
    for capabilities in UNKNOWING {
        let second = host.request(&of_client("2", "tools/call", capabilities, call));
        assert_eq!(second.context.task, None, "{capabilities}");
        let new = NewTask::new("t");
        let now = host.side.now;
        let (server, out) = (&mut host.side.server, &mut host.side.out);
        let refused = server.tasks(&mut host.tasks).begin(second.id, new.clone(), now, out);
        assert_eq!(refused, Err(TaskError::NotWanted), "{capabilities}");
        let refused = server.tasks(&mut host.tasks).create(second.id, new, now);
        assert_eq!(refused, Err(TaskError::NotWanted), "{capabilities}");
        assert!(host.tasks.is_empty());
        assert_eq!(host.sent(), [""; 0]);
        host.side.server.respond(second.id, &done(), &mut host.side.out).unwrap();
        assert_eq!(host.sent(), [complete("2", DONE)]);
    }
}

/// Proves M-TASKX-04: a task that was begun for a request with the declaration is no response to a request without
/// it.
#[test]
fn a_task_is_no_response_without_the_declared_extension() {
    let mut host = Host::new();
    let key = host.begin("t");
    let other = host.request(&of_client("1", "tools/call", "{}", r#""name":"t""#)).id;
    let (server, out) = (&mut host.side.server, &mut host.side.out);
    let announced = server.tasks(&mut host.tasks).announce(other, key, None, out);
    assert_eq!(announced, Err(TaskError::NotWanted));
    assert_eq!(host.sent(), [""; 0]);
}

/// Proves M-TASKX-05, M-ERR-11, M-CAP-10: a tool that runs only as a task is refused before it runs, and the error
/// names the extension to declare.
#[test]
fn a_tool_that_needs_a_task_says_so() {
    let mut host = Host::new();
    for capabilities in UNKNOWING {
        let frame = of_client("1", "tools/call", capabilities, r#""name":"t""#);
        assert_eq!(mode(&mut host, &frame, &TaskSupport::Required), None);
        assert_eq!(host.sent(), [undeclared("1")], "{capabilities}");
        assert_eq!(host.side.server.in_flight().counts().inbound, 0);
    }
    let frame = knowing("1", "tools/call", r#""name":"t""#);
    assert_eq!(mode(&mut host, &frame, &TaskSupport::Required), Some(TaskMode::Task));
    assert_eq!(host.sent(), [""; 0]);
}

/// Proves M-TASKX-03, M-TASKX-06, M-TASKX-65, M-CAP-10: the server decides. A request without the declaration gets
/// a result, and a request with it may get one as well.
#[test]
fn the_server_decides_which_call_becomes_a_task() {
    let mut host = Host::new();
    let (unknowing, declared) = ("{}", KNOWING);
    for (capabilities, support, expected) in [
        (unknowing, TaskSupport::Optional, TaskMode::Inline),
        (unknowing, TaskSupport::Forbidden, TaskMode::Inline),
        (declared, TaskSupport::Optional, TaskMode::Task),
        (declared, TaskSupport::Forbidden, TaskMode::Inline),
        (declared, TaskSupport::Required, TaskMode::Task),
    ] {
        let request = host.request(&of_client("1", "tools/call", capabilities, r#""name":"t""#));
        let out = &mut host.side.out;
        let mode = host.side.server.task_mode(request.id, &support, out).unwrap();
        assert_eq!(mode, Some(expected), "{capabilities} {support:?}");
        host.side.server.respond(request.id, &done(), &mut host.side.out).unwrap();
        assert_eq!(host.sent(), [complete("1", DONE)]);
    }
    let request = host.called("1");
    host.begin_for(request, NewTask::new("t"));
    assert_eq!(host.sent(), [result("1", "task", &fresh("t", "working"))]);
}

/// Proves M-TASKX-03: no other method becomes a task.
#[test]
fn only_calls_of_tools_become_tasks() {
    let mut host = Host::new();
    for (method, members) in [
        ("tools/list", ""),
        ("prompts/list", ""),
        ("prompts/get", r#""name":"p""#),
        ("resources/list", ""),
        ("resources/templates/list", ""),
        ("resources/read", r#""uri":"x:y""#),
        (
            "completion/complete",
            r#""ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""}"#,
        ),
        ("subscriptions/listen", r#""notifications":{"toolsListChanged":true}"#),
        ("tasks/get", r#""taskId":"t""#),
        ("tasks/cancel", r#""taskId":"t""#),
        ("tasks/update", r#""taskId":"t","inputResponses":{}"#),
        ("x/own", ""),
    ] {
        let request = host.request(&knowing("1", method, members));
        assert_eq!(request.context.task, None, "{method}");
        let (now, out) = (host.side.now, &mut host.side.out);
        let new = NewTask::new("t");
        let begun = host.side.server.tasks(&mut host.tasks).begin(request.id, new, now, out);
        assert_eq!(begun, Err(TaskError::NotWanted), "{method}");
        let code = mcp_sansio::ErrorCode::INTERNAL_ERROR;
        host.side.server.reject(request.id, code, "no", &mut host.side.out).unwrap();
        assert_eq!(host.sent(), [error("1", -32603, "no")], "{method}");
    }
}

/// Proves M-TASKX-26, M-TASKX-29, M-CAP-09, M-CAP-11, M-AMB-18, M-ERR-11: a request without the declaration is
/// refused before the task is looked up, so the error does not reveal whether the task exists.
#[test]
fn task_requests_without_the_extension_reveal_no_task() {
    let mut host = Host::new();
    let key = host.begin("there");
    host.asks(key, &["a"]);
    let before = host.tasks.clone();
    for capabilities in UNKNOWING {
        for (method, more) in METHODS {
            let subjects = [
                r#""taskId":"there""#,
                r#""taskId":"absent""#,
                r#""taskId":7"#,
                r#""taskId":"""#,
                r#""x":0"#,
            ];
            for subject in subjects {
                let frame = of_client("1", method, capabilities, &format!("{subject}{more}"));
                host.refuses(&frame, &undeclared("1"));
            }
        }
        let answer = format!(r#""taskId":"there","inputResponses":{{"a":{ANSWER}}}"#);
        host.refuses(&of_client("1", "tasks/update", capabilities, &answer), &undeclared("1"));
    }
    assert_eq!(host.tasks, before);
}

/// Proves M-CAP-11, M-CAP-12, M-TASKX-05: a server without the extension does not have its methods, and ignores the
/// declaration of the client.
#[test]
fn a_server_without_the_extension_has_none_of_it() {
    let mut host = Host::configured(|config| {
        config.capabilities.extensions = None;
    });
    for capabilities in ["{}", KNOWING] {
        for (method, more) in METHODS {
            let members = format!(r#""taskId":"t"{more}"#);
            host.refuses(&of_client("1", method, capabilities, &members), &unavailable("1"));
        }
        let request = host.request(&of_client("1", "tools/call", capabilities, r#""name":"t""#));
        assert_eq!(request.context.task, None);
        let (server, out) = (&mut host.side.server, &mut host.side.out);
        let inline = server.task_mode(request.id, &TaskSupport::Optional, out);
        assert_eq!(inline, Ok(Some(TaskMode::Inline)));
        // A tool that requires an extension which the server lacks is a mistake of the server.
        let wrong = server.task_mode(request.id, &TaskSupport::Required, out);
        assert_eq!(wrong, Err(RespondError::NotAllowed(NotAllowed::Revision)));
        host.side.server.respond(request.id, &done(), &mut host.side.out).unwrap();
        assert_eq!(host.sent(), [complete("1", DONE)]);
    }
}

/// Proves M-TASKX-28, M-AMB-28: the legacy-only methods for tasks are unknown in the modern era, with any
/// declaration.
#[test]
fn results_and_lists_of_tasks_belong_to_sessions() {
    for mut host in [Host::new(), Host::configured(|config| config.capabilities.extensions = None)]
    {
        for method in ["tasks/result", "tasks/list"] {
            for capabilities in ["{}", KNOWING, UNKNOWING[6]] {
                for members in [r#""taskId":"t""#, ""] {
                    host.refuses(&of_client("1", method, capabilities, members), &unavailable("1"));
                }
            }
        }
    }
}

/// Proves M-TASKX-30, M-TOOL-10: a member `task` in the params is ignored in the modern era, with any value.
#[test]
fn a_task_among_the_params_means_nothing() {
    let mut host = Host::new();
    for task in [r#"{"ttl":5}"#, "{}", "null", "true", r#"{"ttl":"x"}"#, "[]", r#""t""#] {
        let members = format!(r#""name":"t","task":{task}"#);
        let request = host.request(&of_client("1", "tools/call", "{}", &members));
        assert_eq!(request.context.task, None, "{task}");
        host.side.server.respond(request.id, &done(), &mut host.side.out).unwrap();
        assert_eq!(host.sent(), [complete("1", DONE)], "{task}");
        let request = host.request(&knowing("1", "tools/call", &members));
        assert_eq!(request.context.task.map(|task| task.ttl), Some(None), "{task}");
        let out = &mut host.side.out;
        let mode = host.side.server.task_mode(request.id, &TaskSupport::Forbidden, out);
        assert_eq!(mode, Ok(Some(TaskMode::Inline)), "{task}");
        host.side.server.respond(request.id, &done(), &mut host.side.out).unwrap();
        assert_eq!(host.sent(), [complete("1", DONE)], "{task}");
    }
}

/// Proves M-TOOL-11: the task support of a tool is sent in a session of 2025-11-25 and nowhere else.
#[test]
fn task_support_of_a_tool_is_sent_in_sessions_only() {
    let mut tool = Tool::new("t", mcp_sansio::json::Raw::new(r#"{"type":"object"}"#).unwrap());
    let mut execution = ToolExecution::default();
    execution.task_support = Some(TaskSupport::Required);
    tool.execution = Some(execution);
    let list: ListToolsResult<'_> = ListToolsResult::new([tool].to_vec());
    let mut host = Host::new();
    let request = host.request(&knowing("1", "tools/list", "")).id;
    host.side.server.respond(request, &list, &mut host.side.out).unwrap();
    let members = r#""tools":[{"name":"t","inputSchema":{"type":"object"}}],"ttlMs":0,"cacheScope":"private""#;
    assert_eq!(host.sent(), [complete("1", members)]);
    let mut side = in_session(1, config());
    let request = side.request(&of_session("1", "tools/list", ""));
    side.server.respond(request, &list, &mut side.out).unwrap();
    let members = r#""tools":[{"name":"t","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}}]"#;
    assert_eq!(side.sent(), [plain("1", members)]);
}

/// Proves M-TASKX-63: the names of the extension are reserved for the machine. The application cannot send
/// notifications about tasks.
#[test]
fn the_names_of_the_extension_are_taken() {
    let mut host = Host::new();
    let request = host.called("1");
    let subscription = host.request(&listen_to("2", r#""toolsListChanged":true"#)).id;
    host.grant(subscription);
    host.sent();
    let params = mcp_sansio::json::Raw::new(
        r#"{"taskId":"t","status":"working","createdAt":"","lastUpdatedAt":"","ttlMs":null}"#,
    )
    .unwrap();
    for about in [None, Some(request), Some(subscription)] {
        let out = &mut host.side.out;
        let delivered = host.side.server.notify_method("notifications/tasks", &params, about, out);
        let is_refused =
            matches!(delivered, Ok(Delivery::NotWanted) | Err(NotifyError::NotAllowed(_)));
        assert!(is_refused, "{about:?} {delivered:?}");
        assert_eq!(host.sent(), [""; 0]);
    }
    let mut side = in_session(1, config());
    let delivered = side.server.notify_method("notifications/tasks", &params, None, &mut side.out);
    assert!(matches!(delivered, Err(NotifyError::NotAllowed(_))), "{delivered:?}");
    // The machine sets the kind of a result, with any value that the application wrote.
    let forged = mcp_sansio::json::Raw::new(r#"{"resultType":"task","content":[]}"#).unwrap();
    host.side.server.respond(request, &forged, &mut host.side.out).unwrap();
    assert_eq!(host.sent(), [complete("1", r#""content":[]"#)]);
    let call = host.request(&get("1", "t")).kind;
    assert!(matches!(call, ClientRequest::Task(_)));
}
