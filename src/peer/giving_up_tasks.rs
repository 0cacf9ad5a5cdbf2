//! Tasks of the peer that nobody wants any more: asked to be cancelled, as soon as they have a name.

use core::time::Duration;

use super::call::Call;
use super::call_options::{CallError, TaskOptions};
use super::cx::Cx;
use super::event::{Expiry, Outcome};
use super::peer_event::PeerEvent;
use super::reception::Reception;
use super::task_update::{OrphanTask, TaskTicket};
use super::tracking::{StepKind, Tracked};
use super::{Peer, Role};
use crate::capability::Capability;
use crate::handle::CallId;
use crate::rpc::GivenUp;
use crate::time::Instant;

/// How long a call that was given up is remembered because it may become a task.
const LATE: Duration = Duration::from_secs(600);

impl Peer {
    /// Whether the peer lets its tasks be cancelled.
    fn may_cancel_task(&self) -> bool {
        let Some(session) = self.session else { return false };
        let capability = match self.role {
            Role::Client => Capability::ServerTasksCancel,
            Role::Server => Capability::ClientTasksCancel,
        };
        !self.rules().task_cancel_is_declared || session.theirs.contains(capability)
    }

    /// Asks the peer to cancel a task. Says whether it could.
    pub(super) fn ask_to_cancel(&mut self, cx: &mut Cx<'_, '_>, call: CallId) -> bool {
        self.may_cancel_task()
            && self.take_step(&mut cx.without_time(), call, (StepKind::Cancel, None)).is_ok()
    }

    /// A task has not ended in the time that the application has given its call.
    pub(super) fn task_took_too_long(
        &mut self,
        cx: &mut Cx<'_, '_>,
        call: CallId,
    ) -> PeerEvent<'static> {
        self.stop_asking(cx, call);
        self.ask_to_cancel(cx, call);
        let event = self.end_event(call, Outcome::TimedOut(Expiry::Total));
        self.end_call(call);
        event
    }

    /// Asks the peer to cancel the task that a call has become, and waits for what comes of that.
    pub(crate) fn cancel_task(
        &mut self,
        cx: &mut Cx<'_, '_>,
        call: CallId,
    ) -> Result<(), CallError> {
        if self.tracked_part(call).is_none() {
            return Err(CallError::NotATask);
        }
        self.take_step(cx, call, (StepKind::Cancel, None)).map(drop)
    }

    /// A call is given up, and may still become a task, which is to be cancelled then. It is remembered for
    /// a while.
    pub(super) fn abandon_call(&mut self, call: CallId, cause: GivenUp, now: Option<Instant>) {
        let deadline = now.map(|now| self.clock.at(now) + LATE);
        self.outbound.abandon(call.0, cause);
        if let Some(entry) = self.outbound.get_mut(call.0) {
            entry.idle = Some(LATE);
            entry.idle_deadline = deadline;
            entry.total_deadline = None;
        }
        self.set_deadline(call);
        if deadline.is_none() {
            self.date_later(call);
        }
    }

    /// Whether a call is remembered that was given up, and that could become a task.
    pub(super) fn has_abandoned(&self) -> bool {
        self.outbound.first_abandoned().is_some()
    }

    /// Makes room for a call: of those that were given up, the one that was asked first is remembered no
    /// longer.
    pub(super) fn forget_first_abandoned(&mut self) {
        if let Some(call) = self.outbound.first_abandoned() {
            self.forget_abandoned(call);
        }
    }

    /// A call that was given up is remembered no longer; an answer to it is late.
    pub(super) fn forget_abandoned(&mut self, call: CallId) {
        self.deadlines.clear(call.0.index);
        self.outbound.forget_abandoned(call.0);
    }

    /// A call that was given up has been answered.
    pub(super) fn abandoned_answered<'a>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        call: CallId,
        outcome: &Outcome<'a>,
        reception: &Reception,
    ) -> Option<PeerEvent<'a>> {
        let snapshot = match outcome {
            Outcome::Result(result) => self.task_in(call, result, reception.result_type).flatten(),
            _ => None,
        };
        let Some(snapshot) = snapshot else {
            self.end_call(call);
            return None;
        };
        let id = snapshot.id.to_str();
        // A server may give the name of one that somebody waits for.
        let known = self.call_of_task(&id);
        let ticket = TaskTicket::new(id.into_owned(), self.method_of(call));
        let tracked = Tracked::of(&snapshot, TaskOptions::new(), (Instant::EPOCH, 0));
        self.track(call, tracked);
        let cancelled = self.ask_to_cancel(cx, call);
        self.end_call(call);
        if let Some(known) = known {
            self.tracked.0.insert(ticket.task_id.clone(), known);
        }
        Some(PeerEvent::OrphanTask(OrphanTask { ticket, cancelled }))
    }

    /// A call ends: it stands for no task any more.
    pub(super) fn forget_task(&mut self, call: CallId) {
        let Some(tracked) = self.outbound.get(call.0).and_then(Call::tracked) else { return };
        if !self.polls.is_empty() {
            self.polls.clear(call.0.index);
        }
        if self.tracked.0.get(&tracked.id) == Some(&call) {
            let id = tracked.id.clone();
            self.tracked.0.remove(&id);
        }
    }

    /// How a call ends that has become a task, if the connection does.
    pub(super) fn left_task(&self, call: CallId) -> Option<Outcome<'static>> {
        self.tracked_part(call).map(|tracked| tracked.left(self.method_of(call)))
    }
}
