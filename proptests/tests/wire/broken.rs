//! Broken messages whose addressee is still recognizable.

use std::sync::Arc;

use mcp_sansio::error::ViolationKind;
use mcp_sansio::event::{Observation, UnmatchedCause};
use mcp_sansio::{
    Cause, ClientEvent, Framing, Inbox, Instant, Limits, Outbox, Outboxes, Outcome, Revision,
    Server, ServerEvent,
};
use mcp_sansio_proptests::{ClientSide, ServerSide, config};

fn client() -> ClientSide {
    ClientSide::ready(Revision::V2025_11_25)
}

fn server() -> ServerSide {
    ServerSide::ready(Revision::V2025_11_25)
}

/// Pain 11: a response with additional members is a response, and never gets one itself.
#[test]
fn an_answer_with_more_in_it_is_an_answer() {
    let plain = [
        r#"{"jsonrpc":"2.0","id":2,"result":{},"params":{}}"#,
        r#"{"jsonrpc":"2.0","id":2,"method":null,"result":{}}"#,
    ];
    for frame in plain {
        let mut side = client();
        let call = side.call("tools/list");
        _ = side.sent();
        let event = side.receive(frame);
        assert!(
            matches!(&event, Some(ClientEvent::CallEnded(ended))
                if ended.call == call && matches!(ended.outcome, Outcome::Result(_))),
            "{frame}: {event:?}"
        );
        assert_eq!(side.sent(), [""; 0], "{frame}");
    }
    let malformed = [
        (r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","result":{}}"#, ViolationKind::Ambiguous),
        (r#"{"jsonrpc":"2.0","id":2,"params":{}}"#, ViolationKind::MissingMethod),
        (r#"{"jsonrpc":"2.0","id":2}"#, ViolationKind::NotAMessage),
        // The defect does not hide the id, at any position.
        ("{\"id\":2,\"result\":{\"t\":\"a\tb\"},\"jsonrpc\":\"2.0\"}", ViolationKind::BadString),
        (r#"{"result":{"t":"\x"},"jsonrpc":"2.0","id":2}"#, ViolationKind::BadString),
        (r#"{"id":2,"result":{"t":oops},"jsonrpc":"2.0"}"#, ViolationKind::NotJson),
    ];
    for (frame, kind) in malformed {
        let mut side = client();
        let call = side.call("tools/list");
        _ = side.sent();
        let event = side.receive(frame);
        assert!(
            matches!(&event, Some(ClientEvent::CallEnded(ended)) if ended.call == call
                && matches!(ended.outcome, Outcome::Malformed { kind: is, .. } if is == kind)),
            "{frame}: {event:?}"
        );
        assert_eq!(side.sent(), [""; 0], "{frame}");
        assert_eq!(side.client.in_flight().counts().outbound, 0);
    }
}

/// A late broken response is still a response, and gets none.
#[test]
fn a_late_broken_answer_is_not_answered() {
    let frame = r#"{"jsonrpc":"2.0","id":2}"#;
    let mut side = client();
    let call = side.call("tools/list");
    _ = side.sent();
    side.client.cancel(call, None, &mut side.out).unwrap();
    assert_eq!(side.sent().len(), 1);
    let event = side.receive(frame);
    assert!(matches!(event, Some(ClientEvent::Violation(v)) if !v.answered));
    assert_eq!(side.sent(), [""; 0]);
    // With an id that was never used, the same is a request without a method. Pain 9.
    let event = side.receive(r#"{"jsonrpc":"2.0","id":77}"#);
    assert!(matches!(event, Some(ClientEvent::Violation(v)) if v.answered));
    assert_eq!(side.sent().len(), 1);
}

/// A broken message with an id in flight gets no error: the peer would take the error for the pending response.
#[test]
fn nothing_wrong_is_answered_by_an_id_in_flight() {
    let mut side = server();
    let request = side.request(r#"{"jsonrpc":"2.0","id":7,"method":"tools/list"}"#);
    let wrong = [
        r#"{"jsonrpc":"2.0","id":7}"#,
        r#"{"jsonrpc":"1.0","id":7,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":3}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"ping","method":"ping"}"#,
    ];
    for frame in wrong {
        let event = side.receive(frame);
        assert!(matches!(event, Some(ServerEvent::Violation(v)) if !v.answered), "{frame}");
        assert_eq!(side.sent(), [""; 0]);
    }
    side.respond(request, r#"{"tools":[]}"#);
    assert_eq!(side.sent(), [r#"{"jsonrpc":"2.0","id":7,"result":{"tools":[]}}"#]);
    for frame in wrong {
        let event = side.receive(frame);
        assert!(matches!(event, Some(ServerEvent::Violation(v)) if v.answered), "{frame}");
        assert_eq!(side.sent().len(), 1);
    }
}

/// The same for a batch before the session is open, whose requests are refused one by one.
#[test]
fn no_early_batch_is_answered_by_an_id_in_flight() {
    let mut side = ServerSide::with(config::server_of_both_eras());
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    side.request(&format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{{{meta}}}}}"#
    ));
    let limits = &Limits::default();
    let batch =
        br#"[{"jsonrpc":"2.0","id":7,"method":"ping"},{"jsonrpc":"2.0","id":8,"method":"ping"}]"#;
    for (frame, answered) in mcp_sansio::Frames::of(batch, limits).zip([false, true]) {
        let event = side.server.receive(frame, side.now, &mut side.out);
        assert!(matches!(event, Some(ServerEvent::Violation(v)) if v.answered == answered));
        assert_eq!(side.sent().len(), usize::from(answered));
    }
}

/// Proves L-STDIO-06 and L-ERR-02 together: the last line is handled like any other, if it is a complete object with
/// a defect.
#[test]
fn a_last_line_that_is_wrong_is_answered_like_any_other() {
    let table = [
        (r#"{"jsonrpc":"2.0","id":5,"method":42}"#, Some(-32600)),
        (r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":[]}"#, Some(-32602)),
        (r#"{"jsonrpc":"1.0","id":5,"method":"ping"}"#, Some(-32600)),
        ("{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"\t\"}", Some(-32700)),
        (r#"{"jsonrpc":"2.0","id":5,"method":"ping""#, None),
        (r#"{"jsonrpc":"2.0","id":5,"method":oops}"#, None),
    ];
    for (line, code) in table {
        for newline in [false, true] {
            let config = Arc::new(config::server());
            let limits = Limits::default();
            let (mut inbox, mut out) = (Inbox::new(&limits), Outbox::new(Framing::Lines, &limits));
            let mut server = Server::new(config);
            let now = Instant::from_millis(1);
            assert_eq!(inbox.feed(line.as_bytes()), line.len());
            if newline {
                assert_eq!(inbox.feed(b"\n"), 1);
            }
            inbox.finish();
            let mut kinds = Vec::new();
            while let Some(frame) = inbox.next() {
                let event = server.receive(frame, now, &mut out);
                let Some(ServerEvent::Violation(violation)) = event else { panic!("{event:?}") };
                kinds.push(violation.kind);
            }
            let output = String::from_utf8(out.unsent().to_vec()).unwrap();
            match code {
                Some(code) => assert!(
                    output.starts_with("{\"jsonrpc\":\"2.0\",\"id\":5,\"error\":{\"code\":")
                        && output.contains(&code.to_string()),
                    "{line}: {output}"
                ),
                None if newline => assert!(kinds != [ViolationKind::Truncated], "{line}"),
                None => {
                    assert_eq!((kinds, output), (vec![ViolationKind::Truncated], String::new()))
                }
            }
            server.disconnected(Cause::EndOfInput, now);
        }
    }
}

/// Pain 53 must not affect pain 9: within a text on several lines, a request with an id still gets its response.
#[test]
fn an_open_bracket_swallows_no_request() {
    let mut side = server();
    let event = side.receive("{");
    assert!(
        matches!(event, Some(ServerEvent::Violation(v)) if v.kind == ViolationKind::SplitOverLines)
    );
    for (frame, code) in [
        (r#"{"jsonrpc":"2.0","id":5}"#, "-32600"),
        (r#"{"jsonrpc":"2.0","id":8,"method":oops}"#, "-32700"),
    ] {
        assert!(matches!(side.receive(frame), Some(ServerEvent::Violation(v)) if v.answered));
        assert!(side.sent()[0].contains(code));
    }
}

/// Pain 53: a pretty-printed `initialize` is one violation, and a valid one works afterwards.
#[test]
fn an_initialize_on_several_lines_is_one_offence() {
    let mut side = ServerSide::fresh();
    let lines = [
        "{",
        r#"  "jsonrpc": "2.0","#,
        r#"  "id": 1,"#,
        r#"  "method": "initialize","#,
        r#"  "params": {"#,
        r#"    "protocolVersion": "2025-11-25","#,
        r#"    "capabilities": {},"#,
        r#"    "clientInfo": {"name": "c", "version": "1"}"#,
        "  }",
        "}",
    ];
    let events: Vec<_> = lines.iter().filter_map(|line| side.receive(line)).collect();
    let [ServerEvent::Violation(violation)] = &events[..] else { panic!("{events:?}") };
    assert_eq!(violation.kind, ViolationKind::SplitOverLines);
    assert_eq!(side.sent(), [""; 0]);
    let event = side.receive(&lines.concat());
    assert!(matches!(event, Some(ServerEvent::Opened(_))), "{event:?}");
}

/// Pain 53: so is a response, even if its first line identifies its call.
#[test]
fn an_answer_on_several_lines_ends_its_call_and_nothing_else() {
    let mut side = client();
    let call = side.call("tools/list");
    _ = side.sent();
    let lines =
        [r#"{"jsonrpc":"2.0","id":2,"result":{"#, r#" "tools":["#, r#"   {"name":"a"}"#, "]}}"];
    let events: Vec<_> = lines.iter().filter_map(|line| side.receive(line)).collect();
    assert!(
        matches!(&events[..], [ClientEvent::CallEnded(ended)] if ended.call == call
            && matches!(ended.outcome,
                Outcome::Malformed { kind: ViolationKind::SplitOverLines, .. })),
        "{events:?}"
    );
}

/// An element of a batch that is too deep or not UTF-8 affects no other element.
#[test]
fn a_broken_element_costs_its_neighbours_nothing() {
    let deep = "[".repeat(200) + &"]".repeat(200);
    let element = format!(
        r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"t","arguments":{{"a":{deep}}}}}}}"#
    );
    let batch = format!(r#"[{{"jsonrpc":"2.0","id":1,"method":"tools/list"}},{element}]"#);
    let mut side = ServerSide::ready(Revision::V2025_03_26);
    let mut events = Vec::new();
    for frame in mcp_sansio::Frames::of(batch.as_bytes(), &Limits::default()) {
        events.extend(side.server.receive(frame, side.now, &mut side.out));
    }
    let [ServerEvent::Request(_), ServerEvent::Violation(violation)] = &events[..] else {
        panic!("{events:?}")
    };
    assert_eq!((violation.kind, violation.answered), (ViolationKind::TooDeep, true));
}

/// A defect inside an element that is too deep affects no other element either, for any limit of the depth.
///
/// Proves L-BATCH-05.
#[test]
fn a_defect_below_the_depth_limit_ends_no_batch() {
    let ping = |id: u32| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
    let mut config = config::server();
    config.connection.limits.depth = 32;
    let limits = config.connection.limits.clone();
    for levels in [31, 32, 33, 127, 128, 129] {
        let deep = format!("{}x{}", "[".repeat(levels), "]".repeat(levels));
        let mut side = ServerSide::ready_with(config.clone(), Revision::V2025_03_26);
        let batch = format!("[{},{deep},{}]", ping(1), ping(2));
        for frame in mcp_sansio::Frames::of(batch.as_bytes(), &limits) {
            _ = side.server.receive(frame, side.now, &mut side.out);
        }
        let sent = side.sent();
        let pongs =
            r#"[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":2,"result":{}}]"#;
        // The text of an element that is not too deep is checked, so the whole line is broken.
        assert_eq!(sent, if levels < 33 { vec![] } else { vec![pongs] }, "{levels}");
    }
}

/// Pain 54: the version is checked, unless the check is disabled for a peer.
#[test]
fn the_version_may_be_wrong_where_that_is_allowed() {
    let frames = [
        r#"{"id":1,"method":"tools/list"}"#,
        r#"{"jsonrpc":"1.0","id":1,"method":"tools/list"}"#,
        r#"{"jsonrpc":2,"id":1,"method":"tools/list"}"#,
    ];
    for frame in frames {
        let event = server().receive(frame);
        assert!(
            matches!(event, Some(ServerEvent::Violation(v)) if v.kind == ViolationKind::WrongJsonrpc)
        );
        let mut config = config::server();
        config.connection.lenient_version = true;
        let mut side = ServerSide::ready_with(config, Revision::V2025_11_25);
        let request = side.request(frame);
        side.server.reject(request, mcp_sansio::ErrorCode::new(1), "m", &mut side.out).unwrap();
        assert_eq!(side.sent(), [r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}"#]);
        let event = side.receive("{}");
        assert!(
            matches!(event, Some(ServerEvent::Violation(v)) if v.kind == ViolationKind::NotAMessage)
        );
    }
}

/// A broken id is never sent back.
#[test]
fn a_broken_id_is_not_echoed() {
    for id in ["\"\t\"", r#""\x""#, r#""\u12""#] {
        let mut side = server();
        let frame = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
        let event = side.receive(&frame);
        assert!(matches!(event, Some(ServerEvent::Violation(v)) if !v.answered), "{id}");
        assert_eq!(side.sent(), [""; 0]);
    }
}

/// A violation contains the length of a line even if the line was not kept. Pain 5.
#[test]
fn a_violation_reports_the_length_of_a_dropped_line() {
    let mut config = config::server();
    config.connection.limits.frame_bytes = 1024;
    let limits = config.connection.limits.clone();
    let mut side = ServerSide::with(config);
    let mut inbox = Inbox::new(&limits);
    let line = "x".repeat(3072) + "\n";
    let mut lengths = Vec::new();
    for chunk in line.as_bytes().chunks(7) {
        assert_eq!(inbox.feed(chunk), chunk.len());
        while let Some(frame) = inbox.next() {
            match side.server.receive(frame, side.now, &mut side.out) {
                Some(ServerEvent::Violation(v)) => {
                    lengths.push((v.kind, v.length, v.message.len()))
                }
                other => panic!("{other:?}"),
            }
        }
    }
    assert_eq!(lengths, [(ViolationKind::TooLong, 3072, 0)]);
}

/// Promise 10 in the hardest case: an unreadable message may contain anything.
#[test]
fn debug_output_hides_unreadable_message_content() {
    struct Log(Outbox, Vec<String>);
    impl Outboxes for Log {
        fn outbox(&mut self, _: mcp_sansio::Route) -> &mut Outbox {
            &mut self.0
        }
        fn observe(&mut self, observation: &Observation<'_>) {
            self.1.push(format!("{observation:?}"));
        }
    }
    let frames = [
        r#"{"jsonrpc":"2.0","id":2,"result":{"secret":oops}}"#.to_string(),
        r#"{"jsonrpc":"2.0","id":{"secret":1},"method":{"secret":2}}"#.to_string(),
        format!(r#"{{"jsonrpc":"2.0","id":"{0}","method":"{0}"}}"#, "secret".repeat(100)),
        "secret".to_string(),
    ];
    let mut side = client();
    side.call("tools/call");
    let mut log = Log(side.out.clone(), Vec::new());
    for frame in &frames {
        let event = side.client.receive(frame.as_str(), side.now, &mut log);
        let envelope = mcp_sansio::json::Envelope::scan(frame.as_bytes(), 128);
        log.1.push(format!("{event:?} {envelope:?}"));
    }
    let shown = log.1.join("\n");
    assert!(shown.contains("Malformed") && shown.contains("MessageBytes(49 bytes)"), "{shown}");
    assert!(!shown.contains("secret"), "{shown}");
}

/// Pain 49 for a client: reports about the output of a server are limited, and get no response.
#[test]
fn violation_events_for_server_output_are_limited() {
    let mut config = config::client();
    config.connection.limits.violations_in_a_row = 3;
    let mut side = ClientSide::ready_with(config, Revision::V2025_11_25);
    let noise = |side: &mut ClientSide| {
        (0..100).filter(|n| side.receive(&format!("[db] query {n}")).is_some()).count()
    };
    assert_eq!(noise(&mut side), 3);
    // Well-formed but unexpected messages count as well.
    let unknown = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":99,"progress":1}}"#;
    assert!((0..100).all(|_| side.receive(unknown).is_none()));
    assert!(side.receive(r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}"#).is_some());
    assert_eq!((0..100).filter(|_| side.receive(unknown).is_some()).count(), 3);
    assert_eq!(side.client.in_flight().counts().violations, 300);
    assert_eq!(side.sent(), [""; 0]);
}

/// The reason why a late response is unmatched is known from its id alone.
#[test]
fn an_unmatched_response_reports_its_cause() {
    let mut side = client();
    let first = side.call("a");
    side.call("b");
    _ = side.sent();
    side.client.cancel(first, None, &mut side.out).unwrap();
    assert!(side.receive(r#"{"jsonrpc":"2.0","id":3,"result":{}}"#).is_some());
    for (id, cause) in [
        (2, UnmatchedCause::Cancelled),
        (3, UnmatchedCause::Completed),
        (9, UnmatchedCause::NeverIssued),
    ] {
        let event = side.receive(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
        assert!(
            matches!(event, Some(ClientEvent::UnmatchedResponse(unmatched)) if unmatched.cause == cause),
            "{id}"
        );
    }
}
