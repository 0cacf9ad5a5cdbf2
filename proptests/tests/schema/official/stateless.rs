//! Modern requests in the form of the wire.

use mcp_sansio::{IncomingId, Request, Revision, ServerEvent};
use mcp_sansio_proptests::{ServerSide, config, payload};
use serde_json::Value;

/// The modern revision.
pub(crate) const REVISION: Revision = Revision::V2026_07_28;

/// The server information in the metadata of a result.
pub(crate) const SERVER: &str =
    r#""io.modelcontextprotocol/serverInfo":{"name":"server","version":"1"}"#;

/// All capabilities of a client.
pub(crate) const ALL: &str =
    r#"{"roots":{},"sampling":{"tools":{},"context":{}},"elicitation":{"form":{},"url":{}}}"#;

/// Returns the metadata of a request of a client with all capabilities, followed by `more`.
pub(crate) fn claim(more: &str) -> String {
    claim_with(ALL, more)
}

/// Returns the metadata of a request of a client with these capabilities.
pub(crate) fn claim_with(capabilities: &str, more: &str) -> String {
    let comma = if more.is_empty() { "" } else { "," };
    format!(
        r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{capabilities}{comma}{more}"#
    )
}

/// Returns a request with these params and additional metadata.
pub(crate) fn frame(id: u32, method: &str, params: &str, meta: &str) -> String {
    let mut params: Value = serde_json::from_str(params).unwrap();
    if params.is_null() {
        params = Value::Object(serde_json::Map::new());
    }
    let more: Value = serde_json::from_str(&format!("{{{meta}}}")).unwrap();
    let members = params["_meta"].as_object().cloned().unwrap_or_default();
    let meta = members.into_iter().chain(more.as_object().unwrap().clone());
    params["_meta"] = Value::Object(meta.collect());
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
}

/// Creates a server of both eras at the start of a connection.
pub(crate) fn side() -> ServerSide {
    ServerSide::with(config::server_of_both_eras())
}

/// Sends a request with id 7 and the minimal params of its method.
#[track_caller]
pub(crate) fn ask(side: &mut ServerSide, method: &str) -> IncomingId {
    let params = payload::params(method);
    let params = match method {
        "subscriptions/listen" => {
            r#"{"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["x:y"]}}"#
        }
        _ => params.as_json(),
    };
    match side.receive(&frame(7, method, params, &claim(""))) {
        Some(ServerEvent::Request(request)) => request.id,
        Some(ServerEvent::Subscribed(subscribed)) => subscribed.id,
        other => panic!("{method}: {other:?}"),
    }
}

/// Sends such a request to a new server.
#[track_caller]
pub(crate) fn asked(method: &str) -> (ServerSide, IncomingId) {
    let mut side = side();
    let id = ask(&mut side, method);
    (side, id)
}

/// Sends a request with id 7 of a client with these capabilities to a new server.
#[track_caller]
pub(crate) fn asked_by(capabilities: &str, method: &str) -> (ServerSide, Request<'static>) {
    let mut side = side();
    let text = frame(7, method, payload::params(method).as_json(), &claim_with(capabilities, ""));
    match side.receive(&text) {
        Some(ServerEvent::Request(request)) => (side, request),
        other => panic!("{method}: {other:?}"),
    }
}

/// Returns the only sent message.
#[track_caller]
pub(crate) fn only(side: &mut ServerSide) -> Value {
    crate::official::parse(&side.sent())
}
