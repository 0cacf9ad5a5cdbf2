//! The time for a machine.

use std::time::{Instant as Monotonic, SystemTime};

use mcp_sansio::Instant;

/// A monotonic clock that counts from the Unix epoch.
///
/// It reads the wall clock once, when it is made, and never goes back, whatever happens to the wall
/// clock later. Copies of one clock agree.
///
/// ```
/// let clock = mcp_sansio_driver::Clock::new();
/// assert!(clock.now() <= clock.now());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    monotonic: fn() -> Monotonic,
    started: Monotonic,
    at: Instant,
}

impl Clock {
    /// A clock that starts now.
    pub fn new() -> Self {
        Self::with(Monotonic::now)
    }

    /// A clock that takes the time from elsewhere, which has to be where the timers of its runtime have
    /// theirs: a test may stop it.
    pub fn with(monotonic: fn() -> Monotonic) -> Self {
        Self { monotonic, started: monotonic(), at: SystemTime::now().into() }
    }

    /// What time it is.
    pub fn now(&self) -> Instant {
        self.at + (self.monotonic)().saturating_duration_since(self.started)
    }

    /// The same moment as the operating system counts. `None` if that is further away than it can count.
    pub fn monotonic(&self, at: Instant) -> Option<Monotonic> {
        self.started.checked_add(at - self.at)
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}
