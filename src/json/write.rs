//! The writer: a `serde::Serializer` that appends JSON to a buffer it may not overfill.
//!
//! It prints the same text as serde_json, which cannot write into a buffer without `std`. Where it is
//! told what shape comes next it makes sure of it.

use alloc::vec::Vec;
use core::fmt::Display;

use serde::ser::{Serialize, Serializer};

use super::minify::write_line;
use super::misfit::{Misfit, Problem};
use super::number::{NUMBER, Number};
use super::object::ObjectWriter;
use super::record::RecordWriter;
use super::sequence::Sequence;
use super::shape::{Choices, Shape, is_base64, is_uri};
use super::structs::{StructWriter, VariantWriter};
use crate::capability::CapabilitySet;
use crate::version::Revision;

/// The name by which `serde_json::value::RawValue` tells a serializer that it is JSON already.
pub(super) const RAW_VALUE: &str = "$serde_json::private::RawValue";

/// Why a value could not be written. Nothing was: what had been appended is gone again.
///
/// The caller is at fault, except for [`Full`](Self::Full), which means that the peer does not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// There is no room for the message, see [`Limits::outbox_bytes`](crate::Limits::outbox_bytes).
    #[error("the outbox has no room for the message (Limits::outbox_bytes)")]
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
    /// The value is not what the method asks for, or cannot be said in the revision of the session. The
    /// text names the path of the value.
    #[error("{0}")]
    Misfit(Misfit),
    /// The `Serialize` of the value gave up.
    #[error("the value failed to serialize")]
    Payload,
}

impl From<Misfit> for EncodeError {
    fn from(misfit: Misfit) -> Self {
        Self::Misfit(misfit)
    }
}

impl EncodeError {
    /// The same, in a member of this name.
    pub(crate) fn inside(self, field: &'static str) -> Self {
        self.map_misfit(|misfit| misfit.inside(field))
    }

    /// The same, in the element of an array with this index.
    pub(crate) fn in_element(self, index: usize) -> Self {
        self.map_misfit(|misfit| misfit.in_element(index))
    }

    /// The same, in the member of a map with this key.
    pub(crate) fn in_entry(self, key: &str) -> Self {
        self.map_misfit(|misfit| misfit.in_entry(key))
    }

    fn map_misfit(self, map: impl FnOnce(Misfit) -> Misfit) -> Self {
        match self {
            Self::Misfit(misfit) => Self::Misfit(map(misfit)),
            other => other,
        }
    }
}

impl serde::ser::Error for EncodeError {
    fn custom<T: Display>(_message: T) -> Self {
        Self::Payload
    }
}

pub(super) type Result<T = (), E = EncodeError> = core::result::Result<T, E>;

/// Appends to a buffer up to a limit. Whoever made the writer takes back what a failure leaves.
pub(crate) struct Writer<'a> {
    pub(super) buffer: &'a mut Vec<u8>,
    pub(super) limit: usize,
    /// What the next value has to look like, and in which revision.
    expected: Shape,
    revision: Revision,
    /// What the peer has to offer for what has been written.
    needs: CapabilitySet,
    /// The last value was `null` where something else was expected.
    wrote_null: bool,
}

impl<'a> Writer<'a> {
    /// A writer that lets the buffer grow to `limit` bytes in all.
    pub(crate) const fn new(buffer: &'a mut Vec<u8>, limit: usize) -> Self {
        Self {
            buffer,
            limit,
            expected: Shape::Any,
            revision: Revision::LATEST_HANDSHAKE,
            needs: CapabilitySet::NONE,
            wrote_null: false,
        }
    }

    /// Appends valid JSON text as one line.
    pub(crate) fn push_raw(&mut self, text: &str) -> Result {
        write_line(text, self)
    }

    /// What the peer has to offer for what has been written.
    pub(crate) const fn needs(&self) -> CapabilitySet {
        self.needs
    }

    /// Where the next byte will be.
    pub(crate) const fn position(&self) -> usize {
        self.buffer.len()
    }

    /// What has been written since a position.
    pub(crate) fn since(&self, position: usize) -> &[u8] {
        self.buffer.get(position..).unwrap_or_default()
    }

    pub(super) const fn revision(&self) -> Revision {
        self.revision
    }

    pub(super) const fn set_revision(&mut self, revision: Revision) {
        self.revision = revision;
    }

    /// Says what the next value has to look like.
    #[inline]
    pub(super) fn expect(&mut self, shape: &Shape) {
        self.expected = *shape.now(self.revision);
        self.wrote_null = false;
    }

    /// What the next value has to look like.
    #[inline]
    pub(super) const fn expected(&self) -> Shape {
        self.expected
    }

    #[inline]
    pub(super) const fn take_expected(&mut self) -> Shape {
        core::mem::replace(&mut self.expected, Shape::Any)
    }

    /// Whether the value that was expected turned out to be `null`.
    pub(super) const fn wrote_null(&self) -> bool {
        self.wrote_null
    }

    pub(super) fn need(&mut self, capabilities: CapabilitySet) {
        self.needs = self.needs.or(capabilities);
    }

    pub(super) fn truncate(&mut self, position: usize) {
        self.buffer.truncate(position);
    }

    /// Takes out what has been written between two positions.
    pub(super) fn remove(&mut self, start: usize, end: usize) {
        self.buffer.drain(start..end);
    }

    /// Appends `null`. Whether it may stand here is for whoever expected something to say.
    pub(super) fn push_null(&mut self) -> Result {
        self.wrote_null = !matches!(self.take_expected(), Shape::Any);
        self.push(b"null")
    }

    /// A string is about to be written.
    #[inline]
    pub(super) fn check_text(&mut self, text: &str) -> Result {
        if let Shape::Any | Shape::Text = self.expected {
            self.expected = Shape::Any;
            return Ok(());
        }
        self.check_special_text(text)
    }

    fn check_special_text(&mut self, text: &str) -> Result {
        match self.take_expected() {
            Shape::OneOf(choices) => self.check_choice(choices, |name| name == text),
            shape => text_fits(shape, text),
        }
    }

    pub(super) fn check_choice(
        &mut self,
        choices: &Choices,
        is_it: impl Fn(&str) -> bool,
    ) -> Result {
        let Some(choice) = choices.find(is_it) else {
            return not_allowed();
        };
        if let Some(gate) = choice.gate {
            self.needs = self.needs.with(gate);
        }
        Ok(())
    }

    /// A number is about to be written.
    pub(super) fn check_number(&mut self, is_integer: bool, number: impl Fn() -> Number) -> Result {
        number_fits(self.take_expected(), is_integer, number)
    }

    pub(super) fn check_boolean(&mut self) -> Result {
        match self.take_expected() {
            Shape::Any | Shape::Boolean | Shape::Answer { .. } => Ok(()),
            _ => wrong_type(),
        }
    }

    fn write_float(&mut self, exact: f64, text: &str) -> Result {
        self.check_number(false, || Number::try_from(exact).unwrap_or(Number::ZERO))?;
        self.push(text.as_bytes())
    }
}

/// Whether a string is of a shape, which is no choice of strings.
pub(super) fn text_fits(shape: Shape, text: &str) -> Result {
    let fits = match shape {
        Shape::Any | Shape::Text | Shape::Answer { .. } => true,
        Shape::FileUri => text.starts_with("file://"),
        Shape::Uri => is_uri(text),
        Shape::Base64 => is_base64(text),
        _ => return wrong_type(),
    };
    if fits { Ok(()) } else { not_allowed() }
}

/// Whether a number is of a shape.
pub(super) fn number_fits(shape: Shape, is_integer: bool, number: impl Fn() -> Number) -> Result {
    const GREATEST: u64 = (1 << 53) - 1;
    let range = match shape {
        Shape::Any | Shape::Number | Shape::Answer { .. } => return Ok(()),
        Shape::Integer if is_integer => return Ok(()),
        Shape::Natural if is_integer => Number::ZERO..=Number::from(GREATEST),
        Shape::Share => Number::ZERO..=Number::from(1_u8),
        _ => return wrong_type(),
    };
    if range.contains(&number()) { Ok(()) } else { not_allowed() }
}

const fn not_allowed() -> Result {
    Err(EncodeError::Misfit(Misfit::new(Problem::NotAllowed)))
}

pub(super) const fn wrong_type<T>() -> Result<T> {
    Err(EncodeError::Misfit(Misfit::new(Problem::WrongType)))
}

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
            // Beyond 64 bits it is no share of one in any case.
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
