//! The time for a machine.

use std::time::{Instant as Monotonic, SystemTime};

use mcp_sansio::Instant;

/// A monotonic clock that counts from the Unix epoch.
///
/// It reads the wall clock once, when it is made, and never goes back, whatever happens to the wall
/// clock later. Copies of one clock agree.
///
/// ```
/// let clock = mcp_sansio_std::Clock::new();
/// assert!(clock.now() <= clock.now());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    started: Monotonic,
    at: Instant,
}

impl Clock {
    /// A clock that starts now.
    pub fn new() -> Self {
        Self { started: Monotonic::now(), at: SystemTime::now().into() }
    }

    /// What time it is.
    pub fn now(&self) -> Instant {
        self.at + self.started.elapsed()
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}
