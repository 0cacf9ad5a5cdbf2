//! `Source`: a position in the JSON text that is being written.

use super::encode_error::{EncodeError, Result};
use crate::json::walk::Walk;

/// A position in the JSON text that is being written.
#[derive(Clone, Copy)]
pub(super) struct Source<'t> {
    pub(super) walk: Walk<'t>,
    /// Whether the text has no newline, so that its parts need no conversion to one line.
    pub(super) is_line: bool,
}

impl<'t> Source<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let is_line = memchr::memchr2(b'\n', b'\r', text.as_bytes()).is_none();
        Self { walk: Walk::new(text), is_line }
    }

    /// Steps over the next value. Fails if the text is not JSON, which is possible for a type that imitates
    /// `RawValue`.
    #[inline]
    pub(super) fn value(&mut self) -> Result<&'t str> {
        self.walk.value().ok_or(EncodeError::Payload)
    }
}
