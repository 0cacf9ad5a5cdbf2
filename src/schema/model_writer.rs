//! [`ModelWriter`]: where values of the model write themselves.

use serde::ser::Serialize;

use super::encode_error::EncodeError;
use super::shape::Shape;
use super::writer::{Writer, text_fits};
use crate::capability::{Capability, CapabilitySet};
use crate::json::Number;
use crate::version::{Revision, RevisionSet};

/// The value is not one that can be written as it stands: what has been written is taken back, and all of the value is
/// written and then filtered by the table of its message. That finds out what the revision has, and what is wrong.
///
/// An enum value that this crate does not know is one, or a kind of content that the revision does not have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NeedsFilter;

/// Whether a value could be written as it stands.
pub(crate) type Written = Result<(), NeedsFilter>;

impl From<EncodeError> for NeedsFilter {
    fn from(_: EncodeError) -> Self {
        Self
    }
}

/// Appends the parts of a value in the order of its members, for one revision or without regard to revisions.
///
/// Every member and every element comes with a comma in front of it. [`enclose`](Self::enclose) turns the first comma
/// into the bracket, so nobody has to know which member is the first.
pub(crate) struct ModelWriter<'w, 'a> {
    writer: &'w mut Writer<'a>,
    /// The revision that the value is written for. All of them if everything is written, which is then filtered.
    revisions: RevisionSet,
}

impl<'w, 'a> ModelWriter<'w, 'a> {
    /// Writes what a revision has.
    pub(super) fn of(writer: &'w mut Writer<'a>, revision: Revision) -> Self {
        writer.set_revision(revision);
        Self { writer, revisions: RevisionSet::only(revision) }
    }

    /// Writes everything.
    pub(crate) const fn of_all(writer: &'w mut Writer<'a>) -> Self {
        Self { writer, revisions: RevisionSet::ALL }
    }

    #[inline]
    fn writes_all(&self) -> bool {
        self.revisions == RevisionSet::ALL
    }

    /// Whether what these revisions have is to be written.
    #[inline(always)]
    pub(crate) const fn is_in(&self, revisions: RevisionSet) -> bool {
        !self.revisions.and(revisions).is_empty()
    }

    /// The value that is being written cannot be copied without a look at the tables.
    #[inline]
    pub(crate) fn need_filter(&self) -> Written {
        if self.writes_all() { Ok(()) } else { Err(NeedsFilter) }
    }

    /// What has been written asks this of the peer.
    #[inline]
    pub(crate) fn need(&mut self, capability: Capability) {
        if !self.writes_all() {
            self.writer.need(CapabilitySet::NONE.with(capability));
        }
    }

    /// Appends a piece of JSON that is in the program.
    #[inline(always)]
    pub(crate) fn piece(&mut self, piece: &'static str) -> Written {
        Ok(self.writer.push(piece.as_bytes())?)
    }

    /// Appends JSON text that is one line.
    #[inline]
    pub(crate) fn copy(&mut self, text: &str) -> Written {
        Ok(self.writer.push(text.as_bytes())?)
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

    /// Where the next byte will be.
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
