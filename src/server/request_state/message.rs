//! The message that is authenticated by the tag.
//!
//! ```text
//! domain | principal | expiry | method | name | uri | arguments | payload
//! ```
//!
//! Numbers take eight bytes, texts and byte strings are prefixed with their length, and optional parts with a
//! presence byte. So the encoding is injective: different values give different messages.

use alloc::vec::Vec;

use super::binding::Binding;
use super::form::nanoseconds;
use crate::json::{Raw, Str};
use crate::time::Instant;

/// Separates these messages from any others that are authenticated with the same key. It contains the version of the
/// text form, and must keep its length in every version.
const DOMAIN: &[u8] = b"mcp-sansio requestState s1";

pub(super) fn of(payload: &[u8], binding: &Binding<'_>, expiry: Instant) -> Vec<u8> {
    let arguments = binding.arguments.as_ref().map(Raw::as_json);
    let mut message = Vec::with_capacity(256 + payload.len() + arguments.map_or(0, str::len));
    message.extend_from_slice(DOMAIN);
    number(&mut message, binding.principal.get());
    number(&mut message, nanoseconds(expiry));
    text(&mut message, &binding.method);
    for target in [&binding.name, &binding.uri] {
        message.push(u8::from(target.is_some()));
        if let Some(target) = target {
            text(&mut message, target);
        }
    }
    message.push(u8::from(arguments.is_some()));
    if let Some(arguments) = arguments {
        bytes(&mut message, arguments.as_bytes());
    }
    bytes(&mut message, payload);
    message
}

fn number(message: &mut Vec<u8>, number: u64) {
    message.extend_from_slice(&number.to_be_bytes());
}

fn bytes(message: &mut Vec<u8>, bytes: &[u8]) {
    number(message, bytes.len() as u64);
    message.extend_from_slice(bytes);
}

/// Writes a text as code points, four bytes each: a string may hold lone surrogates, which UTF-8 cannot encode.
fn text(message: &mut Vec<u8>, text: &Str<'_>) {
    number(message, text.code_points().count() as u64);
    for point in text.code_points() {
        message.extend_from_slice(&point.to_be_bytes());
    }
}
