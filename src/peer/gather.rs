//! What a server needs before it answers a call: asked of the application, gathered, and brought back
//! ([MRTR](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr)).
//!
//! Each thing that is needed becomes a request to the application, like those that a server makes by
//! itself in a session, and is answered in the same way. When the last one is answered the call's request
//! is made again, under a new id and the same handle.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::Peer;
use super::call::Whereabouts;
use super::call_options::CallError;
use super::calls::{Marks, write_call};
use super::context::RequestContext;
use super::cx::Cx;
use super::event::Outcome;
use super::exchange::Exchange;
use super::exchanges::{Said, observe_sent};
use super::gathering::{Gathering, InputRequested, Need, Stuck, Wanted};
use super::peer_event::PeerEvent;
use super::request_stamp::RequestStamp;
use crate::capability::CapabilitySet;
use crate::dialect::methods::{RequestKind, Sender};
use crate::dialect::{NotAllowed, RespondError, check_params};
use crate::error::{ErrorCode, ViolationKind};
use crate::frame::{Room, Tag};
use crate::handle::{CallId, InboundId, Place};
use crate::json::{
    Additions, Empty, EncodeError, MemberTexts, Misfit, Name, Object, Payload, Raw, Writer, fits,
    object_of,
};
use crate::rpc::Ending;

/// How long to wait before a request is made again for which nothing had to be gathered; twice as long
/// each time.
const PACE: Duration = Duration::from_millis(50);

/// What came of a result that is none yet.
pub(super) enum Gathered<'a> {
    /// The application is asked.
    Asked(InputRequested),
    /// Nothing is asked; the request is made again in a while.
    Waits,
    /// It has become a task, and this says so.
    Became(PeerEvent<'a>),
    /// The call ends.
    Ends(Outcome<'a>),
}

/// The params of a request that is made again.
struct Again<'p> {
    params: &'p str,
    /// Whether what the application has brought by itself has had its day.
    is_needed: bool,
    inputs: Option<&'p str>,
    state: Option<&'p str>,
}

impl Serialize for Again<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut params = serializer.serialize_map(None)?;
        for (key, value) in MemberTexts::of(self.params) {
            if self.is_needed && is_brought(key) {
                continue;
            }
            params.serialize_entry(&*key.to_str(), &Raw::trusted(value))?;
        }
        if let Some(inputs) = self.inputs {
            params.serialize_entry("inputResponses", &Raw::trusted(inputs))?;
        }
        if let Some(state) = self.state {
            params.serialize_entry("requestState", &Raw::trusted(state))?;
        }
        params.end()
    }
}

impl Peer {
    /// The peer needs something before it answers a call.
    pub(super) fn gather<'a>(
        &mut self,
        cx: &Cx<'_, '_>,
        call: CallId,
        (result, bytes): (Raw<'a>, &'a [u8]),
    ) -> Gathered<'a> {
        let invalid = || {
            let kind = ViolationKind::InvalidResult;
            Gathered::Ends(Outcome::Malformed { kind, message: bytes.into() })
        };
        let Some(entry) = self.outbound.get(call.0) else { return invalid() };
        if !entry.kind.is_some_and(RequestKind::may_need_input) {
            return invalid();
        }
        let Some(gathering) = Gathering::read(result.as_json(), cx.config.limits.input_requests)
        else {
            return invalid();
        };
        if entry.by_hand || entry.params.is_empty() {
            return Gathered::Ends(Outcome::InputRequired(result));
        }
        let narrowed = entry.narrowed;
        if !gathering.wanted.iter().all(|wanted| self.may_be_wanted(wanted, narrowed)) {
            return invalid();
        }
        let rounds = entry.gathering.as_ref().map_or(0, |before| before.rounds) + 1;
        if cx.config.limits.input_rounds < rounds {
            return Gathered::Ends(Outcome::TooManyRounds);
        }
        let wanted: usize = gathering.wanted.iter().map(Wanted::bytes).sum();
        if !self.may_keep(&cx.config.limits, wanted + gathering.bytes()) {
            return Gathered::Ends(Outcome::InputRequired(result));
        }
        let room = cx.config.limits.inbound_requests.saturating_sub(self.inbound.len()) as usize;
        if room < gathering.wanted.len() {
            return Gathered::Ends(Outcome::InputRequired(result));
        }
        self.begin_gathering(cx, call, Gathering { rounds, ..gathering })
    }

    /// Whether a server may need this of this side, for a call that declares no more than `narrowed`.
    pub(super) fn may_be_wanted(&self, wanted: &Wanted, narrowed: Option<CapabilitySet>) -> bool {
        let Some(terms) = self.session else { return false };
        let ours = narrowed.map_or(terms.ours, |narrowed| terms.ours.and(narrowed));
        let rule = wanted.kind.rule();
        let is_input = rule.is_input_request();
        let offered = rule.gate(Sender::Server).is_none_or(|gate| ours.contains(gate));
        let shaped = || {
            let params = wanted.params.as_deref();
            let needs = fits(rule.params(terms.revision), params.map(Object::of).as_ref())?;
            check_params(wanted.kind, params.unwrap_or_default())?;
            Ok::<_, Misfit>(needs.known_to(terms.revision))
        };
        is_input && offered && shaped().is_ok_and(|needs| needs.minus(ours).is_empty())
    }

    fn begin_gathering<'a>(
        &mut self,
        cx: &Cx<'_, '_>,
        call: CallId,
        mut gathering: Gathering,
    ) -> Gathered<'a> {
        for (index, wanted) in (0..).zip(&mut gathering.wanted) {
            wanted.place = Some(self.admit_need(cx, wanted, Need::new(call, index)));
        }
        let (count, is_empty) = (gathering.wanted.len(), gathering.wanted.is_empty());
        let wait = PACE.saturating_mul(1 << (gathering.rounds - 1).min(10));
        // The id of the answer has had its day; whatever else comes under it belongs to nothing.
        self.outbound.renew(call.0);
        let time = self.clock.at(cx.now());
        if let Some(entry) = self.outbound.get_mut(call.0) {
            entry.whereabouts = Whereabouts::Answered;
            entry.progress = None;
            entry.idle_deadline = None;
            entry.again_at = is_empty.then(|| time + wait);
        }
        self.outbound.set_gathering(call.0, Some(Box::new(gathering)));
        self.set_deadline(call);
        match self.first_need_of_last(count) {
            Some(requested) => Gathered::Asked(requested),
            None => Gathered::Waits,
        }
    }

    /// Puts a request to the application into the table. It has no id of its own.
    pub(super) fn admit_need(&mut self, cx: &Cx<'_, '_>, wanted: &Wanted, need: Need) -> Place {
        let context = self.session.map(RequestContext::from).unwrap_or_default();
        let place = self.inbound.insert_unnamed(|exchange| {
            exchange.context = context;
            exchange.kind = Some(wanted.kind);
            exchange.need = Some(need);
            exchange.bytes = wanted.bytes();
            let params = wanted.params.as_deref().unwrap_or_default();
            let most = cx.config.limits.kept_bytes;
            exchange.kept.keep(wanted.kind, params, context.revision, most);
        });
        self.inbound_bytes += wanted.bytes();
        self.clock.begin_asking(cx.now());
        self.unsettled.needs.push(place);
        place
    }

    /// The first of so many things that have just been put at the end of the queue. What was there before is not looked
    /// at: the peer can make that many.
    fn first_need_of_last(&mut self, count: usize) -> Option<InputRequested> {
        let place = self.unsettled.needs.take_from_last(count)?;
        self.need_at(place)
    }

    /// The next thing that any call needs.
    pub(super) fn next_input(&mut self) -> Option<InputRequested> {
        while let Some(place) = self.unsettled.needs.pop(|place| self.inbound.get(place).is_some())
        {
            if let Some(requested) = self.need_at(place) {
                return Some(requested);
            }
        }
        None
    }

    fn need_at(&mut self, place: Place) -> Option<InputRequested> {
        let exchange = self.inbound.get_mut(place).filter(|exchange| !exchange.marked)?;
        let need = exchange.need.as_mut()?;
        need.is_told = true;
        let (context, Need { call, index, .. }) = (exchange.context, *need);
        let gathering = self.outbound.get(call.0)?.gathering.as_ref()?;
        let wanted = gathering.wanted.get(index as usize)?;
        let (kind, params) = (wanted.kind, wanted.params.clone());
        Some(InputRequested { id: InboundId(place), context, kind, params, call })
    }

    /// The application has answered something that a call needs.
    pub(super) fn give_input<T: Serialize + ?Sized>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        id: InboundId,
        need: Need,
        result: &T,
    ) -> Result<(), RespondError> {
        let exchange = self.inbound.get(id.0).ok_or(RespondError::Stale)?;
        let answer = answer_text(exchange, result)?;
        self.drop_exchange(id.0, Ending::Answered);
        let Some(entry) = self.outbound.get_mut(need.call.0) else { return Ok(()) };
        let Some(gathering) = &mut entry.gathering else { return Ok(()) };
        if let Some(wanted) = gathering.wanted.get_mut(need.index as usize) {
            wanted.answer = Some(answer);
            wanted.place = None;
            wanted.params = None;
        }
        let is_complete = gathering.wanted.iter().all(|wanted| wanted.answer.is_some());
        if entry.tracked().is_some() {
            self.bring_inputs(cx, need.call);
        } else if is_complete {
            self.ask_again(cx, need.call);
        }
        Ok(())
    }

    /// The application does not give what a call needs, so that the call cannot go on.
    pub(super) fn refuse_input(&mut self, id: InboundId, need: Need, code: ErrorCode) {
        self.drop_exchange(id.0, Ending::Answered);
        self.unsettled.given_up.push_back((need.call, Stuck::Refused(code)));
        self.withdraw_inputs(need.call);
    }

    /// The next call that cannot go on.
    pub(super) fn next_given_up(&mut self, cx: &mut Cx<'_, '_>) -> Option<PeerEvent<'static>> {
        while let Some((call, stuck)) = self.unsettled.given_up.pop_front() {
            // A task outlives the connection, and its ticket is worth more than why it could not be asked about.
            let survives = self.calls_are_over() && self.tracked_part(call).is_some();
            if self.outbound.get(call.0).is_some() && !survives {
                let outcome = match stuck {
                    Stuck::Refused(code) => Outcome::InputRefused(code),
                    Stuck::NotMade(error) => Outcome::NotMade(error),
                };
                if self.tracked_part(call).is_some() {
                    // Nobody will ask for what the task comes to.
                    self.stop_asking(cx, call);
                    self.ask_to_cancel(cx, call);
                }
                let event = self.end_event(call, outcome);
                self.end_call(call);
                return Some(event);
            }
        }
        None
    }

    /// Makes the request of a call again, with what has been gathered for it. If there is no room it is
    /// tried again.
    pub(super) fn ask_again(&mut self, cx: &mut Cx<'_, '_>, call: CallId) {
        let Some(id) = self.outbound.id(call.0) else { return };
        // Somebody was asked, so the clock stands still and shows a time.
        let time = self.clock.at(cx.now.unwrap_or_else(|| self.clock.last()));
        let Some(session) = self.session.filter(|_| self.rules().repeats_requests) else {
            // It has turned out meanwhile that there has to be a session.
            return self.is_stuck(call, NotAllowed::Revision.into());
        };
        let Some(entry) = self.outbound.get(call.0) else { return };
        let Some(kind) = entry.kind else { return };
        let gathering = entry.gathering.as_deref();
        let inputs = gathering.filter(|gathering| !gathering.wanted.is_empty()).map(|gathering| {
            object_of(
                gathering
                    .wanted
                    .iter()
                    .filter_map(|wanted| Some((&*wanted.key, wanted.answer.as_deref()?))),
            )
        });
        let state = gathering.and_then(|gathering| gathering.state.as_deref());
        let is_needed = gathering.is_some();
        let params = Again { params: &entry.params, is_needed, inputs: inputs.as_deref(), state };
        let (rule, lane) = (kind.rule(), entry.lane);
        let marks = Marks { wants_progress: entry.wants_progress, ..Marks::default() };
        let stamp = RequestStamp::of(self.identity.as_deref(), self.rules(), entry);
        let form = Some(rule.params(session.revision));
        let written = cx.out.lane(lane).append(Room::Limit, Tag::Call(call), |writer| {
            write_call(writer, (id, rule.name), &params, marks, &stamp, form)
        });
        let Some(entry) = self.outbound.get_mut(call.0) else { return };
        match written {
            Ok(serial) => {
                entry.whereabouts = Whereabouts::Lane(serial);
                entry.again_at = None;
                entry.idle_deadline = entry.idle.map(|idle| time + idle);
                observe_sent(cx.out, lane, Said::Method(rule.name));
            }
            Err(EncodeError::Full) if !cx.out.lane(lane).is_empty() => {
                entry.again_at = Some(time + PACE);
            }
            // There will never be room for it.
            Err(error) => return self.is_stuck(call, error.into()),
        }
        self.set_deadline(call);
    }

    /// The request of a call cannot be made again, now or ever.
    pub(super) fn is_stuck(&mut self, call: CallId, error: CallError) {
        if let Some(entry) = self.outbound.get_mut(call.0) {
            entry.again_at = None;
        }
        self.set_deadline(call);
        self.unsettled.given_up.push_back((call, Stuck::NotMade(error)));
    }
}

/// The result of a request to the application, as the peer gets it.
fn answer_text<T: Serialize + ?Sized>(
    exchange: &Exchange,
    result: &T,
) -> Result<String, EncodeError> {
    let Some(kind) = exchange.kind else { return Err(EncodeError::Payload) };
    let form = Some(kind.rule().result(exchange.context.revision));
    let mut buffer = Vec::new();
    let mut writer = Writer::new(&mut buffer, usize::MAX);
    let payload = Payload::new(&mut writer, "", Empty::Braces, &Additions::NONE, form);
    result.serialize(payload)?;
    let text = String::from_utf8(buffer).map_err(|_| EncodeError::Payload)?;
    exchange.kept.check_result(kind, &text)?;
    Ok(text)
}

/// Whether a member of the params of a request is what an earlier answer to it brought.
fn is_brought(key: Name<'_>) -> bool {
    ["inputResponses", "requestState"].iter().any(|brought| key == *brought)
}
