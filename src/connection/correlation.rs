//! Correlates messages of the peer with calls of this side: responses, progress, cancellations, task status.

use super::call_cx::{CallCx, Next};
use super::call_index::CallIndex;
use super::call_state::CallState;
use super::calls::Calls;
use super::common_event::CommonEvent;
use super::cx::Cx;
use super::event::{Notification, ProgressUpdate, Violation};
use super::for_role::ForRole;
use super::notification::{expected, is_about_subscriptions};
use super::outgoing_request::{Owner, Wanted};
use super::reception::Reception;
use super::resend::can_be_sent_again;
use super::routing::Side;
use super::session::Session;
use super::subscribe::{defer_end, of_subscription};
use super::subscription::SubscriptionEnd;
use super::subscription_state::subscription;
use super::task_snapshot::Snapshot;
use crate::codes::ViolationKind;
use crate::dialect::methods::NotificationKind;
use crate::handle::CallId;
use crate::json::{Number, Object, Raw, Str};
use crate::rpc::{Id, UnmatchedCause, Wait};

/// # Messages about calls
impl Calls {
    /// Returns the pending request with this id. A request that has not been sent cannot have been answered.
    pub(super) fn pending(&self, cx: &Cx<'_, '_>, id: &Id<'_>) -> Option<CallId> {
        let number = id.number(cx.config.match_stringified_ids)?;
        let place = self.messages.outgoing.find(number)?;
        let asked = self.messages.outgoing.get(place)?;
        asked.sent.awaits_answer().then_some(CallId(place))
    }

    /// Whether a call of the application, or a poll of a task, awaits its response.
    pub(super) fn awaits_answer(&self, call: CallId) -> bool {
        self.messages.outgoing.get(call.0).is_some_and(|asked| {
            let is_poll = matches!(asked.owner, Owner::Poll { .. });
            asked.sent.awaits_answer() && (asked.owner.is_application() || is_poll)
        })
    }

    /// Returns the reason why an id matches no request that could be answered.
    pub(super) fn unmatched_cause(&self, cx: &Cx<'_, '_>, id: &Id<'_>) -> UnmatchedCause {
        let outgoing = &self.messages.outgoing;
        let number = id.number(cx.config.match_stringified_ids);
        let pending = number.and_then(|number| outgoing.find(number));
        match pending.and_then(|place| outgoing.get(place)) {
            // The id stays in use as the progress token of the task.
            Some(asked) if asked.call.state.takes_progress() => UnmatchedCause::Completed,
            // The request has not been sent, or was sent under another id.
            Some(_) => UnmatchedCause::NeverIssued,
            None => outgoing.unmatched_cause_of(number),
        }
    }

    /// Sends a call again, if possible, after the transport has found out how the call should have been made. Returns
    /// whether the call is sent again.
    pub(super) fn is_sent_again(&mut self, cx: &mut Cx<'_, '_>, call: CallId) -> bool {
        let Some(asked) = self.messages.outgoing.get_mut(call.0) else { return false };
        let state = core::mem::replace(&mut asked.call.state, CallState::Stepping);
        let (below, index) = (&mut self.messages, &mut self.index);
        let mut at = CallCx { cx, below, index, call };
        let is_again = can_be_sent_again(&mut at);
        if is_again {
            state.send_again(&mut at);
        }
        self.put_state(call, state);
        is_again
    }

    /// Handles a notification of the peer that is not about a single request.
    pub(super) fn notification<'e, 'a>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        kind: Option<NotificationKind>,
        (method, params): (Str<'a>, Option<Object<'e, 'a>>),
        (bytes, reception): (&'a [u8], &Reception),
    ) -> Option<ForRole<'e, 'a>> {
        let params = params.as_ref();
        let text = params.map(|params| Raw::trusted(params.text()));
        let notification = Notification { method, params: text };
        let Session { role, negotiated, .. } = self.messages.session;
        if kind == Some(NotificationKind::Initialized)
            && role == Side::Server
            && negotiated.is_some()
        {
            return Some(ForRole::Notification(kind, notification));
        }
        let is_relayed = negotiated.is_some() && cx.config.relay.covers(&notification.method);
        let kind = kind.filter(|_| !is_relayed);
        match expected(&mut self.messages, kind, params) {
            Ok(true) => {}
            Ok(false) => return None,
            Err((kind, misfit)) => {
                let violation = Violation { misfit, ..Violation::of(kind, None, bytes) };
                return self.messages.violations.report(cx, violation).map(ForRole::Event);
            }
        }
        if let Some((call, snapshot)) = task_of_notification(&self.index, kind, params) {
            return self.step(cx, (call, false), |state, at| match state {
                CallState::Task(task) => task.on_status(at, snapshot, bytes),
                _ => Next::On(None),
            });
        }
        let Some(kind) = kind else { return Some(ForRole::Notification(None, notification)) };
        if is_about_subscriptions(&self.messages.session, kind) {
            let tables = (&mut self.messages, &mut self.index);
            let event = of_subscription(tables, cx, kind, notification, (bytes, reception));
            return event.map(ForRole::Event);
        }
        let is_change = kind.changed().is_some() || kind == NotificationKind::ResourceUpdated;
        if !is_change || self.in_sessions().all().next().is_none() {
            return Some(ForRole::Notification(Some(kind), notification));
        }
        match self.in_sessions().on_notification(cx, kind, notification) {
            Ok(event) => event.map(ForRole::Event),
            Err(unwanted) => Some(ForRole::Notification(Some(kind), unwanted)),
        }
    }

    /// Handles a progress notification for a call of this side. A late notification is not a violation.
    pub(super) fn progress<'a>(
        &mut self,
        cx: &Cx<'_, '_>,
        params: Option<&Object<'_, 'a>>,
        bytes: &'a [u8],
    ) -> Option<CommonEvent<'a>> {
        let config = cx.config;
        let (mut token, mut progress, mut total, mut message) = (None, None, None, None);
        if let Some(params) = params {
            for (key, value) in params.members() {
                if key == "progressToken" {
                    token = Id::from_literal(value, config.limits.token_bytes).ok();
                } else if key == "progress" {
                    progress = Number::from_literal(value);
                } else if key == "total" {
                    total = Number::from_literal(value);
                } else if key == "message" {
                    message = Str::from_literal(value);
                }
            }
        }
        let (Some(token), Some(progress)) = (token, progress) else {
            return self.messages.violations.report_notification(
                cx,
                ViolationKind::MalformedProgress,
                bytes,
            );
        };
        // The token of a call is its id.
        let outgoing = &mut self.messages.outgoing;
        let id = token.number(cx.config.match_stringified_ids);
        let Some(place) = id.and_then(|id| outgoing.find(id)) else {
            return match outgoing.unmatched_cause_of(id) {
                UnmatchedCause::NeverIssued => self.messages.violations.report_notification(
                    cx,
                    ViolationKind::UnknownToken,
                    bytes,
                ),
                _ => None,
            };
        };
        let asked = outgoing.get_mut(place)?;
        if asked.owner == Owner::Abandoned {
            return None;
        }
        let is_expected = asked.sent.awaits_answer() || asked.call.state.takes_progress();
        match asked.progress {
            Wanted::Wanted(latest) if is_expected => {
                if latest.is_some_and(|latest| progress <= latest) {
                    return self.messages.violations.report_notification(
                        cx,
                        ViolationKind::ProgressNotIncreasing,
                        bytes,
                    );
                }
            }
            _ => {
                return self.messages.violations.report_notification(
                    cx,
                    ViolationKind::UnknownToken,
                    bytes,
                );
            }
        }
        asked.progress = Wanted::Wanted(Some(progress));
        outgoing.wait(place, Wait::Response, cx.now);
        let call = CallId(place);
        Some(CommonEvent::Progress(ProgressUpdate { call, progress, total, message }))
    }

    /// Handles a cancellation by the server. A server may cancel only subscriptions.
    pub(super) fn cancelled_by_server<'a>(
        &mut self,
        cx: &Cx<'_, '_>,
        id: &Id<'_>,
        reason: Option<Str<'a>>,
    ) -> Option<CommonEvent<'a>> {
        let call = CallId(self.messages.outgoing.find(id.number(false)?)?);
        let end = SubscriptionEnd::Cancelled { reason };
        if subscription(&self.messages, call)?.has_waiting() {
            defer_end(&mut self.messages, cx, call, end);
            return None;
        }
        Some(self.take_out(call)?.subscription_ended(end))
    }
}

/// Returns the call whose task a notification is about.
fn task_of_notification<'a>(
    index: &CallIndex,
    kind: Option<NotificationKind>,
    params: Option<&Object<'_, 'a>>,
) -> Option<(CallId, Snapshot<'a>)> {
    if !matches!(kind, Some(NotificationKind::TaskChanged | NotificationKind::DetailedTaskChanged))
    {
        return None;
    }
    let snapshot = Snapshot::read(params?.text())?;
    let call = index.call_of_task(&snapshot.id.to_str())?;
    Some((call, snapshot))
}
