//! Invalid bytes.

use std::sync::Arc;
use std::time::Duration;

use mcp_sansio::config::RepliesWithoutId;
use mcp_sansio::error::ViolationKind;
use mcp_sansio::{
    Cause, Client, ClientEvent, Framing, Inbox, Instant, Limits, Outbox, Revision, Server,
    ServerConfig, ServerEvent,
};
use mcp_sansio_proptests::{ClientSide, ServerSide, config};

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
const PONG: &str = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;

/// Feeds a byte stream to a server in chunks. Returns its events as text, and its output.
fn run(config: &ServerConfig, chunks: &[&[u8]]) -> (Vec<String>, String) {
    let mut inbox = Inbox::new(&config.connection.limits);
    let mut outbox = Outbox::new(Framing::Lines, &config.connection.limits);
    let mut server = Server::new(Arc::new(config.clone()));
    let mut events = Vec::new();
    let now = Instant::from_millis(1);
    let mut take = |inbox: &mut Inbox, outbox: &mut Outbox| {
        while let Some(frame) = inbox.next() {
            match server.receive(frame, now, outbox) {
                None => {}
                Some(ServerEvent::Violation(violation)) => {
                    events.push(format!("{:?}", violation.kind));
                }
                Some(ServerEvent::Request(request)) => {
                    events.push(request.method.to_string());
                    server.respond(request.id, &(), outbox).unwrap();
                }
                Some(ServerEvent::Opened(_)) => events.push("opened".into()),
                Some(ServerEvent::Ready) => events.push("ready".into()),
                Some(other) => events.push(format!("{other:?}")),
            }
        }
        if inbox.is_finished() {
            server.disconnected(Cause::EndOfInput, now);
            while server.handle_timeout(now, outbox).is_some() {}
        }
    };
    for chunk in chunks {
        let mut rest = *chunk;
        while !rest.is_empty() {
            let taken = inbox.feed(rest);
            rest = &rest[taken..];
            take(&mut inbox, &mut outbox);
        }
    }
    inbox.finish();
    take(&mut inbox, &mut outbox);
    (events, String::from_utf8(outbox.unsent().to_vec()).unwrap())
}

/// The same for every chunking with two cuts at some distance, and byte by byte.
fn in_chunks(config: &ServerConfig, bytes: &[u8]) -> (Vec<String>, String) {
    let whole = run(config, &[bytes]);
    assert_eq!(run(config, &bytes.chunks(1).collect::<Vec<_>>()), whole);
    for cut in 0..bytes.len() {
        let (left, right) = bytes.split_at(cut);
        assert_eq!(run(config, &[left, right]), whole, "cut at {cut}");
    }
    whole
}

/// Proves L-STDIO-02, L-STDIO-04, L-STDIO-05, L-JSONRPC-18, L-JSONRPC-27. Pains 45, 46, 48 and 50.
#[test]
fn the_same_bytes_give_the_same_events_and_output_in_any_chunking() {
    let bytes = [
        "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":\"é😀\",\"method\":\"ping\"}\r\n\r\n  \n".as_bytes(),
        b"{oops\n\xff\xfe\n{\"a\":\"\xc3\"}\n",
        "{\"jsonrpc\":\"2.0\",\"id\":\"\u{2028}\u{85}\\u000b\",\"method\":\"ping\"}\r\r\n".as_bytes(),
        b"\0\0\n{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\"}\0\n",
        b"{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"ping\"}{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"ping\"}\n",
        PING.as_bytes(),
        b"\n",
    ]
    .concat();
    let (events, output) = in_chunks(&config::server(), &bytes);
    assert_eq!(
        events,
        ["NotJson", "NotJson", "NotUtf8", "NotJson", "NotJson", "NotJson"],
        "one each: {{oops, FF FE, C3 in a string, NUL, trailing NUL, two values"
    );
    assert_eq!(
        output,
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":\"é😀\",\"result\":{{}}}}\n\
             {{\"jsonrpc\":\"2.0\",\"id\":\"\u{2028}\u{85}\\u000b\",\"result\":{{}}}}\n\
             {{\"jsonrpc\":\"2.0\",\"id\":3,\"error\":{{\"code\":-32700,\"message\":\"the line is not JSON\"}}}}\n\
             {{\"jsonrpc\":\"2.0\",\"id\":4,\"error\":{{\"code\":-32700,\"message\":\"the line is not JSON\"}}}}\n\
             {PONG}\n"
        )
    );
}

/// Proves L-STDIO-06 and L-AMB-06 as decided in DESIGN. Pain 47.
#[test]
fn the_last_line_is_served_if_it_is_complete() {
    let (events, output) = in_chunks(&config::server(), PING.as_bytes());
    assert_eq!((events.len(), output), (0, format!("{PONG}\n")));
    for half in [r#"{"jsonrpc":"2.0","id":1,"method":"pi"#, "42", "{", "x", "[1"] {
        let (events, output) = in_chunks(&config::server(), half.as_bytes());
        assert_eq!((events, output), (vec!["Truncated".into()], String::new()), "{half}");
    }
}

/// Proves L-STDIO-07. Pain 5.
#[test]
fn a_line_that_is_too_long_costs_only_itself() {
    let mut config = config::server();
    config.connection.limits.frame_bytes = 1024;
    let junk = "z".repeat(3 * 1024);
    let text = format!("{PING}\n{junk}\n{PING}\n");
    let chunks: Vec<&[u8]> = text.as_bytes().chunks(7).collect();
    let (events, output) = run(&config, &chunks);
    assert_eq!((events, output), (vec!["TooLong".into()], format!("{PONG}\n{PONG}\n")));
    // A frame that did not pass through an inbox has the same limit.
    let mut side = ServerSide::with(config);
    let Some(ServerEvent::Violation(violation)) = side.receive(&junk) else { panic!() };
    assert_eq!((violation.kind, violation.message.len()), (ViolationKind::TooLong, 3 * 1024));
}

/// Proves L-STDIO-08, L-JSONRPC-18, L-AMB-06. Pain 49.
#[test]
fn non_mcp_output_of_a_server_does_not_disturb_its_client() {
    let mut side = ClientSide::ready(Revision::V2025_06_18);
    let lines = [
        ("Server started", ViolationKind::NotJson),
        ("[db] connected", ViolationKind::NotJson),
        (r#"{"log":1}"#, ViolationKind::NotAMessage),
        (r#"{"level":"info","id":2,"msg":"x"}"#, ViolationKind::NotAMessage),
        (r#"{"id":5,"method":GET}"#, ViolationKind::NotJson),
        ("Content-Length: 10", ViolationKind::ContentLength),
        ("content-length:10", ViolationKind::ContentLength),
        ("null", ViolationKind::NotAMessage),
    ];
    let call = side.call("a");
    _ = side.sent();
    for (line, kind) in lines {
        let Some(ClientEvent::Violation(violation)) = side.receive(line) else { panic!("{line}") };
        assert_eq!((violation.kind, violation.answered), (kind, false), "{line}");
        assert_eq!(&*violation.message, line.as_bytes());
        let debug = format!("{violation:?}");
        assert!(!debug.contains("started") && !debug.contains("GET"), "{debug}");
    }
    assert!(side.client.in_flight().is_pending(call));
    assert_eq!(side.receive(PING), None);
    assert_eq!(side.sent(), [PONG]);
}

/// Pain 50 and pain 49, "capped".
#[test]
fn a_flood_of_invalid_messages_is_reported_up_to_a_limit() {
    let mut config = config::server();
    config.connection.limits.violations_in_a_row = 1000;
    let mut side = ServerSide::ready_with(config, Revision::V2025_06_18);
    let delivered = (0..5_000).filter(|_| side.receive("{bad").is_some()).count();
    assert_eq!((delivered, side.server.in_flight().counts().violations), (1000, 5_000));
    assert_eq!(side.receive(PING), None);
    assert_eq!(side.sent(), [PONG]);
    assert!(side.receive("{bad").is_some(), "a good message makes it worth telling again");
}

/// Pain 53: one diagnostic for one text, on any number of lines.
#[test]
fn pretty_printed_json_is_reported_once() {
    let pretty = r#"{
  "jsonrpc": "2.0",
  "id": 1,
  "method": "initialize",
  "params": {
    "capabilities": {
      "text": "a \" } ] brace"
    },
    "list": [
      1,
      {"a": []},
      "]"
    ]
  }
}"#;
    let mut side = ServerSide::ready(Revision::V2025_06_18);
    let mut events: Vec<_> = pretty.lines().filter_map(|line| side.receive(line)).collect();
    let Some(ServerEvent::Violation(violation)) = events.pop() else { panic!() };
    assert_eq!((violation.kind, events.len()), (ViolationKind::SplitOverLines, 0));
    // After the end of the text, noise is reported again.
    assert!(
        matches!(side.receive("noise"), Some(ServerEvent::Violation(v)) if v.kind == ViolationKind::NotJson)
    );
    // A message in between ends the text, too.
    assert!(side.receive("{").is_some());
    assert_eq!(side.receive("\"a\":"), None);
    assert_eq!(side.receive(PING), None);
    assert!(side.receive("\"a\":").is_some());
    assert_eq!(side.sent(), [PONG]);
    assert!(side.receive("[").is_some());
    assert_eq!(side.receive("]]"), None, "more brackets than were open end it");
    assert!(side.receive("]").is_some());
}

/// Proves L-AMB-06 with the policy switched on, L-JSONRPC-19. Pain 8.
#[test]
fn answers_without_an_id_are_a_policy_with_a_rate() {
    let period = Duration::from_secs(1);
    let error = |id: &str, code: i32, message: &str| {
        format!(r#"{{"jsonrpc":"2.0",{id}"error":{{"code":{code},"message":"{message}"}}}}"#)
    };
    for revision in Revision::LEGACY {
        let mut config = config::server();
        config.connection.replies_without_id = Some(RepliesWithoutId::at_most(2, period));
        let mut side = ServerSide::ready_with(config, revision);
        let id = if revision == Revision::V2025_11_25 { "" } else { r#""id":null,"# };
        assert!(side.receive("{oops").is_some());
        assert_eq!(side.sent(), [error(id, -32700, "the line is not JSON")]);
        let null_id = r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#;
        assert!(side.receive(null_id).is_some());
        assert_eq!(side.sent(), [error(id, -32600, "the id must not be null")]);
        assert!(side.receive("{oops").is_some());
        assert_eq!(side.sent(), [""; 0], "two in a period");
        side.elapse(1_000);
        // A broken notification is still a notification, and a broken response a response.
        for frame in [
            r#"{"jsonrpc":"1.0","method":"x"}"#,
            r#"{"jsonrpc":"2.0","method":"x","params":[]}"#,
            r#"{"jsonrpc":"2.0","id":77,"result":1}"#,
            r#"{"jsonrpc":"2.0","result":{}}"#,
        ] {
            assert!(side.receive(frame).is_some());
            assert_eq!(side.sent(), [""; 0], "{frame}");
        }
        assert!(side.receive("42").is_some());
        assert_eq!(side.sent(), [error(id, -32600, "not a JSON-RPC message")]);
        // The period begins with the first response, and the second does not lengthen it.
        side.elapse(600);
        assert!(side.receive("42").is_some());
        assert_eq!(side.sent().len(), 1);
        side.elapse(400);
        assert!(side.receive("42").is_some());
        assert_eq!(side.sent().len(), 1);
    }
    let mut config = config::client();
    config.connection.replies_without_id = Some(RepliesWithoutId::at_most(2, period));
    let mut client = ClientSide::ready_with(config, Revision::V2025_11_25);
    assert!(client.receive("{oops").is_some());
    assert_eq!(client.sent(), [""; 0], "clients never do");
}

/// Proves L-BATCH-05: one error without an id for an empty batch, one for each element that is no message, and the
/// other elements are served.
#[test]
fn a_bad_element_does_not_spoil_its_batch() {
    let mut config = config::server();
    let replies = RepliesWithoutId::at_most(9, Duration::from_secs(1));
    let invalid = |message: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":null,"error":{{"code":-32600,"message":"{message}"}}}}"#)
    };
    for policy in [None, Some(replies)] {
        config.connection.replies_without_id = policy;
        let mut side = ServerSide::ready_with(config.clone(), Revision::V2025_03_26);
        let mut take = |batch: &str| {
            for frame in mcp_sansio::Frames::of(batch.as_bytes(), &Limits::default()) {
                _ = side.server.receive(frame, side.now, &mut side.out);
            }
            side.sent()
        };
        let replies = |expected: &[String]| {
            expected[..expected.len() * usize::from(policy.is_some())].to_vec()
        };
        assert_eq!(take("[]"), replies(&[invalid("a batch must not be empty")]));
        let not_a_message = invalid("not a JSON-RPC message");
        let mut expected = replies(&[not_a_message.clone(), not_a_message]);
        expected.push(PONG.to_string());
        assert_eq!(take(&format!("[1,{{}},{PING}]")), [format!("[{}]", expected.join(","))]);
    }
}

/// Pain 51: two sides do not exchange errors without end.
#[test]
fn junk_makes_no_storm() {
    let mut config = config::server();
    config.connection.replies_without_id =
        Some(RepliesWithoutId::at_most(3, Duration::from_secs(1)));
    let now = Instant::from_millis(1);
    let mut outbox = Outbox::new(Framing::Messages, &Limits::default());
    let mut server = Server::new(Arc::new(config));
    // A peer that sends back each received message.
    let mut echoed = vec![b"{oops".to_vec(), PING.into(), br#"{"jsonrpc":"2.0","id":7}"#.to_vec()];
    let mut rounds = 0;
    while let Some(frame) = echoed.pop() {
        _ = server.receive(frame.as_slice(), now, &mut outbox);
        echoed.extend(outbox.messages().map(<[u8]>::to_vec));
        rounds += 1;
        assert!(rounds < 10, "it does not end");
    }
    let mut client = Client::new(Arc::new(config::client()));
    for _ in 0..10_000 {
        _ = client.receive("junk", now, &mut outbox);
        _ = server.receive("junk", now, &mut outbox);
    }
    assert!(outbox.messages().count() <= 3);
}

/// Pain 51: two connected sides, with junk inserted on both sides.
#[test]
fn two_machines_and_junk_make_no_storm() {
    let mut config = config::server();
    config.connection.replies_without_id =
        Some(RepliesWithoutId::at_most(3, Duration::from_secs(1)));
    let mut pair = mcp_sansio_proptests::ready(config::client(), config);
    let junk = ["{oops", "[", r#"{"jsonrpc":"2.0","id":7}"#, r#"{"jsonrpc":"2.0","result":{}}"#];
    for round in 0..10_000 {
        let junk = junk[round % junk.len()];
        _ = pair.client.receive(junk, pair.now, &mut pair.client_out);
        _ = pair.server.receive(junk, pair.now, &mut pair.server_out);
    }
    let frames = pair.client_out.len() + pair.server_out.len();
    assert!(frames < 10_000 * 150, "a reply to each request that has an id, and no more");
    let mut steps = 0;
    while !pair.client_out.is_empty() || !pair.server_out.is_empty() {
        pair.to_server(usize::MAX);
        pair.to_client(usize::MAX);
        steps += 1;
        assert!(steps < 1_000, "it does not end");
    }
    // The connection still works.
    let options = mcp_sansio::CallOptions::new();
    pair.client.call_method("ping", &(), options, pair.now, &mut pair.client_out).unwrap();
    assert_eq!(pair.settle().len(), 1);
}

/// Proves L-STDIO-01, L-STDIO-03. Pain 55: a frame is one line, also with relayed content.
#[test]
fn every_message_is_one_line() {
    let mut side = ServerSide::ready(Revision::V2025_06_18);
    side.out = Outbox::new(Framing::Lines, &Limits::default());
    let id = side.request(r#"{"jsonrpc":"2.0","id":1,"method":"x/work"}"#);
    let pretty =
        mcp_sansio::json::Raw::new("{\r\n \"a\": \"b\\n\u{2028}\",\n \"c\": [ 1 ]\n}").unwrap();
    side.server.respond(id, &pretty, &mut side.out).unwrap();
    // Carriage returns alone are line breaks, too, also in a part of a result that is copied.
    let call = r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"t"}}"#;
    let id = side.request(call);
    let returns = "{\"content\":[],\"structuredContent\":{\"a\":\r1}}";
    let returns = mcp_sansio::json::Raw::new(returns).unwrap();
    side.server.respond(id, &returns, &mut side.out).unwrap();
    let id = side.request(r#"{"jsonrpc":"2.0","id":2,"method":"x/work"}"#);
    let nested = serde_json::json!({"text": "x\ny\r\u{85}\u{0}"});
    side.server.respond(id, &nested, &mut side.out).unwrap();
    assert_eq!(
        std::str::from_utf8(side.out.unsent()).unwrap(),
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":\"b\\n\u{2028}\",\"c\":[1]}}\n\
         {\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"content\":[],\"structuredContent\":{\"a\":1}}}\n\
         {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"text\":\"x\\ny\\r\u{85}\\u0000\"}}\n"
    );
}

/// Proves L-BATCH-13, L-BATCH-14, L-BATCH-04, L-BATCH-03 for a server, L-AMB-39, L-ERR-03, L-ERR-04, L-BATCH-01,
/// L-BATCH-06, L-BATCH-07. Pain 52 in part.
#[test]
fn a_batch_is_one_offence_where_there_are_none() {
    let batch = b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"},{\"jsonrpc\":\"2.0\",\"method\":\"x\"},{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}]\n";
    let initialize = |version: &str| {
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{{\"protocolVersion\":\"{version}\",\"capabilities\":{{}},\"clientInfo\":{{\"name\":\"c\",\"version\":\"1\"}}}}}}\n"
        )
    };
    for revision in Revision::LEGACY {
        let text = [initialize(revision.name()).as_bytes(), batch, b"[]\n"].concat();
        let (events, output) = in_chunks(&config::server(), &text);
        let answers: Vec<&str> = output.lines().skip(1).collect();
        if revision == Revision::V2025_03_26 {
            assert_eq!(events[0], "opened");
            assert!(events[1].starts_with("Notification"), "{events:?}");
            assert_eq!(events[2..], ["EmptyBatch"]);
            assert_eq!(
                answers,
                [concat!(
                    r#"[{"jsonrpc":"2.0","id":1,"result":{}},"#,
                    r#"{"jsonrpc":"2.0","id":2,"result":{}}]"#
                )]
            );
        } else {
            assert_eq!(events, ["opened", "BatchNotAllowed", "EmptyBatch"], "{revision}");
            assert_eq!(answers, [""; 0]);
        }
    }
    let early = [b"[1,", &batch[1..]].concat();
    let (events, output) = in_chunks(&config::server(), &early);
    assert_eq!(events, ["BatchNotAllowed", "BatchNotAllowed", "BatchNotAllowed"]);
    let refused = |id: u8| {
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{{\"code\":-32600,\"message\":\"this revision has no batches\"}}}}\n"
        )
    };
    assert_eq!(output, refused(1) + &refused(2));
    let wrapped = format!("{}[{}]\n", initialize("2025-03-26"), initialize("2025-03-26").trim());
    let wrapped =
        wrapped.replace("[{\"jsonrpc\":\"2.0\",\"id\":0", "[{\"jsonrpc\":\"2.0\",\"id\":9");
    let (events, output) = in_chunks(&config::server(), wrapped.as_bytes());
    assert_eq!(events, ["opened", "InitializeInBatch"]);
    assert!(output.ends_with("[{\"jsonrpc\":\"2.0\",\"id\":9,\"error\":{\"code\":-32600,\"message\":\"initialize must not be in a batch\"}}]\n"));
}

/// Proves L-BATCH-09: an array of responses ends each call by itself.
#[test]
fn a_batch_of_answers_ends_each_call() {
    let mut side = ClientSide::ready(Revision::V2025_03_26);
    let calls = [side.call("a"), side.call("b")];
    let batch = br#"[{"jsonrpc":"2.0","id":3,"result":{}},{"jsonrpc":"2.0","id":2,"result":{}}]"#;
    let ended: Vec<_> = mcp_sansio::Frames::of(batch, &Limits::default())
        .filter_map(|frame| match side.client.receive(frame, side.now, &mut side.out) {
            Some(ClientEvent::CallEnded(ended)) => Some(ended.call),
            _ => None,
        })
        .collect();
    assert_eq!(ended, [calls[1], calls[0]]);
}

/// The limit on a frame holds for every transport, and the longest frame is as long as the limit.
#[test]
fn a_frame_may_be_as_long_as_the_limit() {
    let mut config = config::server();
    config.connection.limits.frame_bytes = 400;
    let mut side = ServerSide::ready_with(config, Revision::V2025_11_25);
    let ping = |length: usize| format!("{PING}{}", " ".repeat(length - PING.len()));
    assert_eq!(side.receive(&ping(400)), None);
    assert_eq!(side.sent(), [PONG]);
    let event = side.receive(&ping(401));
    let Some(ServerEvent::Violation(violation)) = event else { panic!("{event:?}") };
    assert_eq!((violation.kind, violation.answered), (ViolationKind::TooLong, false));
    assert_eq!(side.sent(), [""; 0]);
}
