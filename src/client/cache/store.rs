//! The cache itself.

use core::fmt;

use super::change::{Change, Changes};
use super::entries::{Entries, bytes};
use super::hints::Hints;
use super::key::CacheKey;
use super::place::Place;
use super::{CacheLimits, Ticket, Verdict};
use crate::connection::Notification;
use crate::json::Raw;
use crate::time::Instant;

/// Results of one server, see the [module](super).
///
/// Results that are not fresh any more stay, for [`stale`](Self::stale), until others need their room.
/// What was used least recently goes first.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Cache {
    limits: CacheLimits,
    /// Counts what happens: requests, changes and uses, so that each has a number of its own.
    count: u64,
    entries: Entries,
    changes: Changes,
}

/// # Asking
impl Cache {
    /// An empty cache.
    pub const fn new(limits: CacheLimits) -> Self {
        Self { limits, count: 0, entries: Entries::new(), changes: Changes::new() }
    }

    /// The result of a request, if there is one that is fresh and that the asker may have.
    ///
    /// A result is fresh while `now < received + ttlMs`, and until something is changed that it is
    /// about. That it is not does nothing but return `None`.
    pub fn get(&mut self, key: &CacheKey<'_>, now: Instant) -> Option<&Raw<'static>> {
        self.find(key, |expires| now < expires)
    }

    /// The result of a request, if there is one that the asker may have, whether it is fresh or not.
    ///
    /// For when the server cannot be reached: a client may show what it has until then.
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

    /// How many results are kept, fresh or not.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether nothing is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many bytes of results, cursors and URIs are kept.
    pub const fn bytes(&self) -> usize {
        self.entries.bytes()
    }

    /// The limits.
    pub const fn limits(&self) -> CacheLimits {
        self.limits
    }
}

/// # Filling
impl Cache {
    /// A request goes out. Call this before it does, and [`store`](Self::store) when its result has
    /// come.
    ///
    /// Several requests with the same key may be on their way; of those the latest one wins.
    pub fn begin(&mut self, key: CacheKey<'_>) -> Ticket {
        Ticket { key: key.into_owned(), begun: self.tick() }
    }

    /// A result has come, just now.
    ///
    /// It takes the place of what was kept for the same request, also if it is not kept itself: the
    /// server has said something newer. Only what comes too late changes nothing,
    /// [`Invalidated`](Verdict::Invalidated) and [`Overtaken`](Verdict::Overtaken).
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
        // Adding saturates: at worst it is fresh for ever.
        self.entries.insert(place, result, begun, now + hints.ttl, used);
        Verdict::Stored
    }
}

/// # Forgetting
///
/// Whoever hears of a change, it holds for all principals and all revisions. No result of a request that
/// went out before is kept.
impl Cache {
    /// A notification has come. Those that are about nothing that is kept here do nothing.
    pub fn notified(&mut self, notification: &Notification<'_>) {
        let method = notification.method.to_str();
        if let Some(change) = Change::of(&method, notification.params.as_ref()) {
            self.changed(&change);
        }
    }

    /// Something has changed, or there is reason to believe so: a tool that is not known any more, or
    /// arguments that do not fit its schema, for instance.
    pub fn changed(&mut self, change: &Change<'_>) {
        let now = self.tick();
        for kind in change.kinds() {
            self.changes.kind(*kind, now);
        }
        if let Change::Resource(uri) = change {
            self.changes.resource(uri, now);
        }
        self.entries.spoil(change);
    }

    /// The server has refused the cursor of this request: all pages of that list that the asker may
    /// have are dropped, in all revisions. Read the list again from its beginning.
    ///
    /// A request without a cursor has none that could be wrong, and nothing happens.
    pub fn cursor_died(&mut self, key: &CacheKey<'_>) {
        if !key.has_cursor() {
            return;
        }
        let now = self.tick();
        self.changes.kind(key.kind, now);
        let principal = key.asker.principal();
        let is_theirs = |place: &Place<'_>| place.owner.is_none_or(|owner| owner == principal);
        self.entries.drop_pages(key.kind, is_theirs);
    }

    /// Drops everything, also what is on its way.
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

/// Where the result of a request can lie: with the asker, or with everybody.
fn places<'k>(key: &'k CacheKey<'_>) -> [Place<'k>; 2] {
    [key.place(Some(key.asker.principal())), key.place(None)]
}
