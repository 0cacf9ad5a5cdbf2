//! The timers of a connection: deadlines of calls, keep-alive, draining.

use super::call_capacity::forget_abandoned;
use super::call_cx::Next;
use super::call_state::CallState;
use super::common_event::CommonEvent;
use super::cx::Cx;
use super::dispatcher::Dispatcher;
use super::event::{Cause, Expiry, Outcome};
use super::for_role::ForRole;
use super::inputs::InputRequested;
use super::outgoing_request::Owner;
use super::resumed::Resumed;
use crate::handle::CallId;
use crate::lazy_box::LazyBox;
use crate::rpc::{Expired, GivenUp};
use crate::session::Phase;
use crate::time::Instant;

/// What time has brought about.
#[derive(Debug)]
pub(crate) enum Elapsed {
    /// Something that both roles surface.
    Event(CommonEvent<'static>),
    /// `initialize` was not answered in time.
    HandshakeTimedOut,
    /// The connection ended before `initialize` was answered.
    HandshakeLost(Cause),
    /// Something that the peer needs before it answers a call.
    Input(InputRequested),
    /// The role has something to hand out.
    News,
    /// A request that can go on although nothing was asked of the peer.
    Resumed(Resumed),
}

/// # Time
impl Dispatcher {
    /// When `handle_timeout` has something to do: at once if outcomes wait to be handed out.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let outgoing = &self.serving.calls.messages.outgoing;
        if self.has_outcomes() || outgoing.clock().waits_for_tick() {
            return Some(Instant::EPOCH);
        }
        let deadlines = [
            outgoing.next_due(),
            outgoing.next_pause_end().map(|(at, _)| at),
            self.serving.calls.messages.incoming.progress_deadlines.first().map(|(at, _)| at),
            outgoing.next_poll(),
            self.silence_deadline(),
            self.messages().lifecycle.drain_deadline(),
        ];
        deadlines.into_iter().flatten().min()
    }

    /// Does the next thing that is due, if there is one.
    pub(crate) fn handle_timeout(&mut self, cx: &mut Cx<'_, '_>) -> Option<Elapsed> {
        #[cfg(any(call_table, fuzzing))]
        self.serving.calls.check_calls();
        let now = cx.now();
        self.messages_mut().outgoing.clock_mut().tick(now);
        self.serving.flush_listens(cx);
        if self.poll_timeout().is_none_or(|due| now < due) {
            // The usual case: drivers ask after everything that happens.
            self.messages_mut().lifecycle.observe(cx.out);
            return None;
        }
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
            // What is done because it is due can have an outcome of its own, such as that it cannot be done.
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
            // What the machine asks by itself, such as how far a task is, ends as it does in its own time.
            self.messages_mut().outgoing.pause_for_ever(place);
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
                    // It has not ended in the time that the application has given its call.
                    calls.cancel_remote(cx, call);
                    let left = calls.take_out(call)?;
                    let outcome = Outcome::TimedOut(Expiry::Total);
                    return Some(Elapsed::Event(calls.ended(left, outcome, false)));
                }
                Owner::Poll { of, kind } => {
                    // Nothing is begun on behalf of a question about a task.
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
                Owner::Abandoned => forget_abandoned(&mut calls.messages, &mut calls.index, call),
                _ if calls.messages.outgoing.is_retry_due(place, now) => {
                    // Whether there is room for it or not, its time is later now.
                    _ = calls.step(cx, (call, false), |state, at| -> Next<'static, CallState> {
                        state.send_again(at);
                        Next::On(None)
                    });
                }
                Owner::Interest => {
                    _ = calls.leave(call);
                    calls.messages.drop(cx, call, GivenUp::TimedOut, None);
                    calls.in_sessions().request_ended(call, false);
                    if let Some(elapsed) = self.next_outcome(cx) {
                        return Some(elapsed);
                    }
                }
                owner => return self.call_expired(cx, call, owner),
            }
        }
    }

    /// A call of the application, of a request that requires input, or of a task has expired.
    fn call_expired(&mut self, cx: &mut Cx<'_, '_>, call: CallId, owner: Owner) -> Option<Elapsed> {
        let now = cx.now();
        let expiry = match self.messages_mut().outgoing.expired(call.0) {
            Expired::Total => Expiry::Total,
            Expired::Idle => Expiry::Idle,
        };
        if self.messages().outgoing.has_second_due(now) {
            // Others have expired as well.
            let is_due = |outgoing: &crate::rpc::Outgoing<_>, place| outgoing.is_due(place, now);
            self.messages_mut().withdraw_with(call, is_due, cx.out);
        }
        let event = self.serving.calls.expire(cx, call, expiry)?;
        match owner {
            Owner::Input(id) => self.serving.input_failed(cx, id).map(Elapsed::Event),
            _ => Some(Elapsed::Event(event)),
        }
    }
}
