//! What a connection holds at worst, against the formula in the documentation of `Limits`.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use mcp_sansio::{CallOptions, Framing, Inbox, Limits, Outbox, Phase, Revision, ServerEvent};
use mcp_sansio_proptests::allocations::{Counting, held};
use mcp_sansio_proptests::{ClientSide, ServerSide, config};

#[global_allocator]
static ALLOCATOR: Counting = Counting::new();

/// The formula, part by part.
struct Formula<'l>(&'l Limits);

impl Formula<'_> {
    fn inbox(&self) -> usize {
        2 * self.0.frame_bytes + self.0.chunk_bytes
    }

    fn outbox(&self) -> usize {
        4 * (self.0.outbox_bytes + self.0.reserve_bytes + self.0.held_bytes)
    }

    fn inbound(&self) -> usize {
        2 * self.0.inbound_requests as usize * (self.0.id_bytes + self.0.token_bytes + 360)
    }

    fn outbound(&self) -> usize {
        2 * (self.0.outbound_calls as usize * 420 + self.0.remembered_calls as usize * 16)
    }
}

#[track_caller]
fn within(held: usize, formula: usize, what: &str) {
    assert!(held <= formula, "{what}: {held} bytes, the formula says {formula}");
    println!("{what}: {held} of {formula} bytes");
}

#[test]
fn requests_of_the_peer_take_what_the_formula_says() {
    for (requests, lengths) in [(1024, &[256][..]), (1025, &[256]), (1025, &[255, 256])] {
        let mut config = config::server();
        config.connection.limits.inbound_requests = requests;
        let limits = config.connection.limits.clone();
        let mut side = ServerSide::ready_with(config, Revision::V2025_11_25);
        side.out.release();
        let ((), bytes) = held(|| {
            for length in lengths {
                let mut ids = Vec::new();
                for number in 0..requests {
                    let id = format!("{number:0width$}", width = length - 2);
                    ids.push(side.request(&format!(
                        r#"{{"jsonrpc":"2.0","id":"{id}","method":"tools/list","params":{{"_meta":{{"progressToken":"{id}"}}}}}}"#
                    )));
                }
                if Some(length) != lengths.last() {
                    for id in ids {
                        side.server
                            .reject(id, mcp_sansio::ErrorCode::new(1), "", &mut side.out)
                            .unwrap();
                    }
                    _ = side.sent();
                }
            }
            side.out.release();
        });
        within(bytes, Formula(&limits).inbound(), &format!("{requests} requests"));
    }
}

#[test]
fn calls_take_what_the_formula_says() {
    for calls in [1024, 1025] {
        let mut config = config::client();
        config.connection.limits.outbound_calls = calls;
        let limits = config.connection.limits.clone();
        let mut side = ClientSide::ready_with(config, Revision::V2025_11_25);
        side.out.release();
        let ((), bytes) = held(|| {
            for _ in 0..limits.remembered_calls {
                let call = side.call("x");
                _ = side.sent();
                side.client.cancel(call, None, &mut side.out).unwrap();
            }
            for _ in 0..calls {
                side.call("x");
                _ = side.sent();
            }
            side.out.release();
        });
        within(bytes, Formula(&limits).outbound(), &format!("{calls} calls"));
    }
}

/// Full of the shortest messages there are, and full of what is left of long ones.
#[test]
fn an_outbox_takes_what_the_formula_says() {
    let mut limits = Limits::default();
    limits.outbox_bytes = 1 << 20;
    limits.reserve_bytes = 1 << 10;
    let mut config = config::server();
    config.connection.limits = limits.clone();
    let mut side = ServerSide::ready_with(config, Revision::V2025_11_25);
    side.out.release();
    let ((), bytes) = held(|| {
        while side.server.phase() != Phase::Closed {
            _ = side.receive(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
        }
    });
    within(bytes, Formula(&limits).outbox(), "an outbox of ping results");

    let mut config = config::client();
    config.connection.limits = limits.clone();
    let mut side = ClientSide::ready_with(config, Revision::V2025_11_25);
    let mut out = Outbox::new(Framing::Lines, &limits);
    let params = serde_json::json!({"text": "x".repeat(10_000)});
    let ((), bytes) = held(|| {
        for _ in 0..30 {
            while side.client.notify_method("x", &params, None, &mut out).is_ok() {}
            out.sent(out.len() * 9 / 20);
        }
        while side.client.notify_method("x", &params, None, &mut out).is_ok() {}
    });
    within(bytes, Formula(&limits).outbox(), "an outbox that is sent in parts");
}

#[test]
fn an_inbox_takes_what_the_formula_says() {
    let mut limits = Limits::default();
    limits.frame_bytes = 100_000;
    limits.chunk_bytes = 1_000;
    let mut inbox = Inbox::new(&limits);
    let ((), bytes) = held(|| {
        for _ in 0..300 {
            assert_eq!(inbox.feed(&[b'x'; 1_000]), 1_000);
            assert!(inbox.next().is_none());
        }
    });
    within(bytes, Formula(&limits).inbox(), "an inbox");
}

/// What cannot be read is lent, not copied.
#[test]
fn a_malformed_answer_takes_no_memory() {
    let mut side = ClientSide::ready(Revision::V2025_11_25);
    let options = CallOptions::new();
    side.client.call_method("x", &(), options, side.now, &mut side.out).unwrap();
    let mut frame = br#"{"jsonrpc":"2.0","id":2,"result":{"a":""#.to_vec();
    frame.extend(std::iter::repeat_n(0xff, 1 << 20));
    frame.extend(b"\"}}");
    let (event, bytes) =
        held(|| side.client.receive(&frame[..], side.now, &mut side.out).is_some());
    assert_eq!((event, bytes), (true, 0));
}

#[test]
fn a_server_has_no_idea_of_what_it_has_answered() {
    let mut side = ServerSide::ready(Revision::V2025_11_25);
    let round = |side: &mut ServerSide| {
        let event = side.server.receive(
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
            side.now,
            &mut side.out,
        );
        let Some(ServerEvent::Request(request)) = event else { panic!("{event:?}") };
        side.server.reject(request.id, mcp_sansio::ErrorCode::new(1), "", &mut side.out).unwrap();
        side.out.sent(usize::MAX);
    };
    (0..10).for_each(|_| round(&mut side));
    let ((), bytes) = held(|| (0..10_000).for_each(|_| round(&mut side)));
    assert_eq!(bytes, 0);
}
