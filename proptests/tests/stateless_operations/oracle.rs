//! What has to be true of what both sides say.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use mcp_sansio::{CallId, ClientEvent, InboundId, Request, ServerEvent, SubscriptionNews};
use serde_json::Value;

/// What is open on one side.
#[derive(Default)]
pub(crate) struct Oracle {
    pub(crate) calls: Vec<CallId>,
    pub(crate) pending: BTreeSet<CallId>,
    pub(crate) ids: Vec<InboundId>,
    pub(crate) open: BTreeSet<InboundId>,
    /// Requests that will come again.
    pub(crate) waiting: BTreeSet<InboundId>,
    pub(crate) requests: BTreeMap<InboundId, Request<'static>>,
    pub(crate) closed: bool,
}

impl Oracle {
    pub(crate) fn opened(&mut self, id: InboundId) {
        self.waiting.remove(&id);
        self.ids.push(id);
        assert!(self.open.insert(id), "{id:?} twice");
    }

    pub(crate) fn request_ended(&mut self, id: InboundId, why: &dyn Debug) {
        assert!(self.open.remove(&id) | self.waiting.remove(&id), "{id:?}: {why:?}");
    }

    pub(crate) fn call_ended(&mut self, call: CallId, why: &dyn Debug) {
        assert!(self.pending.remove(&call), "{call:?}: {why:?}");
    }

    pub(crate) fn close(&mut self) {
        self.closed = true;
        assert!(
            self.open.is_empty() && self.waiting.is_empty(),
            "{:?} {:?}",
            self.open,
            self.waiting
        );
        assert!(self.pending.is_empty(), "{:?}", self.pending);
    }

    pub(crate) fn made<E>(&mut self, made: Result<CallId, E>) {
        if let Ok(call) = made {
            self.calls.push(call);
            assert!(self.pending.insert(call));
        }
    }

    pub(crate) fn client(&mut self, event: &ClientEvent<'_>) {
        assert!(!self.closed, "after the end: {event:?}");
        match event {
            ClientEvent::Request(request) => self.opened(request.id),
            ClientEvent::Cancelled(cancelled) => self.request_ended(cancelled.id, event),
            ClientEvent::CallEnded(ended) => self.call_ended(ended.call, event),
            ClientEvent::Subscription(update) => {
                // One that the machine has made by itself is told of like any other.
                if !self.calls.contains(&update.call) {
                    self.made::<()>(Ok(update.call));
                }
                assert!(self.pending.contains(&update.call), "{event:?}");
                if let SubscriptionNews::Ended(_) = update.news {
                    self.call_ended(update.call, event);
                }
            }
            ClientEvent::Closed { .. } => self.close(),
            _ => {}
        }
    }

    pub(crate) fn server(&mut self, event: &ServerEvent<'_>) {
        assert!(!self.closed, "after the end: {event:?}");
        match event {
            ServerEvent::Request(request) => {
                self.opened(request.id);
                self.requests.insert(request.id, request.clone().into_owned());
            }
            ServerEvent::Subscribed(subscribed) => self.opened(subscribed.id),
            ServerEvent::Cancelled(cancelled) => self.request_ended(cancelled.id, event),
            ServerEvent::CallEnded(ended) => self.call_ended(ended.call, event),
            ServerEvent::Closed { .. } => self.close(),
            _ => {}
        }
    }
}

/// What a server has said, by the ids of its client.
#[derive(Default)]
pub(crate) struct Wire {
    asked: BTreeMap<String, usize>,
    acknowledged: BTreeSet<String>,
    cancelled: BTreeSet<String>,
}

impl Wire {
    pub(crate) fn delivered(&mut self, message: &[u8]) {
        let Ok(message) = serde_json::from_slice::<Value>(message) else { return };
        if !message["method"].is_null() && !message["id"].is_null() {
            let id = message["id"].to_string();
            self.cancelled.remove(&id);
            *self.asked.entry(id).or_default() += 1;
        }
    }

    /// A request has been cancelled. If it was the only one of its id, nothing is to follow.
    pub(crate) fn cancelled(&mut self, id: String) {
        self.acknowledged.remove(&id);
        let left = self.asked.entry(id.clone()).or_default();
        *left = left.saturating_sub(1);
        if *left == 0 {
            self.cancelled.insert(id);
        }
    }

    pub(crate) fn sent(&mut self, message: &[u8], serves_duplicates: bool) {
        let message: Value = serde_json::from_slice(message).expect("JSON");
        for message in message.as_array().cloned().unwrap_or_else(|| vec![message]) {
            assert_eq!(message["jsonrpc"], "2.0");
            if message["method"].is_null() && !message["id"].is_null() {
                let id = message["id"].to_string();
                assert!(!self.cancelled.contains(&id) || serves_duplicates, "answered: {message}");
                let left = self.asked.get_mut(&id).filter(|left| 0 < **left);
                *left.unwrap_or_else(|| panic!("answered once too often: {message}")) -= 1;
                self.acknowledged.remove(&id);
            }
            let tag = &message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"];
            if !tag.is_null() && !serves_duplicates {
                let tag = tag.to_string();
                assert!(!self.cancelled.contains(&tag), "told: {message}");
                let is_first = message["method"] == "notifications/subscriptions/acknowledged";
                assert_eq!(self.acknowledged.insert(tag), is_first, "{message}");
            }
        }
    }
}
