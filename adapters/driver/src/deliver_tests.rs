//! Tests of input without room, with requests that are served by hand and a clock that is set by hand.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::cell::Cell;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant as Monotonic};

use mcp_sansio::config::KeepAlive;
use mcp_sansio::model::{CallToolResult, ListChanged, ResourcesCapability};
use mcp_sansio::{CallOptions, Inbox, Phase, Server, ServerConfig};

use crate::streams::{Incoming, Outgoing};
use crate::{Clock, ConnectionOptions, Exchange, Handle, Job, Run, Wire};

thread_local! {
    /// The time since the start of the test.
    static TIME: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

pub(crate) fn set_by_hand() -> Monotonic {
    static START: OnceLock<Monotonic> = OnceLock::new();
    *START.get_or_init(Monotonic::now) + TIME.get()
}

pub(crate) fn pass(milliseconds: u64) {
    TIME.set(TIME.get() + Duration::from_millis(milliseconds));
}

/// Keeps the requests.
#[derive(Clone, Default)]
pub(crate) struct ByHand(pub(crate) Arc<Mutex<Vec<Option<Exchange>>>>);

impl Run<Server> for ByHand {
    fn begin(&self, _: &Handle<Server>) {}

    fn run(&self, job: Job) {
        if let Job::Serve(exchange) = job {
            self.0.lock().unwrap().push(Some(exchange));
        }
    }
}

#[derive(Default)]
pub(crate) struct Wakes(pub(crate) AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A server in a session of 2025-11-25.
struct Served {
    wire: Arc<Wire<Server>>,
    inbox: Inbox,
    end: Option<io::Result<()>>,
    begun: ByHand,
    /// The wakes of the reader.
    wakes: Arc<Wakes>,
}

/// What a server writes, up to a number of bytes.
struct Stream {
    room: usize,
    written: String,
}

impl Outgoing for Stream {
    fn poll_write(&mut self, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let taken = bytes.len().min(self.room);
        if taken == 0 {
            return Poll::Pending;
        }
        self.room -= taken;
        self.written += str::from_utf8(&bytes[..taken]).unwrap();
        Poll::Ready(Ok(taken))
    }

    fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

fn call_of(id: u32) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"t"}}}}"#)
}

impl Served {
    /// A server with `handlers` handlers at once and room for `requests` requests, whose outbox is congested at 300
    /// bytes.
    fn new(handlers: usize, requests: usize) -> Self {
        Self::with(handlers, requests, None)
    }

    fn with(handlers: usize, requests: usize, keep_alive: Option<KeepAlive>) -> Self {
        let mut config = ServerConfig::new("server", "1");
        config.capabilities.tools = Some(ListChanged::default());
        config.capabilities.resources = Some(ResourcesCapability::notified());
        config.connection.keep_alive = keep_alive;
        let limits = &mut config.connection.limits;
        // Twice the length of a message is counted for it.
        limits.connection_bytes = requests * 2 * call_of(1).len();
        (limits.congestion_bytes, limits.outbox_bytes) = (300, 1_000);
        let inbox = Inbox::new(limits);
        let begun = ByHand::default();
        let mut options = ConnectionOptions::new();
        options.handlers = Some(handlers);
        let clock = Clock::with(set_by_hand);
        let wire = Wire::server(config, &options, clock, begun.clone());
        let mut served = Self { wire, inbox, end: None, begun, wakes: Arc::default() };
        let initialize = r#"{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
        let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        assert!(served.send(initialize) && served.send(initialized));
        served.read(usize::MAX);
        served
    }

    /// Lets the server read until it has to wait. Returns whether it has read everything.
    fn take(&mut self) -> bool {
        let waker = Waker::from(Arc::clone(&self.wakes));
        self.wire.poll_take(&mut self.inbox, &Context::from_waker(&waker)).is_ready()
    }

    fn send(&mut self, message: &str) -> bool {
        let line = message.to_string() + "\n";
        assert_eq!(self.inbox.feed(line.as_bytes()), line.len());
        self.take()
    }

    fn call(&mut self, id: u32) -> bool {
        self.send(&call_of(id))
    }

    /// Ends the input. Returns whether the machine has learned it.
    fn end(&mut self) -> bool {
        let waker = Waker::from(Arc::clone(&self.wakes));
        let end = self.end.get_or_insert(Ok(()));
        let mut end = Some(std::mem::replace(end, Ok(())));
        self.wire.poll_end_of_input(&mut end, &Context::from_waker(&waker)).is_ready()
    }

    /// Lets this number of bytes be read. Returns them.
    fn read(&self, bytes: usize) -> String {
        let mut stream = Stream { room: bytes, written: String::new() };
        let mut context = Context::from_waker(Waker::noop());
        _ = self.wire.poll_write(&mut context, &mut stream);
        stream.written
    }

    fn begun(&self) -> usize {
        self.begun.0.lock().unwrap().len()
    }

    /// Answers the request that began as the given one with a text of `bytes` bytes. Its handler goes on.
    fn answer(&self, which: usize, bytes: usize) {
        let exchange = self.begun.0.lock().unwrap()[which].clone().unwrap();
        exchange.respond(&CallToolResult::text("x".repeat(bytes))).unwrap();
    }

    /// Ends the handler of that request.
    fn finish(&self, which: usize) {
        let exchange = self.begun.0.lock().unwrap()[which].take();
        drop(exchange);
    }

    /// How often the reader was woken since the last call.
    fn wakes(&self) -> usize {
        self.wakes.0.swap(0, Ordering::Relaxed)
    }

    /// Handles the timeouts that are due.
    fn pass(&self, milliseconds: u64) {
        pass(milliseconds);
        _ = self.wire.poll_time(&Context::from_waker(Waker::noop()));
    }
}

/// The input of a connection, chunk by chunk.
#[derive(Clone, Default)]
struct Chunks(Arc<Mutex<Vec<&'static [u8]>>>);

impl Incoming for Chunks {
    fn poll_read(&mut self, _: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut chunks = self.0.lock().unwrap();
        if chunks.is_empty() {
            return Poll::Pending;
        }
        let chunk = chunks.remove(0);
        buffer[..chunk.len()].copy_from_slice(chunk);
        Poll::Ready(Ok(chunk.len()))
    }
}

/// The part of a message is a sign of life: a client that sends a large message slowly is not closed.
#[test]
fn a_part_of_a_message_is_a_sign_of_life() {
    let second = Duration::from_secs(1);
    let mut keep_alive = KeepAlive::every(10 * second);
    (keep_alive.answer_within, keep_alive.close_after) = (5 * second, Some(1));
    let served = Served::with(1, 1, Some(keep_alive));
    let mut context = Context::from_waker(Waker::noop());
    let chunks = Chunks::default();
    let mut streams = pin!(served.wire.streams(Some(chunks.clone()), None::<Stream>));
    let mut read = |chunk: &'static [u8]| {
        chunks.0.lock().unwrap().push(chunk);
        assert!(streams.as_mut().poll(&mut context).is_pending());
    };
    served.pass(9_999);
    read(b"{\"jsonrpc\"");
    served.pass(9_999);
    assert_eq!(served.read(usize::MAX), "");
    served.pass(1);
    assert_eq!(served.read(usize::MAX), "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n");
    served.pass(4_999);
    read(b":");
    served.pass(1);
    assert_eq!(served.wire.phase(), Phase::Ready);
    served.pass(15_000);
    served.pass(5_000);
    assert_eq!(served.wire.phase(), Phase::Closed);
}

/// Without the task of its streams, a connection is not read any more, so it ends.
#[test]
fn a_connection_ends_with_the_task_of_its_streams() {
    let served = Served::new(1, 1);
    let mut streams = Box::pin(served.wire.streams(Some(Chunks::default()), None::<Stream>));
    assert!(streams.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    drop(streams);
    assert_eq!(served.wire.phase(), Phase::Closed);

    let served = Served::new(1, 1);
    let streams = served.wire.streams(Some(Chunks::default()), None::<Stream>);
    let panicking = catch_unwind(AssertUnwindSafe(move || {
        let _streams = streams;
        panic!("as asked");
    }));
    assert!(panicking.is_err());
    assert_eq!(served.wire.phase(), Phase::Closed);
    let failure = served.wire.failure().unwrap_err();
    assert_eq!(failure.to_string(), "the task of the streams panicked");
}

/// Only changes that the client wants wait for room. Those below one subscription wait as one.
#[test]
fn changes_that_the_client_does_not_want_take_no_room() {
    let mut served = Served::new(1, 8);
    for uri in ["a:1", "m:", "z:1"] {
        assert!(served.send(&format!(
            r#"{{"jsonrpc":"2.0","id":"{uri}","method":"resources/subscribe","params":{{"uri":"{uri}"}}}}"#
        )));
        let exchange = served.begun.0.lock().unwrap().pop().unwrap().unwrap();
        exchange.respond(&()).unwrap();
        drop(exchange);
        served.read(usize::MAX);
    }
    let handle = served.wire.handle();
    let updated = |uri: &str| {
        format!(
            "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\",\"params\":{{\"uri\":\"{uri}\"}}}}\n"
        )
    };
    // The outbox is full.
    while handle.resource_updated("a:1").is_ok() {}
    handle.queue_resource_updated("a:1");
    for file in 0..2_000 {
        handle.queue_resource_updated(&format!("b:{file}"));
        handle.queue_resource_updated_below("m:", &format!("m:{file}"));
    }
    handle.queue_resource_updated("z:1");
    let written: String = std::iter::from_fn(|| Some(served.read(usize::MAX)))
        .take_while(|written| !written.is_empty())
        .collect();
    let waited = ["m:", "a:1", "z:1"].map(updated).concat();
    let before = written.strip_suffix(&waited).unwrap_or_else(|| panic!("{written}"));
    assert_eq!(before.replace(&updated("a:1"), ""), "");
}

/// Only requests wait for room. A cancellation makes room, and a response ends a call.
#[test]
fn only_requests_wait_for_room() {
    let mut served = Served::new(2, 2);
    let pending = served.wire.handle().call_method("ping", &(), CallOptions::new());
    assert_eq!(
        served.read(usize::MAX),
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{}}\n"
    );
    assert!(served.call(1) && served.call(2));
    assert_eq!(served.begun(), 2);
    assert!(served.send(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#));
    assert_eq!(served.wire.lock().machine.in_flight().counts().outbound, 0);
    drop(pending);
    assert!(
        served.send(
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#
        )
    );
    assert!(served.call(3), "the cancelled request has made room");
    assert!(!served.call(4));
}

/// A handler may wait for a response that is behind a request without room. So the wait of that request ends, also if
/// other requests wait for a handler.
#[test]
fn a_response_behind_a_request_without_room_is_reached() {
    let mut served = Served::new(1, 2);
    let pending = served.wire.handle().call_method("ping", &(), CallOptions::new());
    served.read(usize::MAX);
    assert!(served.call(1) && served.call(2));
    assert!(!served.call(3));
    assert!(!served.send(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#));
    // A waiting request may get its handler.
    served.pass(1_499);
    assert_eq!((served.wakes(), served.take()), (0, false));
    served.pass(1);
    assert_eq!((served.wakes(), served.take()), (1, true));
    assert_eq!(served.wire.lock().machine.in_flight().counts().outbound, 0);
    drop(pending);
    let refused = r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32603,"#;
    assert!(served.read(usize::MAX).starts_with(refused));
    // Without a call of the server, a request waits as long as others wait for a handler.
    assert!(!served.call(4));
    served.pass(10_000);
    assert_eq!((served.wakes(), served.take()), (0, false));
    served.answer(0, 1);
    assert_eq!((served.wakes(), served.take()), (1, false), "the response is not read");
    served.read(usize::MAX);
    assert_eq!((served.wakes(), served.take()), (1, true));
}

/// A handler may also make its call while the reader waits.
#[test]
fn a_call_begins_the_patience_of_the_reader() {
    let mut served = Served::new(1, 2);
    assert!(served.call(1) && served.call(2));
    assert!(!served.call(3));
    served.pass(10_000);
    assert_eq!((served.wakes(), served.take()), (0, false));
    let pending = served.wire.handle().call_method("ping", &(), CallOptions::new());
    assert_eq!((served.wakes(), served.take()), (1, false));
    // The client has some more time to read.
    served.pass(1_499);
    assert_eq!((served.wakes(), served.take()), (0, false));
    served.read(usize::MAX);
    assert_eq!((served.wakes(), served.take()), (1, false));
    served.pass(1_500);
    assert_eq!((served.wakes(), served.take()), (1, true));
    drop(pending);
}

/// All requests in front of a response are refused after one wait, also while their refusals are written.
#[test]
fn the_requests_in_front_of_a_response_wait_together() {
    let mut served = Served::new(2, 2);
    let pending = served.wire.handle().call_method("ping", &(), CallOptions::new());
    served.read(usize::MAX);
    assert!(served.call(1) && served.call(2));
    assert!((3..8).all(|id| !served.call(id)));
    assert!(!served.send(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#));
    served.pass(250);
    while !served.take() {
        assert!(served.read(usize::MAX).contains("error"));
    }
    assert_eq!(served.wire.lock().machine.in_flight().counts().outbound, 0);
    drop(pending);
}

/// Each wait for room is as long as the first one.
#[test]
fn the_patience_is_that_of_each_wait() {
    let mut served = Served::new(3, 3);
    let pending = served.wire.handle().call_method("ping", &(), CallOptions::new());
    served.read(usize::MAX);
    assert!((1..=3).all(|id| served.call(id)));
    assert!(!served.call(4));
    served.pass(200);
    served.answer(0, 1);
    served.read(usize::MAX);
    assert!(served.take());
    assert!(!served.call(5));
    served.pass(1_499);
    assert!(!served.take());
    served.pass(1);
    assert!(served.take());
    served.read(usize::MAX);
    // Further requests do not wait until a handler returns.
    assert!(served.call(6));
    served.finish(1);
    served.read(usize::MAX);
    assert!(served.call(7) && !served.call(8));
    drop(pending);
}

/// The responses to requests that arrived before the end of the input are bounded if the peer does not read.
#[test]
fn a_peer_that_does_not_read_gets_little_work_done_while_draining() {
    let mut served = Served::new(1, 100);
    assert!((1..=10).all(|id| served.call(id)));
    served.answer(0, 400);
    served.finish(0);
    assert_eq!(served.begun(), 1);
    assert!(!served.end());
    served.pass(375);
    assert!(served.end());
    assert_eq!((served.wire.phase(), served.begun()), (Phase::Draining, 2));
    served.answer(1, 400);
    served.finish(1);
    assert_eq!(served.begun(), 3);
    served.answer(2, 400);
    served.finish(2);
    assert_eq!(served.begun(), 3, "the outbox is full");
    served.read(1_000);
    assert_eq!(served.begun(), 4);
}

/// At the end of the input, requests wait for their handlers as long as the peer goes on reading.
#[test]
fn the_end_of_the_input_waits_for_a_peer_that_reads() {
    let mut served = Served::new(1, 100);
    assert!(served.call(1) && served.call(2));
    served.answer(0, 900);
    served.finish(0);
    assert!(!served.end());
    for _ in 0..3 {
        pass(374);
        assert_eq!(served.read(100).len(), 100);
        pass(1);
        assert!(!served.end());
    }
    served.pass(374);
    assert!(served.end());
    assert_eq!((served.wire.phase(), served.begun()), (Phase::Draining, 2));
}

/// A subscriber of `tracing` may use the connection, for example to send the client a log message.
#[cfg(feature = "tracing")]
#[test]
fn no_subscriber_runs_under_the_lock() {
    use tracing::span::{Attributes, Id, Record};
    use tracing::{Dispatch, Event, Metadata, Subscriber};

    /// Notes for each event whether the lock of the connection is free.
    struct Locks(Arc<Wire<Server>>, Arc<Mutex<Vec<bool>>>);

    impl Subscriber for Locks {
        fn enabled(&self, metadata: &Metadata<'_>) -> bool {
            metadata.target() == "mcp"
        }
        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }
        fn record(&self, _: &Id, _: &Record<'_>) {}
        fn record_follows_from(&self, _: &Id, _: &Id) {}
        fn event(&self, _: &Event<'_>) {
            self.1.lock().unwrap().push(self.0.state.try_lock().is_ok());
        }
        fn enter(&self, _: &Id) {}
        fn exit(&self, _: &Id) {}
    }

    let mut served = Served::new(1, 2);
    let seen = Arc::default();
    // With one subscriber alone, `tracing` asks the default one of the thread that first reaches an event, which may
    // belong to another test.
    let _second = Dispatch::new(Locks(Arc::clone(&served.wire), Arc::default()));
    let subscriber = Locks(Arc::clone(&served.wire), Arc::clone(&seen));
    tracing::subscriber::with_default(subscriber, || {
        let pending = served.wire.handle().call_method("ping", &(), CallOptions::new());
        served.read(usize::MAX);
        // A call ends, an event arrives, and two requests are served, the second one after the first.
        assert!(served.send(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#));
        assert!(served.send(r#"{"jsonrpc":"2.0","method":"x"}"#));
        assert!(served.call(1) && served.call(2));
        served.answer(0, 1);
        served.finish(0);
        drop(pending);
    });
    assert_eq!(*seen.lock().unwrap(), [true; 5]);
}
