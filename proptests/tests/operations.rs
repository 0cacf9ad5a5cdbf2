//! Random operations on both roles, with the promises as oracle: one outcome per call, one end per
//! request, `poll_timeout` and `handle_timeout` of one mind, nothing left over, every message whole.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use mcp_sansio::{
    CallId, CallOptions, Cause, Client, ConnectionConfig, DuplicateIds, Framing, InboundId, Inbox,
    Instant, Outbox, Phase, Progress, RepliesWithoutId, RespondError, Server, Timeout,
};
use mcp_sansio_proptests::{Machine, Meaning};
use proptest::prelude::*;
use serde::Serialize;

fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(300)
}

/// One thing that the application, the peer, the carrier or time does.
#[derive(Clone, Debug)]
enum Operation {
    Bytes(Vec<u8>),
    Call { method: &'static str, text: usize, idle: Option<u64>, progress: bool },
    CallThatPanics,
    Cancel(prop::sample::Index),
    Respond { request: prop::sample::Index, text: usize },
    RespondThatPanics(prop::sample::Index),
    Progress(prop::sample::Index, u8),
    Notify,
    Begin,
    Send(usize),
    Settle,
    Wait(u64),
    End(u8),
}

fn message() -> impl Strategy<Value = String> {
    let id = prop::sample::select(&["0", "1", "2", "3", "\"1\"", "\"a\"", "null", "1.5"][..]);
    let method = prop::sample::select(
        &["ping", "tools/list", "roots/list", "sampling/createMessage", "x/y", "initialize"][..],
    );
    (0..16_u8, id, method, 0..5_u8).prop_map(|(kind, id, method, number)| match kind {
        0 => format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"messages":[],"maxTokens":1,"_meta":{{"progressToken":{id}}}}}}}"#
        ),
        1 => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"a":1}}}}"#),
        2 => format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-1}}}}"#),
        3 => format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
        ),
        4 => format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{id},"progress":{number}}}}}"#
        ),
        5 => r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.into(),
        6 | 7 => r#"{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{"roots":{},"sampling":{}},"clientInfo":{"name":"c","version":"1"}}}"#.into(),
        8 | 9 => format!(
            r#"{{"jsonrpc":"2.0","id":{number},"result":{{"protocolVersion":"2025-03-26","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"s","version":"1"}}}}}}"#
        ),
        10 => format!(
            r#"[{{"jsonrpc":"2.0","id":{id},"method":"{method}"}},{{"jsonrpc":"2.0","id":2,"result":{{}}}}]"#
        ),
        11 => r#"{"jsonrpc":"2.0","error":{"code":-1,"message":"m"}}"#.into(),
        12 => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"#),
        13 => format!(r#"{{"jsonrpc":"2.0","id":{id}}}"#),
        14 => "x".repeat(100 * usize::from(number)),
        _ => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"}}"#),
    })
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let flip = prop::option::weighted(0.1, (any::<prop::sample::Index>(), any::<u8>()));
    (message(), prop::bool::weighted(0.95), flip).prop_map(|(message, newline, flip)| {
        let mut bytes = message.into_bytes();
        if let Some((at, byte)) = flip.filter(|_| !bytes.is_empty()) {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if newline {
            bytes.push(b'\n');
        }
        bytes
    })
}

fn operation() -> impl Strategy<Value = Operation> {
    let method = prop::sample::select(&["ping", "tools/list", "x"][..]);
    let index = any::<prop::sample::Index>;
    let call = (method, 0..200_usize, prop::option::of(0..3_u64), any::<bool>()).prop_map(
        |(method, text, idle, progress)| Operation::Call { method, text, idle, progress },
    );
    prop_oneof![
        8 => bytes().prop_map(Operation::Bytes),
        3 => call,
        1 => Just(Operation::CallThatPanics),
        1 => index().prop_map(Operation::Cancel),
        3 => (index(), 0..300_usize)
            .prop_map(|(request, text)| Operation::Respond { request, text }),
        1 => index().prop_map(Operation::RespondThatPanics),
        1 => (index(), 0..5_u8).prop_map(|(request, step)| Operation::Progress(request, step)),
        1 => Just(Operation::Notify),
        1 => Just(Operation::Begin),
        3 => (0..200_usize).prop_map(Operation::Send),
        2 => Just(Operation::Settle),
        1 => prop_oneof![Just(1), Just(2), Just(61_000)].prop_map(Operation::Wait),
        1 => (0..24_u8).prop_map(Operation::End),
    ]
}

/// What can be configured, in small numbers so that limits are met.
fn connection() -> impl Strategy<Value = ConnectionConfig> {
    let outbox = prop::option::of((200..3000_usize, 0..500_usize));
    let tables = (1..6_u32, 1..4_u32, 0..4_u32);
    let bytes = (prop::option::of(0..3000_usize), prop::option::of(100..500_usize), 1..50_usize);
    let policies = (any::<bool>(), any::<bool>(), any::<bool>(), 0..3_u32);
    (outbox, tables, bytes, policies).prop_map(|(outbox, tables, bytes, policies)| {
        let mut connection = ConnectionConfig::default();
        let limits = &mut connection.limits;
        if let Some((outbox, reserve)) = outbox {
            (limits.outbox_bytes, limits.reserve_bytes) = (outbox, reserve);
        }
        (limits.outbound_calls, limits.inbound_requests, limits.remembered_calls) = tables;
        limits.held_bytes = bytes.0.unwrap_or(limits.held_bytes);
        limits.frame_bytes = bytes.1.unwrap_or(limits.frame_bytes);
        limits.chunk_bytes = bytes.2;
        if policies.0 {
            connection.duplicate_ids = DuplicateIds::Serve;
        }
        connection.match_stringified_ids = policies.1;
        if policies.2 {
            let rate = RepliesWithoutId::at_most(2, Duration::from_secs(1));
            connection.replies_without_id = Some(rate);
        }
        connection.first_call_id = policies.3;
        connection
    })
}

/// A payload that gives up halfway.
struct Panics;

impl Serialize for Panics {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("a", &1)?;
        std::panic::resume_unwind(Box::new("a payload that panics"));
    }
}

/// A machine with what surrounds it, and what has to be true of it.
struct World<M> {
    machine: M,
    inbox: Inbox,
    out: Outbox,
    framing: Framing,
    chunk_bytes: usize,
    now: Instant,
    oracle: Oracle,
    wire: Wire,
}

impl<M: Machine> World<M> {
    fn new(connection: ConnectionConfig, framing: Framing) -> Self {
        let limits = connection.limits.clone();
        Self {
            machine: M::with(connection),
            inbox: Inbox::new(&limits),
            out: Outbox::new(framing, &limits),
            framing,
            chunk_bytes: limits.chunk_bytes,
            now: Instant::from_millis(1),
            oracle: Oracle::default(),
            wire: Wire::default(),
        }
    }

    fn run(mut self, operations: Vec<Operation>) {
        let end = [Operation::End(1), Operation::Settle];
        for operation in operations.into_iter().chain(end) {
            self.step(operation);
            assert_eq!(self.machine.pending_calls().len(), self.oracle.pending.len());
            let open = self.machine.open_requests();
            assert!(open.iter().all(|request| self.oracle.open.contains(request)));
            if self.oracle.closed {
                let counts = self.machine.counts();
                assert_eq!((counts.inbound, counts.outbound, counts.held_bytes), (0, 0, 0));
            }
        }
        assert!(self.oracle.closed);
        self.wire.send(&mut self.out, self.framing, usize::MAX);
        self.wire.check(self.framing);
    }

    fn step(&mut self, operation: Operation) {
        let Self { machine, out, oracle, now, .. } = self;
        match operation {
            Operation::Bytes(bytes) => self.receive(&bytes),
            Operation::Call { method, text, idle, progress } => {
                self.call(method, text, idle, progress);
            }
            Operation::CallThatPanics => self.panic_in(|machine, now, out| {
                machine.call("x", &Panics, CallOptions::new(), now, out).is_ok()
            }),
            Operation::Cancel(index) => {
                if let Some(call) = pick(&oracle.calls, index)
                    && machine.cancel(call, Some("why"), out).is_ok()
                {
                    assert!(oracle.pending.remove(&call), "cancelled after its outcome");
                }
            }
            Operation::Respond { request, text } => self.respond(request, text),
            Operation::RespondThatPanics(index) => {
                if let Some(request) = pick(&oracle.requests, index) {
                    self.panic_in(|machine, _, out| machine.respond(request, &Panics, out).is_ok());
                }
            }
            Operation::Progress(index, step) => {
                if let Some(request) = pick(&oracle.requests, index) {
                    let sent = machine.progress(request, Progress::new(step), *now, out);
                    assert!(sent.is_err() || oracle.open.contains(&request));
                }
            }
            Operation::Notify => _ = machine.notify("notifications/x", out),
            Operation::Begin => machine.begin(*now, out),
            Operation::Send(bytes) => self.wire.send(out, self.framing, bytes),
            Operation::Wait(milliseconds) => *now = *now + Duration::from_millis(milliseconds),
            Operation::Settle => self.settle(),
            Operation::End(0) => machine.disconnected(Cause::EndOfInput, *now),
            Operation::End(1) => machine.disconnected(Cause::WriteFailed, *now),
            Operation::End(2) => machine.close(),
            Operation::End(3) => machine.shut_down(Duration::from_secs(5), *now),
            Operation::End(_) => {}
        }
    }

    fn receive(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(self.chunk_bytes) {
            assert_eq!(self.inbox.feed(chunk), chunk.len());
            while let Some(frame) = self.inbox.next() {
                if let Some(event) = self.machine.receive(frame, self.now, &mut self.out) {
                    self.oracle.note(&M::meaning(&event), &event);
                }
            }
        }
    }

    fn call(&mut self, method: &str, text: usize, idle: Option<u64>, progress: bool) {
        let params = serde_json::json!({"text": "y".repeat(text)});
        let mut options = CallOptions::new();
        if progress {
            options = options.progress();
        }
        if let Some(idle) = idle {
            options = options.idle(Timeout::After(Duration::from_millis(idle)));
        }
        let made = self.machine.call(method, &params, options, self.now, &mut self.out);
        if let Ok(call) = made {
            self.oracle.calls.push(call);
            assert!(self.oracle.pending.insert(call));
        }
    }

    fn respond(&mut self, index: prop::sample::Index, text: usize) {
        let Some(request) = pick(&self.oracle.requests, index) else { return };
        let result = serde_json::json!({"text": "z".repeat(text)});
        let is_open = self.oracle.open.contains(&request);
        match self.machine.respond(request, &result, &mut self.out) {
            Ok(()) => assert!(self.oracle.open.remove(&request), "answered twice"),
            Err(RespondError::Encode(_)) => assert!(is_open),
            // Together with another one of the same id; the event is still to come.
            Err(RespondError::Cancelled) => {}
            Err(error) => assert!(!is_open || self.machine.phase() == Phase::Closed, "{error:?}"),
        }
    }

    /// Something that panics in the middle changes nothing.
    fn panic_in(&mut self, act: impl FnOnce(&mut M, Instant, &mut Outbox) -> bool) {
        let before = (self.machine.clone(), self.out.clone());
        let (machine, now, out) = (&mut self.machine, self.now, &mut self.out);
        let acted = catch_unwind(AssertUnwindSafe(|| act(machine, now, out)));
        assert!(!matches!(acted, Ok(true)));
        assert!(before == (self.machine.clone(), self.out.clone()));
    }

    fn settle(&mut self) {
        while let Some(event) = self.machine.handle_timeout(self.now, &mut self.out) {
            self.oracle.note(&M::meaning(&event), &event);
        }
        let due = self.machine.poll_timeout();
        assert!(due.is_none_or(|due| self.now < due), "all that was due is done");
        assert!(!self.oracle.closed || due.is_none());
    }
}

fn pick<T: Copy>(things: &[T], index: prop::sample::Index) -> Option<T> {
    (!things.is_empty()).then(|| *index.get(things))
}

/// What has to be true.
#[derive(Default)]
struct Oracle {
    calls: Vec<CallId>,
    pending: BTreeSet<CallId>,
    requests: Vec<InboundId>,
    open: BTreeSet<InboundId>,
    closed: bool,
}

impl Oracle {
    fn note(&mut self, meaning: &Meaning, event: &impl Debug) {
        assert!(!self.closed, "after the end: {event:?}");
        match meaning {
            Meaning::Request(id) => {
                self.requests.push(*id);
                assert!(self.open.insert(*id), "{event:?}");
            }
            Meaning::RequestEnded(id) => assert!(self.open.remove(id), "{event:?}"),
            Meaning::CallEnded(call, _) => assert!(self.pending.remove(call), "{event:?}"),
            Meaning::Closed => {
                self.closed = true;
                assert!(self.open.is_empty() && self.pending.is_empty());
            }
            Meaning::Other => {}
        }
    }
}

/// What has left the outbox.
#[derive(Default)]
struct Wire {
    bytes: Vec<u8>,
    messages: Vec<Vec<u8>>,
}

impl Wire {
    fn send(&mut self, out: &mut Outbox, framing: Framing, bytes: usize) {
        if framing == Framing::Lines {
            let count = out.len().min(bytes);
            self.bytes.extend(&out.unsent()[..count]);
            out.sent(count);
        } else {
            self.messages.extend(out.messages().take(bytes).map(<[u8]>::to_vec));
        }
    }

    /// Whole messages, each of them JSON-RPC.
    fn check(self, framing: Framing) {
        let lines = self.bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec);
        for message in lines.chain(self.messages) {
            assert_eq!(message.ends_with(b"\n"), framing == Framing::Lines);
            let value: serde_json::Value = serde_json::from_slice(&message).expect("JSON");
            // A batch is answered by an array.
            let batch = value.as_array().cloned().unwrap_or_else(|| vec![value]);
            for message in batch {
                assert!(message["jsonrpc"] == "2.0", "{message}");
            }
        }
    }
}

fn framing() -> impl Strategy<Value = Framing> {
    prop_oneof![Just(Framing::Lines), Just(Framing::Messages)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    /// Promises 1, 2, 3 and 6, whatever happens in whatever order. Pain 17.
    #[test]
    fn a_client_keeps_its_promises(
        connection in connection(),
        framing in framing(),
        operations in prop::collection::vec(operation(), 0..60),
    ) {
        World::<Client>::new(connection, framing).run(operations);
    }

    /// The same for a server.
    #[test]
    fn a_server_keeps_its_promises(
        connection in connection(),
        framing in framing(),
        operations in prop::collection::vec(operation(), 0..60),
    ) {
        World::<Server>::new(connection, framing).run(operations);
    }
}
