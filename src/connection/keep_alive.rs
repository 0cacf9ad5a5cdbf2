//! `Silence`: detects a silent peer and sends it
//! [`ping`](https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/ping) requests.

use super::ask::{AddedMembers, write_call};
use super::cx::Cx;
use super::event::Outcome;
use super::messages::Messages;
use super::outboxes::Route;
use super::outgoing_request::{OutgoingRequest, Owner, Sent};
use super::send::{SentMessage, observe_sent};
use crate::codes::ErrorCode;
use crate::config::KeepAlive;
use crate::frame::{Room, Tag};
use crate::handle::CallId;
use crate::lazy_box::Empty;
use crate::rpc::{Ending, GivenUp, Patience, Recycle};
use crate::time::Instant;

/// The keep-alive state: the pending ping and the number of missed ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Silence {
    /// The time of the next ping; `None` until the session is open.
    next_ping: Option<Instant>,
    ping: Option<Ping>,
    /// The number of consecutive pings without a response.
    missed: u32,
    /// Whether the peer does not implement `ping`, although every peer should.
    unsupported: bool,
    /// Whether the session continues from an earlier process, and the silence since then has not been timed yet.
    is_restored: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Ping {
    /// The request; `None` if the outbox had no room for it.
    call: Option<CallId>,
    deadline: Instant,
    /// Whether bytes were received after the ping was sent.
    received_since: bool,
}

impl Empty for Silence {
    const EMPTY: &'static Self =
        &Self { next_ping: None, ping: None, missed: 0, unsupported: false, is_restored: false };
}

impl Silence {
    /// Returns the next time at which [`due`](Self::due) has to run.
    pub(super) fn deadline(&self) -> Option<Instant> {
        if self.unsupported {
            return None;
        }
        // The next timeout has the time from which the silence counts.
        let start = self.is_restored.then_some(Instant::EPOCH);
        let deadline = self.ping.map(|ping| ping.deadline).or(start).or(self.next_ping);
        deadline.filter(|at| *at < Instant::NEVER)
    }
}

impl Silence {
    /// Begins with the next timeout, for a session that continues from an earlier process: restoring it has no time.
    pub(super) const fn begin_later(&mut self) {
        self.is_restored = true;
    }

    /// Notes that bytes of the peer were received.
    pub(super) fn on_bytes_received(&mut self, policy: KeepAlive, now: Instant) {
        self.next_ping = Some(now + policy.every);
        self.is_restored = false;
        self.missed = 0;
        if let Some(ping) = &mut self.ping {
            ping.received_since = true;
        }
    }

    /// Handles the response to a ping. An error counts as a response, too. A ping that the transport could not deliver
    /// is missed at its deadline, like one without a response.
    pub(super) fn answered(&mut self, outcome: &Outcome<'_>) {
        if let (Outcome::TransportFailed(_), Some(ping)) = (outcome, &mut self.ping) {
            ping.call = None;
            return;
        }
        self.ping = None;
        self.unsupported = matches!(
            outcome,
            Outcome::PeerError(error) if error.code == ErrorCode::METHOD_NOT_FOUND
        );
    }

    /// Removes the pending ping, because the connection is about to end.
    pub(super) fn forget_ping<C: Recycle>(&mut self, messages: &mut Messages<C>) {
        if let Some(call) = self.ping.take().and_then(|ping| ping.call) {
            messages.outgoing.remove(call.0, Ending::Closed);
        }
    }

    /// Whether a ping is pending.
    pub(super) const fn has_ping(&self) -> bool {
        self.ping.is_some()
    }

    /// Sends a ping that is due, or ends one that has timed out. Returns the number of consecutive missed pings if
    /// this one was missed.
    pub(super) fn due<C: Recycle>(
        &mut self,
        messages: &mut Messages<C>,
        cx: &mut Cx<'_, '_>,
        policy: KeepAlive,
    ) -> Option<u32> {
        let is_restored = core::mem::take(&mut self.is_restored);
        match self.ping.take() {
            Some(ping) => return self.missed(messages, cx, policy, ping),
            // Without a reader the ping would stay in the outbox and count as missed.
            None if is_restored || !cx.out.has_reader(Route::Connection) => {
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
            observe_sent(cx.out, route, SentMessage::Method(METHOD));
            call
        });
        let deadline = cx.now() + policy.answer_within;
        self.ping = Some(Ping { call, deadline, received_since: false });
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
        if ping.received_since || !cx.out.has_reader(Route::Connection) {
            return None;
        }
        self.missed = self.missed.saturating_add(1);
        Some(self.missed)
    }
}
