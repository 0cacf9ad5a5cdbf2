//! `CacheHints`: the cache hints that a server sends with its results.

use crate::dialect::methods::RequestKind;

/// How long a result may be cached, and by whom
/// ([caching](https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching)).
///
/// It is a hint and no access control: authorise every request all the same.
#[doc(alias = "CacheableResult")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct CacheHint {
    /// The time to live in milliseconds. Default 0: the result is not cached. Larger values than 2^53 - 1 count as
    /// 2^53 - 1.
    pub ttl_ms: u64,
    /// Whether the result may be shared with other requestors. Default false.
    pub shared: bool,
}

impl CacheHint {
    /// Allows the requestor alone to cache the result, for so many milliseconds.
    pub const fn private(ttl_ms: u64) -> Self {
        Self { ttl_ms, shared: false }
    }

    /// Allows everyone to cache the result, for so many milliseconds.
    pub const fn public(ttl_ms: u64) -> Self {
        Self { ttl_ms, shared: true }
    }
}

/// The default cache hints of a server for each kind of cacheable result. A result with its own `ttlMs` or
/// `cacheScope` overrides them. All pages of a list must have the same scope.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct CacheHints {
    /// The result of `server/discover`.
    pub discovery: CacheHint,
    /// The list of tools.
    pub tools: CacheHint,
    /// The list of prompts.
    pub prompts: CacheHint,
    /// The list of resources.
    pub resources: CacheHint,
    /// The list of resource templates.
    pub resource_templates: CacheHint,
    /// The contents of resources.
    pub contents: CacheHint,
}

impl CacheHints {
    /// Returns the hint for the results of a method.
    pub(crate) const fn of(&self, kind: RequestKind) -> CacheHint {
        match kind {
            RequestKind::Discover => self.discovery,
            RequestKind::ListTools => self.tools,
            RequestKind::ListPrompts => self.prompts,
            RequestKind::ListResources => self.resources,
            RequestKind::ListResourceTemplates => self.resource_templates,
            RequestKind::ReadResource => self.contents,
            _ => CacheHint::private(0),
        }
    }
}
