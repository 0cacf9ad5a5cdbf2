//! `Walk`: how far the pages of a list have been read, and `Changes`: how often each list has changed.

use crate::dialect::methods::Listed;
use crate::pagination::PageGuard;

/// How far the reading of a list is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Walk {
    pub(super) method: &'static str,
    /// The member of the result that holds the items.
    pub(super) items: &'static str,
    pub(super) guard: PageGuard,
    /// How often it may still begin anew because the list has changed.
    pub(super) restarts: u32,
    /// A cursor died, and the list was begun anew once for that.
    pub(super) has_lost_cursor: bool,
}

/// How often each list of the peer has changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Changes {
    counts: [u32; Listed::COUNT],
}

impl Changes {
    pub(super) fn note(&mut self, list: Listed) {
        if let Some(count) = self.counts.get_mut(list as usize) {
            *count = count.wrapping_add(1);
        }
    }

    pub(super) fn of(&self, list: Listed) -> u32 {
        self.counts.get(list as usize).copied().unwrap_or_default()
    }
}
