//! The identity of a client at an authorization server.

use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::auth::Secret;
use crate::time::Instant;

/// The method by which a client authenticates at a token endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[non_exhaustive]
pub enum ClientAuthentication {
    /// No authentication: the client is public.
    #[serde(rename = "none")]
    None,
    /// The client secret in the `Authorization` field.
    #[serde(rename = "client_secret_basic")]
    SecretBasic,
    /// The client secret in the body.
    #[serde(rename = "client_secret_post")]
    SecretPost,
    /// An assertion signed by the client.
    #[serde(rename = "private_key_jwt")]
    PrivateKeyJwt,
}

impl ClientAuthentication {
    /// Returns the name of the method in metadata.
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

/// A client id that was registered in advance.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ConfiguredClient {
    /// The client id.
    pub client_id: String,
    /// The secret of a confidential client.
    pub secret: Option<Secret>,
    /// The description of the key of a client that signs assertions. The key itself is never passed in.
    pub key: Option<SigningKey>,
    /// The issuer that registered the client. Without an issuer the client is bound to the first issuer that it is
    /// used with.
    pub issuer: Option<String>,
}

/// The description of a key that the application signs with.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[non_exhaustive]
pub struct SigningKey {
    /// The JWS name of the algorithm, such as `ES256`.
    pub algorithm: String,
    /// The id of the key.
    pub key_id: Option<String>,
}

impl SigningKey {
    /// Describes a key for this algorithm.
    pub fn new(algorithm: impl Into<String>, key_id: Option<String>) -> Self {
        Self { algorithm: algorithm.into(), key_id }
    }
}

impl ConfiguredClient {
    /// Creates a public client.
    pub fn new(client_id: impl Into<String>) -> Self {
        Self { client_id: client_id.into(), secret: None, key: None, issuer: None }
    }

    /// Sets the secret. Set the [`issuer`](Self::issuer) as well: otherwise the first authorization server that the
    /// MCP server names receives the secret.
    #[must_use]
    pub fn secret(mut self, secret: impl Into<String>) -> Self {
        self.secret = Some(Secret::new(secret));
        self
    }

    /// Sets the key and the algorithm that the application signs with: see [`Effect::Sign`](super::Effect::Sign).
    #[must_use]
    pub fn key(mut self, algorithm: impl Into<String>, key_id: Option<String>) -> Self {
        self.key = Some(SigningKey::new(algorithm, key_id));
        self
    }

    /// Restricts the client to this issuer.
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
    /// The authentication method that was registered, if any.
    pub(in crate::auth) method: Option<ClientAuthentication>,
    /// The redirect URI that was registered, if any.
    pub(in crate::auth) redirect_uri: Option<String>,
    pub(in crate::auth) source: ClientSource,
}

/// The source of a client id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
pub(in crate::auth) enum ClientSource {
    /// The configuration or the user.
    Configured,
    /// The client id is the URL of a client ID metadata document.
    Document,
    /// The authorization server issued the client id.
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

    /// Whether the secret has expired.
    pub(in crate::auth) fn is_expired(&self, now: Instant) -> bool {
        self.secret_expires_at.is_some_and(|at| at <= now)
    }

    /// Selects a method among the supported ones. `None` as the argument represents a server whose metadata omits
    /// the list.
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
        // Prefer a method that authenticates the client.
        let shown = || known().find(|method| *method != ClientAuthentication::None);
        registered.or_else(shown).or_else(|| known().next())
    }
}
