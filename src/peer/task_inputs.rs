//! What tasks of the peer ask for where there are no sessions: asked of the application, and brought to the
//! peer answer by answer.

use alloc::string::String;

use super::event::CancelCause;
use super::gather::{Gathering, Need, Wanted};
use super::input::object_of;
use super::outlets::Outlets;
use super::tracking::StepKind;
use super::{ConnectionConfig, Peer};
use crate::dialect::methods::RequestKind;
use crate::error::ViolationKind;
use crate::handle::{CallId, Place};
use crate::json::{MemberTexts, Str, member};
use crate::time::Instant;

impl Peer {
    /// Asks the application for what a task waits for, each thing once, and withdraws what it does not wait
    /// for any more.
    pub(super) fn take_task_inputs(
        &mut self,
        config: &ConnectionConfig,
        call: CallId,
        snapshot: &str,
        now: Instant,
    ) {
        let requests = member(snapshot, "inputRequests").filter(|text| text.starts_with('{'));
        let requests = requests.unwrap_or("{}");
        self.withdraw_unwanted(call, requests);
        for (key, request) in MemberTexts::of(requests) {
            let key = key.to_str();
            if self.knows_input(call, &key) {
                continue;
            }
            match self.readable_input(config, call, &key, request) {
                Some(wanted) => self.want_input(config, call, wanted, now),
                None => self.note(ViolationKind::InvalidResult),
            }
        }
    }

    fn knows_input(&self, call: CallId, key: &str) -> bool {
        let gathering = self.outbound.get(call.0).and_then(|entry| entry.gathering.as_deref());
        gathering.is_some_and(|known| known.wanted.iter().any(|wanted| wanted.key == key))
    }

    /// Something that a task may ask for.
    fn readable_input(
        &self,
        config: &ConnectionConfig,
        call: CallId,
        key: &str,
        request: &str,
    ) -> Option<Wanted> {
        let entry = self.outbound.get(call.0)?;
        let known = entry.gathering.as_ref().map_or(0, |known| known.wanted.len());
        let is_full = config.limits.input_requests as usize <= known
            || config.limits.inbound_requests <= self.inbound.len();
        let method = member(request, "method").and_then(Str::from_literal)?;
        let kind = RequestKind::of(&method)?;
        let params = member(request, "params").filter(|params| *params != "null");
        if is_full || params.is_some_and(|params| !params.starts_with('{')) {
            return None;
        }
        let wanted = Wanted::new(String::from(key), kind, params.map(String::from));
        self.may_be_wanted(&wanted, entry.narrowed).then_some(wanted)
    }

    fn want_input(
        &mut self,
        config: &ConnectionConfig,
        call: CallId,
        mut wanted: Wanted,
        now: Instant,
    ) {
        let known = self.outbound.get(call.0).and_then(|entry| entry.gathering.as_deref());
        let index = known.map_or(0, |known| known.wanted.len());
        // No more than a limit of 32 bits.
        let index = u32::try_from(index).unwrap_or(u32::MAX);
        wanted.place = Some(self.admit_need(config, &wanted, Need { call, index }, now));
        if let Some(entry) = self.outbound.get_mut(call.0) {
            entry.gathering.get_or_insert_default().wanted.push(wanted);
        }
    }

    /// Takes back what the application was asked and nobody waits for any more.
    fn withdraw_unwanted(&mut self, call: CallId, requests: &str) {
        let gathering =
            self.outbound.get_mut(call.0).and_then(|entry| entry.gathering.as_deref_mut());
        let Some(Gathering { wanted, .. }) = gathering else { return };
        let mut places: alloc::vec::Vec<Place> = alloc::vec::Vec::new();
        for one in wanted.iter_mut().filter(|one| one.place.is_some()) {
            if member(requests, &one.key).is_none() {
                places.extend(one.place.take());
            }
        }
        for place in places {
            self.withdraw_need(place, CancelCause::CallEnded);
        }
    }

    /// Brings the peer what has been answered and not been brought.
    pub(super) fn bring_inputs(
        &mut self,
        config: &ConnectionConfig,
        call: CallId,
        now: Option<Instant>,
        out: &mut dyn Outlets,
    ) {
        let Some(entry) = self.outbound.get(call.0) else { return };
        let Some(gathering) = entry.gathering.as_deref() else { return };
        let new = || gathering.wanted.iter().filter(|one| one.answer.is_some() && !one.is_brought);
        if new().next().is_none() {
            return;
        }
        let answers = new().filter_map(|one| Some((&*one.key, one.answer.as_deref()?)));
        let inputs = object_of(answers);
        let step = self.take_step(config, call, (StepKind::Update, Some(&inputs)), now, out);
        // Without room for it, it is brought with the next question.
        let Ok(step) = step else { return };
        let Some(entry) = self.outbound.get_mut(call.0) else { return };
        if let Some(gathering) = entry.gathering.as_deref_mut() {
            for one in gathering.wanted.iter_mut().filter(|one| one.answer.is_some()) {
                one.is_brought = true;
            }
        }
        if let Some(tracked) = entry.tracked_mut() {
            tracked.update = Some(step);
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
