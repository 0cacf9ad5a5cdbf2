//! The end of a connection. Each outcome is handed out once, in order, and every table is empty afterwards.

use super::call_index::CallIndex;
use super::calls::Calls;
use super::common_event::CommonEvent;
use super::cx::Cx;
use super::dispatcher::Dispatcher;
use super::event::{CancelCause, Cancelled, Cause, Outcome};
use super::input_bridge::Bridges;
use super::outgoing_request::Owner;
use super::pre_session_queue::PreSessionQueue;
use super::serving::Serving;
use super::timers::Elapsed;
use crate::config::ConnectionConfig;
use crate::handle::{CallId, IncomingId};
use crate::lazy_box::LazyBox;
use crate::rpc::Ending;
use crate::session::Phase;
use crate::time::Instant;

/// # Shutdown
impl Dispatcher {
    /// Notes that the connection is broken, or that the peer has closed its side of it.
    ///
    /// A server whose input has ended may still respond: `printf '…' | server` gets its responses.
    pub(crate) fn disconnected(&mut self, config: &ConnectionConfig, cause: Cause, now: Instant) {
        let is_server = self.messages().session.role == super::Side::Server;
        self.messages_mut().lifecycle.input_ended = true;
        if cause == Cause::EndOfInput && is_server {
            self.drain(cause, config.timeouts.drain, now);
        } else {
            self.close(cause);
        }
    }

    /// Accepts no new work, and ends the connection when nothing is in flight or when `grace` has passed.
    pub(crate) fn drain(&mut self, cause: Cause, grace: core::time::Duration, now: Instant) {
        self.messages_mut().lifecycle.drain(cause, grace, now);
        if self.messages().lifecycle.phase == Phase::Draining {
            self.forget_ping();
        }
    }

    /// Closes the connection at once. This only marks the end: `handle_timeout` hands out the outcomes of everything
    /// in flight.
    pub(crate) fn close(&mut self, cause: Cause) {
        self.forget_ping();
        self.messages_mut().lifecycle.close(cause);
    }

    /// Stops waiting for the response to a ping, because the connection is about to end.
    fn forget_ping(&mut self) {
        if self.keep_alive.has_ping() {
            self.keep_alive.forget_ping(&mut self.serving.calls.messages);
        }
    }

    /// Whether `handle_timeout` already has an event to hand out.
    pub(super) fn has_outcomes(&self) -> bool {
        let Serving { calls, bridges, .. } = &self.serving;
        let Calls { messages, index, .. } = calls;
        let lifecycle = &messages.lifecycle;
        let is_ending =
            lifecycle.input_ended || matches!(lifecycle.phase, Phase::Draining | Phase::Closed);
        messages.incoming.has_news()
            || messages.violations.has_noted()
            || messages.queue.allocated().is_some_and(PreSessionQueue::has_refused)
            || bridges.allocated().is_some_and(Bridges::has_resumed)
            || self.has_news
            || messages.outgoing.has_undated()
            || index.allocated().is_some_and(CallIndex::has_news)
            || (is_ending && self.has_outcomes_of_end())
    }

    /// Whether `handle_timeout` has an event of a connection that ends.
    #[inline(never)]
    fn has_outcomes_of_end(&self) -> bool {
        let Serving { calls, listens, .. } = &self.serving;
        let Calls { messages, index, .. } = calls;
        let lifecycle = &messages.lifecycle;
        match lifecycle.phase {
            _ if lifecycle.input_ended && !messages.outgoing.is_empty() => true,
            Phase::Draining => {
                !lifecycle.draining_reported
                    || self.is_quiet()
                    || !messages.queue.is_empty()
                    || !listens.is_empty()
                    || !index.subscriptions.is_empty()
            }
            Phase::Closed => !lifecycle.closed_reported,
            _ => false,
        }
    }

    /// Returns the next event of the end of the connection. The order: draining, notifications of subscriptions that
    /// were received before, calls that could not continue before, other calls in the order they were made, requests in
    /// the order they were received, closed.
    pub(super) fn next_outcome(&mut self, cx: &mut Cx<'_, '_>) -> Option<Elapsed> {
        let lifecycle = &mut self.messages_mut().lifecycle;
        let is_draining = lifecycle.phase == Phase::Draining;
        if is_draining && !lifecycle.draining_reported {
            lifecycle.draining_reported = true;
            let deadline = lifecycle.drain_deadline().unwrap_or_default();
            return Some(Elapsed::Event(CommonEvent::Draining { deadline }));
        }
        if let Some(event) = self.messages_mut().violations.next_noted() {
            return Some(Elapsed::Event(event));
        }
        let lifecycle = &self.messages().lifecycle;
        if (is_draining || lifecycle.input_ended)
            && let Some(event) = self.serving.calls.next_early()
        {
            // Notifications of a subscription precede its end.
            return Some(Elapsed::Event(event));
        }
        if is_draining && let Some(event) = self.serving.next_drained(cx) {
            return Some(Elapsed::Event(event));
        }
        // A call that could not continue before the connection ended keeps that outcome.
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

    /// Returns the next request that was ended by the end of the connection, and then the end itself.
    fn next_closed(&mut self) -> Option<CommonEvent<'static>> {
        if self.messages().lifecycle.phase != Phase::Closed {
            return None;
        }
        if let Some(place) = self.messages().incoming.table.first() {
            let id = IncomingId(place);
            // No further cleanup: the `Closed` event drops the remaining state.
            if let Some(taken) = self.messages_mut().take(id, Ending::Closed)
                && taken.is_subscription
            {
                self.serving.listens.remove(place);
            }
            let cause = CancelCause::Closed;
            return Some(CommonEvent::Cancelled(Cancelled { id, cause, reason: None }));
        }
        if self.messages().lifecycle.closed_reported {
            return None;
        }
        self.messages_mut().lifecycle.closed_reported = true;
        self.messages_mut().forget_session();
        self.serving.listens = LazyBox::EMPTY;
        self.serving.bridges = LazyBox::EMPTY;
        if self.serving.calls.index.has_resources() {
            self.serving.calls.index.forget_resources();
        }
        let cause = self.messages().lifecycle.cause_of_end();
        Some(CommonEvent::Closed { cause })
    }

    fn next_ended_call(&mut self, cx: &mut Cx<'_, '_>) -> Option<Elapsed> {
        // The connection may have been closed because of a full outbox, after a ping was sent.
        self.forget_ping();
        // A loop instead of recursion: many calls can end without an event.
        loop {
            let call = CallId(self.messages().outgoing.first()?);
            let cause = self.messages().lifecycle.cause_of_end();
            let is_opening = self.serving.calls.opening.call == Some(call);
            let owner = self.messages().outgoing.get(call.0)?.owner;
            let event = self.serving.calls.end_with_connection(cx, call, cause);
            let event = match owner {
                _ if owner.is_silent() => None,
                Owner::Input(id) => self.serving.input_failed(cx, id),
                _ if is_opening => {
                    let is_unsent = matches!(&event, Some(CommonEvent::CallEnded(ended))
                        if matches!(ended.outcome, Outcome::NotSent));
                    return Some(Elapsed::HandshakeLost { cause, is_unsent });
                }
                _ => event,
            };
            if let Some(event) = event {
                return Some(Elapsed::Event(event));
            }
        }
    }

    /// Returns the reason why draining is over, if it is.
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
