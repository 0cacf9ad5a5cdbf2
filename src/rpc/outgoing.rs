//! [`Outgoing`], the pending requests of this side with their timers, and the clock of these timers.

use alloc::collections::VecDeque;
use core::ops::Deref;
use core::time::Duration;

use super::clock::Clock;
use super::deadlines::Deadlines;
use super::outbound::{GivenUp, Outbound};
use super::table::{Ending, Recycle};
use super::timers::{Expired, Patience, Timers, Wait};
use crate::handle::{ConnectionNumber, SlotKey};
use crate::lazy_box::{Empty, LazyBox};
use crate::time::Instant;

/// The pending requests of this side, in creation order, with their deadlines.
///
/// `O` identifies the receiver of the response and its purpose; this type does not inspect it. Timers run on a clock
/// that can pause ([`Clock`]); polls run on real time. A deadline or a poll at [`Instant::NEVER`] never passes: one that
/// is scheduled again then would be due at once, without end. Invariants: a deadline is in the heap exactly if the
/// timers of its request have one, and only [`wait`](Self::wait) changes those timers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Outgoing<O> {
    requests: Outbound<Request<O>>,
    deadlines: Deadlines,
    few: LazyBox<Few>,
    clock: Clock,
    /// The oldest request with a limit on the pauses of the clock.
    ///
    /// No request acquires such a limit later, so the search for the next one never visits a request twice.
    first_pausing: Option<u32>,
    /// The number of requests that do not count towards the limit of requests.
    uncounted: u32,
    /// The number of requests for which the end of the connection does not wait.
    quiet: u32,
}

/// The state that few connections ever need.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Few {
    /// The real time of the next poll of each request.
    polls: Deadlines,
    /// Requests that were created or abandoned without a known time, with their total timeouts.
    undated: VecDeque<(SlotKey, Option<Duration>)>,
}

impl Empty for Few {
    const EMPTY: &'static Self = &Self { polls: Deadlines::NONE, undated: VecDeque::new() };
}

/// A pending request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Request<O> {
    timers: Timers,
    is_uncounted: bool,
    is_quiet: bool,
    owner: O,
}

impl<O: Recycle> Recycle for Request<O> {
    fn recycle(&mut self) {
        self.timers = Timers::default();
        self.is_uncounted = false;
        self.is_quiet = false;
        self.owner.recycle();
    }
}

/// Read access to requests by their ids and places.
impl<O> Deref for Outgoing<O> {
    type Target = Outbound<Request<O>>;

    fn deref(&self) -> &Self::Target {
        &self.requests
    }
}

/// # Requests
impl<O: Recycle> Outgoing<O> {
    /// Creates a table without requests. The first request gets `first_id`.
    pub(crate) fn new(connection: ConnectionNumber, first_id: u64, remembered: u32) -> Self {
        Self {
            requests: Outbound::new(connection, first_id, remembered),
            deadlines: Deadlines::default(),
            few: LazyBox::EMPTY,
            clock: Clock::default(),
            first_pausing: None,
            uncounted: 0,
            quiet: 0,
        }
    }

    /// Registers a request under the next id. Without a time, its timers start with the next [`date`](Self::date).
    #[inline]
    pub(crate) fn insert(
        &mut self,
        patience: Patience,
        now: Option<Instant>,
        fill: impl FnOnce(&mut O),
    ) -> SlotKey {
        let Patience { idle, total, pause, is_bounded } = patience;
        let time = now.map(|now| self.clock.at(now));
        let timers = Timers {
            idle,
            idle_at: idle.zip(time).map(|(idle, time)| time + idle),
            total_at: total.zip(time).map(|(total, time)| time + total),
            retry_at: None,
            lag: now.map(|now| self.clock.lag(now)).unwrap_or_default(),
            pause: pause.filter(|_| idle.is_some() || total.is_some()),
            is_bounded,
        };
        let id = self.requests.next_id();
        let place = self.requests.insert(|request| {
            request.timers = timers;
            fill(&mut request.owner);
        });
        if let Some(deadline) = timers.deadline() {
            self.deadlines.set(place.index, id, deadline);
        }
        if timers.pause.is_some() && self.first_pausing.is_none() {
            self.first_pausing = Some(place.index);
        }
        if now.is_none() && (idle.is_some() || total.is_some()) {
            self.few.undated.push_back((place, total));
        }
        place
    }

    /// Returns the id of the next request.
    pub(crate) const fn next_id(&self) -> u64 {
        self.requests.next_id()
    }

    /// Continues the ids of an earlier process: the next request gets this id, and each earlier one counts as used.
    pub(crate) const fn continue_at(&mut self, id: u64) {
        self.requests.continue_at(id);
    }

    /// Returns the owner of a request.
    pub(crate) fn get(&self, place: SlotKey) -> Option<&O> {
        self.requests.get(place).map(|request| &request.owner)
    }

    /// Returns the owner of a request for modification.
    pub(crate) fn get_mut(&mut self, place: SlotKey) -> Option<&mut O> {
        self.requests.get_mut(place).map(|request| &mut request.owner)
    }

    /// Returns all requests, in creation order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (SlotKey, &O)> {
        self.requests.iter().map(|(place, request)| (place, &request.owner))
    }

    /// Modifies the owners of all requests, in creation order.
    pub(crate) fn for_each(&mut self, mut change: impl FnMut(&mut O)) {
        self.requests.for_each(|request| change(&mut request.owner));
    }

    /// Assigns the next id to a request, which is sent again under the same handle.
    pub(crate) fn renew(&mut self, place: SlotKey) {
        self.requests.renew(place);
        // The heap orders simultaneous deadlines by the ids of their requests.
        self.retime(place);
    }

    /// Removes a request that ended.
    pub(crate) fn remove(&mut self, place: SlotKey, ending: Ending) {
        self.forget(place);
        self.requests.remove(place, ending);
    }

    /// Removes a request and remembers that its response may still arrive.
    pub(crate) fn give_up(&mut self, place: SlotKey, cause: GivenUp) {
        self.forget(place);
        self.requests.give_up(place, cause);
    }

    /// Excludes a request from the limit of requests.
    pub(crate) fn set_uncounted(&mut self, place: SlotKey) {
        if let Some(request) = self.requests.get_mut(place) {
            self.uncounted += u32::from(!request.is_uncounted);
            request.is_uncounted = true;
        }
    }

    /// Excludes a request from those for which the end of the connection waits.
    pub(crate) fn set_quiet(&mut self, place: SlotKey) {
        if let Some(request) = self.requests.get_mut(place) {
            self.quiet += u32::from(!request.is_quiet);
            request.is_quiet = true;
        }
    }

    /// Returns the number of requests that count towards the limit.
    pub(crate) const fn counted(&self) -> u32 {
        self.requests.len() - self.uncounted
    }

    /// Whether the end of the connection need not wait for any pending request.
    pub(crate) const fn is_quiet(&self) -> bool {
        self.requests.len() == self.quiet
    }

    /// Frees unused memory.
    pub(crate) fn release(&mut self) {
        self.requests.release();
        self.deadlines.release();
        if self.few.polls.is_empty() && self.few.undated.is_empty() {
            self.few = LazyBox::EMPTY;
        }
    }

    /// Updates the counters and heaps before a request is removed.
    fn forget(&mut self, place: SlotKey) {
        let Some(request) = self.requests.get(place) else { return };
        self.uncounted -= u32::from(request.is_uncounted);
        self.quiet -= u32::from(request.is_quiet);
        self.deadlines.clear(place.index);
        self.stop_polling(place);
        self.pass_pausing(place);
    }
}

/// # Time
impl<O: Recycle> Outgoing<O> {
    /// Returns the clock of the timers.
    pub(crate) const fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Returns the clock for modification: to stop it or to pass it the time.
    pub(crate) const fn clock_mut(&mut self) -> &mut Clock {
        &mut self.clock
    }

    /// Sets the next event that a request waits for. Without a time, the timers start when the clock resumes, or with
    /// the next [`date`](Self::date).
    pub(crate) fn wait(&mut self, place: SlotKey, wait: Wait, now: Option<Instant>) {
        // Without a time, the clock is paused or the timers are dated later.
        let time = self.clock.at(now.unwrap_or_else(|| self.clock.last()));
        if let Wait::Response | Wait::Retry(_) | Wait::End = wait {
            self.schedule_retry(place, wait, now);
        }
        let Some(request) = self.requests.get_mut(place) else { return };
        let timers = &mut request.timers;
        match wait {
            Wait::Response => {
                timers.idle_at = timers.idle.map(|idle| time + idle);
            }
            Wait::Retry(_) => timers.idle_at = None,
            Wait::End => {}
            Wait::Forever => (timers.idle, timers.idle_at) = (None, None),
            Wait::Task => {
                (timers.idle, timers.idle_at) = (None, None);
                timers.total_at = timers.total_at.filter(|_| timers.is_bounded);
            }
            Wait::Late(long) => {
                timers.idle = Some(long);
                timers.idle_at = now.map(|_| time + long);
                timers.total_at = None;
                if now.is_none() {
                    self.few.undated.push_back((place, None));
                }
            }
            Wait::Soon(idle) => {
                if timers.idle.is_some() {
                    return;
                }
                timers.idle = idle;
                timers.idle_at = idle.map(|idle| time + idle);
            }
        }
        if matches!(wait, Wait::Forever | Wait::Task | Wait::Late(_)) {
            self.remove_pause_limit(place);
        }
        self.retime(place);
    }

    /// Schedules or cancels the time at which a request is sent again. Without a time, the delay begins when the clock
    /// stopped.
    fn schedule_retry(&mut self, place: SlotKey, wait: Wait, now: Option<Instant>) {
        let at = match wait {
            Wait::Retry(Some(after)) => Some(now.unwrap_or_else(|| self.clock.last()) + after),
            _ => None,
        };
        let Some(request) = self.requests.get_mut(place) else { return };
        let before = core::mem::replace(&mut request.timers.retry_at, at);
        match at {
            Some(at) => self.poll_at(place, at),
            None if before.is_some() => self.stop_polling(place),
            None => {}
        }
    }

    /// Passes the current time to the requests that were created without one.
    pub(crate) fn date(&mut self, now: Instant) {
        let (time, lag) = (self.clock.at(now), self.clock.lag(now));
        while self.has_undated() {
            let Some((place, total)) = self.few.undated.pop_front() else { return };
            if let Some(request) = self.requests.get_mut(place) {
                let timers = &mut request.timers;
                timers.lag = lag;
                timers.idle_at = timers.idle.map(|idle| time + idle);
                timers.total_at = total.map(|total| time + total).or(timers.total_at);
                self.retime(place);
            }
        }
    }

    /// Whether any request still lacks its time.
    pub(crate) fn has_undated(&self) -> bool {
        self.few.allocated().is_some_and(|few| !few.undated.is_empty())
    }

    /// Removes the limit on pauses of the clock during a request.
    pub(crate) fn remove_pause_limit(&mut self, place: SlotKey) {
        if let Some(request) = self.requests.get_mut(place) {
            request.timers.pause = None;
            self.pass_pausing(place);
        }
    }

    /// Makes a request due immediately.
    pub(crate) fn expire_now(&mut self, place: SlotKey) {
        if let Some(id) = self.requests.id(place) {
            self.deadlines.set(place.index, id, Instant::EPOCH);
        }
    }

    /// Returns the real time at which the first request is due; `None` if no request will be, or the clock pauses
    /// before that.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        let (at, _) = self.deadlines.first().filter(|(at, _)| *at < Instant::NEVER)?;
        self.clock.when(at)
    }

    /// Returns the first request that is due.
    pub(crate) fn due(&self, now: Instant) -> Option<SlotKey> {
        let (_, index) = self.deadlines.first().filter(|(at, _)| self.has_passed(*at, now))?;
        self.requests.place_of(index)
    }

    /// Whether another request is due as well.
    pub(crate) fn has_second_due(&self, now: Instant) -> bool {
        self.deadlines.second().is_some_and(|second| self.has_passed(second, now))
    }

    /// Whether a deadline on the clock of the timers has passed.
    fn has_passed(&self, deadline: Instant, now: Instant) -> bool {
        deadline < Instant::NEVER && deadline <= self.clock.at(now)
    }

    /// Whether a request is due.
    pub(crate) fn is_due(&self, place: SlotKey, now: Instant) -> bool {
        let deadline = self.requests.get(place).and_then(|request| request.timers.deadline());
        deadline.is_some_and(|deadline| self.has_passed(deadline, now))
    }

    /// Returns the timer of a due request that expired first; of simultaneous ones, the total timer, which progress
    /// cannot move.
    pub(crate) fn expired(&self, place: SlotKey) -> Expired {
        let timers = self.requests.get(place).map(|request| request.timers).unwrap_or_default();
        let is_total =
            timers.total_at.is_some_and(|total| timers.idle_at.is_none_or(|idle| total <= idle));
        if is_total { Expired::Total } else { Expired::Idle }
    }

    /// Returns the real time at which the current pause exceeds the limit of the first request, and that request. The
    /// oldest request has waited longest.
    pub(crate) fn next_pause_end(&self) -> Option<(Instant, SlotKey)> {
        let place = self.requests.place_of(self.first_pausing?)?;
        let timers = &self.requests.get(place)?.timers;
        let most = timers.pause?.saturating_add(timers.lag);
        Some((self.clock.when_lag_is(most)?, place))
    }

    /// Schedules a poll of a request at this real time.
    pub(crate) fn poll_at(&mut self, place: SlotKey, at: Instant) {
        if let Some(id) = self.requests.id(place) {
            self.few.polls.set(place.index, id, at);
        }
    }

    /// Cancels the poll of a request.
    pub(crate) fn stop_polling(&mut self, place: SlotKey) {
        if !self.few.polls.is_empty() {
            self.few.polls.clear(place.index);
        }
    }

    /// Returns the time of the first poll.
    pub(crate) fn next_poll(&self) -> Option<Instant> {
        self.few.polls.first().map(|(at, _)| at).filter(|at| *at < Instant::NEVER)
    }

    /// Removes and returns the next request whose poll is due, or that is to be sent again.
    pub(crate) fn take_poll(&mut self, now: Instant) -> Option<SlotKey> {
        while self.next_poll().is_some_and(|at| at <= now) {
            let (_, index) = self.few.polls.first()?;
            self.few.polls.clear(index);
            if let Some(place) = self.requests.place_of(index) {
                return Some(place);
            }
        }
        None
    }

    /// Updates the deadline of a request in the heap from its timers.
    fn retime(&mut self, place: SlotKey) {
        let deadline = self.requests.get(place).and_then(|request| request.timers.deadline());
        match (deadline, self.requests.id(place)) {
            (Some(deadline), Some(id)) => self.deadlines.set(place.index, id, deadline),
            _ => self.deadlines.clear(place.index),
        }
    }

    /// If this request is the first with a limit on pauses, advances to the next one.
    fn pass_pausing(&mut self, place: SlotKey) {
        if self.first_pausing != Some(place.index) {
            return;
        }
        let mut next = self.requests.after(place);
        while let Some(at) = next
            && self.requests.get(at).is_some_and(|request| request.timers.pause.is_none())
        {
            next = self.requests.after(at);
        }
        self.first_pausing = next.map(|place| place.index);
    }
}

/// # Checks
#[cfg(any(call_table, fuzzing, test))]
impl<O: Recycle> Outgoing<O> {
    /// Returns whether the heap matches the timers of a request, whether its idle timer runs, and whether it limits
    /// pauses.
    pub(crate) fn checked_timers(&self, place: SlotKey) -> (bool, bool, bool) {
        let Some(request) = self.requests.get(place) else { return Default::default() };
        let timers = &request.timers;
        let is_in_heap = self.deadlines.of(place.index) == timers.deadline();
        (is_in_heap, timers.idle_at.is_some(), timers.pause.is_some())
    }

    /// Whether a request is to be sent again automatically.
    #[cfg(any(call_table, fuzzing))]
    pub(crate) fn retries(&self, place: SlotKey) -> bool {
        self.requests.get(place).is_some_and(|request| request.timers.retry_at.is_some())
    }
}

#[cfg(test)]
#[path = "outgoing_tests.rs"]
mod tests;
