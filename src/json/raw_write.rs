//! Writes JSON text that is there already: as it is, or member by member where it has to look like
//! something.
//!
//! The text is walked through once: whatever is expected of a value, writing it is what steps over it.

use super::exact::exact;
use super::number::Number;
use super::object::ObjectWriter;
use super::raw::MemberTexts;
use super::sequence::Sequence;
use super::shape::Shape;
use super::string::Str;
use super::walk::Walk;
use super::write::{EncodeError, Result, Writer, wrong_type};

/// A position in JSON text that is being written.
#[derive(Clone, Copy)]
pub(super) struct Source<'t> {
    walk: Walk<'t>,
    /// Whether there is no newline in it, so that nothing in it has to be made one line.
    is_line: bool,
}

impl<'t> Source<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let is_line = memchr::memchr2(b'\n', b'\r', text.as_bytes()).is_none();
        Self { walk: Walk::new(text), is_line }
    }

    /// Steps over the next value. There is one if the text is JSON, which a type that passes itself off
    /// as `RawValue` need not know.
    #[inline]
    pub(super) fn value(&mut self) -> Result<&'t str> {
        self.walk.value().ok_or(EncodeError::Payload)
    }
}

impl Writer<'_> {
    /// Appends valid JSON text. The recursion in here goes as deep as the tables do, whatever the
    /// text is.
    pub(super) fn write_raw(&mut self, text: &str) -> Result {
        match self.expected() {
            Shape::Any => self.push_raw(text),
            Shape::Object if text.starts_with('{') => {
                self.take_expected();
                self.push_raw(text)
            }
            _ if self.copy_exact(text)?.is_some() => Ok(()),
            _ => self.write_in_parts(&mut Source::new(text)),
        }
    }

    /// Appends the value at the beginning of a text if it may be copied. Gives its length.
    #[inline]
    fn copy_exact(&mut self, text: &str) -> Result<Option<usize>> {
        let Some((exact, needs)) = exact(text, self.expected(), self.revision()) else {
            return Ok(None);
        };
        self.take_expected();
        self.need(needs);
        self.push(exact.as_bytes())?;
        Ok(Some(exact.len()))
    }

    /// Appends the value that comes next.
    pub(super) fn write_next(&mut self, source: &mut Source<'_>) -> Result {
        let shape = self.expected();
        let first = source.walk.peek();
        if matches!((shape, first), (Shape::Any, _) | (Shape::Object, Some(b'{'))) {
            self.take_expected();
            return self.push_next(source);
        }
        if source.is_line
            && matches!(first, Some(b'{' | b'['))
            && let Some(length) = self.copy_exact(source.walk.rest())?
        {
            source.walk.advance(length);
            return Ok(());
        }
        self.write_in_parts(source)
    }

    /// Appends the value that comes next, of which something is expected, by its members or elements.
    fn write_in_parts(&mut self, source: &mut Source<'_>) -> Result {
        let shape = self.expected();
        match source.walk.peek() {
            Some(b'{') => {
                let mut object = ObjectWriter::open(self)?;
                object.write_members(source)?;
                object.close()
            }
            Some(b'[') => self.write_array(source),
            Some(b'"') => self.write_string(source, shape),
            Some(b't' | b'f') => {
                self.check_boolean()?;
                self.push_next(source)
            }
            Some(b'n') | None => {
                source.value()?;
                self.push_null()
            }
            Some(_) => self.write_number(source),
        }
    }

    /// Appends the value that comes next, whatever it is.
    #[inline]
    pub(super) fn push_next(&mut self, source: &mut Source<'_>) -> Result {
        let text = source.value()?;
        if source.is_line { self.push(text.as_bytes()) } else { self.push_raw(text) }
    }

    fn write_array(&mut self, source: &mut Source<'_>) -> Result {
        let mut sequence = Sequence::open(self)?;
        let mut more = source.walk.enter(b'[', b']');
        while more {
            sequence.next(source)?;
            more = source.walk.goes_on(b']');
        }
        sequence.close()
    }

    fn write_string(&mut self, source: &mut Source<'_>, shape: Shape) -> Result {
        let text = source.value()?;
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

    fn write_number(&mut self, source: &mut Source<'_>) -> Result {
        let text = source.value()?;
        let is_integer = !text.contains(['.', 'e', 'E']);
        self.check_number(is_integer, || {
            Number::from_literal(text).unwrap_or_else(|| Number::from(-1_i8))
        })?;
        self.push(text.as_bytes())
    }
}

impl ObjectWriter<'_, '_, '_> {
    /// Writes the members of the object that comes next.
    pub(super) fn write_members(&mut self, source: &mut Source<'_>) -> Result {
        let ahead = source.walk;
        self.foresee_kind(|tag| {
            let (_, value) = MemberTexts::from(ahead).filter(|(key, _)| *key == *tag).last()?;
            Str::from_literal(value)
        });
        let mut more = source.walk.enter(b'{', b'}');
        while more {
            let Some(key) = source.walk.key() else { break };
            self.wire_key(&key.to_str(), key.as_wire())?;
            self.next_value(source)?;
            more = source.walk.goes_on(b'}');
        }
        Ok(())
    }
}
