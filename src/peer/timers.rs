//! What expires when.

use super::Peer;
use super::call::{Call, Purpose};
use super::event::{Cause, Expiry, Outcome, PeerEvent};
use super::outlets::Outlets;
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
}

impl Peer {
    /// When `handle_timeout` has something to do: at once if outcomes wait to be handed out.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        if self.has_outcomes() {
            return Some(Instant::EPOCH);
        }
        let expiry = self.deadlines.first().map(|(at, _)| at);
        match (expiry, self.drain_deadline()) {
            (Some(expiry), Some(drain)) => Some(expiry.min(drain)),
            (expiry, drain) => expiry.or(drain),
        }
    }

    /// Does the next thing that is due, if there is one.
    pub(crate) fn handle_timeout(
        &mut self,
        now: Instant,
        out: &mut dyn Outlets,
    ) -> Option<Elapsed> {
        let mut elapsed = self.next_outcome(out);
        if elapsed.is_none() {
            elapsed = self.next_expiry(now, out);
        }
        if elapsed.is_none()
            && let Some(cause) = self.drained(now)
        {
            self.close(cause);
            elapsed = self.next_outcome(out);
        }
        self.observe_phase(out);
        elapsed
    }

    fn next_expiry(&mut self, now: Instant, out: &mut dyn Outlets) -> Option<Elapsed> {
        if self.phase == Phase::Closed {
            return None;
        }
        let (at, index) = self.deadlines.first()?;
        if now < at {
            return None;
        }
        let place = self.outbound.place_of(index)?;
        let call = self.outbound.get(place)?;
        if call.purpose == Purpose::Initialize {
            return Some(Elapsed::HandshakeTimedOut);
        }
        // Whichever was first; at the same instant, the one that progress cannot move.
        let total = call
            .total_deadline
            .is_some_and(|total| call.idle_deadline.is_none_or(|idle| total <= idle));
        let expiry = if total { Expiry::Total } else { Expiry::Idle };
        let call = CallId(place);
        if self.deadlines.second().is_some_and(|second| second <= now) {
            // Others have expired as well.
            let expired = |other: &Call| other.deadline().is_some_and(|deadline| deadline <= now);
            self.withdraw_with(call, expired, out);
        }
        self.give_up(call, GivenUp::TimedOut, Some("the request timed out"), out);
        Some(Elapsed::Event(PeerEvent::ended(call, Outcome::TimedOut(expiry))))
    }

    /// Begins the idle timeout of a call anew.
    pub(super) fn has_progressed(&mut self, call: CallId, progress: Number, now: Instant) {
        let Some(entry) = self.outbound.get_mut(call.0) else { return };
        entry.progress = Some(progress);
        entry.idle_deadline = entry.idle.map(|idle| now + idle);
        let deadline = entry.deadline();
        if let (Some(deadline), Some(id)) = (deadline, self.outbound.id(call.0)) {
            self.deadlines.set(call.0.index, id, deadline);
        }
    }
}
