//! Events in, bytes out.

use alloc::vec::Vec;
use core::fmt::{self, Write};
use core::time::Duration;

/// Appends one event, with the blank line that ends it: what belongs into one flush.
///
/// Data of several lines becomes as many fields, and comes out with newlines between them; empty data
/// becomes an empty field. `retry` is written in milliseconds. Streams from 2026-07-28 on have neither
/// `id` nor `retry`; those of 2024-11-05 name the `event`, the others may.
///
/// Line breaks and NUL can stand in no type and in no id, so they are left out there.
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

/// Appends a comment with a blank line after it, which readers pass over: it keeps a connection alive,
/// or has headers flushed. Text of several lines becomes as many comments.
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

/// Appends a line of its own for each line of the text.
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
    // Appending never fails, and what a `Display` fails at is left out.
    _ = write!(OneLine { out }, "{value}");
    out.push(b'\n');
}

/// Appends text without its line breaks and NULs.
struct OneLine<'a> {
    out: &'a mut Vec<u8>,
}

impl Write for OneLine<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.out.extend(text.bytes().filter(|byte| !matches!(byte, b'\n' | b'\r' | 0)));
        Ok(())
    }
}
