//! Servers whose clients need access tokens.
//!
//! - A [`Protection`] is the resource server of an endpoint ([`EndpointOptions::protect`](crate::EndpointOptions::protect)):
//!   which resource it is, who verifies tokens, which scopes a request needs.
//! - A [`TokenVerifier`] says whether a token is genuine, and what it says. [`JwtVerifier`] is one for JSON Web Tokens
//!   (feature `jwt`).

mod access;
mod cors;
#[cfg(feature = "jwt")]
mod jwt;
mod known_claims;
mod metadata;
mod protection;
mod verifier;

pub(crate) use access::{Access, permit};
#[cfg(feature = "jwt")]
pub use jwt::{JwtVerifier, KeySource};
pub use protection::Protection;
pub use verifier::{TokenVerifier, Verification, VerificationFuture};
