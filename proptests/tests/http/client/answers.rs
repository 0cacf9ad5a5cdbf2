//! How the client interprets responses.

use mcp_sansio::error::{
    TransportError, TransportErrorKind, TransportFailure, TransportFailureKind, ViolationKind,
};
use mcp_sansio::event::UnmatchedCause;
use mcp_sansio::{ClientConfig, ClientEvent, ErrorCode, Outcome, Revision};

use mcp_sansio::http::{Arrived, Headers, HttpClientConfig};
use mcp_sansio_proptests::config;

use super::kit::{EVENTS, JSON, Side, URL, complete, ended, error, result};

const DONE: &str = r#"{"resultType":"complete","tools":[]}"#;

/// Returns the outcome of a call whose HTTP request gets this response.
#[track_caller]
fn outcome(status: u16, headers: &[(&str, &str)], body: &str) -> Outcome<'static> {
    let mut side = Side::modern();
    let (call, request) = side.asks("tools/list", "{}");
    let events = side.answer(&request, status, headers, body);
    let [ClientEvent::CallEnded(ended)] = &events[..] else { panic!("{events:?}") };
    assert_eq!(ended.call, call);
    assert_eq!(ended.status, (!(200..300).contains(&status)).then_some(status));
    assert_eq!(side.http.transport().exchanges(), 0);
    side.does_nothing();
    ended.outcome.clone()
}

/// Returns the transport failure of a call whose HTTP request gets this response.
#[track_caller]
fn failure(status: u16, headers: &[(&str, &str)], body: &str) -> TransportFailure<'static> {
    match outcome(status, headers, body) {
        Outcome::TransportFailed(failure) => failure,
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
    assert_eq!(side.http.transport().exchanges(), 0);
}

/// Proves H-HTTP-06, H-HTTP-108, M-AMB-03.
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
            assert_eq!(failure.kind, TransportFailureKind::Refused, "{status} {body}");
            assert_eq!(failure.status, Some(status));
        }
    }
}

/// Proves H-HTTP-103, H-HTTP-106, H-HTTP-109.
#[test]
fn an_unusable_http_response_ends_its_call_with_no_answer() {
    let other = result(9, DONE);
    let request = r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#;
    let table = [
        (200, &[JSON][..], &*other),
        (200, &[JSON], request),
        (200, &[JSON], r#"{"jsonrpc":"2.0","method":"notifications/x"}"#),
        (200, &[JSON], "[]"),
        (200, &[JSON], "nonsense"),
        (200, &[JSON], ""),
        (200, &[], ""),
        (202, &[], ""),
        (202, &[JSON], &result(2, DONE)),
        (204, &[], ""),
        (200, &[("Content-Type", "text/html")], "<html>"),
        (200, &[("Content-Type", "text/plain")], &result(2, DONE)),
    ];
    for (status, headers, body) in table {
        let failure = failure(status, headers, body);
        assert_eq!(
            failure,
            TransportFailure::new(TransportFailureKind::NoAnswer),
            "{status} {body}"
        );
    }
}

/// Proves H-HTTP-104.
#[test]
fn a_stream_that_ends_early_loses_its_call() {
    let progress =
        r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}"#;
    for reported in [
        String::new(),
        ": hi\n\n".into(),
        "id: 7\ndata:\n\n".into(),
        format!("data: {}\n", result(2, DONE)),
    ] {
        assert_eq!(
            failure(200, &[EVENTS], &reported),
            TransportFailure::new(TransportFailureKind::BrokenOff),
            "{reported}"
        );
    }
    // The client does not repeat the call by itself, also not later.
    let mut side = Side::modern();
    let (call, request) = side.asks("tools/call", r#"{"name":"t"}"#);
    let mut stream = side.stream(&request);
    assert_eq!(side.says(&mut stream, progress).len(), 1);
    assert_eq!(ended(side.failed(&request)).0, call);
    assert_eq!(side.waits(), None);
    side.elapse(100_000);
    assert!(side.acts().is_empty());
    // The request could not be sent at all.
    let (call, request) = side.asks("tools/list", "{}");
    let (failed, outcome) = ended(side.failed(&request));
    assert_eq!(failed, call);
    let unreachable = TransportFailure::new(TransportFailureKind::Unreachable);
    assert_eq!(outcome, Outcome::TransportFailed(unreachable));
    assert_eq!(side.http.transport().exchanges(), 0);
}

/// A client that accepts the number of a request in a string accepts it over HTTP as well.
#[test]
fn an_id_in_a_string_answers_its_request_if_configured() {
    let stringified = |id: u64| format!(r#"{{"jsonrpc":"2.0","id":"{id}","result":{DONE}}}"#);
    for matches in [true, false] {
        let mut config = config::client();
        config.connection.match_stringified_ids = matches;
        let http = HttpClientConfig::new(URL);
        let (mut side, listening) = Side::listening_as(config, Revision::V2025_11_25, http);
        let mut standalone = side.stream(&listening);
        let (call, request) = side.asks("tools/list", "{}");
        let (done, outcome) = ended(side.json(&request, &stringified(request.id())));
        assert_eq!(done, call);
        if matches {
            assert!(matches!(outcome, Outcome::Result(_)), "{outcome:?}");
        } else {
            let no_answer = TransportFailure::new(TransportFailureKind::NoAnswer);
            assert_eq!(outcome, Outcome::TransportFailed(no_answer));
            continue;
        }
        // On another stream, it ends the exchange of its request.
        let (call, request) = side.asks("tools/list", "{}");
        let events = side.says(&mut standalone, &stringified(request.id()));
        assert_eq!(complete(events).0, call);
        side.aborts(request.exchange);
        assert_eq!(side.http.transport().exchanges(), 1);
    }
}

/// The transport error reaches the caller, also after the resumption of a stream has failed.
#[test]
fn transport_errors_are_reported_to_the_caller() {
    let error = TransportError::new(TransportErrorKind::ConnectionRefused).at("example.com:80");
    let text = "the connection was refused (example.com:80)";
    for (is_sent, kind) in
        [(false, TransportFailureKind::Unreachable), (true, TransportFailureKind::BrokenOff)]
    {
        let mut side = Side::modern();
        let (call, request) = side.asks("tools/list", "{}");
        let (exchange, now) = (request.exchange, side.now);
        let event = match is_sent {
            true => side.http.broken(exchange, Some(error.clone()), now),
            false => side.http.failed(exchange, Some(error.clone()), now),
        };
        let (failed, outcome) = ended(event.into_iter().collect());
        let Outcome::TransportFailed(failure) = outcome else { panic!("{outcome:?}") };
        assert_eq!((failed, failure.kind, &failure.cause), (call, kind, &Some(error.clone())));
        assert_eq!(failure.to_string(), format!("{kind}: {text}"));
    }
    let mut http = HttpClientConfig::new(URL);
    http.attempts = 1;
    let mut side = Side::session_with(Revision::V2025_11_25, http);
    let (call, request) = side.asks("tools/list", "{}");
    let mut stream = side.stream(&request);
    assert_eq!(side.chunk(&mut stream, b"id: e1\n\n"), []);
    assert_eq!(side.end(&mut stream), []);
    side.elapse(1000);
    let again = side.sent_one();
    let event = side.http.failed(again.exchange, Some(error.clone()), side.now);
    let (failed, outcome) = ended(event.into_iter().collect());
    let Outcome::TransportFailed(failure) = outcome else { panic!("{outcome:?}") };
    let broken_off = TransportFailureKind::BrokenOff;
    assert_eq!((failed, failure.kind, failure.cause), (call, broken_off, Some(error)));
}

/// Proves H-HTTP-105.
#[test]
fn messages_after_the_response_on_a_stream_are_ignored() {
    let mut side = Side::modern();
    let (call, request) = side.asks("tools/list", "{}");
    let mut stream = side.stream(&request);
    let answer = format!("data: {}\n\n", result(2, DONE));
    let events = side.chunk(&mut stream, answer.repeat(3).as_bytes());
    assert_eq!(complete(events).0, call);
    assert!(stream.is_done(), "the response can be dropped");
    assert_eq!(side.http.transport().exchanges(), 0, "and nobody need say so");
    assert_eq!(side.chunk(&mut stream, answer.as_bytes()), []);
    assert_eq!(side.end(&mut stream), []);
    side.does_nothing();
}

/// Proves H-HTTP-107.
#[test]
fn any_success_takes_a_notification() {
    for (status, headers, body) in [
        (200, &[JSON][..], "{}"),
        (200, &[JSON], r#"{"jsonrpc":"2.0","id":1,"result":{}}"#),
        (200, &[EVENTS], ""),
        (202, &[], ""),
        (204, &[], ""),
        (299, &[], ""),
        (400, &[JSON], r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"m"}}"#),
        (404, &[], ""),
        (500, &[], ""),
    ] {
        for mut side in
            [Side::modern(), Side::session_with(Revision::V2025_11_25, HttpClientConfig::new(URL))]
        {
            let is_lost = status == 404 && side.http.transport().session_id().is_some();
            side.http
                .with(|client, out| client.notify_method("notifications/x", &(), None, out))
                .unwrap();
            let delivered = side.sent_one();
            if status < 300 {
                // The body may never end, so the exchange ends with the head.
                assert!(side.clone().head(&delivered, status, headers).is_none());
            }
            assert_eq!(side.answer(&delivered, status, headers, body), [], "{status}");
            assert_eq!(side.http.transport().exchanges(), 0);
            if !is_lost {
                side.does_nothing();
                side.asks("tools/list", "{}");
            }
        }
    }
}

/// A host can log a notification that the server did not accept.
#[test]
fn a_notification_that_was_not_taken_is_reported_to_the_host() {
    let notified = || {
        let mut side = Side::modern();
        side.http
            .with(|client, out| client.notify_method("notifications/x", &(), None, out))
            .unwrap();
        let sent = side.sent_one();
        (side, sent.exchange)
    };
    let (mut side, exchange) = notified();
    let now = side.now;
    side.http.with(|_, transport| {
        let mut reader = transport.head(exchange, 400, Headers::from(&[][..]), now).unwrap();
        let refused = Some(Arrived::NotTaken { status: Some(400) });
        assert_eq!(transport.end(&mut reader, now), refused);
    });
    let (mut side, exchange) = notified();
    let failed = side.http.with(|_, transport| transport.failed(exchange, None, now));
    assert_eq!(failed, Some(Arrived::NotTaken { status: None }));
    assert_eq!(side.http.transport().exchanges(), 0);
}

/// A response that is malformed ends its call, and the stream is of no use any more.
#[test]
fn a_malformed_response_on_a_stream_ends_its_exchange() {
    let mut side = Side::modern();
    let (call, sent) = side.asks("tools/list", "{}");
    let mut stream = side.stream(&sent);
    let mut events = side.says(&mut stream, &result(2, "5"));
    events.extend(side.due());
    let is_end = |event: &ClientEvent<'_>| {
        matches!(event, ClientEvent::CallEnded(ended)
            if ended.call == call && matches!(ended.outcome, Outcome::Malformed { .. }))
    };
    assert!(events.iter().any(is_end), "{events:?}");
    side.aborts(sent.exchange);
    assert_eq!(side.http.transport().exchanges(), 0);
}

/// A JSON body that is a defective response with the right id ends its call with the defect. One with another id is no
/// response.
#[test]
fn a_malformed_response_in_a_body_ends_its_call() {
    let error = r#""error":{"code":1,"message":"m"}"#;
    for (id, is_malformed) in [(2, true), (3, false)] {
        let mut side = Side::modern();
        let (call, sent) = side.asks("tools/list", "{}");
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}},{error}}}"#);
        let (done, outcome) = ended(side.json(&sent, &body));
        assert_eq!(done, call);
        match outcome {
            Outcome::Malformed { message, .. } => {
                assert_eq!((message.as_ref(), is_malformed), (body.as_bytes(), true));
            }
            other => {
                let no_answer = TransportFailure::new(TransportFailureKind::NoAnswer);
                assert_eq!(other, Outcome::TransportFailed(no_answer));
                assert!(!is_malformed);
            }
        }
        assert_eq!(side.http.transport().exchanges(), 0);
    }
}

/// Proves H-HTTP-110.
#[test]
fn a_server_without_sessions_asks_nothing() {
    let mut side = Side::modern();
    let (call, request) = side.asks("tools/list", "{}");
    let mut stream = side.stream(&request);
    let events = side.says(&mut stream, r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#);
    let [ClientEvent::Violation(violation)] = &events[..] else { panic!("{events:?}") };
    assert_eq!(violation.kind, ViolationKind::RequestFromServer);
    side.does_nothing();
    assert_eq!(complete(side.says(&mut stream, &result(2, DONE))).0, call);
}

/// Proves H-HTTP-111.
#[test]
fn a_redirection_is_a_refusal() {
    for status in [301, 302, 303, 307, 308] {
        let failure = failure(status, &[("Location", "http://elsewhere/mcp")], "");
        assert_eq!(failure.kind, TransportFailureKind::Refused);
        assert_eq!(failure.status, Some(status));
    }
}

/// Proves H-HTTP-108.
#[test]
fn a_401_or_challenged_403_is_reported_as_unauthorized() {
    let body = error(2, -32001);
    let challenge = ("www-authenticate", "Bearer realm=\"x\"");
    for (status, headers) in
        [(401, &[JSON][..]), (401, &[JSON, challenge]), (403, &[JSON, challenge])]
    {
        let failure = failure(status, headers, &body);
        assert_eq!(failure.kind, TransportFailureKind::Unauthorized);
        assert_eq!(failure.status, Some(status));
        assert_eq!(failure.challenge.is_some(), headers.len() == 2);
    }
    assert_eq!(code(403, &[JSON], &body), ErrorCode::from(-32001));
    for status in [429, 503] {
        let failure = failure(status, &[("Retry-After", "7")], "");
        assert_eq!(failure.kind, TransportFailureKind::Refused);
        assert_eq!(failure.retry_after.unwrap(), "7");
    }
}

/// Challenges can be spread over any number of fields, and a realm can contain any bytes.
///
/// Proves H-HTTP-108.
#[test]
fn all_challenges_reach_the_caller() {
    let fields: [(&str, &[u8]); 3] = [
        ("WWW-Authenticate", b"Negotiate"),
        ("Retry-After", b"7"),
        ("www-authenticate", b"Bearer realm=\"caf\xe9\", scope=\"a\""),
    ];
    let cases = [
        (&fields[..], "Negotiate, Bearer realm=\"caf\u{fffd}\", scope=\"a\""),
        (&fields[..2], "Negotiate"),
        (&fields[2..], "Bearer realm=\"caf\u{fffd}\", scope=\"a\""),
        (
            &[("WWW-Authenticate", "Bearer realm=\"caf\u{e9}\"".as_bytes())],
            "Bearer realm=\"caf\u{e9}\"",
        ),
    ];
    for status in [401, 403] {
        for (fields, expected) in cases {
            let mut side = Side::modern();
            let (call, request) = side.asks("tools/list", "{}");
            let now = side.now;
            let head = side.http.head(request.exchange, status, Headers::from(fields), now);
            let (failed, outcome) = ended(side.end(&mut head.unwrap()));
            let Outcome::TransportFailed(failure) = outcome else { panic!("{outcome:?}") };
            assert_eq!((failed, failure.kind), (call, TransportFailureKind::Unauthorized));
            assert_eq!(failure.challenge.as_ref().unwrap(), expected);
            let text =
                format!("the server asks for authorization (HTTP status {status}): {expected}");
            assert_eq!(failure.to_string(), text);
        }
    }
}

/// Proves H-HTTP-99, H-HTTP-238, H-HTTP-239, H-HTTP-240.
#[test]
fn events_that_are_no_messages_change_nothing() {
    let mut side = Side::modern();
    let (call, request) = side.asks("tools/list", "{}");
    let mut stream = side.stream(&request);
    let other = result(2, r#"{"resultType":"complete","tools":[1]}"#);
    for reported in [
        ": keep alive\n\n".into(),
        "data: \n\n".into(),
        "data:\n\n".into(),
        "id: 1\n\n".into(),
        format!("event: endpoint\ndata: {other}\n\n"),
        format!("event: other\ndata: {other}\n\n"),
        format!("x: y\ndatum: {other}\n\n"),
    ] {
        assert_eq!(side.chunk(&mut stream, reported.as_bytes()), [], "{reported}");
    }
    for nonsense in ["nonsense", "{"] {
        let events = side.says(&mut stream, nonsense);
        assert!(matches!(&events[..], [ClientEvent::Violation(_)]), "{nonsense}: {events:?}");
    }
    let answer = format!("x: y\nevent: message\ndata: {}\n\n", result(2, DONE));
    assert_eq!(complete(side.chunk(&mut stream, answer.as_bytes())).0, call);
    side.does_nothing();
}

fn small() -> ClientConfig {
    let mut client = config::client_of_both_eras();
    client.connection.limits.frame_bytes = 1000;
    client
}

/// Proves H-HTTP-241.
#[test]
fn an_oversized_http_response_ends_its_call() {
    let long = "x".repeat(1001);
    for (status, headers, body, kind) in [
        (200, [JSON], long.clone(), TransportFailureKind::TooLong),
        (200, [EVENTS], format!("data: {long}\n\n"), TransportFailureKind::TooLong),
        // The status alone suffices.
        (500, [JSON], long, TransportFailureKind::Refused),
    ] {
        let mut side = Side::begun(small());
        let probe = side.sent_one();
        side.json(&probe, &result(1, super::kit::DISCOVERY));
        let (call, request) = side.asks("tools/list", "{}");
        let mut reader = side.head(&request, status, &headers).unwrap();
        let mut events = Vec::new();
        for chunk in body.as_bytes().chunks(100) {
            events.extend(side.chunk(&mut reader, chunk));
        }
        events.extend(side.end(&mut reader));
        let (failed, outcome) = ended(events);
        assert_eq!(failed, call);
        let Outcome::TransportFailed(failure) = outcome else { panic!("{outcome:?}") };
        assert_eq!(failure.kind, kind);
        assert_eq!(side.http.transport().exchanges(), 0);
    }
}

/// Proves H-HTTP-05, H-HTTP-242.
#[test]
fn a_batch_is_handed_on_message_by_message_however_it_is_cut() {
    let batch = format!(
        r#"[{{"jsonrpc":"2.0","method":"notifications/x"}},{},{{"jsonrpc":"2.0","id":1,"method":"ping"}},{}]"#,
        result(2, r#"{"tools":[]}"#),
        result(2, r#"{"tools":[]}"#)
    );
    let in_events = format!("data: {batch}\n\n");
    for (kind, body) in [(JSON, &batch), (EVENTS, &in_events)] {
        for size in [1, 2, 7, 1000] {
            let mut side = Side::session(Revision::V2025_03_26);
            let (call, request) = side.asks("tools/list", "{}");
            let mut reader = side.head(&request, 200, &[kind]).unwrap();
            let mut events = Vec::new();
            for chunk in body.as_bytes().chunks(size) {
                events.extend(side.chunk(&mut reader, chunk));
            }
            events.extend(side.end(&mut reader));
            let [
                ClientEvent::Notification(_),
                ClientEvent::CallEnded(ended),
                ClientEvent::UnmatchedResponse(unmatched),
            ] = &events[..]
            else {
                panic!("{events:?}")
            };
            assert_eq!(ended.call, call);
            assert_eq!(unmatched.cause, UnmatchedCause::Completed);
            assert_eq!(side.sent_one().body(), r#"[{"jsonrpc":"2.0","id":1,"result":{}}]"#);
            assert_eq!(side.http.transport().exchanges(), 1, "the answer");
        }
    }
}
