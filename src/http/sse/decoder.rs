//! Bytes in, events out.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

/// The type of events that name none.
const MESSAGE: &str = "message";

/// U+FEFF in UTF-8, which may stand at the beginning of a stream.
const BYTE_ORDER_MARK: [u8; 3] = [0xef, 0xbb, 0xbf];

/// Takes a stream of events apart, however its bytes are cut into chunks.
///
/// It holds at most one event, and recycles its memory: once that has grown, it allocates nothing. Work
/// is linear in the length of the chunks. What has been begun when the stream ends is no event, so
/// there is nothing to do then. One decoder is for one stream; the position for the next one is
/// [`last_event_id`](Self::last_event_id).
///
/// ```
/// use mcp_sansio::http::SseDecoder;
///
/// let mut decoder = SseDecoder::new(1 << 20);
/// let mut messages = Vec::new();
/// for mut chunk in [&b": hi\n\nid: 7\nda"[..], b"ta: {}\r", b"\n\r\ndata: {", b"}\n"] {
///     while let Some(event) = decoder.next(&mut chunk) {
///         messages.extend(event?.message().map(<[u8]>::to_vec));
///     }
/// }
/// assert_eq!(messages, [b"{}"]);
/// assert_eq!(decoder.last_event_id(), "7");
/// # Ok::<(), mcp_sansio::http::SseError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct SseDecoder {
    /// The beginning of a line whose end has not come. Of what is not kept, the first byte.
    line: Vec<u8>,
    /// The lines of data so far, with newlines between them.
    data: Vec<u8>,
    event_type: String,
    /// The id that counts if the event comes to its end, and the one that does.
    next_id: String,
    last_id: String,
    retry: Option<Duration>,
    /// What the fields so far said.
    seen: Seen,
    /// The length of the lines so far, without comments and line ends.
    length: usize,
    most_bytes: usize,
    /// How many bytes of the mark have come; `None` once the stream has begun with or without it.
    mark: Option<usize>,
    /// The last byte was a carriage return, and a line feed after it belongs to it.
    is_after_return: bool,
    /// The rest of an event that is too long is passed over.
    is_skipping: bool,
    /// The fields are those of an event that has been handed out.
    is_done: bool,
}

/// Which fields an event has.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
struct Seen {
    any: bool,
    data: bool,
    id: bool,
}

/// An event of a stream: every block of lines in which there is a field that means something.
///
/// `Debug` shows the type, and the lengths of the rest.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct SseEvent<'a> {
    /// The type, `message` if the event names none. Invalid UTF-8 is replaced by U+FFFD.
    pub event_type: &'a str,
    /// The lines of data, joined by newlines; `None` if there was not even an empty one. Whether it is
    /// UTF-8 has not been looked at.
    pub data: Option<&'a [u8]>,
    /// The id of the last event that had one, this one included; empty if there was none, or if it was
    /// reset.
    pub last_event_id: &'a str,
    /// How long to wait before connecting again, if the event says so.
    pub retry: Option<Duration>,
}

/// What a stream does wrong: the server is at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum SseError {
    /// An event is longer than the decoder allows. Its rest is passed over, its id does not count, and
    /// the stream goes on after it.
    #[error("an event is too long")]
    TooLong,
}

/// What the end of a line leads to.
enum Step {
    GoOn,
    Event,
    TooLong,
}

impl<'a> SseEvent<'a> {
    /// The text of a JSON-RPC message, if the event is there for one: it has data, and is of the type
    /// `message`. Events of other types mean nothing to MCP (but for `endpoint`, in 2024-11-05), and
    /// those with empty data are there for their id, or to keep the connection alive.
    pub fn message(&self) -> Option<&'a [u8]> {
        self.data.filter(|data| !data.is_empty() && self.event_type == MESSAGE)
    }
}

impl SseDecoder {
    /// A decoder at the start of a stream, for events of at most so many bytes: the length of their
    /// lines, without comments and line ends. Its buffers grow to a few times as much at worst.
    pub const fn new(most_bytes: usize) -> Self {
        Self {
            line: Vec::new(),
            data: Vec::new(),
            event_type: String::new(),
            next_id: String::new(),
            last_id: String::new(),
            retry: None,
            seen: Seen { any: false, data: false, id: false },
            length: 0,
            most_bytes,
            mark: Some(0),
            is_after_return: false,
            is_skipping: false,
            is_done: false,
        }
    }

    /// The same for a stream that goes on where another one broke off, behind the event with this id: it stands
    /// for the events without one.
    #[must_use]
    pub fn behind(mut self, last_event_id: &str) -> Self {
        self.last_id.clear();
        self.last_id.push_str(last_event_id);
        self
    }

    /// Takes bytes off the front of the chunk, up to the end of the next event. `None` when the chunk
    /// is used up.
    ///
    /// An event comes with the byte that ends it: nothing is held back to see what follows.
    ///
    /// # Errors
    ///
    /// [`SseError`] once for each event that is too long, as soon as it is. Call again to go on.
    #[must_use = "an event that is dropped is lost"]
    pub fn next(&mut self, chunk: &mut &[u8]) -> Option<Result<SseEvent<'_>, SseError>> {
        if self.is_done {
            self.forget_event();
        }
        self.pass_mark(chunk);
        loop {
            self.pass_line_feed(chunk);
            let bytes = *chunk;
            let found = memchr::memchr2(b'\n', b'\r', bytes);
            let Some((line, rest)) = found.and_then(|end| bytes.split_at_checked(end)) else {
                *chunk = &[];
                return self.keep(bytes).err().map(Err);
            };
            self.is_after_return = rest.first() == Some(&b'\r');
            *chunk = rest.get(1..).unwrap_or_default();
            match self.end_line(line) {
                Step::GoOn => {}
                Step::Event => break,
                Step::TooLong => return Some(Err(SseError::TooLong)),
            }
        }
        self.is_done = true;
        Some(Ok(self.event()))
    }

    /// The id of the last event that had one, empty if there was none or if it was reset: where to go
    /// on, after the stream has broken off.
    ///
    /// It has no line breaks and no NUL, but it may have other characters that a header cannot.
    pub fn last_event_id(&self) -> &str {
        &self.last_id
    }

    /// Gives memory back to the allocator unless an event has been begun: for streams that stay idle
    /// after a large one.
    pub fn release(&mut self) {
        if self.is_done {
            self.forget_event();
        }
        if self.line.is_empty() && !self.seen.any {
            (self.line, self.data) = (Vec::new(), Vec::new());
        }
    }

    /// How much memory the buffers have.
    #[cfg(test)]
    pub(super) fn capacities(&self) -> [usize; 4] {
        let ids = self.next_id.capacity() + self.last_id.capacity();
        [self.line.capacity(), self.data.capacity(), self.event_type.capacity(), ids]
    }

    fn event(&self) -> SseEvent<'_> {
        SseEvent {
            event_type: if self.event_type.is_empty() { MESSAGE } else { &self.event_type },
            data: self.seen.data.then_some(&self.data),
            last_event_id: &self.last_id,
            retry: self.retry,
        }
    }

    fn forget_event(&mut self) {
        self.data.clear();
        self.event_type.clear();
        self.next_id.clear();
        self.retry = None;
        self.seen = Seen::default();
        self.length = 0;
        self.is_done = false;
    }

    /// Passes over a byte order mark at the start of the stream, which may come byte by byte.
    fn pass_mark(&mut self, chunk: &mut &[u8]) {
        while let Some(matched) = self.mark {
            let Some((first, rest)) = chunk.split_first() else { return };
            if BYTE_ORDER_MARK.get(matched) == Some(first) {
                *chunk = rest;
                self.mark = Some(matched + 1).filter(|matched| *matched < BYTE_ORDER_MARK.len());
            } else {
                // It was the beginning of something else.
                self.line.extend(BYTE_ORDER_MARK.iter().take(matched));
                self.mark = None;
            }
        }
    }

    fn pass_line_feed(&mut self, chunk: &mut &[u8]) {
        if self.is_after_return && !chunk.is_empty() {
            *chunk = chunk.strip_prefix(b"\n").unwrap_or(chunk);
            self.is_after_return = false;
        }
    }

    /// Keeps the part of a line whose end is not in the chunk.
    fn keep(&mut self, part: &[u8]) -> Result<(), SseError> {
        let first = self.line.first().or_else(|| part.first());
        if self.is_skipping || first == Some(&b':') {
            // Only whether there is a line, and whether it is a comment, will matter.
            if self.line.is_empty() {
                self.line.extend(part.first());
            }
            return Ok(());
        }
        if self.has_room(part.len()) {
            self.line.extend_from_slice(part);
            return Ok(());
        }
        self.skip();
        if self.line.is_empty() {
            self.line.extend(part.first());
        }
        Err(SseError::TooLong)
    }

    /// Whether the event may have so many bytes more.
    fn has_room(&self, more: usize) -> bool {
        let length = self.length.saturating_add(self.line.len()).saturating_add(more);
        length <= self.most_bytes
    }

    /// Gives an event up, and waits for its end.
    fn skip(&mut self) {
        self.is_skipping = true;
        self.line.truncate(1);
        self.forget_event();
    }

    /// `rest` is what comes after the part of the line that was kept.
    fn end_line(&mut self, rest: &[u8]) -> Step {
        if self.line.is_empty() {
            return self.whole_line(rest);
        }
        if let Err(SseError::TooLong) = self.keep(rest) {
            self.line.clear();
            return Step::TooLong;
        }
        let mut line = core::mem::take(&mut self.line);
        let step = self.whole_line(&line);
        line.clear();
        self.line = line;
        step
    }

    fn whole_line(&mut self, line: &[u8]) -> Step {
        if line.is_empty() {
            return self.end_event();
        }
        if self.is_skipping || line.starts_with(b":") {
            return Step::GoOn;
        }
        if !self.has_room(line.len()) {
            self.skip();
            return Step::TooLong;
        }
        self.length += line.len();
        let colon = memchr::memchr(b':', line).unwrap_or(line.len());
        let (name, value) = line.split_at_checked(colon).unwrap_or((line, &[]));
        let value = value.strip_prefix(b":").unwrap_or(value);
        self.field(name, value.strip_prefix(b" ").unwrap_or(value));
        Step::GoOn
    }

    fn field(&mut self, name: &[u8], value: &[u8]) {
        match name {
            b"data" => {
                if self.seen.data {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
                self.seen.data = true;
            }
            b"event" => set(&mut self.event_type, value),
            b"id" if !value.contains(&0) => {
                set(&mut self.next_id, value);
                self.seen.id = true;
            }
            b"retry" if !value.is_empty() && value.iter().all(u8::is_ascii_digit) => {
                // Longer than any clock runs counts as that.
                let text = core::str::from_utf8(value).unwrap_or_default();
                self.retry = Some(Duration::from_millis(text.parse().unwrap_or(u64::MAX)));
            }
            _ => return,
        }
        self.seen.any = true;
    }

    fn end_event(&mut self) -> Step {
        if core::mem::take(&mut self.is_skipping) || !self.seen.any {
            self.forget_event();
            return Step::GoOn;
        }
        if self.seen.id {
            core::mem::swap(&mut self.last_id, &mut self.next_id);
        }
        Step::Event
    }
}

/// Replaces the text.
fn set(text: &mut String, value: &[u8]) {
    text.clear();
    for chunk in value.utf8_chunks() {
        text.push_str(chunk.valid());
        if !chunk.invalid().is_empty() {
            text.push(char::REPLACEMENT_CHARACTER);
        }
    }
}

impl fmt::Debug for SseDecoder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("SseDecoder")
            .field("waiting", &(self.line.len() + self.length))
            .field("skipping", &self.is_skipping)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for SseEvent<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("SseEvent")
            .field("event_type", &self.event_type)
            .field("data_bytes", &self.data.map(<[u8]>::len))
            .field("last_event_id_bytes", &self.last_event_id.len())
            .field("retry", &self.retry)
            .finish()
    }
}
