//! Writes an object, member by member: what has no place in the revision is left out on the way, and
//! what the machine has to add goes in.
//!
//! The application serialises an object; the machine owns a few of its members: the progress token
//! in `_meta`, and what each message of a revision without sessions says of itself. The keys of the object pass through here, so the
//! additions go in without a second pass and an object never gets two `_meta`.

use serde::ser::{
    Serialize, SerializeMap, SerializeStruct, SerializeStructVariant, SerializeTupleVariant,
};

use super::additions::{Additions, MetaAdditions};
use super::payload::Payload;
use super::shape::{Field, Misfit, Presence, Problem, Shape, Sight, Strictness};
use super::string::Str;
use super::text::Text;
use super::write::{EncodeError, Result, Writer, wrong_type};
use crate::capability::CapabilitySet;
use crate::version::Revision;

/// An object whose brace is open.
pub(crate) struct ObjectWriter<'w, 'a, 'x> {
    writer: &'w mut Writer<'a>,
    members: Members,
    additions: Additions<'x>,
    /// Keys that are dropped.
    reserved: &'static [&'static str],
    /// The defaults that the application has written something else for, one bit each.
    overridden: u8,
    is_empty: bool,
    meta_written: bool,
    pending: Pending,
    /// A member that only some kinds have, written before the kind was known, and where it ends.
    doubtful: Option<(KnownMember, usize)>,
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
    index: usize,
    field: &'static Field,
    is_tag: bool,
    /// It is written only to see what kind of object this is.
    read_only: bool,
    /// Whether it may be there depends on the kind of object, which is not known yet.
    doubtful: bool,
    /// Where it began, its comma included, and whether it is the first one.
    start: usize,
    is_first: bool,
    value_start: usize,
}

impl<'w, 'a> ObjectWriter<'w, 'a, 'static> {
    pub(super) fn open(writer: &'w mut Writer<'a>) -> Result<Self> {
        Self::with(writer, Additions::default())
    }
}

impl<'w, 'a, 'x> ObjectWriter<'w, 'a, 'x> {
    pub(super) fn with(writer: &'w mut Writer<'a>, additions: Additions<'x>) -> Result<Self> {
        let members = match writer.take_expected() {
            Shape::Any | Shape::Object => Members::Free,
            Shape::Map(each) => Members::Alike(each),
            Shape::Record(record) | Shape::OneOrMany { one: record, .. } => {
                Members::Known(Sight::of(record))
            }
            _ => return wrong_type(),
        };
        writer.push(b"{")?;
        let pending = Pending::Skipped;
        let mut object = Self {
            writer,
            members,
            additions,
            reserved: &[],
            overridden: 0,
            is_empty: true,
            meta_written: false,
            pending,
            doubtful: None,
        };
        for (name, value) in additions.members {
            let separator = object.separator();
            object.writer.push_key(separator, name)?;
            object.writer.push(value.as_bytes())?;
        }
        Ok(object)
    }

    /// The `_meta` of an object, with what the machine adds to it.
    pub(super) fn meta(writer: &'w mut Writer<'a>, meta: MetaAdditions<'x>) -> Result<Self> {
        let MetaAdditions { members, text, reserved } = meta;
        let mut object = Self::with(writer, Additions { members, ..Additions::default() })?;
        object.reserved = reserved;
        if !text.is_empty() {
            let separator = object.separator();
            object.writer.push(separator)?;
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
        if let Pending::Skipped = self.pending {
            return Ok(());
        }
        let separator = self.separator();
        match wire {
            Some(wire) => {
                self.writer.push(separator)?;
                self.writer.push(b"\"")?;
                self.writer.push(wire.as_bytes())?;
                self.writer.push(b"\":")?;
            }
            None => self.writer.push_key(separator, key)?,
        }
        if let Pending::Known(member) = &mut self.pending {
            (member.start, member.is_first) = (start, is_first);
            member.value_start = self.writer.position();
        }
        Ok(())
    }

    /// What becomes of the member with this key.
    fn fate(&mut self, key: &str) -> Result<Pending> {
        if self.reserved.contains(&key) {
            return Ok(Pending::Skipped);
        }
        if !self.additions.is_empty() {
            if self.additions.members.iter().any(|(name, _)| *name == key) {
                return Ok(Pending::Skipped);
            }
            self.note_override(key);
            if key == "_meta" && !self.additions.meta.is_empty() {
                // A second `_meta`, which only raw JSON can hold, is dropped.
                let is_first = !core::mem::replace(&mut self.meta_written, true);
                return Ok(if is_first { Pending::Meta } else { Pending::Skipped });
            }
        }
        match &self.members {
            Members::Free => Ok(Pending::Plain),
            Members::Alike(each) => Ok(Pending::Alike(each)),
            Members::Known(sight) => known_member(sight, key, self.writer.revision()),
        }
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
            Pending::Meta => value.serialize(Payload::meta(self.writer, self.additions.meta)),
            Pending::Known(member) => {
                self.writer.expect(member.field.shape);
                let written = value.serialize(&mut *self.writer);
                if matches!(written, Err(EncodeError::Misfit(_)))
                    && member.field.presence == Presence::Fitting
                {
                    self.writer.expect(Shape::Any);
                    self.take_out(&member);
                    return Ok(());
                }
                written
                    .and_then(|()| self.end_member(&member))
                    .map_err(|error| error.inside(member.field.name))
            }
        }
    }

    /// Looks at a member that has been written, and takes it out again if it should not be there.
    fn end_member(&mut self, member: &KnownMember) -> Result {
        if self.writer.wrote_null() {
            // Absent and `null` mean the same, and only the former is ever sent. The object around it is
            // there all the same.
            self.writer.expect(Shape::Any);
            self.take_out(member);
            self.forget_override(member.field.name);
            return Ok(());
        }
        let revision = self.writer.revision();
        if let Members::Known(sight) = &mut self.members {
            sight.see(member.index);
            if member.is_tag {
                let literal = core::str::from_utf8(self.writer.since(member.value_start)).ok();
                let value = literal.and_then(Str::from_literal);
                let is_it = |name: &str| value.as_ref().is_some_and(|value| *value == *name);
                sight.tag(revision, Strictness::Exact, is_it)?;
            }
        }
        if let Some(gate) = member.field.gate {
            self.writer.need(CapabilitySet::NONE.with(gate));
        }
        if member.read_only {
            self.take_out(member);
        }
        if member.doubtful {
            self.doubtful = Some((*member, self.writer.position()));
        }
        Ok(())
    }

    /// Takes a member out again that the kind of the object turned out not to have.
    fn settle_doubt(&mut self) {
        let (Some((member, end)), Members::Known(sight)) = (self.doubtful.take(), &self.members)
        else {
            return;
        };
        if member.field.is_in(self.writer.revision(), sight.kind()) {
            return;
        }
        let is_followed = end < self.writer.position();
        // The comma that goes with it is in front of it, or behind it if it is the first one.
        self.writer
            .remove(member.start, if member.is_first && is_followed { end + 1 } else { end });
        self.is_empty = member.is_first && !is_followed;
    }

    fn take_out(&mut self, member: &KnownMember) {
        self.writer.truncate(member.start);
        self.is_empty = member.is_first;
    }

    /// The application writes something for which there is a default.
    fn note_override(&mut self, key: &str) {
        if let Some(index) = self.additions.defaults.iter().position(|(name, _)| *name == key) {
            self.overridden |= 1 << index;
        }
    }

    /// What it has written turned out to be nothing.
    fn forget_override(&mut self, key: &str) {
        if let Some(index) = self.additions.defaults.iter().position(|(name, _)| *name == key) {
            self.overridden &= !(1 << index);
        }
    }

    fn write_defaults(&mut self) -> Result {
        for (index, (name, value)) in self.additions.defaults.iter().enumerate() {
            if self.overridden & (1 << index) == 0 {
                let separator = self.separator();
                self.writer.push_key(separator, name)?;
                self.writer.push(value.as_bytes())?;
                if let Members::Known(sight) = &mut self.members
                    && let Some((index, _)) = sight.record().field(name)
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
        let meta = self.additions.meta;
        let adds = !meta.members.is_empty() || !meta.text.is_empty();
        if adds && !self.meta_written {
            self.key("_meta", None)?;
            self.value(&())?;
        }
        self.writer.push(b"}")
    }

    /// What stands in front of the next member.
    const fn separator(&mut self) -> &'static [u8] {
        if core::mem::replace(&mut self.is_empty, false) { b"" } else { b"," }
    }
}

/// What becomes of a member of an object whose members are known.
fn known_member(sight: &Sight, key: &str, revision: Revision) -> Result<Pending> {
    let Some((index, field)) = sight.record().field(key) else { return Ok(Pending::Plain) };
    let is_tag = sight.record().kinds.as_ref().is_some_and(|kinds| kinds.tag == key);
    let in_revision = field.is_in(revision, sight.kind());
    let doubtful = !in_revision
        && sight.kind().is_none()
        && field.in_kind.is_some_and(|(_, revisions)| revisions.contains(revision));
    if !in_revision && !is_tag && !doubtful {
        return if field.presence == Presence::Essential && !field.was_removed(revision) {
            Err(Misfit::at(field.name, Problem::NotInRevision).into())
        } else {
            Ok(Pending::Skipped)
        };
    }
    Ok(Pending::Known(KnownMember {
        index,
        field,
        is_tag,
        read_only: !in_revision && !doubtful,
        doubtful,
        start: 0,
        is_first: false,
        value_start: 0,
    }))
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

/// A struct: an object like any other, unless it is the disguise of something else.
pub(crate) enum StructWriter<'w, 'a, 'x> {
    Object(ObjectWriter<'w, 'a, 'x>),
    /// JSON text.
    Raw(&'w mut Writer<'a>),
    /// The text of a number.
    Number(&'w mut Writer<'a>),
    /// JSON text that `params` or a result is.
    Payload(Option<Payload<'w, 'a, 'x>>),
}

impl SerializeStruct for StructWriter<'_, '_, '_> {
    type Ok = ();
    type Error = EncodeError;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result {
        match self {
            Self::Object(object) => {
                object.key(key, None)?;
                object.value(value)
            }
            Self::Raw(writer) | Self::Number(writer) => {
                value.serialize(Text(|text: &str| writer.write_raw(text)))
            }
            Self::Payload(payload) => match payload.take() {
                Some(payload) => value.serialize(Text(|text: &str| payload.raw(text))),
                None => Err(EncodeError::Payload),
            },
        }
    }

    fn end(self) -> Result {
        match self {
            Self::Object(object) => object.close(),
            _ => Ok(()),
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
        object.key(variant, None)?;
        if !matches!(object.pending, Pending::Plain) {
            // A variant with the name of a member that means something else.
            return wrong_type();
        }
        object.writer.push(open.as_bytes())?;
        Ok(Self { object, is_empty: true, close })
    }

    fn separate(&mut self) -> Result {
        if self.is_empty {
            self.is_empty = false;
            return Ok(());
        }
        self.object.writer.push(b",")
    }

    fn close(self) -> Result {
        self.object.writer.push(self.close.as_bytes())?;
        self.object.close()
    }
}

impl SerializeTupleVariant for VariantWriter<'_, '_, '_> {
    type Ok = ();
    type Error = EncodeError;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result {
        self.separate()?;
        value.serialize(&mut *self.object.writer)
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
        self.object.writer.push_key(b"", key)?;
        value.serialize(&mut *self.object.writer)
    }

    fn end(self) -> Result {
        self.close()
    }
}
