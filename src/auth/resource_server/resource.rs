//! `ProtectedResource`: an MCP server as a protected resource ([RFC 9728](https://www.rfc-editor.org/rfc/rfc9728)).

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

/// An MCP server whose clients need access tokens: the resource, the issuers of its tokens, and the scopes that
/// every request needs.
///
/// This type checks the claims of tokens; the application must verify beforehand that a token is genuine.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ProtectedResource {
    resource: WebUrl,
    /// The resource and its other names in the audience of tokens.
    audiences: Vec<String>,
    issuers: Vec<String>,
    scopes: Scopes,
    supported: Scopes,
    leeway: Duration,
    needs_expiry: bool,
    name: Option<String>,
    documentation: Option<String>,
    /// The URLs of the metadata.
    places: Vec<String>,
}

/// The reason why a resource cannot be configured. The application is at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidResource {
    /// The URL of the MCP server is unusable.
    #[error("the URL of the MCP server: {0}")]
    Resource(UrlError),
    /// The URL of the MCP server is not `https`, although it is not on this computer.
    #[error("the URL of the MCP server is not https")]
    NotHttps,
    /// The issuer is not a usable URL.
    #[error("the issuer: {0}")]
    Issuer(UrlError),
    /// The issuer is not `https`, although it is not on this computer.
    #[error("the issuer is not https")]
    IssuerNotHttps,
}

/// The default tolerance for clock differences.
const LEEWAY: Duration = Duration::from_secs(30);
const MOST_LEEWAY: Duration = Duration::from_secs(300);

/// # Configuration
impl ProtectedResource {
    /// Creates a resource for the MCP server at this URL that accepts the tokens of this authorization server.
    ///
    /// The URL is the one that clients use; behind a proxy the listener sees another one. The issuer is compared
    /// byte by byte.
    ///
    /// # Errors
    ///
    /// [`InvalidResource`] if an argument is not a usable URL, or is `http` and not on this computer.
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

    /// Accepts the tokens of another authorization server as well.
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

    /// Accepts tokens for this audience as well. By default only tokens for the URL of the MCP server are accepted.
    #[must_use]
    pub fn audience(mut self, audience: impl Into<String>) -> Self {
        self.audiences.push(audience.into());
        self
    }

    /// Sets the scopes that every request needs. The challenge of a 401 names them.
    ///
    /// `offline_access` is dropped: it concerns only a client and the authorization server.
    #[must_use]
    pub fn scopes(mut self, scopes: Scopes) -> Self {
        self.scopes = without_offline(&scopes);
        self.supported = self.scopes.union(&self.supported);
        self
    }

    /// Sets the scopes that some requests need. The metadata lists them beside those that every request needs.
    #[must_use]
    pub fn supported_scopes(mut self, scopes: Scopes) -> Self {
        self.supported = self.scopes.union(&without_offline(&scopes));
        self
    }

    /// Sets the tolerance between the clocks of the issuer and of this computer. Default 30 s, at most 5 min.
    #[must_use]
    pub fn leeway(mut self, leeway: Duration) -> Self {
        self.leeway = leeway.min(MOST_LEEWAY);
        self
    }

    /// Sets whether a token must have an expiry. Default true.
    #[must_use]
    pub const fn needs_expiry(mut self, needs: bool) -> Self {
        self.needs_expiry = needs;
        self
    }

    /// Sets the human-readable name of the MCP server.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets the URL of the developer documentation of the MCP server.
    #[must_use]
    pub fn documentation(mut self, url: impl Into<String>) -> Self {
        self.documentation = Some(url.into());
        self
    }
}

/// # Metadata
impl ProtectedResource {
    /// Returns the URL of the MCP server.
    pub const fn url(&self) -> &WebUrl {
        &self.resource
    }

    /// Returns the scopes that every request needs.
    pub const fn needed(&self) -> &Scopes {
        &self.scopes
    }

    /// Returns the metadata document of the resource, as JSON. The document is public: every client and every web
    /// page may read it without a token.
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
        // Strings and lists of strings always serialize.
        serde_json::to_vec(&document).unwrap_or_default()
    }

    /// Returns the paths at which the document must be served: the well-known path with the path of the MCP server
    /// appended, and the well-known path alone. For a server at the root both are the same.
    pub fn metadata_paths(&self) -> impl Iterator<Item = &str> {
        let origin = self.resource.origin_text().len();
        self.places.iter().filter_map(move |place| place.get(origin..))
    }

    /// Returns the URL of the document, as used in challenges.
    pub fn metadata_url(&self) -> &str {
        self.places.first().map(String::as_str).unwrap_or_default()
    }
}

/// # Requests
impl ProtectedResource {
    /// Checks that a token with these claims is for this resource, is valid now, and has the scopes that every
    /// request needs.
    ///
    /// An application whose scopes have a hierarchy omits [`scopes`](Self::scopes) and calls
    /// [`check_scopes`](super::check_scopes) itself.
    ///
    /// # Errors
    ///
    /// [`AccessError::InvalidToken`], or [`AccessError::InsufficientScope`] if the token is valid but lacks a scope.
    pub fn check(&self, claims: &Claims, now: Instant) -> Result<(), AccessError> {
        self.check_token(claims, now).map_err(AccessError::InvalidToken)?;
        super::check_scopes(&claims.scopes, &self.scopes, |granted, needed| granted == needed)
    }

    /// Checks that a token with these claims is for this resource and is valid now. Scopes are not checked.
    ///
    /// # Errors
    ///
    /// [`TokenError`] with the reason.
    pub fn check_token(&self, claims: &Claims, now: Instant) -> Result<(), TokenError> {
        if !self.issuers.contains(&claims.issuer) {
            return Err(TokenError::Issuer);
        }
        if !claims.audience.iter().any(|audience| self.is_meant(audience)) {
            return Err(TokenError::Audience);
        }
        match self.ends_at(claims) {
            None if self.needs_expiry => return Err(TokenError::NoExpiry),
            Some(end) if end <= now => return Err(TokenError::Expired),
            _ => {}
        }
        if claims.not_before.is_some_and(|begin| now + self.leeway < begin) {
            return Err(TokenError::NotYetValid);
        }
        Ok(())
    }

    /// Returns the time from which a token with these claims is refused: its expiry plus the
    /// [`leeway`](Self::leeway). `None` if it does not expire.
    pub fn ends_at(&self, claims: &Claims) -> Option<Instant> {
        claims.expires_at.map(|end| end + self.leeway)
    }

    /// Whether an audience is this resource: one of its names, or its URL in another spelling.
    fn is_meant(&self, audience: &str) -> bool {
        self.audiences.iter().any(|known| known == audience)
            || WebUrl::parse(audience).is_ok_and(|url| {
                url.query().is_none() && url.canonical() == self.resource.canonical()
            })
    }

    /// Returns the response to a refused request. Its body is empty, so it discloses nothing about the server.
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
