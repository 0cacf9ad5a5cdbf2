//! Subscriptions of ours in a session, which has none: what stands for them there
//! ([resource subscriptions](https://modelcontextprotocol.io/specification/2025-11-25/server/resources#subscriptions)).
//!
//! A server tells of its lists without being asked, and of a resource after `resources/subscribe`. So a
//! subscription is a name for what was asked for: each of its resources is subscribed to by a request of
//! its own, and what the server tells is handed to whoever wants it.

use alloc::string::String;
use alloc::vec::Vec;

use super::Peer;
use super::call::{Call, Purpose, Whereabouts};
use super::call_options::{CallError, CallOptions, Timeout};
use super::cx::Cx;
use super::event::{Notification, Outcome};
use super::peer_event::PeerEvent;
use super::subscribe::{changed, filter_of, without};
use super::subscription::{InSession, Subscription, SubscriptionNews, SubscriptionUpdate};
use crate::capability::Capability;
use crate::dialect::methods::{NotificationKind, RequestKind};
use crate::handle::CallId;
use crate::json::{Raw, Str, member};
use crate::model::UriParams;
use crate::subscription::Filter;

impl Peer {
    /// Opens a subscription in a session.
    pub(super) fn subscribe_in_session(
        &mut self,
        cx: &mut Cx<'_, '_>,
        requested: Filter<()>,
    ) -> Result<CallId, CallError> {
        if !self.phase.takes_calls() {
            return Err(CallError::Closed);
        }
        let needed = u32::try_from(requested.resources.len()).unwrap_or(u32::MAX).saturating_add(1);
        if cx.config.limits.outbound_calls.saturating_sub(self.outbound.len()) < needed {
            return Err(CallError::TooManyCalls);
        }
        let subscription = Subscription { requested, ..Subscription::default() };
        let mut entry = Call {
            purpose: Purpose::Subscription,
            // Nothing is in flight under its own id.
            whereabouts: Whereabouts::Answered,
            subscription: Some(alloc::boxed::Box::new(subscription)),
            ..Call::default()
        };
        let call = self.register(&mut entry);
        self.begin_in_session(cx, call);
        Ok(call)
    }

    /// Asks for what a subscription is about.
    pub(super) fn begin_in_session(&mut self, cx: &mut Cx<'_, '_>, call: CallId) {
        let Some(terms) = self.session else { return };
        let Some(requested) = self.subscription(call).map(|one| one.requested.clone()) else {
            return;
        };
        let mut granted = requested;
        granted.limit(terms.theirs);
        let uris: Vec<String> = granted.resources.keys().cloned().collect();
        granted.resources.clear();
        let mut in_session = InSession { granted, ..InSession::default() };
        for uri in uris {
            if self.is_subscribed_to(&uri) {
                in_session.granted.resources.insert(uri, ());
            } else if let Ok(asked) = self.ask_for_resource(cx, &uri) {
                in_session.asked.push((asked, uri));
            }
        }
        let is_open = in_session.asked.is_empty();
        if let Some(subscription) = self.subscription_mut(call) {
            subscription.in_session = Some(in_session);
        }
        if is_open {
            self.unsettled.early.push_back(call);
        }
    }

    fn ask_for_resource(&mut self, cx: &mut Cx<'_, '_>, uri: &str) -> Result<CallId, CallError> {
        self.call_about_resource(cx, RequestKind::Subscribe, uri)
    }

    fn call_about_resource(
        &mut self,
        cx: &mut Cx<'_, '_>,
        kind: RequestKind,
        uri: &str,
    ) -> Result<CallId, CallError> {
        let total = cx.config.timeouts.acknowledgement.map_or(Timeout::Never, Timeout::After);
        let options = CallOptions::new().idle(Timeout::Never).total(total);
        let method = kind.rule().name;
        let mut order = self.prepare_call(cx, method, options)?;
        order.entry.purpose = Purpose::Interest;
        self.make(cx, &mut order, method, &UriParams::new(uri))
    }

    /// Whether some subscription has been granted a resource, or waits for it.
    fn is_wanted(&self, uri: &str) -> bool {
        let waits = |one: &InSession| {
            work!(one.asked.len());
            one.asked.iter().any(|(_, asked)| asked == uri)
        };
        self.is_subscribed_to(uri) || self.in_session().any(|(_, one)| waits(one))
    }

    /// Whether some subscription has been granted a resource.
    fn is_subscribed_to(&self, uri: &str) -> bool {
        self.in_session().any(|(_, one)| one.granted.resources.contains_key(uri))
    }

    fn in_session(&self) -> impl Iterator<Item = (CallId, &InSession)> {
        self.subscriptions().filter_map(|call| {
            work!(1);
            Some((call, self.subscription(call)?.in_session.as_ref()?))
        })
    }

    pub(super) fn subscription(&self, call: CallId) -> Option<&Subscription> {
        self.outbound.get(call.0)?.subscription.as_deref()
    }

    fn subscription_mut(&mut self, call: CallId) -> Option<&mut Subscription> {
        self.outbound.get_mut(call.0)?.subscription.as_deref_mut()
    }

    /// A request of a subscription has ended.
    pub(super) fn interest_ended(&mut self, asked: CallId, outcome: &Outcome<'_>) {
        self.end_call(asked);
        let is_granted = matches!(outcome, Outcome::Result(_));
        work!(self.unsettled.orphaned.len());
        let orphan = self.unsettled.orphaned.iter().position(|(call, _)| *call == asked);
        if let Some(at) = orphan {
            let (_, uri) = self.unsettled.orphaned.remove(at);
            if is_granted {
                self.unsettled.unwanted.push_back(uri);
            }
            return;
        }
        let waits = |(_, one): &(CallId, &InSession)| {
            work!(one.asked.len());
            one.asked.iter().any(|(call, _)| *call == asked)
        };
        let Some(call) = self.in_session().find(waits).map(|(call, _)| call) else { return };
        let Some(subscription) = self.subscription_mut(call) else { return };
        let Some(in_session) = &mut subscription.in_session else { return };
        let Some(at) = in_session.asked.iter().position(|(call, _)| *call == asked) else { return };
        let (_, uri) = in_session.asked.remove(at);
        if is_granted {
            in_session.granted.resources.insert(uri, ());
        }
        if in_session.asked.is_empty() {
            self.unsettled.early.push_back(call);
        }
    }

    /// Says that a subscription of a session is open, if that has not been said.
    pub(super) fn grant_in_session(&mut self, call: CallId) -> Option<PeerEvent<'static>> {
        let subscription = self.subscription_mut(call)?;
        let in_session = subscription.in_session.as_mut()?;
        if core::mem::replace(&mut in_session.told, true) {
            return None;
        }
        let filter = filter_of(&in_session.granted);
        let refused = without(&subscription.requested, &in_session.granted);
        subscription.acknowledged = true;
        let text = |filter| Raw::from_serialize(filter).unwrap_or(Raw::EMPTY_OBJECT);
        let (granted, refused) = (text(&filter), text(&refused));
        let news = SubscriptionNews::Granted { granted, refused };
        Some(PeerEvent::Subscription(SubscriptionUpdate { call, news }))
    }

    /// Hands what the server of a session tells to the subscriptions that want it. It is given back if
    /// there is none.
    pub(super) fn told_in_session<'a>(
        &mut self,
        cx: &Cx<'_, '_>,
        kind: NotificationKind,
        notification: Notification<'a>,
    ) -> Result<Option<PeerEvent<'a>>, Notification<'a>> {
        let list = match kind {
            NotificationKind::ToolsChanged => Some(0),
            NotificationKind::PromptsChanged => Some(1),
            NotificationKind::ResourcesChanged => Some(2),
            _ => None,
        };
        let params = notification.params.as_ref().map(|params| String::from(params.as_json()));
        let uri = params.as_deref().and_then(|params| member(params, "uri"));
        let uri = uri.and_then(Str::from_literal).map(|uri| uri.to_str().into_owned());
        let wanting: Vec<CallId> = self
            .in_session()
            .filter(|(_, one)| one.wants(list, uri.as_deref()))
            .map(|(call, _)| call)
            .collect();
        let Some((first, others)) = wanting.split_first() else { return Err(notification) };
        let now = self.subscription(*first).is_some_and(Subscription::is_ready);
        for call in others.iter().chain((!now).then_some(first)) {
            let Some(subscription) = self.subscription(*call) else { continue };
            // One that has something to be told already is in the queue: it is put there once, however much comes.
            let is_next = subscription.is_ready();
            self.keep_early(cx, *call, kind, params.as_deref());
            if is_next {
                self.unsettled.early.push_back(*call);
            }
        }
        Ok(now.then(|| changed(*first, notification)))
    }

    /// Whether what a server tells may be for a subscription.
    pub(super) fn may_be_for_subscription(&self, kind: NotificationKind) -> bool {
        let is_change = kind.changed().is_some() || kind == NotificationKind::ResourceUpdated;
        is_change && self.in_session().next().is_some()
    }

    /// A subscription of a session is over: what nobody else wants is to be unsubscribed from.
    pub(super) fn leave_session(&mut self, subscription: &Subscription) {
        let Some(in_session) = &subscription.in_session else { return };
        for uri in in_session.granted.resources.keys() {
            if !self.is_wanted(uri) {
                self.unsettled.unwanted.push_back(uri.clone());
            }
        }
        if !in_session.asked.is_empty() {
            // What is being asked for can only be given back once it has been granted.
            let outbound = &self.outbound;
            let orphaned = &mut self.unsettled.orphaned;
            orphaned.extend(in_session.asked.iter().cloned());
            orphaned.retain(|(call, _)| outbound.get(call.0).is_some());
        }
    }

    /// Unsubscribes from what nobody wants any more.
    pub(super) fn unsubscribe_unwanted(&mut self, cx: &mut Cx<'_, '_>) {
        while let Some(uri) = self.unsettled.unwanted.pop_front() {
            let offered = self.session.is_some_and(|terms| {
                terms.theirs.contains(Capability::ResourcesSubscribe) && self.phase.is_ready()
            });
            if offered && !self.is_wanted(&uri) {
                // Without room the server goes on telling, and nobody listens.
                let kind = RequestKind::Unsubscribe;
                _ = self.call_about_resource(cx, kind, &uri);
            }
        }
    }
}
