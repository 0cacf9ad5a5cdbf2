//! Retained state: its lifetime and its limits.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use futures_lite::AsyncRead;
use mcp_sansio::task::TasksConfig;
use mcp_sansio::{CallOptions, Phase};
use mcp_sansio_driver::{ConnectionOptions, Exchange, SharedTasks};
use serde_json::json;

use crate::suite::kit::{A_LONG_TIME, Peer, accepting, client_config, server_config, start};
use crate::suite::pipes::{Blocks, End, pipes};
use crate::suite::runtimes::{Adapter, Blocking, Smol};
use crate::suite::script::{Answers, Script};

/// A reader that counts its reads.
struct Counted<R>(R, Arc<AtomicUsize>);

impl<R: AsyncRead + Unpin> AsyncRead for Counted<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        self.1.fetch_add(1, Ordering::SeqCst);
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

/// After the end, a connection whose server continues to write only reads that output.
#[test]
fn nothing_spins_after_the_end() {
    let (ours, theirs) = pipes(4096);
    let accepting = accepting(theirs);
    let reads = Arc::new(AtomicUsize::new(0));
    let spawn = |work: mcp_sansio_async_std::Work| smol::spawn(work).detach();
    let (reader, answers) = (Counted(ours.reader, Arc::clone(&reads)), Answers::default());
    let connecting =
        mcp_sansio_async_std::connect(client_config(), reader, ours.writer, answers, spawn);
    let connection = smol::block_on(connecting).unwrap();
    let mut peer = accepting.join().unwrap();
    connection.handle().shut_down(Duration::ZERO);
    connection.handle().ended().wait();
    let before = reads.load(Ordering::SeqCst);
    peer.write(b"one more line\n");
    while reads.load(Ordering::SeqCst) == before {
        thread::yield_now();
    }
    // Long enough for a thousand iterations of a busy loop.
    thread::sleep(Duration::from_millis(100));
    let reads = reads.load(Ordering::SeqCst) - before;
    assert!(reads < 10, "it has read {reads} times");
    drop((peer, connection));
}

struct Nothing;

impl Wake for Nothing {
    fn wake(self: Arc<Self>) {}
}

/// A dropped wait leaves nothing behind, however often it happens.
#[test]
fn waits_that_are_dropped_leave_nothing() {
    fn leaves_nothing(what: &str, wait: impl Future<Output = ()>) {
        let task = Arc::new(Nothing);
        let kept = Arc::downgrade(&task);
        let waker = Waker::from(task);
        {
            let mut wait = std::pin::pin!(wait);
            let mut context = Context::from_waker(&waker);
            assert!(wait.as_mut().poll(&mut context).is_pending(), "{what}");
            assert!(wait.as_mut().poll(&mut context).is_pending(), "{what}");
            assert_eq!(kept.strong_count(), 2, "{what} keeps one, once");
        }
        drop(waker);
        assert_eq!(kept.strong_count(), 0, "{what}");
    }
    let mut config = client_config();
    config.connection.limits.congestion_bytes = 1;
    let options = ConnectionOptions::new();
    let (ours, theirs) = pipes(64);
    let accepting = accepting(theirs);
    let connection = Blocking.connect_with(config, options, ours, Answers::default()).unwrap();
    let peer = accepting.join().unwrap();
    let call = start(&connection, "any", &"x".repeat(200_000), CallOptions::new());
    let handle = connection.handle();
    leaves_nothing("the end", handle.ended());
    leaves_nothing("room", handle.room());
    drop((call, peer));
    let (sender, exchanges) = channel::<Exchange>();
    let sender = Mutex::new(sender);
    let (ours, theirs) = pipes(4096);
    let keep = move |exchange: &Exchange| {
        sender.lock().unwrap().send(exchange.clone()).unwrap();
        Ok(())
    };
    thread::spawn(move || {
        let (reader, writer) = (Blocks(theirs.reader), Blocks(theirs.writer));
        mcp_sansio_std::serve(server_config(), reader, writer, keep)
    });
    let mut peer = Peer::new(ours);
    peer.initialize();
    peer.call(1, "any", "");
    let exchange = exchanges.recv_timeout(A_LONG_TIME).unwrap();
    leaves_nothing("a cancellation", exchange.cancelled());
    drop((peer, exchange, connection));
}

/// Pain 88: a server that reads very slowly cannot delay closing without limit.
#[test]
fn closing_has_a_bound() {
    close_with_a_slow_peer::<Blocking>();
    close_with_a_slow_peer::<Smol>();
}

fn close_with_a_slow_peer<A: Adapter>() {
    let (ours, theirs) = pipes(64);
    let accepting = accepting(theirs);
    let options = ConnectionOptions::new();
    let connection = A::new().connect_with(client_config(), options, ours, Answers::default());
    let connection = connection.unwrap();
    let mut peer = accepting.join().unwrap();
    let reading = thread::spawn(move || {
        let mut bytes = 0;
        while io::Read::read(peer.lines.get_mut(), &mut [0; 1]).is_ok_and(|byte| byte != 0) {
            thread::sleep(Duration::from_millis(20));
            bytes += 1;
        }
        bytes
    });
    let text = json!({"text": "x".repeat(100_000)});
    connection.handle().notify_method("x/much", &text).unwrap();
    connection.close(Duration::ZERO).wait().unwrap();
    // At most the bytes in flight: closing does not wait for the rest.
    assert!(reading.join().unwrap() < 5_000);
}

/// Requests about tasks count towards the same limit as others while the peer does not read, and are served when it
/// reads.
#[test]
fn requests_about_tasks_have_a_bound() {
    let mut config = server_config();
    config.capabilities = config.capabilities.with_tasks();
    config.connection.limits.outbox_bytes = 10_000;
    config.connection.limits.frame_bytes = 10_000;
    config.connection.limits.connection_bytes = 300_000;
    let (ours, theirs) = pipes(4096);
    let (script, log) = Script::new();
    let options = ConnectionOptions::new().tasks(SharedTasks::new(TasksConfig::default()));
    let served = Blocking.serve_with(config, options, theirs, script);
    let mut peer = Peer::new(ours);
    let client = json!({"name": "peer", "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    peer.send(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}));
    peer.receive();
    peer.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    peer.call(1, "large", "");
    assert_eq!(log.next(), "answered");
    let Peer { lines, writer } = peer;
    let written = Arc::new(AtomicUsize::new(0));
    let writing = thread::spawn({
        let written = Arc::clone(&written);
        move || {
            let mut peer = Peer::new(End { reader: piper::pipe(1).0, writer: writer.0 });
            let params = json!({"taskId": "x".repeat(8000)});
            for id in 2..52 {
                peer.send(
                    &json!({"jsonrpc": "2.0", "id": id, "method": "tasks/get", "params": params}),
                );
                written.fetch_add(1, Ordering::SeqCst);
            }
            peer
        }
    });
    // The large response takes 200 kB, so there is room for a few requests until the peer reads it.
    let mut peer = Peer { lines, writer: Blocks(piper::pipe(1).1) };
    while written.load(Ordering::SeqCst) == 0 {
        thread::yield_now();
    }
    assert!(written.load(Ordering::SeqCst) < 20);
    let answers: Vec<_> = (0..51).map(|_| peer.receive()).collect();
    let code = |code: i64| answers.iter().filter(|answer| answer["error"]["code"] == code).count();
    assert_eq!((code(-32602), code(-32603)), (50, 0));
    drop((peer, writing.join().unwrap()));
    served.recv_timeout(A_LONG_TIME).unwrap().unwrap();
}

/// The notifications of handlers are bounded, also while the connection drains.
#[test]
fn handler_notifications_are_bounded_while_draining() {
    const LIMIT: usize = 100_000;
    let mut config = server_config();
    config.connection.limits.outbox_bytes = LIMIT;
    let (ours, theirs) = pipes(64);
    let (sender, reported) = channel();
    let sender = Mutex::new(sender);
    let talk = move |exchange: &Exchange| {
        let params = json!({"level": "error", "data": "x".repeat(1000)});
        let say = || {
            let method = "notifications/message";
            (0..10_000)
                .take_while(|_| exchange.handle().notify_method(method, &params).is_ok())
                .count()
        };
        let before = say();
        sender.lock().unwrap().send(before).unwrap();
        while exchange.handle().phase() != Phase::Draining {
            thread::yield_now();
        }
        sender.lock().unwrap().send(say()).unwrap();
        exchange.respond(&mcp_sansio::model::CallToolResult::text("done"))
    };
    let served = thread::spawn(move || {
        let (reader, writer) = (Blocks(theirs.reader), Blocks(theirs.writer));
        mcp_sansio_std::serve(config, reader, writer, talk)
    });
    let mut peer = Peer::new(ours);
    peer.initialize();
    peer.call(1, "any", "");
    let before = reported.recv_timeout(A_LONG_TIME).unwrap();
    assert!(before < 3 * LIMIT / 1000, "{before}");
    peer.writer = Blocks(piper::pipe(1).1);
    let after = reported.recv_timeout(A_LONG_TIME).unwrap();
    assert!(after < 3 * LIMIT / 1000, "{after}");
    assert_eq!(peer.rest().last().unwrap()["id"], 1, "the answer arrives all the same");
    served.join().unwrap().unwrap();
}

/// Unread progress is kept up to a limit, and the latest update is always kept.
#[test]
fn progress_has_a_bound() {
    let (ours, theirs) = pipes(1 << 16);
    let server = thread::spawn(move || {
        let mut peer = Peer::new(theirs);
        peer.accept();
        let call = peer.receive();
        let token = &call["params"]["_meta"]["progressToken"];
        for (from, size) in [(0, 300_000), (10, 1)] {
            for progress in from..from + 10 {
                let message = "x".repeat(size);
                let params =
                    json!({"progressToken": token, "progress": progress, "message": message});
                let method = "notifications/progress";
                peer.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
            }
        }
        peer.send(&json!({"jsonrpc": "2.0", "id": call["id"], "result": {"content": []}}));
        peer
    });
    let options = ConnectionOptions::new();
    let connection = Blocking.connect_with(client_config(), options, ours, Answers::default());
    let connection = connection.unwrap();
    let mut call = start(&connection, "any", "", CallOptions::new().progress());
    let peer = server.join().unwrap();
    // All updates have arrived when the call has ended.
    while connection.handle().counts().outbound != 0 {
        thread::yield_now();
    }
    let mut steps = Vec::new();
    smol::block_on(async {
        while let Some(step) = call.progress().next().await {
            steps.push(step.progress.as_f64() as u32);
        }
    });
    let expected: Vec<_> = [0, 1, 9].into_iter().chain(10..20).collect();
    assert_eq!(steps, expected);
    assert!(call.wait().is_ok());
    drop(peer);
}

/// Waiting requests are refused when the runtime of the running one ends.
#[test]
fn a_runtime_that_goes_while_requests_wait() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let (ours, theirs) = pipes(1 << 20);
    let (script, log) = Script::new();
    let handle = runtime.handle().clone();
    let serving = thread::spawn(move || {
        let options = ConnectionOptions::new().handlers(1);
        let spawn = move |work| drop(handle.spawn(work));
        smol::block_on(mcp_sansio_async_std::serve_with(
            server_config(),
            &options,
            theirs.reader,
            theirs.writer,
            script,
            spawn,
        ))
    });
    let mut peer = Peer::new(ours);
    peer.initialize();
    for id in 0..1000 {
        peer.call(id, "stuck", "");
    }
    assert_eq!(log.next(), "stuck");
    peer.send(&json!({"jsonrpc": "2.0", "id": "ping", "method": "ping"}));
    assert_eq!(peer.receive()["id"], "ping");
    runtime.shutdown_background();
    for _ in 0..1000 {
        assert_eq!(peer.receive()["error"]["code"], -32603);
    }
    drop(peer);
    serving.join().unwrap().unwrap();
}
