//! The operation and the revision of a request to an MCP server.

use hyper::http::request::Parts;
use mcp_sansio::Revision;
use mcp_sansio::http::name;
use serde::Deserialize;

#[derive(Deserialize)]
struct Message<'m> {
    #[serde(borrow, default)]
    method: Option<std::borrow::Cow<'m, str>>,
    #[serde(borrow, default)]
    params: Option<Params<'m>>,
}

#[derive(Deserialize)]
struct Params<'m> {
    #[serde(borrow, default)]
    name: Option<std::borrow::Cow<'m, str>>,
    #[serde(borrow, default)]
    uri: Option<std::borrow::Cow<'m, str>>,
}

/// Returns the method of a message and its target: the tool, the prompt or the resource.
pub(super) fn of(body: &[u8]) -> String {
    let Ok(Message { method: Some(method), params }) = serde_json::from_slice(body) else {
        return String::new();
    };
    let about = params.and_then(|params| params.name.or(params.uri)).unwrap_or_default();
    format!("{method} {about}")
}

/// Returns the revision that the request declares.
pub(super) fn revision(head: &Parts) -> Option<Revision> {
    let value = head.headers.get(name::PROTOCOL_VERSION)?;
    value.to_str().ok().and_then(Revision::from_name)
}
