//! Authorization server metadata ([RFC 8414](https://www.rfc-editor.org/rfc/rfc8414),
//! [OpenID Connect Discovery](https://openid.net/specs/openid-connect-discovery-1_0.html)).

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::object::{Object, WrongType};
use crate::auth::web_url::WebUrl;

/// The part of the metadata that a client uses.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::auth) struct ServerMetadata {
    /// The issuer, which is compared byte by byte.
    pub(in crate::auth) issuer: String,
    pub(in crate::auth) authorization_endpoint: Option<WebUrl>,
    pub(in crate::auth) token_endpoint: WebUrl,
    pub(in crate::auth) registration_endpoint: Option<WebUrl>,
    pub(in crate::auth) scopes: Vec<String>,
    /// `None` if the metadata omits them; the default is `client_secret_basic`.
    pub(in crate::auth) authentication_methods: Option<Vec<String>>,
    pub(in crate::auth) signing_algorithms: Option<Vec<String>>,
    pub(in crate::auth) has_pkce: bool,
    pub(in crate::auth) sends_issuer: bool,
    pub(in crate::auth) takes_metadata_documents: bool,
    /// `None` if the metadata omits them; the default is the authorization code grant.
    grants: Option<Vec<String>>,
    responses: Option<Vec<String>>,
    pub(in crate::auth) grant_profiles: Vec<String>,
}

/// The reason why a document is unusable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::auth) enum Unusable {
    /// The document names another issuer than the requested one.
    Issuer,
    Member(&'static str),
}

impl From<WrongType> for Unusable {
    fn from(WrongType(member): WrongType) -> Self {
        Self::Member(member)
    }
}

impl ServerMetadata {
    /// Parses the metadata document of this issuer. Returns `Ok(None)` if the text is not a JSON object, such as the
    /// page of a server that serves every path.
    pub(in crate::auth) fn read(body: &[u8], issuer: &str) -> Result<Option<Self>, Unusable> {
        let Some(object) = Object::read(body) else { return Ok(None) };
        match object.text("issuer")? {
            Some(named) if named == issuer => {}
            Some(_) => return Err(Unusable::Issuer),
            None => return Err(Unusable::Member("issuer")),
        }
        let url = |name| {
            let text = object.text(name)?;
            text.map(|text| WebUrl::parse(text).map_err(|_| Unusable::Member(name))).transpose()
        };
        Ok(Some(Self {
            issuer: issuer.into(),
            authorization_endpoint: url("authorization_endpoint")?,
            token_endpoint: url("token_endpoint")?.ok_or(Unusable::Member("token_endpoint"))?,
            registration_endpoint: url("registration_endpoint")?,
            scopes: object.texts("scopes_supported")?.unwrap_or_default(),
            authentication_methods: object.texts("token_endpoint_auth_methods_supported")?,
            signing_algorithms: object.texts("token_endpoint_auth_signing_alg_values_supported")?,
            has_pkce: object
                .texts("code_challenge_methods_supported")?
                .is_some_and(|methods| methods.iter().any(|method| method == "S256")),
            sends_issuer: object.is_true("authorization_response_iss_parameter_supported"),
            takes_metadata_documents: object.is_true("client_id_metadata_document_supported"),
            grants: object.texts("grant_types_supported")?,
            responses: object.texts("response_types_supported")?,
            grant_profiles: object
                .texts("authorization_grant_profiles_supported")?
                .unwrap_or_default(),
        }))
    }

    /// Returns the default endpoints of a server of 2025-03-26 that publishes no metadata
    /// ([fallbacks](https://modelcontextprotocol.io/specification/2025-03-26/basic/authorization#fallbacks-for-servers-without-metadata-discovery)).
    pub(in crate::auth) fn without_document(server: &WebUrl) -> Option<Self> {
        let origin = server.origin_text();
        let at = |path| WebUrl::parse(&format!("{origin}{path}")).ok();
        Some(Self {
            issuer: server.canonical_origin(),
            authorization_endpoint: at("/authorize"),
            token_endpoint: at("/token")?,
            registration_endpoint: at("/register"),
            scopes: Vec::new(),
            authentication_methods: None,
            signing_algorithms: None,
            // Without metadata the server cannot declare PKCE support; the client uses PKCE anyway.
            has_pkce: true,
            sends_issuer: false,
            takes_metadata_documents: false,
            grants: None,
            responses: None,
            grant_profiles: Vec::new(),
        })
    }

    /// Whether the server supports this grant. Metadata without a list of grants counts as support: the default is
    /// the code grant, and the server may omit the others that it supports.
    pub(in crate::auth) fn has_grant(&self, grant: &str) -> bool {
        let is_named = |grants: &Vec<String>| grants.iter().any(|known| known == grant);
        self.grants.as_ref().is_none_or(is_named)
    }

    /// Whether the server supports the response type `code`. Metadata without a list of response types counts as
    /// support.
    pub(in crate::auth) fn has_code_response(&self) -> bool {
        self.responses.as_ref().is_none_or(|known| known.iter().any(|kind| kind == "code"))
    }

    /// Returns the endpoints that the client itself sends requests to, each with the name of its metadata member.
    pub(in crate::auth) fn fetched(&self) -> impl Iterator<Item = (&'static str, &WebUrl)> {
        let registration =
            self.registration_endpoint.iter().map(|url| ("registration_endpoint", url));
        [("token_endpoint", &self.token_endpoint)].into_iter().chain(registration)
    }
}

/// Returns the candidate URLs of an issuer's metadata in the order of the attempts.
pub(in crate::auth) fn well_known(issuer: &WebUrl) -> Vec<String> {
    let origin = issuer.origin_text();
    // A trailing slash adds no path segment, although it is part of the issuer identifier.
    match issuer.path().trim_end_matches('/') {
        "" => alloc::vec![format!("{origin}{OAUTH}"), format!("{origin}{OPENID}")],
        path => alloc::vec![
            format!("{origin}{OAUTH}{path}"),
            format!("{origin}{OPENID}{path}"),
            format!("{origin}{path}{OPENID}"),
        ],
    }
}

/// Returns the metadata URL of an MCP server of 2025-03-26, which is its own authorization server.
pub(in crate::auth) fn of_server_itself(server: &WebUrl) -> String {
    format!("{}{OAUTH}", server.origin_text())
}

const OAUTH: &str = "/.well-known/oauth-authorization-server";
const OPENID: &str = "/.well-known/openid-configuration";
