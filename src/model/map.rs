//! `Map`: an object used as a map, in the order of the wire.

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::owned::IntoOwned;
use super::text::Text;
use crate::schema::shape::Shape;
use crate::schema::{ModelWriter, Value, Written};

/// A map with string keys that keeps the order of its entries.
///
/// ```
/// use mcp_sansio::model::{Map, Text};
///
/// let mut arguments = Map::from([("language".into(), Text::from("Rust"))]);
/// arguments.insert("level", "expert".into());
/// assert_eq!(arguments.get("level").map(Text::as_str), Some("expert"));
/// for (name, value) in &arguments {
///     assert!(!name.is_empty() && !value.is_empty());
/// }
/// assert_eq!(arguments.into_iter().next(), Some(("language".into(), "Rust".into())));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Map<'a, V> {
    entries: Vec<(Text<'a>, V)>,
}

impl<'a, V> Map<'a, V> {
    /// Returns the value of a key.
    pub fn get(&self, key: &str) -> Option<&V> {
        self.iter().find(|(name, _)| *name == key).map(|(_, value)| value)
    }

    /// Sets the value of a key. Returns the previous value. It compares the key with each of the others: collect many
    /// entries with [`from_iter`](FromIterator) instead.
    pub fn insert(&mut self, key: impl Into<Text<'a>>, value: V) -> Option<V> {
        let key = key.into();
        match self.entries.iter_mut().find(|(name, _)| *name == key) {
            Some((_, place)) => Some(core::mem::replace(place, value)),
            None => {
                self.entries.push((key, value));
                None
            }
        }
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the entries in order.
    pub fn iter(&self) -> MapIter<'_, 'a, V> {
        MapIter { entries: self.entries.iter() }
    }
}

impl<V: IntoOwned> Map<'_, V> {
    /// Converts the value into one that borrows nothing and can outlive its message. Borrowed data is copied; owned
    /// data is moved.
    pub fn into_owned(self) -> Map<'static, V::Owned> {
        let owned = |(name, value): (Text<'_>, V)| (name.into_owned(), value.into_owned());
        Map { entries: self.entries.into_iter().map(owned).collect() }
    }
}

impl<V> Default for Map<'_, V> {
    fn default() -> Self {
        Self { entries: Vec::new() }
    }
}

impl<'a, V> FromIterator<(Text<'a>, V)> for Map<'a, V> {
    /// If a key occurs several times, the last value wins, at the first place.
    fn from_iter<I: IntoIterator<Item = (Text<'a>, V)>>(entries: I) -> Self {
        Self::of(entries.into_iter().collect())
    }
}

impl<'a, V> Map<'a, V> {
    /// Keeps one of the entries with the same key. The work does not grow with the square of their number, because a peer
    /// may send a million of them.
    fn of(entries: Vec<(Text<'a>, V)>) -> Self {
        let Some(firsts) = first_places(entries.iter().map(|(key, _)| key.as_str()).collect())
        else {
            return Self { entries };
        };
        let mut kept: Vec<(Text<'a>, V)> = Vec::new();
        // The place of each first entry among those that are kept.
        let mut places = Vec::with_capacity(firsts.len());
        for ((key, value), (at, first)) in entries.into_iter().zip(firsts.into_iter().enumerate()) {
            let place =
                if first == at { kept.len() } else { places.get(first).copied().unwrap_or(0) };
            places.push(place);
            match kept.get_mut(place) {
                Some((_, known)) => *known = value,
                None => kept.push((key, value)),
            }
        }
        Self { entries: kept }
    }
}

/// Returns, for each key, the index of the first key that equals it; `None` if all keys differ.
fn first_places(keys: Vec<&str>) -> Option<Vec<usize>> {
    /// So few keys are compared with one another, without any memory.
    const FEW: usize = 8;
    let differ = |keys: &[&str]| {
        keys.iter().enumerate().all(|(at, key)| !keys.iter().take(at).any(|other| other == key))
    };
    if keys.len() <= FEW && differ(&keys) {
        return None;
    }
    let mut order: Vec<usize> = (0..keys.len()).collect();
    let key = |at: &usize| keys.get(*at).copied().unwrap_or_default();
    order.sort_unstable_by(|left, right| {
        work!(1);
        key(left).cmp(key(right)).then(left.cmp(right))
    });
    let mut firsts = vec![0; keys.len()];
    let (mut first, mut are_repeated) = (None::<usize>, false);
    for at in &order {
        match first {
            Some(known) if key(&known) == key(at) => are_repeated = true,
            _ => first = Some(*at),
        }
        if let (Some(place), Some(first)) = (firsts.get_mut(*at), first) {
            *place = first;
        }
    }
    are_repeated.then_some(firsts)
}

impl<'a, V, const N: usize> From<[(Text<'a>, V); N]> for Map<'a, V> {
    fn from(entries: [(Text<'a>, V); N]) -> Self {
        entries.into_iter().collect()
    }
}

impl<'a, V> IntoIterator for Map<'a, V> {
    type Item = (Text<'a>, V);
    type IntoIter = vec::IntoIter<(Text<'a>, V)>;

    /// Returns the entries in order.
    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

impl<'m, 'a, V> IntoIterator for &'m Map<'a, V> {
    type Item = (&'m str, &'m V);
    type IntoIter = MapIter<'m, 'a, V>;

    /// Returns the entries in order.
    fn into_iter(self) -> MapIter<'m, 'a, V> {
        self.iter()
    }
}

/// The iterator of [`Map::iter`].
#[derive(Clone, Debug)]
pub struct MapIter<'m, 'a, V> {
    entries: core::slice::Iter<'m, (Text<'a>, V)>,
}

impl<'m, V> Iterator for MapIter<'m, '_, V> {
    type Item = (&'m str, &'m V);

    fn next(&mut self) -> Option<Self::Item> {
        self.entries.next().map(|(key, value)| (key.as_str(), value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.entries.size_hint()
    }
}

impl<V: Value> Value for Map<'_, V> {
    const SHAPE: Shape = Shape::Map(&V::SHAPE);

    fn write(&self, out: &mut ModelWriter<'_, '_>) -> Written {
        self.write_each(out, V::write)
    }
}

impl<V> Map<'_, V> {
    /// Writes an object. The function writes each value.
    pub(super) fn write_each(
        &self,
        out: &mut ModelWriter<'_, '_>,
        mut write: impl FnMut(&V, &mut ModelWriter<'_, '_>) -> Written,
    ) -> Written {
        let start = out.position();
        for (key, value) in self {
            out.piece(",")?;
            out.string(key)?;
            out.piece(":")?;
            write(value, out)?;
        }
        out.enclose(start, b'{', "}")
    }
}

impl<V: Serialize> Serialize for Map<'_, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.entries.len()))?;
        for (key, value) in &self.entries {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl<'de: 'a, 'a, V: Deserialize<'de>> Deserialize<'de> for Map<'a, V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MapVisitor(PhantomData))
    }
}

struct MapVisitor<V>(PhantomData<V>);

impl<'de, V: Deserialize<'de>> Visitor<'de> for MapVisitor<V> {
    type Value = Map<'de, V>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = members.next_entry()? {
            entries.push(entry);
        }
        Ok(Map::of(entries))
    }
}
