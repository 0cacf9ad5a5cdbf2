//! Request ids and progress tokens: integers or strings, kept as they came.

use alloc::borrow::Cow;
use core::fmt;
use core::hash::{Hash, Hasher};

use crate::codes::ViolationKind;
use crate::json::{LONGEST_SHOWN, Str};

/// The id of a request, or a progress token: an integer or a string.
///
/// It is kept as it stands on the wire and goes back byte for byte. `7` and `"7"` are different
/// ids; strings are compared by the text they stand for. Integers may have any size.
///
/// A fraction, an exponent and `-0` are refused: peers disagree on whether `1.0` is `1`, so an
/// answer to it could be lost.
#[derive(Clone)]
#[doc(alias = "RequestId")]
pub struct Id<'a> {
    /// An integer literal in its one spelling, or a string literal with its quotes.
    literal: Cow<'a, str>,
}

impl<'a> Id<'a> {
    /// The id that this JSON text is, of at most `longest` bytes.
    pub(crate) fn from_literal(literal: &'a str, longest: usize) -> Result<Self, ViolationKind> {
        let plain = match literal.as_bytes() {
            [b'"', ..] => true,
            b"null" => return Err(ViolationKind::NullId),
            b"-0" => false,
            [b'-', digits @ ..] | digits => digits.iter().all(u8::is_ascii_digit),
        };
        if !plain {
            return Err(ViolationKind::MalformedId);
        }
        if longest < literal.len() {
            return Err(ViolationKind::LongId);
        }
        Ok(Self::trusted(literal))
    }

    /// The id of a literal that was checked before.
    pub(crate) const fn trusted(literal: &'a str) -> Self {
        Self { literal: Cow::Borrowed(literal) }
    }

    /// As it stands on the wire: a string with its quotes.
    pub fn as_wire(&self) -> &str {
        &self.literal
    }

    /// The string, if it is one.
    pub fn as_string(&self) -> Option<Str<'_>> {
        Str::from_literal(&self.literal)
    }

    /// The integer, if it is one and fits.
    pub fn as_integer(&self) -> Option<i64> {
        self.literal.parse().ok()
    }

    /// The same id with its own copy of the text.
    pub fn into_owned(self) -> Id<'static> {
        Id { literal: Cow::Owned(self.literal.into_owned()) }
    }

    /// An unsigned integer, also one in a string if that is allowed.
    pub(crate) fn number(&self, also_in_string: bool) -> Option<u64> {
        if let Ok(number) = self.literal.parse() {
            return Some(number);
        }
        let text = self.literal.strip_prefix('"')?.strip_suffix('"')?;
        let canonical = text == "0" || !text.starts_with(['0', '+']);
        (also_in_string && canonical).then(|| text.parse().ok()).flatten()
    }

    /// A hash of what the id stands for: equal ids have equal hashes.
    pub(crate) fn hash32(&self) -> u32 {
        let mut hasher = Fnv::default();
        self.hash(&mut hasher);
        let hash = hasher.finish();
        (hash ^ (hash >> 32)) as u32
    }
}

impl PartialEq for Id<'_> {
    fn eq(&self, other: &Self) -> bool {
        if self.literal == other.literal {
            return true;
        }
        // Integers have one spelling each, strings several if one of them has escapes.
        let has_escapes = |id: &Self| memchr::memchr(b'\\', id.literal.as_bytes()).is_some();
        work!(self.literal.len());
        if !has_escapes(self) && !has_escapes(other) {
            return false;
        }
        match (self.as_string(), other.as_string()) {
            (Some(left), Some(right)) => left == right,
            _ => false,
        }
    }
}

impl Eq for Id<'_> {}

impl Hash for Id<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self.as_string() {
            None => state.write(self.literal.as_bytes()),
            Some(string) => {
                state.write_u8(b'"');
                for character in string.chars() {
                    state.write(character.encode_utf8(&mut [0; 4]).as_bytes());
                }
            }
        }
    }
}

impl fmt::Display for Id<'_> {
    /// As it stands on the wire, so that `7` and `"7"` look different.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.literal)
    }
}

impl fmt::Debug for Id<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.literal.len() <= LONGEST_SHOWN {
            write!(formatter, "Id({})", self.literal)
        } else {
            write!(formatter, "Id({} bytes)", self.literal.len())
        }
    }
}

/// FNV-1a: short, and the same everywhere. Who may choose ids may choose colliding ones; the table
/// they meet in is bounded by [`Limits::inbound_requests`](crate::Limits::inbound_requests).
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
