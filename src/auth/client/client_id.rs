//! The identity of a client at an authorization server.

use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::auth::Secret;
use crate::time::Instant;

/// How a client shows to a token endpoint who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[non_exhaustive]
pub enum ClientAuthentication {
    /// It does not: it is public.
    #[serde(rename = "none")]
    None,
    /// By its secret in the `Authorization` field.
    #[serde(rename = "client_secret_basic")]
    SecretBasic,
    /// By its secret in the body.
    #[serde(rename = "client_secret_post")]
    SecretPost,
    /// By an assertion that it signs.
    #[serde(rename = "private_key_jwt")]
    PrivateKeyJwt,
}

impl ClientAuthentication {
    /// The name that it has in metadata.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::SecretBasic => "client_secret_basic",
            Self::SecretPost => "client_secret_post",
            Self::PrivateKeyJwt => "private_key_jwt",
        }
    }

    pub(in crate::auth) fn named(name: &str) -> Option<Self> {
        let all = [Self::None, Self::SecretBasic, Self::SecretPost, Self::PrivateKeyJwt];
        all.into_iter().find(|method| method.name() == name)
    }
}

/// A client id that was registered beforehand.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ConfiguredClient {
    /// The client id.
    pub client_id: String,
    /// The secret, for a client that has one.
    pub secret: Option<Secret>,
    /// The key, for a client that signs. The key itself never gets in here.
    pub key: Option<SigningKey>,
    /// The issuer that has registered the client. Without it the client belongs to the first issuer that it is used with.
    pub issuer: Option<String>,
}

/// What is said about a key that the host signs with.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[non_exhaustive]
pub struct SigningKey {
    /// The algorithm, by its name in JWS: `ES256`, for example.
    pub algorithm: String,
    /// The id of the key.
    pub key_id: Option<String>,
}

impl SigningKey {
    /// A key for this algorithm.
    pub fn new(algorithm: impl Into<String>, key_id: Option<String>) -> Self {
        Self { algorithm: algorithm.into(), key_id }
    }
}

impl ConfiguredClient {
    /// A public client.
    pub fn new(client_id: impl Into<String>) -> Self {
        Self { client_id: client_id.into(), secret: None, key: None, issuer: None }
    }

    /// With a secret. Name the [`issuer`](Self::issuer), too: without one, the first authorization server that the MCP
    /// server names gets the secret.
    #[must_use]
    pub fn secret(mut self, secret: impl Into<String>) -> Self {
        self.secret = Some(Secret::new(secret));
        self
    }

    /// With a key that the host signs with, by this algorithm: see [`Effect::Sign`](super::Effect::Sign).
    #[must_use]
    pub fn key(mut self, algorithm: impl Into<String>, key_id: Option<String>) -> Self {
        self.key = Some(SigningKey::new(algorithm, key_id));
        self
    }

    /// For this issuer only.
    #[must_use]
    pub fn issuer(mut self, issuer: impl Into<String>) -> Self {
        self.issuer = Some(issuer.into());
        self
    }
}

/// A client id at one issuer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::auth) struct Client {
    pub(in crate::auth) issuer: String,
    pub(in crate::auth) client_id: String,
    pub(in crate::auth) secret: Option<Secret>,
    pub(in crate::auth) secret_expires_at: Option<Instant>,
    pub(in crate::auth) key: Option<SigningKey>,
    /// The way to authenticate that was registered, if one was.
    pub(in crate::auth) method: Option<ClientAuthentication>,
    /// The redirect URI that was registered, if one was.
    pub(in crate::auth) redirect_uri: Option<String>,
    pub(in crate::auth) source: ClientSource,
}

/// Where a client id comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
pub(in crate::auth) enum ClientSource {
    /// From the configuration, or from the user.
    Configured,
    /// It is the URL of a metadata document.
    Document,
    /// The authorization server has issued it.
    Registered,
}

impl Client {
    pub(in crate::auth) fn of(configured: &ConfiguredClient, issuer: &str) -> Self {
        Self {
            issuer: issuer.into(),
            client_id: configured.client_id.clone(),
            secret: configured.secret.clone(),
            secret_expires_at: None,
            key: configured.key.clone(),
            method: None,
            redirect_uri: None,
            source: ClientSource::Configured,
        }
    }

    /// Whether the secret is no longer valid.
    pub(in crate::auth) fn is_expired(&self, now: Instant) -> bool {
        self.secret_expires_at.is_some_and(|at| at <= now)
    }

    /// How to authenticate where these methods are supported; `None` stands for a server that does not say.
    pub(in crate::auth) fn authentication(
        &self,
        supported: Option<&[String]>,
    ) -> Option<ClientAuthentication> {
        let can = |method: &ClientAuthentication| match method {
            ClientAuthentication::None => true,
            ClientAuthentication::SecretBasic | ClientAuthentication::SecretPost => {
                self.secret.is_some()
            }
            ClientAuthentication::PrivateKeyJwt => self.key.is_some(),
        };
        let Some(supported) = supported else {
            let usual = match (&self.secret, &self.key) {
                (Some(_), _) => ClientAuthentication::SecretBasic,
                (None, Some(_)) => ClientAuthentication::PrivateKeyJwt,
                (None, None) => ClientAuthentication::None,
            };
            return Some(self.method.filter(can).unwrap_or(usual));
        };
        let is_supported =
            |method: &ClientAuthentication| supported.iter().any(|known| known == method.name());
        let registered = self.method.filter(can).filter(is_supported);
        let known =
            || supported.iter().filter_map(|name| ClientAuthentication::named(name)).filter(can);
        // A client that can show who it is does so.
        let shown = || known().find(|method| *method != ClientAuthentication::None);
        registered.or_else(shown).or_else(|| known().next())
    }
}
