//! A modern client, and the messages that it sends and receives.

use mcp_sansio::error::ViolationKind;
use mcp_sansio::event::SubscriptionNews;
use mcp_sansio::{
    CallId, ClientConfig, ClientEvent, ConnectionNumber, Outcome, RequestFromServer, Revision,
    RevisionSet,
};
use mcp_sansio_proptests::{ClientSide, config};

/// The `_meta` of every request of the kit's client, without braces.
pub(super) const META: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"client","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"roots":{},"sampling":{"context":{},"tools":{}},"elicitation":{"form":{},"url":{}}}"#;

/// The result of `server/discover` of a server of both eras with every capability.
pub(super) const DISCOVERY: &str = r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"prompts":{"listChanged":true},"completions":{},"logging":{}},"ttlMs":0,"cacheScope":"private"}"#;

/// The result of `initialize` of such a server.
pub(super) const SESSION: &str = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}"#;

/// A client that supports only the modern era.
pub(super) fn modern() -> ClientConfig {
    let mut config = config::client_of_both_eras();
    config.revisions = RevisionSet::MODERN;
    config
}

/// A client that has connected and received no response.
pub(super) fn begun(config: ClientConfig) -> ClientSide {
    let mut side = ClientSide::with(config);
    side.client.connect(side.now, &mut side.out).unwrap();
    side
}

/// A client that has discovered a modern server. Its next request has id 2.
pub(super) fn connected() -> ClientSide {
    connected_with(modern())
}

/// The same with another configuration.
pub(super) fn connected_with(config: ClientConfig) -> ClientSide {
    let mut side = begun(config);
    assert_eq!(side.sent().len(), 1);
    let event = side.receive(&result(1, DISCOVERY));
    assert!(matches!(event, Some(ClientEvent::Connected(_))), "{event:?}");
    assert_eq!(side.client.revision(), Some(Revision::V2026_07_28));
    side
}

/// A request of the kit's client; `params` excludes `_meta`.
pub(super) fn asked(id: u64, method: &str, params: &str) -> String {
    asked_with(id, method, "", params)
}

/// The same with more members at the beginning of `_meta`.
pub(super) fn asked_with(id: u64, method: &str, meta: &str, params: &str) -> String {
    asked_again(id, method, meta, params, "")
}

/// The same, repeated with input answers.
pub(super) fn asked_again(id: u64, method: &str, meta: &str, params: &str, more: &str) -> String {
    let comma = |text: &str| if text.is_empty() { "" } else { "," };
    let meta = format!("{meta}{}{META}", comma(meta));
    let (before, after) = (comma(params), comma(more));
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params}{before}"_meta":{{{meta}}}{after}{more}}}}}"#
    )
}

/// The `initialize` request of the kit's client.
pub(super) fn initialize(id: u64, revision: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"initialize","params":{{"protocolVersion":"{revision}","capabilities":{{"roots":{{"listChanged":true}},"sampling":{{"context":{{}},"tools":{{}}}},"elicitation":{{"form":{{}},"url":{{}}}}}},"clientInfo":{{"name":"client","version":"1"}}}}}}"#
    )
}

/// The notification after the response to `initialize`.
pub(super) const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// The cancellation of a request.
pub(super) fn cancelled(id: u64) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
    )
}

/// The cancellation of a request that timed out.
pub(super) fn timed_out(id: u64) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id},"reason":"the request timed out"}}}}"#
    )
}

/// A response with a result.
pub(super) fn result(id: u64, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

/// A response with an error; `data` is the text after its message.
pub(super) fn error(id: u64, code: i64, data: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"m"{data}}}}}"#)
}

/// The data of an error that lists the client's version as supported.
pub(super) const SUPPORTED: &str =
    r#","data":{"supported":["2026-07-28"],"requested":"2026-07-28"}"#;

/// A notification of a subscription; `rest` is its other params.
pub(super) fn tagged(method: &str, tag: &str, rest: &str) -> String {
    let comma = if rest.is_empty() { "" } else { "," };
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/{method}","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{tag}}}{comma}{rest}}}}}"#
    )
}

/// The call that has ended, and its outcome.
#[track_caller]
pub(super) fn ended(event: Option<ClientEvent<'static>>) -> (CallId, Outcome<'static>) {
    match event {
        Some(ClientEvent::CallEnded(ended)) => (ended.call, ended.outcome),
        other => panic!("no call has ended: {other:?}"),
    }
}

/// The only event that is due.
#[track_caller]
pub(super) fn only(events: Vec<ClientEvent<'static>>) -> Option<ClientEvent<'static>> {
    assert_eq!(events.len(), 1, "{events:?}");
    events.into_iter().next()
}

/// The call that has ended, and the text of its result.
#[track_caller]
pub(super) fn complete(event: Option<ClientEvent<'static>>) -> (CallId, String) {
    match ended(event) {
        (call, Outcome::Result(result)) => (call, result.as_json().to_owned()),
        other => panic!("no result: {other:?}"),
    }
}

/// The call that has ended, and the violation in its response.
#[track_caller]
pub(super) fn malformed(event: Option<ClientEvent<'static>>) -> (CallId, ViolationKind) {
    match ended(event) {
        (call, Outcome::Malformed { kind, .. }) => (call, kind),
        other => panic!("it is not malformed: {other:?}"),
    }
}

/// The input request in an event.
#[track_caller]
pub(super) fn needed(event: Option<ClientEvent<'static>>) -> RequestFromServer<'static> {
    match event {
        Some(ClientEvent::Request(request)) => request,
        other => panic!("nothing is needed: {other:?}"),
    }
}

/// Asserts that there is an event of any kind.
#[track_caller]
pub(super) fn absorb(event: Option<ClientEvent<'static>>) {
    assert!(event.is_some(), "nothing has happened");
}

/// The news of a subscription.
#[track_caller]
pub(super) fn news(event: Option<ClientEvent<'static>>) -> (CallId, SubscriptionNews<'static>) {
    match event {
        Some(ClientEvent::Subscription(update)) => (update.call, update.news),
        other => panic!("no news of a subscription: {other:?}"),
    }
}

/// The kind of a violation.
#[track_caller]
pub(super) fn violation(event: Option<ClientEvent<'static>>) -> ViolationKind {
    match event {
        Some(ClientEvent::Violation(violation)) => {
            assert!(!violation.answered, "{violation:?}");
            violation.kind
        }
        other => panic!("no violation: {other:?}"),
    }
}

/// Asserts that the connection works and no unread message was sent.
#[track_caller]
pub(super) fn is_alive(side: &mut ClientSide) {
    assert_eq!(side.sent(), [""; 0]);
    assert_eq!(side.outcomes(), []);
    let call = side.call("tools/list");
    let sent = side.sent();
    assert_eq!(sent.len(), 1);
    let sent: serde_json::Value = serde_json::from_str(&sent[0]).unwrap();
    assert_eq!(sent["method"], "tools/list");
    let answer = r#"{"resultType":"complete","tools":[]}"#;
    let event = side.receive(&result(sent["id"].as_u64().unwrap(), answer));
    assert_eq!(complete(event), (call, answer.to_owned()));
    assert_eq!(side.sent(), [""; 0]);
    assert_eq!(side.outcomes(), []);
}

/// A client for the next connection to the same server.
pub(super) fn successor(side: &ClientSide) -> ClientSide {
    let mut next = ClientSide::with(side.client.config().clone());
    next.client = side.client.reconnect(ConnectionNumber::new(1));
    next.now = side.now;
    next
}
