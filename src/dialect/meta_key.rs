//! `MetaKey`: the keys of `_meta` ([`_meta`](https://modelcontextprotocol.io/specification/2025-11-25/basic#_meta)).

use super::features::Feature;
use crate::version::Revision;

/// The key that relates a message to a task in a session
/// ([tasks](https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks#associating-task-related-messages)).
pub(crate) const RELATED: &str = "io.modelcontextprotocol/related-task";

/// The key of a member of `_meta`: an optional prefix that names its owner, and a name.
///
/// A key that breaks the rules does not make a message invalid, and the machine refuses none. Check your own keys
/// before use.
///
/// ```
/// use mcp_sansio::request::MetaKey;
/// use mcp_sansio::Revision;
///
/// let key = MetaKey::parse("com.example/color")?;
/// assert_eq!((key.prefix(), key.name()), (Some("com.example"), "color"));
/// assert!(!key.is_reserved(Revision::V2025_11_25));
/// assert!(MetaKey::parse("io.modelcontextprotocol/x")?.is_reserved(Revision::V2025_11_25));
/// assert!(MetaKey::parse("-/x").is_err());
/// # Ok::<(), mcp_sansio::error::InvalidMetaKey>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MetaKey<'k> {
    prefix: Option<&'k str>,
    name: &'k str,
}

/// The reason why a text is not a key of `_meta`. See [`MetaKey::parse`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidMetaKey {
    /// A label of the prefix is empty, does not begin with a letter, does not end with a letter or
    /// digit, or holds something other than letters, digits and hyphens.
    #[error("a label of the prefix is not allowed")]
    Prefix,
    /// The name does not begin and end with a letter or digit, or holds something other than letters,
    /// digits, hyphens, underscores and dots.
    #[error("the name is not allowed")]
    Name,
}

impl<'k> MetaKey<'k> {
    /// Parses a key: an optional prefix of labels separated by dots and followed by a slash, then a name, which may
    /// be empty.
    ///
    /// # Errors
    ///
    /// [`InvalidMetaKey`] names the part that breaks the rules.
    pub fn parse(key: &'k str) -> Result<Self, InvalidMetaKey> {
        let (prefix, name) = match key.split_once('/') {
            Some((prefix, name)) => (Some(prefix), name),
            None => (None, key),
        };
        if prefix.is_some_and(|prefix| !prefix.split('.').all(is_label)) {
            return Err(InvalidMetaKey::Prefix);
        }
        let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if !(name.is_empty() || has_alphanumeric_ends(name) && name.chars().all(inner)) {
            return Err(InvalidMetaKey::Name);
        }
        Ok(Self { prefix, name })
    }

    /// The labels before the slash.
    pub const fn prefix(&self) -> Option<&'k str> {
        self.prefix
    }

    /// The part after the slash.
    pub const fn name(&self) -> &'k str {
        self.name
    }

    /// Whether MCP reserves the prefix in a revision. Until 2025-06-18 the last label but one decides, since
    /// 2025-11-25 the second label.
    pub fn is_reserved(&self, revision: Revision) -> bool {
        let mut labels = self.prefix.unwrap_or_default().split('.');
        let label = if Feature::ReservedBySecondLabel.is_in(revision) {
            labels.nth(1)
        } else {
            labels.rev().nth(1)
        };
        matches!(label, Some("modelcontextprotocol" | "mcp"))
    }
}

fn is_label(label: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || c == '-';
    label.starts_with(|first: char| first.is_ascii_alphabetic())
        && has_alphanumeric_ends(label)
        && label.chars().all(inner)
}

fn has_alphanumeric_ends(text: &str) -> bool {
    let is_one = |c: char| c.is_ascii_alphanumeric();
    text.starts_with(is_one) && text.ends_with(is_one)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves L-META-05.
    #[test]
    fn keys_are_a_prefix_and_a_name() {
        let good = [
            ("", None, ""),
            ("progressToken", None, "progressToken"),
            ("a", None, "a"),
            ("a-b_c.d9", None, "a-b_c.d9"),
            ("9a", None, "9a"),
            ("com.example/", Some("com.example"), ""),
            ("a/b", Some("a"), "b"),
            ("a1.b-c.d/x", Some("a1.b-c.d"), "x"),
            (
                "io.modelcontextprotocol/related-task",
                Some("io.modelcontextprotocol"),
                "related-task",
            ),
        ];
        for (key, prefix, name) in good {
            assert_eq!(MetaKey::parse(key), Ok(MetaKey { prefix, name }), "{key}");
        }
        for key in ["/x", "1a/x", "a-/x", "-a/x", "a..b/x", ".a/x", "a./x", "a_b/x", "é/x", "a b/x"]
        {
            assert_eq!(MetaKey::parse(key), Err(InvalidMetaKey::Prefix), "{key}");
        }
        for key in ["-a", "a-", "_a", "a_", ".a", "a.", "a b", "é", "a/b/c", "a/-", "$x"] {
            assert_eq!(MetaKey::parse(key), Err(InvalidMetaKey::Name), "{key}");
        }
    }

    /// Proves L-META-06, L-META-07, L-AMB-40.
    #[test]
    fn reserved_meta_key_prefixes_depend_on_the_revision() {
        let table = [
            ("io.modelcontextprotocol/x", [false, true]),
            ("mcp.dev/x", [true, false]),
            ("modelcontextprotocol.io/x", [true, false]),
            ("com.mcp.tools/x", [true, true]),
            ("com.example.mcp/x", [false, false]),
            ("tools.mcp.com/x", [true, true]),
            ("org.example.mcp.tools/x", [true, false]),
            ("com.mcp.example.tools/x", [false, true]),
            ("api.mcp/x", [false, true]),
            ("mcp/x", [false, false]),
            ("com.example/x", [false, false]),
            ("progressToken", [false, false]),
        ];
        for (key, reserved) in table {
            let key = MetaKey::parse(key).expect(key);
            let found = [Revision::V2025_06_18, Revision::V2025_11_25]
                .map(|revision| key.is_reserved(revision));
            assert_eq!(found, reserved, "{key:?}");
        }
    }
}
