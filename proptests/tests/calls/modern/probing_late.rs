//! The reaction of a client to a late or missing response to its probe, and to other messages meanwhile: the rest
//! of table 4b.

use std::time::Duration;

use mcp_sansio::capability::Capability;
use mcp_sansio::error::{NotAllowed, ViolationKind};
use mcp_sansio::event::{ConnectFailure, NegotiationBasis, UnmatchedCause};
use mcp_sansio::{
    CallError, CallOptions, Cause, ClientEvent, Frame, Outcome, Phase, Revision, RevisionSet,
};
use mcp_sansio_proptests::{ClientSide, config};

use super::kit::{
    DISCOVERY, INITIALIZED, SESSION, SUPPORTED, absorb, asked, begun, ended, error, initialize,
    is_alive, modern, only, result, successor,
};

/// A client of both eras whose probe has timed out.
fn impatient() -> ClientSide {
    let mut side = begun(config::client_of_both_eras());
    assert_eq!(side.sent(), [asked(1, "server/discover", "")]);
    assert_eq!(side.elapse(9_999), []);
    assert_eq!(side.sent(), [""; 0]);
    assert_eq!(side.elapse(1), []);
    assert_eq!(side.sent(), [initialize(2, "2025-11-25")]);
    side
}

/// Row 14. Proves M-ERA-16, M-DISC-23, M-AMB-22, M-AMB-45: ten seconds, or the configured time; the probe is not
/// cancelled.
#[test]
fn a_probe_that_is_not_answered_in_time_is_given_up_silently() {
    impatient();
    let mut config = config::client_of_both_eras();
    config.connection.timeouts.probe = Some(Duration::from_millis(3));
    let mut side = begun(config);
    side.sent();
    assert_eq!(side.elapse(2), []);
    assert_eq!(side.sent(), [""; 0]);
    assert_eq!(side.elapse(1), []);
    assert_eq!(side.sent(), [initialize(2, "2025-11-25")]);
    // `initialize` is not cancelled either.
    let events = side.elapse(60_000);
    assert!(
        matches!(
            &events[..],
            [ClientEvent::ConnectFailed(ConnectFailure::TimedOut), ClientEvent::Closed { .. }]
        ),
        "{events:?}"
    );
    assert_eq!(side.sent(), [""; 0]);
    // A modern client has no alternative.
    let mut side = begun(modern());
    side.sent();
    let events = side.elapse(10_000);
    assert!(
        matches!(
            &events[..],
            [ClientEvent::ConnectFailed(ConnectFailure::TimedOut), ClientEvent::Closed { .. }]
        ),
        "{events:?}"
    );
    assert_eq!(side.sent(), [""; 0]);
}

/// Rows 14 and 21, and M-R-30. Proves M-ERA-17, M-ERA-32: a late response is reported as unmatched, and counts only
/// if no session opens.
#[test]
fn a_late_answer_to_the_probe_counts_only_without_a_session() {
    let mut side = impatient();
    let event = side.receive(&result(1, DISCOVERY));
    assert!(
        matches!(event, Some(ClientEvent::UnmatchedResponse(unmatched)) if unmatched.cause == UnmatchedCause::TimedOut)
    );
    assert_eq!(side.sent(), [""; 0]);
    assert_eq!((side.client.revision(), side.client.phase()), (None, Phase::Handshake));
    // A second response has no effect at all.
    let mut twice = side.clone();
    assert!(matches!(
        twice.receive(&result(1, DISCOVERY)),
        Some(ClientEvent::UnmatchedResponse(_))
    ));
    // The session opens.
    let mut session = side.clone();
    let event = session.receive(&result(2, SESSION));
    let Some(ClientEvent::Connected(connected)) = event else { panic!("{event:?}") };
    assert_eq!(connected.basis, NegotiationBasis::ProbeTimedOut);
    assert_eq!(session.sent(), [INITIALIZED]);
    // The session does not open, for any reason.
    let unsupported = r#"{"protocolVersion":"2099-01-01","capabilities":{}}"#;
    for answer in [error(2, -32022, SUPPORTED), error(2, -32601, ""), result(2, unsupported)] {
        let mut side = side.clone();
        let call = side.call("tools/list");
        assert_eq!(side.receive(&answer), None);
        assert_eq!(side.sent(), [asked(3, "tools/list", "")]);
        let Some(ClientEvent::Connected(connected)) = only(side.outcomes()) else { panic!() };
        assert_eq!(connected.revision, Revision::V2026_07_28);
        assert_eq!(connected.basis, NegotiationBasis::DiscoveredLate);
        let outcome = ended(side.receive(&result(3, r#"{"tools":[]}"#)));
        assert!(matches!(outcome, (ended, Outcome::Result(_)) if ended == call));
    }
}

/// A late discovery names the capabilities of the server: those that the client requires must be among them, and calls
/// that need another one are not sent.
///
/// Proves M-CAP-16.
#[test]
fn a_late_discovery_counts_with_its_capabilities() {
    let discovery = r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}"#;
    for required in [Capability::Tools, Capability::Prompts] {
        let mut config = config::client_of_both_eras();
        config.required = [required].into_iter().collect();
        let mut side = begun(config);
        side.elapse(10_000);
        side.sent();
        absorb(side.receive(&result(1, discovery)));
        match (required, side.receive(&error(2, -32601, ""))) {
            (Capability::Tools, None) => {
                let Some(ClientEvent::Connected(connected)) = only(side.outcomes()) else {
                    panic!()
                };
                assert_eq!(connected.basis, NegotiationBasis::DiscoveredLate);
                assert_eq!(connected.capabilities, [Capability::Tools].into_iter().collect());
                let options = CallOptions::new();
                let (now, out) = (side.now, &mut side.out);
                let call = side.client.call_method("prompts/list", &(), options, now, out);
                let missing = NotAllowed::Capability(Capability::Prompts);
                assert_eq!(call, Err(CallError::NotAllowed(missing)));
            }
            (_, Some(ClientEvent::ConnectFailed(ConnectFailure::MissingCapabilities(missing)))) => {
                assert_eq!(missing, [required].into_iter().collect());
            }
            other => panic!("{other:?}"),
        }
    }
}

/// All due events are returned in one round, even if one causes another.
#[test]
fn chained_due_events_are_returned_in_one_round() {
    let mut side = impatient();
    absorb(side.receive(&result(1, DISCOVERY)));
    let Some(ClientEvent::Connected(connected)) = only(side.elapse(60_000)) else { panic!() };
    assert_eq!(connected.basis, NegotiationBasis::DiscoveredLate);
    assert_eq!(side.sent(), [""; 0]);
}

/// A late response without a discovery changes nothing.
#[test]
fn a_late_refusal_of_the_probe_changes_nothing() {
    for answer in [error(1, -32601, ""), result(1, "{}"), error(1, -32022, SUPPORTED)] {
        let mut side = impatient();
        assert!(matches!(side.receive(&answer), Some(ClientEvent::UnmatchedResponse(_))));
        assert_eq!(side.sent(), [""; 0]);
        let event = side.receive(&error(2, -32601, ""));
        assert!(matches!(event, Some(ClientEvent::ConnectFailed(ConnectFailure::PeerError(_)))));
        assert_eq!(side.sent(), [""; 0]);
    }
}

/// Row 15. Proves M-ERA-19: a server that goes away should be restarted, and its next connection begins with
/// `initialize`.
#[test]
fn a_server_that_goes_away_when_probed_is_not_probed_again() {
    for cause in [Cause::EndOfInput, Cause::ReadFailed, Cause::WriteFailed] {
        let mut side = begun(config::client_of_both_eras());
        side.sent();
        side.client.disconnected(cause, side.now);
        let events = side.outcomes();
        assert_eq!(
            events,
            [
                ClientEvent::ConnectFailed(ConnectFailure::RestartAdvised(cause)),
                ClientEvent::Closed { cause },
            ]
        );
        let mut next = successor(&side);
        next.client.connect(next.now, &mut next.out).unwrap();
        assert_eq!(next.sent(), [initialize(1, "2025-11-25")]);
        assert!(matches!(next.receive(&result(1, SESSION)), Some(ClientEvent::Connected(_))));
    }
    // A probe that was not sent is no evidence: the next connection begins with a probe again.
    for cause in [Cause::EndOfInput, Cause::ReadFailed, Cause::WriteFailed] {
        let mut side = begun(config::client_of_both_eras());
        side.client.disconnected(cause, side.now);
        let failed = ClientEvent::ConnectFailed(ConnectFailure::Closed(cause));
        assert_eq!(side.outcomes(), [failed, ClientEvent::Closed { cause }]);
        let mut next = successor(&side);
        next.client.connect(next.now, &mut next.out).unwrap();
        let expected = begun(config::client_of_both_eras()).sent();
        assert_eq!(next.sent(), expected);
    }
    // Without an alternative the connection just ends.
    let mut side = begun(modern());
    side.sent();
    side.client.disconnected(Cause::EndOfInput, side.now);
    let failure = ConnectFailure::Closed(Cause::EndOfInput);
    assert_eq!(side.outcomes()[0], ClientEvent::ConnectFailed(failure));
}

/// The way in which this side ends the connection.
type End = fn(&mut ClientSide);

/// If this side ended the connection, no restart is advised, and the next connection probes again.
#[test]
fn a_client_that_ends_before_the_server_is_found_out_knows_nothing_of_it() {
    let probe = [asked(1, "server/discover", "")];
    let ends: [(End, Cause); 2] = [
        (|side| side.client.close(), Cause::ShutDown),
        (
            |side| {
                side.client.shut_down(Duration::from_secs(1), side.now);
                side.now = side.now + Duration::from_secs(1);
            },
            Cause::DrainDeadline,
        ),
    ];
    for (end, cause) in ends {
        let mut side = begun(config::client_of_both_eras());
        assert_eq!(side.sent(), probe);
        end(&mut side);
        let failure = ClientEvent::ConnectFailed(ConnectFailure::Closed(cause));
        let events = side.outcomes();
        assert!(events.contains(&failure), "{events:?}");
        let mut next = successor(&side);
        next.client.connect(next.now, &mut next.out).unwrap();
        assert_eq!(next.sent(), probe);
    }
}

/// As in a session, the response to the probe of a client that is shutting down opens nothing.
#[test]
fn a_client_that_is_shutting_down_does_not_connect() {
    let mut side = begun(config::client_of_both_eras());
    side.sent();
    side.client.shut_down(Duration::from_secs(1), side.now);
    assert!(matches!(side.outcomes()[..], [ClientEvent::Draining { .. }]));
    let failure = ConnectFailure::Closed(Cause::ShutDown);
    assert_eq!(side.receive(&result(1, DISCOVERY)), Some(ClientEvent::ConnectFailed(failure)));
    assert_eq!(side.sent(), [""; 0]);
    assert_eq!(side.outcomes(), [ClientEvent::Closed { cause: Cause::HandshakeFailed }]);
}

/// Row 22. Proves M-ERA-18: a server that was only slow is probed again, once.
#[test]
fn a_modern_refusal_of_initialize_is_probed_once() {
    for answer in [error(2, -32022, SUPPORTED), error(2, -32022, ""), error(2, -32021, "")] {
        let mut side = impatient();
        assert_eq!(side.receive(&answer), None);
        assert_eq!(side.sent(), [asked(3, "server/discover", "")]);
        let mut good = side.clone();
        assert!(matches!(good.receive(&result(3, DISCOVERY)), Some(ClientEvent::Connected(_))));
        is_alive(&mut good);
        // Any second failure is final.
        for second in [error(3, -32601, ""), result(3, "{}"), error(3, -32022, "")] {
            let mut side = side.clone();
            let event = side.receive(&second);
            assert!(matches!(event, Some(ClientEvent::ConnectFailed(_))), "{event:?}");
            assert_eq!(side.sent(), [""; 0]);
        }
        let events = side.elapse(10_000);
        assert!(matches!(events[0], ClientEvent::ConnectFailed(ConnectFailure::TimedOut)));
        assert_eq!(side.sent(), [""; 0]);
    }
}

/// Row 23. Proves M-ERA-31: a session of a revision that is not supported, or that has no sessions.
#[test]
fn a_session_of_another_revision_is_none() {
    for theirs in ["2026-07-28", "2099-01-01", "2024-11-05"] {
        let mut config = config::client_of_both_eras();
        config.revisions = RevisionSet::since(Revision::V2025_03_26);
        let mut side = begun(config);
        side.sent();
        side.receive(&error(1, -32601, ""));
        assert_eq!(side.sent(), [initialize(2, "2025-11-25")]);
        let answer = format!(r#"{{"protocolVersion":"{theirs}","capabilities":{{}}}}"#);
        let event = side.receive(&result(2, &answer));
        let Some(ClientEvent::ConnectFailed(ConnectFailure::UnsupportedRevision {
            theirs: named,
            ours,
        })) = event
        else {
            panic!("{theirs}: {event:?}");
        };
        assert!(named == theirs);
        assert_eq!(ours, RevisionSet::since(Revision::V2025_03_26));
        assert_eq!(side.sent(), [""; 0]);
    }
}

/// Row 24. Proves M-ERA-20, M-LOG-08: other messages during the probe are no response to it.
#[test]
fn other_messages_during_the_probe_are_no_response() {
    let mut side = begun(config::client_of_both_eras());
    side.sent();
    let log = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"starting"}}"#;
    assert!(matches!(side.receive(log), Some(ClientEvent::Notification(_))));
    let changed = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    let event = side.receive(changed);
    assert!(
        matches!(event, Some(ClientEvent::Violation(violation)) if violation.kind == ViolationKind::UnexpectedNotification)
    );
    for noise in ["starting server...", "[]", "7", r#"{"jsonrpc":"2.0","id":9,"result":{}}"#] {
        side.receive(noise);
        assert_eq!(side.sent(), [""; 0], "{noise}");
        assert_eq!(side.client.phase(), Phase::Handshake, "{noise}");
    }
    // A legacy server may send `ping` at any time.
    assert_eq!(side.receive(r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#), None);
    assert_eq!(side.sent(), [r#"{"jsonrpc":"2.0","id":"p","result":{}}"#]);
    side.outcomes();
    assert!(matches!(side.receive(&result(1, DISCOVERY)), Some(ClientEvent::Connected(_))));
    is_alive(&mut side);
}

/// A request of a server of unknown era is not answered, nor is a request of a server that can only be modern.
/// Proves M-ERA-20, M-RPC-15.
#[test]
fn a_request_during_the_probe_is_not_answered() {
    let mut side = begun(config::client_of_both_eras());
    side.sent();
    side.receive(r#"{"jsonrpc":"2.0","id":"r","method":"roots/list"}"#);
    assert_eq!(side.sent(), [""; 0]);
}

/// Proves M-RPC-16, M-ERA-20: a modern client answers no request, even before the era of the server is known.
#[test]
fn a_client_without_sessions_answers_nothing_during_the_probe() {
    let mut side = begun(modern());
    side.sent();
    for method in ["ping", "roots/list", "x/y"] {
        let event = side.receive(&format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}"}}"#));
        assert_eq!(super::kit::violation(event), ViolationKind::RequestFromServer);
        assert_eq!(side.sent(), [""; 0]);
    }
    assert!(matches!(side.receive(&result(1, DISCOVERY)), Some(ClientEvent::Connected(_))));
}

/// The client is closed while it probes.
#[test]
fn a_probe_ends_with_its_client() {
    for config in [config::client_of_both_eras(), modern()] {
        let mut side = begun(config);
        let call = side.call("tools/list");
        side.client.close();
        let events = side.outcomes();
        assert!(matches!(events.last(), Some(ClientEvent::Closed { cause: Cause::ShutDown })));
        let calls = events.iter().filter(|event| {
            matches!(event, ClientEvent::CallEnded(ended) if ended.call == call && ended.outcome == Outcome::NotSent)
        });
        assert_eq!(calls.count(), 1, "{events:?}");
        assert_eq!(side.client.in_flight().counts().outbound, 0);
        assert_eq!(side.client.receive(Frame::from(DISCOVERY), side.now, &mut side.out), None);
    }
}

/// A late discovery is the result of the negotiation: the event contains it, and it is kept like any other.
///
/// Proves M-DISC-17.
#[test]
fn a_late_discovery_is_reported_and_kept() {
    for keeps in [false, true] {
        let mut config = config::client_of_both_eras();
        config.connection.keep_handshake = keeps;
        let mut side = begun(config);
        side.elapse(10_000);
        side.sent();
        absorb(side.receive(&result(1, DISCOVERY)));
        assert_eq!(side.client.handshake(), None, "it may still turn out to be of no use");
        let mut session = side.clone();
        absorb(session.receive(&result(2, SESSION)));
        let kept = session.client.handshake().map(|result| result.as_json());
        assert_eq!(kept, keeps.then_some(SESSION));
        assert_eq!(side.receive(&error(2, -32601, "")), None);
        let Some(ClientEvent::Connected(connected)) = only(side.outcomes()) else { panic!() };
        assert_eq!(connected.basis, NegotiationBasis::DiscoveredLate);
        assert_eq!(connected.result.as_json(), DISCOVERY);
        let kept = side.client.handshake().map(|result| result.as_json());
        assert_eq!(kept, keeps.then_some(DISCOVERY));
    }
}
