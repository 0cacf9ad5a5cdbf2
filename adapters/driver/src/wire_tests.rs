//! Tests of the limits of a connection's output.

use std::io::{self, ErrorKind, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex as StdMutex};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use mcp_sansio::error::NotifyError;
use mcp_sansio::model::ListChanged;
use mcp_sansio::schema::EncodeError;
use mcp_sansio::subscription::Delivery;
use mcp_sansio::{Cause, Inbox, RevisionSet, Server, ServerConfig, ServerEvent};

use crate::clock::Clock;
use crate::events::EventDelivery;
use crate::extensions::Attachment;
use crate::handle::Handle;
use crate::machine::Machine;
use crate::options::ConnectionOptions;
use crate::run::{Job, Run};
use crate::wakers::WakerSlot;
use crate::wire::Wire;

/// A runner that drops its jobs.
struct Nothing;

impl<M: Machine> Run<M> for Nothing {
    fn begin(&self, _: &Handle<M>) {}

    fn run(&self, _: Job<M>) {}
}

/// A server in a session, whose outbox has room for this number of bytes and is congested at 100 bytes.
fn in_session(outbox_bytes: usize) -> Arc<Wire<Server>> {
    let mut config = ServerConfig::new("server", "1");
    config.revisions = RevisionSet::LEGACY;
    config.capabilities.tools = Some(ListChanged::default());
    let limits = &mut config.connection.limits;
    (limits.outbox_bytes, limits.congestion_bytes) = (outbox_bytes, 100);
    let wire = Wire::server(config, &ConnectionOptions::new(), Clock::new(), Nothing);
    let initialize = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
    let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    for message in [initialize, initialized] {
        wire.with(|server, out, now| drop(server.receive(message, now, out)));
        sent(&wire);
    }
    wire
}

/// Writes everything, and releases the room of it.
fn sent(wire: &Arc<Wire<Server>>) {
    wire.act(|state| state.out.sent(usize::MAX));
}

/// Notifies the client with a text of this number of bytes.
fn notify(wire: &Arc<Wire<Server>>, bytes: usize) -> Result<Delivery, NotifyError> {
    let text = "x".repeat(bytes);
    let params = serde_json::json!({"text": text});
    wire.with(|server, out, _| server.notify_method("x/y", &params, None, out))
}

/// A response beyond the limit of the outbox raises that limit only while the response is in the outbox.
#[test]
fn a_long_response_raises_the_limit_for_a_while() {
    let wire = in_session(1_000);
    let full = Err(NotifyError::Encode(EncodeError::Full));
    assert_eq!(notify(&wire, 2_000), full);
    let params = serde_json::json!({"text": "x".repeat(5_000)});
    let answered = wire.answer(|server, _, out| server.notify_method("x/y", &params, None, out));
    assert_eq!(answered, Ok(Delivery::Sent));
    sent(&wire);
    assert_eq!(notify(&wire, 2_000), full);
    assert_eq!(notify(&wire, 500), Ok(Delivery::Sent));
}

/// A wait for room ends when the peer has read, and at the end of the connection.
#[test]
fn a_wait_for_room_ends_with_the_connection() {
    let wire = in_session(10_000);
    let context = Context::from_waker(Waker::noop());
    let has_room = || wire.poll_room(&mut WakerSlot::default(), &context).is_ready();
    assert!(has_room());
    assert_eq!(notify(&wire, 500), Ok(Delivery::Sent));
    assert!(!has_room());
    sent(&wire);
    assert!(has_room());
    assert_eq!(notify(&wire, 500), Ok(Delivery::Sent));
    assert!(!has_room());
    wire.disconnected(Cause::WriteFailed);
    assert!(has_room());
}

/// A value of the application, which asks the connection when it is dropped.
struct Asks(Handle<Server>, Sender<usize>);

impl Attachment for Asks {}

impl Drop for Asks {
    fn drop(&mut self) {
        _ = self.1.send(self.0.counts().inbound);
    }
}

/// The values of a request that will not be served are dropped when the lock is free.
#[test]
fn values_of_requests_are_dropped_without_the_lock() {
    for is_cancelled in [true, false] {
        let (sender, dropped) = channel();
        // On a thread, because a lock that is taken twice never returns.
        std::thread::spawn(move || {
            let wire = in_session(10_000);
            let call = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t"}}"#;
            let id = wire.with(|server, out, now| match server.receive(call, now, out) {
                Some(ServerEvent::Request(request)) => request.id,
                other => panic!("{other:?}"),
            });
            let permit = Arc::new(Asks(wire.handle(), sender));
            wire.lock().requests.wait_for_input(id, Some(permit));
            if is_cancelled {
                let mut inbox = Inbox::new(&wire.limits);
                let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#;
                assert_eq!(inbox.feed(format!("{cancel}\n").as_bytes()), cancel.len() + 1);
                let context = Context::from_waker(Waker::noop());
                assert!(wire.poll_take(&mut inbox, &context).is_ready());
            } else {
                wire.disconnected(Cause::WriteFailed);
            }
        });
        assert_eq!(dropped.recv_timeout(Duration::from_secs(60)), Ok(0), "{is_cancelled}");
    }
}

/// A runner that counts its jobs.
struct Counts(Sender<()>);

impl Run<Server> for Counts {
    fn begin(&self, _: &Handle<Server>) {}

    fn run(&self, _: Job<Server>) {
        _ = self.0.send(());
    }
}

/// A waker that panics.
struct Panics;

impl Wake for Panics {
    fn wake(self: Arc<Self>) {
        panic!("a waker of the application");
    }
}

/// A panic in code of the application does not keep the jobs of the connection from their runner.
#[test]
fn jobs_are_dispatched_after_a_panic() {
    let (sender, ran) = channel();
    let config = ServerConfig::new("server", "1");
    let wire = Wire::server(config, &ConnectionOptions::new(), Clock::new(), Counts(sender));
    let push = |waker: Option<Waker>| {
        let mut state = wire.lock();
        state.jobs.push(Job::Deliver(EventDelivery::new(&wire)));
        state.after.wake(waker);
        catch_unwind(AssertUnwindSafe(|| wire.release(state))).is_err()
    };
    assert!(push(Some(Waker::from(Arc::new(Panics)))));
    assert_eq!(ran.try_iter().count(), 1);
    assert!(!push(None));
    assert_eq!(ran.try_iter().count(), 1);
}

/// A stream that takes this number of bytes, and then no more.
#[derive(Clone, Default)]
struct Stream(Arc<StdMutex<(usize, Vec<u8>)>>);

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let (room, written) = &mut *self.0.lock().unwrap();
        let taken = bytes.len().min(*room);
        if taken == 0 {
            return Err(ErrorKind::WouldBlock.into());
        }
        *room -= taken;
        written.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Stream {
    fn written(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().1.clone()).unwrap()
    }
}

/// Pings a server.
fn ping(wire: &Arc<Wire<Server>>) {
    let ping = r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#;
    wire.with(|server, out, now| drop(server.receive(ping, now, out)));
}

const PONG: &str = "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n";

/// Output is written directly while the thread that writes waits for it, and else by that thread.
#[test]
fn output_is_written_directly_beside_a_thread_that_waits() {
    let (wire, stream) = (in_session(10_000), Stream::default());
    wire.write_directly(stream.clone());
    let waits = |chunk: &mut Vec<u8>| {
        wire.poll_chunk(&Context::from_waker(Waker::noop()), chunk).is_pending()
    };
    let mut chunk = Vec::new();
    // The thread is still busy.
    stream.0.lock().unwrap().0 = usize::MAX;
    ping(&wire);
    assert_eq!(stream.written(), "");
    assert!(!waits(&mut chunk));
    assert_eq!(str::from_utf8(&chunk), Ok(PONG));
    wire.wrote();
    assert!(waits(&mut chunk));
    ping(&wire);
    assert_eq!(stream.written(), PONG);
    assert!(waits(&mut chunk), "nothing is left");
    // The stream takes a part, and then nothing.
    stream.0.lock().unwrap().0 = 10;
    ping(&wire);
    assert_eq!(stream.written(), [PONG, &PONG[..10]].concat());
    assert!(!waits(&mut chunk));
    assert_eq!(str::from_utf8(&chunk), Ok(&PONG[10..]));
    assert!(waits(&mut chunk));
    ping(&wire);
    assert!(!waits(&mut chunk));
    assert_eq!(str::from_utf8(&chunk), Ok(PONG));
    // The end of the connection is left to the thread.
    assert!(waits(&mut chunk));
    stream.0.lock().unwrap().0 = usize::MAX;
    wire.with(|server, out, now| {
        drop(server.receive(r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#, now, out));
        server.disconnected(Cause::EndOfInput, now);
    });
    assert_eq!(stream.written(), [PONG, &PONG[..10]].concat());
    assert!(!waits(&mut chunk));
    assert_eq!(str::from_utf8(&chunk), Ok(PONG));
}

/// A direct write is a write: a client that ends the connection later has had its chance to read.
#[test]
fn a_direct_write_counts_as_one() {
    let (wire, stream) = (in_session(10_000), Stream::default());
    stream.0.lock().unwrap().0 = usize::MAX;
    wire.write_directly(stream);
    let context = Context::from_waker(Waker::noop());
    assert!(wire.poll_chunk(&context, &mut Vec::new()).is_pending());
    assert!(!wire.has_written());
    ping(&wire);
    assert!(wire.has_written());
    // The end of the thread is that of the stream.
    wire.end_direct_writes();
    ping(&wire);
    assert!(wire.poll_chunk(&context, &mut Vec::new()).is_ready());
}

/// If a refusal waits for room, the output is left to the thread, which settles the connection after its write.
#[test]
fn nothing_is_written_directly_while_something_waits_for_room() {
    let (wire, stream) = (in_session(300), Stream::default());
    stream.0.lock().unwrap().0 = usize::MAX;
    wire.write_directly(stream.clone());
    let (context, mut chunk) = (Context::from_waker(Waker::noop()), Vec::new());
    assert!(wire.poll_chunk(&context, &mut chunk).is_pending());
    wire.act(|state| {
        let request = r#"{"jsonrpc":"2.0","id":3,"method":"tools/list"}"#;
        let now = state.now;
        let event = state.machine.receive(request, now, &mut state.out);
        let Some(ServerEvent::Request(request)) = event else { panic!("{event:?}") };
        state.unanswered.push((request.id, "no answer".into()));
        let params = serde_json::json!({"text": "x".repeat(200)});
        _ = state.machine.notify_method("x/y", &params, None, &mut state.out).unwrap();
    });
    assert_eq!(stream.written(), "");
    assert!(wire.poll_chunk(&context, &mut chunk).is_ready());
    assert!(chunk.starts_with(br#"{"jsonrpc":"2.0","method":"x/y""#));
    wire.wrote();
    assert!(wire.poll_chunk(&context, &mut chunk).is_ready());
    assert!(chunk.starts_with(br#"{"jsonrpc":"2.0","id":3,"error""#));
}

/// A runner whose deliveries are handled by hand.
#[derive(Clone, Default)]
struct Deliveries(Arc<StdMutex<Vec<EventDelivery<Server>>>>);

impl Run<Server> for Deliveries {
    fn begin(&self, _: &Handle<Server>) {}

    fn run(&self, job: Job) {
        if let Job::Deliver(delivery) = job {
            self.0.lock().unwrap().push(delivery);
        }
    }
}

impl Deliveries {
    fn take(&self) -> Option<EventDelivery<Server>> {
        self.0.lock().unwrap().pop()
    }
}

/// The runner of a connection that has ended is kept until no delivery is left: another one follows for the events that
/// the handler has not seen, also if it has panicked.
#[test]
fn the_end_of_a_connection_is_delivered_after_the_event_in_progress() {
    let (runner, config) = (Deliveries::default(), ServerConfig::new("server", "1"));
    let wire = Wire::server(config, &ConnectionOptions::new(), Clock::new(), runner.clone());
    wire.act(|state| {
        let initialize = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
        let opened = state.machine.receive(initialize, state.now, &mut state.out);
        state.events.push(opened.unwrap().into_owned(), 1);
    });
    let mut delivery = runner.take().unwrap();
    assert!(matches!(delivery.next(), Some(ServerEvent::Opened(_))));
    wire.abandon();
    assert!(runner.take().is_none(), "one delivery at a time");
    drop(delivery);
    let mut delivery = runner.take().expect("another delivery");
    assert!(matches!(delivery.next(), Some(ServerEvent::Closed { .. })));
    assert_eq!(delivery.next(), None);
    drop(delivery);
    assert!(runner.take().is_none());
}

/// A stream in non-blocking mode that takes nothing. It reports when it is dropped.
struct Full(Sender<()>);

impl Write for Full {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(ErrorKind::WouldBlock.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Full {
    fn drop(&mut self) {
        _ = self.0.send(());
    }
}

/// The thread that writes ends with the connection, also if its stream never has room.
#[test]
fn a_writer_does_not_wait_for_room_after_the_end() {
    let (wire, (sender, dropped)) = (in_session(10_000), channel());
    assert_eq!(notify(&wire, 500), Ok(Delivery::Sent));
    wire.write_on_thread(Full(sender)).unwrap();
    wire.abandon();
    assert_eq!(dropped.recv_timeout(Duration::from_secs(60)), Ok(()));
}
