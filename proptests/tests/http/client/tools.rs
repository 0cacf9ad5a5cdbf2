//! Tools: filtering of listed tools, and recovery from wrong header fields.

use mcp_sansio::call::Cancellation;
use mcp_sansio::error::TransportFailureKind;
use mcp_sansio::http::HttpClientConfig;
use mcp_sansio::{ErrorCode, Outcome, Revision};
use mcp_sansio_proptests::allocations::held;
use mcp_sansio_proptests::{ClientSide, config};

use super::kit::{Act, JSON, META, Sent, Side, URL, asked, complete, ended, error, post, result};
use super::requests::{TOOL, lists};

const CALL: &str = r#"{"name":"t","arguments":{"region":"r"}}"#;
const DONE: &str = r#"{"resultType":"complete","content":[]}"#;

/// Returns ten tools, each with a different invalid annotation.
fn invalid() -> Vec<String> {
    let tool = |index: usize, properties: &str| {
        format!(
            r#"{{"name":"bad{index}","inputSchema":{{"type":"object","properties":{{{properties}}}}}}}"#
        )
    };
    [
        r#""a":{"type":"string","x-mcp-header":""}"#,
        r#""a":{"type":"string","x-mcp-header":"a b"}"#,
        r#""a":{"type":"string","x-mcp-header":"a:b"}"#,
        r#""a":{"type":"string","x-mcp-header":"\u00e9"}"#,
        r#""a":{"type":"string","x-mcp-header":1}"#,
        r#""a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}"#,
        r#""a":{"type":"number","x-mcp-header":"A"}"#,
        r#""a":{"type":"object","x-mcp-header":"A"}"#,
        r#""a":{"type":["string","null"],"x-mcp-header":"A"}"#,
        r#""a":{"type":"array","items":{"type":"string","x-mcp-header":"A"}}"#,
    ]
    .iter()
    .enumerate()
    .map(|(index, properties)| tool(index, properties))
    .collect()
}

/// Proves H-HTTP-70, H-HR-14, M-AMB-49.
#[test]
fn tools_that_cannot_be_called_are_not_listed() {
    let mut side = Side::modern();
    let valid = r#"{"name":"valid","inputSchema":{"type":"object"},"x":"kept  as it is"}"#;
    let all = format!("{},{valid},{}", invalid()[..5].join(","), invalid()[5..].join(", "));
    let listed = lists(&mut side, &all);
    let expected = format!(
        r#"{{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{valid}]}}"#
    );
    assert_eq!(listed, expected);
    let warned: Vec<String> =
        side.http.transport().invalid_tools().map(|(name, why)| format!("{name}: {why}")).collect();
    assert_eq!(warned.len(), 10, "{warned:?}");
    assert!(warned.iter().all(|warning| warning.starts_with("bad") && 6 < warning.len()));
    // A call of an invalid tool fails.
    let call = side.call("tools/call", r#"{"name":"bad0","arguments":{}}"#);
    assert!(side.acts().is_empty());
    let (refused, outcome) = ended(side.due());
    assert_eq!(refused, call);
    let Outcome::TransportFailed(failure) = outcome else { panic!("{outcome:?}") };
    assert_eq!(failure.kind, TransportFailureKind::UnencodableHeader);
    // After a valid listing, the tool can be called.
    lists(&mut side, r#"{"name":"bad0","inputSchema":{"type":"object"}}"#);
    side.asks("tools/call", r#"{"name":"bad0","arguments":{}}"#);
}

/// The other tools stay as they are, in their order.
///
/// Proves H-HTTP-70.
#[test]
fn tools_beside_an_invalid_one_are_listed() {
    let mut side = Side::modern();
    let [one, other] =
        ["one", "other"].map(|name| format!(r#"{{"name":"{name}","inputSchema":{{}}}}"#));
    let listed = lists(&mut side, &format!("{one} , {},{other}", invalid()[0]));
    let expected = format!(
        r#"{{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{one},{other}]}}"#
    );
    assert_eq!(listed, expected);
}

/// The annotations of a limited number of tools are known: those of the latest.
#[test]
fn the_known_tools_are_bounded() {
    let mut http = HttpClientConfig::new(URL);
    http.most_tools = 2;
    let mut side = Side::modern_with(http);
    for (names, known) in [(&["a", "b"][..], ["a", "b"]), (&["b", "c"], ["b", "c"])] {
        let tool = |name: &&str| TOOL.replace(r#""name":"t""#, &format!(r#""name":"{name}""#));
        lists(&mut side, &names.iter().map(tool).collect::<Vec<_>>().join(","));
        for name in ["a", "b", "c"] {
            let (_, sent) =
                side.asks("tools/call", &CALL.replace(r#""t""#, &format!(r#""{name}""#)));
            let expected = known.contains(&name).then_some("r");
            assert_eq!(sent.header("Mcp-Param-Region"), expected, "{name} of {names:?}");
        }
    }
}

/// The annotations of tools take a limited number of bytes. Tools without annotations take none.
#[test]
fn the_known_tools_are_bounded_in_bytes() {
    let mut http = HttpClientConfig::new(URL);
    http.most_tool_bytes = 10_000;
    let mut side = Side::modern_with(http);
    let named = |name: &str| TOOL.replace(r#""name":"t""#, &format!(r#""name":"{name}""#));
    let plain = |name: String| format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}}}}"#);
    let header = |side: &mut Side, name: &str| {
        let call = CALL.replace(r#""t""#, &format!(r#""{name}""#));
        side.asks("tools/call", &call).1.header("Mcp-Param-Region").map(String::from)
    };
    lists(&mut side, TOOL);
    for number in 0..20 {
        lists(&mut side, &plain(format!("{number}{}", "x".repeat(1_000))));
    }
    assert_eq!(header(&mut side, "t").as_deref(), Some("r"));
    let names: Vec<String> =
        (0..20).map(|number| format!("{number}{}", "y".repeat(1_000))).collect();
    let ((), bytes) = held(|| {
        for name in &names {
            lists(&mut side, &named(name));
        }
    });
    assert!(bytes < 20_000, "{bytes} bytes");
    // This tool has no room, and displaces all others.
    lists(&mut side, &named(&"z".repeat(100_000)));
    lists(&mut side, &[named(&names[1]), named(&names[2]), TOOL.into()].join(","));
    for (name, known) in [(&*names[0], None), (&names[1], Some("r")), ("t", Some("r"))] {
        assert_eq!(header(&mut side, name).as_deref(), known, "{name}");
    }
    // A tool whose annotations are removed is known no more.
    lists(&mut side, &plain("t".into()));
    assert_eq!(header(&mut side, "t"), None);
}

/// A refusal is kept while the tools are listed, so a long one ends the call at once.
#[test]
fn a_long_refusal_of_headers_is_the_outcome() {
    let mut side = Side::modern();
    let (call, sent) = side.asks("tools/call", CALL);
    let refusal = error(2, -32020).replace(r#""m""#, &format!(r#""{}""#, "x".repeat(65_536)));
    let (refused, outcome) = ended(side.answer(&sent, 400, &[JSON], &refusal));
    let Outcome::PeerError(error) = outcome else { panic!("{outcome:?}") };
    assert_eq!((refused, error.code), (call, ErrorCode::HEADER_MISMATCH));
    side.does_nothing();
}

/// Proves H-HTTP-70.
#[test]
fn tools_are_left_out_of_events_as_well() {
    let mut side = Side::modern();
    let (call, request) = side.asks("tools/list", "{}");
    let mut stream = side.stream(&request);
    let tools = invalid().join(",");
    let listed = format!(r#"{{"resultType":"complete","tools":[{tools}]}}"#);
    let events = side.says(&mut stream, &result(2, &listed));
    assert_eq!(complete(events), (call, r#"{"resultType":"complete","tools":[]}"#.into()));
}

/// Proves H-HTTP-71.
#[test]
fn without_headers_annotations_mean_nothing() {
    let mut side = ClientSide::with(config::client_of_both_eras());
    side.client.connect(side.now, &mut side.out).unwrap();
    assert!(side.receive(&result(1, super::kit::DISCOVERY)).is_some());
    side.call("tools/list");
    let listed = format!(r#"{{"resultType":"complete","tools":[{}]}}"#, invalid().join(","));
    let event = side.receive(&result(2, &listed));
    assert_eq!(complete(event.into_iter().collect()).1, listed);
}

/// Proves H-HTTP-72.
#[test]
fn tools_of_a_session_are_listed_as_they_are() {
    for revision in [Revision::V2025_03_26, Revision::V2025_06_18, Revision::V2025_11_25] {
        let mut side = Side::session(revision);
        let (call, request) = side.asks("tools/list", "{}");
        let listed = format!(r#"{{"tools":[{}]}}"#, invalid().join(","));
        assert_eq!(complete(side.json(&request, &result(2, &listed))), (call, listed));
        assert_eq!(side.http.transport().invalid_tools().count(), 0);
        side.asks("tools/call", r#"{"name":"bad0","arguments":{"a":"x"}}"#);
    }
}

/// Proves H-HTTP-81.
#[test]
fn a_tool_that_was_not_listed_is_called_without_headers_of_its_own() {
    let mut side = Side::modern();
    let (call, sent) = side.asks("tools/call", CALL);
    assert_eq!(sent.header("Mcp-Param-Region"), None);
    assert_eq!(complete(side.json(&sent, &result(2, DONE))).0, call);
    // The number of remembered tools is limited.
    let mut http = HttpClientConfig::new(URL);
    http.most_tools = 1;
    let mut side = Side::modern_with(http);
    lists(&mut side, TOOL);
    lists(&mut side, &TOOL.replace(r#""name":"t""#, r#""name":"other""#));
    assert_eq!(side.asks("tools/call", CALL).1.header("Mcp-Param-Region"), None);
}

/// Returns the request that lists the tools again because of the call with this id.
fn again(call: u64, page: u32, cursor: &str) -> String {
    let version = ("MCP-Protocol-Version", "2026-07-28");
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":"tools-{call}-{page}","method":"tools/list","params":{{{cursor}"_meta":{{{META}}}}}}}"#
    );
    post(&[version, ("Mcp-Method", "tools/list")], &body)
}

/// Returns a response to that request.
fn page(call: u64, page: u32, rest: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":"tools-{call}-{page}","result":{{"resultType":"complete","ttlMs":0,"cacheScope":"private",{rest}}}}}"#
    )
}

/// Expects the repeated call, with this id.
#[track_caller]
fn is_again(sent: &Sent, id: u64) {
    let params = r#""name":"t","arguments":{"region":"r"}"#;
    let headers = [
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", "t"),
        ("Mcp-Param-Region", "r"),
    ];
    assert_eq!(sent.text(), post(&headers, &asked(id, "tools/call", params)));
}

/// Proves H-HTTP-82, H-HTTP-132, M-CACHE-19.
#[test]
fn a_call_with_the_wrong_headers_is_made_again_once() {
    let ways: [fn(&mut Side, &Sent, u64) -> Vec<_>; 3] = [
        |side, sent, id| side.answer(sent, 400, &[JSON], &error(id, -32020)),
        |side, sent, id| side.json(sent, &error(id, -32020)),
        |side, sent, id| {
            let mut stream = side.stream(sent);
            let mut events = side.says(&mut stream, &error(id, -32020));
            events.extend(side.end(&mut stream));
            events
        },
    ];
    for refuse in ways {
        for in_events in [false, true] {
            let mut side = Side::modern();
            let (call, sent) = side.asks("tools/call", CALL);
            assert_eq!(refuse(&mut side, &sent, 2), []);
            let listing = side.sent_one();
            assert_eq!(listing.text(), again(2, 0, ""));
            let tools = page(2, 0, &format!(r#""tools":[{TOOL}]"#));
            if in_events {
                let mut stream = side.stream(&listing);
                let delivered = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}"#;
                assert_eq!(side.says(&mut stream, delivered), []);
                assert_eq!(side.says(&mut stream, &tools), []);
                assert!(stream.is_done());
            } else {
                assert_eq!(side.json(&listing, &tools), []);
            }
            let repeated = side.sent_one();
            is_again(&repeated, 3);
            assert_eq!(side.http.transport().exchanges(), 1);
            // A second refusal is the outcome of the call.
            let mut twice = side.clone();
            let (refused, outcome) = ended(refuse(&mut twice, &repeated, 3));
            assert_eq!(refused, call);
            let Outcome::PeerError(error) = outcome else { panic!("{outcome:?}") };
            assert_eq!(error.code, ErrorCode::HEADER_MISMATCH);
            twice.does_nothing();
            assert_eq!(twice.http.transport().exchanges(), 0);
            // Alternatively the repeated call succeeds.
            assert_eq!(complete(side.json(&repeated, &result(3, DONE))).0, call);
            side.does_nothing();
            // The next call can be repeated as well.
            let (_, next) = side.asks("tools/call", CALL);
            is_again(&next, 4);
            assert_eq!(refuse(&mut side, &next, 4), []);
            assert_eq!(side.sent_one().text(), again(4, 0, ""));
        }
    }
}

/// Proves H-HTTP-82, M-CACHE-19.
#[test]
fn the_tools_are_read_until_the_one_is_found() {
    let mut side = Side::modern();
    let (_, sent) = side.asks("tools/call", CALL);
    side.json(&sent, &error(2, -32020));
    let first = side.sent_one();
    let other = r#""tools":[{"name":"o","inputSchema":{}}],"nextCursor":"c\"1""#;
    assert_eq!(side.json(&first, &page(2, 0, other)), []);
    let second = side.sent_one();
    assert_eq!(second.text(), again(2, 1, r#""cursor":"c\"1","#));
    let found = format!(r#""tools":[{TOOL}],"nextCursor":"c2""#);
    assert_eq!(side.json(&second, &page(2, 1, &found)), []);
    is_again(&side.sent_one(), 3);
}

/// Proves H-HTTP-82.
#[test]
fn where_the_tools_cannot_be_listed_the_refusal_stands() {
    let ways: [fn(&mut Side, &Sent) -> Vec<_>; 7] = [
        |side, sent| side.failed(sent),
        |side, sent| side.answer(sent, 500, &[], ""),
        |side, sent| side.answer(sent, 400, &[JSON], &error(None, -32601)),
        |side, sent| side.answer(sent, 202, &[], ""),
        |side, sent| {
            side.json(
                sent,
                r#"{"jsonrpc":"2.0","id":"tools-2-0","error":{"code":-32601,"message":"m"}}"#,
            )
        },
        |side, sent| side.json(sent, &result(2, r#"{"resultType":"complete","tools":[]}"#)),
        |side, sent| {
            let mut stream = side.stream(sent);
            side.end(&mut stream)
        },
    ];
    for way in ways {
        let mut side = Side::modern();
        let (call, sent) = side.asks("tools/call", CALL);
        side.answer(&sent, 400, &[JSON], &error(2, -32020));
        let listing = side.sent_one();
        let events = way(&mut side, &listing);
        let [mcp_sansio::ClientEvent::CallEnded(ended)] = &events[..] else { panic!("{events:?}") };
        assert_eq!((ended.call, ended.status), (call, Some(400)));
        let Outcome::PeerError(error) = &ended.outcome else { panic!("{ended:?}") };
        assert_eq!(error.code, ErrorCode::HEADER_MISMATCH);
        assert_eq!(side.http.transport().exchanges(), 0);
        side.does_nothing();
    }
}

/// Proves H-HR-13.
#[test]
fn calls_that_are_refused_together_are_each_made_again() {
    let mut side = Side::modern();
    let (_, one) = side.asks("tools/call", CALL);
    let (_, other) = side.asks("tools/call", CALL);
    side.json(&one, &error(2, -32020));
    let first = side.sent_one();
    side.json(&other, &error(3, -32020));
    let second = side.sent_one();
    assert_eq!(second.text(), again(3, 0, ""));
    side.json(&first, &page(2, 0, &format!(r#""tools":[{TOOL}]"#)));
    let repeated = side.sent_one();
    is_again(&repeated, 4);
    side.json(&second, &page(3, 0, &format!(r#""tools":[{TOOL}]"#)));
    is_again(&side.sent_one(), 5);
    let (_, outcome) = ended(side.json(&repeated, &error(4, -32020)));
    assert!(matches!(outcome, Outcome::PeerError(_)), "{outcome:?}");
}

/// Proves H-HTTP-82, H-HTTP-122.
#[test]
fn a_call_can_be_cancelled_while_the_tools_are_listed() {
    let mut side = Side::modern();
    let (call, sent) = side.asks("tools/call", CALL);
    side.json(&sent, &error(2, -32020));
    let listing = side.sent_one();
    let given_up = side.http.with(|client, out| client.cancel(call, None, out));
    assert_eq!(given_up, Ok(Cancellation::Notified));
    side.aborts(listing.exchange);
    assert_eq!(side.json(&listing, &page(2, 0, &format!(r#""tools":[{TOOL}]"#))), []);
    // Meanwhile the cancellation of another call is none of this one.
    let (_, sent) = side.asks("tools/call", CALL);
    side.json(&sent, &error(3, -32020));
    let listing = side.sent_one();
    let (other, beside) = side.asks("prompts/list", "{}");
    side.http.with(|client, out| client.cancel(other, None, out)).unwrap();
    side.aborts(beside.exchange);
    assert_eq!(side.json(&listing, &page(3, 0, &format!(r#""tools":[{TOOL}]"#))), []);
    is_again(&side.sent_one(), 5);
    side.does_nothing();
    // The client does not do so in a session, nor for methods other than `tools/call`.
    let mut side = Side::session(Revision::V2025_11_25);
    let (_, sent) = side.asks("tools/call", CALL);
    assert_eq!(ended(side.json(&sent, &error(2, -32020))).0.index(), call.index());
    let mut side = Side::modern();
    let (_, sent) = side.asks("prompts/get", r#"{"name":"p"}"#);
    ended(side.json(&sent, &error(2, -32020)));
    assert!(!side.acts().iter().any(|act| matches!(act, Act::Send(_))));
}
