//! The knowledge that a client has of a server, and its transfer to the next client.

use mcp_sansio::cache::{Asker, Cache, CacheKey, CacheLimits};
use mcp_sansio::error::NotAllowed;
use mcp_sansio::event::{ConnectFailure, NegotiationBasis, SubscriptionEnd, SubscriptionNews};
use mcp_sansio::json::Raw;
use mcp_sansio::model::SubscriptionFilter;
use mcp_sansio::{
    CallError, Cause, ClientConfig, ClientEvent, ErrorCode, Outcome, Phase, Principal, Revision,
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

/// A client that assumes a modern server.
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

/// Proves M-ERA-21, M-DISC-17: a client that knows the era does not wait for the server, and sends nothing more if
/// it was right.
#[test]
fn a_client_that_knows_the_server_does_not_wait() {
    let mut side = trusting();
    let call = side.call("tools/list");
    assert_eq!(side.sent(), [asked(2, "tools/list", "")]);
    // The connection is reported once, whichever response is first.
    assert_eq!(side.receive(&result(1, DISCOVERY)), None);
    assert!(
        matches!(ended(side.receive(&result(2, r#"{"tools":[]}"#))), (ended, Outcome::Result(_)) if ended == call)
    );
    side.outcomes();
    is_alive(&mut side);
    // If the server is faster than the application, one event contains everything.
    let mut side = begun(knowing(Revision::V2026_07_28));
    side.sent();
    let Some(ClientEvent::Connected(connected)) = side.receive(&result(1, DISCOVERY)) else {
        panic!()
    };
    assert_eq!((connected.basis, connected.result.as_json()), (NegotiationBasis::Known, DISCOVERY));
    assert_eq!(side.outcomes(), []);
}

/// An error without an id may be the response to any call of an open connection: it says nothing about the probe.
///
/// Proves M-RPC-22, M-ERA-26.
#[test]
fn an_error_without_an_id_is_no_answer_to_the_probe_of_an_open_connection() {
    let mut side = trusting();
    side.call("tools/list");
    side.sent();
    let event = side.receive(r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"m"}}"#);
    assert!(matches!(event, Some(ClientEvent::UnsolicitedError(_))), "{event:?}");
    assert_eq!((side.sent(), side.client.phase()), (vec![], Phase::Ready));
    assert_eq!(side.receive(&result(1, DISCOVERY)), None);
    is_alive(&mut side);
}

/// A call that was sent as modern keeps the meaning of its response, although a session is opened meanwhile: input, or
/// a task, is no final result. A session cannot go on with it, so it is left to the application.
///
/// Proves M-ERA-10, M-RES-12, M-MRTR-12.
#[test]
fn a_response_from_before_a_session_keeps_its_meaning() {
    let asks = r#"{"resultType":"input_required","inputRequests":{"k":{"method":"roots/list"}},"requestState":"s"}"#;
    let task = r#"{"resultType":"task","taskId":"t","status":"working","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttlMs":null}"#;
    let done = r#"{"resultType":"complete","content":[]}"#;
    for is_open in [false, true] {
        for answer in [asks, task, done, r#"{"resultType":"x"}"#] {
            let mut side = trusting();
            let call = side.call("tools/call");
            side.sent();
            assert_eq!(side.elapse(10_000), []);
            assert_eq!(side.sent(), [initialize(3, "2025-11-25")]);
            if is_open {
                absorb(side.receive(&result(3, SESSION)));
            }
            let (ended, outcome) = ended(side.receive(&result(2, answer)));
            assert_eq!(ended, call);
            match outcome {
                Outcome::InputRequired(result) => assert_eq!(result.as_json(), asks),
                Outcome::Task(begun) => {
                    assert_eq!((&*begun.ticket.task_id, begun.task.as_json()), ("t", task));
                }
                Outcome::Result(result) => assert_eq!(result.as_json(), done),
                Outcome::Malformed { .. } => assert_eq!(answer, r#"{"resultType":"x"}"#),
                other => panic!("{other:?}"),
            }
        }
    }
}

/// A client that is about to end needs no outcome of its probe any more: its open calls can finish.
#[test]
fn the_probe_of_a_client_that_shuts_down_changes_nothing() {
    let answers: [Option<String>; 4] = [
        Some(error(1, -32022, SUPPORTED)),
        Some(error(1, -32601, "")),
        Some(result(1, DISCOVERY)),
        None,
    ];
    for answer in answers {
        let mut side = trusting();
        let call = side.call("tools/list");
        side.sent();
        side.client.shut_down(std::time::Duration::from_secs(30), side.now);
        assert!(matches!(only(side.outcomes()), Some(ClientEvent::Draining { .. })));
        match &answer {
            Some(answer) => assert_eq!(side.receive(answer), None, "{answer}"),
            None => assert_eq!(side.elapse(10_000), []),
        }
        assert_eq!((side.sent(), side.client.phase()), (vec![], Phase::Draining), "{answer:?}");
        let end =
            ended(side.receive(&result(2, r#"{"resultType":"complete","tools":[],"ttlMs":0}"#)));
        assert!(matches!(end, (ended, Outcome::Result(_)) if ended == call), "{end:?}");
        let end = side.outcomes().pop();
        assert_eq!(end, Some(ClientEvent::Closed { cause: Cause::ShutDown }));
    }
}

/// Table 4b, row 25, with rows 4 and 9 to 13. Proves M-ERA-21, M-ERA-22, M-ERA-27: the known era is forgotten and a
/// session is opened, which another event reports.
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
        // A call at this point waits.
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

/// A call that waits to be made again cannot be made in a session.
#[test]
fn a_call_that_waits_for_its_next_round_ends_in_a_session() {
    let mut side = trusting();
    let call = side.call("tools/call");
    side.sent();
    // The request is sent again after a delay, under id 3.
    let again = r#"{"resultType":"input_required","requestState":"s"}"#;
    assert_eq!(side.receive(&result(2, again)), None);
    assert_eq!(side.receive(&error(1, -32601, "")), None);
    assert_eq!(side.sent(), [initialize(4, "2025-11-25")]);
    assert!(matches!(side.receive(&result(4, SESSION)), Some(ClientEvent::Connected(_))));
    assert_eq!(side.sent(), [INITIALIZED]);
    let refused = CallError::NotAllowed(NotAllowed::Revision);
    assert_eq!(ended(only(side.elapse(50))), (call, Outcome::CallError(refused)));
    is_alive(&mut side);
}

/// The event for the assumed era is not returned any more if the server refutes it first.
#[test]
fn a_refuted_assumption_is_not_reported() {
    let mut side = begun(knowing(Revision::V2026_07_28));
    assert_eq!(side.sent(), [asked(1, "server/discover", "")]);
    assert_eq!(side.receive(&error(1, -32601, "")), None);
    assert_eq!(side.sent(), [initialize(2, "2025-11-25")]);
    let event = side.receive(&result(2, SESSION));
    let Some(ClientEvent::Connected(connected)) = event else { panic!("{event:?}") };
    assert_eq!(connected.revision, Revision::V2025_11_25);
    assert_eq!(side.outcomes(), []);
}

/// Row 25 with row 14: the probe beside the first calls is not answered in time.
#[test]
fn a_probe_timeout_of_a_known_server_falls_back_to_legacy() {
    let mut side = trusting();
    assert_eq!(side.elapse(10_000), []);
    assert_eq!(side.sent(), [initialize(2, "2025-11-25")]);
    let event = side.receive(&result(2, SESSION));
    let Some(ClientEvent::Connected(connected)) = event else { panic!("{event:?}") };
    assert_eq!(connected.basis, NegotiationBasis::ProbeTimedOut);
}

/// Row 25 with rows 5 and 6: a server that lists the version is probed once more.
#[test]
fn a_known_server_that_stumbles_is_asked_again() {
    let mut side = trusting();
    assert_eq!(side.receive(&error(1, -32022, SUPPORTED)), None);
    assert_eq!(side.sent(), [asked(2, "server/discover", "")]);
    // Nothing has changed, so no second event is necessary.
    let event = side.receive(&result(2, DISCOVERY));
    assert!(matches!(event, None | Some(ClientEvent::Connected(_))), "{event:?}");
    assert_eq!(side.client.revision(), Some(Revision::V2026_07_28));
    is_alive(&mut side);
    // Rows 8 and 10: no other era is available.
    for answer in
        [error(1, -32021, ""), error(1, -32022, r#","data":{"supported":["2099-01-01"]}"#)]
    {
        let mut side = trusting();
        let event = side.receive(&answer);
        assert!(matches!(event, Some(ClientEvent::ConnectFailed(_))), "{event:?}");
        assert_eq!(side.sent(), [""; 0]);
    }
}

/// Row 25 with row 15: a server that was known to be modern goes away. Its next connection begins with
/// `initialize`.
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
        // Any other error is a refusal.
        let event = side.receive(&error(1, -32601, ""));
        assert!(matches!(event, Some(ClientEvent::ConnectFailed(ConnectFailure::PeerError(_)))));
        assert_eq!(side.sent(), [""; 0]);
    }
}

/// Proves M-ERA-21, M-STDIO-10: the next client begins with the era that this client found out.
#[test]
fn a_successor_client_starts_in_the_detected_era() {
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
    // The same for a legacy server.
    let mut side = begun(config::client_of_both_eras());
    side.sent();
    side.receive(&error(1, -32601, ""));
    side.sent();
    absorb(side.receive(&result(2, SESSION)));
    let mut next = successor(&side);
    next.client.connect(next.now, &mut next.out).unwrap();
    assert_eq!(next.sent(), [initialize(1, "2025-11-25")]);
}

/// Opens subscriptions to these resources, in this order.
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

/// Proves M-SUB-22, M-SUB-20, M-STDIO-09, M-STDIO-10, M-DISC-23: lost subscriptions are opened again under new ids;
/// subscriptions that ended in any other way are not.
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
    let ours = side.client.in_flight().subscriptions().next().unwrap();
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
    // The handles are new.
    assert_eq!(next.client.in_flight().subscriptions().count(), 2);
    let event = next.outcomes();
    assert!(matches!(&event[..], [ClientEvent::Connected(_)]), "{event:?}");
    let grant = tagged(
        "subscriptions/acknowledged",
        "2",
        r#""notifications":{"resourceSubscriptions":["a:open"]}"#,
    );
    let (call, granted) = news(next.receive(&grant));
    assert_eq!(next.client.in_flight().subscriptions().next(), Some(call));
    assert!(matches!(granted, SubscriptionNews::Granted { .. }));
}

/// Subscriptions are remembered over any number of failed connections.
/// Proves M-SUB-22.
#[test]
fn a_successor_of_a_successor_asks_for_them_too() {
    let mut side = connected_with(modern());
    subscribed(&mut side, &["a:b"]);
    side.client.disconnected(Cause::EndOfInput, side.now);
    side.outcomes();
    let mut next = successor(&side);
    // This time the server cannot be reached.
    next.client.disconnected(Cause::ReadFailed, next.now);
    next.outcomes();
    let mut after = successor(&next);
    after.client.connect(after.now, &mut after.out).unwrap();
    let again =
        [asked(1, "server/discover", ""), listen(2, r#"{"resourceSubscriptions":["a:b"]}"#)];
    assert_eq!(after.sent(), again);
}

/// Proves M-SUB-34: the configured filter is subscribed to once on every connection, and is not inherited in
/// addition.
#[test]
fn the_configured_filter_is_subscribed_once_per_connection() {
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

/// Proves M-DISC-20, M-MRTR-38: the result of the probe can be cached until the cache is cleared, as after a lost
/// connection. A result that needed input is marked.
#[test]
fn client_events_provide_cacheable_results() {
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
    // A client with the cached result sends no request.
    assert_eq!(side.sent(), [""; 0]);
    cache.clear();
    assert_eq!(cache.get(&CacheKey::discover(asker()), side.now), None);
    // The event of a call reports whether its result needed input.
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
