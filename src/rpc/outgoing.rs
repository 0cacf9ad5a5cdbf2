//! `Outgoing`: our requests in flight with their timers, and the clock that these run on.

use alloc::collections::VecDeque;
use core::ops::Deref;
use core::time::Duration;

use super::clock::Clock;
use super::deadlines::Deadlines;
use super::outbound::{GivenUp, Outbound};
use super::table::{Ending, Recycle};
use crate::handle::{ConnectionNumber, Place};
use crate::lazy_box::{Empty, LazyBox};
use crate::time::Instant;

/// Our requests that have not ended, in the order they were made, and when each of them is due.
///
/// `O` says who gets the answer and what it is for; nothing here looks at it. Timers run on a clock that can stand still
/// ([`Clock`]); polls run on the real one. Invariants: a deadline is in the heap exactly if the timers of its request name
/// one, and [`wait`](Self::wait) is the only way to change those.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Outgoing<O> {
    requests: Outbound<Request<O>>,
    deadlines: Deadlines,
    few: LazyBox<Few>,
    clock: Clock,
    /// The first of the requests that may wait only so long while the clock stands still.
    ///
    /// No request becomes one of these later. So looking for the next one never looks at a request twice.
    first_pausing: Option<u32>,
    /// How many requests do not count towards the limit of requests.
    uncounted: u32,
    /// How many requests the end of the connection need not wait for.
    quiet: u32,
}

/// What few connections ever have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Few {
    /// When something else is to be done about a request, on the real clock.
    polls: Deadlines,
    /// Requests that were made or given up without knowing the time, with the total time they have.
    undated: VecDeque<(Place, Option<Duration>)>,
}

impl Empty for Few {
    const EMPTY: &'static Self = &Self { polls: Deadlines::NONE, undated: VecDeque::new() };
}

/// A request in flight.
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

/// How long a request may take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Patience {
    /// How long to wait for an answer or progress.
    pub(crate) idle: Option<Duration>,
    /// How long to wait for the answer at most.
    pub(crate) total: Option<Duration>,
    /// How long the clock may stand still for it; without a limit if it has no timers.
    pub(crate) pause: Option<Duration>,
    /// The total time holds for whatever the request becomes.
    pub(crate) is_bounded: bool,
}

/// The timers of a request, on the clock that can stand still.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Timers {
    idle: Option<Duration>,
    idle_at: Option<Instant>,
    total_at: Option<Instant>,
    /// When the request is to be made again.
    retry_at: Option<Instant>,
    /// For how long the clock had stood still when the request was made, and how much longer it may.
    lag: Duration,
    pause: Option<Duration>,
    is_bounded: bool,
}

impl Timers {
    /// The earliest time at which something is to be done about the request.
    fn deadline(&self) -> Option<Instant> {
        [self.idle_at, self.total_at, self.retry_at].into_iter().flatten().min()
    }
}

/// What a request waits for from now on, which decides its timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// An answer or progress: the idle time begins anew.
    Answer,
    /// Something of this side: the idle time stops, and the request is made again this much later, if it is by itself.
    Retry(Option<Duration>),
    /// Nothing: it cannot go on, and its end is about to be handed out.
    End,
    /// Nothing in particular: it has no timers any more.
    Forever,
    /// A task of the peer: only a total time that was chosen for this request goes on.
    Task,
    /// An answer that nobody waits for, for this long.
    Late(Duration),
    /// An answer that can come now, within this time if it had no idle time before.
    Soon(Option<Duration>),
}

/// Which timer of a request was the first to expire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expired {
    Idle,
    Total,
}

/// Looking at requests by their ids and places.
impl<O> Deref for Outgoing<O> {
    type Target = Outbound<Request<O>>;

    fn deref(&self) -> &Self::Target {
        &self.requests
    }
}

/// # Requests
impl<O: Recycle> Outgoing<O> {
    /// No requests. The first one will get `first_id`.
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

    /// Registers a request under the next id. Without a time its timers begin with the next
    /// [`date`](Self::date).
    #[inline]
    pub(crate) fn insert(
        &mut self,
        patience: Patience,
        now: Option<Instant>,
        fill: impl FnOnce(&mut O),
    ) -> Place {
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

    /// Whose a request is.
    pub(crate) fn get(&self, place: Place) -> Option<&O> {
        self.requests.get(place).map(|request| &request.owner)
    }

    /// The same, to be changed.
    pub(crate) fn get_mut(&mut self, place: Place) -> Option<&mut O> {
        self.requests.get_mut(place).map(|request| &mut request.owner)
    }

    /// All requests, in the order they were made.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Place, &O)> {
        self.requests.iter().map(|(place, request)| (place, &request.owner))
    }

    /// Changes the requests, in the order they were made.
    pub(crate) fn for_each(&mut self, mut change: impl FnMut(&mut O)) {
        self.requests.for_each(|request| change(&mut request.owner));
    }

    /// Gives a request the next id: it is made again under the same handle.
    pub(crate) fn renew(&mut self, place: Place) {
        self.requests.renew(place);
        // The heap orders deadlines of one time by the ids of their requests.
        self.retime(place);
    }

    /// Takes a request out because it ended.
    pub(crate) fn remove(&mut self, place: Place, ending: Ending) {
        self.forget(place);
        self.requests.remove(place, ending);
    }

    /// Takes a request out and remembers that its answer may still come.
    pub(crate) fn give_up(&mut self, place: Place, cause: GivenUp) {
        self.forget(place);
        self.requests.give_up(place, cause);
    }

    /// A request does not count towards the limit of requests.
    pub(crate) fn set_uncounted(&mut self, place: Place) {
        if let Some(request) = self.requests.get_mut(place) {
            self.uncounted += u32::from(!request.is_uncounted);
            request.is_uncounted = true;
        }
    }

    /// The end of the connection need not wait for a request.
    pub(crate) fn set_quiet(&mut self, place: Place) {
        if let Some(request) = self.requests.get_mut(place) {
            self.quiet += u32::from(!request.is_quiet);
            request.is_quiet = true;
        }
    }

    /// How many requests count towards the limit.
    pub(crate) const fn counted(&self) -> u32 {
        self.requests.len() - self.uncounted
    }

    /// Whether there are no requests but such as the end of the connection need not wait for.
    pub(crate) const fn is_quiet(&self) -> bool {
        self.requests.len() == self.quiet
    }

    /// Releases memory that nothing is in.
    pub(crate) fn release(&mut self) {
        self.requests.release();
        self.deadlines.release();
        if self.few.polls.is_empty() && self.few.undated.is_empty() {
            self.few = LazyBox::EMPTY;
        }
    }

    /// A request is about to be taken out.
    fn forget(&mut self, place: Place) {
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
    /// The clock that timers run on.
    pub(crate) const fn clock(&self) -> &Clock {
        &self.clock
    }

    /// The same, to be stopped or to be told the time.
    pub(crate) const fn clock_mut(&mut self) -> &mut Clock {
        &mut self.clock
    }

    /// Says what a request waits for from now on. Without a time the timers begin when the clock goes on, or with the
    /// next [`date`](Self::date).
    pub(crate) fn wait(&mut self, place: Place, wait: Wait, now: Option<Instant>) {
        // Without a time the clock stands still, or the timers have to be dated.
        let time = self.clock.at(now.unwrap_or_else(|| self.clock.last()));
        let Some(request) = self.requests.get_mut(place) else { return };
        let timers = &mut request.timers;
        match wait {
            Wait::Answer => {
                timers.retry_at = None;
                timers.idle_at = timers.idle.map(|idle| time + idle);
            }
            Wait::Retry(after) => {
                timers.idle_at = None;
                timers.retry_at = after.map(|after| time + after);
            }
            Wait::End => timers.retry_at = None,
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
            self.pause_for_ever(place);
        }
        self.retime(place);
    }

    /// It is this late, for the requests that did not know that.
    pub(crate) fn date(&mut self, now: Instant) {
        let time = self.clock.at(now);
        while self.has_undated() {
            let Some((place, total)) = self.few.undated.pop_front() else { return };
            if let Some(request) = self.requests.get_mut(place) {
                let timers = &mut request.timers;
                timers.idle_at = timers.idle.map(|idle| time + idle);
                timers.total_at = total.map(|total| time + total).or(timers.total_at);
                self.retime(place);
            }
        }
    }

    /// Whether there are requests that do not know how late it is.
    pub(crate) fn has_undated(&self) -> bool {
        !self.few.undated.is_empty()
    }

    /// The clock may stand still for a request for however long it does.
    pub(crate) fn pause_for_ever(&mut self, place: Place) {
        if let Some(request) = self.requests.get_mut(place) {
            request.timers.pause = None;
            self.pass_pausing(place);
        }
    }

    /// Something is to be done about a request at this time, or immediately.
    pub(crate) fn expire_now(&mut self, place: Place) {
        if let Some(id) = self.requests.id(place) {
            self.deadlines.set(place.index, id, Instant::EPOCH);
        }
    }

    /// When the first request is due, on the real clock; `None` if that is never or the clock stands still before.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.deadlines.first().and_then(|(at, _)| self.clock.when(at))
    }

    /// The first request that is due.
    pub(crate) fn due(&self, now: Instant) -> Option<Place> {
        let time = self.clock.at(now);
        let (_, index) = self.deadlines.first().filter(|(at, _)| *at <= time)?;
        self.requests.place_of(index)
    }

    /// Whether another request is due as well.
    pub(crate) fn has_second_due(&self, now: Instant) -> bool {
        self.deadlines.second().is_some_and(|second| second <= self.clock.at(now))
    }

    /// Whether a request is due.
    pub(crate) fn is_due(&self, place: Place, now: Instant) -> bool {
        let deadline = self.requests.get(place).and_then(|request| request.timers.deadline());
        deadline.is_some_and(|deadline| deadline <= self.clock.at(now))
    }

    /// Whether a request is to be made again now.
    pub(crate) fn is_retry_due(&self, place: Place, now: Instant) -> bool {
        let retry_at = self.requests.get(place).and_then(|request| request.timers.retry_at);
        retry_at.is_some_and(|retry_at| retry_at <= self.clock.at(now))
    }

    /// Which timer of a request that is due was the first to expire; at the same time, the one that progress cannot move.
    pub(crate) fn expired(&self, place: Place) -> Expired {
        let timers = self.requests.get(place).map(|request| request.timers).unwrap_or_default();
        let is_total =
            timers.total_at.is_some_and(|total| timers.idle_at.is_none_or(|idle| total <= idle));
        if is_total { Expired::Total } else { Expired::Idle }
    }

    /// When the clock will have stood still too long for the first request, and which one that is. The oldest has
    /// waited longest.
    pub(crate) fn next_pause_end(&self) -> Option<(Instant, Place)> {
        let place = self.requests.place_of(self.first_pausing?)?;
        let timers = &self.requests.get(place)?.timers;
        let most = timers.pause?.saturating_add(timers.lag);
        Some((self.clock.when_lag_is(most)?, place))
    }

    /// Something is to be done about a request at this time of the real clock.
    pub(crate) fn poll_at(&mut self, place: Place, at: Instant) {
        if let Some(id) = self.requests.id(place) {
            self.few.polls.set(place.index, id, at);
        }
    }

    /// Nothing is to be done about a request by the real clock.
    pub(crate) fn stop_polling(&mut self, place: Place) {
        if !self.few.polls.is_empty() {
            self.few.polls.clear(place.index);
        }
    }

    /// When the first request is to be polled.
    pub(crate) fn next_poll(&self) -> Option<Instant> {
        self.few.polls.first().map(|(at, _)| at)
    }

    /// Takes the next request that is to be polled now.
    pub(crate) fn take_poll(&mut self, now: Instant) -> Option<Place> {
        while let Some((_, index)) = self.few.polls.first().filter(|(at, _)| *at <= now) {
            self.few.polls.clear(index);
            if let Some(place) = self.requests.place_of(index) {
                return Some(place);
            }
        }
        None
    }

    /// Puts the deadline that the timers of a request name into the heap.
    fn retime(&mut self, place: Place) {
        let deadline = self.requests.get(place).and_then(|request| request.timers.deadline());
        match (deadline, self.requests.id(place)) {
            (Some(deadline), Some(id)) => self.deadlines.set(place.index, id, deadline),
            _ => self.deadlines.clear(place.index),
        }
    }

    /// Goes on to the next request for which the clock may stand still for so long only, if this one is the first.
    fn pass_pausing(&mut self, place: Place) {
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
    /// Whether the timers of a request are in the heap, and whether its idle time runs.
    pub(crate) fn checked_timers(&self, place: Place) -> (bool, bool, bool) {
        let Some(request) = self.requests.get(place) else { return Default::default() };
        let timers = &request.timers;
        let is_in_heap = self.deadlines.of(place.index) == timers.deadline();
        (is_in_heap, timers.idle_at.is_some(), timers.pause.is_some())
    }

    /// Whether a request is going to be made again by itself.
    #[cfg(any(call_table, fuzzing))]
    pub(crate) fn retries(&self, place: Place) -> bool {
        self.requests.get(place).is_some_and(|request| request.timers.retry_at.is_some())
    }
}

#[cfg(test)]
#[path = "outgoing_tests.rs"]
mod tests;
