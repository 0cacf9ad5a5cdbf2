//! [`WrittenResult`]: the result of one request, written before the response is sent.

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

/// The result of one request as JSON text in a buffer of the caller, compared with the schema of its method in the
/// revision of the request.
///
/// [`Request::write_result`](crate::Request::write_result) writes the result without the connection, so that no code
/// of the application runs while the connection is locked. [`respond`](crate::Connection::respond) then copies the
/// result. For a result of many requests use [`Prepared`](crate::schema::Prepared), which owns its text.
///
/// `Debug` shows only the length. Serializers receive the JSON text, as for [`Raw`](crate::json::Raw).
pub struct WrittenResult<'b> {
    /// The JSON text: everything that the writer appends is UTF-8.
    bytes: &'b [u8],
    /// The form that the text was compared with; `None` if MCP does not have the method.
    form: Option<Form>,
    /// The capabilities that the peer must have declared.
    needs: CapabilitySet,
    /// Which members that the connection may add the text has, if that is known.
    own_addable: Option<u8>,
}

impl<'b> WrittenResult<'b> {
    /// Writes a result and compares it with the form. Without a form, any object is accepted.
    pub(crate) fn of(
        form: Option<Form>,
        result: &dyn Payload,
        buffer: &'b mut Vec<u8>,
    ) -> Result<Self, EncodeError> {
        buffer.clear();
        let mut writer = Writer::new(buffer, usize::MAX);
        result.write(PayloadWriter::new(&mut writer, "", Empty::Braces, &Additions::NONE, form))?;
        let (needs, own_addable) = (writer.needs(), writer.own_addable());
        Ok(Self { bytes: buffer, form, needs, own_addable })
    }

    /// Returns the JSON text, without the members that the connection adds.
    pub fn as_json(&self) -> &'b str {
        core::str::from_utf8(self.bytes).unwrap_or_default()
    }

    /// Returns the bytes of the JSON text.
    pub(super) const fn as_bytes(&self) -> &'b [u8] {
        self.bytes
    }

    /// Whether the text was compared with this form.
    pub(super) fn is_for(&self, form: Option<Form>) -> bool {
        self.form == form
    }

    /// Returns the capabilities that the peer must have declared.
    pub(super) const fn needs(&self) -> CapabilitySet {
        self.needs
    }

    /// Returns which members that the connection may add the text has, if that is known.
    pub(super) const fn own_addable(&self) -> Option<u8> {
        self.own_addable
    }

    /// Returns the members. The text is always an object without white space.
    pub(super) fn members(&self) -> MemberTexts<'b> {
        MemberTexts::of(self.as_json())
    }
}

impl fmt::Debug for WrittenResult<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "WrittenResult({} bytes)", self.bytes.len())
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
