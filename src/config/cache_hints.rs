//! `CacheHints`: how long, and by whom, the results of a server may be cached.

use crate::dialect::methods::RequestKind;

/// For how long, and by whom, a result may be used again
/// ([caching](https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching)).
///
/// It is a hint and no access control: authorise every request all the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct CacheHint {
    /// For how many milliseconds. Default 0: not at all. More than 2^53 - 1 counts as that.
    pub ttl_ms: u64,
    /// Whether others than the one who asked may be given it, too. Default false.
    pub shared: bool,
}

impl CacheHint {
    /// For whoever asked, for so many milliseconds.
    pub const fn private(ttl_ms: u64) -> Self {
        Self { ttl_ms, shared: false }
    }

    /// For everybody, for so many milliseconds.
    pub const fn public(ttl_ms: u64) -> Self {
        Self { ttl_ms, shared: true }
    }
}

/// What a server says by default of each kind of result that can be used again. A result with `ttlMs`
/// or `cacheScope` of its own overrides it; all pages of a list must have the same scope.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct CacheHints {
    /// What the server says of itself.
    pub discovery: CacheHint,
    /// The list of tools.
    pub tools: CacheHint,
    /// The list of prompts.
    pub prompts: CacheHint,
    /// The list of resources.
    pub resources: CacheHint,
    /// The list of templates of resources.
    pub resource_templates: CacheHint,
    /// The contents of resources.
    pub contents: CacheHint,
}

impl CacheHints {
    /// That of a method whose results can be used again.
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
