//! Changes that the peer is to be told of.

use std::collections::BTreeMap;

use mcp_sansio::schema::EncodeError;
use mcp_sansio::{Delivery, NotifyError};

use crate::machine::Machine;
use crate::out::Out;
use crate::rare::Rare;
use crate::wire::State;

/// How many changes wait for a peer that does not read. Later ones are not told.
const MOST_WAITING: usize = 1_024;

type Tell<M> = Box<dyn Fn(&mut M, &mut Out) -> Result<Delivery, NotifyError> + Send>;

/// Those for which there was no room yet. That something has changed twice need be told once.
pub(crate) struct Changes<M: Machine> {
    waiting: Rare<BTreeMap<String, Tell<M>>>,
}

impl<M: Machine> Changes<M> {
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.get().is_none_or(BTreeMap::is_empty)
    }
}

impl<M: Machine> Default for Changes<M> {
    fn default() -> Self {
        Self { waiting: Rare::NONE }
    }
}

impl<M: Machine> State<M> {
    /// Tells of a change with this name, now or as soon as there is room.
    pub(crate) fn tell_change(&mut self, name: String, tell: Tell<M>) {
        let waiting = self.changes.waiting.needed();
        if waiting.len() < MOST_WAITING || waiting.contains_key(&name) {
            waiting.insert(name, tell);
        }
        self.tell_changes();
    }

    /// Tells of what there is room for.
    pub(crate) fn tell_changes(&mut self) {
        let Some(waiting) = self.changes.waiting.get_mut() else { return };
        while let Some((name, tell)) = waiting.pop_first() {
            let told = tell(&mut self.machine, &mut self.out);
            if told == Err(NotifyError::Encode(EncodeError::Full)) && !self.out.is_empty() {
                waiting.insert(name, tell);
                return;
            }
            // Those who did not ask for it are not told, and one that has ended need not know.
        }
    }
}
