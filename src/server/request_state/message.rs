//! The message that a tag is made over.
//!
//! ```text
//! domain | principal | expiry | method | name | uri | arguments | payload
//! ```
//!
//! Numbers have eight bytes, texts and bytes have their length in front, and what may be absent has a
//! byte that says whether it is there. So a message can be read in one way only, and no two different
//! things give the same one.

use alloc::vec::Vec;

use super::binding::Binding;
use super::form::nanoseconds;
use crate::json::{Raw, Str};
use crate::time::Instant;

/// Tells our messages from any other that is authenticated with the same key. It has the version of
/// the text form, and every one is as long as this one.
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

/// As code points, four bytes each: a string may hold what UTF-8 has no form for.
fn text(message: &mut Vec<u8>, text: &Str<'_>) {
    number(message, text.code_points().count() as u64);
    for point in text.code_points() {
        message.extend_from_slice(&point.to_be_bytes());
    }
}
