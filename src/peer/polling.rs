//! What becomes of a call that has become a task of the peer: it is asked about until it has ended, and the
//! call ends as it would have without a task.

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::Peer;
use super::call::{Call, Purpose};
use super::call_options::{CallError, CallOptions, Timeout};
use super::cx::Cx;
use super::event::{CallEnded, Expiry, Outcome};
use super::peer_event::PeerEvent;
use super::reception::Reception;
use super::tracking::{Snapshot, Standing, Step, StepKind, TaskPart, Telling, Tracked, part};
use crate::dialect::methods::RequestKind;
use crate::error::{ErrorCode, ViolationKind};
use crate::handle::CallId;
use crate::json::{EncodeError, MemberTexts, Raw, Str, member};
use crate::model::TaskStatus;
use crate::rpc::{ErrorObject, GivenUp};
use crate::time::Instant;

/// After how many bad answers in a row a task is not asked about any more.
const MOST_FAILURES: u32 = 5;

/// How many calls a call that has become a task stands for, with the questions about it.
const STEPS: u32 = 4;

/// The params of a question about a task.
struct About<'t> {
    id: &'t str,
    /// What it has asked for, an object.
    inputs: Option<&'t str>,
}

impl Serialize for About<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut params = serializer.serialize_map(None)?;
        params.serialize_entry("taskId", self.id)?;
        if let Some(inputs) = self.inputs {
            params.serialize_entry("inputResponses", &Raw::trusted(inputs))?;
        }
        params.end()
    }
}

/// Whether a result has nothing but metadata: some servers answer so if there is no result.
fn says_nothing(result: &str) -> bool {
    MemberTexts::of(result).all(|(key, _)| key == "_meta" || key == "resultType")
}

/// # Asking about it
impl Peer {
    /// Asks how far a task is.
    pub(super) fn ask_about(&mut self, cx: &mut Cx<'_, '_>, call: CallId) {
        self.ask_later(call, None);
        if self.tracked_part(call).is_some_and(|tracked| tracked.get.is_some()) {
            return;
        }
        let asked = self.take_step(cx, call, (StepKind::Get, None));
        self.note_step(call, asked, cx.now(), |tracked, step| tracked.get = Some(step));
    }

    /// Does what is to be done about a task as it is known to be.
    pub(super) fn look_after(&mut self, cx: &mut Cx<'_, '_>, call: CallId) {
        let by_method = self.rules().task_result_by_method;
        let Some(tracked) = self.tracked_part(call) else { return };
        let standing = tracked.standing;
        let waits_for_result = by_method
            && tracked.result.is_none()
            && (standing == Standing::Ended
                || (standing == Standing::InputRequired && !tracked.ends_first));
        if waits_for_result {
            let asked = self.take_step(cx, call, (StepKind::Result, None));
            self.note_step(call, asked, cx.now(), |tracked, step| tracked.result = Some(step));
        }
        let result = self.tracked_part(call).and_then(|tracked| tracked.result);
        match result.filter(|_| standing.is_final() && by_method) {
            Some(step) => {
                self.ask_later(call, None);
                self.hurry_result(cx, step);
            }
            None => self.ask_in_a_while(call, cx.now()),
        }
    }

    /// What was asked for while the task went on can be answered now that it has ended: from now on there is a
    /// limit to how long that may take.
    fn hurry_result(&mut self, cx: &Cx<'_, '_>, step: CallId) {
        let now = self.clock.at(cx.now());
        let Some(entry) = self.outbound.get_mut(step.0).filter(|entry| entry.idle.is_none()) else {
            return;
        };
        entry.idle = cx.config.timeouts.idle;
        entry.idle_deadline = entry.idle.map(|idle| now + idle);
        self.set_deadline(step);
    }

    /// Sends a question about a task.
    pub(super) fn take_step(
        &mut self,
        cx: &mut Cx<'_, '_>,
        call: CallId,
        (kind, inputs): (StepKind, Option<&str>),
    ) -> Result<CallId, CallError> {
        let Some(tracked) = self.tracked_part(call) else { return Err(CallError::Closed) };
        let (id, is_over) = (tracked.id.clone(), tracked.standing.is_final());
        let (asks, options) = match kind {
            StepKind::Get => (RequestKind::GetTask, CallOptions::new()),
            StepKind::Result if is_over => (RequestKind::TaskResult, CallOptions::new()),
            // It is answered when the task has ended.
            StepKind::Result => (RequestKind::TaskResult, CallOptions::new().idle(Timeout::Never)),
            StepKind::Update => (RequestKind::UpdateTask, CallOptions::new()),
            StepKind::Cancel => (RequestKind::CancelTask, CallOptions::new()),
        };
        let method = asks.rule().name;
        // Calls that have become tasks must not keep each other from being asked about.
        if cx.config.limits.outbound_calls.saturating_mul(STEPS) <= self.outbound.len() {
            return Err(CallError::TooManyCalls);
        }
        let mut order = self.prepare_one_more(cx, method, options)?;
        order.entry.purpose = Purpose::TaskStep;
        order.entry.task = part(TaskPart::Step(Step { of: call, kind }));
        let params = About { id: &id, inputs };
        let step = self.make(cx, &mut order, method, &params)?;
        if cx.now.is_none() {
            self.date_later(step);
        }
        Ok(step)
    }

    /// Remembers a question that was sent, or that it could not be: then it is sent later, or never.
    fn note_step(
        &mut self,
        call: CallId,
        asked: Result<CallId, CallError>,
        now: Instant,
        keep: impl FnOnce(&mut Tracked, CallId),
    ) {
        match asked {
            Ok(step) => {
                if let Some(tracked) = self.outbound.get_mut(call.0).and_then(Call::tracked_mut) {
                    keep(tracked, step);
                }
            }
            Err(CallError::TooManyCalls | CallError::Encode(EncodeError::Full)) => {
                self.ask_in_a_while(call, now);
            }
            // The end of the connection ends the call.
            Err(CallError::Closed) => {}
            Err(error) => {
                self.ask_later(call, None);
                self.is_stuck(call, error);
            }
        }
    }

    pub(super) fn ask_in_a_while(&mut self, call: CallId, now: Instant) {
        let Some(tracked) = self.outbound.get_mut(call.0).and_then(Call::tracked_mut) else {
            return;
        };
        let at = match tracked.ask_at {
            Some(at) => at,
            None => now + tracked.wait(),
        };
        self.ask_later(call, Some(at));
    }

    /// When the next thing is to be done about a task: it is asked about, or it is lost.
    fn ask_later(&mut self, call: CallId, at: Option<Instant>) {
        let Some(tracked) = self.outbound.get_mut(call.0).and_then(Call::tracked_mut) else {
            return;
        };
        tracked.ask_at = at;
        let next = at.into_iter().chain(tracked.lost_at).min();
        match (next, self.outbound.id(call.0)) {
            (Some(next), Some(id)) => self.polls.set(call.0.index, id, next),
            _ if self.polls.is_empty() => {}
            _ => self.polls.clear(call.0.index),
        }
    }

    /// Asks about every task whose time for it has come. Gives one that is lost.
    pub(super) fn ask_about_due(&mut self, cx: &mut Cx<'_, '_>) -> Option<PeerEvent<'static>> {
        while let Some((_, index)) = self.polls.first().filter(|(at, _)| *at <= cx.now()) {
            self.polls.clear(index);
            let Some(place) = self.outbound.place_of(index) else { continue };
            let call = CallId(place);
            let Some(tracked) = self.tracked_part(call) else { continue };
            if tracked.lost_at.is_some_and(|lost_at| lost_at <= cx.now()) {
                return Some(self.finish(cx, call, Outcome::TaskLost));
            }
            self.bring_inputs(cx, call);
            self.ask_about(cx, call);
        }
        None
    }

    pub(super) fn tracked_part(&self, call: CallId) -> Option<&Tracked> {
        self.outbound.get(call.0)?.tracked()
    }
}

/// # What is answered
impl Peer {
    /// A question about a task has been answered.
    pub(super) fn step_ended<'a>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        step: CallId,
        outcome: Outcome<'a>,
        bytes: &'a [u8],
        reception: &Reception,
    ) -> Option<PeerEvent<'a>> {
        let Step { of: call, kind } = self.outbound.get(step.0)?.step()?;
        self.end_call(step);
        self.step_is_over(call, kind);
        self.tracked_part(call)?;
        let (_config, _now) = (cx.config, cx.now());
        match (kind, outcome) {
            (StepKind::Get, outcome) => self.told_of(cx, call, outcome, bytes, reception),
            (StepKind::Result, outcome) => self.result_came(cx, call, outcome, bytes, reception),
            (StepKind::Update, Outcome::Result(_)) => None,
            // It is said again when the task still asks for it.
            (StepKind::Update, _) => {
                self.updates_are_lost(call);
                None
            }
            // In a session it says how far the task is now.
            (StepKind::Cancel, outcome @ Outcome::Result(_)) if self.rules().task_cancel_ends => {
                self.told_of(cx, call, outcome, bytes, reception)
            }
            // It is over, or gone, or has been heard of.
            (StepKind::Cancel, _) => {
                self.ask_about(cx, call);
                None
            }
        }
    }

    fn step_is_over(&mut self, call: CallId, kind: StepKind) {
        let Some(tracked) = self.outbound.get_mut(call.0).and_then(Call::tracked_mut) else {
            return;
        };
        match kind {
            StepKind::Get => tracked.get = None,
            StepKind::Result => tracked.result = None,
            StepKind::Update | StepKind::Cancel => {}
        }
    }

    /// The peer has said how far a task is, or has not.
    fn told_of<'a>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        call: CallId,
        outcome: Outcome<'a>,
        bytes: &'a [u8],
        reception: &Reception,
    ) -> Option<PeerEvent<'a>> {
        let id = self.tracked_part(call).map(|tracked| tracked.id.clone())?;
        let snapshot = match &outcome {
            Outcome::Result(result) => result.borrowed().and_then(Snapshot::read),
            _ => None,
        };
        match (snapshot.filter(|snapshot| *snapshot.id.to_str() == *id), outcome) {
            (Some(snapshot), _) => self.seen(cx, call, snapshot, bytes, reception),
            (None, Outcome::PeerError(error)) if error.code == ErrorCode::INVALID_PARAMS => {
                Some(self.finish(cx, call, Outcome::TaskLost))
            }
            (None, Outcome::Result(_)) => {
                let kind = ViolationKind::InvalidResult;
                let outcome = Outcome::Malformed { kind, message: bytes.into() };
                self.failed_to_hear(cx, call, outcome)
            }
            (None, outcome) => self.failed_to_hear(cx, call, outcome),
        }
    }

    /// There was no good answer about a task: it is asked again, or after some times not any more.
    pub(super) fn failed_to_hear<'a>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        call: CallId,
        outcome: Outcome<'a>,
    ) -> Option<PeerEvent<'a>> {
        let tracked = self.outbound.get_mut(call.0).and_then(Call::tracked_mut)?;
        tracked.failures += 1;
        let is_hopeless = matches!(
            &outcome,
            Outcome::PeerError(error)
                if error.code == ErrorCode::METHOD_NOT_FOUND
                    || error.code == ErrorCode::MISSING_CLIENT_CAPABILITY
        );
        if is_hopeless || MOST_FAILURES <= tracked.failures {
            return Some(self.finish(cx, call, outcome));
        }
        self.ask_in_a_while(call, cx.now());
        None
    }

    /// The peer has said how far a task is.
    pub(super) fn seen<'a>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        call: CallId,
        snapshot: Snapshot<'a>,
        bytes: &'a [u8],
        _reception: &Reception,
    ) -> Option<PeerEvent<'a>> {
        let tracked = self.outbound.get_mut(call.0).and_then(Call::tracked_mut)?;
        if !tracked.standing.is_final() {
            // What it came to is asked for, and that it has ended is known.
            tracked.failures = 0;
        }
        let telling = tracked.take_in(&snapshot);
        if tracked.standing == Standing::Cancelled {
            return Some(self.finish(cx, call, Outcome::TaskCancelled));
        }
        if !self.rules().task_result_by_method {
            if snapshot.standing() == Standing::Ended {
                let outcome = self.inlined(cx, call, snapshot.text, bytes);
                return Some(self.finish(cx, call, outcome));
            }
            if telling != Telling::Stale {
                let _now = cx.now();
                self.take_task_inputs(cx, call, snapshot.text);
            }
        }
        let event = (telling == Telling::News).then(|| self.update_of(call, snapshot));
        self.look_after(cx, call);
        event
    }

    /// What a task has come to, where it says so itself.
    fn inlined<'a>(
        &mut self,
        cx: &Cx<'_, '_>,
        call: CallId,
        text: &'a str,
        bytes: &'a [u8],
    ) -> Outcome<'a> {
        let error = member(text, "error").and_then(ErrorObject::from_literal);
        let result = member(text, "result").filter(|result| result.starts_with('{'));
        let is_result = |result: &&str| {
            let kind = member(result, "resultType").map(Str::from_literal);
            kind.is_none_or(|kind| kind.is_some_and(|kind| kind == "complete"))
        };
        match (result.filter(is_result), error) {
            (Some(result), None) => {
                self.judged(cx, call, Outcome::Result(Raw::trusted(result)), bytes)
            }
            (None, Some(error)) => self.judged(cx, call, Outcome::PeerError(error), bytes),
            _ => Outcome::Malformed { kind: ViolationKind::InvalidResult, message: bytes.into() },
        }
    }

    /// What a task has come to, where that is asked for.
    fn result_came<'a>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        call: CallId,
        outcome: Outcome<'a>,
        bytes: &'a [u8],
        _reception: &Reception,
    ) -> Option<PeerEvent<'a>> {
        let tracked = self.outbound.get_mut(call.0).and_then(Call::tracked_mut)?;
        let is_answer =
            matches!(&outcome, Outcome::Result(result) if !says_nothing(result.as_json()));
        let is_lost = matches!(
            &outcome,
            Outcome::PeerError(error) if error.code == ErrorCode::INVALID_PARAMS
        ) && Snapshot::read(&tracked.latest)
            .is_some_and(|known| known.status == TaskStatus::Completed);
        if is_lost {
            // It had a result, so that this is not what it came to.
            return Some(self.finish(cx, call, Outcome::TaskLost));
        }
        if is_answer || tracked.standing.is_final() {
            let outcome = self.judged(cx, call, outcome, bytes);
            return Some(self.finish(cx, call, outcome));
        }
        // It can be what the task came to, or be about the task: how that is tells which. Nor is it waited
        // for again before it has ended, or both sides would ask and refuse without a pause.
        tracked.ends_first = true;
        self.ask_about(cx, call);
        None
    }

    /// A call that has become a task ends.
    pub(super) fn finish<'a>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        call: CallId,
        outcome: Outcome<'a>,
    ) -> PeerEvent<'a> {
        self.stop_asking(cx, call);
        let needed_input = self.needed_input(call);
        self.end_call(call);
        PeerEvent::CallEnded(CallEnded { needed_input, ..CallEnded::new(call, outcome) })
    }

    /// Nobody waits any more for what was asked about a task. What is answered soon is left alone.
    pub(super) fn stop_asking(&mut self, cx: &mut Cx<'_, '_>, call: CallId) {
        let Some(Tracked { get, result, .. }) = self.tracked_part(call) else { return };
        // The one has not been asked yet, the other is not answered before the task has ended.
        let unasked = get.filter(|step| self.is_unsent(cx, *step));
        let steps = [unasked, *result];
        for step in steps.into_iter().flatten() {
            if self.outbound.get(step.0).is_some() {
                self.give_up(cx, step, GivenUp::Cancelled, None);
            }
        }
    }

    /// A question about a task may not be asked in the session as it is.
    pub(super) fn step_refused(&mut self, step: CallId, error: CallError) {
        let Some(Step { of: call, kind }) = self.outbound.get(step.0).and_then(Call::step) else {
            return;
        };
        self.end_call(step);
        self.step_is_over(call, kind);
        if kind != StepKind::Cancel && self.tracked_part(call).is_some() {
            self.is_stuck(call, error);
        }
    }

    /// A question about a task has not been answered in time.
    pub(super) fn step_expired(
        &mut self,
        cx: &mut Cx<'_, '_>,
        step: CallId,
    ) -> Option<PeerEvent<'static>> {
        let Step { of: call, kind } = self.outbound.get(step.0)?.step()?;
        self.give_up(cx, step, GivenUp::TimedOut, Some("the request timed out"));
        self.step_is_over(call, kind);
        let is_over = self.tracked_part(call)?.standing.is_final();
        match (kind, is_over) {
            (StepKind::Get, _) | (StepKind::Result, true) => {
                self.failed_to_hear(cx, call, Outcome::TimedOut(Expiry::Idle))
            }
            // It is not answered before the task has ended.
            (StepKind::Result, false) | (StepKind::Cancel, _) => {
                self.ask_in_a_while(call, cx.now());
                None
            }
            (StepKind::Update, _) => {
                self.updates_are_lost(call);
                None
            }
        }
    }
}
