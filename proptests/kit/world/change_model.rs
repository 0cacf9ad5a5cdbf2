//! A model of subscriptions: every change reaches each subscription that covers it, and no other.

use std::collections::{BTreeMap, BTreeSet};

use mcp_sansio::CallId;
use mcp_sansio::event::SubscriptionNews;
use mcp_sansio::subscription::Delivery;
use mcp_sansio::testing::{Broken, Promise};
use serde_json::Value;

/// The changes that the server has announced, and the subscriptions of the client.
#[derive(Debug, Default)]
pub(super) struct ChangeModel {
    /// The number of announcements of each change.
    announced: BTreeMap<String, u32>,
    /// The number of those that wait for the session, so that a later subscription receives them, too.
    held: BTreeMap<String, u32>,
    subscriptions: BTreeMap<CallId, Subscription>,
    /// Whether a message may have been lost, forged, repeated or reordered.
    pub(super) is_unreliable: bool,
}

#[derive(Debug, Default)]
struct Subscription {
    /// The granted filter, once it is known.
    granted: Option<BTreeSet<String>>,
    /// The number of announcements that the subscription cannot receive.
    before: BTreeMap<String, u32>,
    received: BTreeMap<String, u32>,
    /// The announcements that have not been received since.
    pending: BTreeSet<String>,
}

/// Returns the name of a change: the method, or the URI of a resource.
pub(super) fn change(method: &str, params: Option<&Value>) -> Option<String> {
    match method {
        "notifications/tools/list_changed" | "notifications/prompts/list_changed" => {
            Some(method.into())
        }
        "notifications/resources/updated" => Some(params?.get("uri")?.as_str()?.into()),
        _ => None,
    }
}

/// Returns the changes that a filter covers.
fn covered(filter: &Value) -> BTreeSet<String> {
    let lists = ["tools", "prompts"].into_iter();
    let lists = lists.filter(|list| filter[format!("{list}ListChanged")] == true);
    let lists = lists.map(|list| format!("notifications/{list}/list_changed"));
    let uris = filter["resourceSubscriptions"].as_array().into_iter().flatten();
    lists.chain(uris.filter_map(|uri| Some(uri.as_str()?.to_owned()))).collect()
}

impl ChangeModel {
    /// Records a subscription. Unless the wire is quiet, earlier changes may still be on their way.
    pub(super) fn began(&mut self, call: CallId, is_quiet: bool) {
        let before = if is_quiet { self.announced.clone() } else { BTreeMap::new() };
        self.subscriptions
            .entry(call)
            .or_insert_with(|| Subscription { before, ..Subscription::default() });
    }

    /// Records a change that the server announces: to all subscribers, or on the stream of one request.
    pub(super) fn announced(&mut self, change: String, is_for_all: bool, delivery: Delivery) {
        if delivery == Delivery::Held {
            *self.held.entry(change.clone()).or_default() += 1;
        }
        for subscription in self.subscriptions.values_mut().filter(|_| is_for_all) {
            if subscription.granted.as_ref().is_some_and(|granted| granted.contains(&change)) {
                subscription.pending.insert(change.clone());
            }
        }
        *self.announced.entry(change).or_default() += 1;
    }

    /// Records that the client gives up a subscription.
    pub(super) fn given_up(&mut self, call: CallId) {
        self.subscriptions.remove(&call);
    }

    /// Checks an event of a subscription.
    pub(super) fn event(
        &mut self,
        call: CallId,
        news: &SubscriptionNews<'_>,
    ) -> Result<(), Broken> {
        let Some(subscription) = self.subscriptions.get_mut(&call) else { return Ok(()) };
        match news {
            SubscriptionNews::Granted { granted, .. } => {
                subscription.granted = granted.parse().ok().map(|granted: Value| covered(&granted));
            }
            SubscriptionNews::Lagged { .. } => subscription.pending.clear(),
            SubscriptionNews::Ended(_) => _ = self.subscriptions.remove(&call),
            SubscriptionNews::Changed(notification) => {
                let params = notification.params.as_ref().and_then(|params| params.parse().ok());
                let change = change(&notification.method.to_str(), params.as_ref());
                return change.map_or(Ok(()), |change| self.received(call, change));
            }
            _ => {}
        }
        Ok(())
    }

    fn received(&mut self, call: CallId, change: String) -> Result<(), Broken> {
        let count =
            |counts: &BTreeMap<String, u32>| counts.get(&change).copied().unwrap_or_default();
        let announced = count(&self.announced) + count(&self.held);
        let Some(subscription) = self.subscriptions.get_mut(&call) else { return Ok(()) };
        let before = subscription.before.get(&change).copied().unwrap_or_default();
        let received = subscription.received.entry(change.clone()).or_default();
        *received += 1;
        let is_granted =
            subscription.granted.as_ref().is_some_and(|granted| granted.contains(&change));
        let fault = if !is_granted {
            "it did not subscribe to it"
        } else if announced - before < *received {
            "it was not announced so often"
        } else {
            subscription.pending.remove(&change);
            return Ok(());
        };
        if self.is_unreliable {
            return Ok(());
        }
        Err(Broken::new(Promise::Order, format!("{call} receives {change}, and {fault}")))
    }

    /// Checks that nothing was lost, once every message has arrived.
    pub(super) fn arrived(&self) -> Result<(), Broken> {
        if self.is_unreliable {
            return Ok(());
        }
        match self.subscriptions.iter().find(|(_, subscription)| !subscription.pending.is_empty()) {
            None => Ok(()),
            Some((call, subscription)) => {
                let what = format!("{call} has missed {:?}", subscription.pending);
                Err(Broken::new(Promise::Order, what))
            }
        }
    }
}
