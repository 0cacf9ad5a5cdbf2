//! Writes what Rust has structs and variants for: objects like any other, with two exceptions.

use serde::ser::{Serialize, SerializeStruct, SerializeStructVariant, SerializeTupleVariant};

use super::append::Separator;
use super::object::ObjectWriter;
use super::payload::Payload;
use super::record::RecordWriter;
use super::text::Text;
use super::write::{EncodeError, Result, Writer};

/// A struct: an object like any other, unless it is the disguise of something else.
pub(crate) enum StructWriter<'w, 'a> {
    Record(RecordWriter<'w, 'a>),
    /// An object that may look like anything, so that there is nothing to do but to write it.
    Free {
        writer: &'w mut Writer<'a>,
        is_empty: bool,
    },
    /// JSON text, or the text of a number.
    Raw(&'w mut Writer<'a>),
}

impl SerializeStruct for StructWriter<'_, '_> {
    type Ok = ();
    type Error = EncodeError;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result {
        match self {
            Self::Record(record) => {
                record.key(key)?;
                record.value(value)
            }
            Self::Free { writer, is_empty } => {
                writer.push_key(Separator::next(is_empty), key)?;
                value.serialize(&mut **writer)
            }
            Self::Raw(writer) => value.serialize(Text(|text: &str| writer.write_raw(text))),
        }
    }

    fn end(self) -> Result {
        match self {
            Self::Record(mut record) => record.close(),
            Self::Free { writer, .. } => writer.push(b"}"),
            Self::Raw(_) => Ok(()),
        }
    }
}

/// A struct that `params` or a result is.
pub(crate) enum PayloadStruct<'w, 'a, 'x> {
    Object(ObjectWriter<'w, 'a, 'x>),
    /// JSON text, which there is once.
    Raw(Option<Payload<'w, 'a, 'x>>),
}

impl SerializeStruct for PayloadStruct<'_, '_, '_> {
    type Ok = ();
    type Error = EncodeError;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result {
        match self {
            Self::Object(object) => {
                object.key(key)?;
                object.value(value)
            }
            Self::Raw(payload) => match payload.take() {
                Some(payload) => value.serialize(Text(|text: &str| payload.raw(text))),
                None => Err(EncodeError::Payload),
            },
        }
    }

    fn end(self) -> Result {
        match self {
            Self::Object(mut object) => object.close(),
            Self::Raw(_) => Ok(()),
        }
    }
}

/// A variant of an enum, `{"variant":…}`, with the value of its one member begun.
pub(crate) struct VariantWriter<'w, 'a, 'x> {
    object: ObjectWriter<'w, 'a, 'x>,
    is_empty: bool,
    /// What closes the value.
    close: &'static str,
}

impl<'w, 'a, 'x> VariantWriter<'w, 'a, 'x> {
    pub(super) fn open(
        mut object: ObjectWriter<'w, 'a, 'x>,
        variant: &'static str,
        open: &'static str,
        close: &'static str,
    ) -> Result<Self> {
        object.open_variant(variant, open)?;
        Ok(Self { object, is_empty: true, close })
    }

    fn separate(&mut self) -> Result {
        if self.is_empty {
            self.is_empty = false;
            return Ok(());
        }
        self.object.writer().push(b",")
    }

    fn close(mut self) -> Result {
        self.object.writer().push(self.close.as_bytes())?;
        self.object.close()
    }
}

impl SerializeTupleVariant for VariantWriter<'_, '_, '_> {
    type Ok = ();
    type Error = EncodeError;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result {
        self.separate()?;
        value.serialize(self.object.writer())
    }

    fn end(self) -> Result {
        self.close()
    }
}

impl SerializeStructVariant for VariantWriter<'_, '_, '_> {
    type Ok = ();
    type Error = EncodeError;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result {
        self.separate()?;
        self.object.writer().push_key(Separator::None, key)?;
        value.serialize(self.object.writer())
    }

    fn end(self) -> Result {
        self.close()
    }
}
