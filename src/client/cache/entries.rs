//! The results that are kept, within bounds, and which of them goes first.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::CacheLimits;
use super::change::{Change, is_at_or_below};
use super::place::{Cacheable, Place};
use crate::json::Raw;
use crate::time::Instant;

/// One result.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Entry {
    place: Arc<Place<'static>>,
    pub(super) result: Raw<'static>,
    /// When its request went out, in the count of the cache.
    pub(super) begun: u64,
    /// It is fresh before that.
    pub(super) expires: Instant,
}

impl Entry {
    fn bytes(&self) -> usize {
        bytes(&self.place, &self.result)
    }
}

/// What counts towards [`CacheLimits::bytes`].
pub(super) fn bytes(place: &Place<'_>, result: &Raw<'_>) -> usize {
    place.bytes().saturating_add(result.as_json().len())
}

/// The results.
///
/// Invariant: `by_use` has one entry for each of `by_place`, under the number that stands there.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Entries {
    by_place: BTreeMap<Arc<Place<'static>>, u64>,
    /// By when they were used last, in the count of the cache.
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

    /// What lies in a place.
    pub(super) fn find<'k>(&self, place: &Place<'k>) -> Option<&Entry> {
        self.used(place).and_then(|used| self.by_use.get(&used))
    }

    /// When what lies in a place was used last.
    fn used<'k>(&self, place: &Place<'k>) -> Option<u64> {
        // A map of places that live long is also one of places that live as long as this one, so the
        // text need not be copied.
        let by_place: &BTreeMap<Arc<Place<'k>>, u64> = &self.by_place;
        by_place.get(place).copied()
    }

    /// What lies in a place, which is used now.
    pub(super) fn take(&mut self, place: &Place<'_>, now: u64) -> Option<&Raw<'static>> {
        let used = self.used(place)?;
        let entry = self.by_use.remove(&used)?;
        self.by_place.insert(Arc::clone(&entry.place), now);
        Some(&self.by_use.entry(now).or_insert(entry).result)
    }

    /// Puts a result into an empty place. It is used now.
    pub(super) fn insert(
        &mut self,
        place: Place<'_>,
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

    pub(super) fn remove(&mut self, place: &Place<'_>) {
        if let Some(used) = self.used(place) {
            self.drop_used(used);
        }
    }

    /// Drops what was used least recently until there is room for one more result of so many bytes.
    /// `false` if there never is.
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

    /// Drops the pages of one list that fit.
    pub(super) fn drop_pages(&mut self, kind: Cacheable, fits: impl Fn(&Place<'_>) -> bool) {
        let pages: Vec<u64> = self
            .by_place
            .range::<Place<'static>, _>(Place::first(kind, None)..)
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

    /// What a change is about is not fresh any more.
    pub(super) fn spoil(&mut self, change: &Change<'_>) {
        for kind in change.kinds() {
            self.spoil_from(Place::first(*kind, None), |_| true, |_| true);
        }
        if let Change::Resource(changed) = change {
            // What begins with the URI stands together, and what is below it stands among that.
            self.spoil_from(
                Place::first(Cacheable::Resource, Some(changed)),
                |uri| uri.starts_with(&**changed),
                |uri| is_at_or_below(uri, changed),
            );
        }
    }

    /// What stands from one place on, in the order of places, as long as it is of the same kind and
    /// its param goes on, is not fresh any more if its param fits.
    fn spoil_from<'k>(
        &mut self,
        first: Place<'k>,
        goes_on: impl Fn(&str) -> bool,
        fits: impl Fn(&str) -> bool,
    ) {
        let kind = first.kind;
        let by_place: &BTreeMap<Arc<Place<'k>>, u64> = &self.by_place;
        for (place, used) in by_place.range::<Place<'k>, _>(first..) {
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
