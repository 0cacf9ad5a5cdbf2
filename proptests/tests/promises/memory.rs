//! The memory of a connection in the worst case, against the formula in the documentation of `Limits`.

use std::time::Duration;

use mcp_sansio::error::ViolationKind;
use mcp_sansio::event::CancelCause;
use mcp_sansio::model::InputRequired;
use mcp_sansio::{
    CallOptions, Cause, ErrorCode, Frames, Framing, Inbox, Limits, Outbox, Phase, RespondError,
    Revision, ServerEvent,
};
use mcp_sansio_proptests::allocations::held;
use mcp_sansio_proptests::memory_formula::MemoryFormula;
use mcp_sansio_proptests::{ClientSide, ServerSide, config};

/// The numbers in the documentation of `Limits`.
#[test]
fn the_memory_formula_gives_the_documented_totals() {
    // The adapters allow 32,768 requests. The last row is an example of the chapter `limits`.
    let cases = [(1_024, 32, 243, 319), (32_768, 32, 296, 372), (32_768, 16, 232, 308)];
    for (inbound_requests, outbox_mib, all, with_batches) in cases {
        let mut limits = Limits::default();
        (limits.inbound_requests, limits.outbox_bytes) = (inbound_requests, outbox_mib << 20);
        let formula = MemoryFormula::new(&limits);
        let bytes = formula.all() - formula.outbound();
        assert_eq!(bytes.div_ceil(1 << 20), all);
        assert_eq!((bytes + formula.batches()).div_ceil(1 << 20), with_batches);
    }
}

#[track_caller]
pub(super) fn within(held: usize, formula: usize, what: &str) {
    assert!(held <= formula, "{what}: {held} bytes, the formula says {formula}");
    println!("{what}: {held} of {formula} bytes");
}

#[test]
fn inbound_requests_stay_within_the_memory_formula() {
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
                        side.server.reject(id, ErrorCode::new(1), "", &mut side.out).unwrap();
                    }
                    _ = side.sent();
                }
            }
            side.out.release();
        });
        within(bytes, MemoryFormula::new(&limits).inbound(), &format!("{requests} requests"));
    }
}

#[test]
fn outbound_calls_stay_within_the_memory_formula() {
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
        within(bytes, MemoryFormula::new(&limits).outbound(), &format!("{calls} calls"));
    }
}

/// An outbox full of the shortest messages, and one full of the remainders of long ones.
#[test]
fn an_outbox_stays_within_the_memory_formula() {
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
    within(bytes, MemoryFormula::new(&limits).outbox(), "an outbox of ping results");

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
    within(bytes, MemoryFormula::new(&limits).outbox(), "an outbox that is sent in parts");
}

#[test]
fn an_inbox_stays_within_the_memory_formula() {
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
    within(bytes, MemoryFormula::new(&limits).inbox(), "an inbox");
}

/// A malformed response is borrowed, not copied.
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

const WORK: &str = r#"{"jsonrpc":"2.0","id":7,"method":"tools/list"}"#;

/// An idle client or server holds nothing on the heap once it has been released: a copy of it takes nothing either.
#[test]
fn a_released_machine_holds_nothing() {
    let mut side = ClientSide::ready(Revision::V2025_11_25);
    for _ in 0..100 {
        let call = side.call("x");
        _ = side.sent();
        side.client.cancel(call, None, &mut side.out).unwrap();
    }
    assert_ne!(held(|| side.client.clone()).1, 0);
    side.client.release();
    let remembered = Limits::default().remembered_calls as usize * 16;
    assert_eq!(held(|| side.client.clone()).1, remembered);

    let mut side = ServerSide::with(config::server_of_both_eras());
    assert!(side.receive(r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#).is_some());
    side.receive(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    for _ in 0..100 {
        let request = side.request(WORK);
        side.server.reject(request, ErrorCode::new(1), "", &mut side.out).unwrap();
    }
    assert_ne!(held(|| side.server.clone()).1, 0);
    side.server.release();
    assert_eq!(held(|| side.server.clone()).1, 0);
}

#[test]
fn handles_from_before_a_release_are_stale() {
    let mut side = ServerSide::ready(Revision::V2025_11_25);
    let reject =
        |side: &mut ServerSide, id| side.server.reject(id, ErrorCode::new(1), "", &mut side.out);
    let old = side.request(WORK);
    side.server.release();
    assert_eq!(reject(&mut side, old), Ok(()), "it was in use");
    assert_eq!(reject(&mut side, old), Err(RespondError::Answered));
    side.server.release();
    assert_eq!(reject(&mut side, old), Err(RespondError::Stale));
    let new = side.request(WORK);
    assert_ne!(old, new);
    assert_eq!(reject(&mut side, old), Err(RespondError::Stale));
    assert_eq!(reject(&mut side, new), Ok(()));

    let mut side = ClientSide::ready(Revision::V2025_11_25);
    let old = side.call("x");
    side.client.release();
    assert!(side.client.in_flight().is_pending(old), "it is in use");
    side.client.cancel(old, None, &mut side.out).unwrap();
    side.client.release();
    let new = side.call("x");
    assert_ne!(old, new);
    assert!(!side.client.in_flight().is_pending(old) && side.client.in_flight().is_pending(new));
    assert!(side.client.cancel(old, None, &mut side.out).is_err());
}

/// The server information, the cache hints and the extensions of a released server come from its configuration, and
/// are rebuilt on demand.
#[test]
fn a_released_server_says_the_same_of_itself() {
    const NAME: &str = "com.example/weather";
    let mut config = config::server_of_both_eras();
    config.cache.tools = mcp_sansio::config::CacheHint::public(7);
    let mut extensions = mcp_sansio::model::Map::default();
    extensions.insert(NAME, mcp_sansio::json::Raw::new("{}").unwrap());
    config.capabilities.extensions = Some(extensions);
    let (mut released, mut kept) = (ServerSide::with(config.clone()), ServerSide::with(config));
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"extensions":{"com.example/weather":{}}}}"#;
    for id in 1..10 {
        let discover = format!(
            r#"{{"jsonrpc":"2.0","id":"d{id}","method":"server/discover","params":{{{meta}}}}}"#
        );
        let list =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list","params":{{{meta}}}}}"#);
        let mut sent = [&mut released, &mut kept].map(|side| {
            let extension = side.server.config().extension(NAME).unwrap();
            assert_eq!(side.receive(&discover), None);
            let request = side.request(&list);
            assert!(
                side.server.in_flight().context(request).unwrap().extensions.contains(extension)
            );
            let tools = serde_json::json!({"tools": []});
            side.server.respond(request, &tools, &mut side.out).unwrap();
            side.sent()
        });
        assert_eq!(sent[0], sent[1]);
        assert!(sent[0].pop().unwrap().contains(r#""name":"server""#));
        released.server.release();
    }
}

#[test]
fn a_server_keeps_no_memory_of_answered_requests() {
    let mut side = ServerSide::ready(Revision::V2025_11_25);
    let round = |side: &mut ServerSide| {
        let event = side.server.receive(
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
            side.now,
            &mut side.out,
        );
        let Some(ServerEvent::Request(request)) = event else { panic!("{event:?}") };
        side.server.reject(request.id, ErrorCode::new(1), "", &mut side.out).unwrap();
        side.out.sent(usize::MAX);
    };
    (0..10).for_each(|_| round(&mut side));
    let ((), bytes) = held(|| (0..10_000).for_each(|_| round(&mut side)));
    assert_eq!(bytes, 0);
}

/// A client keeps a server busy with large messages and reads nothing. A refused request is refused with its own id,
/// accepted requests continue, and their end frees the room.
#[test]
fn bytes_kept_for_a_peer_are_bounded() {
    let mut config = config::server();
    config.connection.limits.connection_bytes = 200_000;
    let mut side = ServerSide::ready_with(config, Revision::V2025_06_18);
    let large = |id: u32| {
        let text = "x".repeat(30_000);
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"x/work","params":{{"a":"{text}"}}}}"#)
    };
    let taken: Vec<_> = (1..4).map(|id| side.request(&large(id))).collect();
    let kept = 3 * 2 * large(1).len();
    assert_eq!(side.server.in_flight().counts().kept_bytes, kept);
    let Some(ServerEvent::Violation(violation)) = side.receive(&large(4)) else {
        panic!("no room")
    };
    assert_eq!((violation.kind, violation.answered), (ViolationKind::TooManyBytes, true));
    let error = r#"{"code":-32603,"message":"too many bytes are kept for this connection (Limits::connection_bytes)"}"#;
    assert_eq!(side.sent(), [format!(r#"{{"jsonrpc":"2.0","id":4,"error":{error}}}"#)]);
    // A small request is served meanwhile.
    let small = side.request(r#"{"jsonrpc":"2.0","id":5,"method":"x/work"}"#);
    side.respond(small, "{}");
    side.respond(taken[0], "{}");
    assert_eq!(side.sent().len(), 2);
    side.request(&large(6));
    assert_eq!(side.server.in_flight().counts().kept_bytes, kept);
    // The unsent bytes of the outbox count as well.
    side.respond(taken[1], &format!(r#"{{"a":"{}"}}"#, "x".repeat(60_000)));
    assert!(matches!(side.receive(&large(7)), Some(ServerEvent::Violation(_))));
    assert_eq!(side.sent().len(), 2);
    side.request(&large(8));
    side.server.disconnected(Cause::EndOfInput, side.now);
    side.now = side.now + Duration::from_secs(60);
    _ = side.outcomes();
    assert_eq!(side.server.in_flight().counts().kept_bytes, 0);
}

/// The input that a client gives, and its subscriptions, count as kept bytes.
#[test]
fn answers_and_subscriptions_count_as_kept() {
    let mut config = config::server();
    config.connection.limits.connection_bytes = 14_000;
    let mut side = ServerSide::ready_with(config, Revision::V2025_06_18);
    let uri = "file:///".to_owned() + &"x".repeat(4_000);
    let subscribe = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{{"uri":"{uri}"}}}}"#
    );
    let id = side.request(&subscribe);
    side.respond(id, "{}");
    assert_eq!(side.server.in_flight().counts().kept_bytes, uri.len() + 64);
    let call = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"n"}}"#;
    let Some(ServerEvent::Request(request)) = side.receive(call) else { panic!("a request") };
    let needed = InputRequired::new().roots("a").roots("b");
    side.server.require_input(&request, &needed, side.now, &mut side.out).unwrap();
    let roots = |id: u32, bytes: usize| {
        let name = "x".repeat(bytes);
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"roots":[{{"uri":"file:///","name":"{name}"}}]}}}}"#
        )
    };
    assert_eq!(side.receive(&roots(1, 5_000)), None, "the other one is waited for");
    assert!(uri.len() + 64 + 5_000 < side.server.in_flight().counts().kept_bytes);
    let Some(ServerEvent::Cancelled(cancelled)) = side.receive(&roots(2, 5_000)) else {
        panic!("there is no room for it, so the request fails");
    };
    assert_eq!(cancelled.cause, CancelCause::InputFailed);
    let unsubscribe = subscribe.replace("resources/subscribe", "resources/unsubscribe");
    let id = side.request(&unsubscribe);
    side.respond(id, "{}");
    assert_eq!(side.server.in_flight().counts().kept_bytes, 0);
}

/// The end of a session releases its subscriptions.
#[test]
fn subscriptions_of_an_ended_session_do_not_count() {
    let mut side = ServerSide::ready_with(config::server(), Revision::V2025_06_18);
    let subscribe =
        r#"{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"file:///a"}}"#;
    let id = side.request(subscribe);
    side.respond(id, "{}");
    assert_eq!(side.server.in_flight().counts().kept_bytes, 9 + 64);
    side.server.close();
    _ = side.outcomes();
    assert_eq!(side.server.in_flight().counts().kept_bytes, 0);
}

/// Responses that wait for the last one of their batch count, and so do batches.
#[test]
fn batches_that_wait_are_bounded() {
    let mut config = config::server();
    config.connection.limits.batches = 2;
    let mut side = ServerSide::ready_with(config, Revision::V2025_03_26);
    let batch = |id: u32| {
        format!(
            r#"[{{"jsonrpc":"2.0","id":{id},"method":"x/work"}},{{"jsonrpc":"2.0","id":"p{id}","method":"ping"}}]"#
        )
    };
    let mut events = Vec::new();
    for id in 1..4 {
        let text = batch(id);
        for frame in Frames::of(text.as_bytes(), &Limits::default()) {
            let event = side.server.receive(frame, side.now, &mut side.out);
            events.extend(event.map(ServerEvent::into_owned));
        }
    }
    let [ServerEvent::Request(first), ServerEvent::Request(_), ServerEvent::Violation(third)] =
        &events[..]
    else {
        panic!("{events:?}");
    };
    assert_eq!((third.kind, third.answered), (ViolationKind::TooManyBatches, true));
    let error = r#"{"code":-32603,"message":"too many batches wait for their last answer (Limits::batches)"}"#;
    let pong = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":"{id}","result":{{}}}}"#);
    let refused = format!(r#"[{{"jsonrpc":"2.0","id":3,"error":{error}}},{}]"#, pong("p3"));
    assert_eq!(side.sent(), [refused]);
    let before = side.server.in_flight().counts().kept_bytes;
    // The response waits, so its id is still in flight.
    let again = side.receive(r#"{"jsonrpc":"2.0","id":"p1","method":"ping"}"#);
    assert!(
        matches!(again, Some(ServerEvent::Violation(v)) if v.kind == ViolationKind::DuplicateRequestId)
    );
    side.respond(first.id, "{}");
    assert_eq!(
        side.sent(),
        [format!(r#"[{},{{"jsonrpc":"2.0","id":1,"result":{{}}}}]"#, pong("p1"))]
    );
    assert!(2 * side.server.in_flight().counts().kept_bytes <= before);
    assert_eq!(side.receive(r#"{"jsonrpc":"2.0","id":"p1","method":"ping"}"#), None);
}
