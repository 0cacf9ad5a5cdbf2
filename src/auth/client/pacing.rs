//! `Pacing`: the limits on how often an authorization begins.

use core::time::Duration;

use super::failure::AuthorizationFailure;
use crate::time::Instant;

/// The delay before the next attempt after a failed refresh before expiry.
pub(super) const REFRESH_AGAIN_AFTER: Duration = Duration::from_secs(30);

/// The pause after the server refused a token that was just issued.
pub(super) const PAUSE_AFTER_REFUSAL: Duration = Duration::from_secs(60);

/// The times before which no refresh, or no authorization at all, begins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Pacing {
    /// The end of a pause without new authorizations, and the failure that caused the pause.
    pub(super) rest: Option<(Instant, AuthorizationFailure)>,
    /// The latest login that brought a token, except for step-ups.
    pub(super) login: Option<Login>,
    /// The earliest time of the next refresh before expiry.
    pub(super) refresh_again_at: Instant,
    /// The generation of tokens that requests do not refresh before this time, because no token endpoint was found for
    /// them. A challenge may lead to one.
    pub(super) unrefreshed: Option<(u64, Instant)>,
}

/// A login of the user that brought a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Login {
    /// The time at which the token was issued.
    issued_at: Instant,
    /// Whether the token replaced that of another login within [`PAUSE_AFTER_REFUSAL`].
    is_repeated: bool,
}

impl Login {
    fn is_recent(self, now: Instant) -> bool {
        now < self.issued_at + PAUSE_AFTER_REFUSAL
    }
}

impl Pacing {
    /// Returns the failure that caused the pause without new authorizations, while it lasts.
    pub(super) fn pause(&self, now: Instant) -> Option<&AuthorizationFailure> {
        let rest = self.rest.as_ref().filter(|(until, _)| now < *until);
        rest.map(|(_, failure)| failure)
    }

    /// Notes that a login has brought a token.
    pub(super) fn note_login(&mut self, now: Instant) {
        let is_repeated = self.login.is_some_and(|login| login.is_recent(now));
        self.login = Some(Login { issued_at: now, is_repeated });
    }

    /// Checks that another login may begin. The token of a recent login may be replaced by one login, because the
    /// server may have lost its tokens. If that token is refused as well, a pause begins: a server that accepts a
    /// token only once would otherwise open one browser after another.
    pub(super) fn check_repeated_login(
        &mut self,
        now: Instant,
    ) -> Result<(), AuthorizationFailure> {
        if !self.login.is_some_and(|login| login.is_repeated && login.is_recent(now)) {
            return Ok(());
        }
        let failure = AuthorizationFailure::FreshTokenRefused;
        self.rest = Some((now + PAUSE_AFTER_REFUSAL, failure.clone()));
        Err(failure)
    }
}
