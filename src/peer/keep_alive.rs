//! Asks a silent peer whether it is still there
//! ([ping](https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/ping)).

use super::call::{Call, Purpose, Whereabouts};
use super::calls::{Marks, write_call};
use super::cx::Cx;
use super::event::{Cause, Outcome};
use super::exchanges::{Said, observe_sent};
use super::outlets::Lane;
use super::peer_event::PeerEvent;
use super::rare::Empty;
use super::{ConnectionConfig, KeepAlive, Peer};
use crate::error::ErrorCode;
use crate::frame::{Room, Tag};
use crate::handle::CallId;
use crate::rpc::{Ending, GivenUp};
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
    fn due(&self) -> Option<Instant> {
        if self.unsupported {
            return None;
        }
        self.ping.map(|ping| ping.deadline).or(self.next_ping)
    }
}

impl Peer {
    /// Bytes of the peer have come in.
    pub(crate) fn heard(&mut self, config: &ConnectionConfig, now: Instant) {
        let Some(policy) = config.keep_alive else { return };
        self.silence.next_ping = Some(now + policy.every);
        self.silence.missed = 0;
        if let Some(ping) = &mut self.silence.ping {
            ping.heard_since = true;
        }
    }

    /// The answer to a ping has come, whatever it says.
    pub(super) fn ping_answered(&mut self, outcome: &Outcome<'_>) {
        self.silence.ping = None;
        self.silence.unsupported = matches!(
            outcome,
            Outcome::PeerError(error) if error.code == ErrorCode::METHOD_NOT_FOUND
        );
    }

    /// Does not ask any more, because the connection is about to end.
    pub(super) fn forget_ping(&mut self) {
        if self.silence.ping.is_none() {
            return;
        }
        if let Some(call) = self.silence.ping.take().and_then(|ping| ping.call) {
            self.outbound.remove(call.0, Ending::Closed);
        }
    }

    /// When there is something to do about the silence of the peer.
    pub(super) fn silence_deadline(&self) -> Option<Instant> {
        if self.phase.is_ready() && self.rules().pings { self.silence.due() } else { None }
    }

    /// Does what is due about the silence of the peer.
    pub(super) fn next_silence(&mut self, cx: &mut Cx<'_, '_>) -> Option<PeerEvent<'static>> {
        let policy = cx.config.keep_alive?;
        if cx.now() < self.silence_deadline()? {
            return None;
        }
        match self.silence.ping.take() {
            Some(ping) => self.ping_missed(cx, policy, ping),
            // Whoever does not listen has not been asked.
            None if !cx.out.is_heard(Lane::Connection) => {
                self.silence.next_ping = Some(cx.now() + policy.every);
                None
            }
            None => {
                self.send_ping(cx, policy);
                None
            }
        }
    }

    fn send_ping(&mut self, cx: &mut Cx<'_, '_>, policy: KeepAlive) {
        const METHOD: &str = "ping";
        let id = self.outbound.next_id();
        let call = CallId(self.outbound.next_place());
        let lane = Lane::Connection;
        let written = cx.out.lane(lane).append(Room::Limit, Tag::Call(call), |writer| {
            write_call(writer, (id, METHOD), &(), Marks::default(), &None, None)
        });
        let call = written.ok().map(|serial| {
            self.outbound.insert(&mut Call {
                purpose: Purpose::KeepAlive,
                lane,
                whereabouts: Whereabouts::Lane(serial),
                ..Call::default()
            });
            observe_sent(cx.out, lane, Said::Method(METHOD));
            call
        });
        let deadline = cx.now() + policy.answer_within;
        self.silence.ping = Some(Ping { call, deadline, heard_since: false });
    }

    fn ping_missed(
        &mut self,
        cx: &mut Cx<'_, '_>,
        policy: KeepAlive,
        ping: Ping,
    ) -> Option<PeerEvent<'static>> {
        if let Some(call) = ping.call {
            self.give_up(cx, call, GivenUp::TimedOut, None);
        }
        self.silence.next_ping = Some(cx.now() + policy.every);
        if ping.heard_since || !cx.out.is_heard(Lane::Connection) {
            return None;
        }
        self.silence.missed = self.silence.missed.saturating_add(1);
        let missed = self.silence.missed;
        if policy.close_after.is_some_and(|most| most <= missed) {
            self.close(Cause::Unresponsive);
        }
        Some(PeerEvent::Unresponsive { missed })
    }
}
