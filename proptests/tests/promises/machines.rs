//! Properties of clients and servers: total, deterministic, independent of chunking, and never more responses than
//! requests.

use std::collections::BTreeMap;
use std::sync::Arc;

use mcp_sansio::config::{DuplicateIds, RepliesWithoutId};
use mcp_sansio::{
    Cause, Client, ClientEvent, ErrorCode, Framing, Inbox, Instant, Outbox, Phase, Server,
    ServerConfig, ServerEvent,
};
use mcp_sansio_proptests::{config, payload};
use proptest::prelude::*;
use serde_json::Value;

fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(300)
}

const IDS: [&str; 9] = ["1", "2", r#""1""#, r#""\u0031""#, "0", r#""""#, "null", "1.5", "-7"];

const METHODS: [&str; 11] = [
    "initialize",
    "ping",
    "tools/list",
    "tools/call",
    "roots/list",
    "x/own",
    "tasks/get",
    "notifications/initialized",
    "notifications/cancelled",
    "notifications/progress",
    "notifications/roots/list_changed",
];

const PARAMS: [&str; 10] = [
    r#"{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}"#,
    r#"{"protocolVersion":"2025-03-26","capabilities":{"roots":{}},"clientInfo":{"name":"c"}}"#,
    "{}",
    "null",
    "[]",
    r#"{"name":"t","arguments":{"a":1}}"#,
    r#"{"requestId":1}"#,
    r#"{"requestId":"1"}"#,
    r#"{"progressToken":1,"progress":1}"#,
    r#"{"name":"t","_meta":{"progressToken":"é"}}"#,
];

const OUTCOMES: [&str; 4] = [
    r#""result":{}"#,
    r#""error":{"code":1,"message":"m"}"#,
    r#""result":7"#,
    r#""result":{"protocolVersion":"2025-06-18","capabilities":{}}"#,
];

const JUNK: [&str; 16] = [
    "",
    "   ",
    "{",
    "}",
    "[",
    "[]",
    "{}",
    "noise",
    "Content-Length: 5",
    "\u{feff}",
    "42",
    r#"{"jsonrpc":"2.0","id":1}"#,
    r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#,
    r#"{"id":1,"method":"ping"}"#,
    r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},7]"#,
    r#"{"jsonrpc":"2.0","id":3,"method":"ping"#,
];

/// Generates lines that a client might send, and invalid ones.
fn line() -> impl Strategy<Value = Vec<u8>> {
    let (id, method) = (prop::sample::select(&IDS[..]), prop::sample::select(&METHODS[..]));
    let params = prop::sample::select(&PARAMS[..]);
    let request = (id.clone(), method.clone(), params.clone()).prop_map(|(id, method, params)| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
    });
    let notification = (method, params).prop_map(|(method, params)| {
        format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#)
    });
    let response = (id, prop::sample::select(&OUTCOMES[..]))
        .prop_map(|(id, outcome)| format!(r#"{{"jsonrpc":"2.0","id":{id},{outcome}}}"#));
    prop_oneof![
        4 => request.prop_map(String::into_bytes),
        2 => notification.prop_map(String::into_bytes),
        2 => response.prop_map(String::into_bytes),
        2 => prop::sample::select(&JUNK[..]).prop_map(|junk| junk.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..40),
    ]
}

fn stream() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(line(), 0..25).prop_map(|lines| {
        let mut stream = lines.join(&b'\n');
        stream.push(b'\n');
        stream
    })
}

/// Cuts bytes at positions given as fractions of their length.
fn cut<'a>(bytes: &'a [u8], places: &[prop::sample::Index]) -> Vec<&'a [u8]> {
    let mut at: Vec<usize> = places.iter().map(|place| place.index(bytes.len() + 1)).collect();
    at.extend([0, bytes.len()]);
    at.sort_unstable();
    at.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect()
}

fn server_config(policies: u8) -> ServerConfig {
    let mut config = config::server();
    config.connection.limits.frame_bytes = 300;
    config.connection.limits.chunk_bytes = 64;
    config.connection.limits.inbound_requests = 4;
    if policies & 1 != 0 {
        config.connection.duplicate_ids = DuplicateIds::Serve;
    }
    if policies & 2 != 0 {
        let replies = RepliesWithoutId::at_most(3, std::time::Duration::from_secs(1));
        config.connection.replies_without_id = Some(replies);
    }
    config
}

/// Runs a server over a stream. Responds to every other request at once and to the rest at the end. Returns its
/// events as text, and its output.
fn serve(config: &ServerConfig, chunks: &[&[u8]]) -> (Vec<String>, Vec<u8>) {
    let limits = &config.connection.limits;
    let (mut inbox, mut out) = (Inbox::new(limits), Outbox::new(Framing::Lines, limits));
    let mut server = Server::new(Arc::new(config.clone()));
    let now = Instant::from_millis(1);
    let (mut events, mut later, mut count) = (Vec::new(), Vec::new(), 0);
    let mut take = |inbox: &mut Inbox, server: &mut Server, out: &mut Outbox| {
        while let Some(frame) = inbox.next() {
            let Some(event) = server.receive(frame, now, out) else { continue };
            events.push(format!("{event:?}"));
            if let ServerEvent::Request(request) = event {
                count += 1;
                let result = payload::result(&request.method.to_str());
                if count % 2 == 0 {
                    server.respond(request.id, &result, out).unwrap();
                } else {
                    later.push(request.id);
                }
            }
        }
        while let Some(event) = server.handle_timeout(now, out) {
            events.push(format!("{event:?}"));
        }
    };
    for chunk in chunks {
        let mut rest = *chunk;
        while !rest.is_empty() {
            let taken = inbox.feed(rest);
            rest = &rest[taken..];
            take(&mut inbox, &mut server, &mut out);
        }
    }
    inbox.finish();
    take(&mut inbox, &mut server, &mut out);
    for id in later {
        // A cancelled request gets no response; the caller checks this.
        _ = server.reject(id, ErrorCode::INTERNAL_ERROR, "late", &mut out);
    }
    server.disconnected(Cause::EndOfInput, now);
    while let Some(event) = server.handle_timeout(now, &mut out) {
        events.push(format!("{event:?}"));
    }
    assert_eq!(server.phase(), Phase::Closed);
    let counts = server.in_flight().counts();
    assert_eq!((counts.inbound, counts.outbound, counts.held_bytes), (0, 0, 0));
    assert_eq!(server.poll_timeout(), None);
    (events, out.unsent().to_vec())
}

/// Counts the requests with each id, with a slow and obviously correct parser.
fn request_ids(stream: &[u8]) -> BTreeMap<String, usize> {
    fn note(ids: &mut BTreeMap<String, usize>, value: &Value) {
        let response = value.get("result").is_some() || value.get("error").is_some();
        if let (Some(id), true) = (value.get("id"), value.get("method").is_some() || !response) {
            *ids.entry(id.to_string()).or_insert(0) += 1;
        }
    }
    let mut ids = BTreeMap::new();
    for line in stream.split(|byte| *byte == b'\n') {
        match serde_json::from_slice::<Value>(line) {
            Ok(Value::Array(elements)) => elements.iter().for_each(|value| note(&mut ids, value)),
            Ok(value) => note(&mut ids, &value),
            // A broken line can contain an id all the same.
            Err(_) => {
                for id in ["0", "1", "2", "3", "-7", "\"\"", "\"1\""] {
                    if String::from_utf8_lossy(line).contains(&format!("\"id\":{id}")) {
                        *ids.entry(id.to_string()).or_insert(0) += 1;
                    }
                }
            }
        }
    }
    ids
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    /// Promises 1, 5 and 7. Pain 46.
    #[test]
    fn any_chunking_gives_the_same_events_and_output(
        stream in stream(),
        places in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
        policies: u8,
    ) {
        let config = server_config(policies);
        let whole = serve(&config, &[&stream]);
        prop_assert_eq!(&serve(&config, &cut(&stream, &places)), &whole);
        prop_assert_eq!(&serve(&config, &stream.chunks(1).collect::<Vec<_>>()), &whole);
    }

    /// Promise 3. Pains 55 and 66: each line is a message, and every response belongs to a request.
    #[test]
    fn nothing_is_answered_twice_or_unasked(stream in stream(), policies: u8) {
        let config = server_config(policies & 1);
        let (_, output) = serve(&config, &[&stream]);
        let mut asked = request_ids(&stream);
        for line in output.split_inclusive(|byte| *byte == b'\n') {
            prop_assert!(line.ends_with(b"\n"));
            let message: Value = serde_json::from_slice(line).expect("every line is a message");
            prop_assert_eq!(&message["jsonrpc"], "2.0");
            prop_assert!(message.get("result").is_some() != message.get("error").is_some());
            let left = asked.get_mut(&message["id"].to_string()).expect("somebody asked");
            prop_assert!(0 < *left, "more answers than requests: {message}");
            *left -= 1;
        }
    }

    /// Promise 1: any bytes, in any phase, in either role.
    #[test]
    fn a_client_survives_anything(stream in stream(), connect: bool, calls in 0..4_usize) {
        let config = Arc::new(config::client());
        let limits = &config.connection.limits;
        let mut client = Client::new(Arc::clone(&config));
        let mut out = Outbox::new(Framing::Lines, limits);
        let now = Instant::from_millis(1);
        if connect {
            client.connect(now, &mut out).unwrap();
        }
        let options = mcp_sansio::CallOptions::new().progress();
        let mut pending: Vec<_> = (0..calls)
            .map(|_| client.call_method("x", &(), options, now, &mut out).unwrap())
            .collect();
        let mut note = |event: &ClientEvent<'_>| {
            if let ClientEvent::CallEnded(ended) = event {
                let at = pending.iter().position(|call| *call == ended.call);
                pending.swap_remove(at.expect("no call ends twice"));
            }
        };
        for line in stream.split(|byte| *byte == b'\n') {
            if let Some(event) = client.receive(line, now, &mut out) {
                note(&event);
                _ = event.into_owned();
            }
        }
        client.disconnected(Cause::EndOfInput, now);
        while let Some(event) = client.handle_timeout(now, &mut out) {
            note(&event);
        }
        prop_assert!(pending.is_empty(), "every call has ended");
        prop_assert_eq!(client.phase(), Phase::Closed);
        prop_assert_eq!(client.poll_timeout(), None);
        let counts = client.in_flight().counts();
        prop_assert_eq!((counts.inbound, counts.outbound, counts.held_bytes), (0, 0, 0));
    }
}
