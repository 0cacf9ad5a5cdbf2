//! Subscriptions of ours, which a request keeps open
//! ([subscriptions](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions)).

use alloc::boxed::Box;

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::Peer;
use super::call::Purpose;
use super::call_options::{CallError, CallOptions, Timeout};
use super::cx::Cx;
use super::event::{Cause, Notification, Outcome, Violation};
use super::identity::key;
use super::outlets::Lane;
use super::peer_event::PeerEvent;
use super::reception::Reception;
use super::subscription::{
    Early, Subscription, SubscriptionEnd, SubscriptionNews, SubscriptionUpdate,
};
use crate::dialect::methods::{NotificationKind, RequestKind};
use crate::error::ViolationKind;
use crate::handle::CallId;
use crate::json::{Raw, Str, member};
use crate::model::SubscriptionFilter;
use crate::rpc::{GivenUp, Id, StrayCause};
use crate::subscription::{Filter, LISTS};

/// The params of the request.
struct ListenParams<'f, T: ?Sized>(&'f T);

impl<T: Serialize + ?Sized> Serialize for ListenParams<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut params = serializer.serialize_map(Some(1))?;
        params.serialize_entry("notifications", self.0)?;
        params.end()
    }
}

impl Peer {
    /// Opens a subscription to what a filter says.
    pub(crate) fn subscribe<T: Serialize + ?Sized>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        filter: &T,
        is_automatic: bool,
    ) -> Result<CallId, CallError> {
        let rule = RequestKind::Listen.rule();
        let text = Raw::from_serialize(filter)?;
        if self.rules().session_subscribes {
            let requested = Filter::read(text.as_json());
            let call = self.subscribe_in_session(cx, requested)?;
            if let Some(entry) = self.outbound.get_mut(call.0)
                && let Some(subscription) = &mut entry.subscription
            {
                subscription.is_automatic = is_automatic;
            }
            return Ok(call);
        }
        let idle = cx.config.timeouts.acknowledgement.map_or(Timeout::Never, Timeout::After);
        let options = CallOptions::new().idle(idle).total(Timeout::Never);
        let mut order = self.prepare_call(cx, rule.name, options)?;
        let requested = Filter::read(text.as_json());
        let subscription = Subscription { requested, is_automatic, ..Subscription::default() };
        order.entry.purpose = Purpose::Subscription;
        order.entry.subscription = Some(Box::new(subscription));
        let params = ListenParams(filter);
        let made = self.make(cx, &mut order, rule.name, &params);
        #[cfg(any(call_table, fuzzing))]
        self.check_calls();
        made
    }

    /// The subscriptions that are open or are being opened, in the order they were made.
    pub(crate) fn subscriptions(&self) -> impl Iterator<Item = CallId> {
        self.outbound.subscriptions()
    }

    /// Ends the next subscription, because the connection is about to end: nobody waits for it.
    pub(super) fn next_closed_subscription(
        &mut self,
        cx: &mut Cx<'_, '_>,
    ) -> Option<PeerEvent<'static>> {
        let call = self.subscriptions().next()?;
        let event = self.end_event(call, Outcome::Closed(self.cause_of_end()));
        self.give_up(cx, call, GivenUp::Cancelled, None);
        Some(event)
    }

    /// What subscriptions that were lost had asked for, and those that are still there.
    pub(crate) fn wanted_subscriptions(&self) -> impl Iterator<Item = SubscriptionFilter<'static>> {
        let open = self.subscriptions().filter_map(|call| self.subscription(call));
        let open = open.filter(|one| !one.is_automatic).map(|one| filter_of(&one.requested));
        self.unsettled.lost_subscriptions.iter().map(filter_of).chain(open)
    }

    /// A notification where there are no sessions, if it belongs to a subscription. What does not is given
    /// back.
    pub(super) fn of_subscription<'a>(
        &mut self,
        cx: &Cx<'_, '_>,
        kind: NotificationKind,
        notification: Notification<'a>,
        bytes: &'a [u8],
        reception: &Reception,
    ) -> Option<PeerEvent<'a>> {
        let config = cx.config;
        let params = notification.params.as_ref().and_then(Raw::borrowed).unwrap_or_default();
        let tag = member(params, "_meta").and_then(|meta| member(meta, key::SUBSCRIPTION));
        let id = tag.and_then(|tag| Id::from_literal(tag, config.limits.id_bytes).ok());
        let call = match (&id, reception.arrival.lane) {
            (Some(id), _) => self.subscription_of(id),
            // Here the stream says which one it is.
            (None, Lane::Call(call)) => Some(call),
            (None, _) => None,
        };
        let Some(call) = call.filter(|call| self.is_subscription(*call)) else {
            let number = id.as_ref().and_then(|id| id.number(true));
            return match self.outbound.stray(number) {
                StrayCause::NeverIssued => {
                    let kind = ViolationKind::UnknownSubscription;
                    self.report(cx, Violation::of(kind, None, bytes))
                }
                // What was on its way when it ended.
                _ => None,
            };
        };
        if kind == NotificationKind::Acknowledged {
            return self.acknowledged(call, params);
        }
        if let Some(list) = kind.changed() {
            self.changes.note(list);
        }
        let subscription = self.outbound.get(call.0)?.subscription.as_ref()?;
        if subscription.is_ready() {
            return Some(changed(call, notification));
        }
        let is_open = subscription.acknowledged;
        let params = notification.params.as_ref().map(Raw::as_json);
        self.keep_early(cx, call, kind, params);
        if !is_open {
            self.note(ViolationKind::NotAcknowledged);
        }
        None
    }

    /// Keeps a notification that a subscription cannot be told at once, as far as there is room.
    pub(super) fn keep_early(
        &mut self,
        cx: &Cx<'_, '_>,
        call: CallId,
        kind: NotificationKind,
        params: Option<&str>,
    ) {
        let room = cx.config.limits.connection_bytes.saturating_sub(self.kept_bytes());
        self.outbound.keep_early(call.0, (&cx.config.limits, room), kind, params);
    }

    /// The subscription that is meant by an id: exactly, or as a string of which it is the number.
    fn subscription_of(&self, id: &Id<'_>) -> Option<CallId> {
        let exact = id.number(false).and_then(|id| self.outbound.find(id));
        exact.or_else(|| self.outbound.find(id.number(true)?)).map(CallId)
    }

    fn is_subscription(&self, call: CallId) -> bool {
        self.outbound.get(call.0).is_some_and(|entry| entry.subscription.is_some())
    }

    fn acknowledged<'a>(&mut self, call: CallId, params: &'a str) -> Option<PeerEvent<'a>> {
        let granted = member(params, "notifications")?;
        let entry = self.outbound.get_mut(call.0)?;
        entry.idle = None;
        entry.idle_deadline = None;
        let subscription = entry.subscription.as_mut()?;
        if core::mem::replace(&mut subscription.acknowledged, true) {
            return None;
        }
        let granted_filter = Filter::<()>::read(granted);
        let refused = without(&subscription.requested, &granted_filter);
        // There is nothing in it that could not be written.
        let refused = Raw::from_serialize(&refused).unwrap_or(Raw::EMPTY_OBJECT);
        if !subscription.early.is_empty() || 0 < subscription.lost {
            self.unsettled.early.push_back(call);
        }
        // An open subscription has no timers, so no pause of the clock can be too long for it.
        self.outbound.pause_for_ever(call.0);
        self.set_deadline(call);
        let news = SubscriptionNews::Granted { granted: Raw::trusted(granted), refused };
        Some(PeerEvent::Subscription(SubscriptionUpdate { call, news }))
    }

    /// The next notification that came before its subscription was open.
    pub(super) fn next_early(&mut self) -> Option<PeerEvent<'static>> {
        while let Some(call) = self.unsettled.early.front().copied() {
            if let Some(granted) = self.grant_in_session(call) {
                return Some(granted);
            }
            if let Some(Early { kind, params }) = self.outbound.next_early(call.0) {
                let params = params.map(|params| Raw::trusted(&params).into_owned());
                let method = Str::from(kind.rule().name);
                return Some(changed(call, Notification { method, params }));
            }
            let subscription =
                self.outbound.get_mut(call.0).and_then(|entry| entry.subscription.as_mut());
            if let Some(subscription) = subscription {
                let lost = core::mem::take(&mut subscription.lost);
                if 0 < lost {
                    let news = SubscriptionNews::Lagged { lost };
                    return Some(PeerEvent::Subscription(SubscriptionUpdate { call, news }));
                }
            }
            self.unsettled.early.pop_front();
        }
        None
    }

    /// The server gives something up that it was asked for. It may do so with subscriptions.
    pub(super) fn cancelled_by_server<'a>(
        &mut self,
        id: &Id<'_>,
        reason: Option<Str<'a>>,
    ) -> Option<PeerEvent<'a>> {
        let call = CallId(self.outbound.find(id.number(false)?)?);
        if !self.is_subscription(call) {
            return None;
        }
        self.end_call(call);
        Some(ended(call, SubscriptionEnd::Cancelled { reason }))
    }

    /// The request that keeps a subscription open has ended.
    pub(super) fn subscription_ended<'a>(
        &mut self,
        call: CallId,
        outcome: Outcome<'a>,
    ) -> PeerEvent<'a> {
        let subscription = self.outbound.take_subscription(call.0).unwrap_or_default();
        self.leave_session(&subscription);
        let end = match outcome {
            Outcome::Result(_) => SubscriptionEnd::Finished,
            Outcome::PeerError(error) if subscription.acknowledged => {
                SubscriptionEnd::Failed(error)
            }
            Outcome::PeerError(error) => SubscriptionEnd::Rejected(error),
            Outcome::Malformed { kind, .. } => SubscriptionEnd::Malformed(kind),
            Outcome::TimedOut(_) => SubscriptionEnd::TimedOut,
            Outcome::NotMade(error) => SubscriptionEnd::NotMade(error),
            Outcome::Undelivered(failure) => SubscriptionEnd::Undelivered(failure),
            Outcome::Closed(cause) => SubscriptionEnd::Lost(cause),
            _ => SubscriptionEnd::Lost(Cause::ShutDown),
        };
        if matches!(end, SubscriptionEnd::Lost(_)) && !subscription.is_automatic {
            self.unsettled.lost_subscriptions.push(subscription.requested);
        }
        ended(call, end)
    }
}

pub(super) fn changed(call: CallId, notification: Notification<'_>) -> PeerEvent<'_> {
    let news = SubscriptionNews::Changed(notification);
    PeerEvent::Subscription(SubscriptionUpdate { call, news })
}

fn ended(call: CallId, end: SubscriptionEnd<'_>) -> PeerEvent<'_> {
    let news = SubscriptionNews::Ended(end);
    PeerEvent::Subscription(SubscriptionUpdate { call, news })
}

/// What is in one filter and not in another one.
pub(super) fn without(all: &Filter<()>, granted: &Filter<()>) -> SubscriptionFilter<'static> {
    let mut refused = all.clone();
    for (list, granted) in refused.lists.iter_mut().zip(&granted.lists) {
        if granted.is_some() {
            *list = None;
        }
    }
    refused.resources.retain(|uri, ()| !granted.resources.contains_key(uri));
    refused.tasks.retain(|id| granted.tasks.binary_search(id).is_err());
    filter_of(&refused)
}

/// A filter as it is sent.
pub(super) fn filter_of(filter: &Filter<()>) -> SubscriptionFilter<'static> {
    let mut sent = SubscriptionFilter::new();
    for (list, (name, _)) in filter.lists.iter().zip(LISTS) {
        if list.is_some() {
            match name {
                "toolsListChanged" => sent.tools_list_changed = Some(true),
                "promptsListChanged" => sent.prompts_list_changed = Some(true),
                _ => sent.resources_list_changed = Some(true),
            }
        }
    }
    let sent = filter.resources.keys().fold(sent, |sent, uri| sent.with_resource(uri.clone()));
    filter.tasks.iter().fold(sent, |sent, id| sent.with_task(id.clone()))
}
