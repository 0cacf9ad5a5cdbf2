//! [`Inbox`], which splits a byte stream into frames, one per line, and keeps the incomplete line.
//!
//! Each byte is searched once, and the buffer holds at most one frame and one chunk.

use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

use super::batch::Batch;
use super::message::{Frame, LONGEST_FRAME, MARGIN, Origin};
use crate::json::{trim_end, trim_start};
use crate::limits::Limits;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A splitter of a byte stream into frames, one per line, which keeps the incomplete line.
///
/// Read into [`space`](Self::space), report the number of bytes with [`filled`](Self::filled), then take frames with
/// [`next`](Self::next) until it returns `None`. Any chunking of the same bytes yields the same frames, each byte is
/// searched once, and the buffer never grows beyond [`Limits::frame_bytes`] and one chunk.
///
/// - Lines end with LF. A CR in front of it and white space around a frame are stripped; blank lines are skipped. A
///   byte order mark is skipped only at the start of the stream.
/// - A line that is too long is skipped to its end and reported there; other lines are unaffected.
/// - An array is checked whole and then yielded as one frame per element.
/// - The remainder behind the last newline when the input ends is dispatched if it is a complete object, and reported
///   as truncated otherwise.
///
/// ([stdio transport](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#stdio))
///
/// ```
/// use mcp_sansio::{Inbox, Limits};
///
/// let mut inbox = Inbox::new(&Limits::default());
/// // What has been taken in may be less than what there was: feed the rest once the frames are taken.
/// assert_eq!(inbox.feed(b"{\"a\":1}\r\n\n{\"b\""), 14);
/// assert_eq!(inbox.next().unwrap().bytes(), b"{\"a\":1}");
/// assert!(inbox.next().is_none());
/// assert_eq!(inbox.feed(b":2}\n"), 4);
/// assert_eq!(inbox.next().unwrap().bytes(), b"{\"b\":2}");
/// ```
#[derive(Clone)]
pub struct Inbox {
    /// Invariant: `start <= searched <= end <= buffer.len()`.
    ///
    /// ```text
    ///   taken    |    no newline in here    |    not searched    |    space
    ///          start                     searched               end
    /// ```
    buffer: Vec<u8>,
    start: usize,
    searched: usize,
    end: usize,
    /// The batch whose elements are being yielded; its line stays in the buffer until then.
    batch: Option<OpenBatch>,
    /// The frame that [`has_next`](Inbox::has_next) has found. It lies before `start`, so the bytes must not move
    /// until it is taken.
    ready: Option<(Range<usize>, Origin)>,
    /// The number of bytes dropped so far of a line that is too long.
    dropped: Option<u64>,
    at_stream_start: bool,
    finished: bool,
    frame_bytes: usize,
    chunk_bytes: usize,
    depth: u8,
    batch_elements: u32,
}

/// A batch whose elements are being yielded. All offsets count from [`Inbox::start`].
#[derive(Clone)]
struct OpenBatch {
    batch: Batch,
    length: usize,
    line_end: usize,
}

impl Inbox {
    /// Creates an empty inbox. It allocates nothing before the first byte.
    pub fn new(limits: &Limits) -> Self {
        Self {
            buffer: Vec::new(),
            start: 0,
            searched: 0,
            end: 0,
            batch: None,
            ready: None,
            dropped: None,
            at_stream_start: true,
            finished: false,
            frame_bytes: limits.frame_bytes.min(LONGEST_FRAME),
            chunk_bytes: limits.chunk_bytes.clamp(1, LONGEST_FRAME),
            depth: limits.depth,
            batch_elements: limits.batch_elements,
        }
    }

    /// Whether the input has ended and every frame has been taken.
    pub fn is_finished(&self) -> bool {
        self.finished
            && self.is_empty()
            && self.dropped.is_none()
            && self.batch.is_none()
            && self.ready.is_none()
    }

    /// Returns the number of waiting bytes, of complete frames and of the incomplete line.
    pub const fn len(&self) -> usize {
        self.end - self.start
    }

    /// Whether no bytes are waiting.
    pub const fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Returns the buffer space for the next read, at least [`Limits::chunk_bytes`].
    ///
    /// Take all frames first: while complete frames wait, the space can be smaller or even empty, and a read into
    /// empty space looks like the end of the input.
    pub fn space(&mut self) -> &mut [u8] {
        self.make_room();
        self.buffer.get_mut(self.end..).unwrap_or_default()
    }

    /// Reports that this many bytes have been read into [`space`](Self::space).
    ///
    /// A number larger than the space counts as all of it. After [`finish`](Self::finish) the bytes are ignored.
    pub fn filled(&mut self, bytes: usize) {
        if !self.finished {
            self.end = self.end.saturating_add(bytes).min(self.buffer.len());
        }
        self.check();
    }

    /// Copies as many bytes as fit, and returns their number.
    ///
    /// All bytes fit if every frame has been taken and they are no more than [`Limits::chunk_bytes`]. Otherwise take
    /// frames and feed the rest. After [`finish`](Self::finish) bytes are dropped, and count as copied.
    #[must_use = "the bytes that did not fit must be fed again"]
    pub fn feed(&mut self, bytes: &[u8]) -> usize {
        let space = self.space();
        let count = space.len().min(bytes.len());
        if let (Some(space), Some(bytes)) = (space.get_mut(..count), bytes.get(..count)) {
            space.copy_from_slice(bytes);
        }
        self.filled(count);
        count
    }

    /// Marks the end of the input. [`next`](Self::next) then yields the incomplete line.
    pub fn finish(&mut self) {
        self.finished = true;
    }

    /// Whether [`next`](Self::next) will yield a frame.
    ///
    /// A function that reads until a frame is complete and then returns it must check first, because the frame
    /// borrows the inbox.
    pub fn has_next(&mut self) -> bool {
        self.find();
        self.ready.is_some()
    }

    /// Returns the frame that [`next`](Self::next) will take, without taking it.
    pub fn peek(&mut self) -> Option<Frame<'_>> {
        self.find();
        let (range, origin) = self.ready.clone()?;
        Some(Frame::new(self.buffer.get(range)?, origin))
    }

    /// Looks for the next complete frame, unless it has been found before.
    #[inline]
    fn find(&mut self) {
        if self.ready.is_none() && !self.has_nothing_new() {
            self.ready = self.take();
        }
    }

    /// Takes the next complete frame.
    ///
    /// The frame borrows the inbox: use it, or copy it, before reading on.
    #[must_use = "a frame that is dropped is a message lost"]
    #[allow(clippy::should_implement_trait, reason = "an iterator cannot lend its items")]
    pub fn next(&mut self) -> Option<Frame<'_>> {
        let (range, origin) = if self.ready.is_some() {
            self.ready.take()?
        } else if self.has_nothing_new() {
            return None;
        } else if let Some(range) = self.take_usual() {
            (range, Origin::Message)
        } else {
            self.take()?
        };
        Some(Frame::new(self.buffer.get(range)?, origin))
    }

    /// Takes the next line if it is an object without white space around it, as nearly every line is. Bytes without a
    /// newline are not searched again.
    #[inline]
    fn take_usual(&mut self) -> Option<Range<usize>> {
        if self.batch.is_some() || self.dropped.is_some() {
            return None;
        }
        let unsearched = self.buffer.get(self.searched..self.end)?;
        let found = memchr::memchr(b'\n', unsearched);
        let searched = found.unwrap_or(unsearched.len());
        work!(searched);
        self.searched += searched;
        let line = self.start..self.searched;
        let is_usual = matches!(self.buffer.get(line.clone())?, [b'{', .., b'}']);
        if found.is_none() || !is_usual || self.frame_bytes < line.len() {
            return None;
        }
        self.at_stream_start = false;
        self.pass(line.end + 1);
        Some(line)
    }

    /// Whether no bytes are unsearched: the usual end of a loop over the frames.
    fn has_nothing_new(&self) -> bool {
        self.searched == self.end && self.batch.is_none() && !self.finished
    }

    /// Frees the buffer if no bytes are waiting.
    ///
    /// Use it for connections that stay idle after a large frame.
    pub fn release(&mut self) {
        if self.is_empty() && self.ready.is_none() {
            self.buffer = Vec::new();
            (self.start, self.searched, self.end) = (0, 0, 0);
        }
    }

    /// Frees the buffer if no bytes are waiting and it has more than `bytes` bytes.
    ///
    /// For drivers, before each read: after a large frame, an idle connection keeps no large buffer.
    pub fn release_above(&mut self, bytes: usize) {
        if bytes < self.buffer.capacity() {
            self.release();
        }
    }

    /// Returns the capacity of the buffer.
    #[cfg(test)]
    pub(super) fn buffer_length(&self) -> usize {
        self.buffer.capacity()
    }

    fn take(&mut self) -> Option<(Range<usize>, Origin)> {
        if self.batch.is_none() {
            let (range, origin) = self.line()?;
            // Fast path: nearly every line is one message.
            if self.buffer.get(range.clone())?.first().is_some_and(|first| *first != b'[') {
                return Some((range, origin));
            }
            if let Some(frame) = self.unpack(range, origin) {
                return Some(frame);
            }
        }
        self.take_further()
    }

    #[inline(never)]
    fn take_further(&mut self) -> Option<(Range<usize>, Origin)> {
        loop {
            if let Some(open) = &mut self.batch {
                let bytes = self.buffer.get(self.start..self.start + open.length)?;
                if let Some((range, element)) = open.batch.next(bytes) {
                    let range = self.start + range.start..self.start + range.end;
                    return Some((range, Origin::Element(element)));
                }
                let line_end = self.start + open.line_end;
                self.batch = None;
                self.pass(line_end);
            }
            let (range, origin) = self.line()?;
            if let Some(frame) = self.unpack(range, origin) {
                return Some(frame);
            }
        }
    }

    /// Returns the frame of a line. `None` for a blank line, and for a batch, which is opened here but of which no
    /// element is taken.
    #[inline(never)]
    fn unpack(&mut self, range: Range<usize>, origin: Origin) -> Option<(Range<usize>, Origin)> {
        let line = self.buffer.get(range.clone())?;
        work!(line.len());
        match (line.first(), origin) {
            (None, Origin::Message | Origin::LastLine) => None,
            (Some(b'['), Origin::Message | Origin::LastLine) => {
                match Batch::open(line, self.depth, self.batch_elements) {
                    Ok(batch) => {
                        self.keep(batch, range);
                        None
                    }
                    Err(Origin::BrokenBatch(_)) if origin == Origin::LastLine => {
                        Some((range, origin))
                    }
                    Err(origin) => Some((range, origin)),
                }
            }
            _ => Some((range, origin)),
        }
    }

    /// Steps back to a line that has been passed, so that its bytes stay in the buffer while its batch is open.
    fn keep(&mut self, batch: Batch, frame: Range<usize>) {
        let line_end = self.start - frame.start;
        self.start = frame.start;
        self.batch = Some(OpenBatch { batch, length: frame.len(), line_end });
    }

    /// Finds the next line and passes it. Returns the range of its frame, without white space.
    #[inline(always)]
    fn line(&mut self) -> Option<(Range<usize>, Origin)> {
        let unsearched = self.buffer.get(self.searched..self.end)?;
        let Some(found) = memchr::memchr(b'\n', unsearched) else {
            work!(unsearched.len());
            return self.no_line();
        };
        work!(found);
        let range = self.start..self.searched + found;
        self.pass(range.end + 1);
        if let Some(dropped) = self.dropped.take() {
            let length = dropped + range.len() as u64;
            return Some((0..0, Origin::TooLong { length }));
        }
        Some(self.framed(range, Origin::Message))
    }

    /// Handles a missing newline: nothing is complete yet, or the input has ended.
    #[inline(never)]
    fn no_line(&mut self) -> Option<(Range<usize>, Origin)> {
        self.searched = self.end;
        let pending = self.start..self.end;
        if let Some(dropped) = &mut self.dropped {
            *dropped += pending.len() as u64;
            let length = *dropped;
            self.pass(pending.end);
            if !self.finished {
                return None;
            }
            self.dropped = None;
            return Some((0..0, Origin::TooLong { length }));
        }
        if self.finished {
            if pending.is_empty() {
                return None;
            }
            self.pass(pending.end);
            return Some(self.framed(pending, Origin::LastLine));
        }
        if self.frame_bytes + MARGIN < pending.len() {
            self.dropped = Some(pending.len() as u64);
            self.at_stream_start = false;
            self.pass(pending.end);
        }
        None
    }

    /// Returns the range of the frame in a line, or the origin of a line that is too long.
    #[inline]
    fn framed(&mut self, line: Range<usize>, origin: Origin) -> (Range<usize>, Origin) {
        let at_stream_start = core::mem::take(&mut self.at_stream_start);
        let bytes = self.buffer.get(line.clone()).unwrap_or_default();
        let marked = at_stream_start && bytes.starts_with(BYTE_ORDER_MARK);
        let skipped = if marked { BYTE_ORDER_MARK.len() } else { 0 };
        let bytes = bytes.get(skipped..).unwrap_or_default();
        let unended = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        if self.frame_bytes < unended.len() {
            return (0..0, Origin::TooLong { length: line.len() as u64 });
        }
        let unspaced = trim_start(bytes);
        let begin = line.start + skipped + (bytes.len() - unspaced.len());
        (begin..begin + trim_end(unspaced).len(), origin)
    }

    /// Passes everything up to `to`.
    fn pass(&mut self, to: usize) {
        self.start = to.min(self.end);
        self.searched = self.start;
        self.check();
    }

    /// Makes room for a chunk: moves the waiting bytes to the front, then grows the buffer.
    fn make_room(&mut self) {
        if self.is_empty() && self.ready.is_none() {
            (self.start, self.searched, self.end) = (0, 0, 0);
        }
        if self.chunk_bytes <= self.buffer.len() - self.end {
            return;
        }
        if 0 < self.start && self.ready.is_none() {
            work!(self.end - self.start);
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.searched -= self.start;
            self.start = 0;
        }
        // No overflow is possible: a frame and a chunk are at most `LONGEST_FRAME` each, half of the address space.
        let most = self.frame_bytes + MARGIN + self.chunk_bytes;
        let wanted = (self.end + self.chunk_bytes).max(self.buffer.len() * 2).min(most);
        if self.buffer.len() < wanted && self.buffer.len() - self.end < self.chunk_bytes {
            self.buffer.reserve_exact(wanted - self.buffer.len());
            self.buffer.resize(wanted, 0);
        }
        self.check();
    }

    fn check(&self) {
        debug_assert!(
            self.start <= self.searched
                && self.searched <= self.end
                && self.end <= self.buffer.len()
        );
    }
}

impl fmt::Debug for Inbox {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Inbox")
            .field("waiting", &self.len())
            .field("dropped", &self.dropped)
            .field("finished", &self.finished)
            .finish_non_exhaustive()
    }
}
