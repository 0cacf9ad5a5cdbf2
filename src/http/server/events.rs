//! Stores of sent events, for clients that lose the connection and resume a stream
//! ([resumability](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#resumability-and-redelivery)).

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use crate::lazy_box::LazyBox;
use crate::time::Instant;

/// A store for the events of one session. Every event is stored before it is sent.
///
/// [`MemoryEvents`] is the default. Another store may persist events; it is called often and must not block. A store
/// may drop any event at any time: no client misses an event unnoticed. A response that reaches a dropped event ends
/// there, and the client is refused when it resumes from there.
pub trait EventStore {
    /// Stores an event with its message. The events of a stream count up from 1.
    fn keep(&mut self, stream: u32, event: u64, message: &[u8], now: Instant);

    /// Returns the first stored event of a stream after this one, with its message.
    fn after(&self, stream: u32, event: u64) -> Option<(u64, &[u8])>;

    /// Removes the events of a stream that no client can resume.
    fn forget(&mut self, stream: u32);

    /// Removes the events that are too old by now. [`Streams::handle_timeout`](super::Streams::handle_timeout) calls it.
    /// Does nothing by default.
    fn expire(&mut self, now: Instant) {
        _ = now;
    }

    /// Returns the time at which [`expire`](Self::expire) removes an event next. `None` by default.
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    /// Returns the bytes of memory of the stored events, for hosts that limit the memory of all sessions
    /// together: see [`Streams::stored_bytes`](super::Streams::stored_bytes). 0 by default, for a store outside of
    /// memory.
    fn bytes(&self) -> usize {
        0
    }
}

/// The latest events of a session, in memory, within limits.
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
    /// Creates a store with a maximum number of events, total bytes, and age.
    pub const fn new(most_events: usize, most_bytes: usize, kept_for: Duration) -> Self {
        Self { kept: LazyBox::EMPTY, bytes: 0, most_events, most_bytes, kept_for }
    }

    /// Creates a store with the usual bounds and this maximum age.
    pub(super) const fn for_age(kept_for: Duration) -> Self {
        Self::new(1024, 1 << 20, kept_for)
    }

    fn drop_oldest(&mut self) {
        if let Some(oldest) = self.kept.pop_front() {
            self.bytes -= oldest.message.len();
        }
        self.kept.release();
    }
}

impl Default for MemoryEvents {
    /// Stores up to 1024 events of 1 MiB in total, for 5 minutes.
    fn default() -> Self {
        Self::for_age(Duration::from_secs(300))
    }
}

impl EventStore for MemoryEvents {
    fn keep(&mut self, stream: u32, event: u64, message: &[u8], now: Instant) {
        // An event that is too large must not evict others.
        if self.most_bytes < message.len() {
            return;
        }
        self.bytes += message.len();
        self.kept.push_back(Kept { stream, event, message: message.into(), since: now });
        while self.most_events < self.kept.len() || self.most_bytes < self.bytes {
            self.drop_oldest();
        }
        self.expire(now);
    }

    fn expire(&mut self, now: Instant) {
        while self.poll_timeout().is_some_and(|due| due <= now) {
            self.drop_oldest();
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        // The events are stored in the order of their times.
        self.kept.front().map(|oldest| oldest.since + self.kept_for)
    }

    fn after(&self, stream: u32, event: u64) -> Option<(u64, &[u8])> {
        // The events of one stream are stored in order.
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

    fn bytes(&self) -> usize {
        self.bytes + self.kept.len() * size_of::<Kept>()
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

/// The id of an event: its stream and its number. Clients send the id back as `Last-Event-ID`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct EventId {
    pub(super) stream: u32,
    pub(super) event: u64,
}

impl EventId {
    /// Parses the output of [`Display`](fmt::Display); any other text is invalid.
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
