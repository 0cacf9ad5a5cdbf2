//! [`Index`], a hash index from ids to entries of a table: chains of bounded length, no randomness.

use alloc::vec;
use alloc::vec::Vec;

/// A hash index of entries. The table owns the keys, and the caller compares them.
///
/// Each hash has a home, and the entries whose hashes share a home form a chain. There are at least as many homes as
/// entries, so chains are short unless the peer chooses ids that collide. [`look_up`](Self::look_up) reports a chain
/// that has reached [`LONGEST_CHAIN`] entries, and the caller rejects a further id. So no operation takes more steps
/// than that, for any hashes. No result depends on the order of a chain: the same calls always give the same results.
///
/// One core tries 1,300 million ids of 12 digits in a second. It finds a million ids for one home among 1,024 each
/// second, the ids for all 64 chains that 1,024 requests can fill in a millisecond, and about 1,000 ids with one hash
/// of 32 bits in an hour. With full chains, a message of 2,200 instructions costs 100 more (a ping takes 37 steps
/// instead of 5), and 1,000 more if it is rejected. A ping costs 42,000 instead of 16,000 if all 16 ids have one hash
/// and the maximum length.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Index {
    /// A power of two of slots, or none; each is a home, and the link of the entry with its index.
    slots: Vec<Slot>,
    used: u32,
}

/// The maximum number of entries in one chain. Without deliberate collisions, one id in ten million millions meets such
/// a chain.
pub(crate) const LONGEST_CHAIN: u32 = 16;

/// The result of a look-up in an [`Index`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lookup {
    /// The id is in the table, at this index.
    Found(u32),
    /// The id is absent, and can be inserted.
    Free,
    /// The id is absent, and its chain is full.
    Crowded,
}

/// A home of hashes, and the link of the entry with the same index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Slot {
    /// The first entry of the chain with this home.
    first: Next,
    link: Link,
}

/// The link of an entry in its chain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Link {
    hash: u32,
    next: Next,
}

/// The index of an entry, or none: half the size of an `Option`. No table grows as far as the reserved value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Next(u32);

impl Next {
    const NONE: Self = Self(u32::MAX);
}

impl Default for Next {
    fn default() -> Self {
        Self::NONE
    }
}

impl Index {
    /// Creates an empty index. It allocates nothing.
    pub(crate) const fn new() -> Self {
        Self { slots: Vec::new(), used: 0 }
    }

    /// Adds an entry under a hash.
    pub(crate) fn insert(&mut self, hash: u32, place: u32) {
        // The indices of entries are dense, so this keeps the chains short as well.
        while self.slots.len() <= place as usize {
            self.grow();
        }
        self.put(hash, place);
        self.used += 1;
    }

    /// Returns the first entry under this hash that `is_it` accepts.
    pub(crate) fn find(&self, hash: u32, is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        match self.look_up(hash, is_it) {
            Lookup::Found(place) => Some(place),
            Lookup::Free | Lookup::Crowded => None,
        }
    }

    /// Looks up an entry like [`find`](Self::find), and reports whether an absent one can be inserted.
    pub(crate) fn look_up(&self, hash: u32, mut is_it: impl FnMut(u32) -> bool) -> Lookup {
        let mut steps = 0;
        let mut at = self.first(hash);
        while let Some(link) = self.link(at) {
            work!(1);
            if link.hash == hash && is_it(at.0) {
                return Lookup::Found(at.0);
            }
            steps += 1;
            at = link.next;
        }
        if steps < LONGEST_CHAIN { Lookup::Free } else { Lookup::Crowded }
    }

    /// Removes an entry.
    pub(crate) fn remove(&mut self, hash: u32, place: u32) {
        let Some(link) = self.link(Next(place)) else { return };
        if self.point(hash, place, link.next) {
            self.set(place, Link::default());
            self.used -= 1;
        }
    }

    /// Replaces an entry by another one with the same hash.
    pub(crate) fn replace(&mut self, hash: u32, place: u32, by: u32) {
        self.remove(hash, place);
        self.insert(hash, by);
    }

    /// Frees the memory if the index is empty.
    pub(crate) fn release(&mut self) {
        if self.used == 0 {
            *self = Self::default();
        }
    }

    /// Returns the number of homes.
    #[cfg(test)]
    pub(crate) fn homes(&self) -> usize {
        self.slots.len()
    }

    /// Redirects the link that leads to an entry in the chain of a hash. Returns whether the entry was in the chain.
    fn point(&mut self, hash: u32, place: u32, to: Next) -> bool {
        let mut at = self.first(hash);
        if at.0 == place {
            let home = self.home(hash);
            if let Some(slot) = self.slots.get_mut(home) {
                slot.first = to;
            }
            return true;
        }
        while let Some(link) = self.link(at) {
            work!(1);
            if link.next.0 == place {
                self.set(at.0, Link { next: to, ..link });
                return true;
            }
            at = link.next;
        }
        false
    }

    fn grow(&mut self) {
        let doubled = vec![Slot::default(); (self.slots.len() * 2).max(8)];
        let before = core::mem::replace(&mut self.slots, doubled);
        for slot in &before {
            let mut at = slot.first;
            while let Some(Slot { link, .. }) = before.get(at.0 as usize) {
                self.put(link.hash, at.0);
                at = link.next;
            }
        }
    }

    /// Makes an entry the first one of its chain.
    fn put(&mut self, hash: u32, place: u32) {
        let home = self.home(hash);
        if let Some(slot) = self.slots.get_mut(home) {
            let next = core::mem::replace(&mut slot.first, Next(place));
            self.set(place, Link { hash, next });
        }
    }

    fn home(&self, hash: u32) -> usize {
        // The upper half of the product depends on every bit of the hash, including the highest ones.
        let spread = u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        spread as usize & self.slots.len().wrapping_sub(1)
    }

    fn first(&self, hash: u32) -> Next {
        self.slots.get(self.home(hash)).map_or(Next::NONE, |slot| slot.first)
    }

    fn link(&self, at: Next) -> Option<Link> {
        self.slots.get(at.0 as usize).map(|slot| slot.link)
    }

    fn set(&mut self, place: u32, link: Link) {
        if let Some(slot) = self.slots.get_mut(place as usize) {
            slot.link = link;
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;

    use super::*;

    /// Ids of calls count up, and so do their hashes; other hashes differ only in their high bits.
    #[test]
    fn hashes_that_are_alike_have_homes_of_their_own() {
        for shift in [0, 8, 16, 24] {
            let mut index = Index::default();
            let hashes = (0..128_u32).map(|number| number << shift);
            hashes.clone().zip(0..).for_each(|(hash, place)| index.insert(hash, place));
            assert_eq!(index.homes(), 128);
            let homes: BTreeSet<usize> = hashes.map(|hash| index.home(hash)).collect();
            assert!(64 < homes.len(), "{} homes", homes.len());
        }
    }

    /// A peer can choose ids that all have the same home, or the same hash.
    #[test]
    fn chains_have_an_end() {
        let mut index = Index::default();
        for place in 0..LONGEST_CHAIN {
            assert_eq!(index.look_up(7, |_| false), Lookup::Free);
            index.insert(7, place);
        }
        assert_eq!(index.look_up(7, |_| false), Lookup::Crowded);
        assert_eq!(index.look_up(7, |place| place == 3), Lookup::Found(3));
        index.remove(7, 3);
        assert_eq!(index.look_up(7, |_| false), Lookup::Free);
    }
}
