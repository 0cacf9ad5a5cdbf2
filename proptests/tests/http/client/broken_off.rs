//! Received parts of a response remain valid if the rest is cut off.

use mcp_sansio::error::{TransportError, TransportErrorKind};
use mcp_sansio::http::{HttpClientConfig, OneStream};
use mcp_sansio::{CallOptions, Cause, ClientEvent, Outcome, Revision};
use mcp_sansio_proptests::config;

use super::kit::*;

const D: Revision = Revision::V2025_11_25;
const SESSION: (&str, &str) = ("Mcp-Session-Id", "s-1");
const CHANGED: &str = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;

/// An event without an id does not change the last event id of a stream, not even at the beginning of a response.
///
/// Proves H-HTTP-188, H-HTTP-190.
#[test]
fn a_stream_that_was_resumed_keeps_its_place() {
    for first in ["retry: 20\n\n".to_owned(), format!("data: {CHANGED}\n\n")] {
        let mut side = Side::session(D);
        let (call, sent) = side.asks("tools/list", "{}");
        let mut stream = side.stream(&sent);
        assert_eq!(side.chunk(&mut stream, b"id: e1\n\n"), []);
        for _ in 0..3 {
            side.chunk(&mut stream, first.as_bytes());
            assert_eq!(side.end(&mut stream), [], "{first:?}");
            side.elapse(1_000);
            let resumed = side.sent_one();
            assert_eq!(resumed.header("Last-Event-ID"), Some("e1"), "{first:?}");
            stream = side.stream(&resumed);
        }
        let answer = result(sent.id(), r#"{"tools":[]}"#);
        assert_eq!(complete(side.says(&mut stream, &answer)).0, call);
    }
    let (mut side, mut listening) = Side::listening(D, HttpClientConfig::new(URL));
    let mut first: &[u8] = b"id: e1\n\n";
    for _ in 0..3 {
        let mut stream = side.stream(&listening);
        side.chunk(&mut stream, first);
        assert_eq!(side.end(&mut stream), []);
        side.elapse(1_000);
        listening = side.sent_one();
        assert_eq!(listening.header("Last-Event-ID"), Some("e1"));
        first = b"retry: 20\n\n";
    }
    // Only an empty id resets the last event id.
    let mut stream = side.stream(&listening);
    side.chunk(&mut stream, b"id:\n\n");
    assert_eq!(side.end(&mut stream), []);
    side.elapse(1_000);
    assert_eq!(side.sent_one().header("Last-Event-ID"), None);
}

/// Returns a client whose response to `initialize` was a stream that broke off, and the request that resumes it.
fn opening_that_broke_off() -> (Side, Sent) {
    let mut side = Side::begun(config::client());
    let opening = side.sent_one();
    let mut stream = side.head(&opening, 200, &[EVENTS, SESSION]).unwrap();
    assert_eq!(side.chunk(&mut stream, b"id: e1\nretry: 10\ndata:\n\n"), []);
    assert_eq!(side.end(&mut stream), []);
    side.elapse(10);
    let resumed = side.sent_one();
    (side, resumed)
}

/// Proves H-HTTP-163, H-HTTP-188: the session id is known from the first response head on.
#[test]
fn the_answer_to_initialize_can_be_resumed() {
    let (mut side, resumed) = opening_that_broke_off();
    assert_eq!(resumed.text(), get(&[("Last-Event-ID", "e1"), SESSION]));
    let mut stream = side.stream(&resumed);
    let events = side.says(&mut stream, &result(1, &session(D)));
    assert!(matches!(&events[..], [ClientEvent::Connected(_)]), "{events:?}");
    let version = ("MCP-Protocol-Version", "2025-11-25");
    assert_eq!(side.sent_one().text(), post(&[SESSION, version], INITIALIZED));
}

/// Proves H-HTTP-198: a server that has assigned a session id is no server of 2024-11-05.
#[test]
fn an_answer_to_initialize_that_cannot_be_resumed_is_the_end() {
    for status in [400, 405] {
        let (mut side, resumed) = opening_that_broke_off();
        let mut events = side.answer(&resumed, status, &[], "");
        events.extend(side.due());
        assert!(matches!(&events[..], [ClientEvent::ConnectFailed(_), ..]), "{status}: {events:?}");
        let sent: Vec<String> = side.sent().iter().map(Sent::text).collect();
        // The client terminates the opened session.
        assert_eq!(sent, [request("DELETE", URL, &[SESSION], "")], "{status}");
    }
}

/// A server that serves only POST has no event stream; the client does not open another session because of the 404.
///
/// Proves H-HTTP-153, H-HTTP-170.
#[test]
fn a_404_to_the_first_get_says_that_there_is_no_stream() {
    let (mut side, listening) = Side::listening(D, HttpClientConfig::new(URL));
    assert_eq!(side.answer(&listening, 404, &[], "Cannot GET /mcp"), []);
    assert_eq!((side.due(), side.waits()), (vec![], None));
    let (call, sent) = side.asks("tools/list", "{}");
    let events = side.json(&sent, &result(sent.id(), r#"{"tools":[]}"#));
    assert_eq!(complete(events).0, call);
    // After an open stream, a 404 means that the session is lost.
    let (mut side, listening) = Side::listening(D, HttpClientConfig::new(URL));
    let mut stream = side.stream(&listening);
    assert_eq!(side.end(&mut stream), []);
    side.elapse(1_000);
    let again = side.sent_one();
    assert_eq!(side.answer(&again, 404, &[], ""), []);
    assert_eq!(side.due(), []);
    assert!(side.sent_one().body().contains("\"initialize\""));
}

/// A server that restarts is asked again for a stream that was open before, as long as the session lasts.
///
/// Proves H-HTTP-159.
#[test]
fn a_stream_that_was_open_survives_a_503() {
    let (mut side, listening) = Side::listening(D, HttpClientConfig::new(URL));
    let mut stream = side.stream(&listening);
    side.chunk(&mut stream, b"id: e1\n\n");
    assert_eq!(side.end(&mut stream), []);
    side.elapse(1_000);
    let busy = side.sent_one();
    assert_eq!(side.answer(&busy, 503, &[], "busy"), []);
    side.elapse(1_500);
    let again = side.sent_one();
    assert_eq!(again.header("Last-Event-ID"), Some("e1"));
    // A server that stays busy is asked ever more slowly.
    let mut again = again;
    for _ in 0..20 {
        assert_eq!(side.answer(&again, 503, &[], "busy"), []);
        side.elapse(1 + u64::try_from(side.waits().unwrap()).unwrap());
        again = side.sent_one();
    }
    assert_eq!(side.answer(&again, 503, &[], "busy"), []);
    assert_eq!(side.waits(), Some(30_000));
    // The end of the session ends the attempts.
    side.http.with(|client, _| client.close());
    assert_eq!(side.due(), [ClientEvent::Closed { cause: Cause::ShutDown }]);
    assert_eq!(side.sent_one().request.method, "DELETE");
    assert_eq!(side.waits(), None);
    // If no stream was ever open, the server may have none: the attempts are limited.
    for status in [408, 429, 502, 503, 504] {
        let (mut side, mut listening) = Side::listening(D, HttpClientConfig::new(URL));
        for _ in 0..5 {
            assert_eq!(side.answer(&listening, status, &[], ""), []);
            side.elapse(1 + u64::try_from(side.waits().unwrap()).unwrap());
            listening = side.sent_one();
        }
        assert_eq!(side.answer(&listening, status, &[], ""), []);
        assert_eq!(side.waits(), None, "{status}");
    }
    for status in [400, 403, 404, 405, 500] {
        let (mut side, listening) = Side::listening(D, HttpClientConfig::new(URL));
        assert_eq!(side.answer(&listening, status, &[], ""), []);
        assert_eq!(side.waits(), None, "{status}");
    }
}

/// A server that has not noticed the end of the last stream refuses another one for a time. One that has forgotten the
/// event to resume from is asked for a stream without it.
///
/// Proves H-HTTP-159.
#[test]
fn a_stream_that_was_open_survives_a_refusal() {
    for (status, event) in [(409, Some("e1")), (429, Some("e1")), (400, None)] {
        let (mut side, listening) = Side::listening(D, HttpClientConfig::new(URL));
        let mut stream = side.stream(&listening);
        side.chunk(&mut stream, b"id: e1\n\n");
        assert_eq!(side.end(&mut stream), []);
        side.elapse(1_000);
        let refused = side.sent_one();
        assert_eq!(refused.header("Last-Event-ID"), Some("e1"));
        assert_eq!(side.answer(&refused, status, &[], ""), []);
        side.elapse(1_500);
        let again = side.sent_one();
        assert_eq!(again.header("Last-Event-ID"), event, "{status}");
        let mut stream = side.stream(&again);
        let news = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
        assert_eq!(side.says(&mut stream, news).len(), 1);
    }
    // A server that has no stream any more is not asked again.
    let (mut side, listening) = Side::listening(D, HttpClientConfig::new(URL));
    let mut stream = side.stream(&listening);
    assert_eq!(side.end(&mut stream), []);
    side.elapse(1_000);
    let again = side.sent_one();
    assert_eq!(side.answer(&again, 405, &[], ""), []);
    assert_eq!((side.waits(), side.http.transport().exchanges()), (None, 0));
}

/// Reports a request that was not sent for this reason.
fn not_sent(side: &mut Side, sent: &Sent, kind: TransportErrorKind) {
    let error = Some(TransportError::new(kind));
    let event = side.http.failed(sent.exchange, error, side.now).map(ClientEvent::into_owned);
    assert_eq!((event, side.due()), (None, vec![]));
}

/// A stream without authorization is not requested again by itself, because each request asks a user for another
/// login. Once the server accepts a POST, the stream continues after its last event.
#[test]
fn a_stream_without_authorization_waits_for_a_post_that_is_accepted() {
    let version = ("MCP-Protocol-Version", "2025-11-25");
    for was_open in [true, false] {
        let (mut side, mut listening) = Side::listening(D, HttpClientConfig::new(URL));
        if was_open {
            let mut stream = side.stream(&listening);
            side.chunk(&mut stream, b"id: e1\n\n");
            assert_eq!(side.end(&mut stream), []);
            side.elapse(1_000);
            listening = side.sent_one();
        }
        for _ in 0..2 {
            not_sent(&mut side, &listening, TransportErrorKind::Authorization);
            assert_eq!((side.waits(), side.http.transport().exchanges()), (None, 0));
            side.elapse(3_600_000);
            side.does_nothing();
            // The POST is refused, so another request for the stream would be refused as well.
            let (_, refused) = side.asks("tools/list", "{}");
            side.answer(&refused, 401, &[], "");
            side.does_nothing();
            let (_, accepted) = side.asks("tools/list", "{}");
            let mut reader = side.head(&accepted, 200, &[JSON]).unwrap();
            listening = side.sent_one();
            let fields: &[_] = match was_open {
                true => &[("Last-Event-ID", "e1"), SESSION, version],
                false => &[SESSION, version],
            };
            assert_eq!(listening.text(), get(fields));
            side.chunk(&mut reader, result(accepted.id(), r#"{"tools":[]}"#).as_bytes());
            side.end(&mut reader);
        }
        // For any other reason the stream is requested again.
        not_sent(&mut side, &listening, TransportErrorKind::ConnectionRefused);
        assert!(side.waits().is_some());
        side.elapse(10_000);
        listening = side.sent_one();
        // The end of the session ends the stream as well.
        not_sent(&mut side, &listening, TransportErrorKind::Authorization);
        side.http.with(|client, _| client.close());
        assert_eq!(side.due(), [ClientEvent::Closed { cause: Cause::ShutDown }]);
        let farewell = side.sent_one();
        assert_eq!(farewell.request.method, "DELETE");
        side.answer(&farewell, 200, &[], "");
        side.does_nothing();
    }
}

/// Proves H-HTTP-168, H-HA-02, H-HTTP-153: the status alone decides, even if the body is cut off.
#[test]
fn a_refusal_whose_body_breaks_off_is_one() {
    let broken = |side: &mut Side, sent: &Sent| {
        let event = side.http.broken(sent.exchange, None, side.now).map(ClientEvent::into_owned);
        assert_eq!(event, None);
        side.due()
    };
    let mut side = Side::session(D);
    let (_, sent) = side.asks("tools/list", "{}");
    let _body = side.head(&sent, 404, &[JSON]).unwrap();
    assert!(matches!(&broken(&mut side, &sent)[..], [ClientEvent::CallEnded(_)]));
    assert!(side.sent_one().body().contains("\"initialize\""));

    let (mut side, listening) = Side::listening(D, HttpClientConfig::new(URL));
    let _body = side.head(&listening, 405, &[]).unwrap();
    assert_eq!(broken(&mut side, &listening), []);
    assert_eq!(side.waits(), None, "there is no such stream");

    let mut side = Side::session(D);
    let (_, sent) = side.asks("tools/list", "{}");
    let _body = side.head(&sent, 503, &[("Retry-After", "9")]).unwrap();
    let event = side.http.broken(sent.exchange, None, side.now).map(ClientEvent::into_owned);
    let Some(ClientEvent::CallEnded(ended)) = event else { panic!("{event:?}") };
    let Outcome::TransportFailed(failure) = ended.outcome else { panic!("{:?}", ended.outcome) };
    assert_eq!((failure.status, failure.retry_after), (Some(503), Some("9".into())));
}

/// A host waits longer for the body of a refusal that may be a JSON-RPC error of the call.
#[test]
fn the_head_of_a_refusal_decides_unless_the_body_may_be_an_error() {
    let challenge = ("WWW-Authenticate", "Bearer");
    for (status, fields, is_decided) in [
        (400, &[JSON][..], false),
        (503, &[JSON], false),
        (400, &[("Content-Type", "text/html")], true),
        (401, &[JSON], true),
        (403, &[JSON, challenge], true),
        // The session is lost.
        (404, &[JSON], true),
    ] {
        let mut side = Side::session(D);
        let (_, sent) = side.asks("tools/list", "{}");
        let reader = side.head(&sent, status, fields).unwrap();
        assert_eq!((reader.is_decided(), reader.is_refusal()), (is_decided, true), "{status}");
    }
    let mut side = Side::session(D);
    let (_, sent) = side.asks("tools/list", "{}");
    let reader = side.head(&sent, 200, &[JSON]).unwrap();
    assert_eq!((reader.is_decided(), reader.is_refusal()), (false, false));
}

/// Proves H-HTTP-215: the response to an accepted message arrives on the one stream. The body of its own response, which
/// may break off or never end, does not matter.
#[test]
fn a_202_whose_body_breaks_off_is_one() {
    let mut http = HttpClientConfig::new("http://h/sse");
    http.one_stream = OneStream::Always;
    let mut side = Side::begun_with(config::client(), http);
    let listening = side.sent_one();
    let mut stream = side.stream(&listening);
    side.chunk(&mut stream, b"event: endpoint\ndata: /m\n\n");
    let opening = side.sent_one();
    side.answer(&opening, 202, &[], "");
    let events = side.says(&mut stream, &result(1, &session(Revision::V2024_11_05)));
    assert!(matches!(&events[..], [ClientEvent::Connected(_)]), "{events:?}");
    let initialized = side.sent_one();
    side.answer(&initialized, 202, &[], "");
    let (call, sent) = side.asks("tools/list", "{}");
    assert!(side.head(&sent, 202, &[]).is_none());
    // The one stream is left.
    assert_eq!(side.http.transport().exchanges(), 1);
    assert_eq!(side.http.broken(sent.exchange, None, side.now).map(ClientEvent::into_owned), None);
    let answer = result(sent.id(), r#"{"tools":[]}"#);
    assert_eq!(complete(side.says(&mut stream, &answer)).0, call);
}

/// Returns a client whose config declares a modern server, before the server has responded.
fn known() -> (Side, Sent) {
    let mut config = config::client_of_both_eras();
    config.known = Some(Revision::V2026_07_28);
    let mut side = Side::begun(config);
    assert!(matches!(&side.due()[..], [ClientEvent::Connected(_)]));
    let probe = side.sent_one();
    (side, probe)
}

/// An error without an id refers to the request of its exchange, even if that request was cancelled.
#[test]
fn an_error_for_a_cancelled_call_does_not_end_the_probe() {
    let (mut side, probe) = known();
    let (call, sent) = side.asks("tools/list", "{}");
    let mut reader = side.head(&sent, 200, &[JSON]).unwrap();
    side.http.with(|client, out| client.cancel(call, None, out)).unwrap();
    // The error crosses the cancellation.
    assert_eq!(side.chunk(&mut reader, error(None, -32603).as_bytes()), []);
    let mut events = side.end(&mut reader);
    events.extend(side.due());
    assert!(matches!(&events[..], [ClientEvent::UnsolicitedError(_)]), "{events:?}");
    assert!(side.sent().is_empty());
    assert_eq!(side.answer(&probe, 200, &[JSON], &result(1, DISCOVERY)), []);
}

/// Proves H-HTTP-123: in the modern era a cancellation aborts the exchange, also before the server's era is
/// confirmed.
#[test]
fn a_cancellation_before_anything_is_known_is_no_post() {
    let mut config = config::client_of_both_eras();
    config.known = Some(Revision::V2026_07_28);
    let mut side = Side::begun(config);
    let call = side.call("tools/list", "{}");
    let [_probe, sent] = &side.sent()[..] else { panic!("two requests") };
    side.http.with(|client, out| client.cancel(call, None, out)).unwrap();
    let acts = side.acts();
    assert!(matches!(&acts[..], [Act::Abort(one)] if *one == sent.exchange), "{acts:?}");
}

/// Progress of a repeated request starts again from the beginning.
#[test]
fn progress_of_a_request_that_is_made_again_begins_anew() {
    let mut side = Side::modern();
    let options = CallOptions::new().progress();
    side.call_with("tools/call", r#"{"name":"t","arguments":{}}"#, options);
    let progress = |sent: &Sent, progress: u32| {
        let message: serde_json::Value = serde_json::from_str(sent.body()).unwrap();
        let token = &message["params"]["_meta"]["progressToken"];
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":{progress}}}}}"#
        )
    };
    let sent = side.sent_one();
    let mut stream = side.stream(&sent);
    assert_eq!(side.says(&mut stream, &progress(&sent, 50)).len(), 1);
    let refused = format!(
        r#"{{"jsonrpc":"2.0","id":{},"error":{{"code":-32022,"message":"m","data":{{"supported":["2026-07-28"],"requested":"2026-07-28"}}}}}}"#,
        sent.id()
    );
    assert_eq!(side.says(&mut stream, &refused), []);
    let again = side.sent_one();
    let mut stream = side.stream(&again);
    let events = side.says(&mut stream, &progress(&again, 1));
    assert!(matches!(&events[..], [ClientEvent::Progress(_)]), "{events:?}");
}
