//! A JSON string as it stands on the wire, decoded only as far as somebody asks.

use alloc::borrow::Cow;
use alloc::string::String;
use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::str::Chars;

use super::run::scanned_run;

/// A JSON string, without its quotes and with its escapes.
///
/// It compares and hashes by the text it stands for, so `"a"` equals `"\u0061"`. A surrogate escape
/// without its partner stands for no text; comparing keeps it as what it is, decoding to a `str`
/// turns it into U+FFFD.
///
/// `Debug` shows the length only, see [`Str::to_str`] and `Display` for the text.
///
/// ```
/// use mcp_sansio::json::Raw;
///
/// let raw = Raw::new(r#""caf\u00e9 \ud83d""#)?;
/// let text = raw.as_string().expect("it is a string");
/// assert_eq!(text.to_str(), "café \u{fffd}");
/// assert_eq!(format!("{text:?}"), "Str(16 bytes)");
/// assert_eq!(String::from(text), "café \u{fffd}");
/// # Ok::<(), mcp_sansio::json::JsonError>(())
/// ```
#[derive(Clone)]
pub struct Str<'a> {
    /// Between the quotes; every escape in it is well formed.
    text: Cow<'a, str>,
}

impl<'a> Str<'a> {
    /// The text between two quotes of a JSON text that has been scanned.
    pub(crate) const fn trusted(text: &'a str) -> Self {
        Self { text: Cow::Borrowed(text) }
    }

    /// The string of a scanned JSON string literal, `None` if the value is of another kind.
    pub(crate) fn from_literal(literal: &'a str) -> Option<Self> {
        literal.strip_prefix('"')?.strip_suffix('"').map(Self::trusted)
    }

    /// As it stands on the wire, between the quotes.
    pub fn as_wire(&self) -> &str {
        &self.text
    }

    /// The text, if it was written without escapes and can be borrowed.
    pub fn as_plain(&self) -> Option<&str> {
        (!self.has_escapes()).then_some(&*self.text)
    }

    fn has_escapes(&self) -> bool {
        // Of what ends a run, there is only what begins an escape between the quotes.
        scanned_run(self.text.as_bytes()) < self.text.len()
    }

    /// The text, borrowed unless it was written with escapes.
    ///
    /// A surrogate without its partner becomes U+FFFD.
    pub fn to_str(&self) -> Cow<'_, str> {
        match self.as_plain() {
            Some(text) => Cow::Borrowed(text),
            None => Cow::Owned(self.chars().collect()),
        }
    }

    /// The characters, decoded one by one without allocating. A lone surrogate becomes U+FFFD.
    pub fn chars(&self) -> impl Iterator<Item = char> + '_ {
        self.code_points().map(|point| char::from_u32(point).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    /// Whether the string holds a surrogate without its partner, and so has no exact text.
    pub fn has_lone_surrogate(&self) -> bool {
        self.as_plain().is_none() && self.code_points().any(|point| char::from_u32(point).is_none())
    }

    /// The same string with its own copy of the text.
    pub fn into_owned(self) -> Str<'static> {
        Str { text: Cow::Owned(self.text.into_owned()) }
    }

    /// The code points, lone surrogates included.
    pub(crate) fn code_points(&self) -> CodePoints<'_> {
        CodePoints { rest: self.text.chars() }
    }
}

impl PartialEq<str> for Str<'_> {
    fn eq(&self, other: &str) -> bool {
        // Every escape is longer than what it stands for, so the lengths mostly decide already.
        match self.text.len().cmp(&other.len()) {
            Ordering::Less => false,
            Ordering::Equal => *self.text == *other && !self.has_escapes(),
            Ordering::Greater => {
                self.has_escapes() && self.code_points().eq(other.chars().map(u32::from))
            }
        }
    }
}

impl PartialEq<&str> for Str<'_> {
    fn eq(&self, other: &&str) -> bool {
        *self == **other
    }
}

impl PartialEq for Str<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text || self.code_points().eq(other.code_points())
    }
}

impl Eq for Str<'_> {}

/// In the order of their code points.
impl Ord for Str<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.as_plain(), other.as_plain()) {
            (Some(text), Some(other)) => text.cmp(other),
            _ => self.code_points().cmp(other.code_points()),
        }
    }
}

impl PartialOrd for Str<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Hash for Str<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for point in self.code_points() {
            point.hash(state);
        }
        state.write_u8(0xff);
    }
}

impl From<&str> for Str<'static> {
    /// The string with this text, escaped where JSON asks for it.
    fn from(text: &str) -> Self {
        let mut escaped = String::with_capacity(text.len());
        for character in text.chars() {
            match character {
                '"' => escaped.push_str("\\\""),
                '\\' => escaped.push_str("\\\\"),
                '\0'..='\x1f' => {
                    escaped.push_str(&alloc::format!("\\u{:04x}", u32::from(character)));
                }
                _ => escaped.push(character),
            }
        }
        Self { text: Cow::Owned(escaped) }
    }
}

impl<'a> From<Str<'a>> for Cow<'a, str> {
    /// The text, borrowed from the same place unless it was written with escapes: a surrogate without its partner
    /// becomes U+FFFD.
    fn from(text: Str<'a>) -> Self {
        if text.has_escapes() { Cow::Owned(text.chars().collect()) } else { text.text }
    }
}

impl From<Str<'_>> for String {
    /// The text, as [`to_str`](Str::to_str) gives it: a surrogate without its partner becomes U+FFFD.
    fn from(text: Str<'_>) -> Self {
        Cow::from(text).into_owned()
    }
}

impl fmt::Display for Str<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.to_str())
    }
}

impl fmt::Debug for Str<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Str({} bytes)", self.text.len())
    }
}

/// The code points of a scanned string. Pairs of surrogate escapes are put together, lone ones come
/// out as they are.
#[derive(Clone)]
pub(crate) struct CodePoints<'a> {
    rest: Chars<'a>,
}

impl CodePoints<'_> {
    fn escape(&mut self) -> Option<u32> {
        let point = match self.rest.next()? {
            'b' => 0x08,
            'f' => 0x0c,
            'n' => 0x0a,
            'r' => 0x0d,
            't' => 0x09,
            'u' => return self.hexadecimal(),
            other => u32::from(other),
        };
        Some(point)
    }

    fn hexadecimal(&mut self) -> Option<u32> {
        let high = self.four_digits()?;
        if !(0xd800..0xdc00).contains(&high) {
            return Some(high);
        }
        let mut ahead = self.clone();
        if ahead.rest.next() == Some('\\')
            && ahead.rest.next() == Some('u')
            && let Some(low @ 0xdc00..0xe000) = ahead.four_digits()
        {
            *self = ahead;
            return Some(0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00));
        }
        Some(high)
    }

    fn four_digits(&mut self) -> Option<u32> {
        let mut point = 0;
        for _ in 0..4 {
            point = point << 4 | self.rest.next()?.to_digit(16)?;
        }
        Some(point)
    }
}

impl Iterator for CodePoints<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        match self.rest.next()? {
            '\\' => self.escape(),
            character => Some(u32::from(character)),
        }
    }
}
