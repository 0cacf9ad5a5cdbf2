//! A hundred thousand of each item. The tests measure no time: a cost proportional to the number of items in flight
//! would make them take minutes.

use std::time::Duration;

use mcp_sansio::call::Cancellation;
use mcp_sansio::config::DuplicateIds;
use mcp_sansio::{CallOptions, Cause, ClientEvent, Outcome, Revision, ServerEvent};
use mcp_sansio_proptests::{ClientSide, ServerSide, config};

const MANY: u32 = 100_000;

fn client() -> ClientSide {
    let mut config = config::client();
    config.connection.limits.outbound_calls = 2 * MANY;
    ClientSide::ready_with(config, Revision::V2025_11_25)
}

fn unsent(events: &[ClientEvent<'_>]) -> usize {
    let is_unsent = |event: &&ClientEvent<'_>| matches!(event, ClientEvent::CallEnded(ended) if ended.outcome == Outcome::NotSent);
    events.iter().filter(is_unsent).count()
}

/// A peer that stopped reading in the middle of a long message, with many calls behind it.
#[test]
fn many_calls_end_with_the_connection() {
    let mut side = client();
    let params = serde_json::json!({"text": "x".repeat(15 << 20)});
    let options = CallOptions::new();
    side.client.call_method("x", &params, options, side.now, &mut side.out).unwrap();
    side.out.sent(10);
    for _ in 0..MANY {
        side.call("x");
    }
    side.client.disconnected(Cause::WriteFailed, side.now);
    let events = side.outcomes();
    assert_eq!((events.len(), unsent(&events)), (MANY as usize + 2, MANY as usize));
}

/// Unsent calls between notifications, all of which time out at the same moment.
#[test]
fn many_calls_time_out_at_once() {
    let mut side = client();
    let note = serde_json::json!({"text": "0123456789"});
    for _ in 0..MANY {
        side.client.notify_method("x/note", &note, None, &mut side.out).unwrap();
        side.call("x");
    }
    side.now = side.now + Duration::from_secs(61);
    assert_eq!(side.outcomes().len(), MANY as usize);
    assert_eq!(side.sent().len(), MANY as usize, "the notifications, and no cancellation");
}

/// Withdraws calls between two notifications, so that neither the first nor the last call is at an end of the outbox.
#[test]
fn many_calls_are_taken_back_one_by_one() {
    let params = serde_json::json!({"text": "x".repeat(120)});
    for backwards in [false, true] {
        let mut side = client();
        side.client.notify_method("x/first", &(), None, &mut side.out).unwrap();
        let mut call = || {
            let options = CallOptions::new();
            side.client.call_method("x", &params, options, side.now, &mut side.out).unwrap()
        };
        let mut calls: Vec<_> = (0..MANY).map(|_| call()).collect();
        side.client.notify_method("x/last", &(), None, &mut side.out).unwrap();
        if backwards {
            calls.reverse();
        }
        for call in calls {
            let cancelled = side.client.cancel(call, None, &mut side.out);
            assert_eq!(cancelled, Ok(Cancellation::Withdrawn));
        }
        let notifications =
            ["first", "last"].map(|end| format!(r#"{{"jsonrpc":"2.0","method":"x/{end}"}}"#));
        assert_eq!(side.sent(), notifications);
    }
}

#[test]
fn many_calls_make_no_message_dearer() {
    let mut side = client();
    for _ in 0..MANY {
        side.call("x");
    }
    _ = side.sent();
    let fault = r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"x"}}"#;
    for _ in 0..MANY {
        assert!(matches!(side.receive(fault), Some(ClientEvent::UnsolicitedError(_))));
    }
    // The first call after `initialize` has the id 2.
    for id in 2..2 + MANY {
        let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
        assert!(matches!(side.receive(&answer), Some(ClientEvent::CallEnded(_))));
    }
}

/// A client that sends every request with the same id, and cancels it.
#[test]
fn many_requests_with_one_id_are_cancelled() {
    let mut config = config::server();
    config.connection.limits.inbound_requests = MANY;
    config.connection.duplicate_ids = DuplicateIds::Serve;
    let mut side = ServerSide::ready_with(config, Revision::V2025_11_25);
    for _ in 0..MANY {
        side.request(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    }
    let cancelled =
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    assert!(matches!(side.receive(cancelled), Some(ServerEvent::Cancelled(_))));
    assert_eq!(side.outcomes().len(), MANY as usize - 1);
    assert_eq!(side.server.in_flight().counts().inbound, 0);
}
