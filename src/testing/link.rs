//! [`Link`] and [`MessageLink`], one direction of a connection with its possible faults.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::frame::{Inbox, Outbox};
use crate::time::Instant;

/// One direction of a byte stream: a pipe or a socket, without IO. It is for outboxes with
/// [`Framing::Lines`](crate::Framing::Lines).
///
/// The link takes bytes from an [`Outbox`] and gives them to an [`Inbox`], in order, in portions of any size. So a
/// simulation can split and join messages, leave one half-written, slow down either end, fill the link, delay bytes,
/// insert noise between messages, and break the link.
///
/// ```
/// use mcp_sansio::testing::Link;
/// use mcp_sansio::{Framing, Inbox, Instant, Limits, Outbox};
///
/// let (limits, now) = (Limits::default(), Instant::EPOCH);
/// let (mut outbox, mut inbox) = (Outbox::new(Framing::Lines, &limits), Inbox::new(&limits));
/// let mut link = Link::new(64);
/// assert!(link.add_noise(b"a banner"));
/// link.take(&mut outbox, 10, now);
/// link.give(&mut inbox, 5, now);
/// link.give(&mut inbox, 50, now);
/// assert_eq!(inbox.next().unwrap().bytes(), b"a banner");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Link {
    /// The bytes on the way, each chunk with its earliest arrival time.
    chunks: VecDeque<(Instant, Vec<u8>)>,
    length: usize,
    capacity: usize,
    /// Whether the bytes end within a message.
    is_within: bool,
    is_broken: bool,
}

impl Link {
    /// Creates an empty stream with a capacity of `capacity` bytes, at least 1.
    pub fn new(capacity: usize) -> Self {
        Self {
            chunks: VecDeque::new(),
            length: 0,
            capacity: capacity.max(1),
            is_within: false,
            is_broken: false,
        }
    }

    /// Returns the number of bytes on the way.
    pub const fn len(&self) -> usize {
        self.length
    }

    /// Whether no bytes are on the way.
    pub const fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Whether the link is broken, see [`break_off`](Self::break_off).
    pub const fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// Returns the number of bytes that still fit: none if the link is broken.
    pub const fn room(&self) -> usize {
        if self.is_broken { 0 } else { self.capacity.saturating_sub(self.length) }
    }

    /// Whether the bytes end within a message.
    pub(super) const fn is_within(&self) -> bool {
        self.is_within
    }

    /// Takes at most `bytes` bytes, which arrive at `received` at the earliest, and never before the bytes in front
    /// of them. Returns the number of bytes taken: fewer if the outbox has fewer, or if there is not enough
    /// [room](Self::room).
    pub fn take(&mut self, outbox: &mut Outbox, bytes: usize, received: Instant) -> usize {
        let unsent = outbox.unsent();
        let count = self.room().min(bytes).min(unsent.len());
        let Some(taken) = unsent.get(..count) else { return 0 };
        let Some(last) = taken.last() else { return 0 };
        self.is_within = *last != b'\n';
        self.length += count;
        self.chunks.push_back((received, taken.to_vec()));
        outbox.sent(count);
        count
    }

    /// Appends a line of noise, even beyond the capacity, unless the link is within a message or broken. Returns
    /// whether it did.
    pub fn add_noise(&mut self, line: &[u8]) -> bool {
        if self.is_within || self.is_broken {
            return false;
        }
        let received = self.chunks.back().map_or(Instant::EPOCH, |(received, _)| *received);
        let noise = [line, b"\n"].concat();
        self.length += noise.len();
        self.chunks.push_back((received, noise));
        true
    }

    /// Gives at most `bytes` of the bytes that have arrived. Returns the number of bytes given: fewer if fewer have
    /// arrived, or if frames must be taken from the inbox first.
    pub fn give(&mut self, inbox: &mut Inbox, bytes: usize, now: Instant) -> usize {
        let mut given = 0;
        while let Some((received, chunk)) = self.chunks.front_mut() {
            if now < *received {
                break;
            }
            let count = chunk.len().min(bytes - given);
            let count = inbox.feed(chunk.get(..count).unwrap_or_default());
            chunk.drain(..count);
            given += count;
            if !chunk.is_empty() {
                break;
            }
            self.chunks.pop_front();
        }
        self.length -= given;
        given
    }

    /// Breaks the link: the bytes on the way are lost, and no more are taken. The inbox keeps its bytes, which can be
    /// a part of a message.
    pub fn break_off(&mut self) {
        self.chunks.clear();
        self.length = 0;
        self.is_broken = true;
    }

    /// Returns the arrival time of the next bytes, which is in the past if some have arrived already.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.chunks.front().map(|(received, _)| *received)
    }
}

/// One direction of a transport of whole messages, such as HTTP exchanges or a queue. A message can be lost,
/// duplicated or reordered, but never arrives in part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct MessageLink {
    messages: VecDeque<Vec<u8>>,
}

impl MessageLink {
    /// Creates a link without messages.
    pub const fn new() -> Self {
        Self { messages: VecDeque::new() }
    }

    /// Returns the number of messages on the way.
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// Whether no messages are on the way.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Returns the messages on the way, the next one to arrive first.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.messages.iter().map(Vec::as_slice)
    }

    /// Takes all messages of the outbox.
    pub fn take(&mut self, outbox: &mut Outbox) {
        self.messages.extend(outbox.messages().map(<[u8]>::to_vec));
    }

    /// Appends a message.
    pub fn add(&mut self, message: &[u8]) {
        self.messages.push_back(message.to_vec());
    }

    /// Removes and returns the next message.
    pub fn give(&mut self) -> Option<Vec<u8>> {
        self.messages.pop_front()
    }

    /// Drops the message at this position from the front.
    pub fn lose(&mut self, index: usize) {
        self.messages.remove(index);
    }

    /// Duplicates the message at this position; the copy arrives behind all others.
    pub fn repeat(&mut self, index: usize) {
        if let Some(message) = self.messages.get(index).cloned() {
            self.messages.push_back(message);
        }
    }

    /// Moves the message at this position to the front.
    pub fn hurry(&mut self, index: usize) {
        if let Some(message) = self.messages.remove(index) {
            self.messages.push_front(message);
        }
    }
}
