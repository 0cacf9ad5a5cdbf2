//! The input that modern tasks of the peer require: requests to the application, and `tasks/update` requests that
//! send its responses to the peer.

use alloc::string::String;
use alloc::vec::Vec;

use super::call_cx::CallCx;
use super::call_options::CallError;
use super::event::CancelCause;
use super::inputs::{Need, Wanted};
use super::outboxes::Route;
use super::outgoing_request::PollKind;
use super::remote_task::RemoteTask;
use super::resend::stuck;
use super::wanted_inputs::{admit_for, may_be_required, withdraw};
use crate::codes::ViolationKind;
use crate::dialect::methods::RequestKind;
use crate::handle::SlotKey;
use crate::json::{MemberTexts, Str, member};
use crate::rpc::Recycle;
use crate::schema::{EncodeError, object_of};

/// # Inputs
impl RemoteTask {
    /// Requests each new input of the task from the application once, and withdraws the inputs that the task no
    /// longer requires.
    pub(super) fn take_inputs<C: Recycle>(
        &mut self,
        at: &mut CallCx<'_, '_, '_, C>,
        snapshot: &str,
    ) {
        let requests = member(snapshot, "inputRequests").filter(|text| text.starts_with('{'));
        let requests = requests.unwrap_or("{}");
        let named = self.named_inputs(requests);
        self.withdraw_unnamed(at, &named);
        let mut room = self.room_for_inputs(at.cx.config.limits.input_requests, &named);
        for (key, request) in MemberTexts::of(requests) {
            let key = key.to_str();
            if self.knows_input(&key) {
                continue;
            }
            let Some(mut wanted) = readable_input(at, &key, request) else {
                at.below.violations.note(ViolationKind::InvalidResult);
                continue;
            };
            let Some(index) = room.next() else {
                at.below.violations.note(ViolationKind::InvalidResult);
                break;
            };
            let need = Need::new(at.call, index);
            wanted.place = Some(admit_for(at.below, at.cx, &wanted, need));
            match self.inputs.0.get_mut(index as usize) {
                Some(slot) => {
                    at.below.incoming.bytes += wanted.key.len();
                    at.below.incoming.bytes -= core::mem::replace(slot, wanted).key.len();
                }
                None => {
                    at.below.incoming.bytes += wanted.key.len();
                    self.inputs.0.push(wanted);
                }
            }
        }
    }

    /// Returns which of the known inputs the task still requires, in one pass.
    fn named_inputs(&self, requests: &str) -> Vec<bool> {
        let known = &self.inputs.0;
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

    fn knows_input(&self, key: &str) -> bool {
        // A withdrawn input can be requested again.
        let is_open = |one: &Wanted| one.place.is_some() || one.answer.is_some();
        work!(self.inputs.0.len());
        self.inputs.0.iter().any(|one| one.key == key && is_open(one))
    }

    /// Returns the free slots for new inputs: those behind the known inputs, and those of finished inputs that the
    /// task no longer names.
    fn room_for_inputs(&self, most: u32, named: &[bool]) -> impl Iterator<Item = u32> + use<> {
        let is_over = |one: &Wanted| one.place.is_none() && (one.answer.is_none() || one.is_sent);
        let known = &self.inputs.0;
        let over: Vec<u32> = (0..)
            .zip(known.iter().zip(named))
            .filter(|(_, (one, named))| !**named && is_over(one))
            .map(|(index, _)| index)
            .collect();
        // `most` is a `u32`, so a larger count leaves no free slot behind the known inputs.
        let count = u32::try_from(known.len()).unwrap_or(u32::MAX);
        (count..most).chain(over)
    }

    /// Withdraws the requests for inputs that the task no longer names.
    fn withdraw_unnamed<C: Recycle>(&mut self, at: &mut CallCx<'_, '_, '_, C>, named: &[bool]) {
        let unnamed = self.inputs.0.iter_mut().zip(named).filter(|(_, named)| !**named);
        let places: Vec<SlotKey> = unnamed
            .filter_map(|(one, _)| {
                one.params = None;
                one.place.take()
            })
            .collect();
        withdraw(at.below, places.into_iter(), CancelCause::CallEnded);
    }

    /// Stores the response of the application to an input, and sends it.
    pub(super) fn given<C: Recycle>(
        &mut self,
        at: &mut CallCx<'_, '_, '_, C>,
        index: u32,
        answer: String,
    ) {
        self.inputs.give(index, answer);
        self.send_inputs(at);
    }

    /// Sends the peer the responses that have not been sent yet.
    pub(super) fn send_inputs<C: Recycle>(&mut self, at: &mut CallCx<'_, '_, '_, C>) {
        let is_new = |one: &&Wanted| one.answer.is_some() && !one.is_sent;
        if !self.inputs.0.iter().any(|one| is_new(&one)) {
            return;
        }
        let new = self.inputs.0.iter().filter(is_new);
        let inputs = object_of(new.filter_map(|one| Some((&*one.key, one.answer.as_deref()?))));
        let asked = self.poll(at.below, at.cx, at.call, (PollKind::Update, Some(&inputs)));
        match asked {
            Ok(_) => {
                for one in self.inputs.0.iter_mut().filter(|one| one.answer.is_some()) {
                    one.is_sent = true;
                }
            }
            // The outbox can never hold the request.
            Err(error @ CallError::Encode(EncodeError::Full))
                if at.cx.out.outbox(Route::Call(at.call)).is_empty() =>
            {
                stuck(at, error);
            }
            // The responses are sent again before the next poll.
            Err(_) => {}
        }
    }

    /// Marks all responses as unsent, because the last `tasks/update` may be lost. They are sent again before the
    /// next poll.
    pub(super) fn updates_are_lost(&mut self) {
        for one in &mut self.inputs.0 {
            one.is_sent = false;
        }
    }
}

/// Reads an input that a task may require.
fn readable_input<C: Recycle>(
    at: &CallCx<'_, '_, '_, C>,
    key: &str,
    request: &str,
) -> Option<Wanted> {
    let limits = &at.cx.config.limits;
    let asked = at.below.outgoing.get(at.call.0)?;
    let is_full = limits.inbound_requests <= at.below.incoming.table.len();
    let method = member(request, "method").and_then(Str::from_literal)?;
    let kind = RequestKind::of(&method)?;
    let params = member(request, "params").filter(|params| *params != "null");
    if is_full || params.is_some_and(|params| !params.starts_with('{')) {
        return None;
    }
    let wanted = Wanted::new(String::from(key), kind, params.map(String::from));
    let fits = at.below.may_keep(limits, wanted.bytes() + wanted.key.len());
    (fits && may_be_required(&at.below.session, &wanted, asked.again.narrowed)).then_some(wanted)
}
