//! [`Clock`]: the time source of a machine.

use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant as Monotonic, SystemTime};

use mcp_sansio::Instant;

use crate::sync::Mutex;

/// A monotonic clock that counts from the Unix epoch.
///
/// It reads the wall clock once, when it is created, and never goes back, even if the wall clock changes later.
/// Copies of a clock show the same time.
///
/// ```
/// let clock = mcp_sansio_driver::Clock::new();
/// assert!(clock.now() <= clock.now());
/// ```
#[derive(Clone, Debug)]
pub struct Clock {
    monotonic: fn() -> Monotonic,
    started: Monotonic,
    at: Instant,
    /// The stops of a clock that can be stopped.
    stops: Option<Arc<Mutex<Stops>>>,
}

/// The time for which a clock has been stopped.
#[derive(Debug, Default)]
struct Stops {
    /// The number of [`StoppedClock`]s.
    holders: usize,
    since: Option<Monotonic>,
    before: Duration,
}

/// A guard that stops a clock until it is dropped.
#[derive(Debug)]
pub struct StoppedClock(Clock);

/// The delay after which a deadline on a stopped clock is checked again. A stopped clock cannot predict when it
/// reaches the deadline.
const ASK_AGAIN_AFTER: Duration = Duration::from_secs(1);

impl Clock {
    /// Creates a clock that starts now.
    pub fn new() -> Self {
        Self::with(Monotonic::now)
    }

    /// Creates a clock with another time source. The timers of the runtime have to use the same source. A test may
    /// pause it.
    pub fn with(monotonic: fn() -> Monotonic) -> Self {
        Self { monotonic, started: monotonic(), at: SystemTime::now().into(), stops: None }
    }

    /// Makes the clock stoppable. A connection whose clock is stopped has no timeouts.
    #[must_use]
    pub fn stoppable(mut self) -> Self {
        self.stops = Some(Arc::default());
        self
    }

    /// Stops the clock and every copy of it, if it is [stoppable](Self::stoppable).
    #[must_use = "the clock goes on when this is dropped"]
    pub fn stop(&self) -> StoppedClock {
        if let Some(stops) = &self.stops {
            let mut stops = stops.lock().unwrap_or_else(PoisonError::into_inner);
            stops.holders += 1;
            stops.since.get_or_insert_with(self.monotonic);
        }
        StoppedClock(self.clone())
    }

    /// Returns the current time.
    #[inline]
    pub fn now(&self) -> Instant {
        let Some(stops) = &self.stops else {
            return self.at + (self.monotonic)().saturating_duration_since(self.started);
        };
        let real = self.read(stops);
        self.at + real.now.saturating_duration_since(self.started).saturating_sub(real.stood_still)
    }

    /// Converts a time to the monotonic clock of the operating system. `None` if that clock cannot represent it.
    pub fn monotonic(&self, at: Instant) -> Option<Monotonic> {
        let Some(stops) = &self.stops else { return self.started.checked_add(at - self.at) };
        let real = self.read(stops);
        let known = self.started.checked_add((at - self.at).checked_add(real.stood_still)?);
        if real.is_stopped { known.max(real.now.checked_add(ASK_AGAIN_AFTER)) } else { known }
    }

    /// Reads the time and the total stopped time up to it under one lock. Otherwise the clock could go back if
    /// another thread restarts it in between.
    fn read(&self, stops: &Mutex<Stops>) -> Reading {
        let stops = stops.lock().unwrap_or_else(PoisonError::into_inner);
        let now = (self.monotonic)();
        let stands = stops.since.map(|since| now.saturating_duration_since(since));
        let stood_still = stops.before + stands.unwrap_or_default();
        Reading { now, stood_still, is_stopped: stands.is_some() }
    }
}

/// The time of the operating system, and the stopped time to subtract.
struct Reading {
    now: Monotonic,
    stood_still: Duration,
    is_stopped: bool,
}

impl Drop for StoppedClock {
    fn drop(&mut self) {
        let Some(stops) = &self.0.stops else { return };
        let mut stops = stops.lock().unwrap_or_else(PoisonError::into_inner);
        stops.holders = stops.holders.saturating_sub(1);
        if stops.holders == 0
            && let Some(since) = stops.since.take()
        {
            stops.before += (self.0.monotonic)().saturating_duration_since(since);
        }
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_stopped_stands_still_and_goes_on() {
        let clock = Clock::new().stoppable();
        let copy = clock.clone();
        let (one, other) = (clock.stop(), clock.stop());
        let then = clock.now();
        std::thread::sleep(Duration::from_millis(2));
        drop(one);
        assert_eq!(copy.now(), then);
        let real = Monotonic::now();
        let asked_again = clock.monotonic(then).expect("it is near");
        assert!(asked_again >= real + ASK_AGAIN_AFTER);
        drop(other);
        std::thread::sleep(Duration::from_millis(1));
        assert!(clock.now() > then && copy.now() > then);
        let reached = clock.monotonic(then).expect("it is near");
        assert!(reached <= Monotonic::now());
    }

    #[test]
    fn other_clocks_cannot_be_stopped() {
        let clock = Clock::new();
        let _stopped = clock.stop();
        let then = clock.now();
        std::thread::sleep(Duration::from_millis(1));
        assert!(clock.now() > then);
    }
}
