//! `Opening`: the requests by which a client opens a connection: `initialize`, and the question whether it takes one.

use alloc::boxed::Box;
use core::time::Duration;

use super::ask::{AddedMembers, write_call};
use super::cx::Cx;
use super::messages::Messages;
use super::outboxes::Route;
use super::outgoing_request::{OutgoingRequest, Owner, Sent};
use super::request_members::RequestStamp;
use super::send::{Said, observe_sent};
use crate::dialect::methods::RequestKind;
use crate::frame::{Room, Tag};
use crate::handle::CallId;
use crate::rpc::{Ending, GivenUp, Id, Patience, Recycle};
use crate::schema::{EncodeError, Payload};
use crate::version::Revision;

/// How far the opening of a connection has come.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Opening {
    /// The request by which the connection is opened, while it is pending.
    pub(super) call: Option<CallId>,
    /// The id of the question whether there has to be a session, if that was given up.
    late_probe: Option<Box<u64>>,
}

impl Opening {
    /// Sends `initialize`, of which the params have the form of this revision.
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

    /// Asks the server what it is, without a session.
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

    /// Sends `initialize` or `server/discover`, of which the params have the form of this revision.
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
        let serial = cx.out.outbox(route).append(Room::Limit, Tag::Call(call), |writer| {
            write_call(writer, (id, rule.name), params, AddedMembers::default(), &stamp, form)
        })?;
        messages.outgoing.clock_mut().tick(cx.now());
        asked.sent = Sent::Outbox(serial);
        messages.register(cx, &mut asked, Patience { total, ..Patience::default() });
        self.call = Some(call);
        observe_sent(cx.out, route, Said::Method(rule.name));
        Ok(())
    }

    /// Whether it is being found out if there has to be a session.
    pub(super) fn is_probing<C: Recycle>(&self, messages: &Messages<C>) -> bool {
        let asked = self.call.and_then(|call| messages.outgoing.get(call.0));
        asked.is_some_and(|asked| asked.owner == Owner::Probe)
    }

    /// Takes the request out of the table: what came of it has been handed out.
    pub(crate) fn forget<C: Recycle>(&mut self, messages: &mut Messages<C>) {
        if let Some(call) = self.call.take() {
            messages.outgoing.remove(call.0, Ending::Closed);
        }
    }

    /// Waits no longer for what the server is. The server is not told: it may never have heard of the question.
    pub(crate) fn give_up_probe<C: Recycle>(&mut self, messages: &mut Messages<C>) {
        let Some(call) = self.call.take() else { return };
        self.late_probe = messages.outgoing.id(call.0).map(Box::new);
        messages.outgoing.give_up(call.0, GivenUp::TimedOut);
    }

    /// Whether a response belongs to the question that was given up, which happens once.
    pub(super) fn is_late_probe(&mut self, id: &Id<'_>, match_stringified_ids: bool) -> bool {
        let number = id.number(match_stringified_ids);
        let is_it = number.is_some() && number == self.late_probe.as_deref().copied();
        if is_it {
            self.late_probe = None;
        }
        is_it
    }
}
