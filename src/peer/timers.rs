//! What time brings about: what is due, and how a connection ends.

use super::Peer;
use super::asked::{Owner, Sent};
use super::call_cx::Next;
use super::call_state::CallState;
use super::cx::Cx;
use super::event::{Cause, Expiry, Outcome};
use super::for_role::ForRole;
use super::inputs::InputRequested;
use super::notify::release_notification;
use super::peer_event::PeerEvent;
use super::resumed::Resumed;
use super::room::forget_abandoned;
use crate::handle::CallId;
use crate::json::{Envelope, Member, Str};
use crate::lazy_box::LazyBox;
use crate::rpc::{Expired, GivenUp, Wait};
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
            if !self.messages.incoming.batches.is_empty() {
                self.messages.incoming.batches.send_all(cx.out);
                self.messages.incoming.batches = LazyBox::EMPTY;
            }
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
                    _ = self.step(cx, (call, false), |state, at| -> Next<'static, CallState> {
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

/// # What was held
impl Peer {
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
