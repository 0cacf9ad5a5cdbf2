//! [`MessageBytes`], the raw bytes of a rejected message, for inspection.

use alloc::borrow::Cow;
use alloc::string::String;
use core::fmt;
use core::ops::Deref;

/// The bytes of a message that could not be processed, borrowed from the input or owned.
///
/// `Debug` shows only the length: a message sent by mistake can contain a secret.
///
/// ```
/// use mcp_sansio::event::MessageBytes;
///
/// let bytes = MessageBytes::from(b"listening on port 80".as_slice());
/// assert_eq!(bytes.to_text(), "listening on port 80");
/// assert_eq!(format!("{bytes:?}"), "MessageBytes(20 bytes)");
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct MessageBytes<'a>(Cow<'a, [u8]>);

impl MessageBytes<'_> {
    /// Returns the bytes as text, with U+FFFD for invalid UTF-8.
    pub fn to_text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.0)
    }

    /// Copies the bytes, so that the value no longer borrows the input.
    pub fn into_owned(self) -> MessageBytes<'static> {
        MessageBytes(Cow::Owned(self.0.into_owned()))
    }
}

impl Deref for MessageBytes<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl<'a> From<&'a [u8]> for MessageBytes<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self(Cow::Borrowed(bytes))
    }
}

impl fmt::Debug for MessageBytes<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "MessageBytes({} bytes)", self.0.len())
    }
}
