//! Incoming responses: their heads, their bodies, and failures instead of them.

use alloc::vec::Vec;
use core::mem::take;

use super::arrived::{Arrived, Step};
use super::client_transport::ClientTransport;
use super::exchange::{ExchangeNumber, Purpose};
use super::response::{answers, each_answered, failure, is_defective_answer};
use super::response_reader::{Form, Part, ResponseReader};
use super::tool_calls::{begin_refresh, give_up};
use crate::connection::{
    ExchangeEnd, Received, Route, TransportError, TransportErrorKind, TransportFailure,
    TransportFailureKind,
};
use crate::handle::CallId;
use crate::http::{Headers, SseEvent};
use crate::time::Instant;

/// # Receiving
impl ClientTransport {
    /// Processes the head of a response. Returns the reader of its body, or `None` if the exchange has ended, because
    /// it is unknown or the body does not matter: then drop the response.
    #[must_use = "without the reader the body of the response cannot be read"]
    pub fn head(
        &mut self,
        exchange: ExchangeNumber,
        status: u16,
        headers: Headers<'_>,
        now: Instant,
    ) -> Option<ResponseReader> {
        self.hold.end(exchange);
        let is_streamable = self.requests.transport.is_streamable();
        let most_bytes = self.limits.frame_bytes;
        let known = self.requests.exchanges.get_mut(&exchange)?;
        known.has_head = true;
        let is_fine = (200..300).contains(&status);
        let is_accepted = is_fine && known.sends_in_session();
        if is_fine && known.is_batch_without_calls() {
            self.requests.exchanges.remove(&exchange);
            self.requests.end_suspension();
            return None;
        }
        let form = Form::of(known, status, headers, is_streamable, most_bytes);
        if let Form::Events(_) = form {
            known.was_open = true;
            known.resumption.note_stream();
        }
        let opens = known.opens_session() && !known.resumption.has_event() && is_fine;
        let completes = known.completes_handshake();
        let refusal = (!is_fine).then(|| failure(status, headers));
        known.refusal = refusal.clone().map(|refusal| (status, refusal));
        let is_unauthorized =
            |refusal: &TransportFailure<'_>| refusal.kind == TransportFailureKind::Unauthorized;
        let may_have_error = known.is_decided_by_error(status)
            && refusal.as_ref().is_some_and(|refusal| !is_unauthorized(refusal));
        // A server may accept notifications without looking at the session, and knows that of `initialize` in any case.
        let is_answer = matches!(form, Form::Json(_) | Form::Events(_))
            && matches!(known.purpose, Purpose::Request(_) | Purpose::Batch(_));
        if known.names_session && is_fine && is_answer && !known.opens_session() {
            self.requests.session.note_success();
        }
        if opens && is_streamable {
            self.requests.session.open(headers, now);
        }
        if is_accepted {
            self.requests.end_suspension();
        }
        if completes
            && is_fine
            && is_streamable
            && let Some(stream) = self.requests.listen()
        {
            self.hold.until_open(stream, now + self.requests.config().listen_first);
        }
        if form == Form::Ignored && refusal.is_none() {
            // Its body may never end.
            self.requests.exchanges.remove(&exchange);
            return None;
        }
        let reader = ResponseReader::new(exchange, status, form, most_bytes);
        Some(ResponseReader { refusal, may_have_error, ..reader })
    }

    /// Processes a part of the body, up to the next result. Call it until it returns `None`.
    #[must_use = "messages that the machine does not receive are lost"]
    pub fn chunk<'r>(
        &mut self,
        reader: &'r mut ResponseReader,
        chunk: &mut &[u8],
        now: Instant,
    ) -> Option<Arrived<'r>> {
        let step = self.take(reader, chunk, now)?;
        step.arrived(&reader.message, &self.limits)
    }

    /// Processes the end of the body, regular or because the connection has broken off.
    #[must_use = "messages that the machine does not receive are lost"]
    pub fn end<'r>(&mut self, reader: &'r mut ResponseReader, now: Instant) -> Option<Arrived<'r>> {
        let step = self.take_end(reader, now)?;
        step.arrived(&reader.message, &self.limits)
    }
}

/// # Receiving
impl ClientTransport {
    /// Reports that the request could not be sent: no part of it can have reached the server. The error is the
    /// [`cause`](TransportFailure::cause) of the failure of the call, if the transport knows it.
    #[must_use = "messages that the machine does not receive are lost"]
    pub fn failed(
        &mut self,
        exchange: ExchangeNumber,
        error: Option<TransportError>,
        now: Instant,
    ) -> Option<Arrived<'static>> {
        self.ended_without(exchange, (TransportFailureKind::Unreachable, error), now)
    }

    /// Reports that the exchange has broken off, before or after the head of the response. The server may have
    /// processed the request. The error has the same role as for [`failed`](Self::failed).
    #[must_use = "messages that the machine does not receive are lost"]
    pub fn broken(
        &mut self,
        exchange: ExchangeNumber,
        error: Option<TransportError>,
        now: Instant,
    ) -> Option<Arrived<'static>> {
        self.ended_without(exchange, (TransportFailureKind::BrokenOff, error), now)
    }
}

impl ClientTransport {
    /// Ends an exchange without the rest of its response.
    fn ended_without(
        &mut self,
        exchange: ExchangeNumber,
        (kind, cause): (TransportFailureKind, Option<TransportError>),
        now: Instant,
    ) -> Option<Arrived<'static>> {
        self.hold.end(exchange);
        let known = self.requests.exchanges.get_mut(&exchange)?;
        if let Some((status, refusal)) = known.refusal.take() {
            // Without a body, the refusal contains no message.
            let mut reader = ResponseReader::new(exchange, status, Form::Unusable, 0);
            return self.refused(&mut reader, refusal, now).and_then(Step::without_message);
        }
        let is_unauthorized =
            cause.as_ref().is_some_and(|cause| cause.kind() == TransportErrorKind::Authorization);
        if is_unauthorized && known.purpose == Purpose::Standalone {
            self.requests.suspend(exchange);
            return None;
        }
        if known.has_head || known.resumption.has_event() {
            return self.broke_off(exchange, cause, now);
        }
        let failure = TransportFailure { cause, ..TransportFailure::new(kind) };
        match known.purpose {
            Purpose::Standalone => {
                self.requests.retry(exchange, now);
                None
            }
            Purpose::OneStream => self.one_stream_failed(exchange, failure),
            _ => self.fail(exchange, failure),
        }
    }

    /// Reads a part of a body up to the next step.
    pub(super) fn take(
        &mut self,
        reader: &mut ResponseReader,
        chunk: &mut &[u8],
        now: Instant,
    ) -> Option<Step> {
        let (exchange, status) = (reader.exchange, reader.status);
        while !reader.is_done {
            let (step, is_last) =
                match reader.form.read(chunk, reader.most_bytes, reader.refusal.is_some())? {
                    Part::End => return self.take_end(reader, now),
                    Part::TooLong => {
                        let failure = TransportFailure::new(TransportFailureKind::TooLong);
                        (self.fail(exchange, failure).map(Step::Other), true)
                    }
                    Part::Event(event) => {
                        self.take_event((exchange, status), event, &mut reader.message, now)
                    }
                    Part::LongEvent => self.skip_event(exchange),
                };
            reader.is_done |= is_last;
            if step.is_some() {
                return step;
            }
        }
        None
    }

    /// Processes an event of a stream. Also returns whether later events are irrelevant.
    fn take_event(
        &mut self,
        (exchange, status): (ExchangeNumber, u16),
        event: SseEvent<'_>,
        message: &mut Vec<u8>,
        now: Instant,
    ) -> (Option<Step>, bool) {
        let Some(known) = self.requests.exchanges.get_mut(&exchange) else { return (None, true) };
        if known.in_session {
            known.resumption.note_id(event.last_event_id);
        }
        known.resumption.note_retry(event.retry);
        if known.is_one_stream() && event.event_type == "endpoint" {
            let place = event.data.and_then(|data| core::str::from_utf8(data).ok());
            if self.requests.take_endpoint(place.unwrap_or_default()).is_ok() {
                return (None, false);
            }
            let failure = TransportFailure::new(TransportFailureKind::NoAnswer);
            return (self.one_stream_failed(exchange, failure).map(Step::Other), true);
        }
        // Messages before the endpoint event are ignored, because they could not be answered.
        let is_early = known.is_one_stream() && self.requests.transport.lacks_endpoint();
        let Some(text) = event.message().filter(|text| !text.is_empty() && !is_early) else {
            return (None, false);
        };
        known.resumption.note_message();
        if let Purpose::Refresh(_) = known.purpose {
            let arrived =
                self.tool_calls.take_page(&mut self.requests, exchange, text, &self.limits);
            // Another exchange may request the next page.
            let is_last = !self.requests.exchanges.contains_key(&exchange);
            return (arrived.map(Step::Other), is_last);
        }
        let looked = self.look(exchange, text, message);
        if looked.is_answer
            && begin_refresh(&mut self.requests, exchange, status, text, &self.limits)
        {
            return (None, true);
        }
        if !looked.is_rewritten {
            message.clear();
            message.extend_from_slice(text);
        }
        let received = self.received(exchange, now);
        if looked.is_answer {
            self.requests.exchanges.remove(&exchange);
        }
        (Some(Step::Message(received)), looked.is_answer)
    }

    /// Handles an event that is too long. The standalone stream of a session continues after it. Any other exchange
    /// fails, because the event may have been its response.
    fn skip_event(&mut self, exchange: ExchangeNumber) -> (Option<Step>, bool) {
        let known = self.requests.exchanges.get(&exchange);
        if known.is_some_and(|known| known.purpose == Purpose::Standalone) {
            return (None, false);
        }
        let failure = TransportFailure::new(TransportFailureKind::TooLong);
        (self.fail(exchange, failure).map(Step::Other), true)
    }

    /// Processes the end of a body.
    pub(super) fn take_end(&mut self, reader: &mut ResponseReader, now: Instant) -> Option<Step> {
        let exchange = reader.exchange;
        if reader.is_done {
            return None;
        }
        reader.is_done = true;
        if let Some(refusal) = reader.refusal.take() {
            return self.refused(reader, refusal, now);
        }
        match &mut reader.form {
            Form::Ignored => {
                self.requests.exchanges.remove(&exchange);
                None
            }
            Form::Unusable => self.unusable(exchange).map(Step::Other),
            Form::Events(_) => self.broke_off(exchange, None, now).map(Step::Other),
            Form::Json(body) if body.is_empty() => self.unusable(exchange).map(Step::Other),
            Form::Json(body) => {
                let body = take(body);
                self.take_json(reader, body, now)
            }
        }
    }

    /// Processes a body that is a whole JSON text.
    fn take_json(
        &mut self,
        reader: &mut ResponseReader,
        body: Vec<u8>,
        now: Instant,
    ) -> Option<Step> {
        let (exchange, status) = (reader.exchange, reader.status);
        if let Purpose::Refresh(_) = &self.requests.exchanges.get(&exchange)?.purpose {
            let (requests, limits) = (&mut self.requests, &self.limits);
            let arrived = self.tool_calls.take_page(requests, exchange, &body, limits);
            return arrived.or_else(|| give_up(requests, exchange, limits)).map(Step::Other);
        }
        let received = self.received(exchange, now);
        let looked = self.look(exchange, &body, &mut reader.message);
        if looked.is_answer
            && begin_refresh(&mut self.requests, exchange, status, &body, &self.limits)
        {
            return None;
        }
        if !looked.is_rewritten {
            reader.message = body;
        }
        match self.requests.exchanges.remove(&exchange)?.purpose {
            Purpose::Batch(batch) => {
                let unanswered = batch.unanswered(&reader.message, &self.limits, self.stringified);
                let failure = TransportFailure::new(TransportFailureKind::NoAnswer);
                self.requests.fail(unanswered, &failure);
                Some(Step::Message(received))
            }
            Purpose::Request(_) if looked.is_answer => Some(Step::Message(received)),
            Purpose::Request(asked) => {
                let (limits, stringified) = (&self.limits, self.stringified);
                if is_defective_answer(&reader.message, &asked.id, limits, stringified) {
                    return Some(Step::Message(received));
                }
                Some(Step::Other(no_answer(asked.call)))
            }
            _ => None,
        }
    }

    /// Returns the [`Received`] of a message on this exchange.
    fn received(&self, exchange: ExchangeNumber, now: Instant) -> Received {
        let known = self.requests.exchanges.get(&exchange);
        let call = known.and_then(|known| match &known.purpose {
            Purpose::Request(asked) => Some(asked.call),
            _ => None,
        });
        Received::from(now).route(call.map_or(Route::Connection, Route::Call))
    }

    /// Inspects a message: whether it is the response that its exchange waits for, and whether tools must be removed
    /// from it.
    fn look(&mut self, exchange: ExchangeNumber, text: &[u8], rewritten: &mut Vec<u8>) -> Looked {
        let Some(known) = self.requests.exchanges.get(&exchange) else {
            return Looked::default();
        };
        let Purpose::Request(asked) = &known.purpose else {
            self.answered_elsewhere(exchange, text);
            return Looked::default();
        };
        let is_answer = answers(text, &asked.id, &self.limits, self.stringified);
        let lists_tools = is_answer && asked.lists_tools;
        let message = core::str::from_utf8(text).ok().filter(|_| lists_tools);
        let headers = &mut self.tool_calls.headers;
        let is_rewritten = message.is_some_and(|message| headers.learn(message, rewritten));
        Looked { is_answer, is_rewritten }
    }

    /// Handles a message on a stream that belongs to no single request. If it is a response to a request of another
    /// exchange, that exchange is aborted.
    fn answered_elsewhere(&mut self, exchange: ExchangeNumber, text: &[u8]) {
        if self.requests.transport.is_streamable() {
            each_answered(text, &self.limits, self.stringified, |id| {
                if self.requests.exchanges.carries(id) != Some(exchange) {
                    self.requests.cancel(id);
                }
            });
        }
    }
}

/// The result of inspecting a message.
#[derive(Clone, Copy, Default)]
struct Looked {
    /// Whether the message is the response that its exchange waits for.
    is_answer: bool,
    /// Whether the buffer holds a changed message, to be used instead.
    is_rewritten: bool,
}

fn no_answer(call: CallId) -> Arrived<'static> {
    let failure = TransportFailure::new(TransportFailureKind::NoAnswer);
    Arrived::Ended { call, end: ExchangeEnd::Failure(failure) }
}
