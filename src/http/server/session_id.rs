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
        if text.len() != 32 {
            return None;
        }
        let (high, low) = text.as_bytes().split_at_checked(16)?;
        Some(Self(u128::from(number(high)?) << 64 | u128::from(number(low)?)))
    }

    /// Returns a number of the session that does not reveal its id: 64 of the 128 bits are lost.
    pub(super) const fn number(self) -> u64 {
        mix((self.0 >> 64) as u64) ^ self.0 as u64
    }
}

/// Parses at most 16 hexadecimal digits.
fn number(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0, |number, digit| {
        let digit = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => return None,
        };
        Some(number << 4 | u64::from(digit))
    })
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
