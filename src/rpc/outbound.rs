//! [`Outbound`], the table of pending calls of this side.

use alloc::collections::VecDeque;
use core::fmt;

use super::index::Index;
use super::table::{Ending, Recycle, Table};
use crate::handle::{ConnectionNumber, SlotKey};

/// The pending calls, in creation order, found by handle or by wire id.
///
/// This side chooses the ids: integers that count up and are never reused
/// ([requests](https://modelcontextprotocol.io/specification/2025-11-25/basic#requests)).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Outbound<E> {
    table: Table<Entry<E>>,
    by_id: Index,
    first_id: u64,
    next_id: u64,
    /// The most recently abandoned calls, oldest first: their responses may still arrive.
    given_up: VecDeque<(u64, GivenUp)>,
    remembered: usize,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Entry<E> {
    id: u64,
    extra: E,
}

/// The reason why a call was abandoned before its response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum GivenUp {
    Cancelled,
    TimedOut,
}

/// The reason why a response matches no pending call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum UnmatchedCause {
    /// No call was ever made with this id: the peer is at fault.
    NeverIssued,
    /// The call received its response before, or it ended longer ago than the machine remembers.
    Completed,
    /// The call was cancelled. A response may cross the cancellation; neither side is at fault.
    Cancelled,
    /// The call timed out. A response may be late; neither side is at fault.
    TimedOut,
}

/// Writes the reason as a sentence.
impl fmt::Display for UnmatchedCause {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::NeverIssued => "no call was ever made with this id",
            Self::Completed => "the call was answered already, or ended long ago",
            Self::Cancelled => "the call was cancelled",
            Self::TimedOut => "the call had timed out",
        })
    }
}

impl<E: Recycle> Recycle for Entry<E> {
    fn recycle(&mut self) {
        self.id = 0;
        self.extra.recycle();
    }
}

const fn hash32(id: u64) -> u32 {
    (id ^ (id >> 32)) as u32
}

impl<E: Recycle> Outbound<E> {
    /// Creates a table without calls. The first call gets `first_id`.
    pub(crate) fn new(connection: ConnectionNumber, first_id: u64, remembered: u32) -> Self {
        Self {
            table: Table::new(connection),
            by_id: Index::default(),
            first_id,
            next_id: first_id,
            given_up: VecDeque::new(),
            remembered: remembered as usize,
        }
    }

    pub(crate) const fn len(&self) -> u32 {
        self.table.len()
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    pub(crate) const fn connection(&self) -> ConnectionNumber {
        self.table.connection()
    }

    /// Returns the id of the next call.
    pub(crate) const fn next_id(&self) -> u64 {
        self.next_id
    }

    /// Sets the id of the next call. The ids from the first one to this one count as used.
    pub(crate) const fn continue_at(&mut self, id: u64) {
        self.next_id = id;
    }

    /// Returns the slot of the next call.
    pub(crate) fn next_place(&self) -> SlotKey {
        self.table.next_place()
    }

    /// Registers a call under the next id.
    pub(crate) fn insert(&mut self, fill: impl FnOnce(&mut E)) -> SlotKey {
        let id = self.next_id;
        // Ids start at a number of 32 bits: at one call per nanosecond they last five hundred years.
        self.next_id += 1;
        let place = self.table.insert(|entry| {
            entry.id = id;
            fill(&mut entry.extra);
        });
        self.by_id.insert(hash32(id), place.index);
        place
    }

    /// Assigns the next id to a pending call, which is sent again under the same handle.
    pub(crate) fn renew(&mut self, place: SlotKey) -> Option<u64> {
        let old = self.id(place)?;
        let id = self.next_id;
        self.next_id += 1;
        self.by_id.remove(hash32(old), place.index);
        self.by_id.insert(hash32(id), place.index);
        if let Some(entry) = self.table.get_mut(place) {
            entry.id = id;
        }
        Some(id)
    }

    pub(crate) fn find(&self, id: u64) -> Option<SlotKey> {
        let index = self.by_id.find(hash32(id), |index| {
            self.table
                .place_of(index)
                .and_then(|place| self.table.get(place))
                .is_some_and(|entry| entry.id == id)
        })?;
        self.table.place_of(index)
    }

    pub(crate) fn get(&self, place: SlotKey) -> Option<&E> {
        self.table.get(place).map(|entry| &entry.extra)
    }

    pub(crate) fn get_mut(&mut self, place: SlotKey) -> Option<&mut E> {
        self.table.get_mut(place).map(|entry| &mut entry.extra)
    }

    pub(crate) fn id(&self, place: SlotKey) -> Option<u64> {
        self.table.get(place).map(|entry| entry.id)
    }

    /// Removes a call that ended.
    pub(crate) fn remove(&mut self, place: SlotKey, ending: Ending) -> bool {
        if let Some(id) = self.id(place) {
            self.by_id.remove(hash32(id), place.index);
        }
        self.table.remove(place, ending)
    }

    /// Removes a call and remembers that its response may still arrive.
    pub(crate) fn give_up(&mut self, place: SlotKey, cause: GivenUp) {
        let Some(id) = self.id(place) else { return };
        self.remove(place, Ending::Cancelled);
        if self.remembered == 0 {
            return;
        }
        if self.given_up.len() == self.remembered {
            self.given_up.pop_front();
        }
        self.given_up.push_back((id, cause));
    }

    /// Returns the reason why a response with this id matches no pending call.
    pub(crate) fn unmatched_cause_of(&self, id: Option<u64>) -> UnmatchedCause {
        let Some(id) = id else { return UnmatchedCause::NeverIssued };
        work!(self.given_up.len());
        if let Some((_, cause)) = self.given_up.iter().find(|(given_up, _)| *given_up == id) {
            return match cause {
                GivenUp::Cancelled => UnmatchedCause::Cancelled,
                GivenUp::TimedOut => UnmatchedCause::TimedOut,
            };
        }
        if (self.first_id..self.next_id).contains(&id) {
            return UnmatchedCause::Completed;
        }
        UnmatchedCause::NeverIssued
    }

    /// Frees the memory if no calls are pending.
    pub(crate) fn release(&mut self) {
        self.table.release();
        self.by_id.release();
        self.given_up.shrink_to_fit();
    }

    pub(crate) fn first(&self) -> Option<SlotKey> {
        self.table.first()
    }

    /// Returns the slot of the call that was created after another one.
    pub(crate) fn after(&self, place: SlotKey) -> Option<SlotKey> {
        self.table.next(place)
    }

    pub(crate) fn place_of(&self, index: u32) -> Option<SlotKey> {
        self.table.place_of(index)
    }

    /// Modifies the calls, in creation order.
    pub(crate) fn for_each(&mut self, mut change: impl FnMut(&mut E)) {
        let mut place = self.table.first();
        while let Some(current) = place {
            if let Some(entry) = self.table.get_mut(current) {
                change(&mut entry.extra);
            }
            place = self.table.next(current);
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (SlotKey, &E)> {
        self.table.iter().map(|(place, entry)| (place, &entry.extra))
    }
}

#[cfg(test)]
mod tests {
    use super::hash32;

    /// Ids count up from a number of 32 bits, and may exceed 32 bits.
    #[test]
    fn both_halves_of_an_id_count() {
        let ids = [1, 1 << 32, 1 << 32 | 1, u64::from(u32::MAX)];
        assert_eq!(ids.map(hash32), [1, 1, 0, u32::MAX]);
    }
}
