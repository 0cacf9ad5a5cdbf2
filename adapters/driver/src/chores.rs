//! Requests about tasks, which no handler sees.

use std::collections::VecDeque;

use mcp_sansio::InboundId;

use crate::host::Chore;

/// Those that are to be answered here, and for whose answers there was no room yet.
pub(crate) struct Chores {
    most_bytes: usize,
    waiting: VecDeque<(InboundId, Chore, usize)>,
    /// How many bytes of the peer they hold together.
    bytes: usize,
}

impl Chores {
    /// They hold so many bytes.
    pub(crate) const fn new(most_bytes: usize) -> Self {
        Self { most_bytes, waiting: VecDeque::new(), bytes: 0 }
    }

    /// Takes one in that holds so many bytes. Says whether there was room for it: the first one always finds
    /// some.
    #[must_use]
    pub(crate) fn push(&mut self, id: InboundId, chore: Chore, bytes: usize) -> bool {
        let together = self.bytes.saturating_add(bytes);
        if !self.waiting.is_empty() && self.most_bytes < together {
            return false;
        }
        self.bytes = together;
        self.waiting.push_back((id, chore, bytes));
        true
    }

    pub(crate) fn pop(&mut self) -> Option<(InboundId, Chore, usize)> {
        let first = self.waiting.pop_front()?;
        self.bytes -= first.2;
        Some(first)
    }

    /// There was no room for its answer: it is the next one again.
    pub(crate) fn push_back(&mut self, id: InboundId, chore: Chore, bytes: usize) {
        self.bytes += bytes;
        self.waiting.push_front((id, chore, bytes));
    }
}
