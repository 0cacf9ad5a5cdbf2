//! `Serving`: the requests of the peer, and their processing by this side.

use alloc::vec::Vec;

use super::call_cx::Next;
use super::call_options::CallError;
use super::call_state::CallState;
use super::calls::Calls;
use super::common_event::CommonEvent;
use super::context::RequestContext;
use super::cx::Cx;
use super::event::{CancelCause, Cancelled, Outcome};
use super::exchange::Exchange;
use super::for_role::ForRole;
use super::incoming_request::IncomingRequest;
use super::input_bridge::Bridges;
use super::listens::Listens;
use super::outgoing_request::Owner;
use super::progress_report::{Progress, ProgressReport};
use super::reception::Reception;
use super::result_members::ReplyKind;
use super::routing::Side;
use super::steps::Left;
use super::{progress, request};
use crate::codes::{ErrorCode, ViolationKind};
use crate::dialect::RespondError;
use crate::dialect::methods::{NotificationKind, RequestKind};
use crate::frame::Frame;
use crate::handle::{CallId, IncomingId};
use crate::interests::Filter;
use crate::json::{Object, Str};
use crate::lazy_box::LazyBox;
use crate::limits::Limits;
use crate::rpc::{Ending, Fault, GivenUp, Id};
use crate::schema::{EncodeError, Payload};
use crate::session::Phase;
use crate::task::view::related;

/// The requests of the peer, and the calls of this side below them.
///
/// Serving a request can make calls of this side, such as those for the input that it requires. A call never depends
/// on a request of the peer. Every request leaves the table through [`finish`](Self::finish), which ends the work
/// begun on its behalf.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Serving {
    pub(crate) calls: Calls,
    /// The subscriptions that requests of the peer keep open.
    pub(super) listens: LazyBox<Listens>,
    /// The requests of the peer that wait for the input they require.
    pub(super) bridges: LazyBox<Bridges>,
}

impl Serving {
    pub(super) const fn new(calls: Calls) -> Self {
        Self { calls, listens: LazyBox::EMPTY, bridges: LazyBox::EMPTY }
    }

    /// Whether a request in this frame would be admitted now. Also `true` if waiting cannot free room for it.
    pub(crate) fn has_room_for(&self, limits: &Limits, frame: &Frame<'_>, unsent: usize) -> bool {
        // Only subscriptions take room, and they last until the peer ends them.
        let is_free = self.calls.messages.incoming.table.len() as usize <= self.listens.len();
        (unsent == 0 && is_free) || self.calls.messages.has_room_for(limits, frame, unsent)
    }

    /// Returns the context of a request that can still get a response.
    pub(crate) fn context(&self, id: IncomingId) -> Option<RequestContext> {
        self.calls.messages.answerable(id).ok().map(|exchange| exchange.context)
    }

    /// Checks whether a request can still get a response.
    pub(crate) fn check_answerable(&self, id: IncomingId) -> Result<(), RespondError> {
        self.calls.messages.answerable(id).map(|_| ())
    }

    /// Returns the requests that can still get a response, in the order of their arrival.
    pub(crate) fn open_requests(&self) -> impl Iterator<Item = IncomingId> {
        let open = self.calls.messages.lifecycle.phase != Phase::Closed;
        let requests = self.calls.messages.incoming.table.iter();
        requests
            .filter(move |(_, exchange)| open && !exchange.marked)
            .map(|(place, _)| IncomingId(place))
    }

    /// Puts a request of the peer into the table, and completes its context.
    pub(crate) fn admit(
        &mut self,
        cx: &mut Cx<'_, '_>,
        kind: Option<RequestKind>,
        request: &mut IncomingRequest<'_, '_>,
    ) -> Result<IncomingId, ViolationKind> {
        request::admit(&mut self.calls.messages, cx, kind, request)
    }

    /// Takes a request out of the table that was never returned to the application.
    pub(crate) fn abandon_request(&mut self, cx: &mut Cx<'_, '_>, id: IncomingId) {
        if let Some(taken) = self.calls.messages.take(id, Ending::Closed) {
            self.finish(cx, taken);
        }
    }

    /// Handles a notification of the peer.
    pub(super) fn notification<'e, 'a>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        (method, params): (Str<'a>, Option<Object<'e, 'a>>),
        (bytes, reception): (&'a [u8], &Reception),
    ) -> Option<ForRole<'e, 'a>> {
        let kind = NotificationKind::of(&method);
        let event = match kind {
            Some(NotificationKind::Cancelled) => self.cancellation(cx, params.as_ref(), bytes),
            Some(NotificationKind::Progress) => self.calls.progress(cx, params.as_ref(), bytes),
            _ => return self.calls.notification(cx, kind, (method, params), (bytes, reception)),
        };
        event.map(ForRole::Event)
    }

    /// Handles a cancellation by the peer. An id that is not in flight is no violation: the request may have got its
    /// response meanwhile.
    fn cancellation<'a>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        params: Option<&Object<'_, 'a>>,
        bytes: &'a [u8],
    ) -> Option<CommonEvent<'a>> {
        let config = cx.config;
        let mut id = None;
        let mut reason = None;
        for (key, value) in params.into_iter().flat_map(Object::members) {
            if key == "requestId" {
                id = Id::from_literal(value, config.limits.id_bytes).ok();
            } else if key == "reason" {
                reason = Str::from_literal(value);
            }
        }
        match id {
            Some(id)
                if self.calls.messages.session.role == Side::Client
                    && self.calls.messages.session.rules().updates.changes_by_subscription =>
            {
                self.calls.cancelled_by_server(cx, &id, reason)
            }
            Some(id) => self.cancelled_by_peer(cx, &id, reason),
            None => self.calls.messages.violations.report_notification(
                cx,
                ViolationKind::MalformedCancellation,
                bytes,
            ),
        }
    }

    /// Handles the cancellation of a request of the peer. Returns the event of the first one with this id.
    pub(super) fn cancelled_by_peer<'a>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        id: &Id<'_>,
        reason: Option<Str<'a>>,
    ) -> Option<CommonEvent<'a>> {
        let mut next = self.calls.messages.incoming.table.find(id);
        let (mut event, mut reason, mut asks_for_task) = (None, reason, false);
        // If duplicate ids are served, several requests can have the same id.
        while let Some(place) = next {
            work!(1);
            let incoming = &mut self.calls.messages.incoming;
            next = incoming.table.next_twin(place);
            if incoming.table.get(place).is_some_and(Exchange::asks_for_task) {
                // A request for a task is cancelled by `tasks/cancel`. It gets its response, so that the peer learns
                // the task id.
                asks_for_task = true;
            } else if event.is_some() {
                // The events of further requests follow one by one.
                incoming.table.detach(place);
                incoming.mark(place, CancelCause::Peer);
            } else {
                let (id, cause) = (IncomingId(place), CancelCause::Peer);
                self.withdraw_request(cx, id);
                event =
                    Some(CommonEvent::Cancelled(Cancelled { id, cause, reason: reason.take() }));
            }
        }
        if asks_for_task {
            self.calls.messages.violations.note(ViolationKind::TaskCancellation);
        }
        event
    }

    /// Reports progress on a request.
    pub(crate) fn report_progress(
        &mut self,
        cx: &mut Cx<'_, '_>,
        id: IncomingId,
        report: Progress<'_>,
    ) -> Result<ProgressReport, RespondError> {
        progress::report(&mut self.calls.messages, cx, id, report)
    }
}

/// # Subscriptions of the peer
impl Serving {
    /// Opens a subscription that a request of the peer keeps open.
    pub(crate) fn open_listen(&mut self, id: IncomingId, params: &str) -> bool {
        self.listens.open(&self.calls.messages.session, id, params)
    }

    /// Acknowledges the granted part of a subscription.
    pub(crate) fn acknowledge(
        &mut self,
        cx: &mut Cx<'_, '_>,
        id: IncomingId,
        granted: Option<&Filter<()>>,
        knows: impl Fn(&str) -> bool,
    ) -> Result<(), EncodeError> {
        if self.listens.is_empty() {
            return Ok(());
        }
        self.listens.acknowledge(&mut self.calls.messages.incoming, id, (granted, knows), cx.out)
    }
}

/// # Requests about tasks
impl Serving {
    /// Responds to a request about tasks with a result that is known to be valid.
    pub(super) fn answer_about_task(
        &mut self,
        cx: &mut Cx<'_, '_>,
        id: IncomingId,
        result: &dyn Payload,
    ) -> Result<(), RespondError> {
        self.calls.messages.answerable(id)?;
        let kind = ReplyKind::AboutTask;
        let taken = self.calls.messages.reply(cx, id, kind, result)?;
        self.finish(cx, taken);
        Ok(())
    }

    /// Responds to a request for the result of a task. If the response cannot be sent, the request is unchanged.
    pub(super) fn answer_with_result_of(
        &mut self,
        cx: &mut Cx<'_, '_>,
        id: IncomingId,
        task: &str,
        result: &dyn Payload,
    ) -> Result<(), RespondError> {
        let incoming = &mut self.calls.messages.incoming;
        // The response belongs to the task; progress on the request for the result does not.
        let ahead = incoming.send_delayed_progress(id, cx.out);
        let exchange = incoming.table.get_mut(id.0).ok_or(RespondError::Stale)?;
        let before = core::mem::replace(&mut exchange.related.0, related(task));
        let answered = self.answer_about_task(cx, id, result);
        if answered.is_err() {
            let incoming = &mut self.calls.messages.incoming;
            incoming.take_back_progress(id, ahead, cx.out);
            if let Some(exchange) = incoming.table.get_mut(id.0) {
                exchange.related.0 = before;
            }
        }
        answered
    }

    /// Responds to a request about tasks with a short result, from the reserve of the outbox if needed.
    pub(super) fn answer_shortly(
        &mut self,
        cx: &mut Cx<'_, '_>,
        id: IncomingId,
        result: &dyn Payload,
    ) {
        let kind = ReplyKind::AboutTask;
        if let Some(taken) = self.calls.messages.reply_shortly(cx, id, kind, result) {
            self.finish(cx, taken);
        }
    }

    pub(super) fn refuse_about_task(
        &mut self,
        cx: &mut Cx<'_, '_>,
        id: IncomingId,
        text: &'static str,
    ) -> Result<(), RespondError> {
        self.calls.messages.answerable(id)?;
        let fault = Fault::plain(ErrorCode::INVALID_PARAMS, &text);
        self.reject_as_is(cx, id, fault, None)
    }
}

/// # Calls made for requests
impl Serving {
    /// Handles the response to a call for the input of a request. Returns the request if its inputs are complete.
    pub(super) fn input_answered<'e, 'a>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        (id, call): (IncomingId, CallId),
        outcome: &Outcome<'_>,
    ) -> Option<ForRole<'e, 'a>> {
        let Outcome::Result(result) = outcome else {
            return self.input_failed(cx, id).map(ForRole::Event);
        };
        let answer = result.as_json();
        if !self.calls.messages.may_keep(&cx.config.limits, answer.len()) {
            return self.input_failed(cx, id).map(ForRole::Event);
        }
        self.bridges.answered(&mut self.calls.messages, id, call, answer);
        self.bridges.resumed(&mut self.calls.messages, id).map(ForRole::Resumed)
    }
}

/// # The end of the connection
impl Serving {
    /// Ends the next call or subscription that cannot proceed because the connection drains: queued calls that were
    /// never sent, and subscriptions.
    pub(super) fn next_drained(&mut self, cx: &mut Cx<'_, '_>) -> Option<CommonEvent<'static>> {
        if !self.calls.messages.queue.is_empty()
            && let Some(event) = self.next_unsent(cx)
        {
            return Some(event);
        }
        if let Some(id) = self.listens.first() {
            self.end_listen(cx, id);
            let cause = CancelCause::Closed;
            return Some(CommonEvent::Cancelled(Cancelled { id, cause, reason: None }));
        }
        let call = self.calls.index.subscriptions.front().copied()?;
        let outcome = Outcome::Closed(self.calls.messages.lifecycle.cause_of_end());
        let left = self.calls.leave(call)?;
        let event = self.calls.ended(left, outcome, false);
        self.calls.messages.drop(cx, call, GivenUp::Cancelled, None);
        Some(event)
    }

    /// Ends a subscription of the peer: with its result if it was acknowledged, otherwise with an error. The response
    /// may use the reserve of the outbox.
    fn end_listen(&mut self, cx: &mut Cx<'_, '_>, id: IncomingId) {
        let messages = &mut self.calls.messages;
        let taken = if messages.answerable(id).is_err() {
            messages.take(id, Ending::Closed)
        } else if self.listens.is_acknowledged(id) {
            self.listens.flush(&mut messages.incoming, id, cx.out);
            messages.reply_shortly(cx, id, ReplyKind::Result, &())
        } else {
            messages.refuse_in_reserve(cx, id, &ViolationKind::ShuttingDown.text());
            messages.take(id, Ending::Answered)
        };
        if let Some(taken) = taken {
            self.finish(cx, taken);
        }
    }

    /// Ends the next queued call that the negotiated session does not allow.
    pub(super) fn next_refused(&mut self, cx: &mut Cx<'_, '_>) -> Option<CommonEvent<'static>> {
        while self.calls.messages.queue.has_refused() {
            let (call, error) = self.calls.messages.queue.next_refused()?;
            // It may have been cancelled meanwhile.
            let Some(left) = self.calls.take_out(call) else { continue };
            if let Some(event) = self.never_sent(cx, left, Some(error)) {
                return Some(event);
            }
        }
        None
    }

    /// Ends the next queued call of a handshake that will never complete.
    fn next_unsent(&mut self, cx: &mut Cx<'_, '_>) -> Option<CommonEvent<'static>> {
        while let Some(call) = self.calls.messages.queue.next_call() {
            let Some(left) = self.calls.take_out(call) else { continue };
            if let Some(event) = self.never_sent(cx, left, None) {
                return Some(event);
            }
        }
        None
    }

    /// Returns the event of a request that has left the table without being sent.
    fn never_sent(
        &mut self,
        cx: &mut Cx<'_, '_>,
        left: Left,
        refused: Option<CallError>,
    ) -> Option<CommonEvent<'static>> {
        match (left.owner(), refused) {
            (Owner::Poll { of, kind }, Some(error)) => {
                let next = self.calls.step(cx, (of, false), |state, at| match state {
                    CallState::Task(task) => task.poll_refused(at, kind, error),
                    _ => Next::On(None),
                });
                debug_assert!(next.is_none(), "a question that may not be asked is no event");
                None
            }
            (Owner::Input(id), _) => self.input_failed(cx, id),
            (owner, None) if owner.is_silent() => None,
            (_, refused) => {
                let outcome = refused.map_or(Outcome::NotSent, Outcome::CallError);
                Some(self.calls.ended(left, outcome, false))
            }
        }
    }

    /// Rejects all open requests, because the connection is about to end. The events about their end follow later.
    pub(super) fn refuse_unanswered(&mut self, cx: &mut Cx<'_, '_>) {
        let is_waited_for = |exchange: &Exchange| exchange.need.is_none() && !exchange.marked;
        let table = &self.calls.messages.incoming.table;
        let open: Vec<IncomingId> = table
            .iter()
            .filter(|(_, exchange)| is_waited_for(exchange))
            .map(|(place, _)| IncomingId(place))
            .collect();
        for id in open {
            self.calls.messages.refuse_in_reserve(cx, id, &ViolationKind::ShuttingDown.text());
        }
    }
}
