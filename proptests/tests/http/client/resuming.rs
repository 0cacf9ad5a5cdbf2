//! Streams that break off: when the client resumes them, and when it gives up.

use mcp_sansio::call::{Cancellation, Timeout};
use mcp_sansio::error::{TransportFailure, TransportFailureKind};
use mcp_sansio::event::{SubscriptionEnd, SubscriptionNews, UnmatchedCause};
use mcp_sansio::http::{Arrived, HttpClientConfig, ResponseReader};
use mcp_sansio::model::SubscriptionFilter;
use mcp_sansio::{CallId, CallOptions, Cause, ClientEvent, Outcome, Revision};
use std::time::Duration;

use super::kit::{Act, JSON, META, Sent, Side, URL, complete, ended, get, post, result};

const SESSION: (&str, &str) = ("Mcp-Session-Id", "s-1");
const VERSION: (&str, &str) = ("MCP-Protocol-Version", "2025-11-25");
const D: Revision = Revision::V2025_11_25;
const DONE: &str = r#"{"tools":[]}"#;

/// Makes a call and opens its stream.
fn asked(side: &mut Side) -> (CallId, Sent, ResponseReader) {
    let (call, sent) = side.asks("tools/list", "{}");
    let stream = side.stream(&sent);
    (call, sent, stream)
}

/// Returns a client in a session, with a call whose stream has broken off after this event.
fn broken(event: &str) -> (Side, CallId, Sent) {
    let mut side = Side::session(D);
    let (call, sent, mut stream) = asked(&mut side);
    assert_eq!(side.chunk(&mut stream, event.as_bytes()), []);
    assert_eq!(side.end(&mut stream), []);
    (side, call, sent)
}

fn resumption(id: &str) -> String {
    get(&[("Last-Event-ID", id), SESSION, VERSION])
}

#[track_caller]
fn failure(events: Vec<ClientEvent<'static>>, call: CallId) -> TransportFailure<'static> {
    let (failed, outcome) = ended(events);
    assert_eq!(failed, call);
    let Outcome::TransportFailed(failure) = outcome else { panic!("{outcome:?}") };
    failure
}

#[track_caller]
fn fails(events: Vec<ClientEvent<'static>>, call: CallId, kind: TransportFailureKind) {
    assert_eq!(failure(events, call).kind, kind);
}

/// Returns a failure with a status.
fn refused(kind: TransportFailureKind, status: u16) -> TransportFailure<'static> {
    let mut failure = TransportFailure::new(kind);
    failure.status = Some(status);
    failure
}

/// Proves H-HTTP-187, H-HTTP-188, H-HTTP-190, H-HA-04.
#[test]
fn a_stream_is_asked_for_again_when_the_server_says() {
    for revision in [Revision::V2025_03_26, Revision::V2025_06_18, Revision::V2025_11_25] {
        let mut side = Side::session(revision);
        let (call, sent, mut stream) = asked(&mut side);
        assert_eq!(side.chunk(&mut stream, b"id: e1\nretry: 500\ndata:\n\n"), []);
        assert_eq!(side.end(&mut stream), []);
        assert_eq!(side.waits(), Some(500));
        side.elapse(499);
        side.does_nothing();
        side.elapse(1);
        let resumed = side.sent_one();
        assert_ne!(resumed.exchange, sent.exchange);
        let version = ("MCP-Protocol-Version", revision.name());
        assert_eq!(resumed.text(), get(&[("Last-Event-ID", "e1"), SESSION, version]));
        let mut stream = side.stream(&resumed);
        let answer = format!("id: e2\ndata: {}\n\n", result(2, DONE));
        assert_eq!(complete(side.chunk(&mut stream, answer.as_bytes())).0, call);
        assert_eq!(side.http.transport().exchanges(), 0);
        side.does_nothing();
    }
}

/// Proves H-HTTP-189, H-HTTP-190.
#[test]
fn without_an_id_there_is_nothing_to_go_on_from() {
    for reported in
        ["", ": hi\n\n", "retry: 500\n\n", "id: e1\n\nid:\n\n", "id: e1\ndata: {", "id: \u{e9}\n\n"]
    {
        let mut side = Side::session(D);
        let (call, _, mut stream) = asked(&mut side);
        assert_eq!(side.chunk(&mut stream, reported.as_bytes()), [], "{reported}");
        fails(side.end(&mut stream), call, TransportFailureKind::BrokenOff);
        assert_eq!(side.http.transport().exchanges(), 0);
    }
    // A stream that breaks off after the response is complete.
    let mut side = Side::session(D);
    let (call, sent, mut stream) = asked(&mut side);
    let answer = format!("id: e1\ndata: {}\n\n", result(2, DONE));
    assert_eq!(complete(side.chunk(&mut stream, answer.as_bytes())).0, call);
    assert_eq!(side.failed(&sent), []);
    assert_eq!(side.waits(), None);
    // The client resumes from the last id, also from an id that arrived on a resumed stream.
    let (mut side, ..) = broken("id: e1\n\nid: e2\ndata:\n\n");
    side.elapse(1000);
    let resumed = side.sent_one();
    assert_eq!(resumed.text(), resumption("e2"));
    let mut stream = side.stream(&resumed);
    assert_eq!(side.chunk(&mut stream, b"id: e3\n\n"), []);
    assert_eq!(side.end(&mut stream), []);
    side.elapse(1000);
    assert_eq!(side.sent_one().text(), resumption("e3"));
}

/// Proves H-HTTP-07, H-HTTP-196.
#[test]
fn failed_resumptions_back_off_until_attempts_run_out() {
    let mut http = HttpClientConfig::new(URL);
    http.attempts = 12;
    let mut side = Side::session_with(D, http.clone());
    let (call, _, mut stream) = asked(&mut side);
    side.chunk(&mut stream, b"id: e1\n\n");
    assert_eq!(side.end(&mut stream), []);
    let mut delays = Vec::new();
    loop {
        let delay = side.waits().unwrap() as u64;
        delays.push(delay);
        side.elapse(delay - 1);
        assert!(side.acts().is_empty());
        // The delay may exceed its whole milliseconds by a fraction.
        side.elapse(2);
        let resumed = side.sent_one();
        assert_eq!(resumed.text(), resumption("e1"));
        let events = side.failed(&resumed);
        if !events.is_empty() {
            fails(events, call, TransportFailureKind::BrokenOff);
            break;
        }
    }
    let expected = [1000, 1500, 2250, 3375, 5062, 7593, 11390, 17085, 25628, 30000, 30000, 30000];
    assert_eq!(delays, expected);
    assert_eq!(side.http.transport().exchanges(), 0);
    // A delay of the server takes precedence for the first attempt, and hastens no other one.
    http.attempts = 2;
    let mut side = Side::session_with(D, http);
    let (_, _, mut stream) = asked(&mut side);
    side.chunk(&mut stream, b"id: e1\nretry: 40\n\n");
    side.end(&mut stream);
    for delay in [40, 1500] {
        assert_eq!(side.waits(), Some(delay.into()));
        side.elapse(delay);
        let resumed = side.sent_one();
        side.failed(&resumed);
    }
    assert_eq!(side.waits(), None);
}

/// Proves H-HTTP-198, H-HA-03.
#[test]
fn a_call_that_cannot_be_resumed_fails() {
    for status in [400, 405, 406, 500] {
        let (mut side, call, _) = broken("id: e1\n\n");
        side.elapse(1000);
        let resumed = side.sent_one();
        let events = side.answer(&resumed, status, &[JSON], &super::kit::error(None, -32000));
        assert_eq!(failure(events, call), refused(TransportFailureKind::BrokenOff, status));
        side.does_nothing();
    }
    // A server that requires authorization says so.
    let (mut side, call, _) = broken("id: e1\n\n");
    side.elapse(1000);
    let resumed = side.sent_one();
    let events = side.answer(&resumed, 401, &[("WWW-Authenticate", "Bearer")], "");
    let mut expected = refused(TransportFailureKind::Unauthorized, 401);
    expected.challenge = Some("Bearer".into());
    assert_eq!(failure(events, call), expected);
    side.does_nothing();
    let (mut side, call, _) = broken("id: e1\n\n");
    side.elapse(1000);
    let resumed = side.sent_one();
    assert_eq!(side.answer(&resumed, 404, &[], ""), []);
    let (lost, outcome) = ended(side.due());
    assert_eq!((lost, outcome), (call, Outcome::Closed(Cause::SessionLost)));
    assert!(side.sent_one().text().contains("\"initialize\""));
}

/// A server that restarts, or that has not noticed the end of the last response, is asked again.
///
/// Proves H-HTTP-196, H-HTTP-198.
#[test]
fn a_call_is_resumed_after_a_temporary_refusal() {
    for status in [408, 409, 429, 502, 503, 504] {
        let (mut side, call, _) = broken("id: e1\n\n");
        side.elapse(1000);
        for delay in [1500, 2250, 3375, 5063] {
            let busy = side.sent_one();
            assert_eq!(busy.text(), resumption("e1"));
            assert_eq!(side.answer(&busy, status, &[("Retry-After", "9")], "busy"), []);
            side.elapse(delay - 1);
            side.does_nothing();
            side.elapse(1);
        }
        let resumed = side.sent_one();
        let mut other = side.clone();
        let mut stream = side.stream(&resumed);
        assert_eq!(complete(side.says(&mut stream, &result(2, DONE))).0, call);
        // The last attempt fails with the refusal.
        let events = other.answer(&resumed, status, &[("Retry-After", "9")], "busy");
        let mut expected = refused(TransportFailureKind::BrokenOff, status);
        expected.retry_after = Some("9".into());
        assert_eq!(failure(events, call), expected);
        other.does_nothing();
    }
}

/// Proves H-HTTP-197, H-HR-10.
#[test]
fn an_answer_that_comes_twice_counts_once() {
    let (mut side, listening) = Side::listening(D, HttpClientConfig::new(URL));
    let mut standalone = side.stream(&listening);
    let (call, _, mut stream) = asked(&mut side);
    let answer = result(2, DONE);
    assert_eq!(complete(side.says(&mut stream, &answer)).0, call);
    let events = side.says(&mut standalone, &answer);
    let [ClientEvent::UnmatchedResponse(unmatched)] = &events[..] else { panic!("{events:?}") };
    assert_eq!(unmatched.cause, UnmatchedCause::Completed);
    // The reverse order: the stream of the call is aborted once the response has arrived elsewhere.
    let (call, sent, mut stream) = asked(&mut side);
    side.chunk(&mut stream, b"id: e1\n\n");
    let answer = result(3, DONE);
    assert_eq!(complete(side.says(&mut standalone, &answer)).0, call);
    side.aborts(sent.exchange);
    assert_eq!(side.says(&mut stream, &answer), []);
    assert_eq!(side.end(&mut stream), []);
    assert_eq!(side.waits(), None);
    assert_eq!(side.http.transport().exchanges(), 1);
}

/// Proves H-HTTP-159, H-HTTP-188.
#[test]
fn the_stream_of_a_session_is_asked_for_again() {
    let (mut side, listening) = Side::listening(D, HttpClientConfig::new(URL));
    let mut stream = side.stream(&listening);
    assert_eq!(side.end(&mut stream), []);
    side.elapse(999);
    side.does_nothing();
    side.elapse(1);
    let again = side.sent_one();
    assert_eq!(again.text(), get(&[SESSION, VERSION]));
    let mut stream = side.stream(&again);
    let delivered = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    let event = format!("id: e1\nretry: 20\ndata: {delivered}\n\n");
    assert_eq!(side.chunk(&mut stream, event.as_bytes()).len(), 1);
    // An event that is too long is dropped alone.
    let long = "x".repeat(side.http.client().config().connection.limits.frame_bytes + 1);
    assert_eq!(side.says(&mut stream, &long), []);
    assert_eq!(side.says(&mut stream, delivered).len(), 1);
    assert_eq!(side.failed(&again), []);
    side.elapse(20);
    let again = side.sent_one();
    assert_eq!(again.text(), resumption("e1"));
    // The attempts fail, ever more slowly, until the server is back.
    assert_eq!(side.failed(&again), []);
    let mut delays = Vec::new();
    for _ in 0..100 {
        let delay = side.waits().unwrap() as u64;
        delays.push(delay);
        // The delay may exceed its whole milliseconds by a fraction.
        side.elapse(delay + 1);
        let again = side.sent_one();
        assert_eq!(again.text(), resumption("e1"));
        assert_eq!(side.failed(&again), []);
    }
    assert_eq!(delays[..4], [1500, 2250, 3375, 5062]);
    assert!(delays[9..].iter().all(|delay| *delay == 30_000), "{delays:?}");
    side.elapse(30_000);
    let again = side.sent_one();
    let mut stream = side.stream(&again);
    assert_eq!(side.says(&mut stream, delivered).len(), 1);
    // Then the delay of the server counts again.
    assert_eq!(side.end(&mut stream), []);
    assert_eq!(side.waits(), Some(20));
}

/// A request for the stream of a session that could not be sent is sent again.
#[test]
fn a_stream_that_could_not_be_asked_for_is_asked_for_again() {
    let (mut side, listening) = Side::listening(D, HttpClientConfig::new(URL));
    assert_eq!(side.failed(&listening), []);
    side.elapse(999);
    side.does_nothing();
    side.elapse(1);
    assert_eq!(side.sent_one().text(), get(&[SESSION, VERSION]));
}

/// A response on the stream of the session aborts the exchange of its request.
#[test]
fn a_response_on_another_stream_ends_the_exchange_of_its_request() {
    let (mut side, listening) = Side::listening(D, HttpClientConfig::new(URL));
    let mut stream = side.stream(&listening);
    let (_, sent) = side.asks("tools/list", "{}");
    let (answer, now) = (format!("data: {}\n\n", result(2, r#"{"tools":[]}"#)), side.now);
    side.http.with(|_, transport| {
        assert_eq!(transport.exchanges(), 2);
        let arrived = transport.chunk(&mut stream, &mut answer.as_bytes(), now);
        assert!(matches!(arrived, Some(Arrived::Messages { .. })), "{arrived:?}");
        assert_eq!(transport.exchanges(), 1, "the stream");
    });
    side.aborts(sent.exchange);
}

/// The delay that the server asks for counts as long as its streams deliver messages.
#[test]
fn streams_with_messages_keep_their_delay() {
    let delivered = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    for (event, has_message) in
        [(format!("retry: 20\ndata: {delivered}\n\n"), true), ("retry: 20\n\n".into(), false)]
    {
        let (mut side, mut listening) = Side::listening(D, HttpClientConfig::new(URL));
        let mut delays = Vec::new();
        for _ in 0..12 {
            let mut stream = side.stream(&listening);
            let events = side.chunk(&mut stream, event.as_bytes());
            assert_eq!(events.len(), usize::from(has_message));
            assert_eq!(side.end(&mut stream), []);
            let delay = side.waits().unwrap();
            delays.push(delay);
            side.elapse(1 + u64::try_from(delay).unwrap());
            listening = side.sent_one();
        }
        assert_eq!(delays.iter().all(|delay| *delay == 20), has_message, "{delays:?}");
    }
}

/// Proves H-HTTP-144, H-HR-12.
#[test]
fn a_cancelled_call_is_not_resumed() {
    let (mut side, call, _) = broken("id: e1\n\n");
    let given_up = side.http.with(|client, out| client.cancel(call, None, out));
    assert_eq!(given_up, Ok(Cancellation::Notified));
    let cancelled = side.sent_one();
    let body = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#;
    assert_eq!(cancelled.text(), post(&[SESSION, VERSION], body));
    assert_eq!(side.answer(&cancelled, 202, &[], ""), []);
    assert_eq!(side.waits(), None);
    side.elapse(10_000);
    side.does_nothing();
    // A cancellation aborts a resumption that is under way.
    let (mut side, call, _) = broken("id: e1\n\n");
    side.elapse(1000);
    let resumed = side.sent_one();
    side.http.with(|client, out| client.cancel(call, None, out)).unwrap();
    let acts = side.acts();
    assert!(
        matches!(&acts[..], [Act::Abort(aborted), Act::Send(_)] if *aborted == resumed.exchange)
    );
}

/// Proves H-HTTP-122, H-HTTP-123, H-HTTP-124, M-AMB-13, M-CANC-02.
#[test]
fn without_a_session_breaking_off_says_it_all() {
    let mut side = Side::modern();
    let (call, sent) = side.asks("tools/list", "{}");
    let given_up = side.http.with(|client, out| client.cancel(call, Some("why"), out));
    assert_eq!(given_up, Ok(Cancellation::Notified));
    side.aborts(sent.exchange);
    assert_eq!(side.json(&sent, &result(2, DONE)), [], "nobody cares any more");
    // The same after a timeout, whether or not the stream is open.
    for is_open in [false, true] {
        let options = CallOptions::new().idle(Timeout::After(Duration::from_millis(70)));
        let call = side.call_with("tools/list", "{}", options);
        let sent = side.sent_one();
        let stream = is_open.then(|| side.stream(&sent));
        side.elapse(70);
        let (late, outcome) = ended(side.due());
        assert_eq!(late, call);
        assert!(matches!(outcome, Outcome::TimedOut(_)), "{outcome:?}");
        side.aborts(sent.exchange);
        if let Some(mut stream) = stream {
            assert_eq!(side.says(&mut stream, &result(sent.id(), DONE)), []);
        }
        assert_eq!(side.http.transport().exchanges(), 0);
    }
    let (subscription, sent) = subscribed(&mut side);
    side.http.with(|client, out| client.cancel(subscription, None, out)).unwrap();
    side.aborts(sent.exchange);
    side.does_nothing();
}

fn subscribed(side: &mut Side) -> (CallId, Sent) {
    let now = side.now;
    let mut filter = SubscriptionFilter::default();
    filter.tools_list_changed = Some(true);
    let call = side.http.with(|client, out| client.subscribe(&filter, now, out)).unwrap();
    let sent = side.sent_one();
    assert_eq!(sent.header("Mcp-Method"), Some("subscriptions/listen"));
    assert!(sent.body().contains(META));
    (call, sent)
}

/// Expects one subscription event, and returns its news.
#[track_caller]
fn news(events: Vec<ClientEvent<'static>>) -> (CallId, SubscriptionNews<'static>) {
    match &events[..] {
        [ClientEvent::Subscription(update)] => (update.call, update.news.clone()),
        other => panic!("{other:?}"),
    }
}

/// A response that is malformed ends its subscription, and the stream is of no use any more.
#[test]
fn a_subscription_that_has_ended_has_no_stream() {
    let mut side = Side::modern();
    let (call, sent) = subscribed(&mut side);
    let mut stream = side.stream(&sent);
    let mut events = side.says(&mut stream, &result(2, "5"));
    events.extend(side.due());
    let is_end = |event: &ClientEvent<'_>| {
        matches!(event, ClientEvent::Subscription(update)
            if update.call == call && matches!(update.news, SubscriptionNews::Ended(_)))
    };
    assert!(events.iter().any(is_end), "{events:?}");
    side.aborts(sent.exchange);
    assert_eq!(side.http.transport().exchanges(), 0);
}

fn granted(tag: &str) -> String {
    let meta = format!(r#""_meta":{{{tag}}},"#);
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{{{meta}"notifications":{{"toolsListChanged":true}}}}}}"#
    )
}

/// Proves H-HTTP-125, H-HTTP-126, H-HR-16.
#[test]
fn a_lost_subscription_is_reported_and_not_renewed() {
    let mut side = Side::modern();
    let (call, sent) = subscribed(&mut side);
    let mut stream = side.stream(&sent);
    let tag = r#""io.modelcontextprotocol/subscriptionId":2"#;
    assert!(matches!(
        news(side.says(&mut stream, &granted(tag))),
        (_, SubscriptionNews::Granted { .. })
    ));
    let lost =
        SubscriptionEnd::TransportFailed(TransportFailure::new(TransportFailureKind::BrokenOff));
    assert_eq!(news(side.end(&mut stream)), (call, SubscriptionNews::Ended(lost)));
    assert_eq!(side.waits(), None);
    side.elapse(100_000);
    side.does_nothing();
    // A renewed subscription has another id, and late messages on the old stream are dropped.
    let (again, renewed) = subscribed(&mut side);
    assert_ne!(again, call);
    assert_eq!(renewed.id(), 3);
    assert_eq!(side.says(&mut stream, &granted(tag)), []);
    // The subscription ends normally, at once or later, by JSON or by events.
    let done = result(3, r#"{"resultType":"complete"}"#);
    let finished = SubscriptionNews::Ended(SubscriptionEnd::Finished);
    let mut other = side.clone();
    assert_eq!(news(side.json(&renewed, &done)), (again, finished.clone()));
    let mut stream = other.stream(&renewed);
    assert_eq!(news(other.says(&mut stream, &done)), (again, finished));
    side.does_nothing();
    let (call, sent) = subscribed(&mut side);
    let events = side.answer(&sent, 400, &[JSON], &super::kit::error(4, -32602));
    let (rejected, SubscriptionNews::Ended(SubscriptionEnd::Rejected(_))) = news(events) else {
        panic!("it is rejected")
    };
    assert_eq!(rejected, call);
}

/// Proves H-HTTP-127.
#[test]
fn news_of_a_subscription_belong_to_its_stream() {
    let mut side = Side::modern();
    let (call, sent) = subscribed(&mut side);
    let mut stream = side.stream(&sent);
    let (granted_to, SubscriptionNews::Granted { .. }) = news(side.says(&mut stream, &granted("")))
    else {
        panic!("it is granted")
    };
    assert_eq!(granted_to, call);
    let changed = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    assert!(matches!(news(side.says(&mut stream, changed)), (_, SubscriptionNews::Changed(_))));
    let other = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":77}}}"#;
    let events = side.says(&mut stream, other);
    assert!(!matches!(&events[..], [ClientEvent::Subscription(_)]), "{events:?}");
}
