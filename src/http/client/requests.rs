//! [`Requests`], the HTTP requests that a connection sends and aborts.
//!
//! An exchange is open from the action that sends its request until its removal from the table. Numbers of exchanges
//! count up and are never reused. Every request has the configured header fields.

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::action::Action;
use super::config::HttpClientConfig;
use super::exchange::{Exchange, ExchangeNumber, Purpose};
use super::exchange_table::ExchangeTable;
use super::request::HttpRequest;
use super::session::Session;
use super::transport::Transport;
use crate::connection::TransportFailure;
use crate::handle::CallId;

/// The open exchanges of one connection, their session and transport, and the pending actions.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Requests {
    config: Arc<HttpClientConfig>,
    pub(super) session: Session,
    pub(super) transport: Transport,
    pub(super) exchanges: ExchangeTable,
    /// The event stream of the session, while the client is not authorized to request it.
    pub(super) suspended: Option<Exchange>,
    next_number: u64,
    actions: VecDeque<Action>,
}

impl Requests {
    pub(super) fn new(config: Arc<HttpClientConfig>) -> Self {
        Self {
            session: Session::default(),
            transport: Transport::new(config.one_stream),
            exchanges: ExchangeTable::default(),
            suspended: None,
            next_number: 0,
            actions: VecDeque::new(),
            config,
        }
    }

    pub(super) fn config(&self) -> &HttpClientConfig {
        &self.config
    }

    pub(super) const fn actions(&self) -> &VecDeque<Action> {
        &self.actions
    }

    pub(super) fn pop_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// Creates a POST of a message to the endpoint for messages.
    pub(super) fn post(&self, message: Vec<u8>) -> HttpRequest {
        HttpRequest::post(self.transport.target(&self.config.url), message)
    }

    /// Sends an HTTP request.
    pub(super) fn send(&mut self, exchange: Exchange, mut request: HttpRequest) -> ExchangeNumber {
        let fixed = self.config.headers().iter();
        request.headers.extend(fixed.map(|(name, value)| (name.clone().into(), value.clone())));
        let number = ExchangeNumber(self.next_number);
        self.next_number += 1;
        self.exchanges.insert(number, exchange);
        self.actions.push_back(Action::Send { exchange: number, request });
        number
    }

    /// Sends a request in a session, or one that opens a session.
    pub(super) fn send_in_session(
        &mut self,
        mut exchange: Exchange,
        mut request: HttpRequest,
    ) -> ExchangeNumber {
        // A GET resumes the response to `initialize`, which has set the id of the session.
        let opens = request.method == "POST" && exchange.opens_session();
        if self.transport.is_streamable() && !opens {
            exchange.names_session |= self.session.label(&mut request);
        }
        self.send(exchange, request)
    }

    /// Ends the session at the server, if there is one.
    pub(super) fn end_session(&mut self) {
        if self.session.id().is_some() {
            let mut request = HttpRequest::delete(&self.config.url);
            self.session.label(&mut request);
            self.session.forget_id();
            self.send(Exchange::new(Purpose::Farewell, true), request);
        }
    }

    /// Aborts an exchange.
    pub(super) fn abort(&mut self, exchange: ExchangeNumber) {
        let Some(known) = self.exchanges.remove(&exchange) else { return };
        // An exchange that waits to be resumed has no open request.
        let is_open = known.due().is_none() || known.is_one_stream() || known.is_notice();
        if is_open {
            self.actions.push_back(Action::Abort { exchange });
        }
    }

    /// Aborts every exchange.
    pub(super) fn abort_all(&mut self) {
        self.suspended = None;
        while let Some(exchange) = self.exchanges.keys().next().copied() {
            self.abort(exchange);
        }
    }

    /// Aborts the requests that probe whether the server needs a session.
    pub(super) fn abort_probes(&mut self) {
        for probe in self.exchanges.probes() {
            self.abort(probe);
        }
    }

    /// Aborts the requests that open a session.
    pub(super) fn abort_openings(&mut self) {
        for (opening, _) in self.exchanges.openings() {
            self.abort(opening);
        }
    }

    /// Aborts the exchange of a call that has ended without a response on it. The exchange of a batch is aborted with
    /// its last call. An exchange whose late response is awaited stays open.
    pub(super) fn abort_call(&mut self, call: CallId) {
        // With HTTP+SSE all responses arrive on the one stream.
        if self.transport.is_streamable()
            && let Some(number) = self.exchanges.waits_for(call)
            && !self.exchanges.get(&number).is_some_and(Exchange::is_late)
            && self.exchanges.leaves_batch(number, call)
        {
            self.abort(number);
        }
    }

    /// Keeps the exchange of a call open while its late response is awaited, and aborts it after that.
    pub(super) fn note_late(&mut self, call: CallId, is_awaited: bool) {
        if let Some(number) = self.exchanges.waits_for(call)
            && let Some(known) = self.exchanges.get_mut(&number)
            && let Purpose::Request(asked) = &mut known.purpose
        {
            asked.is_late = is_awaited;
        }
        if !is_awaited {
            self.abort_call(call);
        }
    }

    /// Aborts the exchange of a cancelled request. The exchange of a batch is aborted with its last call. Returns
    /// whether this already cancels the request, as in the modern era.
    pub(super) fn cancel(&mut self, id: &str) -> bool {
        let Some(exchange) = self.exchanges.carries(id) else { return false };
        let known = self.exchanges.get(&exchange);
        let is_sessionless = known.is_some_and(|known| !known.in_session);
        let in_batch = known.and_then(|known| known.call_in_batch(id));
        if in_batch.is_none_or(|call| self.exchanges.leaves_batch(exchange, call)) {
            self.abort(exchange);
        }
        is_sessionless
    }

    /// Ends calls that cannot be sent.
    pub(super) fn fail(
        &mut self,
        calls: impl IntoIterator<Item = CallId>,
        failure: &TransportFailure<'static>,
    ) {
        let fail = |call| Action::Fail { call, failure: failure.clone() };
        self.actions.extend(calls.into_iter().map(fail));
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;
    use crate::time::Instant;

    fn requests() -> Requests {
        let mut config = HttpClientConfig::new("https://a.example/mcp");
        config.header("X-Who", "me").expect("it is no reserved field");
        Requests::new(Arc::new(config))
    }

    #[test]
    fn numbers_count_up_and_fields_go_with_every_request() {
        let mut requests = requests();
        for number in 0..3 {
            let request = requests.post(Vec::new());
            let made =
                requests.send(Exchange::new(Purpose::Batch(Default::default()), true), request);
            assert_eq!(made, ExchangeNumber(number));
            requests.abort(made);
            let Some(Action::Send { request, .. }) = requests.pop_action() else { panic!("made") };
            assert!(request.headers.contains(&("X-Who".into(), "me".into())));
            assert_eq!(requests.pop_action(), Some(Action::Abort { exchange: made }));
        }
        assert_eq!(requests.pop_action(), None);
    }

    #[test]
    fn an_exchange_that_waits_to_be_resumed_is_not_aborted() {
        let mut requests = requests();
        let request = requests.post(Vec::new());
        let made = requests.send(Exchange::new(Purpose::Standalone, true), request);
        _ = requests.pop_action();
        requests.exchanges.set_due(made, Some(Instant::EPOCH + Duration::from_secs(1)));
        requests.abort_all();
        assert!(requests.exchanges.is_empty() && requests.exchanges.next_due().is_none());
        assert_eq!(requests.pop_action(), None);
    }
}
