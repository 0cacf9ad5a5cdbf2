//! Identification of the sender of a request.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use hyper::header::{AUTHORIZATION, HeaderMap};
use hyper::http::request::Parts;
use mcp_sansio::http::{Reply, RequestSource};

use crate::protect::Access;

/// The address of the client of a connection, an extension of its requests. [`serve`](crate::serve) and
/// [`serve_stream_from`](crate::serve_stream_from) add it, and any other stack may do so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PeerAddress(SocketAddr);

impl PeerAddress {
    /// Wraps an address.
    pub const fn new(address: SocketAddr) -> Self {
        Self(address)
    }

    /// Returns the address.
    pub const fn get(self) -> SocketAddr {
        self.0
    }
}

/// Returns the bearer token in the `Authorization` field of a request, for
/// [`EndpointOptions::identify`](crate::EndpointOptions::identify) and for middleware.
///
/// [`mcp_sansio::auth::resource_server::bearer_token`] checks a head without IO, and returns the reason of a refusal.
///
/// `None` if the field is absent or repeated, is not text, or has another scheme. The name of the scheme ignores case
/// ([RFC 9110, section 11.1](https://www.rfc-editor.org/rfc/rfc9110#section-11.1)).
///
/// ```
/// use mcp_sansio_http::bearer_token;
/// use hyper::header::{AUTHORIZATION, HeaderMap, HeaderValue};
///
/// let mut headers = HeaderMap::new();
/// assert_eq!(bearer_token(&headers), None);
/// headers.insert(AUTHORIZATION, HeaderValue::from_static("bearer secret"));
/// assert_eq!(bearer_token(&headers), Some("secret"));
/// headers.append(AUTHORIZATION, HeaderValue::from_static("Bearer other"));
/// assert_eq!(bearer_token(&headers), None);
/// ```
pub fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let mut fields = headers.get_all(AUTHORIZATION).iter();
    let (Some(field), None) = (fields.next(), fields.next()) else { return None };
    let (scheme, token) = field.to_str().ok()?.trim().split_once(' ')?;
    let token = token.trim_start();
    (scheme.eq_ignore_ascii_case("Bearer") && !token.is_empty()).then_some(token)
}

/// A function that identifies the sender of a request by the head of the request: see
/// [`EndpointOptions::identify`](crate::EndpointOptions::identify). Clones share the function.
#[derive(Clone)]
pub struct Identify(Arc<Function>);

type Function = dyn Fn(&Parts) -> Result<RequestSource, Reply> + Send + Sync;

impl Identify {
    /// Wraps a function. The function runs once for each request whose head is valid, before the body is read, and
    /// must not block.
    ///
    /// The function returns a [`Principal`](mcp_sansio::Principal) or a [`RequestSource`]. If the result has no
    /// address, the [`PeerAddress`] is used.
    pub fn new<S: Into<RequestSource>>(
        identify: impl Fn(&Parts) -> Result<S, Reply> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(move |parts| identify(parts).map(Into::into)))
    }
}

impl fmt::Debug for Identify {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Identify").finish_non_exhaustive()
    }
}

/// The sender of a request, or how to identify it.
pub(crate) enum Sender {
    /// The application passed the sender.
    Known(RequestSource),
    /// The function of the options identifies the sender.
    Asked,
}

impl Sender {
    /// Returns the source of the request: the principal of its token, or the result of the function of the options.
    pub(crate) fn of(
        self,
        identify: Option<&Identify>,
        parts: &Parts,
        access: Option<&Access>,
    ) -> Result<RequestSource, Reply> {
        let mut source = match (self, identify) {
            (Self::Known(source), _) => source,
            (Self::Asked, Some(Identify(identify))) => identify(parts)?,
            (Self::Asked, None) => RequestSource::default(),
        };
        if let Some(access) = access {
            source.principal = access.principal;
        }
        let peer = parts.extensions.get::<PeerAddress>().map(|PeerAddress(address)| address.ip());
        Ok(match source.address.or(peer) {
            Some(address) => source.address(address),
            None => source,
        })
    }
}
