//! Arbitrary HTTP traffic: mostly invalid requests to a server and responses to a client, among some valid ones.

use std::sync::Arc;
use std::time::Duration;

use mcp_sansio::http::{
    Accepted, Action, Arrived, ClientTransport, Content, ExchangeNumber, Headers, HttpClientConfig,
    HttpExchange, HttpServer, HttpServerConfig, RequestHead, ResponsePart,
};
use mcp_sansio::model::{ListChanged, PageParams, method};
use mcp_sansio::testing::{Choices, WorkMeter};
use mcp_sansio::{
    CallId, CallOptions, Cause, Client, ClientConfig, ClientEvent, ErrorCode, Frames, Instant,
    Principal, ServerConfig, ServerEvent,
};

use serde::de::IgnoredAny;

use super::scanned::Scans;

const METHODS: &[&str] = &["POST", "POST", "POST", "GET", "DELETE", "PUT", ""];

const FIELDS: &[(&str, &[&str])] = &[
    ("Host", &["localhost", "localhost:3000", "[::1]:8", "evil.example", "", "a b"]),
    ("Origin", &["http://localhost", "null", "http://evil.example", "https://127.0.0.1:1"]),
    ("Content-Type", &["application/json", "application/json; charset=utf-8", "text/plain", ""]),
    (
        "Accept",
        &["application/json, text/event-stream", "*/*", "text/event-stream", "text/html;q=0", ""],
    ),
    ("MCP-Protocol-Version", &["2026-07-28", "2025-11-25", "2025-03-26", "v999", ""]),
    ("Mcp-Session-Id", &["00000000000000000000000000000001", "x", "é", ""]),
    ("Mcp-Method", &["tools/list", "tools/call", "server/discover", "initialize", ""]),
    ("Mcp-Name", &["tool", "=?base64?dG9vbA==?=", "=?base64?x?=", ""]),
    ("Last-Event-ID", &["1-0", "0-0", "0-1", "x", "99999999999999999999-1", ""]),
];

const CLAIM: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

const BODIES: &[&str] = &[
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{CLAIM}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tool",CLAIM}}"#,
    r#"{"jsonrpc":"2.0","id":"a","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},CLAIM}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#,
    r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"tool","_meta":{"progressToken":1}}}"#,
    r#"[{"jsonrpc":"2.0","id":3,"method":"tools/list"},{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"tool"}}]"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
    r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"x"}}"#,
    r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"x"}}"#,
    "[]",
    "",
];

/// Returns one of these texts, usually unchanged.
fn text(choices: &mut Choices, texts: &[&str]) -> Vec<u8> {
    let mut text = choices.pick(texts).unwrap_or_default().replace("CLAIM", CLAIM).into_bytes();
    if choices.one_in(6) {
        let at = choices.below(text.len() as u64 + 1) as usize;
        let byte = choices.below(256) as u8;
        if choices.one_in(2) {
            text.truncate(at);
        } else {
            text.insert(at, byte);
        }
    }
    text
}

/// Sends arbitrary requests to a server.
///
/// # Panics
///
/// Panics if the server panics, if the parts of a response are out of order, or if a single scan of a body changes
/// the result compared with two scans.
pub fn ask_anything(choices: &mut Choices) {
    let mut config = ServerConfig::new("server", "1");
    config.capabilities.tools = Some(ListChanged::notified());
    let mut http = HttpServer::new(Arc::new(HttpServerConfig::default()), Arc::new(config));
    let mut now = Instant::from_millis(1);
    let mut open: Vec<(HttpExchange, Option<Content>)> = Vec::new();
    for _ in 0..40 {
        if choices.is_exhausted() {
            break;
        }
        open.extend(ask(&mut http, choices, now).map(|exchange| (exchange, None)));
        if let Some(index) = choices.below(3).checked_rem(open.len() as u64) {
            let (exchange, content) = &mut open[index as usize];
            let exchange = *exchange;
            if choices.one_in(3) {
                http.disconnected(exchange, now);
                open.swap_remove(index as usize);
            } else {
                let mut buffer = Vec::new();
                let part = http.next(exchange, now, &mut buffer);
                check_part(part, content, &buffer);
                if part == ResponsePart::End {
                    open.swap_remove(index as usize);
                    assert_eq!(http.next(exchange, now, &mut buffer), ResponsePart::End);
                }
            }
        }
        now = now + Duration::from_millis(choices.below(20_000));
        while http.handle_timeout(now).is_some() {}
    }
    for (exchange, _) in open {
        http.disconnected(exchange, now);
    }
    answer_the_rest(&mut http, now);
    for _ in 0..3 {
        now = now + Duration::from_secs(7_200);
        while http.handle_timeout(now).is_some() {}
    }
    assert_eq!((http.connections().count(), http.sessions()), (0, 0), "nothing is left");
}

/// Checks a part of a response: one head, and then what it announces. `content` is that of the head.
fn check_part(part: ResponsePart, content: &mut Option<Content>, buffer: &[u8]) {
    match (part, *content) {
        (ResponsePart::Head(head), None) => {
            assert_eq!(buffer, b"", "a body before the head");
            *content = Some(head.content);
        }
        (ResponsePart::Body, Some(Content::Json)) => {
            let body = serde_json::from_slice::<IgnoredAny>(buffer);
            assert!(body.is_ok(), "the body is not one JSON text");
        }
        (ResponsePart::Body, Some(Content::Events)) => {
            assert!(buffer.ends_with(b"\n\n"), "an event without an end");
        }
        (ResponsePart::Nothing | ResponsePart::End, _) => assert_eq!(buffer, b""),
        (part, content) => panic!("{part:?} after {content:?}"),
    }
}

/// Responds to the open requests. A session stays in use as long as one is open.
#[allow(clippy::needless_collect, reason = "what is answered is not there any more")]
fn answer_the_rest(http: &mut HttpServer, now: Instant) {
    let connections: Vec<_> = http.connections().collect();
    for connection in connections {
        http.with(connection, now, |server, out| {
            let requests: Vec<_> = server.in_flight().requests().collect();
            for id in requests {
                assert!(server.reject(id, ErrorCode::INTERNAL_ERROR, "late", out).is_ok());
            }
        });
    }
}

fn ask(http: &mut HttpServer, choices: &mut Choices, now: Instant) -> Option<HttpExchange> {
    let method = choices.pick(METHODS)?;
    let mut fields: Vec<(&str, Vec<u8>)> = Vec::new();
    for (name, values) in FIELDS {
        // Fields are usually valid, so that the request reaches the server.
        match choices.below(8) {
            0 => {}
            1 => fields.push((name, text(choices, values))),
            2 => fields.extend([0, 1].map(|_| (*name, text(choices, values)))),
            _ => fields.push((name, values[0].as_bytes().to_vec())),
        }
    }
    let fields: Vec<(&str, &[u8])> = fields.iter().map(|(name, value)| (*name, &**value)).collect();
    let head = RequestHead::new(method, &*fields);
    let principal = Principal::new(choices.below(2));
    match http.admit(&head).ok()? {
        Accepted::Post => {
            let body = text(choices, BODIES);
            let mut random = [0; 16];
            random[15] = choices.below(3) as u8;
            let headers = Headers::from(&*fields);
            let mut scans = Scans::new(&body);
            scans.check_post(http.validator(), headers, &|_| None);
            let exchange =
                http.post(headers, &body, principal, random, now, &|_| None).ok().flatten()?;
            let limits = http.limits().clone();
            for frame in Frames::of(&body, &limits) {
                scans.check_frame(http, exchange, frame, principal.into(), now);
                let (meter, length) = (WorkMeter::start(), frame.bytes().len());
                let event = http.receive(exchange, frame, now);
                assert_eq!(meter.check(length), Ok(()));
                let Some(ServerEvent::Request(request)) = event else { continue };
                let (id, answers) = (request.id, !choices.one_in(3));
                http.with(id.connection(), now, |server, out| {
                    let code = ErrorCode::INVALID_PARAMS;
                    assert!(!answers || server.reject(id, code, "no", out).is_ok());
                });
            }
            Some(exchange)
        }
        Accepted::Listen { session, last_event } => {
            http.listen(session, last_event, principal, now).ok()
        }
        Accepted::End { session } => {
            _ = http.end(session, principal, now);
            None
        }
        _ => None,
    }
}

/// Sends arbitrary responses to a client.
///
/// # Panics
///
/// Panics if the client panics, or if a call has no outcome or two.
pub fn answer_anything(choices: &mut Choices) {
    let mut client = Client::new(Arc::new(ClientConfig::new("client", "1")));
    let limits = client.config().connection.limits.clone();
    let mut transport =
        ClientTransport::new(Arc::new(HttpClientConfig::new("http://localhost/mcp")), &limits);
    let (mut now, mut calls, mut sent) = (Instant::from_millis(1), Vec::new(), Vec::new());
    client.connect(now, &mut transport).unwrap();
    for _ in 0..60 {
        if choices.one_in(4) {
            let made = client.call::<method::ListTools>(
                &PageParams::default(),
                CallOptions::new(),
                now,
                &mut transport,
            );
            calls.extend(made);
        }
        act(&mut client, &mut transport, &mut (&mut calls, &mut sent), now);
        if let Some(index) = choices.below(3).checked_rem(sent.len() as u64) {
            let exchange = sent.swap_remove(index as usize);
            answer(&mut client, &mut transport, choices, &mut calls, (exchange, now));
        }
        now = now + Duration::from_millis(choices.below(5_000));
        elapse(&mut client, &mut transport, &mut calls, now);
        if choices.is_exhausted() {
            break;
        }
    }
    client.close();
    elapse(&mut client, &mut transport, &mut calls, now);
    assert_eq!(calls, [], "every call has an outcome");
}

fn elapse(
    client: &mut Client,
    transport: &mut ClientTransport,
    calls: &mut Vec<CallId>,
    now: Instant,
) {
    while let Some(event) = client.handle_timeout(now, transport) {
        saw(transport, calls, Some(event));
    }
}

fn saw(transport: &mut ClientTransport, calls: &mut Vec<CallId>, event: Option<ClientEvent<'_>>) {
    let Some(event) = event else { return };
    transport.watch(&event);
    if let ClientEvent::CallEnded(ended) = event {
        let before = calls.len();
        calls.retain(|call| *call != ended.call);
        assert_eq!(calls.len() + 1, before, "{} has ended once", ended.call);
    }
}

fn act(
    client: &mut Client,
    transport: &mut ClientTransport,
    (calls, sent): &mut (&mut Vec<CallId>, &mut Vec<ExchangeNumber>),
    now: Instant,
) {
    while let Some(action) = transport.poll_action(now) {
        match action {
            Action::Send { exchange, .. } => sent.push(exchange),
            Action::Abort { exchange } => sent.retain(|one| *one != exchange),
            Action::Fail { call, failure } => {
                let end = mcp_sansio::call::ExchangeEnd::Failure(failure);
                let event = client.exchange_ended(call, end, now, transport);
                saw(transport, calls, event);
            }
            _ => {}
        }
    }
}

fn answer(
    client: &mut Client,
    transport: &mut ClientTransport,
    choices: &mut Choices,
    calls: &mut Vec<CallId>,
    (exchange, now): (ExchangeNumber, Instant),
) {
    const STATUSES: &[u16] = &[200, 200, 200, 202, 204, 400, 401, 403, 404, 405, 500, 302];
    const KINDS: &[&str] = &["application/json", "text/event-stream", "text/html", ""];
    const MESSAGES: &[&str] = &[
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"x"}}"#,
        r#"{"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}}"#,
        r#"{"jsonrpc":"2.0","id":3,"result":{"tools":[{"name":"a","inputSchema":{"type":"object","properties":{"x":{"type":"object","x-mcp-header":"X"}}}}]}}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"x"}}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
    ];
    if choices.one_in(10) {
        let arrived = transport.failed(exchange, None, now);
        return arrived
            .into_iter()
            .for_each(|arrived| take(client, transport, calls, arrived, now));
    }
    let status = choices.pick(STATUSES).unwrap();
    let kind = choices.pick(KINDS).unwrap();
    let fields: [(&str, &[u8]); 3] = [
        ("Content-Type", kind.as_bytes()),
        ("Mcp-Session-Id", if choices.one_in(2) { b"session" } else { b"s p a c e" }),
        ("WWW-Authenticate", b"Bearer"),
    ];
    let Some(mut reader) = transport.head(exchange, status, Headers::from(&fields[..]), now) else {
        return;
    };
    for _ in 0..choices.below(4) {
        let message = text(choices, MESSAGES);
        let mut piece = Vec::new();
        if kind == "text/event-stream" {
            let id = choices.one_in(2).then_some(&7_u8 as &dyn std::fmt::Display);
            let retry = choices.one_in(3).then(|| Duration::from_millis(choices.below(4_000)));
            mcp_sansio::http::write_event(&mut piece, None, id, retry, &message);
        } else {
            piece = message;
        }
        let cut = choices.below(piece.len() as u64 + 1) as usize;
        for mut part in [&piece[..cut], &piece[cut..]] {
            while let Some(arrived) = transport.chunk(&mut reader, &mut part, now) {
                take(client, transport, calls, arrived, now);
            }
        }
    }
    let arrived = if choices.one_in(4) {
        transport.failed(exchange, None, now)
    } else {
        transport.end(&mut reader, now)
    };
    arrived.into_iter().for_each(|arrived| take(client, transport, calls, arrived, now));
}

fn take(
    client: &mut Client,
    transport: &mut ClientTransport,
    calls: &mut Vec<CallId>,
    arrived: Arrived<'_>,
    now: Instant,
) {
    match arrived {
        Arrived::Messages { text, received } => {
            let limits = client.config().connection.limits.clone();
            for frame in Frames::of(text, &limits) {
                let (meter, length) = (WorkMeter::start(), frame.bytes().len());
                let event = client.receive(frame, received, transport);
                assert_eq!(meter.check(length), Ok(()));
                saw(transport, calls, event);
            }
        }
        Arrived::Ended { call, end } => {
            let event = client.exchange_ended(call, end, now, transport);
            saw(transport, calls, event);
        }
        Arrived::SessionLost | Arrived::ConnectionLost => {
            client.disconnected(Cause::SessionLost, now);
        }
        _ => {}
    }
}
