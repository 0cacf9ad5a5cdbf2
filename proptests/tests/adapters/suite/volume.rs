//! Large amounts of data.

use std::thread;

use mcp_sansio_driver::ConnectionOptions;
use serde_json::json;

use crate::suite::kit::{A_LONG_TIME, Peer, World, client_config, server_config, text_of};
use crate::suite::pipes::{Blocks, End, pipes};
use crate::suite::runtimes::Adapter;
use crate::suite::script::Script;

/// The megabytes to transfer, both directions together, unless `MEGABYTES` sets another number.
const MEGABYTES: usize = 2;

/// Pain 4: both sides write large messages through pipes of 64 bytes, and send requests to each other meanwhile.
pub(crate) fn large_messages_through_narrow_pipes<A: Adapter>() {
    let megabytes = std::env::var("MEGABYTES").ok().and_then(|text| text.parse().ok());
    let bytes = megabytes.unwrap_or(MEGABYTES) << 20;
    let options = ConnectionOptions::new();
    let world = World::<A>::with(64, server_config(), client_config(), options);
    // An echo crosses the pipe twice; the input of the tool crosses it four times.
    let size = (bytes / 12).min(8 << 20);
    let mut left = bytes;
    while size <= left {
        let text = "x".repeat(size);
        let asked = (4 * size <= left).then(|| world.start("ask", &text));
        let echoed = world.start("echo", &text);
        left = left.saturating_sub(if asked.is_some() { 6 * size } else { 2 * size });
        assert_eq!(text_of(&echoed.wait().unwrap()), text);
        if let Some(asked) = asked {
            assert!(text_of(&asked.wait().unwrap()).contains(&text));
        }
    }
    world.end();
}

/// The number of calls to write at once, unless `PIPED_CALLS` sets another number.
const PIPED_CALLS: u32 = 5_000;

/// A client writes far more calls than the connection has room for, cancels some of them and closes its end before it
/// reads anything, as in `server < file`. Every other call gets its response, in order.
pub(crate) fn everything_that_was_written_at_once_is_answered<A: Adapter>() {
    let calls = std::env::var("PIPED_CALLS").ok().and_then(|text| text.parse().ok());
    let calls: u32 = calls.unwrap_or(PIPED_CALLS);
    let (adapter, (ours, theirs)) = (A::new(), pipes(4096));
    let (script, log) = Script::new();
    let mut config = server_config();
    // Room for about 200 calls.
    config.connection.limits.connection_bytes = 50_000;
    config.connection.limits.frame_bytes = 1_000;
    let options = ConnectionOptions::new().handlers(1);
    let served = adapter.serve_with(config, options, theirs, script.clone());
    let mut peer = Peer::new(ours);
    peer.initialize();
    // While this call is served, the others wait.
    peer.call(0, "gate", "");
    assert_eq!(log.next(), "at the gate");
    for id in 1..=100 {
        peer.call(id, "echo", "x");
        if id % 10 == 0 {
            peer.cancel(id);
        }
    }
    peer.send(&json!({"jsonrpc": "2.0", "id": "ping", "method": "ping"}));
    assert_eq!(peer.receive()["id"], "ping", "pings do not wait behind calls");
    let Peer { lines, writer } = peer;
    let writing = thread::spawn(move || {
        let mut peer = Peer::new(End { reader: piper::pipe(1).0, writer: writer.0 });
        (101..=calls).for_each(|id| peer.call(id, "echo", "x"));
    });
    script.open_gate(1);
    let mut peer = Peer { lines, writer: Blocks(piper::pipe(1).1) };
    let expected = (0..=calls).filter(|id| *id == 0 || 100 < *id || id % 10 != 0);
    for id in expected {
        let answer = peer.receive();
        assert_eq!((answer["id"].as_u64(), answer["error"].is_null()), (Some(id.into()), true));
    }
    assert_eq!(peer.rest(), [json!(null); 0]);
    writing.join().unwrap();
    served.recv_timeout(A_LONG_TIME).unwrap().unwrap();
    drop(script);
    assert_eq!(log.rest().last().unwrap(), "closed: the peer ended the connection");
}

/// A handler that does not return occupies nearly all the room. Smaller requests are served beside it; larger ones
/// are refused after a moment. When it has returned there is room again.
pub(crate) fn room_that_a_slow_handler_takes_is_not_waited_for<A: Adapter>() {
    let (adapter, (ours, theirs)) = (A::new(), pipes(4096));
    let (script, log) = Script::new();
    let mut config = server_config();
    config.connection.limits.connection_bytes = 3_000;
    let served = adapter.serve_with(config, ConnectionOptions::new(), theirs, script.clone());
    let mut peer = Peer::new(ours);
    peer.initialize();
    peer.call(1, "gate", &"x".repeat(1_000));
    assert_eq!(log.next(), "at the gate");
    peer.call(2, "echo", &"x".repeat(500));
    peer.call(3, "echo", "small");
    assert!(log.next().starts_with("violation: too many bytes"));
    let refused = peer.receive();
    assert_eq!(
        (refused["id"].as_u64(), refused["error"]["code"].as_i64()),
        (Some(2), Some(-32603))
    );
    assert_eq!(peer.receive()["id"], 3);
    script.open_gate(1);
    assert_eq!(peer.receive()["id"], 1);
    peer.call(4, "echo", &"x".repeat(500));
    assert_eq!(peer.receive()["result"]["content"][0]["text"], "x".repeat(500));
    drop(peer);
    served.recv_timeout(A_LONG_TIME).unwrap().unwrap();
}
