//! The timers of a connection: deadlines of calls, keep-alive, draining.

use core::time::Duration;

use super::call_capacity::forget_abandoned;
use super::call_cx::Next;
use super::call_state::CallState;
use super::cancel::Cancellation;
use super::common_event::CommonEvent;
use super::cx::Cx;
use super::dispatcher::Dispatcher;
use super::event::{Cause, Expiry, Outcome};
use super::for_role::ForRole;
use super::inputs::InputRequested;
use super::listens::Listens;
use super::outgoing_request::{OutgoingRequest, Owner};
use super::resumed::Resumed;
use crate::handle::CallId;
use crate::lazy_box::LazyBox;
use crate::rpc::{Expired, GivenUp, Outgoing, Wait};
use crate::session::Phase;
use crate::time::Instant;

/// The extra time of a `tasks/cancel` whose timeout has passed before it was sent.
const EXTRA_TIME: Duration = Duration::from_secs(60);

/// The result of handling a timeout.
#[derive(Debug)]
pub(crate) enum Elapsed {
    /// An event that both roles have.
    Event(CommonEvent<'static>),
    /// The response to `initialize` or to the probe did not arrive in time.
    HandshakeTimedOut,
    /// The connection ended before the response to `initialize` or to the probe arrived.
    HandshakeLost {
        /// Why the connection ended.
        cause: Cause,
        /// Whether no byte of the request was sent.
        is_unsent: bool,
    },
    /// An input that the peer requires before it responds to a call.
    Input(InputRequested),
    /// The role has an event to return.
    News,
    /// A request that can proceed because no input was requested from the peer.
    Resumed(Resumed),
}

/// # Time
impl Dispatcher {
    /// Returns the next time at which `handle_timeout` has work: at once if outcomes wait to be returned.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let outgoing = &self.serving.calls.messages.outgoing;
        if self.has_outcomes() || outgoing.clock().waits_for_tick() {
            return Some(Instant::EPOCH);
        }
        // Drivers call this after every input, and usually none of these timers exists.
        let mut next = self.messages().lifecycle.drain_deadline();
        if !outgoing.is_empty() {
            let pause_end = outgoing.next_pause_end().map(|(at, _)| at);
            next = Instant::earlier(next, Instant::earlier(outgoing.next_due(), pause_end));
            next = Instant::earlier(next, outgoing.next_poll());
        }
        if let Some(deadlines) = self.messages().incoming.progress_deadlines.allocated() {
            next = Instant::earlier(next, deadlines.first().map(|(at, _)| at));
        }
        if self.keep_alive.allocated().is_some() {
            next = Instant::earlier(next, self.silence_deadline());
        }
        next
    }

    /// Whether `handle_timeout` has anything to do at this time. Drivers ask this after every input.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        let listens = self.serving.listens.allocated();
        self.poll_timeout().is_some_and(|due| due <= now)
            || listens.is_some_and(Listens::has_pending)
            || self.messages().lifecycle.is_unobserved()
    }

    /// Handles the next timer that is due, if any.
    pub(crate) fn handle_timeout(&mut self, cx: &mut Cx<'_, '_>) -> Option<Elapsed> {
        #[cfg(any(call_table, fuzzing))]
        self.serving.calls.check_calls();
        let now = cx.now();
        self.messages_mut().outgoing.clock_mut().tick(now);
        if !self.is_due(now) {
            return None;
        }
        self.serving.flush_listens(cx);
        if !self.serving.calls.index.unwanted.is_empty() {
            self.serving.calls.in_sessions().unsubscribe_unwanted(cx);
        }
        if self.messages().outgoing.has_undated() {
            self.messages_mut().outgoing.date(now);
        }
        if core::mem::take(&mut self.has_news) {
            return Some(Elapsed::News);
        }
        let mut elapsed = self.next_outcome(cx);
        if elapsed.is_none() && self.messages().lifecycle.phase != Phase::Closed {
            // A timer can itself cause an outcome, such as a call that cannot be made.
            elapsed = self.next_due(cx).or_else(|| self.next_outcome(cx));
        }
        if elapsed.is_none()
            && let Some(cause) = self.drained(now)
        {
            if cause == Cause::DrainDeadline {
                self.serving.refuse_unanswered(cx);
            }
            if !self.messages().incoming.batches.is_empty() {
                self.messages_mut().incoming.batches.send_all(cx.out);
                self.messages_mut().incoming.batches = LazyBox::EMPTY;
            }
            self.close(cause);
            elapsed = self.next_outcome(cx);
        }
        self.messages_mut().lifecycle.observe(cx.out);
        #[cfg(any(call_table, fuzzing))]
        self.serving.calls.check_calls();
        elapsed
    }

    fn next_due(&mut self, cx: &mut Cx<'_, '_>) -> Option<Elapsed> {
        self.messages_mut().incoming.send_due_progress(cx);
        if let Some(event) = self.serving.calls.next_poll(cx) {
            return Some(Elapsed::Event(event));
        }
        if let Some(elapsed) = self.next_expiry(cx) {
            return Some(elapsed);
        }
        if let Some(elapsed) = self.next_pause_expiry(cx) {
            return Some(elapsed);
        }
        let policy = cx.config.keep_alive?;
        if cx.now() < self.silence_deadline()? {
            return None;
        }
        let missed = self.keep_alive.due(&mut self.serving.calls.messages, cx, policy)?;
        if policy.close_after.is_some_and(|most| most <= missed) {
            self.close(Cause::Unresponsive);
        }
        Some(Elapsed::Event(CommonEvent::Unresponsive { missed }))
    }

    fn silence_deadline(&self) -> Option<Instant> {
        let pings = self.messages().session.rules().pings;
        let is_open = self.messages().lifecycle.phase.is_ready();
        if is_open && pings { self.keep_alive.deadline() } else { None }
    }

    fn next_pause_expiry(&mut self, cx: &mut Cx<'_, '_>) -> Option<Elapsed> {
        loop {
            let next = self.messages().outgoing.next_pause_end();
            let (_, place) = next.filter(|(at, _)| *at <= cx.now())?;
            if self.serving.calls.is_pending(CallId(place)) {
                return self
                    .serving
                    .calls
                    .expire(cx, CallId(place), Expiry::Paused)
                    .map(Elapsed::Event);
            }
            // A request of the machine itself, such as a poll, expires as it would at its own deadline.
            self.messages_mut().outgoing.remove_pause_limit(place);
            self.messages_mut().outgoing.expire_now(place);
            if let Some(elapsed) = self.next_expiry(cx) {
                return Some(elapsed);
            }
        }
    }

    fn next_expiry(&mut self, cx: &mut Cx<'_, '_>) -> Option<Elapsed> {
        let now = cx.now();
        loop {
            let place = self.messages_mut().outgoing.due(now)?;
            let call = CallId(place);
            let calls = &mut self.serving.calls;
            let asked = calls.messages.outgoing.get(place)?;
            match asked.owner {
                Owner::Initialize | Owner::Probe => return Some(Elapsed::HandshakeTimedOut),
                _ if asked.call.state.task().is_some() => {
                    // The task did not end within the total timeout of its call.
                    calls.cancel_remote(cx, call);
                    let left = calls.take_out(call)?;
                    let outcome = Outcome::TimedOut(Expiry::Total);
                    return Some(Elapsed::Event(calls.ended(left, outcome, false)));
                }
                // The application has learned that the peer is notified.
                _ if asked.stays_in_outbox() && calls.messages.is_unsent(call, cx.out) => {
                    calls.messages.outgoing.wait(place, Wait::Late(EXTRA_TIME), Some(now));
                }
                Owner::Poll { of, kind } => {
                    // A request about a task has started no other work.
                    _ = calls.leave(call);
                    let reason = Some("the request timed out");
                    calls.messages.drop(cx, call, GivenUp::TimedOut, reason);
                    let expired = calls.step(cx, (of, false), |state, at| match state {
                        CallState::Task(task) => task.poll_expired(at, kind),
                        _ => Next::On(None),
                    });
                    if let Some(ForRole::Event(event)) = expired {
                        return Some(Elapsed::Event(event));
                    }
                }
                Owner::Abandoned => {
                    forget_abandoned(&mut calls.messages, &mut calls.index, cx, call);
                }
                Owner::Interest => {
                    _ = calls.leave(call);
                    let dropped = calls.messages.drop(cx, call, GivenUp::TimedOut, None);
                    // A server that has the request may be subscribed.
                    let is_granted = (dropped == Cancellation::Withdrawn).then_some(false);
                    calls.in_sessions().request_ended(call, is_granted);
                    calls.in_sessions().unsubscribe_unwanted(cx);
                    if let Some(elapsed) = self.next_outcome(cx) {
                        return Some(elapsed);
                    }
                }
                owner => return self.call_expired(cx, call, owner),
            }
        }
    }

    /// Handles the expiry of a call of the application, of a request that requires input, or of a task.
    fn call_expired(&mut self, cx: &mut Cx<'_, '_>, call: CallId, owner: Owner) -> Option<Elapsed> {
        let now = cx.now();
        let expiry = match self.messages_mut().outgoing.expired(call.0) {
            Expired::Total => Expiry::Total,
            Expired::Idle => Expiry::Idle,
        };
        if self.messages().outgoing.has_second_due(now) {
            // Other calls have expired as well.
            let is_due = |outgoing: &Outgoing<OutgoingRequest<_>>, place| {
                let stays = outgoing.get(place).is_some_and(OutgoingRequest::stays_in_outbox);
                outgoing.is_due(place, now) && !stays
            };
            self.messages_mut().withdraw_with(call, is_due, cx.out);
        }
        let event = self.serving.calls.expire(cx, call, expiry)?;
        match owner {
            Owner::Input(id) => self.serving.input_failed(cx, id).map(Elapsed::Event),
            _ => Some(Elapsed::Event(event)),
        }
    }
}
