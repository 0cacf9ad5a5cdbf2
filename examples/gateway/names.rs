//! The name of an upstream in front of the names of its tools and prompts, and objects that are passed on as they
//! came but for a few members.
//!
//! Between the two stands `__`: tool names may hold letters, digits, `_`, `-` and `.`, but many clients hand
//! them to models that take no `.`. An upstream has no `_` in its own name, so that the first `__` always ends
//! it.

use mcp_sansio::json::{EncodeError, Raw};
use serde::ser::{Serialize, SerializeMap, Serializer};

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
pub(crate) fn text(text: &str) -> Result<Raw<'static>, EncodeError> {
    Raw::from_serialize(text)
}

/// An object as it came, byte for byte, but for some members that are others or are left out.
pub(crate) struct Edited<'a> {
    original: Option<&'a Raw<'a>>,
    changes: Vec<(&'a str, Option<Raw<'a>>)>,
}

impl<'a> Edited<'a> {
    /// The object without changes; an empty one if there is none.
    pub(crate) const fn new(original: Option<&'a Raw<'a>>) -> Self {
        Self { original, changes: Vec::new() }
    }

    /// With this member, in the place of the one that was there if there was one.
    pub(crate) fn with(mut self, name: &'a str, value: Raw<'a>) -> Self {
        self.changes.push((name, Some(value)));
        self
    }

    /// Without a member.
    pub(crate) fn without(mut self, name: &'a str) -> Self {
        self.changes.push((name, None));
        self
    }

    fn is_changed(&self, name: &str) -> bool {
        self.changes.iter().any(|(changed, _)| *changed == name)
    }

    fn has_member(&self, name: &str) -> bool {
        self.original.is_some_and(|original| original.get(name).is_some())
    }
}

impl Serialize for Edited<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(None)?;
        for (key, value) in self.original.iter().flat_map(|original| original.members()) {
            let key = key.to_str();
            if !self.is_changed(&key) {
                object.serialize_entry(&key, &value)?;
            }
            for (_, changed) in self.changes.iter().filter(|(name, _)| *name == key) {
                if let Some(changed) = changed {
                    object.serialize_entry(&key, changed)?;
                }
            }
        }
        for (name, added) in self.changes.iter().filter(|(name, _)| !self.has_member(name)) {
            if let Some(added) = added {
                object.serialize_entry(name, added)?;
            }
        }
        object.end()
    }
}

/// The `_meta` of a request without what one connection says of itself: the other one says its own.
pub(crate) fn meta_to_pass_on<'a>(meta: &'a Raw<'a>) -> Edited<'a> {
    const OF_THE_CONNECTION: [&str; 5] = [
        "progressToken",
        "io.modelcontextprotocol/protocolVersion",
        "io.modelcontextprotocol/clientInfo",
        "io.modelcontextprotocol/clientCapabilities",
        "io.modelcontextprotocol/logLevel",
    ];
    OF_THE_CONNECTION.into_iter().fold(Edited::new(Some(meta)), Edited::without)
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

    #[test]
    fn the_rest_of_an_object_stays_as_it_is() {
        let raw = Raw::new(r#"{"a":1.0,"name":"x","\u0062":[1e2, -0],"c":null}"#).expect("JSON");
        let edited = Edited::new(Some(&raw)).with("name", Raw::NULL).without("c");
        let edited = edited.with("d", Raw::EMPTY_OBJECT).without("e");
        let text = Raw::from_serialize(&edited).expect("it is JSON");
        assert_eq!(text.as_json(), r#"{"a":1.0,"name":null,"b":[1e2, -0],"d":{}}"#);
    }
}
