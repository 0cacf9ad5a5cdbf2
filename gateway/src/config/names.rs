//! [`NameRules`]: which tools and prompts of a server are shown, and under which names.

use std::collections::BTreeMap;

/// The rules for the names of the tools and prompts of one server.
///
/// The name that clients see is the prefix and the name at the server, or its replacement. A name is hidden if
/// [`deny`](Self::deny) has a pattern for it, or if [`allow`](Self::allow) has patterns and none for it. Patterns are matched
/// with the name at the server; `*` stands for any characters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NameRules {
    /// The text in front of every name. It may be empty.
    pub prefix: String,
    /// The patterns of names that are shown. Empty shows all names.
    pub allow: Vec<String>,
    /// The patterns of names that are hidden.
    pub deny: Vec<String>,
    /// Replacements: the name at the server, and the name that follows the prefix.
    pub rename: BTreeMap<String, String>,
}

impl NameRules {
    /// Returns rules that show every name behind a prefix.
    pub fn prefix(prefix: impl Into<String>) -> Self {
        Self { prefix: prefix.into(), ..Self::default() }
    }

    /// Returns the name that clients see; `None` if the name is hidden.
    pub fn shown(&self, name: &str) -> Option<String> {
        if !self.is_allowed(name) {
            return None;
        }
        let renamed = self.rename.get(name).map(String::as_str);
        if renamed.is_none() && self.rename.values().any(|taken| taken == name) {
            // Another name is shown as this one.
            return None;
        }
        Some(format!("{}{}", self.prefix, renamed.unwrap_or(name)))
    }

    /// Returns the name at the server, from the name that a client has sent; `None` if this server has no such name.
    pub fn original(&self, shown: &str) -> Option<String> {
        let name = shown.strip_prefix(&*self.prefix)?;
        let renamed = self.rename.iter().find(|(_, to)| *to == name).map(|(from, _)| from.as_str());
        let original = renamed.unwrap_or(name);
        let is_shown = self.shown(original).is_some_and(|known| known == shown);
        is_shown.then(|| original.to_owned())
    }

    fn is_allowed(&self, name: &str) -> bool {
        let has = |patterns: &[String]| patterns.iter().any(|pattern| matches(pattern, name));
        (self.allow.is_empty() || has(&self.allow)) && !has(&self.deny)
    }
}

/// Whether a name matches a pattern, in which `*` stands for any characters.
///
/// The time is linear in the product of both lengths, whatever the pattern is.
fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else {
        return false;
    };
    let mut last = None;
    for part in parts {
        // A part in the middle is found at its first place, which leaves the most for the parts after it.
        if let Some(middle) = last.replace(part) {
            let Some(at) = rest.find(middle) else { return false };
            rest = rest.split_at(at + middle.len()).1;
        }
    }
    match last {
        None => rest.is_empty(),
        Some(last) => rest.ends_with(last),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_with_stars() {
        for (pattern, name, expected) in [
            ("", "", true),
            ("", "a", false),
            ("*", "", true),
            ("*", "anything", true),
            ("read_*", "read_file", true),
            ("read_*", "unread_file", false),
            ("*_file", "read_file", true),
            ("*_file", "read_files", false),
            ("a*b*c", "aXbYc", true),
            ("a*b*c", "abc", true),
            ("a*b*c", "acb", false),
            ("a*ab", "aab", true),
            ("a*ab", "ab", false),
            ("**", "x", true),
            ("read", "read", true),
            ("é*", "été", true),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn shown_names_lead_back_to_their_originals() {
        let rules = NameRules {
            prefix: "fs_".into(),
            allow: vec!["read*".into(), "list".into()],
            deny: vec!["*secret*".into()],
            rename: [("read".to_owned(), "list".to_owned())].into(),
        };
        for (name, shown) in [
            ("read", Some("fs_list")),
            ("read_all", Some("fs_read_all")),
            ("read_secret", None),
            ("write", None),
            // Its name is taken.
            ("list", None),
        ] {
            assert_eq!(rules.shown(name).as_deref(), shown, "{name}");
            if let Some(shown) = shown {
                assert_eq!(rules.original(shown).as_deref(), Some(name));
            }
        }
        for unknown in ["read", "fs_read", "fs_write", "fs_read_secret", "fs_", ""] {
            assert_eq!(rules.original(unknown), None, "{unknown}");
        }
    }
}
