//! What is concluded from a response.

use mcp_sansio::{CarrierFailure, CarrierFailureKind, ErrorCode, Outcome};

use super::kit::{EVENTS, JSON, Side, complete, ended, error, result};

const DONE: &str = r#"{"resultType":"complete","tools":[]}"#;

/// What a call comes to whose request has this response.
#[track_caller]
fn outcome(status: u16, headers: &[(&str, &str)], body: &str) -> Outcome<'static> {
    let mut side = Side::modern();
    let (call, request) = side.asks("tools/list", "{}");
    let (ended, outcome) = ended(side.answer(&request, status, headers, body));
    assert_eq!(ended, call);
    assert_eq!(side.http.posts().exchanges(), 0);
    side.does_nothing();
    outcome
}

/// The same if the carrier has failed.
#[track_caller]
fn failure(status: u16, headers: &[(&str, &str)], body: &str) -> CarrierFailure<'static> {
    match outcome(status, headers, body) {
        Outcome::Undelivered(failure) => failure,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn code(status: u16, headers: &[(&str, &str)], body: &str) -> ErrorCode {
    match outcome(status, headers, body) {
        Outcome::PeerError(error) => error.code,
        other => panic!("{other:?}"),
    }
}

/// Proves H-HTTP-102.
#[test]
fn a_request_is_answered_by_json_or_by_events() {
    let mut side = Side::modern();
    let (call, request) = side.asks("tools/list", "{}");
    let events = side.answer(&request, 200, &[JSON], &result(2, DONE));
    assert_eq!(complete(events), (call, DONE.into()));
    let (call, request) = side.asks("tools/list", "{}");
    let mut stream = side.stream(&request);
    assert_eq!(complete(side.says(&mut stream, &result(3, DONE))), (call, DONE.into()));
    assert_eq!(side.end(&mut stream), []);
    assert_eq!(side.http.posts().exchanges(), 0);
    _ = EVENTS;
}

/// Proves H-HTTP-06, H-HTTP-108.
#[test]
fn a_refusal_with_an_error_ends_the_call_it_answers() {
    for status in [400, 404, 405, 406, 409, 413, 415, 422, 429, 500, 503] {
        for body in [error(2, -32602), error(None, -32602), error(9, -32602)] {
            assert_eq!(code(status, &[JSON], &body), ErrorCode::INVALID_PARAMS, "{status} {body}");
        }
        let null = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"m"}}"#;
        assert_eq!(code(status, &[JSON], null), ErrorCode::INVALID_PARAMS);
        for (headers, body) in [
            (&[("Content-Type", "text/html")][..], "<html>"),
            (&[], ""),
            (&[JSON], ""),
            (&[JSON], "{}"),
            (&[JSON], "nonsense"),
            (&[("Content-Type", "text/plain")], &error(2, -32602)),
        ] {
            let failure = failure(status, headers, body);
            assert_eq!(failure.kind, CarrierFailureKind::Refused, "{status} {body}");
            assert_eq!(failure.status, Some(status));
        }
    }
}
