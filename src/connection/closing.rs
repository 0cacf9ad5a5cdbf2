//! The end of a connection. Each outcome is handed out once, in order, and every table is empty afterwards.

use super::calls::Calls;
use super::common_event::CommonEvent;
use super::cx::Cx;
use super::dispatcher::Dispatcher;
use super::event::{CancelCause, Cancelled, Cause};
use super::outgoing_request::Owner;
use super::serving::Serving;
use super::timers::Elapsed;
use crate::config::ConnectionConfig;
use crate::handle::{CallId, IncomingId};
use crate::lazy_box::LazyBox;
use crate::rpc::Ending;
use crate::session::Phase;
use crate::time::Instant;

/// # The end
impl Dispatcher {
    /// The connection is broken, or the peer has ended its side of it.
    ///
    /// A server whose input has ended may still answer: `printf '…' | server` gets its answers.
    pub(crate) fn disconnected(&mut self, config: &ConnectionConfig, cause: Cause, now: Instant) {
        let is_server = self.messages().session.role == super::Side::Server;
        self.messages_mut().lifecycle.input_ended = true;
        if cause == Cause::EndOfInput && is_server {
            self.drain(cause, config.timeouts.drain, now);
        } else {
            self.close(cause);
        }
    }

    /// Takes no new work, and ends when everything in flight has ended or the time is up.
    pub(crate) fn drain(&mut self, cause: Cause, grace: core::time::Duration, now: Instant) {
        self.messages_mut().lifecycle.drain(cause, grace, now);
        if self.messages().lifecycle.phase == Phase::Draining {
            self.forget_ping();
        }
    }

    /// Ends it now. Only marks: what was in flight comes out of `handle_timeout`.
    pub(crate) fn close(&mut self, cause: Cause) {
        self.forget_ping();
        self.messages_mut().lifecycle.close(cause);
    }

    /// Waits for no answer to a ping, because the connection is about to end.
    fn forget_ping(&mut self) {
        if self.keep_alive.has_ping() {
            self.keep_alive.forget_ping(&mut self.serving.calls.messages);
        }
    }

    /// Whether `handle_timeout` has something to hand out already.
    pub(super) fn has_outcomes(&self) -> bool {
        let Serving { calls, listens, bridges } = &self.serving;
        let Calls { messages, index, .. } = calls;
        let lifecycle = &messages.lifecycle;
        let draining = lifecycle.phase == Phase::Draining;
        messages.incoming.has_news()
            || messages.violations.has_noted()
            || messages.queue.has_refused()
            || bridges.has_resumed()
            || self.has_news
            || messages.outgoing.has_undated()
            || index.has_news()
            || (draining && (!lifecycle.draining_told || self.is_quiet()))
            || (draining && !messages.queue.is_empty())
            || (draining && !listens.is_empty())
            || (draining && !index.subscriptions.is_empty())
            || (lifecycle.input_ended && !messages.outgoing.is_empty())
            || (lifecycle.phase == Phase::Closed && !lifecycle.closed_told)
    }

    /// The next thing that the end has brought about: first that it is coming, then the calls that could not go on
    /// before, the other calls in the order they were made, then the requests in the order they came, then that it is
    /// over.
    pub(super) fn next_outcome(&mut self, cx: &mut Cx<'_, '_>) -> Option<Elapsed> {
        let lifecycle = &mut self.messages_mut().lifecycle;
        let is_draining = lifecycle.phase == Phase::Draining;
        if is_draining && !lifecycle.draining_told {
            lifecycle.draining_told = true;
            let deadline = lifecycle.drain_deadline().unwrap_or_default();
            return Some(Elapsed::Event(CommonEvent::Draining { deadline }));
        }
        if let Some(event) = self.messages_mut().violations.next_noted() {
            return Some(Elapsed::Event(event));
        }
        if is_draining && let Some(event) = self.serving.next_drained(cx) {
            return Some(Elapsed::Event(event));
        }
        // A call that could not go on before the connection ended has that as its outcome.
        if let Some(event) = self.serving.next_refused(cx) {
            return Some(Elapsed::Event(event));
        }
        if self.messages().lifecycle.input_ended {
            if let Some(event) = self.serving.calls.next_stuck(cx) {
                return Some(Elapsed::Event(event));
            }
            if let Some(elapsed) = self.next_ended_call(cx) {
                return Some(elapsed);
            }
        }
        if let Some((place, cause)) = self.messages_mut().incoming.next_marked() {
            let id = IncomingId(place);
            self.serving.withdraw_request(cx, id);
            let cancelled = Cancelled { id, cause, reason: None };
            return Some(Elapsed::Event(CommonEvent::Cancelled(cancelled)));
        }
        if let Some(event) =
            self.serving.calls.next_stuck(cx).or_else(|| self.serving.calls.next_early())
        {
            return Some(Elapsed::Event(event));
        }
        if let Some(input) = self.serving.calls.next_input() {
            return Some(Elapsed::Input(input));
        }
        if self.serving.bridges.has_resumed()
            && let Some(resumed) =
                self.serving.bridges.next_resumed(&mut self.serving.calls.messages)
        {
            return Some(Elapsed::Resumed(resumed));
        }
        self.next_closed().map(Elapsed::Event)
    }

    /// The next request that the end of the connection has ended, and then that it has ended.
    fn next_closed(&mut self) -> Option<CommonEvent<'static>> {
        if self.messages().lifecycle.phase != Phase::Closed {
            return None;
        }
        if let Some(place) = self.messages().incoming.table.first() {
            let id = IncomingId(place);
            // Everything is forgotten in a moment.
            if let Some(taken) = self.messages_mut().take(id, Ending::Closed)
                && taken.is_subscription
            {
                self.serving.listens.remove(place);
            }
            let cause = CancelCause::Closed;
            return Some(CommonEvent::Cancelled(Cancelled { id, cause, reason: None }));
        }
        if self.messages().lifecycle.closed_told {
            return None;
        }
        self.messages_mut().lifecycle.closed_told = true;
        self.messages_mut().forget_session();
        self.serving.listens = LazyBox::EMPTY;
        self.serving.bridges = LazyBox::EMPTY;
        let cause = self.messages().lifecycle.cause_of_end();
        Some(CommonEvent::Closed { cause })
    }

    fn next_ended_call(&mut self, cx: &mut Cx<'_, '_>) -> Option<Elapsed> {
        // A ping that was sent before the peer was found not to read.
        self.forget_ping();
        // Not by recursion: there can be many whose end is no event.
        loop {
            let call = CallId(self.messages().outgoing.first()?);
            let cause = self.messages().lifecycle.cause_of_end();
            let is_opening = self.serving.calls.opening.call == Some(call);
            let owner = self.messages().outgoing.get(call.0)?.owner;
            let event = self.serving.calls.end_with_connection(cx, call, cause);
            let event = match owner {
                _ if owner.is_silent() => None,
                Owner::Input(id) => self.serving.input_failed(cx, id),
                _ if is_opening => return Some(Elapsed::HandshakeLost(cause)),
                _ => event,
            };
            if let Some(event) = event {
                return Some(Elapsed::Event(event));
            }
        }
    }

    /// Why draining is over, if it is.
    pub(super) fn drained(&self, now: Instant) -> Option<Cause> {
        let lifecycle = &self.serving.calls.messages.lifecycle;
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
        self.messages().incoming.table.is_empty() && self.messages().outgoing.is_quiet()
    }
}
