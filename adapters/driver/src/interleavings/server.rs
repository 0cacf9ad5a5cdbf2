//! Responses, cancellations, panics and the end of a server's connection, in every order.

use std::future::ready;
use std::io;
use std::sync::Arc;

use mcp_sansio::model::CallToolResult;
use mcp_sansio::subscription::Delivery;
use mcp_sansio::{ClientRequest, Phase, RespondError};
use shuttle::future::JoinHandle;
use shuttle::sync::Mutex;
use shuttle::sync::mpsc::{Sender, channel};
use shuttle::thread::spawn;

use super::explore;
use super::kit::{
    Lines, Written, call, call_of, cancel, config, panic_silently, read, server, session,
};
use crate::asynchronous::{Spawn, Spawner, Work};
use crate::block::block_on;
use crate::{Clock, ConnectionOptions, Exchange, Wire};

const INTERNAL_ERROR: Option<i64> = Some(-32603);

fn answer(exchange: &Exchange) -> Result<(), RespondError> {
    exchange.respond(&CallToolResult::text("done"))
}

fn is_call_of(exchange: &Exchange, tool: &str) -> bool {
    matches!(&exchange.request().kind, ClientRequest::CallTool(call) if call.name == tool)
}

/// Asserts that nothing is left of an ended connection.
fn assert_over(wire: &Arc<Wire<mcp_sansio::Server>>) {
    wire.wait().unwrap();
    let state = wire.lock();
    assert_eq!(state.machine.phase(), Phase::Closed);
    assert!(!state.requests.has_waiting());
    assert!(state.unanswered.is_empty() && state.events.is_idle());
    assert_eq!(state.machine.in_flight().counts().inbound, 0);
}

/// The handler learns whether its response was sent, and the wire agrees.
#[test]
fn a_response_and_a_cancellation() {
    explore(|| {
        let (sender, results) = channel();
        let sender = Mutex::new(sender);
        let wire = server(config(), &ConnectionOptions::new(), move |exchange| {
            let result = answer(exchange);
            sender.lock().unwrap().send(result).unwrap();
        });
        let written = Written::of(&wire);
        read(&wire, vec![call(1), cancel(1)], true).join().unwrap();
        assert_over(&wire);
        // The handler's thread ends after the connection.
        drop(wire);
        let results: Vec<_> = results.iter().collect();
        let expected: Vec<_> = match results.as_slice() {
            // It was cancelled before the handler started.
            [] | [Err(RespondError::Cancelled)] => Vec::new(),
            [Ok(())] => vec![(1, None)],
            other => panic!("{other:?}"),
        };
        assert_eq!(written.responses(), expected);
    });
}

/// A handler that waits for its cancellation is woken, whichever comes first.
#[test]
fn a_handler_learns_of_its_cancellation() {
    explore(|| {
        let wire = server(config(), &ConnectionOptions::new(), |exchange| {
            block_on(exchange.cancelled());
            assert_eq!(answer(exchange), Err(RespondError::Cancelled));
        });
        let written = Written::of(&wire);
        read(&wire, vec![call(1), cancel(1)], true).join().unwrap();
        assert_over(&wire);
        assert_eq!(written.responses(), []);
    });
}

/// A stream to the client of [`Written`] that takes seven bytes of every second write, and otherwise none.
struct Direct(Written, bool);

impl io::Write for Direct {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.1 = !self.1;
        if self.1 { self.0.write(&bytes[..7]) } else { Err(io::ErrorKind::WouldBlock.into()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Serves three calls, with a stream for direct writes.
fn serve_with(direct: impl FnOnce(&Arc<Wire<mcp_sansio::Server>>, Written)) {
    let wire = server(config(), &ConnectionOptions::new(), |exchange| {
        _ = answer(exchange);
    });
    let written = Written::of(&wire);
    direct(&wire, written.clone());
    read(&wire, vec![call(1), call(2), call(3)], true).join().unwrap();
    assert_over(&wire);
    assert_eq!(written.responses(), [(1, None), (2, None), (3, None)]);
}

/// Each response is written once, directly or by the thread that writes.
#[test]
fn output_is_written_directly_or_by_a_thread() {
    explore(|| serve_with(|wire, written| wire.write_directly(written)));
}

/// The thread writes the rest of a response of which a part was written directly.
#[test]
fn a_thread_writes_the_rest() {
    explore(|| serve_with(|wire, written| wire.write_directly(Direct(written, false))));
}

/// Two clones of an exchange are dropped on two threads: one refusal.
#[test]
fn the_last_clone_refuses() {
    explore(|| {
        let wire = server(config(), &ConnectionOptions::new(), |exchange| {
            let clone = exchange.clone();
            spawn(move || drop(clone));
        });
        let written = Written::of(&wire);
        read(&wire, vec![call(1)], true).join().unwrap();
        assert_over(&wire);
        assert_eq!(written.responses(), [(1, INTERNAL_ERROR)]);
    });
}

/// Two threads respond to the same request: one response.
#[test]
fn two_threads_respond() {
    explore(|| {
        let (sender, results) = channel();
        let sender = Mutex::new(sender);
        let wire = server(config(), &ConnectionOptions::new(), move |exchange| {
            let clone = exchange.clone();
            let other = spawn(move || answer(&clone).is_ok());
            let own = answer(exchange).is_ok();
            sender.lock().unwrap().send([own, other.join().unwrap()]).unwrap();
        });
        let written = Written::of(&wire);
        read(&wire, vec![call(1)], true).join().unwrap();
        assert_over(&wire);
        assert_eq!(written.responses(), [(1, None)]);
        let sent = results.recv().unwrap();
        assert!(sent[0] != sent[1], "{sent:?}");
    });
}

/// A handler panics while its request is cancelled, and another one responds.
#[test]
fn a_panic_and_a_cancellation() {
    explore(|| {
        let wire = server(config(), &ConnectionOptions::new(), |exchange| {
            if is_call_of(exchange, "panic") {
                panic_silently();
            }
            answer(exchange).unwrap();
        });
        let written = Written::of(&wire);
        read(&wire, vec![call_of("panic", 1), call(2), cancel(1)], true).join().unwrap();
        assert_over(&wire);
        match written.responses().as_slice() {
            [(2, None)] | [(1, INTERNAL_ERROR), (2, None)] => {}
            other => panic!("{other:?}"),
        }
    });
}

/// The connection is abandoned by one thread and shut down by another while handlers respond.
#[test]
fn the_end_comes_from_two_sides() {
    explore(|| {
        let wire = server(config(), &ConnectionOptions::new(), |exchange| _ = answer(exchange));
        let written = Written::of(&wire);
        let reads = read(&wire, vec![call(1), call(2)], false);
        let closes = {
            let handle = wire.handle();
            spawn(move || handle.shut_down(std::time::Duration::from_secs(1)))
        };
        reads.join().unwrap();
        wire.abandon();
        closes.join().unwrap();
        wire.wait().unwrap();
        let responses = written.responses();
        let mut ids: Vec<_> = responses.iter().map(|(id, _)| *id).collect();
        ids.dedup();
        assert_eq!(ids.len(), responses.len(), "one response for each: {responses:?}");
    });
}

/// The machine has room for one request at a time: the reader waits for each handler, and loses no wake-up.
#[test]
fn the_reader_waits_for_room() {
    explore(|| {
        let mut config = config();
        config.connection.limits.inbound_requests = 1;
        let wire =
            server(config, &ConnectionOptions::new().handlers(1), |exchange| _ = answer(exchange));
        let written = Written::of(&wire);
        let calls = (1..=3).map(call).collect();
        read(&wire, calls, true).join().unwrap();
        assert_over(&wire);
        assert_eq!(written.responses(), [(1, None), (2, None), (3, None)]);
    });
}

/// A thread that waits for room in the outbox is woken when the writer has taken bytes.
#[test]
fn a_caller_waits_for_room() {
    explore(|| {
        let mut config = config();
        let limits = &mut config.connection.limits;
        (limits.outbox_bytes, limits.congestion_bytes) = (1_024, 512);
        let wire = server(config, &ConnectionOptions::new(), |_| {});
        let (handle, written) = (wire.handle(), Written::of(&wire));
        read(&wire, session(), false).join().unwrap();
        let notifies = spawn(move || {
            let mut sent = 0;
            while sent < 8 {
                handle.room().wait();
                let params = serde_json::json!({ "text": "x".repeat(150) });
                let sent_one = handle.notify_method("notifications/x", &params);
                sent += u32::from(sent_one == Ok(Delivery::Sent));
            }
        });
        notifies.join().unwrap();
        read(&wire, Vec::new(), true).join().unwrap();
        assert_over(&wire);
        assert_eq!(written.messages().len(), 9, "also the response to `initialize`");
    });
}

/// Handlers as tasks of a runtime with several threads: a job that is pushed while a worker becomes idle is run, and
/// the workers end with the connection.
#[test]
fn workers_run_every_job() {
    explore(|| {
        let serve = |exchange: Exchange| async move { answer(&exchange) };
        let (sender, workers) = channel();
        let sender = Mutex::new(sender);
        let spawn_task = move |work: Work| {
            sender.lock().unwrap().send(shuttle::future::spawn(work)).unwrap();
        };
        let runner = Spawner::new(serve, spawn_task);
        let wire = Wire::server(config(), &ConnectionOptions::new(), Clock::new(), runner);
        let written = Written::of(&wire);
        let first = read(&wire, vec![call(1), call(2)], false);
        let second = read(&wire, vec![call(3), cancel(3)], false);
        first.join().unwrap();
        second.join().unwrap();
        read(&wire, Vec::new(), true).join().unwrap();
        assert_over(&wire);
        drop(wire);
        workers.iter().for_each(|worker| _ = shuttle::future::block_on(worker));
        match written.responses().as_slice() {
            [(1, None), (2, None)] | [(1, None), (2, None), (3, None)] => {}
            other => panic!("{other:?}"),
        }
    });
}

/// A spawner of a runtime with one thread. It keeps the handles of its tasks.
struct OneThread(Mutex<Sender<JoinHandle<()>>>);

impl Spawn for OneThread {
    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.0.lock().unwrap().send(shuttle::future::spawn(work)).unwrap();
    }

    fn is_parallel(&self) -> bool {
        false
    }
}

/// One task reads, runs handlers and writes. The responses come from it or from another thread, at any moment of its turn.
#[test]
fn one_task_for_streams_and_handlers() {
    explore(|| {
        let (sender, threads) = channel();
        let sender = Mutex::new(sender);
        let serve = move |exchange: Exchange| {
            let result = if is_call_of(&exchange, "later") {
                let thread = spawn(move || answer(&exchange));
                sender.lock().unwrap().send(thread).unwrap();
                Ok(())
            } else {
                answer(&exchange)
            };
            ready(result)
        };
        let (sender, workers) = channel();
        let spawner = Spawner::new(serve, OneThread(Mutex::new(sender)));
        let worker = spawner.inline_worker();
        let wire = Wire::server(config(), &ConnectionOptions::new(), Clock::new(), spawner);
        let written = Written::default();
        let lines = [call_of("later", 1), call(2), call_of("later", 3)];
        let lines = Lines::new(lines, written.clone());
        let streams = wire.streams(Some(lines), Some(written.clone())).with_worker(worker);
        block_on(streams);
        assert_over(&wire);
        drop(wire);
        // Shuttle drops a task that runs at the end of the test, also one that holds a lock.
        threads.iter().for_each(|thread| thread.join().unwrap().unwrap());
        workers.iter().for_each(|worker| shuttle::future::block_on(worker).unwrap());
        assert_eq!(written.responses(), [(1, None), (2, None), (3, None)]);
    });
}
