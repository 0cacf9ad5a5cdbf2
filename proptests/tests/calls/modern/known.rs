//! The probe beside the first calls of a client that knows its server: what does not refute the known revision leaves
//! the connection open.

use std::time::Duration;

use mcp_sansio::call::ExchangeEnd;
use mcp_sansio::capability::{Capability, CapabilitySet};
use mcp_sansio::error::{TransportFailure, TransportFailureKind};
use mcp_sansio::event::{ConnectFailure, NegotiationBasis, SubscriptionEnd, SubscriptionNews};
use mcp_sansio::model::SubscriptionFilter;
use mcp_sansio::{
    CallId, Cause, ClientConfig, ClientEvent, ConnectionNumber, Outbox, Outboxes, Phase, Revision,
    Route,
};
use mcp_sansio_proptests::{ClientSide, config};

use super::kit::{
    absorb, asked, begun, complete, connected_with, error, initialize, is_alive, modern, news,
    only, result, successor,
};

const LIST: &str = r#"{"resultType":"complete","tools":[]}"#;

/// A client of these revisions that knows that its server is modern, after its `Connected` event.
fn trusting(mut config: ClientConfig) -> ClientSide {
    config.known = Some(Revision::V2026_07_28);
    let mut side = begun(config);
    assert_eq!(side.sent(), [asked(1, "server/discover", "")]);
    let Some(ClientEvent::Connected(connected)) = only(side.outcomes()) else { panic!() };
    assert_eq!(connected.basis, NegotiationBasis::Known);
    side
}

/// Makes a call, and receives its result.
fn served(side: &mut ClientSide, answer: &str) {
    let call = side.call("tools/list");
    assert_eq!(side.sent(), [asked(2, "tools/list", "")]);
    assert_eq!(complete(side.receive(&result(2, answer))), (call, answer.to_owned()));
}

/// An outbox that notes the call of the last message.
pub(super) struct Noting<'o> {
    pub(super) out: &'o mut Outbox,
    pub(super) latest: Option<CallId>,
}

impl Outboxes for Noting<'_> {
    fn outbox(&mut self, route: Route) -> &mut Outbox {
        if let Route::Call(call) = route {
            self.latest = Some(call);
        }
        self.out
    }
}

/// A probe that does not reach the server, or that the server cannot serve at present, is no evidence for an era.
///
/// Proves M-ERA-40.
#[test]
fn a_probe_that_fails_on_its_way_leaves_an_open_client() {
    for mut config in [config::client_of_both_eras(), modern()] {
        for status in [None, Some(401), Some(503)] {
            config.known = Some(Revision::V2026_07_28);
            let mut side = ClientSide::with(config.clone());
            let mut noting = Noting { out: &mut side.out, latest: None };
            side.client.connect(side.now, &mut noting).unwrap();
            let probe = noting.latest.unwrap();
            assert_eq!(side.sent(), [asked(1, "server/discover", "")]);
            assert!(matches!(only(side.outcomes()), Some(ClientEvent::Connected(_))));
            let kind = match status {
                None => TransportFailureKind::Unreachable,
                Some(401) => TransportFailureKind::Unauthorized,
                Some(_) => TransportFailureKind::Refused,
            };
            let mut failure = TransportFailure::new(kind);
            failure.status = status;
            let end = ExchangeEnd::Failure(failure);
            assert_eq!(side.client.exchange_ended(probe, end, side.now, &mut side.out), None);
            assert_eq!((side.sent(), side.client.phase()), (vec![], Phase::Ready));
            is_alive(&mut side);
        }
    }
}

/// A client of the modern era alone has no other era to turn to.
///
/// Proves M-ERA-40.
#[test]
fn a_modern_client_stays_open_without_an_answer_to_its_probe() {
    let mut side = trusting(modern());
    assert_eq!(side.elapse(10_000), []);
    assert_eq!((side.sent(), side.client.phase()), (vec![], Phase::Ready));
    assert_eq!(side.client.basis(), Some(NegotiationBasis::Known));
    is_alive(&mut side);
}

/// A result with a `resultType` is one of a modern server, whose missing response to the probe means nothing then.
///
/// Proves M-ERA-26.
#[test]
fn a_server_that_has_given_a_modern_result_is_asked_for_no_session() {
    for answer in [LIST, r#"{"tools":[]}"#] {
        let mut side = trusting(config::client_of_both_eras());
        served(&mut side, answer);
        side.outcomes();
        assert_eq!(side.elapse(10_000), []);
        if answer == LIST {
            assert_eq!((side.sent(), side.client.phase()), (vec![], Phase::Ready));
            is_alive(&mut side);
        } else {
            assert_eq!(side.sent(), [initialize(3, "2025-11-25")]);
        }
    }
}

/// A modern server that answers the probe with an error, or with anything but a discovery result, stays modern.
///
/// Proves M-ERA-26.
#[test]
fn a_modern_server_that_fails_the_probe_is_asked_for_no_session() {
    let errors = [-32603, -32600, -32022].map(|code| {
        format!(r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":{code},"message":"m"}}}}"#)
    });
    for answer in errors.into_iter().chain([result(1, r#"{"tools":[]}"#)]) {
        for config in [config::client_of_both_eras(), modern()] {
            let mut side = trusting(config);
            served(&mut side, LIST);
            assert_eq!(side.receive(&answer), None, "{answer}");
            assert_eq!((side.sent(), side.client.phase()), (vec![], Phase::Ready), "{answer}");
            is_alive(&mut side);
        }
    }
}

/// The end of a connection to such a server is no advice to begin the next one with a session. Nor is it one for a client
/// of the modern era alone.
///
/// Proves M-ERA-40.
#[test]
fn the_end_of_a_modern_server_is_no_failure_to_connect() {
    let mut side = trusting(modern());
    side.client.disconnected(Cause::EndOfInput, side.now);
    assert_eq!(side.outcomes(), [ClientEvent::Closed { cause: Cause::EndOfInput }]);
    let mut side = trusting(config::client_of_both_eras());
    served(&mut side, LIST);
    side.client.disconnected(Cause::EndOfInput, side.now);
    assert_eq!(side.outcomes(), [ClientEvent::Closed { cause: Cause::EndOfInput }]);
    let mut next = successor(&side);
    next.client.connect(next.now, &mut next.out).unwrap();
    assert_eq!(next.sent(), [asked(1, "server/discover", "")]);
}

/// An open client that ends has connected, although its probe is still open.
#[test]
fn the_end_of_an_open_client_is_no_failure_to_connect() {
    let mut side = trusting(config::client_of_both_eras());
    side.client.close();
    assert_eq!(side.outcomes(), [ClientEvent::Closed { cause: Cause::ShutDown }]);
    let mut side = trusting(config::client_of_both_eras());
    side.client.shut_down(Duration::from_secs(1), side.now);
    assert!(matches!(only(side.outcomes()), Some(ClientEvent::Draining { .. })));
    assert_eq!(side.elapse(1_000), [ClientEvent::Closed { cause: Cause::DrainDeadline }]);
}

/// A client that is configured not to probe does not probe on later connections either.
///
/// Proves M-DISC-08.
#[test]
fn a_successor_of_a_client_that_does_not_ask_asks_nothing() {
    let mut config = modern();
    config.probe = false;
    let mut side = begun(config);
    assert!(matches!(only(side.outcomes()), Some(ClientEvent::Connected(_))));
    for number in 1..3 {
        side.client = side.client.reconnect(ConnectionNumber::new(number));
        side.client.connect(side.now, &mut side.out).unwrap();
        assert_eq!(side.sent(), [""; 0]);
        let Some(ClientEvent::Connected(connected)) = only(side.outcomes()) else { panic!() };
        assert_eq!(connected.basis, NegotiationBasis::Known);
    }
    let call = side.call("tools/list");
    assert_eq!(side.sent(), [asked(1, "tools/list", "")]);
    assert_eq!(complete(side.receive(&result(1, LIST))).0, call);
}

/// A failure is the last word on the negotiation, also if the assumed era was not reported yet.
#[test]
fn an_assumption_that_has_failed_is_not_reported() {
    let mut config = config::client_of_both_eras();
    config.known = Some(Revision::V2026_07_28);
    config.required = CapabilitySet::NONE.with(Capability::Prompts);
    let mut side = begun(config);
    side.sent();
    let discovery = r#"{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}"#;
    let failure =
        ConnectFailure::MissingCapabilities(CapabilitySet::NONE.with(Capability::Prompts));
    let event = side.receive(&result(1, discovery));
    assert_eq!(event, Some(ClientEvent::ConnectFailed(failure)));
    assert_eq!(side.outcomes(), [ClientEvent::Closed { cause: Cause::HandshakeFailed }]);
}

/// A server of the earlier connection was modern, the next one of the same name is not: the subscriptions are opened
/// again in the session.
///
/// Proves M-SUB-22, M-ERA-28.
#[test]
fn subscriptions_of_an_earlier_connection_follow_the_server_into_its_era() {
    let mut side = connected_with(config::client_of_both_eras());
    let filter = SubscriptionFilter::new().with_tools();
    side.client.subscribe(&filter, side.now, &mut side.out).unwrap();
    side.client.disconnected(Cause::EndOfInput, side.now);
    side.outcomes();

    let mut next = successor(&side);
    next.client.connect(next.now, &mut next.out).unwrap();
    let listen = asked(2, "subscriptions/listen", r#""notifications":{"toolsListChanged":true}"#);
    assert_eq!(next.sent(), [asked(1, "server/discover", ""), listen]);
    absorb(only(next.outcomes()));
    assert_eq!(next.receive(&error(1, -32601, "")), None);
    assert_eq!(next.sent(), [initialize(3, "2025-11-25")]);
    let (assumed, end) = news(next.receive(&error(2, -32601, "")));
    assert!(matches!(end, SubscriptionNews::Ended(SubscriptionEnd::Rejected(_))), "{end:?}");
    absorb(next.receive(&result(3, super::kit::SESSION)));
    let (opened, granted) = news(only(next.outcomes()));
    assert!(matches!(granted, SubscriptionNews::Granted { .. }), "{granted:?}");
    assert_ne!(opened, assumed);
    assert_eq!(next.client.in_flight().subscriptions().collect::<Vec<_>>(), [opened]);

    // The next connection opens it once, too.
    next.client.disconnected(Cause::EndOfInput, next.now);
    next.outcomes();
    let mut last = successor(&next);
    last.client.connect(last.now, &mut last.out).unwrap();
    absorb(last.receive(&result(1, super::kit::SESSION)));
    assert_eq!(last.outcomes().len(), 1);
}

/// A successor that begins with a session, because its predecessor ended on the probe, knows nothing of that session:
/// the revision that was used before is a modern one.
#[test]
fn a_session_is_not_known_from_a_modern_revision() {
    let mut side = trusting(config::client_of_both_eras());
    side.client.disconnected(Cause::EndOfInput, side.now);
    let failure = ConnectFailure::RestartAdvised(Cause::EndOfInput);
    assert_eq!(side.outcomes().first(), Some(&ClientEvent::ConnectFailed(failure)));
    let mut next = successor(&side);
    next.client.connect(next.now, &mut next.out).unwrap();
    assert_eq!(next.sent(), [initialize(1, "2025-11-25")]);
    let Some(ClientEvent::Connected(connected)) = next.receive(&result(1, super::kit::SESSION))
    else {
        panic!()
    };
    assert_eq!(connected.basis, NegotiationBasis::OnlyEra);
}
