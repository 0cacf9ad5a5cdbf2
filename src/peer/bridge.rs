//! What a server needs of a client before it can answer
//! ([MRTR](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr)).
//!
//! Where there are no sessions it is the answer, and the client comes back with what was asked for. In a
//! session each thing is a request of its own: the machine makes those, gathers the answers, and hands
//! the request to the application once more, as if the client had made it again.

use alloc::collections::BTreeMap;
use alloc::string::String;
use core::fmt;

use serde::ser::{Serialize, SerializeMap, Serializer};
use smallvec::SmallVec;

use super::Peer;
use super::call::Purpose;
use super::call_options::{CallError, CallOptions};
use super::cx::Cx;
use super::event::{CancelCause, Cancelled, Outcome};
use super::exchanges::{Said, send};
use super::identity::key;
use super::outlets::Lane;
use super::peer_event::PeerEvent;
use super::rare::Empty;
use super::resumed::Resumed;
use crate::dialect::features::Feature;
use crate::dialect::methods::RequestKind;
use crate::dialect::{Inputs, NotAllowed, PreparedInput, RespondError};
use crate::error::ErrorCode;
use crate::handle::{CallId, InboundId, Place};
use crate::json::{Additions, EncodeError, MetaAdditions, Misfit, Problem, Raw, object_of};
use crate::model::{CallToolResult, InputRequired};
use crate::rpc::{Answer, Ending, Fault, GivenUp, PlaceQueue, write_error, write_result};

/// What is said of a request when its client has refused, or has not answered in time.
const NOT_GIVEN: &str = "the client did not give what was needed for this";

/// Requests that wait for what their clients are asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Bridges {
    waiting: BTreeMap<Place, Bridge>,
    /// Those of them that wait for nothing but to be handed out again.
    free: PlaceQueue,
    /// How many bytes of answers they have.
    bytes: usize,
}

/// A request that waits.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Bridge {
    /// Its params, to be handed out again.
    params: Option<String>,
    state: Option<String>,
    asked: SmallVec<[Asked; 1]>,
    /// How often it has been handed out again.
    rounds: u32,
    /// It has been handed out again and waits for nothing.
    is_resumed: bool,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Asked {
    key: String,
    call: CallId,
    answer: Option<String>,
}

/// Without what it says.
impl fmt::Debug for Bridge {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let calls: SmallVec<[CallId; 4]> = self.asked.iter().map(|one| one.call).collect();
        formatter
            .debug_struct("Bridge")
            .field("asked", &calls)
            .field("rounds", &self.rounds)
            .field("is_resumed", &self.is_resumed)
            .finish_non_exhaustive()
    }
}

impl Empty for Bridges {
    const EMPTY: &'static Self =
        &Self { waiting: BTreeMap::new(), free: PlaceQueue::EMPTY, bytes: 0 };
}

impl Bridges {
    fn get_mut(&mut self, place: Place) -> Option<&mut Bridge> {
        self.waiting.get_mut(&place)
    }

    pub(super) fn take(&mut self, place: Place) -> Option<Bridge> {
        let bridge = self.waiting.remove(&place)?;
        if bridge.asked.is_empty() && !bridge.is_resumed {
            self.free.note_ended(1, |place| self.waiting.contains_key(&place));
        }
        self.bytes -= answer_bytes(&bridge.asked);
        Some(bridge)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// How many bytes of answers wait in all of them.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }
}

fn answer_bytes(asked: &[Asked]) -> usize {
    asked.iter().filter_map(|one| one.answer.as_ref()).map(String::len).sum()
}

/// A result that asks for input.
struct Body<'m> {
    requests: &'m [PreparedInput<'m>],
    state: Option<&'m str>,
    meta: Option<&'m Raw<'m>>,
}

struct Requests<'m>(&'m [PreparedInput<'m>]);

struct Embedded<'m>(&'m PreparedInput<'m>);

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut result = serializer.serialize_map(None)?;
        if !self.requests.is_empty() {
            result.serialize_entry("inputRequests", &Requests(self.requests))?;
        }
        if let Some(state) = self.state {
            result.serialize_entry("requestState", state)?;
        }
        if let Some(meta) = self.meta {
            result.serialize_entry("_meta", meta)?;
        }
        result.end()
    }
}

impl Serialize for Requests<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|one| (one.key, Embedded(one))))
    }
}

impl Serialize for Embedded<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut request = serializer.serialize_map(None)?;
        request.serialize_entry("method", self.0.kind.rule().name)?;
        if !self.0.params.is_empty() {
            request.serialize_entry("params", &Raw::trusted(&self.0.params))?;
        }
        request.end()
    }
}

impl Peer {
    /// Asks the client for what is needed to answer a request, of which these are the params.
    pub(crate) fn require_input(
        &mut self,
        cx: &mut Cx<'_, '_>,
        (id, params): (InboundId, Option<&str>),
        required: &InputRequired<'_>,
    ) -> Result<(), RespondError> {
        self.answerable(id)?;
        let exchange = self.inbound.get(id.0).ok_or(RespondError::Stale)?;
        if !exchange.kind.is_some_and(RequestKind::may_need_input) {
            return Err(NotAllowed::Method.into());
        }
        let context = exchange.context;
        let has_requests = required.requests.as_ref().is_some_and(|requests| !requests.is_empty());
        if !has_requests && required.state.is_none() {
            let nothing = Misfit::at("inputRequests", Problem::Missing);
            return Err(EncodeError::from(nothing).into());
        }
        let (connection, first) = (self.connection().get(), self.outbound.next_id());
        let has_ids = Feature::ElicitationIds.is_in(context.revision);
        let inputs = Inputs::prepare(required, context.revision, |index| {
            has_ids.then(|| alloc::format!("\"{connection}-{}\"", first + index as u64))
        })?;
        let missing = inputs.needs.minus(context.capabilities).iter().next();
        if let Some(missing) = missing.filter(|_| cx.config.capability_policy.is_strict()) {
            return Err(NotAllowed::Capability(missing).into());
        }
        if context.revision.rules().input_by_rounds {
            self.answer_with_need(cx, id, &inputs, required)
        } else {
            let state = required.state.as_ref().map(|state| String::from(state.as_str()));
            let asked = self.ask_for(cx, id, &inputs)?;
            // What was asked for before is not needed any more.
            self.withdraw_asked(cx, id);
            self.wait_for(id, params, state, asked);
            Ok(())
        }
    }

    /// The answer to a request that stands alone.
    fn answer_with_need(
        &mut self,
        cx: &mut Cx<'_, '_>,
        id: InboundId,
        inputs: &Inputs<'_>,
        required: &InputRequired<'_>,
    ) -> Result<(), RespondError> {
        self.send_delayed_progress(cx, id);
        let wire = self.inbound.id(id.0).ok_or(RespondError::Stale)?;
        let own = self.identity();
        let text = own.map(|own| own.info.as_str()).unwrap_or_default();
        let reserved = if text.is_empty() { &[][..] } else { key::OF_RESULTS };
        let meta = MetaAdditions { members: &[], text, reserved };
        let members = &[("resultType", "\"input_required\"")];
        let additions = Additions { members, defaults: &[], meta };
        let state = required.state.as_ref().map(|state| state.as_str());
        let body = Body { requests: &inputs.requests, state, meta: required.meta.as_ref() };
        send(cx.out, Lane::Exchange(id), Said::Result, |writer| {
            write_result(writer, &wire, &body, &additions, None)
        })?;
        self.drop_exchange(id.0, Ending::Answered);
        Ok(())
    }

    /// Makes a request of each thing that is needed: of all of them, or of none.
    fn ask_for(
        &mut self,
        cx: &mut Cx<'_, '_>,
        id: InboundId,
        inputs: &Inputs<'_>,
    ) -> Result<SmallVec<[Asked; 1]>, RespondError> {
        let rounds = self.bridges.get_mut(id.0).map_or(0, |bridge| bridge.rounds);
        if cx.config.limits.input_rounds <= rounds {
            return Err(RespondError::TooManyRounds);
        }
        let mut asked: SmallVec<[Asked; 1]> = SmallVec::new();
        let elicitations = self.elicitations.clone();
        for request in &inputs.requests {
            match self.ask_for_one(cx, id, request) {
                Ok(call) => {
                    asked.push(Asked { key: String::from(request.key), call, answer: None });
                }
                Err(error) => {
                    for one in asked {
                        self.give_up(cx, one.call, GivenUp::Cancelled, None);
                    }
                    self.elicitations = elicitations;
                    return Err(match error {
                        CallError::NotAllowed(reason) => reason.into(),
                        CallError::Encode(error) => error.into(),
                        CallError::Closed => NotAllowed::Closing.into(),
                        CallError::Reserved | CallError::NotATask => RespondError::Closed,
                        CallError::TooManyCalls => RespondError::TooManyRounds,
                    });
                }
            }
        }
        Ok(asked)
    }

    fn ask_for_one(
        &mut self,
        cx: &mut Cx<'_, '_>,
        id: InboundId,
        request: &PreparedInput<'_>,
    ) -> Result<CallId, CallError> {
        let method = request.kind.rule().name;
        let options = CallOptions::new().parent(id);
        let mut order = self.prepare_call(cx, method, options)?;
        order.entry.purpose = Purpose::Input;
        let params = (!request.params.is_empty()).then(|| Raw::trusted(&request.params));
        self.make(cx, &mut order, method, &params)
    }

    /// Keeps what is needed to hand a request out again.
    fn wait_for(
        &mut self,
        id: InboundId,
        params: Option<&str>,
        state: Option<String>,
        asked: SmallVec<[Asked; 1]>,
    ) {
        if self.bridges.get_mut(id.0).is_none() {
            let params = params.map(String::from);
            self.bridges.waiting.insert(id.0, Bridge { params, ..Bridge::default() });
        }
        if asked.is_empty() {
            self.bridges.free.push(id.0);
        }
        if let Some(bridge) = self.bridges.get_mut(id.0) {
            bridge.state = state;
            bridge.asked = asked;
            bridge.rounds += 1;
            bridge.is_resumed = false;
        }
    }

    /// A client has answered one of the requests that were made for another one. Gives that one if it
    /// can go on.
    pub(super) fn input_answered(
        &mut self,
        cx: &mut Cx<'_, '_>,
        call: CallId,
        outcome: &Outcome<'_>,
    ) -> Option<Result<Resumed, PeerEvent<'static>>> {
        let id = self.outbound.get(call.0).and_then(|entry| entry.parent)?;
        self.end_call(call);
        let Outcome::Result(result) = outcome else {
            return self.input_failed(cx, id).map(Err);
        };
        let answer = result.as_json();
        if !self.may_keep(&cx.config.limits, answer.len()) {
            return self.input_failed(cx, id).map(Err);
        }
        let bridge = self.bridges.get_mut(id.0)?;
        let one = bridge.asked.iter_mut().find(|one| one.call == call)?;
        one.answer = Some(String::from(answer));
        self.bridges.bytes += answer.len();
        self.resumed(id).map(Ok)
    }

    /// The request itself, if nothing that it waits for is missing.
    fn resumed(&mut self, id: InboundId) -> Option<Resumed> {
        let kind = self.inbound.get(id.0)?.kind;
        let bridge = self.bridges.get_mut(id.0)?;
        if bridge.is_resumed || bridge.asked.iter().any(|one| one.answer.is_none()) {
            return None;
        }
        bridge.is_resumed = true;
        let asked = core::mem::take(&mut bridge.asked);
        let state = bridge.state.take();
        let params = bridge.params.clone();
        self.bridges.bytes -= answer_bytes(&asked);
        let answers = asked.iter().filter_map(|one| Some((&*one.key, one.answer.as_deref()?)));
        Some(Resumed { id, kind, params, inputs: object_of(answers), state })
    }

    /// The next request that waits for nothing but to be handed out again: it had a state to bring back
    /// and nothing to ask for.
    pub(super) fn next_resumed(&mut self) -> Option<Resumed> {
        while self.has_resumed() {
            let Bridges { free, waiting, .. } = &mut *self.bridges;
            let place = free.pop(|place| waiting.contains_key(&place))?;
            if let Some(resumed) = self.resumed(InboundId(place)) {
                return Some(resumed);
            }
        }
        None
    }

    /// Whether there is one.
    pub(super) fn has_resumed(&self) -> bool {
        !self.bridges.free.is_empty()
    }

    /// What was needed for a request is not to be had, so that it fails.
    pub(super) fn input_failed(
        &mut self,
        cx: &mut Cx<'_, '_>,
        id: InboundId,
    ) -> Option<PeerEvent<'static>> {
        let is_tool = self.inbound.get(id.0)?.kind == Some(RequestKind::CallTool);
        let answered = if is_tool {
            self.respond(cx, id, &CallToolResult::error(NOT_GIVEN))
        } else {
            self.reject(cx, id, Fault::plain(ErrorCode::INTERNAL_ERROR, &NOT_GIVEN))
        };
        match answered {
            Ok(()) => {}
            Err(RespondError::Encode(_)) => {
                self.refuse_in_reserve(cx, id, &NOT_GIVEN);
                self.answered(cx, id);
            }
            Err(_) => {
                self.abandon_input(cx, id);
                self.drop_exchange(id.0, Ending::Closed);
            }
        }
        let cause = CancelCause::InputFailed;
        Some(PeerEvent::Cancelled(Cancelled { id, cause, reason: None }))
    }

    /// Says that a request has failed, also where there is no room for answers: the application has not chosen this
    /// one, and cannot give it again later.
    pub(super) fn refuse_in_reserve(
        &mut self,
        cx: &mut Cx<'_, '_>,
        id: InboundId,
        message: &dyn fmt::Display,
    ) {
        let (Some(exchange), Some(wire)) = (self.inbound.get(id.0), self.inbound.id(id.0)) else {
            return;
        };
        let (batch, wire) = (exchange.batch, wire.into_owned());
        let fault = Fault::plain(ErrorCode::INTERNAL_ERROR, message);
        let (lane, said) = (Lane::Exchange(id), Said::Error(fault.code));
        self.answer_into(cx, (batch, lane), said, |writer| {
            write_error(writer, Answer::To(&wire), fault, None)
        });
    }

    /// Gives up what was asked for on behalf of a request, because it has ended.
    pub(super) fn abandon_input(&mut self, cx: &mut Cx<'_, '_>, id: InboundId) {
        if self.bridges.is_empty() {
            return;
        }
        self.withdraw_asked(cx, id);
        self.bridges.take(id.0);
    }

    /// Gives up what a request waits for.
    fn withdraw_asked(&mut self, cx: &mut Cx<'_, '_>, id: InboundId) {
        if self.bridges.is_empty() {
            return;
        }
        let Some(bridge) = self.bridges.get_mut(id.0) else { return };
        let asked = core::mem::take(&mut bridge.asked);
        self.bridges.bytes -= answer_bytes(&asked);
        for one in asked.into_iter().filter(|one| one.answer.is_none()) {
            if self.outbound.get(one.call.0).is_some() {
                self.give_up(cx, one.call, GivenUp::Cancelled, None);
            }
        }
    }
}
