//! `Claims`: the claims of an access token.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use sha2::{Digest, Sha256};

use crate::auth::Scopes;
use crate::handle::Principal;
use crate::time::Instant;

/// The claims of an access token that the application has verified. Times count from the Unix epoch.
///
/// `Debug` does not show the subject.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Claims {
    /// The authorization server that issued the token (`iss`), compared byte by byte.
    pub issuer: String,
    /// The user, or the client if there is no user (`sub`).
    pub subject: String,
    /// The client that the token was issued to, if known (`client_id`).
    pub client: Option<String>,
    /// The resources that the token is for (`aud`).
    pub audience: Vec<String>,
    /// The end of the validity (`exp`).
    pub expires_at: Option<Instant>,
    /// The beginning of the validity (`nbf`).
    pub not_before: Option<Instant>,
    /// The granted scopes (`scope`).
    pub scopes: Scopes,
}

impl Claims {
    /// Creates the claims of a token from this issuer about this subject. The other fields are empty.
    pub fn new(issuer: impl Into<String>, subject: impl Into<String>) -> Self {
        Self { issuer: issuer.into(), subject: subject.into(), ..Self::default() }
    }

    /// Returns the principal of the request: the same number for the same issuer, subject and client, on every
    /// computer and in every process. The result is never [`Principal::default`], which represents an unknown
    /// principal.
    ///
    /// The number is a part of a SHA-256 digest. Two subjects collide with a probability of 2⁻⁶⁴, so subjects must
    /// be chosen by the issuer and not by users.
    pub fn principal(&self) -> Principal {
        let mut digest = Sha256::new();
        for part in [&*self.issuer, &*self.subject, self.client.as_deref().unwrap_or_default()] {
            // The length prefixes separate the parts unambiguously.
            digest.update((part.len() as u64).to_be_bytes());
            digest.update(part);
        }
        let digest = digest.finalize();
        let number = digest.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte));
        Principal::new(number.max(1))
    }
}

impl fmt::Debug for Claims {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Claims")
            .field("issuer", &self.issuer)
            .field("audience", &self.audience)
            .field("expires_at", &self.expires_at)
            .field("not_before", &self.not_before)
            .field("scopes", &self.scopes)
            .finish_non_exhaustive()
    }
}
