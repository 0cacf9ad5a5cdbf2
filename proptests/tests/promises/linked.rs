//! A client and a server on one wire.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use mcp_sansio::call::{Cancellation, Timeout};
use mcp_sansio::error::CancelError;
use mcp_sansio::error::ErrorObject;
use mcp_sansio::event::{Observation, UnmatchedCause};
use mcp_sansio::json::Raw;
use mcp_sansio::progress::Progress;
use mcp_sansio::{
    CallOptions, ClientEvent, ErrorCode, IncomingId, Outbox, Outboxes, Outcome, Phase,
    RespondError, Route, ServerEvent,
};
use mcp_sansio_proptests::{Pair, Seen, config};

fn ready() -> Pair {
    mcp_sansio_proptests::ready(config::client(), config::server())
}

fn call(pair: &mut Pair) -> mcp_sansio::CallId {
    let options = CallOptions::new().progress();
    let params = serde_json::json!({"name": "t"});
    pair.client.call_method("tools/call", &params, options, pair.now, &mut pair.client_out).unwrap()
}

/// Returns an empty tool result.
fn content() -> serde_json::Value {
    serde_json::json!({"content": []})
}

#[track_caller]
fn request(seen: Vec<Seen>) -> IncomingId {
    match &seen[..] {
        [Seen::Server(ServerEvent::Request(request))] => request.id,
        _ => panic!("{seen:?}"),
    }
}

/// Proves L-LIFE-31 and, for any size of the chunks, L-STDIO-04.
#[test]
fn a_session_from_beginning_to_end_in_any_chunking() {
    for chunk in [1, 2, 3, 7, 64, usize::MAX] {
        let mut pair = Pair::new(config::client(), config::server());
        pair.client.connect(pair.now, &mut pair.client_out).unwrap();
        let id = call(&mut pair);
        let mut seen = Vec::new();
        while !pair.client_out.is_empty() || !pair.server_out.is_empty() {
            for event in [pair.to_server(chunk), pair.to_client(chunk)].concat() {
                if let Seen::Server(ServerEvent::Request(request)) = &event {
                    let out = &mut pair.server_out;
                    pair.server.progress(request.id, Progress::new(1_u8), pair.now, out).unwrap();
                    pair.server.respond(request.id, &content(), out).unwrap();
                }
                seen.push(event);
            }
        }
        assert!(
            matches!(&seen[..], [
            Seen::Server(ServerEvent::Opened(_)),
            Seen::Client(ClientEvent::Connected(_)),
            Seen::Server(ServerEvent::Ready),
            Seen::Server(ServerEvent::Request(_)),
            Seen::Client(ClientEvent::Progress(_)),
            Seen::Client(ClientEvent::CallEnded(ended)),
        ] if ended.call == id && matches!(ended.outcome, Outcome::Result(_))),
            "{chunk}: {seen:?}"
        );
        assert_eq!(pair.client.phase(), Phase::Ready);
    }
}

/// Proves L-RACE-01, L-RACE-02, L-CANCEL-10: the cancellation and the response in both orders.
#[test]
fn a_cancellation_and_an_answer_cross() {
    // The response is in flight when the client cancels.
    let mut pair = ready();
    let id = call(&mut pair);
    let inbound = request(pair.to_server(usize::MAX));
    pair.server.respond(inbound, &content(), &mut pair.server_out).unwrap();
    let cancelled = pair.client.cancel(id, None, &mut pair.client_out);
    assert_eq!(cancelled, Ok(Cancellation::Notified));
    let seen = pair.settle();
    assert!(
        matches!(&seen[..], [Seen::Client(ClientEvent::UnmatchedResponse(unmatched))]
        if unmatched.cause == UnmatchedCause::Cancelled),
        "{seen:?}"
    );
    // The cancellation arrives first.
    let id = call(&mut pair);
    let inbound = request(pair.to_server(usize::MAX));
    pair.client.cancel(id, Some("changed my mind"), &mut pair.client_out).unwrap();
    let seen = pair.to_server(usize::MAX);
    assert!(
        matches!(&seen[..], [Seen::Server(ServerEvent::Cancelled(cancelled))]
        if cancelled.id == inbound),
        "{seen:?}"
    );
    let answered = pair.server.respond(inbound, &content(), &mut pair.server_out);
    assert_eq!(answered, Err(RespondError::Cancelled));
    assert_eq!(pair.settle(), []);
    // The response arrives first.
    let id = call(&mut pair);
    let inbound = request(pair.to_server(usize::MAX));
    pair.server.respond(inbound, &content(), &mut pair.server_out).unwrap();
    pair.to_client(usize::MAX);
    assert_eq!(pair.client.cancel(id, None, &mut pair.client_out), Err(CancelError::NotInFlight));
    assert_eq!(pair.settle(), []);
    let counts = (pair.client.in_flight().counts(), pair.server.in_flight().counts());
    assert_eq!((counts.0.outbound, counts.1.inbound), (0, 0));
}

/// A request of which one byte has been sent cannot be withdrawn any more.
#[test]
fn a_call_that_has_begun_to_leave_is_cancelled_on_the_wire() {
    let mut pair = ready();
    let id = call(&mut pair);
    assert_eq!(pair.to_server(1), []);
    let cancelled = pair.client.cancel(id, None, &mut pair.client_out);
    assert_eq!(cancelled, Ok(Cancellation::Notified));
    let seen = pair.settle();
    assert!(
        matches!(
            &seen[..],
            [Seen::Server(ServerEvent::Request(_)), Seen::Server(ServerEvent::Cancelled(_)),]
        ),
        "{seen:?}"
    );
}

/// Proves L-RACE-14, L-PING-01, L-PING-02.
#[test]
fn both_sides_ping_at_once() {
    let mut pair = ready();
    let options = CallOptions::new();
    let now = pair.now;
    pair.client.call_method("ping", &(), options, now, &mut pair.client_out).unwrap();
    pair.server.call_method("ping", &(), options, now, &mut pair.server_out).unwrap();
    let seen = pair.settle();
    assert!(
        matches!(
            &seen[..],
            [Seen::Client(ClientEvent::CallEnded(_)), Seen::Server(ServerEvent::CallEnded(_)),]
                | [
                    Seen::Server(ServerEvent::CallEnded(_)),
                    Seen::Client(ClientEvent::CallEnded(_)),
                ]
        ),
        "{seen:?}"
    );
}

/// Proves L-JSONRPC-28, L-RACE-13. Pain 7: a tool calls the client while the client waits for the tool.
#[test]
fn nested_requests_need_no_turn() {
    let mut pair = ready();
    let outer = call(&mut pair);
    let inbound = request(pair.to_server(usize::MAX));
    let params = serde_json::json!({"messages": [], "maxTokens": 1});
    let options = CallOptions::new().parent(inbound);
    let nested = pair
        .server
        .call_method("sampling/createMessage", &params, options, pair.now, &mut pair.server_out)
        .unwrap();
    let second = call(&mut pair);
    let other = request(pair.to_server(usize::MAX));
    pair.server.respond(other, &content(), &mut pair.server_out).unwrap();
    let seen = pair.to_client(usize::MAX);
    let [Seen::Client(ClientEvent::Request(asked)), Seen::Client(ClientEvent::CallEnded(ended))] =
        &seen[..]
    else {
        panic!("{seen:?}");
    };
    assert_eq!(ended.call, second);
    pair.client.reject(asked.id, ErrorCode::USER_REJECTED, "no", &mut pair.client_out).unwrap();
    let seen = pair.to_server(usize::MAX);
    let [Seen::Server(ServerEvent::CallEnded(ended))] = &seen[..] else { panic!("{seen:?}") };
    assert_eq!(ended.call, nested);
    assert!(matches!(&ended.outcome, Outcome::PeerError(e) if e.code == ErrorCode::USER_REJECTED));
    pair.server.respond(inbound, &content(), &mut pair.server_out).unwrap();
    let seen = pair.settle();
    assert!(matches!(&seen[..], [Seen::Client(ClientEvent::CallEnded(e))] if e.call == outer));
}

/// Pain 4: two large messages cross on a wire that takes one byte at a time, and neither side stalls.
#[test]
fn large_messages_in_both_directions_pass_each_other() {
    let mut pair = ready();
    let text = "x".repeat(1 << 18);
    let params = serde_json::json!({"name": "t", "arguments": {"text": text}});
    let options = CallOptions::new().idle(Timeout::Never);
    let now = pair.now;
    pair.client.call_method("tools/call", &params, options, now, &mut pair.client_out).unwrap();
    let params = serde_json::json!({"message": text, "requestedSchema": {"type": "object", "properties": {}}});
    pair.server
        .call_method("elicitation/create", &params, options, now, &mut pair.server_out)
        .unwrap();
    let (mut ended, mut steps) = (0, 0);
    while ended < 2 {
        steps += 1;
        assert!(steps < 1 << 21, "no progress");
        for event in [pair.to_server(1), pair.to_client(1)].concat() {
            match event {
                Seen::Server(ServerEvent::Request(request)) => {
                    pair.server.respond(request.id, &content(), &mut pair.server_out).unwrap();
                }
                Seen::Client(ClientEvent::Request(request)) => {
                    let declined = mcp_sansio::model::ElicitResult::decline();
                    pair.client.respond(request.id, &declined, &mut pair.client_out).unwrap();
                }
                _ => ended += 1,
            }
        }
    }
}

/// Pain 56: the order is kept, also within one chunk.
#[test]
fn a_thousand_updates_arrive_in_order() {
    let mut pair = ready();
    call(&mut pair);
    let inbound = request(pair.to_server(usize::MAX));
    for step in 0..1000_u32 {
        pair.server.progress(inbound, Progress::new(step), pair.now, &mut pair.server_out).unwrap();
    }
    pair.server.respond(inbound, &content(), &mut pair.server_out).unwrap();
    let seen = pair.settle();
    assert_eq!(seen.len(), 1001);
    for (step, event) in seen.iter().take(1000).enumerate() {
        let Seen::Client(ClientEvent::Progress(update)) = event else { panic!("{event:?}") };
        assert_eq!(update.progress, mcp_sansio::json::Number::from(step as u64));
    }
}

/// Promise 7: the state of a side is a value. Copies behave the same, and equal states have equal hashes.
#[test]
fn the_same_calls_and_bytes_give_the_same_machine() {
    let run = |pair: &mut Pair| -> Vec<Seen> {
        let mut seen = Vec::new();
        for round in 0..20 {
            let id = call(pair);
            if round % 3 == 0 {
                _ = pair.client.cancel(id, None, &mut pair.client_out);
            }
            for event in pair.settle() {
                if let Seen::Server(ServerEvent::Request(request)) = &event {
                    pair.server.respond(request.id, &content(), &mut pair.server_out).unwrap();
                }
                seen.push(event);
            }
        }
        seen
    };
    let hash = |pair: &Pair| {
        let mut hasher = DefaultHasher::new();
        (&pair.client, &pair.server).hash(&mut hasher);
        hasher.finish()
    };
    let mut pair = ready();
    let mut copy = pair.clone();
    assert_eq!(run(&mut pair), run(&mut copy));
    assert_eq!((&pair.client, &pair.server), (&copy.client, &copy.server));
    assert_eq!(hash(&pair), hash(&copy));
    call(&mut copy);
    assert_ne!(pair.client, copy.client);
    let states: HashSet<mcp_sansio::Client> = [pair.client.clone(), pair.client].into();
    assert_eq!(states.len(), 1);
}

#[test]
fn machines_can_be_sent_and_shared() {
    fn is<T: Send + Sync + Clone + std::fmt::Debug + 'static>() {}
    is::<mcp_sansio::Client>();
    is::<mcp_sansio::Server>();
    is::<Outbox>();
    is::<mcp_sansio::Inbox>();
    is::<ClientEvent<'static>>();
    is::<ServerEvent<'static>>();
}

/// Two routes and a log, as in a transport with several streams.
struct Routes {
    connection: Outbox,
    exchanges: Outbox,
    log: Vec<String>,
    /// The total length of the messages on all routes.
    bytes: usize,
}

impl Outboxes for Routes {
    fn outbox(&mut self, route: Route) -> &mut Outbox {
        match route {
            Route::Exchange(_) => &mut self.exchanges,
            _ => &mut self.connection,
        }
    }

    fn observe(&mut self, observation: &Observation<'_>) {
        self.log.push(match observation {
            Observation::Received { method, id, bytes } => format!("< {method:?} {id:?} {bytes}"),
            Observation::Sent { method, route, bytes, .. } => {
                self.bytes += bytes;
                format!("> {method:?} {route:?} {bytes}")
            }
            Observation::Phase { from, to } => format!("{from} -> {to}"),
            other => format!("{other:?}"),
        });
    }
}

/// Proves L-HTTP-02, L-HTTP-03, L-HTTP-04 for the routes of messages. Pain 94: a log of all observations contains no
/// payload.
#[test]
fn output_goes_to_its_route_and_is_observed_without_payload() {
    let outbox = || Outbox::new(mcp_sansio::Framing::Messages, &mcp_sansio::Limits::default());
    let mut out = Routes { connection: outbox(), exchanges: outbox(), log: Vec::new(), bytes: 0 };
    let mut server = mcp_sansio::Server::new(std::sync::Arc::new(config::server()));
    let now = mcp_sansio::Instant::EPOCH;
    let frames = [
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"roots":{}},"clientInfo":{"name":"secret","version":"1"}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"secret","_meta":{"progressToken":1}}}"#,
        r#"{"jsonrpc":"2.0","id":"b","method":"ping"}"#,
    ];
    let mut id = None;
    for frame in frames {
        if let Some(ServerEvent::Request(request)) = server.receive(frame, now, &mut out) {
            assert!(!format!("{request:?}").contains("secret"));
            id = Some(request.id);
        }
    }
    let id = id.unwrap();
    server.progress(id, Progress::new(1_u8).message("secret"), now, &mut out).unwrap();
    let nested = CallOptions::new().parent(id);
    server.call_method("roots/list", &(), nested, now, &mut out).unwrap();
    let log = serde_json::json!({"level": "info", "data": "secret"});
    server.notify_method("notifications/message", &log, Some(id), &mut out).unwrap();
    server.notify_method("notifications/tools/list_changed", &(), None, &mut out).unwrap();
    let result = serde_json::json!({"content": [], "secret": "secret"});
    server.respond(id, &result, &mut out).unwrap();
    assert_eq!(out.bytes, out.connection.len() + out.exchanges.len());
    let count = |outbox: &mut Outbox| outbox.messages().count();
    assert_eq!((count(&mut out.connection), count(&mut out.exchanges)), (3, 4));
    server.close();
    while server.handle_timeout(now, &mut out).is_some() {}
    let log = out.log.join("\n");
    assert!(!log.contains("secret"), "{log}");
    assert_eq!(
        out.log.iter().map(|line| line.split(' ').next().unwrap()).collect::<String>(),
        "<>opening<handshake<<>>>>>>ready"
    );
}

#[test]
fn events_debug_without_payload() {
    let mut pair = ready();
    let params = serde_json::json!({"name": "secret", "arguments": {"secret": "secret"}});
    let options = CallOptions::new();
    pair.client
        .call_method("tools/call", &params, options, pair.now, &mut pair.client_out)
        .unwrap();
    let seen = pair.to_server(usize::MAX);
    let id = request(seen.clone());
    pair.server
        .reject_with(
            id,
            &ErrorObject::with(ErrorCode::INTERNAL_ERROR, "secret", &Raw::NULL).unwrap(),
            &mut pair.server_out,
        )
        .unwrap();
    let debug = format!("{seen:?} {:?}", pair.settle());
    assert!(!debug.contains("secret"), "{debug}");
    assert!(debug.contains("CallTool") && debug.contains("-32603"), "{debug}");
}
