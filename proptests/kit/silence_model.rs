//! A model of keep-alive: a side pings a silent peer, neither early nor late, and reports each missed ping.

use std::collections::BTreeSet;

use mcp_sansio::config::KeepAlive;
use mcp_sansio::json::Raw;
use mcp_sansio::testing::{Broken, Machine, Promise};
use mcp_sansio::{ErrorCode, Instant, Outbox, Phase, Revision};

/// The pings of one side.
#[derive(Debug)]
pub(crate) struct SilenceModel {
    policy: Option<KeepAlive>,
    /// The time of the next ping; unknown until the first message arrives.
    next: Option<Instant>,
    /// Whether the session continues in another process, which has not timed the silence yet.
    is_restored: bool,
    ping: Option<Ping>,
    /// The number of consecutive pings without a response.
    missed: u32,
    /// Whether the peer does not implement `ping`.
    is_unsupported: bool,
}

/// A ping that waits for its response.
#[derive(Clone, Copy, Debug)]
struct Ping {
    /// The id; `None` if there was no room in the outbox.
    id: Option<u64>,
    deadline: Instant,
    /// Whether any message has arrived since.
    received_since: bool,
}

/// Whether a machine may ping now: sessions have `ping` (L-PING-02), and the modern era has not (M-ERA-26).
fn may_ping<M: Machine>(machine: &M) -> bool {
    let has_session = machine.revision().is_some_and(|revision| revision != Revision::V2026_07_28);
    machine.phase() == Phase::Ready && has_session
}

/// The pings in an outbox before the machine handles a timeout, and whether it may send one.
#[derive(Debug)]
pub(crate) struct Before {
    pings: BTreeSet<u64>,
    may_ping: bool,
}

impl SilenceModel {
    pub(crate) const fn new(policy: Option<KeepAlive>) -> Self {
        Self {
            policy,
            next: None,
            is_restored: false,
            ping: None,
            missed: 0,
            is_unsupported: false,
        }
    }

    /// Returns the id of the ping that waits for its response.
    pub(crate) fn pending(&self) -> Option<u64> {
        self.ping?.id
    }

    /// Records a message of the peer. `is_response` is whether it responds to the pending ping.
    pub(crate) fn received(&mut self, message: &[u8], is_response: bool, now: Instant) {
        let Some(policy) = self.policy else { return };
        self.next = Some(now + policy.every);
        self.is_restored = false;
        self.missed = 0;
        if let Some(ping) = &mut self.ping {
            ping.received_since = true;
        }
        if is_response {
            self.ping = None;
            self.is_unsupported = code(message) == Some(ErrorCode::METHOD_NOT_FOUND.get());
        }
    }

    /// Prepares for a timeout; `None` without keep-alive.
    pub(crate) fn before<M: Machine>(&self, machine: &M, out: &Outbox) -> Option<Before> {
        self.policy?;
        Some(Before { pings: pings(out), may_ping: may_ping(machine) })
    }

    /// Checks the pings that a timeout has caused, and the report of a missed one.
    pub(crate) fn handled(
        &mut self,
        before: Option<Before>,
        missed: Option<u32>,
        out: &Outbox,
        now: Instant,
    ) -> Result<(), Broken> {
        let (Some(policy), Some(before)) = (self.policy, before) else {
            return missed.map_or(Ok(()), |_| self.broken("a missed ping without keep-alive", now));
        };
        let is_missed = self.ping.is_some_and(|ping| ping.deadline <= now) && before.may_ping;
        if let Some(missed) = missed {
            if !is_missed || self.ping.is_some_and(|ping| ping.received_since) {
                return self.broken("no ping was missed", now);
            }
            self.missed += 1;
            (self.ping, self.next) = (None, Some(now + policy.every));
            if missed != self.missed {
                return self.broken("another number of pings was missed", now);
            }
            return Ok(());
        }
        for id in pings(out).difference(&before.pings) {
            self.let_pass(now);
            if !before.may_ping || self.ping.is_some() || !self.is_due(now) {
                return self.broken("a ping at the wrong time", now);
            }
            self.pings(Some(*id), policy, now);
        }
        Ok(())
    }

    /// Checks that a due ping was sent, and a missed one reported. Without room in the outbox, no ping is visible.
    pub(crate) fn settled<M: Machine>(
        &mut self,
        machine: &M,
        has_room: bool,
        now: Instant,
    ) -> Result<(), Broken> {
        let Some(policy) = self.policy.filter(|_| may_ping(machine)) else { return Ok(()) };
        if std::mem::take(&mut self.is_restored) {
            // The first timeout begins to time the silence.
            self.next = Some(now + policy.every);
        }
        self.let_pass(now);
        if !self.is_due(now) {
            return Ok(());
        }
        if has_room || self.ping.is_some() {
            return self.broken("a ping, or the report of a missed one, is late", now);
        }
        self.pings(None, policy, now);
        Ok(())
    }

    /// Records that the session is lost.
    pub(crate) fn restarted(&mut self) {
        *self = Self::new(self.policy);
    }

    /// Records that the session continues in another process, which does not know when a message has arrived.
    pub(crate) fn restored(&mut self) {
        self.restarted();
        self.is_restored = true;
    }

    /// Checks the end of the connection for want of responses.
    pub(crate) fn unresponsive(&self, now: Instant) -> Result<(), Broken> {
        let most = self.policy.and_then(|policy| policy.close_after);
        if most.is_some_and(|most| most <= self.missed) {
            return Ok(());
        }
        self.broken("the connection ends, and too few pings were missed", now)
    }

    fn pings(&mut self, id: Option<u64>, policy: KeepAlive, now: Instant) {
        let deadline = now + policy.answer_within;
        self.ping = Some(Ping { id, deadline, received_since: false });
    }

    /// Drops an expired ping without a report: the peer has sent something else.
    fn let_pass(&mut self, now: Instant) {
        if let (Some(policy), Some(ping)) = (self.policy, self.ping)
            && ping.deadline <= now
            && ping.received_since
        {
            (self.ping, self.next) = (None, Some(now + policy.every));
        }
    }

    fn is_due(&self, now: Instant) -> bool {
        let deadline = self.ping.map(|ping| ping.deadline).or(self.next);
        !self.is_unsupported && deadline.is_some_and(|deadline| deadline <= now)
    }

    fn broken(&self, what: &str, now: Instant) -> Result<(), Broken> {
        Err(Broken::new(Promise::NothingWaits, format!("{what}, at {now:?}: {self:?}")))
    }
}

/// Returns the ids of the unsent pings.
fn pings(out: &Outbox) -> BTreeSet<u64> {
    let text = String::from_utf8_lossy(out.unsent());
    let after = text.split(r#""method":"ping""#);
    let mut before: Vec<&str> = after.collect();
    before.pop();
    let id = |text: &str| text.rsplit_once(r#""id":"#)?.1.strip_suffix(',')?.parse().ok();
    before.into_iter().filter_map(id).collect()
}

/// Returns the code of an error response.
fn code(message: &[u8]) -> Option<i64> {
    let message = Raw::new(std::str::from_utf8(message).ok()?).ok()?;
    message.get("error")?.get("code")?.parse().ok()
}
