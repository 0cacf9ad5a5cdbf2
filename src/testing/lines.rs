//! [`Lines`], a splitter of bytes into messages, one per line.

use alloc::borrow::ToOwned;
use alloc::vec::Vec;
use core::mem;

/// The part of an incomplete message received so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Lines {
    unfinished: Vec<u8>,
}

impl Lines {
    /// Returns the messages that these bytes complete.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut messages = Vec::new();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.unfinished.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                messages.extend(self.finish());
            }
        }
        messages
    }

    /// Returns the part received so far, which is a message unless it is blank.
    pub(super) fn finish(&mut self) -> Option<Vec<u8>> {
        let line = mem::take(&mut self.unfinished);
        let message = line.trim_ascii();
        (!message.is_empty()).then(|| message.to_owned())
    }
}
