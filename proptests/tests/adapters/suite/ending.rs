//! How connections end.

use std::io::{BufRead, Read};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use mcp_sansio::{CallOptions, Cause, Phase};
use mcp_sansio_driver::{CallFailure, ConnectionOptions, SharedTasks};
use serde_json::json;

use crate::suite::kit::{A_LONG_TIME, Peer, World, client_config, server_config, start, text_of};
use crate::suite::pipes::{Blocks, pipes};
use crate::suite::runtimes::Adapter;
use crate::suite::script::{Answers, Script};

/// Pain 14: the end of the input causes a draining event, and responses are still sent.
pub(crate) fn handlers_may_finish_when_the_input_ends<A: Adapter>() {
    let (adapter, (ours, theirs)) = (A::new(), pipes(64));
    let (script, log) = Script::new();
    let options = ConnectionOptions::new().handlers(1);
    let served = adapter.serve_with(server_config(), options, theirs, script.clone());
    let mut peer = Peer::new(ours);
    peer.initialize();
    peer.call(1, "gate", "");
    peer.call(2, "note", "it has been asked for");
    assert_eq!(log.next(), "at the gate");
    peer.writer = Blocks(piper::pipe(1).1);
    assert_eq!(log.next(), "draining");
    script.open_gate(1);
    let answers = peer.rest();
    assert_eq!((answers[0]["id"].as_u64(), answers[1]["id"].as_u64()), (Some(1), Some(2)));
    assert_eq!(answers.len(), 2);
    served.recv_timeout(A_LONG_TIME).unwrap().unwrap();
    drop(script);
    assert_eq!(log.rest(), ["note it has been asked for", "closed: the peer ended the connection"]);
}

/// Error responses at the end of the connection are not lost to a peer that reads late.
pub(crate) fn refusals_do_not_wait_for_the_end<A: Adapter>() {
    let (adapter, (ours, theirs)) = (A::new(), pipes(64));
    let (script, log) = Script::new();
    let mut config = server_config();
    config.connection.limits.outbox_bytes = 200;
    let served = adapter.serve_with(config, ConnectionOptions::new(), theirs, script);
    let mut peer = Peer::new(ours);
    peer.initialize();
    (1..31).for_each(|id| peer.call(id, "forget", ""));
    peer.writer = Blocks(piper::pipe(1).1);
    // The peer has not read anything yet, and every request has its response.
    assert_eq!(
        (log.next(), log.next().as_str()),
        ("draining".into(), "closed: the peer ended the connection")
    );
    let answers = peer.rest();
    assert_eq!(answers.len(), 30);
    assert!(answers.iter().all(|answer| answer["error"]["code"] == -32603));
    served.recv_timeout(A_LONG_TIME).unwrap().unwrap();
}

/// Pain 14: a deadline cancels the handlers, and stuck handlers cannot delay it. Their requests get error responses
/// before the end.
pub(crate) fn a_stuck_handler_finds_out<A: Adapter>() {
    let (adapter, (ours, theirs)) = (A::new(), pipes(64));
    let (script, log) = Script::new();
    let mut config = server_config();
    // Long enough for the event about it, which another thread delivers, to come first on a busy computer.
    config.connection.timeouts.drain = Duration::from_millis(500);
    let served = adapter.serve_with(config, ConnectionOptions::new(), theirs, script);
    let mut peer = Peer::new(ours);
    peer.initialize();
    for (id, tool) in [(1, "stuck"), (2, "wait")] {
        peer.call(id, tool, "");
        assert_eq!(log.next(), if tool == "wait" { "waiting" } else { tool });
    }
    peer.writer = Blocks(piper::pipe(1).1);
    assert_eq!(log.next(), "draining");
    let error = json!({ "code": -32603, "message": "the connection is shutting down" });
    let refused = |id: u32| json!({ "jsonrpc": "2.0", "id": id, "error": error });
    assert_eq!(peer.rest(), [refused(1), refused(2)]);
    served.recv_timeout(A_LONG_TIME).unwrap().unwrap();
    let mut reported = [log.next(), log.next(), log.next()];
    reported.sort_unstable();
    let late = "too late: the connection has ended";
    assert_eq!(reported, ["cancelled", "closed: the deadline for shutting down passed", late]);
}

/// Pains 12 and 86.
pub(crate) fn a_server_that_dies_ends_every_call<A: Adapter>() {
    let (adapter, (ours, theirs)) = (A::new(), pipes(4096));
    let server = thread::spawn(move || {
        let mut peer = Peer::new(theirs);
        peer.accept();
        (0..3).for_each(|_| _ = peer.receive());
    });
    let (answers, log) = Answers::with_log();
    let options = ConnectionOptions::new();
    let connection = adapter.connect_with(client_config(), options, ours, answers).unwrap();
    let calls: Vec<_> = (0..3).map(|_| start(&connection, "any", "", CallOptions::new())).collect();
    for call in calls {
        let failure = call.wait().unwrap_err();
        assert!(matches!(failure, CallFailure::Closed(_)), "{failure}");
    }
    assert_eq!(connection.handle().phase(), Phase::Closed, "at once");
    assert!(log.next().starts_with("closed: "));
    connection.handle().ended().wait();
    let late = start(&connection, "any", "", CallOptions::new()).wait();
    assert!(matches!(late, Err(CallFailure::CallError(_))));
    server.join().unwrap();
    drop(connection);
    assert_eq!(log.rest(), [""; 0], "it has ended once");
}

/// Pain 13: a failed write ends the waiting calls while the peer is still running.
pub(crate) fn a_server_that_closes_its_input_ends_every_call<A: Adapter>() {
    let (adapter, (ours, theirs)) = (A::new(), pipes(64));
    let (sender, accepted) = channel();
    thread::spawn(move || {
        let mut peer = Peer::new(theirs);
        peer.accept();
        sender.send(peer).unwrap();
    });
    let options = ConnectionOptions::new();
    let connection = adapter.connect_with(client_config(), options, ours, Answers::default());
    let connection = connection.unwrap();
    let Peer { mut lines, writer } = accepted.recv_timeout(A_LONG_TIME).unwrap();
    let waiting = start(&connection, "wait", &"x".repeat(1000), CallOptions::new());
    // Some of the bytes have been sent.
    assert!(!lines.fill_buf().unwrap().is_empty());
    drop(lines);
    assert_eq!(waiting.wait().unwrap_err(), CallFailure::Closed(Cause::WriteFailed));
    assert_eq!(connection.handle().phase(), Phase::Closed);
    connection.close(Duration::ZERO).wait().unwrap();
    drop(writer);
}

/// Pains 1 and 88: the server waits for a client that never reads no longer than the drain timeout.
pub(crate) fn the_drain_timeout_ends_a_peer_that_stops_reading<A: Adapter>() {
    let (adapter, (ours, theirs)) = (A::new(), pipes(64));
    let (script, log) = Script::new();
    let mut config = server_config();
    config.connection.timeouts.drain = Duration::from_millis(50);
    let served = adapter.serve_with(config, ConnectionOptions::new(), theirs, script);
    let mut peer = Peer::new(ours);
    peer.initialize();
    peer.call(1, "large", "");
    assert_eq!(log.next(), "answered");
    peer.writer = Blocks(piper::pipe(1).1);
    let ended = served.recv_timeout(A_LONG_TIME).unwrap().unwrap_err();
    assert_eq!(ended.kind(), std::io::ErrorKind::TimedOut);
    assert_eq!(ended.to_string(), "the peer stopped reading before everything was written");
    drop(peer);
}

/// The connection waits for a peer as long as the peer keeps reading, however slowly.
pub(crate) fn a_peer_that_reads_steadily_is_waited_for<A: Adapter>() {
    let (adapter, (ours, theirs)) = (A::new(), pipes(1024));
    let (script, log) = Script::new();
    let mut config = server_config();
    config.connection.timeouts.drain = Duration::from_millis(200);
    let served = adapter.serve_with(config, ConnectionOptions::new(), theirs, script);
    let mut peer = Peer::new(ours);
    peer.initialize();
    peer.call(1, "large", "");
    assert_eq!(log.next(), "answered");
    peer.writer = Blocks(piper::pipe(1).1);
    let (mut answer, mut chunk) = (Vec::new(), [0; 1024]);
    loop {
        // At this rate, reading 200 kB takes four times as long as a pause may last.
        thread::sleep(Duration::from_millis(4));
        match peer.lines.read(&mut chunk).unwrap() {
            0 => break,
            bytes => answer.extend_from_slice(&chunk[..bytes]),
        }
    }
    served.recv_timeout(A_LONG_TIME).unwrap().unwrap();
    assert!(200_000 < answer.len() && answer.ends_with(b"}\n"), "{}", answer.len());
}

/// Pain 85.
pub(crate) fn closing_again_and_again_is_closing_once<A: Adapter>() {
    let (adapter, (ours, theirs)) = (A::new(), pipes(4096));
    let (script, log) = Script::new();
    let options = ConnectionOptions::new();
    let served = adapter.serve_with(server_config(), options.clone(), theirs, script);
    let (answers, received) = Answers::with_log();
    let connection = adapter.connect_with(client_config(), options, ours, answers).unwrap();
    let handle = connection.handle().clone();
    for grace in [A_LONG_TIME, Duration::ZERO, Duration::ZERO] {
        handle.shut_down(grace);
    }
    connection.close(Duration::ZERO).wait().unwrap();
    handle.shut_down(A_LONG_TIME);
    handle.ended().wait();
    handle.ended().wait();
    drop(handle);
    served.recv_timeout(A_LONG_TIME).unwrap().unwrap();
    let closed =
        |lines: Vec<String>| lines.iter().filter(|line| line.starts_with("closed")).count();
    assert_eq!((closed(received.rest()), closed(log.rest())), (1, 1));
}

/// An ended connection releases everything, and its handle makes no calls.
pub(crate) fn nothing_is_left_of_a_connection<A: Adapter>() {
    let (adapter, (ours, theirs)) = (A::new(), pipes(4096));
    let (script, log) = Script::new();
    let options = ConnectionOptions::new().tasks(SharedTasks::default());
    let served = adapter.serve_with(server_config(), options, theirs, script);
    let (answers, received) = Answers::with_log();
    let options = ConnectionOptions::new();
    let connection = adapter.connect_with(client_config(), options, ours, answers).unwrap();
    let old = connection.handle().clone();
    assert_eq!(text_of(&start(&connection, "echo", "x", CallOptions::new()).wait().unwrap()), "x");
    connection.close(Duration::ZERO).wait().unwrap();
    served.recv_timeout(A_LONG_TIME).unwrap().unwrap();
    // The handlers and their logs are dropped although a handle still exists.
    assert!(received.rest().iter().any(|line| line.starts_with("closed")));
    assert!(log.rest().iter().any(|line| line.starts_with("closed")));
    let late = old.call_method("ping", &(), CallOptions::new()).wait();
    assert!(matches!(late, Err(CallFailure::CallError(_))));
    assert_eq!(old.counts().outbound, 0);
    // Another connection is unaffected.
    let world = World::<A>::new();
    drop(old);
    assert_eq!(world.call("echo", "y").unwrap(), "y");
    world.end();
}

/// Pain 84: on any thread, in any order, without a runtime.
pub(crate) fn everything_can_be_dropped_by_anybody<A: Adapter>() {
    for order in 0..6 {
        let mut config = server_config();
        config.connection.timeouts.drain = Duration::from_millis(20);
        let options = ConnectionOptions::new();
        let world = World::<A>::with(4096, config, client_config(), options);
        let call = world.start("wait", "");
        assert_eq!(world.log.next(), "waiting");
        let World { adapter, connection, served, log, script } = world;
        drop(script);
        let handle = connection.handle().clone();
        match order {
            0 => drop((adapter, connection, call, handle)),
            1 => drop((connection, adapter, call, handle)),
            2 => drop((call, connection, handle, adapter)),
            3 => drop((handle, call, adapter, connection)),
            4 => {
                drop(connection);
                assert!(call.wait().is_err());
                assert_eq!(handle.phase(), Phase::Closed);
            }
            _ => {
                let closing = connection.close(A_LONG_TIME);
                drop((closing, adapter));
                assert!(call.wait().is_err());
            }
        }
        // The remaining parts end. Without a runtime, no handler can log it.
        let reported = log.rest();
        assert!(order != 4 || reported.iter().any(|line| line == "cancelled"), "{reported:?}");
        drop(served);
    }
}
