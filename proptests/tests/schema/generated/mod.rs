//! Random messages of the official schemas.
//!
//! The examples of `official` are written by hand, like the tables of the core, and can have the same gaps. These
//! messages come from the schemas alone: each message that a schema allows must arrive and must leave.
//!
//! The core has a few rules that the schemas do not express; [`has_other_rules`] lists them.

mod arriving;
mod instances;
mod leaving;
mod typed;

use mcp_sansio::{ClientEvent, Revision, RevisionSet};
use mcp_sansio_proptests::{ClientSide, config};
use serde_json::{Value, json};

use crate::official::closed::Schemas;
use crate::official::messages::{Exchange, NOTIFICATIONS, Notice, REQUESTS, Sender};
use crate::official::stateless::REVISION;

/// Returns the number of messages of each kind: `PROPTEST_CASES`, or enough for a short run.
fn cases() -> u64 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(150)
}

/// Calls `check` for each request of an application in each revision, with seeds.
fn for_each_request(mut check: impl FnMut(&'static Schemas, Revision, &'static Exchange, u64)) {
    for revision in Revision::ALL {
        let Some(schemas) = Schemas::of(revision) else { return };
        for exchange in REQUESTS.iter().filter(|exchange| schemas.defines(exchange.request)) {
            // The machine answers these itself, and modern servers send no requests.
            let is_own =
                matches!(exchange.method, "ping" | "subscriptions/listen" | "server/discover");
            let has_sender = revision < REVISION || exchange.sender == Sender::Client;
            if !is_own && has_sender {
                (0..cases()).for_each(|seed| check(schemas, revision, exchange, seed));
            }
        }
    }
}

/// Calls `check` with each notification of an application in each legacy revision, with seeds. The modern era has them
/// only in subscriptions and beside requests.
fn for_each_notification(mut check: impl FnMut(&'static Schemas, Revision, &'static Notice, u64)) {
    for revision in Revision::LEGACY {
        let Some(schemas) = Schemas::of(revision) else { return };
        for notice in NOTIFICATIONS.iter().filter(|notice| schemas.defines(notice.name)) {
            (0..cases()).for_each(|seed| check(schemas, revision, notice, seed));
        }
    }
}

/// Whether a rule of the prose applies to a payload: the order of tool calls and their results in sampling
/// (L-SAMP-11), and the scheme of roots (L-ROOT-02).
fn has_other_rules(method: &str, payload: &Value) -> bool {
    let text = payload.to_string();
    match method {
        "sampling/createMessage" => {
            text.contains("\"tool_use\"") || text.contains("\"tool_result\"")
        }
        "roots/list" => text.contains("\"uri\""),
        _ => false,
    }
}

/// Adds the type of a complete result in the revision that has one. The schema allows any string.
fn complete(mut result: Value, revision: Revision) -> Value {
    if revision == REVISION {
        result["resultType"] = "complete".into();
    }
    result
}

/// Returns a request of the wire.
fn request(method: &str, params: &Value) -> String {
    let mut message = json!({ "jsonrpc": "2.0", "id": 7, "method": method });
    if !params.is_null() {
        message["params"] = params.clone();
    }
    message.to_string()
}

/// Returns a notification of the wire.
fn notification(method: &str, params: &Value) -> String {
    let mut message = json!({ "jsonrpc": "2.0", "method": method });
    if !params.is_null() {
        message["params"] = params.clone();
    }
    message.to_string()
}

/// Returns a connected client that checks results. Its next request has id 2.
fn client(revision: Revision) -> ClientSide {
    let mut config = config::client();
    config.connection.check_results = true;
    if revision < REVISION {
        return ClientSide::ready_with(config, revision);
    }
    config.revisions = RevisionSet::MODERN;
    let mut side = ClientSide::with(config);
    side.client.connect(side.now, &mut side.out).unwrap();
    let capabilities = r#"{"tools":{},"resources":{},"prompts":{},"completions":{},"logging":{}}"#;
    let event = side.receive(&format!(
        r#"{{"jsonrpc":"2.0","id":1,"result":{{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{capabilities},"ttlMs":0,"cacheScope":"private"}}}}"#
    ));
    assert!(matches!(event, Some(ClientEvent::Connected(_))), "{event:?}");
    side.sent();
    side
}
