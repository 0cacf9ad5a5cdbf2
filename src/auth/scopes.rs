//! `Scopes`: an ordered list of OAuth scopes without duplicates.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};

/// An ordered list of scopes without duplicates
/// ([RFC 6749, section 3.3](https://www.rfc-editor.org/rfc/rfc6749#section-3.3)).
///
/// The wire format is one string with spaces between the scopes; `Display` writes this format. When a list is read,
/// names with characters that a scope may not contain are dropped.
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

/// The scope that requests a refresh token from some authorization servers.
pub(super) const OFFLINE_ACCESS: &str = "offline_access";

impl Scopes {
    /// Returns an empty list.
    pub const fn none() -> Self {
        Self(Vec::new())
    }

    /// Parses the wire format.
    pub fn parse(text: &str) -> Self {
        text.split(' ').collect()
    }

    /// Whether the list is empty.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the scopes in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// Whether the list contains this scope.
    pub fn contains(&self, scope: &str) -> bool {
        self.iter().any(|known| {
            work!(1);
            known == scope
        })
    }

    /// Whether the list contains every scope of `needed`. No scope implies another.
    pub fn covers(&self, needed: &Self) -> bool {
        work!(self.0.len() + needed.0.len());
        let known: BTreeSet<&str> = self.iter().collect();
        needed.iter().all(|scope| known.contains(scope))
    }

    /// Returns the scopes of this list, followed by the scopes of `other` that this list lacks.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        self.iter().chain(other.iter()).collect()
    }
}

impl<'a> FromIterator<&'a str> for Scopes {
    fn from_iter<T: IntoIterator<Item = &'a str>>(names: T) -> Self {
        // A server's list can be long, so duplicates are found with a set instead of a linear search.
        let mut known = BTreeSet::new();
        let new = names.into_iter().filter(|name| {
            work!(1);
            is_scope(name) && known.insert(*name)
        });
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

/// Whether a name consists of the characters that RFC 6749 allows: visible ASCII except `"` and `\`.
fn is_scope(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| matches!(byte, b'!' | b'#'..=b'[' | b']'..=b'~'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6749, section 3.3.
    #[test]
    fn only_names_of_the_grammar_are_scopes() {
        let scopes = Scopes::parse(r#" a  !#[]~ "b c\d é e"#);
        assert!(scopes.iter().eq(["a", "!#[]~", "e"]), "{scopes:?}");
    }
}
