//! The input that modern tasks of the peer require: requests to the application, and its answers to the peer, one
//! response per input.

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
use crate::handle::Place;
use crate::json::{MemberTexts, Str, member};
use crate::rpc::Recycle;
use crate::schema::{EncodeError, object_of};

/// # Inputs
impl RemoteTask {
    /// Asks the application for what the task waits for, each thing once, and withdraws what it does not wait
    /// for any more.
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

    /// Which of the inputs that the task has ever required it still requires. One pass, however many there are.
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
        // What was taken back can be asked again.
        let is_open = |one: &Wanted| one.place.is_some() || one.answer.is_some();
        work!(self.inputs.0.len());
        self.inputs.0.iter().any(|one| one.key == key && is_open(one))
    }

    /// Where among all that the task has required there is room for more: behind them, and where something is that it does
    /// not name any more.
    fn room_for_inputs(&self, most: u32, named: &[bool]) -> impl Iterator<Item = u32> + use<> {
        let is_over = |one: &Wanted| one.place.is_none() && (one.answer.is_none() || one.is_sent);
        let known = &self.inputs.0;
        let over: Vec<u32> = (0..)
            .zip(known.iter().zip(named))
            .filter(|(_, (one, named))| !**named && is_over(one))
            .map(|(index, _)| index)
            .collect();
        // No more than a limit of 32 bits.
        let count = u32::try_from(known.len()).unwrap_or(u32::MAX);
        (count..most).chain(over)
    }

    /// Takes back what the application was asked and the task does not name any more.
    fn withdraw_unnamed<C: Recycle>(&mut self, at: &mut CallCx<'_, '_, '_, C>, named: &[bool]) {
        let unnamed = self.inputs.0.iter_mut().zip(named).filter(|(_, named)| !**named);
        let places: Vec<Place> = unnamed
            .filter_map(|(one, _)| {
                one.params = None;
                one.place.take()
            })
            .collect();
        withdraw(at.below, places.into_iter(), CancelCause::CallEnded);
    }

    /// The application has answered an input.
    pub(super) fn given<C: Recycle>(
        &mut self,
        at: &mut CallCx<'_, '_, '_, C>,
        index: u32,
        answer: String,
    ) {
        self.inputs.give(index, answer);
        self.send_inputs(at);
    }

    /// Brings the peer what has been answered and not been brought.
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
            // There will never be room for it.
            Err(error @ CallError::Encode(EncodeError::Full))
                if at.cx.out.outbox(Route::Call(at.call)).is_empty() =>
            {
                stuck(at, error);
            }
            // It is brought with the next question.
            Err(_) => {}
        }
    }

    /// What was brought last may not have come: it is brought again with the next question.
    pub(super) fn updates_are_lost(&mut self) {
        for one in &mut self.inputs.0 {
            one.is_sent = false;
        }
    }
}

/// Something that a task may require.
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
