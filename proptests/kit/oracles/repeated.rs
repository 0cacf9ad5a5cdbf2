//! Requests that repeat their sender's identity: the server's memory of the identity changes only the amount of work.

use mcp_sansio::testing::Choices;
use mcp_sansio::{ErrorCode, Framing, Instant, Outbox, Server, ServerConfig, ServerEvent};

use crate::config;

/// Members of a `_meta`, some with nearly identical text.
const MEMBERS: &[&str] = &[
    r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#,
    r#""io.modelcontextprotocol/protocolVersion":"2099-01-01""#,
    r#""io.modelcontextprotocol/protocolVersion" : "2026-07-28""#,
    r#""io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"}"#,
    r#""io.modelcontextprotocol/clientInfo":1"#,
    r#""io.modelcontextprotocol/clientInfo":12"#,
    r#""io.modelcontextprotocol/clientCapabilities":{}"#,
    r#""io.modelcontextprotocol/clientCapabilities":{"roots":{}}"#,
    r#""io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}},"sampling":{}}"#,
    r#""io.modelcontextprotocol/clientCapabilities":1"#,
    r#""io.modelcontextprotocol/clientCapabilities":12"#,
    r#""io.modelcontextprotocol/\u0063lientCapabilities":{}"#,
    r#""io.modelcontextprotocol/logLevel":"debug""#,
    r#""io.modelcontextprotocol/logLevel":"error""#,
    r#""io.modelcontextprotocol/logLevel":"loud""#,
    r#""progressToken":1"#,
    r#""progressToken":"\"io.modelcontextprotocol/clientCapabilities\":{}""#,
    r#""traceparent":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#,
];

/// The usual members of a client.
const USUAL: &[&str] = &[
    r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#,
    r#""io.modelcontextprotocol/clientCapabilities":{"sampling":{}}"#,
    r#""io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"}"#,
];

/// Sends each frame to a server, and to a copy of the server that has released its memory.
///
/// # Panics
///
/// Panics if the two differ in their events or output.
pub fn check_repeated(choices: &mut Choices) {
    let config: ServerConfig = config::server_of_both_eras();
    let limits = config.connection.limits.clone();
    let new_outbox = || Outbox::new(Framing::Lines, &limits);
    let mut server = Server::new(config.into());
    let now = Instant::from_millis(1);
    let mut usual = USUAL.to_vec();
    for number in 0..30 {
        if choices.is_exhausted() {
            break;
        }
        // Consecutive frames are identical, or nearly so.
        let mut members = usual.clone();
        for _ in 0..choices.below(3) {
            change(choices, &mut members);
        }
        if choices.one_in(4) {
            usual = if choices.one_in(2) { members.clone() } else { USUAL.to_vec() };
        }
        let frame = mutated(choices, frame(number, &members));
        let mut forgetful = server.clone();
        forgetful.release();
        let (mut out, mut expected_out) = (new_outbox(), new_outbox());
        let event = server.receive(&frame[..], now, &mut out).map(ServerEvent::into_owned);
        let expected = forgetful.receive(&frame[..], now, &mut expected_out);
        let expected = expected.map(ServerEvent::into_owned);
        assert_eq!(event, expected, "{}", String::from_utf8_lossy(&frame));
        assert_eq!(out.unsent(), expected_out.unsent());
        if let Some(ServerEvent::Request(request)) = event {
            // A request in flight would keep the copy from releasing its memory.
            let answered =
                server.reject(request.id, ErrorCode::INTERNAL_ERROR, "no such tool", &mut out);
            assert!(answered.is_ok(), "{answered:?}");
        }
    }
}

/// Adds a member, removes one, or replaces one.
fn change(choices: &mut Choices, members: &mut Vec<&'static str>) {
    let at = choices.below(members.len() as u64 + 1) as usize;
    let removed = at..(at + choices.below(2) as usize).min(members.len());
    let added = choices.pick(MEMBERS).filter(|_| !choices.one_in(3));
    members.splice(removed, added);
}

fn frame(number: u64, meta: &[&str]) -> Vec<u8> {
    let meta = meta.join(",");
    let params = format!(r#"{{"name":"tool","_meta":{{{meta}}},"arguments":{{}}}}"#);
    format!(r#"{{"jsonrpc":"2.0","id":{number},"method":"tools/call","params":{params}}}"#).into()
}

/// Returns the frame, usually unchanged.
fn mutated(choices: &mut Choices, mut frame: Vec<u8>) -> Vec<u8> {
    if choices.one_in(4) {
        let at = choices.below(frame.len() as u64) as usize;
        match choices.below(3) {
            0 => frame.truncate(at),
            1 => frame.insert(at, choices.below(128) as u8),
            _ => frame[at] = choices.below(128) as u8,
        }
    }
    frame
}
