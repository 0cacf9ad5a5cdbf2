//! `TokenVerifier`: the verifier of access tokens.

use std::future::Future;
use std::pin::Pin;

use mcp_sansio::auth::resource_server::Claims;

/// The future of a verification.
pub type VerificationFuture<'a> = Pin<Box<dyn Future<Output = Verification> + Send + 'a>>;

/// Verifies access tokens: by their signature, by introspection
/// ([RFC 7662](https://www.rfc-editor.org/rfc/rfc7662)), or in a table of the application.
///
/// The verifier is called once for each request, before the body is read. The request waits for the result, so a
/// verifier that asks another server needs a timeout.
pub trait TokenVerifier: Send + Sync + 'static {
    /// Verifies a token and reads its claims. The protection checks audience, issuer and expiry afterwards.
    fn verify<'a>(&'a self, token: &'a str) -> VerificationFuture<'a>;
}

/// The result of a verification.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verification {
    /// The token is genuine.
    Valid(Claims),
    /// The token is forged, revoked, or not a token at all. The client gets 401.
    Invalid,
    /// The token cannot be verified now. The client gets 503.
    Unavailable,
}
