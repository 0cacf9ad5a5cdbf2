//! What tasks of the peer ask for where there are no sessions: asked of the application, and brought to the
//! peer answer by answer.

use alloc::string::String;
use alloc::vec::Vec;

use super::Peer;
use super::call_options::CallError;
use super::cx::Cx;
use super::event::CancelCause;
use super::gathering::{Gathering, Need, Wanted};
use super::outlets::Lane;
use super::tracking::StepKind;
use crate::dialect::methods::RequestKind;
use crate::error::ViolationKind;
use crate::handle::{CallId, Place};
use crate::json::{EncodeError, MemberTexts, Str, member, object_of};

impl Peer {
    /// Asks the application for what a task waits for, each thing once, and withdraws what it does not wait
    /// for any more.
    pub(super) fn take_task_inputs(&mut self, cx: &Cx<'_, '_>, call: CallId, snapshot: &str) {
        let requests = member(snapshot, "inputRequests").filter(|text| text.starts_with('{'));
        let requests = requests.unwrap_or("{}");
        let named = self.named_inputs(call, requests);
        self.withdraw_unwanted(call, &named);
        let mut room = self.room_for_inputs(cx, call, &named);
        for (key, request) in MemberTexts::of(requests) {
            let key = key.to_str();
            if self.knows_input(call, &key) {
                continue;
            }
            let Some(wanted) = self.readable_input(cx, call, &key, request) else {
                self.note(ViolationKind::InvalidResult);
                continue;
            };
            let Some(index) = room.next() else {
                self.note(ViolationKind::InvalidResult);
                break;
            };
            self.want_input(cx, (call, index), wanted);
        }
    }

    fn known_inputs(&self, call: CallId) -> &[Wanted] {
        let gathering = self.outbound.get(call.0).and_then(|entry| entry.gathering.as_deref());
        gathering.map_or(&[], |gathering| &gathering.wanted)
    }

    /// Which of the things that a task has ever asked for it still asks for. One pass, however many there
    /// are.
    fn named_inputs(&self, call: CallId, requests: &str) -> Vec<bool> {
        let known = self.known_inputs(call);
        let mut named = alloc::vec![false; known.len()];
        if known.is_empty() {
            return named;
        }
        for (key, _) in MemberTexts::of(requests) {
            let of_this = known.iter().zip(&mut named).filter(|(one, _)| key == *one.key);
            of_this.for_each(|(_, named)| *named = true);
        }
        named
    }

    fn knows_input(&self, call: CallId, key: &str) -> bool {
        // What was taken back can be asked again.
        let is_open = |one: &Wanted| one.place.is_some() || one.answer.is_some();
        let known = self.known_inputs(call);
        work!(known.len());
        known.iter().any(|one| one.key == key && is_open(one))
    }

    /// Something that a task may ask for.
    fn readable_input(
        &self,
        cx: &Cx<'_, '_>,
        call: CallId,
        key: &str,
        request: &str,
    ) -> Option<Wanted> {
        let entry = self.outbound.get(call.0)?;
        let is_full = cx.config.limits.inbound_requests <= self.inbound.len();
        let method = member(request, "method").and_then(Str::from_literal)?;
        let kind = RequestKind::of(&method)?;
        let params = member(request, "params").filter(|params| *params != "null");
        if is_full || params.is_some_and(|params| !params.starts_with('{')) {
            return None;
        }
        let wanted = Wanted::new(String::from(key), kind, params.map(String::from));
        let fits = self.may_keep(&cx.config.limits, wanted.bytes() + wanted.key.len());
        (fits && self.may_be_wanted(&wanted, entry.narrowed)).then_some(wanted)
    }

    /// Where among all that a task has asked for there is room for more: behind them, and where something
    /// is that it does not name any more.
    fn room_for_inputs(
        &self,
        cx: &Cx<'_, '_>,
        call: CallId,
        named: &[bool],
    ) -> impl Iterator<Item = u32> + use<> {
        let is_over =
            |one: &Wanted| one.place.is_none() && (one.answer.is_none() || one.is_brought);
        let known = self.known_inputs(call);
        let over: Vec<u32> = (0..)
            .zip(known.iter().zip(named))
            .filter(|(_, (one, named))| !**named && is_over(one))
            .map(|(index, _)| index)
            .collect();
        // No more than a limit of 32 bits.
        let count = u32::try_from(known.len()).unwrap_or(u32::MAX);
        (count..cx.config.limits.input_requests).chain(over)
    }

    fn want_input(&mut self, cx: &Cx<'_, '_>, (call, index): (CallId, u32), mut wanted: Wanted) {
        wanted.place = Some(self.admit_need(cx, &wanted, Need::new(call, index)));
        self.outbound.want(call.0, index, wanted);
    }

    /// Takes back what the application was asked and nobody waits for any more.
    fn withdraw_unwanted(&mut self, call: CallId, named: &[bool]) {
        let gathering =
            self.outbound.get_mut(call.0).and_then(|entry| entry.gathering.as_deref_mut());
        let Some(Gathering { wanted, .. }) = gathering else { return };
        let unnamed = wanted.iter_mut().zip(named).filter(|(_, named)| !**named);
        let places: Vec<Place> = unnamed
            .filter_map(|(one, _)| {
                one.params = None;
                one.place.take()
            })
            .collect();
        self.withdraw_needs(places.into_iter(), CancelCause::CallEnded);
    }

    /// Brings the peer what has been answered and not been brought.
    pub(super) fn bring_inputs(&mut self, cx: &mut Cx<'_, '_>, call: CallId) {
        let Some(entry) = self.outbound.get(call.0) else { return };
        let Some(gathering) = entry.gathering.as_deref() else { return };
        let new = || gathering.wanted.iter().filter(|one| one.answer.is_some() && !one.is_brought);
        if new().next().is_none() {
            return;
        }
        let answers = new().filter_map(|one| Some((&*one.key, one.answer.as_deref()?)));
        let inputs = object_of(answers);
        let step = self.take_step(cx, call, (StepKind::Update, Some(&inputs)));
        match step {
            Ok(_) => {}
            // There will never be room for it.
            Err(error @ CallError::Encode(EncodeError::Full))
                if cx.out.lane(Lane::Call(call)).is_empty() =>
            {
                return self.is_stuck(call, error);
            }
            // It is brought with the next question.
            Err(_) => return,
        }
        let Some(entry) = self.outbound.get_mut(call.0) else { return };
        if let Some(gathering) = entry.gathering.as_deref_mut() {
            for one in gathering.wanted.iter_mut().filter(|one| one.answer.is_some()) {
                one.is_brought = true;
            }
        }
    }

    /// What was brought last may not have come: it is brought again with the next question.
    pub(super) fn updates_are_lost(&mut self, call: CallId) {
        let gathering =
            self.outbound.get_mut(call.0).and_then(|entry| entry.gathering.as_deref_mut());
        for one in gathering.into_iter().flat_map(|gathering| &mut gathering.wanted) {
            one.is_brought = false;
        }
    }
}
