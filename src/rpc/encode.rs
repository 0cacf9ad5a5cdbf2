//! Writes JSON-RPC envelopes around payloads.

use serde::ser::Serialize;

use super::id::Id;
use crate::error::ErrorCode;
use crate::json::{Additions, Empty, EncodeError, Object, Writer};

/// What goes into the `id` of an answer.
#[derive(Clone, Copy)]
pub(crate) enum Answer<'a> {
    /// The id of the request, as it came.
    To(&'a Id<'a>),
    /// `null`: the id could not be read (JSON-RPC 2.0, and MCP up to 2025-06-18).
    Null,
    /// No id at all: the id could not be read (MCP from 2025-11-25 on).
    Absent,
}

impl Answer<'_> {
    fn write(self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        let literal = match self {
            Self::To(id) => id.as_wire(),
            Self::Null => "null",
            Self::Absent => return Ok(()),
        };
        writer.push(b",\"id\":")?;
        writer.push(literal.as_bytes())
    }
}

const OPEN: &[u8] = b"{\"jsonrpc\":\"2.0\"";

/// A request with the id of ours that comes next.
pub(crate) fn write_request<T: Serialize + ?Sized>(
    writer: &mut Writer<'_>,
    id: u64,
    method: &str,
    params: &T,
    additions: Additions<'_>,
) -> Result<(), EncodeError> {
    writer.push(OPEN)?;
    writer.push(b",\"id\":")?;
    writer.push_integer(id)?;
    write_method(writer, method, params, additions)
}

/// A notification.
pub(crate) fn write_notification<T: Serialize + ?Sized>(
    writer: &mut Writer<'_>,
    method: &str,
    params: &T,
) -> Result<(), EncodeError> {
    writer.push(OPEN)?;
    write_method(writer, method, params, Additions::default())
}

fn write_method<T: Serialize + ?Sized>(
    writer: &mut Writer<'_>,
    method: &str,
    params: &T,
    additions: Additions<'_>,
) -> Result<(), EncodeError> {
    writer.push(b",\"method\":")?;
    writer.push_string(method)?;
    params.serialize(Object::new(writer, ",\"params\":", Empty::Omitted, additions))?;
    writer.push(b"}")
}

/// A successful response.
pub(crate) fn write_result<T: Serialize + ?Sized>(
    writer: &mut Writer<'_>,
    id: &Id<'_>,
    result: &T,
    additions: Additions<'_>,
) -> Result<(), EncodeError> {
    writer.push(OPEN)?;
    Answer::To(id).write(writer)?;
    result.serialize(Object::new(writer, ",\"result\":", Empty::Braces, additions))?;
    writer.push(b"}")
}

/// An error response.
pub(crate) fn write_error<T: Serialize + ?Sized>(
    writer: &mut Writer<'_>,
    id: Answer<'_>,
    code: ErrorCode,
    message: &str,
    data: Option<&T>,
) -> Result<(), EncodeError> {
    writer.push(OPEN)?;
    id.write(writer)?;
    writer.push(b",\"error\":{\"code\":")?;
    writer.push_integer(code.get())?;
    writer.push(b",\"message\":")?;
    writer.push_string(message)?;
    if let Some(data) = data {
        writer.push(b",\"data\":")?;
        data.serialize(&mut *writer)?;
    }
    writer.push(b"}}")
}
