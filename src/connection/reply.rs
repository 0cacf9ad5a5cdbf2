//! Sends the responses to requests of the peer, and applies the effects of granted requests.

use alloc::vec::Vec;

use super::answer_context::{ids_in, written};
use super::cx::Cx;
use super::event::Cause;
use super::exchange::Exchange;
use super::inbound_batches::Batches;
use super::incoming::{Incoming, Taken};
use super::incoming_request::IncomingRequest;
use super::messages::Messages;
use super::outboxes::{Received, Route};
use super::result_members::{ReplyKind, stamped};
use super::send::{SentMessage, observe_bytes, send};
use crate::codes::ErrorCode;
use crate::dialect::RespondError;
use crate::dialect::methods::RequestKind;
use crate::frame::{Room, Tag};
use crate::handle::{IncomingId, SlotKey};
use crate::json::{Member, member};
use crate::model::LoggingLevel;
use crate::rpc::{Ending, Fault, Recycle, ReplyTo, write_error, write_result};
use crate::schema::shape::Form;
use crate::schema::{EncodeError, Misfit, Payload, Problem, Writer};
use crate::session::Phase;

impl<C: Recycle> Messages<C> {
    /// Returns the exchange of a request that can still get a response.
    ///
    /// # Errors
    ///
    /// [`RespondError::Closed`], [`RespondError::Cancelled`], or the reason why the request is not in the table.
    pub(super) fn answerable(&self, id: IncomingId) -> Result<&Exchange, RespondError> {
        match self.incoming.table.get(id.0) {
            Some(_) if self.lifecycle.phase == Phase::Closed => Err(RespondError::Closed),
            Some(exchange) if exchange.marked => Err(RespondError::Cancelled),
            Some(exchange) => Ok(exchange),
            None => Err(self.incoming.missing(id)),
        }
    }

    /// Responds to a request with a result. The request leaves the table.
    pub(super) fn reply(
        &mut self,
        cx: &mut Cx<'_, '_>,
        id: IncomingId,
        kind: ReplyKind,
        result: &dyn Payload,
    ) -> Result<Taken, RespondError> {
        let ahead = self.incoming.send_delayed_progress(id, cx.out);
        if let Err(error) = self.write_reply(cx, id, kind, result) {
            self.incoming.take_back_progress(id, ahead, cx.out);
            return Err(error);
        }
        if kind == ReplyKind::Result {
            self.grant(id);
        }
        self.take(id, Ending::Answered).ok_or(RespondError::Stale)
    }

    fn write_reply(
        &mut self,
        cx: &mut Cx<'_, '_>,
        id: IncomingId,
        kind: ReplyKind,
        result: &dyn Payload,
    ) -> Result<(), RespondError> {
        let Incoming { table, batches, .. } = &mut self.incoming;
        let (Some(exchange), Some(wire)) = (table.get(id.0), table.id(id.0)) else {
            return Err(RespondError::Stale);
        };
        let asked = exchange.kind.filter(|_| kind == ReplyKind::Result);
        let form = asked.map(|asked| asked.rule().result(exchange.context.revision));
        let own = self.session.identity.as_deref();
        let mut write = |writer: &mut Writer<'_>| {
            let start = writer.position();
            stamped(own, exchange, (&wire, kind), |additions| {
                write_result(writer, &wire, result, additions, form)
            })?;
            match asked {
                Some(asked) if asked.asks_a_person() => {
                    let result = written(writer.since(start), Member::Result);
                    Ok(exchange.kept.check_result(asked, result)?)
                }
                _ => Ok(()),
            }
        };
        match exchange.batch {
            Some(batch) => put(cx, batches, (batch, id), SentMessage::Result, &mut write)?,
            None => send(cx.out, Route::Exchange(id), SentMessage::Result, write)?,
        }
        Ok(())
    }

    /// Responds to a request with an error whose code has been checked. The request leaves the table.
    pub(super) fn reply_error(
        &mut self,
        cx: &mut Cx<'_, '_>,
        id: IncomingId,
        fault: Fault<'_>,
        form: Option<Form>,
    ) -> Result<Taken, RespondError> {
        let ahead = self.incoming.send_delayed_progress(id, cx.out);
        if let Err(error) = self.write_error_reply(cx, id, fault, form) {
            self.incoming.take_back_progress(id, ahead, cx.out);
            return Err(error);
        }
        self.take(id, Ending::Answered).ok_or(RespondError::Stale)
    }

    fn write_error_reply(
        &mut self,
        cx: &mut Cx<'_, '_>,
        id: IncomingId,
        fault: Fault<'_>,
        form: Option<Form>,
    ) -> Result<(), RespondError> {
        let Incoming { table, batches, .. } = &mut self.incoming;
        let (Some(exchange), Some(wire)) = (table.get(id.0), table.id(id.0)) else {
            return Err(RespondError::Stale);
        };
        let mut elicitations = Vec::new();
        let code = fault.code;
        let mut write = |writer: &mut Writer<'_>| {
            let start = writer.position();
            elicitations.clear();
            write_error(writer, ReplyTo::To(&wire), fault, form)?;
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
            Some(batch) => put(cx, batches, (batch, id), SentMessage::Error(code), &mut write)?,
            None => send(cx.out, Route::Exchange(id), SentMessage::Error(code), write)?,
        }
        for elicitation in &elicitations {
            self.elicitations.add(elicitation, &cx.config.limits);
        }
        Ok(())
    }

    /// Responds to a request with a short result, from the reserve of the outbox if needed.
    pub(super) fn reply_shortly(
        &mut self,
        cx: &mut Cx<'_, '_>,
        id: IncomingId,
        kind: ReplyKind,
        result: &dyn Payload,
    ) -> Option<Taken> {
        if let Ok(taken) = self.reply(cx, id, kind, result) {
            return Some(taken);
        }
        let own = self.session.identity.clone();
        if let (Some(exchange), Some(wire)) =
            (self.incoming.table.get(id.0), self.incoming.table.id(id.0))
        {
            let (exchange, wire) = (exchange.clone(), wire.into_owned());
            self.send_own(cx, Route::Exchange(id), SentMessage::Result, |writer| {
                stamped(own.as_deref(), &exchange, (&wire, kind), |additions| {
                    write_result(writer, &wire, result, additions, None)
                })
            });
        }
        self.take(id, Ending::Answered)
    }

    /// Responds to a request with an error, from the reserve of the outbox if needed. The application has not chosen
    /// this response and cannot send it again later. The request stays in the table.
    pub(super) fn refuse_in_reserve(
        &mut self,
        cx: &mut Cx<'_, '_>,
        id: IncomingId,
        message: &dyn core::fmt::Display,
    ) {
        let (Some(exchange), Some(wire)) =
            (self.incoming.table.get(id.0), self.incoming.table.id(id.0))
        else {
            return;
        };
        let (batch, wire) = (exchange.batch, wire.into_owned());
        let fault = Fault::plain(ErrorCode::INTERNAL_ERROR, message);
        let (route, sent) = (Route::Exchange(id), SentMessage::Error(fault.code));
        self.answer_into(cx, (batch, route), sent, |writer| {
            write_error(writer, ReplyTo::To(&wire), fault, None)
        });
    }

    /// Takes a request out of the table.
    pub(super) fn take(&mut self, id: IncomingId, ending: Ending) -> Option<Taken> {
        let taken = self.incoming.take(id, ending)?;
        if taken.asked_a_person {
            self.outgoing.clock_mut().end_asking();
        }
        Some(taken)
    }

    /// Applies the effect of a granted request: the log level, or a resource subscription.
    fn grant(&mut self, id: IncomingId) {
        let Some(exchange) = self.incoming.table.get(id.0) else { return };
        let Some(subject) = exchange.kept.string() else { return };
        match exchange.kind {
            Some(RequestKind::SetLevel) => {
                if let Some(level) = LoggingLevel::from_name(&subject.to_str()) {
                    self.interests.set_level(level);
                }
            }
            Some(RequestKind::Subscribe) => self.interests.subscribe(&subject.to_str()),
            Some(RequestKind::Unsubscribe) => self.interests.unsubscribe(&subject.to_str()),
            _ => return,
        }
        self.interests.count_grant();
    }

    /// Responds with an error to a request that is in no table. Returns whether the response was written.
    pub(super) fn send_error(
        &mut self,
        cx: &mut Cx<'_, '_>,
        received: Received,
        id: ReplyTo<'_>,
        fault: Fault<'_>,
    ) -> bool {
        let sent = SentMessage::Error(fault.code);
        let to = (received.batch, received.route);
        self.answer_into(cx, to, sent, |writer| write_error(writer, id, fault, None))
    }

    /// Responds to a request that is in no table, in its batch or on its route. Returns whether the response was
    /// written. A response without room in its batch is a message of its own, except over HTTP, where the responses to
    /// a batch end their stream together.
    pub(super) fn answer_into(
        &mut self,
        cx: &mut Cx<'_, '_>,
        (batch, route): (Option<SlotKey>, Route),
        sent: SentMessage<'_>,
        write: impl Fn(&mut Writer<'_>) -> Result<(), EncodeError>,
    ) -> bool {
        let Some(batch) = batch else { return self.send_own(cx, route, sent, write) };
        let limits = &cx.config.limits;
        let room = limits.outbox_bytes.saturating_add(limits.reserve_bytes);
        let put = self.incoming.batches.append(batch, (room, limits.id_bytes), &write);
        match put {
            Err(EncodeError::Full) if !self.incoming.batches.is_of_stream(batch) => {
                self.send_own(cx, route, sent, write)
            }
            put => put.is_ok(),
        }
    }

    /// Responds to `server/discover`, which is in no table. Returns whether the response was written.
    pub(crate) fn answer_discovery(
        &mut self,
        cx: &mut Cx<'_, '_>,
        request: &IncomingRequest<'_, '_>,
        result: &dyn Payload,
    ) -> bool {
        let kind = RequestKind::Discover;
        let form = Some(kind.rule().result(request.context.revision));
        let exchange =
            Exchange { context: request.context, kind: Some(kind), ..Exchange::default() };
        let to = (request.received.batch, request.received.route);
        let own = self.session.identity.clone();
        self.answer_into(cx, to, SentMessage::Result, |writer| {
            stamped(own.as_deref(), &exchange, (&request.id, ReplyKind::Result), |additions| {
                write_result(writer, &request.id, result, additions, form)
            })
        })
    }

    /// Sends a message of the machine itself. Returns whether the message was written.
    ///
    /// It may use the reserve of the outbox. A peer that fills the reserve, too, does not read, and the connection
    /// closes. A message that does not fit even an empty outbox is no fault of the peer, nor is one for a stream that the
    /// peer need not open.
    pub(crate) fn send_own(
        &mut self,
        cx: &mut Cx<'_, '_>,
        route: Route,
        sent: SentMessage<'_>,
        write: impl FnOnce(&mut Writer<'_>) -> Result<(), EncodeError>,
    ) -> bool {
        let outbox = cx.out.outbox(route);
        let has_unread = !outbox.is_empty();
        if let Err(error) = outbox.append(Room::Reserve, Tag::Nothing, write) {
            if has_unread && error == EncodeError::Full && cx.out.has_reader(route) {
                self.lifecycle.close(Cause::OutboxOverflow);
            }
            return false;
        }
        let bytes = outbox.last_length();
        observe_bytes(cx.out, route, sent, bytes);
        true
    }
}

/// Writes a response of the application into its batch, or as a message of its own.
///
/// Responses that wait in a batch leave only with the last one, so a response without room in its batch is a message
/// of its own. Over HTTP, where the responses to a batch end their stream together, an error may use the reserve.
#[cold]
fn put(
    cx: &mut Cx<'_, '_>,
    batches: &mut Batches,
    (batch, id): (SlotKey, IncomingId),
    sent: SentMessage<'_>,
    write: &mut dyn FnMut(&mut Writer<'_>) -> Result<(), EncodeError>,
) -> Result<(), EncodeError> {
    let limits = &cx.config.limits;
    let is_of_stream = batches.is_of_stream(batch);
    let reserve = match sent {
        SentMessage::Error(_) if is_of_stream => limits.reserve_bytes,
        _ => 0,
    };
    let room = limits.outbox_bytes.saturating_add(reserve);
    match batches.append(batch, (room, limits.id_bytes), &mut *write) {
        Err(EncodeError::Full) if !is_of_stream => send(cx.out, Route::Exchange(id), sent, write),
        put => put,
    }
}
