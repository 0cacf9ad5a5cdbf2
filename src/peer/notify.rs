//! Notifications of ours: what may be said, and whether anybody wants to hear it.

use serde::ser::Serialize;

use super::exchanges::observe_sent;
use super::gate::Clearance;
use super::held::Waiting;
use super::outlets::{Lane, Outlets};
use super::rules::written;
use super::{ConnectionConfig, Peer};
use crate::dialect::NotAllowed;
use crate::dialect::methods::NotificationKind;
use crate::frame::Room;
use crate::handle::InboundId;
use crate::json::{EncodeError, Member, Str, member};
use crate::model::LoggingLevel;
use crate::rpc::write_notification;
use crate::session::Phase;
use crate::subscription::Interests;

/// What became of a notification. None of it is an error: work need not know who listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Delivery {
    /// It was put into the outbox.
    Sent,
    /// It waits until the session is open.
    Held,
    /// The peer has not asked for it: the level of the log message is too low, the resource is not
    /// subscribed to.
    NotWanted,
    /// It says what the last message in the outbox says already.
    Repeated,
}

/// Why a notification could not be sent. Nothing was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum NotifyError {
    /// The connection has ended.
    #[error("the connection has ended")]
    Closed,
    /// The machine sends this method itself.
    #[error("the machine sends this method itself")]
    Reserved,
    /// The session does not allow it.
    #[error("the notification may not be sent: {0}")]
    NotAllowed(#[from] NotAllowed),
    /// The peer has not been asked to visit a URL under this id, or was told already that it is done.
    #[error("no elicitation of this id is open")]
    UnknownElicitation,
    /// The notification could not be written.
    #[error("the notification could not be written: {0}")]
    Encode(#[from] EncodeError),
}

/// A notification to send.
pub(crate) struct Notice<'m, T: ?Sized> {
    pub(crate) method: &'m str,
    pub(crate) params: &'m T,
    /// The request that it is about.
    pub(crate) related: Option<InboundId>,
    /// Whether the peer wants it, if that has been found out.
    pub(crate) wanted: Option<bool>,
}

impl Peer {
    /// Sends a notification.
    pub(crate) fn notify<T: Serialize + ?Sized>(
        &mut self,
        config: &ConnectionConfig,
        notice: Notice<'_, T>,
        out: &mut dyn Outlets,
    ) -> Result<Delivery, NotifyError> {
        let Notice { method, params, related, wanted } = notice;
        let kind = NotificationKind::named(method);
        let mut clearance = self.may_notify(config, method, kind)?;
        if wanted == Some(false) {
            return Ok(Delivery::NotWanted);
        }
        let kind = kind.filter(|_| !config.relay.covers(method));
        let lane = related.map_or(Lane::Connection, Lane::Exchange);
        if self.must_hold(method) {
            let form = clearance.form;
            self.held.hold(
                config.limits.held_bytes,
                Waiting { lane, call: None, is_wanted: wanted.is_some() },
                |writer| write_notification(writer, method, params, form),
            )?;
            let repeated = is_of_list(kind) && self.held.drop_repeated();
            return Ok(if repeated { Delivery::Repeated } else { Delivery::Held });
        }
        let mut interest = Ok(Interest::Yes);
        let written = out.lane(lane).append(Room::Limit, None, |writer| {
            let start = writer.position();
            write_notification(writer, method, params, clearance.form)?;
            clearance.check_needs(writer)?;
            if wanted.is_none() {
                interest = self.interest(kind, written(writer.since(start), Member::Params));
            }
            // Whoever reads this error looks at the interest first.
            if let Ok(Interest::No) | Err(_) = interest {
                Err(EncodeError::Payload)
            } else {
                Ok(())
            }
        });
        match (interest?, written) {
            (Interest::No, _) => return Ok(Delivery::NotWanted),
            (_, Err(error)) => return Err(clearance.explain(error)),
            (Interest::Completes(id), Ok(_)) => _ = self.elicitations.complete(&id),
            (Interest::Yes, Ok(_)) => {}
        }
        clearance.observe(method, out);
        if is_of_list(kind) && out.lane(lane).drop_repeated() {
            return Ok(Delivery::Repeated);
        }
        observe_sent(out, lane, Some(method));
        Ok(Delivery::Sent)
    }

    /// Whether a notification of this method may be sent at all.
    pub(super) fn may_notify(
        &self,
        config: &ConnectionConfig,
        method: &str,
        kind: Option<NotificationKind>,
    ) -> Result<Clearance, NotifyError> {
        if !self.takes_notifications(overtakes_handshake(method)) {
            return Err(NotifyError::Closed);
        }
        let reserved = [
            NotificationKind::Initialized,
            NotificationKind::Cancelled,
            NotificationKind::Progress,
        ];
        if kind.is_some_and(|kind| reserved.contains(&kind)) {
            return Err(NotifyError::Reserved);
        }
        Ok(self.clear_notification(config, method, kind)?)
    }

    /// Whether the peer has asked for what a notification says.
    pub(super) fn interest(
        &self,
        kind: Option<NotificationKind>,
        params: &str,
    ) -> Result<Interest, NotifyError> {
        let text = |name| member(params, name).and_then(Str::from_literal);
        let yes = |wanted| if wanted { Interest::Yes } else { Interest::No };
        match kind {
            Some(NotificationKind::Message) => {
                let level = text("level").and_then(|name| LoggingLevel::from_name(&name.to_str()));
                Ok(yes(level.is_none_or(|level| self.interests.wants_level(level))))
            }
            Some(NotificationKind::ResourceUpdated) => {
                let uri = text("uri");
                Ok(yes(uri.is_some_and(|uri| self.interests.wants_resource_on_wire(&uri))))
            }
            Some(NotificationKind::ElicitationComplete) => text("elicitationId")
                .filter(|id| self.elicitations.contains(id))
                .map(|id| Interest::Completes(id.into_owned()))
                .ok_or(NotifyError::UnknownElicitation),
            _ => Ok(Interest::Yes),
        }
    }

    pub(crate) const fn interests(&self) -> &Interests {
        &self.interests
    }

    /// Whether notifications may still be sent, or held until they may.
    const fn takes_notifications(&self, overtakes_handshake: bool) -> bool {
        match self.phase {
            Phase::Opening | Phase::Handshake | Phase::Ready => true,
            Phase::Draining => self.was_ready || (overtakes_handshake && self.session.is_some()),
            Phase::Closed => false,
        }
    }

    /// Whether a message has to wait for the handshake.
    pub(super) fn must_hold(&self, method: &str) -> bool {
        let has_session = self.session.is_some();
        let overtakes = method == "ping" || (has_session && overtakes_handshake(method));
        matches!(self.phase, Phase::Opening | Phase::Handshake) && !overtakes
    }
}

/// Whether a notification is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Interest {
    Yes,
    No,
    /// It is, and says that this elicitation is complete.
    Completes(Str<'static>),
}

/// Whether a notification says that a list has changed: a second one says nothing new.
fn is_of_list(kind: Option<NotificationKind>) -> bool {
    kind.is_some_and(|kind| kind.changed().is_some())
}

/// Pings and log messages may go out before the session is open
/// ([lifecycle](https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#initialization)).
fn overtakes_handshake(method: &str) -> bool {
    matches!(method, "ping" | "notifications/message")
}
