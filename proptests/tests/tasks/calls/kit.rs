//! A side that is fed by hand, and the messages about tasks that it sends and receives.

use mcp_sansio::call::TaskOptions;
use mcp_sansio::json::Raw;
use mcp_sansio::{
    CallId, CallOptions, ClientConfig, ClientEvent, IncomingId, Outcome, Revision, RevisionSet,
};
use mcp_sansio_proptests::{ClientSide, config};

/// The task capabilities of a server that supports every operation.
pub(super) const TASKS: &str =
    r#","tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}"#;

/// The `_meta` of a modern request of the kit's client, without braces.
pub(super) const META: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"client","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"roots":{},"sampling":{"context":{},"tools":{}},"elicitation":{"form":{},"url":{}},"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;

/// A legacy client that supports tasks.
pub(super) fn of_sessions() -> ClientConfig {
    of_both_eras(RevisionSet::LEGACY)
}

/// A modern client that supports tasks.
pub(super) fn of_no_sessions() -> ClientConfig {
    of_both_eras(RevisionSet::MODERN)
}

pub(super) fn of_both_eras(revisions: RevisionSet) -> ClientConfig {
    let mut config = config::client_of_both_eras();
    config.capabilities = config.capabilities.with_tasks();
    config.revisions = revisions;
    config
}

/// The response to `initialize`. `tasks` is the task capability with a leading comma, or empty.
pub(super) fn opening(revision: Revision, tasks: &str) -> String {
    result(
        1,
        &format!(
            r#"{{"protocolVersion":"{revision}","capabilities":{{"tools":{{}},"prompts":{{}}{tasks}}},"serverInfo":{{"name":"s","version":"1"}}}}"#
        ),
    )
}

/// The response to `server/discover` of a modern server; `tasks` as above.
pub(super) fn discovery(tasks: &str) -> String {
    result(
        1,
        &format!(
            r#"{{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{{"tools":{{}},"prompts":{{}}{tasks}}},"ttlMs":0,"cacheScope":"private"}}"#
        ),
    )
}

/// The capability of a server that supports the extension, with a leading comma.
pub(super) const EXTENSION: &str = r#","extensions":{"io.modelcontextprotocol/tasks":{}}"#;

/// A client that has sent `initialize` or `server/discover` and received no response.
pub(super) fn begun(config: ClientConfig) -> ClientSide {
    let mut side = ClientSide::with(config);
    side.client.connect(side.now, &mut side.out).unwrap();
    assert_eq!(side.sent().len(), 1);
    side
}

/// A client in a session with a server that supports tasks. The next request has id 2.
pub(super) fn in_session() -> ClientSide {
    in_session_with(of_sessions(), Revision::V2025_11_25, TASKS)
}

pub(super) fn in_session_with(config: ClientConfig, revision: Revision, tasks: &str) -> ClientSide {
    let mut side = begun(config);
    let event = side.receive(&opening(revision, tasks));
    assert!(matches!(event, Some(ClientEvent::Connected(_))), "{event:?}");
    assert_eq!(side.sent().len(), 1);
    side
}

/// A client of a modern server that supports the extension. The next request has id 2.
pub(super) fn without_session() -> ClientSide {
    without_session_with(of_no_sessions())
}

pub(super) fn without_session_with(config: ClientConfig) -> ClientSide {
    let mut side = begun(config);
    let event = side.receive(&discovery(EXTENSION));
    assert!(matches!(event, Some(ClientEvent::Connected(_))), "{event:?}");
    side
}

/// Calls the tool, as a task if possible.
pub(super) fn call(side: &mut ClientSide) -> CallId {
    call_with(side, CallOptions::new().task(TaskOptions::new()))
}

pub(super) fn call_with(side: &mut ClientSide, options: CallOptions) -> CallId {
    let params = Raw::new(r#"{"name":"t"}"#).unwrap();
    side.client.call_method("tools/call", &params, options, side.now, &mut side.out).unwrap()
}

/// A client in a session whose call, with id 2, has become the task `t-1`. The next request has id 3.
pub(super) fn with_task() -> (ClientSide, CallId) {
    task_in(in_session())
}

pub(super) fn task_in(mut side: ClientSide) -> (ClientSide, CallId) {
    let call = call(&mut side);
    assert_eq!(
        side.sent(),
        [r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"task":{},"name":"t"}}"#]
    );
    assert_eq!(task_event_text(side.receive(&created(2, "working"))), "task t-1 working");
    assert_eq!(side.sent(), [""; 0]);
    (side, call)
}

/// The same in the modern era.
pub(super) fn with_modern_task() -> (ClientSide, CallId) {
    modern_task_in(without_session())
}

pub(super) fn modern_task_in(mut side: ClientSide) -> (ClientSide, CallId) {
    let call = call(&mut side);
    assert_eq!(side.sent(), [modern_client_request(2, "tools/call", r#""name":"t""#)]);
    assert_eq!(
        task_event_text(side.receive(&modern_task_created(2, "working"))),
        "task t-1 working"
    );
    assert_eq!(side.sent(), [""; 0]);
    (side, call)
}

/// A legacy task with a poll interval of one second.
pub(super) fn task(status: &str) -> String {
    task_with(status, "00", r#","pollInterval":1000"#)
}

/// A legacy task with the given second of its last change and more members.
pub(super) fn task_with(status: &str, second: &str, more: &str) -> String {
    format!(
        r#"{{"taskId":"t-1","status":"{status}","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:{second}Z","ttl":null{more}}}"#
    )
}

/// A task of the extension.
pub(super) fn modern_task(status: &str, second: &str, more: &str) -> String {
    format!(
        r#"{{"resultType":"complete","taskId":"t-1","status":"{status}","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:{second}Z","ttlMs":null,"pollIntervalMs":1000{more}}}"#
    )
}

/// The response that turns a call into a task.
pub(super) fn created(id: u64, status: &str) -> String {
    result(id, &format!(r#"{{"task":{}}}"#, task(status)))
}

/// The same in the modern era.
pub(super) fn modern_task_created(id: u64, status: &str) -> String {
    let task = modern_task(status, "00", "");
    result(id, &task.replace(r#""resultType":"complete""#, r#""resultType":"task""#))
}

/// A status notification of a task in a session.
pub(super) fn status(task: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{task}}}"#)
}

/// A request about the task `t-1`, as sent in a session.
pub(super) fn about(id: u64, method: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tasks/{method}","params":{{"taskId":"t-1"}}}}"#
    )
}

/// The same in the modern era.
pub(super) fn modern_task_request(id: u64, method: &str) -> String {
    modern_client_request(id, &format!("tasks/{method}"), r#""taskId":"t-1""#)
}

/// A modern request of the kit's client; `params` excludes `_meta`.
pub(super) fn modern_client_request(id: u64, method: &str, params: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params},"_meta":{{{META}}}}}}}"#
    )
}

/// A `tasks/update` request with these input responses.
pub(super) fn update(id: u64, answers: &str) -> String {
    modern_client_request(
        id,
        "tasks/update",
        &format!(r#""taskId":"t-1","inputResponses":{answers}"#),
    )
}

/// The empty result with which a modern server acknowledges a request.
pub(super) fn understood(id: u64) -> String {
    result(id, r#"{"resultType":"complete"}"#)
}

pub(super) fn cancelled(id: u64) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
    )
}

pub(super) fn timed_out(id: u64) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id},"reason":"the request timed out"}}}}"#
    )
}

pub(super) fn result(id: u64, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

pub(super) fn error(id: u64, code: i64) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"m"}}}}"#)
}

/// An elicitation request of the server that belongs to a task of the session.
pub(super) fn nested(id: u64) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"elicitation/create","params":{{"message":"m","requestedSchema":{{"type":"object","properties":{{}}}},"_meta":{{"io.modelcontextprotocol/related-task":{{"taskId":"t-1"}}}}}}}}"#
    )
}

/// The input requests of a modern task: a form for each key.
pub(super) fn inputs(keys: &[&str]) -> String {
    let form = r#"{"method":"elicitation/create","params":{"mode":"form","message":"m","requestedSchema":{"type":"object","properties":{}}}}"#;
    let members: Vec<String> = keys.iter().map(|key| format!(r#""{key}":{form}"#)).collect();
    format!(r#","inputRequests":{{{}}}"#, members.join(","))
}

/// The answer of a user.
pub(super) const ANSWER: &str = r#"{"action":"accept","content":{}}"#;

/// The result of a tool.
pub(super) const DONE: &str = r#"{"content":[{"type":"text","text":"done"}]}"#;

/// The request that reached the application, and the call it is needed for.
#[track_caller]
pub(super) fn question(event: Option<ClientEvent<'static>>) -> (IncomingId, Option<CallId>) {
    match event {
        Some(ClientEvent::Request(request)) => (request.id, request.needed_for),
        other => panic!("nothing is asked: {other:?}"),
    }
}

/// The requests that the events contain; fails on any other event.
#[track_caller]
pub(super) fn questions(events: Vec<ClientEvent<'static>>) -> Vec<(IncomingId, Option<CallId>)> {
    events.into_iter().map(|event| question(Some(event))).collect()
}

/// A short text for an event; empty for `None`.
pub(super) fn task_event_text(event: Option<ClientEvent<'static>>) -> String {
    let Some(event) = event else { return String::new() };
    match &event {
        ClientEvent::Task(update) => {
            assert_eq!(update.ticket.method, "tools/call");
            let message = update.message.as_ref().map(|message| format!(" ({})", message.to_str()));
            let message = message.unwrap_or_default();
            format!("task {} {}{message}", update.ticket.task_id, update.status.as_str())
        }
        ClientEvent::AbandonedTask(orphan) => {
            let goes_on = if orphan.cancelled { "" } else { " goes on" };
            format!("orphan {}{goes_on}", orphan.ticket.task_id)
        }
        ClientEvent::CallEnded(ended) => task_outcome_text(&ended.outcome),
        ClientEvent::Request(_) => String::from("asked"),
        ClientEvent::Cancelled(cancelled) => format!("withdrawn {:?}", cancelled.cause),
        ClientEvent::Violation(violation) => format!("violation {:?}", violation.kind),
        ClientEvent::UnmatchedResponse(unmatched) => format!("unmatched {:?}", unmatched.cause),
        ClientEvent::Notification(notification) => format!("notified {}", notification.method),
        ClientEvent::Progress(progress) => format!("progress {:?}", progress.progress),
        other => format!("{other:?}"),
    }
}

/// A short text for an outcome.
pub(super) fn task_outcome_text(outcome: &Outcome<'_>) -> String {
    match outcome {
        Outcome::Result(result) => format!("result {}", result.as_json()),
        Outcome::PeerError(error) => format!("error {}", error.code.get()),
        Outcome::Malformed { kind, .. } => format!("malformed {kind:?}"),
        Outcome::Task(begun) => format!("left {} {}", begun.ticket.task_id, begun.task.as_json()),
        other => format!("{other:?}"),
    }
}

/// The short texts of several events.
pub(super) fn task_event_texts(events: Vec<ClientEvent<'static>>) -> Vec<String> {
    events.into_iter().map(|event| task_event_text(Some(event))).collect()
}

/// The call that has ended, and a short text for its outcome.
#[track_caller]
pub(super) fn ended(event: Option<ClientEvent<'static>>) -> (CallId, String) {
    match event {
        Some(ClientEvent::CallEnded(ended)) => (ended.call, task_outcome_text(&ended.outcome)),
        other => panic!("no call has ended: {other:?}"),
    }
}

/// Asserts that no state remains, nothing is due, and nothing is sent.
#[track_caller]
pub(super) fn is_over(side: &mut ClientSide) {
    assert_eq!(side.sent(), [""; 0]);
    assert_eq!(task_event_texts(side.elapse(36_000_000)), [""; 0]);
    assert_eq!(side.sent(), [""; 0]);
    let counts = side.client.in_flight().counts();
    assert_eq!((counts.inbound, counts.outbound, counts.held_bytes), (0, 0, 0));
    assert_eq!(side.client.poll_timeout(), None);
}
