//! Servers of 2024-11-05, which send every message on one stream and accept messages at another URL.

use mcp_sansio::error::{TransportFailure, TransportFailureKind};
use mcp_sansio::event::ConnectFailure;
use mcp_sansio::http::{HttpClientConfig, OneStream, ResponseReader};
use mcp_sansio::{Cause, ClientEvent, ConnectionNumber, Outcome, Revision};
use mcp_sansio_proptests::config;

use super::kit::{
    Act, INITIALIZED, JSON, Sent, Side, complete, ended, error, request, result, session,
};

const URL: &str = "http://h/sse";
const POSTS: &str = "http://h/messages?id=1";
const ENDPOINT: &[u8] = b"event: endpoint\ndata: /messages?id=1\n\n";
const A: Revision = Revision::V2024_11_05;

fn old() -> HttpClientConfig {
    let mut http = HttpClientConfig::new(URL);
    http.one_stream = OneStream::Always;
    http
}

/// Returns a client whose one stream is open.
fn streaming() -> (Side, Sent, ResponseReader) {
    let mut side = Side::begun_with(config::client(), old());
    let listening = side.sent_one();
    assert_eq!(listening.text(), request("GET", URL, &[], ""));
    let stream = side.stream(&listening);
    (side, listening, stream)
}

/// Returns a client with a session.
fn connected() -> (Side, Sent, ResponseReader) {
    let (mut side, listening, mut stream) = streaming();
    assert_eq!(side.chunk(&mut stream, ENDPOINT), []);
    let opening = side.sent_one();
    assert_eq!(side.answer(&opening, 202, &[], "Accepted"), []);
    let events = side.says(&mut stream, &result(1, &session(A)));
    assert!(matches!(&events[..], [ClientEvent::Connected(_)]), "{events:?}");
    let initialized = side.sent_one();
    assert_eq!(side.answer(&initialized, 202, &[], ""), []);
    assert_eq!(side.http.transport().exchanges(), 1, "the stream");
    (side, listening, stream)
}

/// Proves H-HTTP-212, H-HTTP-219.
#[test]
fn nothing_is_posted_before_the_endpoint_event() {
    let (mut side, _, mut stream) = streaming();
    side.does_nothing();
    assert_eq!(side.says(&mut stream, "{}"), []);
    side.does_nothing();
    assert_eq!(side.chunk(&mut stream, ENDPOINT), []);
    assert_eq!(side.waits(), None);
    let opening = side.sent_one();
    let initialize = Side::begun(config::client()).sent_one();
    assert_eq!(opening.text(), request("POST", POSTS, &[], initialize.body()));
    side.answer(&opening, 202, &[("Mcp-Session-Id", "s-1")], "");
    assert_eq!(side.says(&mut stream, &result(1, &session(A))).len(), 1);
    let initialized = side.sent_one();
    assert_eq!(initialized.text(), request("POST", POSTS, &[], INITIALIZED));
    assert_eq!(side.answer(&initialized, 202, &[], ""), []);
    side.does_nothing();
    let (call, asked) = side.asks("tools/list", "{}");
    let body = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}"#;
    assert_eq!(asked.text(), request("POST", POSTS, &[], body));
    // The JSON-RPC response may arrive before the HTTP response to the POST.
    let done = r#"{"tools":[]}"#;
    let event = format!("id: 1\nevent: message\ndata: {}\n\n", result(2, done));
    assert_eq!(complete(side.chunk(&mut stream, event.as_bytes())).0, call);
    assert_eq!(side.answer(&asked, 202, &[], ""), []);
    let event = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    assert_eq!(side.says(&mut stream, event), []);
    let pong = side.sent_one();
    assert_eq!(pong.text(), request("POST", POSTS, &[], r#"{"jsonrpc":"2.0","id":1,"result":{}}"#));
    side.answer(&pong, 200, &[], "ok");
    // There is no session to terminate.
    side.http.with(|client, _| client.close());
    assert_eq!(side.due().len(), 1);
    let acts = side.acts();
    assert!(matches!(&acts[..], [Act::Abort(_)]), "{acts:?}");
    assert!(side.http.is_over());
}

/// Proves H-HTTP-213, H-HTTP-214.
#[test]
fn the_endpoint_is_set_once_and_only_on_the_same_origin() {
    let (mut side, _, mut stream) = streaming();
    side.chunk(&mut stream, ENDPOINT);
    side.chunk(&mut stream, b"event: endpoint\ndata: /other\n\n");
    side.chunk(&mut stream, b"event: endpoint\ndata: http://evil/\n\n");
    assert_eq!(side.sent_one().request.url, POSTS);
    for place in ["http://evil/m", "https://h/m", "//evil/m", ""] {
        let (mut side, listening, mut stream) = streaming();
        let endpoint_event = format!("event: endpoint\ndata: {place}\n\n");
        assert_eq!(side.chunk(&mut stream, endpoint_event.as_bytes()), [], "{place}");
        side.aborts(listening.exchange);
        let no_answer = TransportFailure::new(TransportFailureKind::NoAnswer);
        let [ClientEvent::ConnectFailed(failure), ClientEvent::Closed { .. }] = &side.due()[..]
        else {
            panic!("{place}")
        };
        assert_eq!(*failure, ConnectFailure::TransportFailed(no_answer));
        assert!(side.acts().is_empty());
        assert!(side.http.is_over());
    }
}

/// Streamable HTTP alone has header fields for the session, whatever revision is agreed on.
#[test]
fn messages_to_the_endpoint_name_no_session() {
    let (mut side, _, mut stream) = streaming();
    assert_eq!(side.chunk(&mut stream, ENDPOINT), []);
    let opening = side.sent_one();
    assert_eq!(side.answer(&opening, 202, &[("Mcp-Session-Id", "s-1")], ""), []);
    side.says(&mut stream, &result(1, &session(Revision::V2025_06_18)));
    assert_eq!(side.sent_one().text(), request("POST", POSTS, &[], INITIALIZED));
}

/// Proves H-HTTP-215.
#[test]
fn only_the_stream_delivers_results_of_posted_requests() {
    for (status, headers, body) in [
        (200, &[][..], "ok"),
        (200, &[JSON], "{}"),
        (200, &[JSON], r#"{"jsonrpc":"2.0","id":2,"result":{"tools":[1]}}"#),
        (200, &[super::kit::EVENTS], ""),
        (202, &[("Content-Type", "text/plain")], "Accepted"),
        (204, &[], ""),
    ] {
        let (mut side, _, mut stream) = connected();
        let (call, asked) = side.asks("tools/list", "{}");
        assert_eq!(side.answer(&asked, status, headers, body), [], "{status} {body}");
        let done = r#"{"tools":[]}"#;
        let events = side.says(&mut stream, &result(2, done));
        assert_eq!(complete(events), (call, done.into()));
        assert_eq!(side.http.transport().exchanges(), 1);
    }
    for status in [400, 404, 405, 500] {
        let (mut side, _, _stream) = connected();
        let (call, asked) = side.asks("tools/list", "{}");
        let (failed, outcome) = ended(side.answer(&asked, status, &[], ""));
        assert_eq!(failed, call);
        let Outcome::TransportFailed(failure) = outcome else { panic!("{outcome:?}") };
        assert_eq!(failure.status, Some(status));
        side.does_nothing();
    }
}

/// Proves H-HTTP-216.
#[test]
fn the_end_of_the_stream_is_the_end_of_the_connection() {
    for breaks in [false, true] {
        let (mut side, listening, mut stream) = connected();
        side.chunk(&mut stream, b"id: e1\nretry: 5\n\n");
        let (call, asked) = side.asks("tools/list", "{}");
        assert_eq!(if breaks { side.failed(&listening) } else { side.end(&mut stream) }, []);
        let events = side.due();
        let [ClientEvent::CallEnded(ended), ClientEvent::Closed { cause: Cause::EndOfInput }] =
            &events[..]
        else {
            panic!("{events:?}")
        };
        assert_eq!((ended.call, &ended.outcome), (call, &Outcome::Closed(Cause::EndOfInput)));
        let aborted: Vec<_> = side
            .acts()
            .into_iter()
            .map(|act| match act {
                Act::Abort(exchange) => exchange,
                Act::Send(sent) => panic!("{}", sent.text()),
            })
            .collect();
        assert_eq!(aborted, [listening.exchange, asked.exchange]);
        assert!(side.http.is_over());
        assert_eq!(side.waits(), None, "it is not resumed");
    }
}

/// Proves H-HTTP-217.
#[test]
fn a_stream_that_does_not_say_where_to_is_given_up() {
    let (mut side, listening, _stream) = streaming();
    assert_eq!(side.waits(), Some(5000));
    side.elapse(4999);
    side.does_nothing();
    side.elapse(1);
    side.aborts(listening.exchange);
    let events = side.due();
    let [ClientEvent::ConnectFailed(_), ClientEvent::Closed { .. }] = &events[..] else {
        panic!("{events:?}")
    };
    assert!(side.acts().is_empty());
    assert!(side.http.is_over());
}

/// Proves H-HTTP-227, H-HTTP-229.
#[test]
fn a_client_falls_back_to_the_http_sse_transport() {
    let mut side = Side::begun_with(config::client_of_both_eras(), HttpClientConfig::new(URL));
    let probe = side.sent_one();
    assert_eq!(side.answer(&probe, 404, &[], ""), []);
    let initialize = side.sent_one();
    assert_eq!(initialize.request.method, "POST");
    assert_eq!(side.answer(&initialize, 405, &[], ""), []);
    let listening = side.sent_one();
    assert_eq!(listening.text(), request("GET", URL, &[], ""));
    assert_eq!(side.waits(), Some(5000));
    let mut stream = side.stream(&listening);
    assert_eq!(side.chunk(&mut stream, ENDPOINT), []);
    let again = side.sent_one();
    assert_eq!(again.text(), request("POST", POSTS, &[], initialize.body()));
    assert_eq!(side.answer(&again, 202, &[], ""), []);
    let events = side.says(&mut stream, &result(2, &session(A)));
    let [ClientEvent::Connected(connected)] = &events[..] else { panic!("{events:?}") };
    assert_eq!(connected.revision, A);
    let statuses: Vec<_> = side
        .http
        .transport()
        .refusals()
        .iter()
        .map(|refusal| (refusal.method, refusal.failure.status))
        .collect();
    assert_eq!(statuses, [("POST", Some(404)), ("POST", Some(405))]);
}

/// A reaction of the server to the request for the one stream.
type Way = fn(&mut Side, &Sent) -> Vec<ClientEvent<'static>>;

/// Proves H-HTTP-217, H-HTTP-229, M-AMB-27.
#[test]
fn each_way_is_tried_once_and_all_refusals_are_kept() {
    // Reactions to the request for the one stream, with the status of the recorded refusal.
    let ways: [(Way, Option<u16>); 5] = [
        (|side, sent| side.answer(sent, 405, &[], ""), Some(405)),
        (|side, sent| side.answer(sent, 200, &[JSON], "{}"), None),
        (|side, sent| side.failed(sent), None),
        (
            |side, sent| {
                let mut stream = side.stream(sent);
                side.end(&mut stream)
            },
            None,
        ),
        (
            |side, _| {
                side.elapse(5000);
                Vec::new()
            },
            None,
        ),
    ];
    for (way, status) in ways {
        let mut side = Side::begun_with(config::client_of_both_eras(), HttpClientConfig::new(URL));
        let probe = side.sent_one();
        side.answer(&probe, 404, &[], "");
        let initialize = side.sent_one();
        side.answer(&initialize, 400, &[], "");
        let listening = side.sent_one();
        assert_eq!(way(&mut side, &listening), []);
        side.aborts(listening.exchange);
        let events = side.due();
        let [
            ClientEvent::ConnectFailed(ConnectFailure::TransportFailed(failure)),
            ClientEvent::Closed { .. },
        ] = &events[..]
        else {
            panic!("{events:?}")
        };
        assert_eq!((failure.kind, failure.status), (TransportFailureKind::Refused, Some(400)));
        assert!(side.acts().is_empty(), "nothing else is tried");
        assert!(side.http.is_over());
        let kept: Vec<_> = side
            .http
            .transport()
            .refusals()
            .iter()
            .map(|refusal| (refusal.method, refusal.failure.status))
            .collect();
        assert_eq!(kept, [("POST", Some(404)), ("POST", Some(400)), ("GET", status)]);
    }
}

/// Proves H-HTTP-229.
#[test]
fn the_oldest_way_has_its_own_reasons() {
    let tries = |status: u16, headers: &[(&str, &str)], body: &str, http: HttpClientConfig| {
        let mut side = Side::begun_with(config::client(), http);
        let initialize = side.sent_one();
        let events = side.answer(&initialize, status, headers, body);
        let asks = side
            .acts()
            .iter()
            .any(|act| matches!(act, Act::Send(sent) if sent.request.method == "GET"));
        assert_eq!(events.is_empty(), asks, "{status}: {events:?}");
        asks
    };
    for status in [400, 404, 405] {
        assert!(tries(status, &[], "", HttpClientConfig::new(URL)));
        assert!(tries(status, &[JSON], "{}", HttpClientConfig::new(URL)));
        // A JSON-RPC error comes from a server that supports POST, so there is no fallback, except after 405.
        let asks = tries(status, &[JSON], &error(1, -32600), HttpClientConfig::new(URL));
        assert_eq!(asks, status == 405);
        let mut never = HttpClientConfig::new(URL);
        never.one_stream = OneStream::Never;
        assert!(!tries(status, &[], "", never));
    }
    for status in [401, 403, 406, 415, 500, 503] {
        assert!(!tries(status, &[], "", HttpClientConfig::new(URL)), "{status}");
    }
}

/// Proves H-HTTP-216.
#[test]
fn the_next_connection_has_a_stream_of_its_own() {
    let (mut side, _, mut stream) = connected();
    assert_eq!(side.end(&mut stream), []);
    assert_eq!(side.due(), [ClientEvent::Closed { cause: Cause::EndOfInput }]);
    assert!(matches!(&side.acts()[..], [Act::Abort(_)]));
    let now = side.now;
    side.http.with(|client, transport| {
        *client = client.reconnect(ConnectionNumber::new(1));
        transport.renew();
        client.connect(now, transport).unwrap();
    });
    let listening = side.sent_one();
    assert_eq!(listening.text(), request("GET", URL, &[], ""));
    let mut stream = side.stream(&listening);
    assert_eq!(side.chunk(&mut stream, b"event: endpoint\ndata: /other\n\n"), []);
    let opening = side.sent_one();
    assert_eq!(opening.request.url, "http://h/other");
    assert!(opening.body().contains("\"initialize\""));
    // It ends like the first one.
    side.http.with(|client, _| client.close());
    side.due();
    let aborted: Vec<_> = side.acts().into_iter().collect();
    assert!(
        aborted.iter().any(|act| matches!(act, Act::Abort(one) if *one == listening.exchange)),
        "{aborted:?}"
    );
    assert!(side.http.is_over());
}

/// An event that is too long may have been the response to any call, so the connection ends.
///
/// Proves H-HTTP-241.
#[test]
fn an_oversized_event_ends_the_connection() {
    let (mut side, _, mut stream) = connected();
    let (call, posted) = side.asks("tools/list", "{}");
    assert_eq!(side.answer(&posted, 202, &[], ""), []);
    let long = "x".repeat(side.http.client().config().connection.limits.frame_bytes + 1);
    let mut events = side.says(&mut stream, &long);
    events.extend(side.due());
    let [ClientEvent::CallEnded(ended), ClientEvent::Closed { cause }] = &events[..] else {
        panic!("{events:?}")
    };
    assert_eq!((ended.call, *cause), (call, Cause::EndOfInput));
}
