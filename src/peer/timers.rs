//! What expires when.

use super::Peer;
use super::call::{Call, Purpose};
use super::cx::Cx;
use super::event::{Cause, Expiry, Outcome};
use super::gathering::InputRequested;
use super::peer_event::PeerEvent;
use super::resumed::Resumed;
use crate::handle::CallId;
use crate::json::Number;
use crate::rpc::GivenUp;
use crate::session::Phase;
use crate::time::Instant;

/// What time has brought about.
#[derive(Debug)]
pub(crate) enum Elapsed {
    /// Something that both roles surface.
    Event(PeerEvent<'static>),
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

impl Peer {
    /// When `handle_timeout` has something to do: at once if outcomes wait to be handed out.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        if self.has_outcomes() || self.clock.waits_for_tick() {
            return Some(Instant::EPOCH);
        }
        let deadlines = [
            self.deadlines.first().and_then(|(at, _)| self.clock.when(at)),
            self.pause_deadline().map(|(at, _)| at),
            self.progress_deadlines.first().map(|(at, _)| at),
            self.polls.first().map(|(at, _)| at),
            self.silence_deadline(),
            self.drain_deadline(),
        ];
        deadlines.into_iter().flatten().min()
    }

    /// Does the next thing that is due, if there is one.
    pub(crate) fn handle_timeout(&mut self, cx: &mut Cx<'_, '_>) -> Option<Elapsed> {
        #[cfg(any(call_table, fuzzing))]
        self.check_calls();
        self.clock.tick(cx.now());
        self.flush_listens(cx);
        if self.poll_timeout().is_none_or(|due| cx.now() < due) {
            // The usual case: drivers ask after everything that happens.
            self.observe_phase(cx.out);
            return None;
        }
        if !self.unsettled.unwanted.is_empty() {
            self.unsubscribe_unwanted(cx);
        }
        if !self.unsettled.undated.is_empty() {
            self.date_calls(cx);
        }
        if core::mem::take(&mut self.has_news) {
            return Some(Elapsed::News);
        }
        let mut elapsed = self.next_outcome(cx);
        if elapsed.is_none() && self.phase != Phase::Closed {
            // What is done because it is due can have an outcome of its own, such as that it cannot be done.
            elapsed = self.next_due(cx).or_else(|| self.next_outcome(cx));
        }
        if elapsed.is_none()
            && let Some(cause) = self.drained(cx.now())
        {
            if cause == Cause::DrainDeadline {
                self.refuse_unanswered(cx);
            }
            self.send_all_batches(cx);
            self.close(cause);
            elapsed = self.next_outcome(cx);
        }
        self.observe_phase(cx.out);
        #[cfg(any(call_table, fuzzing))]
        self.check_calls();
        elapsed
    }

    fn next_due(&mut self, cx: &mut Cx<'_, '_>) -> Option<Elapsed> {
        while self.send_due_progress(cx) {}
        if let Some(event) = self.ask_about_due(cx) {
            return Some(Elapsed::Event(event));
        }
        if let Some(elapsed) = self.next_expiry(cx) {
            return Some(elapsed);
        }
        if let Some(elapsed) = self.next_pause_expiry(cx) {
            return Some(elapsed);
        }
        self.next_silence(cx).map(Elapsed::Event)
    }

    /// When the first call has waited long enough for a person, and which one that is. The oldest has
    /// waited longest.
    fn pause_deadline(&self) -> Option<(Instant, CallId)> {
        let place = self.outbound.first_pausing()?;
        let entry = self.outbound.get(place)?;
        let most = entry.pause?.saturating_add(entry.lag);
        Some((self.clock.when_lag_is(most)?, CallId(place)))
    }

    fn next_pause_expiry(&mut self, cx: &mut Cx<'_, '_>) -> Option<Elapsed> {
        loop {
            let (_, call) = self.pause_deadline().filter(|(at, _)| *at <= cx.now())?;
            if self.is_pending(call) {
                return Some(Elapsed::Event(self.expire(cx, call, Expiry::Paused)));
            }
            // What the machine asks by itself, such as how far a task is, ends as it does in its own time.
            let id = self.outbound.id(call.0)?;
            self.outbound.pause_for_ever(call.0);
            self.deadlines.set(call.0.index, id, Instant::EPOCH);
            if let Some(elapsed) = self.next_expiry(cx) {
                return Some(elapsed);
            }
        }
    }

    fn expire(&mut self, cx: &mut Cx<'_, '_>, call: CallId, expiry: Expiry) -> PeerEvent<'static> {
        let event = self.end_event(call, Outcome::TimedOut(expiry));
        if mutant!("an_expired_call_goes_on") {
            return event;
        }
        if self.may_become_task(cx, call) {
            self.abandon_call(call, GivenUp::TimedOut, Some(cx.now()));
        } else {
            self.give_up(cx, call, GivenUp::TimedOut, Some("the request timed out"));
        }
        event
    }

    fn next_expiry(&mut self, cx: &mut Cx<'_, '_>) -> Option<Elapsed> {
        let now = self.clock.at(cx.now());
        let place = loop {
            let (_, index) = self.deadlines.first().filter(|(at, _)| *at <= now)?;
            let place = self.outbound.place_of(index)?;
            let call = self.outbound.get(place)?;
            if matches!(call.purpose, Purpose::Initialize | Purpose::Probe) {
                return Some(Elapsed::HandshakeTimedOut);
            }
            if call.tracked().is_some() {
                return Some(Elapsed::Event(self.task_took_too_long(cx, CallId(place))));
            }
            if call.purpose == Purpose::TaskStep {
                if let Some(event) = self.step_expired(cx, CallId(place)) {
                    return Some(Elapsed::Event(event));
                }
            } else if call.purpose == Purpose::Abandoned {
                self.forget_abandoned(CallId(place));
            } else if call.again_at.is_some_and(|again| again <= now) {
                // Whether there is room for it or not, its time is later now.
                self.ask_again(cx, CallId(place));
            } else if call.purpose == Purpose::Interest {
                let call = CallId(place);
                self.give_up(cx, call, GivenUp::TimedOut, None);
                self.interest_ended(call, &Outcome::TimedOut(Expiry::Total));
                if let Some(elapsed) = self.next_outcome(cx) {
                    return Some(elapsed);
                }
            } else {
                break place;
            }
        };
        let call = self.outbound.get(place)?;
        // Whichever was first; at the same instant, the one that progress cannot move.
        let total = call
            .total_deadline
            .is_some_and(|total| call.idle_deadline.is_none_or(|idle| total <= idle));
        let expiry = if total { Expiry::Total } else { Expiry::Idle };
        let call = CallId(place);
        if self.deadlines.second().is_some_and(|second| second <= now) {
            // Others have expired as well.
            let expired = |other: &Call| other.deadline().is_some_and(|deadline| deadline <= now);
            self.withdraw_with(cx, call, expired);
        }
        let is_input = |call: &&Call| call.purpose == Purpose::Input;
        let parent = self.outbound.get(place).filter(is_input).and_then(|call| call.parent);
        let event = self.expire(cx, call, expiry);
        match parent {
            Some(parent) => self.input_failed(cx, parent).map(Elapsed::Event),
            None => Some(Elapsed::Event(event)),
        }
    }

    /// Sets the deadline of a call to what its entry says.
    pub(super) fn set_deadline(&mut self, call: CallId) {
        let deadline = self.outbound.get(call.0).and_then(Call::deadline);
        match (deadline, self.outbound.id(call.0)) {
            (Some(deadline), Some(id)) => self.deadlines.set(call.0.index, id, deadline),
            _ => self.deadlines.clear(call.0.index),
        }
    }

    /// Begins the idle timeout of a call anew.
    pub(super) fn has_progressed(&mut self, call: CallId, progress: Number, now: Instant) {
        let now = self.clock.at(now);
        let Some(entry) = self.outbound.get_mut(call.0) else { return };
        entry.progress = Some(progress);
        entry.idle_deadline = entry.idle.map(|idle| now + idle);
        let deadline = entry.deadline();
        if let (Some(deadline), Some(id)) = (deadline, self.outbound.id(call.0)) {
            self.deadlines.set(call.0.index, id, deadline);
        }
    }
}
