//! [`ItemList`]: the result of a list method, whose items are payloads.

use alloc::vec::Vec;

use super::additions::Additions;
use super::encode_error::{EncodeError, Result};
use super::message::{write_added, write_defaults};
use super::model_writer::{ModelWriter, NeedsFilter};
use super::payload::Payload;
use super::payload_writer::{Empty, PayloadWriter};
use super::shape::{Form, Record, Shape};
use super::writer::Writer;

/// A function that passes the items of a list one by one to a callback, until the callback fails.
type Items<'p> = &'p dyn Fn(&mut dyn FnMut(&dyn Payload) -> Result) -> Result;

/// The items of a list, and the cursor of the next page.
pub(crate) struct ItemList<'p> {
    /// The member that holds the items.
    pub(crate) name: &'static str,
    pub(crate) items: Items<'p>,
    pub(crate) next_cursor: Option<&'p str>,
}

impl PayloadWriter<'_, '_, '_> {
    /// Writes a list whose items write themselves.
    pub(crate) fn items(self, list: &ItemList<'_>) -> Result {
        let item = self.form.map(|Form { record, revision }| {
            item_record(record, list.name).map(|record| Form { record, revision })
        });
        match item {
            None if self.meta.is_none() => self.items_of(list, None),
            Some(Some(form)) if self.meta.is_none() => self.items_of(list, Some(form)),
            // The method lists something else; the filter reports the misfit.
            _ => {
                let mut buffer = Vec::new();
                let mut writer = Writer::new(&mut buffer, usize::MAX);
                let none = &Additions::NONE;
                PayloadWriter::new(&mut writer, "", Empty::Braces, none, None)
                    .items_of(list, None)?;
                let text = core::str::from_utf8(&buffer).map_err(|_| EncodeError::Payload)?;
                self.raw(text)
            }
        }
    }

    /// Writes a list of items of this form.
    fn items_of(self, list: &ItemList<'_>, form: Option<Form>) -> Result {
        let Self { writer, prefix, additions, .. } = self;
        // The only possible error between the items is a full buffer.
        let full = |_: NeedsFilter| EncodeError::Full;
        writer.push(prefix.as_bytes())?;
        let start = writer.position();
        write_added(&mut ModelWriter::of_all(writer), additions.members).map_err(full)?;
        for piece in [",\"", list.name, "\":["] {
            writer.push(piece.as_bytes())?;
        }
        let mut index = 0;
        (list.items)(&mut |item| {
            if 0 < index {
                writer.push(b",")?;
            }
            let payload = PayloadWriter::new(writer, "", Empty::Braces, &Additions::NONE, form);
            let written = item.write(payload);
            index += 1;
            written.map_err(|error| error.in_element(index - 1).inside(list.name))
        })?;
        writer.push(b"]")?;
        if let Some(cursor) = list.next_cursor {
            writer.push(b",\"nextCursor\":")?;
            writer.push_string(cursor)?;
        }
        let out = &mut ModelWriter::of_all(writer);
        write_defaults(out, additions, 0).map_err(full)?;
        out.enclose(start, b'{', "}").map_err(full)
    }
}

/// Returns the table of the items of a list.
fn item_record(record: &Record, name: &str) -> Option<&'static Record> {
    let (_, field) = record.field(name.as_bytes())?;
    match field.shape {
        Shape::List(Shape::Record(item)) => Some(item),
        _ => None,
    }
}
