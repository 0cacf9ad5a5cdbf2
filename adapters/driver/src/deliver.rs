//! Delivers the input of a connection to its machine.

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use mcp_sansio::{Cause, Frame, Inbox, IncomingId, Instant, Phase, Received};

use crate::machine::Machine;
use crate::machine::sealed::DriverEvent;
use crate::requests::Admission;
use crate::tasks::SharedTasks;
use crate::trace;
use crate::wire::{Opening, State, Wire};

/// After how many messages others get their turn with the machine.
const MOST_AT_ONCE: usize = 64;

/// How long to wait for room that handlers take of which none returns. Then requests are refused: such handlers may wait
/// for what comes behind, such as an answer of the peer.
const HANDLERS_PATIENCE: Duration = Duration::from_millis(250);

/// The part of the time to drain that requests wait for handlers of which none returns. With the default, both together
/// are less than the 2 s after which the official clients kill their servers.
const LAST_REQUESTS: u32 = 4;

/// Somebody who reads, and cannot go on.
pub(crate) struct Reader {
    waker: Waker,
    waits_for: ReaderWait,
}

/// What reading waits for.
#[derive(Clone, Copy)]
enum ReaderWait {
    /// Room for the next request: fewer requests, or bytes, than there were. Handlers that run and do not return are
    /// waited for until then.
    Room { inbound: usize, kept: usize, unsent: usize, until: Option<Instant> },
    /// That every request has a handler, at most until then.
    Handlers { until: Instant },
}

impl<M: Machine> Wire<M> {
    /// Hands what is in an inbox to the machine. Pending if a request has to wait there because there is no room for
    /// it: whoever polls is woken when there may be.
    pub(crate) fn poll_take(
        self: &Arc<Self>,
        inbox: &mut Inbox,
        context: &Context<'_>,
    ) -> Poll<()> {
        let principal = self.tasks.as_ref().map(SharedTasks::principal).unwrap_or_default();
        while inbox.has_next() {
            let received = Received::from(self.clock.now()).principal(principal);
            let has_room = self.act(|state| {
                for _ in 0..MOST_AT_ONCE {
                    let Some(frame) = inbox.peek() else { break };
                    if !state.has_room_for(&frame) {
                        return false;
                    }
                    self.take_one(state, inbox, received);
                }
                true
            });
            if has_room {
                continue;
            }
            if self.wait_for_room(inbox, context) {
                return Poll::Pending;
            }
            // The machine refuses it if there is still no room.
            self.act(|state| self.take_one(state, inbox, received));
        }
        Poll::Ready(())
    }

    #[inline]
    fn take_one(self: &Arc<Self>, state: &mut State<M>, inbox: &mut Inbox, received: Received) {
        let Some(frame) = inbox.next() else { return };
        let bytes = frame.bytes().len();
        match state.machine.receive(frame, received, &mut state.out) {
            None => {}
            // What comes most often is not moved more than it has to be.
            Some(DriverEvent::Request(id, request)) => self.ask(state, (id, request), None),
            Some(event) => self.deliver(state, event, bytes),
        }
    }

    /// Whether the next message has to wait, now that everything that could be done has been. Then whoever polls is woken.
    /// Otherwise there is room, or none can be hoped for.
    fn wait_for_room(self: &Arc<Self>, inbox: &mut Inbox, context: &Context<'_>) -> bool {
        let mut state = self.lock();
        let Some(frame) = inbox.peek() else { return false };
        if state.has_room_for(&frame) {
            return false;
        }
        let (now, unsent) = (self.clock.now(), state.out.unsent_bytes());
        let mut until = None;
        if unsent == 0 && !state.requests.has_waiting() {
            until = Some(state.requests.wait_until(now, HANDLERS_PATIENCE));
        }
        if until.is_some_and(|until| until <= now) {
            return false;
        }
        let counts = state.machine.counts();
        let (inbound, kept) = (counts.inbound, counts.kept_bytes);
        let waits_for = ReaderWait::Room { inbound, kept, unsent, until };
        let reader = Reader { waker: context.waker().clone(), waits_for };
        let old = state.reader.replace(Box::new(reader));
        // Whoever keeps the time has to know of it.
        self.release(state);
        drop(old);
        true
    }

    /// Says that the input has ended, once every request has a handler: from then on these have as long as the
    /// configuration gives them. Pending until then, but not while no handler returns for a quarter of that time.
    pub(crate) fn poll_end_of_input(
        self: &Arc<Self>,
        ended: &mut Option<io::Result<()>>,
        context: &Context<'_>,
    ) -> Poll<()> {
        let mut state = self.lock();
        let waits =
            matches!(ended, Some(Ok(()))) && state.is_open() && state.requests.has_waiting();
        let now = self.clock.now();
        let until = state.requests.wait_until(now, self.patience / LAST_REQUESTS);
        if waits && now < until {
            let waits_for = ReaderWait::Handlers { until };
            let reader = Reader { waker: context.waker().clone(), waits_for };
            let old = state.reader.replace(Box::new(reader));
            // Whoever keeps the time has to know of it.
            self.release(state);
            drop(old);
            return Poll::Pending;
        }
        drop(state);
        match ended.take() {
            Some(Err(error)) => self.fail(Cause::ReadFailed, error),
            _ => self.disconnected(Cause::EndOfInput),
        }
        Poll::Ready(())
    }

    /// The connection is over, or its input is.
    pub(crate) fn disconnected(self: &Arc<Self>, cause: Cause) {
        trace::disconnected(cause);
        self.with(|machine, _, now| machine.disconnected(cause, now));
    }

    /// Passes on what has happened. It holds so many bytes of the peer.
    pub(crate) fn deliver(
        self: &Arc<Self>,
        state: &mut State<M>,
        event: DriverEvent<M>,
        bytes: usize,
    ) {
        match event {
            DriverEvent::Request(id, request) => {
                self.ask(state, (id, request), None);
            }
            DriverEvent::Cancelled(id) => cancelled(state, id),
            DriverEvent::Progress(update) => state.after.wake(state.calls.step(update)),
            DriverEvent::Page(page) => state.calls.page(page.call, page.result),
            DriverEvent::Restarted(restarted) => state.calls.restart(restarted.call),
            DriverEvent::Ended(ended) => {
                trace::call_ended(ended.call, &ended.outcome);
                let waker = state.calls.end(ended.call, ended.outcome, ended.stale);
                state.after.wake(waker);
            }
            DriverEvent::TaskAnswer(answer) => self.task_answered(&answer),
            DriverEvent::Opening(event) => match &mut state.opening {
                Opening::Waited(waker) => {
                    state.after.wake(waker.take());
                    state.opening = Opening::Done(Box::new(event));
                }
                Opening::Told | Opening::Done(_) => state.events.push(event, bytes),
            },
            DriverEvent::Event(event) if state.http.is_last_word_known::<M>(&event) => {}
            DriverEvent::Event(event) => {
                trace::event::<M>(&event);
                state.events.push(event, bytes);
            }
        }
    }

    /// Has a request served, if it is admitted.
    #[inline]
    pub(crate) fn ask(
        &self,
        state: &mut State<M>,
        (id, request): (IncomingId, M::Request),
        admission: Option<&mut Admission<'_>>,
    ) {
        if let Some(host_request) = M::host_request(&request).filter(|_| self.tasks.is_some()) {
            return state.host_requests.push(id, host_request);
        }
        // A request that comes again with its input has been admitted before.
        let permit = match (state.requests.input_came(id), admission) {
            (None, Some(admission)) => admission().map(Some),
            (permit, _) => Ok(permit),
        };
        match permit {
            Ok(permit) => state.requests.push(id, request, permit),
            Err(text) => state.unanswered.push((id, text)),
        }
    }

    /// How opening the connection went, told once.
    pub(crate) fn poll_opening(&self, context: &Context<'_>) -> Poll<M::Event> {
        let mut state = self.lock();
        let waiting = Opening::Waited(Some(context.waker().clone()));
        let old = match std::mem::replace(&mut state.opening, waiting) {
            Opening::Done(event) => {
                let waiting = std::mem::replace(&mut state.opening, Opening::Told);
                drop(state);
                drop(waiting);
                return Poll::Ready(*event);
            }
            old => old,
        };
        drop(state);
        drop(old);
        Poll::Pending
    }
}

impl<M: Machine> State<M> {
    /// Whether a message can be taken in now. When everything is over, nothing is kept of it.
    fn has_room_for(&self, frame: &Frame<'_>) -> bool {
        self.machine.phase() == Phase::Closed
            || self.machine.has_room_for(frame, self.out.unsent_bytes())
    }

    pub(crate) fn is_open(&self) -> bool {
        !matches!(self.machine.phase(), Phase::Draining | Phase::Closed)
    }

    /// When whoever reads goes on in any case.
    pub(crate) fn reader_deadline(&self) -> Option<Instant> {
        match self.reader.as_ref()?.waits_for {
            ReaderWait::Handlers { until } => Some(until),
            ReaderWait::Room { until, .. } => until,
        }
    }

    /// Whoever reads, if that may go on.
    pub(crate) fn take_reader(&mut self, now: Instant) -> Option<Waker> {
        let may_go_on = match self.reader.as_ref()?.waits_for {
            _ if self.machine.phase() == Phase::Closed => true,
            ReaderWait::Room { inbound, kept, unsent, until } => {
                let counts = self.machine.counts();
                until.is_some_and(|until| until <= now)
                    || counts.inbound < inbound
                    || counts.kept_bytes < kept
                    || self.out.unsent_bytes() < unsent
            }
            ReaderWait::Handlers { until } => {
                until <= now || !self.requests.has_waiting() || !self.is_open()
            }
        };
        if may_go_on { self.reader.take().map(|reader| reader.waker) } else { None }
    }
}

/// The answer to a request is not wanted any more, so neither are those to the calls that were made because
/// of it.
fn cancelled<M: Machine>(state: &mut State<M>, id: IncomingId) {
    state.after.more().signals.extend(state.requests.cancel(id));
    let calls: Vec<_> = state.machine.calls_made_for(id).collect();
    for call in calls {
        let reason = Some("the request that it was made for was cancelled");
        if state.machine.cancel(call, reason, &mut state.out).is_ok() {
            state.after.wake(state.calls.cancelled(call));
        }
    }
}
