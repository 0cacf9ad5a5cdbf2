//! `AccessToken`: an access token for one request.

use crate::auth::Secret;

/// An access token for one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessToken<'a> {
    pub(super) token: &'a Secret,
    pub(super) generation: u64,
}

impl AccessToken<'_> {
    /// Returns the value of the `Authorization` field.
    pub fn field(self) -> Secret {
        Secret::new(alloc::format!("Bearer {}", self.token.expose()))
    }

    /// Returns the generation of the token, which identifies the token in later reports about it.
    pub const fn generation(self) -> u64 {
        self.generation
    }
}
