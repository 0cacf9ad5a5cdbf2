//! The bytes that the writer appends: pieces of text, strings with their escapes, keys.

use core::fmt::{self, Display, Write as _};

use super::label::Label;
use super::run::{marks, plain_run};
use super::write::{EncodeError, Result, Writer};

/// What stands in front of a member or an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Separator {
    None,
    Comma,
}

impl Separator {
    /// What stands in front of the next one, if this one is or is not the first.
    #[inline]
    pub(super) const fn next(is_first: &mut bool) -> Self {
        if core::mem::replace(is_first, false) { Self::None } else { Self::Comma }
    }

    #[inline]
    pub(super) const fn text(self) -> &'static [u8] {
        match self {
            Self::None => b"",
            Self::Comma => b",",
        }
    }
}

impl Writer<'_> {
    #[inline]
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result {
        self.make_room(bytes.len())?;
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    /// Makes sure that so many bytes more are allowed.
    #[inline]
    fn make_room(&self, bytes: usize) -> Result {
        if self.limit.saturating_sub(self.buffer.len()) < bytes {
            Err(EncodeError::Full)
        } else {
            Ok(())
        }
    }

    pub(crate) fn push_integer(&mut self, integer: impl itoa::Integer) -> Result {
        self.push(itoa::Buffer::new().format(integer).as_bytes())
    }

    /// Appends a string literal, escaped as JSON asks and no further.
    pub(crate) fn push_string(&mut self, text: &str) -> Result {
        if is_plain(text.as_bytes()) {
            return self.push_quoted(b"\"", text, b"\"");
        }
        self.push_string_with_escapes(text)
    }

    #[inline(never)]
    fn push_string_with_escapes(&mut self, text: &str) -> Result {
        self.push(b"\"")?;
        self.push_escaped(text)?;
        self.push(b"\"")
    }

    /// Appends the key of a member, with what stands in front of it and behind it.
    #[inline]
    pub(super) fn push_key(&mut self, separator: Separator, key: &str) -> Result {
        if is_plain(key.as_bytes()) {
            return self.push_wire_key(separator, key);
        }
        self.push(separator.text())?;
        self.push_string_with_escapes(key)?;
        self.push(b":")
    }

    /// Appends the key of a member that the tables know.
    #[inline]
    pub(super) fn push_label(&mut self, separator: Separator, label: &Label) -> Result {
        let length = separator.text().len() + label.wire_length();
        self.make_room(length)?;
        let end = self.buffer.len() + length;
        match separator {
            Separator::None => self.buffer.extend_from_slice(label.wire()),
            Separator::Comma => self.buffer.extend_from_slice(label.wire_behind_comma()),
        }
        self.buffer.truncate(end);
        Ok(())
    }

    /// Appends a key that is escaped already.
    #[inline]
    pub(super) fn push_wire_key(&mut self, separator: Separator, key: &str) -> Result {
        match separator {
            Separator::None => self.push_quoted(b"\"", key, b"\":"),
            Separator::Comma => self.push_quoted(b",\"", key, b"\":"),
        }
    }

    #[inline(always)]
    fn push_quoted(&mut self, open: &[u8], text: &str, close: &[u8]) -> Result {
        self.make_room(open.len() + text.len() + close.len())?;
        self.buffer.extend_from_slice(open);
        self.buffer.extend_from_slice(text.as_bytes());
        self.buffer.extend_from_slice(close);
        Ok(())
    }

    /// Appends the text of something that prints itself as a string literal.
    pub(crate) fn push_display<T: Display + ?Sized>(&mut self, value: &T) -> Result {
        self.push(b"\"")?;
        let mut escaped = Escaped { writer: self, result: Ok(()) };
        let written = write!(escaped, "{value}");
        escaped.result?;
        written.map_err(|_| EncodeError::Payload)?;
        self.push(b"\"")
    }

    fn push_escaped(&mut self, text: &str) -> Result {
        let mut rest = text.as_bytes();
        loop {
            let run = plain_run(rest);
            let (plain, marked) = rest.split_at_checked(run).unwrap_or((rest, &[]));
            self.push(plain)?;
            let Some((byte, behind)) = marked.split_first() else { return Ok(()) };
            self.push_escape(*byte)?;
            rest = behind;
        }
    }

    fn push_escape(&mut self, byte: u8) -> Result {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        match byte {
            b'"' => self.push(b"\\\""),
            b'\\' => self.push(b"\\\\"),
            0x08 => self.push(b"\\b"),
            0x0c => self.push(b"\\f"),
            b'\n' => self.push(b"\\n"),
            b'\r' => self.push(b"\\r"),
            b'\t' => self.push(b"\\t"),
            _ => {
                let digit = |nibble: u8| DIGITS.get(usize::from(nibble)).copied().unwrap_or(b'0');
                self.push(&[b'\\', b'u', b'0', b'0', digit(byte >> 4), digit(byte & 15)])
            }
        }
    }
}

/// Whether a text has nothing to escape.
#[inline]
fn is_plain(text: &[u8]) -> bool {
    // Longer texts are gone through by blocks.
    const LONG: usize = 128;
    if text.len() < 8 || LONG < text.len() {
        return plain_run(text) == text.len();
    }
    let word = |word: &[u8; 8]| marks(u64::from_le_bytes(*word));
    let (words, _) = text.as_chunks();
    // The last word overlaps the one in front of it, unless they are all whole.
    let last = text.last_chunk().map_or(0, word);
    words.iter().fold(last, |found, bytes| found | word(bytes)) == 0
}

/// Escapes what a `Display` writes piece by piece.
struct Escaped<'w, 'a> {
    writer: &'w mut Writer<'a>,
    result: Result,
}

impl fmt::Write for Escaped<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.result = self.writer.push_escaped(text);
        self.result.map_err(|_| fmt::Error)
    }
}
