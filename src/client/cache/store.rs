//! `Cache`: lookup, insertion and invalidation.

use core::fmt;

use super::change::{Change, Changes};
use super::entries::{Entries, bytes};
use super::entry_key::EntryKey;
use super::hints::Hints;
use super::key::CacheKey;
use super::{CacheLimits, Ticket, Verdict};
use crate::connection::Notification;
use crate::json::Raw;
use crate::time::Instant;

/// A cache for the results of one server. See the [module](super).
///
/// Stale results stay, for [`stale`](Self::stale), until their room is needed. The least recently used result is
/// evicted first.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Cache {
    limits: CacheLimits,
    /// The number of the last request, change or use. Each of them has a number of its own.
    count: u64,
    entries: Entries,
    changes: Changes,
}

/// # Lookup
impl Cache {
    /// Returns an empty cache.
    pub const fn new(limits: CacheLimits) -> Self {
        Self { limits, count: 0, entries: Entries::new(), changes: Changes::new() }
    }

    /// Returns the fresh result of a request that the asker may have.
    ///
    /// A result is fresh while `now < received + ttlMs`, and until a change affects it. A lookup drops no stale
    /// result.
    pub fn get(&mut self, key: &CacheKey<'_>, now: Instant) -> Option<&Raw<'static>> {
        self.find(key, |expires| now < expires)
    }

    /// Returns the result of a request that the asker may have, fresh or stale.
    ///
    /// For use while the server cannot be reached: a client may show the old result meanwhile.
    pub fn stale(&mut self, key: &CacheKey<'_>) -> Option<&Raw<'static>> {
        self.find(key, |_| true)
    }

    fn find(
        &mut self,
        key: &CacheKey<'_>,
        is_good: impl Fn(Instant) -> bool,
    ) -> Option<&Raw<'static>> {
        let place = places(key)
            .into_iter()
            .find(|place| self.entries.find(place).is_some_and(|entry| is_good(entry.expires)))?;
        let now = self.tick();
        self.entries.take(&place, now)
    }

    /// The number of stored results, fresh or stale.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether the cache is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of all stored results, cursors and URIs.
    pub const fn bytes(&self) -> usize {
        self.entries.bytes()
    }

    /// The limits.
    pub const fn limits(&self) -> CacheLimits {
        self.limits
    }
}

/// # Storing
impl Cache {
    /// Notes that a request is about to be sent. Call [`store`](Self::store) when its result has arrived.
    ///
    /// Several requests with the same key may be in flight. The result of the latest one wins.
    pub fn begin(&mut self, key: CacheKey<'_>) -> Ticket {
        Ticket { key: key.into_owned(), begun: self.tick() }
    }

    /// Stores a result that has just arrived.
    ///
    /// It replaces the stored result of the same request, even if it is not stored itself, because it is newer. Only
    /// a result that is too late changes nothing: [`Invalidated`](Verdict::Invalidated) or
    /// [`Overtaken`](Verdict::Overtaken).
    pub fn store(&mut self, ticket: Ticket, result: &Raw<'_>, now: Instant) -> Verdict {
        let Ticket { key, begun } = ticket;
        if self.changes.has_changed(&key, begun) {
            return Verdict::Invalidated;
        }
        let places = places(&key);
        for place in &places {
            if self.entries.find(place).is_some_and(|entry| begun < entry.begun) {
                return Verdict::Overtaken;
            }
        }
        for place in &places {
            self.entries.remove(place);
        }
        let Some(hints) = Hints::of(result, key.asker.revision()) else {
            return Verdict::NotComplete;
        };
        if hints.ttl.is_zero() {
            return Verdict::NoTtl;
        }
        let place = key.place((!hints.is_public).then(|| key.asker.principal()));
        if !self.entries.make_room(bytes(&place, result), self.limits) {
            return Verdict::TooLarge;
        }
        let used = self.tick();
        // The addition saturates: at worst the result stays fresh forever.
        self.entries.insert(place, result, begun, now + hints.ttl, used);
        Verdict::Stored
    }
}

/// # Invalidation
///
/// A change holds for all principals and all revisions, whichever connection reported it. The result of a request
/// that was sent before the change is not stored.
impl Cache {
    /// Applies a notification. Notifications that affect no cached result do nothing.
    pub fn notified(&mut self, notification: &Notification<'_>) {
        let method = notification.method.to_str();
        if let Some(change) = Change::of(&method, notification.params.as_ref()) {
            self.changed(&change);
        }
    }

    /// Applies a change, certain or suspected. Signs of a change are an unknown tool, or arguments that do not fit
    /// the schema of a tool.
    pub fn changed(&mut self, change: &Change<'_>) {
        let now = self.tick();
        change.kinds().for_each(|kind| self.changes.kind(kind, now));
        if *change == Change::Everything {
            self.changes.everything(now);
        }
        if let Change::Resource(uri) = change {
            self.changes.resource(uri, now);
        }
        self.entries.spoil(change);
    }

    /// Drops all pages of a list that the asker may have, in all revisions, because the server refused the cursor of
    /// this request. Read the list again from its beginning.
    ///
    /// Does nothing for a request without a cursor.
    pub fn cursor_died(&mut self, key: &CacheKey<'_>) {
        if !key.has_cursor() {
            return;
        }
        let now = self.tick();
        self.changes.kind(key.kind, now);
        let principal = key.asker.principal();
        let is_theirs = |place: &EntryKey<'_>| place.owner.is_none_or(|owner| owner == principal);
        self.entries.drop_pages(key.kind, is_theirs);
    }

    /// Drops all results, including those in flight.
    pub fn clear(&mut self) {
        self.changed(&Change::Everything);
        self.entries.clear();
    }

    const fn tick(&mut self) -> u64 {
        self.count += 1;
        self.count
    }
}

impl fmt::Debug for Cache {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Cache")
            .field("limits", &self.limits)
            .field("entries", &self.len())
            .field("bytes", &self.bytes())
            .finish_non_exhaustive()
    }
}

/// The places where the result of a request can be stored: private to the asker, and public.
fn places<'k>(key: &'k CacheKey<'_>) -> [EntryKey<'k>; 2] {
    [key.place(Some(key.asker.principal())), key.place(None)]
}
