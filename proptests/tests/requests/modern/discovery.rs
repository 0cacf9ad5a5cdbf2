//! `server/discover`: the self-description of a server.

use mcp_sansio::Revision;
use mcp_sansio::error::ViolationKind;
use mcp_sansio::json::Raw;
use mcp_sansio::model::{
    EmptyCapability, ListChanged, Map, ResourcesCapability, ServerCapabilities,
};
use mcp_sansio_proptests::ServerSide;

use crate::modern::kit::*;

const DISCOVER: &str = "server/discover";

/// The discovery result for a client without capabilities.
#[track_caller]
fn discovery(side: &mut ServerSide) -> String {
    assert_eq!(side.receive(&modern_request("1", DISCOVER, "")), None);
    let mut sent = side.sent();
    assert_eq!(sent.len(), 1);
    sent.remove(0)
}

const EVERYTHING: &str = r#""tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"prompts":{"listChanged":true},"completions":{},"logging":{}"#;

fn says(capabilities: &str, more: &str) -> String {
    let members =
        format!(r#""supportedVersions":["2026-07-28"],"capabilities":{{{capabilities}}}{more}"#);
    cacheable("1", &members)
}

/// Proves M-DISC-01, M-DISC-02, M-DISC-03, M-DISC-07, M-AMB-08: the response, byte for byte.
#[test]
fn a_discover_result_describes_the_server() {
    for mut side in [server(), without_sessions(), beside_session(Revision::V2024_11_05)] {
        assert_eq!(discovery(&mut side), says(EVERYTHING, ""));
        assert_eq!(side.server.in_flight().counts().inbound, 0);
        lives(&mut side);
    }
    for instructions in ["", "Ask \\\"twice\\\"."] {
        let mut side = server_with(|config| {
            config.instructions = Some(instructions.replace("\\\"", "\""));
        });
        let more = format!(r#","instructions":"{instructions}""#);
        assert_eq!(discovery(&mut side), says(EVERYTHING, &more));
    }
}

/// Declares a capability.
type Declare = fn(&mut ServerCapabilities<'static>);

/// Proves M-CAP-01: every capability of a server is sent as declared.
#[test]
fn a_discover_result_contains_the_declared_capabilities() {
    let object = |text: &'static str| Some(Map::from([("a.b/c".into(), Raw::new(text).unwrap())]));
    let mut resources = ResourcesCapability::default();
    resources.list_changed = Some(false);
    let cases: [(Declare, &str); 6] = [
        (|_| {}, ""),
        (|has| has.tools = Some(ListChanged::default()), r#""tools":{}"#),
        (|has| has.prompts = Some(ListChanged::notified()), r#""prompts":{"listChanged":true}"#),
        (|has| has.completions = Some(EmptyCapability::default()), r#""completions":{}"#),
        (|has| has.logging = Some(EmptyCapability::default()), r#""logging":{}"#),
        (
            |has| has.resources = Some(ResourcesCapability::notified()),
            r#""resources":{"subscribe":true,"listChanged":true}"#,
        ),
    ];
    for (declare, expected) in cases {
        let mut side = server_with(|config| {
            config.capabilities = ServerCapabilities::default();
            declare(&mut config.capabilities);
        });
        assert_eq!(discovery(&mut side), says(expected, ""));
    }
    let mut side = server_with(|config| {
        config.capabilities = ServerCapabilities::default();
        config.capabilities.resources = Some(resources);
        config.capabilities.experimental = object(r#"{"e":1}"#);
        config.capabilities.extensions = object(r#"{"x":[2]}"#);
    });
    let expected = r#""resources":{"listChanged":false},"experimental":{"a.b/c":{"e":1}},"extensions":{"a.b/c":{"x":[2]}}"#;
    assert_eq!(discovery(&mut side), says(expected, ""));
}

/// Proves M-DISC-06, M-STATE-02, M-ERA-08: the result depends neither on earlier messages of the connection nor on
/// the client's capabilities.
#[test]
fn discovery_is_always_the_same() {
    let mut side = server();
    let first = discovery(&mut side);
    assert_eq!(side.receive(&of_client("1", DISCOVER, ABLE, r#""cursor":"x","y":1"#)), None);
    assert_eq!(side.sent(), std::slice::from_ref(&first));
    let id = side.request(&modern_request("2", "tools/list", ""));
    assert_eq!(discovery(&mut side), first);
    side.respond(id, r#"{"tools":[]}"#);
    assert_eq!(side.sent().len(), 1);
    // Discovery neither opens nor closes a session.
    assert!(side.receive(&initialize("3", "2025-11-25")).is_some());
    assert!(side.sent()[0].contains(r#""protocolVersion":"2025-11-25""#));
    assert_eq!(discovery(&mut side), first);
}

/// Proves M-DISC-04: discovery is validated like any request.
#[test]
fn a_discover_request_needs_valid_metadata() {
    let mut side = server();
    let bare = r#"{"jsonrpc":"2.0","id":1,"method":"server/discover"}"#;
    for frame in
        [bare.into(), of_session("1", DISCOVER, ""), of_session("1", DISCOVER, r#""_meta":{}"#)]
    {
        refused(&mut side, &frame, ViolationKind::NoRequestMeta, &no_request_meta("1"));
    }
    let frame = of_version("1", DISCOVER, "2025-11-25", "{}", "");
    let sent = other_version("1", "2025-11-25");
    refused(&mut side, &frame, ViolationKind::UnsupportedRevision, &sent);
}

/// Proves M-ERA-08, M-ERA-09, M-R-30: after any outcome of a probe a session can be opened.
#[test]
fn a_probe_leaves_the_connection_as_it_was() {
    for probe in [
        modern_request("1", DISCOVER, ""),
        of_version("1", DISCOVER, "x", "{}", ""),
        of_session("1", DISCOVER, ""),
        with_meta("1", DISCOVER, r#""io.modelcontextprotocol/protocolVersion":7"#, ""),
        modern_request("1", "ping", ""),
    ] {
        for revision in Revision::LEGACY {
            let mut side = server();
            let _ = side.receive(&probe);
            assert_eq!(side.sent().len(), 1, "{probe}");
            let opened = side.receive(&initialize("2", revision.name()));
            assert!(matches!(opened, Some(mcp_sansio::ServerEvent::Opened(_))), "{opened:?}");
            assert_eq!(side.server.revision(), Some(revision));
            assert!(
                side.sent()[0]
                    .starts_with(r#"{"jsonrpc":"2.0","id":2,"result":{"protocolVersion""#)
            );
            side.request(&of_session("3", "tools/list", ""));
            lives(&mut side);
        }
    }
}
