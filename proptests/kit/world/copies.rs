//! Copies of both sides in the middle of a run, their memory, and a session that moves into another process.

use std::sync::Arc;

use mcp_sansio::drive::SavedSession;
use mcp_sansio::testing::{Broken, Machine, Promise};
use mcp_sansio::{ConnectionNumber, Limits, Outbox};

use super::World;
use super::checks::IDENTITY;
use crate::allocations::held;
use crate::memory_formula::MemoryFormula;

/// The memory of the application's data in one call of these worlds: the input that it supplies, and its filter.
const APPLICATION: usize = 6_000;

impl World {
    /// Replaces both sides by copies, which must continue like the originals. The memory of the originals must be
    /// within the formula in the documentation of `Limits`.
    pub(super) fn copy(&mut self) -> Result<(), Broken> {
        if replace(&mut vec![0_u8; 64]) != 64 {
            return Err(Broken::new(Promise::Bounded, "the allocator does not count"));
        }
        let Self { client, server, client_out, server_out, setup, .. } = self;
        let (of_client, of_server) =
            (&setup.client.connection.limits, &setup.server.connection.limits);
        let has_tasks = setup.has_tasks();
        has_little_memory(client, of_client, has_tasks)?;
        has_little_memory(server, of_server, has_tasks)?;
        has_little_memory_unsent(client_out, of_client)?;
        has_little_memory_unsent(server_out, of_server)?;
        let Self { upstream, downstream, .. } = self;
        for (transport, limits) in [(upstream, of_server), (downstream, of_client)] {
            let most = MemoryFormula::new(limits).inbox();
            is_within(transport.inbox().map_or(0, replace), most, "an inbox")?;
        }
        Ok(())
    }

    /// Saves the session of the server, and restores it in another process. Nothing is in flight there, because it
    /// would be lost.
    pub(super) fn restart(&mut self) -> Result<(), Broken> {
        let known = &self.theirs.monitor;
        let in_flight = self.server.in_flight();
        // An event about a request or a call that has ended may still be due.
        let is_busy = in_flight.requests().chain(known.requests()).next().is_some()
            || in_flight.calls().chain(known.calls()).next().is_some()
            || known.to_come_again().next().is_some();
        let Some(saved) = SavedSession::of(&self.server).filter(|_| !is_busy) else {
            return Ok(());
        };
        let broken = |what: String| Broken::new(Promise::Lossless, what);
        let text = serde_json::to_string(&saved).map_err(|error| broken(error.to_string()))?;
        let saved: SavedSession =
            serde_json::from_str(&text).map_err(|error| broken(error.to_string()))?;
        self.tasks.disconnected(self.server.connection_number());
        self.connections += 1;
        let number = ConnectionNumber::new(self.connections);
        let config = Arc::new(self.setup.server.clone());
        let restored = saved.restore(config, number).map_err(|error| broken(error.to_string()))?;
        let (old, new) = (&self.server, &restored);
        if (old.phase(), old.revision()) != (new.phase(), new.revision()) {
            return Err(broken(format!("{old:?} has become {new:?}")));
        }
        self.server = restored;
        self.theirs.silence.restored();
        self.reference.server_restarted();
        Ok(())
    }
}

/// Checks the memory of a machine, and replaces it by a copy.
fn has_little_memory<M: Machine>(
    machine: &mut M,
    limits: &Limits,
    has_tasks: bool,
) -> Result<(), Broken> {
    let counts = machine.in_flight().counts();
    let formula = MemoryFormula::new(limits);
    let tasks = if has_tasks { formula.tasks() } else { 0 };
    let batches = formula.batches() - limits.connection_bytes;
    // The formula bounds the kept bytes by a limit. The machine reports how many there are.
    let most = formula.machine() - limits.connection_bytes
        + counts.kept_bytes
        + tasks
        + batches
        + counts.outbound * APPLICATION;
    is_within(replace(machine), most, "a machine")
}

/// Checks the memory of an outbox, and replaces it by a copy.
fn has_little_memory_unsent(outbox: &mut Outbox, limits: &Limits) -> Result<(), Broken> {
    let identities = 4 * limits.outbound_calls as usize * IDENTITY;
    is_within(replace(outbox), MemoryFormula::new(limits).outbox() + identities, "an outbox")
}

fn is_within(bytes: usize, most: usize, what: &str) -> Result<(), Broken> {
    if bytes <= most {
        return Ok(());
    }
    let what = format!("{what} holds {bytes} bytes, and the formula allows {most}");
    Err(Broken::new(Promise::Bounded, what))
}

/// Replaces a value by a copy, and returns the bytes that the original had allocated.
fn replace<T: Clone>(value: &mut T) -> usize {
    let copy = value.clone();
    let original = std::mem::replace(value, copy);
    let ((), held) = held(|| drop(original));
    held.wrapping_neg()
}
