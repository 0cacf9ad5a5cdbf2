//! The conditions under which requests about tasks are served.

use mcp_sansio::model::{ClientTaskRequests, ServerTaskRequests, TasksCapability};
use mcp_sansio::task::Tasks;
use mcp_sansio_proptests::{ClientSide, ServerSide, config};

use crate::sessions::kit::{
    Host, Reaction, Stage, WITH_TASKS, about, client_config, request, server_config,
};

/// Whether each of the four requests reaches the application; the others get -32601.
fn served<H: Host>(host: H) -> [bool; 4] {
    let mut stage = Stage::of(host, Tasks::default());
    let frames = [
        about("1", "get", "a"),
        about("2", "result", "a"),
        request("3", "tasks/list", ""),
        about("4", "cancel", "a"),
    ];
    frames.map(|frame| {
        let reaction = stage.receive(&frame);
        let is_served = matches!(reaction, Reaction::Task(..));
        if !is_served {
            let sent = stage.sent();
            assert!(sent[0].contains(r#""error":{"code":-32601,"#), "{frame} {sent:?}");
        }
        is_served
    })
}

fn of_server(list: bool, cancel: bool, requests: Option<ServerTaskRequests>) -> ServerSide {
    let mut config = server_config();
    let tasks: &mut TasksCapability<ServerTaskRequests> =
        config.capabilities.tasks.as_mut().unwrap();
    tasks.list = tasks.list.take().filter(|_| list);
    tasks.cancel = tasks.cancel.take().filter(|_| cancel);
    tasks.requests = requests.or(tasks.requests);
    ServerSide::ready_with(config, WITH_TASKS)
}

fn of_client(list: bool, cancel: bool, requests: Option<ClientTaskRequests>) -> ClientSide {
    let mut config = client_config();
    let tasks: &mut TasksCapability<ClientTaskRequests> =
        config.capabilities.tasks.as_mut().unwrap();
    tasks.list = tasks.list.take().filter(|_| list);
    tasks.cancel = tasks.cancel.take().filter(|_| cancel);
    tasks.requests = requests.or(tasks.requests);
    ClientSide::ready_with(config, WITH_TASKS)
}

/// Proves L-CAP-17, L-TASK-59, L-TASK-64, L-ERR-33, L-AMB-25: `tasks/list` and `tasks/cancel` need their own
/// declaration; the other methods need only `tasks`.
#[test]
fn each_request_needs_its_capability() {
    for (list, cancel) in [(false, false), (false, true), (true, false), (true, true)] {
        let expected = [true, true, list, cancel];
        assert_eq!(served(of_server(list, cancel, None)), expected);
        assert_eq!(served(of_client(list, cancel, None)), expected);
        // This holds even if no request can become a task.
        assert_eq!(served(of_server(list, cancel, Some(Default::default()))), expected);
        assert_eq!(served(of_client(list, cancel, Some(Default::default()))), expected);
    }
    assert_eq!(served(ServerSide::plain()), [false; 4]);
    assert_eq!(served(ClientSide::plain()), [false; 4]);
}

/// Proves L-SAMP-02, L-SAMP-18, L-ELIC-28, L-CAP-18, L-TASK-03: each kind of request becomes a task only if it is
/// declared itself.
#[test]
fn each_kind_of_task_is_declared() {
    let elicit = r#""message":"m","requestedSchema":{"type":"object","properties":{}}"#;
    let all = client_config().capabilities.tasks.unwrap().requests.unwrap();
    for (sampling, elicitation) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut requests = all;
        requests.sampling = all.sampling.filter(|_| sampling);
        requests.elicitation = all.elicitation.filter(|_| elicitation);
        let mut side = of_client(true, true, Some(requests));
        let id = side.request(&crate::sessions::kit::asking::<ClientSide>("1", r#""task":{}"#));
        assert_eq!(side.client.in_flight().context(id).unwrap().task.is_some(), sampling);
        let params = format!(r#"{elicit},"task":{{}}"#);
        let id = side.request(&request("2", "elicitation/create", &params));
        assert_eq!(side.client.in_flight().context(id).unwrap().task.is_some(), elicitation);
    }
    let mut side = of_server(true, true, Some(ServerTaskRequests::default()));
    let id = side.request(&crate::sessions::kit::asking::<ServerSide>("1", r#""task":{}"#));
    assert_eq!(side.server.in_flight().context(id).unwrap().task, None);
}

/// Proves L-CAP-18: unknown members of the peer's task capability are ignored.
#[test]
fn unknown_members_of_the_task_capability_are_ignored() {
    let mut side = ServerSide::with(config::server());
    let opened = side.receive(
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"tasks":{"requests":{"prompts":{"get":{}},"tools":{"call":{}}},"x":{}}},"clientInfo":{"name":"c","version":"1"}}}"#,
    );
    assert!(opened.is_some());
    let peer = side.server.peer_capabilities();
    let known: Vec<String> = peer.iter().map(|one| one.to_string()).collect();
    assert_eq!(known, ["tasks"]);
}

/// A request that may become a task is declared by an object, and by nothing else.
#[test]
fn only_an_object_declares_task_requests() {
    for (declared, is_declared) in [("{}", true), ("null", false), ("false", false), ("1", false)] {
        let mut side = ServerSide::with(config::server());
        let members =
            format!(r#"{{"tasks":{{"requests":{{"sampling":{{"createMessage":{declared}}}}}}}}}"#);
        let opened = side.receive(&format!(
            r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"2025-11-25","capabilities":{members},"clientInfo":{{"name":"c","version":"1"}}}}}}"#
        ));
        assert!(opened.is_some());
        let known: Vec<String> =
            side.server.peer_capabilities().iter().map(|one| one.to_string()).collect();
        let expected: &[&str] = if is_declared {
            &["tasks", "tasks.requests.sampling.createMessage"]
        } else {
            &["tasks"]
        };
        assert_eq!(known, expected, "{declared}");
    }
}
