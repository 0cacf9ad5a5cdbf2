//! A result that has been written before it is its turn, for one request.

use alloc::vec::Vec;
use core::fmt;

use serde::ser::{Serialize, SerializeStruct, Serializer};

use super::additions::Additions;
use super::encode_error::EncodeError;
use super::payload::Payload;
use super::payload_writer::{Empty, PayloadWriter};
use super::shape::Form;
use super::writer::Writer;
use crate::capability::CapabilitySet;
use crate::json::raw::{MemberTexts, RAW_VALUE};

/// The result of one request as JSON text in a buffer of the caller, checked against what its method asks for in the
/// revision of the request.
///
/// [`Request::write_result`](crate::Request::write_result) writes it without the machine, so that nothing of the
/// application's runs while the machine is locked. [`respond`](crate::Connection::respond) then copies it. For
/// a result that many requests are answered with, [`Prepared`](crate::schema::Prepared) owns its text.
///
/// `Debug` shows its length only. For serializers it is JSON text, as [`Raw`](crate::json::Raw) is.
pub struct WrittenResult<'b> {
    text: &'b str,
    /// What it has been compared with; nothing if MCP does not have the method.
    form: Option<Form>,
    /// What the peer has to offer for it.
    needs: CapabilitySet,
}

impl<'b> WrittenResult<'b> {
    /// Writes a result of this form; any object if there is none.
    pub(crate) fn of(
        form: Option<Form>,
        result: &dyn Payload,
        buffer: &'b mut Vec<u8>,
    ) -> Result<Self, EncodeError> {
        buffer.clear();
        let mut writer = Writer::new(buffer, usize::MAX);
        result.write(PayloadWriter::new(&mut writer, "", Empty::Braces, &Additions::NONE, form))?;
        let needs = writer.needs();
        // Everything the writer appends is UTF-8.
        let text = core::str::from_utf8(buffer).map_err(|_| EncodeError::Payload)?;
        Ok(Self { text, form, needs })
    }

    /// The JSON text, without what the machine adds.
    pub const fn as_json(&self) -> &'b str {
        self.text
    }

    /// Whether this is what the text has been compared with.
    pub(super) fn is_for(&self, form: Option<Form>) -> bool {
        self.form == form
    }

    /// What the peer has to offer for it.
    pub(super) const fn needs(&self) -> CapabilitySet {
        self.needs
    }

    /// Its members. Whatever it is, it is an object without white space.
    pub(super) fn members(&self) -> MemberTexts<'b> {
        MemberTexts::of(self.text)
    }
}

impl fmt::Debug for WrittenResult<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "WrittenResult({} bytes)", self.text.len())
    }
}

impl Payload for WrittenResult<'_> {
    fn write(&self, payload: PayloadWriter<'_, '_, '_>) -> Result<(), EncodeError> {
        payload.written(self)
    }
}

impl Serialize for WrittenResult<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut raw = serializer.serialize_struct(RAW_VALUE, 1)?;
        raw.serialize_field(RAW_VALUE, self.as_json())?;
        raw.end()
    }
}
