//! Lists of scopes.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};

/// A list of scopes in the order in which they were named, none of them twice
/// ([RFC 6749, section 3.3](https://www.rfc-editor.org/rfc/rfc6749#section-3.3)).
///
/// On the wire it is one string with spaces between the scopes, which is what `Display` writes. A name that cannot be a
/// scope, because a character in it is not allowed, is left out when a list is read.
///
/// ```
/// use mcp_sansio::auth::Scopes;
///
/// let granted = Scopes::parse("mcp:read  mcp:write mcp:read");
/// assert_eq!(granted.to_string(), "mcp:read mcp:write");
/// assert!(granted.covers(&Scopes::parse("mcp:write")));
/// assert_eq!(granted.union(&Scopes::parse("admin")).to_string(), "mcp:read mcp:write admin");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(transparent)]
pub struct Scopes(Vec<String>);

/// The scope that asks for a refresh token at some authorization servers.
pub(super) const OFFLINE_ACCESS: &str = "offline_access";

impl Scopes {
    /// No scope.
    pub const fn none() -> Self {
        Self(Vec::new())
    }

    /// Reads the form that is used on the wire.
    pub fn parse(text: &str) -> Self {
        text.split(' ').collect()
    }

    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The scopes in their order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// Whether the list names this scope.
    pub fn contains(&self, scope: &str) -> bool {
        self.iter().any(|known| known == scope)
    }

    /// Whether the list names every scope of the other one. No scope implies another.
    pub fn covers(&self, needed: &Self) -> bool {
        let known: BTreeSet<&str> = self.iter().collect();
        needed.iter().all(|scope| known.contains(scope))
    }

    /// The scopes of this list, and then those of the other one that are not in it.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        self.iter().chain(other.iter()).collect()
    }
}

impl<'a> FromIterator<&'a str> for Scopes {
    fn from_iter<T: IntoIterator<Item = &'a str>>(names: T) -> Self {
        // Lists of servers can be long, so each name is looked up and not searched for.
        let mut known = BTreeSet::new();
        let new = names.into_iter().filter(|name| is_scope(name) && known.insert(*name));
        Self(new.map(ToOwned::to_owned).collect())
    }
}

impl fmt::Display for Scopes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, scope) in self.iter().enumerate() {
            let space = if index == 0 { "" } else { " " };
            write!(formatter, "{space}{scope}")?;
        }
        Ok(())
    }
}

/// Whether a name consists of the characters that RFC 6749 allows: visible ASCII but `"` and `\`.
fn is_scope(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| matches!(byte, b'!' | b'#'..=b'[' | b']'..=b'~'))
}
