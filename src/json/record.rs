//! Writes an object, member by member, and leaves out on the way what has no place in the revision.

use serde::ser::{Serialize, SerializeMap};

use super::append::Separator;
use super::label::is_same_text;
use super::raw_write::Source;
use super::shape::{Field, Misfit, Presence, Problem, Shape};
use super::sight::{Sight, Strictness};
use super::string::Str;
use super::text::Text;
use super::write::{EncodeError, Result, Writer, wrong_type};
use crate::capability::CapabilitySet;
use crate::version::Revision;

/// An object whose brace is open.
pub(crate) struct RecordWriter<'w, 'a> {
    writer: &'w mut Writer<'a>,
    members: Members,
    is_empty: bool,
    pending: Pending,
    /// Where the member of the last key is, if the tables know it.
    place: Place,
    /// A member that only some kinds have, written before the kind was known, and where it ends.
    doubtful: Option<Doubtful>,
}

/// What is known of the members.
enum Members {
    /// Nothing.
    Free,
    /// They all look like this.
    Alike(&'static Shape),
    /// Which there are.
    Known(Sight),
}

/// What becomes of the value that belongs to the last key.
#[derive(Clone, Copy)]
enum Pending {
    /// It is left out, unread.
    Skipped,
    /// It is written, whatever it is.
    Plain,
    /// It is written and has to look like all the others.
    Alike,
    /// It is a member that the tables know.
    Known(KnownMember),
}

#[derive(Clone, Copy)]
struct KnownMember {
    field: &'static Field,
    /// Which of the fields it is.
    index: usize,
    standing: Standing,
}

/// Whether a member that the tables know may be there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// It may, and nothing comes of it.
    Plain,
    Sure,
    /// It is written only to see what kind of object this is.
    ReadOnly,
    /// That depends on the kind of object, which is not known yet.
    Doubtful,
}

/// Where a member is in what has been written.
#[derive(Clone, Copy, Default)]
struct Place {
    /// Where it began, its comma included, and whether it is the first one.
    start: usize,
    is_first: bool,
    value_start: usize,
}

/// A doubtful member that has been written, and where it ends.
#[derive(Clone, Copy)]
struct Doubtful {
    field: &'static Field,
    place: Place,
    end: usize,
}

impl<'w, 'a> RecordWriter<'w, 'a> {
    pub(super) fn open(writer: &'w mut Writer<'a>) -> Result<Self> {
        let members = match writer.take_expected() {
            Shape::Any | Shape::Object => Members::Free,
            Shape::Map(each) => Members::Alike(each),
            Shape::Record(record) | Shape::OneOrMany { one: record, .. } => {
                Members::Known(Sight::of(record))
            }
            _ => return wrong_type(),
        };
        writer.push(b"{")?;
        Ok(Self {
            writer,
            members,
            is_empty: true,
            pending: Pending::Skipped,
            place: Place::default(),
            doubtful: None,
        })
    }

    /// Says what kind of object this is before its members come, in whatever order they do.
    pub(super) fn foresee_kind<'t>(&mut self, tag: impl FnOnce(&str) -> Option<Str<'t>>) {
        let revision = self.writer.revision();
        if let Members::Known(sight) = &mut self.members
            && let Some(kinds) = &sight.record().kinds
            && let Some(value) = tag(kinds.tag)
        {
            // If it is none of them, that comes out when the tag itself does.
            _ = sight.tag(revision, Strictness::Exact, |name| value == *name);
        }
    }

    /// Writes a key, and says what is expected of the value.
    pub(super) fn key(&mut self, key: &str) -> Result {
        let Members::Known(sight) = &mut self.members else { return self.unknown_key(key, None) };
        match sight.field(key.as_bytes()) {
            Some((index, field)) if sight.record().is_plain(index, self.writer.revision()) => {
                self.known_key(KnownMember { field, index, standing: Standing::Plain }, None)
            }
            Some((index, field)) => self.special_key(index, field, None),
            None => self.unknown_key(key, None),
        }
    }

    /// The same for a key that is there in its wire form.
    pub(super) fn wire_key(&mut self, key: &str, wire: &str) -> Result {
        let found = match &mut self.members {
            Members::Known(sight) => sight.field(key.as_bytes()),
            Members::Free | Members::Alike(_) => None,
        };
        // With escapes it is longer than the name.
        let escaped = Some(wire).filter(|wire| key.len() < wire.len());
        match found {
            Some((index, field)) => self.special_key(index, field, escaped),
            None => self.unknown_key(key, Some(wire)),
        }
    }

    /// Writes the key of a member that may have no place here, or that something may come of.
    #[inline(never)]
    fn special_key(
        &mut self,
        index: usize,
        field: &'static Field,
        escaped: Option<&str>,
    ) -> Result {
        let Members::Known(sight) = &self.members else { return Ok(()) };
        let Some(standing) = standing(sight, index, field, self.writer.revision())? else {
            self.pending = Pending::Skipped;
            return Ok(());
        };
        self.known_key(KnownMember { field, index, standing }, escaped)
    }

    /// Writes the key of a member that the tables know, as it is written with escapes if it has some.
    #[inline(always)]
    fn known_key(&mut self, member: KnownMember, escaped: Option<&str>) -> Result {
        let field = member.field;
        let (start, is_first) = (self.writer.position(), self.is_empty);
        let separator = self.separator();
        match escaped {
            Some(escaped) => self.writer.push_wire_key(separator, escaped)?,
            None => self.writer.push_label(separator, &field.label)?,
        }
        self.place = Place { start, is_first, value_start: self.writer.position() };
        self.pending = Pending::Known(member);
        self.writer.expect(&field.shape);
        Ok(())
    }

    /// Writes the key of a member that the tables do not know.
    #[inline(never)]
    fn unknown_key(&mut self, key: &str, wire: Option<&str>) -> Result {
        self.free_key(key, wire)?;
        if let Members::Alike(shape) = self.members {
            self.pending = Pending::Alike;
            self.writer.expect(shape);
        } else {
            self.writer.expect(&Shape::Any);
        }
        Ok(())
    }

    /// Writes the key of a member that may have any value.
    pub(super) fn free_key(&mut self, key: &str, wire: Option<&str>) -> Result {
        self.pending = Pending::Plain;
        let separator = self.separator();
        match wire {
            Some(wire) => self.writer.push_wire_key(separator, wire),
            None => self.writer.push_key(separator, key),
        }
    }

    #[inline(always)]
    pub(super) fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result {
        if let Pending::Skipped = self.pending {
            return Ok(());
        }
        match value.serialize(&mut *self.writer) {
            Ok(()) => self.end_value(),
            Err(error) => self.end_failure(error),
        }
    }

    /// Writes the value that comes next in JSON text, or steps over it.
    pub(super) fn next_value(&mut self, source: &mut Source<'_>) -> Result {
        match self.pending {
            Pending::Skipped => source.value().map(drop),
            Pending::Plain => self.writer.push_next(source),
            Pending::Alike => {
                self.writer.write_next(source)?;
                self.end_value()
            }
            Pending::Known(_) => {
                let start = *source;
                let Err(error) = self.writer.write_next(source) else { return self.end_value() };
                // It may be left out, all of it.
                *source = start;
                source.value()?;
                self.end_failure(error)
            }
        }
    }

    /// What becomes of a value that has been written.
    fn end_value(&mut self) -> Result {
        if let Pending::Known(KnownMember { standing: Standing::Plain, index, .. }) = self.pending
            && let Members::Known(sight) = &mut self.members
            && !self.writer.wrote_null()
        {
            sight.see(index);
            return Ok(());
        }
        self.end_other_value()
    }

    #[inline(never)]
    fn end_other_value(&mut self) -> Result {
        match self.pending {
            Pending::Known(member) => {
                self.end_member(member).map_err(|error| error.inside(member.field.name))
            }
            Pending::Alike if self.writer.wrote_null() => wrong_type(),
            _ => Ok(()),
        }
    }

    /// What becomes of a value that could not be written.
    #[cold]
    fn end_failure(&mut self, error: EncodeError) -> Result {
        let Pending::Known(KnownMember { field, .. }) = self.pending else { return Err(error) };
        if matches!(error, EncodeError::Misfit(_)) && field.presence == Presence::Fitting {
            self.writer.expect(&Shape::Any);
            self.take_out(self.place);
            return Ok(());
        }
        Err(error.inside(field.name))
    }

    /// Looks at a member that has been written, and takes it out again if it should not be there.
    fn end_member(&mut self, member: KnownMember) -> Result {
        if self.writer.wrote_null() {
            // Absent and `null` mean the same, and only the former is ever sent. The object around it is
            // there all the same.
            self.writer.expect(&Shape::Any);
            self.take_out(self.place);
            self.pending = Pending::Skipped;
            return Ok(());
        }
        let revision = self.writer.revision();
        if let Members::Known(sight) = &mut self.members {
            sight.see(member.index);
            if sight.record().is_tag(member.index) {
                let literal = self.writer.since(self.place.value_start);
                sight.tag(revision, Strictness::Exact, |name| is_literal(literal, name))?;
            }
        }
        if let Some(gate) = member.field.gate {
            self.writer.need(CapabilitySet::NONE.with(gate));
        }
        match member.standing {
            Standing::Plain | Standing::Sure => {}
            Standing::ReadOnly => self.take_out(self.place),
            Standing::Doubtful => {
                let (field, place) = (member.field, self.place);
                self.doubtful = Some(Doubtful { field, place, end: self.writer.position() });
            }
        }
        Ok(())
    }

    /// Takes a member out again that the kind of the object turned out not to have.
    #[inline]
    pub(super) fn settle_doubt(&mut self) {
        if let Some(doubtful) = self.doubtful {
            self.settle(doubtful);
        }
    }

    #[inline(never)]
    fn settle(&mut self, doubtful: Doubtful) {
        let Members::Known(sight) = &self.members else { return };
        let Doubtful { field, place, end } = doubtful;
        if field.is_in(self.writer.revision(), sight.kind()) {
            return;
        }
        let is_followed = end < self.writer.position();
        // The comma that goes with it is in front of it, or behind it if it is the first one.
        self.writer.remove(place.start, if place.is_first && is_followed { end + 1 } else { end });
        self.is_empty = place.is_first && !is_followed;
    }

    fn take_out(&mut self, place: Place) {
        self.writer.truncate(place.start);
        self.is_empty = place.is_first;
    }

    /// Leaves the value of the last key out, unread.
    pub(super) const fn skip(&mut self) {
        self.pending = Pending::Skipped;
    }

    /// Whether the value of the last key may be anything.
    pub(super) const fn is_free(&self) -> bool {
        matches!(self.pending, Pending::Plain)
    }

    /// Whether the value of the last key is not there, or not any more.
    pub(super) const fn has_skipped(&self) -> bool {
        matches!(self.pending, Pending::Skipped)
    }

    /// What the next members are written with, as they stand between the braces.
    pub(super) fn begin_addition(&mut self) -> Result<&mut Writer<'a>> {
        let separator = self.separator();
        self.writer.push(separator.text())?;
        Ok(self.writer)
    }

    /// Writes a member of the machine's, of which the value is JSON text.
    pub(super) fn add(&mut self, name: &str, value: &str) -> Result {
        let separator = self.separator();
        self.writer.push_key(separator, name)?;
        self.writer.push(value.as_bytes())
    }

    /// Counts a member as one that the application has written.
    pub(super) fn see(&mut self, name: &str) {
        if let Members::Known(sight) = &mut self.members
            && let Some((index, _)) = sight.record().field(name.as_bytes())
        {
            sight.see(index);
        }
    }

    /// Makes sure that everything is there that has to be.
    pub(super) fn end_members(&mut self) -> Result {
        if let Members::Known(sight) = &self.members {
            let needs = sight.end(self.writer.revision(), Strictness::Exact)?;
            self.writer.need(needs);
        }
        Ok(())
    }

    /// Closes the object, into which nothing can be written any more.
    pub(super) fn close(&mut self) -> Result {
        self.settle_doubt();
        self.end_members()?;
        self.writer.push(b"}")
    }

    /// What the value of a member is written with.
    pub(super) const fn writer(&mut self) -> &mut Writer<'a> {
        self.writer
    }

    /// What stands in front of the next member.
    #[inline]
    const fn separator(&mut self) -> Separator {
        Separator::next(&mut self.is_empty)
    }
}

/// Whether a member may be there that the tables know. If not, it is left out.
fn standing(
    sight: &Sight,
    index: usize,
    field: &Field,
    revision: Revision,
) -> Result<Option<Standing>> {
    if sight.record().is_plain(index, revision) {
        return Ok(Some(Standing::Plain));
    }
    let in_some_kind = || field.in_kind.is_some_and(|(_, set)| set.contains(revision));
    if field.is_in(revision, sight.kind()) {
        Ok(Some(Standing::Sure))
    } else if sight.kind().is_none() && in_some_kind() {
        Ok(Some(Standing::Doubtful))
    } else if sight.record().is_tag(index) {
        Ok(Some(Standing::ReadOnly))
    } else if field.presence == Presence::Essential && !field.was_removed(revision) {
        Err(Misfit::at(field.name, Problem::NotInRevision).into())
    } else {
        Ok(None)
    }
}

/// Whether a literal is the string with this text, which has nothing to escape.
#[inline]
fn is_literal(literal: &[u8], text: &str) -> bool {
    match literal {
        [b'"', inner @ .., b'"'] if is_same_text(inner, text.as_bytes()) => true,
        [_, inner @ .., _] if !inner.contains(&b'\\') => false,
        _ => {
            let literal = core::str::from_utf8(literal).ok().and_then(Str::from_literal);
            literal.is_some_and(|literal| literal == *text)
        }
    }
}

impl SerializeMap for RecordWriter<'_, '_> {
    type Ok = ();
    type Error = EncodeError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result {
        key.serialize(Text(|text: &str| self.key(text)))
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result {
        self.value(value)
    }

    fn end(mut self) -> Result {
        self.close()
    }
}
