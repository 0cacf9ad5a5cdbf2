//! [`SseDecoder`], which splits the bytes of an event stream into events.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

/// The default type of an event.
const MESSAGE: &str = "message";

/// U+FEFF in UTF-8, which may start a stream.
const BYTE_ORDER_MARK: [u8; 3] = [0xef, 0xbb, 0xbf];

/// Decodes an event stream from chunks of any size.
///
/// The decoder holds at most one event and reuses its buffers: once they have grown, it does not allocate. Work is
/// linear in the length of the chunks. An incomplete event at the end of the stream is discarded, so the end needs no
/// call. Each stream needs its own decoder; [`last_event_id`](Self::last_event_id) is the position to resume from.
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
    /// The start of a line whose end has not arrived. Of a comment or a skipped line, only the first byte.
    line: Vec<u8>,
    /// The data lines so far, joined by newlines.
    data: Vec<u8>,
    event_type: String,
    /// The id of the current event; it becomes `last_id` when the event ends.
    next_id: String,
    last_id: String,
    retry: Option<Duration>,
    /// The fields received so far.
    seen: Seen,
    /// The length of the lines so far, without comments and line ends.
    length: usize,
    most_bytes: usize,
    /// The number of bytes of the byte order mark received so far; `None` once the stream has started, with or
    /// without it.
    mark: Option<usize>,
    /// Whether the last byte was a carriage return: a line feed after it is part of the same line end.
    is_after_return: bool,
    /// Whether the rest of an event that is too long is being skipped.
    is_skipping: bool,
    /// Whether the fields belong to an event that was already returned.
    is_done: bool,
}

/// The fields of an event.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
struct Seen {
    any: bool,
    data: bool,
    id: bool,
}

/// An event of a stream: a block of lines with at least one valid field.
///
/// `Debug` shows the type, and the lengths of the other text.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct SseEvent<'a> {
    /// The type; `message` if the event has none. U+FFFD replaces invalid UTF-8.
    pub event_type: &'a str,
    /// The data lines, joined by newlines; `None` if there is not even an empty one. The bytes are not checked to be
    /// UTF-8.
    pub data: Option<&'a [u8]>,
    /// The id of the latest event that has one, including this event; empty if no event had one or the id was reset.
    pub last_event_id: &'a str,
    /// The delay before reconnecting, if the event sets one.
    pub retry: Option<Duration>,
}

/// An error in a stream. The server is at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum SseError {
    /// An event is longer than the limit of the decoder. The rest of the event is skipped and its id is ignored; the
    /// stream continues after it.
    #[error("an event is too long")]
    TooLong,
}

/// The effect of the end of a line.
enum Step {
    GoOn,
    Event,
    TooLong,
}

impl<'a> SseEvent<'a> {
    /// Returns the text of a JSON-RPC message, if the event has non-empty data and the type `message`. MCP uses no
    /// other type (except `endpoint`, in 2024-11-05). Events with empty data carry an id or keep the connection
    /// alive.
    pub fn message(&self) -> Option<&'a [u8]> {
        self.data.filter(|data| !data.is_empty() && self.event_type == MESSAGE)
    }
}

impl SseDecoder {
    /// Creates a decoder for the start of a stream. `most_bytes` limits the length of the lines of an event, without
    /// comments and line ends. The buffers grow to a small multiple of it at worst.
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

    /// Returns the decoder for a stream that resumes after the event with this id. Events without an id report this
    /// one.
    #[must_use]
    pub fn behind(mut self, last_event_id: &str) -> Self {
        self.last_id.clear();
        self.last_id.push_str(last_event_id);
        self
    }

    /// Consumes bytes from the front of the chunk, up to the end of the next event. Returns `None` when the chunk is
    /// consumed.
    ///
    /// An event is returned with the byte that ends it, without waiting for the next byte.
    ///
    /// # Errors
    ///
    /// [`SseError`] once for each event that is too long, as soon as it exceeds the limit. Call again to continue.
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

    /// Returns the id of the latest event that has one; empty if no event had one or the id was reset. It is the
    /// position to resume from after the stream has broken off.
    ///
    /// The id has no line breaks and no NUL, but may contain other characters that a header value cannot.
    pub fn last_event_id(&self) -> &str {
        &self.last_id
    }

    /// Frees the buffers unless an event has started: for streams that stay idle after a large event.
    pub fn release(&mut self) {
        if self.is_done {
            self.forget_event();
        }
        if self.line.is_empty() && !self.seen.any {
            (self.line, self.data) = (Vec::new(), Vec::new());
        }
    }

    /// Returns the capacities of the buffers.
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

    /// Skips a byte order mark at the start of the stream, which may arrive byte by byte.
    fn pass_mark(&mut self, chunk: &mut &[u8]) {
        while let Some(matched) = self.mark {
            let Some((first, rest)) = chunk.split_first() else { return };
            if BYTE_ORDER_MARK.get(matched) == Some(first) {
                *chunk = rest;
                self.mark = Some(matched + 1).filter(|matched| *matched < BYTE_ORDER_MARK.len());
            } else {
                // These bytes were not a byte order mark, but the start of a line.
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

    /// Buffers the part of a line whose end is not in the chunk.
    fn keep(&mut self, part: &[u8]) -> Result<(), SseError> {
        let first = self.line.first().or_else(|| part.first());
        if self.is_skipping || first == Some(&b':') {
            // Only two facts matter later: that the line is not empty, and whether it is a comment.
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

    /// Whether the event may grow by this many bytes.
    fn has_room(&self, more: usize) -> bool {
        let length = self.length.saturating_add(self.line.len()).saturating_add(more);
        length <= self.most_bytes
    }

    /// Discards the event and skips to its end.
    fn skip(&mut self) {
        self.is_skipping = true;
        self.line.truncate(1);
        self.forget_event();
    }

    /// Ends a line. `rest` follows the part of the line that was buffered.
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
                // A delay that overflows is clamped.
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

/// Replaces the text, with U+FFFD for invalid UTF-8.
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
