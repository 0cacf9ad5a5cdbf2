//! [`Woken`], the streams of all connections whose responses should be polled.

use alloc::collections::BTreeSet;
use core::mem::take;

/// The number of entries below which none is removed.
const FEW: usize = 64;

/// The connections and streams with responses to poll, each once.
///
/// A host may poll every response without asking for these entries. Therefore those of ended streams are removed when the
/// number of entries has doubled, and the entries stay in proportion to the streams.
#[derive(Clone, Debug, Default)]
pub(super) struct Woken {
    entries: BTreeSet<(u32, u32)>,
    /// The number of entries that were left when the ended streams were last removed.
    left: usize,
}

impl Woken {
    pub(super) fn extend(&mut self, entries: impl Iterator<Item = (u32, u32)>) {
        self.entries.extend(entries);
    }

    /// Removes the entries of ended streams, if there may be many.
    pub(super) fn prune(&mut self, is_there: impl Fn(u32, u32) -> bool) {
        if FEW.max(2 * self.left) <= self.entries.len() {
            self.entries.retain(|(connection, stream)| is_there(*connection, *stream));
            self.left = self.entries.len();
        }
    }

    /// Removes and returns all entries, in order.
    pub(super) fn take(&mut self) -> BTreeSet<(u32, u32)> {
        self.left = 0;
        take(&mut self.entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_ended_streams_are_removed_when_they_have_doubled() {
        let mut woken = Woken::default();
        let entries = |range: core::ops::Range<u32>| range.map(|stream| (1, stream));
        woken.extend(entries(0..63).chain(entries(0..63)));
        woken.prune(|_, _| false);
        assert_eq!(woken.entries.len(), 63);
        woken.extend(entries(63..100));
        woken.prune(|_, stream| stream < 80);
        assert_eq!(woken.entries.len(), 80);
        woken.extend(entries(80..159));
        woken.prune(|_, _| false);
        assert_eq!(woken.entries.len(), 159);
        woken.extend(entries(159..160));
        woken.prune(|_, stream| stream == 7);
        assert!(woken.take().into_iter().eq([(1, 7)]) && woken.take().is_empty());
    }
}
