//! Sends notifications of this side: whether they are allowed, and whether the peer is subscribed to them.

use alloc::string::String;

use super::answer_context::written;
use super::change::Change;
use super::cx::Cx;
use super::messages::Messages;
use super::outboxes::{Observation, Route};
use super::pre_session_queue::{PreSessionQueue, Waiting};
use super::send::{SentMessage, observe_sent, send_about};
use super::send_permit::SendPermit;
use super::session::Session;
use crate::capability::{CapabilitySet, Owner};
use crate::config::CapabilityPolicy;
use crate::dialect::NotAllowed;
use crate::dialect::methods::{NotificationKind, RequestKind};
use crate::frame::{Room, Tag};
use crate::handle::IncomingId;
use crate::json::{Member, Raw, Str, member};
use crate::model::{LoggingLevel, ResourceUpdatedParams};
use crate::rpc::{Recycle, write_notification};
use crate::schema::shape::Form;
use crate::schema::{EncodeError, Payload, text_of};
use crate::session::Phase;
use crate::version::RevisionSet;

/// The result of sending a notification. No variant is an error: the sender need not know the subscriptions of the
/// peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Delivery {
    /// The notification was put into the outbox.
    Sent,
    /// The notification waits until the session is open, or until the subscription is acknowledged.
    Held,
    /// The peer is not subscribed to it: the level of the log message is too low, or no subscription covers the
    /// resource.
    NotWanted,
    /// An unsent message in the outbox, or a pending change, already reports the same.
    Repeated,
    /// The peer is subscribed to it, but the outbox has no room. The notification is sent by the next
    /// [`handle_timeout`](crate::Server::handle_timeout), or by the next received frame, after bytes have left the
    /// outbox; further changes until then add no second one.
    Lagged,
}

impl Delivery {
    /// Combines the deliveries of one notification to several receivers.
    pub(super) const fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Lagged, _) | (_, Self::Lagged) => Self::Lagged,
            (Self::Sent, _) | (_, Self::Sent) => Self::Sent,
            (Self::Held, _) | (_, Self::Held) => Self::Held,
            (Self::Repeated, _) | (_, Self::Repeated) => Self::Repeated,
            (Self::NotWanted, Self::NotWanted) => Self::NotWanted,
        }
    }
}

/// Why a notification could not be sent. Nothing was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum NotifyError {
    /// The connection has ended.
    #[error("the connection has ended")]
    Closed,
    /// The machine sends this method itself.
    #[error("the machine sends this method itself")]
    Reserved,
    /// The session does not allow the notification.
    #[error("the notification may not be sent: {0}")]
    NotAllowed(#[from] NotAllowed),
    /// The peer was not asked to visit a URL under this id, or the elicitation is already complete.
    #[error("no elicitation of this id is open")]
    UnknownElicitation,
    /// The notification could not be written.
    #[error("the notification could not be written: {0}")]
    Encode(#[from] EncodeError),
}

/// A notification to send.
pub(crate) struct Notice<'m> {
    pub(crate) method: &'m str,
    pub(crate) params: &'m dyn Payload,
    /// The request that the notification belongs to.
    pub(crate) related: Option<IncomingId>,
    /// Whether the peer is subscribed to it; `None` if this is still to be checked.
    pub(crate) wanted: Option<bool>,
    /// The change that the notification reports, if its method does not imply it.
    pub(crate) change: Option<Change<'m>>,
}

/// The destination of a notification of this side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Audience {
    /// The sender of a modern request: on the stream of the request, before the response.
    Exchange(IncomingId),
    /// Nowhere: the request has ended, and no notification follows its response.
    Gone,
    /// The session.
    Session,
    /// Nowhere: no session exists, and none can be opened.
    None,
}

/// Returns the destination of a notification that belongs to the request `related`, or to none.
pub(super) fn audience<C: Recycle>(
    messages: &Messages<C>,
    related: Option<IncomingId>,
) -> Audience {
    let (session, lifecycle) = (&messages.session, &messages.lifecycle);
    if let Some(id) = related {
        match messages.incoming.table.get(id.0) {
            // The request was cancelled together with another one of the same id.
            Some(exchange) if exchange.marked => return Audience::Gone,
            Some(exchange) if exchange.rules().requests_are_self_contained => {
                return Audience::Exchange(id);
            }
            None if session.has_served_modern && lifecycle.phase != Phase::Closed => {
                return Audience::Gone;
            }
            _ => {}
        }
    }
    if session.may_have_session() { Audience::Session } else { Audience::None }
}

/// Checks a notification on a connection that has no session and cannot get one. Returns [`Delivery::NotWanted`].
///
/// # Errors
///
/// [`NotifyError::Closed`] if the connection has ended, and [`NotifyError::NotAllowed`] if a server has not declared
/// the capability, which the policy requires, or this side may not send the notification.
pub(super) fn notify_without_audience<C: Recycle>(
    messages: &Messages<C>,
    cx: &Cx<'_, '_>,
    notice: &Notice<'_>,
) -> Result<Delivery, NotifyError> {
    if messages.lifecycle.phase == Phase::Closed {
        return Err(NotifyError::Closed);
    }
    let Some(kind) = NotificationKind::named(notice.method) else {
        return Ok(Delivery::NotWanted);
    };
    let rule = kind.rule();
    let declared = messages.session.role.declared(messages.session.offered, CapabilitySet::NONE);
    match rule.gate(messages.session.role.sender()) {
        Some(gate)
            if cx.config.capability_policy.is_strict()
                && gate.owner() == Owner::Server
                && !declared.contains(gate) =>
        {
            Err(NotAllowed::Capability(gate).into())
        }
        _ if !rule.may_be_sent_by(messages.session.role.sender()) => {
            Err(NotAllowed::Direction.into())
        }
        _ => Ok(Delivery::NotWanted),
    }
}

/// Sends a notification about a modern request: on the stream of its exchange, before its response.
pub(super) fn notify_in_exchange<C: Recycle>(
    messages: &mut Messages<C>,
    cx: &mut Cx<'_, '_>,
    id: IncomingId,
    notice: &Notice<'_>,
) -> Result<Delivery, NotifyError> {
    let Notice { method, params, wanted, .. } = *notice;
    if messages.lifecycle.phase == Phase::Closed {
        return Err(NotifyError::Closed);
    }
    let ours = messages.session.offered_modern();
    let (policy, mut undeclared) = (cx.config.capability_policy, None);
    let Some(exchange) = messages.incoming.table.get_mut(id.0) else {
        return Ok(Delivery::NotWanted);
    };
    let kind = NotificationKind::named(method).filter(|_| !cx.config.relay.covers(method));
    let (revision, level) = (exchange.context.revision, exchange.context.log_level);
    let form = match kind {
        Some(NotificationKind::Message) => {
            let rule = NotificationKind::Message.rule();
            let declared = messages.session.role.declared(ours, exchange.context.capabilities);
            match rule.check(messages.session.role.sender(), revision, declared) {
                Err(NotAllowed::Capability(missing)) if !policy.is_strict() => {
                    undeclared = Some(missing);
                }
                checked => checked?,
            }
            Some(rule.params(revision))
        }
        // Other known notifications belong to subscriptions, or the machine sends them itself.
        Some(_) => return Err(NotAllowed::Direction.into()),
        None => None,
    };
    let is_log = kind == Some(NotificationKind::Message);
    if exchange.kind == Some(RequestKind::Listen) || (is_log && level.is_none()) {
        return Ok(Delivery::NotWanted);
    }
    let mut is_wanted = wanted.unwrap_or(true);
    if !is_wanted {
        return Ok(Delivery::NotWanted);
    }
    let sent = send_about(exchange, id, cx.out, method, |writer| {
        let start = writer.position();
        write_notification(writer, method, params, form)?;
        if is_log && wanted.is_none() {
            let params = written(writer.since(start), Member::Params);
            is_wanted = level_in(params).zip(level).is_none_or(|(has, least)| least <= has);
        }
        // The error only rolls back the write: `is_wanted` is checked before it.
        if is_wanted { Ok(()) } else { Err(EncodeError::Payload) }
    });
    if !is_wanted {
        return Ok(Delivery::NotWanted);
    }
    sent?;
    if let Some(capability) = undeclared.filter(|_| policy == CapabilityPolicy::Warn) {
        cx.out.observe(&Observation::NotDeclared { method, capability });
    }
    Ok(Delivery::Sent)
}

/// Sends a notification to the session.
pub(super) fn notify_session<C: Recycle>(
    messages: &mut Messages<C>,
    cx: &mut Cx<'_, '_>,
    notice: &Notice<'_>,
) -> Result<Delivery, NotifyError> {
    let Notice { method, params, related, wanted, .. } = *notice;
    let kind = NotificationKind::named(method);
    let mut permit = may_notify(messages, cx, method, kind)?;
    if wanted == Some(false) {
        return Ok(Delivery::NotWanted);
    }
    let kind = kind.filter(|_| !cx.config.relay.covers(method));
    let route = related.map_or(Route::Connection, Route::Exchange);
    if messages.must_hold(method) || is_behind_held(messages, kind, route) {
        return hold_notification(messages, cx, (kind, route), notice, permit.form);
    }
    let mut is_wanted = Ok(Interest::Yes);
    let written = cx.out.outbox(route).append(Room::Limit, Tag::Nothing, |writer| {
        let start = writer.position();
        write_notification(writer, method, params, permit.form)?;
        permit.check_needs(writer)?;
        if wanted.is_none() {
            let params = written(writer.since(start), Member::Params);
            is_wanted = interest(messages, kind, params);
        }
        // The error only rolls back the write: `is_wanted` is checked before it.
        if let Ok(Interest::No) | Err(_) = is_wanted { Err(EncodeError::Payload) } else { Ok(()) }
    });
    match (is_wanted?, written) {
        (Interest::No, _) => return Ok(Delivery::NotWanted),
        (_, Err(error)) => return Err(permit.explain(error)),
        (Interest::Completes(id), Ok(_)) => _ = messages.elicitations.complete(&id),
        (Interest::Yes, Ok(_)) => {}
    }
    permit.observe(method, cx.out);
    if is_of_list(kind) && cx.out.outbox(route).drop_repeated() {
        return Ok(Delivery::Repeated);
    }
    observe_sent(cx.out, route, SentMessage::Method(method));
    Ok(Delivery::Sent)
}

/// Whether a log message would overtake one that is held. Log messages need not wait for the handshake, but they keep
/// their order.
fn is_behind_held<C: Recycle>(
    messages: &Messages<C>,
    kind: Option<NotificationKind>,
    route: Route,
) -> bool {
    let has_log = messages.queue.allocated().is_some_and(PreSessionQueue::has_log);
    let is_held = has_log && messages.lifecycle.phase == Phase::Handshake;
    is_held && kind == Some(NotificationKind::Message) && route == Route::Connection
}

/// Holds a notification until the session is open. The peer can change the level of log messages and its subscriptions
/// to resources until then, so both are checked again when the notification is sent.
fn hold_notification<C: Recycle>(
    messages: &mut Messages<C>,
    cx: &Cx<'_, '_>,
    (kind, route): (Option<NotificationKind>, Route),
    notice: &Notice<'_>,
    form: Option<Form>,
) -> Result<Delivery, NotifyError> {
    let Notice { method, params, wanted, change, .. } = *notice;
    // Only the resource that the peer is subscribed to can be checked, so it stands for its parts.
    let whole = match change {
        Some(Change::Resource { subscribed, uri }) if subscribed != uri => {
            Some(ResourceUpdatedParams::new(subscribed))
        }
        _ => None,
    };
    let is_checked = whole.is_some() || kind == Some(NotificationKind::Message);
    let params = whole.as_ref().map_or(params, |whole| whole as &dyn Payload);
    messages.queue.hold(
        cx.config.limits.held_bytes,
        Waiting { route, call: None, is_wanted: wanted.is_some() && !is_checked },
        |writer| write_notification(writer, method, params, form),
    )?;
    if kind == Some(NotificationKind::Message) && route == Route::Connection {
        messages.queue.note_log();
    }
    let repeated = is_of_list(kind) && messages.queue.drop_repeated();
    Ok(if repeated { Delivery::Repeated } else { Delivery::Held })
}

/// Whether notifications may still be sent, or held until the session is open.
fn takes_notifications<C: Recycle>(messages: &Messages<C>, method: &str) -> bool {
    let lifecycle = &messages.lifecycle;
    match lifecycle.phase {
        Phase::Opening | Phase::Handshake | Phase::Ready => true,
        Phase::Draining => {
            // A client that negotiates anew was ready, but has no session at present.
            let has_session = messages.session.negotiated.is_some();
            has_session && (lifecycle.was_ready || overtakes_handshake(method))
        }
        Phase::Closed => false,
    }
}

impl Session {
    /// Whether a message with this method has to wait for the handshake.
    pub(super) fn must_hold(&self, phase: Phase, method: &str) -> bool {
        let has_session = self.negotiated.is_some();
        // Modern revisions have no `ping`.
        let has_ping = has_session || self.spoken.and(RevisionSet::MODERN).is_empty();
        let overtakes =
            (has_ping && method == "ping") || (has_session && overtakes_handshake(method));
        matches!(phase, Phase::Opening | Phase::Handshake) && !overtakes
    }
}

/// Whether a notification with this method may be sent at all.
pub(super) fn may_notify<C: Recycle>(
    messages: &Messages<C>,
    cx: &Cx<'_, '_>,
    method: &str,
    kind: Option<NotificationKind>,
) -> Result<SendPermit, NotifyError> {
    if !takes_notifications(messages, method) {
        return Err(NotifyError::Closed);
    }
    let reserved =
        [NotificationKind::Initialized, NotificationKind::Cancelled, NotificationKind::Progress];
    if kind.is_some_and(|kind| reserved.contains(&kind)) {
        return Err(NotifyError::Reserved);
    }
    Ok(messages.session.clear_notification(cx, method, kind)?)
}

/// Whether the peer is subscribed to a notification with these params.
pub(super) fn interest<C: Recycle>(
    messages: &Messages<C>,
    kind: Option<NotificationKind>,
    params: &str,
) -> Result<Interest, NotifyError> {
    let text = |name| member(params, name).and_then(Str::from_literal);
    let yes = |wanted| if wanted { Interest::Yes } else { Interest::No };
    match kind {
        Some(NotificationKind::Message) => {
            Ok(yes(level_in(params).is_none_or(|level| messages.interests.wants_level(level))))
        }
        Some(NotificationKind::ResourceUpdated) => {
            let uri = text("uri");
            Ok(yes(uri.is_some_and(|uri| messages.interests.wants_resource_on_wire(&uri))))
        }
        Some(NotificationKind::ElicitationComplete) => text("elicitationId")
            .filter(|id| messages.elicitations.contains(id))
            .map(|id| Interest::Completes(id.into_owned()))
            .ok_or(NotifyError::UnknownElicitation),
        _ => Ok(Interest::Yes),
    }
}

/// Sends a held notification, if it is allowed and the peer is subscribed to it.
pub(super) fn release_notification<C: Recycle>(
    messages: &mut Messages<C>,
    cx: &mut Cx<'_, '_>,
    waiting: Waiting,
    method: &str,
    params: Option<&str>,
) {
    let kind = NotificationKind::named(method);
    let permit = messages.session.clear_notification(cx, method, kind).ok();
    let kind = kind.filter(|_| !waiting.is_wanted && !cx.config.relay.covers(method));
    let interest = interest(messages, kind, params.unwrap_or_default()).unwrap_or(Interest::No);
    let Some(permit) = permit.filter(|_| interest != Interest::No) else {
        return cx.out.observe(&Observation::Dropped { method });
    };
    let (route, params) = (waiting.route, params.map(Raw::trusted));
    let written = cx.out.outbox(route).append(Room::Held, Tag::Nothing, |writer| {
        write_notification(writer, method, &params, permit.form)
    });
    if written.is_err() {
        return cx.out.observe(&Observation::Dropped { method });
    }
    if let Interest::Completes(id) = &interest {
        messages.elicitations.complete(id);
    }
    permit.observe(method, cx.out);
    observe_sent(cx.out, route, SentMessage::Method(method));
}

/// Whether the peer is subscribed to a notification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Interest {
    Yes,
    No,
    /// The peer is subscribed, and the notification completes this elicitation.
    Completes(Str<'static>),
}

/// Returns the level of a log message.
fn level_in(params: &str) -> Option<LoggingLevel> {
    let name = member(params, "level").and_then(Str::from_literal)?;
    LoggingLevel::from_name(&name.to_str())
}

/// Returns the URI of the resource in the params.
pub(super) fn uri_in(params: &dyn Payload) -> Option<String> {
    let params = text_of(params).ok()?;
    let uri = Str::from_literal(member(&params, "uri")?)?;
    Some(String::from(&*uri.to_str()))
}

/// Whether a notification reports a changed list. A second one in a row adds no information.
fn is_of_list(kind: Option<NotificationKind>) -> bool {
    kind.is_some_and(|kind| kind.changed().is_some())
}

/// Whether a message may be sent before the session is open: only pings and log messages may
/// ([lifecycle](https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#initialization)).
fn overtakes_handshake(method: &str) -> bool {
    matches!(method, "ping" | "notifications/message")
}
