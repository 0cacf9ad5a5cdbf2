//! Writes JSON text that is there already: as it is, or member by member where it has to look like
//! something.

use serde::ser::{Serialize, SerializeStruct, Serializer};

use super::number::Number;
use super::object::ObjectWriter;
use super::raw::{Elements, MemberTexts};
use super::sequence::Sequence;
use super::shape::Shape;
use super::string::Str;
use super::write::{RAW_VALUE, Result, Writer, wrong_type};

impl Writer<'_> {
    /// Appends valid JSON text. The recursion in here goes as deep as the tables do, whatever the
    /// text is.
    pub(super) fn write_raw(&mut self, text: &str) -> Result {
        let shape = self.take_expected();
        if let Shape::Any = shape {
            return self.push_raw(text);
        }
        self.expect(shape);
        match text.as_bytes().first() {
            Some(b'{') => self.write_raw_object(text, shape),
            Some(b'[') => self.write_raw_array(text),
            Some(b'"') => self.write_raw_string(text, shape),
            Some(b't' | b'f') => {
                self.check_boolean()?;
                self.push(text.as_bytes())
            }
            Some(b'n') | None => ().serialize(self),
            Some(_) => {
                let is_integer = !text.contains(['.', 'e', 'E']);
                let number = Number::from_literal(text);
                self.check_number(is_integer, || number.unwrap_or_else(|| Number::from(-1_i8)))?;
                self.push(text.as_bytes())
            }
        }
    }

    fn write_raw_object(&mut self, text: &str, shape: Shape) -> Result {
        if let Shape::Object = shape {
            self.take_expected();
            return self.push_raw(text);
        }
        let mut object = ObjectWriter::open(self)?;
        object.write_raw_members(text)?;
        object.close()
    }

    fn write_raw_array(&mut self, text: &str) -> Result {
        let mut sequence = Sequence::open(self)?;
        for element in Elements::of(text) {
            sequence.element(&element)?;
        }
        sequence.close()
    }

    fn write_raw_string(&mut self, text: &str, shape: Shape) -> Result {
        let Some(string) = Str::from_literal(text) else { return wrong_type() };
        match shape {
            Shape::OneOf(choices) => {
                self.take_expected();
                self.check_choice(choices, |name| string == *name)?;
            }
            Shape::Text | Shape::Answer { .. } => {
                self.take_expected();
            }
            _ => self.check_text(&string.to_str())?,
        }
        self.push(text.as_bytes())
    }
}

impl ObjectWriter<'_, '_, '_> {
    /// Writes the members of an object that is JSON text already.
    pub(super) fn write_raw_members(&mut self, text: &str) -> Result {
        self.foresee_kind(|tag| {
            let (_, value) = MemberTexts::of(text).filter(|(key, _)| key == tag).last()?;
            Str::from_literal(value)
        });
        for (key, value) in MemberTexts::of(text) {
            self.key(&key.to_str(), Some(key.as_wire()))?;
            self.value(&RawText(value))?;
        }
        Ok(())
    }
}

/// JSON text that has been scanned.
struct RawText<'a>(&'a str);

impl Serialize for RawText<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> core::result::Result<S::Ok, S::Error> {
        let mut raw = serializer.serialize_struct(RAW_VALUE, 1)?;
        raw.serialize_field(RAW_VALUE, self.0)?;
        raw.end()
    }
}
