//! Requests of the peer, from when they are taken in until they are answered or dropped.

use super::context::RequestContext;
use super::cx::Cx;
use super::event::{CancelCause, Cancelled};
use super::exchange::Exchange;
use super::incoming_request::IncomingRequest;
use super::outlets::{Lane, Observation, Outlets};
use super::peer_event::PeerEvent;
use super::{DuplicateIds, Peer};
use crate::dialect::elicitation_id;
use crate::dialect::methods::RequestKind;
use crate::error::{ErrorCode, ViolationKind};
use crate::frame::{Room, Tag};
use crate::handle::{InboundId, Place};
use crate::json::{EncodeError, Str, Writer};
use crate::rpc::{Ending, Id, Lookup};
use crate::session::Phase;

impl Peer {
    /// Takes a request of the session into the table, unless the table is full or the progress token
    /// is none.
    pub(crate) fn admit(
        &mut self,
        cx: &mut Cx<'_, '_>,
        kind: Option<RequestKind>,
        request: &IncomingRequest<'_, '_>,
    ) -> Result<(InboundId, RequestContext), ViolationKind> {
        let (limits, arrival) = (&cx.config.limits, request.arrival);
        let is_full = limits.inbound_requests <= self.inbound.len();
        if is_full && !mutant!("requests_are_not_bounded") {
            return Err(ViolationKind::TooManyRequests);
        }
        if arrival.batch.is_some_and(|batch| self.batches.is_full(batch, limits.batches)) {
            return Err(ViolationKind::TooManyBatches);
        }
        let bytes = bytes_of(request.bytes);
        let unsent = cx.out.lane(arrival.lane).len();
        if !self.may_keep(limits, bytes.saturating_add(unsent)) {
            return Err(ViolationKind::TooManyBytes);
        }
        let is_subscription = kind == Some(RequestKind::Listen);
        let token = match request.progress_token(cx)? {
            // Nothing is reported on it but what it has subscribed to.
            _ if is_subscription => None,
            token => token,
        };
        let context = RequestContext {
            wants_progress: token.is_some(),
            principal: arrival.principal,
            requestor: arrival.owner(),
            ..request.context
        };
        let params = request.params_text().unwrap_or_default();
        let related = self.related_task(cx, kind, request);
        let fill = |exchange: &mut Exchange| {
            exchange.context = context;
            exchange.kind = kind;
            exchange.is_relayed = request.is_relayed;
            exchange.batch = arrival.batch;
            if let Some(kind) = kind {
                exchange.kept.keep(kind, params, context.revision, limits.kept_bytes);
            }
            let id = is_subscription.then_some(&request.id);
            if let Some(token) = token.as_ref().or(id) {
                exchange.token.push_str(token.as_wire());
            }
            exchange.related.0.push_str(related.as_deref().unwrap_or_default());
            exchange.bytes = bytes;
        };
        let place = match cx.config.duplicate_ids {
            DuplicateIds::Refuse => self.inbound.insert(&request.id, fill),
            DuplicateIds::Serve => self.inbound.insert_twin(&request.id, fill),
        };
        if let Some(kind) = kind {
            if kind == RequestKind::Subscribe {
                self.asked_subscriptions += 1;
            }
            if kind.asks_a_person() {
                self.clock.begin_asking(arrival.now);
            }
            if let Some(id) = elicitation_id(kind, params, context.revision) {
                self.elicitations.add(&id, &cx.config.limits);
            }
        }
        if let Some(batch) = arrival.batch {
            self.batches.open_request(batch);
        }
        self.inbound_bytes += bytes;
        self.has_served_alone |= context.revision.rules().requests_stand_alone;
        Ok((InboundId(place), context))
    }

    /// Takes a request out of the table. Gives the batch it came in.
    pub(super) fn drop_exchange(&mut self, place: Place, ending: Ending) -> Option<Place> {
        let exchange = self.inbound.get(place)?;
        let batch = exchange.batch;
        self.inbound_bytes -= exchange.bytes;
        let is_subscription = exchange.kind == Some(RequestKind::Listen);
        if exchange.kind == Some(RequestKind::Subscribe) {
            self.asked_subscriptions = self.asked_subscriptions.saturating_sub(1);
        }
        if exchange.need.is_some() || exchange.kind.is_some_and(RequestKind::asks_a_person) {
            self.clock.end_asking();
        }
        if !self.progress_deadlines.is_empty() {
            self.progress_deadlines.clear(place.index);
        }
        if is_subscription {
            self.listens.remove(place);
        }
        self.inbound.remove(place, ending);
        batch
    }

    /// Whether a request with this id is in flight: until its answer has left, which in a batch waits.
    pub(super) fn is_in_flight(&self, id: &Id<'_>) -> bool {
        matches!(self.look_up(id), Lookup::Found(_))
    }

    /// The same, and if there is none, whether there can be one.
    #[inline]
    pub(super) fn look_up(&self, id: &Id<'_>) -> Lookup {
        match self.inbound.look_up(id) {
            Lookup::Free => self.batches.look_up(id),
            known => known,
        }
    }

    /// The peer cancels a request of its own.
    pub(super) fn cancelled_by_peer<'a>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        id: &Id<'_>,
        reason: Option<Str<'a>>,
    ) -> Option<PeerEvent<'a>> {
        let place = self.inbound.find(id)?;
        if self.inbound.get(place).is_some_and(Exchange::asks_for_task) {
            // It ends by a request about the task, and is answered so that there is one to be made.
            self.note(ViolationKind::TaskCancellation);
            return None;
        }
        self.withdraw_about(cx, InboundId(place));
        self.abandon_input(cx, InboundId(place));
        let batch = if mutant!("a_cancelled_request_stays_open") {
            None
        } else {
            self.drop_exchange(place, Ending::Cancelled)
        };
        self.settle_in_batch(cx, batch);
        // Where duplicate ids are served, others can have the same one. They come out one by one.
        while let Some(other) = self.inbound.find(id) {
            self.inbound.detach(other);
            if let Some(exchange) = self.inbound.get_mut(other) {
                exchange.marked = true;
            }
            self.marked.push_back((other, CancelCause::Peer));
        }
        let (id, cause) = (InboundId(place), CancelCause::Peer);
        Some(PeerEvent::Cancelled(Cancelled { id, cause, reason }))
    }

    /// The next exchange that was cancelled together with another one.
    pub(super) fn next_marked(&mut self, cx: &mut Cx<'_, '_>) -> Option<PeerEvent<'static>> {
        let (place, cause) = loop {
            let (place, cause) = *self.marked.front()?;
            self.marked.pop_front();
            // It may have ended in another way meanwhile, and then that has been told.
            if self.inbound.get(place).is_some() {
                break (place, cause);
            }
        };
        self.withdraw_about(cx, InboundId(place));
        self.abandon_input(cx, InboundId(place));
        let batch = self.drop_exchange(place, Ending::Cancelled);
        self.settle_in_batch(cx, batch);
        let id = InboundId(place);
        Some(PeerEvent::Cancelled(Cancelled { id, cause, reason: None }))
    }

    /// The next exchange that the end of the connection has ended.
    pub(super) fn next_abandoned(&mut self) -> Option<PeerEvent<'static>> {
        let place = self.inbound.first()?;
        self.drop_exchange(place, Ending::Closed);
        let (id, cause) = (InboundId(place), CancelCause::Closed);
        Some(PeerEvent::Cancelled(Cancelled { id, cause, reason: None }))
    }

    /// Takes back what has not left of the messages about a request that is not to be answered.
    fn withdraw_about(&self, cx: &mut Cx<'_, '_>, id: InboundId) {
        let Some(serial) = self.inbound.get(id.0).and_then(|exchange| exchange.last_output) else {
            return;
        };
        let outbox = cx.out.lane(Lane::Exchange(id));
        if outbox.is_unsent(serial, id) {
            outbox.withdraw_exchange(id);
        }
    }

    /// The context of a request that can still be answered.
    pub(crate) fn context(&self, id: InboundId) -> Option<RequestContext> {
        self.answerable(id).ok()?;
        self.inbound.get(id.0).map(|exchange| exchange.context)
    }

    /// The requests that can still be answered, in the order they came.
    pub(crate) fn open_requests(&self) -> impl Iterator<Item = InboundId> {
        let open = self.phase != Phase::Closed;
        self.inbound
            .iter()
            .filter(move |(_, exchange)| open && !exchange.marked)
            .map(|(place, _)| InboundId(place))
    }
}

/// What counts as kept of a request until it is answered: its message, and what the application makes of it.
pub(super) const fn bytes_of(message: &[u8]) -> usize {
    message.len().saturating_mul(2)
}

/// Sends something that a caller asked for.
pub(super) fn send(
    out: &mut dyn Outlets,
    lane: Lane,
    said: Said<'_>,
    write: impl FnOnce(&mut Writer<'_>) -> Result<(), EncodeError>,
) -> Result<(), EncodeError> {
    let outbox = out.lane(lane);
    outbox.append(Room::Limit, Tag::Nothing, write)?;
    let bytes = outbox.last_length();
    observe_bytes(out, lane, said, bytes);
    Ok(())
}

/// Sends something about a request of the peer, which is taken back if the peer cancels it in time.
pub(super) fn send_about(
    exchange: &mut Exchange,
    id: InboundId,
    out: &mut dyn Outlets,
    method: &str,
    write: impl FnOnce(&mut Writer<'_>) -> Result<(), EncodeError>,
) -> Result<(), EncodeError> {
    let lane = Lane::Exchange(id);
    let outbox = out.lane(lane);
    let serial = outbox.append(Room::Limit, Tag::Exchange(id), write)?;
    let bytes = outbox.last_length();
    exchange.last_output = Some(serial);
    observe_bytes(out, lane, Said::Method(method), bytes);
    Ok(())
}

/// What a message of this side is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Said<'a> {
    /// A request or a notification with this method.
    Method(&'a str),
    /// The result of a request, or a batch.
    Result,
    /// The refusal of a request.
    Error(ErrorCode),
}

/// Tells whoever watches that a message was put on a lane.
pub(super) fn observe_sent(out: &mut dyn Outlets, lane: Lane, said: Said<'_>) {
    let bytes = out.lane(lane).last_length();
    observe_bytes(out, lane, said, bytes);
}

/// The same if its length is at hand.
#[inline]
pub(super) fn observe_bytes(out: &mut dyn Outlets, lane: Lane, said: Said<'_>, bytes: usize) {
    let (method, error) = match said {
        Said::Method(method) => (Some(method), None),
        Said::Result => (None, None),
        Said::Error(code) => (None, Some(code)),
    };
    out.observe(&Observation::Sent { method, error, lane, bytes });
}
