//! The head of a request, in the form that the core reads.

use hyper::http::request::Parts;
use mcp_sansio::http::RequestHead;

/// Returns the header fields of a request.
pub(crate) fn fields(parts: &Parts) -> Vec<(&str, &[u8])> {
    // The iterator does not know how many there are.
    let mut fields = Vec::with_capacity(parts.headers.len());
    fields.extend(parts.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())));
    fields
}

/// Returns the head of a request.
pub(crate) fn head<'p>(parts: &'p Parts, fields: &'p [(&'p str, &'p [u8])]) -> RequestHead<'p> {
    let authority = parts.uri.authority().map(|authority| authority.as_str());
    RequestHead::new(parts.method.as_str(), fields).authority(authority)
}
