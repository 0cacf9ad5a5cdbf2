//! The serializer of a [`PayloadWriter`]. It writes exactly one object.

use serde::ser::{Impossible, Serialize, Serializer};

use super::encode_error::{EncodeError, Result};
use super::message::stands_beside;
use super::object::ObjectWriter;
use super::payload_writer::{Empty, PayloadWriter};
use super::prepared::Prepared;
use super::shape::{Form, Shape};
use super::source::Source;
use super::structs::{PayloadStruct, VariantWriter};
use super::written::WrittenResult;
use crate::json::number::NUMBER;
use crate::json::raw::RAW_VALUE;

impl<'w, 'a, 'x> PayloadWriter<'w, 'a, 'x> {
    #[inline]
    fn open(self) -> Result<ObjectWriter<'w, 'a, 'x>> {
        self.writer.push(self.prefix.as_bytes())?;
        if let Some(Form { record, revision }) = self.form {
            self.writer.set_revision(revision);
            self.writer.expect(&Shape::Record(record));
        }
        match self.meta {
            Some(meta) => ObjectWriter::meta(self.writer, meta),
            None => ObjectWriter::with(self.writer, self.additions),
        }
    }

    pub(super) fn nothing(self) -> Result {
        let needs_nothing = self.form.is_none_or(|form| !form.record.needs_members());
        if self.empty == Empty::Omitted && self.additions.is_empty() && needs_nothing {
            return Ok(());
        }
        let may_be_empty = self.form.is_none_or(|form| form.record.may_be_empty());
        if self.additions.is_empty() && self.meta.is_none() && may_be_empty {
            self.writer.push(self.prefix.as_bytes())?;
            return self.writer.push(b"{}");
        }
        self.open()?.close()
    }

    /// Writes JSON text that is an object or `null`.
    pub(super) fn raw(self, text: &str) -> Result {
        match text.as_bytes().first() {
            Some(b'{') => {}
            Some(b'n') => return self.nothing(),
            _ => return Err(EncodeError::NotAnObject),
        }
        if self.additions.is_empty() && self.meta.is_none() && self.form.is_none() {
            self.writer.push(self.prefix.as_bytes())?;
            return self.writer.push_raw(text);
        }
        let mut object = self.open()?;
        object.write_members(&mut Source::new(text))?;
        object.close()
    }
}

impl PayloadWriter<'_, '_, '_> {
    /// Writes a prepared result: by copying, if the form is the one it was prepared for.
    pub(crate) fn prepared(mut self, result: &Prepared) -> Result {
        let is_meant = self.form.is_some_and(|form| result.is_for(form));
        let (true, Some(members)) = (is_meant, result.members()) else {
            return self.raw(result.as_json());
        };
        self.writer.need(result.needs());
        if self.additions.is_empty() {
            self.writer.push(self.prefix.as_bytes())?;
            return self.writer.push(result.as_json().as_bytes());
        }
        if stands_beside(result.own_addable(), self.additions) && self.meta.is_none() {
            return self.beside_additions(result.as_json().as_bytes(), result.own_addable());
        }
        // The result has already been compared with its form.
        let mut object = Self { form: None, ..self }.open()?;
        for (key, value) in members {
            object.copy(key, key, value)?;
        }
        object.close()
    }

    /// Writes a [`WrittenResult`]: by copying, if it was compared with this form.
    pub(crate) fn written(mut self, result: &WrittenResult<'_>) -> Result {
        if !result.is_for(self.form) {
            return self.raw(result.as_json());
        }
        self.writer.need(result.needs());
        if self.additions.is_empty() {
            self.writer.push(self.prefix.as_bytes())?;
            return self.writer.push(result.as_bytes());
        }
        if let Some(own) = result.own_addable()
            && stands_beside(own, self.additions)
            && self.meta.is_none()
        {
            return self.beside_additions(result.as_bytes(), own);
        }
        let mut object = Self { form: None, ..self }.open()?;
        for (key, value) in result.members() {
            object.copy(&key.to_str(), key.as_wire(), value)?;
        }
        object.close()
    }
}

/// The serializer for the top-level value of a payload.
pub(crate) struct PayloadSerializer<'w, 'a, 'x>(PayloadWriter<'w, 'a, 'x>);

impl<'w, 'a, 'x> PayloadWriter<'w, 'a, 'x> {
    /// Serializes a value.
    #[inline]
    pub(crate) fn serialize<T: Serialize + ?Sized>(self, value: &T) -> Result {
        value.serialize(PayloadSerializer(self))
    }
}

macro_rules! refused {
    ($($method:ident($($argument:ty),*) -> $ok:ty;)*) => {$(
        fn $method(self $(, _: $argument)*) -> Result<$ok> {
            Err(EncodeError::NotAnObject)
        }
    )*};
}

impl<'w, 'a, 'x> Serializer for PayloadSerializer<'w, 'a, 'x> {
    type Ok = ();
    type Error = EncodeError;
    type SerializeSeq = Impossible<(), EncodeError>;
    type SerializeTuple = Impossible<(), EncodeError>;
    type SerializeTupleStruct = Impossible<(), EncodeError>;
    type SerializeTupleVariant = VariantWriter<'w, 'a, 'x>;
    type SerializeMap = ObjectWriter<'w, 'a, 'x>;
    type SerializeStruct = PayloadStruct<'w, 'a, 'x>;
    type SerializeStructVariant = VariantWriter<'w, 'a, 'x>;

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
        self.0.nothing()
    }

    fn serialize_unit(self) -> Result {
        self.0.nothing()
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result {
        self.0.nothing()
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
        let mut object = self.0.open()?;
        object.key(variant)?;
        object.value(value)?;
        object.close()
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _length: usize,
    ) -> Result<VariantWriter<'w, 'a, 'x>> {
        VariantWriter::open(self.0.open()?, variant, "[", "]")
    }

    fn serialize_map(self, _length: Option<usize>) -> Result<ObjectWriter<'w, 'a, 'x>> {
        self.0.open()
    }

    fn serialize_struct(
        self,
        name: &'static str,
        _length: usize,
    ) -> Result<PayloadStruct<'w, 'a, 'x>> {
        match name {
            RAW_VALUE => Ok(PayloadStruct::Raw(Some(self.0))),
            NUMBER => Err(EncodeError::NotAnObject),
            _ => self.0.open().map(PayloadStruct::Object),
        }
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _length: usize,
    ) -> Result<VariantWriter<'w, 'a, 'x>> {
        VariantWriter::open(self.0.open()?, variant, "{", "}")
    }
}
