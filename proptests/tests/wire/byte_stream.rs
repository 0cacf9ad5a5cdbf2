//! `ByteStream` behaves like its three parts by hand, for any chunks, and ends like them.

use std::sync::Arc;
use std::time::Duration;

use mcp_sansio::call::Timeout;
use mcp_sansio::drive::Role;
use mcp_sansio::event::Expiry;
use mcp_sansio::{
    ByteStream, CallOptions, Cause, Client, ClientEvent, Framing, Inbox, Instant, Outbox, Outcome,
    Phase, Server, ServerEvent,
};
use mcp_sansio_proptests::{ServerSide, config};
use proptest::collection::vec;
use proptest::prelude::*;

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}"#;

/// Returns the input of a client: a session, noise, a cancelled request, and a last line without a newline.
fn input() -> String {
    [
        INITIALIZE,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        "some noise",
        CALL,
        r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"t"}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}"#,
        r#"{"jsonrpc":"2.0","id":4,"method":"tools/list"}"#,
    ]
    .join("\n")
}

/// Handles an event in the application, by hand or in a step.
fn handle(event: &ServerEvent<'_>, server: &mut Server, out: &mut Outbox) -> String {
    if let ServerEvent::Request(request) = event
        && (&*request.method.to_str(), request.id.index()) == ("tools/call", 0)
    {
        server.respond(request.id, &mcp_sansio::model::CallToolResult::text("t"), out).unwrap();
    }
    format!("{event:?}")
}

/// Returns the events and the output of a loop over the three parts.
fn by_hand(text: &str) -> (Vec<String>, Vec<u8>) {
    let (config, now) = (config::server(), Instant::EPOCH);
    let limits = config.connection.limits.clone();
    let (mut inbox, mut out) = (Inbox::new(&limits), Outbox::new(Framing::Lines, &limits));
    let mut server = Server::new(Arc::new(config));
    let mut events = Vec::new();
    assert_eq!(inbox.feed(text.as_bytes()), text.len());
    inbox.finish();
    while let Some(frame) = inbox.next() {
        if let Some(event) = server.receive(frame, now, &mut out) {
            events.push(handle(&event, &mut server, &mut out));
        }
    }
    server.disconnected(Cause::EndOfInput, now);
    while let Some(event) = server.handle_timeout(now, &mut out) {
        events.push(handle(&event, &mut server, &mut out));
    }
    (events, out.unsent().to_vec())
}

/// Runs all pending steps.
fn steps(stream: &mut ByteStream<Server>, now: Instant, events: &mut Vec<String>) {
    while let Some(step) = stream.next_step(now) {
        if let Some(event) = &step.event {
            events.push(handle(event, step.machine, step.outbox));
        }
    }
}

proptest! {
    /// Proves L-STDIO-06 for the last line, which may end with white space or be nothing else.
    #[test]
    fn a_byte_stream_matches_inbox_server_and_outbox(
        sizes in vec(1_usize..200, 1..40),
        space in "[ \t\r\n]{0,3}",
    ) {
        let text = input() + &space;
        let mut stream = ByteStream::lines(Server::new(Arc::new(config::server())));
        let (mut events, mut rest, mut sizes) = (Vec::new(), text.as_bytes(), sizes.iter().cycle());
        while !rest.is_empty() {
            let size = rest.len().min(*sizes.next().unwrap());
            let taken = stream.feed(&rest[..size]);
            rest = &rest[taken..];
            steps(&mut stream, Instant::EPOCH, &mut events);
        }
        stream.finish();
        steps(&mut stream, Instant::EPOCH, &mut events);
        prop_assert_eq!((events, stream.unsent().to_vec()), by_hand(&text));
        // A step without pending work is harmless.
        prop_assert!(stream.next_step(Instant::EPOCH).is_none());
    }
}

/// Reading into the free space is equivalent to feeding, and the output is sent in parts.
#[test]
fn input_is_read_without_a_copy_and_output_leaves_in_parts() {
    let text = input();
    let mut stream = ByteStream::new(Server::new(Arc::new(config::server())), Framing::Lines);
    let space = stream.space();
    space[..text.len()].copy_from_slice(text.as_bytes());
    stream.filled(text.len());
    stream.finish();
    let (mut events, mut sent) = (Vec::new(), Vec::new());
    steps(&mut stream, Instant::EPOCH, &mut events);
    while let Some(first) = stream.unsent().first() {
        sent.push(*first);
        stream.sent(1);
    }
    assert_eq!((events, sent), by_hand(&text));
}

/// A timeout is due without any input.
#[test]
fn a_timeout_needs_no_input() {
    let mut stream = ByteStream::lines(Client::new(Arc::new(config::client())));
    let (client, out) = stream.machine_and_outbox();
    client.connect(Instant::EPOCH, out).unwrap();
    let at = stream.poll_timeout().expect("initialize has a timeout");
    assert!(stream.next_step(Instant::EPOCH).is_none());
    let step = stream.next_step(at).expect("it is due");
    assert!(matches!(step.event, Some(ClientEvent::ConnectFailed(_))), "{:?}", step.event);
}

/// Runs a step in either role, and expects the outcome of a timed-out call.
fn expired<M: Role>(stream: &mut ByteStream<M>) -> usize {
    let at = stream.poll_timeout().expect("a call has a timeout");
    let mut events = 0;
    while let Some(step) = stream.next_step(at) {
        events += usize::from(step.event.is_some());
    }
    events
}

#[test]
fn a_call_of_either_role_times_out() {
    let mut server = ServerSide::ready(mcp_sansio::Revision::V2025_06_18);
    let options = CallOptions::new().idle(Timeout::After(Duration::from_millis(5)));
    let call =
        server.server.call_method("x/own", &(), options, server.now, &mut server.out).unwrap();
    let mut stream = ByteStream::lines(server.server.clone());
    assert_eq!(expired(&mut stream), 1);
    // The same by hand, with the kind of the outcome.
    let [ServerEvent::CallEnded(ended)] = &server.elapse(5)[..] else { panic!("one call") };
    assert_eq!((ended.call, &ended.outcome), (call, &Outcome::TimedOut(Expiry::Idle)));
}

/// The end of the input is a half-close: the server drains, and ends at the deadline.
#[test]
fn the_end_of_the_input_drains() {
    let text = [INITIALIZE, CALL, ""].join("\n");
    let mut stream = ByteStream::lines(Server::new(Arc::new(config::server())));
    assert_eq!(stream.feed(text.as_bytes()), text.len());
    let mut requests = Vec::new();
    while let Some(step) = stream.next_step(Instant::EPOCH) {
        if let Some(ServerEvent::Request(request)) = step.event {
            requests.push(request.id);
        }
    }
    stream.finish();
    let draining = stream.next_step(Instant::EPOCH).expect("an event").event;
    assert!(matches!(draining, Some(ServerEvent::Draining { .. })), "{draining:?}");
    assert!(!stream.is_closed() && stream.next_step(Instant::EPOCH).is_none());
    let (server, out) = stream.machine_and_outbox();
    server.respond(requests[0], &mcp_sansio::model::CallToolResult::text("t"), out).unwrap();
    let closed = stream.next_step(Instant::EPOCH).expect("an event").event;
    assert!(matches!(closed, Some(ServerEvent::Closed { cause: Cause::EndOfInput })), "{closed:?}");
    assert!(stream.is_closed());
    let (server, inbox, outbox) = stream.into_parts();
    assert_eq!((server.phase(), inbox.len()), (Phase::Closed, 0));
    assert_eq!(outbox.unsent().split(|byte| *byte == b'\n').count(), 3);
}

/// A failure of the transport closes at once, and discards the buffered input.
#[test]
fn a_failure_closes_at_once() {
    let mut stream = ByteStream::lines(Server::new(Arc::new(config::server())));
    assert_eq!(stream.feed(INITIALIZE.as_bytes()), INITIALIZE.len());
    stream.fail(Cause::ReadFailed, Instant::EPOCH);
    let mut causes = Vec::new();
    while let Some(step) = stream.next_step(Instant::EPOCH) {
        if let Some(ServerEvent::Closed { cause }) = step.event {
            causes.push(cause);
        }
    }
    assert_eq!(causes, [Cause::ReadFailed]);
    assert!(stream.is_closed() && stream.unsent().is_empty());
    assert!(!format!("{stream:?}").contains("protocolVersion"));
}
