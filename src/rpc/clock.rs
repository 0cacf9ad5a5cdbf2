//! [`Clock`], the clock of calls, which pauses while a person is being asked.

use core::time::Duration;

use crate::time::Instant;

/// A clock that lags behind the real time by the sum of its pauses.
///
/// Stopping the clock requires the current time. Resuming does not, because responding to a request takes no time
/// argument. The clock then resumes with the next operation that passes the time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Clock {
    /// The total duration of the completed pauses.
    lag: Duration,
    stopped_at: Option<Instant>,
    /// The number of requests of the peer that wait for a person.
    asked: u32,
    /// Whether the application has stopped the clock.
    stopped: bool,
}

impl Clock {
    /// Informs the clock of the current time.
    pub(crate) fn tick(&mut self, now: Instant) {
        match self.stopped_at {
            None if self.should_stop() => self.stopped_at = Some(now),
            Some(since) if !self.should_stop() => {
                self.lag = self.lag.saturating_add(now - since);
                self.stopped_at = None;
            }
            _ => {}
        }
    }

    /// Registers a request that waits for a person.
    pub(crate) fn begin_asking(&mut self, now: Instant) {
        self.asked += 1;
        self.tick(now);
    }

    /// Unregisters such a request.
    pub(crate) const fn end_asking(&mut self) {
        self.asked = self.asked.saturating_sub(1);
    }

    /// Stops or resumes the clock on behalf of the application.
    pub(crate) fn set_stopped(&mut self, stopped: bool, now: Instant) {
        self.stopped = stopped;
        self.tick(now);
    }

    /// Whether the clock resumes at the next tick.
    pub(crate) const fn waits_for_tick(&self) -> bool {
        self.stopped_at.is_some() && !self.should_stop()
    }

    /// Returns the time at which the clock stopped, or the epoch if it runs. A clock that waits for a tick counts as
    /// stopped.
    pub(crate) fn last(&self) -> Instant {
        self.stopped_at.unwrap_or_default()
    }

    /// Returns the time of this clock at a real time.
    pub(crate) fn at(&self, now: Instant) -> Instant {
        self.stopped_at.map_or(now, |since| since.min(now)) - self.lag
    }

    /// Returns the real time at which the clock reaches `time`; `None` if it pauses before that.
    pub(crate) fn when(&self, time: Instant) -> Option<Instant> {
        match self.stopped_at {
            Some(since) if since - self.lag < time => None,
            _ => Some(time + self.lag),
        }
    }

    /// Returns the total duration of all pauses.
    pub(crate) fn lag(&self, now: Instant) -> Duration {
        self.lag.saturating_add(self.stopped_at.map_or(Duration::ZERO, |since| now - since))
    }

    /// Returns the real time at which the total pause reaches `lag`; `None` if the clock runs.
    pub(crate) fn when_lag_is(&self, lag: Duration) -> Option<Instant> {
        Some(self.stopped_at? + lag.saturating_sub(self.lag))
    }

    const fn should_stop(&self) -> bool {
        self.stopped || 0 < self.asked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(seconds: u64) -> Instant {
        Instant::from_millis(seconds * 1000)
    }

    #[test]
    fn it_stands_still_while_something_stops_it() {
        let mut clock = Clock::default();
        assert_eq!((clock.at(at(5)), clock.when(at(7))), (at(5), Some(at(7))));
        clock.begin_asking(at(10));
        assert_eq!(clock.at(at(15)), at(10));
        assert_eq!(clock.when(at(9)), Some(at(9)), "that is past");
        assert_eq!(clock.when(at(10)), Some(at(10)));
        assert_eq!(clock.when(at(11)), None);
        assert_eq!(clock.when_lag_is(Duration::from_secs(4)), Some(at(14)));
        clock.set_stopped(true, at(12));
        clock.end_asking();
        clock.tick(at(16));
        assert_eq!(clock.at(at(16)), at(10), "there is another reason");
        clock.set_stopped(false, at(20));
        assert_eq!((clock.at(at(21)), clock.lag(at(21))), (at(11), Duration::from_secs(10)));
        assert_eq!(clock.when(at(12)), Some(at(22)));
        assert!(!clock.waits_for_tick());
        clock.begin_asking(at(30));
        clock.end_asking();
        assert!(clock.waits_for_tick());
        clock.tick(at(33));
        assert_eq!(clock.at(at(33)), at(20));
    }
}
