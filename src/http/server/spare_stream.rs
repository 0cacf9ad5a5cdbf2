//! The memory of a stream that is over.

use alloc::boxed::Box;
use core::fmt;
use core::hash::{Hash, Hasher};

use super::stream::Stream;
use crate::frame::Outbox;
use crate::time::Instant;

/// A stream without anything in it, for the next POST: most sessions have one after the other.
///
/// It is no state: all of them are equal, and a copy has none.
#[derive(Default)]
pub(super) struct SpareStream(Option<Box<Stream>>);

impl SpareStream {
    /// Keeps the memory of a stream, and drops what is in it.
    pub(super) fn keep(&mut self, mut stream: Box<Stream>, outbox: Outbox) {
        *stream = Stream::new(outbox, Instant::EPOCH);
        self.0 = Some(stream);
    }

    /// A stream that begins now, if there is the memory for one.
    pub(super) fn take(&mut self, now: Instant) -> Option<Box<Stream>> {
        let mut stream = self.0.take()?;
        stream.begin(now);
        Some(stream)
    }
}

impl Clone for SpareStream {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for SpareStream {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for SpareStream {}

impl Hash for SpareStream {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl fmt::Debug for SpareStream {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SpareStream").finish_non_exhaustive()
    }
}
