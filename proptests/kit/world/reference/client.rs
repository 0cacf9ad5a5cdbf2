//! [`ClientModel`]: the state of a client, as plain data, and its comparison with the machine.

use std::collections::{BTreeMap, BTreeSet};

use mcp_sansio::event::CancelCause;
use mcp_sansio::testing::Broken;
use mcp_sansio::{Client, ClientConfig, ClientEvent, IncomingId, Limits, Outbox, Phase, Revision};
use serde_json::Value;

use super::message::{Message, Shape, VERSION};
use super::outcomes::check_outcome;
use super::outgoing::{Changes, Outgoing, check_withdrawn};
use super::server::reply_kind;
use super::{EventKind, Expected, Reply, check_batch, disagree, elements, methods};

/// A client.
#[derive(Debug)]
pub(super) struct ClientModel {
    pub(super) config: ClientConfig,
    pub(super) capabilities: Value,
    /// The revision and the capabilities of the server, once they are known.
    pub(super) agreed: Option<(Revision, Value)>,
    /// Whether the result of `initialize` is accepted, and `notifications/initialized` is written.
    pub(super) is_initialized: bool,
    /// Whether a modern revision was agreed on before, or was assumed.
    pub(super) may_be_modern: bool,
    /// The calls that wait for a response, by id.
    pub(super) calls: BTreeMap<u64, Sent>,
    /// The ids that were used (L-JSONRPC-05, M-ERA-32).
    pub(super) used: BTreeSet<u64>,
    /// The results that require input, whose calls may be sent again (M-MRTR-11).
    pub(super) interim: Vec<Interim>,
    /// The open requests of the server. An input of the modern era has no id.
    pub(super) requests: Vec<(IncomingId, Value, bool)>,
    /// The responses to elements of batches that wait for the other elements (2025-03-26).
    pub(super) waiting: Vec<(Value, Vec<Reply>)>,
    /// Whether the application sends a batch in this step.
    pub(super) may_batch: bool,
    pub(super) outgoing: Outgoing,
}

/// A request that the client has written.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    pub(super) method: String,
    pub(super) params: Value,
}

impl Sent {
    /// Whether the request belongs to the modern era.
    pub(super) fn is_modern(&self) -> bool {
        self.params["_meta"][VERSION].is_string()
    }

    /// Whether the request asks for a task of a session (L-TASK-16).
    pub(super) fn asks_for_task(&self) -> bool {
        !self.is_modern() && self.params["task"].is_object()
    }
}

/// A call with the result that requires input.
#[derive(Clone, Debug)]
pub(super) struct Interim {
    pub(super) call: Sent,
    pub(super) result: Value,
}

impl ClientModel {
    pub(super) fn new(config: &ClientConfig, has_lines: bool) -> Self {
        Self {
            capabilities: serde_json::to_value(&config.capabilities).unwrap(),
            config: config.clone(),
            agreed: None,
            is_initialized: false,
            may_be_modern: false,
            calls: BTreeMap::new(),
            used: BTreeSet::new(),
            interim: Vec::new(),
            requests: Vec::new(),
            waiting: Vec::new(),
            may_batch: false,
            outgoing: Outgoing::new(has_lines),
        }
    }

    /// The revision of the session, if there is one.
    pub(super) fn session(&self) -> Option<Revision> {
        let revision = self.agreed.as_ref().map(|(revision, _)| *revision)?;
        (!methods::is_modern(revision)).then_some(revision)
    }

    /// Predicts the outcome of a frame.
    pub(super) fn expect(&self, bytes: &[u8], is_in_batch: bool, phase: Phase) -> Expected {
        let limits = &self.config.connection.limits;
        let is_too_long = limits.frame_bytes < bytes.len();
        let message = Message::parse(if is_too_long { b"" } else { bytes });
        let mut verdict = self.verdict(&message, bytes, is_in_batch, phase);
        let is_default = limits.outbox_bytes == Limits::default().outbox_bytes;
        if !is_default {
            // The response may be too long for the outbox: then the connection ends. And a call may have ended
            // without a cancellation on the wire.
            for (kind, _) in verdict.allowed.clone() {
                verdict = verdict.or(kind, Reply::Nothing);
            }
            verdict = verdict.or(EventKind::Nothing, Reply::Nothing);
            if message.is_like_a_response() {
                verdict = verdict.or(EventKind::Unmatched, Reply::Nothing);
            }
        }
        let is_ignored = phase == Phase::Closed || is_in_batch && !self.has_batches();
        Expected { message, verdict, is_in_batch, is_ignored }
    }

    /// Compares an outcome with the prediction, and takes it over.
    pub(super) fn compare(
        &mut self,
        expected: &Expected,
        event: Option<&ClientEvent<'_>>,
        client: &Client,
        out: &Outbox,
    ) -> Result<(), Broken> {
        let Expected { message, verdict, is_in_batch, is_ignored } = expected;
        let kind = EventKind::by_client(event);
        let mut changes = self.outgoing.changes(out);
        let reply = take_reply(&mut changes, message);
        let is_deferred = reply.is_none() && *is_in_batch && self.has_batches();
        let replies: Vec<Reply> = if is_deferred { verdict.replies(kind) } else { Vec::new() };
        if replies.is_empty() {
            verdict.check(
                (kind, reply.as_ref().map_or(Reply::Nothing, reply_kind)),
                message,
                &event,
            )?;
        } else {
            self.waiting.push((message.id.clone().unwrap_or_default(), replies));
        }
        if let Some(reply) = &reply {
            super::shapes::check_envelope(reply)?;
        }
        // A broken response to a call that has ended is a violation.
        let is_late = kind == EventKind::Violation && message.shape == Shape::Malformed;
        if !message.has[0] && !is_ignored && !is_late {
            let call = message.id.as_ref().and_then(|id| self.calls.get(&self.call(id)?));
            if let (Some(call), Some(ClientEvent::CallEnded(ended))) = (call, event) {
                // M-ERA-10 reads a response by the rules of its request. If the negotiation has begun again, the machine
                // reads it by those of a session.
                let agreed = self.agreed.as_ref().map(|(revision, _)| *revision);
                let is_of_other_era = call.is_modern() && !agreed.is_some_and(methods::is_modern);
                let is_relayed = methods::is_relayed(&self.config.connection, &call.method);
                if !is_of_other_era && !is_relayed {
                    check_outcome((&call.method, call.is_modern()), message, &ended.outcome)?;
                }
            }
            self.settled(message);
        }
        if kind == EventKind::Subscription && message.method == "notifications/cancelled" {
            // M-CANC-13: the server has ended the subscription.
            self.calls.remove(&message.params["requestId"].as_u64().unwrap_or_default());
        }
        if let Some(event) = event {
            self.takes(event, message, *is_in_batch);
        }
        self.check_changes(changes, client)?;
        self.has_the_same_requests(client)
    }

    /// Takes over an event that a message has caused.
    fn takes(&mut self, event: &ClientEvent<'_>, message: &Message, is_in_batch: bool) {
        match event {
            ClientEvent::Request(request) if message.shape == Shape::Request => {
                let id = message.id.clone().unwrap_or_default();
                self.requests.push((request.id, id, is_in_batch));
            }
            _ => self.on_event(event),
        }
    }

    /// Removes the call that a response has settled, and remembers the input that it requires.
    fn settled(&mut self, message: &Message) {
        let Some(id) = message.id.as_ref().and_then(|id| self.call(id)) else { return };
        let Some(call) = self.calls.remove(&id) else { return };
        // Such a result, or such an error, is evidence of a modern server (Table 4b, rows 1, 5, 21).
        let modern = Value::from(Revision::V2026_07_28.name());
        let lists = [&message.result["supportedVersions"], &message.error["data"]["supported"]];
        let names_it = |list: &&Value| list.as_array().is_some_and(|list| list.contains(&modern));
        self.may_be_modern |= lists.iter().any(names_it);
        let (inputs, state) = (&call.params["inputResponses"], &call.params["requestState"]);
        if message.code() == Some(-32022) && !(inputs.is_null() && state.is_null()) {
            // M-DISC-12: the call is sent again with the same input, in another revision.
            let result = serde_json::json!({"inputRequests": inputs, "requestState": state});
            return self.interim.push(Interim { call, result });
        }
        if message.result["resultType"] == "input_required" {
            self.interim.push(Interim { call, result: message.result.clone() });
        }
    }

    /// Returns the pending call with an id. A stringified id matches if the configuration says so (L-JSONRPC-08).
    pub(super) fn call(&self, id: &Value) -> Option<u64> {
        let is_lenient = self.config.connection.match_stringified_ids;
        let text = id.as_str().filter(|_| is_lenient);
        let id = id.as_u64().or_else(|| text?.parse().ok())?;
        self.calls.contains_key(&id).then_some(id)
    }

    /// Whether the client may respond at all: never in the modern era (M-RPC-15).
    pub(super) fn may_respond(&self) -> bool {
        let is_legacy = |revision| !methods::is_modern(revision);
        match &self.agreed {
            Some((revision, _)) => is_legacy(*revision),
            None => self.config.revisions.iter().any(is_legacy),
        }
    }

    /// Takes over an event that no message has caused.
    pub(super) fn on_event(&mut self, event: &ClientEvent<'_>) {
        match event {
            ClientEvent::Connected(connected) => {
                let result: Value = connected.result.parse().unwrap_or_default();
                let capabilities = result["capabilities"].clone();
                self.agreed = Some((connected.revision, capabilities));
                self.may_be_modern |= methods::is_modern(connected.revision);
            }
            // An input of the modern era. It has no id on the wire.
            ClientEvent::Request(request) => {
                self.requests.push((request.id, Value::Null, false));
            }
            ClientEvent::Cancelled(cancelled) => {
                let over = self.requests.iter().find(|(handle, ..)| *handle == cancelled.id);
                // A cancellation ends all requests with its id. Their events follow.
                let is_peer = cancelled.cause == CancelCause::Peer;
                let id = over.map(|(_, id, _)| id.clone()).filter(|id| is_peer && !id.is_null());
                self.requests.retain(|(handle, open, _)| {
                    *handle != cancelled.id && Some(open) != id.as_ref()
                });
            }
            ClientEvent::Closed { .. } => self.requests.clear(),
            _ => {}
        }
    }

    /// Whether batches are allowed now (L-BATCH-01, L-BATCH-13, L-BATCH-14).
    pub(super) fn has_batches(&self) -> bool {
        self.session() == Some(Revision::V2025_03_26)
    }

    /// Checks what was written by an operation that is no message.
    pub(super) fn wrote(&mut self, client: &Client, out: &Outbox) -> Result<(), Broken> {
        self.wrote_before(client, out)?;
        self.has_the_same_requests(client)
    }

    /// Checks what was written. An event that is still to be taken over may have ended requests.
    pub(super) fn wrote_before(&mut self, client: &Client, out: &Outbox) -> Result<(), Broken> {
        let changes = self.outgoing.changes(out);
        self.check_changes(changes, client)
    }

    fn check_changes(&mut self, changes: Changes, client: &Client) -> Result<(), Broken> {
        for message in &changes.withdrawn {
            check_withdrawn(message)?;
            if message.get("method").is_some()
                && let Some(id) = message["id"].as_u64()
            {
                self.calls.remove(&id);
            }
        }
        let open: Vec<IncomingId> = client.in_flight().requests().collect();
        for message in &changes.added {
            let (elements, is_batch) = elements(message);
            if is_batch && !self.has_batches() {
                return Err(disagree("L-BATCH-13: there are no batches", message));
            }
            if is_batch {
                check_batch(elements, self.may_batch)?;
            }
            for element in elements {
                self.check_written(element, is_batch, &open)?;
            }
        }
        Ok(())
    }

    /// Checks that the machine has every request of the model that has an id (L-JSONRPC-25). Inputs of the modern era
    /// may end together, and their events follow one by one.
    fn has_the_same_requests(&mut self, client: &Client) -> Result<(), Broken> {
        if client.phase() == Phase::Closed {
            return Ok(());
        }
        let open: Vec<IncomingId> = client.in_flight().requests().collect();
        self.requests.retain(|(handle, id, _)| !id.is_null() || open.contains(handle));
        let lost = self
            .requests
            .iter()
            .find(|(handle, _, is_in_batch)| !open.contains(handle) && !is_in_batch);
        match lost {
            Some(lost) => {
                let what = format!("{lost:?}");
                Err(disagree("L-JSONRPC-25: a request has ended without a response", what))
            }
            None => Ok(()),
        }
    }
}

/// Takes the response to a request out of what was written. A client responds to nothing else.
fn take_reply(changes: &mut Changes, message: &Message) -> Option<Value> {
    if message.is_like_a_response() {
        return None;
    }
    let at = changes.added.iter().position(|written| {
        let is_response = written.is_object() && written.get("method").is_none();
        let id = written.get("id").unwrap_or(&Value::Null);
        is_response && message.id.as_ref().is_none_or(|own| own == id)
    })?;
    Some(changes.added.remove(at))
}
