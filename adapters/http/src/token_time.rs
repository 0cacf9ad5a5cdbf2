//! Times of tokens, which count by the wall clock.

use std::time::{Instant as Monotonic, SystemTime};

use mcp_sansio::Instant;
use mcp_sansio_driver::Clock;

/// Returns the time of the wall clock.
pub(crate) fn wall() -> Instant {
    SystemTime::now().into()
}

/// Returns the time at which tokens are checked: that of the clock, or of the wall clock if that is later.
///
/// A [`Clock`] reads the wall clock only once. It lags behind after the computer has slept, and after the wall clock
/// was corrected, as it is by NTP after a boot.
pub(crate) fn now(clock: &Clock) -> Instant {
    clock.now().max(wall())
}

/// Converts a time of a token to the clock of timers.
pub(crate) fn monotonic(clock: &Clock, at: Instant) -> Option<Monotonic> {
    let lag = now(clock) - clock.now();
    clock.monotonic(at - lag)
}
