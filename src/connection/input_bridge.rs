//! The input bridge: the client input that a server requires before it can respond
//! ([MRTR](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr)).
//!
//! In the modern era the response contains the required inputs, and the client sends the request again with the
//! input. In a session each input is a request of its own. The machine sends these requests, gathers the responses,
//! and hands the request to the application again, as if the client had sent it again.

use alloc::string::String;

use serde::ser::{Serialize, SerializeMap, Serializer};
use smallvec::SmallVec;

use super::call_capacity::{has_room, make_room};
use super::call_index::CallIndex;
use super::call_options::{CallError, CallOptions};
use super::call_state::Below;
use super::cx::Cx;
use super::outgoing_request::Owner;
use super::resumed::Resumed;
use crate::dialect::{Inputs, NotAllowed, PreparedInput, RespondError};
use crate::handle::{CallId, IncomingId, SlotKey};
use crate::json::Raw;
use crate::lazy_box::{Empty, LazyBox};
use crate::model::InputRequired;
use crate::ordered::Ordered;
use crate::rpc::{GivenUp, SlotQueue};
use crate::schema::object_of;

/// The requests that wait for input of their clients.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Bridges {
    waiting: Waiting,
    /// The requests that wait only to be handed out again.
    free: SlotQueue,
}

/// The bridges, by the indices of their requests.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
struct Waiting(Ordered<u64, Bridge>);

/// The state of a request that waits for input.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Bridge {
    /// The place of the request.
    place: SlotKey,
    /// The params of the request, to be handed out again.
    params: Option<String>,
    state: Option<String>,
    asked: SmallVec<[OutgoingRequest; 1]>,
    /// The number of rounds of input that the request has required.
    rounds: u32,
    waits_for: WaitsFor,
}

/// The reason why a request with a bridge is not handed out.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum WaitsFor {
    /// The answers of the client.
    Answers,
    /// To be handed out again.
    Turn,
    /// Nothing, because it was handed out again.
    Nothing,
}

/// The requests to a client on behalf of one request.
#[derive(Default)]
pub(super) struct Questions(SmallVec<[OutgoingRequest; 1]>);

#[derive(Clone, PartialEq, Eq, Hash)]
struct OutgoingRequest {
    key: String,
    call: CallId,
    answer: Option<String>,
}

impl Empty for Bridges {
    const EMPTY: &'static Self = &Self { waiting: Waiting(Ordered::new()), free: SlotQueue::EMPTY };
}

impl Bridges {
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.0.is_empty()
    }
}

impl Waiting {
    fn of(&self, id: IncomingId) -> Option<&Bridge> {
        self.0.get(&u64::from(id.0.index)).filter(|bridge| bridge.place == id.0)
    }

    fn of_mut(&mut self, id: IncomingId) -> Option<&mut Bridge> {
        self.0.get_mut(&u64::from(id.0.index)).filter(|bridge| bridge.place == id.0)
    }
}

fn answer_bytes(asked: &[OutgoingRequest]) -> usize {
    asked.iter().filter_map(|one| one.answer.as_ref()).map(String::len).sum()
}

/// A result that requires input.
struct Body<'r, 'm> {
    requests: &'r [PreparedInput<'m>],
    state: Option<&'r str>,
    meta: Option<&'r Raw<'m>>,
}

struct Requests<'r, 'm>(&'r [PreparedInput<'m>]);

struct Embedded<'r, 'm>(&'r PreparedInput<'m>);

impl Serialize for Body<'_, '_> {
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

impl Serialize for Requests<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|one| (one.key, Embedded(one))))
    }
}

impl Serialize for Embedded<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut request = serializer.serialize_map(None)?;
        request.serialize_entry("method", self.0.kind.rule().name)?;
        if !self.0.params.is_empty() {
            request.serialize_entry("params", &Raw::trusted(&self.0.params))?;
        }
        request.end()
    }
}

impl Bridges {
    /// Sends a request for each input that a request requires: for all of them, or for none.
    pub(super) fn ask(
        &self,
        (below, index): (&mut Below, &mut LazyBox<CallIndex>),
        cx: &mut Cx<'_, '_>,
        id: IncomingId,
        inputs: &Inputs<'_>,
    ) -> Result<Questions, RespondError> {
        let rounds = self.waiting.of(id).map_or(0, |bridge| bridge.rounds);
        if cx.config.limits.input_rounds <= rounds {
            return Err(RespondError::TooManyRounds);
        }
        let mut asked = Questions::default();
        let elicitations = below.elicitations.clone();
        for request in &inputs.requests {
            match ask_for_one((&mut *below, &mut *index), cx, id, request) {
                Ok(call) => {
                    let key = String::from(request.key);
                    asked.0.push(OutgoingRequest { key, call, answer: None });
                }
                Err(error) => {
                    for one in asked.0 {
                        below.drop(cx, one.call, GivenUp::Cancelled, None);
                    }
                    below.elicitations = elicitations;
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

    /// Keeps the state that is needed to hand a request out again.
    pub(super) fn wait_for(
        &mut self,
        id: IncomingId,
        params: Option<&str>,
        state: Option<String>,
        Questions(asked): Questions,
    ) {
        let waits_for = if asked.is_empty() { WaitsFor::Turn } else { WaitsFor::Answers };
        if waits_for == WaitsFor::Turn {
            self.free.push(id.0);
        }
        let Some(bridge) = self.waiting.of_mut(id) else {
            let (place, params) = (id.0, params.map(String::from));
            let bridge = Bridge { place, params, state, asked, rounds: 1, waits_for };
            return self.waiting.0.insert(u64::from(place.index), bridge);
        };
        bridge.state = state;
        bridge.asked = asked;
        bridge.rounds += 1;
        bridge.waits_for = waits_for;
    }

    /// Stores the response of the client to one of the inputs that a request waits for.
    pub(super) fn answered(
        &mut self,
        below: &mut Below,
        id: IncomingId,
        call: CallId,
        answer: &str,
    ) {
        let bridge = self.waiting.of_mut(id);
        let one = bridge.and_then(|bridge| bridge.asked.iter_mut().find(|one| one.call == call));
        if let Some(one) = one {
            one.answer = Some(String::from(answer));
            below.incoming.bytes += answer.len();
        }
    }

    /// Returns the request to resume, if no input is missing.
    pub(super) fn resumed(&mut self, below: &mut Below, id: IncomingId) -> Option<Resumed> {
        let kind = below.incoming.table.get(id.0)?.kind;
        let bridge = self.waiting.of_mut(id)?;
        if bridge.waits_for == WaitsFor::Nothing
            || bridge.asked.iter().any(|one| one.answer.is_none())
        {
            return None;
        }
        bridge.waits_for = WaitsFor::Nothing;
        let asked = core::mem::take(&mut bridge.asked);
        let state = bridge.state.take();
        let params = bridge.params.clone();
        below.incoming.bytes -= answer_bytes(&asked);
        let answers = asked.iter().filter_map(|one| Some((&*one.key, one.answer.as_deref()?)));
        Some(Resumed { id, kind, params, inputs: object_of(answers), state })
    }

    /// Returns the next request that waits only to be handed out again: it has a state and requires no input.
    pub(super) fn next_resumed(&mut self, below: &mut Below) -> Option<Resumed> {
        while self.has_resumed() {
            let Self { free, waiting } = self;
            let place = free.pop(|place| waiting.of(IncomingId(place)).is_some())?;
            if let Some(resumed) = self.resumed(below, IncomingId(place)) {
                return Some(resumed);
            }
        }
        None
    }

    /// Whether such a request waits.
    pub(super) fn has_resumed(&self) -> bool {
        !self.free.is_empty()
    }

    /// Cancels the calls for the inputs that a request waits for.
    pub(super) fn withdraw(&mut self, below: &mut Below, cx: &mut Cx<'_, '_>, id: IncomingId) {
        let Some(bridge) = self.waiting.of_mut(id) else { return };
        let asked = core::mem::take(&mut bridge.asked);
        below.incoming.bytes -= answer_bytes(&asked);
        for one in asked.into_iter().filter(|one| one.answer.is_none()) {
            if below.outgoing.get(one.call.0).is_some() {
                below.drop(cx, one.call, GivenUp::Cancelled, None);
            }
        }
    }

    /// Removes the bridge of a request that has ended, and cancels the calls for its inputs.
    pub(super) fn end(&mut self, below: &mut Below, cx: &mut Cx<'_, '_>, id: IncomingId) {
        self.withdraw(below, cx, id);
        if self.waiting.of(id).is_none() {
            return;
        }
        let Some(bridge) = self.waiting.0.remove(&u64::from(id.0.index)) else { return };
        if bridge.waits_for == WaitsFor::Turn {
            let Self { waiting, free } = self;
            free.note_ended(1, |place| waiting.of(IncomingId(place)).is_some());
        }
    }
}

fn ask_for_one(
    (below, index): (&mut Below, &mut LazyBox<CallIndex>),
    cx: &mut Cx<'_, '_>,
    id: IncomingId,
    request: &PreparedInput<'_>,
) -> Result<CallId, CallError> {
    let method = request.kind.rule().name;
    let options = CallOptions::new().parent(id);
    let has_room = has_room(below, index, cx);
    let mut order = below.order(cx, method, Owner::Input(id), options, has_room)?;
    let params = (!request.params.is_empty()).then(|| Raw::trusted(&request.params));
    let call = below.ask(cx, &mut order, method, &params)?;
    make_room(below, index, cx);
    Ok(call)
}

/// The result of a modern request: the inputs that are required of its client.
pub(super) struct InputResult<'r, 'm> {
    pub(super) inputs: &'r Inputs<'m>,
    pub(super) required: &'r InputRequired<'m>,
}

impl Serialize for InputResult<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let state = self.required.state.as_ref().map(|state| state.as_str());
        let requests = &self.inputs.requests;
        let meta = self.required.meta.as_ref();
        Body { requests, state, meta }.serialize(serializer)
    }
}
