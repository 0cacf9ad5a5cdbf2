//! The validator scans a body once, and nothing else changes. Every test of this folder compares receiving with and
//! without that scan for accepted bodies (`Scans`). These tests do so for all other bodies, and measure the work.

use std::sync::Arc;

use mcp_sansio::http::{Headers, RequestValidator};
use mcp_sansio::json::ScannedFrame;
use mcp_sansio::testing::WorkMeter;
use mcp_sansio::{
    Frame, Frames, Framing, Instant, Limits, Outbox, Server, ServerConfig, ServerEvent,
};
use mcp_sansio_proptests::config;

use super::message;

const NOW: Instant = Instant::from_millis(1_000);

fn validator(change: impl FnOnce(&mut ServerConfig)) -> RequestValidator {
    let mut server = config::server_of_both_eras();
    change(&mut server);
    RequestValidator::new(Arc::default(), Arc::new(server))
}

/// Returns the scan of a body, whether the validator accepts the body or not.
fn scan<'b>(validator: &RequestValidator, body: &'b [u8]) -> ScannedFrame<'b> {
    let mut scanned = ScannedFrame::new();
    _ = validator.post_scanned(Headers::from(&[][..]), body, &mut scanned, &|_| None);
    scanned
}

/// A server and its outbox.
type Machine = (Server, Outbox);

fn take<'f>(
    (server, out): &mut Machine,
    frame: impl Into<Frame<'f>>,
    scanned: &mut ScannedFrame<'f>,
) -> Option<ServerEvent<'f>> {
    server.receive_scanned(frame, scanned, NOW, out)
}

/// Returns a server without any messages, and one with a session of a revision that has batches.
fn machines() -> [Machine; 2] {
    let server = Server::new(Arc::new(config::server_of_both_eras()));
    let fresh = (server, Outbox::new(Framing::Lines, &Limits::default()));
    let (mut server, mut out) = fresh.clone();
    for text in [
        message::initialize("0", "2025-03-26"),
        message::notification("notifications/initialized", ""),
    ] {
        _ = server.receive(&text, NOW, &mut out);
    }
    [fresh, (server, out)]
}

/// Expects the same events and the same state of the server, whether the body was scanned before or not.
#[track_caller]
fn check(machine: &Machine, body: &[u8]) {
    let gates = [validator(|_| {}), validator(|config| config.connection.limits.depth = 2)];
    let mut scans = gates.map(|validator| scan(&validator, body));
    for scanned in &mut scans {
        let ((mut server, mut out), mut other) = (machine.clone(), machine.clone());
        for frame in Frames::of(body, &Limits::default()) {
            let event = server.receive(frame, NOW, &mut out);
            assert_eq!(take(&mut other, frame, scanned), event);
        }
        assert!((server, out) == other, "{}", String::from_utf8_lossy(body));
    }
}

/// Each text is cut at every byte, and has invalid bytes inserted.
#[test]
fn a_scan_does_not_change_handling_of_broken_bodies() {
    let bodies = [
        message::modern_request("1", "tools/call", r#""name":"t","arguments":{"a":[[1],"é\n"]}"#),
        message::plain("\"x\"", "tools/list", r#""_meta":{"progressToken":1},"cursor":"c""#),
        message::notification("notifications/cancelled", r#""requestId":1"#),
        r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"task","_meta":{}}}"#.to_owned(),
        r#" {"id":1,"id":2,"jsonrpc":"1.0","error":{"code":1,"message":"m"}} "#.to_owned(),
        format!("[{},{}]", message::plain("1", "ping", ""), message::plain("2", "ping", "")),
    ];
    for machine in machines() {
        for body in &bodies {
            for end in 0..=body.len() {
                check(&machine, &body.as_bytes()[..end]);
            }
            for at in (0..body.len()).step_by(5) {
                let mut bytes = body.clone().into_bytes();
                bytes[at] = b'}';
                check(&machine, &bytes);
                bytes[at] = 0xff;
                check(&machine, &bytes);
            }
        }
        check(&machine, format!("{}1{}", "[".repeat(200), "]".repeat(200)).as_bytes());
        let long = format!("\"{}\"", "x".repeat(Limits::default().frame_bytes));
        check(&machine, long.as_bytes());
    }
}

/// A body that was scanned under another limit is scanned again.
#[test]
fn another_limit_of_the_depth_is_another_scan() {
    let body =
        message::modern_request("1", "tools/call", r#""name":"t","arguments":{"a":[[[[]]]]}"#);
    let body = body.as_bytes();
    let shallow = validator(|config| config.connection.limits.depth = 4);
    let is_request = |event| matches!(event, Some(ServerEvent::Request(_)));
    let [mut machine, _] = machines();
    assert!(is_request(take(&mut machine.clone(), body, &mut scan(&validator(|_| {}), body))));
    assert!(is_request(take(&mut machine, body, &mut scan(&shallow, body))), "it is deep enough");
    let mut config = config::server_of_both_eras();
    config.connection.limits.depth = 4;
    let server = Server::new(Arc::new(config));
    let mut machine = (server, Outbox::new(Framing::Lines, &Limits::default()));
    assert!(!is_request(take(&mut machine, body, &mut scan(&validator(|_| {}), body))), "too deep");
}

/// The validator's scan saves the second scan of that message, and of no other one.
#[test]
fn a_message_is_scanned_once() {
    let text = "x".repeat(10_000);
    let body = message::modern_request(
        "1",
        "tools/call",
        &format!(r#""name":"t","arguments":["{text}"]"#),
    );
    let [machine, _] = machines();
    let work = |scanned: &mut ScannedFrame<'_>| {
        let (mut machine, mut own) = (machine.clone(), scanned.clone());
        let meter = WorkMeter::start();
        _ = take(&mut machine, body.as_bytes(), &mut own);
        meter.steps()
    };
    let (first, second) =
        (work(&mut ScannedFrame::new()), work(&mut scan(&validator(|_| {}), body.as_bytes())));
    assert!(second + 10_000 <= first, "{first} steps, and {second} after the validator");
    // Equal bytes at another address are scanned again.
    let copy = body.clone();
    assert_eq!(work(&mut scan(&validator(|_| {}), copy.as_bytes())), first);
}
