//! [`ClientTransport`], the outboxes of a client over HTTP, which composes the parts of this folder.
//!
//! This file has its state, `ending.rs` the ends of exchanges, `sending.rs` messages on their way out, and
//! `receiving.rs` responses. Each names only files before it.

use alloc::sync::Arc;
use core::fmt;

use super::config::HttpClientConfig;
use super::refusals::{Refusal, Refusals};
use super::requests::Requests;
use super::session::Session;
use super::startup_hold::StartupHold;
use super::tool_calls::ToolCalls;
use crate::client::ClientEvent;
use crate::connection::{Outboxes, Route, SubscriptionNews};
use crate::frame::{Framing, Outbox};
use crate::limits::Limits;

/// The outboxes of one [`Client`](crate::Client) over HTTP.
///
/// Hand it to every method of the machine that takes `out`, and every event of the machine to
/// [`watch`](Self::watch). What is to be done with HTTP, [`poll_action`](Self::poll_action) says; what comes of that
/// is told with [`head`](Self::head), [`chunk`](Self::chunk), [`end`](Self::end) and [`failed`](Self::failed), which
/// give what is for the machine.
///
/// A call that is cancelled, or has timed out, is cancelled as its era has it: without a session by breaking the
/// exchange off, in one by a notification.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ClientTransport {
    pub(super) limits: Limits,
    pub(super) outbox: Outbox,
    pub(super) requests: Requests,
    pub(super) hold: StartupHold,
    pub(super) tool_calls: ToolCalls,
    pub(super) refusals: Refusals,
    is_finished: bool,
}

/// Without the id of the session, and without what is said: both are nobody's business.
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
    /// For a client that has not said anything yet.
    pub fn new(config: Arc<HttpClientConfig>, limits: &Limits) -> Self {
        Self {
            limits: limits.clone(),
            outbox: Outbox::new(Framing::Messages, limits),
            tool_calls: ToolCalls::new(config.most_tools),
            requests: Requests::new(config),
            hold: StartupHold::default(),
            refusals: Refusals::default(),
            is_finished: false,
        }
    }

    /// How it is configured.
    pub fn config(&self) -> &HttpClientConfig {
        self.requests.config()
    }

    /// The id of the session, if the server has given it one.
    pub fn session_id(&self) -> Option<&str> {
        self.requests.session.id()
    }

    /// What of the last lists of tools was left out, because nobody can call it: the name of each tool, and what is
    /// wrong with its schema.
    pub fn invalid_tools(&self) -> impl Iterator<Item = (&str, &crate::http::InvalidAnnotation)> {
        self.tool_calls.headers.invalid()
    }

    /// Whether nothing waits to be sent.
    pub fn is_empty(&self) -> bool {
        self.outbox.is_empty()
    }

    /// The messages that wait to be sent.
    pub const fn queued(&self) -> &Outbox {
        &self.outbox
    }

    /// The same, to set its limit.
    pub const fn queued_mut(&mut self) -> &mut Outbox {
        &mut self.outbox
    }

    /// Whether the server has taken anything in the session that it has given an id to: if not, another one will
    /// most likely not do any better.
    pub const fn session_has_worked(&self) -> bool {
        self.requests.session.has_worked()
    }

    /// How many exchanges are open.
    pub fn exchanges(&self) -> usize {
        self.requests.exchanges.len()
    }

    /// Sees what has come of a message, or of time.
    pub fn watch(&mut self, event: &ClientEvent<'_>) {
        match event {
            ClientEvent::Connected(connected) => {
                self.requests.session.set_revision(connected.revision);
                if !connected.revision.rules().has_http_sessions {
                    self.requests.session.forget_id();
                } else {
                    // Whether there has to be a session is known.
                    self.requests.abort_probes();
                }
            }
            ClientEvent::CallEnded(ended) => {
                self.tool_calls.take_mended(ended.call);
                self.requests.abort_call(ended.call);
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

    /// What was refused while it was being found out how the server is to be spoken to, in order: where connecting
    /// fails, that says all there is to say. At most 8.
    pub fn refusals(&self) -> &[Refusal] {
        self.refusals.as_slice()
    }

    /// Begins anew, for another session, because the server has ended the one before. What has not been sent of that
    /// is forgotten.
    pub fn renew(&mut self) {
        self.requests.session = Session::default();
        self.break_off();
        self.requests.transport.forget_endpoint();
        self.hold = StartupHold::default();
        self.refusals.clear();
        self.is_finished = false;
    }

    /// Breaks everything off, and takes leave of the session if there is one.
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
        self.tool_calls.forget_mended();
        self.requests.abort_all();
    }

    /// Whether there is something to do now: whether [`poll_action`](Self::poll_action) would give anything, but for
    /// what is a matter of time.
    pub fn has_actions(&self) -> bool {
        let can_say = self.can_post() || self.requests.wants_one_stream();
        !self.requests.actions().is_empty() || (can_say && !self.outbox.is_empty())
    }

    /// Whether everything has been done: the connection is over, and the server has been told so as far as it wants
    /// to know.
    pub fn is_over(&self) -> bool {
        let is_idle = self.requests.exchanges.is_empty() && self.requests.actions().is_empty();
        self.is_finished && is_idle
    }

    /// Whether a message can be posted now.
    pub(super) fn can_post(&self) -> bool {
        // A server that has a client say ever more, and does not take it, waits like one that does not read.
        let has_room = self.requests.exchanges.notices() < self.limits.inbound_requests.max(1);
        !self.hold.is_active() && has_room && !self.requests.transport.lacks_endpoint()
    }
}

impl Outboxes for ClientTransport {
    fn outbox(&mut self, _: Route) -> &mut Outbox {
        &mut self.outbox
    }
}
