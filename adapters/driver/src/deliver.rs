//! Passes the input of a connection to its machine, and the resulting events on.

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use mcp_sansio::event::CallEnded;
use mcp_sansio::json::Str;
use mcp_sansio::task::TaskSharing;
use mcp_sansio::{Cause, Frame, Inbox, IncomingId, Instant, Phase, Received};

use crate::exchange::Exchange;
use crate::machine::Machine;
use crate::machine::sealed::DriverEvent;
use crate::output::Writing;
use crate::requests::{Admission, Admitted, Cancelled};
use crate::run::Job;
use crate::tasks::SharedTasks;
use crate::trace;
use crate::wire::{Opening, State, Wire};

/// The number of messages after which the lock of the machine is released once, for other threads.
const MOST_AT_ONCE: usize = 64;

/// The longest wait for room while handlers occupy it and none returns. Then requests are refused: such handlers
/// may wait for a message further back in the input, such as a response of the peer.
const HANDLERS_PATIENCE: Duration = Duration::from_millis(250);

/// The fraction of the drain time that requests wait for a handler while none returns. With the default, both times
/// together are less than the 2 s after which the official clients kill their servers.
const LAST_REQUESTS: u32 = 4;

/// The waker of a reader that waits.
pub(crate) struct Reader {
    waker: Waker,
    waits_for: ReaderWait,
}

/// The condition that a reader waits for.
#[derive(Clone, Copy)]
enum ReaderWait {
    /// Room for the next request: fewer requests, kept bytes or unsent bytes than these. If the handlers that occupy
    /// the room may wait for a message behind that request, the wait ends at `until`. A first call of this side begins
    /// such a wait.
    Room { inbound: usize, kept: usize, unsent: usize, calls: bool, until: Option<Instant> },
    /// Every request has a handler. The wait ends at `until` in any case.
    Handlers { until: Instant },
}

impl<M: Machine> Wire<M> {
    /// Passes the messages of an inbox to the machine. Pending if a request has to wait in the inbox for room; the
    /// waker is called when there may be room.
    pub(crate) fn poll_take(
        self: &Arc<Self>,
        inbox: &mut Inbox,
        context: &Context<'_>,
    ) -> Poll<()> {
        let principal = self.tasks.as_ref().map(SharedTasks::principal).unwrap_or_default();
        while inbox.has_next() {
            let has_room = self.act_at(|state, now| {
                let received = Received::from(now).principal(principal);
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
            // The message needs no room, or there is room now, or the machine refuses the request.
            self.act_at(|state, now| {
                self.take_one(state, inbox, Received::from(now).principal(principal));
            });
        }
        Poll::Ready(())
    }

    /// Notes that bytes have been read into the inbox. The part of a message is a sign of life, too: a large message of
    /// a slow peer may take longer than a ping.
    pub(crate) fn after_read(&self, inbox: &mut Inbox, bytes: usize) {
        inbox.filled(bytes);
        if !inbox.has_next() {
            let mut state = self.lock();
            let now = self.clock.now();
            state.machine.on_bytes_received(now);
        }
    }

    #[inline]
    fn take_one(self: &Arc<Self>, state: &mut State<M>, inbox: &mut Inbox, received: Received) {
        let Some(frame) = inbox.next() else { return };
        state.output.is_request_next = false;
        let bytes = frame.bytes().len();
        let event = state.machine.take_in(frame, received, &mut state.out);
        state.out.watch(event.as_ref());
        M::pass_on(
            event,
            state,
            |state, request| self.ask(state, request, None, Self::begin),
            |state, event| self.deliver(state, event, bytes),
        );
    }

    /// Whether the next message has to wait, now that all other work is done; if so, the waker of `context` is
    /// registered. Otherwise there is room, or waiting longer is pointless.
    fn wait_for_room(self: &Arc<Self>, inbox: &mut Inbox, context: &Context<'_>) -> bool {
        let mut state = self.lock();
        let Some(frame) = inbox.peek() else { return false };
        if state.has_room_for(&frame) {
            return false;
        }
        if !state.output.is_request_next && !state.machine.in_flight().needs_room(&frame) {
            return false;
        }
        state.output.is_request_next = true;
        let (now, unsent) = (self.clock.now(), state.out.unsent_bytes());
        let counts = state.machine.in_flight().counts();
        let (inbound, kept) = (counts.inbound, counts.kept_bytes);
        let calls = 0 < counts.outbound;
        let mut until = None;
        // The input may hold a message that the handlers wait for, or the response to a call of this side.
        if calls || (unsent == 0 && !state.requests.has_waiting()) {
            until = Some(self.end_of_wait(&mut state, now));
        }
        if until.is_some_and(|until| until <= now) {
            state.requests.give_up_wait();
            return false;
        }
        let waits_for = ReaderWait::Room { inbound, kept, unsent, calls, until };
        let reader = Reader { waker: context.waker().clone(), waits_for };
        let old = state.reader.replace(Box::new(reader));
        // The timer task has to learn the new deadline.
        self.release(state);
        drop(old);
        true
    }

    /// Returns the time until which a request waits for room, although a message behind it may be what makes room.
    fn end_of_wait(&self, state: &mut State<M>, now: Instant) -> Instant {
        let is_written = state.out.unsent_bytes() == 0 && state.output.writing != Writing::Busy;
        if is_written && !state.requests.has_waiting() {
            return state.requests.wait_until(now, HANDLERS_PATIENCE);
        }
        // The peer may read the output, or a waiting request may get its handler.
        let patience = self.patience.max(HANDLERS_PATIENCE);
        let until = state.requests.wait_until(now, patience);
        let last_write = state.output.last_write.filter(|_| !is_written);
        last_write.map_or(until, |last| until.max(last + patience))
    }

    /// Reports the end of the input to the machine, once every request has a handler. From then on, handlers have
    /// the time that the configuration allows. Pending until then, at most until no handler has returned and the peer
    /// has read nothing for a quarter of that time.
    pub(crate) fn poll_end_of_input(
        self: &Arc<Self>,
        ended: &mut Option<io::Result<()>>,
        context: &Context<'_>,
    ) -> Poll<()> {
        let mut state = self.lock();
        let waits =
            matches!(ended, Some(Ok(()))) && state.is_open() && state.requests.has_waiting();
        let (now, patience) = (self.clock.now(), self.patience / LAST_REQUESTS);
        let mut until = state.requests.wait_until(now, patience);
        if state.out.is_congested() {
            // The requests wait for the peer to read.
            until = state.output.last_write.map_or(until, |last| until.max(last + patience));
        }
        if waits && now < until {
            let waits_for = ReaderWait::Handlers { until };
            let reader = Reader { waker: context.waker().clone(), waits_for };
            let old = state.reader.replace(Box::new(reader));
            // The timer task has to learn the new deadline.
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

    /// Notes that the connection, or its input, has ended.
    pub(crate) fn disconnected(self: &Arc<Self>, cause: Cause) {
        trace::disconnected(cause);
        self.with(|machine, _, now| machine.disconnected(cause, now));
    }

    /// Passes an event on to its recipient. `bytes` is the size of the peer's data that the event holds.
    pub(crate) fn deliver(
        self: &Arc<Self>,
        state: &mut State<M>,
        event: DriverEvent<M>,
        bytes: usize,
    ) {
        match event {
            DriverEvent::Request(request) => self.ask(state, request, None, Self::begin),
            DriverEvent::Cancelled(event) if state.requests.has(event.id) => {
                cancelled(state, event.id, event.reason.as_ref());
            }
            DriverEvent::Cancelled(event) => {
                // No event has reported a request that waits for room for its response.
                if state.host_requests.remove(event.id) {
                    return;
                }
                if let Some(tasks) = &self.tasks {
                    // It may wait for a task.
                    TaskSharing::of(&mut tasks.lock().tasks).request_cancelled(event.id);
                }
                cancelled(state, event.id, None);
                // No handler serves a subscription, so its end is an event. So is the end of a request that waits for input.
                state.events.push(M::cancelled(event), bytes);
            }
            DriverEvent::Progress(update) => state.after.wake(state.calls.step(update)),
            DriverEvent::Page(page) => state.calls.page(page.call, page.result),
            DriverEvent::Restarted(restarted) => state.calls.restart(restarted.call),
            DriverEvent::Ended(ended) => {
                trace::call_ended(&mut state.after, ended.call, &ended.outcome);
                let CallEnded { call, outcome, stale, status, .. } = ended;
                let waker = state.calls.end(call, outcome, (stale, status));
                state.after.wake(waker);
            }
            DriverEvent::TaskAnswer(answer) => self.task_answered(&answer),
            DriverEvent::Opening(event) => match &mut state.opening {
                Opening::Waited(waker) => {
                    state.after.wake(waker.take());
                    state.opening = Opening::Done(Box::new(event));
                }
                Opening::Unawaited | Opening::Done(_) => state.events.push(event, bytes),
            },
            DriverEvent::Event(event) if state.http.is_last_word_known::<M>(&event) => {}
            DriverEvent::Event(event) => {
                trace::event::<M>(&mut state.after, &event);
                state.events.push(event, bytes);
            }
        }
    }

    /// Starts the handler of a request with `begin`, or queues the request, if it is admitted.
    #[inline(always)]
    pub(crate) fn ask(
        self: &Arc<Self>,
        state: &mut State<M>,
        request: M::Request,
        admission: Option<&mut Admission<'_>>,
        begin: impl FnOnce(&Arc<Self>, &mut State<M>, Admitted<M>),
    ) {
        let id = M::id(&request);
        if let Some(host_request) =
            state.machine.host_request(&request).filter(|_| self.tasks.is_some())
        {
            return state.host_requests.push(id, host_request);
        }
        // A request that is repeated with its input was admitted the first time.
        let permit = match (state.requests.input_came(id), admission) {
            (None, Some(admission)) => admission().map(Some),
            (permit, _) => Ok(permit),
        };
        match permit {
            Ok(permit) if self.may_start(state) && state.requests.take_slot() => {
                begin(self, state, Admitted { request, permit });
            }
            Ok(permit) => state.requests.push(Admitted { request, permit }),
            Err(text) => state.unanswered.push((id, text.into())),
        }
    }

    /// Starts the handler of a request, which has a slot.
    #[inline(always)]
    pub(crate) fn begin(self: &Arc<Self>, state: &mut State<M>, admitted: Admitted<M>) {
        let exchange = self.exchange(state, admitted);
        state.jobs.push(Job::Serve(exchange));
    }

    /// Creates the exchange of a request that has a slot.
    #[inline(always)]
    pub(crate) fn exchange(
        self: &Arc<Self>,
        state: &mut State<M>,
        admitted: Admitted<M>,
    ) -> Exchange<M> {
        let id = admitted.id();
        trace::request::<M>(&mut state.after, id, &admitted.request);
        let exchange = Exchange::new(admitted, self);
        state.requests.runs(id, exchange.signalled());
        exchange
    }

    /// Returns the event that reports how opening the connection went. The event is returned once.
    pub(crate) fn poll_opening(&self, context: &Context<'_>) -> Poll<M::Event> {
        let mut state = self.lock();
        let waiting = Opening::Waited(Some(context.waker().clone()));
        let old = match std::mem::replace(&mut state.opening, waiting) {
            Opening::Done(event) => {
                let waiting = std::mem::replace(&mut state.opening, Opening::Unawaited);
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
    /// Whether the machine can take a message now. A closed machine takes every message, and keeps none.
    fn has_room_for(&self, frame: &Frame<'_>) -> bool {
        self.machine.phase() == Phase::Closed
            || self.machine.in_flight().has_room_for(frame, self.out.unsent_bytes())
    }

    pub(crate) fn is_open(&self) -> bool {
        !matches!(self.machine.phase(), Phase::Draining | Phase::Closed)
    }

    /// The time at which the reader continues in any case.
    pub(crate) fn reader_deadline(&self) -> Option<Instant> {
        match self.reader.as_ref()?.waits_for {
            ReaderWait::Handlers { until } => Some(until),
            ReaderWait::Room { until, .. } => until,
        }
    }

    /// Removes and returns the waker of the reader, if the reader may continue.
    pub(crate) fn take_reader(&mut self, now: Instant) -> Option<Waker> {
        let is_late = self.reader_deadline().is_some_and(|until| until <= now);
        let mut has_room = false;
        let may_go_on = match self.reader.as_ref()?.waits_for {
            _ if is_late || self.machine.phase() == Phase::Closed => true,
            ReaderWait::Room { inbound, kept, unsent, calls, .. } => {
                let counts = self.machine.in_flight().counts();
                has_room = counts.inbound < inbound || counts.kept_bytes < kept;
                has_room || (!calls && 0 < counts.outbound) || self.out.unsent_bytes() < unsent
            }
            ReaderWait::Handlers { .. } => !self.requests.has_waiting() || !self.is_open(),
        };
        if !may_go_on {
            return None;
        }
        let reader = self.reader.take()?;
        if !is_late {
            // The next wait is a new one.
            self.requests.end_wait(has_room);
        }
        Some(reader.waker)
    }
}

/// Handles the cancellation of a request by the peer: signals its handler, and cancels the calls that were made on
/// behalf of the request.
fn cancelled<M: Machine>(state: &mut State<M>, id: IncomingId, reason: Option<&Str<'_>>) {
    let Cancelled { signalled, permit } = state.requests.cancel(id);
    if let Some(permit) = permit {
        state.after.more().permits.push(permit);
    }
    if let Some(signalled) = signalled {
        let reason = reason.map(|reason| reason.to_str().into_owned());
        state.after.more().signals.push((signalled, reason));
    }
    let calls: Vec<_> = state.machine.in_flight().calls_made_for(id).collect();
    for call in calls {
        let reason = Some("the request that it was made for was cancelled");
        if state.machine.cancel(call, reason, &mut state.out).is_ok() {
            state.after.wake(state.calls.cancelled(call));
        }
    }
}
