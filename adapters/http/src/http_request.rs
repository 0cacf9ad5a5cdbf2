//! [`HttpRequest`]: the HTTP request of an exchange, for its handler.

use std::fmt;
use std::net::IpAddr;
#[cfg(feature = "auth")]
use std::sync::Arc;

#[cfg(feature = "auth")]
use hyper::header::AUTHORIZATION;
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Uri};
use mcp_sansio::Principal;
#[cfg(feature = "auth")]
use mcp_sansio::auth::resource_server::Claims;
use mcp_sansio::http::RequestSource;

/// The HTTP request that carried a request of the client: an extension of its exchange.
/// [`mcp_sansio::http::HttpRequest`] is another type: a request that a client without IO sends.
///
/// Values that a middleware or the caller of [`Endpoint::handle`](crate::Endpoint::handle) put into the extensions of
/// the request are in [`parts`](Self::parts).
///
/// ```
/// use mcp_sansio_http::{Exchange, HttpRequest};
///
/// /// A value of a middleware.
/// #[derive(Clone)]
/// struct Tenant(String);
///
/// fn tenant(exchange: &Exchange) -> Option<&str> {
///     let request = exchange.extension::<HttpRequest>()?;
///     request.parts().extensions.get::<Tenant>().map(|Tenant(name)| name.as_str())
/// }
/// # _ = tenant;
/// ```
pub struct HttpRequest {
    parts: Parts,
    source: RequestSource,
    #[cfg(feature = "auth")]
    claims: Option<Arc<Claims>>,
}

impl HttpRequest {
    /// A request whose sender is not identified yet.
    pub(crate) fn new(parts: Parts) -> Self {
        Self {
            parts,
            source: RequestSource::default(),
            #[cfg(feature = "auth")]
            claims: None,
        }
    }

    pub(crate) const fn identify(&mut self, source: RequestSource) {
        self.source = source;
    }

    #[cfg(feature = "auth")]
    pub(crate) fn set_claims(&mut self, claims: Arc<Claims>) {
        self.claims = Some(claims);
    }

    /// Removes the access token from the header fields.
    #[cfg(feature = "auth")]
    pub(crate) fn remove_token(&mut self) {
        self.parts.headers.remove(AUTHORIZATION);
    }

    /// Returns the head of the request, with its extensions.
    pub const fn parts(&self) -> &Parts {
        &self.parts
    }

    /// Returns the method of HTTP. It is `POST` for every request of a client.
    pub const fn method(&self) -> &Method {
        &self.parts.method
    }

    /// Returns the request target.
    pub const fn uri(&self) -> &Uri {
        &self.parts.uri
    }

    /// Returns the header fields. `Authorization` is not among them if the endpoint has a
    /// [`Protection`](crate::Protection) that checked it, unless the protection
    /// [exposes](crate::Protection::exposes_token) it. Keep the field out of logs.
    pub const fn headers(&self) -> &HeaderMap {
        &self.parts.headers
    }

    /// Returns the authenticated sender, [`Principal::default`] if nothing identifies the sender.
    pub const fn principal(&self) -> Principal {
        self.source.principal
    }

    /// Returns the address of the client, if it is known ([`PeerAddress`](crate::PeerAddress), or the source that the
    /// application passed).
    pub const fn address(&self) -> Option<IpAddr> {
        self.source.address
    }

    /// Returns the claims of the access token, if the endpoint has a [`Protection`](crate::Protection) and checked one.
    #[cfg(feature = "auth")]
    pub fn claims(&self) -> Option<&Claims> {
        self.claims.as_deref()
    }
}

/// Shows the method and the path, and neither fields nor claims.
impl fmt::Debug for HttpRequest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("HttpRequest")
            .field("method", &self.parts.method)
            .field("path", &self.parts.uri.path())
            .finish_non_exhaustive()
    }
}
