//! Functions that write events and comments of an event stream.

use alloc::vec::Vec;
use core::fmt::{self, Write};
use core::time::Duration;

/// Appends one event and the blank line that ends it: the unit to flush.
///
/// Data of several lines becomes several `data` fields, which a reader joins with newlines; empty data becomes an
/// empty field. `retry` is written in milliseconds. Streams from 2026-07-28 on use neither `id` nor `retry`. Streams
/// of 2024-11-05 require `event`; in others it is optional.
///
/// Types and ids cannot contain line breaks and NUL, so these characters are removed.
///
/// ```
/// use mcp_sansio::http::write_event;
///
/// let mut out = Vec::new();
/// write_event(&mut out, Some("message"), Some(&17), None, b"{}");
/// assert_eq!(out, b"event: message\nid: 17\ndata: {}\n\n");
/// ```
pub fn write_event(
    out: &mut Vec<u8>,
    event: Option<&str>,
    id: Option<&dyn fmt::Display>,
    retry: Option<Duration>,
    data: &[u8],
) {
    if let Some(event) = event {
        field(out, "event", &event);
    }
    if let Some(id) = id {
        field(out, "id", id);
    }
    if let Some(retry) = retry {
        field(out, "retry", &retry.as_millis());
    }
    write_lines(out, b"data: ", data);
    out.push(b'\n');
}

/// Appends a comment and a blank line, which readers ignore: it keeps a connection alive, or flushes the headers.
/// Text of several lines becomes several comments.
///
/// ```
/// let mut out = Vec::new();
/// mcp_sansio::http::write_comment(&mut out, "");
/// assert_eq!(out, b": \n\n");
/// ```
pub fn write_comment(out: &mut Vec<u8>, text: &str) {
    write_lines(out, b": ", text.as_bytes());
    out.push(b'\n');
}

/// Appends one line for each line of the text, each with the prefix `head`.
fn write_lines(out: &mut Vec<u8>, head: &[u8], text: &[u8]) {
    let mut rest = Some(text);
    while let Some(lines) = rest {
        let end = memchr::memchr2(b'\n', b'\r', lines);
        let (line, tail) = match end.and_then(|end| lines.split_at_checked(end)) {
            Some((line, tail)) => (line, Some(tail)),
            None => (lines, None),
        };
        out.reserve(head.len() + line.len() + 2);
        out.extend_from_slice(head);
        out.extend_from_slice(line);
        out.push(b'\n');
        rest = tail.map(|tail| {
            let after_pair = tail.strip_prefix(b"\r\n");
            after_pair.or_else(|| tail.get(1..)).unwrap_or_default()
        });
    }
}

fn field(out: &mut Vec<u8>, name: &str, value: &dyn fmt::Display) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    // Appending never fails; a `Display` that fails is truncated.
    _ = write!(OneLine { out }, "{value}");
    out.push(b'\n');
}

/// A writer that appends text without line breaks and NULs.
struct OneLine<'a> {
    out: &'a mut Vec<u8>,
}

impl Write for OneLine<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.out.extend(text.bytes().filter(|byte| !matches!(byte, b'\n' | b'\r' | 0)));
        Ok(())
    }
}
