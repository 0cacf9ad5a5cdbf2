//! The ends of exchanges without the expected response: refusals, failures, and streams that break off.
//!
//! A call ends at most once here: its exchange is removed with its end, or waits to be resumed.

use alloc::vec::Vec;
use core::mem::take;

use super::arrived::{Arrived, Step};
use super::client_transport::ClientTransport;
use super::exchange::{ExchangeNumber, Purpose};
use super::response::error_in;
use super::response_reader::{Form, ResponseReader};
use super::tool_calls::{begin_refresh, give_up};
use crate::connection::{ExchangeEnd, TransportError, TransportFailure, TransportFailureKind};
use crate::frame::Tag;
use crate::handle::CallId;
use crate::time::Instant;

impl ClientTransport {
    /// Handles a refusal of a request by its status.
    pub(super) fn refused(
        &mut self,
        reader: &mut ResponseReader,
        refusal: TransportFailure<'static>,
        now: Instant,
    ) -> Option<Step> {
        let exchange = reader.exchange;
        let known = self.requests.exchanges.get(&exchange)?;
        // Many servers without this stream respond with 404 to the first GET. If instead the session is lost, the
        // next request shows it.
        let is_no_stream = known.purpose == Purpose::Standalone && !known.was_open;
        let is_session_lost = reader.status == 404 && known.names_session && !is_no_stream;
        if is_session_lost && known.purpose != Purpose::Farewell {
            self.requests.exchanges.remove(&exchange);
            let long = self.requests.config().most_delay;
            self.requests.session.note_lost(now, long);
            return Some(Step::Other(Arrived::SessionLost));
        }
        match &known.purpose {
            Purpose::Notice { .. } => {
                self.requests.exchanges.remove(&exchange);
                Some(Step::Other(Arrived::NotTaken { status: Some(reader.status) }))
            }
            // The server may be overloaded or restarting, may not have noticed the end of the last stream yet (409), or
            // may have forgotten the event to resume from (400).
            Purpose::Standalone if known.was_open && reader.status != 405 => {
                if reader.status == 400
                    && let Some(known) = self.requests.exchanges.get_mut(&exchange)
                {
                    known.resumption.note_id("");
                }
                self.requests.retry(exchange, now);
                None
            }
            // A server that is overloaded or restarting may have the stream later.
            Purpose::Standalone
                if is_temporary(reader.status)
                    && known.resumption.has_attempts(self.requests.config()) =>
            {
                self.requests.retry(exchange, now);
                None
            }
            Purpose::Standalone | Purpose::Farewell => {
                // The stream is optional for servers.
                self.requests.exchanges.remove(&exchange);
                None
            }
            Purpose::Batch(_) => self.fail(exchange, refusal).map(Step::Other),
            Purpose::OneStream => self.one_stream_failed(exchange, refusal).map(Step::Other),
            Purpose::Refresh(_) => {
                give_up(&mut self.requests, exchange, &self.limits).map(Step::Other)
            }
            Purpose::Request(asked) => {
                let call = asked.call;
                self.request_refused(call, reader, refusal, now)
            }
        }
    }

    /// Handles a refusal of the request of a call.
    fn request_refused(
        &mut self,
        call: CallId,
        reader: &mut ResponseReader,
        refusal: TransportFailure<'static>,
        now: Instant,
    ) -> Option<Step> {
        let (exchange, status) = (reader.exchange, reader.status);
        let is_unauthorized = refusal.kind == TransportFailureKind::Unauthorized;
        if let Form::Json(body) = &mut reader.form {
            reader.message = take(body);
        }
        let has_error = !is_unauthorized && error_in(&reader.message, &self.limits).is_some();
        // A server that rejects POST may still support the older transport, regardless of the body.
        let may_be_older = status == 405 || (matches!(status, 400 | 404) && !has_error);
        if !has_error {
            self.note_refusal("POST", &refusal);
        }
        let known = self.requests.exchanges.get(&exchange)?;
        if known.resumption.has_event() {
            // The request was to resume a stream that broke off. The server may be restarting, or may not have noticed
            // the end of the last response yet.
            let may_pass = status == 409 || is_temporary(status);
            if may_pass && known.resumption.has_attempts(self.requests.config()) {
                self.requests.retry(exchange, now);
                return None;
            }
            // The server may have processed the call, so it is not refused.
            let kind = if is_unauthorized { refusal.kind } else { TransportFailureKind::BrokenOff };
            return self.fail(exchange, TransportFailure { kind, ..refusal }).map(Step::Other);
        }
        if may_be_older && self.requests.falls_back(exchange, now) {
            return None;
        }
        let message = &reader.message;
        if has_error && begin_refresh(&mut self.requests, exchange, status, message, &self.limits) {
            return None;
        }
        self.requests.exchanges.remove(&exchange);
        if has_error {
            return Some(Step::Error(call, status));
        }
        Some(Step::Other(Arrived::Ended { call, end: ExchangeEnd::Failure(refusal) }))
    }

    /// Handles an event stream that ended early. `cause` is the transport error, or `None` if the body ended
    /// regularly.
    pub(super) fn broke_off(
        &mut self,
        exchange: ExchangeNumber,
        cause: Option<TransportError>,
        now: Instant,
    ) -> Option<Arrived<'static>> {
        let known = self.requests.exchanges.get(&exchange)?;
        let kind = TransportFailureKind::BrokenOff;
        let failure = TransportFailure { cause, ..TransportFailure::new(kind) };
        let can_resume = match &known.purpose {
            Purpose::Request(_) => known.resumption.has_event(),
            Purpose::Standalone => true,
            _ => false,
        };
        if known.is_one_stream() {
            return self.one_stream_failed(exchange, failure);
        }
        let has_attempts = known.purpose == Purpose::Standalone
            || known.resumption.has_attempts(self.requests.config());
        if can_resume && has_attempts {
            self.requests.retry(exchange, now);
            return None;
        }
        self.fail(exchange, failure)
    }

    /// Handles a response that cannot answer a request.
    pub(super) fn unusable(&mut self, exchange: ExchangeNumber) -> Option<Arrived<'static>> {
        let known = self.requests.exchanges.get(&exchange)?;
        let failure = TransportFailure::new(TransportFailureKind::NoAnswer);
        if known.is_one_stream() {
            self.one_stream_failed(exchange, failure)
        } else {
            self.fail(exchange, failure)
        }
    }

    /// Ends an exchange without the expected response.
    pub(super) fn fail(
        &mut self,
        exchange: ExchangeNumber,
        failure: TransportFailure<'static>,
    ) -> Option<Arrived<'static>> {
        let known = self.requests.exchanges.get(&exchange)?;
        if let Purpose::Refresh(_) = known.purpose {
            return give_up(&mut self.requests, exchange, &self.limits);
        }
        let known = self.requests.exchanges.remove(&exchange)?;
        match known.purpose {
            Purpose::Request(asked) => {
                Some(Arrived::Ended { call: asked.call, end: ExchangeEnd::Failure(failure) })
            }
            Purpose::Notice { .. } => Some(Arrived::NotTaken { status: failure.status }),
            Purpose::OneStream => Some(Arrived::ConnectionLost),
            Purpose::Batch(batch) => {
                self.requests.fail(batch.calls().iter().copied(), &failure);
                None
            }
            _ => None,
        }
    }

    /// Handles an HTTP+SSE event stream that is not supported or has ended.
    pub(super) fn one_stream_failed(
        &mut self,
        exchange: ExchangeNumber,
        failure: TransportFailure<'static>,
    ) -> Option<Arrived<'static>> {
        self.requests.abort(exchange);
        if !self.requests.transport.lacks_endpoint() {
            return Some(Arrived::ConnectionLost);
        }
        // The server supports neither transport. The failure of Streamable HTTP is the one to report.
        let reported = self.refusals.latest_of_post().unwrap_or(&failure).clone();
        self.note_refusal("GET", &failure);
        let mut calls = self.requests.leave_one_stream();
        calls.extend(self.withdraw());
        self.requests.fail(calls, &reported);
        None
    }

    /// Records a refusal if the connection is not open yet.
    fn note_refusal(&mut self, method: &'static str, failure: &TransportFailure<'static>) {
        if self.requests.session.revision().is_none() {
            self.refusals.note(method, failure);
        }
    }

    /// Drops the messages that wait to be sent, and returns their calls.
    fn withdraw(&mut self) -> Vec<CallId> {
        let mut calls = Vec::new();
        while let Some((_, tag)) = self.outbox.pop() {
            if let Tag::Call(call) = tag {
                calls.push(call);
            }
        }
        calls
    }
}

/// Whether a server can accept the same request later.
const fn is_temporary(status: u16) -> bool {
    matches!(status, 408 | 429 | 502 | 503 | 504)
}
