//! Local failures stay local: none of them is an error on the wire.

use mcp_sansio::capability::Capability;
use mcp_sansio::error::{CancelError, NotAllowed};
use mcp_sansio::event::Expiry;
use mcp_sansio::{CallError, CallOptions, Cause, ClientEvent, Outcome, RespondError, Revision};
use mcp_sansio_proptests::{ClientSide, ServerSide, config, payload};

fn request(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":9,"method":"{method}","params":{params}}}"#)
}

/// Proves L-ERR-39: a timeout is an outcome on this side and a cancellation at the peer.
#[test]
fn a_timeout_is_no_error_on_the_wire() {
    let mut side = ClientSide::ready(Revision::V2025_11_25);
    let call = side.call("tools/list");
    assert_eq!(side.sent(), [r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#]);
    let events = side.elapse(60_000);
    assert!(
        matches!(&events[..], [ClientEvent::CallEnded(ended)]
            if ended.call == call && ended.outcome == Outcome::TimedOut(Expiry::Idle)),
        "{events:?}"
    );
    assert_eq!(
        side.sent(),
        [
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2,"reason":"the request timed out"}}"#
        ]
    );
}

/// Proves L-ERR-39: the end of a connection, a cancellation, and a call that is not allowed.
#[test]
fn local_failures_send_nothing_to_the_peer() {
    // A capability that the server has not declared.
    let mut side = ClientSide::fresh();
    side.client.connect(side.now, &mut side.out).unwrap();
    let result = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}"#;
    assert!(matches!(side.receive(result), Some(ClientEvent::Connected(_))));
    _ = side.sent();
    let (params, options) = (payload::params("tools/call"), CallOptions::new());
    let call = side.client.call_method("tools/call", &params, options, side.now, &mut side.out);
    let missing = NotAllowed::Capability(Capability::Tools);
    assert_eq!(call, Err(CallError::NotAllowed(missing)));
    assert_eq!(side.sent(), [""; 0]);
    // The peer has cancelled, and the response comes too late.
    let id = side.request(&request("roots/list", "{}"));
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}"#;
    assert!(matches!(side.receive(cancel), Some(ClientEvent::Cancelled(c)) if c.id == id));
    let answer = payload::result("roots/list");
    let answered = side.client.respond(id, &answer, &mut side.out);
    assert_eq!(answered, Err(RespondError::Cancelled));
    // The connection ends with an open call and an open request.
    let call = side.call("ping");
    let id = side.request(&request("roots/list", "{}"));
    assert_eq!(side.sent(), [r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#]);
    side.client.disconnected(Cause::ReadFailed, side.now);
    assert_eq!(side.client.cancel(call, None, &mut side.out), Err(CancelError::Closed));
    let answered = side.client.respond(id, &answer, &mut side.out);
    assert_eq!(answered, Err(RespondError::Closed));
    let late = side.client.call_method("ping", &(), options, side.now, &mut side.out);
    assert_eq!(late, Err(CallError::Closed));
    let closed = ClientEvent::Closed { cause: Cause::ReadFailed };
    assert_eq!(side.outcomes().last(), Some(&closed));
    assert_eq!(side.sent(), [""; 0]);
}

/// Proves L-ERR-39 for calls before the session: they wait, and no error is sent.
#[test]
fn a_call_before_the_session_is_no_error_on_the_wire() {
    let mut side = ClientSide::with(config::bare_client());
    let call = side.call("tools/list");
    assert!(side.client.in_flight().is_pending(call));
    assert_eq!(side.sent(), [""; 0]);
    let mut side = ServerSide::fresh();
    let call = side.call("roots/list");
    assert!(side.server.in_flight().is_pending(call));
    assert_eq!(side.sent(), [""; 0]);
}
