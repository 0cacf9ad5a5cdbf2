//! [`SessionId`], the id of a session.

use core::fmt;

use crate::pagination::mix;

/// The id of a session: 128 random bits, written in hexadecimal
/// ([session management](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management)).
///
/// The id grants access to the session, so its bits must come from an unpredictable generator. `Debug` does not show
/// them.
///
/// ```
/// use mcp_sansio::http::SessionId;
///
/// let random = *b"0123456789abcdef"; // ask the operating system instead
/// let id = SessionId::from_random(random);
/// assert_eq!(id.to_string(), "30313233343536373839616263646566");
/// assert_eq!(SessionId::parse("30313233343536373839616263646566"), Some(id));
/// assert_eq!(SessionId::parse("3031"), None);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(u128);

impl SessionId {
    /// Creates the id from random bytes.
    pub const fn from_random(bytes: [u8; 16]) -> Self {
        Self(u128::from_be_bytes(bytes))
    }

    /// Parses an id in its written form; any other text is invalid.
    pub fn parse(text: &str) -> Option<Self> {
        Self::from_digits(text.as_bytes())
    }

    /// Parses the digits of an id.
    pub(super) fn from_digits(digits: &[u8]) -> Option<Self> {
        let (high, low) = digits.split_first_chunk()?;
        Some(Self(u128::from(number(high)?) << 64 | u128::from(number(low.try_into().ok()?)?)))
    }

    /// Returns a number of the session that does not reveal its id: 64 of the 128 bits are lost.
    pub(super) const fn number(self) -> u64 {
        mix((self.0 >> 64) as u64) ^ self.0 as u64
    }
}

/// The values of the hexadecimal digits, and [`NO_DIGIT`] for every other byte.
#[allow(clippy::indexing_slicing, reason = "evaluated at compile time")]
static DIGITS: [u8; 256] = {
    let mut values = [NO_DIGIT; 256];
    let digits = b"0123456789abcdef";
    let mut value = 0;
    while value < digits.len() {
        values[digits[value] as usize] = value as u8;
        value += 1;
    }
    values
};

/// A value with a bit that no digit has.
const NO_DIGIT: u8 = 0x80;

/// Parses 16 hexadecimal digits.
fn number(digits: &[u8; 16]) -> Option<u64> {
    let (mut number, mut seen) = (0, 0);
    for digit in digits {
        let digit = DIGITS.get(usize::from(*digit)).copied().unwrap_or(NO_DIGIT);
        seen |= digit;
        number = number << 4 | u64::from(digit);
    }
    (seen & NO_DIGIT == 0).then_some(number)
}

impl fmt::Display for SessionId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:032x}", self.0)
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SessionId(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_halves_of_an_id_count_for_its_number() {
        let id = |high: u64, low: u64| SessionId(u128::from(high) << 64 | u128::from(low));
        let mixed = mix(1);
        let numbers = [id(1, 0), id(1, mixed), id(1, !mixed), id(2, 0)].map(SessionId::number);
        assert_eq!(numbers, [mixed, 0, u64::MAX, mix(2)]);
    }

    #[test]
    fn debug_output_of_a_session_id_shows_no_digit() {
        assert_eq!(alloc::format!("{:?}", SessionId::from_random([7; 16])), "SessionId(..)");
    }

    #[test]
    fn only_the_digits_that_are_written_are_parsed() {
        const ID: [u8; 32] = *b"0123456789abcdeffedcba9876543210";
        let id =
            SessionId::from_random(0x0123_4567_89ab_cdef_fedc_ba98_7654_3210_u128.to_be_bytes());
        assert_eq!(SessionId::from_digits(&ID), Some(id));
        assert_eq!(SessionId::from_digits(ID.get(1..).unwrap_or_default()), None);
        for at in 0..ID.len() {
            for byte in 0..=u8::MAX {
                let mut text = ID;
                if let Some(place) = text.get_mut(at) {
                    *place = byte;
                }
                let parsed = SessionId::from_digits(&text);
                let is_digit = matches!(byte, b'0'..=b'9' | b'a'..=b'f');
                assert_eq!(parsed.is_some(), is_digit, "{byte} at {at}");
                let written = parsed.map(|id| alloc::format!("{id}").into_bytes());
                assert!(written.is_none_or(|written| written == text));
            }
        }
    }
}
