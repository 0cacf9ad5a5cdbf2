//! `Secret`: a text that must not be shown.

use alloc::string::String;
use core::fmt;
use core::hash::{Hash, Hasher};

use zeroize::Zeroize;

/// A confidential text: a token, a code, a verifier, or a password, which is sent to one place and shown nowhere
/// else.
///
/// `Debug` shows only the length. The memory is overwritten on drop. Two secrets of the same length are compared in
/// constant time.
///
/// ```
/// use mcp_sansio::auth::Secret;
///
/// let token = Secret::new("mF_9.B5f-4.1JqM");
/// assert_eq!(format!("{token:?}"), "Secret(15 bytes)");
/// assert_eq!(token.expose(), "mF_9.B5f-4.1JqM");
/// ```
#[derive(Clone, Default)]
pub struct Secret(String);

impl Secret {
    /// Takes ownership of the text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the text. The caller is responsible for its further use.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether the text is empty.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Secret({} bytes)", self.0.len())
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        is_equal(&self.0, &other.0)
    }
}

impl Eq for Secret {}

impl Hash for Secret {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

/// Compares in a time that depends only on the lengths.
pub(super) fn is_equal(one: &str, other: &str) -> bool {
    let differences =
        one.bytes().zip(other.bytes()).fold(0, |seen, (one, other)| seen | (one ^ other));
    one.len() == other.len() && core::hint::black_box(differences) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_equal_if_every_byte_is() {
        let secret = Secret::new("abc");
        for other in ["", "ab", "abd", "abcd", "bbc"] {
            assert_ne!(secret, Secret::new(other), "{other}");
        }
        assert_eq!(secret, Secret::new("abc"));
        // The differences of the two bytes are the same.
        assert_ne!(Secret::new("ab"), Secret::new("ba"));
    }

    #[test]
    fn only_the_length_is_shown() {
        assert_eq!(alloc::format!("{:?}", Secret::new("abc")), "Secret(3 bytes)");
    }
}
