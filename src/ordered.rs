//! `Ordered`: a map in the order of its keys. One tree is compiled for each type of keys, not for each map.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::borrow::Borrow;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::ops::{ControlFlow, RangeBounds};

/// A map in the order of its keys.
///
/// The tree leads to places in a `Vec`, and the values are there. A `BTreeMap` of the standard library takes ten to
/// fifteen kilobytes of machine code for each pair of types; twenty of them were a fifth of all that was compiled.
/// Here the tree depends on the type of the keys alone. Two maps with the same keys and values are equal and have the
/// same hash, in whatever order they were filled.
#[derive(Clone)]
pub(crate) struct Ordered<K, V> {
    places: BTreeMap<K, u32>,
    /// `None` where a value was removed, and then the place is in `free`.
    values: Vec<Option<V>>,
    free: Vec<u32>,
}

/// For how many values an empty map keeps memory at most.
const KEPT: usize = 16;

/// Keys in order.
pub(crate) type OrderedSet<K> = Ordered<K, ()>;

impl<K, V> Ordered<K, V> {
    /// An empty map. It allocates nothing.
    pub(crate) const fn new() -> Self {
        Self { places: BTreeMap::new(), values: Vec::new(), free: Vec::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Forgets everything, and gives the memory back.
    pub(crate) fn clear(&mut self) {
        *self = Self::new();
    }

    /// The keys, in order.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &K> {
        self.places.keys()
    }

    /// The keys with their values, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.places.iter().filter_map(|(key, place)| Some((key, value_at(&self.values, *place)?)))
    }

    /// Shows each value to `change`, in the order of the keys, until it breaks off.
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

    /// Puts a value in, in the place of the one that the key had.
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

    /// Takes a value out.
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

    /// Leaves what `keep` says.
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

    /// An empty map begins at the first place again. It keeps memory for a few values, and not for as many as there ever
    /// were.
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

    /// The first key with its value.
    pub(crate) fn first(&self) -> Option<(&K, &V)> {
        let (key, place) = self.places.first_key_value()?;
        Some((key, value_at(&self.values, *place)?))
    }

    /// The last key.
    pub(crate) fn last_key(&self) -> Option<&K> {
        self.places.last_key_value().map(|(key, _)| key)
    }

    /// The keys in a range with their values, in order.
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

    use super::*;

    fn entries(map: &Ordered<u64, char>) -> Vec<(u64, char)> {
        map.iter().map(|(key, value)| (*key, *value)).collect()
    }

    /// Every sequence of five changes of three keys gives what a `BTreeMap` gives.
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
                // A place that is free is taken before there are more of them.
                assert!(map.values.len() <= 3);
            }
        }
    }

    #[test]
    fn the_way_to_it_makes_no_difference() {
        let one: Ordered<u64, char> = [(1, 'a'), (2, 'b')].into_iter().collect();
        let mut other: Ordered<u64, char> = [(3, 'c'), (2, 'b')].into_iter().collect();
        assert_ne!(one, other);
        other.retain(|key| *key != 3);
        other.insert(1, 'a');
        assert_eq!(one, other);
        assert_eq!(alloc::format!("{one:?}"), "{1: 'a', 2: 'b'}");
    }

    /// So requests that come one at a time allocate nothing.
    #[test]
    fn an_empty_map_begins_at_the_first_place_again() {
        let mut map: Ordered<u64, char> = [(1, 'a'), (2, 'b')].into_iter().collect();
        map.remove(&1);
        map.retain(|_| false);
        assert!(map.values.is_empty() && map.free.is_empty() && 2 <= map.values.capacity());
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
