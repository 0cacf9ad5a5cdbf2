//! Requests of ours: made, held, ended.

use serde::ser::Serialize;

use super::Peer;
use super::call::{Call, Purpose, Whereabouts};
use super::call_options::{CallError, CallOptions, Timeout};
use super::cx::Cx;
use super::exchanges::{Said, observe_sent};
use super::gate::Clearance;
use super::identity::key;
use super::outlets::Lane;
use super::request_stamp::{RequestStamp, keep_params};
use super::rules::{Expectation, written};
use super::tracking::{TaskPart, part};
use super::waiting::Waiting;
use crate::dialect::NotAllowed;
use crate::dialect::methods::RequestKind;
use crate::frame::{Room, Tag};
use crate::handle::{CallId, InboundId};
use crate::json::shape::Form;
use crate::json::{Additions, EncodeError, Member, MetaAdditions, Writer};
use crate::rpc::{Ending, write_request};
use crate::task::RELATED;

/// A call that may be made, as far as that does not depend on its params.
pub(super) struct Order {
    pub(super) entry: Call,
    clearance: Clearance,
}

impl Peer {
    /// Makes a call.
    pub(crate) fn call<T: Serialize + ?Sized>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        method: &str,
        params: &T,
        options: CallOptions,
    ) -> Result<CallId, CallError> {
        let mut order = self.prepare_call(cx, method, options)?;
        let made = self.make(cx, &mut order, method, params);
        #[cfg(any(call_table, fuzzing))]
        self.check_calls();
        made
    }

    /// Everything about a call but its params. Without a time the call has no timers yet, and has to be
    /// [dated](Self::date_later).
    pub(super) fn prepare_call(
        &mut self,
        cx: &Cx<'_, '_>,
        method: &str,
        options: CallOptions,
    ) -> Result<Order, CallError> {
        let (kind, clearance) = self.clear_call(cx, method, &options)?;
        self.has_room(cx)?;
        Ok(self.order(cx, kind, clearance, options))
    }

    /// Whether there is room for one more call of the application, or can be made.
    pub(super) fn has_room(&self, cx: &Cx<'_, '_>) -> Result<(), CallError> {
        let others = cx.config.limits.outbound_calls.checked_sub(1);
        if others.is_some_and(|others| self.has_calls_up_to(others)) || self.has_abandoned() {
            return Ok(());
        }
        Err(CallError::TooManyCalls)
    }

    /// Makes the room that a call has taken beyond the limit. Not before it has been made, because one that
    /// cannot be made changes nothing.
    pub(super) fn make_room(&mut self, cx: &Cx<'_, '_>) {
        if !self.has_calls_up_to(cx.config.limits.outbound_calls) {
            self.forget_first_abandoned();
        }
    }

    /// Whether there are at most so many calls. What the machine asks about tasks does not count.
    fn has_calls_up_to(&self, most: u32) -> bool {
        let pending = self.outbound.len();
        pending - self.outbound.steps() <= most
    }

    /// The same, however many calls are pending.
    pub(super) fn prepare_one_more(
        &mut self,
        cx: &Cx<'_, '_>,
        method: &str,
        options: CallOptions,
    ) -> Result<Order, CallError> {
        let (kind, clearance) = self.clear_call(cx, method, &options)?;
        Ok(self.order(cx, kind, clearance, options))
    }

    /// Whether a call may be made, and of what kind it is if the machine is to look.
    fn clear_call(
        &self,
        cx: &Cx<'_, '_>,
        method: &str,
        options: &CallOptions,
    ) -> Result<(Option<RequestKind>, Clearance), CallError> {
        if !self.phase.takes_calls() {
            return Err(CallError::Closed);
        }
        if method == "initialize" {
            return Err(CallError::Reserved);
        }
        let parent = options.parent.and_then(|parent| self.inbound.get(parent.0));
        if parent.is_some_and(|parent| !parent.rules().server_asks) {
            // What it needs is asked for in its answer, whatever session there is as well.
            return Err(NotAllowed::Revision.into());
        }
        let kind = RequestKind::named(method);
        let clearance = self.clear_request(cx, method, kind)?;
        let kind = kind.filter(|_| !cx.config.relay.covers(method));
        Ok((kind, clearance))
    }

    /// A call that may be made.
    #[inline]
    fn order(
        &mut self,
        cx: &Cx<'_, '_>,
        kind: Option<RequestKind>,
        clearance: Clearance,
        options: CallOptions,
    ) -> Order {
        let timeouts = &cx.config.timeouts;
        let (idle, total) = match kind {
            Some(kind) if kind.asks_a_person() => (None, timeouts.person),
            _ => (timeouts.idle, timeouts.total),
        };
        let (idle, total) = (options.idle.or(idle), options.total.or(total));
        if let Some(now) = cx.now {
            self.clock.tick(now);
        }
        let time = cx.now.map(|now| self.clock.at(now));
        let mut entry = Call {
            kind,
            level: options.level.or(self.request_level),
            narrowed: options.capabilities,
            by_hand: options.by_hand,
            task: options.task.and_then(|options| part(TaskPart::Wanted(options))),
            parent: options.parent,
            wants_progress: options.progress,
            idle,
            idle_deadline: idle.zip(time).map(|(idle, time)| time + idle),
            total_deadline: total.zip(time).map(|(total, time)| time + total),
            is_bounded: matches!(options.total, Timeout::After(_)),
            lag: cx.now.map(|now| self.clock.lag(now)).unwrap_or_default(),
            // A call without timers has none that could stand still for too long.
            pause: timeouts.person.filter(|_| idle.is_some() || total.is_some()),
            ..Call::default()
        };
        entry.changes = self.changes_for(&entry);
        Order { entry, clearance }
    }

    /// Makes a call that has been prepared. It is taken out of the order when it has been made: it is too large
    /// to hand it on.
    pub(super) fn make<T: Serialize + ?Sized>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        order: &mut Order,
        method: &str,
        params: &T,
    ) -> Result<CallId, CallError> {
        let lane = order.entry.parent.map(Lane::Exchange);
        if !cx.out.can_ask(lane.unwrap_or_default()) {
            return Err(NotAllowed::Carrier.into());
        }
        self.make_on(cx, order, lane, method, params)
    }

    /// The same on a lane, or on its own.
    pub(super) fn make_on<T: Serialize + ?Sized>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        order: &mut Order,
        lane: Option<Lane>,
        method: &str,
        params: &T,
    ) -> Result<CallId, CallError> {
        let Order { entry, clearance } = order;
        let limits = &cx.config.limits;
        let id = self.outbound.next_id();
        let call = CallId(self.outbound.next_place());
        let hold = self.must_hold(method);
        let (known, most) = (&self.elicitations, limits.kept_bytes);
        let stamp = RequestStamp::of(self.identity.as_deref(), self.rules(), entry);
        let (kind, options) = (entry.kind, entry.task_options());
        let task = options.map(|options| self.task_member(kind, options)).transpose()?.flatten();
        if self.rules().asks_for_tasks && task.is_none() && options.is_some() {
            // The peer cannot.
            entry.task = None;
        }
        let marks = Marks {
            wants_progress: entry.wants_progress,
            related: entry.task.as_deref().and_then(TaskPart::related),
            task: task.as_deref(),
        };
        let mut expectation = Expectation::default();
        let mut params_again = core::mem::take(&mut self.spare);
        // Written first: a call that cannot be written was never made, whatever happens.
        let write = |writer: &mut Writer<'_>| {
            let start = writer.position();
            write_call(writer, (id, method), params, marks, &stamp, clearance.form)?;
            clearance.check_needs(writer)?;
            if stamp.is_some() {
                keep_params(&mut params_again, writer.since(start), most);
            }
            if let (Some(kind), Some(form)) = (entry.kind, clearance.form)
                && kind.asks_a_person()
            {
                let params = written(writer.since(start), Member::Params);
                expectation = Expectation::of(kind, params, form.revision, known, most)?;
            }
            Ok(())
        };
        let lane = lane.unwrap_or(Lane::Call(call));
        let put = if hold {
            let waiting = Waiting { lane, call: Some(call), is_wanted: true };
            self.held.hold(limits.held_bytes, waiting, write).map(Whereabouts::Held)
        } else {
            let put = cx.out.lane(lane).append(Room::Limit, Tag::Call(call), write);
            if put.is_ok() {
                clearance.observe(method, cx.out);
                observe_sent(cx.out, lane, Said::Method(method));
            }
            put.map(Whereabouts::Lane)
        };
        self.spare = params_again;
        if put.is_err() {
            // They were copied, and then there was no room for the end of the message.
            self.spare.clear();
        }
        entry.whereabouts = put.map_err(|error| clearance.explain::<CallError>(error))?;
        entry.lane = lane;
        self.register(entry);
        self.make_room(cx);
        self.expect(cx, call, expectation);
        self.store_params(call);
        Ok(call)
    }

    /// Puts a call that has been written into the tables.
    pub(super) fn register(&mut self, entry: &mut Call) -> CallId {
        let (id, deadline) = (self.outbound.next_id(), entry.deadline());
        let place = self.outbound.insert(entry);
        if let Some(deadline) = deadline {
            self.deadlines.set(place.index, id, deadline);
        }
        CallId(place)
    }

    /// A call that was made without knowing the time waits as long as others from when that is known.
    pub(super) fn date_later(&mut self, call: CallId) {
        self.unsettled.undated.push_back(call);
    }

    /// It is this late, for the calls that were made without knowing that.
    pub(super) fn date_calls(&mut self, cx: &Cx<'_, '_>) {
        let time = self.clock.at(cx.now());
        while let Some(call) = self.unsettled.undated.pop_front() {
            if let Some(entry) = self.outbound.get_mut(call.0) {
                entry.idle_deadline = entry.idle.map(|idle| time + idle);
                if entry.purpose == Purpose::TaskStep {
                    entry.total_deadline = cx.config.timeouts.total.map(|total| time + total);
                }
                self.set_deadline(call);
            }
        }
    }

    /// Remembers what is needed when the answer to a call comes.
    pub(super) fn expect(&mut self, cx: &Cx<'_, '_>, call: CallId, expectation: Expectation) {
        let Expectation { kept, elicitation } = expectation;
        if let Some(entry) = self.outbound.get_mut(call.0) {
            entry.kept = kept;
        }
        if let Some(id) = &elicitation {
            self.elicitations.add(id, &cx.config.limits);
        }
    }

    /// Takes a call out of the tables because it has its outcome.
    pub(super) fn end_call(&mut self, call: CallId) {
        self.withdraw_inputs(call);
        self.forget_task(call);
        self.deadlines.clear(call.0.index);
        if self.initialize == Some(call) {
            self.initialize = None;
        }
        self.outbound.remove(call.0, Ending::Answered);
    }

    /// Whether a call that the application made is pending.
    pub(crate) fn is_pending(&self, call: CallId) -> bool {
        self.outbound.get(call.0).is_some_and(|entry| {
            matches!(entry.purpose, Purpose::Application | Purpose::Subscription)
        })
    }

    /// The calls of the application that are pending, in the order they were made.
    pub(crate) fn pending_calls(&self) -> impl Iterator<Item = CallId> {
        self.application_calls().map(|(call, _)| call)
    }

    /// Those of them that were made because of a request.
    pub(crate) fn calls_made_for(&self, request: InboundId) -> impl Iterator<Item = CallId> {
        self.application_calls()
            .filter(move |(_, entry)| entry.parent == Some(request))
            .map(|(call, _)| call)
    }

    pub(super) fn application_calls(&self) -> impl Iterator<Item = (CallId, &Call)> {
        self.outbound
            .iter()
            .filter(|(_, entry)| entry.purpose == Purpose::Application)
            .map(|(place, entry)| (CallId(place), entry))
    }
}

/// What the machine says with a request beside its params.
#[derive(Clone, Copy, Default)]
pub(super) struct Marks<'m> {
    /// It wants progress, under its own id.
    pub(super) wants_progress: bool,
    /// The task of this side that it belongs to, a literal.
    pub(super) related: Option<&'m str>,
    /// The task that it is to become, a literal.
    pub(super) task: Option<&'m str>,
}

/// Writes a request.
pub(super) fn write_call<T: Serialize + ?Sized>(
    writer: &mut Writer<'_>,
    (id, method): (u64, &str),
    params: &T,
    marks: Marks<'_>,
    stamp: &Option<RequestStamp<'_>>,
    form: Option<Form>,
) -> Result<(), EncodeError> {
    let mut token = itoa::Buffer::new();
    let level = stamp.as_ref().and_then(RequestStamp::level);
    let token = marks.wants_progress.then(|| token.format(id));
    let mut members = [("", ""); 3];
    let mut count = 0;
    let all = [("progressToken", token), (key::LEVEL, level), (RELATED, marks.related)];
    for (slot, (name, value)) in
        members.iter_mut().zip(all.into_iter().filter_map(|(name, value)| Some((name, value?))))
    {
        *slot = (name, value);
        count += 1;
    }
    let members = members.get(..count).unwrap_or_default();
    let reserved = if marks.related.is_some() { key::OF_TASKS } else { &[] };
    let meta = match stamp {
        Some(stamp) => MetaAdditions { members, text: stamp.text(), reserved: key::OF_REQUESTS },
        None => MetaAdditions { members, text: "", reserved },
    };
    let task = [("task", marks.task.unwrap_or_default())];
    let members = if marks.task.is_some() { &task[..] } else { &[] };
    let additions = Additions { members, defaults: &[], meta };
    write_request(writer, id, method, params, &additions, form)
}
