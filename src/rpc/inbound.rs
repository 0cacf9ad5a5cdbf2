//! Requests of the peer that have not been answered.

use alloc::string::String;

use super::id::Id;
use super::index::Index;
use super::table::{Ending, Recycle, Table};
use crate::handle::{ConnectionNumber, Place};

/// The unanswered requests, in the order they came, found by handle or by wire id.
///
/// `E` is what the layer above keeps with each. Ids are the peer's: two requests with one id can be
/// in the table if the layer above lets them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Inbound<E> {
    table: Table<Entry<E>>,
    by_id: Index,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Entry<E> {
    /// The literal of the id.
    id: String,
    hash: u32,
    extra: E,
}

impl<E: Recycle> Recycle for Entry<E> {
    fn recycle(&mut self) {
        self.id.clear();
        self.hash = 0;
        self.extra.recycle();
    }
}

impl<E: Recycle> Inbound<E> {
    pub(crate) fn new(connection: ConnectionNumber) -> Self {
        Self { table: Table::new(connection), by_id: Index::default() }
    }

    pub(crate) const fn len(&self) -> u32 {
        self.table.len()
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    pub(crate) fn insert(&mut self, id: &Id<'_>, fill: impl FnOnce(&mut E)) -> Place {
        let hash = id.hash32();
        let place = self.table.insert(|entry| {
            entry.id.push_str(id.as_wire());
            entry.hash = hash;
            fill(&mut entry.extra);
        });
        self.by_id.insert(hash, place.index);
        place
    }

    /// A request with this id which `is_it` accepts.
    pub(crate) fn find(&self, id: &Id<'_>, mut is_it: impl FnMut(&E) -> bool) -> Option<Place> {
        let index = self.by_id.find(id.hash32(), |index| {
            self.table
                .place_of(index)
                .and_then(|place| self.table.get(place))
                .is_some_and(|entry| Id::trusted(&entry.id) == *id && is_it(&entry.extra))
        })?;
        self.table.place_of(index)
    }

    pub(crate) fn get(&self, place: Place) -> Option<&E> {
        self.table.get(place).map(|entry| &entry.extra)
    }

    pub(crate) fn get_mut(&mut self, place: Place) -> Option<&mut E> {
        self.table.get_mut(place).map(|entry| &mut entry.extra)
    }

    /// The wire id of a request.
    pub(crate) fn id(&self, place: Place) -> Option<Id<'_>> {
        self.table.get(place).map(|entry| Id::trusted(&entry.id))
    }

    pub(crate) fn ending(&self, place: Place) -> Option<Ending> {
        self.table.ending(place)
    }

    pub(crate) fn remove(&mut self, place: Place, ending: Ending) -> bool {
        if let Some(entry) = self.table.get(place) {
            self.by_id.remove(entry.hash, place.index);
        }
        self.table.remove(place, ending)
    }

    pub(crate) fn first(&self) -> Option<Place> {
        self.table.first()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Place, &E)> {
        self.table.iter().map(|(place, entry)| (place, &entry.extra))
    }
}
