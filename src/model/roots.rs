//! Roots ([client/roots](https://modelcontextprotocol.io/specification/2025-11-25/client/roots)).

use serde::{Deserialize, Serialize};

use super::list::List;
use super::text::Text;
use crate::json::Raw;

/// A place in the file system that a server may work in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct Root<'a> {
    /// Where it is, a `file://` URI.
    #[serde(borrow)]
    pub uri: Text<'a>,
    /// What to call it.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub name: Option<Text<'a>>,
    /// Metadata (from 2025-06-18 on).
    #[serde(borrow, rename = "_meta", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::object))]
    pub meta: Option<Raw<'a>>,
}

impl<'a> Root<'a> {
    /// A root at a `file://` URI.
    pub fn new(uri: impl Into<Text<'a>>) -> Self {
        Self { uri: uri.into(), ..Self::default() }
    }
}

/// The result of `roots/list`.
#[doc(alias = "roots/list")]
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct ListRootsResult<'a> {
    /// The roots.
    #[serde(borrow)]
    pub roots: List<'a, Root<'a>>,
    /// Metadata.
    #[serde(borrow, rename = "_meta", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::object))]
    pub meta: Option<Raw<'a>>,
}

impl<'a> FromIterator<Root<'a>> for ListRootsResult<'a> {
    fn from_iter<I: IntoIterator<Item = Root<'a>>>(roots: I) -> Self {
        Self { roots: roots.into_iter().collect(), meta: None }
    }
}
