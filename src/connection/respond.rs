//! The commands of the application on requests of the peer: respond, reject, require input, send notifications.

use alloc::string::String;
use core::fmt;

use super::call_cx::Next;
use super::call_state::CallState;
use super::change::Change;
use super::common_event::CommonEvent;
use super::cx::Cx;
use super::detail::Detail;
use super::event::{CancelCause, Cancelled};
use super::incoming::Taken;
use super::input_bridge::InputResult;
use super::inputs::Need;
use super::notify::{
    Audience, Delivery, Notice, NotifyError, audience, notify_in_exchange, notify_session,
    notify_without_audience, uri_in,
};
use super::result_members::ReplyKind;
use super::routing::Side;
use super::serving::Serving;
use super::wanted_inputs::answer_text;
use crate::capability::{Capability, CapabilitySet, Owner};
use crate::codes::{ErrorCode, ViolationKind};
use crate::dialect::features::Feature;
use crate::dialect::methods::{NotificationKind, RequestKind};
use crate::dialect::{Inputs, NotAllowed, RespondError, code_in};
use crate::handle::IncomingId;
use crate::model::{CallToolResult, ElicitationRequired, InputRequired};
use crate::rpc::{Ending, Fault};
use crate::schema::shape::Form;
use crate::schema::{EncodeError, Json, Misfit, Payload, Problem};

/// The error text of a request whose client has refused the required input, or has not responded in time.
const NOT_GIVEN: &str = "the client did not give what was needed for this";

/// # Commands on requests
impl Serving {
    /// Responds to a request with a result.
    pub(crate) fn respond(
        &mut self,
        cx: &mut Cx<'_, '_>,
        id: IncomingId,
        result: &dyn Payload,
    ) -> Result<(), RespondError> {
        if let Some(need) = self.calls.messages.answerable(id)?.need {
            return self.give_input(cx, id, need, result);
        }
        // The response is the last message of a subscription.
        if !self.listens.is_empty()
            && self.listens.flush(&mut self.calls.messages.incoming, id, cx.out)
        {
            return Err(EncodeError::Full.into());
        }
        let taken = self.calls.messages.reply(cx, id, ReplyKind::Result, result)?;
        self.finish(cx, taken);
        Ok(())
    }

    /// Ends the work begun on behalf of a request that has left the table, and sends the batch of the request if it
    /// is complete.
    #[inline]
    pub(super) fn finish(&mut self, cx: &mut Cx<'_, '_>, taken: Taken) {
        let Taken { id, batch, is_subscription, .. } = taken;
        if !self.bridges.is_empty() {
            self.bridges.end(&mut self.calls.messages, cx, id);
        }
        if is_subscription {
            self.listens.remove(id.0);
        }
        if let Some(batch) = batch {
            self.calls.messages.incoming.batches.settle(batch, cx.out);
        }
    }

    /// Removes a request that gets no response, and withdraws its unsent messages.
    pub(super) fn withdraw_request(&mut self, cx: &mut Cx<'_, '_>, id: IncomingId) {
        self.calls.messages.incoming.withdraw_about(id, cx.out);
        if let Some(taken) = self.calls.messages.take(id, Ending::Cancelled) {
            self.finish(cx, taken);
        }
    }

    /// Responds to a request with an error.
    pub(crate) fn reject(
        &mut self,
        cx: &mut Cx<'_, '_>,
        id: IncomingId,
        fault: Fault<'_>,
    ) -> Result<(), RespondError> {
        let exchange = self.calls.messages.answerable(id)?;
        if let Some(need) = exchange.need {
            self.calls.refuse_input(id, need, fault.code);
            return Ok(());
        }
        let asks_for_urls = fault.code == ErrorCode::URL_ELICITATION_REQUIRED;
        // The code with the same meaning in the revision of the request, if there is one.
        let code = match exchange.is_relayed || asks_for_urls {
            true => fault.code,
            false => code_in(exchange.context.revision, fault.code)?,
        };
        let form = if asks_for_urls { Some(self.clear_url_error(cx, id)?) } else { None };
        self.reject_as_is(cx, id, Fault { code, ..fault }, form)
    }

    /// Responds to a request with an error whose code has been checked.
    pub(super) fn reject_as_is(
        &mut self,
        cx: &mut Cx<'_, '_>,
        id: IncomingId,
        fault: Fault<'_>,
        form: Option<Form>,
    ) -> Result<(), RespondError> {
        let taken = self.calls.messages.reply_error(cx, id, fault, form)?;
        self.finish(cx, taken);
        Ok(())
    }

    /// Rejects a request because the peer has not declared the needed capabilities.
    pub(crate) fn reject_missing(
        &mut self,
        cx: &mut Cx<'_, '_>,
        id: IncomingId,
        needed: CapabilitySet,
    ) -> Result<(), RespondError> {
        let exchange = self.calls.messages.answerable(id)?;
        let missing = needed.minus(exchange.context.capabilities);
        let message = ViolationKind::MissingCapability.text();
        if exchange.rules().has_missing_capability_code {
            // A capability that no client of the revision can declare is not reported as missing.
            let context = exchange.context;
            let can_be = |one: &Capability| {
                one.owner() == Owner::Client && one.revisions().contains(context.revision)
            };
            let detail = Detail::Capabilities(missing.iter().filter(can_be).collect());
            let code = ErrorCode::MISSING_CLIENT_CAPABILITY;
            let fault = Fault { code, message: &message, data: Some(&detail) };
            return self.reject_as_is(cx, id, fault, None);
        }
        let named = MissingNames { message, missing };
        if exchange.kind == Some(RequestKind::CallTool) {
            // In a tool result the model can inform the user, or do without the capability.
            let text = alloc::format!("{named}");
            return self.respond(cx, id, &CallToolResult::error(text.as_str()));
        }
        self.reject_as_is(cx, id, Fault::plain(ErrorCode::INVALID_PARAMS, &named), None)
    }

    /// Rejects a modern request because the peer has not declared an extension.
    pub(crate) fn reject_missing_extension(
        &mut self,
        cx: &mut Cx<'_, '_>,
        id: IncomingId,
        name: &'static str,
    ) -> Result<(), RespondError> {
        self.calls.messages.answerable(id)?;
        if self.calls.messages.session.identity().and_then(|own| own.extension(name)).is_none() {
            return Err(NotAllowed::Revision.into());
        }
        let detail = Detail::extension(name);
        let message = ViolationKind::MissingCapability.text();
        let code = ErrorCode::MISSING_CLIENT_CAPABILITY;
        self.reject_as_is(cx, id, Fault { code, message: &message, data: Some(&detail) }, None)
    }

    /// Checks whether a request may be rejected because the user has to visit a URL first. Returns the form of the
    /// error data.
    fn clear_url_error(&self, cx: &Cx<'_, '_>, id: IncomingId) -> Result<Form, RespondError> {
        let context = self.calls.messages.answerable(id)?.context;
        if self.calls.messages.session.role != Side::Server {
            return Err(NotAllowed::Direction.into());
        }
        if !Feature::ElicitationIds.is_in(context.revision) {
            return Err(NotAllowed::Revision.into());
        }
        let needed = Capability::ElicitationUrl;
        if cx.config.capability_policy.is_strict() && !context.capabilities.contains(needed) {
            return Err(NotAllowed::Capability(needed).into());
        }
        Ok(Form { record: ElicitationRequired::RECORD, revision: context.revision })
    }

    /// Requests the input that a request needs from the client. `params` are the params of the request.
    pub(crate) fn require_input(
        &mut self,
        cx: &mut Cx<'_, '_>,
        (id, params): (IncomingId, Option<&str>),
        required: &InputRequired<'_>,
    ) -> Result<(), RespondError> {
        let exchange = self.calls.messages.answerable(id)?;
        if !exchange.kind.is_some_and(RequestKind::may_need_input) {
            return Err(NotAllowed::Method.into());
        }
        let context = exchange.context;
        let has_requests = required.requests.as_ref().is_some_and(|requests| !requests.is_empty());
        if !has_requests && required.state.is_none() {
            let nothing = Misfit::at("inputRequests", Problem::Missing);
            return Err(EncodeError::from(nothing).into());
        }
        let connection = self.calls.messages.connection().get();
        let first = self.calls.messages.outgoing.next_id();
        let has_ids = Feature::ElicitationIds.is_in(context.revision);
        let inputs = Inputs::prepare(required, context.revision, |index| {
            has_ids.then(|| alloc::format!("\"{connection}-{}\"", first + index as u64))
        })?;
        let missing = inputs.needs.minus(context.capabilities).iter().next();
        if let Some(missing) = missing.filter(|_| cx.config.capability_policy.is_strict()) {
            return Err(NotAllowed::Capability(missing).into());
        }
        if context.revision.rules().input_by_rounds {
            let result = InputResult { inputs: &inputs, required };
            let kind = ReplyKind::InputRequired;
            let taken = self.calls.messages.reply(cx, id, kind, &Json(result))?;
            self.finish(cx, taken);
            return Ok(());
        }
        let state = required.state.as_ref().map(|state| String::from(state.as_str()));
        let tables = (&mut self.calls.messages, &mut self.calls.index);
        let asked = self.bridges.ask(tables, cx, id, &inputs)?;
        // The earlier inputs are not needed any more.
        self.bridges.withdraw(&mut self.calls.messages, cx, id);
        self.bridges.wait_for(id, params, state, asked);
        Ok(())
    }

    /// Rejects a request whose required input cannot be obtained.
    pub(super) fn input_failed(
        &mut self,
        cx: &mut Cx<'_, '_>,
        id: IncomingId,
    ) -> Option<CommonEvent<'static>> {
        let kind = self.calls.messages.incoming.table.get(id.0)?.kind;
        // The other inputs are not needed. Over HTTP, the stream of the request ends with its response.
        self.bridges.withdraw(&mut self.calls.messages, cx, id);
        let answered = if kind == Some(RequestKind::CallTool) {
            self.respond(cx, id, &CallToolResult::error(NOT_GIVEN))
        } else {
            self.reject(cx, id, Fault::plain(ErrorCode::INTERNAL_ERROR, &NOT_GIVEN))
        };
        let ending = match answered {
            Ok(()) => None,
            Err(RespondError::Encode(_)) => {
                self.calls.messages.refuse_in_reserve(cx, id, &NOT_GIVEN);
                Some(Ending::Answered)
            }
            Err(_) => Some(Ending::Closed),
        };
        if let Some(taken) = ending.and_then(|ending| self.calls.messages.take(id, ending)) {
            self.finish(cx, taken);
        }
        let cause = CancelCause::InputFailed;
        Some(CommonEvent::Cancelled(Cancelled { id, cause, reason: None }))
    }

    /// Passes the response of the application to the call that requires the input.
    fn give_input(
        &mut self,
        cx: &mut Cx<'_, '_>,
        id: IncomingId,
        need: Need,
        result: &dyn Payload,
    ) -> Result<(), RespondError> {
        let exchange = self.calls.messages.incoming.table.get(id.0).ok_or(RespondError::Stale)?;
        let answer = answer_text(exchange, result)?;
        // A request for input has started no other work.
        _ = self.calls.messages.take(id, Ending::Answered);
        let next =
            self.calls.step(cx, (need.call, false), |state, at| -> Next<'static, CallState> {
                state.given(at, need.index, answer)
            });
        debug_assert!(next.is_none(), "an input that is given is no event");
        Ok(())
    }

    /// Sends a notification.
    pub(crate) fn notify(
        &mut self,
        cx: &mut Cx<'_, '_>,
        notice: Notice<'_>,
    ) -> Result<Delivery, NotifyError> {
        let messages = &mut self.calls.messages;
        let to = audience(messages, notice.related);
        match to {
            Audience::Exchange(id) => return notify_in_exchange(messages, cx, id, &notice),
            Audience::Gone => return Ok(Delivery::NotWanted),
            Audience::Session | Audience::None => {}
        }
        let kind = NotificationKind::named(notice.method);
        let has_listens = !self.listens.is_empty();
        let uri = match (notice.change, kind) {
            (None, Some(NotificationKind::ResourceUpdated)) if has_listens => uri_in(notice.params),
            _ => None,
        };
        let change = notice
            .change
            .or_else(|| kind.and_then(Change::of))
            .or_else(|| uri.as_deref().map(Change::of_resource));
        // Only this step can fail, and a failure changes no state.
        let delivery = match to {
            Audience::None => notify_without_audience(messages, cx, &notice)?,
            _ => notify_session(messages, cx, &notice)?,
        };
        Ok(match change {
            Some(change) if has_listens && messages.session.role == Side::Server => {
                delivery.and(self.listens.publish(&mut messages.incoming, change, cx.out))
            }
            _ => delivery,
        })
    }

    /// Sends the pending changes of all subscriptions of the peer, as far as there is room.
    pub(super) fn flush_listens(&mut self, cx: &mut Cx<'_, '_>) {
        let is_closed = self.calls.messages.lifecycle.phase == crate::session::Phase::Closed;
        if self.listens.has_pending() && !is_closed {
            self.listens.flush_all(&mut self.calls.messages.incoming, cx.out);
        }
    }
}

/// Lists the missing capabilities in the error text.
struct MissingNames {
    message: &'static str,
    missing: CapabilitySet,
}

impl fmt::Display for MissingNames {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.message)?;
        for (index, capability) in self.missing.iter().enumerate() {
            write!(formatter, "{} {capability}", if index == 0 { ":" } else { "," })?;
        }
        Ok(())
    }
}
