//! The requests by which a client opens a connection: `initialize`, and the question whether it takes
//! one.

use serde::ser::Serialize;

use super::Peer;
use super::call::{Call, Purpose, Whereabouts};
use super::calls::{Marks, write_call};
use super::cx::Cx;
use super::exchanges::{Said, observe_sent};
use super::identity::Identity;
use super::outlets::Lane;
use super::request_stamp::RequestStamp;
use crate::capability::{Capability, CapabilitySet, Owner};
use crate::dialect::methods::RequestKind;
use crate::frame::{Room, Tag};
use crate::handle::CallId;
use crate::json::EncodeError;
use crate::rpc::{GivenUp, Id};
use crate::version::Revision;

impl Peer {
    /// Sends `initialize`, of which the params have this form.
    pub(crate) fn call_initialize<T: Serialize + ?Sized>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        params: &T,
        revision: Revision,
    ) -> Result<(), EncodeError> {
        let entry = Call { purpose: Purpose::Initialize, ..Call::default() };
        let request = (RequestKind::Initialize, params, revision);
        self.call_opening(cx, entry, request, cx.config.timeouts.handshake)
    }

    /// Asks the server what it is, without a session.
    pub(crate) fn call_probe(
        &mut self,
        cx: &mut Cx<'_, '_>,
        revision: Revision,
    ) -> Result<(), EncodeError> {
        let entry = Call { purpose: Purpose::Probe, ..Call::default() };
        let request = (RequestKind::Discover, &(), revision);
        self.call_opening(cx, entry, request, cx.config.timeouts.probe)
    }

    fn call_opening<T: Serialize + ?Sized>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        entry: Call,
        (kind, params, revision): (RequestKind, &T, Revision),
        timeout: Option<core::time::Duration>,
    ) -> Result<(), EncodeError> {
        let rule = kind.rule();
        let id = self.outbound.next_id();
        let call = CallId(self.outbound.next_place());
        let lane = Lane::Call(call);
        let form = Some(rule.params(revision));
        let stamp = RequestStamp::of(self.identity.as_deref(), revision.rules(), &entry);
        let serial = cx.out.lane(lane).append(Room::Limit, Tag::Call(call), |writer| {
            write_call(writer, (id, rule.name), params, Marks::default(), &stamp, form)
        })?;
        self.clock.tick(cx.now());
        let time = self.clock.at(cx.now());
        let mut entry = Call {
            total_deadline: timeout.map(|timeout| time + timeout),
            lag: self.clock.lag(cx.now()),
            lane,
            whereabouts: Whereabouts::Lane(serial),
            ..entry
        };
        self.register(&mut entry);
        self.initialize = Some(call);
        observe_sent(cx.out, lane, Said::Method(rule.name));
        Ok(())
    }

    /// Whether it is being found out if there has to be a session.
    pub(super) fn is_probing(&self) -> bool {
        let asked = self.initialize.and_then(|call| self.outbound.get(call.0));
        asked.is_some_and(|entry| entry.purpose == Purpose::Probe)
    }

    /// Waits no longer for what the server is. It is not told: it may never have heard of the question.
    pub(crate) fn give_up_probe(&mut self) {
        let Some(call) = self.initialize.take() else { return };
        self.unsettled.late_probe = self.outbound.id(call.0);
        self.deadlines.clear(call.0.index);
        self.outbound.give_up(call.0, GivenUp::TimedOut);
    }

    /// Whether a response belongs to the question that was given up, which happens once.
    pub(super) fn is_late_probe(&mut self, cx: &Cx<'_, '_>, id: &Id<'_>) -> bool {
        let number = id.number(cx.config.match_stringified_ids);
        let is_it = number.is_some() && number == self.unsettled.late_probe;
        if is_it {
            self.unsettled.late_probe = None;
        }
        is_it
    }

    /// Goes on without a session. Where the server has not said what it offers, it may be anything.
    pub(crate) fn open_stateless(&mut self, revision: Revision, theirs: Option<CapabilitySet>) {
        self.assumes_all = theirs.is_none();
        let all = || Capability::ALL.iter().copied().filter(|one| one.owner() == Owner::Server);
        self.open_session(revision, theirs.unwrap_or_else(|| all().collect()));
    }

    /// Goes back to where there was no session.
    pub(crate) fn forget_terms(&mut self) {
        self.session = None;
    }

    /// Something is to be handed out that nothing has brought about.
    pub(crate) const fn set_news(&mut self, has_news: bool) {
        self.has_news = has_news;
    }

    /// The level of log messages that requests ask for where there are no sessions.
    pub(crate) const fn set_request_level(&mut self, level: Option<crate::model::LoggingLevel>) {
        self.request_level = level;
    }

    /// Replaces who this side says it is.
    pub(crate) fn identify(&mut self, identity: Option<Identity>) {
        self.identity = identity.map(alloc::sync::Arc::new);
    }
}
