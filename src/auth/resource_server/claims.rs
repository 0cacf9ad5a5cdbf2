//! The claims of an access token.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use sha2::{Digest, Sha256};

use crate::auth::Scopes;
use crate::handle::Principal;
use crate::time::Instant;

/// The claims of an access token that the host has verified. Times count from the Unix epoch.
///
/// `Debug` does not show the subject.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Claims {
    /// The authorization server that has issued it, letter by letter (`iss`).
    pub issuer: String,
    /// The user, or the client if there is no user (`sub`).
    pub subject: String,
    /// The client that it was issued to, if that is known (`client_id`).
    pub client: Option<String>,
    /// The resources that it is for (`aud`).
    pub audience: Vec<String>,
    /// When it ends (`exp`).
    pub expires_at: Option<Instant>,
    /// When it begins (`nbf`).
    pub not_before: Option<Instant>,
    /// What it allows (`scope`).
    pub scopes: Scopes,
}

impl Claims {
    /// A token of this issuer about this subject. The other fields are empty.
    pub fn new(issuer: impl Into<String>, subject: impl Into<String>) -> Self {
        Self { issuer: issuer.into(), subject: subject.into(), ..Self::default() }
    }

    /// Who is asking: the same number for the same issuer, subject and client, on every machine and in every process.
    /// It is never [`Principal::default`], which means an unknown principal.
    ///
    /// It is a part of a SHA-256. Two subjects share a number with a probability of 2⁻⁶⁴; for that reason subjects have to
    /// be chosen by the issuer and not by users.
    pub fn principal(&self) -> Principal {
        let mut digest = Sha256::new();
        for part in [&*self.issuer, &*self.subject, self.client.as_deref().unwrap_or_default()] {
            // The lengths keep parts from running into each other.
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
