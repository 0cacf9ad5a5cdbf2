//! The invariants of the world.

use std::hash::Hash;

use mcp_sansio::event::Counts;
use mcp_sansio::testing::{Broken, Machine, Promise};
use mcp_sansio::{Cause, Instant, Limits, Outbox};

use serde_json::value::RawValue;

use super::client_side::{Leaving, leaving};
use super::{SECRET, Way, World};

/// The bytes of a side's identity in each modern request of these worlds.
pub(super) const IDENTITY: usize = 600;

impl World {
    /// Checks that calls are sent in the order in which they were made, in a batch or alone.
    pub(super) fn check_order_of_all(&mut self, message: &[u8]) -> Result<(), Broken> {
        match serde_json::from_slice::<Vec<&RawValue>>(message) {
            Ok(batch) => {
                batch.into_iter().try_for_each(|element| self.check_order(element.get().as_bytes()))
            }
            Err(_) => self.check_order(message),
        }
    }

    fn check_order(&mut self, message: &[u8]) -> Result<(), Broken> {
        let Some(Leaving { id, serial, may_overtake }) = leaving(message) else { return Ok(()) };
        if let Some((call, _)) = self.serials.iter().find(|(_, made)| **made == serial) {
            self.asked.insert(id, *call);
        }
        // A call that is sent again, with the required input, was sent before.
        if self.left.insert(serial) && !may_overtake {
            if serial < self.latest {
                return Err(Broken::new(Promise::Order, format!("call {serial} leaves late")));
            }
            self.latest = serial;
        }
        Ok(())
    }

    /// Records an event, and checks that its debug output reveals no secret. The digest covers the hash of the event,
    /// which does not depend on identifiers: it survives a renamed type or field, but not a reordered variant.
    pub(super) fn note(
        &mut self,
        way: Way,
        event: &(impl std::fmt::Debug + Hash),
    ) -> Result<(), Broken> {
        let text = format!("{event:?}");
        self.events += 1;
        event.hash(&mut self.digest);
        if text.contains(SECRET) {
            return Err(Broken::new(Promise::Quiet, text));
        }
        if let Some(diagram) = &mut self.diagram {
            let short: String = text.chars().take(70).collect();
            if way {
                diagram.left(self.now, short);
            } else {
                diagram.right(self.now, short);
            }
        }
        Ok(())
    }

    pub(super) fn check(&self) -> Result<(), Broken> {
        let Self { client, server, ours, theirs, now, .. } = self;
        ours.monitor.check(client, *now)?;
        theirs.monitor.check(server, *now)?;
        let (of_client, of_server) = (&self.setup.client.connection, &self.setup.server.connection);
        is_bounded(client, &self.client_out, &of_client.limits)?;
        is_bounded(server, &self.server_out, &of_server.limits)?;
        // Unless `poll_timeout` announces a due timeout, `handle_timeout` must do nothing.
        is_honest(client, (&self.client_out, &of_client.limits), *now)?;
        is_honest(server, (&self.server_out, &of_server.limits), *now)
    }

    /// Checks that every change has reached its subscribers, if nothing is on its way or waits to be handed out.
    pub(super) fn have_changes_arrived(&self) -> Result<(), Broken> {
        let Self { client, server, upstream, downstream, now, .. } = self;
        let is_due = |due: Option<Instant>| due.is_some_and(|due| due <= *now);
        let waits = is_due(client.poll_timeout())
            || is_due(server.poll_timeout())
            || !(upstream.is_empty() && downstream.is_empty())
            || !(self.client_out.is_empty() && self.server_out.is_empty());
        if waits { Ok(()) } else { self.changes.arrived() }
    }

    /// Checks that time alone ends every call with a timeout, although neither side reads.
    fn calm_down(&mut self) -> Result<(), Broken> {
        self.client.set_paused(false, self.now);
        self.ours.time.paused(false, self.now);
        // Messages sent from here on are not observed.
        self.is_deceived = true;
        for _ in 0..20_000 {
            let (client, server) =
                (self.client.in_flight().calls(), self.server.in_flight().calls());
            if client.count() + server.count() == 0
                && self.theirs.monitor.to_come_again().count() == 0
            {
                break;
            }
            self.compare_written()?;
            self.client_out.sent(usize::MAX);
            self.server_out.sent(usize::MAX);
            self.reference.sent(&self.client_out, &self.server_out);
            self.settle()?;
            self.check()?;
            let machines = [self.client.poll_timeout(), self.server.poll_timeout()];
            let Some(due) = machines.into_iter().flatten().min() else { break };
            self.now = self.now.max(due);
        }
        let left = (self.client.in_flight().calls().next(), self.server.in_flight().calls().next());
        let waiting = self.theirs.monitor.to_come_again().next();
        if left != (None, None) || waiting.is_some() {
            let what = format!("without end: {left:?} {waiting:?}");
            return Err(Broken::new(Promise::NothingWaits, what));
        }
        Ok(())
    }

    /// Checks that the machines show neither a payload nor the URI of a subscription.
    fn is_quiet(&self) -> Result<(), Broken> {
        for shown in [format!("{:?}", self.client), format!("{:?}", self.server)] {
            if shown.contains(SECRET) || shown.contains("a:/") {
                return Err(Broken::new(Promise::Quiet, shown));
            }
        }
        Ok(())
    }

    /// Ends everything, and checks that nothing is left.
    ///
    /// # Errors
    ///
    /// Fails if a call or a connection does not end.
    pub fn finish(&mut self) -> Result<(), Broken> {
        self.is_quiet()?;
        self.calm_down()?;
        self.client.disconnected(Cause::WriteFailed, self.now);
        self.server.disconnected(Cause::WriteFailed, self.now);
        self.settle()?;
        self.check()?;
        if self.ours.monitor.is_closed() && self.theirs.monitor.is_closed() {
            return Ok(());
        }
        Err(Broken::new(Promise::OneOutcome, "a connection that is broken has not ended"))
    }
}

/// Checks that a failed command has changed neither the requests in flight nor the outbox.
pub(super) fn unchanged<M: Machine, E: std::fmt::Debug>(
    before: (Counts, usize),
    (machine, out): (&M, &Outbox),
    error: E,
) -> Result<(), Broken> {
    if before == (machine.in_flight().counts(), out.len()) {
        return Ok(());
    }
    let after = (machine.in_flight().counts(), out.len());
    let what = format!("{error:?} has changed {before:?} to {after:?}");
    Err(Broken::new(Promise::OneOutcome, what))
}

fn is_bounded<M: Machine>(machine: &M, out: &Outbox, limits: &Limits) -> Result<(), Broken> {
    let counts = machine.in_flight().counts();
    // The formula in `Limits`, without the spare capacity of vectors.
    let identities = limits.outbound_calls as usize * IDENTITY;
    let held = limits.reserve_bytes + limits.held_bytes + identities;
    let most = limits.outbox_bytes.saturating_add(held);
    // Calls about tasks, and those that open the connection, come on top.
    let most_calls = limits.outbound_calls as usize;
    let calls = 4 * most_calls + 8;
    let is_bounded = counts.inbound <= limits.inbound_requests as usize
        && counts.outbound <= calls
        && machine.calls().count() <= most_calls.max(1)
        && counts.held_bytes <= limits.held_bytes
        && out.len() <= most;
    if is_bounded {
        return Ok(());
    }
    Err(Broken::new(Promise::Bounded, format!("{counts:?}, {} bytes to send", out.len())))
}

fn is_honest<M: Machine>(
    machine: &M,
    (out, limits): (&Outbox, &Limits),
    now: Instant,
) -> Result<(), Broken> {
    let has_room = limits.outbox_bytes == Limits::default().outbox_bytes;
    if machine.poll_timeout().is_some_and(|due| due <= now) {
        return Ok(());
    }
    let mut after = out.clone();
    match machine.clone().handle_timeout(now, &mut after) {
        Some(event) => Err(Broken::new(Promise::NothingWaits, format!("not announced: {event:?}"))),
        // A message that waits for space is sent when there is some. The machine does not announce that time.
        None if after != *out && has_room => {
            Err(Broken::new(Promise::NothingWaits, "something is sent that was not announced"))
        }
        None => Ok(()),
    }
}
