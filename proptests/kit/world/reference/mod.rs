//! A second opinion on the protocol: a reference model of each role, compared with the machine at every step.
//!
//! [`Reference`] holds a [`ServerModel`] and a [`ClientModel`]. For each message that a side receives, its model names
//! the allowed outcomes: the kind of event, and the response. For each message that a side writes, its model says
//! whether the message is allowed in that state. Timeouts, order and progress have models of their own.
//!
//! The rules come from the requirement rows, which are named in comments and reports, and not from the core. No code
//! is shared with the core: messages are `serde_json` values. The models keep observing after forged messages, because
//! they see each message exactly as the machine does.

mod client;
mod client_receives;
mod client_sends;
mod event_kind;
mod message;
mod methods;
mod outcomes;
mod outgoing;
mod server;
mod server_receives;
mod server_sends;
mod shapes;

use std::fmt;

use mcp_sansio::model::SubscriptionFilter;
use mcp_sansio::testing::{Broken, Promise};
use mcp_sansio::{Client, Frame, IncomingId, Outbox, Server};
use serde_json::Value;

use client::ClientModel;
use event_kind::EventKind;
use message::Message;
use server::ServerModel;

/// The models of both sides.
#[derive(Debug)]
pub(super) struct Reference {
    server: ServerModel,
    client: ClientModel,
}

/// The response to a message that is being received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reply {
    /// No response.
    Nothing,
    /// A result.
    Result,
    /// An error with this code.
    Error(i64),
    /// An error with this code and without a readable id.
    WithoutId(i64),
}

/// What may happen when a message is received.
#[derive(Debug)]
pub(super) struct Expected {
    message: Message,
    verdict: Verdict,
    is_in_batch: bool,
    /// Whether the message is not looked at: the connection has ended, or there are no batches.
    is_ignored: bool,
}

/// The allowed outcomes, with the rule that they follow.
#[derive(Debug)]
struct Verdict {
    rule: &'static str,
    allowed: Vec<(EventKind, Reply)>,
}

impl Verdict {
    /// There is one allowed outcome.
    fn only(rule: &'static str, kind: EventKind, reply: Reply) -> Self {
        Self { rule, allowed: vec![(kind, reply)] }
    }

    /// No response is allowed, and one of these events.
    fn quiet(rule: &'static str, kind: &[EventKind]) -> Self {
        Self { rule, allowed: kind.iter().map(|kind| (*kind, Reply::Nothing)).collect() }
    }

    /// The request is refused with one of these codes.
    fn refused(rule: &'static str, codes: &[i64]) -> Self {
        let allowed =
            codes.iter().map(|code| (EventKind::Violation, Reply::Error(*code))).collect();
        Self { rule, allowed }
    }

    /// Another outcome is allowed, too.
    fn or(mut self, kind: EventKind, reply: Reply) -> Self {
        self.allowed.push((kind, reply));
        self
    }

    /// Returns the responses that go with an event, unless there must be none.
    fn replies(&self, kind: EventKind) -> Vec<Reply> {
        let with = self.allowed.iter().filter(|(allowed, _)| *allowed == kind);
        with.map(|(_, reply)| *reply).filter(|reply| *reply != Reply::Nothing).collect()
    }

    /// Checks an outcome. `event` describes it.
    fn check(
        &self,
        outcome: (EventKind, Reply),
        message: &Message,
        event: &impl fmt::Debug,
    ) -> Result<(), Broken> {
        if self.allowed.contains(&outcome) {
            return Ok(());
        }
        let Self { rule, allowed } = self;
        let what = format!("{outcome:?} is none of {allowed:?} for {message:?}: {event:?}");
        Err(disagree(rule, what))
    }
}

/// Reports that the machine and the model disagree about a rule.
fn disagree(rule: &str, what: impl fmt::Display) -> Broken {
    Broken::new(Promise::OneAnswer, format!("reference model, {rule}: {what}"))
}

/// Checks that a batch holds only responses, or none (L-BATCH-08), and not `initialize` (L-BATCH-03). Only an
/// application starts a batch of requests (L-BATCH-02).
fn check_batch(elements: &[Value], is_asked_for: bool) -> Result<(), Broken> {
    let responses = elements.iter().filter(|element| element.get("method").is_none()).count();
    let is_mixed = 0 < responses && responses < elements.len();
    let fault = if elements.is_empty() {
        "L-BATCH-05: an empty batch"
    } else if is_mixed {
        "L-BATCH-08: requests and responses in one batch"
    } else if responses == 0 && !is_asked_for {
        "L-BATCH-02: a batch that the application has not asked for"
    } else if elements.iter().any(|element| element["method"] == "initialize") {
        "L-BATCH-03: initialize in a batch"
    } else {
        return Ok(());
    };
    Err(disagree(fault, Value::from(elements)))
}

/// Splits a written message into its elements, and says whether it is a batch.
pub(super) fn elements(message: &Value) -> (&[Value], bool) {
    match message {
        Value::Array(elements) => (elements, true),
        single => (std::slice::from_ref(single), false),
    }
}

impl Reference {
    /// Creates the models of a new connection.
    pub(super) fn new(client: &Client, server: &Server, has_lines: bool) -> Self {
        Self {
            server: ServerModel::new(server.config(), has_lines),
            client: ClientModel::new(client.config(), has_lines),
        }
    }

    /// Predicts what a frame causes at the server.
    pub(super) fn before_server(
        &mut self,
        frame: &Frame<'_>,
        server: &Server,
        out: &Outbox,
    ) -> Result<Expected, Broken> {
        self.server_wrote(server, out)?;
        Ok(self.server.expect(frame.bytes(), frame.is_in_batch(), server.phase(), out))
    }

    /// Compares what a frame has caused at the server.
    pub(super) fn after_server(
        &mut self,
        expected: &Expected,
        event: Option<&mcp_sansio::ServerEvent<'_>>,
        server: &Server,
        out: &Outbox,
    ) -> Result<(), Broken> {
        self.server.compare(expected, event, server, out)
    }

    /// Checks what the server has written since the last call, and that both have the same open requests.
    pub(super) fn server_wrote(&mut self, server: &Server, out: &Outbox) -> Result<(), Broken> {
        self.server.wrote(server, out)
    }

    /// Records that the application grants at most this filter.
    pub(super) fn grants(&mut self, filter: Option<&SubscriptionFilter<'_>>) {
        self.server.grant = filter.map(|filter| serde_json::to_value(filter).unwrap());
    }

    /// Records an event of the server that no message has caused.
    pub(super) fn server_event(
        &mut self,
        event: &mcp_sansio::ServerEvent<'_>,
        server: &Server,
        out: &Outbox,
    ) -> Result<(), Broken> {
        self.server.wrote_before(server, out)?;
        self.server.on_event(event);
        self.server.wrote(server, out)
    }

    /// Predicts what a frame causes at the client.
    pub(super) fn before_client(
        &mut self,
        frame: &Frame<'_>,
        client: &Client,
        out: &Outbox,
    ) -> Result<Expected, Broken> {
        self.client_wrote(client, out)?;
        Ok(self.client.expect(frame.bytes(), frame.is_in_batch(), client.phase()))
    }

    /// Compares what a frame has caused at the client.
    pub(super) fn after_client(
        &mut self,
        expected: &Expected,
        event: Option<&mcp_sansio::ClientEvent<'_>>,
        client: &Client,
        out: &Outbox,
    ) -> Result<(), Broken> {
        self.client.compare(expected, event, client, out)
    }

    /// Checks what the client has written since the last call, and that both have the same open requests.
    pub(super) fn client_wrote(&mut self, client: &Client, out: &Outbox) -> Result<(), Broken> {
        self.client.wrote(client, out)
    }

    /// Records an event of the client that no message has caused.
    pub(super) fn client_event(
        &mut self,
        event: &mcp_sansio::ClientEvent<'_>,
        client: &Client,
        out: &Outbox,
    ) -> Result<(), Broken> {
        self.client.wrote_before(client, out)?;
        self.client.on_event(event);
        self.client.wrote(client, out)
    }

    /// Records that the session of the server continues in another process, without its pings.
    pub(super) fn server_restarted(&mut self) {
        self.server.calls.clear();
    }

    /// Whether a request of the client is an element of a batch.
    pub(super) fn is_in_batch(&self, id: IncomingId) -> bool {
        let mut open = self.server.requests.iter().filter(|open| open.handle == Some(id));
        open.any(|open| open.is_in_batch)
    }

    /// Records whether an application sends a batch in this step.
    pub(super) fn sends_batches(&mut self, may_batch: bool) {
        (self.client.may_batch, self.server.may_batch) = (may_batch, may_batch);
    }

    /// Whether the client waits for a response to the request with this id.
    pub(super) fn client_waits(&self, id: u64) -> bool {
        self.client.calls.contains_key(&id)
    }

    /// Whether the server waits for a response to the request with this id.
    pub(super) fn server_waits(&self, id: u64) -> bool {
        self.server.calls.contains_key(&id)
    }

    /// Records that bytes have left the outboxes.
    pub(super) fn sent(&mut self, client: &Outbox, server: &Outbox) {
        self.client.outgoing.sent(client);
        self.server.outgoing.sent(server);
    }
}
