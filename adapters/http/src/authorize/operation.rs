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

/// Returns the revision that the request declares. A server that answers the request speaks this revision, except for
/// `server/discover`: servers of earlier revisions answer it as well, with an error.
pub(super) fn revision(head: &Parts) -> Option<Revision> {
    if head.headers.get(name::METHOD).is_some_and(|method| method == "server/discover") {
        return None;
    }
    let value = head.headers.get(name::PROTOCOL_VERSION)?;
    value.to_str().ok().and_then(Revision::from_name)
}

#[cfg(test)]
mod tests {
    use hyper::Request;

    use super::*;

    fn revision_of(fields: &[(&str, &str)]) -> Option<Revision> {
        let request = fields
            .iter()
            .fold(Request::post("/mcp"), |request, (name, value)| request.header(*name, *value));
        revision(&request.body(()).unwrap().into_parts().0)
    }

    /// Proves A-DISC-24.
    #[test]
    fn the_probe_for_an_era_declares_no_revision_that_the_server_speaks() {
        let version = ("MCP-Protocol-Version", "2026-07-28");
        let spoken = Some(Revision::V2026_07_28);
        assert_eq!(revision_of(&[version, ("Mcp-Method", "server/discover")]), None);
        assert_eq!(revision_of(&[version, ("Mcp-Method", "tools/list")]), spoken);
        assert_eq!(revision_of(&[version]), spoken);
        assert_eq!(revision_of(&[("MCP-Protocol-Version", "2026-07-28x")]), None);
        assert_eq!(revision_of(&[]), None);
    }
}
