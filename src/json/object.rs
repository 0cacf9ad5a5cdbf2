//! Writes an object, member by member: what has no place in the revision is left out on the way, and
//! what the machine has to add goes in.
//!
//! The application serialises an object; the machine owns a few of its members: the progress token
//! in `_meta`, and what each message of a revision without sessions says of itself. The keys of the object pass through here, so the
//! additions go in without a second pass and an object never gets two `_meta`.

use serde::ser::{Serialize, SerializeMap};

use super::additions::{Additions, MetaAdditions};
use super::append::Separator;
use super::payload::Payload;
use super::raw_write::Source;
use super::shape::{Field, Misfit, Presence, Problem, Shape};
use super::sight::{Sight, Strictness};
use super::string::Str;
use super::text::Text;
use super::write::{EncodeError, Result, Writer, wrong_type};
use crate::capability::CapabilitySet;
use crate::version::Revision;

/// An object whose brace is open.
pub(crate) struct ObjectWriter<'w, 'a, 'x> {
    writer: &'w mut Writer<'a>,
    members: Members,
    /// What the machine has written into it, which the application cannot write again.
    own: &'x [(&'static str, &'x str)],
    /// What the machine writes into it unless the application does.
    defaults: &'x [(&'static str, &'x str)],
    /// What the machine writes into its `_meta`.
    meta: &'x MetaAdditions<'x>,
    /// Keys that are dropped.
    reserved: &'static [&'static str],
    /// The defaults that the application has written something else for, one bit each.
    overridden: u8,
    /// The machine has nothing to do with it, so its members need not be compared with what it adds.
    is_plain: bool,
    is_empty: bool,
    meta_written: bool,
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
    /// It is written and has to look like this.
    Alike(&'static Shape),
    /// It is written with the additions to `_meta` in it.
    Meta,
    /// It is a member that the tables know.
    Known(KnownMember),
}

#[derive(Clone, Copy)]
struct KnownMember {
    field: &'static Field,
    /// Which of the fields it is.
    index: u8,
    standing: Standing,
}

/// Whether a member that the tables know may be there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
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

impl<'w, 'a> ObjectWriter<'w, 'a, 'static> {
    pub(super) fn open(writer: &'w mut Writer<'a>) -> Result<Self> {
        Self::with(writer, &Additions::NONE)
    }
}

impl<'w, 'a, 'x> ObjectWriter<'w, 'a, 'x> {
    pub(super) fn with(writer: &'w mut Writer<'a>, additions: &'x Additions<'x>) -> Result<Self> {
        let Additions { members: own, defaults, meta } = additions;
        Self::of(writer, own, defaults, meta)
    }

    #[inline]
    fn of(
        writer: &'w mut Writer<'a>,
        own: &'x [(&'static str, &'x str)],
        defaults: &'x [(&'static str, &'x str)],
        meta: &'x MetaAdditions<'x>,
    ) -> Result<Self> {
        let members = match writer.take_expected() {
            Shape::Any | Shape::Object => Members::Free,
            Shape::Map(each) => Members::Alike(each),
            Shape::Record(record) | Shape::OneOrMany { one: record, .. } => {
                Members::Known(Sight::of(record))
            }
            _ => return wrong_type(),
        };
        writer.push(b"{")?;
        let mut object = Self {
            writer,
            members,
            own,
            defaults,
            meta,
            reserved: &[],
            overridden: 0,
            is_plain: own.is_empty() && defaults.is_empty() && meta.is_empty(),
            is_empty: true,
            meta_written: false,
            pending: Pending::Skipped,
            place: Place::default(),
            doubtful: None,
        };
        for (name, value) in own {
            let separator = object.separator();
            object.writer.push_key(separator, name)?;
            object.writer.push(value.as_bytes())?;
        }
        Ok(object)
    }

    /// The `_meta` of an object, with what the machine adds to it.
    pub(super) fn meta(writer: &'w mut Writer<'a>, meta: &'x MetaAdditions<'x>) -> Result<Self> {
        let MetaAdditions { members, text, reserved } = meta;
        let mut object = Self::of(writer, members, &[], &MetaAdditions::NONE)?;
        object.reserved = reserved;
        object.is_plain = false;
        if !text.is_empty() {
            let separator = object.separator();
            object.writer.push(separator.text())?;
            object.writer.push(text.as_bytes())?;
        }
        Ok(object)
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

    /// Writes a key, in its wire form where it has one.
    pub(super) fn key(&mut self, key: &str, wire: Option<&str>) -> Result {
        let (start, is_first) = (self.writer.position(), self.is_empty);
        self.pending = self.fate(key)?;
        let wire = match self.pending {
            Pending::Skipped => return Ok(()),
            // The tables have no names that have to be escaped.
            Pending::Known(_) => wire.or(Some(key)),
            _ => wire,
        };
        let separator = self.separator();
        match wire {
            Some(wire) => self.writer.push_wire_key(separator, wire)?,
            None => self.writer.push_key(separator, key)?,
        }
        self.place = Place { start, is_first, value_start: self.writer.position() };
        Ok(())
    }

    /// What becomes of the member with this key.
    #[inline]
    fn fate(&mut self, key: &str) -> Result<Pending> {
        if !self.is_plain
            && let Some(pending) = self.fate_beside_additions(key)
        {
            return Ok(pending);
        }
        match &self.members {
            Members::Free => Ok(Pending::Plain),
            Members::Alike(each) => Ok(Pending::Alike(each)),
            Members::Known(sight) => known_member(sight, key, self.writer.revision()),
        }
    }

    /// The same, as far as what the machine adds has a say in it.
    #[inline(never)]
    fn fate_beside_additions(&mut self, key: &str) -> Option<Pending> {
        if self.reserved.contains(&key) || self.own.iter().any(|(name, _)| *name == key) {
            return Some(Pending::Skipped);
        }
        self.note_override(key);
        if key == "_meta" && !self.meta.is_empty() {
            // A second `_meta`, which only raw JSON can hold, is dropped.
            let is_first = !core::mem::replace(&mut self.meta_written, true);
            return Some(if is_first { Pending::Meta } else { Pending::Skipped });
        }
        None
    }

    pub(super) fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result {
        match self.pending {
            Pending::Skipped => Ok(()),
            Pending::Plain => value.serialize(&mut *self.writer),
            Pending::Alike(shape) => {
                self.writer.expect(*shape);
                value.serialize(&mut *self.writer)?;
                if self.writer.wrote_null() { wrong_type() } else { Ok(()) }
            }
            Pending::Meta => value.serialize(Payload::meta(self.writer, self.meta)),
            Pending::Known(member) => {
                self.writer.expect(member.field.shape);
                let written = value.serialize(&mut *self.writer);
                self.settle(member, written)
            }
        }
    }

    /// Writes the value that comes next in JSON text, or steps over it.
    pub(super) fn next_value(&mut self, source: &mut Source<'_>) -> Result {
        match self.pending {
            Pending::Skipped => source.value().map(drop),
            Pending::Plain => self.writer.push_next(source),
            Pending::Alike(shape) => {
                self.writer.expect(*shape);
                self.writer.write_next(source)?;
                if self.writer.wrote_null() { wrong_type() } else { Ok(()) }
            }
            Pending::Meta => Payload::meta(self.writer, self.meta).raw(source.value()?),
            Pending::Known(member) => {
                let start = *source;
                self.writer.expect(member.field.shape);
                let written = self.writer.write_next(source);
                if written.is_err() {
                    // It may be left out, all of it.
                    *source = start;
                    source.value()?;
                }
                self.settle(member, written)
            }
        }
    }

    /// Writes a member that has been written before: a key without escapes, and its value.
    pub(super) fn copy(&mut self, key: &str, value: &str) -> Result {
        let fate = self.fate_beside_additions(key).unwrap_or(Pending::Plain);
        if let Pending::Skipped = fate {
            return Ok(());
        }
        let separator = self.separator();
        self.writer.push_wire_key(separator, key)?;
        match fate {
            Pending::Meta => Payload::meta(self.writer, self.meta).raw(value),
            _ => self.writer.push(value.as_bytes()),
        }
    }

    /// What becomes of a member that the tables know, and of its object.
    fn settle(&mut self, member: KnownMember, written: Result) -> Result {
        if matches!(written, Err(EncodeError::Misfit(_)))
            && member.field.presence == Presence::Fitting
        {
            self.writer.expect(Shape::Any);
            self.take_out(self.place);
            return Ok(());
        }
        written
            .and_then(|()| self.end_member(member))
            .map_err(|error| error.inside(member.field.name))
    }

    /// Looks at a member that has been written, and takes it out again if it should not be there.
    fn end_member(&mut self, member: KnownMember) -> Result {
        if self.writer.wrote_null() {
            // Absent and `null` mean the same, and only the former is ever sent. The object around it is
            // there all the same.
            self.writer.expect(Shape::Any);
            self.take_out(self.place);
            self.forget_override(member.field.name);
            return Ok(());
        }
        let revision = self.writer.revision();
        if let Members::Known(sight) = &mut self.members {
            let index = usize::from(member.index);
            sight.see(index);
            if sight.record().is_tag(index) {
                let written = self.writer.since(self.place.value_start);
                let literal = core::str::from_utf8(written).ok();
                let value = literal.and_then(Str::from_literal);
                let is_it = |name: &str| value.as_ref().is_some_and(|value| *value == *name);
                sight.tag(revision, Strictness::Exact, is_it)?;
            }
        }
        if let Some(gate) = member.field.gate {
            self.writer.need(CapabilitySet::NONE.with(gate));
        }
        match member.standing {
            Standing::Sure => {}
            Standing::ReadOnly => self.take_out(self.place),
            Standing::Doubtful => {
                let (field, place) = (member.field, self.place);
                self.doubtful = Some(Doubtful { field, place, end: self.writer.position() });
            }
        }
        Ok(())
    }

    /// Takes a member out again that the kind of the object turned out not to have.
    fn settle_doubt(&mut self) {
        let (Some(doubtful), Members::Known(sight)) = (self.doubtful.take(), &self.members) else {
            return;
        };
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

    /// The application writes something for which there is a default.
    fn note_override(&mut self, key: &str) {
        if let Some(index) = self.defaults.iter().position(|(name, _)| *name == key) {
            self.overridden |= 1 << index;
        }
    }

    /// What it has written turned out to be nothing.
    fn forget_override(&mut self, key: &str) {
        if let Some(index) = self.defaults.iter().position(|(name, _)| *name == key) {
            self.overridden &= !(1 << index);
        }
    }

    fn write_defaults(&mut self) -> Result {
        for (index, (name, value)) in self.defaults.iter().enumerate() {
            if self.overridden & (1 << index) == 0 {
                let separator = self.separator();
                self.writer.push_key(separator, name)?;
                self.writer.push(value.as_bytes())?;
                if let Members::Known(sight) = &mut self.members
                    && let Some((index, _)) = sight.record().field(name.as_bytes())
                {
                    sight.see(index);
                }
            }
        }
        Ok(())
    }

    pub(super) fn close(mut self) -> Result {
        self.settle_doubt();
        self.write_defaults()?;
        if let Members::Known(sight) = &self.members {
            let needs = sight.end(self.writer.revision(), Strictness::Exact)?;
            self.writer.need(needs);
        }
        let adds = !self.meta.members.is_empty() || !self.meta.text.is_empty();
        if adds && !self.meta_written {
            self.key("_meta", None)?;
            self.value(&())?;
        }
        self.writer.push(b"}")
    }

    /// Opens the value of a member that nobody knows, the only one there is.
    pub(super) fn open_variant(&mut self, variant: &'static str, open: &str) -> Result {
        self.key(variant, None)?;
        if !matches!(self.pending, Pending::Plain) {
            // A variant with the name of a member that means something else.
            return wrong_type();
        }
        self.writer.push(open.as_bytes())
    }

    /// What the value of such a member is written with.
    pub(super) const fn writer(&mut self) -> &mut Writer<'a> {
        self.writer
    }

    /// What stands in front of the next member.
    #[inline]
    const fn separator(&mut self) -> Separator {
        Separator::next(&mut self.is_empty)
    }
}

/// What becomes of a member of an object whose members are known.
#[inline]
fn known_member(sight: &Sight, key: &str, revision: Revision) -> Result<Pending> {
    let Some((index, field)) = sight.record().field(key.as_bytes()) else {
        return Ok(Pending::Plain);
    };
    let in_some_kind = || field.in_kind.is_some_and(|(_, set)| set.contains(revision));
    let standing = if field.is_in(revision, sight.kind()) {
        Standing::Sure
    } else if sight.kind().is_none() && in_some_kind() {
        Standing::Doubtful
    } else if sight.record().is_tag(index) {
        Standing::ReadOnly
    } else if field.presence == Presence::Essential && !field.was_removed(revision) {
        return Err(Misfit::at(field.name, Problem::NotInRevision).into());
    } else {
        return Ok(Pending::Skipped);
    };
    // There are at most 64 of them.
    Ok(Pending::Known(KnownMember { field, index: index as u8, standing }))
}

impl SerializeMap for ObjectWriter<'_, '_, '_> {
    type Ok = ();
    type Error = EncodeError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result {
        key.serialize(Text(|text: &str| self.key(text, None)))
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result {
        self.value(value)
    }

    fn end(self) -> Result {
        self.close()
    }
}
