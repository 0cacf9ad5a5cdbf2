//! Event streams of Streamable HTTP: opening the one of a session, and resuming those that have broken off.
//!
//! An exchange that is to be resumed stays in the table, due at the time of its next request.

use super::exchange::{Exchange, ExchangeNumber, Purpose};
use super::request::HttpRequest;
use super::requests::Requests;
use crate::http::name;
use crate::time::Instant;

/// The exchange that was due.
pub(super) enum Due {
    /// There was none.
    Nothing,
    /// It has been resumed.
    Resumed,
    /// It is the event stream of HTTP+SSE, on which the server has not named its endpoint in time.
    WithoutEndpoint(ExchangeNumber),
}

impl Requests {
    /// Resumes the first exchange whose time has come.
    pub(super) fn resume_due(&mut self, now: Instant) -> Due {
        let due = self.exchanges.next_due().filter(|(due, _)| *due <= now);
        let Some((_, number)) = due else { return Due::Nothing };
        if self.exchanges.get(&number).is_some_and(Exchange::is_one_stream) {
            return Due::WithoutEndpoint(number);
        }
        let Some(mut exchange) = self.exchanges.remove(&number) else { return Due::Nothing };
        exchange.set_due(None);
        (exchange.has_head, exchange.verdict) = (false, None);
        let mut request = HttpRequest::get(&self.config().url);
        if let Some(event) = exchange.resumption.last_event() {
            request.add(name::LAST_EVENT_ID, event);
        }
        self.send_in_session(exchange, request);
        Due::Resumed
    }

    /// Has an exchange resumed later, or removes it after too many attempts.
    pub(super) fn retry(&mut self, exchange: ExchangeNumber, now: Instant) {
        let Some(mut known) = self.exchanges.remove(&exchange) else { return };
        if let Some(delay) = known.resumption.next_delay(self.config()) {
            known.set_due(Some(now + delay));
            self.exchanges.insert(exchange, known);
        }
    }

    /// Asks for the event stream of a session, unless there is one or none is wanted.
    pub(super) fn listen(&mut self) -> Option<ExchangeNumber> {
        if !self.config().listens || self.exchanges.has(&Purpose::Standalone) {
            return None;
        }
        let request = HttpRequest::get(&self.config().url);
        Some(self.send_in_session(Exchange::new(Purpose::Standalone, true), request))
    }
}
