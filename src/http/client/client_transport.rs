//! [`ClientTransport`], the outboxes of a client over HTTP, composed of the parts in this folder.
//!
//! This file has its state; `ending.rs` handles the ends of exchanges, `sending.rs` outgoing messages, and
//! `receiving.rs` responses. Each file uses only files before it.

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use super::config::HttpClientConfig;
use super::exchange::ExchangeNumber;
use super::refusals::{Refusal, Refusals};
use super::requests::Requests;
use super::session::Session;
use super::startup_hold::StartupHold;
use super::tool_calls::ToolCalls;
use crate::client::ClientEvent;
use crate::connection::{Outboxes, Route, SubscriptionNews};
use crate::frame::{Framing, Outbox};
use crate::handle::CallId;
use crate::limits::Limits;

/// The outboxes of one [`Client`](crate::Client) over HTTP.
///
/// Pass the transport to every method of the machine that takes `out`, and pass every event of the machine to
/// [`watch`](Self::watch). [`poll_action`](Self::poll_action) returns the HTTP operations to perform. Report
/// responses with [`head`](Self::head), [`chunk`](Self::chunk) and [`end`](Self::end), and failures with
/// [`failed`](Self::failed) and [`broken`](Self::broken). All but `head` return the input for the machine.
///
/// A call that is cancelled or times out is cancelled in the way of its era: in the modern era by aborting the
/// exchange, in a session by a notification.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ClientTransport {
    pub(super) limits: Limits,
    /// Whether a number in a string is the id of a request with that number.
    pub(super) stringified: bool,
    pub(super) outbox: Outbox,
    /// The calls of each batch in the outbox, in order; `None` instead of a call that has ended.
    pub(super) batches: VecDeque<Vec<Option<CallId>>>,
    pub(super) requests: Requests,
    pub(super) hold: StartupHold,
    pub(super) tool_calls: ToolCalls,
    pub(super) refusals: Refusals,
    is_finished: bool,
}

/// Omits the id of the session and the text of messages, because both are confidential.
impl fmt::Debug for ClientTransport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ClientTransport")
            .field("revision", &self.requests.session.revision())
            .field("has_session", &self.requests.session.id().is_some())
            .field("outbox", &self.outbox)
            .field("exchanges", &*self.requests.exchanges)
            .field("actions", self.requests.actions())
            .finish_non_exhaustive()
    }
}

/// # Starting
impl ClientTransport {
    /// Creates the transport of a client that has not sent anything.
    pub fn new(config: Arc<HttpClientConfig>, limits: &Limits) -> Self {
        Self {
            limits: limits.clone(),
            stringified: false,
            outbox: Outbox::new(Framing::Messages, limits),
            batches: VecDeque::new(),
            tool_calls: ToolCalls::new(config.most_tools, config.most_tool_bytes),
            requests: Requests::new(config),
            hold: StartupHold::default(),
            refusals: Refusals::default(),
            is_finished: false,
        }
    }

    /// Sets whether a response with the id `"7"` answers the request `7`. It must be as in the configuration of the
    /// machine: [`ConnectionConfig::match_stringified_ids`](crate::config::ConnectionConfig::match_stringified_ids).
    /// False by default.
    #[must_use]
    pub const fn match_stringified_ids(mut self, matches: bool) -> Self {
        self.stringified = matches;
        self
    }

    /// Returns the configuration.
    pub fn config(&self) -> &HttpClientConfig {
        self.requests.config()
    }

    /// Returns the id of the session, if the server has assigned one.
    pub fn session_id(&self) -> Option<&str> {
        self.requests.session.id()
    }

    /// Returns the tools that were removed from the latest lists because they cannot be called: the name of each
    /// tool, and the error in its schema.
    pub fn invalid_tools(&self) -> impl Iterator<Item = (&str, &crate::http::InvalidAnnotation)> {
        self.tool_calls.headers.invalid()
    }

    /// Whether no message waits to be sent.
    pub fn is_empty(&self) -> bool {
        self.outbox.is_empty()
    }

    /// The messages that wait to be sent.
    pub const fn queued(&self) -> &Outbox {
        &self.outbox
    }

    /// The messages that wait to be sent, to set their limit.
    pub const fn queued_mut(&mut self) -> &mut Outbox {
        &mut self.outbox
    }

    /// Whether the server has answered a request in its session, or the session has lasted for
    /// [`HttpClientConfig::most_delay`]. If not, another session will most likely fail too.
    pub const fn session_has_worked(&self) -> bool {
        self.requests.session.has_worked()
    }

    /// Returns the number of open exchanges.
    pub fn exchanges(&self) -> usize {
        self.requests.exchanges.len()
    }

    /// Returns the exchange on which a call waits for its response, alone or in a batch. `None` before the request is
    /// sent, after the exchange has ended, and while the tools are listed again because of the call. A call that has ended
    /// still has one while its late response is awaited. With the HTTP+SSE transport of 2024-11-05 this is the POST until
    /// its response, because the response to the call arrives on the one event stream.
    pub fn exchange_of(&self, call: CallId) -> Option<ExchangeNumber> {
        self.requests.exchanges.waits_for(call)
    }

    /// Processes an event of the machine.
    pub fn watch(&mut self, event: &ClientEvent<'_>) {
        match event {
            ClientEvent::Connected(connected) => {
                if connected.revision.rules().has_http_sessions {
                    // The probe, whether the server needs a session, is answered.
                    self.requests.abort_probes();
                } else {
                    // A late response to the probe makes the session superfluous that was opened meanwhile.
                    self.requests.abort_openings();
                    self.requests.end_session();
                }
                self.requests.session.set_revision(Some(connected.revision));
            }
            ClientEvent::CallEnded(ended) => {
                self.tool_calls.take_mended(ended.call);
                self.requests.abort_call(ended.call);
                let queued = self.batches.iter_mut().flatten();
                queued.filter(|call| **call == Some(ended.call)).for_each(|call| *call = None);
            }
            ClientEvent::Subscription(update)
                if matches!(update.news, SubscriptionNews::Ended(_)) =>
            {
                self.requests.abort_call(update.call);
            }
            ClientEvent::ConnectFailed(_) | ClientEvent::Closed { .. } => self.finish(),
            _ => {}
        }
    }

    /// Returns the requests that were refused while the client determined the era and transport of the server, in
    /// order. If connecting fails, they explain it. At most 8.
    pub fn refusals(&self) -> &[Refusal] {
        self.refusals.as_slice()
    }

    /// Resets the transport for another session, after the server has ended the previous one. Unsent messages are
    /// dropped.
    pub fn renew(&mut self) {
        self.requests.session = Session::default();
        self.break_off();
        self.requests.transport.forget_endpoint();
        self.hold = StartupHold::default();
        self.refusals.clear();
        self.is_finished = false;
    }

    /// Aborts all exchanges, and ends the session at the server if there is one.
    fn finish(&mut self) {
        if self.is_finished {
            return;
        }
        self.is_finished = true;
        self.break_off();
        self.requests.end_session();
    }

    fn break_off(&mut self) {
        self.outbox.messages().for_each(drop);
        self.batches.clear();
        self.tool_calls.forget_mended();
        self.requests.abort_all();
    }

    /// Whether [`poll_action`](Self::poll_action) would return an action now, regardless of deadlines.
    pub fn has_actions(&self) -> bool {
        let can_say = self.can_post() || self.requests.wants_one_stream();
        !self.requests.actions().is_empty() || (can_say && !self.outbox.is_empty())
    }

    /// Whether the connection is over: all actions are taken and all exchanges have ended, including the end of the
    /// session at the server.
    pub fn is_over(&self) -> bool {
        let is_idle = self.requests.exchanges.is_empty() && self.requests.actions().is_empty();
        self.is_finished && is_idle
    }

    /// Whether a message can be posted now.
    pub(super) fn can_post(&self) -> bool {
        // A server that makes the client send ever more notifications and responses, without accepting any, is
        // treated like one that does not read. Each of them takes a connection, and its bytes are not counted elsewhere.
        let (exchanges, most) = (&self.requests.exchanges, self.requests.config().most_notices);
        let has_room = exchanges.notices() < most.max(1)
            && exchanges.notice_bytes() <= self.limits.congestion_bytes;
        !self.hold.is_active() && has_room && !self.requests.transport.lacks_endpoint()
    }
}

impl Outboxes for ClientTransport {
    fn outbox(&mut self, _: Route) -> &mut Outbox {
        &mut self.outbox
    }

    fn note_batch(&mut self, calls: &[CallId]) {
        self.batches.push_back(calls.iter().copied().map(Some).collect());
    }

    fn note_late(&mut self, call: CallId, is_awaited: bool) {
        self.requests.note_late(call, is_awaited);
    }
}
