//! Sent messages against the official schema of the revision.
//!
//! The official schemas allow unnamed members, so they would not detect a member of a later revision. Therefore they
//! are closed first (see `closed`): a message may contain only the members that its revision names.

mod caching;
pub(crate) mod closed;
mod input;
mod members;
pub(crate) mod messages;
mod modern;
mod names;
mod refusals;
mod rejections;
mod sessions;
pub(crate) mod stateless;

use closed::Schemas;
use mcp_sansio::Revision;
use messages::{NOTIFICATIONS, REQUESTS};
use serde_json::{Value, json};

/// The result of an attempt to send.
#[derive(Debug)]
pub(crate) enum Sent {
    Message(Value),
    /// The revision does not have the method.
    NoMethod,
    /// The revision cannot express a part of the message.
    NoWord,
}

pub(crate) fn parse(sent: &[String]) -> Value {
    let [message] = sent else { panic!("not one message: {sent:?}") };
    serde_json::from_str(message).unwrap()
}

/// Checks that a sent message matches the schema, and that a refused one does not, so that no valid message is
/// refused.
#[track_caller]
pub(crate) fn check(schemas: &Schemas, name: &str, sent: Sent, value: Value, revision: Revision) {
    match sent {
        Sent::NoMethod => assert!(!schemas.defines(name), "{revision} defines {name}"),
        Sent::NoWord => {
            // Omitting these members would change the meaning of the request, so it is refused instead.
            let essential =
                ["\"tools\"", "\"oneOf\""].iter().any(|it| value.to_string().contains(it));
            let needed = essential && schemas.closed(name, &value).is_err();
            let fits = schemas.open(name, &value).is_ok();
            assert!(needed || !fits, "{revision}: refused without need: {name} {value}");
        }
        Sent::Message(message) if name.ends_with("Result") => {
            schemas.closed(name, &message).unwrap();
        }
        Sent::Message(message) => schemas.message(name, &message).unwrap(),
    }
}

/// Returns a request or notification without any adaptation to the revision.
pub(crate) fn raw(method: &str, params: &str) -> Value {
    let mut message = json!({ "jsonrpc": "2.0", "id": 1, "method": method });
    if params != "null" {
        message["params"] = serde_json::from_str(params).unwrap();
    }
    message
}

/// The unmodified schemas would not detect any of these.
#[test]
fn members_of_another_revision_are_noticed() {
    let cases = [
        (
            Revision::V2024_11_05,
            "Tool",
            r#"{"name":"n","inputSchema":{"type":"object"},"title":"T"}"#,
        ),
        (Revision::V2025_11_25, "CallToolResult", r#"{"content":[],"resultType":"complete"}"#),
        (Revision::V2025_11_25, "ListToolsResult", r#"{"tools":[],"ttlMs":0}"#),
        (Revision::V2025_11_25, "ClientCapabilities", r#"{"extensions":{}}"#),
        (Revision::V2026_07_28, "ClientCapabilities", r#"{"roots":{"listChanged":true}}"#),
        (Revision::V2026_07_28, "ClientCapabilities", r#"{"tasks":{}}"#),
        (
            Revision::V2026_07_28,
            "Tool",
            r#"{"name":"n","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}}"#,
        ),
        (
            Revision::V2026_07_28,
            "ElicitRequest",
            r#"{"method":"elicitation/create","params":{"mode":"url","message":"m","url":"x:y","elicitationId":"e"}}"#,
        ),
        (
            Revision::V2026_07_28,
            "CallToolResult",
            r#"{"resultType":"complete","content":[],"_meta":{"io.modelcontextprotocol/subscriptionId":7}}"#,
        ),
        (
            Revision::V2026_07_28,
            "CallToolResult",
            r#"{"resultType":"complete","content":[],"ttlMs":0,"cacheScope":"private"}"#,
        ),
        (
            Revision::V2026_07_28,
            "UnsupportedProtocolVersionError",
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"m","data":{"supported":[],"requested":"x","more":1}}}"#,
        ),
        (
            Revision::V2026_07_28,
            "MissingRequiredClientCapabilityError",
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32021,"message":"m","data":{"requiredCapabilities":{"roots":{"listChanged":{}}}}}}"#,
        ),
    ];
    for (revision, name, text) in cases {
        let Some(schemas) = Schemas::of(revision) else { return };
        let value = serde_json::from_str(text).unwrap();
        schemas.open(name, &value).unwrap();
        assert!(schemas.closed(name, &value).is_err(), "{revision} {name} {text}");
    }
}

/// The tables are complete. Tasks are not offered yet, so no message about them can be sent.
#[test]
fn every_message_of_the_schemas_is_sent_by_a_test() {
    // A modern server does not need to send a cancellation: see M-AMB-01.
    let by_hand = [
        "InitializeRequest",
        "InitializedNotification",
        "CancelledNotification",
        "ProgressNotification",
        "ElicitationCompleteNotification",
        "SubscriptionsAcknowledgedNotification",
    ];
    for revision in Revision::ALL {
        let Some(schemas) = Schemas::of(revision) else { return };
        let unions = [
            "ClientRequest",
            "ServerRequest",
            "ClientNotification",
            "ServerNotification",
            "InputRequest",
        ];
        for union in unions {
            for name in schemas.union(union).iter().filter(|name| !name.contains("Task")) {
                let sent = by_hand.contains(&name.as_str())
                    || REQUESTS.iter().any(|exchange| exchange.request == name)
                    || NOTIFICATIONS.iter().any(|notice| notice.name == name);
                // The newest schema names only the params of the client's single notification.
                assert!(sent || name == "CancelledNotificationParams", "{revision}: {name}");
            }
        }
        for name in schemas.union("ClientResult").iter().chain(&schemas.union("ServerResult")) {
            let by_hand = ["InitializeResult", "InputRequiredResult", "DiscoverResult", "Result"];
            let sent = by_hand.contains(&name.as_str())
                || name.contains("Task")
                || REQUESTS.iter().any(|exchange| exchange.result == name);
            assert!(sent, "{revision}: {name}");
        }
    }
}
