//! `Source`: a position in JSON text that is being written.

use super::encode_error::{EncodeError, Result};
use crate::json::walk::Walk;

/// A position in JSON text that is being written.
#[derive(Clone, Copy)]
pub(super) struct Source<'t> {
    pub(super) walk: Walk<'t>,
    /// Whether there is no newline in it, so that nothing in it has to be made one line.
    pub(super) is_line: bool,
}

impl<'t> Source<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let is_line = memchr::memchr2(b'\n', b'\r', text.as_bytes()).is_none();
        Self { walk: Walk::new(text), is_line }
    }

    /// Steps over the next value. There is one if the text is JSON, which a type that passes itself off
    /// as `RawValue` need not know.
    #[inline]
    pub(super) fn value(&mut self) -> Result<&'t str> {
        self.walk.value().ok_or(EncodeError::Payload)
    }
}
