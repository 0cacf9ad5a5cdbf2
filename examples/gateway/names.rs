//! Prefixes the names of tools and prompts with the name of their upstream.
//!
//! The separator is `__`: tool names may contain letters, digits, `_`, `-` and `.`, but many clients pass them to
//! models that reject `.`. The name of an upstream contains no `_`, so the first `__` always ends it.

use mcp_sansio::json::{Raw, Str};

const SEPARATOR: &str = "__";

/// Whether a name is valid for an upstream.
pub(crate) fn is_valid(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    !name.is_empty() && name.bytes().all(fits)
}

/// Returns the name of an upstream's item for the client.
pub(crate) fn join(upstream: &str, name: &str) -> String {
    format!("{upstream}{SEPARATOR}{name}")
}

/// Splits a name into the upstream and the upstream's own name of the item.
pub(crate) fn split(name: &str) -> Option<(&str, &str)> {
    name.split_once(SEPARATOR)
}

/// Converts a string to JSON.
pub(crate) fn text(text: &str) -> Raw<'static> {
    Raw::from(Str::from(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_there_and_back() {
        assert_eq!(join("files", "read_file"), "files__read_file");
        assert_eq!(split("files__read__file"), Some(("files", "read__file")));
        assert_eq!(split("files___x"), Some(("files", "_x")));
        assert_eq!(split("read_file"), None);
        assert!(is_valid("a-2") && !is_valid("a_2") && !is_valid("") && !is_valid("ä"));
    }
}
