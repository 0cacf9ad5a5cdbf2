//! Notifications of the peer. Whatever is wrong with one, it is never answered.

use super::call::Purpose;
use super::cx::Cx;
use super::event::{Notification, ProgressUpdate, Violation};
use super::incoming::Incoming;
use super::peer_event::PeerEvent;
use super::reception::Reception;
use super::tracking::Snapshot;
use super::{Peer, Role};
use crate::dialect::NotAllowed;
use crate::dialect::methods::NotificationKind;
use crate::error::ViolationKind;
use crate::handle::CallId;
use crate::json::{Misfit, Number, Object, Raw, Str, fits};
use crate::rpc::{Id, StrayCause};

impl Peer {
    pub(super) fn notification<'e, 'a>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        method: Str<'a>,
        params: Option<Object<'e, 'a>>,
        bytes: &'a [u8],
        reception: &Reception,
    ) -> Option<Incoming<'e, 'a>> {
        let config = cx.config;
        let kind = NotificationKind::of(&method);
        let event = match kind {
            Some(NotificationKind::Cancelled) => {
                self.cancellation(cx, params.as_ref(), bytes, reception)
            }
            Some(NotificationKind::Progress) => {
                self.progress(cx, params.as_ref(), bytes, reception)
            }
            Some(NotificationKind::Initialized)
                if self.role == Role::Server && self.session.is_some() =>
            {
                let notification = Notification {
                    method,
                    params: params.as_ref().map(|params| Raw::trusted(params.text())),
                };
                return Some(Incoming::Notification(kind, notification));
            }
            _ => {
                let is_relayed = self.session.is_some() && config.relay.covers(&method);
                let kind = kind.filter(|_| !is_relayed);
                let expected = self.expected(kind, params.as_ref());
                if expected == Ok(true)
                    && let Some((call, snapshot)) = self.told_of_task(kind, params.as_ref())
                {
                    return self.seen(cx, call, snapshot, bytes, reception).map(Incoming::Event);
                }
                match expected {
                    Ok(true) if self.is_about_subscriptions(kind) => {
                        let notification = Notification {
                            method,
                            params: params.as_ref().map(|params| Raw::trusted(params.text())),
                        };
                        kind.and_then(|kind| {
                            self.of_subscription(cx, kind, notification, bytes, reception)
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
                            match self.told_in_session(cx, kind, notification) {
                                Ok(event) => return event.map(Incoming::Event),
                                Err(unwanted) => notification = unwanted,
                            }
                        }
                        return Some(Incoming::Notification(kind, notification));
                    }
                    Ok(false) => None,
                    Err((kind, misfit)) => {
                        let violation = Violation { misfit, ..Violation::of(kind, None, bytes) };
                        self.report(cx, violation)
                    }
                }
            }
        };
        event.map(Incoming::Event)
    }

    /// Whether a notification makes sense now. Takes in what it says; `Ok(false)` if that is nothing.
    fn expected(
        &mut self,
        kind: Option<NotificationKind>,
        params: Option<&Object<'_, '_>>,
    ) -> Result<bool, (ViolationKind, Option<Misfit>)> {
        const UNEXPECTED: (ViolationKind, Option<Misfit>) =
            (ViolationKind::UnexpectedNotification, None);
        let Some(session) = self.session else {
            // A server may log while it starts.
            let early = self.role == Role::Client && kind == Some(NotificationKind::Message);
            return if early { Ok(true) } else { Err(UNEXPECTED) };
        };
        let Some(kind) = kind else { return Ok(true) };
        let rule = kind.rule();
        match rule.check(self.role.other_side(), session.revision, self.declared()) {
            // What has not been declared is no fault worth mentioning.
            Ok(()) | Err(NotAllowed::Capability(_)) => {}
            Err(_) => return Err(UNEXPECTED),
        }
        fits(rule.params(session.revision), params)
            .map_err(|misfit| (ViolationKind::MalformedNotification, Some(misfit)))?;
        if let Some(list) = kind.changed().filter(|_| !self.rules().changes_by_subscription) {
            self.changes.note(list);
        }
        if kind == NotificationKind::ElicitationComplete {
            let id =
                params.and_then(|params| params.get("elicitationId")).and_then(Str::from_literal);
            return Ok(id.is_some_and(|id| self.elicitations.complete(&id)));
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
        let call = self.call_of_task(&snapshot.id.to_str())?;
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
        is_told && self.role == Role::Client && self.rules().changes_by_subscription
    }

    /// The peer cancels one of its requests. Naming one that is not in flight is no fault: it may
    /// have been answered meanwhile.
    fn cancellation<'a>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        params: Option<&Object<'_, 'a>>,
        bytes: &'a [u8],
        _reception: &Reception,
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
            Some(id) if self.role == Role::Client && self.rules().changes_by_subscription => {
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
        _reception: &Reception,
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
        let id = token.number(config.match_stringified_ids);
        let place = id.and_then(|id| self.outbound.find(id));
        let Some(place) = place else {
            return match self.outbound.stray(id) {
                StrayCause::NeverIssued => self.unanswered(cx, ViolationKind::UnknownToken, bytes),
                _ => None,
            };
        };
        let call = CallId(place);
        let entry = self.outbound.get(place)?;
        if entry.purpose == Purpose::Abandoned {
            return None;
        }
        if !entry.takes_progress() {
            return self.unanswered(cx, ViolationKind::UnknownToken, bytes);
        }
        if entry.progress.is_some_and(|last| progress <= last) {
            return self.unanswered(cx, ViolationKind::ProgressNotIncreasing, bytes);
        }
        self.has_progressed(call, progress, cx.now());
        Some(PeerEvent::Progress(ProgressUpdate { call, progress, total, message }))
    }

    /// Reports a notification that is wrong.
    fn unanswered<'a>(
        &mut self,
        cx: &Cx<'_, '_>,
        kind: ViolationKind,
        bytes: &'a [u8],
    ) -> Option<PeerEvent<'a>> {
        self.report(cx, Violation::of(kind, None, bytes))
    }
}
