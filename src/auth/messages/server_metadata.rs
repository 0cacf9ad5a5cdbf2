//! The metadata of an authorization server
//! ([RFC 8414](https://www.rfc-editor.org/rfc/rfc8414),
//! [OpenID Connect Discovery](https://openid.net/specs/openid-connect-discovery-1_0.html)).

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::object::{Object, WrongType};
use crate::auth::web_url::WebUrl;

/// The part of the metadata that a client needs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::auth) struct ServerMetadata {
    /// Compared letter by letter.
    pub(in crate::auth) issuer: String,
    pub(in crate::auth) authorization_endpoint: Option<WebUrl>,
    pub(in crate::auth) token_endpoint: WebUrl,
    pub(in crate::auth) registration_endpoint: Option<WebUrl>,
    pub(in crate::auth) scopes: Vec<String>,
    /// `None` where the server does not say: the default is `client_secret_basic`.
    pub(in crate::auth) authentication_methods: Option<Vec<String>>,
    pub(in crate::auth) signing_algorithms: Option<Vec<String>>,
    pub(in crate::auth) has_pkce: bool,
    pub(in crate::auth) sends_issuer: bool,
    pub(in crate::auth) takes_metadata_documents: bool,
    /// `None` where the server does not say: the default is the code grant.
    grants: Option<Vec<String>>,
    responses: Option<Vec<String>>,
    pub(in crate::auth) grant_profiles: Vec<String>,
}

/// Why a document cannot be used: the member that is missing or wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::auth) enum Unusable {
    /// The issuer is another one than was asked for.
    Issuer,
    Member(&'static str),
}

impl From<WrongType> for Unusable {
    fn from(WrongType(member): WrongType) -> Self {
        Self::Member(member)
    }
}

impl ServerMetadata {
    /// Reads the document of this issuer. `Ok(None)` if the text is no JSON object, as the pages of servers that know
    /// every path.
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

    /// The endpoints of a server of 2025-03-26 that has no metadata
    /// ([fallbacks](https://modelcontextprotocol.io/specification/2025-03-26/basic/authorization#fallbacks-for-servers-without-metadata-discovery)).
    pub(in crate::auth) fn without_document(server: &WebUrl) -> Option<Self> {
        let origin = server.origin_text();
        let at = |path| WebUrl::parse(&format!("{origin}{path}")).ok();
        Some(Self {
            issuer: origin.into(),
            authorization_endpoint: at("/authorize"),
            token_endpoint: at("/token")?,
            registration_endpoint: at("/register"),
            scopes: Vec::new(),
            authentication_methods: None,
            signing_algorithms: None,
            // It cannot say so; the client uses it all the same.
            has_pkce: true,
            sends_issuer: false,
            takes_metadata_documents: false,
            grants: None,
            responses: None,
            grant_profiles: Vec::new(),
        })
    }

    /// Whether the server has this grant. Where it does not say, it has the code grant; what else it has it may not say.
    pub(in crate::auth) fn has_grant(&self, grant: &str) -> bool {
        let is_named = |grants: &Vec<String>| grants.iter().any(|known| known == grant);
        self.grants.as_ref().is_none_or(is_named)
    }

    /// Whether the server answers with a code. Where it does not say it does.
    pub(in crate::auth) fn has_code_response(&self) -> bool {
        self.responses.as_ref().is_none_or(|known| known.iter().any(|kind| kind == "code"))
    }

    /// The endpoints that are fetched by the client itself, with the member that names each.
    pub(in crate::auth) fn fetched(&self) -> impl Iterator<Item = (&'static str, &WebUrl)> {
        let registration =
            self.registration_endpoint.iter().map(|url| ("registration_endpoint", url));
        [("token_endpoint", &self.token_endpoint)].into_iter().chain(registration)
    }
}

/// Where the metadata of an issuer may be, in the order in which to ask.
pub(in crate::auth) fn well_known(issuer: &WebUrl) -> Vec<String> {
    let origin = issuer.origin_text();
    // A slash at the end is no path, but part of the issuer's name all the same.
    match issuer.path().trim_end_matches('/') {
        "" => alloc::vec![format!("{origin}{OAUTH}"), format!("{origin}{OPENID}")],
        path => alloc::vec![
            format!("{origin}{OAUTH}{path}"),
            format!("{origin}{OPENID}{path}"),
            format!("{origin}{path}{OPENID}"),
        ],
    }
}

/// Where the metadata of an MCP server of 2025-03-26 is, which is its own authorization server.
pub(in crate::auth) fn of_server_itself(server: &WebUrl) -> String {
    format!("{}{OAUTH}", server.origin_text())
}

const OAUTH: &str = "/.well-known/oauth-authorization-server";
const OPENID: &str = "/.well-known/openid-configuration";
