//! Event streams of Streamable HTTP: opening the one of a session, and resuming streams that broke off.
//!
//! An exchange to be resumed stays in the table, due at the time of its next request.

use super::exchange::{Exchange, ExchangeNumber, Purpose};
use super::request::HttpRequest;
use super::requests::Requests;
use crate::http::name;
use crate::time::Instant;

/// The result of looking for an exchange that is due.
pub(super) enum Due {
    /// No exchange is due.
    Nothing,
    /// An exchange was resumed.
    Resumed,
    /// The server has not answered this notice in time.
    Unanswered(ExchangeNumber),
    /// The event stream of HTTP+SSE is due: the server has not named its endpoint in time.
    WithoutEndpoint(ExchangeNumber),
}

impl Requests {
    /// Resumes the first exchange that is due.
    pub(super) fn resume_due(&mut self, now: Instant) -> Due {
        let due = self.exchanges.next_due().filter(|(due, _)| *due <= now);
        let Some((_, number)) = due else { return Due::Nothing };
        if self.exchanges.get(&number).is_some_and(Exchange::is_one_stream) {
            return Due::WithoutEndpoint(number);
        }
        if self.exchanges.get(&number).is_some_and(Exchange::is_notice) {
            return Due::Unanswered(number);
        }
        let Some(exchange) = self.exchanges.remove(&number) else { return Due::Nothing };
        self.resume(exchange);
        Due::Resumed
    }

    /// Requests the event stream of an exchange again, from its last event on.
    fn resume(&mut self, mut exchange: Exchange) {
        exchange.set_due(None);
        (exchange.has_head, exchange.refusal) = (false, None);
        let mut request = HttpRequest::get(&self.config().url);
        if let Some(event) = exchange.resumption.last_event() {
            request.add(name::LAST_EVENT_ID, event);
        }
        self.send_in_session(exchange, request);
    }

    /// Schedules an exchange to be resumed. A call needs an attempt that is left; the event stream of a session is
    /// requested as long as the session lasts, because nothing else would show the application that it is missing. A
    /// lack of authorization suspends it instead.
    pub(super) fn retry(&mut self, exchange: ExchangeNumber, now: Instant) {
        let Some(mut known) = self.exchanges.remove(&exchange) else { return };
        let delay = known.resumption.next_delay(self.config());
        known.set_due(Some(now + delay));
        self.exchanges.insert(exchange, known);
    }

    /// Removes the event stream of a session that the client is not authorized to request. It is requested again once
    /// the server accepts a POST. By itself it would ask a user for another login again and again.
    pub(super) fn suspend(&mut self, exchange: ExchangeNumber) {
        self.suspended = self.exchanges.remove(&exchange);
    }

    /// Requests a suspended event stream, because the server has accepted a POST of the session.
    pub(super) fn end_suspension(&mut self) {
        if let Some(exchange) = self.suspended.take() {
            self.resume(exchange);
        }
    }

    /// Requests the event stream of a session, unless it is already requested or disabled by the configuration.
    pub(super) fn listen(&mut self) -> Option<ExchangeNumber> {
        self.suspended = None;
        if !self.config().listens || self.exchanges.has(&Purpose::Standalone) {
            return None;
        }
        let request = HttpRequest::get(&self.config().url);
        Some(self.send_in_session(Exchange::new(Purpose::Standalone, true), request))
    }
}
