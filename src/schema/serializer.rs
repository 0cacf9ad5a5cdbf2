//! The [`Serializer`] implementation of [`Writer`].

use core::fmt::Display;

use serde::ser::{Serialize, Serializer};

use super::encode_error::{EncodeError, Result};
use super::object::ObjectWriter;
use super::record::RecordWriter;
use super::sequence::Sequence;
use super::shape::Shape;
use super::structs::{StructWriter, VariantWriter};
use super::writer::Writer;
use crate::json::number::{NUMBER, Number};
use crate::json::raw::RAW_VALUE;

macro_rules! integers {
    ($($method:ident: $integer:ty),*) => {$(
        fn $method(self, integer: $integer) -> Result {
            self.check_number(true, || Number::from(integer))?;
            self.push_integer(integer)
        }
    )*};
}

macro_rules! wide_integers {
    ($($method:ident: $integer:ty),*) => {$(
        fn $method(self, integer: $integer) -> Result {
            // A number outside `u64` becomes -1, which no bounded shape allows.
            let number = || u64::try_from(integer).map_or(Number::from(-1_i8), Number::from);
            self.check_number(true, number)?;
            self.push_integer(integer)
        }
    )*};
}

impl<'w, 'a> Serializer for &'w mut Writer<'a> {
    type Ok = ();
    type Error = EncodeError;
    type SerializeSeq = Sequence<'w, 'a>;
    type SerializeTuple = Sequence<'w, 'a>;
    type SerializeTupleStruct = Sequence<'w, 'a>;
    type SerializeTupleVariant = VariantWriter<'w, 'a, 'static>;
    type SerializeMap = RecordWriter<'w, 'a>;
    type SerializeStruct = StructWriter<'w, 'a>;
    type SerializeStructVariant = VariantWriter<'w, 'a, 'static>;

    integers! {
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64
    }

    wide_integers! { serialize_i128: i128, serialize_u128: u128 }

    fn serialize_bool(self, value: bool) -> Result {
        self.check_boolean()?;
        self.push(if value { b"true" } else { b"false" })
    }

    fn serialize_f32(self, number: f32) -> Result {
        if !number.is_finite() {
            return Err(EncodeError::NotFinite);
        }
        self.write_float(number.into(), zmij::Buffer::new().format_finite(number))
    }

    fn serialize_f64(self, number: f64) -> Result {
        if !number.is_finite() {
            return Err(EncodeError::NotFinite);
        }
        self.write_float(number, zmij::Buffer::new().format_finite(number))
    }

    fn serialize_char(self, value: char) -> Result {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, text: &str) -> Result {
        self.check_text(text)?;
        self.push_string(text)
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result {
        self.collect_seq(bytes)
    }

    fn serialize_none(self) -> Result {
        self.push_null()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result {
        self.push_null()
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result {
        self.push_null()
    }

    fn serialize_unit_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
    ) -> Result {
        self.serialize_str(variant)
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
        let mut object = ObjectWriter::open(self)?;
        object.key(variant)?;
        object.value(value)?;
        object.close()
    }

    fn serialize_seq(self, _length: Option<usize>) -> Result<Sequence<'w, 'a>> {
        Sequence::open(self)
    }

    fn serialize_tuple(self, _length: usize) -> Result<Sequence<'w, 'a>> {
        Sequence::open(self)
    }

    fn serialize_tuple_struct(
        self,
        _name: &'static str,
        _length: usize,
    ) -> Result<Sequence<'w, 'a>> {
        Sequence::open(self)
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _length: usize,
    ) -> Result<VariantWriter<'w, 'a, 'static>> {
        VariantWriter::open(ObjectWriter::open(self)?, variant, "[", "]")
    }

    fn serialize_map(self, _length: Option<usize>) -> Result<RecordWriter<'w, 'a>> {
        RecordWriter::open(self)
    }

    fn serialize_struct(self, name: &'static str, _length: usize) -> Result<StructWriter<'w, 'a>> {
        match name {
            RAW_VALUE | NUMBER => Ok(StructWriter::Raw(self)),
            _ if matches!(self.expected, Shape::Any | Shape::Object) => {
                self.expected = Shape::Any;
                self.push(b"{")?;
                Ok(StructWriter::Free { writer: self, is_empty: true })
            }
            _ => RecordWriter::open(self).map(StructWriter::Record),
        }
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _length: usize,
    ) -> Result<VariantWriter<'w, 'a, 'static>> {
        VariantWriter::open(ObjectWriter::open(self)?, variant, "{", "}")
    }

    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Result {
        match self.expected {
            Shape::Any | Shape::Text => {
                self.expected = Shape::Any;
                self.push_display(value)
            }
            _ => self.serialize_str(&alloc::format!("{value}")),
        }
    }
}
