//! What can be wrong with JSON text.

use core::fmt;

/// Why a text is not JSON that this crate accepts, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("{kind} at byte {offset}")]
pub struct JsonError {
    kind: JsonErrorKind,
    offset: usize,
}

impl JsonError {
    pub(crate) const fn new(kind: JsonErrorKind, offset: usize) -> Self {
        Self { kind, offset }
    }

    /// What is wrong.
    pub const fn kind(self) -> JsonErrorKind {
        self.kind
    }

    /// The byte at which it was noticed, counted from the start of the text.
    pub const fn offset(self) -> usize {
        self.offset
    }
}

/// The ways in which a text fails to be JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum JsonErrorKind {
    /// The text ends before its value does, or holds no value at all.
    Ended,
    /// A byte stands where the grammar has no place for it.
    Unexpected,
    /// A string holds a raw control character.
    ControlCharacter,
    /// A string holds a backslash that begins no escape.
    Escape,
    /// Something follows the value.
    Trailing,
    /// The value is not an object.
    NotAnObject,
    /// The value nests deeper than [`Limits::depth`](crate::Limits::depth).
    TooDeep,
    /// The text is not UTF-8.
    NotUtf8,
}

impl fmt::Display for JsonErrorKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Ended => "the JSON text ends too early",
            Self::Unexpected => "unexpected character in JSON",
            Self::ControlCharacter => "raw control character in a JSON string",
            Self::Escape => "invalid escape in a JSON string",
            Self::Trailing => "trailing characters after the JSON value",
            Self::NotAnObject => "the JSON value is not an object",
            Self::TooDeep => "the JSON value nests too deep",
            Self::NotUtf8 => "invalid UTF-8",
        })
    }
}

/// A payload that is valid JSON but does not fit the type it was decoded into.
///
/// The peer is at fault if the type follows the schema, otherwise the type is. The message can
/// quote the payload.
#[derive(Debug, thiserror::Error)]
#[error("payload does not fit its type: {source}")]
pub struct ParseError {
    #[from]
    source: serde_json::Error,
}
