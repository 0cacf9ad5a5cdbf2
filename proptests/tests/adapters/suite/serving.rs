//! Cases of the serving side.

use std::io::Write;
use std::time::Duration;

use mcp_sansio::{CallOptions, ErrorCode, ServerConfig};
use mcp_sansio_driver::{CallFailure, ConnectionOptions};
use serde_json::{Value, json};

use crate::suite::kit::{
    A_LONG_TIME, Log, Peer, World, client_config, server_config, start, text_of,
};
use crate::suite::pipes::pipes;
use crate::suite::runtimes::{Adapter, Served};
use crate::suite::script::{Answers, Script};

/// A server, and a peer that writes raw messages.
struct ByHand<A> {
    _adapter: A,
    peer: Peer,
    script: Script,
    log: Log,
    served: Served,
}

impl<A: Adapter> ByHand<A> {
    fn new(bytes: usize, config: ServerConfig, options: ConnectionOptions) -> Self {
        let (adapter, (ours, theirs)) = (A::new(), pipes(bytes));
        let (script, log) = Script::new();
        let served = adapter.serve_with(config, options, theirs, script.clone());
        Self { _adapter: adapter, peer: Peer::new(ours), script, log, served }
    }

    fn session(bytes: usize, config: ServerConfig) -> Self {
        let mut by_hand = Self::new(bytes, config, ConnectionOptions::new());
        by_hand.peer.initialize();
        by_hand
    }

    /// Ends the input, and expects the server to end without an error. Returns its remaining messages and log lines.
    fn end(self) -> (Vec<Value>, Vec<String>) {
        let Self { mut peer, served, script, log, .. } = self;
        drop(script);
        // Closes only the writing half.
        peer.writer = crate::suite::pipes::Blocks(piper::pipe(1).1);
        let rest = peer.rest();
        served.recv_timeout(A_LONG_TIME).unwrap().unwrap();
        (rest, log.rest())
    }
}

fn ids(messages: &[Value]) -> Vec<u64> {
    let mut ids: Vec<_> = messages.iter().filter_map(|message| message["id"].as_u64()).collect();
    ids.sort_unstable();
    ids
}

/// Pains 3 and 7.
pub(crate) fn a_waiting_handler_does_not_delay_other_requests<A: Adapter>() {
    let world = World::<A>::new();
    let waiting = world.start("wait", "");
    assert_eq!(world.log.next(), "waiting");
    assert_eq!(world.call("echo", "meanwhile").unwrap(), "meanwhile");
    world.connection.handle().call_method("ping", &(), CallOptions::new()).wait().unwrap();
    waiting.cancel(Some("enough"));
    assert_eq!(world.log.next(), "cancelled");
    world.end();
}

/// Pain 7: while the client waits for the tool, the tool waits for the client.
pub(crate) fn a_tool_asks_the_client<A: Adapter>() {
    let world = World::<A>::new();
    for question in ["why?", "and why that?"] {
        let answer = world.call("ask", question).unwrap();
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["content"]["text"], question);
    }
    // As many calls at once as handlers may run, each of which waits for a handler of the other side.
    let calls: Vec<_> = (0..64).map(|number| world.start("ask", &number.to_string())).collect();
    for (number, call) in calls.into_iter().enumerate() {
        let answer: Value = serde_json::from_str(&text_of(&call.wait().unwrap())).unwrap();
        assert_eq!(answer["content"]["text"], number.to_string());
    }
    world.end();
}

/// Cancelling a call also cancels the requests that its handler has sent.
pub(crate) fn requests_sent_by_a_cancelled_tool_call_are_cancelled<A: Adapter>() {
    let (adapter, (ours, theirs)) = (A::new(), pipes(4096));
    let (script, _log) = Script::new();
    let options = ConnectionOptions::new();
    let served = adapter.serve_with(server_config(), options.clone(), theirs, script);
    let (answers, received) = Answers::thinking();
    let connection = adapter.connect_with(client_config(), options, ours, answers).unwrap();
    let call = start(&connection, "ask", "why?", CallOptions::new());
    assert_eq!(received.next(), "asked");
    call.cancel(Some("never mind"));
    assert_eq!(received.next(), "dismissed");
    connection.close(A_LONG_TIME).wait().unwrap();
    served.recv_timeout(A_LONG_TIME).unwrap().unwrap();
}

/// Proves M-ERR-17. Pain 15.
pub(crate) fn a_handler_that_panics_or_forgets_is_answered_for<A: Adapter>() {
    let world = World::<A>::new();
    for tool in ["panic", "forget", "panic", "forget"] {
        let Err(CallFailure::PeerError(error)) = world.call(tool, "") else { panic!("{tool}") };
        assert_eq!(error.code, ErrorCode::INTERNAL_ERROR);
        assert_eq!(error.message, "the request was not answered");
    }
    assert_eq!(world.call("echo", "still here").unwrap(), "still here");
    world.end();
}

/// Pain 3: the limit on handlers delays no cancellation, and waiting requests can be cancelled.
pub(crate) fn a_request_that_waits_can_be_cancelled<A: Adapter>() {
    let options = ConnectionOptions::new().handlers(1);
    let world = World::<A>::with(4096, server_config(), client_config(), options);
    let running = world.start("wait", "");
    assert_eq!(world.log.next(), "waiting");
    let waiting = world.start("note", "never");
    let after = world.start("note", "after");
    // The connection itself responds to a ping, so this proves that the calls, and later the cancellation, have
    // arrived.
    let ping = || world.connection.handle().call_method("ping", &(), CallOptions::new()).wait();
    ping().unwrap();
    waiting.cancel(Some("never mind"));
    ping().unwrap();
    assert!(world.log.is_silent());
    running.cancel(Some("enough"));
    assert_eq!(text_of(&after.wait().unwrap()), "noted");
    assert_eq!(world.log.next(), "cancelled");
    assert!(world.log.next().starts_with("too late: "));
    assert_eq!(world.log.next(), "note after");
    assert_eq!(world.script.most_at_once(), 1);
    world.end();
}

/// Pain 2: new work waits until the peer reads; cancellations and responses do not wait.
pub(crate) fn a_peer_that_does_not_read_gets_no_new_work_done<A: Adapter>() {
    let mut config = server_config();
    config.connection.limits.congestion_bytes = 1000;
    let mut by_hand = ByHand::<A>::session(64, config);
    by_hand.peer.call(1, "wait", "");
    assert_eq!(by_hand.log.next(), "waiting");
    by_hand.peer.call(2, "gate", "");
    assert_eq!(by_hand.log.next(), "at the gate");
    by_hand.peer.call(3, "large", "");
    assert_eq!(by_hand.log.next(), "answered");
    by_hand.peer.call(4, "note", "later");
    by_hand.peer.cancel(1);
    assert_eq!(by_hand.log.next(), "cancelled");
    assert!(by_hand.log.next().starts_with("too late: "));
    by_hand.script.open_gate(1);
    assert!(by_hand.log.is_silent(), "nothing new is begun");
    // Now the peer reads.
    let answered: Vec<_> = (0..3).map(|_| by_hand.peer.receive()).collect();
    assert_eq!(ids(&answered), [2, 3, 4]);
    assert_eq!(by_hand.log.next(), "note later");
    by_hand.end();
}

/// The high-water mark stops new work, not responses: they are accepted at once and arrive.
pub(crate) fn answers_are_taken_however_full_it_is<A: Adapter>() {
    let mut config = server_config();
    config.connection.limits.congestion_bytes = 64;
    config.connection.limits.outbox_bytes = 128;
    let mut by_hand = ByHand::<A>::session(64, config);
    for id in 0..20 {
        by_hand.peer.call(id, "gate", "");
        assert_eq!(by_hand.log.next(), "at the gate");
    }
    by_hand.script.open_gate(20);
    for id in 20..30 {
        by_hand.peer.call(id, "forget", "");
    }
    let answered: Vec<_> = (0..30).map(|_| by_hand.peer.receive()).collect();
    assert_eq!(ids(&answered), (0..30).collect::<Vec<_>>());
    let refused = answered.iter().filter(|answer| answer.get("error").is_some()).count();
    assert_eq!(refused, 10);
    assert_eq!(by_hand.end().0, [json!(null); 0]);
}

/// A ping gets its response behind responses that exceed the outbox.
pub(crate) fn pings_have_room_behind_answers<A: Adapter>() {
    let mut config = server_config();
    config.connection.limits.outbox_bytes = 1000;
    config.connection.limits.reserve_bytes = 1000;
    let mut by_hand = ByHand::<A>::session(64, config);
    by_hand.peer.call(1, "large", "");
    assert_eq!(by_hand.log.next(), "answered");
    let ping = |id: u32| json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
    (2..12).for_each(|id| by_hand.peer.send(&ping(id)));
    let answered: Vec<_> = (0..11).map(|_| by_hand.peer.receive()).collect();
    assert_eq!(ids(&answered), (1..12).collect::<Vec<_>>());
    // The remaining room is unchanged afterwards.
    by_hand.peer.send(&ping(12));
    assert_eq!(by_hand.peer.receive()["id"], 12);
    assert_eq!(by_hand.end().0, [json!(null); 0]);
}

/// Pain 2: a peer that sends and never reads does not make the server hold more and more.
pub(crate) fn unread_ping_results_close_the_connection<A: Adapter>() {
    let mut config = server_config();
    config.connection.limits.outbox_bytes = 10_000;
    config.connection.limits.reserve_bytes = 10_000;
    config.connection.timeouts.drain = Duration::from_millis(50);
    let mut by_hand = ByHand::<A>::session(64, config);
    let ping = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
    let mut pings = 0;
    while by_hand.peer.writer.write_all(ping.as_bytes()).is_ok() {
        pings += 1;
        assert!(pings < 1_000_000, "it takes everything");
    }
    assert_eq!(by_hand.log.next(), "closed: the peer does not read its answers");
    let ended = by_hand.served.recv_timeout(A_LONG_TIME).unwrap().unwrap_err();
    assert_eq!(ended.kind(), std::io::ErrorKind::TimedOut);
}

pub(crate) fn malformed_messages_do_not_affect_later_requests<A: Adapter>() {
    let mut config = server_config();
    config.connection.limits.frame_bytes = 1000;
    let mut by_hand = ByHand::<A>::session(64, config);
    let garbage: [&[u8]; 6] = [
        b"hello\n",
        b"\0\xff\xfe{\n",
        b"{\"jsonrpc\":\"2.0\",\"id\":7\n",
        b"[]\n",
        b"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}\n",
        &[b'x'; 5000],
    ];
    for (id, garbage) in (100..).zip(garbage) {
        by_hand.peer.write(garbage);
        by_hand.peer.write(b"\n");
        by_hand.peer.call(id, "echo", "good");
        loop {
            let answer = by_hand.peer.receive();
            if answer["id"] == id {
                assert_eq!(answer["result"]["content"][0]["text"], "good");
                break;
            }
        }
        assert!(by_hand.log.next().starts_with("violation: "), "{id}");
    }
    assert_eq!(by_hand.end().0, [json!(null); 0]);
}

/// `printf '…' | server` gets its responses.
pub(crate) fn the_last_line_needs_no_end<A: Adapter>() {
    let mut by_hand = ByHand::<A>::session(64, server_config());
    by_hand.peer.call(1, "echo", "one");
    let last =
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "echo"}});
    by_hand.peer.write(last.to_string().as_bytes());
    assert_eq!(ids(&by_hand.end().0), [1, 2]);
    let mut by_hand = ByHand::<A>::session(64, server_config());
    by_hand.peer.write(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"meth");
    let (rest, reported) = by_hand.end();
    assert_eq!(rest, [json!(null); 0]);
    let reported: Vec<_> = reported.iter().map(String::as_str).collect();
    let truncated = "violation: the input ended in the middle of a message";
    assert_eq!(reported, [truncated, "draining", "closed: the peer ended the connection"]);
}
