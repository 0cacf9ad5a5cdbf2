//! Times of tokens, which count by the wall clock.

use std::time::{Duration, Instant as Monotonic, SystemTime};

use mcp_sansio::Instant;
use mcp_sansio_driver::Clock;

/// Returns the time of the wall clock.
pub(crate) fn wall() -> Instant {
    SystemTime::now().into()
}

/// Returns the time at which tokens are checked: that of the clock, or of the wall clock if that is later.
///
/// A [`Clock`] reads the wall clock only once. It lags behind after the computer has slept, and after the wall clock
/// was corrected, as it is by NTP after a boot. If the wall clock was ahead by mistake, this time goes back.
pub(crate) fn now(clock: &Clock) -> Instant {
    clock.now().max(wall())
}

/// Converts a time of a token to the clock of timers.
pub(crate) fn monotonic(clock: &Clock, at: Instant) -> Option<Monotonic> {
    let lag = now(clock) - clock.now();
    clock.monotonic(at - lag)
}

/// The clock of a client's tokens: like [`now`], but it never goes back. After the wall clock was ahead by mistake, it
/// stays ahead. Otherwise a pause that began during the mistake would last until the wall clock is there again.
pub(crate) struct TokenClock {
    clock: Clock,
    /// How far the time is ahead of the clock.
    lead: Duration,
}

impl TokenClock {
    /// Creates a clock that follows this one.
    pub(crate) const fn new(clock: Clock) -> Self {
        Self { clock, lead: Duration::ZERO }
    }

    /// Returns the current time, and how far it is ahead of the wall clock.
    pub(crate) fn now(&mut self) -> (Instant, Duration) {
        let (now, wall) = (self.clock.now(), wall());
        self.lead = self.lead.max(wall - now);
        let now = now + self.lead;
        (now, now - wall)
    }

    /// Converts a time of this clock to the clock of timers.
    pub(crate) fn monotonic(&mut self, at: Instant) -> Option<Monotonic> {
        // The computer may have slept since the last time that was read.
        self.now();
        self.clock.monotonic(at - self.lead)
    }
}
