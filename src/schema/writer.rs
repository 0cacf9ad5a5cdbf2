//! `Writer`: appends JSON to a buffer with a limit.
//!
//! The output is the same as that of serde_json, which cannot write into a buffer without `std`. If a shape is
//! expected of the next value, the writer compares the value with it.

use alloc::vec::Vec;

use super::encode_error::{EncodeError, Result};
use super::misfit::{Misfit, Problem};
use super::shape::{Choices, Shape, is_base64, is_uri};
use crate::capability::CapabilitySet;
use crate::json::number::Number;
use crate::version::Revision;

/// Appends to a buffer up to a limit. The caller that made the writer removes the output of a failed write.
pub(crate) struct Writer<'a> {
    pub(super) buffer: &'a mut Vec<u8>,
    pub(super) limit: usize,
    /// The shape that the next value must have in the revision.
    pub(super) expected: Shape,
    revision: Revision,
    /// The capabilities that the peer must have declared for the output so far.
    needs: CapabilitySet,
    /// Whether the last value was `null` where a shape was expected.
    wrote_null: bool,
    /// The [`addable`](super::message::addable) members of the object that was written, if they are known.
    own_addable: Option<u8>,
}

impl<'a> Writer<'a> {
    /// Creates a writer that lets the buffer grow to `limit` bytes in total.
    pub(crate) const fn new(buffer: &'a mut Vec<u8>, limit: usize) -> Self {
        Self {
            buffer,
            limit,
            expected: Shape::Any,
            revision: Revision::LATEST_LEGACY,
            needs: CapabilitySet::NONE,
            wrote_null: false,
            own_addable: None,
        }
    }

    /// Returns the [`addable`](super::message::addable) members of the object that was written, if they are known.
    pub(super) const fn own_addable(&self) -> Option<u8> {
        self.own_addable
    }

    /// Notes the addable members of the object that was written.
    pub(super) const fn note_addable(&mut self, own: u8) {
        self.own_addable = Some(own);
    }

    /// Returns the capabilities that the peer must have declared for the output so far.
    pub(crate) const fn needs(&self) -> CapabilitySet {
        self.needs
    }

    /// Returns the position of the next byte.
    pub(crate) const fn position(&self) -> usize {
        self.buffer.len()
    }

    /// Returns the output since a position.
    pub(crate) fn since(&self, position: usize) -> &[u8] {
        self.buffer.get(position..).unwrap_or_default()
    }

    pub(super) const fn revision(&self) -> Revision {
        self.revision
    }

    pub(super) const fn set_revision(&mut self, revision: Revision) {
        self.revision = revision;
    }

    /// Sets the shape that the next value must have.
    #[inline]
    pub(super) fn expect(&mut self, shape: &Shape) {
        self.expected = *shape.now(self.revision);
        self.wrote_null = false;
    }

    /// Returns the shape that the next value must have.
    #[inline]
    pub(super) const fn expected(&self) -> Shape {
        self.expected
    }

    #[inline]
    pub(super) const fn take_expected(&mut self) -> Shape {
        core::mem::replace(&mut self.expected, Shape::Any)
    }

    /// Whether the value was `null` where a shape was expected.
    pub(super) const fn wrote_null(&self) -> bool {
        self.wrote_null
    }

    pub(super) fn need(&mut self, capabilities: CapabilitySet) {
        self.needs = self.needs.or(capabilities);
    }

    pub(super) fn truncate(&mut self, position: usize) {
        self.buffer.truncate(position);
    }

    /// Removes the output between two positions.
    pub(super) fn remove(&mut self, start: usize, end: usize) {
        self.buffer.drain(start..end);
    }

    /// Appends `null`. The caller that expected a shape decides whether `null` may stand here.
    pub(super) fn push_null(&mut self) -> Result {
        self.wrote_null = !matches!(self.take_expected(), Shape::Any);
        self.push(b"null")
    }

    /// Compares a string that is about to be written with the expected shape.
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

    /// Compares a number that is about to be written with the expected shape.
    pub(super) fn check_number(&mut self, is_integer: bool, number: impl Fn() -> Number) -> Result {
        number_fits(self.take_expected(), is_integer, number)
    }

    pub(super) fn check_boolean(&mut self) -> Result {
        match self.take_expected() {
            Shape::Any | Shape::Boolean | Shape::Answer { .. } => Ok(()),
            _ => wrong_type(),
        }
    }

    pub(super) fn write_float(&mut self, exact: f64, text: &str) -> Result {
        self.check_number(false, || Number::try_from(exact).unwrap_or(Number::ZERO))?;
        self.push(text.as_bytes())
    }
}

/// Fails if a string does not have the shape, which must not be [`Shape::OneOf`].
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

/// Fails if a number does not have the shape.
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
