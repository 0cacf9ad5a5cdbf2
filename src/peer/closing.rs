//! How a connection ends: told once, in order, and with nothing left over.

use alloc::vec::Vec;
use core::time::Duration;

use super::call::{Call, Purpose};
use super::cx::Cx;
use super::event::Cause;
use super::exchange::Exchange;
use super::peer_event::PeerEvent;
use super::rare::Rare;
use super::timers::Elapsed;
use super::{ConnectionConfig, Peer, Role};
use crate::error::ViolationKind;
use crate::handle::{CallId, InboundId};
use crate::rpc::Ending;
use crate::session::{Phase, Step};
use crate::time::Instant;

/// How far the end has come.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Closing {
    /// Why it ends.
    cause: Option<Cause>,
    /// Until when requests may be answered.
    deadline: Option<Instant>,
    draining_told: bool,
    /// No answer can come any more.
    input_ended: bool,
    closed_told: bool,
}

impl Peer {
    /// The connection is broken, or the peer has ended its side of it.
    ///
    /// A server whose input has ended may still answer: `printf '…' | server` gets its answers.
    pub(crate) fn disconnected(&mut self, config: &ConnectionConfig, cause: Cause, now: Instant) {
        let half_closed = cause == Cause::EndOfInput && self.role == Role::Server;
        self.closing.input_ended = true;
        if !half_closed {
            self.close(cause);
        } else if self.phase == Phase::Draining {
            self.shorten_drain(now + config.timeouts.drain);
        } else {
            self.start_draining(cause, now + config.timeouts.drain);
        }
    }

    /// Takes no new work, and ends when everything in flight has ended or the time is up.
    pub(crate) fn shut_down(&mut self, grace: Duration, now: Instant) {
        if self.phase == Phase::Draining {
            self.shorten_drain(now + grace);
        } else {
            self.start_draining(Cause::ShutDown, now + grace);
        }
    }

    /// What comes while the connection drains can only shorten the wait.
    fn shorten_drain(&mut self, deadline: Instant) {
        if self.closing.deadline.is_none_or(|current| deadline < current) {
            self.closing.deadline = Some(deadline);
        }
    }

    fn start_draining(&mut self, cause: Cause, deadline: Instant) {
        if self.step(Step::Drain) {
            self.forget_ping();
            self.closing.cause = Some(cause);
            self.closing.deadline = Some(deadline);
        }
    }

    /// Ends it now. Only marks: what was in flight comes out of `handle_timeout`.
    pub(crate) fn close(&mut self, cause: Cause) {
        if self.phase == Phase::Closed {
            return;
        }
        self.step(Step::Close);
        self.forget_ping();
        self.closing.cause = Some(cause);
        self.closing.input_ended = true;
        self.closing.deadline = None;
    }

    /// Takes `initialize` out of the tables: what came of it has been told.
    pub(crate) fn forget_initialize(&mut self) {
        if let Some(call) = self.initialize.take() {
            self.deadlines.clear(call.0.index);
            self.outbound.remove(call.0, Ending::Closed);
        }
    }

    /// Whether the calls of this side can only end, not be answered.
    pub(super) const fn calls_are_over(&self) -> bool {
        self.closing.input_ended
    }

    pub(super) const fn drain_deadline(&self) -> Option<Instant> {
        self.closing.deadline
    }

    /// Whether `handle_timeout` has something to hand out already.
    pub(super) fn has_outcomes(&self) -> bool {
        let draining = self.phase == Phase::Draining;
        !self.marked.is_empty()
            || self.noise.has_noted()
            || self.held.has_refused()
            || self.has_resumed()
            || self.has_news
            || self.unsettled.has_news()
            || (draining && (!self.closing.draining_told || self.is_quiet()))
            || (draining && 0 < self.held.len())
            || (draining && !self.listens.is_empty())
            || (draining && self.subscriptions().next().is_some())
            || (self.closing.input_ended && !self.outbound.is_empty())
            || (self.phase == Phase::Closed && !self.closing.closed_told)
    }

    /// The next thing that the end has brought about: first that it is coming, then the calls that could not go on
    /// before, the other calls in the order they were made, then the requests in the order they came, then that it is
    /// over.
    pub(super) fn next_outcome(&mut self, cx: &mut Cx<'_, '_>) -> Option<Elapsed> {
        if self.phase == Phase::Draining && !self.closing.draining_told {
            self.closing.draining_told = true;
            let deadline = self.closing.deadline.unwrap_or_default();
            return Some(Elapsed::Event(PeerEvent::Draining { deadline }));
        }
        if let Some(event) = self.next_noted() {
            return Some(Elapsed::Event(event));
        }
        if self.phase == Phase::Draining
            && 0 < self.held.len()
            && let Some(event) = self.next_unsent(cx)
        {
            return Some(Elapsed::Event(event));
        }
        if self.phase == Phase::Draining
            && let Some(event) =
                self.next_ended_listen(cx).or_else(|| self.next_closed_subscription(cx))
        {
            return Some(Elapsed::Event(event));
        }
        // A call that could not go on before the connection ended has that as its outcome.
        if let Some(event) = self.next_refused(cx) {
            return Some(Elapsed::Event(event));
        }
        if self.closing.input_ended {
            if let Some(event) = self.next_given_up(cx) {
                return Some(Elapsed::Event(event));
            }
            if let Some(elapsed) = self.next_ended_call(cx) {
                return Some(elapsed);
            }
        }
        if let Some(event) = self.next_marked(cx) {
            return Some(Elapsed::Event(event));
        }
        if self.unsettled.has_news() {
            if let Some(event) = self.next_given_up(cx).or_else(|| self.next_early()) {
                return Some(Elapsed::Event(event));
            }
            if let Some(input) = self.next_input() {
                return Some(Elapsed::Input(input));
            }
        }
        if let Some(resumed) = self.next_resumed() {
            return Some(Elapsed::Resumed(resumed));
        }
        if self.phase != Phase::Closed {
            return None;
        }
        if let Some(event) = self.next_abandoned() {
            return Some(Elapsed::Event(event));
        }
        if self.closing.closed_told {
            return None;
        }
        self.closing.closed_told = true;
        self.forget_session();
        let cause = self.closing.cause.unwrap_or(Cause::ShutDown);
        Some(Elapsed::Event(PeerEvent::Closed { cause }))
    }

    /// Refuses every request that has not been answered, because the connection is about to end without it. That
    /// it has ended is told later.
    pub(super) fn refuse_unanswered(&mut self, cx: &mut Cx<'_, '_>) {
        let is_waited_for = |exchange: &Exchange| exchange.need.is_none() && !exchange.marked;
        let open: Vec<InboundId> = self
            .inbound
            .iter()
            .filter(|(_, exchange)| is_waited_for(exchange))
            .map(|(place, _)| InboundId(place))
            .collect();
        for id in open {
            let text = ViolationKind::ShuttingDown.text();
            self.refuse_in_reserve(cx, id, &text);
        }
    }

    /// Lets go of everything that the session has gathered.
    fn forget_session(&mut self) {
        self.held = Rare::EMPTY;
        self.interests.clear();
        self.elicitations.clear();
        self.batches = Rare::EMPTY;
        self.listens = Rare::EMPTY;
        self.bridges = Rare::EMPTY;
        self.tracked = Rare::EMPTY;
    }

    fn next_ended_call(&mut self, cx: &mut Cx<'_, '_>) -> Option<Elapsed> {
        // Not by recursion: there can be many whose end is told to nobody.
        loop {
            let call = CallId(self.outbound.first()?);
            let cause = self.closing.cause.unwrap_or(Cause::ShutDown);
            let is_initialize = self.initialize == Some(call);
            let entry = self.outbound.get(call.0);
            let is_nobodys = entry.is_some_and(Call::is_nobodys);
            let parent =
                entry.and_then(|entry| entry.parent.filter(|_| entry.purpose == Purpose::Input));
            let event = self.lose_call(cx, call, cause);
            let event = match parent {
                _ if is_nobodys => None,
                Some(parent) => self.input_failed(cx, parent),
                None if is_initialize => return Some(Elapsed::HandshakeLost(cause)),
                None => Some(event),
            };
            if let Some(event) = event {
                return Some(Elapsed::Event(event));
            }
        }
    }

    /// Why the connection ends.
    pub(super) fn cause_of_end(&self) -> Cause {
        self.closing.cause.unwrap_or(Cause::ShutDown)
    }

    /// Why draining is over, if it is.
    pub(super) fn drained(&self, now: Instant) -> Option<Cause> {
        if self.phase != Phase::Draining {
            return None;
        }
        let cause = self.closing.cause.unwrap_or(Cause::ShutDown);
        if self.is_quiet() {
            return Some(cause);
        }
        let expired = self.closing.deadline.is_some_and(|deadline| deadline <= now);
        expired.then_some(Cause::DrainDeadline)
    }

    /// Whether nothing is in flight.
    fn is_quiet(&self) -> bool {
        self.inbound.is_empty() && self.outbound.is_quiet()
    }
}
