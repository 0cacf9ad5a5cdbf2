//! Access to the state of a subscription in the table of calls.

use super::call_state::{Below, CallState};
use super::common_event::CommonEvent;
use super::cx::Cx;
use super::event::Notification;
use super::subscription::{Subscription, SubscriptionNews, SubscriptionUpdate};
use crate::dialect::methods::NotificationKind;
use crate::handle::CallId;

/// Returns the subscription that a call keeps open.
pub(super) fn subscription(below: &Below, call: CallId) -> Option<&Subscription> {
    below.outgoing.get(call.0)?.call.state.subscription()
}

/// Returns the subscription that a call keeps open, mutably.
pub(super) fn subscription_mut(below: &mut Below, call: CallId) -> Option<&mut Subscription> {
    match &mut below.outgoing.get_mut(call.0)?.call.state {
        CallState::Subscription(subscription) => Some(subscription),
        _ => None,
    }
}

/// Keeps a notification that a subscription cannot report at once, if there is room.
pub(super) fn keep_early(
    below: &mut Below,
    cx: &Cx<'_, '_>,
    call: CallId,
    (kind, params): (NotificationKind, Option<&str>),
) {
    let limits = &cx.config.limits;
    let room = limits.connection_bytes.saturating_sub(below.kept_bytes());
    if let Some(subscription) = subscription_mut(below, call) {
        below.incoming.bytes += subscription.keep((limits, room), kind, params);
    }
}

/// Returns the event for a notification that matches a subscription.
pub(super) fn changed(call: CallId, notification: Notification<'_>) -> CommonEvent<'_> {
    let news = SubscriptionNews::Changed(notification);
    CommonEvent::Subscription(SubscriptionUpdate { call, news })
}
