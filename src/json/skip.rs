//! Steps over JSON text that is known to be valid, as long as it is one line.
//!
//! What is not JSON, because somebody only says that it is, is never taken for more than a line either.

use super::run::{first_mark, marks, plain_run};
use super::space::is_whitespace;

/// A string without escapes whose first quote has been passed, and what stands behind its last one.
#[inline(always)]
pub(super) fn plain_string(text: &[u8]) -> Option<(&[u8], &[u8])> {
    match text.split_at_checked(run(text))? {
        (inner, [b'"', behind @ ..]) => Some((inner, behind)),
        _ => None,
    }
}

/// What stands behind the value at the beginning.
#[inline]
pub(super) fn behind_value(text: &[u8]) -> Option<&[u8]> {
    match text {
        [b'"', inside @ ..] => behind_string(inside),
        [b'{' | b'[', inside @ ..] => behind_brackets(inside),
        _ => {
            let ends = |byte: &u8| is_whitespace(*byte) || matches!(byte, b',' | b']' | b'}');
            text.get(text.iter().position(ends).unwrap_or(text.len())..)
        }
    }
}

/// What stands behind an object or an array whose first bracket has been passed, by counting brackets.
pub(super) fn behind_brackets(text: &[u8]) -> Option<&[u8]> {
    let (mut rest, mut depth) = (text, 1_usize);
    while let [byte, behind @ ..] = rest {
        rest = behind;
        if *byte == b'"' {
            rest = match behind_string(behind)? {
                // What comes next nearly always.
                [b':' | b',', behind @ ..] => behind,
                behind => behind,
            };
        } else if *byte | 0x20 == b'{' {
            depth += 1;
        } else if *byte | 0x20 == b'}' {
            depth -= 1;
            if depth == 0 {
                return Some(behind);
            }
        } else if matches!(byte, b'\n' | b'\r') {
            return None;
        }
    }
    None
}

/// What stands behind a string whose first quote has been passed.
#[inline(always)]
fn behind_string(text: &[u8]) -> Option<&[u8]> {
    let mut rest = text;
    loop {
        rest = match rest.get(run(rest)..)? {
            [b'"', behind @ ..] => return Some(behind),
            [b'\\', _, behind @ ..] => behind,
            _ => return None,
        };
    }
}

/// The number of leading bytes that need no attention, which are few.
#[inline(always)]
fn run(bytes: &[u8]) -> usize {
    let mut rest = bytes;
    for _ in 0..2 {
        let Some((word, behind)) = rest.split_first_chunk() else { break };
        let marks = marks(u64::from_le_bytes(*word));
        if marks != 0 {
            return bytes.len() - rest.len() + first_mark(marks);
        }
        rest = behind;
    }
    bytes.len() - rest.len() + other_run(rest)
}

#[inline(never)]
fn other_run(bytes: &[u8]) -> usize {
    plain_run(bytes)
}
