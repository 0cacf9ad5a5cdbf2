//! One way of a connection, and what can go wrong on it.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::frame::{Inbox, Outbox};
use crate::time::Instant;

/// One way of a byte stream: a pipe or a socket, without IO. It is for outboxes with
/// [`Framing::Lines`](crate::Framing::Lines).
///
/// Bytes are taken from an [`Outbox`] and given to an [`Inbox`], in order, as many at a time as the
/// simulation wants. So it can split and join messages, leave one half-written, be slow on either end,
/// be full, hold bytes back for a time, carry noise between messages, and break.
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
    /// What is on the way, with the time before which it does not arrive.
    chunks: VecDeque<(Instant, Vec<u8>)>,
    length: usize,
    capacity: usize,
    /// A message has been begun and not finished.
    is_within: bool,
    is_broken: bool,
}

impl Link {
    /// An empty stream that holds at most this many bytes. At least 1.
    pub fn new(capacity: usize) -> Self {
        Self {
            chunks: VecDeque::new(),
            length: 0,
            capacity: capacity.max(1),
            is_within: false,
            is_broken: false,
        }
    }

    /// How many bytes are on the way.
    pub const fn len(&self) -> usize {
        self.length
    }

    /// Whether nothing is on the way.
    pub const fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Whether it is broken, see [`break_off`](Self::break_off).
    pub const fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// How many bytes more it takes: none if it is broken.
    pub const fn room(&self) -> usize {
        if self.is_broken { 0 } else { self.capacity.saturating_sub(self.length) }
    }

    /// Whether a message has been begun and not finished.
    pub(super) const fn is_within(&self) -> bool {
        self.is_within
    }

    /// Takes at most so many bytes, which arrive at the given time and not before, nor before those in front of
    /// them. Says how many it took:
    /// fewer if there are fewer, or if there is not [room](Self::room) for all.
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

    /// Puts a line of noise behind what is on the way, even if that makes it fuller than full. Not in the
    /// middle of a message; says whether it did.
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

    /// Gives at most so many of the bytes that have arrived. Says how many it gave: fewer if there are
    /// fewer, or if the inbox has frames to be taken first.
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

    /// Breaks it: what is on the way is lost, and nothing is taken any more. The inbox keeps what it has, which
    /// can be a part of a message.
    pub fn break_off(&mut self) {
        self.chunks.clear();
        self.length = 0;
        self.is_broken = true;
    }

    /// When the next bytes arrive. A time that has passed if there are some already.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.chunks.front().map(|(received, _)| *received)
    }
}

/// One way of a transport of whole messages, such as HTTP exchanges or a queue: a message can be lost, come
/// twice, or overtake others, but never arrives in part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct MessageLink {
    messages: VecDeque<Vec<u8>>,
}

impl MessageLink {
    /// Nothing on the way.
    pub const fn new() -> Self {
        Self { messages: VecDeque::new() }
    }

    /// How many messages are on the way.
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// Whether nothing is on the way.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// The messages on the way, the one that arrives next first.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.messages.iter().map(Vec::as_slice)
    }

    /// Takes every message there is.
    pub fn take(&mut self, outbox: &mut Outbox) {
        self.messages.extend(outbox.messages().map(<[u8]>::to_vec));
    }

    /// Puts a message behind those on the way.
    pub fn add(&mut self, message: &[u8]) {
        self.messages.push_back(message.to_vec());
    }

    /// Gives the next message.
    pub fn give(&mut self) -> Option<Vec<u8>> {
        self.messages.pop_front()
    }

    /// Loses the message at this position from the front.
    pub fn lose(&mut self, index: usize) {
        self.messages.remove(index);
    }

    /// Has the message at this position come a second time, behind all others.
    pub fn repeat(&mut self, index: usize) {
        if let Some(message) = self.messages.get(index).cloned() {
            self.messages.push_back(message);
        }
    }

    /// Has the message at this position overtake all before it.
    pub fn hurry(&mut self, index: usize) {
        if let Some(message) = self.messages.remove(index) {
            self.messages.push_front(message);
        }
    }
}
