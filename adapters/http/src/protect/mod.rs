//! Servers whose clients need access tokens.
//!
//! - A [`Protection`] is the resource server of an endpoint
//!   ([`EndpointOptions::protect`](crate::EndpointOptions::protect)): the resource, the verifier of its tokens, and
//!   the scopes that requests need.
//! - A [`TokenVerifier`] verifies a token and reads its claims. [`JwtVerifier`] verifies JSON Web Tokens (feature
//!   `jwt`).

mod access;
mod cors;
#[cfg(feature = "jwt")]
mod jwt;
mod known_claims;
mod metadata;
mod protection;
mod verifier;

pub(crate) use access::{Access, identify, permit};
#[cfg(feature = "jwt")]
pub use jwt::{JwtVerifier, KeySource};
pub use protection::Protection;
pub use verifier::{TokenVerifier, Verification, VerificationFuture};
