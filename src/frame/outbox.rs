//! Messages in, bytes out.

use core::fmt;

use super::queue::{Drain, Queue, Serial};
use crate::handle::{CallId, IncomingId};
use crate::limits::Limits;
use crate::schema::{EncodeError, Writer};

/// How messages are told apart in an [`Outbox`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub enum Framing {
    /// Each message is a line, ended by LF: stdio, pipes, sockets.
    Lines,
    /// The transport does it: take messages one by one with [`Outbox::messages`].
    Messages,
}

/// What a message is about, so that it can be taken back with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Tag {
    Nothing,
    /// It is the request of a call.
    Call(CallId),
    /// It is about a request of the peer, and not the answer to it.
    Exchange(IncomingId),
}

/// Output that has not been sent yet.
///
/// The machine appends whole messages; an append that fails leaves nothing behind. The driver takes
/// bytes with [`unsent`](Self::unsent) and [`sent`](Self::sent), as few at a time as it likes, or
/// whole messages with [`messages`](Self::messages).
///
/// A call is tagged until its first byte is sent, so that one that was cancelled or has timed out
/// can be taken back instead of being cancelled on the wire.
///
/// ```
/// # use mcp_sansio::{Framing, Limits, Outbox};
/// # fn write(bytes: &[u8]) -> usize { bytes.len().min(3) }
/// # let mut outbox = Outbox::new(Framing::Lines, &Limits::default());
/// while !outbox.is_empty() {
///     let written = write(outbox.unsent());
///     outbox.sent(written);
/// }
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Outbox {
    /// Messages, those that are calls with their handle.
    queue: Queue<Tag>,
    framing: Framing,
    bounds: OutboxBounds,
}

/// How much an outbox holds, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct OutboxBounds {
    limit: usize,
    reserve: usize,
    congestion: usize,
}

impl OutboxBounds {
    pub(crate) const fn of(limits: &Limits) -> Self {
        Self {
            limit: limits.outbox_bytes,
            reserve: limits.reserve_bytes,
            congestion: limits.congestion_bytes,
        }
    }
}

/// How much room a message may take.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    /// Up to the limit: what the caller sends.
    Limit,
    /// Up to the limit and the reserve: what the machine sends by itself.
    Reserve,
    /// Whatever it takes: what has been bounded already, while it was held.
    Held,
}

impl Outbox {
    /// An empty outbox. It allocates nothing before the first message.
    pub const fn new(framing: Framing, limits: &Limits) -> Self {
        Self::with(framing, OutboxBounds::of(limits))
    }

    /// The same with these bounds.
    pub(crate) const fn with(framing: Framing, bounds: OutboxBounds) -> Self {
        Self { queue: Queue::new(), framing, bounds }
    }

    /// The bytes to send next: all that have not been sent.
    pub fn unsent(&self) -> &[u8] {
        self.queue.unsent()
    }

    /// Whether everything has been sent.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// How many bytes have not been sent.
    pub const fn len(&self) -> usize {
        self.queue.len()
    }

    /// How many bytes more a caller may put in.
    pub(crate) const fn room(&self) -> usize {
        self.bounds.limit.saturating_sub(self.len())
    }

    /// Whether so much waits to be sent that a driver should stop reading until it has gone out.
    pub const fn is_congested(&self) -> bool {
        self.bounds.congestion <= self.len()
    }

    /// Says that the first `bytes` bytes of [`unsent`](Self::unsent) have been sent.
    ///
    /// More than there were counts as all of them.
    pub fn sent(&mut self, bytes: usize) {
        self.queue.sent(bytes);
    }

    /// Takes the messages one by one, without the newline of [`Framing::Lines`]. Each counts as
    /// sent once it has been taken.
    ///
    /// A message of which some bytes were sent by [`sent`](Self::sent) must be finished that way
    /// first; until then there is nothing to take.
    pub const fn messages(&mut self) -> Messages<'_> {
        Messages { framing: self.framing, messages: self.queue.drain() }
    }

    /// Changes how many bytes a caller may fill it with, which
    /// [`Limits::outbox_bytes`] says at first. What is in it already stays.
    ///
    /// For drivers that count in another way: a connection that is about to end, or an answer to a request of
    /// which only so many are served at the same time, should not be lost to a peer that is slow to read.
    pub const fn set_limit(&mut self, bytes: usize) {
        self.bounds.limit = bytes;
    }

    /// Gives the buffer back to the allocator if everything has been sent.
    pub fn release(&mut self) {
        self.queue.release();
    }

    /// Appends one message. If `write` fails or panics, nothing was appended.
    pub(crate) fn append(
        &mut self,
        room: Room,
        tag: Tag,
        write: impl FnOnce(&mut Writer<'_>) -> Result<(), EncodeError>,
    ) -> Result<Serial, EncodeError> {
        let end: &[u8] = match self.framing {
            Framing::Lines => b"\n",
            Framing::Messages => b"",
        };
        let limit = match room {
            Room::Limit => self.bounds.limit,
            Room::Reserve => self.bounds.limit.saturating_add(self.bounds.reserve),
            Room::Held => usize::MAX,
        };
        self.queue.append(limit, tag, end, write)
    }

    /// How many messages have not been sent whole.
    #[cfg(feature = "http")]
    pub(crate) fn messages_left(&self) -> usize {
        self.queue.messages()
    }

    /// Takes the next message and what it is about.
    #[cfg(feature = "http")]
    pub(crate) fn pop(&mut self) -> Option<(&[u8], Tag)> {
        self.queue.drain().next()
    }

    /// Takes the only message with its buffer; `None` if there are others.
    #[cfg(feature = "http")]
    pub(crate) fn pop_only(&mut self) -> Option<alloc::vec::Vec<u8>> {
        self.queue.take_only()
    }

    /// The length of the message that was appended last.
    pub(crate) fn last_length(&self) -> usize {
        self.queue.last_length()
    }

    /// Takes the last message out if it repeats the one in front of it. Says whether it did.
    pub(crate) fn drop_repeated(&mut self) -> bool {
        self.queue.drop_repeated()
    }

    /// Takes back a call of which nothing has been sent. Says whether it could.
    pub(crate) fn withdraw(&mut self, serial: Serial, call: CallId) -> bool {
        self.queue.withdraw(serial, &Tag::Call(call))
    }

    /// Takes back a message that is no call, if nothing of it has been sent. Says whether it could.
    pub(crate) fn withdraw_batch(&mut self, serial: Serial) -> bool {
        self.queue.withdraw(serial, &Tag::Nothing)
    }

    /// Whether nothing of a call has been sent.
    pub(crate) fn is_untouched(&self, serial: Serial, call: CallId) -> bool {
        self.queue.is_untouched(serial, &Tag::Call(call))
    }

    /// Takes back, in one pass, every call of which nothing has been sent and that `is_it` accepts.
    pub(crate) fn withdraw_calls(&mut self, mut is_it: impl FnMut(CallId) -> bool) {
        self.queue.withdraw_where(|tag| matches!(tag, Tag::Call(call) if is_it(*call)));
    }

    /// Whether nothing of a message about a request of the peer has been sent.
    pub(crate) fn is_unsent(&self, serial: Serial, exchange: IncomingId) -> bool {
        self.queue.is_untouched(serial, &Tag::Exchange(exchange))
    }

    /// Takes back the messages about a request of the peer of which nothing has been sent, as far as they are among the
    /// latest ones.
    pub(crate) fn withdraw_exchange(&mut self, exchange: IncomingId) {
        self.queue.withdraw_latest_where(|tag| *tag == Tag::Exchange(exchange));
    }
}

impl fmt::Debug for Outbox {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Outbox")
            .field("messages", &self.queue.messages())
            .field("bytes", &self.len())
            .finish_non_exhaustive()
    }
}

/// Takes whole messages out of an outbox, see [`Outbox::messages`].
pub struct Messages<'a> {
    framing: Framing,
    messages: Drain<'a, Tag>,
}

impl<'a> Iterator for Messages<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let (message, _) = self.messages.next()?;
        match self.framing {
            Framing::Lines => message.strip_suffix(b"\n").or(Some(message)),
            Framing::Messages => Some(message),
        }
    }
}

impl fmt::Debug for Messages<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Messages")
            .field("left", &self.messages.left())
            .finish_non_exhaustive()
    }
}
