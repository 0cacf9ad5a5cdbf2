//! `InSessions`: the emulation of subscriptions of this side in a session, which does not have them ([resource
//! subscriptions](https://modelcontextprotocol.io/specification/2025-11-25/server/resources#subscriptions)).
//!
//! A server notifies of changed lists without a subscription, and of a changed resource after `resources/subscribe`.
//! So a subscription here is a filter: each of its resources is subscribed to by a request of its own, and each
//! notification is passed to the subscriptions that match it.

use alloc::string::String;
use alloc::vec::Vec;

use super::call_capacity::{has_room, make_room};
use super::call_index::CallIndex;
use super::call_options::{CallError, CallOptions, Timeout};
use super::call_state::Below;
use super::common_event::CommonEvent;
use super::cx::Cx;
use super::event::Notification;
use super::outgoing_request::Owner;
use super::subscription::{
    AskedResource, InSession, Subscription, SubscriptionNews, SubscriptionUpdate, without,
};
use super::subscription_state::{changed, keep_early, subscription, subscription_mut};
use crate::capability::Capability;
use crate::dialect::methods::{NotificationKind, RequestKind};
use crate::handle::CallId;
use crate::json::{Raw, Str, member};
use crate::lazy_box::LazyBox;
use crate::model::UriParams;

/// The subscriptions of a session and their index.
pub(super) struct InSessions<'s> {
    pub(super) below: &'s mut Below,
    pub(super) index: &'s mut LazyBox<CallIndex>,
}

impl InSessions<'_> {
    /// Sends the requests for the resources of a subscription.
    pub(super) fn begin(&mut self, cx: &mut Cx<'_, '_>, call: CallId) {
        let Some(negotiated) = self.below.session.negotiated else { return };
        let Some(requested) = self.subscription(call).map(|one| one.requested.clone()) else {
            return;
        };
        let mut granted = requested;
        granted.limit(negotiated.theirs);
        // A session has no notifications about the tasks of a subscription.
        granted.tasks.clear();
        let uris: Vec<String> = granted.resources.keys().cloned().collect();
        granted.resources.clear();
        let mut in_session = InSession { granted, ..InSession::default() };
        for uri in uris {
            if self.is_subscribed_to(&uri) {
                in_session.granted.resources.insert(uri, ());
            } else if self.index.leaves(&uri) {
                in_session.asked.push(AskedResource { call: None, uri, is_subscribed: false });
            } else if let Ok(asked) = self.call_about(cx, RequestKind::Subscribe, &uri) {
                let call = Some(asked);
                in_session.asked.push(AskedResource { call, uri, is_subscribed: false });
            }
        }
        let is_open = in_session.asked.is_empty();
        if let Some(subscription) = subscription_mut(self.below, call) {
            subscription.in_session = Some(in_session);
        }
        if is_open {
            self.index.early.push_back(call);
        }
    }

    fn call_about(
        &mut self,
        cx: &mut Cx<'_, '_>,
        kind: RequestKind,
        uri: &str,
    ) -> Result<CallId, CallError> {
        let total = cx.config.timeouts.acknowledgement.map_or(Timeout::Never, Timeout::After);
        let options = CallOptions::new().idle(Timeout::Never).total(total);
        let method = kind.rule().name;
        let has_room = has_room(self.below, self.index, cx);
        let mut order = self.below.order(cx, method, Owner::Interest, options, has_room)?;
        let call = self.below.ask(cx, &mut order, method, &UriParams::new(uri))?;
        // The subscription itself does not delay the end of the connection either.
        self.below.outgoing.set_quiet(call.0);
        make_room(self.below, self.index, cx);
        Ok(call)
    }

    /// Whether a subscription has been granted a resource, or waits for it.
    fn is_wanted(&self, uri: &str) -> bool {
        let waits = |one: &InSession| {
            work!(one.asked.len());
            one.asked.iter().any(|asked| asked.uri == uri)
        };
        self.is_subscribed_to(uri) || self.all().any(|(_, one)| waits(one))
    }

    /// Whether a subscription has been granted a resource.
    fn is_subscribed_to(&self, uri: &str) -> bool {
        self.all().any(|(_, one)| one.granted.resources.contains_key(uri))
    }

    fn subscription(&self, call: CallId) -> Option<&Subscription> {
        subscription(self.below, call)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (CallId, &InSession)> {
        self.index.subscriptions.iter().filter_map(|call| {
            work!(1);
            Some((*call, self.subscription(*call)?.in_session.as_ref()?))
        })
    }

    /// Handles the end of a request about a resource, after the request has left the table. `None`: the server has given
    /// no readable response, and may be subscribed.
    pub(super) fn request_ended(&mut self, asked: CallId, is_granted: Option<bool>) {
        let asked = Some(asked);
        work!(self.index.orphaned.len() + self.index.leaving.len());
        if let Some(at) = self.index.leaving.iter().position(|(call, _)| Some(*call) == asked) {
            let (_, uri) = self.index.leaving.remove(at);
            if self.is_wanted(&uri) {
                // `unsubscribe_unwanted` sends the requests that have waited for this one.
                self.index.unwanted.push_back(uri);
            }
            return;
        }
        let orphan = self.index.orphaned.iter().position(|orphan| orphan.call == asked);
        if let Some(at) = orphan {
            let orphan = self.index.orphaned.remove(at);
            if is_granted != Some(false) || orphan.is_subscribed {
                self.index.unwanted.push_back(orphan.uri);
            }
            return;
        }
        let waits = |(_, one): &(CallId, &InSession)| {
            work!(one.asked.len());
            one.asked.iter().any(|resource| resource.call == asked)
        };
        let Some(call) = self.all().find(waits).map(|(call, _)| call) else { return };
        let subscription = subscription_mut(self.below, call);
        let Some(in_session) = subscription.and_then(|one| one.in_session.as_mut()) else { return };
        let at = in_session.asked.iter().position(|resource| resource.call == asked);
        let Some(at) = at else { return };
        let AskedResource { uri, is_subscribed, .. } = in_session.asked.remove(at);
        let is_open = in_session.asked.is_empty();
        if is_granted == Some(true) {
            in_session.granted.resources.insert(uri, ());
        } else if is_subscribed || is_granted.is_none() {
            // `unsubscribe_unwanted` checks whether another subscription wants it.
            self.index.unwanted.push_back(uri);
        }
        if is_open {
            self.index.early.push_back(call);
        }
    }

    /// Passes a notification to the subscriptions of its list or resource. Returns the notification if there are
    /// none.
    pub(super) fn on_notification<'a>(
        &mut self,
        cx: &Cx<'_, '_>,
        kind: NotificationKind,
        notification: Notification<'a>,
    ) -> Result<Option<CommonEvent<'a>>, Notification<'a>> {
        let list = match kind {
            NotificationKind::ToolsChanged => Some(0),
            NotificationKind::PromptsChanged => Some(1),
            NotificationKind::ResourcesChanged => Some(2),
            _ => None,
        };
        let params = notification.params.as_ref().map(|params| String::from(params.as_json()));
        // Only an update is about a resource. In other notifications a URI means nothing.
        let is_update = kind == NotificationKind::ResourceUpdated;
        let uri = params.as_deref().filter(|_| is_update).and_then(|params| member(params, "uri"));
        let uri = uri.and_then(Str::from_literal).map(|uri| uri.to_str().into_owned());
        let wanting: Vec<CallId> = self
            .all()
            .filter(|(_, one)| one.wants(list, uri.as_deref()))
            .map(|(call, _)| call)
            .collect();
        let Some((first, others)) = wanting.split_first() else { return Err(notification) };
        let now = self.subscription(*first).is_some_and(Subscription::is_ready);
        for call in others.iter().chain((!now).then_some(first)) {
            let Some(subscription) = self.subscription(*call) else { continue };
            // A subscription with a pending report is already in the queue, and is in it only once.
            let is_next = subscription.is_ready();
            keep_early(self.below, cx, *call, (kind, params.as_deref()));
            if is_next {
                self.index.early.push_back(*call);
            }
        }
        Ok(now.then(|| changed(*first, notification)))
    }

    /// Handles the end of a subscription: schedules unsubscribing from the resources that no other subscription uses.
    pub(super) fn leave(&mut self, subscription: &Subscription) {
        let Some(in_session) = &subscription.in_session else { return };
        for uri in in_session.granted.resources.keys() {
            if !self.is_wanted(uri) {
                self.index.unwanted.push_back(uri.clone());
            } else if !self.is_subscribed_to(uri) {
                self.pass_on(uri);
            }
        }
        if !in_session.asked.is_empty() {
            // A pending subscription of a resource can be undone only after it has been granted.
            let outgoing = &self.below.outgoing;
            let orphaned = &mut self.index.orphaned;
            orphaned.extend(in_session.asked.iter().cloned());
            orphaned
                .retain(|orphan| orphan.call.is_some_and(|call| outgoing.get(call.0).is_some()));
        }
    }

    /// Notes, at the requests that wait for a resource, that the server is subscribed already.
    fn pass_on(&mut self, uri: &str) {
        for call in &self.index.subscriptions {
            let subscription = subscription_mut(self.below, *call);
            let Some(one) = subscription.and_then(|one| one.in_session.as_mut()) else { continue };
            work!(one.asked.len());
            for asked in one.asked.iter_mut().filter(|asked| asked.uri == uri) {
                asked.is_subscribed = true;
            }
        }
    }

    /// Sends the requests for a resource that have waited for the end of a request to unsubscribe from it. Returns
    /// whether there were any.
    fn ask_for(&mut self, cx: &mut Cx<'_, '_>, uri: &str) -> bool {
        let waits = |one: &AskedResource| one.call.is_none() && one.uri == uri;
        let waiting: Vec<CallId> = self
            .all()
            .filter(|(_, one)| one.asked.iter().any(waits))
            .map(|(subscription, _)| subscription)
            .collect();
        for subscription in &waiting {
            let asked = self.call_about(cx, RequestKind::Subscribe, uri);
            let one = subscription_mut(self.below, *subscription);
            let Some(one) = one.and_then(|one| one.in_session.as_mut()) else { continue };
            match (asked, one.asked.iter_mut().find(|one| waits(one))) {
                (Ok(asked), Some(waiting)) => waiting.call = Some(asked),
                _ => one.asked.retain(|one| !waits(one)),
            }
            if one.asked.is_empty() {
                self.index.early.push_back(*subscription);
            }
        }
        !waiting.is_empty()
    }

    /// Unsubscribes from the resources that no subscription uses any more.
    pub(super) fn unsubscribe_unwanted(&mut self, cx: &mut Cx<'_, '_>) {
        while let Some(uri) = self.index.unwanted.pop_front() {
            if self.index.leaves(&uri) || self.ask_for(cx, &uri) {
                continue;
            }
            let offered = self.below.session.negotiated.is_some_and(|negotiated| {
                negotiated.theirs.contains(Capability::ResourcesSubscribe)
                    && self.below.lifecycle.phase.is_ready()
            });
            if self.is_subscribed_to(&uri) {
                continue;
            }
            if self.is_wanted(&uri) {
                // If the requests that wait for the resource are refused, it is unwanted again.
                self.pass_on(&uri);
            } else if offered {
                // Without room the server keeps sending notifications, which are dropped.
                if let Ok(call) = self.call_about(cx, RequestKind::Unsubscribe, &uri) {
                    self.index.leaving.push((call, uri));
                }
            }
        }
    }
}

/// Returns the event that a subscription of a session is open, once.
pub(super) fn grant_in_session(below: &mut Below, call: CallId) -> Option<CommonEvent<'static>> {
    let subscription = subscription_mut(below, call)?;
    let in_session = subscription.in_session.as_mut()?;
    if core::mem::replace(&mut in_session.is_reported, true) {
        return None;
    }
    let filter = in_session.granted.as_sent();
    let refused = without(&subscription.requested, &in_session.granted);
    subscription.acknowledged = true;
    let text = |filter| Raw::from_serialize(filter).unwrap_or(Raw::EMPTY_OBJECT);
    let (granted, refused) = (text(&filter), text(&refused));
    let news = SubscriptionNews::Granted { granted, refused };
    Some(CommonEvent::Subscription(SubscriptionUpdate { call, news }))
}
