//! Sessions: their id and revision accompany every request, and the client continues when the server ends one.

use mcp_sansio::call::Cancellation;
use mcp_sansio::event::ConnectFailure;
use mcp_sansio::http::HttpClientConfig;
use mcp_sansio::{Cause, ClientEvent, ConnectionNumber, Outcome, Phase, RespondError, Revision};
use mcp_sansio_proptests::config;

use super::kit::{
    Act, EVENTS, INITIALIZED, JSON, Sent, Side, URL, complete, ended, error, get, post, request,
    result, session,
};

const SESSION: (&str, &str) = ("Mcp-Session-Id", "s-1");
const VERSION: (&str, &str) = ("MCP-Protocol-Version", "2025-11-25");
const D: Revision = Revision::V2025_11_25;

/// Returns the `initialize` request of the kit's client.
fn initialize(id: u64, revision: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"initialize","params":{{"protocolVersion":"{revision}","capabilities":{{"roots":{{"listChanged":true}},"sampling":{{"context":{{}},"tools":{{}}}},"elicitation":{{"form":{{}},"url":{{}}}}}},"clientInfo":{{"name":"client","version":"1"}}}}}}"#
    )
}

fn list(id: u64) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list","params":{{}}}}"#)
}

/// Proves H-HTTP-16, H-HTTP-134, H-HTTP-151, H-HTTP-163, H-HTTP-177, H-HTTP-178, H-HTTP-200, H-HTTP-204, H-HR-06.
#[test]
fn a_session_begins_in_order_and_its_id_goes_with_everything() {
    let mut side = Side::begun(config::client());
    let early = side.call("tools/list", "{}");
    let opening = side.sent_one();
    assert_eq!(opening.text(), post(&[], &initialize(1, "2025-11-25")));
    side.does_nothing();
    let events = side.answer(&opening, 200, &[JSON, SESSION], &result(1, &session(D)));
    assert!(matches!(&events[..], [ClientEvent::Connected(_)]), "{events:?}");
    assert_eq!(side.http.transport().session_id(), Some("s-1"));
    let initialized = side.sent_one();
    assert_eq!(initialized.text(), post(&[SESSION, VERSION], INITIALIZED));
    // Earlier calls wait for the head of the response, and then briefly for the event stream.
    side.does_nothing();
    assert_eq!(side.answer(&initialized, 202, &[], ""), []);
    let listening = side.sent_one();
    assert_eq!(listening.text(), get(&[SESSION, VERSION]));
    assert_eq!(listening.header("Accept"), Some("text/event-stream"));
    side.does_nothing();
    assert_eq!(side.waits(), Some(250));
    side.elapse(249);
    side.does_nothing();
    side.elapse(1);
    let call = side.sent_one();
    assert_eq!(call.text(), post(&[SESSION, VERSION], &list(2)));
    assert_eq!(complete(side.json(&call, &result(2, r#"{"tools":[]}"#))).0, early);
    // A notification and the termination use the same session.
    side.http.with(|client, out| client.notify_method("notifications/x", &(), None, out)).unwrap();
    let delivered = side.sent_one();
    let body = r#"{"jsonrpc":"2.0","method":"notifications/x"}"#;
    assert_eq!(delivered.text(), post(&[SESSION, VERSION], body));
    side.http.with(|client, _| client.close());
    assert_eq!(side.due(), [ClientEvent::Closed { cause: Cause::ShutDown }]);
    let mut acts = side.acts();
    let Some(Act::Send(farewell)) = acts.pop() else { panic!("{acts:?}") };
    assert_eq!(farewell.text(), request("DELETE", URL, &[SESSION, VERSION], ""));
    assert_eq!(acts.len(), 2, "the stream, and the notification that has not been answered");
}

/// Proves H-HTTP-177, H-HTTP-204, H-HTTP-219, L-HTTP-05.
#[test]
fn each_revision_names_itself_as_it_does() {
    for revision in [Revision::V2025_03_26, Revision::V2025_06_18, Revision::V2025_11_25] {
        let mut side = Side::session(revision);
        let (_, sent) = side.asks("tools/call", r#"{"name":"t","arguments":{}}"#);
        let body = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t","arguments":{}}}"#;
        let version = ("MCP-Protocol-Version", revision.name());
        assert_eq!(sent.text(), post(&[SESSION, version], body));
    }
    // The 2024-11-05 revision has no version field.
    let mut side = Side::session(Revision::V2024_11_05);
    let (_, sent) = side.asks("tools/list", "{}");
    assert_eq!(sent.text(), post(&[SESSION], &list(2)));
}

/// Proves H-HTTP-164, H-HA-05.
#[test]
fn the_session_id_comes_from_the_initialize_response() {
    let table = [
        (Some("!~"), Some("!~")),
        (Some("a b"), None),
        (Some("\u{e9}"), None),
        (Some("a\tb"), None),
        (Some(""), None),
        (None, None),
    ];
    for (minted, expected) in table {
        for name in ["Mcp-Session-Id", "MCP-Session-Id", "mcp-session-id"] {
            let mut side = Side::begun(config::client());
            let opening = side.sent_one();
            let mut headers = vec![JSON];
            headers.extend(minted.map(|minted| (name, minted)));
            side.answer(&opening, 200, &headers, &result(1, &session(D)));
            let initialized = side.sent_one();
            assert_eq!(initialized.header("Mcp-Session-Id"), expected);
            // No later response can change the session id.
            side.answer(&initialized, 202, &[("Mcp-Session-Id", "other")], "");
            let listening = side.sent_one();
            assert_eq!(listening.header("Mcp-Session-Id"), expected);
        }
    }
    // A field that occurs twice is ambiguous.
    let mut side = Side::begun(config::client());
    let opening = side.sent_one();
    let headers = [JSON, ("Mcp-Session-Id", "a"), ("mcp-session-id", "b")];
    side.answer(&opening, 200, &headers, &result(1, &session(D)));
    assert_eq!(side.sent_one().header("Mcp-Session-Id"), None);
}

/// Proves H-HTTP-203.
#[test]
fn a_session_opens_by_json_or_by_events() {
    let mut side = Side::begun(config::client());
    let opening = side.sent_one();
    let mut stream = side.head(&opening, 200, &[EVENTS, SESSION]).unwrap();
    let events = side.says(&mut stream, &result(1, &session(D)));
    assert!(matches!(&events[..], [ClientEvent::Connected(_)]), "{events:?}");
    assert_eq!(side.sent_one().text(), post(&[SESSION, VERSION], INITIALIZED));
}

/// Proves H-HTTP-153.
#[test]
fn a_server_need_not_have_a_stream_for_the_session() {
    for status in [400, 403, 405, 406, 409, 500] {
        let (mut side, listening) = Side::listening(D, HttpClientConfig::new(URL));
        side.call("tools/list", "{}");
        side.does_nothing();
        assert_eq!(side.answer(&listening, status, &[], ""), []);
        assert_eq!(side.sent().len(), 1, "the call goes on");
        assert_eq!(side.http.transport().exchanges(), 1);
        assert_eq!(side.waits(), None, "it is not asked for again");
    }
    let mut http = HttpClientConfig::new(URL);
    http.listens = false;
    let mut side = Side::begun_with(config::client(), http);
    let opening = side.sent_one();
    side.answer(&opening, 200, &[JSON, SESSION], &result(1, &session(D)));
    let initialized = side.sent_one();
    side.answer(&initialized, 200, &[JSON], "{}");
    side.does_nothing();
    assert_eq!(side.http.transport().exchanges(), 0);
}

/// Responds to a request with the status for an unknown session.
fn lost(side: &mut Side, sent: &Sent) {
    assert_eq!(side.answer(sent, 404, &[JSON], &error(None, -32001)), []);
}

/// Proves H-HTTP-168, H-HTTP-169, H-HTTP-170, H-HR-04, H-HA-02, L-HTTP-07.
#[test]
fn a_session_that_is_lost_is_followed_by_another() {
    for (headers, body) in [
        (&[JSON][..], error(2, -32001)),
        (&[JSON], error(None, -32600)),
        (&[("Content-Type", "text/plain")], "gone".into()),
        (&[], String::new()),
    ] {
        let mut side = Side::session(D);
        let (first, one) = side.asks("tools/list", "{}");
        let (second, other) = side.asks("prompts/list", "{}");
        assert_eq!(side.answer(&one, 404, headers, &body), []);
        // The client aborts the other exchange: it would get the same response.
        side.aborts(other.exchange);
        lost(&mut side, &other);
        let events = side.due();
        let calls: Vec<_> = events
            .into_iter()
            .map(|event| match event {
                ClientEvent::CallEnded(ended) => (ended.call, ended.outcome),
                other => panic!("{other:?}"),
            })
            .collect();
        let closed = Outcome::Closed(Cause::SessionLost);
        assert_eq!(calls, [(first, closed.clone()), (second, closed)]);
        assert_eq!(side.http.client().connection_number(), ConnectionNumber::new(1));
        // The client opens another session once, without the previous id.
        let opening = side.sent_one();
        assert_eq!(opening.text(), post(&[], &initialize(1, "2025-11-25")));
        let minted = ("Mcp-Session-Id", "s-2");
        let events = side.answer(&opening, 200, &[JSON, minted], &result(1, &session(D)));
        assert!(matches!(&events[..], [ClientEvent::Connected(_)]), "{events:?}");
        let initialized = side.sent_one();
        assert_eq!(initialized.text(), post(&[minted, VERSION], INITIALIZED));
        // This session can be lost in turn if the server has answered a request in it.
        assert_eq!(side.answer(&initialized, 202, &[], ""), []);
        let listening = side.sent_one();
        let stream = side.head(&listening, 200, &[EVENTS]).unwrap();
        let (call, sent) = side.asks("tools/list", "{}");
        let listed = result(sent.id(), r#"{"tools":[]}"#);
        assert_eq!(complete(side.json(&sent, &listed)).0, call);
        let (_, call) = side.asks("tools/list", "{}");
        lost(&mut side, &call);
        drop(stream);
        side.aborts(listening.exchange);
        assert!(matches!(&side.due()[..], [ClientEvent::CallEnded(_)]));
        let opening = side.sent_one();
        assert_eq!(opening.text(), post(&[], &initialize(1, "2025-11-25")));
        // A server that rejects a session right after opening it would reject the next one as well.
        let events = side.answer(&opening, 200, &[JSON, minted], &result(1, &session(D)));
        assert!(matches!(&events[..], [ClientEvent::Connected(_)]), "{events:?}");
        let initialized = side.sent_one();
        lost(&mut side, &initialized);
        assert_eq!(side.due(), [ClientEvent::Closed { cause: Cause::SessionLost }]);
        assert!(side.acts().is_empty() && side.http.is_over());
    }
}

/// A server can accept notifications and serve an event stream without looking at the session. Only an answered request,
/// or the time that the session lasted, shows that another session is of use.
///
/// Proves H-HTTP-170.
#[test]
fn a_server_that_answers_no_request_gets_no_session_after_another() {
    for (lasts, is_replaced) in [(29_999, false), (30_000, true)] {
        let mut side = Side::session(D);
        let (_, call) = side.asks("tools/list", "{}");
        lost(&mut side, &call);
        assert_eq!(side.due().len(), 1);
        let opening = side.sent_one();
        let minted = ("Mcp-Session-Id", "s-2");
        side.answer(&opening, 200, &[JSON, minted], &result(1, &session(D)));
        let initialized = side.sent_one();
        assert_eq!(side.answer(&initialized, 202, &[], ""), []);
        let listening = side.sent_one();
        let _stream = side.head(&listening, 200, &[EVENTS]).unwrap();
        side.elapse(lasts);
        let (call, sent) = side.asks("tools/list", "{}");
        lost(&mut side, &sent);
        side.aborts(listening.exchange);
        let events = side.due();
        let ClientEvent::CallEnded(ended) = &events[0] else { panic!("{events:?}") };
        assert_eq!(ended.call, call);
        if is_replaced {
            assert_eq!(events.len(), 1);
            assert_eq!(side.sent_one().text(), post(&[], &initialize(1, "2025-11-25")));
        } else {
            assert_eq!(events[1..], [ClientEvent::Closed { cause: Cause::SessionLost }]);
            assert!(side.acts().is_empty() && side.http.is_over());
        }
    }
}

/// A client that shuts down needs no other session.
#[test]
fn a_session_that_is_lost_at_the_end_is_not_followed_by_another() {
    let mut side = Side::session(D);
    let (call, sent) = side.asks("tools/list", "{}");
    let now = side.now;
    side.http.with(|client, _| client.shut_down(std::time::Duration::from_secs(10), now));
    assert!(matches!(&side.due()[..], [ClientEvent::Draining { .. }]));
    lost(&mut side, &sent);
    let events = side.due();
    let [ClientEvent::CallEnded(ended), ClientEvent::Closed { .. }] = &events[..] else {
        panic!("{events:?}")
    };
    assert_eq!(ended.call, call);
    assert!(side.sent().is_empty() && side.http.is_over());
}

/// Proves H-HTTP-170.
#[test]
fn a_session_that_cannot_be_opened_again_is_the_end() {
    let mut side = Side::session(D);
    let (_, call) = side.asks("tools/list", "{}");
    lost(&mut side, &call);
    assert_eq!(side.due().len(), 1);
    let opening = side.sent_one();
    // A 404 to a request without a session id is no loss of a session.
    assert_eq!(side.answer(&opening, 404, &[JSON], &error(1, -32001)).len(), 1);
    assert_eq!(side.http.client().phase(), Phase::Closed);
    assert!(side.acts().is_empty() && !side.http.is_over(), "an event is left");
    assert_eq!(side.due(), [ClientEvent::Closed { cause: Cause::HandshakeFailed }]);
    assert!(side.acts().is_empty());
    assert!(side.http.is_over());

    // A server without sessions cannot lose one.
    let mut side = Side::begun(config::client());
    let opening = side.sent_one();
    side.answer(&opening, 200, &[JSON], &result(1, &session(D)));
    let initialized = side.sent_one();
    assert_eq!(side.answer(&initialized, 404, &[], ""), [], "nobody minds");
    let (call, sent) = side.asks("tools/list", "{}");
    let (ended, outcome) = ended(side.answer(&sent, 404, &[], ""));
    assert_eq!(ended, call);
    let Outcome::TransportFailed(failure) = outcome else { panic!("{outcome:?}") };
    assert_eq!(failure.status, Some(404));
    side.does_nothing();
}

/// Proves H-HTTP-169.
#[test]
fn a_lost_session_ends_its_streams_calls_and_requests() {
    let (mut side, listening) = Side::listening(D, HttpClientConfig::new(URL));
    let mut stream = side.stream(&listening);
    let ask = r#"{"jsonrpc":"2.0","id":"r","method":"roots/list"}"#;
    let events = side.says(&mut stream, ask);
    let [ClientEvent::Request(asked)] = &events[..] else { panic!("{events:?}") };
    let (_, call) = side.asks("tools/list", "{}");
    lost(&mut side, &call);
    side.aborts(listening.exchange);
    let events = side.due();
    assert!(
        matches!(&events[..], [ClientEvent::CallEnded(_), ClientEvent::Cancelled(_)])
            || matches!(&events[..], [ClientEvent::Cancelled(_), ClientEvent::CallEnded(_)]),
        "{events:?}"
    );
    let id = asked.id;
    let answered = side.http.with(|client, out| client.respond(id, &(), out));
    assert_eq!(answered, Err(RespondError::Stale));
    let opening = side.sent_one();
    assert_eq!(opening.text(), post(&[], &initialize(1, "2025-11-25")));
    // Late messages on the stream are dropped.
    assert_eq!(side.says(&mut stream, ask), []);
}

/// Proves H-HTTP-171, H-HA-01.
#[test]
fn a_session_is_over_after_any_response_to_delete() {
    for status in [200, 202, 204, 400, 404, 405, 500] {
        let mut side = Side::session(D);
        side.http.with(|client, _| client.close());
        assert_eq!(side.due(), [ClientEvent::Closed { cause: Cause::ShutDown }]);
        let farewell = side.sent_one();
        assert_eq!(farewell.text(), request("DELETE", URL, &[SESSION, VERSION], ""));
        assert_eq!(side.http.transport().session_id(), None);
        assert!(!side.http.is_over());
        assert_eq!(side.answer(&farewell, status, &[], ""), []);
        assert!(side.http.is_over(), "{status}");
        side.does_nothing();
    }
    let mut side = Side::session(D);
    side.http.with(|client, _| client.close());
    assert_eq!(side.due().len(), 1);
    let farewell = side.sent_one();
    assert_eq!(side.failed(&farewell), []);
    assert!(side.http.is_over());
}

/// Proves H-HTTP-144, H-HTTP-201, H-HTTP-202, H-HR-07.
#[test]
fn answers_and_cancellations_are_posts_of_their_own() {
    let (mut side, listening) = Side::listening(D, HttpClientConfig::new(URL));
    let mut stream = side.stream(&listening);
    // A request that belongs to no call is served.
    let events = side.says(&mut stream, r#"{"jsonrpc":"2.0","id":"r","method":"roots/list"}"#);
    let [ClientEvent::Request(asked)] = &events[..] else { panic!("{events:?}") };
    let roots = mcp_sansio::json::Raw::new(r#"{"roots":[]}"#).unwrap();
    let id = asked.id;
    side.http.with(|client, out| client.respond(id, &roots, out)).unwrap();
    let answer = side.sent_one();
    let body = r#"{"jsonrpc":"2.0","id":"r","result":{"roots":[]}}"#;
    assert_eq!(answer.text(), post(&[SESSION, VERSION], body));
    assert_eq!(side.answer(&answer, 202, &[], ""), []);
    // So is a request on the stream of a call; a failure of its response does not affect the call.
    let (call, sent) = side.asks("tools/list", "{}");
    let mut response = side.stream(&sent);
    assert_eq!(side.says(&mut response, r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#), []);
    let pong = side.sent_one();
    let body = r#"{"jsonrpc":"2.0","id":7,"result":{}}"#;
    assert_eq!(pong.text(), post(&[SESSION, VERSION], body));
    assert_eq!(side.answer(&pong, 400, &[], ""), [], "that is for a log");
    // A call is cancelled with a notification.
    let given_up = side.http.with(|client, out| client.cancel(call, None, out));
    assert_eq!(given_up, Ok(Cancellation::Notified));
    let acts = side.acts();
    let [Act::Abort(aborted), Act::Send(cancelled)] = &acts[..] else { panic!("{acts:?}") };
    assert_eq!(*aborted, sent.exchange);
    let body = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#;
    assert_eq!(cancelled.text(), post(&[SESSION, VERSION], body));
    // A call that has not been sent yet is withdrawn, so the server never sees it.
    let unsent = side.call("tools/list", "{}");
    let given_up = side.http.with(|client, out| client.cancel(unsent, None, out));
    assert_eq!(given_up, Ok(Cancellation::Withdrawn));
    side.does_nothing();
}

/// Proves H-HTTP-144.
#[test]
fn a_session_that_is_not_opened_in_time_is_not_cancelled() {
    let mut side = Side::begun(config::client());
    let opening = side.sent_one();
    side.elapse(60_000);
    let events = side.due();
    let [ClientEvent::ConnectFailed(failure), ClientEvent::Closed { .. }] = &events[..] else {
        panic!("{events:?}")
    };
    assert_eq!(*failure, ConnectFailure::TimedOut);
    side.aborts(opening.exchange);
    assert!(side.http.is_over());
}

/// A server that causes ever more responses and accepts none of them is treated like a peer that does not read.
#[test]
fn unaccepted_client_posts_in_flight_are_bounded() {
    let (mut side, listening) = Side::listening(D, HttpClientConfig::new(URL));
    let mut stream = side.stream(&listening);
    let mut sent = Vec::new();
    for id in 0..100 {
        let ping = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
        assert_eq!(side.says(&mut stream, &ping), []);
        sent.extend(side.sent());
    }
    // The limit of exchanges in flight, plus the stream.
    assert_eq!((sent.len(), side.http.transport().exchanges()), (64, 65));
    let (call, nothing) = (side.call("tools/list", "{}"), side.sent());
    assert!(nothing.is_empty(), "what comes later waits as well");
    // Each accepted response lets the next one go.
    for answered in 0..37 {
        assert_eq!(side.answer(&sent[answered], 202, &[], ""), []);
        sent.push(side.sent_one());
    }
    assert!(sent[99].body().contains(r#""id":99"#), "{}", sent[99].body());
    assert!(sent[100].body().contains("tools/list"));
    let answer = result(sent[100].id(), r#"{"tools":[]}"#);
    assert_eq!(complete(side.json(&sent[100], &answer)).0, call);
}

/// The bytes of messages that the server does not accept are bounded as well, and one that is not answered in time is
/// aborted.
#[test]
fn bytes_of_unaccepted_client_posts_are_bounded() {
    let mut side = Side::session(D);
    let note = |side: &mut Side, length: usize| {
        let params = serde_json::json!({"data": "x".repeat(length)});
        let sent = side.http.with(|client, out| client.notify_method("x/note", &params, None, out));
        sent.unwrap();
        side.sent()
    };
    // One message may be longer than the limit of 1 MiB, and the next ones wait for it.
    let long = note(&mut side, 2 << 20);
    assert_eq!(long.len(), 1);
    assert_eq!(note(&mut side, 10).len(), 0);
    assert_eq!(side.answer(&long[0], 202, &[], ""), []);
    let next = side.sent_one();
    assert_eq!(side.waits(), Some(60_000));
    side.elapse(59_999);
    assert_eq!(side.sent().len(), 0);
    side.elapse(1);
    side.aborts(next.exchange);
    assert_eq!((side.http.transport().exchanges(), side.waits()), (0, None));
}
