//! [`Table`], a slab with generations: slots are reused, and stale handles are detected.

use alloc::vec::Vec;
use core::hash::{Hash, Hasher};

use crate::handle::{ConnectionNumber, SlotKey, hash_generation};

/// An entry of a [`Table`]: created once per slot, then cleared and reused.
pub(crate) trait Recycle: Default {
    /// Clears the entry, but keeps the capacity of its buffers.
    fn recycle(&mut self);
}

impl Recycle for () {
    fn recycle(&mut self) {}
}

/// The reason why an entry left its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Ending {
    /// The request received its response.
    Answered = 1,
    /// The request was cancelled.
    Cancelled = 2,
    /// The connection ended first.
    Closed = 3,
}

/// A slab of entries under generational handles, in insertion order.
///
/// Every operation takes constant time, and a table that has grown allocates nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Table<T> {
    slots: Vec<Slot<T>>,
    /// The free slot to use next; free slots are linked by `next`.
    free: Link,
    /// The entries in insertion order.
    first: Link,
    last: Link,
    length: u32,
    connection: ConnectionNumber,
    /// The generation of slots that have never been used: later than that of every earlier slot.
    unused: u32,
}

/// The index of a slot, or none: half the size of an `Option`. The limits on open requests are 32 bits wide, so no
/// table grows as far as the reserved value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Link(u32);

impl Link {
    const NONE: Self = Self(u32::MAX);

    fn index(self) -> Option<u32> {
        (self != Self::NONE).then_some(self.0)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Slot<T> {
    generation: u32,
    taken: bool,
    /// The endings of the last sixteen entries in this slot, two bits each, the latest lowest.
    endings: u32,
    previous: Link,
    next: Link,
    entry: T,
}

impl<T: Hash> Hash for Table<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Self { slots, free, first, last, length, connection, unused } = self;
        (free, first, last, length, connection).hash(state);
        hash_generation(u32::MAX, *unused, state);
        for (index, slot) in (0..).zip(slots) {
            let Slot { generation, taken, endings, previous, next, entry } = slot;
            hash_generation(index, *generation, state);
            (taken, endings, previous, next, entry).hash(state);
        }
    }
}

impl<T: Recycle> Table<T> {
    pub(crate) const fn new(connection: ConnectionNumber) -> Self {
        Self {
            slots: Vec::new(),
            free: Link::NONE,
            first: Link::NONE,
            last: Link::NONE,
            length: 0,
            connection,
            unused: 0,
        }
    }

    pub(crate) const fn connection(&self) -> ConnectionNumber {
        self.connection
    }

    pub(crate) const fn len(&self) -> u32 {
        self.length
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Returns the slot of the next entry.
    pub(crate) fn next_place(&self) -> SlotKey {
        let slots = u32::try_from(self.slots.len()).unwrap_or(u32::MAX);
        let index = self.free.index().unwrap_or(slots);
        let generation = self.slot(index).map_or(self.unused, |slot| slot.generation);
        SlotKey { connection: self.connection, index, generation }
    }

    /// Inserts an entry. `fill` turns a cleared entry into the new one.
    pub(crate) fn insert(&mut self, fill: impl FnOnce(&mut T)) -> SlotKey {
        let index = self.take_free();
        let last = self.last;
        let mut generation = 0;
        if let Some(slot) = self.slot_mut(index) {
            slot.taken = true;
            slot.previous = last;
            slot.next = Link::NONE;
            generation = slot.generation;
            fill(&mut slot.entry);
        }
        match self.slot_mut(last.0) {
            Some(last) => last.next = Link(index),
            None => self.first = Link(index),
        }
        self.last = Link(index);
        self.length += 1;
        SlotKey { connection: self.connection, index, generation }
    }

    /// Returns the entry of a handle, unless the handle is stale.
    pub(crate) fn get(&self, place: SlotKey) -> Option<&T> {
        self.live(place).map(|slot| &slot.entry)
    }

    pub(crate) fn get_mut(&mut self, place: SlotKey) -> Option<&mut T> {
        self.live(place)?;
        self.slot_mut(place.index).map(|slot| &mut slot.entry)
    }

    /// Returns the ending of the entry of a handle, if this table still remembers it.
    pub(crate) fn ending(&self, place: SlotKey) -> Option<Ending> {
        if place.connection != self.connection {
            return None;
        }
        let slot = self.slot(place.index)?;
        let age = slot.generation.wrapping_sub(place.generation);
        let shift = age.checked_sub(1)?.checked_mul(2)?;
        match slot.endings.checked_shr(shift)? & 3 {
            1 => Some(Ending::Answered),
            2 => Some(Ending::Cancelled),
            3 => Some(Ending::Closed),
            _ => None,
        }
    }

    /// Removes an entry. Returns whether it was present.
    pub(crate) fn remove(&mut self, place: SlotKey, ending: Ending) -> bool {
        if self.live(place).is_none() {
            return false;
        }
        let free = self.free;
        let mut neighbours = (Link::NONE, Link::NONE);
        if let Some(slot) = self.slot_mut(place.index) {
            neighbours = (slot.previous, slot.next);
            slot.entry.recycle();
            slot.taken = false;
            slot.generation = slot.generation.wrapping_add(1);
            slot.endings = slot.endings << 2 | ending as u32;
            slot.previous = Link::NONE;
            slot.next = free;
        }
        let (previous, next) = neighbours;
        match self.slot_mut(previous.0) {
            Some(previous) => previous.next = next,
            None => self.first = next,
        }
        match self.slot_mut(next.0) {
            Some(next) => next.previous = previous,
            None => self.last = previous,
        }
        self.free = Link(place.index);
        self.length -= 1;
        true
    }

    /// Frees the memory if the table is empty, and with it the endings of earlier entries. Stale handles stay stale.
    pub(crate) fn release(&mut self) {
        if !self.is_empty() {
            return;
        }
        let uses = self.slots.iter().map(|slot| slot.generation.wrapping_sub(self.unused));
        self.unused = self.unused.wrapping_add(uses.max().unwrap_or(0));
        self.slots = Vec::new();
        self.free = Link::NONE;
    }

    /// Returns the place of the oldest entry.
    pub(crate) fn first(&self) -> Option<SlotKey> {
        self.place_of(self.first.index()?)
    }

    /// Returns the place of the entry that was inserted after another one.
    pub(crate) fn next(&self, place: SlotKey) -> Option<SlotKey> {
        self.place_of(self.live(place)?.next.index()?)
    }

    /// Returns the current place of an index, if its slot is taken.
    pub(crate) fn place_of(&self, index: u32) -> Option<SlotKey> {
        let slot = self.slot(index).filter(|slot| slot.taken)?;
        Some(SlotKey { connection: self.connection, index, generation: slot.generation })
    }

    /// Returns the entries, in insertion order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (SlotKey, &T)> {
        let mut at = self.first;
        core::iter::from_fn(move || {
            work!(1);
            let index = at.index()?;
            let slot = self.slot(index)?;
            at = slot.next;
            let generation = slot.generation;
            Some((SlotKey { connection: self.connection, index, generation }, &slot.entry))
        })
    }

    fn take_free(&mut self) -> u32 {
        if let Some(index) = self.free.index() {
            self.free = self.slot(index).map_or(Link::NONE, |slot| slot.next);
            return index;
        }
        // The limits on open requests are 32 bits wide, and so are the tables.
        let index = u32::try_from(self.slots.len()).unwrap_or(u32::MAX);
        self.slots.push(Slot {
            generation: self.unused,
            taken: false,
            endings: 0,
            previous: Link::NONE,
            next: Link::NONE,
            entry: T::default(),
        });
        index
    }

    fn live(&self, place: SlotKey) -> Option<&Slot<T>> {
        self.slot(place.index).filter(|slot| {
            slot.taken && slot.generation == place.generation && place.connection == self.connection
        })
    }

    fn slot(&self, index: u32) -> Option<&Slot<T>> {
        self.slots.get(index as usize)
    }

    fn slot_mut(&mut self, index: u32) -> Option<&mut Slot<T>> {
        self.slots.get_mut(index as usize)
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;

    use super::*;

    #[test]
    fn tables_with_other_entries_have_other_hashes() {
        let hash = |entries: &[u32]| {
            let mut table: Table<u32> = Table::new(ConnectionNumber::default());
            for value in entries {
                table.insert(|entry| *entry = *value);
            }
            let mut hasher = std::hash::DefaultHasher::new();
            table.hash(&mut hasher);
            hasher.finish()
        };
        assert_eq!(hash(&[1, 2]), hash(&[1, 2]));
        for others in [&[][..], &[1], &[2, 1], &[1, 3], &[1, 2, 2]] {
            assert_ne!(hash(&[1, 2]), hash(others), "{others:?}");
        }
    }

    /// No handle is ever reused, for any history of the table.
    #[test]
    fn a_table_that_gave_its_memory_back_uses_no_name_again() {
        let mut state = 5_u64;
        let mut roll = |sides: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as usize % sides
        };
        let mut table: Table<u32> = Table::new(ConnectionNumber::default());
        let mut named: BTreeSet<SlotKey> = BTreeSet::new();
        for round in 0..200 {
            let mut places = Vec::new();
            for _ in 0..roll(20) {
                let next = table.next_place();
                let place = table.insert(|entry| *entry = round);
                assert_eq!(place, next);
                assert!(named.insert(place), "{place:?} in round {round}");
                places.push(place);
                if roll(2) == 0 {
                    let at = roll(places.len());
                    assert!(table.remove(places.swap_remove(at), Ending::Answered));
                }
            }
            let before = table.clone();
            if !table.is_empty() {
                table.release();
                assert_eq!(table, before, "it is in use");
            }
            for place in places {
                assert!(table.remove(place, Ending::Answered));
            }
            table.release();
            for place in &named {
                assert_eq!((table.get(*place), table.ending(*place)), (None, None));
            }
            let released = table.clone();
            table.release();
            assert_eq!(table, released);
        }
    }
}
