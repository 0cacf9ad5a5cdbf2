//! Writes the one object that `params` or `result` is, and adds members to it on the way.
//!
//! The application serialises an object; the machine owns a few of its members: the progress token
//! in `_meta` today, more in other revisions. The keys of the object pass through here, so the
//! additions go in without a second pass and an object never gets two `_meta`.

use serde::ser::{Impossible, Serialize, SerializeMap, SerializeStruct, Serializer};

use super::number::NUMBER;
use super::raw::Members;
use super::text::Text;
use super::variant::OpenVariant;
use super::write::{EncodeError, RAW_VALUE, Writer};

/// Members that the machine adds: names, and values as JSON text.
///
/// They win over members of the same name that the application wrote.
#[derive(Clone, Copy, Default)]
pub(crate) struct Additions<'x> {
    /// Members of the object itself.
    pub(crate) members: &'x [(&'static str, &'x str)],
    /// Members of its `_meta`.
    pub(crate) meta: &'x [(&'static str, &'x str)],
}

impl Additions<'_> {
    const fn is_empty(&self) -> bool {
        self.members.is_empty() && self.meta.is_empty()
    }

    fn owns(&self, key: &str) -> bool {
        self.members.iter().any(|(name, _)| *name == key)
    }
}

/// What becomes of a value that is nothing at all: `()` or `None`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Empty {
    /// An absent `params` is left out.
    Omitted,
    /// An empty `result` is `{}`.
    Braces,
}

/// A serializer for exactly one object.
pub(crate) struct Object<'w, 'a, 'x> {
    writer: &'w mut Writer<'a>,
    /// Written in front of the object, if there is one.
    prefix: &'static str,
    additions: Additions<'x>,
    empty: Empty,
}

impl<'w, 'a, 'x> Object<'w, 'a, 'x> {
    pub(crate) const fn new(
        writer: &'w mut Writer<'a>,
        prefix: &'static str,
        empty: Empty,
        additions: Additions<'x>,
    ) -> Self {
        Self { writer, prefix, additions, empty }
    }

    fn open(self) -> Result<OpenObject<'w, 'a, 'x>, EncodeError> {
        self.writer.push(self.prefix.as_bytes())?;
        self.writer.push(b"{")?;
        let mut open = OpenObject {
            writer: self.writer,
            additions: self.additions,
            first: true,
            meta_written: false,
            skip_value: false,
            value_is_meta: false,
        };
        for (name, value) in self.additions.members {
            open.separate()?;
            open.writer.push_string(name)?;
            open.writer.push(b":")?;
            open.writer.push(value.as_bytes())?;
        }
        Ok(open)
    }

    fn nothing(self) -> Result<(), EncodeError> {
        if self.empty == Empty::Omitted && self.additions.is_empty() {
            return Ok(());
        }
        self.open()?.close()
    }

    fn raw(self, text: &str) -> Result<(), EncodeError> {
        match text.as_bytes().first() {
            Some(b'{') => {}
            Some(b'n') => return self.nothing(),
            _ => return Err(EncodeError::NotAnObject),
        }
        if self.additions.is_empty() {
            self.writer.push(self.prefix.as_bytes())?;
            return self.writer.push_raw(text);
        }
        let mut open = self.open()?;
        for (key, value) in Members::of(text) {
            open.key(&key.to_str(), Some(key.as_wire()))?;
            open.value(&value)?;
        }
        open.close()
    }
}

type Result<T = (), E = EncodeError> = core::result::Result<T, E>;

macro_rules! refused {
    ($($method:ident($($argument:ty),*) -> $ok:ty;)*) => {$(
        fn $method(self $(, _: $argument)*) -> Result<$ok> {
            Err(EncodeError::NotAnObject)
        }
    )*};
}

impl<'w, 'a, 'x> Serializer for Object<'w, 'a, 'x> {
    type Ok = ();
    type Error = EncodeError;
    type SerializeSeq = Impossible<(), EncodeError>;
    type SerializeTuple = Impossible<(), EncodeError>;
    type SerializeTupleStruct = Impossible<(), EncodeError>;
    type SerializeTupleVariant = OpenVariant<'w, 'a, 'x>;
    type SerializeMap = OpenObject<'w, 'a, 'x>;
    type SerializeStruct = OpenStruct<'w, 'a, 'x>;
    type SerializeStructVariant = OpenVariant<'w, 'a, 'x>;

    refused! {
        serialize_bool(bool) -> ();
        serialize_i8(i8) -> ();
        serialize_i16(i16) -> ();
        serialize_i32(i32) -> ();
        serialize_i64(i64) -> ();
        serialize_u8(u8) -> ();
        serialize_u16(u16) -> ();
        serialize_u32(u32) -> ();
        serialize_u64(u64) -> ();
        serialize_f32(f32) -> ();
        serialize_f64(f64) -> ();
        serialize_char(char) -> ();
        serialize_str(&str) -> ();
        serialize_bytes(&[u8]) -> ();
        serialize_unit_variant(&'static str, u32, &'static str) -> ();
        serialize_seq(Option<usize>) -> Self::SerializeSeq;
        serialize_tuple(usize) -> Self::SerializeTuple;
        serialize_tuple_struct(&'static str, usize) -> Self::SerializeTupleStruct;
    }

    fn serialize_none(self) -> Result {
        self.nothing()
    }

    fn serialize_unit(self) -> Result {
        self.nothing()
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result {
        self.nothing()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result {
        value.serialize(self)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        value: &T,
    ) -> Result {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result {
        let mut open = self.open()?;
        open.key(variant, None)?;
        open.value(value)?;
        open.close()
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _length: usize,
    ) -> Result<OpenVariant<'w, 'a, 'x>> {
        OpenVariant::open(self.open()?, variant, "[", "]")
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _length: usize,
    ) -> Result<OpenVariant<'w, 'a, 'x>> {
        OpenVariant::open(self.open()?, variant, "{", "}")
    }

    fn serialize_map(self, _length: Option<usize>) -> Result<OpenObject<'w, 'a, 'x>> {
        self.open()
    }

    fn serialize_struct(
        self,
        name: &'static str,
        _length: usize,
    ) -> Result<OpenStruct<'w, 'a, 'x>> {
        match name {
            RAW_VALUE => Ok(OpenStruct::Raw(Some(self))),
            NUMBER => Err(EncodeError::NotAnObject),
            _ => self.open().map(OpenStruct::Open),
        }
    }
}

/// The object with its brace open.
pub(crate) struct OpenObject<'w, 'a, 'x> {
    writer: &'w mut Writer<'a>,
    additions: Additions<'x>,
    first: bool,
    meta_written: bool,
    skip_value: bool,
    value_is_meta: bool,
}

impl<'a> OpenObject<'_, 'a, '_> {
    /// Writes a key, in its wire form where it has one.
    pub(super) fn key(&mut self, key: &str, wire: Option<&str>) -> Result {
        self.skip_value = self.additions.owns(key);
        self.value_is_meta = key == "_meta" && !self.additions.meta.is_empty();
        if self.value_is_meta {
            // A second `_meta`, which only raw JSON can hold, is dropped.
            self.skip_value |= self.meta_written;
            self.meta_written = true;
        }
        if self.skip_value {
            return Ok(());
        }
        self.separate()?;
        match wire {
            Some(wire) => {
                self.writer.push(b"\"")?;
                self.writer.push(wire.as_bytes())?;
                self.writer.push(b"\"")?;
            }
            None => self.writer.push_string(key)?,
        }
        self.writer.push(b":")
    }

    fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result {
        if self.skip_value {
            return Ok(());
        }
        if self.value_is_meta {
            let additions = Additions { members: self.additions.meta, meta: &[] };
            return value.serialize(Object::new(self.writer, "", Empty::Braces, additions));
        }
        value.serialize(&mut *self.writer)
    }

    /// Whether the value that comes next is written as it is.
    pub(super) const fn takes_plain_value(&self) -> bool {
        !self.skip_value && !self.value_is_meta
    }

    pub(super) fn writer(&mut self) -> &mut Writer<'a> {
        self.writer
    }

    pub(super) fn close(mut self) -> Result {
        if !self.meta_written && !self.additions.meta.is_empty() {
            self.key("_meta", None)?;
            self.value(&())?;
        }
        self.writer.push(b"}")
    }

    fn separate(&mut self) -> Result {
        if self.first {
            self.first = false;
            return Ok(());
        }
        self.writer.push(b",")
    }
}

impl SerializeMap for OpenObject<'_, '_, '_> {
    type Ok = ();
    type Error = EncodeError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result {
        key.serialize(Text(|text: &str| self.key(text, None)))
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result {
        self.value(value)
    }

    fn end(self) -> Result {
        self.close()
    }
}

/// A struct: an object like any other, unless it is the disguise of raw JSON.
pub(crate) enum OpenStruct<'w, 'a, 'x> {
    Open(OpenObject<'w, 'a, 'x>),
    Raw(Option<Object<'w, 'a, 'x>>),
}

impl OpenStruct<'_, '_, '_> {
    fn field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result {
        match self {
            Self::Open(open) => {
                open.key(key, None)?;
                open.value(value)
            }
            Self::Raw(object) => match object.take() {
                Some(object) => value.serialize(Text(|text: &str| object.raw(text))),
                None => Err(EncodeError::Payload),
            },
        }
    }

    fn close(self) -> Result {
        match self {
            Self::Open(open) => open.close(),
            Self::Raw(_) => Ok(()),
        }
    }
}

impl SerializeStruct for OpenStruct<'_, '_, '_> {
    type Ok = ();
    type Error = EncodeError;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result {
        self.field(key, value)
    }

    fn end(self) -> Result {
        self.close()
    }
}
