//! The steps of calls: their transitions, and their single exit from the table.

use core::time::Duration;

use super::call_cx::{CallCx, CallNews, Next, PeerResponse};
use super::call_index::Stuck;
use super::call_state::{Call, CallState};
use super::calls::Calls;
use super::common_event::CommonEvent;
use super::cx::Cx;
use super::event::{CallEnded, CancelCause, Cause, Expiry, Outcome, TaskAnswer};
use super::for_role::ForRole;
use super::inputs::{InputRequested, Need};
use super::notify::release_notification;
use super::outgoing_request::{OutgoingRequest, Owner, PollKind, Sent};
use super::remote_task::RemoteTask;
use super::session_subscribe::InSessions;
use super::subscribe::{defer_outcome, end_of, next_early, starts_to_wait};
use super::subscription::{
    Subscription, SubscriptionEnd, SubscriptionNews, SubscriptionOrigin, SubscriptionUpdate,
};
use super::subscription_state::subscription_mut;
use super::task_messages::{method_of, poll, task_in};
use super::task_update::{AbandonedTask, TaskTicket};
use super::wanted_inputs::withdraw;
use crate::codes::ErrorCode;
use crate::handle::{CallId, IncomingId};
use crate::json::{Envelope, Member, Str};
use crate::lazy_box::LazyBox;
use crate::rpc::{Ending, GivenUp, Outgoing, Wait};

/// How long an abandoned call is remembered because it may become a task.
const LATE: Duration = Duration::from_secs(600);

/// A request that has left the table. Only this type makes the last event of a call.
#[must_use = "the application must receive the outcome of the call"]
pub(super) struct Left {
    call: CallId,
    owner: Owner,
    needed_input: bool,
    pub(super) state: CallState,
}

impl Left {
    /// Returns the receiver of the response.
    pub(super) const fn owner(&self) -> Owner {
        self.owner
    }

    /// Returns the last event of a subscription.
    pub(super) fn subscription_ended(self, end: SubscriptionEnd<'_>) -> CommonEvent<'_> {
        let news = SubscriptionNews::Ended(end);
        CommonEvent::Subscription(SubscriptionUpdate { call: self.call, news })
    }
}

/// # Steps
impl Calls {
    /// Runs one step of a call. `is_answer` is `true` if the step handles a response to the request of the call
    /// itself.
    #[inline]
    pub(super) fn step<'e, 'a>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        (call, is_answer): (CallId, bool),
        on: impl FnOnce(&mut CallState, &mut CallCx<'_, '_, '_, Call>) -> Next<'a, CallState>,
    ) -> Option<ForRole<'e, 'a>> {
        let asked = self.messages.outgoing.get_mut(call.0)?;
        let mut state = core::mem::replace(&mut asked.call.state, CallState::Stepping);
        let (below, index) = (&mut self.messages, &mut self.index);
        let next = on(&mut state, &mut CallCx { cx, below, index, call });
        let news = match next {
            Next::On(news) => {
                self.put_state(call, state);
                news
            }
            Next::Becomes(next, news) => {
                self.messages.incoming.bytes += next.bytes();
                self.messages.incoming.bytes -= state.bytes();
                self.put_state(call, next);
                news
            }
            Next::Ends(outcome) => {
                let is_deferred = state.subscription().is_some_and(Subscription::has_waiting);
                self.put_state(call, state);
                if is_deferred {
                    defer_outcome(&mut self.messages, cx, call, outcome);
                    return None;
                }
                let stale = is_answer && self.messages.is_stale(call);
                let left = self.leave(call)?;
                self.messages.outgoing.remove(call.0, Ending::Answered);
                return Some(ForRole::Event(self.ended(left, outcome, stale)));
            }
        };
        match news? {
            CallNews::Event(event) => Some(ForRole::Event(event)),
            CallNews::Input(input) => Some(ForRole::Input(input)),
        }
    }

    /// Stores the state of a call after a step.
    pub(super) fn put_state(&mut self, call: CallId, state: CallState) {
        if let Some(asked) = self.messages.outgoing.get_mut(call.0) {
            asked.call.needed_input |= match &state {
                CallState::Input(_) => true,
                CallState::Task(task) => !task.inputs.0.is_empty(),
                _ => false,
            };
            asked.call.state = state;
        }
    }

    /// Ends the work of a request that is about to leave the table or to lose its owner.
    pub(super) fn leave(&mut self, call: CallId) -> Option<Left> {
        let asked = self.messages.outgoing.get_mut(call.0)?;
        let owner = asked.owner;
        let needed_input = asked.call.needed_input;
        let state = core::mem::take(&mut asked.call.state);
        self.messages.incoming.bytes -= state.bytes();
        match &state {
            CallState::Single | CallState::Pages(_) | CallState::Stepping => {}
            CallState::Input(rounds) => {
                withdraw(&mut self.messages, rounds.inputs.places(), CancelCause::CallEnded);
            }
            CallState::Task(task) => {
                withdraw(&mut self.messages, task.inputs.places(), CancelCause::CallEnded);
                self.index.forget_task(task.id(), call);
            }
            CallState::Subscription(subscription) => {
                self.index.forget_subscription(call);
                self.in_sessions().leave(subscription);
            }
        }
        match owner {
            Owner::Initialize | Owner::Probe if self.opening.call == Some(call) => {
                self.opening.call = None;
            }
            Owner::Abandoned => {
                if let Some(id) = self.messages.outgoing.id(call.0) {
                    self.index.abandoned.remove(&id);
                }
            }
            _ => {}
        }
        Some(Left { call, owner, needed_input, state })
    }

    /// Takes a request out of the table because it got its response, or will not get one.
    pub(super) fn take_out(&mut self, call: CallId) -> Option<Left> {
        let left = self.leave(call);
        self.messages.outgoing.remove(call.0, Ending::Answered);
        left
    }

    /// Returns the last event of a call.
    pub(super) fn ended<'a>(
        &mut self,
        mut left: Left,
        outcome: Outcome<'a>,
        stale: bool,
    ) -> CommonEvent<'a> {
        if let CallState::Subscription(subscription) = &mut left.state {
            let outcome = match outcome {
                Outcome::NotSent => Outcome::Closed(self.messages.lifecycle.cause_of_end()),
                outcome => outcome,
            };
            let end = end_of(subscription, outcome);
            if matches!(end, SubscriptionEnd::Lost(_))
                && subscription.origin != SubscriptionOrigin::Elsewhere
            {
                self.index.lost.push(core::mem::take(&mut subscription.requested));
            }
            return left.subscription_ended(end);
        }
        let Left { call, owner, needed_input, state: _ } = left;
        if let Owner::TaskInput(task) = owner {
            return CommonEvent::TaskAnswer(TaskAnswer { task, call, outcome });
        }
        CommonEvent::CallEnded(CallEnded { stale, needed_input, ..CallEnded::new(call, outcome) })
    }

    /// Returns the subscriptions of a session.
    pub(super) fn in_sessions(&mut self) -> InSessions<'_> {
        InSessions { below: &mut self.messages, index: &mut self.index }
    }

    /// Returns the task that a call has become.
    pub(super) fn task_of(&self, call: CallId) -> Option<&RemoteTask> {
        self.messages.outgoing.get(call.0)?.call.state.task()
    }

    /// Gives up the pending requests about the task of a call, and requests the cancellation of the task. Returns
    /// whether the cancellation was requested.
    pub(super) fn cancel_remote(&mut self, cx: &mut Cx<'_, '_>, call: CallId) -> bool {
        let Some(asked) = self.messages.outgoing.get_mut(call.0) else { return false };
        let state = core::mem::replace(&mut asked.call.state, CallState::Stepping);
        let mut is_asked = false;
        if let CallState::Task(task) = &state {
            task.stop_asking(&mut self.messages, cx);
            is_asked = self.ask_to_cancel(cx, call, task.id());
        }
        self.put_state(call, state);
        is_asked
    }

    /// Requests the cancellation of a task. Returns whether the request was made.
    fn ask_to_cancel(&mut self, cx: &mut Cx<'_, '_>, call: CallId, id: &str) -> bool {
        let cx = &mut cx.without_time();
        let asks = (call, PollKind::Cancel);
        self.messages.session.may_cancel_tasks()
            && poll(&mut self.messages, cx, asks, id, (None, false)).is_ok()
    }

    /// Whether a request that asks for a task may have been sent and has no response yet. Such a request must not be
    /// cancelled like others.
    pub(super) fn may_become_task(&self, cx: &mut Cx<'_, '_>, call: CallId) -> bool {
        let below = &self.messages;
        let asked = below.outgoing.get(call.0);
        let asks = asked.is_some_and(|asked| asked.task.is_some() && asked.sent.awaits_answer());
        below.session.rules().tasks.asked_for && asks && !below.is_unsent(call, cx.out)
    }

    /// Marks a call that has its outcome but may still become a task. The call is remembered for [`LATE`], to cancel
    /// the task then.
    pub(super) fn abandon(&mut self, cx: &mut Cx<'_, '_>, call: CallId, cause: GivenUp) {
        let outgoing = &mut self.messages.outgoing;
        let Some(id) = outgoing.id(call.0) else { return };
        if let Some(asked) = outgoing.get_mut(call.0) {
            asked.owner = Owner::Abandoned;
        }
        outgoing.set_quiet(call.0);
        outgoing.wait(call.0, Wait::Late(LATE), cx.now);
        self.index.abandoned.insert(id, (call, cause));
        cx.out.note_late(call, true);
    }

    /// Handles the response to an abandoned call.
    pub(super) fn abandoned_answered<'a>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        call: CallId,
        answer: &PeerResponse<'a>,
    ) -> Option<CommonEvent<'a>> {
        let snapshot = match &answer.outcome {
            Outcome::Result(result) => {
                task_in(&self.messages, call, result, answer.result_type).flatten()
            }
            _ => None,
        };
        let event = snapshot.map(|snapshot| {
            let id = snapshot.id.to_str().into_owned();
            let ticket = TaskTicket::new(id, method_of(&self.messages, call));
            let cancelled = self.ask_to_cancel(cx, call, &ticket.task_id);
            CommonEvent::AbandonedTask(AbandonedTask { ticket, cancelled })
        });
        cx.out.note_late(call, false);
        // The application has the outcome of the call already.
        _ = self.take_out(call);
        event
    }

    /// Schedules the end of a call whose required input the application refuses.
    pub(super) fn refuse_input(&mut self, id: IncomingId, need: Need, code: ErrorCode) {
        // A request for input has started no other work.
        _ = self.messages.take(id, Ending::Answered);
        let call = need.call;
        self.index.stuck.push_back((call, Stuck::Refused(code)));
        let Some(asked) = self.messages.outgoing.get_mut(call.0) else { return };
        let state = &mut asked.call.state;
        self.messages.incoming.bytes -= match state {
            CallState::Input(_) | CallState::Task(_) => state.bytes(),
            _ => 0,
        };
        let inputs = match state {
            CallState::Input(_) => match core::mem::take(state) {
                CallState::Input(rounds) => rounds.inputs,
                _ => return,
            },
            CallState::Task(task) => core::mem::take(&mut task.inputs),
            _ => return,
        };
        withdraw(&mut self.messages, inputs.places(), CancelCause::CallEnded);
    }

    /// Ends the next call that cannot proceed.
    pub(super) fn next_stuck(&mut self, cx: &mut Cx<'_, '_>) -> Option<CommonEvent<'static>> {
        while !self.index.stuck.is_empty() {
            let (call, stuck) = self.index.stuck.pop_front()?;
            // A task outlives the connection: its ticket is more useful than the reason why polling failed.
            let is_task = self.task_of(call).is_some();
            let survives = self.messages.lifecycle.input_ended && is_task;
            if self.messages.outgoing.get(call.0).is_none() || survives {
                continue;
            }
            let outcome = match stuck {
                Stuck::Refused(code) => Outcome::InputRefused(code),
                Stuck::CallError(error) => Outcome::CallError(error),
            };
            if is_task {
                // The result of the task will not be requested any more.
                self.cancel_remote(cx, call);
            }
            let left = self.take_out(call)?;
            return Some(self.ended(left, outcome, false));
        }
        None
    }

    /// Ends a request because the connection has ended.
    pub(super) fn end_with_connection(
        &mut self,
        cx: &mut Cx<'_, '_>,
        call: CallId,
        cause: Cause,
    ) -> Option<CommonEvent<'static>> {
        let below = &mut self.messages;
        let is_withdrawn = |outgoing: &Outgoing<OutgoingRequest<_>>, place| {
            outgoing.get(place).is_some_and(|asked| !asked.stays_in_outbox())
        };
        if !is_withdrawn(&below.outgoing, call.0) {
            _ = self.take_out(call);
            return None;
        }
        below.withdraw_with(call, is_withdrawn, cx.out);
        below.withdraw_batch_of(call, cx.out);
        let asked = below.outgoing.get(call.0)?;
        // The peer has already seen an earlier request of a call that is sent again, or asks for a further page.
        let is_further = match &asked.call.state {
            CallState::Input(_) => true,
            CallState::Pages(pages) => pages.has_begun(),
            _ => false,
        };
        let was_answered = asked.sent == Sent::Nowhere || is_further;
        let is_unsent = below.withdraw(call, cx.out) && !was_answered;
        let outcome = if is_unsent { Outcome::NotSent } else { Outcome::Closed(cause) };
        let method = method_of(below, call);
        let left_task = self.task_of(call).map(|task| task.left(method));
        let left = self.take_out(call)?;
        Some(self.ended(left, left_task.unwrap_or(outcome), false))
    }
}

/// # Effects of time and of the handshake
impl Calls {
    /// Polls every task whose poll is due, and sends the requests that are to be sent again. Returns the event of the
    /// next task whose lifetime has expired.
    pub(super) fn next_poll(&mut self, cx: &mut Cx<'_, '_>) -> Option<CommonEvent<'static>> {
        while let Some(place) = self.messages.outgoing.take_poll(cx.now()) {
            let due = self.step(cx, (CallId(place), false), |state, at| match state {
                CallState::Task(task) => task.due(at),
                state => {
                    // Without room it is scheduled again, for later, so the loop ends.
                    state.send_again(at);
                    Next::On(None)
                }
            });
            if let Some(ForRole::Event(event)) = due {
                return Some(event);
            }
        }
        None
    }

    pub(super) fn expire(
        &mut self,
        cx: &mut Cx<'_, '_>,
        call: CallId,
        expiry: Expiry,
    ) -> Option<CommonEvent<'static>> {
        let outcome = Outcome::TimedOut(expiry);
        let may_become_task = self.may_become_task(cx, call);
        let left = self.leave(call)?;
        if may_become_task {
            self.abandon(cx, call, GivenUp::TimedOut);
        } else {
            self.messages.drop(cx, call, GivenUp::TimedOut, Some("the request timed out"));
        }
        Some(self.ended(left, outcome, false))
    }

    /// Returns the next new request for input of any call.
    pub(super) fn next_input(&mut self) -> Option<InputRequested> {
        while let Some((id, need)) = self.messages.incoming.next_unannounced() {
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

    pub(super) fn next_early(&mut self) -> Option<CommonEvent<'static>> {
        if self.index.early.is_empty() {
            return None;
        }
        while let Some(call) = self.index.early.front().copied() {
            if let Some(event) = next_early(&mut self.messages, call) {
                return Some(event);
            }
            self.index.early.pop_front();
            if let Some(end) = subscription_mut(&mut self.messages, call)
                .and_then(|subscription| subscription.end.take())
            {
                return Some(self.take_out(call)?.subscription_ended(end));
            }
        }
        None
    }

    /// Sends the queued messages that the negotiated session allows, after the handshake. They may exceed the limit
    /// of the outbox, because the queue has its own limit. So no message stays behind that later ones could overtake.
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
                Ok(serial) => {
                    starts_to_wait(&mut self.messages, cx, call);
                    Sent::Outbox(serial)
                }
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

    /// Whether a queued call is a subscription that a session emulates.
    fn is_for_session(&mut self, cx: &Cx<'_, '_>, call: CallId) -> bool {
        let subscribes = self.messages.session.rules().updates.session_subscribes;
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
