//! [`SpareStream`], the reusable memory of a removed stream.

use alloc::boxed::Box;
use core::fmt;
use core::hash::{Hash, Hasher};

use super::stream::Stream;
use crate::frame::Outbox;
use crate::time::Instant;

/// An empty stream for the next POST: most sessions have one stream after another.
///
/// The spare stream is a cache, not state: all values are equal, and a clone is empty.
#[derive(Default)]
pub(super) struct SpareStream(Option<Box<Stream>>);

impl SpareStream {
    /// Keeps the memory of a stream and drops its content.
    pub(super) fn keep(&mut self, mut stream: Box<Stream>, outbox: Outbox) {
        *stream = Stream::new(outbox, Instant::EPOCH);
        self.0 = Some(stream);
    }

    /// Returns a stream that starts now, if memory for one is kept.
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
