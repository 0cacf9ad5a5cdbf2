//! [`Frame`], the bytes of one message, and [`Origin`], the framing information about them.
//!
//! A frame borrows its bytes and is never longer than [`LONGEST_FRAME`].

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::json::JsonError;

/// The maximum number of bytes of a line beside its frame: a byte order mark and a carriage return.
pub(super) const MARGIN: usize = 4;

/// The upper bound of the length of a frame: offsets within a frame have 32 bits, and the address space must fit a
/// frame and a chunk.
pub(super) const LONGEST_FRAME: usize =
    if usize::BITS > 32 { u32::MAX as usize } else { isize::MAX as usize / 2 } - MARGIN;

/// The bytes of one message, with its framing information.
///
/// An [`Inbox`](crate::Inbox) or [`Frames`](crate::Frames) yields frames. `Frame::from(bytes)` converts a message
/// that arrived whole by another transport. `Debug` shows only the length.
///
/// ```
/// use mcp_sansio::Frame;
///
/// let frame = Frame::from(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
/// assert_eq!(frame.bytes().len(), 54);
/// let message = format!(r#"{{"jsonrpc":"2.0","id":{},"method":"ping"}}"#, 7);
/// assert_eq!(Frame::from(&message).bytes(), message.as_bytes());
/// ```
#[doc(alias("JSONRPCMessage", "JSONRPCRequest"))]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Frame<'a> {
    bytes: &'a [u8],
    origin: Origin,
}

/// The framing information of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Origin {
    /// The bytes are a message, as far as the framing checks it.
    Message,
    /// The bytes are the remainder behind the last newline when the input ended.
    LastLine,
    /// The bytes are an element of a batch.
    Element(Element),
    /// The bytes are an empty array.
    EmptyBatch,
    /// The bytes are an array with more elements than allowed.
    LongBatch,
    /// The bytes begin like an array but are not a valid one.
    BrokenBatch(JsonError),
    /// The line was too long, and its bytes were dropped.
    TooLong {
        /// The length of the line, with everything in front of the newline.
        length: u64,
    },
}

/// The position of a message in its batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Element {
    pub(crate) index: u32,
    pub(crate) count: u32,
}

impl<'a> Frame<'a> {
    pub(crate) const fn new(bytes: &'a [u8], origin: Origin) -> Self {
        Self { bytes, origin }
    }

    /// Returns the bytes of the message, without the newline that ended it.
    ///
    /// The slice is empty for a line that was too long to keep.
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Whether the message is an element of a JSON-RPC batch.
    pub const fn is_in_batch(&self) -> bool {
        matches!(self.origin, Origin::Element(_))
    }

    /// Whether the message is the first element of a batch.
    pub(crate) const fn begins_batch(&self) -> bool {
        matches!(self.origin, Origin::Element(Element { index: 0, .. }))
    }

    /// Whether the message is the last one of its body: the only one, or the last element of a batch.
    pub const fn is_last(&self) -> bool {
        match self.origin {
            Origin::Element(element) => element.index + 1 == element.count,
            _ => true,
        }
    }

    pub(crate) const fn origin(&self) -> Origin {
        self.origin
    }
}

impl<'a> From<&'a [u8]> for Frame<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self::new(bytes, Origin::Message)
    }
}

impl<'a> From<&'a str> for Frame<'a> {
    fn from(text: &'a str) -> Self {
        Self::from(text.as_bytes())
    }
}

impl<'a> From<&'a String> for Frame<'a> {
    fn from(text: &'a String) -> Self {
        Self::from(text.as_bytes())
    }
}

impl<'a> From<&'a Vec<u8>> for Frame<'a> {
    fn from(bytes: &'a Vec<u8>) -> Self {
        Self::from(bytes.as_slice())
    }
}

impl<'a, const N: usize> From<&'a [u8; N]> for Frame<'a> {
    fn from(bytes: &'a [u8; N]) -> Self {
        Self::from(bytes.as_slice())
    }
}

impl fmt::Debug for Frame<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Frame")
            .field("bytes", &self.bytes.len())
            .field("origin", &self.origin)
            .finish()
    }
}
