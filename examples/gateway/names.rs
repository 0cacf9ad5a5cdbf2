//! The name of an upstream in front of the names of its tools and prompts.
//!
//! Between the two stands `__`: tool names may hold letters, digits, `_`, `-` and `.`, but many clients hand
//! them to models that take no `.`. An upstream has no `_` in its own name, so that the first `__` always ends
//! it.

use mcp_sansio::json::{Raw, Str};

const SEPARATOR: &str = "__";

/// Whether an upstream may have this name.
pub(crate) fn is_valid(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    !name.is_empty() && name.bytes().all(fits)
}

/// The name by which the client knows something of an upstream.
pub(crate) fn join(upstream: &str, name: &str) -> String {
    format!("{upstream}{SEPARATOR}{name}")
}

/// The upstream, and the name by which it knows the thing itself.
pub(crate) fn split(name: &str) -> Option<(&str, &str)> {
    name.split_once(SEPARATOR)
}

/// A string as JSON.
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
