//! Base64 for URLs, without padding
//! ([RFC 4648, section 5](https://www.rfc-editor.org/rfc/rfc4648#section-5)).

use alloc::string::String;
use alloc::vec::Vec;

pub(super) fn encode(bytes: &[u8], text: &mut String) {
    for group in bytes.chunks(3) {
        let bits = group.iter().fold(0, |bits, byte| bits << 8 | u32::from(*byte));
        let bits = bits << (8 * (3 - group.len()));
        for index in 0..=group.len() {
            text.push(symbol(bits >> (18 - 6 * index) & 0x3f));
        }
    }
}

/// Strict: nothing but the symbols, no padding, and no bits that are left over, so that every value
/// has one text.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 3);
    for group in text.as_bytes().chunks(4) {
        let mut bits = 0_u32;
        for symbol in group {
            bits = bits << 6 | value(*symbol)?;
        }
        let [_, first, second, third] = (bits << (6 * (4 - group.len()))).to_be_bytes();
        match group.len() {
            4 => bytes.extend_from_slice(&[first, second, third]),
            3 if third == 0 => bytes.extend_from_slice(&[first, second]),
            2 if second == 0 && third == 0 => bytes.push(first),
            _ => return None,
        }
    }
    Some(bytes)
}

/// The symbol for six bits.
fn symbol(bits: u32) -> char {
    let symbol = match bits {
        0..26 => u32::from(b'A') + bits,
        26..52 => u32::from(b'a') + bits - 26,
        52..62 => u32::from(b'0') + bits - 52,
        62 => u32::from(b'-'),
        _ => u32::from(b'_'),
    };
    // All of them are ASCII.
    char::from_u32(symbol).unwrap_or_default()
}

fn value(symbol: u8) -> Option<u32> {
    let value = match symbol {
        b'A'..=b'Z' => symbol - b'A',
        b'a'..=b'z' => symbol - b'a' + 26,
        b'0'..=b'9' => symbol - b'0' + 52,
        b'-' => 62,
        b'_' => 63,
        _ => return None,
    };
    Some(u32::from(value))
}
