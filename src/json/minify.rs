//! Passes JSON text on with small repairs: without white space, without lone surrogates.

use alloc::borrow::Cow;
use alloc::string::String;

use super::run::plain_run;
use super::scan::is_whitespace;
use super::write::{EncodeError, Writer};

/// Appends valid JSON text as one line: untouched if it is one, else without its white space.
///
/// A string cannot hold a raw newline, so every newline is white space between tokens.
pub(super) fn write_line(text: &str, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
    if memchr::memchr2(b'\n', b'\r', text.as_bytes()).is_none() {
        return writer.push(text.as_bytes());
    }
    let mut rest = text.as_bytes();
    while let Some(first) = rest.first() {
        let length = match first {
            byte if is_whitespace(*byte) => {
                rest = rest.get(1..).unwrap_or_default();
                continue;
            }
            b'"' => string_length(rest),
            _ => rest
                .iter()
                .position(|byte| is_whitespace(*byte) || *byte == b'"')
                .unwrap_or(rest.len()),
        };
        let (token, behind) = rest.split_at_checked(length).unwrap_or((rest, &[]));
        writer.push(token)?;
        rest = behind;
    }
    Ok(())
}

/// The length of the string literal at the start, quotes included.
fn string_length(literal: &[u8]) -> usize {
    let mut length = 1;
    loop {
        let rest = literal.get(length..).unwrap_or_default();
        let run = plain_run(rest);
        length += run;
        match rest.get(run) {
            Some(b'\\') => length += 2,
            Some(_) => return length + 1,
            None => return literal.len(),
        }
    }
}

/// Valid JSON text with `\ufffd` in place of each surrogate escape that lacks its partner.
pub(super) fn without_lone_surrogates(text: &str) -> Cow<'_, str> {
    let mut repaired = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(run) = text.as_bytes().get(at..).and_then(|rest| memchr::memchr(b'\\', rest)) {
        at += run;
        match (surrogate(text, at), surrogate(text, at + 6)) {
            (Some(0xd800..0xdc00), Some(0xdc00..0xe000)) => at += 12,
            (Some(0xd800..0xe000), _) => {
                repaired.push_str(text.get(copied..at).unwrap_or_default());
                repaired.push_str("\\ufffd");
                at += 6;
                copied = at;
            }
            _ => at += 2,
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    repaired.push_str(text.get(copied..).unwrap_or_default());
    Cow::Owned(repaired)
}

/// The code unit of the `\u` escape at this place, if there is one.
fn surrogate(text: &str, at: usize) -> Option<u32> {
    let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
    u32::from_str_radix(digits, 16).ok()
}
