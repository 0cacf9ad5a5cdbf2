//! `Debug` output of a client, which may go to logs: it shows no header values, no session id and no message.

use mcp_sansio::http::{Arrived, HttpClientConfig};
use mcp_sansio::{Received, Revision};

use super::kit::{Side, URL};

#[test]
fn debug_output_of_a_client_config_shows_no_secret() {
    let mut config = HttpClientConfig::new("https://me:password@h/mcp?key=secret#secret");
    config.header("Authorization", "Bearer secret").unwrap();
    let expected = r#"HttpClientConfig { url: "h/mcp", headers: ["Authorization"], listens: true, one_stream: Fallback, .. }"#;
    assert_eq!(format!("{config:?}"), expected);
}

#[test]
fn debug_output_of_a_transport_shows_its_exchanges() {
    let mut side = Side::session_with(Revision::V2025_11_25, HttpClientConfig::new(URL));
    let (_, sent) = side.asks("tools/list", r#"{"cursor":"secret"}"#);
    let request = format!("{:?}", sent.request);
    let start = r#"HttpRequest { method: "POST", headers: ["Content-Type", "Accept", "Mcp-Session-Id", "MCP-Protocol-Version"], bytes: "#;
    assert!(request.starts_with(start) && request.ends_with(", .. }"), "{request}");
    let transport = format!("{:?}", side.http.transport());
    let start = "ClientTransport { revision: Some(2025-11-25), has_session: true, outbox: ";
    assert!(transport.starts_with(start), "{transport}");
    let call = r#"Exchange { purpose: Request(PendingCall { call: "#;
    let rest = r#", id: "2", .. }), has_head: false, due: None, .. }"#;
    assert!(transport.contains(call) && transport.contains(rest), "{transport}");
    let reader = format!("{:?}", side.stream(&sent));
    let exchange = sent.exchange;
    assert_eq!(reader, format!("ResponseReader {{ exchange: {exchange:?}, status: 200, .. }}"));
    for shown in [request, transport, reader] {
        assert!(!shown.contains("s-1") && !shown.contains("secret"), "{shown}");
    }
}

#[test]
fn debug_output_of_a_result_shows_no_message() {
    let side = Side::modern();
    let received = Received::from(side.now);
    let message = Arrived::Messages { text: b"secret", received };
    let expected = format!("Messages {{ bytes: 6, received: {received:?} }}");
    assert_eq!(format!("{message:?}"), expected);
    for (arrived, expected) in [
        (Arrived::NotTaken { status: Some(400) }, "NotTaken { status: Some(400) }"),
        (Arrived::SessionLost, "SessionLost"),
        (Arrived::ConnectionLost, "ConnectionLost"),
    ] {
        assert_eq!(format!("{arrived:?}"), expected);
    }
}
