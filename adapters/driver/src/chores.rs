//! Requests about tasks, which no handler sees.

use std::collections::VecDeque;

use mcp_sansio::InboundId;

use crate::host::Chore;

/// Those that are to be answered here, and for whose answers there was no room yet. How many there are is for the machine
/// to bound.
#[derive(Default)]
pub(crate) struct Chores {
    waiting: Option<Box<VecDeque<(InboundId, Chore)>>>,
}

impl Chores {
    pub(crate) fn push(&mut self, id: InboundId, chore: Chore) {
        self.waiting.get_or_insert_default().push_back((id, chore));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.as_ref().is_none_or(|waiting| waiting.is_empty())
    }

    pub(crate) fn pop(&mut self) -> Option<(InboundId, Chore)> {
        self.waiting.as_mut()?.pop_front()
    }

    /// There was no room for its answer: it is the next one again.
    pub(crate) fn push_back(&mut self, id: InboundId, chore: Chore) {
        self.waiting.get_or_insert_default().push_front((id, chore));
    }
}
