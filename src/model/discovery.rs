//! Discovery ([server/discover](https://modelcontextprotocol.io/specification/2026-07-28/server/discover)), and the
//! errors for a request with an unsupported revision or insufficient capabilities.

use alloc::vec::Vec;

use super::cache::{CacheScope, LenientNatural, LenientScope};
use super::capabilities::{ClientCapabilities, ServerCapabilities};
use super::text::Text;
use crate::json::Raw;

record! {
    /// The result of `server/discover` (2026-07-28). The metadata identifies the server.
    #[doc(alias = "server/discover")]
    #[derive(Default)]
    pub struct DiscoverResult<'a> {
        /// The revisions that the server supports, in no particular order.
        pub supported_versions: Vec<Text<'a>> = "supportedVersions";
        /// The capabilities of the server.
        pub capabilities: ServerCapabilities<'a> = "capabilities";
        /// Instructions for the model on the use of the server. Empty and absent are different.
        pub instructions: Option<Text<'a>> = "instructions";
        /// The caching lifetime of the result in milliseconds from its receipt. Absent means 0.
        pub ttl_ms: Option<u64> = "ttlMs" as Natural by LenientNatural, since V2026_07_28;
        /// The users that a cached result may be served to.
        pub cache_scope: Option<CacheScope<'a>> = "cacheScope" as Hint by LenientScope<'_>,
            since V2026_07_28;
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object;
    }
}

impl<'a> DiscoverResult<'a> {
    /// Creates the result of a server with these revisions and capabilities.
    pub fn new<T: Into<Text<'a>>>(
        supported_versions: impl IntoIterator<Item = T>,
        capabilities: ServerCapabilities<'a>,
    ) -> Self {
        let supported_versions = supported_versions.into_iter().map(Into::into).collect();
        Self { supported_versions, capabilities, ..Self::default() }
    }
}

record! {
    /// The `data` of error `-32022`: the server does not support the revision of the request (2026-07-28).
    #[doc(alias = "UnsupportedProtocolVersionError")]
    #[derive(Default)]
    pub struct UnsupportedVersionData<'a> {
        /// The revisions that the server supports, in no particular order.
        pub supported: Vec<Text<'a>> = "supported";
        /// The revision of the request.
        pub requested: Text<'a> = "requested";
    }
}

impl<'a> UnsupportedVersionData<'a> {
    /// Creates the data from the supported revisions and the requested one.
    pub fn new<T: Into<Text<'a>>>(
        supported: impl IntoIterator<Item = T>,
        requested: impl Into<Text<'a>>,
    ) -> Self {
        let supported = supported.into_iter().map(Into::into).collect();
        Self { supported, requested: requested.into() }
    }
}

record! {
    /// The `data` of error `-32021`: the client has not declared a capability that the request requires (2026-07-28).
    #[doc(alias = "MissingRequiredClientCapabilityError")]
    #[derive(Default)]
    pub struct MissingCapabilitiesData<'a> {
        /// The capabilities that the client would have to declare in addition.
        pub required_capabilities: ClientCapabilities<'a> = "requiredCapabilities";
    }
}

impl<'a> MissingCapabilitiesData<'a> {
    /// Creates the data from the missing capabilities.
    pub const fn new(required_capabilities: ClientCapabilities<'a>) -> Self {
        Self { required_capabilities }
    }
}
