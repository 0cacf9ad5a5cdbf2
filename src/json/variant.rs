//! A variant of an enum as the one object that `params` or `result` is: `{"variant":…}`.

use serde::ser::{Serialize, SerializeStructVariant, SerializeTupleVariant};

use super::object::OpenObject;
use super::write::EncodeError;

/// The object with its first member begun.
pub(crate) struct OpenVariant<'w, 'a, 'x> {
    object: OpenObject<'w, 'a, 'x>,
    first: bool,
    /// What closes the value of the member.
    close: &'static str,
}

type Result<T = (), E = EncodeError> = core::result::Result<T, E>;

impl<'w, 'a, 'x> OpenVariant<'w, 'a, 'x> {
    pub(super) fn open(
        mut object: OpenObject<'w, 'a, 'x>,
        variant: &'static str,
        open: &'static str,
        close: &'static str,
    ) -> Result<Self> {
        object.key(variant, None)?;
        if !object.takes_plain_value() {
            // A variant with the name of a member that the machine owns.
            return Err(EncodeError::NotAnObject);
        }
        object.writer().push(open.as_bytes())?;
        Ok(Self { object, first: true, close })
    }

    fn separate(&mut self) -> Result {
        if self.first {
            self.first = false;
            return Ok(());
        }
        self.object.writer().push(b",")
    }

    fn close(mut self) -> Result {
        self.object.writer().push(self.close.as_bytes())?;
        self.object.close()
    }
}

impl SerializeTupleVariant for OpenVariant<'_, '_, '_> {
    type Ok = ();
    type Error = EncodeError;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result {
        self.separate()?;
        value.serialize(self.object.writer())
    }

    fn end(self) -> Result {
        self.close()
    }
}

impl SerializeStructVariant for OpenVariant<'_, '_, '_> {
    type Ok = ();
    type Error = EncodeError;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result {
        self.separate()?;
        let writer = self.object.writer();
        writer.push_string(key)?;
        writer.push(b":")?;
        value.serialize(writer)
    }

    fn end(self) -> Result {
        self.close()
    }
}
