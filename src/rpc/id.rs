//! [`Id`], the request ids and progress tokens of the peer: integers or strings in their wire form.

use alloc::borrow::Cow;
use core::fmt;
use core::hash::{Hash, Hasher};

use crate::codes::ViolationKind;
use crate::json::{LONGEST_SHOWN, Str};

/// The id of a request, or a progress token: an integer or a string.
///
/// An id keeps its wire form and is echoed byte for byte. `7` and `"7"` are different ids; strings are compared by
/// their decoded text. Integers may have any size.
///
/// A fraction, an exponent and `-0` are rejected: peers disagree on whether `1.0` equals `1`, so a response could be
/// lost.
#[derive(Clone)]
#[doc(alias = "RequestId")]
pub struct Id<'a> {
    /// An integer literal in its canonical spelling, or a string literal with its quotes.
    literal: Cow<'a, str>,
}

impl<'a> Id<'a> {
    /// Parses an id from its JSON literal of at most `longest` bytes.
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

    /// Wraps a literal that was checked before.
    pub(crate) const fn trusted(literal: &'a str) -> Self {
        Self { literal: Cow::Borrowed(literal) }
    }

    /// Returns the wire form: a string has its quotes.
    pub fn as_wire(&self) -> &str {
        &self.literal
    }

    /// Returns the string, if the id is one.
    pub fn as_string(&self) -> Option<Str<'_>> {
        Str::from_literal(&self.literal)
    }

    /// Returns the integer, if the id is one and fits.
    pub fn as_integer(&self) -> Option<i64> {
        self.literal.parse().ok()
    }

    /// Copies the text, so that the id no longer borrows the input.
    pub fn into_owned(self) -> Id<'static> {
        Id { literal: Cow::Owned(self.literal.into_owned()) }
    }

    /// Returns an unsigned integer; a string that contains one is accepted if `also_in_string`.
    pub(crate) fn number(&self, also_in_string: bool) -> Option<u64> {
        if let Ok(number) = self.literal.parse() {
            return Some(number);
        }
        let text = self.literal.strip_prefix('"')?.strip_suffix('"')?;
        let canonical = text == "0" || !text.starts_with(['0', '+']);
        (also_in_string && canonical).then(|| text.parse().ok()).flatten()
    }

    /// Returns a hash of the decoded value: equal ids have equal hashes.
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
        // Integers have one spelling each; strings have several only if one of them has escapes.
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
    /// Writes the wire form, so that `7` and `"7"` look different.
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

/// The FNV-1a hasher: short, and identical on every platform. A peer can choose colliding ids;
/// [`Limits::inbound_requests`](crate::Limits::inbound_requests) bounds the table that they collide in.
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
