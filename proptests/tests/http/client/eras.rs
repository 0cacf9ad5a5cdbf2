//! How statuses and bodies determine the era of a server.

use mcp_sansio::error::TransportFailureKind;
use mcp_sansio::event::{ConnectFailure, NegotiationBasis};
use mcp_sansio::{ClientConfig, ClientEvent, ErrorCode, Outcome, Revision, RevisionSet};
use mcp_sansio_proptests::config;

use super::kit::{Act, DISCOVERY, EVENTS, JSON, Side, URL, error, post, request, result, session};

fn both() -> ClientConfig {
    config::client_of_both_eras()
}

/// Expects this response to a probe to cause a legacy handshake, and returns the basis of the negotiation.
#[track_caller]
fn falls_back(status: u16, headers: &[(&str, &str)], body: &str) -> NegotiationBasis {
    let mut side = Side::begun(both());
    let probe = side.sent_one();
    assert_eq!(probe.header("Mcp-Method"), Some("server/discover"));
    assert_eq!(side.answer(&probe, status, headers, body), [], "{status} {body}");
    let initialize = side.sent_one();
    // The `initialize` request contains nothing of the modern era.
    let opening = Side::begun(config::client()).sent_one();
    assert_eq!(initialize.text(), opening.text().replace(r#""id":1"#, r#""id":2"#));
    let answer = result(2, &session(Revision::V2025_11_25));
    let events = side.answer(&initialize, 200, &[JSON], &answer);
    let [ClientEvent::Connected(connected)] = &events[..] else { panic!("{events:?}") };
    assert_eq!(connected.revision, Revision::V2025_11_25);
    connected.basis
}

/// Proves H-HTTP-227, H-HTTP-228, H-HTTP-230, H-HTTP-231, M-AMB-27.
#[test]
fn a_server_that_refuses_the_probe_is_asked_for_a_session() {
    for status in [400, 404, 405, 406, 422] {
        for (headers, body) in
            [(&[][..], ""), (&[("Content-Type", "text/html")], "<html>"), (&[JSON], "{}")]
        {
            assert_eq!(falls_back(status, headers, body), NegotiationBasis::ProbeNotServed(status));
        }
    }
    for code in [-32601, -32602, -32600, -32000] {
        let basis = NegotiationBasis::ProbeRefused(ErrorCode::from(code));
        for status in [200, 400, 404] {
            assert_eq!(falls_back(status, &[JSON], &error(1, code)), basis);
            assert_eq!(falls_back(status, &[JSON], &error(None, code)), basis);
        }
        let event = format!("data: {}\n\n", error(1, code));
        assert_eq!(falls_back(200, &[EVENTS], &event), basis);
    }
    assert_eq!(falls_back(202, &[], ""), NegotiationBasis::ProbeMisunderstood);
    assert_eq!(falls_back(200, &[JSON], "{}"), NegotiationBasis::ProbeMisunderstood);
}

/// Proves H-HTTP-228, H-HTTP-132.
#[test]
fn a_refusal_that_only_a_server_without_sessions_knows_is_no_reason_for_one() {
    let wrong = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"m","data":{"supported":["2026-07-28"],"requested":"x"}}}"#;
    let mut side = Side::begun(both());
    let probe = side.sent_one();
    assert_eq!(side.answer(&probe, 400, &[JSON], wrong), []);
    let again = side.sent_one();
    assert_eq!(again.text(), probe.text().replace(r#""id":1"#, r#""id":2"#));
    let events = side.json(&again, &result(2, DISCOVERY));
    assert!(matches!(&events[..], [ClientEvent::Connected(_)]), "{events:?}");
    // The same for a call: a new exchange, a new id, the same header fields.
    let (call, request) = side.asks("tools/list", "{}");
    let wrong = wrong.replace(r#""id":1"#, r#""id":3"#);
    assert_eq!(side.answer(&request, 400, &[JSON], &wrong), []);
    let again = side.sent_one();
    assert_eq!(again.text(), request.text().replace(r#""id":3"#, r#""id":4"#));
    let answer = r#"{"resultType":"complete","tools":[]}"#;
    assert_eq!(super::kit::complete(side.json(&again, &result(4, answer))).0, call);
    // A server that lacks a capability supports the revision.
    let mut side = Side::begun(both());
    let probe = side.sent_one();
    let events = side.answer(&probe, 400, &[JSON], &error(1, -32021));
    assert!(
        matches!(&events[..], [ClientEvent::ConnectFailed(ConnectFailure::PeerError(_))]),
        "{events:?}"
    );
}

/// Proves H-HTTP-228, M-ERA-40.
#[test]
fn an_auth_or_transport_failure_causes_no_era_fallback() {
    for (status, headers, kind) in [
        (401, &[][..], TransportFailureKind::Unauthorized),
        (403, &[("WWW-Authenticate", "Bearer")], TransportFailureKind::Unauthorized),
        (500, &[], TransportFailureKind::Refused),
        (503, &[], TransportFailureKind::Refused),
        (307, &[], TransportFailureKind::Refused),
    ] {
        let mut side = Side::begun(both());
        let probe = side.sent_one();
        let events = side.answer(&probe, status, headers, "");
        let [ClientEvent::ConnectFailed(ConnectFailure::TransportFailed(failure))] = &events[..]
        else {
            panic!("{status}: {events:?}")
        };
        assert_eq!((failure.kind, failure.status), (kind, Some(status)));
        assert_eq!(side.due().len(), 1);
        assert!(side.acts().is_empty());
        assert!(side.http.is_over());
    }
    let mut side = Side::begun(both());
    let probe = side.sent_one();
    let events = side.failed(&probe);
    let [ClientEvent::ConnectFailed(ConnectFailure::TransportFailed(failure))] = &events[..] else {
        panic!("{events:?}")
    };
    assert_eq!(failure.kind, TransportFailureKind::Unreachable);
}

/// Proves H-HR-15.
#[test]
fn a_probe_that_was_given_up_is_broken_off_when_there_is_a_session() {
    let opened = |side: &mut Side| {
        let probe = side.sent_one();
        side.elapse(10_000);
        assert_eq!(side.due(), []);
        let initialize = side.sent_one();
        assert_eq!(initialize.id(), 2);
        (probe, initialize)
    };
    let mut side = Side::begun(both());
    let (probe, initialize) = opened(&mut side);
    let answer = result(2, &session(Revision::V2025_11_25));
    assert_eq!(side.answer(&initialize, 200, &[JSON], &answer).len(), 1);
    let acts = side.acts();
    assert!(matches!(acts[0], Act::Abort(aborted) if aborted == probe.exchange), "{acts:?}");
    assert_eq!(side.json(&probe, &result(1, DISCOVERY)), []);
    // Before the session is open, the abandoned probe stays open and does no harm.
    let mut side = Side::begun(both());
    let (probe, initialize) = opened(&mut side);
    let events = side.json(&probe, &result(1, DISCOVERY));
    assert!(matches!(&events[..], [ClientEvent::UnmatchedResponse(_)]), "{events:?}");
    assert_eq!(side.answer(&initialize, 200, &[JSON], &answer).len(), 1);
    assert_eq!(side.http.client().revision(), Some(Revision::V2025_11_25));
    assert_eq!(side.sent().len(), 1);
}

/// Proves H-HTTP-131, M-ERA-34.
#[test]
fn a_404_for_a_modern_request_keeps_the_legacy_session() {
    let mut client = both();
    client.known = Some(Revision::V2026_07_28);
    let mut side = Side::begun(client);
    assert!(matches!(&side.due()[..], [ClientEvent::Connected(_)]));
    let call = side.call("tools/list", "{}");
    let sent = side.sent();
    let [probe, request] = &sent[..] else { panic!("{sent:?}") };
    assert_eq!(request.header("Mcp-Method"), Some("tools/list"));
    assert_eq!(side.answer(probe, 404, &[], ""), []);
    let initialize = side.sent_one();
    let minted = ("Mcp-Session-Id", "s-1");
    let answer = result(initialize.id(), &session(Revision::V2025_11_25));
    assert_eq!(side.answer(&initialize, 200, &[JSON, minted], &answer).len(), 1);
    assert_eq!(side.http.transport().session_id(), Some("s-1"));
    // The request never named the session, so its 404 does not end the session.
    let (failed, outcome) = super::kit::ended(side.answer(request, 404, &[], ""));
    assert_eq!(failed, call);
    let Outcome::TransportFailed(failure) = outcome else { panic!("{outcome:?}") };
    assert_eq!((failure.kind, failure.status), (TransportFailureKind::Refused, Some(404)));
    assert_eq!(side.http.transport().session_id(), Some("s-1"));
    // The call is not repeated in the session either, not even when the session is open.
    let initialized = side.sent_one();
    assert_eq!(initialized.body(), super::kit::INITIALIZED);
    assert_eq!(side.answer(&initialized, 202, &[], ""), []);
    let listening = side.sent_one();
    assert_eq!((listening.request.method, listening.body()), ("GET", ""));
    side.elapse(1_000);
    assert!(side.acts().is_empty());
}

/// Proves H-HTTP-232.
#[test]
fn a_known_revision_or_era_skips_the_probe() {
    let mut client = both();
    client.known = Some(Revision::V2025_06_18);
    let mut side = Side::begun(client);
    let opening = side.sent_one();
    assert!(opening.text().contains("\"method\":\"initialize\""));
    let events = side.json(&opening, &result(1, &session(Revision::V2025_06_18)));
    let [ClientEvent::Connected(connected)] = &events[..] else { panic!("{events:?}") };
    assert_eq!(connected.basis, NegotiationBasis::Known);
    let mut client = both();
    client.revisions = RevisionSet::MODERN;
    client.probe = false;
    let mut side = Side::begun(client);
    assert!(matches!(&side.due()[..], [ClientEvent::Connected(_)]));
    let (_, request) = side.asks("tools/list", "{}");
    let headers = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/list")];
    assert_eq!(request.text(), post(&headers, &super::kit::asked(1, "tools/list", "")));
}

/// If the response to the probe is late, and no session opens, the client ends the session that it was about to open.
#[test]
fn a_late_discovery_ends_the_session_that_was_not_opened() {
    let side = Side::begun(config::client_of_both_eras());
    ends_the_session_that_was_not_opened(side);
}

/// The end of that session names no revision, also if the client had known one.
#[test]
fn a_session_that_was_not_opened_has_no_revision() {
    let mut client = config::client_of_both_eras();
    client.known = Some(Revision::V2026_07_28);
    let mut side = Side::begun(client);
    let events = side.due();
    assert!(matches!(&events[..], [ClientEvent::Connected(_)]), "{events:?}");
    ends_the_session_that_was_not_opened(side);
}

#[track_caller]
fn ends_the_session_that_was_not_opened(mut side: Side) {
    let probe = side.sent_one();
    side.elapse(10_000);
    assert_eq!(side.due(), []);
    let opening = side.sent_one();
    let reader = side.head(&opening, 200, &[EVENTS, ("Mcp-Session-Id", "s-1")]);
    assert!(reader.is_some());
    let events = side.json(&probe, &result(1, DISCOVERY));
    assert!(matches!(&events[..], [ClientEvent::UnmatchedResponse(_)]), "{events:?}");
    side.elapse(60_000);
    let events = side.due();
    let [ClientEvent::Connected(connected)] = &events[..] else { panic!("{events:?}") };
    assert_eq!(connected.revision, Revision::V2026_07_28);
    let acts = side.acts();
    let [Act::Abort(aborted), Act::Send(farewell)] = &acts[..] else { panic!("{acts:?}") };
    assert_eq!(*aborted, opening.exchange);
    let expected = request("DELETE", URL, &[("Mcp-Session-Id", "s-1")], "");
    assert_eq!(farewell.text(), expected);
    assert_eq!(side.answer(farewell, 200, &[], ""), []);
    assert_eq!(side.http.transport().exchanges(), 0);
}
