//! What a server is like.

use std::time::Duration;

use mcp_sansio::auth::ClientAuthentication;

use super::Misbehaviour;

/// What a server is like.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The issuer: a URL, with a path or without. The endpoints are below it.
    pub issuer: String,
    /// Where the metadata are. Default: at the place of OAuth.
    pub metadata: MetadataPlace,
    /// Whether the user is asked. Default: they agree without.
    pub consent: Consent,
    /// Clients that are known beforehand. Default: none.
    pub clients: Vec<Client>,
    /// How clients may show who they are. Default: not at all, or by a secret in either way.
    pub authentication: Vec<ClientAuthentication>,
    /// Whether clients can register. Default true.
    pub registers: bool,
    /// Whether a client ID can be the URL of a metadata document. The document is not fetched: any `https` URL will do.
    /// Default true.
    pub takes_metadata_documents: bool,
    /// The scopes that the metadata name. Default: none.
    pub scopes: Vec<String>,
    /// The scopes that can be granted, `None` if all can.
    pub grantable: Option<Vec<String>>,
    /// How long access tokens are valid, in seconds. Default 3600.
    pub access_token_seconds: u64,
    /// Whether the code grant gives refresh tokens. Default true.
    pub issues_refresh_tokens: bool,
    /// How late responses are with [`Misbehaviour::Slow`]. Default 60 s, which is longer than clients wait.
    pub delay: Duration,
    /// What the server does wrong. Default: nothing.
    pub misbehaviour: Option<Misbehaviour>,
}

/// Where the metadata of a server are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "these are all places that there are")]
pub enum MetadataPlace {
    /// `/.well-known/oauth-authorization-server`, before the path of the issuer (RFC 8414).
    OAuth,
    /// `/.well-known/openid-configuration`, before the path of the issuer.
    OpenId,
    /// `/.well-known/openid-configuration`, after the path of the issuer (OpenID Connect Discovery).
    OpenIdAppended,
    /// Nowhere.
    None,
}

/// Whether the user of a server is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "there is nothing else that a user can say")]
pub enum Consent {
    /// The user agrees without being asked.
    Automatic,
    /// There is a page with a link for each answer.
    Ask,
    /// The user denies without being asked.
    Deny,
}

/// A client that is known beforehand. It may use every redirect URI that is `https` or leads to this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Client {
    /// The client ID.
    pub id: String,
    /// The secret, for a client that is not public.
    pub secret: Option<String>,
}

impl Client {
    /// A client with this ID, and with this secret if it has one.
    pub fn new(id: impl Into<String>, secret: Option<&str>) -> Self {
        Self { id: id.into(), secret: secret.map(String::from) }
    }
}

impl Options {
    /// A server that does nothing wrong. The issuer is an absolute URL without query and fragment.
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

    /// The path of the issuer, without a slash at the end.
    pub(super) fn path(&self) -> &str {
        let authority = self.issuer.split_once("://").map_or("", |(_, rest)| rest);
        authority.find('/').map_or("", |at| authority[at..].trim_end_matches('/'))
    }

    /// The URL of an endpoint.
    pub(super) fn endpoint(&self, name: &str) -> String {
        format!("{}/{name}", self.issuer.trim_end_matches('/'))
    }

    /// Whether the metadata are at this path.
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
