//! Calls of 2025-11-25 that end before they become tasks: the late response still cancels the task.

use mcp_sansio::call::{Cancellation, TaskOptions};
use mcp_sansio::event::Expiry;
use mcp_sansio::http::HttpClientConfig;
use mcp_sansio::{CallId, CallOptions, ClientEvent, Outcome, Revision};
use mcp_sansio_proptests::config;

use super::kit::{Act, EVENTS, JSON, Sent, Side, URL, ended, error, get, post, result, session};

const D: Revision = Revision::V2025_11_25;
const SESSION: (&str, &str) = ("Mcp-Session-Id", "s-1");
const VERSION: (&str, &str) = ("MCP-Protocol-Version", "2025-11-25");
const TASKS: &str = r#""completions":{},"tasks":{"cancel":{},"requests":{"tools":{"call":{}}}}"#;
const CREATED: &str = r#"{"task":{"taskId":"t-1","status":"working","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttl":null}}"#;

/// The time for which a late response is awaited.
const LATE: u64 = 600_000;

/// The ways in which a call ends before its response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    TimesOut,
    Cancelled,
}

const WAYS: [Way; 2] = [Way::TimesOut, Way::Cancelled];

/// Returns a client with at most `calls` calls, whose server runs tools as tasks, and its request for the event stream
/// of the session. The next request has id 2.
fn with_tasks(calls: u32) -> (Side, Sent) {
    let mut client = config::client();
    client.capabilities = client.capabilities.with_tasks();
    client.connection.limits.outbound_calls = calls;
    let mut side = Side::begun_with(client, HttpClientConfig::new(URL));
    let opening = side.sent_one();
    let opened = session(D).replace(r#""completions":{}"#, TASKS);
    let events = side.answer(&opening, 200, &[JSON, SESSION], &result(1, &opened));
    assert!(matches!(&events[..], [ClientEvent::Connected(_)]), "{events:?}");
    let initialized = side.sent_one();
    assert_eq!(side.answer(&initialized, 202, &[], ""), []);
    let listening = side.sent_one();
    (side, listening)
}

/// Like `with_tasks`; the server has no event stream for the session.
fn without_stream(calls: u32) -> Side {
    let (mut side, listening) = with_tasks(calls);
    assert_eq!(side.answer(&listening, 405, &[], ""), []);
    side
}

/// Calls a tool as a task.
fn asks(side: &mut Side) -> (CallId, Sent) {
    let options = CallOptions::new().task(TaskOptions::new());
    let call = side.call_with("tools/call", r#"{"name":"t"}"#, options);
    (call, side.sent_one())
}

/// Ends a call before its response. The exchange stays open.
#[track_caller]
fn give_up(side: &mut Side, call: CallId, way: Way) {
    if way == Way::TimesOut {
        side.elapse(60_000);
        assert_eq!(ended(side.due()), (call, Outcome::TimedOut(Expiry::Idle)));
    } else {
        let cancelled = side.http.with(|client, out| client.cancel(call, None, out));
        assert_eq!(cancelled, Ok(Cancellation::Deferred));
    }
    side.does_nothing();
}

#[track_caller]
fn is_abandoned(events: &[ClientEvent<'_>]) {
    let [ClientEvent::AbandonedTask(task)] = events else { panic!("{events:?}") };
    assert_eq!((&*task.ticket.task_id, task.cancelled), ("t-1", true));
}

/// Returns the request that cancels the task.
fn cancel_of(id: u64) -> String {
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tasks/cancel","params":{{"taskId":"t-1"}}}}"#
    );
    post(&[SESSION, VERSION], &body)
}

/// Proves L-TIME-07, L-RACE-36, L-CANCEL-16: the late response arrives on the exchange of the call.
#[test]
fn a_late_response_cancels_its_task() {
    for (way, kind) in WAYS.into_iter().flat_map(|way| [JSON, EVENTS].map(|kind| (way, kind))) {
        let mut side = without_stream(8);
        let (call, sent) = asks(&mut side);
        give_up(&mut side, call, way);
        assert_eq!(side.http.transport().exchange_of(call), Some(sent.exchange));
        let created = result(2, CREATED);
        let body = if kind == JSON { created } else { format!("data: {created}\n\n") };
        is_abandoned(&side.answer(&sent, 200, &[kind], &body));
        let cancel = side.acts();
        let cancel: Vec<_> = cancel.iter().filter(|act| !matches!(act, Act::Abort(_))).collect();
        let [Act::Send(cancel)] = cancel[..] else { panic!("{cancel:?}") };
        assert_eq!(cancel.text(), cancel_of(3));
        assert_eq!(side.json(cancel, &error(3, -32602)), []);
        assert_eq!(side.http.transport().exchanges(), 0);
        side.does_nothing();
    }
}

#[test]
fn an_exchange_without_a_late_response_is_aborted() {
    for (way, is_open) in WAYS.into_iter().flat_map(|way| [false, true].map(|open| (way, open))) {
        let mut side = without_stream(8);
        let (call, sent) = asks(&mut side);
        if is_open {
            side.stream(&sent);
        }
        give_up(&mut side, call, way);
        side.elapse(LATE - 1);
        side.does_nothing();
        assert_eq!(side.http.transport().exchange_of(call), Some(sent.exchange));
        side.elapse(1);
        assert_eq!(side.due(), []);
        side.aborts(sent.exchange);
        assert_eq!(side.http.transport().exchanges(), 0);
        assert_eq!(side.http.poll_timeout(), None);
    }
}

/// Calls that are cancelled again and again open no more exchanges than the limit of calls allows.
#[test]
fn a_call_that_makes_room_for_another_leaves_its_exchange() {
    for way in WAYS {
        let mut side = without_stream(1);
        let (call, first) = asks(&mut side);
        give_up(&mut side, call, way);
        side.call("tools/list", "{}");
        let acts = side.acts();
        let [Act::Abort(aborted), Act::Send(second)] = &acts[..] else { panic!("{acts:?}") };
        assert_eq!((*aborted, side.http.transport().exchanges()), (first.exchange, 1));
        let events = side.json(second, &result(3, r#"{"tools":[]}"#));
        assert!(matches!(ended(events).1, Outcome::Result(_)));
    }
}

/// The wait continues on the stream that resumes the one that broke off.
#[test]
fn the_wait_for_a_late_response_outlives_its_stream() {
    let mut side = without_stream(8);
    let (call, sent) = asks(&mut side);
    let mut stream = side.stream(&sent);
    give_up(&mut side, call, Way::TimesOut);
    assert_eq!(side.chunk(&mut stream, b"id: e1\n\n"), []);
    assert_eq!(side.end(&mut stream), []);
    side.elapse(1_000);
    let resumed = side.sent_one();
    assert_eq!(resumed.text(), get(&[("Last-Event-ID", "e1"), SESSION, VERSION]));
    let mut stream = side.stream(&resumed);
    is_abandoned(&side.says(&mut stream, &result(2, CREATED)));
    let acts = side.acts();
    assert!(matches!(&acts[..], [.., Act::Send(cancel)] if cancel.text() == cancel_of(3)));
}

/// A response on the stream of another request leaves nothing to wait for on the exchange of the call.
#[test]
fn a_late_response_on_another_stream_frees_the_exchange() {
    for way in WAYS {
        let (mut side, listening) = with_tasks(8);
        let _session = side.stream(&listening);
        let (call, first) = asks(&mut side);
        give_up(&mut side, call, way);
        let (_, other) = side.asks("tools/list", "{}");
        let mut stream = side.stream(&other);
        is_abandoned(&side.says(&mut stream, &result(2, CREATED)));
        let acts = side.acts();
        let [Act::Abort(aborted), Act::Send(cancel)] = &acts[..] else { panic!("{acts:?}") };
        assert_eq!(*aborted, first.exchange);
        assert_eq!(cancel.text(), cancel_of(4));
    }
}

#[test]
fn a_failed_exchange_ends_the_wait() {
    for way in WAYS {
        let mut side = without_stream(8);
        let (call, sent) = asks(&mut side);
        give_up(&mut side, call, way);
        assert_eq!(side.answer(&sent, 503, &[], ""), []);
        assert_eq!(side.http.transport().exchanges(), 0);
        assert_eq!(side.http.poll_timeout(), None);
        side.does_nothing();
    }
}

/// A call that cannot become a task is not awaited.
#[test]
fn other_calls_leave_their_exchanges_at_once() {
    let mut side = without_stream(8);
    let (call, sent) = side.asks("tools/call", r#"{"name":"t"}"#);
    side.elapse(60_000);
    assert_eq!(ended(side.due()), (call, Outcome::TimedOut(Expiry::Idle)));
    let acts = side.acts();
    let [Act::Abort(aborted), Act::Send(cancelled)] = &acts[..] else { panic!("{acts:?}") };
    assert_eq!(*aborted, sent.exchange);
    assert!(cancelled.body().contains("notifications/cancelled"), "{cancelled:?}");
}
