//! [`StartupHold`], which holds messages back while a session starts.
//!
//! Each hold ends with the head of a response, or at a deadline. No message is sent during a hold.

use super::exchange::ExchangeNumber;
use crate::time::Instant;

/// The exchanges that other messages wait for, each with its deadline.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct StartupHold {
    /// The POST of `notifications/initialized`.
    completing: Option<(ExchangeNumber, Instant)>,
    /// The GET of the event stream of the session.
    opening: Option<(ExchangeNumber, Instant)>,
}

impl StartupHold {
    /// Holds until this POST of `notifications/initialized` has its response.
    pub(super) const fn until_initialized(&mut self, exchange: ExchangeNumber, deadline: Instant) {
        self.completing = Some((exchange, deadline));
    }

    /// Holds until this event stream is open.
    pub(super) const fn until_open(&mut self, exchange: ExchangeNumber, deadline: Instant) {
        self.opening = Some((exchange, deadline));
    }

    /// Ends the hold of an exchange whose response has started or is not coming.
    pub(super) fn end(&mut self, exchange: ExchangeNumber) {
        self.completing = self.completing.filter(|(waiting, _)| *waiting != exchange);
        self.opening = self.opening.filter(|(waiting, _)| *waiting != exchange);
    }

    /// Ends the holds whose deadline has passed.
    pub(super) fn expire(&mut self, now: Instant) {
        self.completing = self.completing.filter(|(_, deadline)| now < *deadline);
        self.opening = self.opening.filter(|(_, deadline)| now < *deadline);
    }

    pub(super) const fn is_active(&self) -> bool {
        self.completing.is_some() || self.opening.is_some()
    }

    /// Returns the first deadline.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.completing.into_iter().chain(self.opening).map(|(_, deadline)| deadline).min()
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;

    #[test]
    fn a_hold_ends_with_its_own_exchange_or_deadline() {
        let after = |seconds| Instant::EPOCH + Duration::from_secs(seconds);
        let mut hold = StartupHold::default();
        hold.until_initialized(ExchangeNumber(1), after(2));
        hold.until_open(ExchangeNumber(2), after(1));
        assert_eq!(hold.deadline(), Some(after(1)));
        hold.end(ExchangeNumber(3));
        hold.expire(after(1));
        assert_eq!((hold.is_active(), hold.deadline()), (true, Some(after(2))));
        hold.end(ExchangeNumber(1));
        assert_eq!((hold.is_active(), hold.deadline()), (false, None));
    }
}
