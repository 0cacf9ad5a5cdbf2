//! The configuration of the authorization of one MCP server.

use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use super::client_id::{ClientAuthentication, ConfiguredClient, SigningKey};
use crate::auth::fetch_policy::FetchPolicy;
use crate::auth::messages::registration;
use crate::auth::web_url::{UrlError, WebUrl};
use crate::auth::{Scopes, Secret};

/// How a client of one MCP server gets its tokens.
///
/// ```
/// use mcp_sansio::auth::{AuthorizerConfig, ClientMetadata};
///
/// let mut config = AuthorizerConfig::new("https://mcp.example.com/mcp")?;
/// config.registration = Some(ClientMetadata::native("Example client"));
/// # Ok::<(), mcp_sansio::auth::UrlError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct AuthorizerConfig {
    /// The URL of the MCP server.
    pub(in crate::auth) server: WebUrl,
    /// How tokens are got. Default: a user agrees in a browser.
    pub flow: Flow,
    /// Client ids that were registered beforehand. They are preferred to every other way.
    pub clients: Vec<ConfiguredClient>,
    /// The URL of a client ID metadata document: it is the client id wherever the authorization server takes such
    /// documents.
    pub(in crate::auth) metadata_document: Option<WebUrl>,
    /// The key that the client signs with where its metadata document is its client id. The document has to say so:
    /// [`ClientMetadata::jwks_uri`]. Without it the client is public there.
    pub document_key: Option<SigningKey>,
    /// What a dynamic registration says of the client. Without it nothing is registered.
    pub registration: Option<ClientMetadata>,
    /// Whether the host can ask its user for a client id where there is no other way
    /// ([`Effect::NeedClient`](super::Effect::NeedClient)). Default false.
    pub can_name_client: bool,
    /// Scopes that are requested in addition to those that the server names.
    pub scopes: Scopes,
    /// Whether `offline_access` is requested where the authorization server has that scope, which gives a refresh token
    /// at many of them. Default false.
    pub offline_access: bool,
    /// Whether a request for `offline_access` has `prompt=consent`, which some OpenID providers require: they ask the user
    /// again.
    /// Default false.
    pub asks_for_consent: bool,
    /// Whether the request names the resource also to an authorization server of 2025-03-26. Default true: one that does
    /// not know the parameter ignores it.
    pub resource_always: bool,
    /// Whether more scopes are asked for when the server says that a request needs them. That opens a browser again.
    /// Default true.
    pub step_up: bool,
    /// How often more scopes are asked for because of one operation. Default 2.
    pub most_step_ups: u8,
    /// When the MCP server itself is taken for its authorization server, as in 2025-03-26.
    pub fallback: Fallback,
    /// Which URLs may be fetched because a server names them.
    pub policy: FetchPolicy,
    /// How long a request to an authorization server may take. Default 30 s.
    pub fetch_timeout: Duration,
    /// Most bytes of a response. Default 64 KiB.
    pub most_bytes: usize,
    /// How long the user may take. Default 10 min.
    pub user_timeout: Duration,
    /// How long before its end a token is refreshed. Default 60 s, and at most half of its lifetime.
    pub refresh_before: Duration,
    /// How many requests wait for authorization at most. Default 1024.
    pub most_waiting: usize,
}

/// How tokens are got.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Flow {
    /// A user agrees in a browser: the authorization code grant with PKCE.
    AuthorizationCode,
    /// The client acts for itself
    /// ([client credentials](https://modelcontextprotocol.io/extensions/auth/oauth-client-credentials)). One of
    /// [`AuthorizerConfig::clients`] has to have a secret or a key.
    ClientCredentials,
    /// The organisation of the user has agreed: an assertion of its identity provider is exchanged
    /// ([enterprise-managed authorization](https://modelcontextprotocol.io/extensions/auth/enterprise-managed-authorization)).
    Enterprise(IdentityProvider),
}

/// The identity provider of an organisation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct IdentityProvider {
    /// Where assertions are exchanged.
    pub(in crate::auth) token_endpoint: WebUrl,
    /// The client id that the host has there.
    pub client_id: String,
    /// The secret, if the host has one.
    pub secret: Option<Secret>,
}

impl IdentityProvider {
    /// The provider with this token endpoint, at which the host has this client id.
    ///
    /// # Errors
    ///
    /// [`UrlError`] if the URL cannot be used.
    pub fn new(token_endpoint: &str, client_id: impl Into<String>) -> Result<Self, UrlError> {
        let token_endpoint = WebUrl::parse(token_endpoint)?;
        Ok(Self { token_endpoint, client_id: client_id.into(), secret: None })
    }
}

/// When the MCP server itself is taken for its authorization server
/// ([2025-03-26](https://modelcontextprotocol.io/specification/2025-03-26/basic/authorization#server-metadata-discovery)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fallback {
    /// If it has no metadata of a resource, and has not spoken a later revision.
    #[default]
    UnlessNewer,
    /// If it has no metadata of a resource.
    Always,
    /// Never.
    Never,
}

/// What a client says of itself when it is registered.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ClientMetadata {
    /// The name that users see.
    pub name: String,
    /// A page about the client.
    pub uri: Option<String>,
    /// A picture.
    pub logo_uri: Option<String>,
    /// Where its public keys are, for a client that signs.
    pub jwks_uri: Option<String>,
    /// Where it runs.
    pub application_type: ApplicationType,
}

/// Where a client runs, which decides which redirect URIs it can have
/// ([application type](https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/client-registration#application-type-and-redirect-uri-constraints)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ApplicationType {
    /// On the machine of its user.
    Native,
    /// On a server.
    Web,
}

impl ApplicationType {
    pub(in crate::auth) const fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Web => "web",
        }
    }
}

impl ClientMetadata {
    /// A program on the machine of its user.
    pub fn native(name: impl Into<String>) -> Self {
        let application_type = ApplicationType::Native;
        Self { name: name.into(), uri: None, logo_uri: None, jwks_uri: None, application_type }
    }

    /// A program on a server.
    pub fn web(name: impl Into<String>) -> Self {
        Self { application_type: ApplicationType::Web, ..Self::native(name) }
    }

    /// The client ID metadata document to publish at `url`
    /// ([requirements](https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/client-registration#implementation-requirements)).
    /// It never holds a secret.
    ///
    /// ```
    /// use mcp_sansio::auth::ClientMetadata;
    ///
    /// let client = ClientMetadata::native("Example client");
    /// let document = client.document("https://example.com/client.json", &["http://127.0.0.1/callback"]);
    /// assert!(document.starts_with(r#"{"client_id":"https://example.com/client.json","client_name":"Example client","#));
    /// ```
    pub fn document(&self, url: &str, redirect_uris: &[&str]) -> String {
        registration::metadata_document(self, url, redirect_uris)
    }
}

impl AuthorizerConfig {
    /// For the MCP server at this URL, without any way to get a client id yet.
    ///
    /// # Errors
    ///
    /// [`UrlError`] if the URL cannot be used.
    pub fn new(server: &str) -> Result<Self, UrlError> {
        // Clients may have it for themselves, and no server gets to see it.
        let server = WebUrl::parse(server.split('#').next().unwrap_or_default())?;
        let policy = FetchPolicy { loopback: server.is_loopback(), ..FetchPolicy::default() };
        Ok(Self {
            server,
            flow: Flow::AuthorizationCode,
            clients: Vec::new(),
            metadata_document: None,
            document_key: None,
            registration: None,
            can_name_client: false,
            scopes: Scopes::none(),
            offline_access: false,
            asks_for_consent: false,
            resource_always: true,
            step_up: true,
            most_step_ups: 2,
            fallback: Fallback::default(),
            policy,
            fetch_timeout: Duration::from_secs(30),
            most_bytes: 64 << 10,
            user_timeout: Duration::from_secs(600),
            refresh_before: Duration::from_secs(60),
            most_waiting: 1024,
        })
    }

    /// The URL of the MCP server.
    pub const fn server(&self) -> &WebUrl {
        &self.server
    }

    /// With the URL of a client ID metadata document.
    ///
    /// # Errors
    ///
    /// [`InvalidDocumentUrl`] if no authorization server would take it.
    pub fn metadata_document(&mut self, url: &str) -> Result<&mut Self, InvalidDocumentUrl> {
        let url = WebUrl::parse(url).map_err(|_| InvalidDocumentUrl)?;
        let has_dots = url.path().split('/').any(|segment| matches!(segment, "." | ".."));
        if !url.is_https() || url.path().len() < 2 || has_dots {
            return Err(InvalidDocumentUrl);
        }
        self.metadata_document = Some(url);
        Ok(self)
    }

    /// How the client authenticates if it is identified by its metadata document.
    pub(in crate::auth) fn document_authentication(&self) -> ClientAuthentication {
        match self.document_key {
            Some(_) => ClientAuthentication::PrivateKeyJwt,
            None => ClientAuthentication::None,
        }
    }
}

/// The URL of a client ID metadata document has to be `https`, with a path that is more than a slash and has no dot
/// segments. The caller is at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("not the URL of a client ID metadata document")]
#[non_exhaustive]
pub struct InvalidDocumentUrl;

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves A-REG-05.
    #[test]
    fn a_metadata_document_has_a_clear_url() {
        let mut config = AuthorizerConfig::new("https://mcp.example/mcp").unwrap();
        for url in [
            "https://a.example",
            "https://a.example/",
            "http://a.example/client",
            "https://a.example/client#x",
            "https://me@a.example/client",
            "https://a.example/x/../client",
            "https://a.example/./client",
        ] {
            assert_eq!(config.metadata_document(url), Err(InvalidDocumentUrl), "{url}");
        }
        assert!(config.metadata_document("https://a.example/client.json").is_ok());
    }

    /// Proves A-REG-06, A-REG-07, A-REG-09, A-REG-12.
    #[test]
    fn a_metadata_document_says_what_it_has_to_and_no_secret() {
        let mut client = ClientMetadata::web("Example");
        client.uri = Some("https://a.example".into());
        let url = "https://a.example/client.json";
        let rest = concat!(
            r#""client_uri":"https://a.example","redirect_uris":["https://a.example/back"],"#,
            r#""grant_types":["authorization_code","refresh_token"],"response_types":["code"],"#,
            r#""token_endpoint_auth_method":"none","application_type":"web"}"#
        );
        let start = r#"{"client_id":"https://a.example/client.json","client_name":"Example","#;
        let expected = alloc::format!("{start}{rest}");
        assert_eq!(client.document(url, &["https://a.example/back"]), expected);
        client.jwks_uri = Some("https://a.example/keys".into());
        let signing = client.document(url, &["https://a.example/back"]);
        assert!(signing.contains(r#""token_endpoint_auth_method":"private_key_jwt""#));
    }
}
