//! `Saved`: the stored state of an authorization, with registrations and tokens.

use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use serde::{Deserialize, Serialize};

use super::client_id::{Client, ClientAuthentication, ClientSource, SigningKey};
use crate::auth::web_url::WebUrl;
use crate::auth::{Scopes, Secret};
use crate::time::Instant;

/// The state that an application stores for one MCP server so that its user need not log in again: registrations and
/// tokens. The state is confidential.
///
/// The generation orders states: each issued token, each refresh token that is discarded because the server refuses its
/// tokens, each logout and each [cleared](Self::cleared) state has a higher generation than the state before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Saved {
    pub(in crate::auth) generation: u64,
    pub(in crate::auth) clients: Vec<Client>,
    pub(in crate::auth) grant: Option<Grant>,
}

/// The text was not written by [`Saved::to_text`], or was written by a later version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("not the saved state of an authorization")]
#[non_exhaustive]
pub struct InvalidSaved;

/// The tokens, with the data to use and to refresh them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::auth) struct Grant {
    pub(in crate::auth) issuer: String,
    /// The resource indicator of the token request. `None` if it contained none.
    pub(in crate::auth) resource: Option<String>,
    pub(in crate::auth) token_endpoint: String,
    pub(in crate::auth) client: Client,
    pub(in crate::auth) method: ClientAuthentication,
    pub(in crate::auth) access_token: Secret,
    pub(in crate::auth) refresh_token: Option<Secret>,
    pub(in crate::auth) issued_at: Instant,
    pub(in crate::auth) expires_at: Option<Instant>,
    /// The requested scopes.
    pub(in crate::auth) requested: Scopes,
    /// The granted scopes.
    pub(in crate::auth) granted: Scopes,
}

impl Grant {
    pub(in crate::auth) fn is_expired(&self, now: Instant) -> bool {
        self.expires_at.is_some_and(|at| at <= now)
    }

    /// Whether the tokens are for this MCP server, as far as their resource shows it.
    pub(super) fn is_for(&self, server: &WebUrl) -> bool {
        let resource = self.resource.as_deref().and_then(|resource| WebUrl::parse(resource).ok());
        resource.is_none_or(|resource| resource.contains(server))
    }

    /// Returns the time to refresh the token, if it is refreshable and expires.
    pub(in crate::auth) fn refresh_at(&self, before: Duration) -> Option<Instant> {
        self.refresh_token.as_ref()?;
        let expires_at = self.expires_at?;
        let half = (expires_at - self.issued_at) / 2;
        Some(expires_at - before.min(half))
    }
}

impl Saved {
    /// Returns a state without tokens and registrations that is newer than this one. It replaces the stored state to
    /// forget a user: processes that still know an older state do not store it again.
    #[must_use]
    pub fn cleared(&self) -> Self {
        Self { generation: self.generation.saturating_add(1), ..Self::default() }
    }

    /// Returns the number of the state, counted from 1 for the first token.
    pub const fn generation(&self) -> u64 {
        self.generation
    }

    /// Whether another process saved this state after `other`. If so, `other` must not replace it.
    pub const fn is_newer_than(&self, other: &Self) -> bool {
        self.generation > other.generation
    }

    /// Whether both states contain the tokens of the same token response, or both contain none.
    pub(super) fn has_tokens_of(&self, other: &Self) -> bool {
        match (&self.grant, &other.grant) {
            // The times are not compared: the storage rounds them to whole seconds.
            (Some(own), Some(others)) => {
                own.issuer == others.issuer
                    && own.access_token == others.access_token
                    && own.refresh_token == others.refresh_token
            }
            (own, others) => own.is_none() && others.is_none(),
        }
    }

    /// Returns the scopes granted with the access token, or `None` if there is no token.
    pub fn scopes(&self) -> Option<&Scopes> {
        self.grant.as_ref().map(|grant| &grant.granted)
    }

    /// Returns the text to store: JSON in one line. Its times count from the Unix epoch, so the [`Instant`]s passed
    /// to the authorizer must do so as well.
    pub fn to_text(&self) -> Secret {
        let stored = Stored {
            version: VERSION,
            generation: self.generation,
            clients: self.clients.iter().map(StoredClient::from).collect(),
            grant: self.grant.as_ref().map(StoredGrant::from),
        };
        // Strings and numbers always serialize.
        Secret::new(serde_json::to_string(&stored).unwrap_or_default())
    }

    /// Parses the stored text.
    ///
    /// # Errors
    ///
    /// [`InvalidSaved`] if the text is damaged or was written by a later version.
    pub fn from_text(text: &str) -> Result<Self, InvalidSaved> {
        let stored: Stored<'_> = serde_json::from_str(text).map_err(|_| InvalidSaved)?;
        if stored.version != VERSION {
            return Err(InvalidSaved);
        }
        Ok(Self {
            generation: stored.generation,
            clients: stored.clients.into_iter().map(StoredClient::into_client).collect(),
            grant: stored.grant.map(StoredGrant::into_grant),
        })
    }
}

const VERSION: u32 = 1;

#[derive(Deserialize, Serialize)]
struct Stored<'a> {
    version: u32,
    generation: u64,
    #[serde(borrow)]
    clients: Vec<StoredClient<'a>>,
    #[serde(borrow)]
    grant: Option<StoredGrant<'a>>,
}

use alloc::borrow::Cow;

#[derive(Deserialize, Serialize)]
struct StoredClient<'a> {
    #[serde(borrow)]
    issuer: Cow<'a, str>,
    client_id: Cow<'a, str>,
    secret: Option<Cow<'a, str>>,
    secret_expires_at: Option<u64>,
    key: Option<SigningKey>,
    method: Option<ClientAuthentication>,
    redirect_uri: Option<Cow<'a, str>>,
    source: ClientSource,
}

#[derive(Deserialize, Serialize)]
struct StoredGrant<'a> {
    #[serde(borrow)]
    issuer: Cow<'a, str>,
    resource: Option<Cow<'a, str>>,
    token_endpoint: Cow<'a, str>,
    client: StoredClient<'a>,
    method: ClientAuthentication,
    access_token: Cow<'a, str>,
    refresh_token: Option<Cow<'a, str>>,
    issued_at: u64,
    expires_at: Option<u64>,
    requested: Scopes,
    granted: Scopes,
}

fn seconds(at: Instant) -> u64 {
    at.since_epoch().as_secs()
}

fn instant(seconds: u64) -> Instant {
    Instant::EPOCH + Duration::from_secs(seconds)
}

impl<'a> From<&'a Client> for StoredClient<'a> {
    fn from(client: &'a Client) -> Self {
        Self {
            issuer: (&*client.issuer).into(),
            client_id: (&*client.client_id).into(),
            secret: client.secret.as_ref().map(|secret| secret.expose().into()),
            secret_expires_at: client.secret_expires_at.map(seconds),
            key: client.key.clone(),
            method: client.method,
            redirect_uri: client.redirect_uri.as_deref().map(Cow::from),
            source: client.source,
        }
    }
}

impl StoredClient<'_> {
    fn into_client(self) -> Client {
        Client {
            issuer: self.issuer.into_owned(),
            client_id: self.client_id.into_owned(),
            secret: self.secret.map(|secret| Secret::new(secret.into_owned())),
            secret_expires_at: self.secret_expires_at.map(instant),
            key: self.key,
            method: self.method,
            redirect_uri: self.redirect_uri.map(Cow::into_owned),
            source: self.source,
        }
    }
}

impl<'a> From<&'a Grant> for StoredGrant<'a> {
    fn from(grant: &'a Grant) -> Self {
        Self {
            issuer: (&*grant.issuer).into(),
            resource: grant.resource.as_deref().map(Cow::from),
            token_endpoint: (&*grant.token_endpoint).into(),
            client: (&grant.client).into(),
            method: grant.method,
            access_token: grant.access_token.expose().into(),
            refresh_token: grant.refresh_token.as_ref().map(|token| token.expose().into()),
            issued_at: seconds(grant.issued_at),
            expires_at: grant.expires_at.map(seconds),
            requested: grant.requested.clone(),
            granted: grant.granted.clone(),
        }
    }
}

impl StoredGrant<'_> {
    fn into_grant(self) -> Grant {
        Grant {
            issuer: self.issuer.into_owned(),
            resource: self.resource.map(Cow::into_owned),
            token_endpoint: self.token_endpoint.into_owned(),
            client: self.client.into_client(),
            method: self.method,
            access_token: Secret::new(self.access_token.into_owned()),
            refresh_token: self.refresh_token.map(|token| Secret::new(token.into_owned())),
            issued_at: instant(self.issued_at),
            expires_at: self.expires_at.map(instant),
            requested: self.requested,
            granted: self.granted,
        }
    }
}
