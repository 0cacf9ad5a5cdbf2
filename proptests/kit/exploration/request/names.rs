//! The names that the model in `proptests/models` gives to messages and outcomes.

use std::collections::BTreeMap;

use mcp_sansio::event::Expiry;
use mcp_sansio::{Outbox, Outcome};
use serde_json::Value;

/// The kinds of the requests of the client, by their ids.
pub(super) type Kinds = BTreeMap<u64, &'static str>;

/// Returns the name of an outcome.
pub(super) const fn of_outcome(outcome: &Outcome<'_>) -> &'static str {
    match outcome {
        Outcome::Result(_) => "result",
        Outcome::PeerError(_) => "error",
        Outcome::TimedOut(Expiry::Idle) => "idle-timeout",
        Outcome::TimedOut(Expiry::Total) => "total-timeout",
        Outcome::Closed(_) => "closed",
        Outcome::NotSent => "not-sent",
        Outcome::Task(_) => "task-left",
        Outcome::TaskCancelled => "task-cancelled",
        _ => "an outcome that the model does not have",
    }
}

/// Returns the name of a message of the client. Registers the id of a request.
pub(super) fn of_client(message: &[u8], kinds: &mut Kinds) -> String {
    let message: Value = serde_json::from_slice(message).unwrap();
    let kind = match message["method"].as_str() {
        Some("tools/call") => "request",
        Some("tasks/get") => "get",
        Some("tasks/result") => "fetch",
        Some("tasks/cancel") => "cancel-task",
        Some("notifications/cancelled") => {
            let id = message["params"]["requestId"].as_u64().unwrap();
            return format!("cancel-{}", kinds[&id]);
        }
        _ => return message.to_string(),
    };
    kinds.insert(message["id"].as_u64().unwrap(), kind);
    kind.to_owned()
}

/// Returns the name of a message of the server.
pub(super) fn of_server(message: &[u8], kinds: &Kinds) -> String {
    let message: Value = serde_json::from_slice(message).unwrap();
    if message["method"] == "notifications/progress" {
        return "progress".to_owned();
    }
    let kind = message["id"].as_u64().and_then(|id| kinds.get(&id).copied());
    let (result, status) = (&message["result"], message["result"]["status"].as_str());
    match (kind, result.is_object()) {
        (Some("request"), false) => "error".to_owned(),
        (Some("request"), true) if result["task"].is_object() => "created".to_owned(),
        (Some("request"), true) => "response".to_owned(),
        (Some("get"), true) if status.is_some() => status.unwrap_or_default().to_owned(),
        (Some("get"), false) => "get-error".to_owned(),
        (Some("fetch"), true) => "fetched".to_owned(),
        (Some("fetch"), false) => "fetch-error".to_owned(),
        (Some("cancel-task"), true) => format!("task-{}", status.unwrap_or_default()),
        (Some("cancel-task"), false) => "cancel-error".to_owned(),
        _ => message.to_string(),
    }
}

/// Returns the messages in an outbox.
pub(super) fn unsent(out: &Outbox) -> Vec<Vec<u8>> {
    out.clone().messages().map(<[u8]>::to_vec).collect()
}
