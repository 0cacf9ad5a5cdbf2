//! What time brings about: what is due, and how a connection ends.

use alloc::vec::Vec;

use super::Peer;
use super::asked::{Owner, Sent};
use super::call_options::CallError;
use super::call_state::{CallState, Next};
use super::cx::Cx;
use super::event::{CancelCause, Cancelled, Cause, Expiry, Outcome};
use super::exchange::Exchange;
use super::for_role::ForRole;
use super::gathering::InputRequested;
use super::notify::release_notification;
use super::peer_event::PeerEvent;
use super::resumed::Resumed;
use super::room::forget_abandoned;
use super::subscribe::next_early;
use crate::error::ViolationKind;
use crate::handle::{CallId, InboundId};
use crate::json::{Envelope, Member, Str};
use crate::lazy_box::LazyBox;
use crate::rpc::{Ending, Expired, GivenUp, Wait};
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

/// # Time
impl Peer {
    /// When `handle_timeout` has something to do: at once if outcomes wait to be handed out.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let outgoing = &self.messages.outgoing;
        if self.has_outcomes() || outgoing.clock().waits_for_tick() {
            return Some(Instant::EPOCH);
        }
        let deadlines = [
            outgoing.next_due(),
            outgoing.next_pause_end().map(|(at, _)| at),
            self.messages.incoming.progress_deadlines.first().map(|(at, _)| at),
            outgoing.next_poll(),
            self.silence_deadline(),
            self.messages.lifecycle.drain_deadline(),
        ];
        deadlines.into_iter().flatten().min()
    }

    /// Does the next thing that is due, if there is one.
    pub(crate) fn handle_timeout(&mut self, cx: &mut Cx<'_, '_>) -> Option<Elapsed> {
        #[cfg(any(call_table, fuzzing))]
        self.check_calls();
        let now = cx.now();
        self.messages.outgoing.clock_mut().tick(now);
        self.flush_listens(cx);
        if self.poll_timeout().is_none_or(|due| now < due) {
            // The usual case: drivers ask after everything that happens.
            self.messages.lifecycle.observe(cx.out);
            return None;
        }
        if !self.index.unwanted.is_empty() {
            self.in_sessions().unsubscribe_unwanted(cx);
        }
        if self.messages.outgoing.has_undated() {
            self.messages.outgoing.date(now);
        }
        if core::mem::take(&mut self.has_news) {
            return Some(Elapsed::News);
        }
        let mut elapsed = self.next_outcome(cx);
        if elapsed.is_none() && self.messages.lifecycle.phase != Phase::Closed {
            // What is done because it is due can have an outcome of its own, such as that it cannot be done.
            elapsed = self.next_due(cx).or_else(|| self.next_outcome(cx));
        }
        if elapsed.is_none()
            && let Some(cause) = self.drained(now)
        {
            if cause == Cause::DrainDeadline {
                self.refuse_unanswered(cx);
            }
            self.messages.incoming.send_all_batches(cx.out);
            self.close(cause);
            elapsed = self.next_outcome(cx);
        }
        self.messages.lifecycle.observe(cx.out);
        #[cfg(any(call_table, fuzzing))]
        self.check_calls();
        elapsed
    }

    fn next_due(&mut self, cx: &mut Cx<'_, '_>) -> Option<Elapsed> {
        self.messages.incoming.send_due_progress(cx);
        if let Some(event) = self.next_poll(cx) {
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
        let missed = self.keep_alive.due(&mut self.messages, cx, policy)?;
        if policy.close_after.is_some_and(|most| most <= missed) {
            self.close(Cause::Unresponsive);
        }
        Some(Elapsed::Event(PeerEvent::Unresponsive { missed }))
    }

    fn silence_deadline(&self) -> Option<Instant> {
        let pings = self.messages.session.rules().pings;
        let is_open = self.messages.lifecycle.phase.is_ready();
        if is_open && pings { self.keep_alive.deadline() } else { None }
    }

    /// Asks about every task whose time for it has come. Gives one that is lost.
    fn next_poll(&mut self, cx: &mut Cx<'_, '_>) -> Option<PeerEvent<'static>> {
        while let Some(place) = self.messages.outgoing.take_poll(cx.now()) {
            let due = self.step(cx, (CallId(place), false), |state, at| match state {
                CallState::Task(task) => task.due(at),
                _ => Next::On(None),
            });
            if let Some(ForRole::Event(event)) = due {
                return Some(event);
            }
        }
        None
    }

    fn next_pause_expiry(&mut self, cx: &mut Cx<'_, '_>) -> Option<Elapsed> {
        loop {
            let next = self.messages.outgoing.next_pause_end();
            let (_, place) = next.filter(|(at, _)| *at <= cx.now())?;
            if self.is_pending(CallId(place)) {
                return self.expire(cx, CallId(place), Expiry::Paused).map(Elapsed::Event);
            }
            // What the machine asks by itself, such as how far a task is, ends as it does in its own time.
            self.messages.outgoing.pause_for_ever(place);
            self.messages.outgoing.expire_now(place);
            if let Some(elapsed) = self.next_expiry(cx) {
                return Some(elapsed);
            }
        }
    }

    fn next_expiry(&mut self, cx: &mut Cx<'_, '_>) -> Option<Elapsed> {
        let now = cx.now();
        loop {
            let place = self.messages.outgoing.due(now)?;
            let call = CallId(place);
            let asked = self.messages.outgoing.get(place)?;
            match asked.owner {
                Owner::Initialize | Owner::Probe => return Some(Elapsed::HandshakeTimedOut),
                _ if asked.call.state.task().is_some() => {
                    // It has not ended in the time that the application has given its call.
                    self.cancel_remote(cx, call);
                    let left = self.take_out(call)?;
                    let outcome = Outcome::TimedOut(Expiry::Total);
                    return Some(Elapsed::Event(self.ended(left, outcome, false)));
                }
                Owner::Poll { of, kind } => {
                    // Nothing is begun on behalf of a question about a task.
                    _ = self.leave(call);
                    let reason = Some("the request timed out");
                    self.messages.drop(cx, call, GivenUp::TimedOut, reason);
                    let expired = self.step(cx, (of, false), |state, at| match state {
                        CallState::Task(task) => task.poll_expired(at, kind),
                        _ => Next::On(None),
                    });
                    if let Some(ForRole::Event(event)) = expired {
                        return Some(Elapsed::Event(event));
                    }
                }
                Owner::Abandoned => forget_abandoned(&mut self.messages, &mut self.index, call),
                _ if self.messages.outgoing.is_retry_due(place, now) => {
                    // Whether there is room for it or not, its time is later now.
                    _ = self.step(cx, (call, false), |state, at| -> Next<'static> {
                        state.send_again(at);
                        Next::On(None)
                    });
                }
                Owner::Interest => {
                    _ = self.leave(call);
                    self.messages.drop(cx, call, GivenUp::TimedOut, None);
                    self.in_sessions().request_ended(call, false);
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
        let expiry = match self.messages.outgoing.expired(call.0) {
            Expired::Total => Expiry::Total,
            Expired::Idle => Expiry::Idle,
        };
        if self.messages.outgoing.has_second_due(now) {
            // Others have expired as well.
            let is_due = |outgoing: &crate::rpc::Outgoing<_>, place| outgoing.is_due(place, now);
            self.messages.take_back_with(call, is_due, cx.out);
        }
        let event = self.expire(cx, call, expiry)?;
        match owner {
            Owner::Input(id) => self.input_failed(cx, id).map(Elapsed::Event),
            _ => Some(Elapsed::Event(event)),
        }
    }

    fn expire(
        &mut self,
        cx: &mut Cx<'_, '_>,
        call: CallId,
        expiry: Expiry,
    ) -> Option<PeerEvent<'static>> {
        let outcome = Outcome::TimedOut(expiry);
        if mutant!("an_expired_call_goes_on") {
            return Some(PeerEvent::CallEnded(super::event::CallEnded::new(call, outcome)));
        }
        let may_become_task = self.may_become_task(cx, call);
        let left = self.leave(call)?;
        if may_become_task {
            self.abandon(cx, call, GivenUp::TimedOut);
        } else {
            self.messages.drop(cx, call, GivenUp::TimedOut, Some("the request timed out"));
        }
        Some(self.ended(left, outcome, false))
    }
}

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
    fn has_outcomes(&self) -> bool {
        let Self { messages, index, .. } = self;
        let lifecycle = &messages.lifecycle;
        let draining = lifecycle.phase == Phase::Draining;
        !messages.incoming.marked.is_empty()
            || messages.violations.has_noted()
            || messages.queue.has_refused()
            || self.bridges.has_resumed()
            || self.has_news
            || !messages.incoming.untold.is_empty()
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
    fn next_outcome(&mut self, cx: &mut Cx<'_, '_>) -> Option<Elapsed> {
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
    fn refuse_unanswered(&mut self, cx: &mut Cx<'_, '_>) {
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
    fn drained(&self, now: Instant) -> Option<Cause> {
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

    /// Sends what was held, now that the handshake is complete and says what may be sent. It may
    /// exceed the limit of the outbox, because it has a limit of its own: so nothing is left that
    /// could be overtaken.
    pub(crate) fn flush_held(&mut self, cx: &mut Cx<'_, '_>) {
        if self.messages.queue.is_empty() {
            return;
        }
        let mut queue = self.messages.queue.take_queue();
        for (message, waiting) in queue.drain() {
            let envelope = Envelope::scan(message, u8::MAX);
            let method = envelope.get(Member::Method).and_then(Str::from_literal);
            let method = method.as_ref().map(Str::to_str).unwrap_or_default();
            let params = envelope.get(Member::Params);
            let Some(call) = waiting.call else {
                release_notification(&mut self.messages, cx, waiting, &method, params);
                continue;
            };
            if self.is_for_session(cx, call) {
                self.in_sessions().begin(cx, call);
                continue;
            }
            let sent = match self.messages.release_request(cx, call, &method, params) {
                Ok(serial) => Sent::Outbox(serial),
                Err(error) => {
                    self.messages.queue.refuse(call, error);
                    Sent::Withdrawn
                }
            };
            if let Some(asked) = self.messages.outgoing.get_mut(call.0) {
                asked.sent = sent;
            }
        }
        if !self.messages.queue.has_refused() {
            self.messages.queue = LazyBox::EMPTY;
        }
    }

    /// Whether a call that was held is a subscription, and there is a session to stand for it.
    fn is_for_session(&mut self, cx: &Cx<'_, '_>, call: CallId) -> bool {
        let subscribes = self.messages.session.rules().session_subscribes;
        let outgoing = &mut self.messages.outgoing;
        let Some(asked) = outgoing.get_mut(call.0).filter(|_| subscribes) else { return false };
        if asked.owner != Owner::Subscription {
            return false;
        }
        asked.sent = Sent::Nowhere;
        outgoing.wait(call.0, Wait::Forever, cx.now);
        true
    }
}
