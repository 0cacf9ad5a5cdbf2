//! The ids of sessions.

use core::fmt;

use crate::pagination::mix;

/// The id of a session: 128 random bits, in hexadecimal where it is written
/// ([session management](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management)).
///
/// Whoever knows it can speak in the session, so the bits have to come from a generator that cannot be guessed.
/// `Debug` does not show them.
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
    /// The id of these random bytes.
    pub const fn from_random(bytes: [u8; 16]) -> Self {
        Self(u128::from_be_bytes(bytes))
    }

    /// Reads one as it is written; nothing else is one.
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() != 32 {
            return None;
        }
        let (high, low) = text.as_bytes().split_at_checked(16)?;
        Some(Self(u128::from(number(high)?) << 64 | u128::from(number(low)?)))
    }

    /// A number for the session that does not give its id away: 64 bits of the 128 are lost.
    pub(super) const fn number(self) -> u64 {
        mix((self.0 >> 64) as u64) ^ self.0 as u64
    }
}

/// The number that these hexadecimal digits write, which are 16 at most.
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
