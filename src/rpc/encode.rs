//! Writers of JSON-RPC envelopes around payloads.

use core::fmt::Display;

use super::id::Id;
use super::message::ErrorObject;
use crate::codes::ErrorCode;
use crate::json::Raw;
use crate::schema::shape::Form;
use crate::schema::{
    Additions, Empty, EncodeError, MetaAdditions, Misfit, Payload, PayloadWriter, Problem, Writer,
};

/// The `id` of a response.
#[derive(Clone, Copy)]
pub(crate) enum ReplyTo<'a> {
    /// The id of the request in its wire form.
    To(&'a Id<'a>),
    /// `null`: the id could not be read (JSON-RPC 2.0, and MCP up to 2025-06-18).
    Null,
    /// No id at all: the id could not be read (MCP from 2025-11-25 on).
    Absent,
}

impl ReplyTo<'_> {
    /// Writes the beginning of a response.
    fn open(self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        let literal = match self {
            Self::To(id) => id.as_wire(),
            Self::Null => "null",
            Self::Absent => return writer.push(OPEN),
        };
        writer.push(OPEN_WITH_ID)?;
        writer.push(literal.as_bytes())
    }
}

const OPEN: &[u8] = b"{\"jsonrpc\":\"2.0\"";

/// The beginning of a message with an id; the id follows.
const OPEN_WITH_ID: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":";

/// Writes a request with an id of this side.
pub(crate) fn write_request(
    writer: &mut Writer<'_>,
    id: u64,
    method: &str,
    params: &dyn Payload,
    additions: &Additions<'_>,
    form: Option<Form>,
) -> Result<(), EncodeError> {
    writer.push(OPEN_WITH_ID)?;
    writer.push_integer(id)?;
    write_method(writer, method, params, additions, form)
}

/// Writes a notification.
pub(crate) fn write_notification(
    writer: &mut Writer<'_>,
    method: &str,
    params: &dyn Payload,
    form: Option<Form>,
) -> Result<(), EncodeError> {
    write_notification_with(writer, method, params, MetaAdditions::NONE, form)
}

/// Writes a notification with additional `_meta` members.
pub(crate) fn write_notification_with(
    writer: &mut Writer<'_>,
    method: &str,
    params: &dyn Payload,
    meta: MetaAdditions<'_>,
    form: Option<Form>,
) -> Result<(), EncodeError> {
    writer.push(OPEN)?;
    write_method(writer, method, params, &Additions { meta, ..Additions::NONE }, form)
}

fn write_method(
    writer: &mut Writer<'_>,
    method: &str,
    params: &dyn Payload,
    additions: &Additions<'_>,
    form: Option<Form>,
) -> Result<(), EncodeError> {
    writer.push(b",\"method\":")?;
    writer.push_string(method)?;
    params.write(PayloadWriter::new(writer, ",\"params\":", Empty::Omitted, additions, form))?;
    writer.push(b"}")
}

/// Writes a successful response.
pub(crate) fn write_result(
    writer: &mut Writer<'_>,
    id: &Id<'_>,
    result: &dyn Payload,
    additions: &Additions<'_>,
    form: Option<Form>,
) -> Result<(), EncodeError> {
    ReplyTo::To(id).open(writer)?;
    result.write(PayloadWriter::new(writer, ",\"result\":", Empty::Braces, additions, form))?;
    writer.push(b"}")
}

/// Writes a successful response with an empty result.
pub(crate) fn write_success(writer: &mut Writer<'_>, id: &Id<'_>) -> Result<(), EncodeError> {
    ReplyTo::To(id).open(writer)?;
    writer.push(b",\"result\":{}}")
}

/// The content of an error response.
#[derive(Clone, Copy)]
pub(crate) struct Fault<'a> {
    pub(crate) code: ErrorCode,
    pub(crate) message: &'a dyn Display,
    pub(crate) data: Option<&'a dyn ErrorData>,
}

/// The `data` of an error: any JSON value.
pub(crate) trait ErrorData {
    /// Appends the data, validated against `form` if there is one.
    fn write(&self, writer: &mut Writer<'_>, form: Option<Form>) -> Result<(), EncodeError>;
}

impl ErrorData for Raw<'_> {
    fn write(&self, writer: &mut Writer<'_>, form: Option<Form>) -> Result<(), EncodeError> {
        if form.is_none() {
            return writer.push_raw(self.as_json());
        }
        let payload = PayloadWriter::new(writer, "", Empty::Braces, &Additions::NONE, form);
        Payload::write(self, payload)
    }
}

impl<'a> Fault<'a> {
    /// Creates a fault without data.
    pub(crate) const fn plain(code: ErrorCode, message: &'a dyn Display) -> Self {
        Self { code, message, data: None }
    }

    /// Creates a fault from a received error object, unchanged.
    pub(crate) const fn of(error: &'a ErrorObject<'a>) -> Self {
        let data = match &error.data {
            Some(data) => Some(data as &dyn ErrorData),
            None => None,
        };
        Self { code: error.code, message: &error.message, data }
    }
}

/// Writes an error response whose data must match `form`, if there is one.
pub(crate) fn write_error(
    writer: &mut Writer<'_>,
    id: ReplyTo<'_>,
    fault: Fault<'_>,
    form: Option<Form>,
) -> Result<(), EncodeError> {
    id.open(writer)?;
    writer.push(b",\"error\":{\"code\":")?;
    writer.push_integer(fault.code.get())?;
    writer.push(b",\"message\":")?;
    writer.push_display(fault.message)?;
    match (fault.data, form) {
        (Some(data), form) => {
            writer.push(b",\"data\":")?;
            data.write(writer, form)?;
        }
        (None, Some(_)) => return Err(Misfit::at("data", Problem::Missing).into()),
        (None, None) => {}
    }
    writer.push(b"}}")
}
