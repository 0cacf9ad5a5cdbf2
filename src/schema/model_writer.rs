//! [`ModelWriter`]: the writer for values of the model.

use serde::ser::Serialize;

use super::encode_error::EncodeError;
use super::shape::Shape;
use super::writer::{Writer, text_fits};
use crate::capability::{Capability, CapabilitySet};
use crate::json::Number;
use crate::version::{Revision, RevisionSet};

/// The error for a value that cannot be written unchanged. The output so far is removed, and the whole value is
/// written and then filtered by the table of its message. The filter omits members that the revision does not have,
/// and reports errors.
///
/// Examples are an enum value that this crate does not know, and a kind of content that the revision does not have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NeedsFilter;

/// The result of writing a value unchanged.
pub(crate) type Written = Result<(), NeedsFilter>;

impl From<EncodeError> for NeedsFilter {
    fn from(_: EncodeError) -> Self {
        Self
    }
}

/// Appends the parts of a value in the order of its members, for one revision or for all revisions.
///
/// Each member and each element is written with a leading comma. [`enclose`](Self::enclose) replaces the first comma
/// with the opening bracket, so no code needs to know which member is the first.
pub(crate) struct ModelWriter<'w, 'a> {
    writer: &'w mut Writer<'a>,
    /// The revision that the value is written for. All revisions if everything is written, to be filtered later.
    revisions: RevisionSet,
}

impl<'w, 'a> ModelWriter<'w, 'a> {
    /// Creates a writer of the members that a revision has.
    pub(super) fn of(writer: &'w mut Writer<'a>, revision: Revision) -> Self {
        writer.set_revision(revision);
        Self { writer, revisions: RevisionSet::only(revision) }
    }

    /// Creates a writer of all members.
    pub(crate) const fn of_all(writer: &'w mut Writer<'a>) -> Self {
        Self { writer, revisions: RevisionSet::ALL }
    }

    #[inline]
    fn writes_all(&self) -> bool {
        self.revisions == RevisionSet::ALL
    }

    /// Whether a member of these revisions is to be written.
    #[inline(always)]
    pub(crate) const fn is_in(&self, revisions: RevisionSet) -> bool {
        !self.revisions.and(revisions).is_empty()
    }

    /// Fails with [`NeedsFilter`], unless the writer writes all members for the filter.
    #[inline]
    pub(crate) fn need_filter(&self) -> Written {
        if self.writes_all() { Ok(()) } else { Err(NeedsFilter) }
    }

    /// Notes a capability that the peer must have declared for the output so far.
    #[inline]
    pub(crate) fn need(&mut self, capability: Capability) {
        if !self.writes_all() {
            self.writer.need(CapabilitySet::NONE.with(capability));
        }
    }

    /// Appends a constant piece of JSON.
    #[inline(always)]
    pub(crate) fn piece(&mut self, piece: &'static str) -> Written {
        Ok(self.writer.push(piece.as_bytes())?)
    }

    /// Appends JSON text that is one line.
    #[inline]
    pub(crate) fn copy(&mut self, text: &str) -> Written {
        self.copy_bytes(text.as_bytes())
    }

    /// Appends the bytes of JSON text that is one line.
    #[inline]
    pub(super) fn copy_bytes(&mut self, text: &[u8]) -> Written {
        Ok(self.writer.push(text)?)
    }

    /// Appends JSON text.
    #[inline]
    pub(crate) fn raw(&mut self, text: &str) -> Written {
        Ok(self.writer.push_raw(text)?)
    }

    /// Appends a string.
    #[inline]
    pub(crate) fn string(&mut self, text: &str) -> Written {
        Ok(self.writer.push_string(text)?)
    }

    /// Appends an integer.
    pub(crate) fn integer(&mut self, integer: impl itoa::Integer) -> Written {
        Ok(self.writer.push_integer(integer)?)
    }

    /// Appends a number of a shape.
    #[inline(never)]
    pub(crate) fn number(&mut self, number: Number, shape: &Shape) -> Written {
        self.writer.expect(if self.writes_all() { &Shape::Any } else { shape });
        Ok(number.serialize(&mut *self.writer)?)
    }

    /// Appends a string of a shape.
    #[inline(never)]
    pub(crate) fn text(&mut self, text: &str, shape: &Shape) -> Written {
        if !self.writes_all() {
            text_fits(*shape, text)?;
        }
        self.string(text)
    }

    /// Appends JSON text of a shape.
    #[inline(never)]
    pub(crate) fn compare(&mut self, text: &str, shape: &Shape) -> Written {
        if self.writes_all() {
            return self.raw(text);
        }
        self.writer.expect(shape);
        self.writer.write_raw(text)?;
        if self.writer.wrote_null() { Err(NeedsFilter) } else { Ok(()) }
    }

    /// Returns the position of the next byte.
    #[inline(always)]
    pub(crate) const fn position(&self) -> usize {
        self.writer.position()
    }

    /// Closes the object or array that began at a position.
    #[inline(always)]
    pub(crate) fn enclose(&mut self, start: usize, open: u8, close: &'static str) -> Written {
        match self.writer.buffer.get_mut(start) {
            Some(comma) => *comma = open,
            None => self.writer.push(&[open])?,
        }
        self.piece(close)
    }
}
