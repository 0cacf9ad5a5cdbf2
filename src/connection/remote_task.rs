//! `RemoteTask`: a task of the peer that a call has become. The task is polled until it has ended. The call then ends
//! as it would have without a task
//! ([tasks](https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks), and the extension from
//! 2026-07-28 on).

use alloc::boxed::Box;
use alloc::string::String;
use core::time::Duration;

use super::call_cx::{CallCx, CallNews, Next, PeerResponse};
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
use crate::dialect::NotAllowed;
use crate::dialect::methods::RequestKind;
use crate::handle::CallId;
use crate::json::{MemberTexts, Raw};
use crate::model::TaskStatus;
use crate::rpc::{GivenUp, Recycle, ResultType, Wait};
use crate::schema::EncodeError;
use crate::time::Instant;

/// The number of consecutive failed polls after which polling stops.
const MOST_FAILURES: u32 = 5;

/// A task of the peer that a call has become.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct RemoteTask {
    id: String,
    options: TaskOptions,
    /// Whether the response to the request of the call was the task. A call that resumes a task has sent no request.
    pub(super) was_answered: bool,
    seen: Seen,
    /// The time of the next poll.
    ask_at: Option<Instant>,
    /// The number of scheduled polls. It lengthens the interval if neither side has named one.
    asked: u32,
    /// The number of consecutive failed polls.
    failures: u32,
    /// The number of consecutive failed updates.
    failed_updates: u32,
    /// Whether the peer refuses to hold a request for the result until the task has ended.
    ends_first: bool,
    /// The pending requests: `tasks/get` in `get`, `tasks/result` in `result`.
    get: Option<CallId>,
    result: Option<CallId>,
    /// The inputs that the task requires, in the modern era.
    pub(super) inputs: Inputs,
}

/// Returns the outcome of a call whose task is left to the application.
pub(super) fn left_by_hand(snapshot: Snapshot<'_>, kind: RequestKind) -> Outcome<'_> {
    let ticket = TaskTicket::new(snapshot.id.to_str().into_owned(), kind.rule().name);
    let task = Raw::trusted(snapshot.text);
    Outcome::Task(BegunTask { ticket, task, meta: snapshot.meta.map(Raw::trusted) })
}

/// Whether a result contains only metadata. Some servers respond so if they have no result.
fn is_empty_result(result: &str) -> bool {
    MemberTexts::of(result).all(|(key, _)| key == "_meta" || key == "resultType")
}

/// # Beginning
impl RemoteTask {
    /// Reads a task from the result of a call. Returns `None` if the result is not a task.
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
        if options.by_hand {
            return Some(Next::Ends(left_by_hand(snapshot, kind)));
        }
        let id = snapshot.id.to_str().into_owned();
        let mut seen = Seen::nothing(at.cx.now(), limits.kept_bytes);
        seen.take_in(&snapshot);
        let mut task = Self { id, options, was_answered: true, seen, ..Self::default() };
        task.follow(at);
        let event = update_of(at.below, at.call, snapshot);
        if task.seen.progress.is_final() && !at.below.session.rules().tasks.result_by_method {
            // The next poll returns the result, and the task may not be kept for long.
            task.ask_about(at);
        } else {
            task.schedule_next_poll(at);
        }
        Some(Next::Becomes(Box::new(task), Some(CallNews::Event(event))))
    }

    /// Starts polling a task that was begun on another connection.
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

    /// Turns the call into the handle of the task.
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

    /// Returns the task id of the peer.
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Returns the outcome of the call if this connection stops polling the task.
    pub(super) fn left(&self, method: &'static str) -> Outcome<'static> {
        self.seen.left(TaskTicket::new(self.id.clone(), method))
    }
}

/// # Polling
impl RemoteTask {
    /// Polls the status of the task.
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
                // The task has ended, so the response can come now: from here on a timeout applies to it.
                let idle = at.cx.config.timeouts.idle;
                at.below.outgoing.wait(poll.0, Wait::Soon(idle), at.cx.now);
            }
            None => self.ask_in_a_while(at),
        }
    }

    /// Sends a request about the task.
    pub(super) fn poll<C: Recycle>(
        &self,
        below: &mut Messages<C>,
        cx: &mut Cx<'_, '_>,
        of: CallId,
        (kind, inputs): (PollKind, Option<&str>),
    ) -> Result<CallId, CallError> {
        poll(below, cx, (of, kind), &self.id, (inputs, self.seen.progress.is_final()))
    }

    /// Stores a request that was sent. If it could not be sent, schedules another one, or gives up.
    fn note_poll<C: Recycle>(
        &mut self,
        at: &mut CallCx<'_, '_, '_, C>,
        asked: Result<CallId, CallError>,
        keep: impl FnOnce(&mut Self, CallId),
    ) {
        match asked {
            Ok(poll) => keep(self, poll),
            // A stream over which the peer can be asked may be opened again.
            Err(
                CallError::TooManyCalls
                | CallError::Encode(EncodeError::Full)
                | CallError::NotAllowed(NotAllowed::Transport),
            ) => self.ask_in_a_while(at),
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

    /// Returns the delay before the next poll.
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
        let interval = interval.saturating_mul(1 << self.failures.max(self.failed_updates).min(5));
        interval.clamp(SHORTEST, LONGEST)
    }

    /// Sets the timer for the next poll or the expiry of the task, whichever is earlier.
    fn ask_later<C: Recycle>(&mut self, at: &mut CallCx<'_, '_, '_, C>, next: Option<Instant>) {
        self.ask_at = next;
        match next.into_iter().chain(self.seen.lost_at).min() {
            Some(next) => at.below.outgoing.poll_at(at.call.0, next),
            None => at.below.outgoing.stop_polling(at.call.0),
        }
    }

    /// Handles the timer: polls the task, or ends the call if the task has expired.
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

    /// Ends the call with this outcome. Keeps pending requests about the task that get their response soon.
    pub(super) fn ends<'a, C: Recycle, S>(
        &self,
        at: &mut CallCx<'_, '_, '_, C>,
        outcome: Outcome<'a>,
    ) -> Next<'a, S> {
        self.stop_asking(at.below, at.cx);
        Next::Ends(outcome)
    }

    /// Gives up the requests about the task that do not get a response soon.
    pub(super) fn stop_asking<C: Recycle>(&self, below: &mut Messages<C>, cx: &mut Cx<'_, '_>) {
        // The `tasks/get` has not been sent yet; the response to `tasks/result` comes only after the task has ended.
        let unasked = self.get.filter(|poll| below.is_unsent(*poll, cx.out));
        for poll in [unasked, self.result].into_iter().flatten() {
            if below.outgoing.get(poll.0).is_some() {
                below.drop(cx, poll, GivenUp::Cancelled, None);
            }
        }
    }
}

/// # Responses
impl RemoteTask {
    /// Handles the response to a request about the task.
    pub(super) fn polled<'a, C: Recycle, S>(
        &mut self,
        at: &mut CallCx<'_, '_, '_, C>,
        kind: PollKind,
        mut answer: PeerResponse<'a>,
    ) -> Next<'a, S> {
        self.poll_is_over(kind);
        if at.below.session.rules().reads_result_types
            && matches!(answer.outcome, Outcome::Result(_))
            && !kind.takes(answer.result_type)
        {
            let kind = ViolationKind::InvalidResult;
            answer.outcome = Outcome::Malformed { kind, message: answer.bytes.into() };
        }
        let ends_by_cancel = at.below.session.rules().tasks.cancel_ends;
        match (kind, &answer.outcome) {
            (PollKind::Get, _) => self.on_poll_result(at, answer),
            (PollKind::Result, _) => self.result_came(at, answer),
            (PollKind::Update, Outcome::Result(_)) => {
                self.failed_updates = 0;
                Next::On(None)
            }
            (PollKind::Update, _) => self.update_failed(at, answer.outcome),
            // In the legacy era the response contains the new status of the task.
            (PollKind::Cancel, Outcome::Result(_)) if ends_by_cancel => {
                self.on_poll_result(at, answer)
            }
            // The task has ended, is unknown, or the peer has accepted the cancellation.
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
        answer: PeerResponse<'a>,
    ) -> Next<'a, S> {
        let PeerResponse { outcome, bytes, .. } = answer;
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

    /// Handles a failed poll: schedules another one, or ends the call after [`MOST_FAILURES`] in a row.
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

    /// Handles a failed update: the inputs are sent again when the task still requires them, or the call ends after
    /// [`MOST_FAILURES`] in a row.
    fn update_failed<'a, C: Recycle, S>(
        &mut self,
        at: &mut CallCx<'_, '_, '_, C>,
        outcome: Outcome<'a>,
    ) -> Next<'a, S> {
        // Updates that fail together, before their answers are sent again, count once.
        if self.inputs.0.iter().any(|one| one.answer.is_some() && one.is_sent) {
            self.failed_updates += 1;
        }
        if MOST_FAILURES <= self.failed_updates {
            return self.ends(at, outcome);
        }
        self.updates_are_lost();
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
            // Once the task has ended, `failures` counts requests for its result; a status does not reset them.
            self.failures = 0;
        }
        let novelty = self.seen.take_in(&snapshot);
        let by_method = at.below.session.rules().tasks.result_by_method;
        if !by_method && self.seen.progress.is_final() && !snapshot.progress().is_final() {
            // A task that has ended goes on: its result may never come.
            let kind = ViolationKind::InvalidResult;
            return self.failed(at, Outcome::Malformed { kind, message: bytes.into() });
        }
        if matches!(novelty, Novelty::Changed { .. }) {
            // A snapshot without changes does not postpone the next poll.
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

    /// Handles the response to `tasks/result`.
    fn result_came<'a, C: Recycle, S>(
        &mut self,
        at: &mut CallCx<'_, '_, '_, C>,
        answer: PeerResponse<'a>,
    ) -> Next<'a, S> {
        let PeerResponse { outcome, bytes, .. } = answer;
        let is_answer =
            matches!(&outcome, Outcome::Result(result) if !is_empty_result(result.as_json()));
        let is_lost = matches!(
            &outcome,
            Outcome::PeerError(error) if error.code == ErrorCode::INVALID_PARAMS
        ) && Snapshot::read(&self.seen.latest)
            .is_some_and(|known| known.status == TaskStatus::Completed);
        if is_lost {
            // The task had a result, so this error is not its outcome.
            return self.ends(at, Outcome::TaskNotFound);
        }
        if let Outcome::TransportFailed(_) = &outcome {
            // The transport has failed, not the task. The result can be requested again, and the peer may need that
            // request to ask for input.
            return self.failed(at, outcome);
        }
        if is_answer || self.seen.progress.is_final() {
            let outcome = judged(at.below, at.cx, at.call, outcome, bytes);
            return self.ends(at, outcome);
        }
        // The response is either the outcome of the task or an error about the request; the status of the task
        // decides. The result is requested again only after the task has ended. Otherwise both sides would request
        // and refuse without a pause.
        self.ends_first = true;
        self.ask_about(at);
        Next::On(None)
    }

    /// Handles the timeout of a request about the task.
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
            // The response does not come before the task has ended.
            (PollKind::Result, false) | (PollKind::Cancel, _) => self.ask_in_a_while(at),
            (PollKind::Update, _) => {
                return self.update_failed(at, Outcome::TimedOut(Expiry::Idle));
            }
        }
        Next::On(None)
    }

    /// Handles a request about the task that the negotiated session does not allow.
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
