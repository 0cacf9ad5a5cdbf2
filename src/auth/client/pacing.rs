//! `Pacing`: the limits on how often an authorization begins.

use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use super::failure::AuthorizationFailure;
use crate::time::Instant;

/// The delay before the next attempt after a failed refresh before expiry.
pub(super) const REFRESH_AGAIN_AFTER: Duration = Duration::from_secs(30);

/// The pause after the server refused a token that was just issued, and the age up to which an unused token counts as
/// just issued.
pub(super) const PAUSE_AFTER_REFUSAL: Duration = Duration::from_secs(60);

/// The number of operations whose step-ups are counted.
const MOST_OPERATIONS: usize = 64;

/// The times before which no refresh, or no authorization at all, begins, and the number of step-ups so far.
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
    /// The number of step-ups of each operation since the last login without one.
    pub(super) step_ups: Vec<(String, u8)>,
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

    /// Ends the limits that follow from the logins and tokens of a user. A pause that a server has asked for continues.
    pub(super) fn forget_user(&mut self) {
        self.login = None;
        self.step_ups.clear();
        self.rest.take_if(|(_, failure)| *failure == AuthorizationFailure::FreshTokenRefused);
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

    /// Counts a step-up of an operation. Returns false if the limit is reached.
    pub(super) fn counts_step_up(&mut self, operation: &str, most: u8) -> bool {
        if let Some((_, count)) = self.step_ups.iter_mut().find(|(known, _)| known == operation) {
            let may = *count < most;
            *count = count.saturating_add(1);
            return may;
        }
        if self.step_ups.len() >= MOST_OPERATIONS {
            self.step_ups.remove(0);
        }
        self.step_ups.push((String::from(operation), 1));
        most > 0
    }

    /// Takes back the count of a step-up that failed for now.
    pub(super) fn uncount_step_up(&mut self, operation: &str) {
        if let Some((_, count)) = self.step_ups.iter_mut().find(|(known, _)| known == operation) {
            *count = count.saturating_sub(1);
        }
    }
}
