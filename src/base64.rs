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
    Padded,
}

/// A text is no base64. Whoever wrote the text is at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("no base64 at byte {offset}")]
pub struct Base64Error {
    offset: usize,
}

impl Base64Error {
    /// The first byte that nothing in base64 can have at this place, counted from the start of the text; the
    /// length of the text if it ends too early.
    pub const fn offset(self) -> usize {
        self.offset
    }
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

    /// The text for the bytes.
    pub(crate) fn text(self, bytes: &[u8]) -> String {
        let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
        self.encode(bytes, &mut text);
        text
    }

    /// The bytes, `None` if the text has anything but the symbols, another padding than it must have,
    /// or bits that are left over.
    pub(crate) fn decode(self, text: &str) -> Option<Vec<u8>> {
        self.bytes(text).ok()
    }

    /// As [`decode`](Self::decode), for those who have to say where the text is wrong.
    pub(crate) fn bytes(self, text: &str) -> Result<Vec<u8>, Base64Error> {
        let (symbols, padding) = text.split_at(text.find('=').unwrap_or(text.len()));
        let end = Base64Error { offset: symbols.len() };
        let mut bytes = Vec::with_capacity(symbols.len() / 4 * 3 + 3);
        for (index, group) in symbols.as_bytes().chunks(4).enumerate() {
            let mut bits = 0_u32;
            for (place, symbol) in group.iter().enumerate() {
                let value = self.value(*symbol).ok_or(Base64Error { offset: 4 * index + place })?;
                bits = bits << 6 | value;
            }
            let [_, first, second, third] = (bits << (6 * (4 - group.len()))).to_be_bytes();
            match group.len() {
                4 => bytes.extend_from_slice(&[first, second, third]),
                3 if third == 0 => bytes.extend_from_slice(&[first, second]),
                2 if second == 0 && third == 0 => bytes.push(first),
                _ => return Err(end),
            }
        }
        let expected = match symbols.len() % 4 {
            2 if self.is_padded() => "==",
            3 if self.is_padded() => "=",
            _ => "",
        };
        let fitting = padding.bytes().zip(expected.bytes()).take_while(|(is, to_be)| is == to_be);
        let offset = symbols.len() + fitting.count();
        if padding == expected { Ok(bytes) } else { Err(Base64Error { offset }) }
    }

    const fn is_padded(self) -> bool {
        match self {
            Self::Url => false,
            Self::Padded => true,
        }
    }

    /// The symbols for 62 and 63.
    const fn last_symbols(self) -> (u8, u8) {
        match self {
            Self::Url => (b'-', b'_'),
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

#[cfg(test)]
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
            assert_eq!(Base64::Padded.text(plain.as_bytes()), encoded);
            assert_eq!(Base64::Padded.decode(encoded), Some(plain.into()));
        }
    }

    #[test]
    fn the_alphabets_differ_in_two_symbols() {
        let bytes = [0xfb, 0xff, 0xbf];
        for (variety, expected) in [(Base64::Padded, "+/+/"), (Base64::Url, "-_-_")] {
            assert_eq!(variety.text(&bytes), expected);
            assert_eq!(variety.decode(expected), Some(bytes.into()));
        }
        assert_eq!(Base64::Padded.decode("-_-_"), None);
        assert_eq!(Base64::Url.decode("+/+/"), None);
        assert_eq!(Base64::Url.decode("Zg=="), None);
    }

    #[test]
    fn there_is_one_padded_text_for_every_value() {
        let broken = [
            ("Zg", 2),
            ("Zg=", 3),
            ("Zg===", 4),
            ("Z", 1),
            ("Z===", 1),
            ("====", 0),
            ("=", 0),
            ("==", 0),
            ("Zm8", 3),
            ("Zm9v=", 4),
            ("Zm9v====", 4),
            ("Zh==", 2),
            ("Zm9=", 3),
            ("Zg==Zg==", 4),
            ("Z=g=", 1),
            ("=Zg=", 0),
            ("Zm 8=", 2),
            ("Zm8=\n", 4),
            ("Zm9v\nZm9v", 4),
            ("SGVs!!!bG8=", 4),
            ("SGVsbG8", 7),
            ("SGVsbG-8", 6),
            ("SGVsbé==", 5),
        ];
        for (text, offset) in broken {
            assert_eq!(Base64::Padded.bytes(text), Err(Base64Error { offset }), "{text:?}");
            assert_eq!(Base64::Padded.decode(text), None, "{text:?}");
        }
    }

    /// Every text of at most six of these symbols, which are enough for every kind of mistake: it is the one text
    /// of its bytes, or it is wrong at the first byte that cannot be there.
    #[test]
    fn mistakes_are_found_at_the_first_byte_that_cannot_be_there() {
        let ends = ["", "A", "AA", "AAA", "=", "==", "A=", "A==", "AA="];
        for variety in [Base64::Padded, Base64::Url] {
            let is_begun_by = |text: &str| {
                ends.iter().any(|end| variety.decode(&alloc::format!("{text}{end}")).is_some())
            };
            let mut texts = alloc::vec![String::new()];
            for _ in 0..=6 {
                for text in &texts {
                    match variety.bytes(text) {
                        Ok(bytes) => assert_eq!(variety.text(&bytes), *text),
                        Err(Base64Error { offset }) => {
                            assert!(is_begun_by(&text[..offset]), "{text} {offset}");
                            let more = text.get(..=offset);
                            assert!(more.is_none_or(|more| !is_begun_by(more)), "{text} {offset}");
                        }
                    }
                }
                let longer =
                    |text| "ABg=".chars().map(move |symbol| alloc::format!("{text}{symbol}"));
                texts = texts.iter().flat_map(longer).collect();
            }
        }
    }

    #[test]
    fn every_byte_at_every_place_comes_back() {
        for length in 0..8 {
            for byte in 0..=u8::MAX {
                let bytes: Vec<u8> = (0..length).map(|place| byte.wrapping_mul(place)).collect();
                for variety in [Base64::Padded, Base64::Url] {
                    let text = variety.text(&bytes);
                    assert_eq!(variety.decode(&text).as_deref(), Some(&*bytes), "{text}");
                }
            }
        }
    }
}
