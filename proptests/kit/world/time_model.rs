//! A model of the timeouts of calls. Each call that expires does so at its deadline, neither earlier nor later.

use std::collections::BTreeMap;
use std::time::Duration;

use mcp_sansio::config::Timeouts;
use mcp_sansio::event::Expiry;
use mcp_sansio::testing::{Broken, Promise};
use mcp_sansio::{CallId, Instant, Outcome};

/// The timeouts of the calls of one side.
#[derive(Debug, Default)]
pub(super) struct TimeModel {
    calls: BTreeMap<CallId, Timed>,
    /// The time for which the application has stopped the timers, and the time at which it stopped them last.
    paused: Duration,
    paused_at: Option<Instant>,
    /// Whether the timers may be stopped because a person is being asked.
    has_asked: bool,
    /// The time at which the connection ends at the latest.
    drains_until: Option<Instant>,
}

/// A call with its timeouts. Its times are those of the clock that the application can stop.
#[derive(Clone, Copy, Debug)]
struct Timed {
    idle: Option<Duration>,
    total: Option<Duration>,
    /// The longest time for which the timers may stand still, and the time for which they had before.
    person: Option<Duration>,
    paused_before: Duration,
    /// The beginning.
    made: Instant,
    /// The last sign of life of the peer, or the beginning.
    renewed: Instant,
    /// Whether a person was asked meanwhile, so that only the earliest possible end is known.
    has_asked: bool,
    /// Whether the call waits for something else than a response.
    has_changed: bool,
}

impl Timed {
    fn idle_at(&self) -> Option<Instant> {
        self.idle.map(|idle| self.renewed + idle)
    }

    fn total_at(&self) -> Option<Instant> {
        self.total.map(|total| self.made + total)
    }
}

impl TimeModel {
    /// Returns the time of the clock that the application can stop.
    fn at(&self, now: Instant) -> Instant {
        self.paused_at.unwrap_or(now) - self.paused
    }

    /// Records a call with these timeouts.
    pub(super) fn made(&mut self, call: CallId, timeouts: &Timeouts, now: Instant) {
        let Timeouts { idle, total, person, .. } = *timeouts;
        let (made, has_asked) = (self.at(now), self.has_asked);
        let paused_before =
            self.paused + self.paused_at.map(|since| now - since).unwrap_or_default();
        let (renewed, has_changed) = (made, false);
        let timed =
            Timed { idle, total, person, paused_before, made, renewed, has_asked, has_changed };
        self.calls.insert(call, timed);
    }

    /// Records that the application stops the timers, or lets them run.
    pub(super) fn paused(&mut self, paused: bool, now: Instant) {
        match self.paused_at {
            None if paused => self.paused_at = Some(now),
            Some(since) if !paused => {
                self.paused += now - since;
                self.paused_at = None;
            }
            _ => {}
        }
    }

    /// Records that the peer may have asked a person, which stops the timers until the request has ended.
    pub(super) fn asks_a_person(&mut self) {
        self.has_asked = true;
        self.calls.values_mut().for_each(|timed| timed.has_asked = true);
    }

    /// Records that the peer has shown that it works on a call.
    pub(super) fn renewed(&mut self, call: CallId, now: Instant) {
        let now = self.at(now);
        if let Some(timed) = self.calls.get_mut(&call) {
            timed.renewed = now;
        }
    }

    /// Records that a call waits for something else than a response: a task, or input of this side.
    pub(super) fn changed(&mut self, call: CallId) {
        if let Some(timed) = self.calls.get_mut(&call) {
            timed.has_changed = true;
        }
    }

    /// Records that every call may have been sent again.
    pub(super) fn all_change(&mut self) {
        self.calls.values_mut().for_each(|timed| timed.has_changed = true);
    }

    /// Records that the connection ends within this time.
    pub(super) fn drains(&mut self, grace: Duration, now: Instant) {
        let until = now + grace;
        self.drains_until = Some(self.drains_until.map_or(until, |known| known.min(until)));
    }

    /// Records an outcome. An expired call must not have expired too early.
    pub(super) fn ended(
        &mut self,
        call: CallId,
        outcome: &Outcome<'_>,
        now: Instant,
    ) -> Result<(), Broken> {
        let at = self.at(now);
        let Some(timed) = self.calls.remove(&call) else { return Ok(()) };
        let Outcome::TimedOut(expiry) = outcome else { return Ok(()) };
        let (idle, total) = (timed.idle_at(), timed.total_at());
        let is_wrong = match expiry {
            Expiry::Total => total.is_none_or(|total| at < total),
            // Of two timers that expire at the same time, the total one is named.
            Expiry::Idle => {
                let is_total = total.is_some_and(|total| idle.is_some_and(|idle| total <= idle));
                let is_known = !timed.has_asked;
                !timed.has_changed && (idle.is_none_or(|idle| at < idle) || is_known && is_total)
            }
            Expiry::Paused => !timed.has_asked && !self.is_paused_too_long(&timed, now),
            _ => false,
        };
        if is_wrong {
            let what = format!("{call} expires too early, {expiry} at {at:?}: {timed:?}");
            return Err(Broken::new(Promise::NothingWaits, what));
        }
        Ok(())
    }

    /// Whether the application stops the timers, and for so long that a call expires.
    fn is_paused_too_long(&self, timed: &Timed, now: Instant) -> bool {
        let Some(since) = self.paused_at else { return false };
        let paused = self.paused + (now - since) - timed.paused_before;
        let has_timer = timed.idle.is_some() || timed.total.is_some();
        has_timer && timed.person.is_some_and(|person| person <= paused)
    }

    /// Removes a call that the application has given up.
    pub(super) fn given_up(&mut self, call: CallId) {
        self.calls.remove(&call);
    }

    /// Checks that everything that is due has happened. `is_closed` is whether the connection has ended, and
    /// `has_requests` whether any request of the peer is open.
    pub(super) fn settled(
        &mut self,
        now: Instant,
        is_closed: bool,
        has_requests: bool,
    ) -> Result<(), Broken> {
        let at = self.at(now);
        let is_late = |timed: &Timed| {
            let timers = [timed.idle_at(), timed.total_at()];
            let is_over = timers.into_iter().flatten().any(|end| end <= at);
            let is_exact = !timed.has_asked && !timed.has_changed;
            is_exact && (is_over || self.is_paused_too_long(timed, now))
        };
        if let Some((call, timed)) = self.calls.iter().find(|(_, timed)| is_late(timed)) {
            let what = format!("{call} should have expired before {at:?}: {timed:?}");
            return Err(Broken::new(Promise::NothingWaits, what));
        }
        if !is_closed && self.drains_until.is_some_and(|until| until <= now) {
            return Err(Broken::new(Promise::NothingWaits, "the connection should have ended"));
        }
        self.has_asked &= has_requests;
        Ok(())
    }
}
