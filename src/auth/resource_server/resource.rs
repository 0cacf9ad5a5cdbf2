//! An MCP server as a protected resource
//! ([RFC 9728](https://www.rfc-editor.org/rfc/rfc9728)).

use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

use serde::Serialize;

use super::access::{AccessError, TokenError};
use super::claims::Claims;
use crate::auth::messages::resource_metadata::well_known;
use crate::auth::scopes::OFFLINE_ACCESS;
use crate::auth::{Scopes, UrlError, WebUrl};
use crate::http::Reply;
use crate::time::Instant;

/// An MCP server whose clients need access tokens: which resource it is, who may issue tokens for it, and which scopes every
/// request needs.
///
/// It checks what tokens say; whether a token is genuine the host has to find out before.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ProtectedResource {
    resource: WebUrl,
    /// The resource and other names for it, in tokens.
    audiences: Vec<String>,
    issuers: Vec<String>,
    scopes: Scopes,
    supported: Scopes,
    leeway: Duration,
    needs_expiry: bool,
    name: Option<String>,
    documentation: Option<String>,
    /// Where clients find the metadata.
    places: Vec<String>,
}

/// Why a resource cannot be protected in this way. The fault is the host's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidResource {
    /// The URL of the MCP server.
    #[error("the URL of the MCP server: {0}")]
    Resource(UrlError),
    /// The URL of the MCP server is not that of this machine, so it has to be `https`.
    #[error("the URL of the MCP server is not https")]
    NotHttps,
    /// The issuer.
    #[error("the issuer: {0}")]
    Issuer(UrlError),
    /// The issuer is not on this machine, so it has to be `https`.
    #[error("the issuer is not https")]
    IssuerNotHttps,
}

/// How far clocks may differ.
const LEEWAY: Duration = Duration::from_secs(30);
const MOST_LEEWAY: Duration = Duration::from_secs(300);

/// # Configuration
impl ProtectedResource {
    /// The MCP server at this URL takes the tokens of this authorization server.
    ///
    /// The URL is the one that clients use, which behind a proxy is not the one that the listener sees. The issuer is
    /// compared letter by letter.
    ///
    /// # Errors
    ///
    /// [`InvalidResource`] if one of them is no URL, or is `http` and not on this machine.
    pub fn new(url: &str, issuer: &str) -> Result<Self, InvalidResource> {
        let resource = WebUrl::parse(url).map_err(InvalidResource::Resource)?;
        if !resource.is_https() && !resource.is_loopback() {
            return Err(InvalidResource::NotHttps);
        }
        let places = well_known(&resource);
        let this = Self {
            audiences: vec![resource.canonical()],
            resource,
            issuers: Vec::new(),
            scopes: Scopes::none(),
            supported: Scopes::none(),
            leeway: LEEWAY,
            needs_expiry: true,
            name: None,
            documentation: None,
            places,
        };
        this.issuer(issuer)
    }

    /// Takes the tokens of another authorization server as well.
    ///
    /// # Errors
    ///
    /// [`InvalidResource`], as for [`new`](Self::new).
    pub fn issuer(mut self, issuer: &str) -> Result<Self, InvalidResource> {
        let url = WebUrl::parse(issuer).map_err(InvalidResource::Issuer)?;
        if !url.is_https() && !url.is_loopback() {
            return Err(InvalidResource::IssuerNotHttps);
        }
        self.issuers.push(issuer.into());
        Ok(self)
    }

    /// Takes tokens that are for this audience as well. By default only those for the URL of the MCP server.
    #[must_use]
    pub fn audience(mut self, audience: impl Into<String>) -> Self {
        self.audiences.push(audience.into());
        self
    }

    /// Every request needs these scopes. The challenge of a 401 names them.
    ///
    /// `offline_access` is left out: it is between a client and the authorization server.
    #[must_use]
    pub fn scopes(mut self, scopes: Scopes) -> Self {
        self.scopes = without_offline(&scopes);
        self.supported = self.scopes.union(&self.supported);
        self
    }

    /// Some requests need these scopes: the metadata name them, beside those that every request needs.
    #[must_use]
    pub fn supported_scopes(mut self, scopes: Scopes) -> Self {
        self.supported = self.scopes.union(&without_offline(&scopes));
        self
    }

    /// By how much the clocks of the issuer and of this host may differ. Default 30 s, at most 5 min.
    #[must_use]
    pub fn leeway(mut self, leeway: Duration) -> Self {
        self.leeway = leeway.min(MOST_LEEWAY);
        self
    }

    /// Whether a token has to say when it ends. Default true.
    #[must_use]
    pub const fn needs_expiry(mut self, needs: bool) -> Self {
        self.needs_expiry = needs;
        self
    }

    /// The name of the MCP server, for people.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Where developers can read about the MCP server.
    #[must_use]
    pub fn documentation(mut self, url: impl Into<String>) -> Self {
        self.documentation = Some(url.into());
        self
    }
}

/// # Metadata
impl ProtectedResource {
    /// The URL of the MCP server.
    pub const fn url(&self) -> &WebUrl {
        &self.resource
    }

    /// The scopes that every request needs.
    pub const fn needed(&self) -> &Scopes {
        &self.scopes
    }

    /// The document about the resource, as JSON. Everybody may read it, without a token, from any web page.
    pub fn metadata(&self) -> Vec<u8> {
        #[derive(Serialize)]
        struct Document<'r> {
            resource: &'r str,
            authorization_servers: &'r [String],
            #[serde(skip_serializing_if = "Scopes::is_empty")]
            scopes_supported: List<'r>,
            bearer_methods_supported: [&'static str; 1],
            #[serde(skip_serializing_if = "Option::is_none")]
            resource_name: Option<&'r str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            resource_documentation: Option<&'r str>,
        }

        type List<'r> = &'r Scopes;

        let document = Document {
            resource: self.audiences.first().map(String::as_str).unwrap_or_default(),
            authorization_servers: &self.issuers,
            scopes_supported: &self.supported,
            bearer_methods_supported: ["header"],
            resource_name: self.name.as_deref(),
            resource_documentation: self.documentation.as_deref(),
        };
        // Texts and lists of texts can always be written.
        serde_json::to_vec(&document).unwrap_or_default()
    }

    /// The paths at which the document has to be served: below the well-known one with the path of the MCP server, and the
    /// well-known one alone, which are the same for a server at the root.
    pub fn metadata_paths(&self) -> impl Iterator<Item = &str> {
        let origin = self.resource.origin_text().len();
        self.places.iter().filter_map(move |place| place.get(origin..))
    }

    /// Where the document is, as challenges say it.
    pub fn metadata_url(&self) -> &str {
        self.places.first().map(String::as_str).unwrap_or_default()
    }
}

/// # Requests
impl ProtectedResource {
    /// Whether a token with these claims is for this resource, now, and has the scopes that every request needs.
    ///
    /// A host whose scopes have a hierarchy leaves [`scopes`](Self::scopes) out and calls
    /// [`check_scopes`](super::check_scopes) itself.
    ///
    /// # Errors
    ///
    /// [`AccessError::InvalidToken`], and [`AccessError::InsufficientScope`] if the token is valid but lacks a scope.
    pub fn check(&self, claims: &Claims, now: Instant) -> Result<(), AccessError> {
        self.check_token(claims, now).map_err(AccessError::InvalidToken)?;
        super::check_scopes(&claims.scopes, &self.scopes, |granted, needed| granted == needed)
    }

    /// Whether a token with these claims is for this resource, and now. Its scopes do not matter.
    ///
    /// # Errors
    ///
    /// [`TokenError`].
    pub fn check_token(&self, claims: &Claims, now: Instant) -> Result<(), TokenError> {
        if !self.issuers.contains(&claims.issuer) {
            return Err(TokenError::Issuer);
        }
        if !claims.audience.iter().any(|audience| self.is_meant(audience)) {
            return Err(TokenError::Audience);
        }
        match claims.expires_at {
            None if self.needs_expiry => return Err(TokenError::NoExpiry),
            Some(end) if end + self.leeway <= now => return Err(TokenError::Expired),
            _ => {}
        }
        if claims.not_before.is_some_and(|begin| now + self.leeway < begin) {
            return Err(TokenError::NotYetValid);
        }
        Ok(())
    }

    /// Whether an audience is this resource: one of the names given, or its URL in another spelling.
    fn is_meant(&self, audience: &str) -> bool {
        self.audiences.iter().any(|known| known == audience)
            || WebUrl::parse(audience).is_ok_and(|url| {
                url.query().is_none() && url.canonical() == self.resource.canonical()
            })
    }

    /// The response to a request that is refused. Its body is empty: it tells nothing of what there is.
    pub fn reply(&self, error: &AccessError) -> Reply {
        let mut reply = Reply::empty(error.status());
        reply.challenge = error.challenge(self.metadata_url(), &self.scopes);
        if *error == AccessError::VerifierUnavailable {
            reply.retry_after = Some(5.to_string());
        }
        reply
    }
}

fn without_offline(scopes: &Scopes) -> Scopes {
    scopes.iter().filter(|scope| *scope != OFFLINE_ACCESS).collect()
}
