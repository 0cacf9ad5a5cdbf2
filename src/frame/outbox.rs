//! [`Outbox`], the queue of unsent messages, which the driver drains as bytes or as messages.

use core::fmt;

use super::queue::{Drain, Queue, Serial};
use crate::handle::{CallId, IncomingId};
use crate::limits::Limits;
use crate::schema::{EncodeError, Writer};

/// The framing of messages in an [`Outbox`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub enum Framing {
    /// Each message is a line, terminated by LF: stdio, pipes, sockets.
    Lines,
    /// The transport frames messages: take them one by one with [`Outbox::messages`].
    Messages,
}

/// The call or request that a message concerns, so that the message can be withdrawn together with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Tag {
    Nothing,
    /// The message is the request of a call.
    Call(CallId),
    /// The message concerns a request of the peer, but is not the response to it.
    Exchange(IncomingId),
    /// The message is a batch with requests of calls.
    Batch,
}

/// A buffer of unsent output.
///
/// The machine appends whole messages; a failed append leaves the outbox unchanged. The driver takes bytes with
/// [`unsent`](Self::unsent) and [`sent`](Self::sent), in portions of any size, or whole messages with
/// [`messages`](Self::messages).
///
/// A call is tagged until its first byte is sent. A call that is cancelled or times out before that is withdrawn
/// instead of being cancelled on the wire.
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
    /// The messages; those that are calls are tagged with their handle.
    queue: Queue<Tag>,
    framing: Framing,
    bounds: OutboxBounds,
}

/// The capacity of an outbox, in bytes.
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

/// The space that a message may use.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    /// Up to the limit: messages of the application.
    Limit,
    /// Up to the limit and the reserve: messages that the machine sends on its own.
    Reserve,
    /// Unbounded: messages whose size was already bounded while they were held.
    Held,
}

impl Outbox {
    /// Creates an empty outbox. It allocates nothing before the first message.
    pub const fn new(framing: Framing, limits: &Limits) -> Self {
        Self::with(framing, OutboxBounds::of(limits))
    }

    /// Creates an empty outbox with these bounds.
    pub(crate) const fn with(framing: Framing, bounds: OutboxBounds) -> Self {
        Self { queue: Queue::new(), framing, bounds }
    }

    /// Returns all unsent bytes, which the driver sends next.
    pub fn unsent(&self) -> &[u8] {
        self.queue.unsent()
    }

    /// Whether everything has been sent.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Returns the number of unsent bytes.
    pub const fn len(&self) -> usize {
        self.queue.len()
    }

    /// Returns the number of bytes that the application may still add.
    pub(crate) const fn room(&self) -> usize {
        self.bounds.limit.saturating_sub(self.len())
    }

    /// Whether so many bytes are unsent that a driver should stop reading until they are sent.
    pub const fn is_congested(&self) -> bool {
        self.bounds.congestion <= self.len()
    }

    /// Marks the first `bytes` bytes of [`unsent`](Self::unsent) as sent.
    ///
    /// A larger number counts as all of them. Call `handle_timeout` of the machine after this and before the loop sleeps:
    /// notifications may have waited for the room ([`Delivery::Lagged`](crate::subscription::Delivery::Lagged)).
    pub fn sent(&mut self, bytes: usize) {
        self.queue.sent(bytes);
    }

    /// Returns an iterator that removes the messages one by one, without the newline of [`Framing::Lines`]. Each
    /// counts as sent once it is removed.
    ///
    /// A message that was partly sent by [`sent`](Self::sent) must be finished that way first; until then the
    /// iterator is empty.
    pub const fn messages(&mut self) -> Messages<'_> {
        Messages { framing: self.framing, messages: self.queue.drain() }
    }

    /// Changes the number of bytes that the application may put into the outbox, initially [`Limits::outbox_bytes`].
    /// Messages that are already in the outbox stay.
    ///
    /// This is for drivers with a bound of their own: a slow reader should not lose the messages of a connection that
    /// is about to end, or a response to one of a bounded number of concurrent requests.
    pub const fn set_limit(&mut self, bytes: usize) {
        self.bounds.limit = bytes;
    }

    /// Frees the buffer if everything has been sent.
    pub fn release(&mut self) {
        self.queue.release();
    }

    /// Frees the buffer if everything has been sent and it has more than `bytes` bytes.
    ///
    /// For drivers, after the last write: see [`Inbox::release_above`](crate::Inbox::release_above).
    pub fn release_above(&mut self, bytes: usize) {
        if bytes < self.queue.buffer_bytes() {
            self.release();
        }
    }

    /// Appends one message. A failure or panic of `write` leaves the outbox unchanged.
    #[inline]
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

    /// Returns the number of messages that are not completely sent.
    #[cfg(feature = "http")]
    pub(crate) fn messages_left(&self) -> usize {
        self.queue.messages()
    }

    /// Removes the next message, with its tag.
    #[cfg(feature = "http")]
    pub(crate) fn pop(&mut self) -> Option<(&[u8], Tag)> {
        self.queue.drain().next()
    }

    /// Removes the only message with its buffer; `None` if there are others.
    #[cfg(feature = "http")]
    pub(crate) fn pop_only(&mut self) -> Option<alloc::vec::Vec<u8>> {
        self.queue.take_only()
    }

    /// Returns the length of the message that was appended last.
    pub(crate) fn last_length(&self) -> usize {
        self.queue.last_length()
    }

    /// Removes the last message if it repeats the one in front of it. Returns whether it did.
    pub(crate) fn drop_repeated(&mut self) -> bool {
        self.queue.drop_repeated()
    }

    /// Withdraws an unsent call. Returns whether it did.
    pub(crate) fn withdraw(&mut self, serial: Serial, call: CallId) -> bool {
        self.queue.withdraw(serial, &Tag::Call(call))
    }

    /// Withdraws an unsent batch of calls. Returns whether it did.
    pub(crate) fn withdraw_batch(&mut self, serial: Serial) -> bool {
        self.queue.withdraw(serial, &Tag::Batch)
    }

    /// Whether no byte of a call has been sent.
    pub(crate) fn is_untouched(&self, serial: Serial, call: CallId) -> bool {
        self.queue.is_untouched(serial, &Tag::Call(call))
    }

    /// Withdraws, in one pass, every unsent call that `is_it` accepts.
    pub(crate) fn withdraw_calls(&mut self, mut is_it: impl FnMut(CallId) -> bool) {
        self.queue.withdraw_where(|tag| matches!(tag, Tag::Call(call) if is_it(*call)));
    }

    /// Withdraws an unsent message that concerns a request of the peer. Returns whether it did.
    pub(crate) fn withdraw_about(&mut self, serial: Serial, exchange: IncomingId) -> bool {
        self.queue.withdraw(serial, &Tag::Exchange(exchange))
    }

    /// Whether no byte of a message that concerns a request of the peer has been sent.
    pub(crate) fn is_unsent(&self, serial: Serial, exchange: IncomingId) -> bool {
        self.queue.is_untouched(serial, &Tag::Exchange(exchange))
    }

    /// Withdraws the unsent messages that concern a request of the peer, as far as they are among the latest ones.
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

/// An iterator that removes whole messages from an outbox, see [`Outbox::messages`].
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
