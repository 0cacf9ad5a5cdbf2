//! [`Message`]: a value of the model that writes itself as params or a result.

use alloc::vec::Vec;

use super::additions::{Additions, MetaAdditions};
use super::encode_error::{EncodeError, Result};
use super::model_writer::{ModelWriter, NeedsFilter, Written};
use super::payload_writer::PayloadWriter;
use super::shape::Record;
use super::writer::Writer;

/// A value of the model as the params or the result of a message.
pub(crate) trait Message {
    /// Returns the table that values of this type are compared with.
    fn record(&self) -> &'static Record;

    /// Writes the members, each with a leading comma.
    fn write_members(&self, out: &mut ModelWriter<'_, '_>) -> Written;

    /// Returns the [`addable`] members that the value itself has, one bit each.
    fn own_addable(&self) -> u8;
}

/// Returns the bit of a member that the connection may add, or 0 if it adds no member of this name.
pub(crate) const fn addable(name: &str) -> u8 {
    match name.as_bytes() {
        b"_meta" => META,
        b"ttlMs" => 2,
        b"cacheScope" => 4,
        b"resultType" => 8,
        _ => 0,
    }
}

const META: u8 = 1;

impl PayloadWriter<'_, '_, '_> {
    /// Writes a message of the model: directly if possible, otherwise through the filter.
    pub(crate) fn message(mut self, message: &dyn Message) -> Result {
        let start = self.writer.position();
        if self.straight(message).is_ok() {
            return Ok(());
        }
        self.writer.truncate(start);
        self.filtered(message)
    }

    /// Writes a message unchanged. Fails with [`NeedsFilter`] if its revision cannot express all of it.
    fn straight(&mut self, message: &dyn Message) -> Written {
        let additions = self.additions;
        let own = message.own_addable();
        let is_meant = self.form.is_none_or(|form| core::ptr::eq(form.record, message.record()));
        if !is_meant || !stands_beside(own, additions) || self.meta.is_some() {
            return Err(NeedsFilter);
        }
        let out = &mut match self.form {
            Some(form) => ModelWriter::of(self.writer, form.revision),
            None => ModelWriter::of_all(self.writer),
        };
        out.piece(self.prefix)?;
        let start = out.position();
        if additions.is_empty() {
            message.write_members(out)?;
        } else {
            write_added(out, additions.members)?;
            message.write_members(out)?;
            write_defaults(out, additions, own)?;
        }
        out.enclose(start, b'{', "}")?;
        self.writer.note_addable(own);
        Ok(())
    }

    /// Writes an object that is already JSON text, a line without white space, between the members that the
    /// connection adds. `own` are its addable members, and none of them is added.
    pub(super) fn beside_additions(&mut self, object: &[u8], own: u8) -> Result {
        let additions = self.additions;
        let out = &mut ModelWriter::of_all(self.writer);
        let members = object.strip_prefix(b"{").and_then(|rest| rest.strip_suffix(b"}"));
        let written = (|| {
            out.piece(self.prefix)?;
            let start = out.position();
            write_added(out, additions.members)?;
            if let Some(members) = members.filter(|members| !members.is_empty()) {
                out.piece(",")?;
                out.copy_bytes(members)?;
            }
            write_defaults(out, additions, own)?;
            out.enclose(start, b'{', "}")
        })();
        // Copying fails only for lack of room.
        written.map_err(|NeedsFilter| EncodeError::Full)
    }

    /// Writes all of a message into a buffer, and then the parts that its form has.
    #[cold]
    #[inline(never)]
    pub(crate) fn filtered(self, message: &dyn Message) -> Result {
        let mut buffer = Vec::new();
        let mut writer = Writer::new(&mut buffer, usize::MAX);
        let out = &mut ModelWriter::of_all(&mut writer);
        let written = message.write_members(out).and_then(|()| out.enclose(0, b'{', "}"));
        let text = core::str::from_utf8(&buffer).ok().filter(|_| written.is_ok());
        // Without a revision every value can be written, and the output is UTF-8.
        self.raw(text.ok_or(EncodeError::Payload)?)
    }
}

/// Whether an object with these addable members can be written between the additions, unchanged: it has none of the
/// members that the connection sets, and no `_meta` that the additions would have to be merged with.
pub(super) fn stands_beside(own: u8, additions: &Additions<'_>) -> bool {
    let sets = additions.members.iter().any(|(name, _)| own & addable(name) != 0);
    !sets && (own & META == 0 || additions.meta.is_empty())
}

/// Writes members of the connection, each with a leading comma.
pub(super) fn write_added(
    out: &mut ModelWriter<'_, '_>,
    members: &[(&'static str, &str)],
) -> Written {
    for (name, text) in members {
        out.piece(",\"")?;
        out.piece(name)?;
        out.piece("\":")?;
        out.copy(text)?;
    }
    Ok(())
}

/// Writes the defaults and the `_meta` of the connection after the members of a message. `own` are the addable
/// members that the message itself has.
pub(super) fn write_defaults(
    out: &mut ModelWriter<'_, '_>,
    additions: &Additions<'_>,
    own: u8,
) -> Written {
    for default in additions.defaults {
        if own & addable(default.0) == 0 {
            write_added(out, core::slice::from_ref(default))?;
        }
    }
    let MetaAdditions { members, text, reserved: _ } = additions.meta;
    if members.is_empty() && text.is_empty() {
        return Ok(());
    }
    out.piece(",\"_meta\":")?;
    let start = out.position();
    write_added(out, members)?;
    if !text.is_empty() {
        out.piece(",")?;
        out.copy(text)?;
    }
    out.enclose(start, b'{', "}")
}
