//! [`Ordered`], a map sorted by key whose tree is compiled once per key type, not per map.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::borrow::Borrow;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::ops::{ControlFlow, RangeBounds};

/// A map sorted by key.
///
/// The tree maps keys to indices of a `Vec` with the values. A `BTreeMap` of the standard library takes ten to
/// fifteen kilobytes of machine code for each pair of types; twenty of them were a fifth of the compiled code. Here
/// the tree depends only on the key type. Two maps with the same keys and values are equal and have the same hash,
/// for any insertion order.
#[derive(Clone)]
pub(crate) struct Ordered<K, V> {
    places: BTreeMap<K, u32>,
    /// The values. A removed value is `None`, and its index is in `free`.
    values: Vec<Option<V>>,
    free: Vec<u32>,
}

/// The maximum capacity, in values, that an empty map keeps.
const KEPT: usize = 16;

/// A sorted set of keys.
pub(crate) type OrderedSet<K> = Ordered<K, ()>;

impl<K, V> Ordered<K, V> {
    /// Creates an empty map. It allocates nothing.
    pub(crate) const fn new() -> Self {
        Self { places: BTreeMap::new(), values: Vec::new(), free: Vec::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Removes all entries and frees the memory.
    pub(crate) fn clear(&mut self) {
        *self = Self::new();
    }

    /// Returns the keys, in order.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &K> {
        self.places.keys()
    }

    /// Returns the entries, in key order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.places.iter().filter_map(|(key, place)| Some((key, value_at(&self.values, *place)?)))
    }

    /// Calls `change` for each value, in key order, until it breaks.
    pub(crate) fn try_for_each_mut<B>(
        &mut self,
        mut change: impl FnMut(&K, &mut V) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        for (key, place) in &self.places {
            if let Some(Some(value)) = self.values.get_mut(*place as usize) {
                change(key, value)?;
            }
        }
        ControlFlow::Continue(())
    }
}

impl<K: Ord, V> Ordered<K, V> {
    pub(crate) fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        value_at(&self.values, *self.places.get(key)?)
    }

    pub(crate) fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        self.values.get_mut(*self.places.get(key)? as usize)?.as_mut()
    }

    pub(crate) fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.places.contains_key(key)
    }

    /// Inserts a value, or replaces the value of an existing key.
    pub(crate) fn insert(&mut self, key: K, value: V) {
        if let Some(known) = self.get_mut(&key) {
            *known = value;
            return;
        }
        let place = match self.free.pop() {
            Some(place) => place,
            None => {
                self.values.push(None);
                self.values.len() as u32 - 1
            }
        };
        if let Some(slot) = self.values.get_mut(place as usize) {
            *slot = Some(value);
        }
        self.places.insert(key, place);
    }

    /// Removes a value.
    pub(crate) fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let place = self.places.remove(key)?;
        let value = self.values.get_mut(place as usize)?.take();
        self.free.push(place);
        self.begin_again();
        value
    }

    /// Removes the entries whose key `keep` does not accept.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&K) -> bool) {
        let Self { places, values, free } = self;
        places.retain(|key, place| {
            let stays = keep(key);
            if let (false, Some(slot)) = (stays, values.get_mut(*place as usize)) {
                *slot = None;
                free.push(*place);
            }
            stays
        });
        self.begin_again();
    }

    /// Restarts an empty map at index 0. The map keeps memory for a few values, not for its former maximum.
    fn begin_again(&mut self) {
        if !self.is_empty() {
            return;
        }
        if KEPT < self.values.capacity() {
            self.clear();
        }
        self.values.clear();
        self.free.clear();
    }

    /// Returns the first entry.
    pub(crate) fn first(&self) -> Option<(&K, &V)> {
        let (key, place) = self.places.first_key_value()?;
        Some((key, value_at(&self.values, *place)?))
    }

    /// Returns the last key.
    pub(crate) fn last_key(&self) -> Option<&K> {
        self.places.last_key_value().map(|(key, _)| key)
    }

    /// Returns the entries in a key range, in order.
    pub(crate) fn range<Q: Ord + ?Sized>(
        &self,
        range: impl RangeBounds<Q>,
    ) -> impl DoubleEndedIterator<Item = (&K, &V)>
    where
        K: Borrow<Q>,
    {
        let places = self.places.range(range);
        places.filter_map(|(key, place)| Some((key, value_at(&self.values, *place)?)))
    }
}

fn value_at<V>(values: &[Option<V>], place: u32) -> Option<&V> {
    values.get(place as usize)?.as_ref()
}

impl<K, V> Default for Ordered<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: PartialEq, V: PartialEq> PartialEq for Ordered<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<K: Eq, V: Eq> Eq for Ordered<K, V> {}

impl<K: Hash, V: Hash> Hash for Ordered<K, V> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.len().hash(state);
        self.iter().for_each(|entry| entry.hash(state));
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for Ordered<K, V> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_map().entries(self.iter()).finish()
    }
}

impl<K: Ord, V> Extend<(K, V)> for Ordered<K, V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        entries.into_iter().for_each(|(key, value)| self.insert(key, value));
    }
}

impl<K: Ord, V> FromIterator<(K, V)> for Ordered<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = Self::new();
        map.extend(entries);
        map
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use core::hash::{BuildHasher, BuildHasherDefault};
    use std::hash::DefaultHasher;

    use super::*;

    fn entries(map: &Ordered<u64, char>) -> Vec<(u64, char)> {
        map.iter().map(|(key, value)| (*key, *value)).collect()
    }

    /// Every sequence of five changes of three keys gives the same result as a `BTreeMap`.
    #[test]
    fn it_is_a_map() {
        const CHANGES: u32 = 5;
        for mut changes in 0..6_u32.pow(CHANGES) {
            let (mut map, mut model) = (Ordered::new(), BTreeMap::new());
            for value in ('a'..).take(CHANGES as usize) {
                let key = u64::from(changes % 3);
                if changes / 3 % 2 == 0 {
                    map.insert(key, value);
                    model.insert(key, value);
                } else {
                    assert_eq!(map.remove(&key), model.remove(&key));
                }
                changes /= 6;
                assert_eq!(entries(&map), model.clone().into_iter().collect::<Vec<_>>());
                assert_eq!((map.len(), map.get(&key)), (model.len(), model.get(&key)));
                assert_eq!(map.first(), model.first_key_value());
                assert_eq!(map.range(1..).next_back(), model.range(1..).next_back());
                // Free indices are reused before new ones are added.
                assert!(map.values.len() <= 3);
            }
        }
    }

    #[test]
    fn the_way_to_it_makes_no_difference() {
        let one: Ordered<u64, char> = [(1, 'a'), (2, 'b')].into_iter().collect();
        let mut other: Ordered<u64, char> = [(3, 'c'), (2, 'b')].into_iter().collect();
        let hash =
            |map: &Ordered<u64, char>| BuildHasherDefault::<DefaultHasher>::new().hash_one(map);
        assert!(one != other && hash(&one) != hash(&other));
        other.retain(|key| *key != 3);
        other.insert(1, 'a');
        assert!(one == other && hash(&one) == hash(&other));
        assert_eq!(alloc::format!("{one:?}"), "{1: 'a', 2: 'b'}");
    }

    /// As a result, requests that arrive one at a time allocate nothing.
    #[test]
    fn an_empty_map_begins_at_the_first_place_again() {
        let mut map: Ordered<u64, char> = [(1, 'a'), (2, 'b')].into_iter().collect();
        map.remove(&1);
        map.retain(|_| false);
        assert!(map.values.is_empty() && map.free.is_empty() && 2 <= map.values.capacity());
    }

    #[test]
    fn memory_for_a_few_values_is_kept() {
        let mut map = Ordered::<u64, char>::new();
        map.values.reserve_exact(KEPT);
        assert_eq!(map.values.capacity(), KEPT);
        map.insert(1, 'a');
        map.remove(&1);
        assert_eq!(map.values.capacity(), KEPT);
    }

    #[test]
    fn a_burst_leaves_no_memory_behind() {
        let mut map: Ordered<u64, char> = (0..1000).map(|key| (key, 'a')).collect();
        (0..1000).for_each(|key| assert_eq!(map.remove(&key), Some('a')));
        assert_eq!((map.values.capacity(), map.free.capacity()), (0, 0));
    }

    #[test]
    fn values_are_changed_in_order_until_it_breaks_off() {
        let mut map: Ordered<u64, char> = [(2, 'b'), (1, 'a'), (3, 'c')].into_iter().collect();
        let mut seen = vec![];
        let end = map.try_for_each_mut(|key, value| {
            seen.push(*key);
            *value = 'x';
            if *key == 2 { ControlFlow::Break(*key) } else { ControlFlow::Continue(()) }
        });
        assert_eq!((end, seen), (ControlFlow::Break(2), vec![1, 2]));
        assert_eq!(entries(&map), [(1, 'x'), (2, 'x'), (3, 'c')]);
    }
}
