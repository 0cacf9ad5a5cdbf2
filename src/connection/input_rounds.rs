//! `Rounds`: the inputs that a call needs before its request can be sent again
//! ([MRTR](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr)).
//!
//! Each input becomes a request to the application, which answers it like a request that a server sends in a session.
//! After the last answer, the request of the call is sent again, under a new id and the same handle.

use alloc::boxed::Box;
use alloc::string::String;

use super::call_cx::{CallCx, CallNews, Next};
use super::event::Outcome;
use super::inputs::{Inputs, Need, Wanted};
use super::resend::{PACE, send_again};
use super::wanted_inputs::{admit_for, may_be_required};
use crate::dialect::methods::RequestKind;
use crate::json::{MemberTexts, Raw, Str, member};
use crate::rpc::{Recycle, Wait};
use crate::schema::object_of;

/// The inputs that a call needs before it is answered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Rounds {
    /// The `requestState` that is sent back to the peer, the literal of a string.
    pub(super) state: Option<String>,
    pub(super) inputs: Inputs,
    /// The number of rounds of input that the peer has required.
    pub(super) rounds: u32,
}

impl Rounds {
    /// Returns the bytes of the peer that are kept regardless of the inputs answered so far: the keys and the state
    /// that are sent back.
    pub(super) fn bytes(&self) -> usize {
        self.inputs.bytes() + self.state.as_ref().map_or(0, String::len)
    }

    /// Handles a result that requires input. `rounds_before` is the number of earlier rounds of this call.
    pub(super) fn begin<'a, C: Recycle>(
        at: &mut CallCx<'_, '_, '_, C>,
        rounds_before: u32,
        result: Raw<'a>,
        bytes: &'a [u8],
    ) -> Next<'a, Box<Self>> {
        let limits = &at.cx.config.limits;
        let Some(asked) = at.below.outgoing.get(at.call.0) else { return Next::invalid(bytes) };
        if !asked.kind.is_some_and(RequestKind::may_need_input) {
            return Next::invalid(bytes);
        }
        let Some(read) = Self::read(result.as_json(), limits.input_requests) else {
            return Next::invalid(bytes);
        };
        let again = &asked.again;
        if again.by_hand || again.params.is_empty() {
            return Next::Ends(Outcome::InputRequired(result));
        }
        let narrowed = again.narrowed;
        let session = &at.below.session;
        if !read.inputs.0.iter().all(|wanted| may_be_required(session, wanted, narrowed)) {
            return Next::invalid(bytes);
        }
        let rounds = rounds_before + 1;
        if limits.input_rounds < rounds {
            return Next::Ends(Outcome::TooManyRounds);
        }
        let wanted: usize = read.inputs.0.iter().map(Wanted::bytes).sum();
        let taken = at.below.incoming.table.len();
        let room = limits.inbound_requests.saturating_sub(taken) as usize;
        if !at.below.may_keep(limits, wanted + read.bytes()) || room < read.inputs.0.len() {
            return Next::Ends(Outcome::InputRequired(result));
        }
        Self { rounds, ..read }.ask(at)
    }

    /// Reads a result that requires input; `None` if it is malformed.
    fn read(result: &str, most: u32) -> Option<Self> {
        let mut read = Self::default();
        let state = member(result, "requestState");
        if state.is_some_and(|state| !state.starts_with('"')) {
            return None;
        }
        read.state = state.map(String::from);
        let requests = member(result, "inputRequests").filter(|requests| *requests != "null");
        if requests.is_some_and(|requests| !requests.starts_with('{')) {
            return None;
        }
        let inputs = &mut read.inputs.0;
        for (key, request) in MemberTexts::of(requests.unwrap_or("{}")) {
            if most as usize <= inputs.len() {
                return None;
            }
            let method = member(request, "method").and_then(Str::from_literal)?;
            let kind = RequestKind::of(&method)?;
            let params = member(request, "params").filter(|params| *params != "null");
            if params.is_some_and(|params| !params.starts_with('{')) {
                return None;
            }
            let params = params.map(String::from);
            let key = key.to_str().into_owned();
            if inputs.iter().any(|wanted| wanted.key == key) {
                return None;
            }
            inputs.push(Wanted::new(key, kind, params));
        }
        let is_empty_result = inputs.is_empty() && read.state.is_none();
        (!is_empty_result).then_some(read)
    }

    /// Requests every input from the application, and returns the first of these requests. If there is no input, the
    /// request of the call is sent again after a delay.
    fn ask<'a, C: Recycle>(mut self, at: &mut CallCx<'_, '_, '_, C>) -> Next<'a, Box<Self>> {
        for (index, wanted) in (0..).zip(&mut self.inputs.0) {
            let need = Need::new(at.call, index);
            wanted.place = Some(admit_for(at.below, at.cx, wanted, need));
        }
        let count = self.inputs.0.len();
        let wait = PACE.saturating_mul(1 << (self.rounds - 1).min(10));
        let wait = Wait::Retry((count == 0).then_some(wait));
        at.below.retire(at.cx, at.call, wait);
        let first = at.below.incoming.first_of_last_unannounced(count);
        let requested = first.and_then(|(id, need)| {
            let context = at.below.incoming.table.get(id.0)?.context;
            self.inputs.requested((id, need), context)
        });
        Next::Becomes(Box::new(self), requested.map(CallNews::Input))
    }

    /// Handles the answer of the application to an input.
    pub(super) fn given<C: Recycle>(
        &mut self,
        at: &mut CallCx<'_, '_, '_, C>,
        index: u32,
        answer: String,
    ) {
        if self.inputs.give(index, answer) {
            self.send_again(at);
        }
    }

    /// Sends the request again with all gathered input.
    pub(super) fn send_again<C: Recycle>(&self, at: &mut CallCx<'_, '_, '_, C>) {
        let wanted = &self.inputs.0;
        let answers = || wanted.iter().filter_map(|one| Some((&*one.key, one.answer.as_deref()?)));
        let inputs = (!wanted.is_empty()).then(|| object_of(answers()));
        send_again(at, Some((self.state.as_deref(), inputs)));
    }
}
