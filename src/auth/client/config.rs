//! `AuthorizerConfig`: the configuration of the authorization for one MCP server.

use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use super::client_id::{ClientAuthentication, ConfiguredClient, SigningKey};
use crate::auth::fetch_policy::FetchPolicy;
use crate::auth::messages::registration;
use crate::auth::web_url::{UrlError, WebUrl};
use crate::auth::{Scopes, Secret};

/// The configuration by which a client of one MCP server obtains its tokens.
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
    /// The grant that tokens are obtained by. Default: the authorization code grant.
    pub flow: Flow,
    /// Client ids that were registered in advance, which take precedence over every other source of a client id.
    pub clients: Vec<ConfiguredClient>,
    /// The URL of a client ID metadata document, which is the client id at every authorization server that supports
    /// such documents.
    pub(in crate::auth) metadata_document: Option<WebUrl>,
    /// The key that the client signs with when its client id is its metadata document. The document must declare it:
    /// [`ClientMetadata::jwks_uri`]. Without a key the client is public there.
    pub document_key: Option<SigningKey>,
    /// The client metadata of a dynamic registration. Without it the client is not registered dynamically.
    pub registration: Option<ClientMetadata>,
    /// Whether the application can ask its user for a client id if there is no other source
    /// ([`Effect::NeedClient`](super::Effect::NeedClient)). Default false.
    pub can_name_client: bool,
    /// Scopes that are requested in addition to those that the server names.
    pub scopes: Scopes,
    /// Whether `offline_access` is requested from authorization servers with this scope. Many of them then issue a
    /// refresh token. Default false.
    pub offline_access: bool,
    /// Whether a request for `offline_access` contains `prompt=consent`, which some OpenID providers require: they
    /// ask the user again. Default false.
    pub asks_for_consent: bool,
    /// Whether requests to an authorization server of 2025-03-26 contain the resource indicator. Default true: a
    /// server that does not know the parameter ignores it.
    pub resource_always: bool,
    /// Whether more scopes are requested when the server requires them for a request (step-up), which opens a
    /// browser again. Default true.
    pub step_up: bool,
    /// The maximum number of step-ups per operation. Default 2.
    pub most_step_ups: u8,
    /// Whether the MCP server may count as its own authorization server, as in 2025-03-26.
    pub fallback: Fallback,
    /// The policy for fetching URLs that a server names.
    pub policy: FetchPolicy,
    /// The timeout of a request to an authorization server. Default 30 s.
    pub fetch_timeout: Duration,
    /// The maximum length of a response in bytes. Default 64 KiB.
    pub most_bytes: usize,
    /// The time that a user may take to name a client id, and then to log in. Default 10 min each.
    pub user_timeout: Duration,
    /// The time before its expiry at which a token is refreshed. Default 60 s, at most half of its lifetime. A token is
    /// used for 30 s at least; one that expires earlier is refreshed by the next request.
    pub refresh_before: Duration,
    /// The maximum number of requests that wait for authorization. Default 1024.
    pub most_waiting: usize,
}

/// The flow by which tokens are obtained.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Flow {
    /// A user consents in a browser: the authorization code grant with PKCE.
    AuthorizationCode,
    /// The client acts on its own behalf
    /// ([client credentials](https://modelcontextprotocol.io/extensions/auth/oauth-client-credentials)). One of
    /// [`AuthorizerConfig::clients`] must have a secret or a key.
    ClientCredentials,
    /// The user's organisation has consented: an assertion of its identity provider is exchanged
    /// ([enterprise-managed authorization](https://modelcontextprotocol.io/extensions/auth/enterprise-managed-authorization)).
    Enterprise(IdentityProvider),
}

/// The identity provider of an organisation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct IdentityProvider {
    /// The endpoint at which assertions are exchanged.
    pub(in crate::auth) token_endpoint: WebUrl,
    /// The client id of the application at the identity provider.
    pub client_id: String,
    /// The secret of the application, if it has one.
    pub secret: Option<Secret>,
}

impl IdentityProvider {
    /// Creates a provider with this token endpoint, at which the application has this client id.
    ///
    /// # Errors
    ///
    /// [`UrlError`] if the URL is unusable. It is `https`, or on this computer: the request contains credentials.
    pub fn new(token_endpoint: &str, client_id: impl Into<String>) -> Result<Self, UrlError> {
        let token_endpoint = WebUrl::parse(token_endpoint)?;
        if !token_endpoint.is_https() && !token_endpoint.is_loopback() {
            return Err(UrlError::Scheme);
        }
        Ok(Self { token_endpoint, client_id: client_id.into(), secret: None })
    }
}

/// Whether the MCP server may count as its own authorization server
/// ([2025-03-26](https://modelcontextprotocol.io/specification/2025-03-26/basic/authorization#server-metadata-discovery)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fallback {
    /// If the server publishes no protected resource metadata, names none in its challenge, and is not known to speak a
    /// later revision.
    #[default]
    UnlessNewer,
    /// If the server publishes no protected resource metadata.
    Always,
    /// Never.
    Never,
}

/// The metadata of a client for its registration.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ClientMetadata {
    /// The name that users see.
    pub name: String,
    /// The URL of a page about the client.
    pub uri: Option<String>,
    /// The URL of a logo.
    pub logo_uri: Option<String>,
    /// The URL of the public keys, for a client that signs.
    pub jwks_uri: Option<String>,
    /// The application type.
    pub application_type: ApplicationType,
}

/// The application type of a client, which determines its valid redirect URIs
/// ([application type](https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/client-registration#application-type-and-redirect-uri-constraints)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ApplicationType {
    /// The client runs on the user's computer.
    Native,
    /// The client runs on a server.
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
    /// Describes a program on the user's computer.
    pub fn native(name: impl Into<String>) -> Self {
        let application_type = ApplicationType::Native;
        Self { name: name.into(), uri: None, logo_uri: None, jwks_uri: None, application_type }
    }

    /// Describes a program on a server.
    pub fn web(name: impl Into<String>) -> Self {
        Self { application_type: ApplicationType::Web, ..Self::native(name) }
    }

    /// Returns the client ID metadata document to publish at `url`
    /// ([requirements](https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/client-registration#implementation-requirements)).
    /// The document never contains a secret.
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
    /// Creates a configuration for the MCP server at this URL, without any source of a client id. A server that
    /// requires a token must have an `https` URL, or be on this computer.
    ///
    /// # Errors
    ///
    /// [`UrlError`] if the URL is unusable.
    pub fn new(server: &str) -> Result<Self, UrlError> {
        // Clients may use a fragment locally; it is never sent to a server.
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

    /// Returns the URL of the MCP server.
    pub const fn server(&self) -> &WebUrl {
        &self.server
    }

    /// Sets the URL of a client ID metadata document.
    ///
    /// # Errors
    ///
    /// [`InvalidDocumentUrl`] if no authorization server would accept the URL.
    pub fn metadata_document(&mut self, url: &str) -> Result<&mut Self, InvalidDocumentUrl> {
        let url = WebUrl::parse(url).map_err(|_| InvalidDocumentUrl)?;
        let has_dots = url.path().split('/').any(|segment| matches!(segment, "." | ".."));
        if !url.is_https() || url.path().len() < 2 || has_dots {
            return Err(InvalidDocumentUrl);
        }
        self.metadata_document = Some(url);
        Ok(self)
    }

    /// Whether requests to the MCP server may carry a token
    /// ([RFC 6750, section 5.3](https://www.rfc-editor.org/rfc/rfc6750#section-5.3)).
    pub(in crate::auth) fn is_confidential(&self) -> bool {
        self.server.is_https() || self.server.is_loopback()
    }

    /// Returns the authentication method of a client that is identified by its metadata document.
    pub(in crate::auth) fn document_authentication(&self) -> ClientAuthentication {
        match self.document_key {
            Some(_) => ClientAuthentication::PrivateKeyJwt,
            None => ClientAuthentication::None,
        }
    }
}

/// The URL of a client ID metadata document is not a usable `https` URL, has only a slash or nothing as its path, or
/// contains dot segments. The caller is at fault.
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
    fn client_metadata_has_the_required_fields_and_no_secret() {
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
