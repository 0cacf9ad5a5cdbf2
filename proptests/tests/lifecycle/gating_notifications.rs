//! Notifications that this side may not send, before a session and without any.

use mcp_sansio::capability::Capability;
use mcp_sansio::config::CapabilityPolicy;
use mcp_sansio::error::{NotAllowed, NotifyError};
use mcp_sansio::subscription::Delivery;
use mcp_sansio::{Cause, RevisionSet, ServerConfig};
use mcp_sansio_proptests::{ClientSide, ServerSide, config};

const TOOLS_CHANGED: &str = "notifications/tools/list_changed";
const ROOTS_CHANGED: &str = "notifications/roots/list_changed";

fn refused(reason: NotAllowed) -> Result<Delivery, NotifyError> {
    Err(NotifyError::NotAllowed(reason))
}

/// Sends each notification from a server without a session, and expects these results. Nothing is written.
#[track_caller]
fn assert_deliveries(config: ServerConfig, expected: &[(&str, Result<Delivery, NotifyError>)]) {
    let mut side = ServerSide::with(config);
    for (method, delivery) in expected {
        let notified = side.server.notify_method(method, &(), None, &mut side.out);
        assert_eq!(&notified, delivery, "{method}");
    }
    assert_eq!(side.sent(), [""; 0]);
}

/// A server that has only the modern era checks a notification although it has no receiver.
#[test]
fn a_notification_without_a_receiver_must_be_allowed() {
    let of = |mut config: ServerConfig| {
        config.revisions = RevisionSet::MODERN;
        config
    };
    let undeclared = NotAllowed::Capability(Capability::ToolsListChanged);
    assert_deliveries(
        of(config::bare_server()),
        &[
            (TOOLS_CHANGED, refused(undeclared)),
            (ROOTS_CHANGED, refused(NotAllowed::Direction)),
            ("x/own", Ok(Delivery::NotWanted)),
        ],
    );
    assert_deliveries(
        of(config::server()),
        &[
            (TOOLS_CHANGED, Ok(Delivery::NotWanted)),
            (ROOTS_CHANGED, refused(NotAllowed::Direction)),
        ],
    );
    let mut side = ServerSide::with(of(config::server()));
    side.server.disconnected(Cause::WriteFailed, side.now);
    for method in [TOOLS_CHANGED, "x/own"] {
        let notified = side.server.notify_method(method, &(), None, &mut side.out);
        assert_eq!(notified, Err(NotifyError::Closed), "{method}");
    }
}

/// A notification before the session is held only if this side may ever send it.
#[test]
fn a_notification_before_the_session_must_be_allowed() {
    let of = |policy| {
        let mut config = config::bare_server();
        config.connection.capability_policy = policy;
        config
    };
    let undeclared = NotAllowed::Capability(Capability::ToolsListChanged);
    let direction = (ROOTS_CHANGED, refused(NotAllowed::Direction));
    let strict = [(TOOLS_CHANGED, refused(undeclared)), direction];
    assert_deliveries(of(CapabilityPolicy::Strict), &strict);
    for policy in [CapabilityPolicy::Warn, CapabilityPolicy::Off] {
        assert_deliveries(of(policy), &[(TOOLS_CHANGED, Ok(Delivery::Held)), direction]);
    }
    assert_deliveries(config::server(), &[(TOOLS_CHANGED, Ok(Delivery::Held)), direction]);
    // The revision that has the notification is not among those of the server.
    let mut old = config::server();
    old.revisions = RevisionSet::only(mcp_sansio::Revision::V2025_03_26);
    let complete = "notifications/elicitation/complete";
    assert_deliveries(old, &[(complete, refused(NotAllowed::Revision))]);
}

/// A client that negotiates anew has no session, and sends nothing for one while it drains.
///
/// Proves L-LIFE-04.
#[test]
fn a_client_that_negotiates_anew_sends_no_notification_while_it_drains() {
    let mut config = config::client_of_both_eras();
    config.known = Some(mcp_sansio::Revision::V2026_07_28);
    let mut side = ClientSide::with(config);
    side.client.connect(side.now, &mut side.out).unwrap();
    assert_eq!(side.outcomes().len(), 1);
    let unknown = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"m"}}"#;
    assert_eq!(side.receive(unknown), None);
    assert_eq!(side.sent().len(), 2, "`server/discover` and `initialize`");
    side.client.shut_down(std::time::Duration::from_secs(5), side.now);
    let notified = side.client.notify_method(ROOTS_CHANGED, &(), None, &mut side.out);
    assert_eq!(notified, Err(NotifyError::Closed));
    assert_eq!(side.sent(), [""; 0]);
}

/// Without a receiver, too, only a strict policy refuses an undeclared capability.
#[test]
fn a_policy_decides_on_notifications_without_a_receiver() {
    for policy in [CapabilityPolicy::Warn, CapabilityPolicy::Off] {
        let mut config = config::bare_server();
        config.revisions = RevisionSet::MODERN;
        config.connection.capability_policy = policy;
        assert_deliveries(
            config,
            &[
                (TOOLS_CHANGED, Ok(Delivery::NotWanted)),
                (ROOTS_CHANGED, refused(NotAllowed::Direction)),
            ],
        );
    }
}
