//! The checks of the clients' exchanges: each call that waits for a response has one, and no exchange of tool calls and
//! lists outlives them.

use std::collections::{BTreeMap, BTreeSet};

use mcp_sansio::http::{ExchangeNumber, HttpRequest};
use mcp_sansio::{CallId, Phase};
use serde_json::Value;

use super::HttpWorld;
use super::client_side::SimulatedClient;

/// The requests that a client has sent on its connection.
#[derive(Default)]
pub(super) struct SentRequests {
    /// The ids of all requests.
    ids: BTreeSet<u64>,
    /// The ids of the requests of each exchange.
    of_exchange: BTreeMap<ExchangeNumber, Vec<u64>>,
    /// The calls of each exchange, without requests of the client's own accord.
    calls: BTreeMap<ExchangeNumber, Vec<CallId>>,
}

impl SentRequests {
    /// Whether an exchange carries the request with this id.
    pub(super) fn carries(&self, exchange: ExchangeNumber, id: u64) -> bool {
        self.of_exchange.get(&exchange).is_some_and(|ids| ids.contains(&id))
    }
}

impl SimulatedClient {
    /// Records the requests in the body of an exchange.
    pub(super) fn note_sent(&mut self, exchange: ExchangeNumber, request: &HttpRequest) {
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let ids = request_ids(&body);
        let in_flight = self.machine.in_flight();
        let is_in = |call: &CallId| in_flight.own_id(*call).is_some_and(|id| ids.contains(&id));
        let calls: Vec<CallId> = in_flight.calls().filter(is_in).collect();
        // A batch may have to deliver a notification, and the late response to a call may create a task.
        let may_create_task = body["params"].get("task").is_some();
        if !calls.is_empty() && !may_create_task && calls.len() == messages(&body).len() {
            self.sent_requests.calls.insert(exchange, calls);
        }
        self.sent_requests.ids.extend(&ids);
        self.sent_requests.of_exchange.insert(exchange, ids);
    }

    /// Checks that each call whose request was sent waits on an exchange. A call that has become a task waits for its
    /// next request.
    fn check_calls(&self) -> Result<(), String> {
        let Self { machine, transport, sent_requests, .. } = self;
        for call in machine.in_flight().calls() {
            let id = machine.in_flight().own_id(call);
            let is_sent = id.is_some_and(|id| sent_requests.ids.contains(&id));
            if is_sent && !self.is_task(call) && transport.exchange_of(call).is_none() {
                return Err(format!(
                    "exchange: {call} waits, and no exchange can bring its response"
                ));
            }
        }
        Ok(())
    }
}

impl HttpWorld {
    /// Checks that the exchanges of the clients are those of the calls that wait.
    pub(super) fn check_exchanges(&self) -> Result<(), String> {
        self.clients.iter().try_for_each(SimulatedClient::check_calls)?;
        let carried = self.carried.iter().filter_map(|one| Some((one.client, one.number?)));
        for (client, number) in carried {
            let client = &self.clients[client];
            // The notification of a cancellation may wait to be sent.
            if !client.transport.is_empty() {
                continue;
            }
            let Some(calls) = client.sent_requests.calls.get(&number) else { continue };
            if calls.iter().all(|call| client.has_ended(*call)) {
                return Err(format!("exchange: {number:?} is open after its calls: {calls:?}"));
            }
        }
        Ok(())
    }

    /// Checks that each client has a request open for the event stream of its session, if the server has opened that
    /// stream before, and too few requests have failed to give it up.
    pub(super) fn check_event_streams(&self) -> Result<(), String> {
        for (number, client) in self.clients.iter().enumerate() {
            let is_open = self.carried.iter().any(|one| one.client == number && one.is_get());
            if client.machine.phase() == Phase::Ready && client.stream.is_expected() && !is_open {
                return Err(format!("stream: client {number} has lost the stream of its session"));
            }
        }
        Ok(())
    }
}

/// The event stream of a session, as far as its end can be foreseen.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EventStream {
    /// Whether the server has opened it.
    was_open: bool,
    /// An upper bound of the number of requests in a row that have opened no stream.
    failures: u32,
}

impl EventStream {
    /// The number of failures after which a client may give the stream up: fewer than it accepts.
    const FAILURES: u32 = 4;

    /// Records the status of the response to a GET request.
    pub(super) const fn on_status(&mut self, status: u16, resumes: bool) {
        match status {
            200 if !resumes => *self = Self { was_open: true, failures: 0 },
            200 => {}
            // The server supports no such stream, or the session is over.
            404 | 405 => *self = Self { was_open: false, failures: 0 },
            _ => self.failures += 1,
        }
    }

    /// Records a GET request or its response that has broken off or ended.
    pub(super) const fn on_end(&mut self) {
        self.failures += 1;
    }

    const fn is_expected(self) -> bool {
        self.was_open && self.failures < Self::FAILURES
    }
}

/// Returns the messages in a body.
fn messages(body: &Value) -> &[Value] {
    body.as_array().map_or_else(|| std::slice::from_ref(body), Vec::as_slice)
}

/// Returns the ids of the requests in a body.
fn request_ids(body: &Value) -> Vec<u64> {
    let requests = messages(body).iter().filter(|message| message.get("method").is_some());
    requests.filter_map(|message| message["id"].as_u64()).collect()
}
