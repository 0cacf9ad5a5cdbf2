//! A hash index from ids to places in a table: chains of bounded length, no randomness.

use alloc::vec;
use alloc::vec::Vec;

/// Finds places by hash. What they hold is the table's; the caller compares.
///
/// Each hash has a home, and the places whose hashes have the same home form a chain. There are at least as
/// many homes as places, so chains are short, unless whoever chooses the ids chooses those that collide:
/// [`look_up`](Self::look_up) says when a chain has [`LONGEST_CHAIN`] places, and that another one is to be
/// refused. So no operation takes more steps than that, whatever the hashes are. Nothing depends on the order
/// of a chain: the same calls always give the same answers.
///
/// One core tries 1,300 million ids of 12 digits in a second: it finds a million ids for one home among 1,024 each second,
/// those for all 64 chains that 1,024 requests can fill in a millisecond, and about 1,000 ids with one hash of 32 bits in
/// an hour. In full chains a message of 2,200 instructions costs 100 more (a ping 37 steps and not 5), and 1,000 more if
/// it is refused; a ping costs 42,000 and not 16,000 if all 16 ids have one hash and are as long as they may be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Index {
    /// A power of two many, or none; each is a home, and the link of a place.
    slots: Vec<Slot>,
    used: u32,
}

/// The most places in one chain. Of ids that nobody has chosen to collide, one in ten million millions finds so
/// many before it.
pub(crate) const LONGEST_CHAIN: u32 = 16;

/// What an [`Index`] knows of an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lookup {
    /// It is at this place.
    Found(u32),
    /// It is not there, and can be put in.
    Free,
    /// It is not there, and too many others have the same home.
    Crowded,
}

/// The home of hashes, and what is known of the place with the same index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Slot {
    /// The first place of the chain that has its home here.
    first: Next,
    link: Link,
}

/// A place in a chain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Link {
    hash: u32,
    next: Next,
}

/// The index of a place, or that there is none: half the size of an `Option`. No table gets that far.
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
    /// An empty one. It allocates nothing.
    pub(crate) const fn new() -> Self {
        Self { slots: Vec::new(), used: 0 }
    }

    /// Adds a place under a hash.
    pub(crate) fn insert(&mut self, hash: u32, place: u32) {
        // Places are dense, so this keeps the chains short as well.
        while self.slots.len() <= place as usize {
            self.grow();
        }
        self.put(hash, place);
        self.used += 1;
    }

    /// The first place under this hash that `is_it` accepts.
    pub(crate) fn find(&self, hash: u32, is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        match self.look_up(hash, is_it) {
            Lookup::Found(place) => Some(place),
            Lookup::Free | Lookup::Crowded => None,
        }
    }

    /// The same, and if there is none, whether there is room for one.
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
        if steps < LONGEST_CHAIN || mutant!("ids_may_collide") {
            Lookup::Free
        } else {
            Lookup::Crowded
        }
    }

    /// Takes a place out again.
    pub(crate) fn remove(&mut self, hash: u32, place: u32) {
        let Some(link) = self.link(Next(place)) else { return };
        if self.point(hash, place, link.next) {
            self.set(place, Link::default());
            self.used -= 1;
        }
    }

    /// Puts another place with the same hash where one was.
    pub(crate) fn replace(&mut self, hash: u32, place: u32, by: u32) {
        self.remove(hash, place);
        self.insert(hash, by);
    }

    /// Gives the memory back if there are no places.
    pub(crate) fn release(&mut self) {
        if self.used == 0 {
            *self = Self::default();
        }
    }

    /// How many homes there are.
    #[cfg(test)]
    pub(crate) fn homes(&self) -> usize {
        self.slots.len()
    }

    /// Makes whatever leads to a place in the chain of a hash lead elsewhere. Says whether anything did.
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

    /// Makes a place the first one of its chain.
    fn put(&mut self, hash: u32, place: u32) {
        let home = self.home(hash);
        if let Some(slot) = self.slots.get_mut(home) {
            let next = core::mem::replace(&mut slot.first, Next(place));
            self.set(place, Link { hash, next });
        }
    }

    fn home(&self, hash: u32) -> usize {
        // The upper half of the product depends on every bit of the hash, also on the highest ones.
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

    /// Ids of calls count up, and their hashes with them; others differ in their high bits only.
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

    /// Whoever chooses the ids can give them all the same home, or the same hash.
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
