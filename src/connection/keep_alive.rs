//! Asks a silent peer whether it is still there
//! ([ping](https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/ping)).

use super::ask::{AddedMembers, write_call};
use super::cx::Cx;
use super::event::Outcome;
use super::messages::Messages;
use super::outboxes::Route;
use super::outgoing_request::{OutgoingRequest, Owner, Sent};
use super::send::{Said, observe_sent};
use crate::codes::ErrorCode;
use crate::config::KeepAlive;
use crate::frame::{Room, Tag};
use crate::handle::CallId;
use crate::lazy_box::Empty;
use crate::rpc::{Ending, GivenUp, Patience, Recycle};
use crate::time::Instant;

/// What is known of the silence of the peer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Silence {
    /// When to ask next. Nothing until the session is open.
    next_ping: Option<Instant>,
    ping: Option<Ping>,
    /// How many pings in a row have not been answered.
    missed: u32,
    /// The peer does not know the method, which every peer should.
    unsupported: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Ping {
    /// Nothing, if there was no room for it in the outbox.
    call: Option<CallId>,
    deadline: Instant,
    /// Something came after it was sent.
    heard_since: bool,
}

impl Empty for Silence {
    const EMPTY: &'static Self =
        &Self { next_ping: None, ping: None, missed: 0, unsupported: false };
}

impl Silence {
    /// When something is to be done about the silence of the peer.
    pub(super) fn deadline(&self) -> Option<Instant> {
        if self.unsupported {
            return None;
        }
        self.ping.map(|ping| ping.deadline).or(self.next_ping)
    }
}

impl Silence {
    /// Bytes of the peer have come in.
    pub(super) fn on_bytes_received(&mut self, policy: KeepAlive, now: Instant) {
        self.next_ping = Some(now + policy.every);
        self.missed = 0;
        if let Some(ping) = &mut self.ping {
            ping.heard_since = true;
        }
    }

    /// The answer to a ping has come, whatever it says.
    pub(super) fn answered(&mut self, outcome: &Outcome<'_>) {
        self.ping = None;
        self.unsupported = matches!(
            outcome,
            Outcome::PeerError(error) if error.code == ErrorCode::METHOD_NOT_FOUND
        );
    }

    /// Sends no more pings, because the connection is about to end.
    pub(super) fn forget_ping<C: Recycle>(&mut self, messages: &mut Messages<C>) {
        if let Some(call) = self.ping.take().and_then(|ping| ping.call) {
            messages.outgoing.remove(call.0, Ending::Closed);
        }
    }

    /// Whether a ping has been sent and not been answered.
    pub(super) const fn has_ping(&self) -> bool {
        self.ping.is_some()
    }

    /// Does what is due about the silence of the peer. Gives the number of missed pings if one more was missed.
    pub(super) fn due<C: Recycle>(
        &mut self,
        messages: &mut Messages<C>,
        cx: &mut Cx<'_, '_>,
        policy: KeepAlive,
    ) -> Option<u32> {
        match self.ping.take() {
            Some(ping) => return self.missed(messages, cx, policy, ping),
            // A peer that does not listen has not been asked.
            None if !cx.out.has_reader(Route::Connection) => {
                self.next_ping = Some(cx.now() + policy.every);
            }
            None => self.send_ping(messages, cx, policy),
        }
        None
    }

    fn send_ping<C: Recycle>(
        &mut self,
        messages: &mut Messages<C>,
        cx: &mut Cx<'_, '_>,
        policy: KeepAlive,
    ) {
        const METHOD: &str = "ping";
        let id = messages.outgoing.next_id();
        let call = CallId(messages.outgoing.next_place());
        let route = Route::Connection;
        let written = cx.out.outbox(route).append(Room::Limit, Tag::Call(call), |writer| {
            write_call(writer, (id, METHOD), &(), AddedMembers::default(), &None, None)
        });
        let call = written.ok().map(|serial| {
            let mut asked = OutgoingRequest {
                owner: Owner::KeepAlive,
                route,
                sent: Sent::Outbox(serial),
                ..OutgoingRequest::default()
            };
            messages.register(cx, &mut asked, Patience::default());
            observe_sent(cx.out, route, Said::Method(METHOD));
            call
        });
        let deadline = cx.now() + policy.answer_within;
        self.ping = Some(Ping { call, deadline, heard_since: false });
    }

    fn missed<C: Recycle>(
        &mut self,
        messages: &mut Messages<C>,
        cx: &mut Cx<'_, '_>,
        policy: KeepAlive,
        ping: Ping,
    ) -> Option<u32> {
        if let Some(call) = ping.call {
            messages.drop(cx, call, GivenUp::TimedOut, None);
        }
        self.next_ping = Some(cx.now() + policy.every);
        if ping.heard_since || !cx.out.has_reader(Route::Connection) {
            return None;
        }
        self.missed = self.missed.saturating_add(1);
        Some(self.missed)
    }
}
