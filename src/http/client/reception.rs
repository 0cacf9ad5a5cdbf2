//! What comes back: heads, bodies, and the ends of them.

use alloc::string::String;
use alloc::vec::Vec;
use core::mem::take;

use super::exchange::{Exchange, ExchangeNumber, Purpose};
use super::posts::{Manner, Posts};
use super::reader::{Form, ResponseReader};
use super::url::resolve;
use crate::frame::Frames;
use crate::handle::CallId;
use crate::http::{Field, Headers, SseDecoder, has_content_type, name};
use crate::json::{Envelope, Str};
use crate::peer::{Arrival, CarrierFailure, CarrierFailureKind, ExchangeEnd, Lane};
use crate::rpc::{Message, Versions, classify};
use crate::time::Instant;

/// Something that has come of an exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Arrived<'r> {
    /// Messages for the machine: its [`Frames`](crate::Frames), mostly one, each with this arrival.
    Messages {
        /// The text.
        text: &'r [u8],
        /// What comes with it.
        arrival: Arrival,
    },
    /// A call has no answer: hand this to [`Client::exchange_ended`](crate::Client::exchange_ended).
    Ended {
        /// The call.
        call: CallId,
        /// How its exchange has ended.
        end: ExchangeEnd<'r>,
    },
    /// The server has not taken a notification, or an answer, of ours. That is for a log.
    NotTaken {
        /// The status of HTTP, if a response came.
        status: Option<u16>,
    },
    /// The server has ended the session, or does not know it: tell the machine
    /// ([`Cause::SessionLost`](crate::Cause::SessionLost)). Its
    /// [`successor`](crate::Client::successor) can ask for another session.
    SessionLost,
    /// The one stream of a server of 2024-11-05 has ended, and the connection with it: tell the machine.
    ConnectionLost,
}

/// # Receiving
impl Posts {
    /// The head of a response has come. Gives what reads the body, or nothing if nobody cares any more: then drop
    /// the response.
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
            _ if has_content_type(headers, "text/event-stream") && is_fine => {
                known.attempts = 0;
                Form::Events(SseDecoder::new(self.limits.frame_bytes))
            }
            Purpose::Request(_) | Purpose::Batch | Purpose::Notice { .. }
                if has_content_type(headers, "application/json") && status != 202 =>
            {
                Form::Json(Vec::new())
            }
            Purpose::Request(_) if self.manner != Manner::Streamable && is_fine => Form::Ignored,
            _ => Form::Unusable,
        };
        let opens =
            matches!(&known.purpose, Purpose::Request(asked) if asked.opens.is_some()) && is_fine;
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
        let mut reader = ResponseReader {
            exchange,
            status,
            form,
            most_bytes: self.limits.frame_bytes,
            rewritten: Vec::new(),
            is_done: false,
            refusal: None,
        };
        if !is_fine {
            reader.refusal = Some(failure(status, headers));
        }
        Some(reader)
    }

    /// A part of the body has come. Takes as much of it as it needs for the next thing it has to say; ask until that
    /// is nothing.
    pub fn chunk<'r>(
        &mut self,
        reader: &'r mut ResponseReader,
        chunk: &mut &[u8],
        now: Instant,
    ) -> Option<Arrived<'r>> {
        let ResponseReader { exchange, form, most_bytes, rewritten, is_done, .. } = reader;
        if *is_done {
            return None;
        }
        match form {
            Form::Ignored | Form::Unusable => None,
            Form::Json(body) if *most_bytes < body.len() + chunk.len() => {
                *is_done = true;
                self.fail(*exchange, CarrierFailure::new(CarrierFailureKind::TooLong))
            }
            Form::Json(body) => {
                body.extend_from_slice(take(chunk));
                None
            }
            Form::Events(decoder) => {
                while let Some(event) = decoder.next(chunk) {
                    let Ok(event) = event else {
                        *is_done = true;
                        let failure = CarrierFailure::new(CarrierFailureKind::TooLong);
                        return self.fail(*exchange, failure);
                    };
                    let known = self.exchanges.get_mut(exchange)?;
                    known.note_id(event.last_event_id);
                    known.retry = event.retry.or(known.retry);
                    if known.purpose == Purpose::OneStream && event.event_type == "endpoint" {
                        let place = event.data.and_then(|data| core::str::from_utf8(data).ok());
                        match self.endpoint(place.unwrap_or_default()) {
                            Ok(()) => continue,
                            Err(()) => return self.fall_short(*exchange),
                        }
                    }
                    if self.is_early(*exchange) {
                        continue;
                    }
                    let Some(text) = event.message().filter(|text| !text.is_empty()) else {
                        continue;
                    };
                    let looked = self.look(*exchange, text, rewritten);
                    if !looked.is_rewritten {
                        rewritten.clear();
                        rewritten.extend_from_slice(text);
                    }
                    *is_done = looked.is_answer;
                    let arrival = self.arrival(*exchange, now);
                    return Some(Arrived::Messages { text: rewritten, arrival });
                }
                None
            }
        }
    }

    /// The body has ended, as it should or because the connection has broken off.
    pub fn end<'r>(&mut self, reader: &'r mut ResponseReader, now: Instant) -> Option<Arrived<'r>> {
        let exchange = reader.exchange;
        if reader.is_done {
            self.exchanges.remove(&exchange);
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
            Form::Unusable => self.unusable(exchange),
            Form::Events(_) => self.broke_off(exchange, now),
            Form::Json(body) if body.is_empty() => self.unusable(exchange),
            Form::Json(body) => {
                let arrival = self.arrival(exchange, now);
                let looked = self.look(exchange, body, &mut reader.rewritten);
                let text: &[u8] = if looked.is_rewritten { &reader.rewritten } else { body };
                let known = self.exchanges.remove(&exchange)?;
                match known.purpose {
                    // Of several calls nobody knows which are answered until the machine has looked.
                    Purpose::Batch => Some(Arrived::Messages { text, arrival }),
                    Purpose::Request(_) if looked.is_answer => {
                        Some(Arrived::Messages { text, arrival })
                    }
                    Purpose::Request(asked) => Some(no_answer(asked.call)),
                    _ => None,
                }
            }
        }
    }

    /// The request could not be made, or its response broke off before the head.
    pub fn failed(&mut self, exchange: ExchangeNumber, now: Instant) -> Option<Arrived<'static>> {
        self.has_begun(exchange);
        let known = self.exchanges.get(&exchange)?;
        if known.has_head || known.last_event.is_some() {
            return self.broke_off(exchange, now);
        }
        match known.purpose {
            Purpose::Standalone => {
                self.try_again(exchange, now);
                None
            }
            Purpose::OneStream => self.fall_short(exchange),
            _ => self.fail(exchange, CarrierFailure::new(CarrierFailureKind::Unreachable)),
        }
    }
}

impl Posts {
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
        let Purpose::Request(asked) = &known.purpose else { return Looked::default() };
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

    /// The server has refused a request with a status.
    fn refused<'r>(
        &mut self,
        reader: &'r ResponseReader,
        refusal: CarrierFailure<'static>,
        now: Instant,
    ) -> Option<Arrived<'r>> {
        let known = self.exchanges.get(&reader.exchange)?;
        let is_session_lost = reader.status == 404 && known.names_session;
        if is_session_lost && known.purpose != Purpose::Farewell {
            self.exchanges.remove(&reader.exchange);
            return Some(Arrived::SessionLost);
        }
        match &known.purpose {
            Purpose::Notice { .. } => {
                self.exchanges.remove(&reader.exchange);
                Some(Arrived::NotTaken { status: Some(reader.status) })
            }
            Purpose::Standalone | Purpose::Farewell | Purpose::Batch => {
                // A server need not have such a stream.
                self.exchanges.remove(&reader.exchange);
                None
            }
            Purpose::OneStream => self.fall_short(reader.exchange),
            Purpose::Request(asked) => {
                let call = asked.call;
                let is_unauthorized = refusal.kind == CarrierFailureKind::Unauthorized;
                let error = match &reader.form {
                    Form::Json(body) if !is_unauthorized => self.error_in(body),
                    _ => None,
                };
                let may_be_older = matches!(reader.status, 400 | 404 | 405) && error.is_none();
                if may_be_older && self.ask_in_the_old_way(reader.exchange, now) {
                    return None;
                }
                if known_to_resume(&self.exchanges, reader.exchange) {
                    // It was to go on with what had broken off, and cannot.
                    return self
                        .fail(reader.exchange, CarrierFailure::new(CarrierFailureKind::BrokenOff));
                }
                self.exchanges.remove(&reader.exchange);
                let end = error.map_or(ExchangeEnd::Failure(refusal), ExchangeEnd::Error);
                Some(Arrived::Ended { call, end })
            }
        }
    }

    /// The error of JSON-RPC in the body of a refusal, whatever id it has: it can only be about one request.
    fn error_in<'r>(&self, body: &'r [u8]) -> Option<crate::rpc::ErrorObject<'r>> {
        let envelope = Envelope::scan(body, self.limits.depth);
        match classify(&envelope, &self.limits, Versions::Any) {
            Ok(Message::Error { error, .. } | Message::IdlessError { error }) => Some(error),
            // Some put the name of their own failure where the id belongs, or null with something else.
            _ => None,
        }
    }

    /// A response that cannot answer a request.
    fn unusable<'r>(&mut self, exchange: ExchangeNumber) -> Option<Arrived<'r>> {
        let known = self.exchanges.get(&exchange)?;
        match known.purpose {
            Purpose::OneStream => self.fall_short(exchange),
            _ => self.fail(exchange, CarrierFailure::new(CarrierFailureKind::NoAnswer)),
        }
    }

    /// An exchange is over without the answer that it was for.
    pub(super) fn fail<'r>(
        &mut self,
        exchange: ExchangeNumber,
        failure: CarrierFailure<'static>,
    ) -> Option<Arrived<'r>> {
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

fn known_to_resume(
    exchanges: &alloc::collections::BTreeMap<ExchangeNumber, Exchange>,
    exchange: ExchangeNumber,
) -> bool {
    exchanges.get(&exchange).is_some_and(|known| known.last_event.is_some())
}

fn no_answer(call: CallId) -> Arrived<'static> {
    let failure = CarrierFailure::new(CarrierFailureKind::NoAnswer);
    Arrived::Ended { call, end: ExchangeEnd::Failure(failure) }
}

/// What a status says.
fn failure(status: u16, headers: Headers<'_>) -> CarrierFailure<'static> {
    let text = |name| match headers.get(name) {
        Field::Once(value) => Some(Str::from(value)),
        _ => None,
    };
    let challenge = text("WWW-Authenticate");
    let is_unauthorized = status == 401 || (status == 403 && challenge.is_some());
    let kind = if is_unauthorized {
        CarrierFailureKind::Unauthorized
    } else {
        CarrierFailureKind::Refused
    };
    let retry_after = text("Retry-After");
    CarrierFailure { status: Some(status), challenge, retry_after, ..CarrierFailure::new(kind) }
}

/// Whether this can be the id of a session.
fn is_session_id(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|byte| matches!(byte, b'!'..=b'~'))
}

impl Exchange {
    fn note_id(&mut self, id: &str) {
        // What no header field can hold cannot be sent back; an empty one takes the last one back.
        let is_sayable = id.bytes().all(|byte| matches!(byte, b' '..=b'~'));
        if self.in_session && is_sayable {
            self.last_event = (!id.is_empty()).then(|| String::from(id));
        }
    }
}
