//! Outgoing messages of a client: each becomes an HTTP request, or aborts an exchange.

use alloc::vec::Vec;

use super::action::Action;
use super::client_transport::ClientTransport;
use super::exchange::{Exchange, Purpose};
use super::pending_batch::PendingBatch;
use super::pending_call::{CalledTool, PendingCall};
use super::request::{HeaderSource, Labels};
use super::resume::Due;
use super::tool_headers::UnencodableHeader;
use crate::connection::{TransportFailure, TransportFailureKind};
use crate::frame::Tag;
use crate::json::{Str, member};
use crate::time::Instant;
use crate::version::Revision;

/// # Sending
impl ClientTransport {
    /// Returns the next HTTP operation to perform. Call it until it returns `None`, after every input and at the time
    /// of [`poll_timeout`](Self::poll_timeout).
    #[must_use = "an action that is dropped is never done, and its message is lost"]
    pub fn poll_action(&mut self, now: Instant) -> Option<Action> {
        loop {
            if let Some(action) = self.requests.pop_action() {
                return Some(action);
            }
            match self.requests.resume_due(now) {
                Due::Nothing => {}
                Due::Resumed => continue,
                Due::Unanswered(notice) => {
                    self.requests.abort(notice);
                    continue;
                }
                Due::WithoutEndpoint(exchange) => {
                    let failure = TransportFailure::new(TransportFailureKind::NoAnswer);
                    _ = self.one_stream_failed(exchange, failure);
                    continue;
                }
            }
            self.hold.expire(now);
            if !self.can_post() {
                if self.requests.wants_one_stream() && !self.outbox.is_empty() {
                    self.requests.ask_for_one_stream(now);
                    continue;
                }
                return None;
            }
            let (message, tag) = self.outbox.pop()?;
            let message = Vec::from(message);
            self.post(message, tag, now);
        }
    }

    /// Sends a message, or performs the equivalent HTTP operation.
    fn post(&mut self, message: Vec<u8>, tag: Tag, now: Instant) {
        let until = now + self.requests.config().notice_timeout;
        if message.starts_with(b"[") {
            let exchange = match tag {
                Tag::Batch => {
                    let calls = self.batches.pop_front().unwrap_or_default();
                    Exchange::new(Purpose::Batch(PendingBatch::read(&message, &calls)), true)
                }
                _ => Exchange::notice(false, message.len(), until),
            };
            let request = self.requests.post(message);
            self.requests.send_in_session(exchange, request);
            return;
        }
        let source = HeaderSource::read(&message);
        let is = |name: &str| source.method.as_ref().is_some_and(|method| *method == *name);
        let opens = is("initialize");
        let is_sessionless = match self.requests.session.revision() {
            _ if opens => false,
            Some(revision) => revision.rules().requests_are_self_contained,
            None => source.version.is_some(),
        };
        if is("notifications/cancelled") {
            let id = source.params.and_then(|params| member(params, "requestId"));
            if id.is_some_and(|id| self.requests.cancel(id)) || is_sessionless {
                return;
            }
        }
        if opens {
            self.requests.session.set_revision(None);
        }
        let completes_handshake = is("notifications/initialized");
        let exchange = match (tag, source.id) {
            (Tag::Call(call), Some(id)) => {
                let asked = PendingCall {
                    lists_tools: is_sessionless && is("tools/list"),
                    called: if is_sessionless { CalledTool::read(&source) } else { None },
                    is_mended: self.tool_calls.take_mended(call),
                    probes: is("server/discover"),
                    opens: opens.then(|| message.clone()),
                    ..PendingCall::new(call, id)
                };
                Exchange::new(Purpose::Request(asked), !is_sessionless)
            }
            _ => {
                let mut notice = Exchange::notice(completes_handshake, message.len(), until);
                notice.in_session = !is_sessionless;
                notice
            }
        };
        if is_sessionless {
            match self.labels(&source) {
                Ok(labels) => {
                    let mut request = self.requests.post(message);
                    request.headers.extend(labels);
                    self.requests.send(exchange, request);
                }
                Err(UnencodableHeader) => {
                    let failure = TransportFailure::new(TransportFailureKind::UnencodableHeader);
                    self.requests.fail(exchange.waiting_call(), &failure);
                }
            }
            return;
        }
        let completes = exchange.completes_handshake();
        let request = self.requests.post(message);
        let number = self.requests.send_in_session(exchange, request);
        if completes {
            let deadline = now + self.requests.config().listen_first;
            self.hold.until_initialized(number, deadline);
        }
    }

    /// Returns the header fields of a modern message.
    fn labels(&self, source: &HeaderSource<'_>) -> Result<Labels, UnencodableHeader> {
        let agreed = self.requests.session.revision();
        let revision = agreed.unwrap_or(Revision::LATEST_MODERN).name();
        let version = source.version.as_ref().map(Str::to_str);
        let mut labels = source.labels(version.as_deref().unwrap_or(revision));
        labels.extend(self.tool_calls.headers.labels(source)?);
        Ok(labels)
    }
}

/// # Time
impl ClientTransport {
    /// Returns the time at which to call [`poll_action`](Self::poll_action) without other input.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let due = self.requests.exchanges.next_due().map(|(due, _)| due);
        due.into_iter().chain(self.hold.deadline()).min()
    }
}
