//! Calls that are given up: taken back where that is possible, cancelled on the wire where it is not.

use alloc::vec::Vec;

use serde::ser::{Serialize, SerializeStruct, Serializer};

use super::Peer;
use super::call::{Call, Purpose, Whereabouts};
use super::cx::Cx;
use super::event::{CallEnded, Cause, Outcome, TaskAnswer};
use super::exchanges::{Said, observe_sent};
use super::outlets::Lane;
use super::peer_event::PeerEvent;
use super::tracking::TaskPart;
use crate::frame::{Room, Tag};
use crate::handle::{CallId, InboundId};
use crate::rpc::{Ending, GivenUp, write_notification};

/// How a cancelled call ended. No event follows, and an answer that still comes is a
/// [`Stray`](crate::Stray).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cancellation {
    /// It was taken back before any of it was sent: the peer never sees it.
    Withdrawn,
    /// The peer is told, with `notifications/cancelled`, or with `tasks/cancel` if the call has become a
    /// task; it may have served the call already.
    Notified,
    /// The call asks for a task, which cannot be cancelled before it has a name. If it gets one within ten
    /// minutes, and there is room to remember it until then, the peer is told, and
    /// [`OrphanTask`](crate::OrphanTask) says so.
    Deferred,
    /// The call has become a task, and the peer does not let its tasks be cancelled, or there is no room to
    /// tell it. The task goes on.
    TaskGoesOn,
}

/// Why a call could not be cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum CancelError {
    /// The call has ended, or the handle is of another connection, or of `initialize`, which is never
    /// cancelled. Nothing was sent.
    #[error("the call is not in flight")]
    NotInFlight,
    /// The connection has ended; the outcome of the call is about to be handed out.
    #[error("the connection has ended")]
    Closed,
}

/// The params of a cancellation.
struct CancelledParams<'a> {
    id: u64,
    reason: Option<&'a str>,
}

impl Serialize for CancelledParams<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut params = serializer.serialize_struct("CancelledParams", 2)?;
        params.serialize_field("requestId", &self.id)?;
        if let Some(reason) = self.reason {
            params.serialize_field("reason", reason)?;
        }
        params.end()
    }
}

const METHOD: &str = "notifications/cancelled";

impl Peer {
    pub(crate) fn cancel(
        &mut self,
        cx: &mut Cx<'_, '_>,
        call: CallId,
        reason: Option<&str>,
    ) -> Result<Cancellation, CancelError> {
        #[cfg(any(call_table, fuzzing))]
        self.check_calls();
        match self.outbound.get(call.0) {
            Some(entry)
                if matches!(entry.purpose, Purpose::Application | Purpose::Subscription) => {}
            _ => return Err(CancelError::NotInFlight),
        }
        if self.calls_are_over() {
            return Err(CancelError::Closed);
        }
        if self.tracked_part(call).is_some() {
            self.stop_asking(cx, call);
            let asked = self.ask_to_cancel(cx, call);
            self.end_call(call);
            return Ok(if asked { Cancellation::Notified } else { Cancellation::TaskGoesOn });
        }
        if self.may_become_task(cx, call) {
            self.withdraw_inputs(call);
            self.abandon_call(call, GivenUp::Cancelled, None);
            return Ok(Cancellation::Deferred);
        }
        let subscription = self.outbound.take_subscription(call.0);
        let cancellation = self.give_up(cx, call, GivenUp::Cancelled, reason);
        if let Some(subscription) = subscription {
            self.leave_session(&subscription);
            if subscription.in_session.is_some() {
                return Ok(Cancellation::Notified);
            }
        }
        Ok(cancellation)
    }

    /// Ends the calls that were made because of a request.
    pub(crate) fn cancel_calls_made_for(
        &mut self,
        cx: &mut Cx<'_, '_>,
        request: InboundId,
        reason: Option<&str>,
    ) -> usize {
        // Collected first: cancelling them takes them out of the table.
        #[allow(clippy::needless_collect, reason = "the table changes")]
        let calls: Vec<CallId> = self.calls_made_for(request).collect();
        calls.into_iter().filter(|call| self.cancel(cx, *call, reason).is_ok()).count()
    }

    /// Takes a call back, or tells the peer that its answer is not wanted any more.
    pub(super) fn give_up(
        &mut self,
        cx: &mut Cx<'_, '_>,
        call: CallId,
        cause: GivenUp,
        reason: Option<&str>,
    ) -> Cancellation {
        self.withdraw_inputs(call);
        self.forget_task(call);
        let withdrawn = self.withdraw(cx, call);
        let Some(id) = self.outbound.id(call.0) else { return Cancellation::Withdrawn };
        let lane = self.outbound.get(call.0).map_or(Lane::Connection, |entry| entry.lane);
        self.deadlines.clear(call.0.index);
        if withdrawn {
            self.outbound.remove(call.0, Ending::Cancelled);
            return Cancellation::Withdrawn;
        }
        self.outbound.give_up(call.0, cause);
        if !mutant!("no_cancellation_is_sent") {
            self.send_cancelled(cx, lane, id, reason);
        }
        Cancellation::Notified
    }

    /// Sends the cancellation, without its reason if that does not fit.
    fn send_cancelled(&mut self, cx: &mut Cx<'_, '_>, lane: Lane, id: u64, reason: Option<&str>) {
        if reason.is_some() {
            let params = CancelledParams { id, reason };
            let sent = cx.out.lane(lane).append(Room::Limit, Tag::Nothing, |writer| {
                write_notification(writer, METHOD, &params, None)
            });
            if sent.is_ok() {
                return observe_sent(cx.out, lane, Said::Method(METHOD));
            }
        }
        let params = CancelledParams { id, reason: None };
        self.send_own(cx, lane, Said::Method(METHOD), |writer| {
            write_notification(writer, METHOD, &params, None)
        });
    }

    /// Whether nothing of a call has been sent.
    pub(super) fn is_unsent(&self, cx: &mut Cx<'_, '_>, call: CallId) -> bool {
        let Some(entry) = self.outbound.get(call.0) else { return false };
        match entry.whereabouts {
            Whereabouts::Held(_) | Whereabouts::Withdrawn => true,
            Whereabouts::Lane(serial) => cx.out.lane(entry.lane).is_untouched(serial, call),
            Whereabouts::Batch(_) | Whereabouts::Answered => false,
        }
    }

    /// Takes back what has not been sent of a call. Says whether that was all of it.
    fn withdraw(&mut self, cx: &mut Cx<'_, '_>, call: CallId) -> bool {
        let Some(entry) = self.outbound.get(call.0) else { return false };
        match entry.whereabouts {
            Whereabouts::Held(serial) => self.held.withdraw(serial, entry.lane, call),
            Whereabouts::Lane(_) if mutant!("no_call_is_withdrawn") => false,
            Whereabouts::Lane(serial) => cx.out.lane(entry.lane).withdraw(serial, call),
            // It is not a message of its own.
            Whereabouts::Batch(_) => false,
            Whereabouts::Answered | Whereabouts::Withdrawn => true,
        }
    }

    /// Takes back a call that is about to end and, in the same pass over its outbox, every other one
    /// that `also` accepts: many calls that end at once cost no more than a few.
    pub(super) fn withdraw_with(
        &mut self,
        cx: &mut Cx<'_, '_>,
        call: CallId,
        also: impl Fn(&Call) -> bool,
    ) {
        let Some(entry) = self.outbound.get(call.0) else { return };
        let Whereabouts::Lane(serial) = entry.whereabouts else { return };
        let outbox = cx.out.lane(entry.lane);
        if !outbox.is_untouched(serial, call) {
            return;
        }
        outbox.withdraw_calls(|other| {
            let entry = self.outbound.get_mut(other.0).filter(|entry| other == call || also(entry));
            let found = entry.is_some();
            // A response can come before its request has left. Then these bytes are none of the call any more.
            if let Some(entry) = entry.filter(|entry| entry.awaits_answer()) {
                entry.whereabouts = Whereabouts::Withdrawn;
            }
            found
        });
    }

    /// Ends a call because the connection has ended.
    pub(super) fn lose_call(
        &mut self,
        cx: &mut Cx<'_, '_>,
        call: CallId,
        cause: Cause,
    ) -> PeerEvent<'static> {
        self.withdraw_with(cx, call, |_| true);
        self.withdraw_batch_of(cx, call);
        // One that was about to be made again, with what was gathered for it, has been seen before.
        let was_answered =
            |entry: &Call| entry.whereabouts == Whereabouts::Answered || entry.gathering.is_some();
        let answered = self.outbound.get(call.0).is_some_and(was_answered);
        let unsent = self.withdraw(cx, call) && !answered;
        let outcome = if unsent { Outcome::Unsent } else { Outcome::Closed(cause) };
        let outcome = self.left_task(call).unwrap_or(outcome);
        let event = self.end_event(call, outcome);
        self.end_call(call);
        event
    }

    /// What there is to say of the end of a call of the application.
    pub(super) fn end_event(
        &mut self,
        call: CallId,
        outcome: Outcome<'static>,
    ) -> PeerEvent<'static> {
        let is_subscription = |entry: &Call| entry.purpose == Purpose::Subscription;
        if self.outbound.get(call.0).is_some_and(is_subscription) {
            let lost = match outcome {
                Outcome::Unsent => Outcome::Closed(self.cause_of_end()),
                outcome => outcome,
            };
            return self.subscription_ended(call, lost);
        }
        let question = self.outbound.get(call.0).and_then(|entry| entry.task.as_deref());
        if let Some(TaskPart::Question { task, .. }) = question {
            return PeerEvent::TaskAnswer(TaskAnswer { task: *task, call, outcome });
        }
        let needed_input = self.needed_input(call);
        PeerEvent::CallEnded(CallEnded { needed_input, ..CallEnded::new(call, outcome) })
    }

    /// Whether the peer has needed input for a call.
    pub(super) fn needed_input(&self, call: CallId) -> bool {
        self.outbound.get(call.0).is_some_and(|entry| entry.needed_input)
    }

    /// Takes back the batch that a call is in, if nothing of it has been sent, with all that are in it.
    fn withdraw_batch_of(&mut self, cx: &mut Cx<'_, '_>, call: CallId) {
        let Some(entry) = self.outbound.get(call.0) else { return };
        let Whereabouts::Batch(serial) = entry.whereabouts else { return };
        if cx.out.lane(entry.lane).withdraw_batch(serial) {
            self.outbound.for_each(|entry| {
                if entry.whereabouts == Whereabouts::Batch(serial) {
                    entry.whereabouts = Whereabouts::Withdrawn;
                }
            });
        }
    }
}
