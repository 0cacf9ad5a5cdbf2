//! The routes of written messages: each message takes the route of the request that it belongs to.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Deref, DerefMut};

use mcp_sansio::event::Observation;
use mcp_sansio::testing::{Broken, Promise};
use mcp_sansio::{CallId, IncomingId, Outbox, Outboxes, Route};
use serde_json::Value;

const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// An outbox that takes the messages of every route, and remembers the route of each.
#[derive(Clone, Debug)]
pub(super) struct RoutedOutbox {
    outbox: Outbox,
    /// The messages since the last check, with their routes.
    sent: Vec<(Route, Vec<u8>)>,
}

impl RoutedOutbox {
    pub(super) const fn new(outbox: Outbox) -> Self {
        Self { outbox, sent: Vec::new() }
    }

    /// Returns the routes of the messages that were written after the first ones. Those to a subscription, which have
    /// its tag, are left out.
    pub(super) fn routes_after(&self, first: usize) -> impl Iterator<Item = Route> {
        let is_tagged = |message: &[u8]| String::from_utf8_lossy(message).contains(SUBSCRIPTION);
        let others = self.sent.iter().skip(first).filter(move |(_, message)| !is_tagged(message));
        others.map(|(route, _)| *route)
    }

    /// Returns the number of messages since the last check.
    pub(super) const fn written(&self) -> usize {
        self.sent.len()
    }
}

impl Deref for RoutedOutbox {
    type Target = Outbox;

    fn deref(&self) -> &Outbox {
        &self.outbox
    }
}

impl DerefMut for RoutedOutbox {
    fn deref_mut(&mut self) -> &mut Outbox {
        &mut self.outbox
    }
}

impl Outboxes for RoutedOutbox {
    fn outbox(&mut self, _route: Route) -> &mut Outbox {
        &mut self.outbox
    }

    fn observe(&mut self, observation: &Observation<'_>) {
        if let Observation::Sent { route, bytes, .. } = *observation {
            let unsent = self.outbox.unsent();
            let message = unsent.get(unsent.len().wrapping_sub(bytes)..).unwrap_or_default();
            self.sent.push((route, message.to_vec()));
        }
    }
}

/// The requests that a side has received.
#[derive(Debug, Default)]
pub(super) struct RouteModel {
    /// The id and the progress token of each request.
    requests: BTreeMap<IncomingId, (Value, Value)>,
    /// The requests that were open at the last check.
    open: BTreeSet<IncomingId>,
}

impl RouteModel {
    /// Records a message, and the request that it has opened.
    pub(super) fn received(&mut self, message: &[u8], request: IncomingId) {
        let message: Value = serde_json::from_slice(message).unwrap_or_default();
        // A request that is delivered again arrives with a response to the server.
        if message.get("method").is_some() {
            let token = message["params"]["_meta"]["progressToken"].clone();
            self.requests.insert(request, (message["id"].clone(), token));
        }
    }

    /// Checks the messages that were written since the last check. `serials` has the calls of this side.
    pub(super) fn check(
        &mut self,
        outbox: &mut RoutedOutbox,
        open: impl Iterator<Item = IncomingId>,
        serials: &BTreeMap<CallId, u32>,
    ) -> Result<(), Broken> {
        let now: BTreeSet<IncomingId> = open.collect();
        for (route, message) in std::mem::take(&mut outbox.sent) {
            let message: Value = serde_json::from_slice(&message).unwrap_or_default();
            let is_right = match message.get("method").and_then(Value::as_str) {
                // The observed length must be that of the last message.
                _ if message.is_null() => false,
                // The responses to a batch share a message.
                _ if message.is_array() => true,
                None => self.is_of_response(route, &message, &now),
                Some(method) => self.is_of_own(route, method, &message, serials),
            };
            if !is_right {
                let what = format!("{message} is sent on {route:?}");
                return Err(Broken::new(Promise::Order, what));
            }
        }
        self.open = now;
        Ok(())
    }

    /// Whether a response takes the route of its request. The machine responds to a message on the route of the
    /// message, unless the application has received it.
    fn is_of_response(&self, route: Route, message: &Value, now: &BTreeSet<IncomingId>) -> bool {
        let has_id = |request: &IncomingId| {
            self.requests.get(request).is_some_and(|(id, _)| *id == message["id"])
        };
        match route {
            Route::Exchange(request) => has_id(&request),
            _ => !self.open.iter().any(|open| has_id(open) && !now.contains(open)),
        }
    }

    /// Whether a request or a notification takes the right route.
    fn is_of_own(
        &self,
        route: Route,
        method: &str,
        message: &Value,
        serials: &BTreeMap<CallId, u32>,
    ) -> bool {
        let params = &message["params"];
        let request = match route {
            Route::Exchange(request) => self.requests.get(&request),
            _ => None,
        };
        let tag = params["_meta"].get(SUBSCRIPTION);
        match (tag, route) {
            (Some(tag), _) => request.is_some_and(|(id, _)| id == tag),
            _ if method == "notifications/progress" => {
                request.is_some_and(|(_, token)| *token == params["progressToken"])
            }
            (None, Route::Exchange(_)) => request.is_some(),
            (None, Route::Call(call)) => match params["arguments"]["serial"].as_u64() {
                Some(serial) => serials.get(&call).is_none_or(|made| u64::from(*made) == serial),
                None => true,
            },
            _ => params["arguments"]["serial"].is_null(),
        }
    }
}
