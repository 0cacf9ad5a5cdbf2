//! Drops requests of this side: withdraws unsent ones, and cancels the others on the wire.

use serde::ser::{Serialize, SerializeStruct, Serializer};

use super::cancel::Cancellation;
use super::cx::Cx;
use super::messages::Messages;
use super::outboxes::{Outboxes, Route};
use super::outgoing_request::{OutgoingRequest, Sent};
use super::send::{SentMessage, observe_sent};
use crate::frame::{Room, Tag};
use crate::handle::{CallId, SlotKey};
use crate::rpc::{Ending, GivenUp, Outgoing, Recycle, write_notification};
use crate::schema::serialized;

/// The params of a cancellation.
struct CancelledParams<'a> {
    id: u64,
    reason: Option<&'a str>,
}

serialized! { CancelledParams<'_> }

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

impl<C: Recycle> Messages<C> {
    /// Withdraws a request, or notifies the peer that the request is cancelled. The request leaves the table.
    pub(super) fn drop(
        &mut self,
        cx: &mut Cx<'_, '_>,
        call: CallId,
        cause: GivenUp,
        reason: Option<&str>,
    ) -> Cancellation {
        let is_back = self.withdraw(call, cx.out);
        let Some(id) = self.outgoing.id(call.0) else { return Cancellation::Withdrawn };
        let route = self.outgoing.get(call.0).map_or(Route::Connection, |asked| asked.route);
        if is_back {
            self.outgoing.remove(call.0, Ending::Cancelled);
            return Cancellation::Withdrawn;
        }
        self.outgoing.give_up(call.0, cause);
        self.send_cancelled(cx, route, id, reason);
        Cancellation::Notified
    }

    /// Sends the cancellation, without its reason if that does not fit.
    fn send_cancelled(&mut self, cx: &mut Cx<'_, '_>, route: Route, id: u64, reason: Option<&str>) {
        if reason.is_some() {
            let params = CancelledParams { id, reason };
            let sent = cx.out.outbox(route).append(Room::Limit, Tag::Nothing, |writer| {
                write_notification(writer, METHOD, &params, None)
            });
            if sent.is_ok() {
                return observe_sent(cx.out, route, SentMessage::Method(METHOD));
            }
        }
        let params = CancelledParams { id, reason: None };
        self.send_own(cx, route, SentMessage::Method(METHOD), |writer| {
            write_notification(writer, METHOD, &params, None)
        });
    }

    /// Whether no byte of a request has been sent.
    pub(super) fn is_unsent(&self, call: CallId, out: &mut dyn Outboxes) -> bool {
        let Some(asked) = self.outgoing.get(call.0) else { return false };
        match asked.sent {
            Sent::Queued(_) | Sent::Withdrawn => true,
            Sent::Outbox(serial) => out.outbox(asked.route).is_untouched(serial, call),
            Sent::InBatch(_) | Sent::Nowhere => false,
        }
    }

    /// Withdraws the request if no byte of it has been sent. Returns whether the request never reaches the peer.
    pub(super) fn withdraw(&mut self, call: CallId, out: &mut dyn Outboxes) -> bool {
        let Some(asked) = self.outgoing.get(call.0) else { return false };
        match asked.sent {
            Sent::Queued(serial) => self.queue.withdraw(serial, asked.route, call),
            Sent::Outbox(serial) => out.outbox(asked.route).withdraw(serial, call),
            // An element of a batch is no message of its own.
            Sent::InBatch(_) => false,
            Sent::Nowhere | Sent::Withdrawn => true,
        }
    }

    /// Withdraws a request that is about to end and, in the same pass over its outbox, every other one that `also`
    /// accepts. So the cost does not grow with the number of requests that end at once.
    pub(super) fn withdraw_with(
        &mut self,
        call: CallId,
        also: impl Fn(&Outgoing<OutgoingRequest<C>>, SlotKey) -> bool,
        out: &mut dyn Outboxes,
    ) {
        let Some(asked) = self.outgoing.get(call.0) else { return };
        let Sent::Outbox(serial) = asked.sent else { return };
        let outbox = out.outbox(asked.route);
        if !outbox.is_untouched(serial, call) {
            return;
        }
        let outgoing = &mut self.outgoing;
        outbox.withdraw_calls(|other| {
            let is_there = outgoing.get(other.0).is_some();
            let is_meant = is_there && (other == call || also(outgoing, other.0));
            if is_meant && let Some(asked) = outgoing.get_mut(other.0) {
                // A response can arrive before the request has been sent. Then the unsent bytes no longer belong to
                // the call.
                if asked.sent.awaits_answer() {
                    asked.sent = Sent::Withdrawn;
                }
            }
            is_meant
        });
    }

    /// Withdraws the batch of a request with all its elements, if no byte of it has been sent.
    pub(super) fn withdraw_batch_of(&mut self, call: CallId, out: &mut dyn Outboxes) {
        let Some(asked) = self.outgoing.get(call.0) else { return };
        let Sent::InBatch(serial) = asked.sent else { return };
        if out.outbox(asked.route).withdraw_batch(serial) {
            self.outgoing.for_each(|asked| {
                if asked.sent == Sent::InBatch(serial) {
                    asked.sent = Sent::Withdrawn;
                }
            });
        }
    }
}
