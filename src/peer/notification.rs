//! Notifications of the peer. Whatever is wrong with one, it is never answered.

use super::Peer;
use super::asked::{Owner, Wanted};
use super::call_cx::Next;
use super::call_state::CallState;
use super::cx::Cx;
use super::event::{CancelCause, Cancelled, Notification, ProgressUpdate, Violation};
use super::exchange::Exchange;
use super::for_role::ForRole;
use super::peer_event::PeerEvent;
use super::reception::Reception;
use super::route::Role;
use super::subscribe::{ended, of_subscription};
use super::subscription::SubscriptionEnd;
use super::subscription_state::subscription;
use super::task_snapshot::Snapshot;
use crate::dialect::NotAllowed;
use crate::dialect::methods::NotificationKind;
use crate::error::ViolationKind;
use crate::handle::{CallId, InboundId};
use crate::json::{Misfit, Number, Object, Raw, Str, fits};
use crate::rpc::{Id, StrayCause, Wait};

/// # Notifications
impl Peer {
    pub(super) fn notification<'e, 'a>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        method: Str<'a>,
        params: Option<Object<'e, 'a>>,
        bytes: &'a [u8],
        reception: &Reception,
    ) -> Option<ForRole<'e, 'a>> {
        let config = cx.config;
        let kind = NotificationKind::of(&method);
        let event = match kind {
            Some(NotificationKind::Cancelled) => self.cancellation(cx, params.as_ref(), bytes),
            Some(NotificationKind::Progress) => self.progress(cx, params.as_ref(), bytes),
            Some(NotificationKind::Initialized)
                if self.messages.session.role == Role::Server
                    && self.messages.session.terms.is_some() =>
            {
                let notification = Notification {
                    method,
                    params: params.as_ref().map(|params| Raw::trusted(params.text())),
                };
                return Some(ForRole::Notification(kind, notification));
            }
            _ => {
                let is_relayed =
                    self.messages.session.terms.is_some() && config.relay.covers(&method);
                let kind = kind.filter(|_| !is_relayed);
                let expected = self.expected(kind, params.as_ref());
                if expected == Ok(true)
                    && let Some((call, snapshot)) = self.told_of_task(kind, params.as_ref())
                {
                    return self.step(cx, (call, false), |state, at| match state {
                        CallState::Task(task) => task.seen(at, snapshot, bytes),
                        _ => Next::On(None),
                    });
                }
                match expected {
                    Ok(true) if self.is_about_subscriptions(kind) => {
                        let notification = Notification {
                            method,
                            params: params.as_ref().map(|params| Raw::trusted(params.text())),
                        };
                        kind.and_then(|kind| {
                            let tables = (&mut self.messages, &mut self.index);
                            of_subscription(tables, cx, kind, notification, (bytes, reception))
                        })
                    }
                    Ok(true) => {
                        let mut notification = Notification {
                            method,
                            params: params.as_ref().map(|params| Raw::trusted(params.text())),
                        };
                        if let Some(kind) = kind
                            && self.may_be_for_subscription(kind)
                        {
                            match self.in_sessions().told(cx, kind, notification) {
                                Ok(event) => return event.map(ForRole::Event),
                                Err(unwanted) => notification = unwanted,
                            }
                        }
                        return Some(ForRole::Notification(kind, notification));
                    }
                    Ok(false) => None,
                    Err((kind, misfit)) => {
                        let violation = Violation { misfit, ..Violation::of(kind, None, bytes) };
                        self.messages.violations.report(cx, violation)
                    }
                }
            }
        };
        event.map(ForRole::Event)
    }

    /// Whether a notification makes sense now. Takes in what it says; `Ok(false)` if that is nothing.
    fn expected(
        &mut self,
        kind: Option<NotificationKind>,
        params: Option<&Object<'_, '_>>,
    ) -> Result<bool, (ViolationKind, Option<Misfit>)> {
        const UNEXPECTED: (ViolationKind, Option<Misfit>) =
            (ViolationKind::UnexpectedNotification, None);
        let Some(session) = self.messages.session.terms else {
            // A server may log while it starts.
            let early = self.messages.session.role == Role::Client
                && kind == Some(NotificationKind::Message);
            return if early { Ok(true) } else { Err(UNEXPECTED) };
        };
        let Some(kind) = kind else { return Ok(true) };
        let rule = kind.rule();
        match rule.check(
            self.messages.session.role.other_side(),
            session.revision,
            self.messages.session.declared(),
        ) {
            // What has not been declared is no fault worth mentioning.
            Ok(()) | Err(NotAllowed::Capability(_)) => {}
            Err(_) => return Err(UNEXPECTED),
        }
        fits(rule.params(session.revision), params)
            .map_err(|misfit| (ViolationKind::MalformedNotification, Some(misfit)))?;
        if let Some(list) =
            kind.changed().filter(|_| !self.messages.session.rules().changes_by_subscription)
        {
            self.messages.list_versions.note(list);
        }
        if kind == NotificationKind::ElicitationComplete {
            let id =
                params.and_then(|params| params.get("elicitationId")).and_then(Str::from_literal);
            return Ok(id.is_some_and(|id| self.messages.elicitations.complete(&id)));
        }
        Ok(true)
    }

    /// The call that has become the task which a notification is about.
    fn told_of_task<'a>(
        &self,
        kind: Option<NotificationKind>,
        params: Option<&Object<'_, 'a>>,
    ) -> Option<(CallId, Snapshot<'a>)> {
        if !matches!(
            kind,
            Some(NotificationKind::TaskChanged | NotificationKind::DetailedTaskChanged)
        ) {
            return None;
        }
        let snapshot = Snapshot::read(params?.text())?;
        let call = self.index.call_of_task(&snapshot.id.to_str())?;
        Some((call, snapshot))
    }

    /// Whether a notification comes only to those who have asked for it, by a subscription.
    fn is_about_subscriptions(&self, kind: Option<NotificationKind>) -> bool {
        let is_told = matches!(
            kind,
            Some(
                NotificationKind::Acknowledged
                    | NotificationKind::ToolsChanged
                    | NotificationKind::PromptsChanged
                    | NotificationKind::ResourcesChanged
                    | NotificationKind::ResourceUpdated
                    | NotificationKind::DetailedTaskChanged
            )
        );
        is_told
            && self.messages.session.role == Role::Client
            && self.messages.session.rules().changes_by_subscription
    }

    /// The peer cancels one of its requests. Naming one that is not in flight is no fault: it may
    /// have been answered meanwhile.
    fn cancellation<'a>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        params: Option<&Object<'_, 'a>>,
        bytes: &'a [u8],
    ) -> Option<PeerEvent<'a>> {
        let config = cx.config;
        let mut id = None;
        let mut reason = None;
        for (key, value) in params.into_iter().flat_map(Object::members) {
            if key == "requestId" {
                id = Id::from_literal(value, config.limits.id_bytes).ok();
            } else if key == "reason" {
                reason = Str::from_literal(value);
            }
        }
        match id {
            Some(id)
                if self.messages.session.role == Role::Client
                    && self.messages.session.rules().changes_by_subscription =>
            {
                self.cancelled_by_server(&id, reason)
            }
            Some(id) => self.cancelled_by_peer(cx, &id, reason),
            None => self.unanswered(cx, ViolationKind::MalformedCancellation, bytes),
        }
    }

    /// The peer reports on one of our calls. Being late is no fault.
    fn progress<'a>(
        &mut self,
        cx: &Cx<'_, '_>,
        params: Option<&Object<'_, 'a>>,
        bytes: &'a [u8],
    ) -> Option<PeerEvent<'a>> {
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
            return self.unanswered(cx, ViolationKind::MalformedProgress, bytes);
        };
        // The token of a call is its id.
        let outgoing = &mut self.messages.outgoing;
        let id = token.number(cx.config.match_stringified_ids);
        let Some(place) = id.and_then(|id| outgoing.find(id)) else {
            return match outgoing.stray(id) {
                StrayCause::NeverIssued => self.unanswered(cx, ViolationKind::UnknownToken, bytes),
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
                    return self.unanswered(cx, ViolationKind::ProgressNotIncreasing, bytes);
                }
            }
            _ => return self.unanswered(cx, ViolationKind::UnknownToken, bytes),
        }
        asked.progress = Wanted::Wanted(Some(progress));
        outgoing.wait(place, Wait::Answer, cx.now);
        let call = CallId(place);
        Some(PeerEvent::Progress(ProgressUpdate { call, progress, total, message }))
    }

    /// The peer cancels a request of its own.
    fn cancelled_by_peer<'a>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        id: &Id<'_>,
        reason: Option<Str<'a>>,
    ) -> Option<PeerEvent<'a>> {
        let incoming = &mut self.messages.incoming;
        let place = incoming.table.find(id)?;
        if incoming.table.get(place).is_some_and(Exchange::asks_for_task) {
            // It ends by a request about the task, and is answered so that there is one to be made.
            self.messages.violations.note(ViolationKind::TaskCancellation);
            return None;
        }
        let request = InboundId(place);
        self.withdraw_request(cx, request);
        // Where duplicate ids are served, others can have the same one. They come out one by one.
        let incoming = &mut self.messages.incoming;
        while let Some(other) = incoming.table.find(id) {
            incoming.table.detach(other);
            incoming.mark(other, CancelCause::Peer);
        }
        let cause = CancelCause::Peer;
        Some(PeerEvent::Cancelled(Cancelled { id: request, cause, reason }))
    }

    /// The server gives something up that it was asked for. It may do so with subscriptions.
    fn cancelled_by_server<'a>(
        &mut self,
        id: &Id<'_>,
        reason: Option<Str<'a>>,
    ) -> Option<PeerEvent<'a>> {
        let call = CallId(self.messages.outgoing.find(id.number(false)?)?);
        subscription(&self.messages, call)?;
        _ = self.take_out(call);
        Some(ended(call, SubscriptionEnd::Cancelled { reason }))
    }

    /// Whether a notification of the server may be for a subscription of a session.
    fn may_be_for_subscription(&mut self, kind: NotificationKind) -> bool {
        let is_change = kind.changed().is_some() || kind == NotificationKind::ResourceUpdated;
        is_change && self.in_sessions().all().next().is_some()
    }

    /// Reports a notification that is wrong.
    fn unanswered<'a>(
        &mut self,
        cx: &Cx<'_, '_>,
        kind: ViolationKind,
        bytes: &'a [u8],
    ) -> Option<PeerEvent<'a>> {
        self.messages.violations.report(cx, Violation::of(kind, None, bytes))
    }
}
