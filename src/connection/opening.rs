//! `Opening`: the requests by which a client opens a connection: `initialize`, and the `server/discover` probe that
//! finds out whether a session is needed.

use alloc::boxed::Box;
use core::time::Duration;

use super::ask::{AddedMembers, write_call};
use super::cx::Cx;
use super::messages::Messages;
use super::outboxes::Route;
use super::outgoing_request::{OutgoingRequest, Owner, Sent};
use super::request_members::RequestStamp;
use super::send::{SentMessage, observe_sent};
use crate::dialect::methods::RequestKind;
use crate::frame::{Room, Tag};
use crate::handle::CallId;
use crate::rpc::{Ending, GivenUp, Id, Patience, Recycle};
use crate::schema::{EncodeError, Payload};
use crate::session::Phase;
use crate::version::Revision;

/// The state of opening a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Opening {
    /// The pending request that opens the connection.
    pub(super) call: Option<CallId>,
    /// The request id of a probe that was given up.
    late_probe: Option<Box<u64>>,
}

impl Opening {
    /// Sends `initialize`, with params in the form of this revision.
    pub(crate) fn initialize<C: Recycle>(
        &mut self,
        messages: &mut Messages<C>,
        cx: &mut Cx<'_, '_>,
        params: &dyn Payload,
        revision: Revision,
    ) -> Result<(), EncodeError> {
        let asks = (Owner::Initialize, RequestKind::Initialize);
        let total = cx.config.timeouts.handshake;
        self.ask(messages, cx, asks, params, (revision, total))
    }

    /// Sends the `server/discover` probe, a modern request.
    pub(crate) fn probe<C: Recycle>(
        &mut self,
        messages: &mut Messages<C>,
        cx: &mut Cx<'_, '_>,
        revision: Revision,
    ) -> Result<(), EncodeError> {
        let asks = (Owner::Probe, RequestKind::Discover);
        let total = cx.config.timeouts.probe;
        self.ask(messages, cx, asks, &(), (revision, total))
    }

    /// Sends `initialize` or `server/discover`, with params in the form of this revision.
    fn ask<C: Recycle>(
        &mut self,
        messages: &mut Messages<C>,
        cx: &mut Cx<'_, '_>,
        (owner, kind): (Owner, RequestKind),
        params: &dyn Payload,
        (revision, total): (Revision, Option<Duration>),
    ) -> Result<(), EncodeError> {
        let rule = kind.rule();
        let id = messages.outgoing.next_id();
        let call = CallId(messages.outgoing.next_place());
        let route = Route::Call(call);
        let form = Some(rule.params(revision));
        let mut asked = OutgoingRequest { owner, route, ..OutgoingRequest::default() };
        let own = messages.session.identity();
        let stamp = RequestStamp::of(own, revision.rules(), &asked.again);
        // The application can try its `connect` again, but not a further request of the negotiation.
        let is_first = messages.lifecycle.phase == Phase::Opening;
        let room = if is_first { Room::Limit } else { Room::Reserve };
        let serial = cx.out.outbox(route).append(room, Tag::Call(call), |writer| {
            write_call(writer, (id, rule.name), params, AddedMembers::default(), &stamp, form)
        })?;
        messages.outgoing.clock_mut().tick(cx.now());
        asked.sent = Sent::Outbox(serial);
        messages.register(cx, &mut asked, Patience { total, ..Patience::default() });
        self.call = Some(call);
        observe_sent(cx.out, route, SentMessage::Method(rule.name));
        Ok(())
    }

    /// Whether the probe is pending.
    pub(super) fn is_probing<C: Recycle>(&self, messages: &Messages<C>) -> bool {
        let asked = self.call.and_then(|call| messages.outgoing.get(call.0));
        asked.is_some_and(|asked| asked.owner == Owner::Probe)
    }

    /// Takes the request out of the table, after its outcome has been returned.
    pub(crate) fn forget<C: Recycle>(&mut self, messages: &mut Messages<C>) {
        if let Some(call) = self.call.take() {
            messages.outgoing.remove(call.0, Ending::Closed);
        }
    }

    /// Gives up the probe. The server is not notified: it may never have seen the request.
    pub(crate) fn give_up_probe<C: Recycle>(&mut self, messages: &mut Messages<C>) {
        let Some(call) = self.call.take() else { return };
        self.late_probe = messages.outgoing.id(call.0).map(Box::new);
        messages.outgoing.give_up(call.0, GivenUp::TimedOut);
    }

    /// Whether a response belongs to the probe that was given up. Returns `true` at most once.
    pub(super) fn is_late_probe(&mut self, id: &Id<'_>, match_stringified_ids: bool) -> bool {
        let number = id.number(match_stringified_ids);
        let is_it = number.is_some() && number == self.late_probe.as_deref().copied();
        if is_it {
            self.late_probe = None;
        }
        is_it
    }
}
