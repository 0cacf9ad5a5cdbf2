//! Sends requests of this side, sends them again, and retires their ids.

use alloc::boxed::Box;
use alloc::string::String;

use super::answer_context::{AnswerContext, written};
use super::call_options::{CallError, CallOptions, Timeout};
use super::cx::Cx;
use super::identity::key;
use super::lifecycle::Lifecycle;
use super::messages::Messages;
use super::outboxes::Route;
use super::outgoing_request::{Again, OutgoingRequest, Owner, Sent, Wanted};
use super::pre_session_queue::Waiting;
use super::request_members::{RequestStamp, keep_params};
use super::routing::Side;
use super::send::{SentMessage, observe_sent};
use super::send_permit::SendPermit;
use crate::dialect::NotAllowed;
use crate::dialect::methods::RequestKind;
use crate::frame::{Room, Serial, Tag};
use crate::handle::{CallId, IncomingId};
use crate::json::{Member, Raw};
use crate::rpc::{Patience, Recycle, Wait, write_request};
use crate::schema::shape::Form;
use crate::schema::{Additions, EncodeError, MetaAdditions, Payload, Writer};
use crate::session::Phase;
use crate::task::RELATED;
use crate::version::RevisionSet;

/// A request of this side that has passed every check that does not depend on its params.
///
/// Sending takes the request out of the order, which is passed by reference because it is too large to move.
pub(super) struct Order<C> {
    pub(super) asked: OutgoingRequest<C>,
    pub(super) patience: Patience,
    /// The metadata of the task of this side that the request belongs to, a JSON literal.
    pub(super) related: Option<String>,
    permit: SendPermit,
}

/// The members that the machine adds to the params of a request.
#[derive(Clone, Copy, Default)]
pub(super) struct AddedMembers<'m> {
    /// Whether the request asks for progress. Its id is the progress token.
    pub(super) wants_progress: bool,
    /// The task of this side that the request belongs to, a JSON literal.
    pub(super) related: Option<&'m str>,
    /// The task that the request is to become, a JSON literal.
    pub(super) task: Option<&'m str>,
}

/// The id under which a request is sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NewId {
    /// The id that was reserved when the request was [retired](Messages::retire).
    Reserved,
    /// The next id, which is used only if the request can be sent.
    Next,
}

impl<C: Recycle> Messages<C> {
    /// Checks whether a request may be sent, except for its params. Without a time, the timers of the request start
    /// later.
    pub(super) fn order(
        &mut self,
        cx: &Cx<'_, '_>,
        method: &str,
        owner: Owner,
        options: CallOptions,
        has_room: bool,
    ) -> Result<Order<C>, CallError> {
        if !self.takes_order(owner) {
            return Err(CallError::Closed);
        }
        let (kind, permit) = self.clear_call(cx, method, owner, &options)?;
        if !has_room {
            return Err(CallError::TooManyCalls);
        }
        let timeouts = &cx.config.timeouts;
        let (idle, total) = match kind {
            Some(kind) if kind.asks_a_person() => (None, timeouts.person),
            _ => (timeouts.idle, timeouts.total),
        };
        let patience = Patience {
            idle: options.idle.or(idle),
            total: options.total.or(total),
            pause: timeouts.person,
            is_bounded: matches!(options.total, Timeout::After(_)),
        };
        if let Some(now) = cx.now {
            self.outgoing.clock_mut().tick(now);
        }
        let again = Again {
            level: options.level.or(self.session.request_level),
            narrowed: options.capabilities,
            by_hand: options.by_hand,
            ..Again::default()
        };
        let asked = OutgoingRequest {
            owner,
            kind,
            parent: options.parent,
            progress: if options.progress { Wanted::Wanted(None) } else { Wanted::Unwanted },
            again,
            list_version: self.list_versions.for_kind(kind),
            task: options.task.map(Box::new),
            ..OutgoingRequest::default()
        };
        Ok(Order { asked, patience, related: None, permit })
    }

    /// Whether a request of this owner may be made in the phase of the connection.
    fn takes_order(&self, owner: Owner) -> bool {
        let Lifecycle { phase, input_ended, .. } = self.lifecycle;
        let may_cancel =
            phase == Phase::Draining && !input_ended && self.session.negotiated.is_some();
        phase.takes_calls() || (may_cancel && owner.cancels_task())
    }

    /// Checks whether a call may be made. Returns its kind, if MCP defines the method and it is not relayed.
    fn clear_call(
        &self,
        cx: &Cx<'_, '_>,
        method: &str,
        owner: Owner,
        options: &CallOptions,
    ) -> Result<(Option<RequestKind>, SendPermit), CallError> {
        if method == "initialize" {
            return Err(CallError::Reserved);
        }
        let parent = options.parent.and_then(|parent| self.incoming.table.get(parent.0));
        if self.session.role == Side::Server
            && parent.is_some_and(|parent| !parent.rules().server_asks)
        {
            // The server of a modern request requires input in its response, even if there is also a session.
            return Err(NotAllowed::Revision.into());
        }
        self.session.check_extension(options.extension)?;
        let kind = RequestKind::named(method);
        // A subscription that waits for the handshake is possible in every revision: a session emulates it.
        let is_emulated = owner == Owner::Subscription && self.session.negotiated.is_none();
        let checked = kind.filter(|_| !is_emulated);
        let permit = self.session.clear_request(cx, method, checked)?;
        let kind = kind.filter(|_| !cx.config.relay.covers(method));
        Ok((kind, permit))
    }

    /// Sends an order on the route of the request that the order was made because of.
    pub(super) fn ask(
        &mut self,
        cx: &mut Cx<'_, '_>,
        order: &mut Order<C>,
        method: &str,
        params: &dyn Payload,
    ) -> Result<CallId, CallError> {
        // A request for input came in the result of a call, so it has no route.
        let has_route = |parent: &IncomingId| {
            self.incoming.table.get(parent.0).is_none_or(|exchange| exchange.need.is_none())
        };
        let route = order.asked.parent.filter(has_route).map(Route::Exchange);
        if !cx.out.can_ask(route.unwrap_or_default()) {
            return Err(NotAllowed::Transport.into());
        }
        self.ask_on(cx, order, route, method, params)
    }

    /// Sends an order on a route, or on a route of its own.
    pub(super) fn ask_on(
        &mut self,
        cx: &mut Cx<'_, '_>,
        order: &mut Order<C>,
        route: Option<Route>,
        method: &str,
        params: &dyn Payload,
    ) -> Result<CallId, CallError> {
        let Order { asked, patience, related, permit } = order;
        let limits = &cx.config.limits;
        let id = self.outgoing.next_id();
        let call = CallId(self.outgoing.next_place());
        let hold = self.must_hold(method);
        let most = limits.kept_bytes;
        let known = Some(&self.elicitations).filter(|_| asked.owner.elicits_once());
        let stamp = RequestStamp::on(&self.session, &asked.again);
        let task = self.session.task_member(asked.kind, asked.task.as_deref())?;
        if self.session.rules().tasks.asked_for && task.is_none() {
            // The peer does not support tasks for this method.
            asked.task = None;
        }
        let added = AddedMembers {
            wants_progress: asked.progress.is_wanted(),
            related: related.as_deref(),
            task: task.as_deref(),
        };
        let mut answer_context = AnswerContext::default();
        let mut params_again = core::mem::take(&mut self.spare);
        // Written before anything is registered: a call that cannot be written is never made.
        let write = |writer: &mut Writer<'_>| {
            let start = writer.position();
            write_call(writer, (id, method), params, added, &stamp, permit.form)?;
            permit.check_needs(writer)?;
            if stamp.is_some() {
                keep_params(&mut params_again, writer.since(start), most);
            }
            if let (Some(kind), Some(form)) = (asked.kind, permit.form)
                && kind.asks_a_person()
            {
                let params = written(writer.since(start), Member::Params);
                answer_context = AnswerContext::of(kind, params, form.revision, known, most)?;
            }
            Ok(())
        };
        let route = route.unwrap_or(Route::Call(call));
        let put = if hold {
            let waiting = Waiting { route, call: Some(call), is_wanted: true };
            let put = self.queue.hold(limits.held_bytes, waiting, write).map(Sent::Queued);
            // The elicitation begins when the request is released, which checks again that its id is new.
            answer_context.elicitation = None;
            put
        } else {
            let put = cx.out.outbox(route).append(Room::Limit, Tag::Call(call), write);
            if put.is_ok() {
                permit.observe(method, cx.out);
                observe_sent(cx.out, route, SentMessage::Method(method));
            }
            put.map(Sent::Outbox)
        };
        self.spare = params_again;
        if put.is_err() {
            // The params may have been copied before the message ran out of room.
            self.spare.clear();
        }
        let is_self_contained = stamp.is_some();
        asked.sent = put.map_err(|error| permit.explain::<CallError>(error))?;
        asked.route = route;
        self.register(cx, asked, *patience);
        self.expect(cx, call, answer_context);
        self.store_params(call, is_self_contained);
        Ok(call)
    }

    /// Puts a request that has been written into the table.
    pub(super) fn register(
        &mut self,
        cx: &Cx<'_, '_>,
        asked: &mut OutgoingRequest<C>,
        patience: Patience,
    ) -> CallId {
        CallId(self.outgoing.insert(patience, cx.now, |entry| {
            // The entry keeps the params buffer of its last request, to reuse the allocation.
            core::mem::swap(&mut asked.again.params, &mut entry.again.params);
            core::mem::swap(asked, entry);
        }))
    }

    /// Stores the context that is needed when the response to a call is received.
    fn expect(&mut self, cx: &Cx<'_, '_>, call: CallId, answer_context: AnswerContext) {
        let AnswerContext { kept, elicitation } = answer_context;
        if let Some(asked) = self.outgoing.get_mut(call.0) {
            asked.kept = kept;
        }
        if let Some(id) = &elicitation {
            self.elicitations.add(id, &cx.config.limits);
        }
    }

    /// Keeps the params of a call that has been written, so that its request can be sent again.
    fn store_params(&mut self, call: CallId, is_self_contained: bool) {
        if let Some(asked) = self.outgoing.get_mut(call.0) {
            asked.again.is_self_contained = is_self_contained;
            // The previous buffer is empty and keeps its capacity for the next call.
            core::mem::swap(&mut asked.again.params, &mut self.spare);
        }
        self.spare.clear();
    }

    /// Retires the id of a request that was answered and now waits for something else. A response that still carries
    /// the id is unmatched. The next id is reserved for the request.
    pub(super) fn retire(&mut self, cx: &Cx<'_, '_>, call: CallId, wait: Wait) {
        self.outgoing.renew(call.0);
        if let Some(asked) = self.outgoing.get_mut(call.0) {
            asked.sent = Sent::Nowhere;
            asked.progress.restart();
        }
        self.outgoing.wait(call.0, wait, cx.now);
    }

    /// Sends a request again under the same handle. Under the next id, its new params replace the kept ones.
    ///
    /// Fails if the request may not be sent at present: a client that negotiates anew has no session, and the next
    /// session may lack what the previous one had.
    pub(super) fn ask_again(
        &mut self,
        cx: &mut Cx<'_, '_>,
        (call, new_id): (CallId, NewId),
        method: &str,
        params: &dyn Payload,
    ) -> Result<(), CallError> {
        let is_next = new_id == NewId::Next;
        let (Some(asked), Some(own_id)) = (self.outgoing.get(call.0), self.outgoing.id(call.0))
        else {
            return Err(CallError::Closed);
        };
        if self.must_hold(method) {
            return Err(NotAllowed::Revision.into());
        }
        let id = if is_next { self.outgoing.next_id() } else { own_id };
        let form = self.session.clear_request(cx, method, asked.kind)?.form;
        let stamp = RequestStamp::on(&self.session, &asked.again);
        let added =
            AddedMembers { wants_progress: asked.progress.is_wanted(), ..AddedMembers::default() };
        let route = asked.route;
        let most = cx.config.limits.kept_bytes;
        let mut params_again = core::mem::take(&mut self.spare);
        let sent = cx.out.outbox(route).append(Room::Limit, Tag::Call(call), |writer| {
            let start = writer.position();
            write_call(writer, (id, method), params, added, &stamp, form)?;
            if is_next && stamp.is_some() {
                keep_params(&mut params_again, writer.since(start), most);
            }
            Ok(())
        });
        if let Some(asked) = self.outgoing.get_mut(call.0) {
            if is_next {
                // The params of the previous request are no longer needed.
                core::mem::swap(&mut asked.again.params, &mut params_again);
            }
            if let Ok(serial) = sent {
                asked.sent = Sent::Outbox(serial);
                if is_next {
                    asked.again.repeated = RevisionSet::NONE;
                    asked.progress.restart();
                }
            }
        }
        params_again.clear();
        self.spare = params_again;
        sent?;
        if is_next {
            self.outgoing.renew(call.0);
        }
        self.outgoing.wait(call.0, Wait::Response, cx.now);
        observe_sent(cx.out, route, SentMessage::Method(method));
        Ok(())
    }

    /// Sends a request that was queued for the handshake, if the session allows it.
    pub(super) fn release_request(
        &mut self,
        cx: &mut Cx<'_, '_>,
        call: CallId,
        method: &str,
        params: Option<&str>,
    ) -> Result<Serial, CallError> {
        let kind = RequestKind::named(method);
        let mut permit = self.session.clear_request(cx, method, kind)?;
        let rules = self.session.rules();
        let (Some(id), Some(asked)) = (self.outgoing.id(call.0), self.outgoing.get(call.0)) else {
            return Err(CallError::Closed);
        };
        let (kind, route) = (asked.kind, asked.route);
        let task = self.session.task_member(kind, asked.task.as_deref())?;
        // The token replaces the one that was written when the request was queued.
        let wants_progress = asked.progress.is_wanted();
        let added =
            AddedMembers { wants_progress, task: task.as_deref(), ..AddedMembers::default() };
        let params = params.map(Raw::trusted);
        let mut answer_context = AnswerContext::default();
        let known = Some(&self.elicitations).filter(|_| asked.owner.elicits_once());
        let stamp = RequestStamp::on(&self.session, &asked.again);
        let mut params_again = core::mem::take(&mut self.spare);
        let most = cx.config.limits.kept_bytes;
        let written = cx.out.outbox(route).append(Room::Held, Tag::Call(call), |writer| {
            let start = writer.position();
            write_call(writer, (id, method), &params, added, &stamp, permit.form)?;
            permit.check_needs(writer)?;
            if stamp.is_some() {
                keep_params(&mut params_again, writer.since(start), most);
            }
            if let (Some(kind), Some(form), Some(params)) = (kind, permit.form, &params) {
                answer_context =
                    AnswerContext::of(kind, params.as_json(), form.revision, known, most)?;
            }
            Ok(())
        });
        let is_self_contained = stamp.is_some();
        self.spare = params_again;
        self.store_params(call, is_self_contained);
        if task.is_none()
            && rules.tasks.asked_for
            && let Some(asked) = self.outgoing.get_mut(call.0)
        {
            // The peer does not support tasks for this method.
            asked.task = None;
        }
        let serial = written.map_err(|error| permit.explain::<CallError>(error))?;
        self.expect(cx, call, answer_context);
        permit.observe(method, cx.out);
        observe_sent(cx.out, route, SentMessage::Method(method));
        Ok(serial)
    }
}

/// Writes a request.
pub(super) fn write_call(
    writer: &mut Writer<'_>,
    (id, method): (u64, &str),
    params: &dyn Payload,
    added: AddedMembers<'_>,
    stamp: &Option<RequestStamp<'_>>,
    form: Option<Form>,
) -> Result<(), EncodeError> {
    let mut token = itoa::Buffer::new();
    let level = stamp.as_ref().and_then(RequestStamp::level);
    let token = added.wants_progress.then(|| token.format(id));
    let mut members = [("", ""); 3];
    let mut count = 0;
    let all = [(key::PROGRESS, token), (key::LEVEL, level), (RELATED, added.related)];
    for (slot, (name, value)) in
        members.iter_mut().zip(all.into_iter().filter_map(|(name, value)| Some((name, value?))))
    {
        *slot = (name, value);
        count += 1;
    }
    let members = members.get(..count).unwrap_or_default();
    let reserved = if added.related.is_some() { key::OF_TASKS } else { &[] };
    let meta = match stamp {
        Some(stamp) => MetaAdditions { members, text: stamp.text(), reserved: key::OF_REQUESTS },
        None => MetaAdditions { members, text: "", reserved },
    };
    let task = [("task", added.task.unwrap_or_default())];
    let members = if added.task.is_some() { &task[..] } else { &[] };
    let additions = Additions { members, defaults: &[], meta };
    write_request(writer, id, method, params, &additions, form)
}
