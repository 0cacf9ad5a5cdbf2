//! The stored results, within the limits of the cache, and the order in which they are evicted.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::CacheLimits;
use super::change::{Change, is_at_or_below};
use super::entry_key::{Cacheable, EntryKey};
use crate::json::Raw;
use crate::time::Instant;

/// One stored result.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Entry {
    place: Arc<EntryKey<'static>>,
    pub(super) result: Raw<'static>,
    /// The tick at which its request was sent.
    pub(super) begun: u64,
    /// The result is fresh before this time.
    pub(super) expires: Instant,
}

impl Entry {
    fn bytes(&self) -> usize {
        bytes(&self.place, &self.result)
    }
}

/// The bytes that count towards [`CacheLimits::bytes`].
pub(super) fn bytes(place: &EntryKey<'_>, result: &Raw<'_>) -> usize {
    place.bytes().saturating_add(result.as_json().len())
}

/// The stored results.
///
/// Invariant: `by_use` has exactly one entry for each entry of `by_place`, under the tick that `by_place` holds.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Entries {
    by_place: BTreeMap<Arc<EntryKey<'static>>, u64>,
    /// The results by the tick of their last use.
    by_use: BTreeMap<u64, Entry>,
    bytes: usize,
}

impl Entries {
    pub(super) const fn new() -> Self {
        Self { by_place: BTreeMap::new(), by_use: BTreeMap::new(), bytes: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.by_use.len()
    }

    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the result in a place.
    pub(super) fn find<'k>(&self, place: &EntryKey<'k>) -> Option<&Entry> {
        self.used(place).and_then(|used| self.by_use.get(&used))
    }

    /// Returns the tick of the last use of a place.
    fn used<'k>(&self, place: &EntryKey<'k>) -> Option<u64> {
        // A map of `EntryKey<'static>` is also a map of `EntryKey<'k>`, so the lookup need not copy the text.
        let by_place: &BTreeMap<Arc<EntryKey<'k>>, u64> = &self.by_place;
        by_place.get(place).copied()
    }

    /// Returns the result in a place and marks it as used now.
    pub(super) fn take(&mut self, place: &EntryKey<'_>, now: u64) -> Option<&Raw<'static>> {
        let used = self.used(place)?;
        let entry = self.by_use.remove(&used)?;
        self.by_place.insert(Arc::clone(&entry.place), now);
        Some(&self.by_use.entry(now).or_insert(entry).result)
    }

    /// Stores a result in an empty place and marks it as used now.
    pub(super) fn insert(
        &mut self,
        place: EntryKey<'_>,
        result: &Raw<'_>,
        begun: u64,
        expires: Instant,
        now: u64,
    ) {
        let place = Arc::new(place.into_owned());
        let entry = Entry {
            place: Arc::clone(&place),
            result: result.clone().into_owned(),
            begun,
            expires,
        };
        self.bytes = self.bytes.saturating_add(entry.bytes());
        self.by_place.insert(place, now);
        self.by_use.insert(now, entry);
    }

    pub(super) fn remove(&mut self, place: &EntryKey<'_>) {
        if let Some(used) = self.used(place) {
            self.drop_used(used);
        }
    }

    /// Evicts the least recently used results until one more result of `bytes` bytes fits. Returns `false` if it can
    /// never fit.
    #[must_use]
    pub(super) fn make_room(&mut self, bytes: usize, limits: CacheLimits) -> bool {
        if limits.entries == 0 || limits.bytes < bytes {
            return false;
        }
        while limits.entries <= self.len() || limits.bytes - bytes < self.bytes {
            let Some((used, _)) = self.by_use.first_key_value() else { break };
            self.drop_used(*used);
        }
        true
    }

    /// Drops the pages of one list that match `fits`.
    pub(super) fn drop_pages(&mut self, kind: Cacheable, fits: impl Fn(&EntryKey<'_>) -> bool) {
        let pages: Vec<u64> = self
            .by_place
            .range::<EntryKey<'static>, _>(EntryKey::first(kind, None)..)
            .take_while(|(place, _)| place.kind == kind)
            .filter(|(place, _)| fits(place))
            .map(|(_, used)| *used)
            .collect();
        for used in pages {
            self.drop_used(used);
        }
    }

    fn drop_used(&mut self, used: u64) {
        if let Some(entry) = self.by_use.remove(&used) {
            self.bytes = self.bytes.saturating_sub(entry.bytes());
            self.by_place.remove(&entry.place);
        }
    }

    pub(super) fn clear(&mut self) {
        *self = Self::new();
    }

    /// Marks all results that a change affects as stale.
    pub(super) fn spoil(&mut self, change: &Change<'_>) {
        for kind in change.kinds() {
            self.spoil_from(EntryKey::first(kind, None), |_| true, |_| true);
        }
        if *change == Change::Everything {
            self.by_use.values_mut().for_each(|entry| entry.expires = Instant::EPOCH);
        }
        if let Change::Resource(changed) = change {
            // Places whose URI begins with `changed` are adjacent, and those below `changed` are among them.
            self.spoil_from(
                EntryKey::first(Cacheable::Resource, Some(changed)),
                |uri| uri.starts_with(&**changed),
                |uri| is_at_or_below(uri, changed),
            );
        }
    }

    /// Marks results as stale, from one place on and in the order of places, if their param matches `fits`. Stops at
    /// another kind or at a param for which `goes_on` is false.
    fn spoil_from<'k>(
        &mut self,
        first: EntryKey<'k>,
        goes_on: impl Fn(&str) -> bool,
        fits: impl Fn(&str) -> bool,
    ) {
        let kind = first.kind;
        let by_place: &BTreeMap<Arc<EntryKey<'k>>, u64> = &self.by_place;
        for (place, used) in by_place.range::<EntryKey<'k>, _>(first..) {
            let param = place.param.as_deref().unwrap_or_default();
            if place.kind != kind || !goes_on(param) {
                return;
            }
            if fits(param)
                && let Some(entry) = self.by_use.get_mut(used)
            {
                entry.expires = Instant::EPOCH;
            }
        }
    }
}
