//! The text form: `s1.<expiry in nanoseconds, hexadecimal>.<payload>.<tag>`, with payload and tag in base64url.
//!
//! The form is canonical: every value has exactly one text, so a modified text has another value or is invalid.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;

use crate::base64::Base64;
use crate::json::Str;
use crate::time::Instant;

const VERSION: &str = "s1";

/// The bytes of the version, the longest expiry, the tag, and the dots.
const OVERHEAD: usize = 2 + 16 + 43 + 3;

/// The parts of a text.
pub(super) struct Parts {
    pub(super) payload: Vec<u8>,
    pub(super) expiry: Instant,
    pub(super) tag: [u8; 32],
}

pub(super) fn write(payload: &[u8], expiry: Instant, tag: &[u8; 32]) -> String {
    let mut text = String::with_capacity(longest(payload.len()));
    // Writing into a string cannot fail.
    _ = write!(text, "{VERSION}.{:x}.", nanoseconds(expiry));
    Base64::Url.encode(payload, &mut text);
    text.push('.');
    Base64::Url.encode(tag, &mut text);
    text
}

/// Reads a text. Returns `None` if it is malformed, or its payload is longer than `payload_bytes`.
pub(super) fn read(state: &Str<'_>, payload_bytes: usize) -> Option<Parts> {
    // The length is checked before anything is copied. An escape counts as one character.
    if state.chars().nth(longest(payload_bytes)).is_some() {
        return None;
    }
    let text = state.to_str();
    let (version, rest) = text.split_once('.')?;
    let (expiry, rest) = rest.split_once('.')?;
    let (payload, tag) = rest.split_once('.')?;
    if version != VERSION {
        return None;
    }
    let expiry = hexadecimal(expiry)?;
    let payload = Base64::Url.decode(payload).filter(|payload| payload.len() <= payload_bytes)?;
    let tag = Base64::Url.decode(tag)?.try_into().ok()?;
    Some(Parts { payload, expiry, tag })
}

pub(super) fn nanoseconds(instant: Instant) -> u64 {
    // `Instant` is a `u64` of nanoseconds, so this never saturates.
    u64::try_from(instant.since_epoch().as_nanos()).unwrap_or(u64::MAX)
}

/// Reads a number in lowercase digits without leading zeros.
fn hexadecimal(text: &str) -> Option<Instant> {
    let digits = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let canonical = text == "0" || !text.starts_with('0');
    let number = (digits && canonical).then(|| u64::from_str_radix(text, 16).ok()).flatten();
    number.map(Instant::from_nanos)
}

/// The length of the longest text with a payload of so many bytes.
const fn longest(payload_bytes: usize) -> usize {
    payload_bytes.saturating_add(payload_bytes.div_ceil(3)).saturating_add(OVERHEAD)
}
