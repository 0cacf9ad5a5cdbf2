//! Allocations of patterns with several messages. The state between the messages is allocated, but a list that almost
//! always has one element needs no allocation of its own.

use std::sync::Arc;

use mcp_sansio::model::{CallToolParams, CallToolResult, InputRequired};
use mcp_sansio::task::{NewTask, Tasks, TasksConfig};
use mcp_sansio::{
    CallOptions, Client, ClientEvent, ClientRequest, Framing, Instant, Limits, Outbox, Server,
    ServerEvent,
};
use mcp_sansio_proptests::allocations::count;
use mcp_sansio_proptests::config;

const NOW: Instant = Instant::from_millis(1);
const WARM: u64 = 20;
const ROUNDS: u64 = 100;

/// Returns the allocations per warm round. `round` gets the number of the round, and adds to the counter. The growth
/// of a table is less than one allocation per round.
fn per_round(mut round: impl FnMut(u64, &mut u64)) -> u64 {
    let mut allocations = 0;
    for number in 0..WARM {
        round(number, &mut allocations);
    }
    allocations = 0;
    for number in WARM..WARM + ROUNDS {
        round(number, &mut allocations);
    }
    allocations / ROUNDS
}

/// Calls a function, and adds its allocations to the counter.
fn counted<T>(allocations: &mut u64, doing: impl FnOnce() -> T) -> T {
    let (done, more) = count(doing);
    *allocations += more;
    done
}

fn outbox() -> Outbox {
    Outbox::new(Framing::Messages, &Limits::default())
}

/// Creates a server in a session of 2025-11-25 with a client that has roots and tasks.
fn server(out: &mut Outbox) -> Server {
    let mut config = config::server_of_both_eras();
    config.capabilities = config.capabilities.with_tasks();
    let mut server = Server::new(Arc::new(config));
    for message in [
        concat!(
            r#"{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","#,
            r#""capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"1"}}}"#
        ),
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    ] {
        _ = server.receive(message, NOW, out);
    }
    out.sent(usize::MAX);
    server
}

/// Returns a member of the last sent message, as JSON.
fn last(out: &mut Outbox, pointer: &str) -> String {
    let message = out.messages().last().expect("a message").to_owned();
    out.sent(usize::MAX);
    let message: serde_json::Value = serde_json::from_slice(&message).expect("JSON");
    message.pointer(pointer).unwrap_or_else(|| panic!("{pointer} of {message}")).to_string()
}

/// A server requests one input from the client of a session, receives it, and responds: the texts and the response
/// are allocated, the list of inputs is not.
#[test]
fn an_input_of_a_session() {
    let mut out = outbox();
    let mut server = server(&mut out);
    let required = InputRequired::new().roots("r");
    let allocations = per_round(|number, allocations| {
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":"{number}","method":"tools/call","params":{{"name":"t"}}}}"#
        );
        counted(allocations, || {
            let event = server.receive(&*call, NOW, &mut out);
            let Some(ServerEvent::Request(request)) = event else { panic!("{event:?}") };
            server.require_input(&request, &required, NOW, &mut out).expect("roots are declared");
        });
        let id = last(&mut out, "/id");
        let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"roots":[]}}}}"#);
        counted(allocations, || {
            let event = server.receive(&*answer, NOW, &mut out);
            let Some(ServerEvent::Request(request)) = event else { panic!("{event:?}") };
            server.respond(request.id, &CallToolResult::default(), &mut out).expect("room");
        });
        out.sent(usize::MAX);
    });
    assert_eq!(allocations, 12);
}

/// A modern server requires one input from its client, which collects the input and sends the request again.
#[test]
fn a_modern_request_with_input_has_fixed_allocations() {
    let mut out = outbox();
    let mut config = config::client_of_both_eras();
    config.capabilities.roots = Some(Default::default());
    let mut client = Client::new(Arc::new(config));
    client.connect(NOW, &mut out).expect("at the start");
    let result = concat!(
        r#"{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"],"#,
        r#""capabilities":{"tools":{}}}}"#
    );
    assert!(client.receive(result, NOW, &mut out).is_some());
    let params = CallToolParams::new("t");
    let allocations = per_round(|_, allocations| {
        out.sent(usize::MAX);
        counted(allocations, || {
            let options = CallOptions::new();
            client.call_method("tools/call", &params, options, NOW, &mut out).expect("room");
        });
        let id = last(&mut out, "/id");
        let needed = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"input_required","inputRequests":{{"r":{{"method":"roots/list"}}}}}}}}"#
        );
        counted(allocations, || {
            let event = client.receive(&*needed, NOW, &mut out);
            let Some(ClientEvent::Request(request)) = event else { panic!("{event:?}") };
            let roots = mcp_sansio::model::ListRootsResult::default();
            client.respond(request.id, &roots, &mut out).expect("room");
        });
        let id = last(&mut out, "/id");
        let answer = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","content":[]}}}}"#
        );
        counted(allocations, || {
            let event = client.receive(&*answer, NOW, &mut out);
            assert!(matches!(event, Some(ClientEvent::CallEnded(_))), "{event:?}");
        });
    });
    assert_eq!(allocations, 9);
}

/// A request for the result of a task waits until the task has ended.
#[test]
fn a_task_with_a_request_that_waits() {
    let mut out = outbox();
    let mut server = server(&mut out);
    let mut tasks = Tasks::new(TasksConfig::default());
    let allocations = per_round(|number, allocations| {
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":"{number}","method":"tools/call","params":{{"name":"t","task":{{}}}}}}"#
        );
        let new = NewTask::new(format!("task {number}"));
        let key = counted(allocations, || {
            let event = server.receive(&*call, NOW, &mut out);
            let Some(ServerEvent::Request(request)) = event else { panic!("{event:?}") };
            server.tasks(&mut tasks).begin(request.id, new, NOW, &mut out).expect("room")
        });
        let task = last(&mut out, "/result/task/taskId");
        let asks = format!(
            r#"{{"jsonrpc":"2.0","id":"r{number}","method":"tasks/result","params":{{"taskId":{task}}}}}"#
        );
        counted(allocations, || {
            let event = server.receive(&*asks, NOW, &mut out);
            let Some(ServerEvent::Request(request)) = event else { panic!("{event:?}") };
            let ClientRequest::Task(call) = &request.kind else { panic!("{request:?}") };
            server.tasks(&mut tasks).serve(request.id, call, NOW, &mut out).expect("a task");
            tasks.complete(key, &CallToolResult::default(), NOW).expect("it goes on");
            server.tasks(&mut tasks).settle(NOW, &mut out);
        });
        assert_eq!(out.messages().count(), 2, "the status and the result");
        out.sent(usize::MAX);
        tasks.remove(key);
    });
    assert_eq!(allocations, 18);
}
