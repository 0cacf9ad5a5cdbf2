//! How a connection ends: each outcome is handed out once, in order, and nothing is left over.

use alloc::vec::Vec;

use super::Peer;
use super::asked::Owner;
use super::call_cx::Next;
use super::call_options::CallError;
use super::call_state::CallState;
use super::cx::Cx;
use super::event::{CancelCause, Cancelled, Cause, Outcome};
use super::exchange::Exchange;
use super::inputs::InputRequested;
use super::peer_event::PeerEvent;
use super::subscribe::next_early;
use super::timers::Elapsed;
use crate::error::ViolationKind;
use crate::handle::{CallId, InboundId};
use crate::lazy_box::LazyBox;
use crate::rpc::{Ending, GivenUp};
use crate::session::Phase;
use crate::time::Instant;

/// # The end
impl Peer {
    /// The connection is broken, or the peer has ended its side of it.
    ///
    /// A server whose input has ended may still answer: `printf '…' | server` gets its answers.
    pub(crate) fn disconnected(
        &mut self,
        config: &super::ConnectionConfig,
        cause: Cause,
        now: Instant,
    ) {
        let is_server = self.messages.session.role == super::Role::Server;
        self.messages.lifecycle.input_ended = true;
        if cause == Cause::EndOfInput && is_server {
            self.drain(cause, config.timeouts.drain, now);
        } else {
            self.close(cause);
        }
    }

    /// Takes no new work, and ends when everything in flight has ended or the time is up.
    pub(crate) fn drain(&mut self, cause: Cause, grace: core::time::Duration, now: Instant) {
        self.messages.lifecycle.drain(cause, grace, now);
        if self.messages.lifecycle.phase == Phase::Draining {
            self.forget_ping();
        }
    }

    /// Ends it now. Only marks: what was in flight comes out of `handle_timeout`.
    pub(crate) fn close(&mut self, cause: Cause) {
        self.forget_ping();
        self.messages.lifecycle.close(cause);
    }

    /// Waits for no answer to a ping, because the connection is about to end.
    fn forget_ping(&mut self) {
        if self.keep_alive.has_ping() {
            self.keep_alive.forget_ping(&mut self.messages);
        }
    }

    /// Whether `handle_timeout` has something to hand out already.
    pub(super) fn has_outcomes(&self) -> bool {
        let Self { messages, index, .. } = self;
        let lifecycle = &messages.lifecycle;
        let draining = lifecycle.phase == Phase::Draining;
        messages.incoming.has_news()
            || messages.violations.has_noted()
            || messages.queue.has_refused()
            || self.bridges.has_resumed()
            || self.has_news
            || messages.outgoing.has_undated()
            || index.has_news()
            || (draining && (!lifecycle.draining_told || self.is_quiet()))
            || (draining && !messages.queue.is_empty())
            || (draining && !self.listens.is_empty())
            || (draining && !index.subscriptions.is_empty())
            || (lifecycle.input_ended && !messages.outgoing.is_empty())
            || (lifecycle.phase == Phase::Closed && !lifecycle.closed_told)
    }

    /// The next thing that the end has brought about: first that it is coming, then the calls that could not go on
    /// before, the other calls in the order they were made, then the requests in the order they came, then that it is
    /// over.
    pub(super) fn next_outcome(&mut self, cx: &mut Cx<'_, '_>) -> Option<Elapsed> {
        let lifecycle = &mut self.messages.lifecycle;
        let is_draining = lifecycle.phase == Phase::Draining;
        if is_draining && !lifecycle.draining_told {
            lifecycle.draining_told = true;
            let deadline = lifecycle.drain_deadline().unwrap_or_default();
            return Some(Elapsed::Event(PeerEvent::Draining { deadline }));
        }
        if let Some(event) = self.messages.violations.next_noted() {
            return Some(Elapsed::Event(event));
        }
        if is_draining && let Some(event) = self.next_drained(cx) {
            return Some(Elapsed::Event(event));
        }
        // A call that could not go on before the connection ended has that as its outcome.
        if let Some(event) = self.next_refused(cx) {
            return Some(Elapsed::Event(event));
        }
        if self.messages.lifecycle.input_ended {
            if let Some(event) = self.next_stuck(cx) {
                return Some(Elapsed::Event(event));
            }
            if let Some(elapsed) = self.next_ended_call(cx) {
                return Some(elapsed);
            }
        }
        if let Some((place, cause)) = self.messages.incoming.next_marked() {
            let id = InboundId(place);
            self.withdraw_request(cx, id);
            let cancelled = Cancelled { id, cause, reason: None };
            return Some(Elapsed::Event(PeerEvent::Cancelled(cancelled)));
        }
        if let Some(event) = self.next_stuck(cx).or_else(|| self.next_early()) {
            return Some(Elapsed::Event(event));
        }
        if let Some(input) = self.next_input() {
            return Some(Elapsed::Input(input));
        }
        if self.bridges.has_resumed()
            && let Some(resumed) = self.bridges.next_resumed(&mut self.messages)
        {
            return Some(Elapsed::Resumed(resumed));
        }
        self.next_closed().map(Elapsed::Event)
    }

    /// The next thing that waits for nothing because the connection drains: calls that were never sent, and
    /// subscriptions.
    fn next_drained(&mut self, cx: &mut Cx<'_, '_>) -> Option<PeerEvent<'static>> {
        if !self.messages.queue.is_empty()
            && let Some(event) = self.next_unsent(cx)
        {
            return Some(event);
        }
        if let Some(id) = self.listens.first() {
            if self.respond(cx, id, &()).is_err()
                && let Some(taken) = self.messages.take(id, Ending::Closed)
            {
                self.finish(cx, taken);
            }
            let cause = CancelCause::Closed;
            return Some(PeerEvent::Cancelled(Cancelled { id, cause, reason: None }));
        }
        let call = self.index.subscriptions.front().copied()?;
        let outcome = Outcome::Closed(self.messages.lifecycle.cause_of_end());
        let left = self.leave(call)?;
        let event = self.ended(left, outcome, false);
        self.messages.drop(cx, call, GivenUp::Cancelled, None);
        Some(event)
    }

    /// The next input that any call needs.
    fn next_input(&mut self) -> Option<InputRequested> {
        while let Some((id, need)) = self.messages.incoming.next_untold() {
            let context = self.messages.incoming.table.get(id.0)?.context;
            let asked = self.messages.outgoing.get(need.call.0);
            let inputs = asked.and_then(|asked| match &asked.call.state {
                CallState::Input(rounds) => Some(&rounds.inputs),
                CallState::Task(task) => Some(&task.inputs),
                _ => None,
            });
            if let Some(requested) = inputs.and_then(|inputs| inputs.requested((id, need), context))
            {
                return Some(requested);
            }
        }
        None
    }

    fn next_early(&mut self) -> Option<PeerEvent<'static>> {
        if self.index.early.is_empty() {
            return None;
        }
        next_early(&mut self.messages, &mut self.index)
    }

    /// The next request that the end of the connection has ended, and then that it has ended.
    fn next_closed(&mut self) -> Option<PeerEvent<'static>> {
        if self.messages.lifecycle.phase != Phase::Closed {
            return None;
        }
        if let Some(place) = self.messages.incoming.table.first() {
            let id = InboundId(place);
            // Everything is forgotten in a moment.
            if let Some(taken) = self.messages.take(id, Ending::Closed)
                && taken.is_subscription
            {
                self.listens.remove(place);
            }
            let cause = CancelCause::Closed;
            return Some(PeerEvent::Cancelled(Cancelled { id, cause, reason: None }));
        }
        if self.messages.lifecycle.closed_told {
            return None;
        }
        self.messages.lifecycle.closed_told = true;
        self.messages.forget_session();
        self.listens = LazyBox::EMPTY;
        self.bridges = LazyBox::EMPTY;
        let cause = self.messages.lifecycle.cause_of_end();
        Some(PeerEvent::Closed { cause })
    }

    /// Refuses every request that has not been answered, because the connection is about to end without it. That
    /// it has ended is told later.
    pub(super) fn refuse_unanswered(&mut self, cx: &mut Cx<'_, '_>) {
        let is_waited_for = |exchange: &Exchange| exchange.need.is_none() && !exchange.marked;
        let table = &self.messages.incoming.table;
        let open: Vec<InboundId> = table
            .iter()
            .filter(|(_, exchange)| is_waited_for(exchange))
            .map(|(place, _)| InboundId(place))
            .collect();
        for id in open {
            self.messages.refuse_in_reserve(cx, id, &ViolationKind::ShuttingDown.text());
        }
    }

    fn next_ended_call(&mut self, cx: &mut Cx<'_, '_>) -> Option<Elapsed> {
        // A ping that was sent before the peer was found not to read.
        self.forget_ping();
        // Not by recursion: there can be many whose end is no event.
        loop {
            let call = CallId(self.messages.outgoing.first()?);
            let cause = self.messages.lifecycle.cause_of_end();
            let is_opening = self.opening.call == Some(call);
            let owner = self.messages.outgoing.get(call.0)?.owner;
            let event = self.lose(cx, call, cause);
            let event = match owner {
                _ if owner.is_silent() => None,
                Owner::Input(id) => self.input_failed(cx, id),
                _ if is_opening => return Some(Elapsed::HandshakeLost(cause)),
                _ => event,
            };
            if let Some(event) = event {
                return Some(Elapsed::Event(event));
            }
        }
    }

    /// The next call that turned out not to be allowed.
    fn next_refused(&mut self, cx: &mut Cx<'_, '_>) -> Option<PeerEvent<'static>> {
        while self.messages.queue.has_refused() {
            let (call, error) = self.messages.queue.next_refused()?;
            // It may have been cancelled meanwhile.
            let Some(left) = self.take_out(call) else { continue };
            if let Some(event) = self.never_sent(cx, left, Some(error)) {
                return Some(event);
            }
        }
        None
    }

    /// The next call that was held for a handshake which will never be complete.
    fn next_unsent(&mut self, cx: &mut Cx<'_, '_>) -> Option<PeerEvent<'static>> {
        while let Some(call) = self.messages.queue.next_call() {
            let Some(left) = self.take_out(call) else { continue };
            if let Some(event) = self.never_sent(cx, left, None) {
                return Some(event);
            }
        }
        self.messages.queue = LazyBox::EMPTY;
        None
    }

    /// A request has left the table without ever having been sent.
    fn never_sent(
        &mut self,
        cx: &mut Cx<'_, '_>,
        left: super::steps::Left,
        refused: Option<CallError>,
    ) -> Option<PeerEvent<'static>> {
        match (left.owner(), refused) {
            (Owner::Poll { of, kind }, Some(error)) => {
                let next = self.step(cx, (of, false), |state, at| match state {
                    CallState::Task(task) => task.poll_refused(at, kind, error),
                    _ => Next::On(None),
                });
                debug_assert!(next.is_none(), "a question that may not be asked is no event");
                None
            }
            (Owner::Input(id), _) => self.input_failed(cx, id),
            (owner, None) if owner.is_silent() => None,
            (_, refused) => {
                let outcome = refused.map_or(Outcome::Unsent, Outcome::NotMade);
                Some(self.ended(left, outcome, false))
            }
        }
    }

    /// Why draining is over, if it is.
    pub(super) fn drained(&self, now: Instant) -> Option<Cause> {
        let lifecycle = &self.messages.lifecycle;
        if lifecycle.phase != Phase::Draining {
            return None;
        }
        if self.is_quiet() {
            return Some(lifecycle.cause_of_end());
        }
        let expired = lifecycle.drain_deadline().is_some_and(|deadline| deadline <= now);
        expired.then_some(Cause::DrainDeadline)
    }

    /// Whether nothing is in flight.
    fn is_quiet(&self) -> bool {
        self.messages.incoming.table.is_empty() && self.messages.outgoing.is_quiet()
    }
}
