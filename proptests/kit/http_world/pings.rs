//! The pings of the clients, compared with a model of keep-alive.

use mcp_sansio::call::ExchangeEnd;
use mcp_sansio::http::ExchangeNumber;
use mcp_sansio::{Cause, ClientEvent, Instant};
use serde_json::Value;

use super::client_side::SimulatedClient;
use super::exchanges::{EventStream, SentRequests};

impl SimulatedClient {
    /// Records a message of the server.
    pub(super) fn note_message(&mut self, message: &[u8], now: Instant) {
        let body: Value = serde_json::from_slice(message).unwrap_or_default();
        let id = body["id"].as_u64().filter(|_| body.get("method").is_none());
        let is_pong = id.is_some() && id == self.silence.pending();
        self.silence.received(message, is_pong, now);
    }

    /// Records the end of an exchange without a response that has the id of its request. Only an error counts as a
    /// response.
    pub(super) fn note_exchange_end(
        &mut self,
        exchange: ExchangeNumber,
        end: &ExchangeEnd<'_>,
        now: Instant,
    ) {
        let ExchangeEnd::Error { error, .. } = end else { return };
        let ping = self.silence.pending();
        let is_pong = ping.is_some_and(|id| self.sent_requests.carries(exchange, id));
        let message = format!(r#"{{"error":{{"code":{}}}}}"#, error.code.get());
        self.silence.received(message.as_bytes(), is_pong, now);
    }

    /// Handles what is due, and checks the pings that it causes.
    pub(super) fn handle_timeout(
        &mut self,
        now: Instant,
    ) -> Result<Option<ClientEvent<'static>>, String> {
        let Self { machine, transport, silence, .. } = self;
        let before = silence.before(machine, transport.queued());
        let event = machine.handle_timeout(now, transport).map(ClientEvent::into_owned);
        let missed = match &event {
            Some(ClientEvent::Unresponsive { missed, .. }) => Some(*missed),
            Some(ClientEvent::Closed { cause: Cause::Unresponsive, .. }) => {
                silence.unresponsive(now).map_err(|broken| format!("ping: {broken}"))?;
                None
            }
            _ => None,
        };
        let handled = silence.handled(before, missed, transport.queued(), now);
        handled.map_err(|broken| format!("ping: {broken}"))?;
        Ok(event)
    }

    /// Checks that no ping is late.
    pub(super) fn check_pings(&mut self, now: Instant) -> Result<(), String> {
        let settled = self.silence.settled(&self.machine, true, now);
        settled.map_err(|broken| format!("ping: {broken}"))
    }

    /// Records that the session is lost.
    pub(super) fn forget_session(&mut self) {
        self.silence.restarted();
        self.stream = EventStream::default();
        self.sent_requests = SentRequests::default();
    }
}
