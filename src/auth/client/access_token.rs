//! `AccessToken`: an access token for one request.

use crate::auth::Secret;

/// An access token for one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessToken<'a> {
    pub(super) token: &'a Secret,
    pub(super) generation: u64,
}

impl AccessToken<'_> {
    /// The value of the `Authorization` field.
    pub fn field(self) -> Secret {
        Secret::new(alloc::format!("Bearer {}", self.token.expose()))
    }

    /// The number of the token, to tell what came of it.
    pub const fn generation(self) -> u64 {
        self.generation
    }
}
