//! Pings to a silent peer.

use std::time::Duration;

use mcp_sansio::config::KeepAlive;
use mcp_sansio::event::UnmatchedCause;
use mcp_sansio::{
    Cause, ClientEvent, Instant, Outbox, Outboxes, Outcome, Phase, Revision, Route, ServerEvent,
};
use mcp_sansio_proptests::{ClientSide, ServerSide, config};

const REVISION: Revision = Revision::V2025_11_25;

/// Creates a client that pings after 10 s of silence, waits 5 s, and gives up after this many failed pings.
fn attentive(close_after: Option<u32>) -> ClientSide {
    let mut config = config::client();
    let mut policy = KeepAlive::every(Duration::from_secs(10));
    policy.answer_within = Duration::from_secs(5);
    policy.close_after = close_after;
    config.connection.keep_alive = Some(policy);
    ClientSide::ready_with(config, REVISION)
}

fn ping(id: u32) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#)
}

fn pong(id: u32) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)
}

/// The cancellation of a ping.
fn given_up(id: u32) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
    )
}

fn in_milliseconds(time: Instant, milliseconds: u64) -> Option<Instant> {
    Some(time + Duration::from_millis(milliseconds))
}

/// Proves L-PING-04: pings are off by default; when configured, one ping at a time is sent after silence. Pain 38.
#[test]
fn a_silent_peer_is_asked_now_and_then() {
    let mut quiet = ClientSide::ready(REVISION);
    assert_eq!(quiet.client.poll_timeout(), None);
    assert_eq!((quiet.elapse(1_000_000_000), quiet.sent()), (vec![], vec![]));

    let mut side = attentive(None);
    assert_eq!(side.client.poll_timeout(), in_milliseconds(side.now, 10_000));
    assert_eq!((side.elapse(9_999), side.sent()), (vec![], vec![]));
    assert_eq!((side.elapse(1), side.sent()), (vec![], vec![ping(2)]));
    assert_eq!(
        side.client.in_flight().calls().collect::<Vec<_>>(),
        [],
        "it is not the application's"
    );
    // No other ping is sent before this one has ended.
    assert_eq!(side.client.poll_timeout(), in_milliseconds(side.now, 5_000));
    assert_eq!((side.elapse(4_999), side.sent()), (vec![], vec![]));
    assert_eq!(side.receive(&pong(2)), None);
    assert_eq!(side.client.poll_timeout(), in_milliseconds(side.now, 10_000));
    // Any received bytes postpone the ping, also a part of a message.
    assert_eq!((side.elapse(9_000), side.sent()), (vec![], vec![]));
    assert!(side.receive(r#"{"jsonrpc":"2.0","method":"x"}"#).is_some());
    assert_eq!((side.elapse(9_000), side.sent()), (vec![], vec![]));
    side.client.on_bytes_received(side.now);
    assert_eq!((side.elapse(9_999), side.sent()), (vec![], vec![]));
    assert_eq!((side.elapse(1), side.sent()), (vec![], vec![ping(3)]));
}

/// Proves L-PING-04 for a server: no ping is sent before the session is open. Pain 38.
#[test]
fn a_server_asks_once_the_session_is_open() {
    let mut config = config::server();
    config.connection.keep_alive = Some(KeepAlive::every(Duration::from_secs(10)));
    let mut fresh = ServerSide::with(config.clone());
    assert_eq!((fresh.elapse(100_000), fresh.sent()), (vec![], vec![]));
    let mut side = ServerSide::ready_with(config, REVISION);
    assert_eq!((side.elapse(10_000), side.sent()), (vec![], vec![ping(1)]));
    let events = side.elapse(30_000);
    assert_eq!(events, [ServerEvent::Unresponsive { missed: 1 }]);
    assert_eq!(side.sent(), [given_up(1)]);
    assert_eq!((side.elapse(10_000), side.sent()), (vec![], vec![ping(2)]));
    // A peer that does not know the method is alive, and gets no more pings.
    let unknown = r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"m"}}"#;
    assert_eq!(side.receive(unknown), None);
    assert_eq!(side.server.poll_timeout(), None);
    assert_eq!((side.elapse(1_000_000), side.sent()), (vec![], vec![]));
}

/// Proves L-PING-05: every failed ping is reported, with the number of consecutive failures.
#[test]
fn unanswered_pings_are_counted() {
    let mut side = attentive(None);
    for missed in 1..=3 {
        let id = 1 + missed;
        assert_eq!((side.elapse(10_000), side.sent()), (vec![], vec![ping(id)]));
        let events = side.elapse(5_000);
        assert_eq!(events, [ClientEvent::Unresponsive { missed }]);
        assert_eq!(side.sent(), [given_up(id)]);
    }
    assert_eq!(side.client.phase(), Phase::Ready, "nothing ends unless the configuration says so");
    // A late response is a sign of life.
    let Some(ClientEvent::UnmatchedResponse(unmatched)) = side.receive(&pong(4)) else { panic!() };
    assert_eq!(unmatched.cause, UnmatchedCause::TimedOut);
    side.elapse(10_000);
    assert_eq!(side.elapse(5_000), [ClientEvent::Unresponsive { missed: 1 }]);
    // A peer that sends other messages meanwhile is alive, and may be busy.
    side.elapse(10_000);
    side.elapse(4_000);
    assert!(side.receive(r#"{"jsonrpc":"2.0","method":"x"}"#).is_some());
    assert_eq!(side.elapse(1_000), []);
    side.elapse(10_000);
    assert_eq!(side.elapse(5_000), [ClientEvent::Unresponsive { missed: 1 }]);
}

/// Proves L-PING-03, L-PING-05: the connection ends after as many failures as the policy allows.
#[test]
fn a_peer_that_never_answers_is_given_up() {
    for most in [1, 2] {
        let mut side = attentive(Some(most));
        let call = side.call("a");
        _ = side.sent();
        for missed in 1..most {
            side.elapse(10_000);
            assert_eq!(side.elapse(5_000), [ClientEvent::Unresponsive { missed }]);
            assert_eq!(side.client.phase(), Phase::Ready);
        }
        side.elapse(10_000);
        assert_eq!(side.elapse(4_999), []);
        let events = side.elapse(1);
        let [first, ClientEvent::CallEnded(ended), last] = &events[..] else {
            panic!("{events:?}")
        };
        assert_eq!(*first, ClientEvent::Unresponsive { missed: most });
        assert_eq!((ended.call, &ended.outcome), (call, &Outcome::Closed(Cause::Unresponsive)));
        assert_eq!(*last, ClientEvent::Closed { cause: Cause::Unresponsive });
        assert_eq!((side.client.phase(), side.client.poll_timeout()), (Phase::Closed, None));
    }
}

/// Any error is a response to a ping. Only an unknown method ends the pings.
#[test]
fn an_error_is_a_response_to_a_ping() {
    let mut side = attentive(Some(1));
    for (id, code) in [(2, -32603), (3, -32600), (4, 1)] {
        assert_eq!((side.elapse(10_000), side.sent()), (vec![], vec![ping(id)]));
        let error =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"m"}}}}"#);
        assert_eq!(side.receive(&error), None);
    }
    assert_eq!((side.elapse(10_000), side.sent()), (vec![], vec![ping(5)]));
    assert_eq!(side.client.phase(), Phase::Ready);
}

/// Users may take any time, but programs respond: pings continue while a user is asked.
#[test]
fn pings_go_on_while_a_person_is_asked() {
    let mut side = attentive(None);
    side.client.set_paused(true, side.now);
    let form = r#"{"message":"m","requestedSchema":{"type":"object","properties":{}}}"#;
    side.request(&format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{form}}}"#
    ));
    assert_eq!((side.elapse(10_000), side.sent()), (vec![], vec![ping(2)]));
    assert_eq!(side.elapse(5_000), [ClientEvent::Unresponsive { missed: 1 }]);
}

/// Pain 38: a peer that does not know `ping` is alive, also for a policy that closes.
#[test]
fn a_peer_that_does_not_support_ping_stays_connected() {
    let mut side = attentive(Some(1));
    assert_eq!((side.elapse(10_000), side.sent()), (vec![], vec![ping(2)]));
    let unknown = r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"m"}}"#;
    assert_eq!(side.receive(unknown), None);
    let call = side.call("tools/list");
    _ = side.sent();
    let answer = side.receive(r#"{"jsonrpc":"2.0","id":3,"result":{"tools":[]}}"#);
    assert!(matches!(answer, Some(ClientEvent::CallEnded(ended)) if ended.call == call));
    assert_eq!((side.elapse(1_000_000), side.sent()), (vec![], vec![]));
    assert_eq!((side.client.phase(), side.client.poll_timeout()), (Phase::Ready, None));
}

/// A stream that the peer does not read at all times.
struct Stream {
    out: Outbox,
    has_reader: bool,
}

impl Outboxes for Stream {
    fn outbox(&mut self, _: Route) -> &mut Outbox {
        &mut self.out
    }

    fn has_reader(&self, _: Route) -> bool {
        self.has_reader
    }
}

/// A ping would stay in the outbox and count as missed, so it waits for a reader.
#[test]
fn no_ping_is_sent_on_a_route_without_a_reader() {
    let mut side = attentive(Some(1));
    let mut stream = Stream { out: side.out.clone(), has_reader: false };
    for _ in 0..3 {
        side.now = side.now + Duration::from_secs(10);
        assert_eq!(side.client.handle_timeout(side.now, &mut stream), None);
        assert!(stream.out.is_empty());
        assert_eq!(side.client.poll_timeout(), in_milliseconds(side.now, 10_000));
    }
    stream.has_reader = true;
    side.now = side.now + Duration::from_secs(10);
    assert_eq!(side.client.handle_timeout(side.now, &mut stream), None);
    assert!(stream.out.messages().eq([ping(2).as_bytes()]));
}

/// A ping is no work that the end of the connection waits for.
#[test]
fn a_connection_that_drains_does_not_wait_for_a_ping() {
    let mut side = attentive(None);
    assert_eq!((side.elapse(10_000), side.sent()), (vec![], vec![ping(2)]));
    side.client.shut_down(Duration::from_secs(60), side.now);
    let events = side.outcomes();
    let [ClientEvent::Draining { .. }, closed] = &events[..] else { panic!("{events:?}") };
    assert_eq!(*closed, ClientEvent::Closed { cause: Cause::ShutDown });
    assert_eq!(side.client.in_flight().counts().outbound, 0);
}
