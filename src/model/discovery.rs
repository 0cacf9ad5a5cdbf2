//! Discovery
//! ([server/discover](https://modelcontextprotocol.io/specification/2026-07-28/server/discover)), and
//! the errors of a request whose revision or capabilities will not do.

use alloc::vec::Vec;

use super::cache::{CacheScope, LenientNatural, LenientScope};
use super::capabilities::{ClientCapabilities, ServerCapabilities};
use super::text::Text;
use crate::json::Raw;

record! {
    /// The result of `server/discover` (2026-07-28). Who the server is stands in its metadata.
    #[doc(alias = "server/discover")]
    #[derive(Default)]
    pub struct DiscoverResult<'a> {
        /// The revisions that the server takes requests of, in no particular order.
        pub supported_versions: Vec<Text<'a>> = "supportedVersions";
        /// What the server offers.
        pub capabilities: ServerCapabilities<'a> = "capabilities";
        /// How to use the server, for the model. Empty and absent are different.
        pub instructions: Option<Text<'a>> = "instructions";
        /// For how many milliseconds from its receipt on it may be used again. Absent means 0.
        pub ttl_ms: Option<u64> = "ttlMs" as Natural by LenientNatural, since V2026_07_28;
        /// Who may use it again.
        pub cache_scope: Option<CacheScope<'a>> = "cacheScope" as Hint by LenientScope<'_>,
            since V2026_07_28;
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object;
    }
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

record! {
    /// The `data` of error `-32022`: the server does not take requests of this revision (2026-07-28).
    #[doc(alias = "UnsupportedProtocolVersionError")]
    #[derive(Default)]
    pub struct UnsupportedVersionData<'a> {
        /// The revisions that it takes, in no particular order.
        pub supported: Vec<Text<'a>> = "supported";
        /// The revision that the request was of.
        pub requested: Text<'a> = "requested";
    }
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

record! {
    /// The `data` of error `-32021`: the client has not declared what the request needs (2026-07-28).
    #[doc(alias = "MissingRequiredClientCapabilityError")]
    #[derive(Default)]
    pub struct MissingCapabilitiesData<'a> {
        /// What the client would have to declare beyond what it has.
        pub required_capabilities: ClientCapabilities<'a> = "requiredCapabilities";
    }
}

impl<'a> MissingCapabilitiesData<'a> {
    /// These are missing.
    pub const fn new(required_capabilities: ClientCapabilities<'a>) -> Self {
        Self { required_capabilities }
    }
}
