//! Exchanges that have broken off: streams are asked for again, and servers of 2024-11-05 in their own way.

use alloc::vec::Vec;
use core::time::Duration;

use super::arrived::{Arrived, Step};
use super::config::OneStream;
use super::exchange::{Exchange, ExchangeNumber, Purpose, Verdict};
use super::posts::{Action, Manner, Posts};
use super::reader::{Form, ResponseReader};
use super::request::HttpRequest;
use crate::http::name;
use crate::peer::{CarrierFailure, CarrierFailureKind, TransportError};
use crate::time::Instant;

/// # Receiving
impl Posts {
    /// The request could not be made: nothing of it can have reached the server. The error says why, if the carrier
    /// knows; it is the [`cause`](CarrierFailure::cause) of the failure of the call.
    #[must_use = "what has arrived is lost unless the machine receives it"]
    pub fn failed(
        &mut self,
        exchange: ExchangeNumber,
        error: Option<TransportError>,
        now: Instant,
    ) -> Option<Arrived<'static>> {
        let kind = CarrierFailureKind::Unreachable;
        let failure = CarrierFailure { cause: error, ..CarrierFailure::new(kind) };
        self.ended_without(exchange, failure, now)
    }

    /// The exchange has broken off, before the head of the response or behind it. The server may have taken the
    /// request. The error says why, as for [`failed`](Self::failed).
    #[must_use = "what has arrived is lost unless the machine receives it"]
    pub fn broken(
        &mut self,
        exchange: ExchangeNumber,
        error: Option<TransportError>,
        now: Instant,
    ) -> Option<Arrived<'static>> {
        let failure = CarrierFailure { cause: error, ..broken_off() };
        self.ended_without(exchange, failure, now)
    }

    fn ended_without(
        &mut self,
        exchange: ExchangeNumber,
        failure: CarrierFailure<'static>,
        now: Instant,
    ) -> Option<Arrived<'static>> {
        self.has_begun(exchange);
        let known = self.exchanges.get_mut(&exchange)?;
        match known.verdict.take() {
            Some(Verdict::Taken) => {
                self.exchanges.remove(&exchange);
                return None;
            }
            Some(Verdict::Refused(status, refusal)) => {
                // Without a body there is no message in it.
                let mut reader = ResponseReader::new(exchange, status, Form::Unusable, 0);
                return self.refused(&mut reader, refusal, now).and_then(Step::without_message);
            }
            None => {}
        }
        if known.has_head || known.last_event.is_some() {
            return self.broke_off(exchange, failure.cause, now);
        }
        match known.purpose {
            Purpose::Standalone => {
                self.try_again(exchange, now);
                None
            }
            Purpose::OneStream => self.fall_short(exchange, failure),
            _ => self.fail(exchange, failure),
        }
    }
}

/// # Time
impl Posts {
    /// When to ask for the next [action](Self::poll_action) although nothing has happened.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let due = self.exchanges.next_due().map(|(due, _)| due);
        let opening = self.opening.into_iter().chain(self.completing);
        due.into_iter().chain(opening.map(|(_, until)| until)).min()
    }

    /// Asks again for the streams whose time has come. Says whether there was one.
    pub(super) fn come_back(&mut self, now: Instant) -> bool {
        let due = self.exchanges.next_due().filter(|(due, _)| *due <= now);
        let Some((_, number)) = due else { return false };
        let Some(mut exchange) = self.exchanges.remove(&number) else { return false };
        if exchange.purpose == Purpose::OneStream {
            // It has not said in time where messages go.
            self.exchanges.insert(number, exchange);
            let failure = CarrierFailure::new(CarrierFailureKind::NoAnswer);
            _ = self.fall_short(number, failure);
            return true;
        }
        exchange.set_due(None);
        (exchange.has_head, exchange.verdict) = (false, None);
        let mut request = HttpRequest::get(&self.config.url);
        if let Some(event) = &exchange.last_event {
            request.add(name::LAST_EVENT_ID, event);
        }
        self.send_in_session(exchange, request);
        true
    }

    /// An event stream has ended before everything was said on it: because of an error of the transport, unless its
    /// body has an end.
    pub(super) fn broke_off<'r>(
        &mut self,
        exchange: ExchangeNumber,
        cause: Option<TransportError>,
        now: Instant,
    ) -> Option<Arrived<'r>> {
        let known = self.exchanges.get(&exchange)?;
        let is_over = match &known.purpose {
            Purpose::Request(_) => known.is_answered,
            Purpose::Standalone => false,
            _ => true,
        };
        let failure = CarrierFailure { cause, ..broken_off() };
        let can_resume = known.purpose == Purpose::Standalone || known.last_event.is_some();
        if known.purpose == Purpose::OneStream {
            return self.fall_short(exchange, failure);
        }
        if !is_over && can_resume && known.attempts < self.config.attempts {
            self.try_again(exchange, now);
            return None;
        }
        self.fail(exchange, failure)
    }

    /// Has a stream asked for again, later.
    pub(super) fn try_again(&mut self, exchange: ExchangeNumber, now: Instant) {
        let (first, most) = (self.config.first_delay, self.config.most_delay);
        let attempts = self.config.attempts;
        let Some(known) = self.exchanges.get_mut(&exchange) else { return };
        if attempts <= known.attempts {
            self.exchanges.remove(&exchange);
            return;
        }
        let usual = delay(first, most, known.attempts);
        // A server that has it come back at once, and has nothing to say each time, does not know what it says.
        let is_empty = PATIENCE < known.empty_streams;
        let least = if is_empty { first } else { Duration::ZERO };
        let delay = known.retry.map_or(usual, |retry| retry.max(least));
        known.empty_streams += 1;
        known.attempts += 1;
        self.exchanges.set_due(exchange, Some(now + delay));
    }

    /// Asks for the event stream of a session.
    pub(super) fn listen(&mut self, now: Instant) {
        let has_one = |exchange: &Exchange| exchange.purpose == Purpose::Standalone;
        if self.config.listens && !self.exchanges.values().any(has_one) {
            let request = HttpRequest::get(&self.config.url);
            let exchange = self.send_in_session(Exchange::new(Purpose::Standalone, true), request);
            self.opening = Some((exchange, now + self.config.listen_first));
        }
    }
}

const fn broken_off() -> CarrierFailure<'static> {
    CarrierFailure::new(CarrierFailureKind::BrokenOff)
}

/// How many streams in a row may bring nothing before the server is not asked again as soon as it wants.
const PATIENCE: u32 = 8;

/// Half as long again each time.
fn delay(first: Duration, most: Duration, attempts: u32) -> Duration {
    (0..attempts).fold(first, |delay, _| (delay + delay / 2).min(most)).min(most)
}

/// # Servers of 2024-11-05
impl Posts {
    /// The request for a session was refused by a server that may be older than this way of asking. Says whether it
    /// is tried in the older way.
    pub(super) fn ask_in_the_old_way(&mut self, exchange: ExchangeNumber, now: Instant) -> bool {
        let asks = self.exchanges.get(&exchange).is_some_and(
            |known| matches!(&known.purpose, Purpose::Request(asked) if asked.opens.is_some()),
        );
        let may = asks
            && self.config.one_stream == OneStream::Fallback
            && self.manner == Manner::Streamable;
        if may {
            self.manner = Manner::OneStream { endpoint: None };
            self.ask_for_one_stream(now);
        }
        may
    }

    pub(super) fn ask_for_one_stream(&mut self, now: Instant) {
        let timeout = self.config.endpoint_timeout;
        let request = HttpRequest::get(&self.config.url);
        let mut exchange = Exchange::new(Purpose::OneStream, true);
        exchange.set_due(Some(now + timeout));
        self.send_in_session(exchange, request);
    }

    /// Whether the one stream has not been asked for.
    pub(super) fn wants_one_stream(&self) -> bool {
        let is_one = |exchange: &Exchange| exchange.purpose == Purpose::OneStream;
        self.manner == Manner::OneStream { endpoint: None } && !self.exchanges.values().any(is_one)
    }

    /// Says what was refused in the newer way, now that it is known where to.
    pub(super) fn say_again(&mut self) {
        let is_one = |exchange: &Exchange| exchange.purpose == Purpose::OneStream;
        let one = self.exchanges.iter().find(|(_, exchange)| is_one(exchange));
        if let Some(one) = one.map(|(number, _)| *number) {
            self.exchanges.set_due(one, None);
        }
        let Manner::OneStream { endpoint: Some(endpoint) } = &self.manner else { return };
        let endpoint = endpoint.clone();
        for (number, message) in self.openings() {
            if let Some(exchange) = self.exchanges.remove(&number) {
                let request = HttpRequest::post(&endpoint, message);
                self.send_in_session(Exchange::new(exchange.purpose, true), request);
            }
        }
    }

    /// The requests for a session that have not been answered.
    fn openings(&self) -> Vec<(ExchangeNumber, Vec<u8>)> {
        let opening = |exchange: &Exchange| match &exchange.purpose {
            Purpose::Request(asked) if !exchange.is_answered => asked.opens.clone(),
            _ => None,
        };
        let all = self.exchanges.iter();
        all.filter_map(|(number, exchange)| Some((*number, opening(exchange)?))).collect()
    }

    /// There is no such stream, or it has ended.
    pub(super) fn fall_short<'r>(
        &mut self,
        exchange: ExchangeNumber,
        failure: CarrierFailure<'static>,
    ) -> Option<Arrived<'r>> {
        self.abort(exchange);
        if self.manner != (Manner::OneStream { endpoint: None }) {
            return Some(Arrived::ConnectionLost);
        }
        // Neither way is served. The newer one says why.
        self.manner = Manner::Streamable;
        let newer = self.refusals.iter().rfind(|refusal| refusal.method == "POST");
        let told = newer.map_or_else(|| failure.clone(), |newer| newer.failure.clone());
        self.note_refusal("GET", &failure);
        let mut calls = Vec::new();
        for (opening, _) in self.openings() {
            let known = self.exchanges.remove(&opening);
            calls.extend(known.and_then(|known| known.waiting_call()));
        }
        calls.extend(self.withdraw());
        let fail = |call| Action::Fail { call, failure: told.clone() };
        self.actions.extend(calls.into_iter().map(fail));
        None
    }
}
