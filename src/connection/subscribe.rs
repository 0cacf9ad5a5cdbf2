//! Subscriptions of this side in the modern era, each kept open by a request
//! ([subscriptions](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions)).

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::call_index::CallIndex;
use super::call_state::Below;
use super::common_event::CommonEvent;
use super::cx::Cx;
use super::event::{Cause, Notification, Outcome, Violation};
use super::identity::key;
use super::outboxes::Route;
use super::reception::Reception;
use super::session_subscribe::grant_in_session;
use super::subscription::{
    Early, Subscription, SubscriptionEnd, SubscriptionNews, SubscriptionOrigin, SubscriptionUpdate,
    without,
};
use super::subscription_state::{changed, keep_early, subscription, subscription_mut};
use crate::codes::ViolationKind;
use crate::dialect::methods::NotificationKind;
use crate::handle::CallId;
use crate::interests::Filter;
use crate::json::{Raw, Str, member};
use crate::lazy_box::LazyBox;
use crate::rpc::{Id, UnmatchedCause, Wait};
use crate::schema::serialized;

/// The params of `subscriptions/listen`.
pub(super) struct ListenParams<'f>(pub(super) &'f Raw<'f>);

serialized! { ListenParams<'_> }

impl Serialize for ListenParams<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut params = serializer.serialize_map(Some(1))?;
        params.serialize_entry("notifications", self.0)?;
        params.end()
    }
}

/// Handles a notification in the modern era that belongs to a subscription.
pub(super) fn of_subscription<'a>(
    (below, index): (&mut Below, &mut LazyBox<CallIndex>),
    cx: &Cx<'_, '_>,
    kind: NotificationKind,
    notification: Notification<'a>,
    (bytes, reception): (&'a [u8], &Reception),
) -> Option<CommonEvent<'a>> {
    let params = notification.params.as_ref().and_then(Raw::borrowed).unwrap_or_default();
    let tag = member(params, "_meta").and_then(|meta| member(meta, key::SUBSCRIPTION));
    let id = tag.and_then(|tag| Id::from_literal(tag, cx.config.limits.id_bytes).ok());
    let call = match (&id, reception.received.route) {
        (Some(id), _) => subscription_of(below, id),
        // Without a subscription id the stream identifies the subscription.
        (None, Route::Call(call)) => Some(call),
        (None, _) => None,
    };
    let Some(call) = call.filter(|call| subscription(below, *call).is_some()) else {
        let number = id.as_ref().and_then(|id| id.number(true));
        return match below.outgoing.unmatched_cause_of(number) {
            UnmatchedCause::NeverIssued => {
                let kind = ViolationKind::UnknownSubscription;
                below.violations.report(cx, Violation::of(kind, None, bytes))
            }
            // The notification was sent before the subscription ended.
            _ => None,
        };
    };
    if kind == NotificationKind::Acknowledged {
        return acknowledged((below, index), cx, call, params);
    }
    if let Some(list) = kind.changed() {
        below.list_versions.note(list);
    }
    let subscription = subscription(below, call)?;
    if subscription.is_ready() {
        return Some(changed(call, notification));
    }
    let is_open = subscription.acknowledged;
    let params = notification.params.as_ref().map(Raw::as_json);
    keep_early(below, cx, call, (kind, params));
    if !is_open {
        below.violations.note(ViolationKind::NotAcknowledged);
    }
    None
}

/// Returns the subscription with this id. An exact match comes first, then a string that contains the number.
fn subscription_of(below: &Below, id: &Id<'_>) -> Option<CallId> {
    let exact = id.number(false).and_then(|id| below.outgoing.find(id));
    exact.or_else(|| below.outgoing.find(id.number(true)?)).map(CallId)
}

fn acknowledged<'a>(
    (below, index): (&mut Below, &mut LazyBox<CallIndex>),
    cx: &Cx<'_, '_>,
    call: CallId,
    params: &'a str,
) -> Option<CommonEvent<'a>> {
    let granted = member(params, "notifications")?;
    let subscription = subscription_mut(below, call)?;
    if core::mem::replace(&mut subscription.acknowledged, true) {
        return None;
    }
    let granted_filter = Filter::read_part_of(&subscription.requested, granted);
    let refused = without(&subscription.requested, &granted_filter);
    // It contains no value that cannot be serialized.
    let refused = Raw::from_serialize(&refused).unwrap_or(Raw::EMPTY_OBJECT);
    if !subscription.early.is_empty() || 0 < subscription.lost {
        index.early.push_back(call);
    }
    // An open subscription has no timers, so a long pause of the clock cannot end it.
    below.outgoing.wait(call.0, Wait::Forever, cx.now);
    let news = SubscriptionNews::Granted { granted: Raw::trusted(granted), refused };
    Some(CommonEvent::Subscription(SubscriptionUpdate { call, news }))
}

/// Returns the next event that a subscription could not report at once.
pub(super) fn next_early(below: &mut Below, call: CallId) -> Option<CommonEvent<'static>> {
    if let Some(granted) = grant_in_session(below, call) {
        return Some(granted);
    }
    let subscription = subscription_mut(below, call)?;
    if let Some(early) = subscription.early.pop_front() {
        below.incoming.bytes -= early.bytes();
        let Early { kind, params } = early;
        let params = params.map(|params| Raw::trusted(&params).into_owned());
        let method = Str::from(kind.rule().name);
        return Some(changed(call, Notification { method, params }));
    }
    let lost = core::mem::take(&mut subscription.lost);
    (0 < lost).then(|| {
        let news = SubscriptionNews::Lagged { lost };
        CommonEvent::Subscription(SubscriptionUpdate { call, news })
    })
}

/// Starts the timer of a subscription whose request has waited for the handshake. The timers of other calls run from the
/// call on.
pub(super) fn starts_to_wait(below: &mut Below, cx: &Cx<'_, '_>, call: CallId) {
    if subscription(below, call).is_some() {
        below.outgoing.wait(call.0, Wait::Response, cx.now);
    }
}

/// Keeps the outcome of the request of a subscription until the notifications before it have been reported.
pub(super) fn defer_outcome(
    below: &mut Below,
    cx: &Cx<'_, '_>,
    call: CallId,
    outcome: Outcome<'_>,
) {
    if let Some(subscription) = subscription(below, call) {
        let end = end_of(subscription, outcome);
        defer_end(below, cx, call, end);
    }
}

/// Keeps the end of a subscription until the notifications before it have been reported. Its request is over, so
/// messages that still name it belong to no subscription.
pub(super) fn defer_end(
    below: &mut Below,
    cx: &Cx<'_, '_>,
    call: CallId,
    end: SubscriptionEnd<'_>,
) {
    if let Some(subscription) = subscription_mut(below, call) {
        subscription.end = Some(end.into_owned());
        below.retire(cx, call, Wait::Forever);
    }
}

/// Returns the filters of the subscriptions that were lost, and of those that are open.
pub(super) fn wanted(
    below: &Below,
    index: &CallIndex,
) -> impl Iterator<Item = crate::model::SubscriptionFilter<'static>> {
    let open = index.subscriptions.iter().filter_map(|call| subscription(below, *call));
    let open = open
        .filter(|one| one.origin != SubscriptionOrigin::Elsewhere && one.end.is_none())
        .map(|one| one.requested.as_sent());
    index.lost.iter().map(Filter::as_sent).chain(open)
}

/// Converts the outcome of the request into the end of its subscription.
pub(super) fn end_of<'a>(subscription: &Subscription, outcome: Outcome<'a>) -> SubscriptionEnd<'a> {
    match outcome {
        Outcome::Result(_) => SubscriptionEnd::Finished,
        Outcome::PeerError(error) if subscription.acknowledged => SubscriptionEnd::Failed(error),
        Outcome::PeerError(error) => SubscriptionEnd::Rejected(error),
        Outcome::Malformed { kind, .. } => SubscriptionEnd::Malformed(kind),
        Outcome::TimedOut(_) => SubscriptionEnd::TimedOut,
        Outcome::CallError(error) => SubscriptionEnd::CallError(error),
        Outcome::TransportFailed(failure) => SubscriptionEnd::TransportFailed(failure),
        Outcome::Closed(cause) => SubscriptionEnd::Lost(cause),
        _ => SubscriptionEnd::Lost(Cause::ShutDown),
    }
}
