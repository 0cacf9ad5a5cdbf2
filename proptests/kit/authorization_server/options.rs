//! The options of a server.

use std::time::Duration;

use mcp_sansio::auth::ClientAuthentication;

use super::Misbehaviour;

/// The options of a server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The issuer: a URL with an optional path. The endpoints are below it.
    pub issuer: String,
    /// The location of the metadata. Default: the location of OAuth.
    pub metadata: MetadataPlace,
    /// The user's consent. Default: automatic.
    pub consent: Consent,
    /// The preconfigured clients. Default: none.
    pub clients: Vec<Client>,
    /// The supported client authentication methods. Default: none, and a secret by either method.
    pub authentication: Vec<ClientAuthentication>,
    /// Whether clients can register. Default true.
    pub registers: bool,
    /// Whether a client id can be the URL of a metadata document. The document is not fetched: any `https` URL is
    /// accepted. Default true.
    pub takes_metadata_documents: bool,
    /// The scopes in the metadata. Default: none.
    pub scopes: Vec<String>,
    /// The scopes that can be granted; `None` for all.
    pub grantable: Option<Vec<String>>,
    /// The lifetime of access tokens in seconds. Default 3600.
    pub access_token_seconds: u64,
    /// Whether the code grant returns refresh tokens. Default true.
    pub issues_refresh_tokens: bool,
    /// The delay of responses with [`Misbehaviour::Slow`]. Default 60 s, which is longer than clients wait.
    pub delay: Duration,
    /// The fault of the server. Default: none.
    pub misbehaviour: Option<Misbehaviour>,
}

/// The location of a server's metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "these are all places that there are")]
pub enum MetadataPlace {
    /// `/.well-known/oauth-authorization-server`, before the path of the issuer (RFC 8414).
    OAuth,
    /// `/.well-known/openid-configuration`, before the path of the issuer.
    OpenId,
    /// `/.well-known/openid-configuration`, after the path of the issuer (OpenID Connect Discovery).
    OpenIdAppended,
    /// No metadata.
    None,
}

/// The consent of the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "there is nothing else that a user can say")]
pub enum Consent {
    /// The user agrees without a question.
    Automatic,
    /// A page contains one link per decision.
    Ask,
    /// The user denies without a question.
    Deny,
}

/// A preconfigured client. It may use every redirect URI that is `https` or a loopback address.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Client {
    /// The client ID.
    pub id: String,
    /// The secret of a confidential client.
    pub secret: Option<String>,
}

impl Client {
    /// Creates a client with this id, and a secret if it has one.
    pub fn new(id: impl Into<String>, secret: Option<&str>) -> Self {
        Self { id: id.into(), secret: secret.map(String::from) }
    }
}

impl Options {
    /// Creates the options of a correct server. The issuer is an absolute URL without query and fragment.
    pub fn new(issuer: impl Into<String>) -> Self {
        Self {
            issuer: issuer.into(),
            metadata: MetadataPlace::OAuth,
            consent: Consent::Automatic,
            clients: Vec::new(),
            authentication: vec![
                ClientAuthentication::None,
                ClientAuthentication::SecretBasic,
                ClientAuthentication::SecretPost,
            ],
            registers: true,
            takes_metadata_documents: true,
            scopes: Vec::new(),
            grantable: None,
            access_token_seconds: 3600,
            issues_refresh_tokens: true,
            delay: Duration::from_secs(60),
            misbehaviour: None,
        }
    }

    /// Returns the path of the issuer, without a trailing slash.
    pub(super) fn path(&self) -> &str {
        let authority = self.issuer.split_once("://").map_or("", |(_, rest)| rest);
        authority.find('/').map_or("", |at| authority[at..].trim_end_matches('/'))
    }

    /// Returns the URL of an endpoint.
    pub(super) fn endpoint(&self, name: &str) -> String {
        format!("{}/{name}", self.issuer.trim_end_matches('/'))
    }

    /// Whether this path is the location of the metadata.
    pub(super) fn is_metadata(&self, path: &str) -> bool {
        let own = self.path();
        let place = match self.metadata {
            MetadataPlace::OAuth => format!("/.well-known/oauth-authorization-server{own}"),
            MetadataPlace::OpenId => format!("/.well-known/openid-configuration{own}"),
            MetadataPlace::OpenIdAppended => format!("{own}/.well-known/openid-configuration"),
            MetadataPlace::None => return false,
        };
        path == place
    }
}
