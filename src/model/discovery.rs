//! Discovery
//! ([server/discover](https://modelcontextprotocol.io/specification/2026-07-28/server/discover)), and
//! the errors of a request whose revision or capabilities will not do.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::cache::{self, CacheScope};
use super::capabilities::{ClientCapabilities, ServerCapabilities};
use super::text::Text;
use crate::json::Raw;

/// The result of `server/discover` (2026-07-28). Who the server is stands in its metadata.
#[doc(alias = "server/discover")]
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct DiscoverResult<'a> {
    /// The revisions that the server takes requests of, in no particular order.
    #[serde(borrow, rename = "supportedVersions")]
    pub supported_versions: Vec<Text<'a>>,
    /// What the server offers.
    #[serde(borrow)]
    pub capabilities: ServerCapabilities<'a>,
    /// How to use the server, for the model. Empty and absent are different.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<Text<'a>>,
    /// For how many milliseconds from its receipt on it may be used again. Absent means 0.
    #[serde(
        default,
        rename = "ttlMs",
        deserialize_with = "cache::ttl",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::exact))]
    pub ttl_ms: Option<u64>,
    /// Who may use it again.
    #[serde(
        borrow,
        default,
        rename = "cacheScope",
        deserialize_with = "cache::scope",
        skip_serializing_if = "Option::is_none"
    )]
    pub cache_scope: Option<CacheScope<'a>>,
    /// Metadata.
    #[serde(borrow, rename = "_meta", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::object))]
    pub meta: Option<Raw<'a>>,
}

impl<'a> DiscoverResult<'a> {
    /// A server that takes requests of these revisions and offers this.
    pub fn new<T: Into<Text<'a>>>(
        supported_versions: impl IntoIterator<Item = T>,
        capabilities: ServerCapabilities<'a>,
    ) -> Self {
        let supported_versions = supported_versions.into_iter().map(Into::into).collect();
        Self { supported_versions, capabilities, ..Self::default() }
    }
}

/// The `data` of error `-32022`: the server does not take requests of this revision (2026-07-28).
#[doc(alias = "UnsupportedProtocolVersionError")]
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct UnsupportedVersionData<'a> {
    /// The revisions that it takes, in no particular order.
    #[serde(borrow)]
    pub supported: Vec<Text<'a>>,
    /// The revision that the request was of.
    #[serde(borrow)]
    pub requested: Text<'a>,
}

impl<'a> UnsupportedVersionData<'a> {
    /// These would do, that one does not.
    pub fn new<T: Into<Text<'a>>>(
        supported: impl IntoIterator<Item = T>,
        requested: impl Into<Text<'a>>,
    ) -> Self {
        let supported = supported.into_iter().map(Into::into).collect();
        Self { supported, requested: requested.into() }
    }
}

/// The `data` of error `-32021`: the client has not declared what the request needs (2026-07-28).
#[doc(alias = "MissingRequiredClientCapabilityError")]
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct MissingCapabilitiesData<'a> {
    /// What the client would have to declare beyond what it has.
    #[serde(borrow, rename = "requiredCapabilities")]
    pub required_capabilities: ClientCapabilities<'a>,
}

impl<'a> MissingCapabilitiesData<'a> {
    /// These are missing.
    pub const fn new(required_capabilities: ClientCapabilities<'a>) -> Self {
        Self { required_capabilities }
    }
}
