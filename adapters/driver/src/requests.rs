//! The requests that wait for a handler, and the limit of running handlers.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Weak};
use std::time::Duration;

use mcp_sansio::{IncomingId, Instant};

use crate::extensions::Attachment;
use crate::machine::Machine;
use crate::signal::Signalled;

/// The most handlers that may run beyond the limit.
const MOST_LENT: usize = 1_024;

/// A slot of a limit that several connections share. A request holds it until it is refused or cancelled, or its
/// handler has ended. A request that waits for client input holds it, too. The handler finds its values.
pub type Permit = Arc<dyn Attachment>;

/// A function that requests a permit for one more request. If the limit is reached, it returns the text of the
/// error that refuses the request.
pub type Admission<'a> = dyn FnMut() -> Result<Permit, &'static str> + 'a;

/// The open requests of the peer, from the point of view of their handlers.
pub(crate) struct Requests<M: Machine> {
    most_running: usize,
    /// The waiting requests in order. A cancelled one leaves an empty slot.
    waiting: VecDeque<Option<Admitted<M>>>,
    /// The number of the first slot in `waiting`, and the number of empty slots.
    first: u64,
    cancelled: usize,
    /// The stages of waiting and running requests, indexed by their handles.
    stages: Vec<Option<(IncomingId, Stage)>>,
    running: usize,
    /// The number of handlers that have returned.
    returned: u64,
    /// State that few connections need.
    rest: Option<Box<Rest>>,
}

#[derive(Default)]
struct Rest {
    /// The wait for the next handler to return.
    wait: Option<Wait>,
    /// The running requests that do not count towards the limit, sorted.
    lent: Vec<IncomingId>,
    /// The permits of requests that are repeated once their clients have given the required input.
    without_input: HashMap<IncomingId, Permit>,
}

/// A wait for the next handler to return.
#[derive(Clone, Copy)]
struct Wait {
    /// The number of handlers that had returned when the wait began.
    returned: u64,
    since: Instant,
    /// Whether a request was refused after the wait. Further ones do not wait again until a handler returns.
    is_given_up: bool,
}

/// The stage of a request.
enum Stage {
    /// The request waits in the slot with this number.
    Waits(u64),
    /// The handler runs. The signal notifies it that the response is no longer wanted.
    Runs(Weak<dyn Signalled>),
}

/// An admitted request, which waits for its handler or is in it. It is large and moves as a whole.
pub(crate) struct Admitted<M: Machine> {
    pub(crate) request: M::Request,
    pub(crate) permit: Option<Permit>,
}

impl<M: Machine> Admitted<M> {
    /// Returns the handle of the request.
    pub(crate) fn id(&self) -> IncomingId {
        M::id(&self.request)
    }
}

/// The parts of a cancelled request that outlive it.
#[derive(Default)]
#[must_use = "drop the permit without the lock of the connection"]
pub(crate) struct Cancelled {
    /// The signal of the handler, if it runs.
    pub(crate) signalled: Option<Weak<dyn Signalled>>,
    /// The permit, if no handler runs.
    pub(crate) permit: Option<Permit>,
}

/// The capacity of `stages` that is kept while the table is empty: enough for one request at a time.
const KEPT_STAGES: usize = 4;

/// The number of slots by which the list of waiting requests grows at least.
const MIN_SLOTS: usize = 4;

impl<M: Machine> Requests<M> {
    /// Creates a table in which at most `most_running` handlers run at the same time. The machine limits the number
    /// of waiting requests.
    pub(crate) fn new(most_running: usize) -> Self {
        Self {
            most_running: most_running.max(1),
            waiting: VecDeque::new(),
            first: 0,
            cancelled: 0,
            stages: Vec::new(),
            running: 0,
            returned: 0,
            rest: None,
        }
    }

    /// Adds a request that waits for its handler.
    pub(crate) fn push(&mut self, admitted: Admitted<M>) {
        if self.waiting.len() == self.waiting.capacity() {
            self.make_slots();
        }
        let number = self.first + self.waiting.len() as u64;
        self.set_stage(admitted.id(), Stage::Waits(number));
        self.waiting.push_back(Some(admitted));
    }

    /// Makes room for more slots: removes many empty ones, or grows by a quarter. A slot is large, so doubling would
    /// take a large part of the memory that a connection may use.
    #[cold]
    fn make_slots(&mut self) {
        let slots = self.waiting.len();
        if slots < 8 * self.cancelled {
            self.close_ranks();
        } else {
            self.waiting.reserve_exact((slots / 4).max(MIN_SLOTS));
        }
    }

    fn set_stage(&mut self, id: IncomingId, stage: Stage) {
        let index = id.index();
        if self.stages.len() <= index {
            self.stages.resize_with(index + 1, || None);
        }
        if let Some(known) = self.stages.get_mut(index) {
            *known = Some((id, stage));
        }
    }

    fn stage(&mut self, id: IncomingId) -> Option<&mut Option<(IncomingId, Stage)>> {
        let stage = self.stages.get_mut(id.index())?;
        stage.as_ref().is_some_and(|(known, _)| *known == id).then_some(stage)
    }

    /// Whether the request waits for its handler, or its handler runs and has not responded.
    pub(crate) fn has(&self, id: IncomingId) -> bool {
        let stage = self.stages.get(id.index());
        stage.is_some_and(|stage| stage.as_ref().is_some_and(|(known, _)| *known == id))
    }

    /// Whether no handler runs and no request waits for one.
    #[cfg(feature = "http")]
    pub(crate) fn is_idle(&self) -> bool {
        self.counts_none() && self.rest.as_ref().is_none_or(|rest| rest.lent.is_empty())
    }

    /// Releases memory if no handler runs and no request waits for one. Returns whether that is the case.
    #[cfg(feature = "http")]
    pub(crate) fn release_if_idle(&mut self) -> bool {
        let is_idle = self.is_idle();
        if is_idle {
            self.release();
        }
        is_idle
    }

    /// Whether no counted handler runs and no request waits for one.
    fn counts_none(&self) -> bool {
        !self.has_waiting() && self.running == 0
    }

    fn release(&mut self) {
        self.first += self.waiting.len() as u64;
        self.cancelled = 0;
        (self.waiting, self.stages) = (VecDeque::new(), Vec::new());
    }

    /// Whether requests wait for a handler.
    pub(crate) fn has_waiting(&self) -> bool {
        self.cancelled < self.waiting.len()
    }

    /// Whether at most one handler runs and no request waits, so that no other response is about to follow.
    pub(crate) fn is_one_at_a_time(&self) -> bool {
        self.running <= 1 && !self.has_waiting()
    }

    /// Returns the time until which to wait for a handler to return. Every return starts the wait anew.
    pub(crate) fn wait_until(&mut self, now: Instant, patience: Duration) -> Instant {
        let returned = self.returned;
        let wait = &mut self.rest.get_or_insert_default().wait;
        let same = wait.filter(|wait| wait.returned == returned);
        let wait = wait.insert(same.unwrap_or(Wait { returned, since: now, is_given_up: false }));
        wait.since + patience
    }

    /// Notes that a request is refused after the wait of [`wait_until`](Self::wait_until).
    pub(crate) fn give_up_wait(&mut self) {
        if let Some(wait) = self.rest.as_mut().and_then(|rest| rest.wait.as_mut()) {
            wait.is_given_up = true;
        }
    }

    /// Ends that wait. One that was given up ends only if there is new room.
    pub(crate) fn end_wait(&mut self, has_room: bool) {
        if let Some(rest) = &mut self.rest {
            rest.wait = rest.wait.filter(|wait| wait.is_given_up && !has_room);
        }
    }

    /// Takes a slot for the handler of a request that is not in the table. Returns `false` if other requests are first or
    /// no other handler may run.
    pub(crate) fn take_slot(&mut self) -> bool {
        let has_slot = !self.has_waiting() && self.running < self.most_running;
        self.running += usize::from(has_slot);
        has_slot
    }

    /// Returns the next request to serve, if another handler may run.
    pub(crate) fn start(&mut self) -> Option<Admitted<M>> {
        if self.most_running <= self.running {
            return None;
        }
        while let Some(None) = self.waiting.front() {
            self.waiting.pop_front();
            self.first += 1;
            self.cancelled -= 1;
        }
        let next = self.waiting.pop_front()?;
        self.first += 1;
        self.running += 1;
        next
    }

    /// Notes that the handler of the request runs, and stores its signal.
    pub(crate) fn runs(&mut self, id: IncomingId, signalled: Weak<dyn Signalled>) {
        self.set_stage(id, Stage::Runs(signalled));
    }

    /// Keeps the permit of a request that is repeated later: the request was admitted and must not be refused once
    /// its client has given the input.
    pub(crate) fn wait_for_input(&mut self, id: IncomingId, permit: Option<Permit>) {
        if let Some(permit) = permit {
            self.rest.get_or_insert_default().without_input.insert(id, permit);
        }
    }

    /// Returns the permit of a request that is repeated with its input.
    pub(crate) fn input_came(&mut self, id: IncomingId) -> Option<Permit> {
        self.rest.as_mut()?.without_input.remove(&id)
    }

    /// Notes the response from the handler run with this signal. Another run for the same request may already have
    /// started, with the required input.
    pub(crate) fn answered(&mut self, id: IncomingId, signalled: *const ()) {
        if let Some(stage) = self.stage(id)
            && matches!(stage, Some((_, Stage::Runs(known))) if known.as_ptr().cast() == signalled)
        {
            *stage = None;
        }
    }

    /// Cancels a request. A waiting request is not run.
    pub(crate) fn cancel(&mut self, id: IncomingId) -> Cancelled {
        // A request that waits for input neither runs nor waits for a handler.
        let mut cancelled = Cancelled { permit: self.input_came(id), signalled: None };
        match self.stage(id).and_then(Option::take) {
            Some((_, Stage::Runs(signalled))) => cancelled.signalled = Some(signalled),
            Some((_, Stage::Waits(number))) => {
                let permit = self.take_waiting(number).and_then(|admitted| admitted.permit);
                cancelled.permit = cancelled.permit.or(permit);
            }
            None => {}
        }
        cancelled
    }

    /// Removes the request from the slot with this number.
    fn take_waiting(&mut self, number: u64) -> Option<Admitted<M>> {
        let place = usize::try_from(number - self.first).ok()?;
        let admitted = self.waiting.get_mut(place)?.take()?;
        self.cancelled += 1;
        if self.waiting.len() < 2 * self.cancelled {
            self.close_ranks();
        }
        Some(admitted)
    }

    /// Removes the empty slots of cancelled requests: a peer could create any number of them while no handler
    /// returns.
    fn close_ranks(&mut self) {
        self.waiting.retain(Option::is_some);
        self.cancelled = 0;
        let ids: Vec<_> = self.waiting.iter().flatten().map(Admitted::id).collect();
        for (number, id) in (self.first..).zip(ids) {
            self.set_stage(id, Stage::Waits(number));
        }
    }

    /// Frees the slot of a request whose handler continues: another handler may run beside it, unless too many have
    /// done so. The request keeps its permit, which limits handlers.
    pub(crate) fn lend(&mut self, id: IncomingId) {
        let lent = &mut self.rest.get_or_insert_default().lent;
        if lent.len() < MOST_LENT
            && let Err(at) = lent.binary_search(&id)
        {
            lent.insert(at, id);
            // The caller holds the slot, so this handler counts as running.
            self.running -= 1;
        }
    }

    pub(crate) fn finished(&mut self, id: IncomingId) {
        self.returned += 1;
        let lent = self.rest.as_mut().map(|rest| &mut rest.lent);
        match lent.and_then(|lent| lent.binary_search(&id).ok().map(|at| lent.remove(at))) {
            Some(_) => {}
            // Each slot is counted once when taken and freed once.
            None => self.running -= 1,
        }
        // A burst of requests has grown the table.
        if KEPT_STAGES < self.stages.capacity() && self.counts_none() {
            self.release();
        }
    }

    /// Removes all waiting requests at the end of the connection. Returns their permits: see [`Cancelled`].
    pub(crate) fn clear(&mut self) -> Vec<Permit> {
        self.first += self.waiting.len() as u64;
        self.cancelled = 0;
        let waiting = self.waiting.drain(..).flatten();
        let mut permits: Vec<_> = waiting.filter_map(|admitted| admitted.permit).collect();
        if let Some(rest) = &mut self.rest {
            permits.extend(rest.without_input.drain().map(|(_, permit)| permit));
        }
        permits
    }
}

#[cfg(test)]
#[path = "requests_tests.rs"]
mod tests;
