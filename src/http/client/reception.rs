//! What comes back: heads, bodies, and the ends of them.

use alloc::string::String;
use alloc::vec::Vec;
use core::mem::take;

use super::arrived::{Arrived, Step};
use super::exchange::{Exchange, ExchangeNumber, Purpose, Verdict};
use super::exchanges::Exchanges;
use super::posts::{Manner, Posts};
use super::reader::{Form, ResponseReader};
use super::url::resolve;
use super::verdict::{error_in, failure, is_session_id};
use crate::frame::Frames;
use crate::handle::CallId;
use crate::http::{Field, Headers, SseDecoder, SseEvent, has_content_type, name};
use crate::json::Envelope;
use crate::peer::{Arrival, CarrierFailure, CarrierFailureKind, ExchangeEnd, Lane};
use crate::rpc::{Message, Versions, classify};
use crate::time::Instant;

/// # Receiving
impl Posts {
    /// The head of a response has come. Gives what reads the body, or nothing if nobody cares any more: then drop
    /// the response.
    #[must_use = "without the reader the body of the response cannot be read"]
    pub fn head(
        &mut self,
        exchange: ExchangeNumber,
        status: u16,
        headers: Headers<'_>,
        now: Instant,
    ) -> Option<ResponseReader> {
        self.has_begun(exchange);
        let known = self.exchanges.get_mut(&exchange)?;
        known.has_head = true;
        let is_fine = (200..300).contains(&status);
        let form = match &known.purpose {
            Purpose::Notice { .. } | Purpose::Farewell if is_fine => Form::Ignored,
            Purpose::Farewell => Form::Ignored,
            // Everything that there is to say comes on the one stream.
            Purpose::Request(_) | Purpose::Batch
                if is_fine && self.manner != Manner::Streamable =>
            {
                Form::Ignored
            }
            _ if has_content_type(headers, "text/event-stream") && is_fine => {
                (known.attempts, known.was_open) = (0, true);
                let last_event = known.last_event.as_deref().unwrap_or_default();
                Form::Events(SseDecoder::new(self.limits.frame_bytes).behind(last_event))
            }
            Purpose::Request(_) | Purpose::Refresh(_) | Purpose::Batch | Purpose::Notice { .. }
                if has_content_type(headers, "application/json") && status != 202 =>
            {
                Form::Json(Vec::new())
            }
            _ => Form::Unusable,
        };
        self.has_worked |= known.names_session && is_fine;
        let opens = matches!(&known.purpose, Purpose::Request(asked) if asked.opens.is_some())
            && known.last_event.is_none()
            && is_fine;
        let refusal = (!is_fine).then(|| failure(status, headers));
        known.verdict = match &refusal {
            Some(refusal) => Some(Verdict::Refused(status, refusal.clone())),
            None => matches!(form, Form::Ignored).then_some(Verdict::Taken),
        };
        if opens && self.manner == Manner::Streamable {
            self.session = match headers.get(name::SESSION_ID) {
                Field::Once(id) if is_session_id(id) => Some(String::from(id)),
                _ => None,
            };
        }
        let started = matches!(known.purpose, Purpose::Notice { completes_handshake: true });
        if started && is_fine && self.manner == Manner::Streamable {
            self.listen(now);
        }
        let reader = ResponseReader::new(exchange, status, form, self.limits.frame_bytes);
        Some(ResponseReader { refusal, ..reader })
    }

    /// A part of the body has come. Takes as much of it as it needs for the next thing it has to say; ask until that
    /// is nothing.
    #[must_use = "what has arrived is lost unless the machine receives it"]
    pub fn chunk<'r>(
        &mut self,
        reader: &'r mut ResponseReader,
        chunk: &mut &[u8],
        now: Instant,
    ) -> Option<Arrived<'r>> {
        let step = self.take(reader, chunk, now)?;
        self.arrived(step, reader)
    }

    /// The body has ended, as it should or because the connection has broken off.
    #[must_use = "what has arrived is lost unless the machine receives it"]
    pub fn end<'r>(&mut self, reader: &'r mut ResponseReader, now: Instant) -> Option<Arrived<'r>> {
        let step = self.take_end(reader, now)?;
        self.arrived(step, reader)
    }
}

impl Posts {
    /// Takes what it needs of a part of a body for the next step.
    pub(super) fn take(
        &mut self,
        reader: &mut ResponseReader,
        chunk: &mut &[u8],
        now: Instant,
    ) -> Option<Step> {
        let ResponseReader {
            exchange, status, form, most_bytes, message, refusal, is_done, ..
        } = reader;
        if *is_done {
            return None;
        }
        match form {
            // Nothing that comes matters, however long it goes on.
            Form::Ignored | Form::Unusable => {
                *chunk = &[];
                self.take_end(reader, now)
            }
            Form::Json(body) if *most_bytes < body.len() + chunk.len() => {
                if refusal.is_some() {
                    // What the status says is enough.
                    *form = Form::Unusable;
                    *chunk = &[];
                    return self.take_end(reader, now);
                }
                *is_done = true;
                let failure = CarrierFailure::new(CarrierFailureKind::TooLong);
                self.fail(*exchange, failure).map(Step::Other)
            }
            Form::Json(body) => {
                body.extend_from_slice(take(chunk));
                None
            }
            Form::Events(decoder) => {
                while let Some(event) = decoder.next(chunk) {
                    let (step, is_last) = match event {
                        Ok(event) => self.take_event((*exchange, *status), event, message, now),
                        Err(_) => self.skip_event(*exchange),
                    };
                    *is_done |= is_last;
                    if step.is_some() || *is_done {
                        return step;
                    }
                }
                None
            }
        }
    }

    /// Takes an event of a stream, and says whether those after it matter.
    fn take_event(
        &mut self,
        (exchange, status): (ExchangeNumber, u16),
        event: SseEvent<'_>,
        message: &mut Vec<u8>,
        now: Instant,
    ) -> (Option<Step>, bool) {
        let Some(known) = self.exchanges.get_mut(&exchange) else { return (None, true) };
        known.note_id(event.last_event_id);
        known.retry = event.retry.or(known.retry);
        let is_refresh = matches!(known.purpose, Purpose::Refresh(_));
        if known.purpose == Purpose::OneStream && event.event_type == "endpoint" {
            let place = event.data.and_then(|data| core::str::from_utf8(data).ok());
            if self.endpoint(place.unwrap_or_default()).is_ok() {
                return (None, false);
            }
            let failure = CarrierFailure::new(CarrierFailureKind::NoAnswer);
            return (self.fall_short(exchange, failure).map(Step::Other), true);
        }
        let is_early = self.is_early(exchange);
        let Some(text) = event.message().filter(|text| !text.is_empty() && !is_early) else {
            return (None, false);
        };
        if let Some(known) = self.exchanges.get_mut(&exchange) {
            known.empty_streams = 0;
        }
        if is_refresh {
            let arrived = self.refreshed(exchange, text);
            // Another exchange may go on with the next page.
            return (arrived.map(Step::Other), !self.exchanges.contains_key(&exchange));
        }
        let looked = self.look(exchange, text, message);
        if looked.is_answer && self.refreshes(exchange, status, text) {
            return (None, true);
        }
        if !looked.is_rewritten {
            message.clear();
            message.extend_from_slice(text);
        }
        let arrival = self.arrival(exchange, now);
        if looked.is_answer {
            self.exchanges.remove(&exchange);
        }
        (Some(Step::Message(arrival)), looked.is_answer)
    }

    /// An event is too long. The stream of a session goes on after it; any other one may have missed its answer.
    fn skip_event(&mut self, exchange: ExchangeNumber) -> (Option<Step>, bool) {
        let is_standalone = |known: &Exchange| known.purpose == Purpose::Standalone;
        if self.exchanges.get(&exchange).is_some_and(is_standalone) {
            return (None, false);
        }
        let failure = CarrierFailure::new(CarrierFailureKind::TooLong);
        (self.fail(exchange, failure).map(Step::Other), true)
    }

    /// Takes the end of a body.
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
                self.exchanges.remove(&exchange);
                None
            }
            Form::Unusable => self.unusable(exchange).map(Step::Other),
            Form::Events(_) => self.broke_off(exchange, None, now).map(Step::Other),
            Form::Json(body) if body.is_empty() => self.unusable(exchange).map(Step::Other),
            Form::Json(body) => {
                if let Purpose::Refresh(_) = &self.exchanges.get(&exchange)?.purpose {
                    let arrived = self.refreshed(exchange, body);
                    return arrived.or_else(|| self.gives_up(exchange)).map(Step::Other);
                }
                let arrival = self.arrival(exchange, now);
                let looked = self.look(exchange, body, &mut reader.message);
                if looked.is_answer && self.refreshes(exchange, reader.status, body) {
                    return None;
                }
                if !looked.is_rewritten {
                    reader.message = take(body);
                }
                match self.exchanges.remove(&exchange)?.purpose {
                    // Of several calls nobody knows which are answered until the machine has looked.
                    Purpose::Batch => Some(Step::Message(arrival)),
                    Purpose::Request(_) if looked.is_answer => Some(Step::Message(arrival)),
                    Purpose::Request(asked) => Some(Step::Other(no_answer(asked.call))),
                    _ => None,
                }
            }
        }
    }

    /// What comes with a message of this exchange.
    fn arrival(&self, exchange: ExchangeNumber, now: Instant) -> Arrival {
        let call = self.exchanges.get(&exchange).and_then(|known| match &known.purpose {
            Purpose::Request(asked) => Some(asked.call),
            _ => None,
        });
        Arrival::from(now).lane(call.map_or(Lane::Connection, Lane::Call))
    }

    /// Looks at a message: whether it is the answer that its exchange waits for, and whether something is to be left
    /// out of it.
    fn look(&mut self, exchange: ExchangeNumber, text: &[u8], rewritten: &mut Vec<u8>) -> Looked {
        let Some(known) = self.exchanges.get_mut(&exchange) else { return Looked::default() };
        let Purpose::Request(asked) = &known.purpose else {
            self.answered_elsewhere(text);
            return Looked::default();
        };
        let is_answer = Frames::of(text, &self.limits).any(|frame| {
            let envelope = Envelope::scan(frame.bytes(), self.limits.depth);
            match classify(&envelope, &self.limits, Versions::Any) {
                Ok(Message::Result { id, .. } | Message::Error { id, .. }) => {
                    id.as_wire() == asked.id
                }
                // Only this one can be meant.
                Ok(Message::IdlessError { .. }) => true,
                _ => false,
            }
        });
        known.is_answered |= is_answer;
        let lists_tools = is_answer && asked.lists_tools;
        let message = core::str::from_utf8(text).ok().filter(|_| lists_tools);
        let is_rewritten = message.is_some_and(|message| self.tools.learn(message, rewritten));
        Looked { is_answer, is_rewritten }
    }

    /// A message came on a stream that belongs to no request. If it answers one all the same, nobody waits for that
    /// any more where it should have come.
    fn answered_elsewhere(&mut self, text: &[u8]) {
        if self.manner != Manner::Streamable {
            return;
        }
        let limits = self.limits.clone();
        for frame in Frames::of(text, &limits) {
            let envelope = Envelope::scan(frame.bytes(), limits.depth);
            let Ok(Message::Result { id, .. } | Message::Error { id, .. }) =
                classify(&envelope, &limits, Versions::Any)
            else {
                continue;
            };
            let exchange = self.carries(id.as_wire());
            exchange.into_iter().for_each(|exchange| self.abort(exchange));
        }
    }

    /// The server has refused a request with a status.
    pub(super) fn refused(
        &mut self,
        reader: &mut ResponseReader,
        refusal: CarrierFailure<'static>,
        now: Instant,
    ) -> Option<Step> {
        let known = self.exchanges.get(&reader.exchange)?;
        // Many a server that has no such stream says 404 to the first GET. If it is the session that is not there,
        // that shows with the next request.
        let is_no_stream = known.purpose == Purpose::Standalone && !known.was_open;
        let is_session_lost = reader.status == 404 && known.names_session && !is_no_stream;
        if is_session_lost && known.purpose != Purpose::Farewell {
            self.exchanges.remove(&reader.exchange);
            return Some(Step::Other(Arrived::SessionLost));
        }
        match &known.purpose {
            Purpose::Notice { .. } => {
                self.exchanges.remove(&reader.exchange);
                Some(Step::Other(Arrived::NotTaken { status: Some(reader.status) }))
            }
            // It may be busy, or be starting again.
            Purpose::Standalone if known.was_open && 500 <= reader.status => {
                self.try_again(reader.exchange, now);
                None
            }
            Purpose::Standalone | Purpose::Farewell | Purpose::Batch => {
                // A server need not have such a stream.
                self.exchanges.remove(&reader.exchange);
                None
            }
            Purpose::OneStream => self.fall_short(reader.exchange, refusal).map(Step::Other),
            Purpose::Refresh(_) => self.gives_up(reader.exchange).map(Step::Other),
            Purpose::Request(asked) => {
                let call = asked.call;
                let is_unauthorized = refusal.kind == CarrierFailureKind::Unauthorized;
                if let Form::Json(body) = &mut reader.form {
                    reader.message = take(body);
                }
                let has_error =
                    !is_unauthorized && error_in(&reader.message, &self.limits).is_some();
                // Where nothing can be POSTed, whatever the body says, something else may be served.
                let may_be_older =
                    reader.status == 405 || (matches!(reader.status, 400 | 404) && !has_error);
                if !has_error {
                    self.note_refusal("POST", &refusal);
                }
                if known_to_resume(&self.exchanges, reader.exchange) {
                    // It was to go on with what had broken off, and cannot.
                    let failure = CarrierFailure::new(CarrierFailureKind::BrokenOff);
                    return self.fail(reader.exchange, failure).map(Step::Other);
                }
                if may_be_older && self.ask_in_the_old_way(reader.exchange, now) {
                    return None;
                }
                if has_error && self.refreshes(reader.exchange, reader.status, &reader.message) {
                    return None;
                }
                self.exchanges.remove(&reader.exchange);
                if has_error {
                    return Some(Step::Error(call, reader.status));
                }
                Some(Step::Other(Arrived::Ended { call, end: ExchangeEnd::Failure(refusal) }))
            }
        }
    }

    /// A response that cannot answer a request.
    fn unusable<'r>(&mut self, exchange: ExchangeNumber) -> Option<Arrived<'r>> {
        let known = self.exchanges.get(&exchange)?;
        let failure = CarrierFailure::new(CarrierFailureKind::NoAnswer);
        match known.purpose {
            Purpose::OneStream => self.fall_short(exchange, failure),
            _ => self.fail(exchange, failure),
        }
    }

    /// An exchange is over without the answer that it was for.
    pub(super) fn fail<'r>(
        &mut self,
        exchange: ExchangeNumber,
        failure: CarrierFailure<'static>,
    ) -> Option<Arrived<'r>> {
        let known = self.exchanges.get(&exchange)?;
        if let Purpose::Refresh(_) = known.purpose {
            return self.gives_up(exchange);
        }
        let known = self.exchanges.remove(&exchange)?;
        match known.purpose {
            Purpose::Request(ref asked) if !known.is_answered => {
                Some(Arrived::Ended { call: asked.call, end: ExchangeEnd::Failure(failure) })
            }
            Purpose::Notice { .. } => Some(Arrived::NotTaken { status: failure.status }),
            Purpose::OneStream => Some(Arrived::ConnectionLost),
            _ => None,
        }
    }

    /// The server of 2024-11-05 says where its messages go.
    fn endpoint(&mut self, place: &str) -> Result<(), ()> {
        let Manner::OneStream { endpoint } = &mut self.manner else { return Err(()) };
        if endpoint.is_some() {
            // Whoever says it twice may be somebody else.
            return Ok(());
        }
        *endpoint = Some(resolve(&self.config.url, place).ok_or(())?);
        self.say_again();
        Ok(())
    }

    /// Whether a message has come before it is known where to answer.
    fn is_early(&self, exchange: ExchangeNumber) -> bool {
        let is_one = |known: &Exchange| known.purpose == Purpose::OneStream;
        self.exchanges.get(&exchange).is_some_and(is_one)
            && self.manner == Manner::OneStream { endpoint: None }
    }
}

/// What a message was found to be.
#[derive(Clone, Copy, Default)]
struct Looked {
    /// It is the answer that its exchange waits for.
    is_answer: bool,
    /// It is to be handed on in the words that the buffer holds.
    is_rewritten: bool,
}

fn known_to_resume(exchanges: &Exchanges, exchange: ExchangeNumber) -> bool {
    exchanges.get(&exchange).is_some_and(|known| known.last_event.is_some())
}

/// How long the id of an event may be for it to be sent back.
const LONGEST_ID: usize = 1024;

fn no_answer(call: CallId) -> Arrived<'static> {
    let failure = CarrierFailure::new(CarrierFailureKind::NoAnswer);
    Arrived::Ended { call, end: ExchangeEnd::Failure(failure) }
}

impl Exchange {
    fn note_id(&mut self, id: &str) {
        // What no header field can hold cannot be sent back; an empty one takes the last one back.
        let is_sayable =
            id.len() <= LONGEST_ID && id.bytes().all(|byte| matches!(byte, b' '..=b'~'));
        if self.in_session && is_sayable {
            self.last_event = (!id.is_empty()).then(|| String::from(id));
        }
    }
}
