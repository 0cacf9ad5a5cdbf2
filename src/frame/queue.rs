//! [`Queue`], a FIFO of messages in one buffer, from which unsent messages can also be withdrawn.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::fmt;
use core::hash::{Hash, Hasher};

use crate::schema::{EncodeError, Writer};

/// The number of sent bytes in front of the buffer from which moving the rest to the front pays off.
const WORTH_MOVING: usize = 4096;

/// The initial capacity of the buffer.
const FIRST_BYTES: usize = 256;

/// A queue of whole messages, each with a tag of the owner.
///
/// ```text
///   sent    |  first message  |  message  |  message  |
///          head
///           |- begun -|                                  sent of the first
/// ```
#[derive(Clone)]
pub(crate) struct Queue<T> {
    /// Sent bytes up to `head`, then the entries one after the other.
    buffer: Vec<u8>,
    head: usize,
    entries: VecDeque<Entry<T>>,
    /// The number of sent bytes of the first entry.
    begun: usize,
    next_serial: u64,
}

/// The serial number of an entry in its queue; later entries have higher numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Serial(u64);

#[derive(Clone, PartialEq, Eq, Hash)]
struct Entry<T> {
    serial: Serial,
    length: usize,
    tag: T,
}

impl<T: PartialEq> Queue<T> {
    /// Creates an empty queue. It allocates nothing before the first message.
    pub(crate) const fn new() -> Self {
        Self { buffer: Vec::new(), head: 0, entries: VecDeque::new(), begun: 0, next_serial: 0 }
    }

    /// Returns the unsent bytes.
    pub(crate) fn unsent(&self) -> &[u8] {
        self.buffer.get(self.head..).unwrap_or_default()
    }

    /// Returns the number of unsent bytes.
    pub(crate) const fn len(&self) -> usize {
        self.buffer.len() - self.head
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the number of messages, including a partly sent one.
    pub(crate) fn messages(&self) -> usize {
        self.entries.len()
    }

    /// Whether the first message is partly sent.
    pub(crate) const fn is_begun(&self) -> bool {
        0 < self.begun
    }

    /// Returns the length of the message that was appended last.
    pub(crate) fn last_length(&self) -> usize {
        self.entries.back().map_or(0, |entry| entry.length)
    }

    /// Marks the first `bytes` unsent bytes as sent; a larger number counts as all of them.
    pub(crate) fn sent(&mut self, bytes: usize) {
        let bytes = bytes.min(self.len());
        self.head += bytes;
        self.begun += bytes;
        while let Some(entry) = self.entries.front()
            && entry.length <= self.begun
        {
            self.begun -= entry.length;
            self.entries.pop_front();
        }
        self.reset_if_empty();
    }

    /// Appends one message followed by `end`.
    ///
    /// # Errors
    ///
    /// Fails if more than `limit` bytes would be unsent, or if `write` fails. A failure or panic of `write` leaves
    /// the queue unchanged.
    #[inline]
    pub(crate) fn append(
        &mut self,
        limit: usize,
        tag: T,
        end: &[u8],
        write: impl FnOnce(&mut Writer<'_>) -> Result<(), EncodeError>,
    ) -> Result<Serial, EncodeError> {
        self.move_to_front();
        if self.buffer.capacity() == 0 {
            // Most messages fit into the initial capacity, so that the buffer need not grow while they are written.
            self.buffer.reserve(FIRST_BYTES);
        }
        let mut draft = Draft { start: self.buffer.len(), buffer: &mut self.buffer, kept: false };
        let mut writer = Writer::new(draft.buffer, self.head.saturating_add(limit));
        write(&mut writer)?;
        writer.push(end)?;
        draft.kept = true;
        let length = draft.buffer.len() - draft.start;
        drop(draft);
        let serial = Serial(self.next_serial);
        self.next_serial += 1;
        self.entries.push_back(Entry { serial, length, tag });
        Ok(serial)
    }

    /// Removes the only message together with its buffer, without a copy. `None` if there are other messages or it is
    /// partly sent.
    #[cfg(feature = "http")]
    pub(crate) fn take_only(&mut self) -> Option<Vec<u8>> {
        let is_only = self.entries.len() == 1 && self.head == 0 && self.begun == 0;
        if !is_only {
            return None;
        }
        self.entries.clear();
        Some(core::mem::take(&mut self.buffer))
    }

    /// Returns an iterator that removes the messages one by one. It is empty while the first message is partly sent.
    pub(crate) const fn drain(&mut self) -> Drain<'_, T> {
        Drain {
            buffer: self.buffer.as_slice(),
            head: &mut self.head,
            entries: &mut self.entries,
            begun: 0 < self.begun,
        }
    }

    /// Removes an unsent message. Returns whether it did.
    ///
    /// The tag must match as well, because another queue has the same serial numbers. The function moves the bytes in
    /// front of the message or those behind it, whichever are fewer.
    pub(crate) fn withdraw(&mut self, serial: Serial, tag: &T) -> bool {
        let Some(index) = self.untouched(serial, tag) else { return false };
        let Some(length) = self.entries.get(index).map(|entry| entry.length) else { return false };
        let start = self.start_of(index);
        let end = start + length;
        work!((start - self.head).min(self.buffer.len() - end));
        if start - self.head < self.buffer.len() - end {
            self.buffer.copy_within(self.head..start, self.head + length);
            self.head += length;
        } else {
            self.buffer.copy_within(end.., start);
            self.buffer.truncate(self.buffer.len() - length);
        }
        self.entries.remove(index);
        self.reset_if_empty();
        true
    }

    /// Removes every unsent message whose tag `is_it` accepts, in one pass.
    pub(crate) fn withdraw_where(&mut self, mut is_it: impl FnMut(&T) -> bool) {
        let (buffer, mut at) = (&mut self.buffer, self.head);
        let mut kept = at;
        // The buffer holds only the unsent part of the first message.
        let mut begun = self.begun;
        self.entries.retain(|entry| {
            work!(1);
            let begun = core::mem::take(&mut begun);
            let length = entry.length - begun;
            let end = at + length;
            let keep = 0 < begun || !is_it(&entry.tag);
            if keep {
                if kept < at {
                    work!(length);
                    buffer.copy_within(at..end, kept);
                }
                kept += length;
            }
            at = end;
            keep
        });
        self.buffer.truncate(kept);
        self.reset_if_empty();
    }

    /// Removes the unsent messages whose tag `is_it` accepts, among the latest few. The bound is needed because the
    /// peer controls how often this runs and how many messages wait.
    pub(crate) fn withdraw_latest_where(&mut self, mut is_it: impl FnMut(&T) -> bool) {
        const MOST: usize = 64;
        const MOST_BYTES: usize = 64 << 10;
        let end = self.buffer.len();
        let untouched = self.entries.len() - usize::from(self.is_begun());
        let latest = self.entries.iter().rev().take(untouched.min(MOST));
        let mut at = end;
        let mut count = 0;
        for entry in latest {
            work!(1);
            if at < entry.length || MOST_BYTES < end - (at - entry.length) {
                break;
            }
            at -= entry.length;
            count += 1;
        }
        let mut kept = at;
        let mut index = self.entries.len() - count;
        while let Some(entry) = self.entries.get(index) {
            let length = entry.length;
            if is_it(&entry.tag) {
                self.entries.remove(index);
            } else {
                if kept < at {
                    work!(length);
                    self.buffer.copy_within(at..at + length, kept);
                }
                kept += length;
                index += 1;
            }
            at += length;
        }
        self.buffer.truncate(kept);
        self.reset_if_empty();
    }

    /// Removes the last message if it repeats the one in front of it and that one is unsent. Returns whether it did.
    pub(crate) fn drop_repeated(&mut self) -> bool {
        let mut last = self.entries.iter().rev().map(|entry| entry.length);
        let (Some(length), Some(before)) = (last.next(), last.next()) else { return false };
        let is_begun = self.is_begun() && self.entries.len() == 2;
        if length != before || is_begun {
            return false;
        }
        let end = self.buffer.len();
        let repeated =
            self.buffer.get(end - length..) == self.buffer.get(end - 2 * length..end - length);
        if repeated {
            self.entries.pop_back();
            self.buffer.truncate(end - length);
        }
        repeated
    }

    /// Removes all messages.
    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.begun = 0;
        self.reset_if_empty();
    }

    /// Returns the capacity of the buffer of the messages.
    pub(crate) const fn buffer_bytes(&self) -> usize {
        self.buffer.capacity()
    }

    /// Frees the buffers if the queue is empty.
    pub(crate) fn release(&mut self) {
        if self.is_empty() {
            self.buffer = Vec::new();
            self.entries = VecDeque::new();
            self.head = 0;
        }
    }

    /// Whether no byte of a message has been sent.
    pub(crate) fn is_untouched(&self, serial: Serial, tag: &T) -> bool {
        self.untouched(serial, tag).is_some()
    }

    /// Returns the index of an entry of which no byte has been sent.
    fn untouched(&self, serial: Serial, tag: &T) -> Option<usize> {
        let index = self.entries.binary_search_by_key(&serial, |entry| entry.serial).ok()?;
        let untouched = 0 < index || !self.is_begun();
        (untouched && self.entries.get(index)?.tag == *tag).then_some(index)
    }

    /// Returns the offset in the buffer at which an untouched entry begins.
    fn start_of(&self, index: usize) -> usize {
        let lengths = |entries: &mut dyn Iterator<Item = &Entry<T>>| -> usize {
            entries.map(|entry| entry.length).sum()
        };
        work!(index.min(self.entries.len() - index));
        if index < self.entries.len() / 2 {
            self.head + lengths(&mut self.entries.iter().take(index)) - self.begun
        } else {
            self.buffer.len() - lengths(&mut self.entries.iter().skip(index))
        }
    }

    fn reset_if_empty(&mut self) {
        if self.entries.is_empty() {
            self.buffer.clear();
            self.head = 0;
        }
    }

    /// Drops sent bytes once they are the larger part, so that each byte moves at most once on average.
    fn move_to_front(&mut self) {
        self.reset_if_empty();
        if WORTH_MOVING < self.head && self.buffer.len() < self.head * 2 {
            work!(self.buffer.len() - self.head);
            self.buffer.copy_within(self.head.., 0);
            self.buffer.truncate(self.buffer.len() - self.head);
            self.head = 0;
        }
    }
}

/// An iterator that removes whole messages from a queue, with their tags.
pub(crate) struct Drain<'a, T> {
    buffer: &'a [u8],
    head: &'a mut usize,
    entries: &'a mut VecDeque<Entry<T>>,
    begun: bool,
}

impl<T> Drain<'_, T> {
    /// Returns the number of remaining messages.
    pub(crate) fn left(&self) -> usize {
        if self.begun { 0 } else { self.entries.len() }
    }
}

impl<'a, T> Iterator for Drain<'a, T> {
    type Item = (&'a [u8], T);

    fn next(&mut self) -> Option<Self::Item> {
        if self.begun {
            return None;
        }
        let entry = self.entries.pop_front()?;
        let message = self.buffer.get(*self.head..*self.head + entry.length)?;
        *self.head += entry.length;
        Some((message, entry.tag))
    }
}

impl<T: PartialEq> fmt::Debug for Queue<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Queue")
            .field("messages", &self.messages())
            .field("bytes", &self.len())
            .finish_non_exhaustive()
    }
}

impl<T: PartialEq> Default for Queue<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// Queues are equal if their unsent content is equal; sent bytes do not count.
impl<T: PartialEq> PartialEq for Queue<T> {
    fn eq(&self, other: &Self) -> bool {
        self.unsent() == other.unsent()
            && self.entries == other.entries
            && (self.begun, self.next_serial) == (other.begun, other.next_serial)
    }
}

impl<T: Eq> Eq for Queue<T> {}

impl<T: PartialEq + Hash> Hash for Queue<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.unsent().hash(state);
        self.entries.hash(state);
        (self.begun, self.next_serial).hash(state);
    }
}

/// A message that is being written. Unless it is kept, dropping it restores the buffer, even after a panic.
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
