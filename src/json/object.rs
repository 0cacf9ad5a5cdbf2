//! Writes an object that the machine has something to add to.
//!
//! The application serialises an object; the machine owns a few of its members: the progress token
//! in `_meta`, and what each message of a revision without sessions says of itself. The keys of the
//! object pass through here, so the additions go in without a second pass and an object never gets two
//! `_meta`.

use serde::ser::{Serialize, SerializeMap};

use super::additions::{Additions, MetaAdditions};
use super::payload::Payload;
use super::raw_write::Source;
use super::record::RecordWriter;
use super::string::Str;
use super::text::Text;
use super::write::{EncodeError, Result, Writer, wrong_type};

/// An object whose brace is open.
pub(crate) struct ObjectWriter<'w, 'a, 'x> {
    record: RecordWriter<'w, 'a>,
    added: Added<'x>,
    /// The defaults that the application has written something else for, one bit each.
    overridden: u8,
    /// The one among them that it is writing.
    overriding: u8,
    meta_written: bool,
    /// The value that comes next is the `_meta` that the machine adds to.
    meta_is_next: bool,
}

/// What the machine adds.
#[derive(Clone, Copy)]
enum Added<'x> {
    /// Nothing, so that members need not be compared with it.
    Nothing,
    /// To an object.
    Here(&'x Additions<'x>),
    /// To a `_meta`.
    InMeta(&'x MetaAdditions<'x>),
}

/// What becomes of a member because of what the machine adds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It is left out: the machine has the last word.
    Dropped,
    /// The additions to `_meta` go into it.
    Meta,
    /// Nothing but what becomes of it anyway.
    Kept,
}

impl<'x> Added<'x> {
    /// What the application cannot write again.
    const fn own(self) -> &'x [(&'static str, &'x str)] {
        match self {
            Self::Nothing => &[],
            Self::Here(additions) => additions.members,
            Self::InMeta(additions) => additions.members,
        }
    }

    /// What is written unless the application does it.
    const fn defaults(self) -> &'x [(&'static str, &'x str)] {
        match self {
            Self::Here(additions) => additions.defaults,
            Self::Nothing | Self::InMeta(_) => &[],
        }
    }

    /// What goes into its `_meta`.
    const fn meta(self) -> &'x MetaAdditions<'x> {
        match self {
            Self::Here(additions) => &additions.meta,
            Self::Nothing | Self::InMeta(_) => &MetaAdditions::NONE,
        }
    }

    fn reserves(self, key: &str) -> bool {
        matches!(self, Self::InMeta(additions) if additions.reserved.contains(&key))
            || self.own().iter().any(|(name, _)| *name == key)
    }
}

impl<'w, 'a> ObjectWriter<'w, 'a, 'static> {
    pub(super) fn open(writer: &'w mut Writer<'a>) -> Result<Self> {
        Self::with(writer, &Additions::NONE)
    }
}

impl<'w, 'a, 'x> ObjectWriter<'w, 'a, 'x> {
    pub(super) fn with(writer: &'w mut Writer<'a>, additions: &'x Additions<'x>) -> Result<Self> {
        let has_none = additions.is_empty();
        Self::of(writer, if has_none { Added::Nothing } else { Added::Here(additions) })
    }

    /// The `_meta` of an object, with what the machine adds to it.
    pub(super) fn meta(writer: &'w mut Writer<'a>, meta: &'x MetaAdditions<'x>) -> Result<Self> {
        let mut object = Self::of(writer, Added::InMeta(meta))?;
        if !meta.text.is_empty() {
            object.record.begin_addition()?.push(meta.text.as_bytes())?;
        }
        Ok(object)
    }

    #[inline]
    fn of(writer: &'w mut Writer<'a>, added: Added<'x>) -> Result<Self> {
        let mut record = RecordWriter::open(writer)?;
        for (name, value) in added.own() {
            record.add(name, value)?;
        }
        Ok(Self {
            record,
            added,
            overridden: 0,
            overriding: 0,
            meta_written: false,
            meta_is_next: false,
        })
    }

    /// Says what kind of object this is before its members come, in whatever order they do.
    pub(super) fn foresee_kind<'t>(&mut self, tag: impl FnOnce(&str) -> Option<Str<'t>>) {
        self.record.foresee_kind(tag);
    }

    /// Writes a key.
    #[inline]
    pub(super) fn key(&mut self, key: &str) -> Result {
        if let Added::Nothing = self.added {
            return self.record.key(key);
        }
        self.key_beside_additions(key, None)
    }

    /// Writes a key that is there in its wire form.
    pub(super) fn wire_key(&mut self, key: &str, wire: &str) -> Result {
        self.key_beside_additions(key, Some(wire))
    }

    #[inline(never)]
    fn key_beside_additions(&mut self, key: &str, wire: Option<&str>) -> Result {
        match self.fate(key) {
            Fate::Kept => {
                match wire {
                    Some(wire) => self.record.wire_key(key, wire)?,
                    None => self.record.key(key)?,
                }
                if self.record.has_skipped() {
                    // What the revision has no place for is no reason to write the default.
                    self.overriding = 0;
                }
                Ok(())
            }
            Fate::Meta => self.record.free_key(key, wire),
            Fate::Dropped => {
                self.record.skip();
                Ok(())
            }
        }
    }

    fn fate(&mut self, key: &str) -> Fate {
        (self.overriding, self.meta_is_next) = (0, false);
        if self.added.reserves(key) {
            return Fate::Dropped;
        }
        if let Some(index) = self.added.defaults().iter().position(|(name, _)| *name == key) {
            self.overriding = 1 << index;
            self.overridden |= self.overriding;
        }
        if key != "_meta" || self.added.meta().is_empty() {
            return Fate::Kept;
        }
        // A second `_meta`, which only raw JSON can hold, is dropped.
        self.meta_is_next = !core::mem::replace(&mut self.meta_written, true);
        if self.meta_is_next { Fate::Meta } else { Fate::Dropped }
    }

    #[inline(always)]
    pub(super) fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result {
        if self.meta_is_next {
            let meta = self.added.meta();
            return value.serialize(Payload::meta(self.record.writer(), meta));
        }
        self.record.value(value)?;
        self.forget_override();
        Ok(())
    }

    /// Writes the value that comes next in JSON text, or steps over it.
    pub(super) fn next_value(&mut self, source: &mut Source<'_>) -> Result {
        if self.meta_is_next {
            let meta = self.added.meta();
            return Payload::meta(self.record.writer(), meta).raw(source.value()?);
        }
        self.record.next_value(source)?;
        self.forget_override();
        Ok(())
    }

    /// Writes a member that has been written before: a key without escapes, and its value.
    pub(super) fn copy(&mut self, key: &str, value: &str) -> Result {
        let fate = self.fate(key);
        if fate == Fate::Dropped {
            return Ok(());
        }
        self.record.free_key(key, Some(key))?;
        match fate {
            Fate::Meta => Payload::meta(self.record.writer(), self.added.meta()).raw(value),
            _ => self.record.writer().push(value.as_bytes()),
        }
    }

    /// What the application has written instead of a default may have turned out to be nothing.
    #[inline]
    const fn forget_override(&mut self) {
        if self.overriding != 0 && self.record.has_skipped() {
            self.overridden &= !self.overriding;
        }
    }

    fn write_defaults(&mut self) -> Result {
        for (index, (name, value)) in self.added.defaults().iter().enumerate() {
            if self.overridden & (1 << index) == 0 {
                self.record.add(name, value)?;
                self.record.see(name);
            }
        }
        Ok(())
    }

    #[inline]
    pub(super) fn close(&mut self) -> Result {
        if let Added::Nothing = self.added {
            return self.record.close();
        }
        self.close_with_additions()
    }

    #[inline(never)]
    fn close_with_additions(&mut self) -> Result {
        self.record.settle_doubt();
        self.write_defaults()?;
        self.record.end_members()?;
        let meta = self.added.meta();
        let adds = !meta.members.is_empty() || !meta.text.is_empty();
        if adds && !self.meta_written {
            self.key("_meta")?;
            self.value(&())?;
        }
        self.record.writer().push(b"}")
    }

    /// Opens the value of a member that nobody knows, the only one there is.
    pub(super) fn open_variant(&mut self, variant: &'static str, open: &str) -> Result {
        self.key(variant)?;
        if self.meta_is_next || !self.record.is_free() {
            // A variant with the name of a member that means something else.
            return wrong_type();
        }
        self.record.writer().push(open.as_bytes())
    }

    /// What the value of such a member is written with.
    pub(super) const fn writer(&mut self) -> &mut Writer<'a> {
        self.record.writer()
    }
}

impl SerializeMap for ObjectWriter<'_, '_, '_> {
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
