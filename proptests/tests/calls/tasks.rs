//! Calls that have become tasks of the peer: their limits, their bytes, and the end of the connection.

use std::time::Duration;

use mcp_sansio::call::{Cancellation, TaskOptions, TaskTicket};
use mcp_sansio::config::CapabilityPolicy;
use mcp_sansio::error::ViolationKind;
use mcp_sansio::json::Raw;
use mcp_sansio::{
    CallError, CallId, CallOptions, Cause, ClientConfig, ClientEvent, IncomingId, Outcome,
    RevisionSet, ServerEvent,
};
use mcp_sansio_proptests::{ClientSide, ServerSide, config};

/// The capabilities of a server whose tool calls can become tasks that cannot be cancelled.
const TASKS: &str = r#"{"tools":{},"tasks":{"requests":{"tools":{"call":{}}}}}"#;

fn result(id: u64, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

/// A legacy request about the task `t-1`.
fn about(id: u64, method: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tasks/{method}","params":{{"taskId":"t-1"}}}}"#
    )
}

/// A task in this status, with more members.
fn task(status: &str, more: &str) -> String {
    format!(
        r#"{{"taskId":"t-1","status":"{status}","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z"{more}}}"#
    )
}

fn config_of(revisions: RevisionSet) -> ClientConfig {
    let mut config = config::client_of_both_eras();
    config.capabilities = config.capabilities.with_tasks();
    config.revisions = revisions;
    config
}

/// A client in a session with a server that has tasks. Its next request has id 2.
fn in_session(policy: CapabilityPolicy) -> ClientSide {
    let mut config = config_of(RevisionSet::LEGACY);
    config.connection.capability_policy = policy;
    let mut side = ClientSide::with(config);
    side.client.connect(side.now, &mut side.out).unwrap();
    let opened = format!(
        r#"{{"protocolVersion":"2025-11-25","capabilities":{TASKS},"serverInfo":{{"name":"s","version":"1"}}}}"#
    );
    assert!(matches!(side.receive(&result(1, &opened)), Some(ClientEvent::Connected(_))));
    assert_eq!(side.sent().len(), 2);
    side
}

/// A tool call that has become the task `t-1`. Its next request has id 3.
fn begun(side: &mut ClientSide, task: &str) -> CallId {
    let options = CallOptions::new().task(TaskOptions::new());
    let params = Raw::new(r#"{"name":"t"}"#).unwrap();
    let call =
        side.client.call_method("tools/call", &params, options, side.now, &mut side.out).unwrap();
    assert_eq!(side.sent().len(), 1);
    let event = side.receive(&result(2, task));
    assert!(matches!(event, Some(ClientEvent::Task(_))), "{event:?}");
    assert_eq!(side.sent(), [""; 0]);
    call
}

/// A client of a modern server with a call that has become a task, and these limits on inputs and bytes.
fn modern(inputs: u32, bytes: usize) -> (ClientSide, CallId) {
    let mut config = config_of(RevisionSet::MODERN);
    config.connection.limits.input_requests = inputs;
    config.connection.limits.connection_bytes = bytes;
    config.probe = false;
    let mut side = ClientSide::with(config);
    side.client.connect(side.now, &mut side.out).unwrap();
    assert_eq!(side.outcomes().len(), 1, "connected");
    side.call("x/other");
    assert_eq!(side.sent().len(), 1);
    let event = side.receive(&result(1, "{}"));
    assert!(matches!(event, Some(ClientEvent::CallEnded(_))), "{event:?}");
    let task = task("working", r#","pollIntervalMs":1000,"resultType":"task""#);
    let call = begun(&mut side, &task);
    (side, call)
}

/// Polls the task of a modern client, which requires the roots under each of these keys. Returns the inputs that reach
/// the application and the number of violations.
fn require(side: &mut ClientSide, id: u64, keys: &[&str]) -> (Vec<IncomingId>, usize) {
    assert_eq!(side.elapse(1_000), []);
    let poll = side.sent().pop().unwrap();
    assert!(poll.contains(&format!(r#""id":{id},"method":"tasks/get""#)), "{poll}");
    answer_poll(side, id, keys)
}

fn answer_poll(side: &mut ClientSide, id: u64, keys: &[&str]) -> (Vec<IncomingId>, usize) {
    let inputs: Vec<_> =
        keys.iter().map(|key| format!(r#""{key}":{{"method":"roots/list"}}"#)).collect();
    let more = format!(r#","pollIntervalMs":1000,"inputRequests":{{{}}}"#, inputs.join(","));
    let event = side.receive(&result(id, &task("input_required", &more)));
    let (mut inputs, mut violations) = (Vec::new(), 0);
    for event in event.into_iter().chain(side.outcomes()) {
        match event {
            ClientEvent::Task(_) => {}
            ClientEvent::Request(request) => inputs.push(request.id),
            ClientEvent::Violation(violation) => {
                assert_eq!(violation.kind, ViolationKind::InvalidResult);
                violations += 1;
            }
            other => panic!("{other:?}"),
        }
    }
    (inputs, violations)
}

const ROOTS: &str = r#"{"roots":[]}"#;

fn kept(side: &ClientSide) -> usize {
    side.client.in_flight().counts().kept_bytes
}

/// A draining connection may still cancel tasks of the peer, but not after the peer has ended its input.
#[test]
fn a_task_is_cancelled_only_while_its_peer_can_answer() {
    for cause in [None, Some(Cause::EndOfInput)] {
        let mut side = ServerSide::with(config::server());
        let initialize = r#"{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"sampling":{},"tasks":{"cancel":{},"requests":{"sampling":{"createMessage":{}}}}},"clientInfo":{"name":"c","version":"1"}}}"#;
        assert!(matches!(side.receive(initialize), Some(ServerEvent::Opened(_))));
        assert!(
            side.receive(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).is_some()
        );
        let params = Raw::new(r#"{"messages":[],"maxTokens":7}"#).unwrap();
        let options = CallOptions::new().task(TaskOptions::new());
        let (method, now) = ("sampling/createMessage", side.now);
        let call = side.server.call_method(method, &params, options, now, &mut side.out).unwrap();
        let created = format!(r#"{{"task":{}}}"#, task("working", r#","ttl":null"#));
        let event = side.receive(&result(1, &created));
        assert!(matches!(event, Some(ServerEvent::Task(_))), "{event:?}");
        _ = side.sent();
        match cause {
            Some(cause) => side.server.disconnected(cause, now),
            None => side.server.shut_down(Duration::from_secs(9), now),
        }
        let cancelled = side.server.cancel_task(call, now, &mut side.out);
        let expected = if cause.is_some() { Err(CallError::Closed) } else { Ok(()) };
        assert_eq!(cancelled, expected);
        assert_eq!(side.sent(), vec![about(2, "cancel"); usize::from(cause.is_none())]);
    }
}

/// A call whose task cannot be cancelled leaves the task, with any policy for the messages of the application.
#[test]
fn a_task_that_cannot_be_cancelled_goes_on() {
    for policy in [CapabilityPolicy::Strict, CapabilityPolicy::Warn, CapabilityPolicy::Off] {
        let mut side = in_session(policy);
        let task = task("working", r#","ttl":null,"pollInterval":1000"#);
        let call = begun(&mut side, &format!(r#"{{"task":{task}}}"#));
        let cancelled = side.client.cancel(call, None, &mut side.out);
        assert_eq!(cancelled, Ok(Cancellation::TaskGoesOn), "{policy:?}");
        assert_eq!((side.sent(), side.outcomes()), (vec![], vec![]));
    }
}

/// A resumed task has the options of its call. Its lifetime begins when it is resumed, and its last status is known.
#[test]
fn a_resumed_task_is_polled_as_its_options_say() {
    let mut side = in_session(CapabilityPolicy::Strict);
    let ticket = TaskTicket::new("t-1", "tools/call");
    let options = TaskOptions::new().poll_interval(Duration::from_secs(7));
    let call = side.client.resume_task(&ticket, options, side.now, &mut side.out).unwrap();
    assert_eq!(side.sent(), [about(3, "get")]);
    let working = task("working", r#","ttl":60000"#);
    let event = side.receive(&result(3, &working));
    assert!(matches!(&event, Some(ClientEvent::Task(update)) if update.call == call), "{event:?}");
    assert_eq!((side.elapse(6_999), side.sent()), (vec![], vec![]));
    assert_eq!((side.elapse(1), side.sent()), (vec![], vec![about(4, "get")]));
    assert_eq!(side.elapse(52_999), []);
    let mut lost = side.clone();
    let events = lost.elapse(1);
    let [ClientEvent::CallEnded(ended)] = &events[..] else { panic!("{events:?}") };
    assert_eq!((ended.call, &ended.outcome), (call, &Outcome::TaskNotFound));
    side.client.close();
    let events = side.outcomes();
    let Some(ClientEvent::CallEnded(ended)) = events.first() else { panic!("{events:?}") };
    let Outcome::Task(left) = &ended.outcome else { panic!("{events:?}") };
    assert_eq!((&left.ticket, left.task.as_json()), (&ticket, &*working));
}

/// The debug output of a ticket does not contain the id, which may give access to the result.
#[test]
fn a_printed_ticket_hides_its_task() {
    let ticket = TaskTicket::new("secret", "tools/call");
    assert_eq!(format!("{ticket:?}"), r#"TaskTicket { method: "tools/call", .. }"#);
}

/// A poll that waits for the handshake ends without an event, because it is no call of the application.
#[test]
fn a_poll_that_was_never_sent_is_no_outcome() {
    let mut side = ClientSide::with(config_of(RevisionSet::LEGACY));
    side.client.connect(side.now, &mut side.out).unwrap();
    let ticket = TaskTicket::new("t-1", "tools/call");
    let options = TaskOptions::new();
    let call = side.client.resume_task(&ticket, options, side.now, &mut side.out).unwrap();
    assert_eq!(side.sent().len(), 1, "only `initialize`");
    side.client.shut_down(Duration::from_secs(9), side.now);
    let events: Vec<_> = side.outcomes().into_iter().chain(side.elapse(9_000)).collect();
    let ended: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            ClientEvent::CallEnded(ended) => Some((ended.call, &ended.outcome)),
            _ => None,
        })
        .collect();
    assert!(matches!(ended[..], [(one, Outcome::Task(_))] if one == call), "{events:?}");
    let closed = ClientEvent::Closed { cause: Cause::DrainDeadline };
    assert_eq!(events.last(), Some(&closed));
}

/// The outcome of a task reports whether the task has required input.
#[test]
fn the_outcome_of_a_task_reports_whether_it_needed_input() {
    for needs_input in [false, true] {
        let (mut side, call) = modern(9, usize::MAX);
        let keys: &[&str] = if needs_input { &["a"] } else { &[] };
        assert_eq!(require(&mut side, 3, keys).0.len(), keys.len());
        assert_eq!(side.elapse(1_000), []);
        let done = task("completed", r#","result":{"content":[]}"#);
        let Some(ClientEvent::CallEnded(ended)) = side.receive(&result(4, &done)) else {
            panic!("the task has ended")
        };
        assert_eq!((ended.call, ended.needed_input), (call, needs_input));
    }
}

/// The key of an input is kept until the task ends or another input takes its place, and twice while it is open.
#[test]
fn the_inputs_of_a_task_are_kept_bytes() {
    let (mut side, _) = modern(1, usize::MAX);
    let (inputs, violations) = require(&mut side, 3, &["aa"]);
    assert_eq!((inputs.len(), violations, kept(&side)), (1, 0, 2 + 2));
    side.respond(inputs[0], ROOTS);
    assert_eq!((side.sent().len(), kept(&side)), (1, 2));
    let (inputs, violations) = require(&mut side, 5, &["bbb"]);
    assert_eq!((inputs.len(), violations, kept(&side)), (1, 0, 3 + 3));
    side.respond(inputs[0], ROOTS);
    assert_eq!(kept(&side), 3);
    assert_eq!(side.sent().len(), 1);
    assert_eq!(side.elapse(1_000), []);
    let done = task("completed", r#","result":{"content":[]}"#);
    let event = side.receive(&result(7, &done));
    assert!(matches!(event, Some(ClientEvent::CallEnded(_))), "{event:?}");
    assert_eq!(kept(&side), 0);
}

/// An input is handed out if its bytes fit the limit of the connection exactly.
#[test]
fn an_input_of_a_task_counts_towards_the_bytes_of_the_connection() {
    for (bytes, fits) in [(6, true), (5, false)] {
        let (mut side, _) = modern(9, bytes);
        let (inputs, violations) = require(&mut side, 3, &["aaa"]);
        assert_eq!((inputs.len() == 1, violations == 0), (fits, fits), "{bytes}");
    }
}

/// An input makes room for another one only after its answer was sent and the task no longer names it.
#[test]
fn an_input_of_a_task_keeps_its_place_until_its_answer_has_arrived() {
    let (mut side, _) = modern(1, usize::MAX);
    let (inputs, _) = require(&mut side, 3, &["a"]);
    let mut unsent = side.clone();
    side.respond(inputs[0], ROOTS);
    assert!(side.sent()[0].contains(r#""method":"tasks/update""#));
    let (inputs, violations) = require(&mut side, 5, &["a", "b"]);
    assert_eq!((inputs.len(), violations), (0, 1), "the task still names it");
    let (inputs, violations) = require(&mut side, 6, &["b"]);
    assert_eq!((inputs.len(), violations), (1, 0));

    // The answer cannot be sent, because the peer does not read.
    let input = unsent.client.in_flight().requests().next().unwrap();
    assert_eq!(unsent.elapse(1_000), []);
    assert_eq!(unsent.sent().len(), 1, "a poll");
    unsent.call("x/other");
    unsent.out.set_limit(0);
    unsent.respond(input, ROOTS);
    let (inputs, violations) = answer_poll(&mut unsent, 4, &["b"]);
    assert_eq!((inputs.len(), violations), (0, 1), "the answer was not sent");
    unsent.out.set_limit(usize::MAX);
    assert_eq!(unsent.elapse(1_000), []);
    let sent = unsent.sent();
    assert!(
        sent.iter().any(|one| one.contains(r#""inputResponses":{"a":{"roots":[]}}"#)),
        "{sent:?}"
    );
}
