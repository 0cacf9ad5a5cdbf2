//! Conversion of bytes to text on one line.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;

/// Returns the bytes as printable ASCII: a backslash and non-printable bytes become `\\`, `\n`, `\xff`.
pub(super) fn escaped(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for byte in bytes {
        // Writing to a string does not fail.
        _ = match byte {
            b'\n' => text.write_str("\\n"),
            b'\\' => text.write_str("\\\\"),
            b' '..=b'~' => text.write_char(char::from(*byte)),
            other => write!(text, "\\x{other:02x}"),
        };
    }
    text
}

/// Returns the bytes that [`escaped`] converted to this text; `None` if it did not produce the text.
pub(super) fn unescaped(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        bytes.extend_from_slice(rest.get(..at)?.as_bytes());
        rest = rest.get(at + 1..)?;
        let (byte, length) = match rest.as_bytes().first()? {
            b'n' => (b'\n', 1),
            b'\\' => (b'\\', 1),
            b'x' => {
                let digits = rest.get(1..3).filter(|digits| !digits.starts_with('+'))?;
                (u8::from_str_radix(digits, 16).ok()?, 3)
            }
            _ => return None,
        };
        bytes.push(byte);
        rest = rest.get(length..)?;
    }
    bytes.extend_from_slice(rest.as_bytes());
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_comes_back() {
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(unescaped(&escaped(&all)), Some(all));
        assert_eq!(escaped(b"a\\\n\xff~"), "a\\\\\\n\\xff~");
    }

    #[test]
    fn invalid_escapes_are_not_decoded() {
        for text in ["\\", "\\x", "\\x1", "\\xg0", "\\x+f", "\\q", "a\\"] {
            assert_eq!(unescaped(text), None, "{text}");
        }
    }
}
