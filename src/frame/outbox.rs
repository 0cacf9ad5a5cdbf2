//! Messages in, bytes out.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::fmt;

use crate::handle::CallId;
use crate::json::{EncodeError, Writer};
use crate::limits::Limits;

/// Below this, sent bytes in front of the buffer are not worth moving the rest for.
const WORTH_MOVING: usize = 4096;

/// How messages are told apart in an [`Outbox`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Framing {
    /// Each message is a line, ended by LF: stdio, pipes, sockets.
    Lines,
    /// The carrier does it: take messages one by one with [`Outbox::messages`].
    Messages,
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
    /// Sent bytes up to `head`, then the entries one after the other.
    buffer: Vec<u8>,
    head: usize,
    entries: VecDeque<Entry>,
    /// How much of the first entry has been sent.
    begun: usize,
    next_serial: u64,
    framing: Framing,
    limit: usize,
    reserve: usize,
    congestion: usize,
}

/// The number of an entry in its outbox; later entries have higher ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Serial(u64);

#[derive(Clone, PartialEq, Eq, Hash)]
struct Entry {
    serial: Serial,
    length: usize,
    call: Option<CallId>,
}

/// How much room a message may take.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    /// Up to the limit: what the caller sends.
    Limit,
    /// Up to the limit and the reserve: what the machine sends by itself.
    Reserve,
}

impl Outbox {
    /// An empty outbox. It allocates nothing before the first message.
    pub const fn new(framing: Framing, limits: &Limits) -> Self {
        Self {
            buffer: Vec::new(),
            head: 0,
            entries: VecDeque::new(),
            begun: 0,
            next_serial: 0,
            framing,
            limit: limits.outbox_bytes,
            reserve: limits.reserve_bytes,
            congestion: limits.congestion_bytes,
        }
    }

    /// The bytes to send next: all that have not been sent.
    pub fn unsent(&self) -> &[u8] {
        self.buffer.get(self.head..).unwrap_or_default()
    }

    /// Whether everything has been sent.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many bytes have not been sent.
    pub const fn len(&self) -> usize {
        self.buffer.len() - self.head
    }

    /// Whether so much waits to be sent that a driver should stop reading until it has gone out.
    pub const fn is_congested(&self) -> bool {
        self.congestion <= self.len()
    }

    /// Says that the first `bytes` bytes of [`unsent`](Self::unsent) have been sent.
    ///
    /// More than there were counts as all of them.
    pub fn sent(&mut self, bytes: usize) {
        let bytes = bytes.min(self.len());
        self.head += bytes;
        self.begun += bytes;
        while let Some(entry) = self.entries.front()
            && entry.length <= self.begun
        {
            self.begun -= entry.length;
            self.entries.pop_front();
        }
        if self.entries.is_empty() {
            self.buffer.clear();
            self.head = 0;
        }
    }

    /// Takes the messages one by one, without the newline of [`Framing::Lines`]. Each counts as
    /// sent once it has been taken.
    ///
    /// A message of which some bytes were sent by [`sent`](Self::sent) must be finished that way
    /// first; until then there is nothing to take.
    pub fn messages(&mut self) -> Messages<'_> {
        Messages {
            buffer: &self.buffer,
            head: &mut self.head,
            entries: &mut self.entries,
            framing: self.framing,
            begun: 0 < self.begun,
        }
    }

    /// Gives the buffer back to the allocator if everything has been sent.
    pub fn release(&mut self) {
        if self.is_empty() {
            self.buffer = Vec::new();
            self.entries = VecDeque::new();
            self.head = 0;
        }
    }

    /// Appends one message. If `write` fails or panics, nothing was appended.
    pub(crate) fn append(
        &mut self,
        room: Room,
        call: Option<CallId>,
        write: impl FnOnce(&mut Writer<'_>) -> Result<(), EncodeError>,
    ) -> Result<Serial, EncodeError> {
        self.move_to_front();
        let end = match self.framing {
            Framing::Lines => "\n",
            Framing::Messages => "",
        };
        let limit = match room {
            Room::Limit => self.limit,
            Room::Reserve => self.limit.saturating_add(self.reserve),
        };
        let mut draft = Draft { start: self.buffer.len(), buffer: &mut self.buffer, kept: false };
        let mut writer = Writer::new(draft.buffer, self.head.saturating_add(limit));
        write(&mut writer)?;
        writer.push(end.as_bytes())?;
        draft.kept = true;
        let length = draft.buffer.len() - draft.start;
        drop(draft);
        let serial = Serial(self.next_serial);
        self.next_serial += 1;
        self.entries.push_back(Entry { serial, length, call });
        Ok(serial)
    }

    /// The length of the message that was appended last.
    pub(crate) fn last_length(&self) -> usize {
        self.entries.back().map_or(0, |entry| entry.length)
    }

    /// Takes back a call of which nothing has been sent. Says whether it could.
    pub(crate) fn withdraw(&mut self, serial: Serial, call: CallId) -> bool {
        let Ok(index) = self.entries.binary_search_by_key(&serial, |entry| entry.serial) else {
            return false;
        };
        let Some(entry) = self.entries.get(index) else { return false };
        if entry.call != Some(call) || (index == 0 && 0 < self.begun) {
            return false;
        }
        let length = entry.length;
        // Whatever side is shorter moves, so that taking back from either end in order is cheap.
        if index < self.entries.len() / 2 {
            let in_front: usize = self.entries.iter().take(index).map(|entry| entry.length).sum();
            let start = self.head + in_front - self.begun;
            self.buffer.copy_within(self.head..start, self.head + length);
            self.head += length;
        } else {
            let behind: usize = self.entries.iter().skip(index + 1).map(|entry| entry.length).sum();
            let end = self.buffer.len() - behind;
            self.buffer.copy_within(end.., end - length);
            self.buffer.truncate(self.buffer.len() - length);
        }
        self.entries.remove(index);
        if self.entries.is_empty() {
            self.buffer.clear();
            self.head = 0;
        }
        true
    }

    /// Drops everything.
    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.begun = 0;
        self.move_to_front();
    }

    /// Takes the first message out, with the call it is tagged with.
    pub(crate) fn take_first<R>(
        &mut self,
        take: impl FnOnce(&[u8], Option<CallId>) -> Option<R>,
    ) -> Option<R> {
        let entry = self.entries.front()?;
        let (length, call) = (entry.length, entry.call);
        let taken = take(self.buffer.get(self.head..self.head + length)?, call)?;
        self.sent(length);
        Some(taken)
    }

    /// Drops sent bytes once they are the larger part, so that each byte moves at most once on
    /// average.
    fn move_to_front(&mut self) {
        if self.entries.is_empty() {
            self.buffer.clear();
            self.head = 0;
        } else if WORTH_MOVING < self.head && self.buffer.len() < self.head * 2 {
            self.buffer.copy_within(self.head.., 0);
            self.buffer.truncate(self.buffer.len() - self.head);
            self.head = 0;
        }
    }
}

impl fmt::Debug for Outbox {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Outbox")
            .field("messages", &self.entries.len())
            .field("bytes", &self.len())
            .finish_non_exhaustive()
    }
}

/// A message being written. Unless it is kept it leaves no trace, whatever happens.
struct Draft<'a> {
    buffer: &'a mut Vec<u8>,
    start: usize,
    kept: bool,
}

impl Drop for Draft<'_> {
    fn drop(&mut self) {
        if !self.kept {
            self.buffer.truncate(self.start);
        }
    }
}

/// Takes whole messages out of an outbox, see [`Outbox::messages`].
pub struct Messages<'a> {
    buffer: &'a [u8],
    head: &'a mut usize,
    entries: &'a mut VecDeque<Entry>,
    framing: Framing,
    begun: bool,
}

impl<'a> Iterator for Messages<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        if self.begun {
            return None;
        }
        let entry = self.entries.pop_front()?;
        let message = self.buffer.get(*self.head..*self.head + entry.length)?;
        *self.head += entry.length;
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
            .field("left", &self.entries.len())
            .finish_non_exhaustive()
    }
}
