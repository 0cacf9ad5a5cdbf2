//! A client in the middle of its work, and the messages it sends and gets.

use mcp_sansio::error::ViolationKind;
use mcp_sansio::event::SubscriptionNews;
use mcp_sansio::{
    CallId, ClientConfig, ClientEvent, ConnectionNumber, Outcome, RequestFromServer, Revision,
    RevisionSet,
};
use mcp_sansio_proptests::{ClientSide, config};

/// What the client of the kit says of itself in every request, without braces.
pub(super) const META: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"client","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"roots":{},"sampling":{"context":{},"tools":{}},"elicitation":{"form":{},"url":{}}}"#;

/// What `server/discover` says of a server of both eras that offers everything.
pub(super) const DISCOVERY: &str = r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"prompts":{"listChanged":true},"completions":{},"logging":{}},"ttlMs":0,"cacheScope":"private"}"#;

/// What `initialize` says of such a server.
pub(super) const SESSION: &str = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}"#;

/// A client that speaks only the era without sessions.
pub(super) fn modern() -> ClientConfig {
    let mut config = config::client_of_both_eras();
    config.revisions = RevisionSet::MODERN;
    config
}

/// A client that has connected and not been answered.
pub(super) fn begun(config: ClientConfig) -> ClientSide {
    let mut side = ClientSide::with(config);
    side.client.connect(side.now, &mut side.out).unwrap();
    side
}

/// A client that has found out that the server has no sessions. Its next request has id 2.
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

/// A request as the client of the kit sends it; `params` are those without `_meta`.
pub(super) fn asked(id: u64, method: &str, params: &str) -> String {
    asked_with(id, method, "", params)
}

/// The same, with more at the beginning of its `_meta`.
pub(super) fn asked_with(id: u64, method: &str, meta: &str, params: &str) -> String {
    asked_again(id, method, meta, params, "")
}

/// The same, made again with what the server needed.
pub(super) fn asked_again(id: u64, method: &str, meta: &str, params: &str, more: &str) -> String {
    let comma = |text: &str| if text.is_empty() { "" } else { "," };
    let meta = format!("{meta}{}{META}", comma(meta));
    let (before, after) = (comma(params), comma(more));
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params}{before}"_meta":{{{meta}}}{after}{more}}}}}"#
    )
}

/// `initialize` as the client of the kit sends it.
pub(super) fn initialize(id: u64, revision: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"initialize","params":{{"protocolVersion":"{revision}","capabilities":{{"roots":{{"listChanged":true}},"sampling":{{"context":{{}},"tools":{{}}}},"elicitation":{{"form":{{}},"url":{{}}}}}},"clientInfo":{{"name":"client","version":"1"}}}}}}"#
    )
}

/// What follows the answer to `initialize`.
pub(super) const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// A cancellation as clients send it.
pub(super) fn cancelled(id: u64) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
    )
}

/// The same of a request that was not answered in time.
pub(super) fn timed_out(id: u64) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id},"reason":"the request timed out"}}}}"#
    )
}

/// A response with a result.
pub(super) fn result(id: u64, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

/// A response with an error; `data` is everything after its message.
pub(super) fn error(id: u64, code: i64, data: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"m"{data}}}}}"#)
}

/// The data of a refusal that names the version the client speaks.
pub(super) const SUPPORTED: &str =
    r#","data":{"supported":["2026-07-28"],"requested":"2026-07-28"}"#;

/// A notification of a subscription; `rest` are its other params.
pub(super) fn tagged(method: &str, tag: &str, rest: &str) -> String {
    let comma = if rest.is_empty() { "" } else { "," };
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/{method}","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{tag}}}{comma}{rest}}}}}"#
    )
}

/// What a call has come to.
#[track_caller]
pub(super) fn ended(event: Option<ClientEvent<'static>>) -> (CallId, Outcome<'static>) {
    match event {
        Some(ClientEvent::CallEnded(ended)) => (ended.call, ended.outcome),
        other => panic!("no call has ended: {other:?}"),
    }
}

/// The one event that is due.
#[track_caller]
pub(super) fn only(events: Vec<ClientEvent<'static>>) -> Option<ClientEvent<'static>> {
    assert_eq!(events.len(), 1, "{events:?}");
    events.into_iter().next()
}

/// The text of a result that a call has come to.
#[track_caller]
pub(super) fn complete(event: Option<ClientEvent<'static>>) -> (CallId, String) {
    match ended(event) {
        (call, Outcome::Result(result)) => (call, result.as_json().to_owned()),
        other => panic!("no result: {other:?}"),
    }
}

/// What is wrong with the answer to a call.
#[track_caller]
pub(super) fn malformed(event: Option<ClientEvent<'static>>) -> (CallId, ViolationKind) {
    match ended(event) {
        (call, Outcome::Malformed { kind, .. }) => (call, kind),
        other => panic!("it is not malformed: {other:?}"),
    }
}

/// What the server needs.
#[track_caller]
pub(super) fn needed(event: Option<ClientEvent<'static>>) -> RequestFromServer<'static> {
    match event {
        Some(ClientEvent::Request(request)) => request,
        other => panic!("nothing is needed: {other:?}"),
    }
}

/// Something has happened, and it does not matter here what.
#[track_caller]
pub(super) fn absorb(event: Option<ClientEvent<'static>>) {
    assert!(event.is_some(), "nothing has happened");
}

/// News of a subscription.
#[track_caller]
pub(super) fn news(event: Option<ClientEvent<'static>>) -> (CallId, SubscriptionNews<'static>) {
    match event {
        Some(ClientEvent::Subscription(update)) => (update.call, update.news),
        other => panic!("no news of a subscription: {other:?}"),
    }
}

/// What the server did wrong.
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

/// The connection works, and nothing has been sent that was not looked at.
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
