//! HTTP+SSE of 2024-11-05: its one event stream, and the `initialize` requests that move to it.
//!
//! Until the server names its endpoint on the stream, the exchange of the stream has a deadline.

use alloc::vec::Vec;

use super::config::OneStream;
use super::exchange::{Exchange, ExchangeNumber, Purpose};
use super::request::HttpRequest;
use super::requests::Requests;
use super::transport::Transport;
use crate::handle::CallId;
use crate::time::Instant;

impl Requests {
    /// Whether the event stream must be requested.
    pub(super) fn wants_one_stream(&self) -> bool {
        self.transport.lacks_endpoint() && !self.exchanges.has(&Purpose::OneStream)
    }

    /// Requests the event stream.
    pub(super) fn ask_for_one_stream(&mut self, now: Instant) {
        let request = HttpRequest::get(&self.config().url);
        let mut exchange = Exchange::new(Purpose::OneStream, true);
        exchange.set_due(Some(now + self.config().endpoint_timeout));
        self.send_in_session(exchange, request);
    }

    /// Falls back to HTTP+SSE if the refused exchange carries `initialize` and the configuration allows it. Returns
    /// whether it does.
    pub(super) fn falls_back(&mut self, exchange: ExchangeNumber, now: Instant) -> bool {
        let may = self.exchanges.get(&exchange).is_some_and(Exchange::opens_session)
            && self.config().one_stream == OneStream::Fallback
            && self.transport.is_streamable();
        if may {
            self.transport = Transport::OneStream { endpoint: None };
            self.ask_for_one_stream(now);
        }
        may
    }

    /// Returns to Streamable HTTP. Removes the waiting `initialize` requests and returns their calls.
    pub(super) fn leave_one_stream(&mut self) -> Vec<CallId> {
        self.transport = Transport::Streamable;
        let openings = self.exchanges.openings().into_iter();
        let removed = openings.filter_map(|(opening, _)| self.exchanges.remove(&opening));
        removed.filter_map(|exchange| exchange.waiting_call()).collect()
    }

    /// Sets the endpoint that the server has named. With the first endpoint, the `initialize` requests that
    /// Streamable HTTP refused are sent to it.
    ///
    /// Fails if messages must not be sent to the endpoint.
    pub(super) fn take_endpoint(&mut self, place: &str) -> Result<(), ()> {
        let url = &self.config().url.clone();
        if !self.transport.set_endpoint(url, place)? {
            return Ok(());
        }
        let stream = self.exchanges.iter().find(|(_, exchange)| exchange.is_one_stream());
        if let Some(stream) = stream.map(|(number, _)| *number) {
            self.exchanges.set_due(stream, None);
        }
        for (number, message) in self.exchanges.openings() {
            if let Some(exchange) = self.exchanges.remove(&number) {
                let request = self.post(message);
                self.send_in_session(Exchange::new(exchange.purpose, true), request);
            }
        }
        Ok(())
    }
}
