//! Transports with a stream per request: the routes of messages, and the effect of a broken stream.

use std::collections::BTreeMap;

use mcp_sansio::call::Cancellation;
use mcp_sansio::json::Raw;
use mcp_sansio::progress::Progress;
use mcp_sansio::{
    CallOptions, ClientConfig, ClientEvent, Framing, IncomingId, Limits, Outbox, Outboxes, Outcome,
    Phase, Received, RespondError, Revision, Route, ServerConfig, ServerEvent,
};
use mcp_sansio_proptests::{ClientSide, Pair, Seen, ServerSide, config};

/// An outbox for each stream. A broken stream loses its content.
#[derive(Default)]
struct Streams(BTreeMap<String, Outbox>);

impl Outboxes for Streams {
    fn outbox(&mut self, route: Route) -> &mut Outbox {
        let new = || Outbox::new(Framing::Messages, &Limits::default());
        self.0.entry(name(route)).or_insert_with(new)
    }
}

fn name(route: Route) -> String {
    match route {
        Route::Connection => "connection".to_string(),
        Route::Exchange(request) => format!("exchange {}", request.index()),
        Route::Call(call) => format!("call {}", call.index()),
        other => panic!("{other:?} is new"),
    }
}

impl Streams {
    fn breaks(&mut self, route: Route) {
        self.0.remove(&name(route)).expect("there is such a stream");
    }

    /// Returns the messages since the last call, by stream.
    fn sent(&mut self) -> Vec<(String, String)> {
        let mut sent = Vec::new();
        for (name, outbox) in &mut self.0 {
            for message in outbox.messages() {
                sent.push((name.clone(), String::from_utf8(message.to_vec()).unwrap()));
            }
        }
        sent
    }
}

fn on(route: &str, message: &str) -> (String, String) {
    (route.to_string(), message.to_string())
}

const CALL: &str = r#"{"jsonrpc":"2.0","id":2,"method":"x/own"}"#;
const CANCELLED: &str =
    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#;
const NEXT_CALL: &str = r#"{"jsonrpc":"2.0","id":3,"method":"x/own"}"#;
const NEXT_CANCELLED: &str =
    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}"#;

/// Proves L-HTTP-01 for a client: the call stays open, its response may arrive on another stream, and only an
/// explicit cancellation cancels it.
#[test]
fn a_broken_stream_does_not_end_a_call() {
    let mut side = ClientSide::ready(Revision::V2025_11_25);
    let mut streams = Streams::default();
    let options = CallOptions::new();
    let call = |side: &mut ClientSide, streams: &mut Streams| {
        side.client.call_method("x/own", &(), options, side.now, streams).unwrap()
    };
    let first = call(&mut side, &mut streams);
    let route = name(Route::Call(first));
    assert_eq!(streams.sent(), [on(&route, CALL)]);
    streams.breaks(Route::Call(first));
    assert_eq!(side.client.handle_timeout(side.now, &mut streams), None);
    assert!(side.client.in_flight().is_pending(first));
    assert_eq!((side.client.phase(), streams.sent()), (Phase::Ready, vec![]));
    let answer = r#"{"jsonrpc":"2.0","id":2,"result":{}}"#;
    let received = Received::from(side.now).route(Route::Connection);
    let event = side.client.receive(answer, received, &mut streams).map(ClientEvent::into_owned);
    let Some(ClientEvent::CallEnded(ended)) = event else { panic!("{event:?}") };
    assert_eq!((ended.call, ended.outcome), (first, Outcome::Result(Raw::new("{}").unwrap())));

    let second = call(&mut side, &mut streams);
    let route = name(Route::Call(second));
    assert_eq!(streams.sent(), [on(&route, NEXT_CALL)]);
    streams.breaks(Route::Call(second));
    let cancelled = side.client.cancel(second, None, &mut streams);
    assert_eq!(cancelled, Ok(Cancellation::Notified));
    assert_eq!(streams.sent(), [on(&route, NEXT_CANCELLED)]);
}

/// Proves L-HTTP-01 for a server: the request stays open until the client cancels it.
#[test]
fn a_broken_stream_does_not_cancel_a_request() {
    let mut side = ServerSide::ready(Revision::V2025_11_25);
    let mut streams = Streams::default();
    let request = side.request(CALL);
    let route = Route::Exchange(request);
    side.server.notify_method("x/begun", &(), Some(request), &mut streams).unwrap();
    assert_eq!(streams.sent(), [on(&name(route), r#"{"jsonrpc":"2.0","method":"x/begun"}"#)]);
    streams.breaks(route);
    assert_eq!(side.server.handle_timeout(side.now, &mut streams), None);
    assert_eq!(side.server.in_flight().requests().collect::<Vec<_>>(), [request]);
    assert_eq!(side.server.phase(), Phase::Ready);
    side.server.respond(request, &(), &mut streams).unwrap();
    assert_eq!(streams.sent(), [on(&name(route), r#"{"jsonrpc":"2.0","id":2,"result":{}}"#)]);
    // A notification on any stream cancels it.
    let request = side.request(CALL);
    let received = Received::from(side.now).route(Route::Connection);
    let event = side.server.receive(CANCELLED, received, &mut streams).map(ServerEvent::into_owned);
    assert!(matches!(&event, Some(ServerEvent::Cancelled(c)) if c.id == request), "{event:?}");
    let answered = side.server.respond(request, &(), &mut streams);
    assert_eq!((answered, streams.sent()), (Err(RespondError::Cancelled), vec![]));
}

/// Proves L-RACE-34 for senders: messages related to a request are on its stream.
#[test]
fn messages_related_to_a_request_use_its_stream() {
    let mut side = ServerSide::ready(Revision::V2025_11_25);
    let mut streams = Streams::default();
    let frame = |id: u8| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"x/own","params":{{"_meta":{{"progressToken":{id}}}}}}}"#
        )
    };
    let requests = [side.request(&frame(5)), side.request(&frame(6))];
    for (id, request) in [(6, requests[1]), (5, requests[0])] {
        let route = name(Route::Exchange(request));
        side.server.progress(request, Progress::new(1_u8), side.now, &mut streams).unwrap();
        side.server.notify_method("x/begun", &(), Some(request), &mut streams).unwrap();
        let options = CallOptions::new().parent(request);
        side.server.call_method("ping", &(), options, side.now, &mut streams).unwrap();
        side.server.respond(request, &(), &mut streams).unwrap();
        let ping = 7 - id;
        let expected = [
            format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{id},"progress":1}}}}"#
            ),
            r#"{"jsonrpc":"2.0","method":"x/begun"}"#.to_string(),
            format!(r#"{{"jsonrpc":"2.0","id":{ping},"method":"ping"}}"#),
            format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#),
        ];
        assert_eq!(streams.sent(), expected.map(|message| on(&route, &message)));
    }
}

/// Returns a pair whose next calls have the same id.
fn crossing() -> Pair {
    let mut server: ServerConfig = config::server();
    server.connection.first_call_id = 2;
    let client: ClientConfig = config::client();
    mcp_sansio_proptests::ready(client, server)
}

#[track_caller]
fn request(seen: &[Seen]) -> IncomingId {
    match seen {
        [Seen::Server(ServerEvent::Request(request))] => request.id,
        [Seen::Client(ClientEvent::Request(request))] => request.id,
        _ => panic!("{seen:?}"),
    }
}

/// Proves L-RACE-13, L-JSONRPC-22: two requests with one id cross, and each gets its own response, in any order of
/// delivery and of responses.
#[test]
fn requests_of_one_id_cross() {
    for order in 0..8_u8 {
        let [client_first, client_answers_first, client_reads_first] =
            [1, 2, 4].map(|bit| order & bit != 0);
        let mut pair = crossing();
        let (now, options) = (pair.now, CallOptions::new());
        let of_client =
            pair.client.call_method("x/own", &(), options, now, &mut pair.client_out).unwrap();
        let of_server =
            pair.server.call_method("x/own", &(), options, now, &mut pair.server_out).unwrap();
        for out in [&pair.client_out, &pair.server_out] {
            assert_eq!(out.unsent(), format!("{CALL}\n").as_bytes());
        }
        let (at_server, at_client) = if client_first {
            let at_server = pair.to_server(usize::MAX);
            (at_server, pair.to_client(usize::MAX))
        } else {
            let at_client = pair.to_client(usize::MAX);
            (pair.to_server(usize::MAX), at_client)
        };
        let (at_server, at_client) = (request(&at_server), request(&at_client));
        let by = |who| Raw::new(who).unwrap();
        let (by_client, by_server) = (by(r#"{"by":"client"}"#), by(r#"{"by":"server"}"#));
        for client in [client_answers_first, !client_answers_first] {
            if client {
                pair.client.respond(at_client, &by_client, &mut pair.client_out).unwrap();
            } else {
                pair.server.respond(at_server, &by_server, &mut pair.server_out).unwrap();
            }
        }
        let mut seen = Vec::new();
        for client in [client_reads_first, !client_reads_first] {
            seen.extend(if client {
                pair.to_client(usize::MAX)
            } else {
                pair.to_server(usize::MAX)
            });
        }
        if !client_reads_first {
            seen.reverse();
        }
        assert!(
            matches!(&seen[..], [Seen::Client(ClientEvent::CallEnded(a)), Seen::Server(ServerEvent::CallEnded(b))]
                if a.call == of_client && a.outcome == Outcome::Result(by_server.clone())
                && b.call == of_server && b.outcome == Outcome::Result(by_client.clone())),
            "{order}: {seen:?}"
        );
        assert_eq!(pair.settle(), []);
    }
}
