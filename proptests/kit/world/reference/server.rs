//! [`ServerModel`]: the state of a server, as plain data, and its comparison with the machine.

use std::collections::{BTreeMap, BTreeSet};

use mcp_sansio::event::CancelCause;
use mcp_sansio::testing::Broken;
use mcp_sansio::{IncomingId, Outbox, Phase, Revision, Server, ServerConfig, ServerEvent};
use serde_json::Value;

use super::message::{CAPABILITIES, Message, Shape, VERSION};
use super::outcomes::check_outcome;
use super::outgoing::{Changes, Outgoing, check_withdrawn};
use super::{EventKind, Expected, Reply, Verdict, check_batch, disagree, elements, methods};

/// The bytes that a response of the machine itself may take. With less room, it may refuse, or close the connection.
const ROOM: usize = 2_500;

/// A server.
#[derive(Debug)]
pub(super) struct ServerModel {
    pub(super) config: ServerConfig,
    /// The declared capabilities.
    pub(super) capabilities: Value,
    pub(super) session: Option<Session>,
    /// The requests that are neither answered nor cancelled.
    pub(super) requests: Vec<OpenRequest>,
    /// The requests whose cancellation is still to be reported, after that of another one with the same id.
    pub(super) ghosts: Vec<IncomingId>,
    /// The responses to elements of batches that wait for the other elements (2025-03-26).
    pub(super) waiting: Vec<(Value, Vec<Reply>)>,
    /// The filter that the application grants in this step.
    pub(super) grant: Option<Value>,
    /// The methods of the calls that wait for a response, by id.
    pub(super) calls: BTreeMap<u64, String>,
    /// The ids that were used (L-JSONRPC-05).
    pub(super) used: BTreeSet<u64>,
    /// Whether the application sends a batch in this step.
    pub(super) may_batch: bool,
    pub(super) outgoing: Outgoing,
}

/// A session.
#[derive(Clone, Debug)]
pub(super) struct Session {
    pub(super) revision: Revision,
    /// The capabilities of the client.
    pub(super) capabilities: Value,
    /// Whether `notifications/initialized` has arrived.
    pub(super) is_ready: bool,
    /// The resources that the client has subscribed to, or asks to. A URI is counted as often as it is asked for.
    pub(super) resources: Vec<Value>,
}

/// A request that is neither answered nor cancelled.
#[derive(Clone, Debug)]
pub(super) struct OpenRequest {
    pub(super) handle: Option<IncomingId>,
    pub(super) id: Value,
    pub(super) method: String,
    pub(super) params: Value,
    pub(super) revision: Revision,
    pub(super) capabilities: Value,
    pub(super) is_in_batch: bool,
    /// The granted filter of a subscription, once it is acknowledged.
    pub(super) granted: Option<Value>,
    /// The last progress that was sent.
    pub(super) progress: Option<f64>,
}

impl OpenRequest {
    /// Whether the request asks for a task (L-TASK-16, L-TASK-14, L-TASK-15).
    pub(super) fn asks_for_task(&self, own_capabilities: &Value) -> bool {
        self.revision == Revision::V2025_11_25
            && self.method == "tools/call"
            && self.params["task"].is_object()
            && methods::has_tasks(own_capabilities)
    }
}

impl ServerModel {
    pub(super) fn new(config: &ServerConfig, has_lines: bool) -> Self {
        Self {
            capabilities: serde_json::to_value(&config.capabilities).unwrap(),
            config: config.clone(),
            session: None,
            requests: Vec::new(),
            ghosts: Vec::new(),
            waiting: Vec::new(),
            grant: None,
            calls: BTreeMap::new(),
            used: BTreeSet::new(),
            may_batch: false,
            outgoing: Outgoing::new(has_lines),
        }
    }

    /// Predicts the outcome of a frame.
    pub(super) fn expect(
        &self,
        bytes: &[u8],
        is_in_batch: bool,
        phase: Phase,
        out: &Outbox,
    ) -> Expected {
        let is_too_long = self.config.connection.limits.frame_bytes < bytes.len();
        let message = Message::parse(if is_too_long { b"" } else { bytes });
        let mut verdict = self.verdict(&message, bytes, is_in_batch, phase);
        let limit = self.config.connection.limits.outbox_bytes;
        if limit < out.len() + ROOM {
            // The response may be too long for the outbox: then the machine refuses, or the connection ends.
            for (kind, _) in verdict.allowed.clone() {
                verdict = verdict.or(kind, Reply::Nothing).or(kind, Reply::Error(-32603));
            }
            let with_error = (EventKind::Violation, Reply::Error(-32603));
            verdict = verdict.or(with_error.0, with_error.1).or(EventKind::Nothing, Reply::Nothing);
            verdict = verdict.or(EventKind::Violation, Reply::Nothing);
        }
        let is_ignored = phase == Phase::Closed || is_in_batch && !self.has_batches();
        Expected { message, verdict, is_in_batch, is_ignored }
    }

    /// Compares an outcome with the prediction, and takes it over.
    pub(super) fn compare(
        &mut self,
        expected: &Expected,
        event: Option<&ServerEvent<'_>>,
        server: &Server,
        out: &Outbox,
    ) -> Result<(), Broken> {
        let Expected { message, verdict, is_in_batch, is_ignored } = expected;
        let kind = EventKind::by_server(event);
        let mut changes = self.outgoing.changes(out);
        // A response may end another request, with the same id in the other direction (L-JSONRPC-06).
        let is_response =
            !message.has[0] && message.id.as_ref().is_some_and(|id| self.call(id).is_some());
        let reply = if is_response { None } else { take_reply(&mut changes, message, verdict) };
        let deferred: Vec<Reply> = match (&reply, self.has_batches() && *is_in_batch) {
            // L-BATCH-11: the response waits for those to the other elements.
            (None, true) => verdict.replies(kind),
            _ => Vec::new(),
        };
        if deferred.is_empty() {
            let shape = reply.as_ref().map_or(Reply::Nothing, reply_kind);
            verdict.check((kind, shape), message, &event)?;
        } else {
            self.waiting.push((message.id.clone().unwrap_or_default(), deferred));
        }
        if let Some(ServerEvent::Violation(violation)) = event
            && violation.answered != reply.is_some()
            && !self.has_batches()
        {
            let what = format!("answered: {}, and {reply:?}", violation.answered);
            return Err(disagree("the event says whether an error was sent", what));
        }
        // A broken response to a call that has ended is a violation.
        let is_late = kind == EventKind::Violation && message.shape == Shape::Malformed;
        if !message.has[0] && !is_ignored && !is_late {
            let method = message.id.as_ref().and_then(|id| self.calls.get(&self.call(id)?));
            if let (Some(method), Some(ServerEvent::CallEnded(ended))) = (method, event) {
                check_outcome((method, false), message, &ended.outcome)?;
            }
            self.settled(message);
        }
        // A request that the peer has cancelled gets no response. Others may, before their event.
        let is_over = matches!(
            event,
            Some(ServerEvent::Cancelled(cancelled)) if cancelled.cause != CancelCause::Peer
        );
        if !is_over && let Some(event) = event {
            self.takes(event, message, *is_in_batch);
        }
        if let Some(reply) = &reply {
            self.check_own_reply(message, reply)?;
        }
        self.check_changes(changes, server)?;
        if is_over && let Some(event) = event {
            self.takes(event, message, *is_in_batch);
        }
        self.has_the_same_requests(server)
    }

    /// Takes over an event that a message has caused.
    fn takes(&mut self, event: &ServerEvent<'_>, message: &Message, is_in_batch: bool) {
        let (handle, revision) = match event {
            ServerEvent::Opened(opened) => {
                let capabilities = message.params["capabilities"].clone();
                let revision = opened.revision;
                let (is_ready, resources) = (false, Vec::new());
                self.session = Some(Session { revision, capabilities, is_ready, resources });
                return;
            }
            ServerEvent::Request(request) => (request.id, request.context.revision),
            ServerEvent::Subscribed(subscribed) => (subscribed.id, subscribed.context.revision),
            _ => {
                return self.on_event(event);
            }
        };
        if !message.has[0] {
            // A request is delivered again, with the input.
            return;
        }
        let capabilities = match &self.session {
            Some(session) if !methods::is_modern(revision) => session.capabilities.clone(),
            _ => message.meta(CAPABILITIES).clone(),
        };
        if let Some(session) = &mut self.session {
            let uri = &message.params["uri"];
            if message.method == "resources/subscribe" {
                session.resources.push(uri.clone());
            }
        }
        self.requests.push(OpenRequest {
            handle: Some(handle),
            id: message.id.clone().unwrap_or_default(),
            method: message.method.clone(),
            params: message.params.clone(),
            revision,
            capabilities,
            is_in_batch,
            granted: None,
            progress: None,
        });
    }

    /// Removes the call that a response has ended.
    fn settled(&mut self, message: &Message) {
        if let Some(id) = message.id.as_ref().and_then(|id| self.call(id)) {
            self.calls.remove(&id);
        }
    }

    /// Returns the pending call with an id. A stringified id matches if the configuration says so (L-JSONRPC-08).
    pub(super) fn call(&self, id: &Value) -> Option<u64> {
        let is_lenient = self.config.connection.match_stringified_ids;
        let text = id.as_str().filter(|_| is_lenient);
        let id = id.as_u64().or_else(|| text?.parse().ok())?;
        self.calls.contains_key(&id).then_some(id)
    }

    /// Takes over an event that no message has caused.
    pub(super) fn on_event(&mut self, event: &ServerEvent<'_>) {
        match event {
            ServerEvent::Ready => {
                if let Some(session) = &mut self.session {
                    session.is_ready = true;
                }
            }
            ServerEvent::Cancelled(cancelled) => {
                let is_it = |open: &OpenRequest| open.handle == Some(cancelled.id);
                let id = self.requests.iter().find(|open| is_it(open)).map(|open| open.id.clone());
                self.ghosts.retain(|ghost| *ghost != cancelled.id);
                let is_peer = cancelled.cause == CancelCause::Peer;
                for open in self.requests.iter_mut().filter(|open| is_it(open) && !is_peer) {
                    if open.is_in_batch {
                        // L-BATCH-11: the response of the machine waits for the other elements.
                        open.handle = None;
                    }
                }
                self.requests.retain(|open| !is_it(open));
                if is_peer {
                    // A cancellation ends all requests with its id (DESIGN 8) except those for tasks (L-CANCEL-17).
                    // Their events follow.
                    let capabilities = &self.capabilities;
                    let is_over = |open: &OpenRequest| {
                        Some(&open.id) == id.as_ref() && !open.asks_for_task(capabilities)
                    };
                    let (over, open): (Vec<_>, Vec<_>) = self.requests.drain(..).partition(is_over);
                    self.ghosts.extend(over.iter().filter_map(|over| over.handle));
                    self.requests = open;
                }
            }
            ServerEvent::Closed { .. } => self.requests.clear(),
            _ => {}
        }
    }

    /// Whether batches are allowed now (L-BATCH-01, L-BATCH-13, L-BATCH-14).
    pub(super) fn has_batches(&self) -> bool {
        self.session.as_ref().is_some_and(|session| session.revision == Revision::V2025_03_26)
    }

    /// Whether the server serves the modern era, and a message claims to belong to it (M-ERA-04, Table 4a).
    pub(super) fn is_claimed(&self, message: &Message) -> bool {
        let serves = self.config.revisions.contains(Revision::V2026_07_28);
        let meta = &message.params["_meta"];
        serves && meta.as_object().is_some_and(|meta| meta.contains_key(VERSION))
    }

    /// Checks what was written by an operation that is no message.
    pub(super) fn wrote(&mut self, server: &Server, out: &Outbox) -> Result<(), Broken> {
        self.wrote_before(server, out)?;
        self.grant = None;
        self.has_the_same_requests(server)
    }

    /// Checks what was written. An event that is still to be taken over may have ended requests.
    pub(super) fn wrote_before(&mut self, server: &Server, out: &Outbox) -> Result<(), Broken> {
        let changes = self.outgoing.changes(out);
        self.check_changes(changes, server)
    }

    fn check_changes(&mut self, changes: Changes, server: &Server) -> Result<(), Broken> {
        for message in &changes.withdrawn {
            check_withdrawn(message)?;
            if message.get("method").is_some()
                && let Some(id) = message["id"].as_u64()
            {
                self.calls.remove(&id);
            }
        }
        let open: Vec<IncomingId> = match changes.added.is_empty() {
            true => Vec::new(),
            false => server.in_flight().requests().collect(),
        };
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

    /// Checks that the machine has the requests of the model, and no others (L-JSONRPC-25).
    fn has_the_same_requests(&self, server: &Server) -> Result<(), Broken> {
        if server.phase() == Phase::Closed {
            return Ok(());
        }
        let open: Vec<IncomingId> = server.in_flight().requests().collect();
        // A request of a batch is answered before its response is written.
        let lost = self.requests.iter().find(|request| {
            request.handle.is_some_and(|handle| !open.contains(&handle)) && !request.is_in_batch
        });
        if let Some(lost) = lost {
            return Err(disagree(
                "L-JSONRPC-25: a request has ended without a response",
                format!("{lost:?}"),
            ));
        }
        let more = open
            .iter()
            .find(|id| !self.requests.iter().any(|request| request.handle == Some(**id)));
        match more {
            Some(id) => Err(disagree("L-JSONRPC-25: an answered request is still open", id)),
            None => Ok(()),
        }
    }
}

/// Takes the response to a message out of what was written.
fn take_reply(changes: &mut Changes, message: &Message, verdict: &Verdict) -> Option<Value> {
    let is_silent = verdict.allowed.iter().all(|(_, reply)| *reply == Reply::Nothing);
    if is_silent || message.is_like_a_response() {
        return None;
    }
    let at = changes.added.iter().position(|written| {
        let is_response = written.is_object() && written.get("method").is_none();
        let id = written.get("id").unwrap_or(&Value::Null);
        is_response && (id.is_null() || message.id.as_ref().is_none_or(|own| own == id))
    })?;
    Some(changes.added.remove(at))
}

/// Returns the kind of a response.
pub(super) fn reply_kind(response: &Value) -> Reply {
    let code = response["error"]["code"].as_i64();
    match (response.get("id").unwrap_or(&Value::Null), code) {
        (Value::Null, Some(code)) => Reply::WithoutId(code),
        (_, Some(code)) => Reply::Error(code),
        _ => Reply::Result,
    }
}
