//! [`Inbound`], the table of open requests of the peer.

use alloc::string::String;

use super::id::Id;
use super::index::{Index, Lookup};
use super::table::{Ending, Recycle, Table};
use crate::handle::{ConnectionNumber, SlotKey};

/// The open requests, in order of arrival, found by handle or by wire id.
///
/// `E` is the state of the layer above for each request. The peer chooses the ids: two requests with one id can be in
/// the table if the layer above admits them. Such twins are linked, so that finding one costs the same for any number
/// of them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Inbound<E> {
    table: Table<Entry<E>>,
    /// The requests by their ids; of twins, the first.
    by_id: Index,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Entry<E> {
    /// The literal of the id.
    id: String,
    hash: u32,
    twins: Twins,
    extra: E,
}

/// The neighbors among the requests with the same id. The list begins with the first to arrive; the others follow
/// from the latest to the earliest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Twins {
    previous: Option<u32>,
    next: Option<u32>,
    /// Whether the request can no longer be found by its id.
    detached: bool,
}

impl<E: Recycle> Recycle for Entry<E> {
    fn recycle(&mut self) {
        self.id.clear();
        self.hash = 0;
        self.twins = Twins::default();
        self.extra.recycle();
    }
}

impl<E: Recycle> Inbound<E> {
    pub(crate) const fn new(connection: ConnectionNumber) -> Self {
        Self { table: Table::new(connection), by_id: Index::new() }
    }

    pub(crate) const fn len(&self) -> u32 {
        self.table.len()
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// Inserts a request whose id no other one has. Its state is cleared.
    pub(crate) fn insert(&mut self, id: &Id<'_>) -> SlotKey {
        let (place, hash) = self.put(id);
        self.by_id.insert(hash, place.index);
        place
    }

    /// Inserts a request whose id others may have. Its state is cleared.
    #[inline(never)]
    pub(crate) fn insert_twin(&mut self, id: &Id<'_>) -> SlotKey {
        let Some(first) = self.find(id) else { return self.insert(id) };
        let (place, _) = self.put(id);
        let second = self.twins(first.index).next;
        self.change_twins(first.index, |twins| twins.next = Some(place.index));
        self.change_twins(place.index, |twins| {
            twins.previous = Some(first.index);
            twins.next = second;
        });
        if let Some(second) = second {
            self.change_twins(second, |twins| twins.previous = Some(place.index));
        }
        place
    }

    /// Inserts a request without an id, which can only be found by its slot.
    pub(crate) fn insert_unnamed(&mut self, fill: impl FnOnce(&mut E)) -> SlotKey {
        self.table.insert(|entry| {
            entry.twins.detached = true;
            fill(&mut entry.extra);
        })
    }

    fn put(&mut self, id: &Id<'_>) -> (SlotKey, u32) {
        let hash = id.hash32();
        let place = self.table.insert(|entry| {
            entry.id.push_str(id.as_wire());
            entry.hash = hash;
        });
        (place, hash)
    }

    /// Returns the request with this id; of twins, the first.
    #[inline]
    pub(crate) fn find(&self, id: &Id<'_>) -> Option<SlotKey> {
        match self.look_up(id) {
            Lookup::Found(index) => self.table.place_of(index),
            Lookup::Free | Lookup::Crowded => None,
        }
    }

    /// Returns another request with the id of this one. Beginning with [`find`](Self::find), each is returned once.
    pub(crate) fn next_twin(&self, place: SlotKey) -> Option<SlotKey> {
        let entry = self.table.get(place)?;
        self.table.place_of(entry.twins.next?)
    }

    /// Looks up a request by its id, and reports whether an absent one can be inserted.
    #[inline]
    pub(crate) fn look_up(&self, id: &Id<'_>) -> Lookup {
        // Most requests arrive when no other is open, and the hash is most of the work.
        if self.table.is_empty() {
            return Lookup::Free;
        }
        self.look_up_among_others(id)
    }

    fn look_up_among_others(&self, id: &Id<'_>) -> Lookup {
        self.by_id.look_up(id.hash32(), |index| {
            self.table
                .place_of(index)
                .and_then(|place| self.table.get(place))
                .is_some_and(|entry| Id::trusted(&entry.id) == *id)
        })
    }

    pub(crate) fn get(&self, place: SlotKey) -> Option<&E> {
        self.table.get(place).map(|entry| &entry.extra)
    }

    pub(crate) fn get_mut(&mut self, place: SlotKey) -> Option<&mut E> {
        self.table.get_mut(place).map(|entry| &mut entry.extra)
    }

    /// Returns the wire id of a request; `None` if it was [inserted without one](Self::insert_unnamed).
    pub(crate) fn id(&self, place: SlotKey) -> Option<Id<'_>> {
        let entry = self.table.get(place)?;
        (!entry.id.is_empty()).then(|| Id::trusted(&entry.id))
    }

    pub(crate) fn place_of(&self, index: u32) -> Option<SlotKey> {
        self.table.place_of(index)
    }

    pub(crate) fn ending(&self, place: SlotKey) -> Option<Ending> {
        self.table.ending(place)
    }

    pub(crate) fn remove(&mut self, place: SlotKey, ending: Ending) -> bool {
        self.detach(place);
        self.table.remove(place, ending)
    }

    /// Removes a request from the index of ids.
    pub(crate) fn detach(&mut self, place: SlotKey) {
        let Some(entry) = self.table.get_mut(place) else { return };
        let (hash, twins, index) = (entry.hash, entry.twins, place.index);
        if twins.detached {
            return;
        }
        entry.twins = Twins { detached: true, ..Twins::default() };
        match (twins.previous, twins.next) {
            (None, None) => self.by_id.remove(hash, index),
            (None, Some(next)) => self.by_id.replace(hash, index, next),
            (Some(_), _) => {}
        }
        if let Some(previous) = twins.previous {
            self.change_twins(previous, |before| before.next = twins.next);
        }
        if let Some(next) = twins.next {
            self.change_twins(next, |after| after.previous = twins.previous);
        }
    }

    fn twins(&self, index: u32) -> Twins {
        let place = self.table.place_of(index);
        place.and_then(|place| self.table.get(place)).map(|entry| entry.twins).unwrap_or_default()
    }

    fn change_twins(&mut self, index: u32, change: impl FnOnce(&mut Twins)) {
        let place = self.table.place_of(index);
        if let Some(entry) = place.and_then(|place| self.table.get_mut(place)) {
            change(&mut entry.twins);
        }
    }

    /// Frees the memory if no requests are open.
    pub(crate) fn release(&mut self) {
        self.table.release();
        self.by_id.release();
    }

    pub(crate) fn first(&self) -> Option<SlotKey> {
        self.table.first()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (SlotKey, &E)> {
        self.table.iter().map(|(place, entry)| (place, &entry.extra))
    }
}
