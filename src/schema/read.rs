//! [`ReadMembers`]: reads the members of a model type in any order.

use core::fmt;
use core::marker::PhantomData;

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor,
};

use super::wire_type::WireType;
use crate::json::label::is_same_text;

/// A type that is read from the members of an object. [`record!`](crate::model) generates the implementation from the
/// rows.
pub(crate) trait ReadMembers<'de>: Sized {
    /// The name of the type, for errors.
    const NAME: &'static str;

    /// The names of the members, in the order of the rows.
    const MEMBERS: &'static [&'static str];

    fn read<A: MapAccess<'de>>(object: A) -> Result<Self, A::Error>;
}

/// Reads an object. Members without a row are skipped.
#[inline]
pub(crate) fn read_record<'de, T: ReadMembers<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    deserializer.deserialize_struct(T::NAME, T::MEMBERS, RecordVisitor(PhantomData))
}

struct RecordVisitor<T>(PhantomData<T>);

impl<'de, T: ReadMembers<'de>> Visitor<'de> for RecordVisitor<T> {
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "struct {}", T::NAME)
    }

    #[inline]
    fn visit_map<A: MapAccess<'de>>(self, object: A) -> Result<T, A::Error> {
        T::read(object)
    }
}

/// The keys of an object, each as the index of its row.
pub(crate) struct Keys {
    names: &'static [&'static str],
    /// The row to try first for the next key: members mostly come in the order of the rows.
    next: usize,
}

impl Keys {
    pub(crate) const fn of(names: &'static [&'static str]) -> Self {
        Self { names, next: 0 }
    }

    /// Returns the row of the next member that has one. The caller must then read the value of the member.
    #[inline]
    pub(crate) fn next<'de, A: MapAccess<'de>>(
        &mut self,
        object: &mut A,
    ) -> Result<Option<usize>, A::Error> {
        while let Some(index) = object.next_key_seed(&*self)? {
            if index < self.names.len() {
                self.next = index + 1;
                return Ok(Some(index));
            }
            object.next_value::<IgnoredAny>()?;
        }
        Ok(None)
    }

    /// Returns the row of this name, or the number of rows if no row has it.
    fn index_of(&self, key: &[u8]) -> usize {
        let is_it = |name: &&str| is_same_text(name.as_bytes(), key);
        let (before, behind) = self.names.split_at_checked(self.next).unwrap_or_default();
        match behind.iter().position(is_it) {
            Some(index) => before.len() + index,
            None => before.iter().position(is_it).unwrap_or(self.names.len()),
        }
    }
}

impl<'de> DeserializeSeed<'de> for &Keys {
    type Value = usize;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<usize, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl Visitor<'_> for &Keys {
    type Value = usize;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the name of a member")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<usize, E> {
        Ok(self.index_of(key.as_bytes()))
    }

    fn visit_bytes<E: Error>(self, key: &[u8]) -> Result<usize, E> {
        Ok(self.index_of(key))
    }
}

/// Reads the value of a member. Fails if the member was read before.
#[inline]
pub(crate) fn read_once<'de, T: Deserialize<'de>, A: MapAccess<'de>>(
    object: &mut A,
    place: &mut Option<T>,
    name: &'static str,
) -> Result<(), A::Error> {
    if place.is_some() {
        return Err(A::Error::duplicate_field(name));
    }
    *place = Some(object.next_value()?);
    Ok(())
}

/// Returns the value of an absent member. Fails if the member is required.
pub(crate) fn absent<T, W: WireType<T>, E: Error>(name: &'static str) -> Result<T, E> {
    W::absent().ok_or_else(|| E::missing_field(name))
}
