//! A deserializer of scanned JSON text, which skips values without checking them again.

use alloc::borrow::Cow;

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error as _, IntoDeserializer, MapAccess, SeqAccess,
    Unexpected, Visitor,
};
use serde_json::Error;

use super::name::Name;
use super::raw::{Elements, MemberTexts, RAW_VALUE};

/// The maximum nesting depth of a value, as in serde_json: decoding is recursive.
const DEPTH: u8 = 127;

/// Decodes a value from text that this crate or serde_json has scanned.
///
/// The result is that of `serde_json::from_str`, except that errors have no positions.
pub(crate) fn decode<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, Error> {
    T::deserialize(Scanned { text, depth: DEPTH })
}

/// The text of one value, without surrounding white space.
#[derive(Clone, Copy)]
struct Scanned<'de> {
    text: &'de str,
    depth: u8,
}

impl<'de> Scanned<'de> {
    fn first(self) -> Option<u8> {
        self.text.as_bytes().first().copied()
    }

    /// Returns the text of a string without escapes.
    fn plain(self) -> Option<&'de str> {
        let inside = self.text.strip_prefix('"')?.strip_suffix('"')?;
        memchr::memchr(b'\\', inside.as_bytes()).is_none().then_some(inside)
    }

    fn inside(self) -> Result<u8, Error> {
        self.depth.checked_sub(1).ok_or_else(|| Error::custom("recursion limit exceeded"))
    }

    fn seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let mut array = Array { elements: Elements::of(self.text), depth: self.inside()? };
        let value = visitor.visit_seq(&mut array)?;
        match array.elements.next() {
            None => Ok(value),
            Some(_) => Err(Error::custom("trailing characters")),
        }
    }

    fn map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let members = MemberTexts::of(self.text);
        let mut object = Object { members, value: "", depth: self.inside()? };
        let value = visitor.visit_map(&mut object)?;
        match object.members.next() {
            None => Ok(value),
            Some(_) => Err(Error::custom("trailing characters")),
        }
    }
}

/// Fallbacks for values of an unexpected kind.
impl<'de> Scanned<'de> {
    /// Deserializes a string, a number, a boolean or `null` as its own kind.
    fn scalar<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.first() {
            Some(b'"') => self.deserialize_str(visitor),
            Some(b't' | b'f') => self.deserialize_bool(visitor),
            Some(b'n') => visitor.visit_unit(),
            _ => serde_json::from_str::<serde_json::Number>(self.text)?.deserialize_any(visitor),
        }
    }

    /// Rejects a value of an unexpected kind. It does not forward to serde_json, which would be instantiated for each
    /// type.
    fn other<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.first() {
            Some(b'{') => Err(Error::invalid_type(Unexpected::Map, &visitor)),
            Some(b'[') => Err(Error::invalid_type(Unexpected::Seq, &visitor)),
            _ => self.scalar(visitor),
        }
    }
}

/// Methods that forward the text of the value to serde_json.
macro_rules! by_serde_json {
    ($($method:ident($($argument:ident: $type:ty),*))*) => {$(
        fn $method<V: Visitor<'de>>(
            self,
            $($argument: $type,)*
            visitor: V,
        ) -> Result<V::Value, Error> {
            serde_json::Deserializer::from_str(self.text).$method($($argument,)* visitor)
        }
    )*};
}

impl<'de> Deserializer<'de> for Scanned<'de> {
    type Error = Error;

    by_serde_json! {
        deserialize_bool()
        deserialize_i8()
        deserialize_i16()
        deserialize_i32()
        deserialize_i64()
        deserialize_i128()
        deserialize_u8()
        deserialize_u16()
        deserialize_u32()
        deserialize_u64()
        deserialize_u128()
        deserialize_f32()
        deserialize_f64()
        deserialize_char()
        deserialize_bytes()
        deserialize_byte_buf()
        deserialize_unit()
        deserialize_unit_struct(name: &'static str)
        deserialize_enum(name: &'static str, variants: &'static [&'static str])
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.first() {
            Some(b'{') => self.map(visitor),
            Some(b'[') => self.seq(visitor),
            _ => self.scalar(visitor),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.plain() {
            Some(text) => visitor.visit_borrowed_str(text),
            None => serde_json::Deserializer::from_str(self.text).deserialize_str(visitor),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_str(visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.text == "null" { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        match name {
            RAW_VALUE => visitor.visit_map(RawText(Some(self.text))),
            _ => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.first() {
            Some(b'[') => self.seq(visitor),
            _ => self.other(visitor),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        _length: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _length: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.first() {
            Some(b'{') => self.map(visitor),
            _ => self.other(visitor),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _members: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.first() {
            Some(b'{') => self.map(visitor),
            Some(b'[') => self.seq(visitor),
            _ => self.other(visitor),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }
}

struct Array<'de> {
    elements: Elements<'de>,
    depth: u8,
}

impl<'de> SeqAccess<'de> for &mut Array<'de> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Error> {
        let element = self.elements.next().and_then(|element| element.borrowed());
        element.map(|text| seed.deserialize(Scanned { text, depth: self.depth })).transpose()
    }
}

struct Object<'de> {
    members: MemberTexts<'de>,
    /// The value of the member whose key was returned last.
    value: &'de str,
    depth: u8,
}

impl<'de> MapAccess<'de> for &mut Object<'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        let Some((key, value)) = self.members.next() else { return Ok(None) };
        self.value = value;
        seed.deserialize(Key(key)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        seed.deserialize(Scanned { text: self.value, depth: self.depth })
    }
}

/// The deserializer of a key: a string, or another type parsed from the text of the string.
#[derive(Clone, Copy)]
struct Key<'de>(Name<'de>);

macro_rules! in_a_string {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            let mut inside = serde_json::Deserializer::from_str(self.0.as_wire());
            let value = inside.$method(visitor)?;
            inside.end().map(|()| value)
        }
    )*};
}

impl<'de> Deserializer<'de> for Key<'de> {
    type Error = Error;

    in_a_string! {
        deserialize_bool
        deserialize_i8
        deserialize_i16
        deserialize_i32
        deserialize_i64
        deserialize_i128
        deserialize_u8
        deserialize_u16
        deserialize_u32
        deserialize_u64
        deserialize_u128
        deserialize_f32
        deserialize_f64
    }

    #[inline]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0.as_plain() {
            Some(key) => visitor.visit_borrowed_str(key),
            None => {
                let literal = alloc::format!("\"{}\"", self.0.as_wire());
                visitor.visit_string(serde_json::from_str(&literal)?)
            }
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.0.to_str() {
            Cow::Borrowed(key) => {
                BorrowedStrDeserializer::new(key).deserialize_enum(name, variants, visitor)
            }
            Cow::Owned(key) => key.into_deserializer().deserialize_enum(name, variants, visitor),
        }
    }

    serde::forward_to_deserialize_any! {
        char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier
        ignored_any
    }
}

/// The text of a value that is requested as text, in the map form that serde_json uses for it.
struct RawText<'de>(Option<&'de str>);

impl<'de> MapAccess<'de> for RawText<'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        if self.0.is_none() {
            return Ok(None);
        }
        seed.deserialize(BorrowedStrDeserializer::new(RAW_VALUE)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let text = self.0.take().unwrap_or_default();
        seed.deserialize(BorrowedStrDeserializer::new(text))
    }
}

#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;
