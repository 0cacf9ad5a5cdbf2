//! The reaction of a client to each response to its probe, on the wire: table 4b.

use mcp_sansio::event::{ConnectFailure, NegotiationBasis, UnmatchedCause};
use mcp_sansio::{ClientConfig, ClientEvent, ErrorCode, Phase, Revision};
use mcp_sansio_proptests::{ClientSide, config};

use super::kit::{
    DISCOVERY, INITIALIZED, SESSION, SUPPORTED, asked, begun, error, is_alive, modern, result,
};

/// The reaction of a client to a response to its probe.
#[derive(Debug, PartialEq)]
enum Then {
    /// It continues in the modern era.
    Goes(NegotiationBasis),
    /// It probes again.
    Probes,
    /// It opens a session of this revision.
    Initializes(&'static str),
    /// It fails without a common version, and this is the list of the server.
    NothingInCommon(&'static str),
    /// It fails because the server refused with this code.
    Refused(i64),
    /// It fails because the response is malformed.
    Malformed,
}

const NEWEST: Then = Then::Initializes("2025-11-25");

#[track_caller]
fn check(config: ClientConfig, answer: &str, expected: &Then) -> ClientSide {
    let mut side = begun(config);
    assert_eq!(side.sent(), [asked(1, "server/discover", "")]);
    let event = side.receive(answer);
    let sent = side.sent();
    let then = match event {
        Some(ClientEvent::Connected(connected)) => {
            assert_eq!(sent, [""; 0]);
            assert_eq!(side.client.phase(), Phase::Ready);
            Then::Goes(connected.basis)
        }
        None if sent == [asked(2, "server/discover", "")] => Then::Probes,
        None => match expected {
            Then::Initializes(revision) => {
                let begin = format!(
                    r#"{{"jsonrpc":"2.0","id":2,"method":"initialize","params":{{"protocolVersion":"{revision}","#
                );
                assert!(sent.len() == 1 && sent[0].starts_with(&begin), "{answer}: {sent:?}");
                Then::Initializes(revision)
            }
            _ => panic!("{answer}: {sent:?}"),
        },
        Some(ClientEvent::ConnectFailed(failure)) => {
            assert_eq!(sent, [""; 0]);
            assert_eq!(side.client.phase(), Phase::Closed);
            match (failure, expected) {
                (
                    ConnectFailure::NoCommonRevision { theirs, ours },
                    Then::NothingInCommon(list),
                ) => {
                    assert_eq!(ours, side.client.config().revisions);
                    assert_eq!(theirs.as_json(), *list, "{answer}");
                    Then::NothingInCommon(list)
                }
                (ConnectFailure::PeerError(error), _) => Then::Refused(error.code.get()),
                (ConnectFailure::Malformed { .. }, _) => Then::Malformed,
                (failure, _) => panic!("{answer}: {failure:?}"),
            }
        }
        event => panic!("{answer}: {event:?}"),
    };
    assert_eq!(then, *expected, "{answer}");
    side
}

fn discovery(versions: &str) -> String {
    result(
        1,
        &format!(
            r#"{{"resultType":"complete","supportedVersions":{versions},"capabilities":{{}}}}"#
        ),
    )
}

fn wrong_version(data: &str) -> String {
    error(1, -32022, data)
}

/// Rows 1 to 4 and 9 to 13 for the first response, for a client of both eras and for a modern client. Proves
/// M-ERA-13, M-ERA-14, M-ERA-15, M-ERA-23, M-ERA-25, M-ERR-04, M-DISC-07, M-DISC-14, M-DISC-15, M-DISC-19.
/// Pain 32.
#[test]
fn each_answer_to_a_probe_has_its_consequence() {
    let goes = || Then::Goes(NegotiationBasis::Discovered);
    let data = |supported: &str| {
        wrong_version(&format!(r#","data":{{"supported":{supported},"requested":"2026-07-28"}}"#))
    };
    let mut table = vec![
        // 1
        (discovery(r#"["2026-07-28"]"#), goes(), goes()),
        (discovery(r#"["2024-11-05","2026-07-28"]"#), goes(), goes()),
        // 2
        (discovery(r#"["2025-11-25"]"#), NEWEST, Then::NothingInCommon(r#"["2025-11-25"]"#)),
        (
            discovery(r#"["2025-03-26","2024-11-05"]"#),
            Then::Initializes("2025-03-26"),
            Then::NothingInCommon(r#"["2025-03-26","2024-11-05"]"#),
        ),
        // 3
        (
            discovery(r#"["2099-01-01"]"#),
            Then::NothingInCommon(r#"["2099-01-01"]"#),
            Then::NothingInCommon(r#"["2099-01-01"]"#),
        ),
        (discovery("[]"), Then::NothingInCommon("[]"), Then::NothingInCommon("[]")),
        // 5
        (data(r#"["2026-07-28"]"#), Then::Probes, Then::Probes),
        (data(r#"["2025-11-25","2026-07-28"]"#), Then::Probes, Then::Probes),
        // 7
        (
            data(r#"["2024-11-05","2025-06-18"]"#),
            Then::Initializes("2025-06-18"),
            Then::NothingInCommon(r#"["2024-11-05","2025-06-18"]"#),
        ),
        // 8
        (
            data(r#"["2099-01-01"]"#),
            Then::NothingInCommon(r#"["2099-01-01"]"#),
            Then::NothingInCommon(r#"["2099-01-01"]"#),
        ),
        // 10
        (
            error(1, -32021, r#","data":{"requiredCapabilities":{"sampling":{}}}"#),
            Then::Refused(-32021),
            Then::Refused(-32021),
        ),
    ];
    // 4
    for odd in [
        "{}",
        r#"{"protocolVersion":"2025-11-25","capabilities":{}}"#,
        r#"{"supportedVersions":"2026-07-28","capabilities":{}}"#,
        r#"{"supportedVersions":["2026-07-28"]}"#,
        r#"{"supportedVersions":["2026-07-28"],"capabilities":[]}"#,
        r#"{"resultType":"task","supportedVersions":["2026-07-28"],"capabilities":{}}"#,
        r#"{"resultType":"input_required","supportedVersions":["2026-07-28"],"capabilities":{}}"#,
        r#"{"resultType":1,"supportedVersions":["2026-07-28"],"capabilities":{}}"#,
    ] {
        table.push((result(1, odd), NEWEST, Then::Malformed));
    }
    // 9
    for odd in [
        "",
        r#","data":{}"#,
        r#","data":{"supported":"2026-07-28"}"#,
        r#","data":[]"#,
        r#","data":null"#,
    ] {
        table.push((wrong_version(odd), NEWEST, Then::Refused(-32022)));
    }
    // 11, 12, 13
    let codes = [-32020, -32601, -32602, -32600, -32603, -32700, -32000, -32001, -32003, -32004];
    for code in codes.into_iter().chain([-32002, -32042, -32023, -32099, 12345, 0, 1]) {
        table.push((error(1, code, ""), NEWEST, Then::Refused(code)));
    }
    // 13, from a server that could not read the id.
    let idless = r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"m"}}"#;
    table.push((idless.to_owned(), NEWEST, Then::Refused(-32600)));
    // A broken response with the right id is no discovery either.
    let broken = r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"m"}}"#;
    table.push((broken.to_owned(), NEWEST, Then::Malformed));
    for (answer, of_both, of_one) in &table {
        check(config::client_of_both_eras(), answer, of_both);
        check(modern(), answer, of_one);
    }
}

/// Row 1, and the calls that follow. Proves M-DISC-17, M-DISC-20, M-ERA-21: the result of the discovery is used and
/// not requested again.
#[test]
fn the_discover_result_is_reused_by_later_calls() {
    let mut side = check(
        config::client_of_both_eras(),
        &result(1, DISCOVERY),
        &Then::Goes(NegotiationBasis::Discovered),
    );
    for id in 2..5 {
        side.call("tools/list");
        assert_eq!(side.sent(), [asked(id, "tools/list", "")]);
    }
}

/// Rows 5 and 6. Proves M-DISC-12, M-DISC-13: the same probe again, under a new id, once.
#[test]
fn a_probe_is_corrected_once() {
    for config in [config::client_of_both_eras(), modern()] {
        let side = check(config, &wrong_version(SUPPORTED), &Then::Probes);
        let mut good = side.clone();
        let event = good.receive(&result(2, DISCOVERY));
        assert!(matches!(event, Some(ClientEvent::Connected(_))), "{event:?}");
        is_alive(&mut good);
        let mut bad = side.clone();
        let event = bad.receive(&error(2, -32022, SUPPORTED));
        let Some(ClientEvent::ConnectFailed(ConnectFailure::PeerError(error))) = event else {
            panic!("{event:?}");
        };
        assert_eq!(error.code, ErrorCode::UNSUPPORTED_PROTOCOL_VERSION);
        assert_eq!(bad.sent(), [""; 0]);
        assert_eq!(bad.client.phase(), Phase::Closed);
        // A repeated response to the first probe has no effect.
        let mut twice = side;
        let event = twice.receive(&wrong_version(SUPPORTED));
        assert!(
            matches!(event, Some(ClientEvent::UnmatchedResponse(unmatched)) if unmatched.cause == UnmatchedCause::Completed)
        );
        assert_eq!(twice.sent(), [""; 0]);
    }
}

/// Rows 2, 7, 9 to 13: the session that follows is an ordinary one, and its event contains the reason.
/// Proves M-ERA-13, M-ERA-15, M-ERA-28, M-ERA-32.
#[test]
fn a_session_follows_a_refused_probe() {
    let code = |code| NegotiationBasis::ProbeRefused(ErrorCode::new(code));
    let table = [
        (discovery(r#"["2025-11-25"]"#), NegotiationBasis::OnlySessions),
        (result(1, "{}"), NegotiationBasis::ProbeMisunderstood),
        (error(1, -32601, ""), code(-32601)),
        (error(1, -32020, ""), code(-32020)),
        (error(1, -32022, ""), code(-32022)),
    ];
    for (answer, basis) in table {
        let mut side = check(config::client_of_both_eras(), &answer, &NEWEST);
        let event = side.receive(&result(2, SESSION));
        let Some(ClientEvent::Connected(connected)) = event else { panic!("{event:?}") };
        assert_eq!((connected.revision, connected.basis), (Revision::V2025_11_25, basis));
        assert_eq!(side.client.basis(), Some(basis));
        assert_eq!(side.sent(), [INITIALIZED]);
        is_alive(&mut side);
    }
}

/// Row 9. Proves M-DISC-14, M-ERA-18: a server that used the modern error is probed once more if it refuses a
/// session.
#[test]
fn a_wrong_version_without_a_list_is_asked_about_again() {
    let mut side = check(config::client_of_both_eras(), &wrong_version(""), &NEWEST);
    assert_eq!(side.receive(&error(2, -32601, "")), None);
    assert_eq!(side.sent(), [asked(3, "server/discover", "")]);
    let mut good = side.clone();
    assert!(matches!(good.receive(&result(3, DISCOVERY)), Some(ClientEvent::Connected(_))));
    assert_eq!(good.client.basis(), Some(NegotiationBasis::Discovered));
    is_alive(&mut good);
    let event = side.receive(&error(3, -32022, ""));
    assert!(matches!(event, Some(ClientEvent::ConnectFailed(ConnectFailure::PeerError(_)))));
    assert_eq!(side.sent(), [""; 0]);
}
