//! Base64 ([RFC 4648](https://www.rfc-editor.org/rfc/rfc4648)), as strict as it can be: every value has
//! one text.

use alloc::string::String;
use alloc::vec::Vec;

/// The two varieties that are in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Base64 {
    /// For URLs (section 5), without padding.
    Url,
    /// The standard alphabet (section 4), padded to whole groups of four.
    #[cfg(feature = "http")]
    Padded,
}

impl Base64 {
    /// Appends the text for the bytes.
    pub(crate) fn encode(self, bytes: &[u8], text: &mut String) {
        for group in bytes.chunks(3) {
            let bits = group.iter().fold(0, |bits, byte| bits << 8 | u32::from(*byte));
            let bits = bits << (8 * (3 - group.len()));
            for index in 0..=group.len() {
                text.push(self.symbol(bits >> (18 - 6 * index) & 0x3f));
            }
            if self.is_padded() {
                (group.len()..3).for_each(|_| text.push('='));
            }
        }
    }

    /// The bytes, `None` if the text has anything but the symbols, another padding than it must have,
    /// or bits that are left over.
    pub(crate) fn decode(self, text: &str) -> Option<Vec<u8>> {
        let text = if self.is_padded() { unpadded(text)? } else { text };
        let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 3);
        for group in text.as_bytes().chunks(4) {
            let mut bits = 0_u32;
            for symbol in group {
                bits = bits << 6 | self.value(*symbol)?;
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

    const fn is_padded(self) -> bool {
        match self {
            Self::Url => false,
            #[cfg(feature = "http")]
            Self::Padded => true,
        }
    }

    /// The symbols for 62 and 63.
    const fn last_symbols(self) -> (u8, u8) {
        match self {
            Self::Url => (b'-', b'_'),
            #[cfg(feature = "http")]
            Self::Padded => (b'+', b'/'),
        }
    }

    /// The symbol for six bits.
    fn symbol(self, bits: u32) -> char {
        let (second_last, last) = self.last_symbols();
        let symbol = match bits {
            0..26 => u32::from(b'A') + bits,
            26..52 => u32::from(b'a') + bits - 26,
            52..62 => u32::from(b'0') + bits - 52,
            62 => u32::from(second_last),
            _ => u32::from(last),
        };
        // All of them are ASCII.
        char::from_u32(symbol).unwrap_or_default()
    }

    fn value(self, symbol: u8) -> Option<u32> {
        let (second_last, last) = self.last_symbols();
        let value = match symbol {
            b'A'..=b'Z' => symbol - b'A',
            b'a'..=b'z' => symbol - b'a' + 26,
            b'0'..=b'9' => symbol - b'0' + 52,
            _ if symbol == second_last => 62,
            _ if symbol == last => 63,
            _ => return None,
        };
        Some(u32::from(value))
    }
}

/// The text without its padding, `None` if its length is not that of whole groups.
fn unpadded(text: &str) -> Option<&str> {
    if !text.len().is_multiple_of(4) {
        return None;
    }
    // At most two: a third one stays, and is no symbol.
    let text = text.strip_suffix('=').unwrap_or(text);
    Some(text.strip_suffix('=').unwrap_or(text))
}

#[cfg(all(test, feature = "http"))]
mod tests {
    use super::*;

    /// The values of RFC 4648, section 10.
    #[test]
    fn padded_text_is_what_the_standard_has() {
        let table = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ];
        for (plain, encoded) in table {
            let mut text = String::new();
            Base64::Padded.encode(plain.as_bytes(), &mut text);
            assert_eq!(text, encoded);
            assert_eq!(Base64::Padded.decode(encoded), Some(plain.into()));
        }
    }

    #[test]
    fn the_alphabets_differ_in_two_symbols() {
        let bytes = [0xfb, 0xff, 0xbf];
        for (variety, expected) in [(Base64::Padded, "+/+/"), (Base64::Url, "-_-_")] {
            let mut text = String::new();
            variety.encode(&bytes, &mut text);
            assert_eq!(text, expected);
            assert_eq!(variety.decode(expected), Some(bytes.into()));
        }
        assert_eq!(Base64::Padded.decode("-_-_"), None);
        assert_eq!(Base64::Url.decode("+/+/"), None);
        assert_eq!(Base64::Url.decode("Zg=="), None);
    }

    #[test]
    fn there_is_one_padded_text_for_every_value() {
        let broken = [
            "Zg",
            "Zg=",
            "Zg===",
            "Z===",
            "====",
            "=",
            "==",
            "Zm8",
            "Zm9v=",
            "Zm9v====",
            "Zh==",
            "Zm9=",
            "Zg==Zg==",
            "Z=g=",
            "=Zg=",
            "Zm 8=",
            "Zm8=\n",
            "SGVs!!!bG8=",
            "SGVsbG8",
        ];
        for text in broken {
            assert_eq!(Base64::Padded.decode(text), None, "{text:?}");
        }
    }
}
