//! The end of subscriptions while the outbox is full, or before the application has decided on them.

use std::time::Duration;

use mcp_sansio::config::Listening;
use mcp_sansio::event::CancelCause;
use mcp_sansio::schema::EncodeError;
use mcp_sansio::subscription::Delivery;
use mcp_sansio::{ErrorCode, Phase, RespondError, ServerEvent};

use crate::modern::kit::*;

const TOOLS: &str = r#""toolsListChanged":true"#;

/// The ends of requests that these events report.
fn ends(events: &[ServerEvent<'_>]) -> Vec<CancelCause> {
    let cause = |event: &ServerEvent<'_>| match event {
        ServerEvent::Cancelled(cancelled) => Some(cancelled.cause),
        _ => None,
    };
    events.iter().filter_map(cause).collect()
}

/// A server that drains refuses a subscription that the application has not granted: a result without an
/// acknowledgement is invalid.
///
/// Proves M-SUB-05.
#[test]
fn an_undecided_subscription_is_refused_at_the_end() {
    let mut side = server_with(|config| config.listening = Listening::Asked);
    side.request(&listen("1", TOOLS));
    let granted = side.request(&listen("2", TOOLS));
    side.server.grant(granted, None, &mut side.out).unwrap();
    side.server.shut_down(Duration::from_secs(1), side.now);
    assert_eq!(ends(&side.outcomes()), [CancelCause::Closed; 2]);
    let refused = error("1", -32603, "the connection is shutting down");
    assert_eq!(side.sent(), [acknowledged("2", TOOLS), refused, ended("2")]);
    assert_eq!(side.server.phase(), Phase::Closed);
}

/// A server that drains ends its subscriptions with their results, even if its outbox is full.
///
/// Proves M-SUB-18.
#[test]
fn a_subscription_ends_with_its_result_at_a_full_outbox() {
    let mut side = server_with(|config| config.connection.limits.outbox_bytes = 400);
    subscribe(&mut side, "1", TOOLS, TOOLS);
    let request = side.request(&modern_request("2", "x/own", ""));
    let text = "n".repeat(330);
    side.server.reject(request, ErrorCode::new(1), &text, &mut side.out).unwrap();
    side.server.shut_down(Duration::from_secs(1), side.now);
    assert_eq!(ends(&side.outcomes()), [CancelCause::Closed]);
    assert_eq!(side.sent(), [error("2", 1, &text), ended("1")]);
}

/// The result of the application waits for a change that has no room, even if the result has room.
///
/// Proves M-SUB-18, M-R-07.
#[test]
fn a_short_result_does_not_overtake_a_delayed_change() {
    let mut side = server_with(|config| config.connection.limits.outbox_bytes = 1_000);
    let uri = format!("x:{}", "a".repeat(400));
    let filter = format!(r#""resourceSubscriptions":["{uri}"]"#);
    let id = subscribe(&mut side, "1", &filter, &filter);
    let request = side.request(&modern_request("2", "x/own", ""));
    let text = "n".repeat(500);
    side.server.reject(request, ErrorCode::new(1), &text, &mut side.out).unwrap();
    let sent = side.server.notifications().resource_updated(&uri, &mut side.out);
    assert_eq!(sent, Ok(Delivery::Lagged));
    assert!(error("2", 1, &text).len() + ended("1").len() < 990, "the result has room");
    let full = Err(RespondError::Encode(EncodeError::Full));
    assert_eq!(side.server.respond(id, &(), &mut side.out), full);
    assert_eq!(side.sent(), [error("2", 1, &text)]);
    assert_eq!(side.server.respond(id, &(), &mut side.out), Ok(()));
    assert_eq!(side.sent(), [updated("1", &uri), ended("1")]);
}
