//! Responses of the peer: which request they answer, and who gets the answer.

use super::Peer;
use super::again::can_be_sent_again;
use super::asked::Owner;
use super::call_cx::Answer;
use super::call_cx::CallCx;
use super::call_state::CallState;
use super::carrier_failure::ExchangeEnd;
use super::check_result::judged;
use super::cx::Cx;
use super::event::{Outcome, Stray};
use super::for_role::ForRole;
use super::late_probe::LateProbe;
use super::outlets::Lane;
use super::peer_event::PeerEvent;
use super::reception::Reception;
use crate::handle::{CallId, InboundId};
use crate::rpc::{ErrorObject, Id, ResultType, StrayCause};
use crate::session::Phase;

/// # Responses
impl Peer {
    pub(super) fn response<'e, 'a>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        id: Id<'a>,
        answer: Answer<'a>,
    ) -> Option<ForRole<'e, 'a>> {
        match self.pending(cx, &id) {
            Some(call) => self.answer(cx, call, answer),
            None if self.opening.is_late_probe(&id, cx.config.match_stringified_ids) => {
                Some(ForRole::LateProbe(LateProbe { outcome: answer.outcome, id }))
            }
            None => {
                let cause = self.stray_cause(cx, &id);
                Some(ForRole::Event(PeerEvent::Stray(Stray { id, cause })))
            }
        }
    }

    /// An error that names no request. If the carrier knows which call it answers, it ends that
    /// call; before the session is open it can only mean `initialize`.
    pub(super) fn idless_error<'e, 'a>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        error: ErrorObject<'a>,
        bytes: &'a [u8],
        reception: &Reception,
    ) -> Option<ForRole<'e, 'a>> {
        let lane = reception.arrival.lane;
        let by_lane = match lane {
            Lane::Call(call) if self.awaits_answer(call) => Some(call),
            _ => None,
        };
        let is_of_another = matches!(lane, Lane::Call(call) if Some(call) != self.opening.call);
        match by_lane.or_else(|| self.opening.call.filter(|_| !is_of_another)) {
            Some(call) => {
                let outcome = Outcome::PeerError(error);
                self.answer(cx, call, Answer { outcome, bytes, result_type: ResultType::Absent })
            }
            None => Some(ForRole::Event(PeerEvent::PeerFault(error))),
        }
    }

    /// The exchange that carried a call has ended.
    pub(crate) fn exchange_ended<'e, 'a>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        call: CallId,
        end: ExchangeEnd<'a>,
    ) -> Option<ForRole<'e, 'a>> {
        let asked = self.messages.outgoing.get(call.0);
        let may_be_known = asked.is_some_and(|asked| asked.sent.awaits_answer());
        if self.messages.lifecycle.phase == Phase::Closed || !may_be_known {
            return None;
        }
        #[cfg(any(call_table, fuzzing))]
        self.check_calls();
        self.messages.outgoing.clock_mut().tick(cx.now());
        let (outcome, status) = match end {
            ExchangeEnd::Error { is_mended: true, .. } if self.is_sent_again(cx, call) => {
                return None;
            }
            ExchangeEnd::Error { error, status, .. } => (Outcome::PeerError(error), Some(status)),
            ExchangeEnd::Failure(failure) => {
                let status = failure.status;
                (Outcome::Undelivered(failure), status)
            }
        };
        let answer = Answer { outcome, bytes: b"", result_type: ResultType::Absent };
        let mut for_role = self.answer(cx, call, answer);
        if let Some(ForRole::Event(PeerEvent::CallEnded(ended))) = &mut for_role {
            ended.status = status;
        }
        for_role
    }

    /// The carrier has found out how a call should have been made: whether it is sent again.
    fn is_sent_again(&mut self, cx: &mut Cx<'_, '_>, call: CallId) -> bool {
        let Some(asked) = self.messages.outgoing.get_mut(call.0) else { return false };
        let state = core::mem::replace(&mut asked.call.state, CallState::Stepping);
        let (below, index) = (&mut self.messages, &mut self.index);
        let mut at = CallCx { cx, below, index, call };
        let is_again = can_be_sent_again(&mut at);
        if is_again {
            state.send_again(&mut at);
        }
        self.put_state(call, state);
        is_again
    }

    /// The request that this id belongs to. One that has not been sent cannot have been answered.
    pub(super) fn pending(&self, cx: &Cx<'_, '_>, id: &Id<'_>) -> Option<CallId> {
        let number = id.number(cx.config.match_stringified_ids)?;
        let place = self.messages.outgoing.find(number)?;
        let asked = self.messages.outgoing.get(place)?;
        asked.sent.awaits_answer().then_some(CallId(place))
    }

    /// Whether a call of the application, or a question about a task, can be answered.
    fn awaits_answer(&self, call: CallId) -> bool {
        self.messages.outgoing.get(call.0).is_some_and(|asked| {
            let is_poll = matches!(asked.owner, Owner::Poll { .. });
            asked.sent.awaits_answer() && (asked.owner.is_application() || is_poll)
        })
    }

    /// Whether a request of ours with this id was cancelled or timed out not long ago.
    pub(super) fn was_given_up(&self, cx: &Cx<'_, '_>, id: &Id<'_>) -> bool {
        matches!(self.stray_cause(cx, id), StrayCause::Cancelled | StrayCause::TimedOut)
    }

    /// Why an id belongs to no request that could be answered.
    fn stray_cause(&self, cx: &Cx<'_, '_>, id: &Id<'_>) -> StrayCause {
        let outgoing = &self.messages.outgoing;
        let number = id.number(cx.config.match_stringified_ids);
        let pending = number.and_then(|number| outgoing.find(number));
        match pending.and_then(|place| outgoing.get(place)) {
            // Its id stays in use as the progress token of the task.
            Some(asked) if asked.call.state.takes_progress() => StrayCause::Completed,
            // The request has not been sent, or not under this id.
            Some(_) => StrayCause::NeverIssued,
            None => outgoing.stray(number),
        }
    }

    /// The answer to a request of ours has come.
    pub(super) fn answer<'e, 'a>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        call: CallId,
        answer: Answer<'a>,
    ) -> Option<ForRole<'e, 'a>> {
        match self.messages.outgoing.get(call.0)?.owner {
            Owner::Application | Owner::Subscription => {
                self.step(cx, (call, true), |state, at| state.answered(at, answer))
            }
            Owner::Initialize | Owner::Probe => {
                _ = self.take_out(call);
                Some(ForRole::HandshakeEnded(answer.outcome))
            }
            Owner::KeepAlive => {
                self.keep_alive.answered(&answer.outcome);
                _ = self.take_out(call);
                None
            }
            Owner::Input(id) => {
                let Answer { outcome, bytes, .. } = answer;
                let outcome = judged(&mut self.messages, cx, call, outcome, bytes);
                _ = self.take_out(call);
                self.input_answered(cx, (id, call), &outcome)
            }
            Owner::Interest => {
                _ = self.take_out(call);
                let is_granted = matches!(answer.outcome, Outcome::Result(_));
                self.in_sessions().request_ended(call, is_granted);
                None
            }
            Owner::TaskInput(_) => {
                let Answer { outcome, bytes, .. } = answer;
                let outcome = judged(&mut self.messages, cx, call, outcome, bytes);
                let left = self.take_out(call)?;
                Some(ForRole::Event(self.ended(left, outcome, false)))
            }
            Owner::Poll { of, kind } => {
                _ = self.take_out(call);
                self.step(cx, (of, false), |state, at| match state {
                    CallState::Task(task) => task.polled(at, kind, answer),
                    _ => super::call_cx::Next::On(None),
                })
            }
            Owner::Abandoned => self.abandoned_answered(cx, call, &answer).map(ForRole::Event),
        }
    }

    /// The client has answered one of the questions that were asked for a request. Gives that one if it can go on.
    fn input_answered<'e, 'a>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        (id, call): (InboundId, CallId),
        outcome: &Outcome<'_>,
    ) -> Option<ForRole<'e, 'a>> {
        let Outcome::Result(result) = outcome else {
            return self.input_failed(cx, id).map(ForRole::Event);
        };
        let answer = result.as_json();
        if !self.messages.may_keep(&cx.config.limits, answer.len()) {
            return self.input_failed(cx, id).map(ForRole::Event);
        }
        self.bridges.answered(&mut self.messages, id, call, answer);
        self.bridges.resumed(&mut self.messages, id).map(ForRole::Resumed)
    }
}
