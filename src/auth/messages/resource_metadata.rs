//! Protected resource metadata, as parsed by a client ([RFC 9728](https://www.rfc-editor.org/rfc/rfc9728)).

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::object::Object;
use crate::auth::Scopes;
use crate::auth::web_url::WebUrl;

/// The part of the metadata that a client uses.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::auth) struct ResourceMetadata {
    pub(in crate::auth) resource: WebUrl,
    pub(in crate::auth) authorization_servers: Vec<String>,
    pub(in crate::auth) scopes: Option<Scopes>,
    /// Whether the resource accepts tokens in the `Authorization` field.
    pub(in crate::auth) takes_header: bool,
}

impl ResourceMetadata {
    /// Parses a document. Returns `None` if the document is invalid.
    pub(in crate::auth) fn read(body: &[u8]) -> Option<Self> {
        let object = Object::read(body)?;
        let methods = object.texts("bearer_methods_supported").ok()?;
        let scopes = object.texts("scopes_supported").ok()?;
        Some(Self {
            resource: WebUrl::parse(object.text("resource").ok()??).ok()?,
            authorization_servers: object.texts("authorization_servers").ok()?.unwrap_or_default(),
            scopes: scopes.map(|scopes| scopes.iter().map(String::as_str).collect()),
            takes_header: methods.is_none_or(|methods| methods.iter().any(|it| it == "header")),
        })
    }
}

/// Returns the candidate URLs of a resource's metadata in the order of the attempts: the well-known path with the
/// path of the endpoint appended, then the well-known path alone.
pub(in crate::auth) fn well_known(server: &WebUrl) -> Vec<String> {
    let origin = server.origin_text();
    let path = server.path().trim_end_matches('/');
    let mut places = Vec::new();
    if !path.is_empty() {
        places.push(format!("{origin}{WELL_KNOWN}{path}"));
    }
    places.push(format!("{origin}{WELL_KNOWN}"));
    places
}

const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";
