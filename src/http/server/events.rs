//! Events that have been sent, for clients that lose the connection and come back
//! ([resumability](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#resumability-and-redelivery)).

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use crate::lazy_box::LazyBox;
use crate::time::Instant;

/// Keeps the events of one session. Every event is kept before it is sent.
///
/// [`MemoryEvents`] is one. Another one can write them down elsewhere; it is asked often and must not block. It may
/// let go of any of them at any time: no client passes one over without knowing. A response that comes to an event
/// that is not kept ends there, and its client is refused when it comes back for it.
pub trait EventStore {
    /// Keeps an event: the message it brings. The events of a stream count up from 1.
    fn keep(&mut self, stream: u32, event: u64, message: &[u8], now: Instant);

    /// The first event of a stream that is kept after this one, with its message.
    fn after(&self, stream: u32, event: u64) -> Option<(u64, &[u8])>;

    /// Forgets the events of a stream, which nobody can come back for.
    fn forget(&mut self, stream: u32);
}

/// The latest events of a session, in memory, within bounds.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct MemoryEvents {
    kept: LazyBox<VecDeque<Kept>>,
    bytes: usize,
    most_events: usize,
    most_bytes: usize,
    kept_for: Duration,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Kept {
    stream: u32,
    event: u64,
    message: Vec<u8>,
    since: Instant,
}

impl MemoryEvents {
    /// Keeps at most so many events, which have at most so many bytes, for so long.
    pub const fn new(most_events: usize, most_bytes: usize, kept_for: Duration) -> Self {
        Self { kept: LazyBox::EMPTY, bytes: 0, most_events, most_bytes, kept_for }
    }

    fn drop_oldest(&mut self) {
        if let Some(oldest) = self.kept.pop_front() {
            self.bytes -= oldest.message.len();
        }
    }
}

impl Default for MemoryEvents {
    /// 1024 events of 1 MiB together, for 5 minutes.
    fn default() -> Self {
        Self::new(1024, 1 << 20, Duration::from_secs(300))
    }
}

impl EventStore for MemoryEvents {
    fn keep(&mut self, stream: u32, event: u64, message: &[u8], now: Instant) {
        // Nothing is let go of for one that cannot be kept.
        if self.most_bytes < message.len() {
            return;
        }
        self.bytes += message.len();
        self.kept.push_back(Kept { stream, event, message: message.into(), since: now });
        while let Some(oldest) = self.kept.front()
            && (self.most_events < self.kept.len()
                || self.most_bytes < self.bytes
                || self.kept_for < now - oldest.since)
        {
            self.drop_oldest();
        }
    }

    fn after(&self, stream: u32, event: u64) -> Option<(u64, &[u8])> {
        // What was kept of one stream is in order.
        let later = |kept: &&Kept| kept.stream == stream && event < kept.event;
        self.kept.iter().find(later).map(|kept| (kept.event, &*kept.message))
    }

    fn forget(&mut self, stream: u32) {
        if self.kept.is_empty() {
            return;
        }
        self.kept.retain(|kept| kept.stream != stream);
        self.kept.release();
        self.bytes = self.kept.iter().map(|kept| kept.message.len()).sum();
    }
}

impl fmt::Debug for MemoryEvents {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("MemoryEvents")
            .field("events", &self.kept.len())
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

/// The id of an event: which stream, and which event of it. Clients send it back as `Last-Event-ID`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct EventId {
    pub(super) stream: u32,
    pub(super) event: u64,
}

impl EventId {
    /// Reads one that [`Display`](fmt::Display) has written; nothing else is one.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (stream, event) = text.split_once('-')?;
        let is_canonical = |number: &str| number == "0" || !number.starts_with(['0', '+']);
        if !is_canonical(stream) || !is_canonical(event) {
            return None;
        }
        Some(Self { stream: stream.parse().ok()?, event: event.parse().ok()? })
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}-{}", self.stream, self.event)
    }
}
