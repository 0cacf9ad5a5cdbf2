//! The clock of calls, which stands still while a person is asked.

use core::time::Duration;

use crate::time::Instant;

/// How far the time that counts for calls is behind.
///
/// What stops it says when; what lets it go on need not, because answering a request takes no time
/// as an argument. It then goes on with the next thing that says what time it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Clock {
    /// For how long it stood still before now.
    lag: Duration,
    stopped_at: Option<Instant>,
    /// How many requests of the peer ask a person.
    asked: u32,
    /// The application has stopped it.
    stopped: bool,
}

impl Clock {
    /// It is this late.
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

    /// A request asks a person.
    pub(crate) fn begin_asking(&mut self, now: Instant) {
        self.asked += 1;
        self.tick(now);
    }

    /// Such a request has ended.
    pub(crate) const fn end_asking(&mut self) {
        self.asked = self.asked.saturating_sub(1);
    }

    /// The application stops it or lets it go on.
    pub(crate) fn set_stopped(&mut self, stopped: bool, now: Instant) {
        self.stopped = stopped;
        self.tick(now);
    }

    /// Whether it waits to be told the time.
    pub(crate) const fn waits_for_tick(&self) -> bool {
        self.stopped_at.is_some() && !self.should_stop()
    }

    /// When it was stopped, if it is stopped or has not been told that it goes on.
    pub(crate) fn last(&self) -> Instant {
        self.stopped_at.unwrap_or_default()
    }

    /// What time it shows.
    pub(crate) fn at(&self, now: Instant) -> Instant {
        self.stopped_at.map_or(now, |since| since.min(now)) - self.lag
    }

    /// When it will show a time; `None` if it stands still before that.
    pub(crate) fn when(&self, time: Instant) -> Option<Instant> {
        match self.stopped_at {
            Some(since) if since - self.lag < time => None,
            _ => Some(time + self.lag),
        }
    }

    /// For how long it has stood still.
    pub(crate) fn lag(&self, now: Instant) -> Duration {
        self.lag.saturating_add(self.stopped_at.map_or(Duration::ZERO, |since| now - since))
    }

    /// When it will have stood still for so long, if it stands still now.
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
