//! `RemoteTask`: a task of the peer that a call has become. It is polled until it has ended, and the call ends as it would
//! have without a task ([tasks](https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks), and
//! the extension from 2026-07-28 on).

use alloc::boxed::Box;
use alloc::string::String;
use core::fmt;
use core::time::Duration;

use super::call_cx::{Answer, CallCx, CallNews, Next};
use super::call_options::{CallError, TaskOptions};
use super::check_result::judged;
use super::cx::Cx;
use super::event::{Expiry, Outcome};
use super::inputs::Inputs;
use super::messages::Messages;
use super::outgoing_request::{PollKind, Sent};
use super::resend::stuck;
use super::task_messages::{inlined, poll, task_in, update_of};
use super::task_snapshot::{Novelty, Seen, Snapshot, TaskProgress};
use super::task_update::{BegunTask, TaskTicket};
use crate::codes::{ErrorCode, ViolationKind};
use crate::handle::CallId;
use crate::json::{MemberTexts, Raw};
use crate::model::TaskStatus;
use crate::rpc::{GivenUp, Recycle, ResultType, Wait};
use crate::schema::EncodeError;
use crate::time::Instant;

/// After how many bad answers in a row a task is not asked about any more.
const MOST_FAILURES: u32 = 5;

/// A task of the peer that a call has become.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct RemoteTask {
    id: String,
    options: TaskOptions,
    /// The request of the call was answered with the task. A call that resumes a task has sent no request.
    pub(super) was_answered: bool,
    seen: Seen,
    /// When it is asked about next.
    ask_at: Option<Instant>,
    /// How often it was asked about without a word of how long to wait.
    asked: u32,
    /// How often in a row there was no good answer.
    failures: u32,
    /// The peer does not let this side wait for what it comes to before it has ended.
    ends_first: bool,
    /// The questions that are on their way.
    get: Option<CallId>,
    result: Option<CallId>,
    /// What it requires, where there are no sessions.
    pub(super) inputs: Inputs,
}

/// Without its id, and without what it says.
impl fmt::Debug for RemoteTask {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RemoteTask")
            .field("progress", &self.seen.progress)
            .field("failures", &self.failures)
            .finish_non_exhaustive()
    }
}

/// Whether a result has nothing but metadata: some servers answer so if there is no result.
fn is_empty_result(result: &str) -> bool {
    MemberTexts::of(result).all(|(key, _)| key == "_meta" || key == "resultType")
}

/// # Beginning
impl RemoteTask {
    /// Looks whether the result of a call is a task.
    pub(super) fn begin<'a, C: Recycle>(
        at: &mut CallCx<'_, '_, '_, C>,
        result: &Raw<'a>,
        result_type: ResultType,
        bytes: &'a [u8],
    ) -> Option<Next<'a, Box<Self>>> {
        let snapshot = task_in(at.below, at.call, result, result_type)?;
        let limits = &at.cx.config.limits;
        let Some(snapshot) = snapshot.filter(|task| task.id.as_wire().len() <= limits.uri_bytes)
        else {
            return Some(Next::invalid(bytes));
        };
        let asked = at.below.outgoing.get(at.call.0)?;
        let options = asked.task.as_deref().copied().unwrap_or_default();
        let kind = asked.kind?;
        let id = snapshot.id.to_str().into_owned();
        if options.by_hand {
            let ticket = TaskTicket::new(id, kind.rule().name);
            let task = Raw::trusted(snapshot.text);
            let meta = snapshot.meta.map(Raw::trusted);
            return Some(Next::Ends(Outcome::Task(BegunTask { ticket, task, meta })));
        }
        let mut seen = Seen::nothing(at.cx.now(), limits.kept_bytes);
        seen.take_in(&snapshot);
        let mut task = Self { id, options, was_answered: true, seen, ..Self::default() };
        task.follow(at);
        let event = update_of(at.below, at.call, snapshot);
        task.schedule_next_poll(at);
        Some(Next::Becomes(Box::new(task), Some(CallNews::Event(event))))
    }

    /// A task that was begun on another connection, and is asked about now.
    pub(super) fn resume<C: Recycle>(
        at: &mut CallCx<'_, '_, '_, C>,
        id: String,
        options: TaskOptions,
    ) -> Box<Self> {
        let seen = Seen::nothing(at.cx.now(), at.cx.config.limits.kept_bytes);
        let mut task = Self { id, options, seen, ..Self::default() };
        task.follow(at);
        task.ask_about(at);
        Box::new(task)
    }

    /// From now on the call stands for the task.
    fn follow<C: Recycle>(&self, at: &mut CallCx<'_, '_, '_, C>) {
        at.index.by_task.0.insert(self.id.clone(), at.call);
        if let Some(asked) = at.below.outgoing.get_mut(at.call.0) {
            asked.sent = Sent::Nowhere;
            asked.again.params.clear();
            asked.task = None;
        }
        at.below.outgoing.set_quiet(at.call.0);
        at.below.outgoing.wait(at.call.0, Wait::Task, at.cx.now);
    }

    /// What the peer calls it.
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// How the call ends, if nothing more is asked about the task on this connection.
    pub(super) fn left(&self, method: &'static str) -> Outcome<'static> {
        self.seen.left(TaskTicket::new(self.id.clone(), method))
    }
}

/// # Asking about it
impl RemoteTask {
    /// Asks how far the task is.
    pub(super) fn ask_about<C: Recycle>(&mut self, at: &mut CallCx<'_, '_, '_, C>) {
        self.ask_later(at, None);
        if self.get.is_some() {
            return;
        }
        let asked = self.poll(at.below, at.cx, at.call, (PollKind::Get, None));
        self.note_poll(at, asked, |task, poll| task.get = Some(poll));
    }

    /// Schedules the next poll of the task, or the request of its result, from its last known status.
    fn schedule_next_poll<C: Recycle>(&mut self, at: &mut CallCx<'_, '_, '_, C>) {
        let by_method = at.below.session.rules().tasks.result_by_method;
        let progress = self.seen.progress;
        let waits_for_result = by_method
            && self.result.is_none()
            && (progress == TaskProgress::Ended
                || (progress == TaskProgress::InputRequired && !self.ends_first));
        if waits_for_result {
            let asked = self.poll(at.below, at.cx, at.call, (PollKind::Result, None));
            self.note_poll(at, asked, |task, poll| task.result = Some(poll));
        }
        match self.result.filter(|_| progress.is_final() && by_method) {
            Some(poll) => {
                self.ask_later(at, None);
                // It can be answered now that the task has ended: from now on there is a limit to how long that may take.
                let idle = at.cx.config.timeouts.idle;
                at.below.outgoing.wait(poll.0, Wait::Soon(idle), at.cx.now);
            }
            None => self.ask_in_a_while(at),
        }
    }

    /// Sends a question about the task.
    pub(super) fn poll<C: Recycle>(
        &self,
        below: &mut Messages<C>,
        cx: &mut Cx<'_, '_>,
        of: CallId,
        (kind, inputs): (PollKind, Option<&str>),
    ) -> Result<CallId, CallError> {
        poll(below, cx, (of, kind), &self.id, (inputs, self.seen.progress.is_final()))
    }

    /// Remembers a question that was sent, or that it could not be: then it is sent later, or never.
    fn note_poll<C: Recycle>(
        &mut self,
        at: &mut CallCx<'_, '_, '_, C>,
        asked: Result<CallId, CallError>,
        keep: impl FnOnce(&mut Self, CallId),
    ) {
        match asked {
            Ok(poll) => keep(self, poll),
            Err(CallError::TooManyCalls | CallError::Encode(EncodeError::Full)) => {
                self.ask_in_a_while(at);
            }
            // The end of the connection ends the call.
            Err(CallError::Closed) => {}
            Err(error) => {
                self.ask_later(at, None);
                stuck(at, error);
            }
        }
    }

    fn ask_in_a_while<C: Recycle>(&mut self, at: &mut CallCx<'_, '_, '_, C>) {
        let next = match self.ask_at {
            Some(next) => next,
            None => at.cx.now() + self.next_wait(),
        };
        self.ask_later(at, Some(next));
    }

    /// How long to wait before the next question.
    fn next_wait(&mut self) -> Duration {
        const SHORTEST: Duration = Duration::from_millis(10);
        const LONGEST: Duration = Duration::from_secs(3_600);
        const FIRST: Duration = Duration::from_secs(1);
        const MOST: Duration = Duration::from_secs(5);
        let interval = match (self.seen.interval, self.options.poll_interval) {
            (Some(interval), _) | (None, Some(interval)) => interval,
            (None, None) => FIRST.saturating_mul(1 << self.asked.min(3)).min(MOST),
        };
        self.asked = self.asked.saturating_add(1);
        let interval = interval.saturating_mul(1 << self.failures.min(5));
        interval.clamp(SHORTEST, LONGEST)
    }

    /// When the next thing is to be done about the task: it is asked about, or it is lost.
    fn ask_later<C: Recycle>(&mut self, at: &mut CallCx<'_, '_, '_, C>, next: Option<Instant>) {
        self.ask_at = next;
        match next.into_iter().chain(self.seen.lost_at).min() {
            Some(next) => at.below.outgoing.poll_at(at.call.0, next),
            None => at.below.outgoing.stop_polling(at.call.0),
        }
    }

    /// The time has come to ask about the task, or it is lost.
    pub(super) fn due<C: Recycle, S>(
        &mut self,
        at: &mut CallCx<'_, '_, '_, C>,
    ) -> Next<'static, S> {
        if self.seen.lost_at.is_some_and(|lost_at| lost_at <= at.cx.now()) {
            return self.ends(at, Outcome::TaskNotFound);
        }
        self.send_inputs(at);
        self.ask_about(at);
        Next::On(None)
    }

    /// The call ends with this. What was asked about the task and is answered soon is left alone.
    pub(super) fn ends<'a, C: Recycle, S>(
        &self,
        at: &mut CallCx<'_, '_, '_, C>,
        outcome: Outcome<'a>,
    ) -> Next<'a, S> {
        self.stop_asking(at.below, at.cx);
        Next::Ends(outcome)
    }

    /// Gives up what was asked about the task and is not answered soon.
    pub(super) fn stop_asking<C: Recycle>(&self, below: &mut Messages<C>, cx: &mut Cx<'_, '_>) {
        // The one has not been asked yet, the other is not answered before the task has ended.
        let unasked = self.get.filter(|poll| below.is_unsent(*poll, cx.out));
        for poll in [unasked, self.result].into_iter().flatten() {
            if below.outgoing.get(poll.0).is_some() {
                below.drop(cx, poll, GivenUp::Cancelled, None);
            }
        }
    }
}

/// # What is answered
impl RemoteTask {
    /// A question about the task has been answered.
    pub(super) fn polled<'a, C: Recycle, S>(
        &mut self,
        at: &mut CallCx<'_, '_, '_, C>,
        kind: PollKind,
        answer: Answer<'a>,
    ) -> Next<'a, S> {
        self.poll_is_over(kind);
        let ends_by_cancel = at.below.session.rules().tasks.cancel_ends;
        match (kind, &answer.outcome) {
            (PollKind::Get, _) => self.on_poll_result(at, answer),
            (PollKind::Result, _) => self.result_came(at, answer),
            (PollKind::Update, Outcome::Result(_)) => Next::On(None),
            // It is said again when the task still asks for it.
            (PollKind::Update, _) => {
                self.updates_are_lost();
                Next::On(None)
            }
            // In a session it says how far the task is now.
            (PollKind::Cancel, Outcome::Result(_)) if ends_by_cancel => {
                self.on_poll_result(at, answer)
            }
            // It is over, or gone, or has been heard of.
            (PollKind::Cancel, _) => {
                self.ask_about(at);
                Next::On(None)
            }
        }
    }

    fn poll_is_over(&mut self, kind: PollKind) {
        match kind {
            PollKind::Get => self.get = None,
            PollKind::Result => self.result = None,
            PollKind::Update | PollKind::Cancel => {}
        }
    }

    /// Handles the response to a poll of the status.
    fn on_poll_result<'a, C: Recycle, S>(
        &mut self,
        at: &mut CallCx<'_, '_, '_, C>,
        answer: Answer<'a>,
    ) -> Next<'a, S> {
        let Answer { outcome, bytes, .. } = answer;
        let snapshot = match &outcome {
            Outcome::Result(result) => result.borrowed().and_then(Snapshot::read),
            _ => None,
        };
        match (snapshot.filter(|snapshot| *snapshot.id.to_str() == *self.id), outcome) {
            (Some(snapshot), _) => self.on_status(at, snapshot, bytes),
            (None, Outcome::PeerError(error)) if error.code == ErrorCode::INVALID_PARAMS => {
                self.ends(at, Outcome::TaskNotFound)
            }
            (None, Outcome::Result(_)) => {
                let kind = ViolationKind::InvalidResult;
                self.failed(at, Outcome::Malformed { kind, message: bytes.into() })
            }
            (None, outcome) => self.failed(at, outcome),
        }
    }

    /// There was no good answer about the task: it is asked again, or after some times not any more.
    fn failed<'a, C: Recycle, S>(
        &mut self,
        at: &mut CallCx<'_, '_, '_, C>,
        outcome: Outcome<'a>,
    ) -> Next<'a, S> {
        self.failures += 1;
        let is_hopeless = matches!(
            &outcome,
            Outcome::PeerError(error)
                if error.code == ErrorCode::METHOD_NOT_FOUND
                    || error.code == ErrorCode::MISSING_CLIENT_CAPABILITY
        );
        if is_hopeless || MOST_FAILURES <= self.failures {
            return self.ends(at, outcome);
        }
        self.ask_in_a_while(at);
        Next::On(None)
    }

    /// Handles a status of the task, from a poll or a notification.
    pub(super) fn on_status<'a, C: Recycle, S>(
        &mut self,
        at: &mut CallCx<'_, '_, '_, C>,
        snapshot: Snapshot<'a>,
        bytes: &'a [u8],
    ) -> Next<'a, S> {
        if !self.seen.progress.is_final() {
            // What it came to is asked for, and that it has ended is known.
            self.failures = 0;
        }
        let novelty = self.seen.take_in(&snapshot);
        if matches!(novelty, Novelty::Changed { .. }) {
            // What says nothing new does not put off the next question.
            self.ask_at = None;
        }
        if self.seen.progress == TaskProgress::Cancelled {
            return self.ends(at, Outcome::TaskCancelled);
        }
        if !at.below.session.rules().tasks.result_by_method {
            if snapshot.progress() == TaskProgress::Ended {
                let outcome = inlined(at, snapshot.text, bytes);
                return self.ends(at, outcome);
            }
            if novelty != Novelty::Stale {
                self.take_inputs(at, snapshot.text);
            }
        }
        let is_news = novelty == Novelty::Changed { is_news: true };
        let event = is_news.then(|| update_of(at.below, at.call, snapshot));
        self.schedule_next_poll(at);
        Next::On(event.map(CallNews::Event))
    }

    /// What the task has come to, where that is asked for.
    fn result_came<'a, C: Recycle, S>(
        &mut self,
        at: &mut CallCx<'_, '_, '_, C>,
        answer: Answer<'a>,
    ) -> Next<'a, S> {
        let Answer { outcome, bytes, .. } = answer;
        let is_answer =
            matches!(&outcome, Outcome::Result(result) if !is_empty_result(result.as_json()));
        let is_lost = matches!(
            &outcome,
            Outcome::PeerError(error) if error.code == ErrorCode::INVALID_PARAMS
        ) && Snapshot::read(&self.seen.latest)
            .is_some_and(|known| known.status == TaskStatus::Completed);
        if is_lost {
            // It had a result, so that this is not what it came to.
            return self.ends(at, Outcome::TaskNotFound);
        }
        if is_answer || self.seen.progress.is_final() {
            let outcome = judged(at.below, at.cx, at.call, outcome, bytes);
            return self.ends(at, outcome);
        }
        // It can be what the task came to, or be about the task: how that is tells which. Nor is it waited
        // for again before it has ended, or both sides would ask and refuse without a pause.
        self.ends_first = true;
        self.ask_about(at);
        Next::On(None)
    }

    /// A question about the task has not been answered in time.
    pub(super) fn poll_expired<C: Recycle, S>(
        &mut self,
        at: &mut CallCx<'_, '_, '_, C>,
        kind: PollKind,
    ) -> Next<'static, S> {
        self.poll_is_over(kind);
        match (kind, self.seen.progress.is_final()) {
            (PollKind::Get, _) | (PollKind::Result, true) => {
                return self.failed(at, Outcome::TimedOut(Expiry::Idle));
            }
            // It is not answered before the task has ended.
            (PollKind::Result, false) | (PollKind::Cancel, _) => self.ask_in_a_while(at),
            (PollKind::Update, _) => self.updates_are_lost(),
        }
        Next::On(None)
    }

    /// A question about the task may not be asked in the session as it is.
    pub(super) fn poll_refused<C: Recycle, S>(
        &mut self,
        at: &mut CallCx<'_, '_, '_, C>,
        kind: PollKind,
        error: CallError,
    ) -> Next<'static, S> {
        self.poll_is_over(kind);
        if kind != PollKind::Cancel {
            stuck(at, error);
        }
        Next::On(None)
    }
}
