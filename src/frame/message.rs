//! [`Frame`], the bytes of one message, and [`Origin`], what the framing knows about them.
//!
//! A frame borrows its bytes and is never longer than [`LONGEST_FRAME`].

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::json::JsonError;

/// The bytes that a line may hold beside its frame: a byte order mark and a carriage return.
pub(super) const MARGIN: usize = 4;

/// The upper bound of the length of a frame: offsets within a frame have 32 bits, and the address space has room for
/// a frame and a chunk.
pub(super) const LONGEST_FRAME: usize =
    if usize::BITS > 32 { u32::MAX as usize } else { isize::MAX as usize / 2 } - MARGIN;

/// One message as bytes, with what the framing knows about it.
///
/// Frames come out of an [`Inbox`](crate::Inbox) or of [`Frames`](crate::Frames); a message that arrived whole by
/// another way is turned into one with `Frame::from(bytes)`. `Debug` shows the length only.
///
/// ```
/// use mcp_sansio::Frame;
///
/// let frame = Frame::from(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
/// assert_eq!(frame.bytes().len(), 54);
/// let message = format!(r#"{{"jsonrpc":"2.0","id":{},"method":"ping"}}"#, 7);
/// assert_eq!(Frame::from(&message).bytes(), message.as_bytes());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Frame<'a> {
    bytes: &'a [u8],
    origin: Origin,
}

/// How the bytes of a frame came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Origin {
    /// They are a message, as far as the framing can tell.
    Message,
    /// They are what stood behind the last newline when the input ended.
    LastLine,
    /// They are an element of a batch.
    Element(Element),
    /// They are an array with nothing in it.
    EmptyBatch,
    /// They are an array with more elements than allowed.
    LongBatch,
    /// They begin like an array and are none.
    BrokenBatch(JsonError),
    /// They were too many and are gone.
    TooLong {
        /// How many they were, with everything in front of the newline.
        length: u64,
    },
}

/// The place of a message in its batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Element {
    pub(crate) index: u32,
    pub(crate) count: u32,
}

impl<'a> Frame<'a> {
    pub(crate) const fn new(bytes: &'a [u8], origin: Origin) -> Self {
        Self { bytes, origin }
    }

    /// The bytes of the message, without the newline that ended it.
    ///
    /// Empty for a line that was too long to keep.
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Whether it is an element of a JSON-RPC batch.
    pub const fn is_in_batch(&self) -> bool {
        matches!(self.origin, Origin::Element(_))
    }

    /// Whether it is the first element of a batch.
    pub(crate) const fn begins_batch(&self) -> bool {
        matches!(self.origin, Origin::Element(Element { index: 0, .. }))
    }

    /// Whether it is the last one of its body: alone there, or the last element of a batch.
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
