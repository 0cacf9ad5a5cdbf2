//! `Connection::release` frees the capacity of buffers, too. A clone of a machine would not show it, so these tests
//! count what the machine itself has allocated.

use mcp_sansio::{
    CallOptions, Client, ClientEvent, Frames, Limits, Outcome, Phase, Revision, RevisionSet,
    Server, ServerEvent,
};
use mcp_sansio_proptests::allocations::held;
use mcp_sansio_proptests::{ClientSide, ServerSide, config};

use super::memory_tables::{ALONE, request, result};

/// Asserts that a machine that has done the work, and is released, has allocated as much as one that has not.
fn holds_nothing_of_its_work<M>(machine: impl Fn(usize) -> M) {
    let (_fresh, before) = held(|| machine(0));
    let (_used, after) = held(|| machine(2));
    assert_eq!(after, before);
}

/// Two large batches, each with a request that is answered last.
#[test]
fn a_released_server_keeps_nothing_of_batches() {
    let ping = |id| format!(r#"{{"jsonrpc":"2.0","id":"{id:0254}","method":"ping"}}"#);
    let pings: Vec<String> = (0..255).map(ping).collect();
    let slow = r#"{"jsonrpc":"2.0","id":7,"method":"tools/list"}"#;
    let batch = format!("[{},{slow}]", pings.join(","));
    holds_nothing_of_its_work(|batches| -> Server {
        let mut side = ServerSide::ready(Revision::V2025_03_26);
        for _ in 0..batches {
            let mut asked = None;
            for frame in Frames::of(batch.as_bytes(), &Limits::default()) {
                let event = side.server.receive(frame, side.now, &mut side.out);
                if let Some(ServerEvent::Request(request)) = event {
                    asked = Some(request.id);
                }
            }
            side.respond(asked.unwrap(), r#"{"tools":[]}"#);
        }
        assert_eq!(side.sent().len(), batches);
        side.server.release();
        side.server
    });
}

#[test]
fn a_released_server_keeps_nothing_of_subscriptions() {
    holds_nothing_of_its_work(|subscriptions| -> Server {
        let mut side = ServerSide::with(config::server_of_both_eras());
        for id in 0..subscriptions {
            let uris: Vec<String> = (0..100).map(|uri| format!("\"a:{uri}\"")).collect();
            let uris = uris.join(",");
            let params = format!(r#"{ALONE},"notifications":{{"resourceSubscriptions":[{uris}]}}"#);
            _ = side.receive(&request(&id.to_string(), "subscriptions/listen", &params));
            assert_eq!(side.sent().len(), 1, "the acknowledgement");
            let cancelled = format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
            );
            _ = side.receive(&cancelled);
        }
        _ = side.outcomes();
        assert_eq!(side.server.in_flight().requests().count(), 0);
        side.server.release();
        side.server
    });
}

/// The params of a call are kept until it ends, in a buffer that the next call uses.
#[test]
fn a_released_client_keeps_nothing_of_params() {
    holds_nothing_of_its_work(|calls| -> Client {
        let mut config = config::client_of_both_eras();
        (config.revisions, config.known) = (RevisionSet::MODERN, Some(Revision::V2026_07_28));
        config.probe = false;
        let mut side = ClientSide::with(config);
        side.client.connect(side.now, &mut side.out).unwrap();
        _ = side.outcomes();
        for id in 1..=calls {
            called(&mut side);
            assert_eq!(side.sent().len(), 1);
            let answer = result(id as u64, r#""resultType":"complete","content":[]"#);
            assert!(matches!(side.receive(&answer), Some(ClientEvent::CallEnded(_))));
        }
        side.client.release();
        side.client
    });
}

/// Calls before the session is open are kept encoded.
#[test]
fn a_released_client_keeps_nothing_of_early_calls() {
    holds_nothing_of_its_work(|calls| -> Client {
        let mut side = ClientSide::with(config::client());
        side.client.connect(side.now, &mut side.out).unwrap();
        for _ in 0..calls {
            called(&mut side);
        }
        let session = r#""protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}"#;
        let connected = side.receive(&result(1, session));
        assert!(matches!(connected, Some(ClientEvent::Connected(_))), "{connected:?}");
        for event in side.outcomes() {
            let ClientEvent::CallEnded(ended) = event else { panic!("{event:?}") };
            assert!(matches!(ended.outcome, Outcome::CallError(_)), "the server has no tools");
        }
        assert_eq!(
            (side.client.phase(), side.client.in_flight().counts().held_bytes),
            (Phase::Ready, 0)
        );
        side.client.release();
        side.client
    });
}

fn called(side: &mut ClientSide) {
    let params = serde_json::json!({ "name": "t", "arguments": { "a": "x".repeat(60_000) } });
    let options = CallOptions::new();
    side.client.call_method("tools/call", &params, options, side.now, &mut side.out).unwrap();
}
