//! What a client knows of a server from before, and what the next client gets from this one.

use mcp_sansio::cache::{Asker, Cache, CacheKey, CacheLimits};
use mcp_sansio::event::{ConnectFailure, NegotiationBasis, SubscriptionEnd, SubscriptionNews};
use mcp_sansio::json::Raw;
use mcp_sansio::model::SubscriptionFilter;
use mcp_sansio::{
    Cause, ClientConfig, ClientEvent, ErrorCode, Outcome, Phase, Principal, Revision,
};
use mcp_sansio_proptests::{ClientSide, config};

use super::kit::{
    DISCOVERY, INITIALIZED, SESSION, SUPPORTED, absorb, asked, begun, connected_with, ended, error,
    initialize, is_alive, modern, news, only, result, successor, tagged,
};

fn knowing(revision: Revision) -> ClientConfig {
    let mut config = config::client_of_both_eras();
    config.known = Some(revision);
    config
}

/// A client that has taken it for granted that there is no session.
fn trusting() -> ClientSide {
    let mut side = begun(knowing(Revision::V2026_07_28));
    assert_eq!(side.sent(), [asked(1, "server/discover", "")]);
    assert_eq!(
        (side.client.phase(), side.client.revision()),
        (Phase::Ready, Some(Revision::V2026_07_28))
    );
    let Some(ClientEvent::Connected(connected)) = only(side.outcomes()) else { panic!() };
    assert_eq!((connected.basis, connected.result.as_json()), (NegotiationBasis::Known, "{}"));
    side
}

/// Proves M-ERA-21, M-DISC-17: a client that knows the server does not wait for it, and says nothing more
/// if it was right.
#[test]
fn a_client_that_knows_the_server_does_not_wait() {
    let mut side = trusting();
    let call = side.call("tools/list");
    assert_eq!(side.sent(), [asked(2, "tools/list", "")]);
    // It is not told twice, whichever answer is first.
    assert_eq!(side.receive(&result(1, DISCOVERY)), None);
    assert!(
        matches!(ended(side.receive(&result(2, r#"{"tools":[]}"#))), (ended, Outcome::Result(_)) if ended == call)
    );
    side.outcomes();
    is_alive(&mut side);
    // If the server is faster than the application the one event says all.
    let mut side = begun(knowing(Revision::V2026_07_28));
    side.sent();
    let Some(ClientEvent::Connected(connected)) = side.receive(&result(1, DISCOVERY)) else {
        panic!()
    };
    assert_eq!((connected.basis, connected.result.as_json()), (NegotiationBasis::Known, DISCOVERY));
    assert_eq!(side.outcomes(), []);
}

/// Table 4b, row 25, with rows 4 and 9 to 13. Proves M-ERA-21, M-ERA-22, M-ERA-27: what was known is
/// forgotten, and there is a session, of which another event tells.
#[test]
fn a_server_can_have_lost_its_modern_era() {
    let refused = |code| NegotiationBasis::ProbeRefused(ErrorCode::new(code));
    let table = [
        (error(1, -32601, ""), refused(-32601)),
        (error(1, -32600, ""), refused(-32600)),
        (error(1, -32602, ""), refused(-32602)),
        (error(1, 7, ""), refused(7)),
        (error(1, -32022, ""), refused(-32022)),
        (result(1, "{}"), NegotiationBasis::ProbeMisunderstood),
        (
            result(1, r#"{"supportedVersions":["2025-11-25"],"capabilities":{}}"#),
            NegotiationBasis::OnlySessions,
        ),
    ];
    for (answer, basis) in table {
        let mut side = trusting();
        let lost = side.call("tools/list");
        side.sent();
        assert_eq!(side.receive(&answer), None);
        assert_eq!(side.sent(), [initialize(3, "2025-11-25")]);
        assert_eq!((side.client.phase(), side.client.revision()), (Phase::Handshake, None));
        // What is called now waits.
        let waiting = side.call("tools/list");
        assert_eq!(side.sent(), [""; 0]);
        let outcome = ended(side.receive(&error(2, -32600, "")));
        assert!(matches!(outcome, (ended, Outcome::PeerError(_)) if ended == lost), "{outcome:?}");
        let event = side.receive(&result(3, SESSION));
        let Some(ClientEvent::Connected(connected)) = event else { panic!("{event:?}") };
        assert_eq!((connected.revision, connected.basis), (Revision::V2025_11_25, basis));
        let list = r#"{"jsonrpc":"2.0","id":4,"method":"tools/list"}"#;
        assert_eq!(side.sent(), [INITIALIZED, list]);
        assert!(
            matches!(ended(side.receive(&result(4, r#"{"tools":[]}"#))), (ended, _) if ended == waiting)
        );
        is_alive(&mut side);
    }
}

/// Row 25 with row 14: the probe beside the first calls is not answered in time.
#[test]
fn a_known_server_that_does_not_say_what_it_is_gets_a_session() {
    let mut side = trusting();
    assert_eq!(side.elapse(10_000), []);
    assert_eq!(side.sent(), [initialize(2, "2025-11-25")]);
    let event = side.receive(&result(2, SESSION));
    let Some(ClientEvent::Connected(connected)) = event else { panic!("{event:?}") };
    assert_eq!(connected.basis, NegotiationBasis::ProbeTimedOut);
}

/// Row 25 with rows 5 and 6: a server that names the version is asked with it once more.
#[test]
fn a_known_server_that_stumbles_is_asked_again() {
    let mut side = trusting();
    assert_eq!(side.receive(&error(1, -32022, SUPPORTED)), None);
    assert_eq!(side.sent(), [asked(2, "server/discover", "")]);
    // Nothing has changed, so that it need not be told again.
    let event = side.receive(&result(2, DISCOVERY));
    assert!(matches!(event, None | Some(ClientEvent::Connected(_))), "{event:?}");
    assert_eq!(side.client.revision(), Some(Revision::V2026_07_28));
    is_alive(&mut side);
    // Row 8, 10: there is nothing to turn to.
    for answer in
        [error(1, -32021, ""), error(1, -32022, r#","data":{"supported":["2099-01-01"]}"#)]
    {
        let mut side = trusting();
        let event = side.receive(&answer);
        assert!(matches!(event, Some(ClientEvent::ConnectFailed(_))), "{event:?}");
        assert_eq!(side.sent(), [""; 0]);
    }
}

/// Row 25 with row 15: the server goes away although it was known to need no session. Its next connection
/// begins with `initialize`.
/// Proves M-ERA-19, M-ERA-22.
#[test]
fn a_known_server_that_goes_away_is_asked_for_a_session() {
    let mut side = trusting();
    side.client.disconnected(Cause::EndOfInput, side.now);
    let events = side.outcomes();
    let advised = ConnectFailure::RestartAdvised(Cause::EndOfInput);
    assert_eq!(events[0], ClientEvent::ConnectFailed(advised));
    let mut next = successor(&side);
    next.client.connect(next.now, &mut next.out).unwrap();
    assert_eq!(next.sent(), [initialize(1, "2025-11-25")]);
}

/// Table 4b, row 26. Proves M-ERA-22, M-ERA-18: a server that was known to have sessions refuses one.
#[test]
fn a_server_can_have_lost_its_sessions() {
    for known in [Revision::V2025_11_25, Revision::V2024_11_05] {
        let mut side = begun(knowing(known));
        assert_eq!(side.sent(), [initialize(1, "2025-11-25")]);
        let mut session = side.clone();
        let event = session.receive(&result(1, SESSION));
        let Some(ClientEvent::Connected(connected)) = event else { panic!("{event:?}") };
        assert_eq!(connected.basis, NegotiationBasis::Known);
        for code in [-32022, -32021] {
            let mut side = side.clone();
            assert_eq!(side.receive(&error(1, code, SUPPORTED)), None);
            assert_eq!(side.sent(), [asked(2, "server/discover", "")]);
            let event = side.receive(&result(2, DISCOVERY));
            let Some(ClientEvent::Connected(connected)) = event else { panic!("{event:?}") };
            assert_eq!(connected.basis, NegotiationBasis::Discovered);
            is_alive(&mut side);
        }
        // Any other refusal is one.
        let event = side.receive(&error(1, -32601, ""));
        assert!(matches!(event, Some(ClientEvent::ConnectFailed(ConnectFailure::PeerError(_)))));
        assert_eq!(side.sent(), [""; 0]);
    }
}

/// Proves M-ERA-21, M-STDIO-10: the next client begins with what this one has found out.
#[test]
fn a_successor_knows_what_was_found_out() {
    let mut side = connected_with(config::client_of_both_eras());
    let next = successor(&side);
    assert_eq!(next.client.config().known, Some(Revision::V2026_07_28));
    side.client.disconnected(Cause::EndOfInput, side.now);
    side.outcomes();
    let mut next = successor(&side);
    next.client.connect(next.now, &mut next.out).unwrap();
    assert_eq!(next.sent(), [asked(1, "server/discover", "")]);
    next.call("tools/list");
    assert_eq!(next.sent(), [asked(2, "tools/list", "")]);
    // And that there are sessions.
    let mut side = begun(config::client_of_both_eras());
    side.sent();
    side.receive(&error(1, -32601, ""));
    side.sent();
    absorb(side.receive(&result(2, SESSION)));
    let mut next = successor(&side);
    next.client.connect(next.now, &mut next.out).unwrap();
    assert_eq!(next.sent(), [initialize(1, "2025-11-25")]);
}

/// Opens subscriptions to this resource, in this order. Gives what the first of them has as id.
fn subscribed(side: &mut ClientSide, uris: &[&str]) {
    for uri in uris {
        let filter = SubscriptionFilter::new().with_resource(*uri);
        side.client.subscribe(&filter, side.now, &mut side.out).unwrap();
    }
    side.sent();
}

fn listen(id: u64, filter: &str) -> String {
    asked(id, "subscriptions/listen", &format!(r#""notifications":{filter}"#))
}

/// Proves M-SUB-22, M-SUB-20, M-STDIO-09, M-STDIO-10, M-DISC-23: subscriptions that were lost are asked
/// for again, under new ids; those that ended in any other way are not.
#[test]
fn a_successor_asks_for_the_subscriptions_that_were_lost() {
    let mut side = connected_with(modern());
    subscribed(
        &mut side,
        &["a:finished", "a:cancelled", "a:rejected", "a:ours", "a:open", "a:opening"],
    );
    for id in [2, 3, 6] {
        let grant = tagged("subscriptions/acknowledged", &id.to_string(), r#""notifications":{}"#);
        absorb(side.receive(&grant));
    }
    absorb(side.receive(&result(2, r#"{"resultType":"complete"}"#)));
    absorb(side.receive(
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}"#,
    ));
    absorb(side.receive(&error(4, -32603, "")));
    let ours = side.client.subscriptions().next().unwrap();
    side.client.cancel(ours, None, &mut side.out).unwrap();
    side.client.disconnected(Cause::EndOfInput, side.now);
    let lost = side.outcomes().into_iter().filter(|event| {
        matches!(event, ClientEvent::Subscription(update)
            if update.news == SubscriptionNews::Ended(SubscriptionEnd::Lost(Cause::EndOfInput)))
    });
    assert_eq!(lost.count(), 2);
    let mut next = successor(&side);
    next.client.connect(next.now, &mut next.out).unwrap();
    let again = [
        asked(1, "server/discover", ""),
        listen(2, r#"{"resourceSubscriptions":["a:open"]}"#),
        listen(3, r#"{"resourceSubscriptions":["a:opening"]}"#),
    ];
    assert_eq!(next.sent(), again);
    // The handles are new ones.
    assert_eq!(next.client.subscriptions().count(), 2);
    let event = next.outcomes();
    assert!(matches!(&event[..], [ClientEvent::Connected(_)]), "{event:?}");
    let grant = tagged(
        "subscriptions/acknowledged",
        "2",
        r#""notifications":{"resourceSubscriptions":["a:open"]}"#,
    );
    let (call, granted) = news(next.receive(&grant));
    assert_eq!(next.client.subscriptions().next(), Some(call));
    assert!(matches!(granted, SubscriptionNews::Granted { .. }));
}

/// Subscriptions are remembered over any number of connections that come to nothing.
/// Proves M-SUB-22.
#[test]
fn a_successor_of_a_successor_asks_for_them_too() {
    let mut side = connected_with(modern());
    subscribed(&mut side, &["a:b"]);
    side.client.disconnected(Cause::EndOfInput, side.now);
    side.outcomes();
    let mut next = successor(&side);
    // This time the server cannot even be reached.
    next.client.disconnected(Cause::ReadFailed, next.now);
    next.outcomes();
    let mut after = successor(&next);
    after.client.connect(after.now, &mut after.out).unwrap();
    let again =
        [asked(1, "server/discover", ""), listen(2, r#"{"resourceSubscriptions":["a:b"]}"#)];
    assert_eq!(after.sent(), again);
}

/// Proves M-SUB-34: what the configuration asks for is asked for once on every connection, and is not
/// taken along besides.
#[test]
fn what_the_configuration_listens_for_is_asked_for_once() {
    let mut config = modern();
    config.listen = Some(SubscriptionFilter::new().with_tools().with_prompts());
    let mut side = connected_with(config);
    let filter = r#"{"toolsListChanged":true,"promptsListChanged":true}"#;
    assert_eq!(side.sent(), [listen(2, filter)]);
    side.client.disconnected(Cause::EndOfInput, side.now);
    side.outcomes();
    let mut next = successor(&side);
    next.client.connect(next.now, &mut next.out).unwrap();
    assert_eq!(next.sent(), [asked(1, "server/discover", ""), listen(2, filter)]);
    let Some(ClientEvent::Connected(_)) = only(next.outcomes()) else { panic!() };
    assert_eq!(next.receive(&result(1, DISCOVERY)), None);
    assert_eq!(next.sent(), [""; 0]);
}

fn asker() -> Asker {
    Asker::new(Principal::new(0), Revision::V2026_07_28)
}

/// Proves M-DISC-20, M-MRTR-38: what the probe brought can be used again; nothing is after a connection was
/// lost; and what was an answer to input is marked as such.
#[test]
fn what_the_client_gets_seeds_a_cache() {
    let mut cache = Cache::new(CacheLimits::default());
    let mut side = begun(modern());
    side.sent();
    let ticket = cache.begin(CacheKey::discover(asker()));
    let lasting = DISCOVERY.replace(r#""ttlMs":0"#, r#""ttlMs":1000"#);
    let Some(ClientEvent::Connected(connected)) = side.receive(&result(1, &lasting)) else {
        panic!()
    };
    cache.store(ticket, &connected.result, side.now);
    let found = cache.get(&CacheKey::discover(asker()), side.now);
    assert_eq!(found.map(Raw::as_json), Some(&*lasting));
    // Whoever has it need not ask.
    assert_eq!(side.sent(), [""; 0]);
    cache.clear();
    assert_eq!(cache.get(&CacheKey::discover(asker()), side.now), None);
    // The event of a call says whether its result is of this kind.
    let call = side.call("resources/read");
    side.sent();
    let event = side.receive(&result(
        2,
        r#"{"resultType":"complete","contents":[],"ttlMs":9,"cacheScope":"public"}"#,
    ));
    let Some(ClientEvent::CallEnded(plain)) = event else { panic!() };
    assert_eq!((plain.call, plain.needed_input), (call, false));
    side.call("resources/read");
    let interim = r#"{"resultType":"input_required","requestState":"s"}"#;
    assert_eq!(side.receive(&result(3, interim)), None);
    assert_eq!(side.elapse(50), []);
    side.sent();
    let event = side.receive(&result(
        4,
        r#"{"resultType":"complete","contents":[],"ttlMs":9,"cacheScope":"public"}"#,
    ));
    let Some(ClientEvent::CallEnded(after_input)) = event else { panic!() };
    assert!(after_input.needed_input);
}
