//! Answers to requests of the peer, and what they bring about.

use alloc::vec::Vec;
use core::fmt;

use serde::ser::Serialize;

use super::cx::Cx;
use super::detail::Detail;
use super::exchange::Exchange;
use super::exchanges::{Said, observe_bytes, send};
use super::outlets::{Arrival, Lane};
use super::rules::{ids_in, written};
use super::stamp::stamped;
use super::{Cause, Peer, Role};
use crate::capability::{Capability, CapabilitySet, Owner};
use crate::dialect::methods::RequestKind;
use crate::dialect::{NotAllowed, RespondError, code_in, features::Feature, shapes};
use crate::error::{ErrorCode, ViolationKind};
use crate::frame::{Room, Tag};
use crate::handle::{InboundId, Place};
use crate::json::shape::Form;
use crate::json::{
    EncodeError, Member, Misfit, Payload, Prepared, Problem, Writer, WrittenResult, member,
};
use crate::model::{CallToolResult, LoggingLevel};
use crate::rpc::{Answer, Ending, Fault, write_error, write_result_with};
use crate::session::Phase;

impl Peer {
    pub(crate) fn respond<T: Serialize + ?Sized>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        id: InboundId,
        result: &T,
    ) -> Result<(), RespondError> {
        if let Some(need) = self.answerable(id)?.need {
            return self.give_input(cx, id, need, result);
        }
        self.answer(cx, id, |payload| result.serialize(payload))
    }

    /// The same with a result that was prepared.
    pub(crate) fn respond_prepared(
        &mut self,
        cx: &mut Cx<'_, '_>,
        id: InboundId,
        result: &Prepared,
    ) -> Result<(), RespondError> {
        if let Some(need) = self.answerable(id)?.need {
            return self.give_input(cx, id, need, result);
        }
        self.answer(cx, id, |payload| payload.prepared(result))
    }

    /// The same with a result that was written for this request.
    pub(crate) fn respond_written(
        &mut self,
        cx: &mut Cx<'_, '_>,
        id: InboundId,
        result: &WrittenResult<'_>,
    ) -> Result<(), RespondError> {
        if let Some(need) = self.answerable(id)?.need {
            return self.give_input(cx, id, need, result);
        }
        self.answer(cx, id, |payload| payload.written(result))
    }

    /// Answers a request that can be answered with a result that the caller writes.
    fn answer(
        &mut self,
        cx: &mut Cx<'_, '_>,
        id: InboundId,
        body: impl FnOnce(Payload<'_, '_, '_>) -> Result<(), EncodeError>,
    ) -> Result<(), RespondError> {
        self.send_delayed_progress(cx, id);
        self.flush_listen(cx, id);
        let (Some(exchange), Some(wire)) = (self.inbound.get(id.0), self.inbound.id(id.0)) else {
            return Err(RespondError::Stale);
        };
        let form = exchange.kind.map(|kind| kind.rule().result(exchange.context.revision));
        let own = self.identity.as_deref();
        let write = |writer: &mut Writer<'_>| {
            let start = writer.position();
            stamped(own, exchange, &wire, |additions| {
                write_result_with(writer, &wire, additions, form, body)
            })?;
            match exchange.kind {
                Some(kind) if kind.asks_a_person() => {
                    let result = written(writer.since(start), Member::Result);
                    Ok(exchange.kept.check_result(kind, result)?)
                }
                _ => Ok(()),
            }
        };
        match exchange.batch {
            Some(batch) => self.batches.append(batch, cx.config.limits.outbox_bytes, write)?,
            None => send(cx.out, Lane::Exchange(id), Said::Result, write)?,
        }
        self.bring_about(id);
        self.answered(cx, id);
        Ok(())
    }

    pub(crate) fn reject<T: Serialize + ?Sized>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        id: InboundId,
        fault: Fault<'_, T>,
    ) -> Result<(), RespondError> {
        if let Some(need) = self.answerable(id)?.need {
            self.refuse_input(id, need, fault.code);
            return Ok(());
        }
        let fault = Fault { code: self.code_for(id, fault.code)?, ..fault };
        let asks_for_urls = fault.code == ErrorCode::URL_ELICITATION_REQUIRED;
        let form = if asks_for_urls { Some(self.clear_url_error(cx, id)?) } else { None };
        self.reject_as_is(cx, id, fault, form)
    }

    /// Refuses a request with a code that has been found to be right.
    pub(super) fn reject_as_is<T: Serialize + ?Sized>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        id: InboundId,
        fault: Fault<'_, T>,
        form: Option<Form>,
    ) -> Result<(), RespondError> {
        self.send_delayed_progress(cx, id);
        let (Some(exchange), Some(wire)) = (self.inbound.get(id.0), self.inbound.id(id.0)) else {
            return Err(RespondError::Stale);
        };
        let mut elicitations = Vec::new();
        let code = fault.code;
        let write = |writer: &mut Writer<'_>| {
            let start = writer.position();
            write_error(writer, Answer::To(&wire), fault, form)?;
            if form.is_some() {
                let error = written(writer.since(start), Member::Error);
                let ids = ids_in(member(error, "data").unwrap_or_default());
                for id in ids {
                    if elicitations.contains(&id) {
                        return Err(Misfit::at("elicitationId", Problem::NotAllowed).into());
                    }
                    elicitations.push(id.into_owned());
                }
            }
            Ok(())
        };
        match exchange.batch {
            Some(batch) => self.batches.append(batch, cx.config.limits.outbox_bytes, write)?,
            None => send(cx.out, Lane::Exchange(id), Said::Error(code), write)?,
        }
        for elicitation in &elicitations {
            self.elicitations.add(elicitation, &cx.config.limits);
        }
        self.answered(cx, id);
        Ok(())
    }

    /// The code by which the revision of a request says what is meant, if it has one for that.
    fn code_for(&self, id: InboundId, code: ErrorCode) -> Result<ErrorCode, NotAllowed> {
        let Some(exchange) = self.inbound.get(id.0).filter(|exchange| !exchange.is_relayed) else {
            return Ok(code);
        };
        if code == ErrorCode::URL_ELICITATION_REQUIRED {
            return Ok(code);
        }
        code_in(exchange.context.revision, code)
    }

    /// Refuses a request because the peer has not declared what it takes to serve it.
    pub(crate) fn reject_missing(
        &mut self,
        cx: &mut Cx<'_, '_>,
        id: InboundId,
        needed: CapabilitySet,
    ) -> Result<(), RespondError> {
        let exchange = self.answerable(id)?;
        let missing = needed.minus(exchange.context.capabilities);
        let message = ViolationKind::MissingCapability.text();
        if exchange.rules().has_missing_capability_code {
            // What no client of the revision can declare cannot be missing.
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
            // The model can tell the user, or do without.
            let text = alloc::format!("{named}");
            return self.respond(cx, id, &CallToolResult::error(text.as_str()));
        }
        let fault = Fault::plain(ErrorCode::INVALID_PARAMS, &named);
        self.reject_as_is(cx, id, fault, None)
    }

    /// Refuses a request that stands alone because the peer has not declared an extension.
    pub(crate) fn reject_missing_extension(
        &mut self,
        cx: &mut Cx<'_, '_>,
        id: InboundId,
        name: &'static str,
    ) -> Result<(), RespondError> {
        self.answerable(id)?;
        if self.identity().and_then(|own| own.extension(name)).is_none() {
            return Err(NotAllowed::Revision.into());
        }
        let detail = Detail::extension(name);
        let message = ViolationKind::MissingCapability.text();
        let code = ErrorCode::MISSING_CLIENT_CAPABILITY;
        let fault = Fault { code, message: &message, data: Some(&detail) };
        self.reject_as_is(cx, id, fault, None)
    }

    /// Whether a request may be refused because the user has to visit a URL first. Gives the form of
    /// the data.
    fn clear_url_error(&self, cx: &Cx<'_, '_>, id: InboundId) -> Result<Form, RespondError> {
        let context = self.context(id).ok_or(RespondError::Stale)?;
        if self.role != Role::Server {
            return Err(NotAllowed::Direction.into());
        }
        if !Feature::ElicitationIds.is_in(context.revision) {
            return Err(NotAllowed::Revision.into());
        }
        let needed = Capability::ElicitationUrl;
        if cx.config.capability_policy.is_strict() && !context.capabilities.contains(needed) {
            return Err(NotAllowed::Capability(needed).into());
        }
        Ok(Form { record: &shapes::URL_REQUIRED, revision: context.revision })
    }

    /// A request, if it can still be answered.
    pub(super) fn answerable(&self, id: InboundId) -> Result<&Exchange, RespondError> {
        match self.inbound.get(id.0) {
            Some(_) if self.phase == Phase::Closed => Err(RespondError::Closed),
            Some(exchange) if exchange.marked => Err(RespondError::Cancelled),
            Some(exchange) => Ok(exchange),
            None => Err(match self.inbound.ending(id.0) {
                Some(Ending::Answered) => RespondError::Answered,
                Some(Ending::Cancelled) => RespondError::Cancelled,
                Some(Ending::Closed) => RespondError::Closed,
                None => RespondError::Stale,
            }),
        }
    }

    /// Whether a request can still be answered, for a role.
    pub(crate) fn check_answerable(&self, id: InboundId) -> Result<(), RespondError> {
        self.answerable(id).map(|_| ())
    }

    /// Takes a request out of the table that was never told to anybody.
    pub(crate) fn abandon(&mut self, id: InboundId) {
        self.drop_exchange(id.0, Ending::Closed);
    }

    /// Does what the peer has asked for by a request that is being granted.
    fn bring_about(&mut self, id: InboundId) {
        let Some(exchange) = self.inbound.get(id.0) else { return };
        let Some(subject) = exchange.kept.string() else { return };
        match exchange.kind {
            Some(RequestKind::SetLevel) => {
                if let Some(level) = LoggingLevel::from_name(&subject.to_str()) {
                    self.interests.set_level(level);
                }
            }
            Some(RequestKind::Subscribe) => self.interests.subscribe(&subject.to_str()),
            Some(RequestKind::Unsubscribe) => self.interests.unsubscribe(&subject.to_str()),
            _ => {}
        }
    }

    pub(super) fn answered(&mut self, cx: &mut Cx<'_, '_>, id: InboundId) {
        self.abandon_input(cx, id);
        let batch = self.drop_exchange(id.0, Ending::Answered);
        self.settle_in_batch(cx, batch);
    }

    /// Answers with an error by itself. Says whether it could.
    pub(super) fn send_error(
        &mut self,
        cx: &mut Cx<'_, '_>,
        arrival: Arrival,
        id: Answer<'_>,
        fault: Fault<'_, Detail>,
    ) -> bool {
        let said = Said::Error(fault.code);
        self.answer_own(cx, arrival, said, |writer| write_error(writer, id, fault, None))
    }

    /// Answers by itself, in the batch if the request came in one. Says whether it could.
    pub(crate) fn answer_own(
        &mut self,
        cx: &mut Cx<'_, '_>,
        arrival: Arrival,
        said: Said<'_>,
        write: impl FnOnce(&mut Writer<'_>) -> Result<(), EncodeError>,
    ) -> bool {
        self.answer_into(cx, (arrival.batch, arrival.lane), said, write)
    }

    /// The same for a request that came in this batch or none, on this lane.
    pub(super) fn answer_into(
        &mut self,
        cx: &mut Cx<'_, '_>,
        (batch, lane): (Option<Place>, Lane),
        said: Said<'_>,
        write: impl FnOnce(&mut Writer<'_>) -> Result<(), EncodeError>,
    ) -> bool {
        let Some(batch) = batch else { return self.send_own(cx, lane, said, write) };
        let limits = &cx.config.limits;
        let room = limits.outbox_bytes.saturating_add(limits.reserve_bytes);
        self.batches.append(batch, room, write).is_ok()
    }

    /// Sends something that no caller asked for. Says whether it could.
    ///
    /// It may use the reserve of the outbox; a peer that fills that too does not read, and loses the
    /// connection. What does not even fit an empty outbox is no fault of the peer.
    pub(crate) fn send_own(
        &mut self,
        cx: &mut Cx<'_, '_>,
        lane: Lane,
        said: Said<'_>,
        write: impl FnOnce(&mut Writer<'_>) -> Result<(), EncodeError>,
    ) -> bool {
        let outbox = cx.out.lane(lane);
        let has_unread = !outbox.is_empty();
        if let Err(error) = outbox.append(Room::Reserve, Tag::Nothing, write) {
            if has_unread && error == EncodeError::Full {
                self.close(Cause::OutboxOverflow);
            }
            return false;
        }
        let bytes = outbox.last_length();
        observe_bytes(cx.out, lane, said, bytes);
        true
    }
}

/// What a peer would have to declare, in words.
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
