//! How a connection ends.

use std::time::Duration;

use mcp_sansio::call::{Cancellation, ExchangeEnd, Timeout};
use mcp_sansio::error::{
    CancelError, NotifyError, TransportFailure, TransportFailureKind, ViolationKind,
};
use mcp_sansio::event::{CancelCause, Expiry};
use mcp_sansio::subscription::{ChangedList, Delivery};
use mcp_sansio::{
    CallError, CallOptions, Cause, ClientEvent, ConnectionNumber, Outcome, Phase, RespondError,
    Revision, ServerEvent,
};
use mcp_sansio_proptests::{ClientSide, ServerSide, config};

fn work(id: u32) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"x/work"}}"#)
}

fn ended(event: &ClientEvent<'static>) -> (usize, Outcome<'static>) {
    match event {
        ClientEvent::CallEnded(ended) => (ended.call.index(), ended.outcome.clone()),
        other => panic!("{other:?}"),
    }
}

/// Proves L-LIFE-28, L-RACE-31, L-RACE-58. Pain 12.
#[test]
fn every_call_ends_once_when_the_peer_dies() {
    let mut side = ClientSide::ready(Revision::V2025_06_18);
    let calls = [side.call("a"), side.call("b"), side.call("c")];
    _ = side.sent();
    let unsent = side.call("d");
    let inbound = side.request(r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#);
    assert!(side.receive(r#"{"jsonrpc":"2.0","id":3,"result":{}}"#).is_some());
    side.client.disconnected(Cause::EndOfInput, side.now);
    assert_eq!(side.client.phase(), Phase::Closed, "it is true at once");
    assert_eq!(side.client.cancel(calls[0], None, &mut side.out), Err(CancelError::Closed));
    let events = side.outcomes();
    assert_eq!(events.len(), 5);
    assert_eq!(ended(&events[0]), (calls[0].index(), Outcome::Closed(Cause::EndOfInput)));
    assert_eq!(ended(&events[1]), (calls[2].index(), Outcome::Closed(Cause::EndOfInput)));
    assert_eq!(ended(&events[2]), (unsent.index(), Outcome::NotSent));
    assert!(matches!(&events[3], ClientEvent::Cancelled(cancelled)
        if cancelled.id == inbound && cancelled.cause == CancelCause::Closed));
    assert_eq!(events[4], ClientEvent::Closed { cause: Cause::EndOfInput });
    let counts = side.client.in_flight().counts();
    assert_eq!((counts.inbound, counts.outbound, counts.held_bytes), (0, 0, 0));
    assert_eq!(side.client.poll_timeout(), None);
    assert_eq!(side.sent(), [""; 0], "the call of which nothing had left is gone");
}

/// Proves L-LIFE-29.
#[test]
fn nothing_happens_after_the_end() {
    let mut side = ClientSide::ready(Revision::V2025_06_18);
    let call = side.call("a");
    let inbound = side.request(r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#);
    _ = side.sent();
    side.client.disconnected(Cause::ReadFailed, side.now);
    assert_eq!(
        side.client.respond(inbound, &(), &mut side.out),
        Err(RespondError::Closed),
        "also before it was told"
    );
    side.outcomes();
    assert_eq!(side.client.respond(inbound, &(), &mut side.out), Err(RespondError::Closed));
    let called = side.client.call_method("a", &(), CallOptions::new(), side.now, &mut side.out);
    assert_eq!(called, Err(CallError::Closed));
    let notified = side.client.notify_method("x", &(), None, &mut side.out);
    assert_eq!(notified, Err(NotifyError::Closed));
    assert_eq!(side.client.cancel(call, None, &mut side.out), Err(CancelError::NotInFlight));
    for frame in [r#"{"jsonrpc":"2.0","id":2,"result":{}}"#, "noise", &work(5)] {
        assert_eq!(side.receive(frame), None);
    }
    assert_eq!(side.elapse(10_000_000), []);
    assert_eq!(side.sent(), [""; 0]);
    assert!(side.client.connect(side.now, &mut side.out).is_err());
}

/// Proves L-RACE-32: the handles and the responses of a connection have no effect on the next one, whose requests have
/// the same ids.
#[test]
fn nothing_of_a_connection_reaches_the_next_one() {
    let mut side = ClientSide::ready(Revision::V2025_06_18);
    let call = side.call("a");
    let inbound = side.request(r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#);
    assert_eq!(side.sent(), [r#"{"jsonrpc":"2.0","id":2,"method":"a"}"#]);
    side.client.disconnected(Cause::ReadFailed, side.now);
    _ = side.outcomes();
    let late = r#"{"jsonrpc":"2.0","id":2,"result":{"old":1}}"#;

    let mut next = ClientSide::with(side.client.config().clone());
    next.client = side.client.reconnect(ConnectionNumber::new(1));
    next.client.connect(next.now, &mut next.out).unwrap();
    let session = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}"#;
    assert!(matches!(next.receive(session), Some(ClientEvent::Connected(_))));
    _ = next.sent();
    let again = next.call("a");
    assert_eq!(next.sent(), [r#"{"jsonrpc":"2.0","id":2,"method":"a"}"#]);
    assert_ne!(again, call);
    let stale = Err(RespondError::Stale);
    assert_eq!(next.client.respond(inbound, &(), &mut next.out), stale);
    assert_eq!(next.client.cancel(call, None, &mut next.out), Err(CancelError::NotInFlight));
    assert_eq!(side.receive(late), None, "the old machine ignores its own late response");
    assert_eq!(next.sent(), [""; 0]);
    let event = next.receive(r#"{"jsonrpc":"2.0","id":2,"result":{"new":1}}"#).unwrap();
    let ClientEvent::CallEnded(over) = event else { panic!("{event:?}") };
    let Outcome::Result(result) = &over.outcome else { panic!("{over:?}") };
    assert_eq!((over.call, result.as_json()), (again, r#"{"new":1}"#));
}

/// Pain 13: a failed write ends the calls; later input is ignored.
#[test]
fn a_failed_write_ends_the_connection() {
    let mut side = ClientSide::ready(Revision::V2025_06_18);
    side.call("a");
    _ = side.sent();
    side.client.disconnected(Cause::WriteFailed, side.now);
    let events = side.outcomes();
    assert_eq!(ended(&events[0]).1, Outcome::Closed(Cause::WriteFailed));
    assert_eq!(side.receive(r#"{"jsonrpc":"2.0","id":2,"result":{}}"#), None);
    assert_eq!(side.sent(), [""; 0]);
}

/// Pain 67: after a failed write a server that declares logging sends no log notification.
#[test]
fn a_failed_write_is_not_logged_to_the_peer() {
    let mut side = ServerSide::ready(Revision::V2025_06_18);
    let id = side.request(&work(1));
    side.server.disconnected(Cause::WriteFailed, side.now);
    assert!(side.server.respond(id, &(), &mut side.out).is_err());
    assert_eq!(side.outcomes().last(), Some(&ServerEvent::Closed { cause: Cause::WriteFailed }));
    assert_eq!(side.sent(), [""; 0]);
}

/// Pain 85: in any order and number, these events end the connection once.
#[test]
fn closing_twice_is_closing_once() {
    let mut side = ClientSide::ready(Revision::V2025_06_18);
    side.client.close();
    side.client.close();
    side.client.disconnected(Cause::EndOfInput, side.now);
    side.client.disconnected(Cause::WriteFailed, side.now);
    side.client.shut_down(Duration::from_secs(1), side.now);
    assert_eq!(side.outcomes(), [ClientEvent::Closed { cause: Cause::ShutDown }]);
    assert_eq!(side.outcomes(), []);
}

/// Proves L-LIFE-28 for a server. Pain 14, as decided in DESIGN: handlers are notified, not cancelled, and requests
/// that are cut off are refused.
#[test]
fn a_server_whose_input_ended_still_answers() {
    let mut side = ServerSide::ready(Revision::V2025_06_18);
    let first = side.request(&work(1));
    let second = side.request(&work(2));
    let call = side.call("roots/list");
    _ = side.sent();
    let drain = config::server().connection.timeouts.drain;
    side.server.disconnected(Cause::EndOfInput, side.now);
    assert_eq!(side.server.phase(), Phase::Draining);
    let deadline = side.now + drain;
    let events = side.outcomes();
    assert_eq!(events[0], ServerEvent::Draining { deadline });
    let ServerEvent::CallEnded(over) = &events[1] else { panic!("{events:?}") };
    assert_eq!((over.call, &over.outcome), (call, &Outcome::Closed(Cause::EndOfInput)));
    assert_eq!(events.len(), 2);
    assert_eq!(side.server.poll_timeout(), Some(deadline));
    side.server.respond(first, &(), &mut side.out).unwrap();
    assert_eq!(side.sent(), [r#"{"jsonrpc":"2.0","id":1,"result":{}}"#]);
    assert_eq!(side.outcomes(), []);
    let events = side.elapse(drain.as_millis() as u64);
    assert!(matches!(&events[0], ServerEvent::Cancelled(cancelled)
        if cancelled.id == second && cancelled.cause == CancelCause::Closed));
    assert_eq!(events[1..], [ServerEvent::Closed { cause: Cause::DrainDeadline }]);
    let refused = r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"the connection is shutting down"}}"#;
    assert_eq!(side.sent(), [refused]);
    assert_eq!(side.server.respond(second, &(), &mut side.out), Err(RespondError::Closed));
    assert_eq!(side.sent(), [""; 0]);
}

#[test]
fn a_server_ends_as_soon_as_everything_is_answered() {
    let mut side = ServerSide::ready(Revision::V2025_06_18);
    let id = side.request(&work(1));
    side.server.disconnected(Cause::EndOfInput, side.now);
    side.outcomes();
    side.server.respond(id, &(), &mut side.out).unwrap();
    assert!(side.server.poll_timeout().unwrap() < side.now, "there is something to hand out");
    assert_eq!(side.outcomes(), [ServerEvent::Closed { cause: Cause::EndOfInput }]);

    let mut idle = ServerSide::ready(Revision::V2025_06_18);
    idle.server.disconnected(Cause::EndOfInput, idle.now);
    let events = idle.outcomes();
    assert_eq!(events[1..], [ServerEvent::Closed { cause: Cause::EndOfInput }]);
}

/// Pain 25: cancelled requests get no response while draining either.
#[test]
fn a_cancelled_request_is_not_answered_while_draining() {
    let mut side = ServerSide::ready(Revision::V2025_06_18);
    let first = side.request(&work(1));
    let second = side.request(&work(2));
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    assert!(side.receive(cancel).is_some());
    side.server.disconnected(Cause::EndOfInput, side.now);
    side.outcomes();
    assert_eq!(side.server.respond(first, &(), &mut side.out), Err(RespondError::Cancelled));
    side.server.respond(second, &(), &mut side.out).unwrap();
    assert_eq!(side.sent(), [r#"{"jsonrpc":"2.0","id":2,"result":{}}"#]);
}

#[test]
fn a_server_that_shuts_down_finishes_open_requests() {
    let mut side = ServerSide::ready(Revision::V2025_06_18);
    let id = side.request(&work(1));
    let call = side.call("roots/list");
    _ = side.sent();
    side.server.shut_down(Duration::from_secs(2), side.now);
    assert_eq!(side.outcomes().len(), 1);
    let Some(ServerEvent::Violation(violation)) = side.receive(&work(2)) else { panic!() };
    assert_eq!((violation.kind, violation.answered), (ViolationKind::ShuttingDown, true));
    assert_eq!(side.receive(r#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#), None);
    assert_eq!(side.sent().len(), 2, "a refusal and a ping");
    let called = side.server.call_method("x", &(), CallOptions::new(), side.now, &mut side.out);
    assert_eq!(called, Err(CallError::Closed));
    // An earlier call may still get its response.
    let event = side.receive(r#"{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}"#);
    assert!(matches!(event, Some(ServerEvent::CallEnded(over)) if over.call == call));
    side.server.respond(id, &(), &mut side.out).unwrap();
    assert_eq!(side.outcomes(), [ServerEvent::Closed { cause: Cause::ShutDown }]);
}

/// A long grace period is shortened if the client has disconnected.
#[test]
fn the_end_of_the_input_shortens_the_wait() {
    let mut side = ServerSide::ready(Revision::V2025_11_25);
    side.request(&work(1));
    let drain = config::server().connection.timeouts.drain;
    side.server.shut_down(Duration::MAX, side.now);
    assert_eq!(side.outcomes().len(), 1);
    side.server.disconnected(Cause::EndOfInput, side.now);
    assert_eq!(side.server.poll_timeout(), Some(side.now + drain));
    // A shorter grace period is not extended.
    side.server.shut_down(Duration::from_secs(1), side.now);
    side.server.disconnected(Cause::EndOfInput, side.now);
    assert_eq!(side.server.poll_timeout(), Some(side.now + Duration::from_secs(1)));
}

/// A reason that does not fit is omitted; a message that is too long to send is not the peer's violation.
#[test]
fn an_oversized_outgoing_message_is_not_a_peer_error() {
    let mut config = config::client();
    config.connection.limits.outbox_bytes = 2000;
    config.connection.limits.reserve_bytes = 500;
    let mut side = ClientSide::ready_with(config, Revision::V2025_11_25);
    let call = side.call("x");
    _ = side.sent();
    let reason = "r".repeat(3000);
    let cancelled = side.client.cancel(call, Some(&reason), &mut side.out);
    assert_eq!(cancelled, Ok(Cancellation::Notified));
    assert_eq!(side.client.phase(), Phase::Ready);
    assert_eq!(
        side.sent(),
        [r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#]
    );

    let initialize = |version: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":"{version}","capabilities":{{}},"clientInfo":{{"name":"c","version":"1"}}}}}}"#
        )
    };
    let mut config = config::server();
    config.connection.limits.outbox_bytes = 1000;
    config.connection.limits.reserve_bytes = 500;
    config.refuse_other_revisions = true;
    let mut side = ServerSide::with(config.clone());
    assert_eq!(side.receive(&initialize(&"9".repeat(3000))), None);
    let sent = side.sent();
    assert!(sent[0].contains(&format!("\"requested\":\"{}\"", "9".repeat(64))), "{sent:?}");
    config.instructions = Some("i".repeat(3000));
    let mut side = ServerSide::with(config);
    let event = side.receive(&initialize("2025-11-25"));
    assert!(
        matches!(event, Some(ServerEvent::Violation(v)) if v.kind == ViolationKind::AnswerTooLong)
    );
    assert!(side.sent()[0].contains("-32603"));
    assert_eq!(side.server.phase(), Phase::Opening);
}

/// Pain 88: the deadline holds even if no bytes are ever sent or received.
#[test]
fn a_shutdown_deadline_holds_without_peer_activity() {
    let mut side = ClientSide::ready(Revision::V2025_06_18);
    let patient = CallOptions::new().idle(Timeout::Never).total(Timeout::Never);
    side.client.call_method("a", &(), patient, side.now, &mut side.out).unwrap();
    side.client.shut_down(Duration::from_secs(5), side.now);
    let deadline = side.now + Duration::from_secs(1);
    side.client.shut_down(Duration::from_secs(1), side.now);
    side.client.shut_down(Duration::from_secs(9), side.now);
    assert_eq!(side.outcomes(), [ClientEvent::Draining { deadline }]);
    assert_eq!(side.client.poll_timeout(), Some(deadline));
    let events = side.elapse(1_000);
    assert_eq!(ended(&events[0]).1, Outcome::NotSent);
    assert_eq!(events[1], ClientEvent::Closed { cause: Cause::DrainDeadline });
    assert_eq!(side.client.phase(), Phase::Closed);
}

#[test]
fn a_draining_client_receives_its_last_responses() {
    let mut side = ClientSide::ready(Revision::V2025_06_18);
    side.call("a");
    let slow = side.call("b");
    _ = side.sent();
    side.client.shut_down(Duration::from_secs(600), side.now);
    side.outcomes();
    assert!(matches!(
        side.receive(r#"{"jsonrpc":"2.0","id":2,"result":{}}"#),
        Some(ClientEvent::CallEnded(_))
    ));
    // Timeouts continue while the connection drains.
    let events = side.elapse(60_000);
    assert_eq!(ended(&events[0]), (slow.index(), Outcome::TimedOut(Expiry::Idle)));
    assert_eq!(events[1..], [ClientEvent::Closed { cause: Cause::ShutDown }]);
}

/// Pain 2: a peer that sends and never reads loses its connection; the memory of the process stays bounded.
#[test]
fn a_peer_that_never_reads_is_cut_off() {
    let mut config = config::server();
    config.connection.limits.outbox_bytes = 1_000;
    config.connection.limits.reserve_bytes = 500;
    config.connection.limits.congestion_bytes = 100;
    let mut side = ServerSide::ready_with(config, Revision::V2025_06_18);
    assert!(!side.out.is_congested());
    let mut pings = 0;
    while side.server.phase() != Phase::Closed {
        assert_eq!(side.receive(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#), None);
        pings += 1;
        assert!(side.out.is_congested() || pings < 4);
        assert!(side.out.len() <= 1_500);
    }
    assert_eq!(side.outcomes(), [ServerEvent::Closed { cause: Cause::OutboxOverflow }]);
    assert_eq!(side.sent().len(), pings - 1, "every answer that fitted is there");
}

#[test]
fn an_answer_that_does_not_fit_waits() {
    let mut config = config::server();
    config.connection.limits.outbox_bytes = 100;
    let mut side = ServerSide::ready_with(config, Revision::V2025_06_18);
    let first = side.request(&work(1));
    let second = side.request(&work(2));
    let result = serde_json::json!({"text": "x".repeat(40)});
    side.server.respond(first, &result, &mut side.out).unwrap();
    let full = side.server.respond(second, &result, &mut side.out);
    assert_eq!(full, Err(RespondError::Encode(mcp_sansio::schema::EncodeError::Full)));
    assert_eq!(side.sent().len(), 1);
    side.server.respond(second, &result, &mut side.out).unwrap();
}

/// A session that drains still notifies its client, until the connection is closed.
#[test]
fn a_draining_session_sends_notifications() {
    let mut side = ServerSide::ready(Revision::V2025_06_18);
    let id = side.request(&work(1));
    side.server.shut_down(Duration::from_secs(10), side.now);
    assert_eq!(side.outcomes().len(), 1, "the event about draining");
    let changed = |side: &mut ServerSide| {
        side.server.notifications().list_changed(ChangedList::Tools, &mut side.out)
    };
    assert_eq!(changed(&mut side), Ok(Delivery::Sent));
    let notified = side.server.notify_method("x/note", &(), Some(id), &mut side.out);
    assert_eq!(notified, Ok(Delivery::Sent));
    side.respond(id, "{}");
    assert_eq!(side.outcomes(), [ServerEvent::Closed { cause: Cause::ShutDown }]);
    assert_eq!(changed(&mut side), Err(NotifyError::Closed));
    assert_eq!(side.sent().len(), 3);
}

/// The end of the exchange of a call is no outcome if the end of the connection is.
#[test]
fn an_exchange_that_ends_with_its_connection_is_no_event() {
    let mut side = ClientSide::ready(Revision::V2025_06_18);
    let call = side.call("a");
    _ = side.sent();
    side.client.close();
    let end = ExchangeEnd::Failure(TransportFailure::new(TransportFailureKind::BrokenOff));
    assert_eq!(side.client.exchange_ended(call, end, side.now, &mut side.out), None);
    let events = side.outcomes();
    assert_eq!(ended(&events[0]), (call.index(), Outcome::Closed(Cause::ShutDown)));
    assert_eq!(events[1..], [ClientEvent::Closed { cause: Cause::ShutDown }]);
}

/// A driver that asks whether anything is due need not call `handle_timeout` after every input.
#[test]
fn a_driver_learns_whether_anything_is_due() {
    let mut side = ClientSide::ready(Revision::V2025_06_18);
    let is_due = |side: &ClientSide| side.client.in_flight().is_due(side.now);
    assert!(!is_due(&side), "nothing can expire");
    side.call("a");
    assert_eq!(side.elapse(59_999), []);
    assert!(!is_due(&side));
    side.now = side.now + Duration::from_millis(1);
    assert!(is_due(&side), "the call has timed out");
    assert_eq!(side.outcomes().len(), 1);
    assert!(!is_due(&side));
    side.client.close();
    assert!(is_due(&side), "the end has not been handed out");
    assert_eq!(side.outcomes().len(), 1);
    assert!(!is_due(&side));
}

/// A server that drains refuses every request, also the usual call of a tool.
#[test]
fn a_draining_server_refuses_calls_of_tools() {
    let mut side = ServerSide::ready(Revision::V2025_06_18);
    side.request(&work(1));
    side.server.shut_down(Duration::from_secs(10), side.now);
    assert_eq!(side.outcomes().len(), 1, "the event about draining");
    let call =
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t","arguments":{}}}"#;
    let event = side.receive(call);
    let Some(ServerEvent::Violation(violation)) = event else { panic!("{event:?}") };
    assert_eq!((violation.kind, violation.answered), (ViolationKind::ShuttingDown, true));
}
