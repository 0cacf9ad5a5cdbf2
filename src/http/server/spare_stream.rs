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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Framing;
    use crate::limits::Limits;

    #[test]
    fn the_next_stream_has_the_memory_of_a_removed_one() {
        let outbox = || Outbox::new(Framing::Messages, &Limits::default());
        let (early, late) = (Instant::from_millis(1), Instant::from_millis(2));
        let mut spare = SpareStream::default();
        assert!(spare.take(early).is_none());
        let mut stream = Box::new(Stream::new(outbox(), early));
        stream.status = 404;
        let place = core::ptr::from_ref(&*stream);
        spare.keep(stream, outbox());
        assert!(spare.clone().take(late).is_none(), "a clone is empty");
        assert_eq!(alloc::format!("{spare:?}"), "SpareStream { .. }");
        let next = spare.take(late);
        assert_eq!(next.as_deref().map(core::ptr::from_ref), Some(place));
        assert_eq!(next.as_deref(), Some(&Stream::new(outbox(), late)));
        assert!(spare.take(late).is_none());
    }
}
