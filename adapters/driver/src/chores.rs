//! Requests about tasks, which no handler sees.

use std::collections::VecDeque;

use mcp_sansio::IncomingId;

use crate::host::Chore;
use crate::rare::Rare;

/// Those that are to be answered here, and for whose answers there was no room yet. How many there are is for the machine
/// to bound.
#[derive(Default)]
pub(crate) struct Chores {
    waiting: Rare<VecDeque<(IncomingId, Chore)>>,
}

impl Chores {
    pub(crate) fn push(&mut self, id: IncomingId, chore: Chore) {
        self.waiting.needed().push_back((id, chore));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.get().is_none_or(VecDeque::is_empty)
    }

    pub(crate) fn pop(&mut self) -> Option<(IncomingId, Chore)> {
        self.waiting.get_mut()?.pop_front()
    }

    /// There was no room for its answer: it is the next one again.
    pub(crate) fn push_back(&mut self, id: IncomingId, chore: Chore) {
        self.waiting.needed().push_front((id, chore));
    }
}
