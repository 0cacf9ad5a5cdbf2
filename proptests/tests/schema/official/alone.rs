//! Requests that stand alone, as they stand on the wire.

use mcp_sansio::{IncomingId, Request, Revision, ServerEvent};
use mcp_sansio_proptests::{ServerSide, config, payload};
use serde_json::Value;

/// The revision without sessions.
pub(crate) const REVISION: Revision = Revision::V2026_07_28;

/// What a server says of itself in the metadata of a result.
pub(crate) const SERVER: &str =
    r#""io.modelcontextprotocol/serverInfo":{"name":"server","version":"1"}"#;

/// Everything that a client can declare.
pub(crate) const ALL: &str =
    r#"{"roots":{},"sampling":{"tools":{},"context":{}},"elicitation":{"form":{},"url":{}}}"#;

/// The metadata of a request of a client that can do everything, and more of it.
pub(crate) fn claim(more: &str) -> String {
    claim_with(ALL, more)
}

/// The same of a client that has declared this.
pub(crate) fn claim_with(capabilities: &str, more: &str) -> String {
    let comma = if more.is_empty() { "" } else { "," };
    format!(
        r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{capabilities}{comma}{more}"#
    )
}

/// A request with these params, and with more metadata than they have.
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

/// A server of both eras at the start of a connection.
pub(crate) fn side() -> ServerSide {
    ServerSide::with(config::server_of_both_eras())
}

/// Makes a request, of id 7, with the least that its method asks for.
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

/// The same of a server that has seen nothing else.
#[track_caller]
pub(crate) fn asked(method: &str) -> (ServerSide, IncomingId) {
    let mut side = side();
    let id = ask(&mut side, method);
    (side, id)
}

/// A request, of id 7, of a client that has declared this, at a server that has seen nothing else.
#[track_caller]
pub(crate) fn asked_by(capabilities: &str, method: &str) -> (ServerSide, Request<'static>) {
    let mut side = side();
    let text = frame(7, method, payload::params(method).as_json(), &claim_with(capabilities, ""));
    match side.receive(&text) {
        Some(ServerEvent::Request(request)) => (side, request),
        other => panic!("{method}: {other:?}"),
    }
}

/// The only message that was sent.
#[track_caller]
pub(crate) fn only(side: &mut ServerSide) -> Value {
    crate::official::parse(&side.sent())
}
