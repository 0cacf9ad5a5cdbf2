//! The verifier of access tokens.

use std::future::Future;
use std::pin::Pin;

use mcp_sansio::auth::resource_server::Claims;

/// A future of a verifier.
pub type VerificationFuture<'a> = Pin<Box<dyn Future<Output = Verification> + Send + 'a>>;

/// Verifies access tokens: by their signature, by introspection
/// ([RFC 7662](https://www.rfc-editor.org/rfc/rfc7662)), or in a table of the host's.
///
/// It is asked once for each request, before the body is read. A request waits for it, so it needs a timeout if it asks
/// another server.
pub trait TokenVerifier: Send + Sync + 'static {
    /// Verifies a token and reads its claims. The protection checks audience, issuer and expiry afterwards.
    fn verify<'a>(&'a self, token: &'a str) -> VerificationFuture<'a>;
}

/// The result of a verification.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verification {
    /// It is genuine.
    Valid(Claims),
    /// It is not: forged, revoked, or no token at all. The client gets 401.
    Invalid,
    /// The token cannot be verified now. The client gets 503.
    Unavailable,
}
