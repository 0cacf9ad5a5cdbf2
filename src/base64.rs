//! Strict Base64 ([RFC 4648](https://www.rfc-editor.org/rfc/rfc4648)): every value has exactly one text.

use alloc::string::String;
use alloc::vec::Vec;

/// The two variants in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Base64 {
    /// For URLs (section 5), without padding.
    Url,
    /// The standard alphabet (section 4), padded to whole groups of four.
    Padded,
}

/// The error for a text that is not base64. The author of the text is at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("no base64 at byte {offset}")]
pub struct Base64Error {
    offset: usize,
}

impl Base64Error {
    /// Returns the offset of the first invalid byte, from the start of the text; the length of the text if it ends
    /// too early.
    pub const fn offset(self) -> usize {
        self.offset
    }
}

/// The entry of a byte that is not a symbol in the table of values.
const NO_SYMBOL: u8 = 0xff;

/// The symbols of a variant, and the value of each byte that is a symbol.
struct Alphabet {
    symbols: [u8; 64],
    values: [u8; 256],
}

static STANDARD: Alphabet =
    Alphabet::new(*b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");

static FOR_URLS: Alphabet =
    Alphabet::new(*b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_");

impl Alphabet {
    #[allow(clippy::indexing_slicing, reason = "it happens while this is compiled")]
    const fn new(symbols: [u8; 64]) -> Self {
        let mut values = [NO_SYMBOL; 256];
        let mut value = 0;
        while value < 64 {
            values[symbols[value as usize] as usize] = value;
            value += 1;
        }
        Self { symbols, values }
    }

    /// Returns the symbols for three bytes.
    fn symbols(&self, [first, second, third]: [u8; 3]) -> [u8; 4] {
        let bits = u32::from_be_bytes([0, first, second, third]);
        // Six bits are always a valid index of the table.
        let symbol =
            |bits: u32| self.symbols.get(bits as usize & 0x3f).copied().unwrap_or_default();
        [symbol(bits >> 18), symbol(bits >> 12), symbol(bits >> 6), symbol(bits)]
    }

    /// Returns the three bytes for four symbols, or the index of the first invalid symbol.
    fn bytes(&self, symbols: [u8; 4]) -> Result<[u8; 3], usize> {
        // A byte is always a valid index of the table.
        let value = |symbol| self.values.get(usize::from(symbol)).copied().unwrap_or(NO_SYMBOL);
        let values = symbols.map(value);
        // One check for all four: a value has only six bits.
        if values.iter().fold(0, |all, value| all | value) == NO_SYMBOL {
            return Err(values.iter().take_while(|value| **value != NO_SYMBOL).count());
        }
        let bits = values.iter().fold(0, |bits, value| bits << 6 | u32::from(*value));
        let [_, first, second, third] = bits.to_be_bytes();
        Ok([first, second, third])
    }
}

impl Base64 {
    /// Appends the text for the bytes.
    pub(crate) fn encode(self, bytes: &[u8], text: &mut String) {
        let alphabet = self.alphabet();
        // A string validates every append as UTF-8, so the symbols are appended to a `Vec` and validated once.
        let mut symbols = core::mem::take(text).into_bytes();
        let (groups, rest) = bytes.as_chunks();
        for group in groups {
            symbols.extend_from_slice(&alphabet.symbols(*group));
        }
        if let [first, more @ ..] = rest {
            let last = alphabet.symbols([*first, more.first().copied().unwrap_or(0), 0]);
            symbols.extend(last.iter().take(1 + rest.len()));
            if self.is_padded() {
                symbols.extend((rest.len()..3).map(|_| b'='));
            }
        }
        // All symbols are ASCII.
        *text = String::from_utf8(symbols).unwrap_or_default();
    }

    /// Returns the text for the bytes.
    pub(crate) fn text(self, bytes: &[u8]) -> String {
        let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
        self.encode(bytes, &mut text);
        text
    }

    /// Decodes the bytes; `None` if the text contains other bytes than the symbols, a wrong padding, or nonzero
    /// leftover bits.
    pub(crate) fn decode(self, text: &str) -> Option<Vec<u8>> {
        self.bytes(text).ok()
    }

    /// Decodes like [`decode`](Self::decode), and reports the position of an error.
    pub(crate) fn bytes(self, text: &str) -> Result<Vec<u8>, Base64Error> {
        let alphabet = self.alphabet();
        let (symbols, padding) = text.split_at(text.find('=').unwrap_or(text.len()));
        let mut bytes = Vec::with_capacity(symbols.len() / 4 * 3 + 3);
        let (groups, rest) = symbols.as_bytes().as_chunks();
        for (index, group) in groups.iter().enumerate() {
            let wrong = |place| Base64Error { offset: 4 * index + place };
            bytes.extend_from_slice(&alphabet.bytes(*group).map_err(wrong)?);
        }
        let end = symbols.len();
        let wrong = |place| Base64Error { offset: end - rest.len() + place };
        // Missing symbols count as zeros, and leftover bits must be zeros.
        let [zero, ..] = alphabet.symbols;
        let mut last = [zero; 4];
        last.iter_mut().zip(rest).for_each(|(symbol, given)| *symbol = *given);
        let [first, second, third] = alphabet.bytes(last).map_err(wrong)?;
        let expected = match rest.len() {
            0 => "",
            2 if second == 0 && third == 0 => {
                bytes.push(first);
                "=="
            }
            3 if third == 0 => {
                bytes.extend_from_slice(&[first, second]);
                "="
            }
            _ => return Err(Base64Error { offset: end }),
        };
        let expected = if self.is_padded() { expected } else { "" };
        let fitting = padding.bytes().zip(expected.bytes()).take_while(|(is, to_be)| is == to_be);
        let offset = end + fitting.count();
        if padding == expected { Ok(bytes) } else { Err(Base64Error { offset }) }
    }

    const fn is_padded(self) -> bool {
        match self {
            Self::Url => false,
            Self::Padded => true,
        }
    }

    const fn alphabet(self) -> &'static Alphabet {
        match self {
            Self::Url => &FOR_URLS,
            Self::Padded => &STANDARD,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values of RFC 4648, section 10.
    #[test]
    fn padded_base64_matches_the_rfc_4648_vectors() {
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

    /// Every text of up to six symbols, some of them at an edge of the alphabets, and all lengths of bytes up to 300.
    #[test]
    fn the_crate_base64_agrees() {
        use ::base64::Engine;
        use ::base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
        for (ours, theirs) in [(Base64::Padded, STANDARD), (Base64::Url, URL_SAFE_NO_PAD)] {
            let mut texts = alloc::vec![String::new()];
            for _ in 0..6 {
                let longer = texts.iter().filter(|text| !text.contains('\n'));
                let symbols = ["A", "Q", "z", "+", "-", "=", "\n"];
                let longer = longer.flat_map(|text| symbols.map(|symbol| text.clone() + symbol));
                texts = longer.collect();
                for text in &texts {
                    assert_eq!(ours.decode(text), theirs.decode(text).ok(), "{ours:?} {text:?}");
                }
            }
            let bytes: Vec<u8> = (0..300_u32).map(|at| (at * at * 7 + at) as u8).collect();
            for length in 0..=bytes.len() {
                let bytes = bytes.get(..length).unwrap_or_default();
                assert_eq!(ours.text(bytes), theirs.encode(bytes));
                assert_eq!(ours.decode(&theirs.encode(bytes)).as_deref(), Some(bytes));
            }
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

    /// Whatever the other symbols of the group are.
    #[test]
    fn the_first_invalid_symbol_is_named() {
        for (text, offset) in [("Z!9v", 1), ("!m9v", 0), ("Zm9!", 3), ("Z!!v", 1), ("Zm9vZ.v.", 5)]
        {
            assert_eq!(Base64::Padded.bytes(text).unwrap_err().offset(), offset, "{text}");
        }
    }

    #[test]
    fn malformed_and_non_canonical_padded_base64_is_refused() {
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

    /// Every text of at most six of these symbols, which suffice for every kind of mistake: it is the one text of its
    /// bytes, or it is invalid at the first impossible byte.
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
