//! The writer: a `serde::Serializer` that appends JSON to a buffer it may not overfill.
//!
//! It prints the same text as serde_json, which cannot write into a buffer without `std`.

use alloc::vec::Vec;
use core::fmt::{self, Display, Write as _};

use serde::ser::{
    Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

use super::minify::write_line;
use super::number::NUMBER;
use super::run::plain_run;
use super::text::Text;

/// The name by which `serde_json::value::RawValue` tells a serializer that it is JSON already.
pub(super) const RAW_VALUE: &str = "$serde_json::private::RawValue";

/// Why a value could not be written. Nothing was: what had been appended is gone again.
///
/// The caller is at fault, except for [`Full`](Self::Full), which means that the peer does not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// There is no room for the message, see [`Limits::outbox_bytes`](crate::Limits::outbox_bytes).
    #[error("the outbox has no room for the message")]
    Full,
    /// `params` and `result` are objects in MCP; this value serialises to something else.
    #[error("the value is not an object")]
    NotAnObject,
    /// A map key serialises to something that is no string, number or truth value.
    #[error("a map key is not a string")]
    KeyNotAString,
    /// JSON has no NaN and no infinity.
    #[error("a number is not finite")]
    NotFinite,
    /// The `Serialize` of the value gave up.
    #[error("the value failed to serialize")]
    Payload,
}

impl serde::ser::Error for EncodeError {
    fn custom<T: Display>(_message: T) -> Self {
        Self::Payload
    }
}

/// Appends to a buffer up to a limit. Whoever made the writer takes back what a failure leaves.
pub(crate) struct Writer<'a> {
    buffer: &'a mut Vec<u8>,
    limit: usize,
}

impl<'a> Writer<'a> {
    /// A writer that lets the buffer grow to `limit` bytes in all.
    pub(crate) const fn new(buffer: &'a mut Vec<u8>, limit: usize) -> Self {
        Self { buffer, limit }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<(), EncodeError> {
        if self.limit.saturating_sub(self.buffer.len()) < bytes.len() {
            return Err(EncodeError::Full);
        }
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    pub(crate) fn push_integer(&mut self, integer: impl itoa::Integer) -> Result<(), EncodeError> {
        self.push(itoa::Buffer::new().format(integer).as_bytes())
    }

    /// Appends a string literal, escaped as JSON asks and no further.
    pub(crate) fn push_string(&mut self, text: &str) -> Result<(), EncodeError> {
        self.push(b"\"")?;
        self.push_escaped(text)?;
        self.push(b"\"")
    }

    /// Appends valid JSON text as one line.
    pub(crate) fn push_raw(&mut self, text: &str) -> Result<(), EncodeError> {
        write_line(text, self)
    }

    fn push_escaped(&mut self, text: &str) -> Result<(), EncodeError> {
        let mut rest = text.as_bytes();
        loop {
            let run = plain_run(rest);
            let (plain, marked) = rest.split_at_checked(run).unwrap_or((rest, &[]));
            self.push(plain)?;
            let Some((byte, behind)) = marked.split_first() else { return Ok(()) };
            self.push_escape(*byte)?;
            rest = behind;
        }
    }

    fn push_escape(&mut self, byte: u8) -> Result<(), EncodeError> {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        match byte {
            b'"' => self.push(b"\\\""),
            b'\\' => self.push(b"\\\\"),
            0x08 => self.push(b"\\b"),
            0x0c => self.push(b"\\f"),
            b'\n' => self.push(b"\\n"),
            b'\r' => self.push(b"\\r"),
            b'\t' => self.push(b"\\t"),
            _ => {
                let digit = |nibble: u8| DIGITS.get(usize::from(nibble)).copied().unwrap_or(b'0');
                self.push(&[b'\\', b'u', b'0', b'0', digit(byte >> 4), digit(byte & 15)])
            }
        }
    }

    fn push_display<T: Display + ?Sized>(&mut self, value: &T) -> Result<(), EncodeError> {
        let mut escaped = Escaped { writer: self, result: Ok(()) };
        let written = write!(escaped, "{value}");
        escaped.result?;
        written.map_err(|_| EncodeError::Payload)
    }

    fn push_float(&mut self, text: &str) -> Result<(), EncodeError> {
        self.push(text.as_bytes())
    }
}

/// Escapes what a `Display` writes piece by piece.
struct Escaped<'w, 'a> {
    writer: &'w mut Writer<'a>,
    result: Result<(), EncodeError>,
}

impl fmt::Write for Escaped<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.result = self.writer.push_escaped(text);
        self.result.map_err(|_| fmt::Error)
    }
}

macro_rules! integers {
    ($($method:ident: $integer:ty),*) => {$(
        fn $method(self, integer: $integer) -> Result<(), EncodeError> {
            self.push_integer(integer)
        }
    )*};
}

impl<'w, 'a> Serializer for &'w mut Writer<'a> {
    type Ok = ();
    type Error = EncodeError;
    type SerializeSeq = Compound<'w, 'a>;
    type SerializeTuple = Compound<'w, 'a>;
    type SerializeTupleStruct = Compound<'w, 'a>;
    type SerializeTupleVariant = Compound<'w, 'a>;
    type SerializeMap = Compound<'w, 'a>;
    type SerializeStruct = Compound<'w, 'a>;
    type SerializeStructVariant = Compound<'w, 'a>;

    integers! {
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_i128: i128, serialize_u8: u8, serialize_u16: u16, serialize_u32: u32,
        serialize_u64: u64, serialize_u128: u128
    }

    fn serialize_bool(self, value: bool) -> Result<(), EncodeError> {
        self.push(if value { b"true" } else { b"false" })
    }

    fn serialize_f32(self, number: f32) -> Result<(), EncodeError> {
        if !number.is_finite() {
            return Err(EncodeError::NotFinite);
        }
        self.push_float(zmij::Buffer::new().format_finite(number))
    }

    fn serialize_f64(self, number: f64) -> Result<(), EncodeError> {
        if !number.is_finite() {
            return Err(EncodeError::NotFinite);
        }
        self.push_float(zmij::Buffer::new().format_finite(number))
    }

    fn serialize_char(self, value: char) -> Result<(), EncodeError> {
        self.push_string(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, text: &str) -> Result<(), EncodeError> {
        self.push_string(text)
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<(), EncodeError> {
        self.collect_seq(bytes)
    }

    fn serialize_none(self) -> Result<(), EncodeError> {
        self.push(b"null")
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), EncodeError> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), EncodeError> {
        self.push(b"null")
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<(), EncodeError> {
        self.push(b"null")
    }

    fn serialize_unit_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
    ) -> Result<(), EncodeError> {
        self.push_string(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        value: &T,
    ) -> Result<(), EncodeError> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), EncodeError> {
        self.push(b"{")?;
        self.push_string(variant)?;
        self.push(b":")?;
        value.serialize(&mut *self)?;
        self.push(b"}")
    }

    fn serialize_seq(self, _length: Option<usize>) -> Result<Compound<'w, 'a>, EncodeError> {
        Compound::open(self, "[", "]")
    }

    fn serialize_tuple(self, _length: usize) -> Result<Compound<'w, 'a>, EncodeError> {
        Compound::open(self, "[", "]")
    }

    fn serialize_tuple_struct(
        self,
        _name: &'static str,
        _length: usize,
    ) -> Result<Compound<'w, 'a>, EncodeError> {
        Compound::open(self, "[", "]")
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _length: usize,
    ) -> Result<Compound<'w, 'a>, EncodeError> {
        self.push(b"{")?;
        self.push_string(variant)?;
        Compound::open(self, ":[", "]}")
    }

    fn serialize_map(self, _length: Option<usize>) -> Result<Compound<'w, 'a>, EncodeError> {
        Compound::open(self, "{", "}")
    }

    fn serialize_struct(
        self,
        name: &'static str,
        _length: usize,
    ) -> Result<Compound<'w, 'a>, EncodeError> {
        if name == RAW_VALUE || name == NUMBER {
            return Ok(Compound { writer: self, first: true, close: "" });
        }
        Compound::open(self, "{", "}")
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _length: usize,
    ) -> Result<Compound<'w, 'a>, EncodeError> {
        self.push(b"{")?;
        self.push_string(variant)?;
        Compound::open(self, ":{", "}}")
    }

    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Result<(), EncodeError> {
        self.push(b"\"")?;
        self.push_display(value)?;
        self.push(b"\"")
    }
}

/// An array or object whose bracket is open.
pub(crate) struct Compound<'w, 'a> {
    writer: &'w mut Writer<'a>,
    first: bool,
    /// What closes it. Nothing closes raw JSON, whose one field is its text.
    close: &'static str,
}

impl<'w, 'a> Compound<'w, 'a> {
    fn open(
        writer: &'w mut Writer<'a>,
        open: &'static str,
        close: &'static str,
    ) -> Result<Self, EncodeError> {
        writer.push(open.as_bytes())?;
        Ok(Self { writer, first: true, close })
    }

    fn separate(&mut self) -> Result<(), EncodeError> {
        if self.first {
            self.first = false;
            return Ok(());
        }
        self.writer.push(b",")
    }

    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), EncodeError> {
        self.separate()?;
        value.serialize(&mut *self.writer)
    }

    fn field<T: Serialize + ?Sized>(
        &mut self,
        key: &'static str,
        value: &T,
    ) -> Result<(), EncodeError> {
        if self.close.is_empty() {
            return value.serialize(Text(|text: &str| self.writer.push_raw(text)));
        }
        self.separate()?;
        self.writer.push_string(key)?;
        self.writer.push(b":")?;
        value.serialize(&mut *self.writer)
    }

    fn close(self) -> Result<(), EncodeError> {
        self.writer.push(self.close.as_bytes())
    }
}

macro_rules! sequences {
    ($($trait:ident::$method:ident),*) => {$(
        impl $trait for Compound<'_, '_> {
            type Ok = ();
            type Error = EncodeError;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), EncodeError> {
                self.element(value)
            }

            fn end(self) -> Result<(), EncodeError> {
                self.close()
            }
        }
    )*};
}

sequences! {
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field
}

macro_rules! structs {
    ($($trait:ident),*) => {$(
        impl $trait for Compound<'_, '_> {
            type Ok = ();
            type Error = EncodeError;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                key: &'static str,
                value: &T,
            ) -> Result<(), EncodeError> {
                self.field(key, value)
            }

            fn end(self) -> Result<(), EncodeError> {
                self.close()
            }
        }
    )*};
}

structs!(SerializeStruct, SerializeStructVariant);

impl SerializeMap for Compound<'_, '_> {
    type Ok = ();
    type Error = EncodeError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), EncodeError> {
        self.separate()?;
        key.serialize(Text(|text: &str| self.writer.push_string(text)))?;
        self.writer.push(b":")
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), EncodeError> {
        value.serialize(&mut *self.writer)
    }

    fn end(self) -> Result<(), EncodeError> {
        self.close()
    }
}
