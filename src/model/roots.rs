//! Roots ([client/roots](https://modelcontextprotocol.io/specification/2025-11-25/client/roots)).

use super::list::List;
use super::text::Text;
use crate::json::Raw;

record! {
    /// A location in the file system that a server may work in.
    #[derive(Default)]
    pub struct Root<'a> {
        /// The location, a `file://` URI.
        pub uri: Text<'a> = "uri" as FileUri;
        /// The display name.
        pub name: Option<Text<'a>> = "name";
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object, since V2025_06_18;
    }
}

setters! { Root { name(Text<'a>) meta[Raw<'a>] } }

impl<'a> Root<'a> {
    /// Creates a root at a `file://` URI.
    pub fn new(uri: impl Into<Text<'a>>) -> Self {
        Self { uri: uri.into(), ..Self::default() }
    }
}

record! {
    /// The result of `roots/list`.
    #[doc(alias = "roots/list")]
    #[derive(Default)]
    pub struct ListRootsResult<'a> {
        /// The roots.
        pub roots: List<'a, Root<'a>> = "roots";
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object;
    }
}

setters! { ListRootsResult { meta[Raw<'a>] } }

impl<'a> FromIterator<Root<'a>> for ListRootsResult<'a> {
    fn from_iter<I: IntoIterator<Item = Root<'a>>>(roots: I) -> Self {
        Self { roots: roots.into_iter().collect(), meta: None }
    }
}
