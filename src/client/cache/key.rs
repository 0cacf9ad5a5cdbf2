//! The key of a cached result: method, params, principal.

use alloc::borrow::Cow;
use core::fmt;

use super::entry_key::{CURSOR, Cacheable, EntryKey, borrowed};
use crate::dialect::methods::RequestKind;
use crate::handle::Principal;
use crate::json::{Kind, MemberTexts, Raw, Str};
use crate::model::method::CacheableMethod;
use crate::version::Revision;

/// The principal that sends a request, and the revision of the protocol.
///
/// A principal is an authorization context. Another access token is another principal, even for the same user, unless
/// the application knows that both may see the same results
/// ([cache scope](https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Asker {
    principal: Principal,
    revision: Revision,
}

impl Asker {
    /// Combines a principal and a revision.
    pub const fn new(principal: Principal, revision: Revision) -> Self {
        Self { principal, revision }
    }

    /// The principal.
    pub const fn principal(self) -> Principal {
        self.principal
    }

    /// The revision.
    pub const fn revision(self) -> Revision {
        self.revision
    }
}

/// A cacheable request: its method, the one param that affects the result, and the asker.
///
/// Equal keys have equal results. `_meta` is not part of the key. `Debug` shows only the length of the param.
///
/// ```
/// use mcp_sansio::cache::{Asker, CacheKey};
/// use mcp_sansio::json::Raw;
/// use mcp_sansio::{Principal, Revision};
///
/// let asker = Asker::new(Principal::new(7), Revision::V2026_07_28);
/// let params = Raw::new(r#"{"uri":"file:///a","_meta":{"progressToken":1}}"#)?;
/// let key = CacheKey::of("resources/read", Some(&params), asker);
/// assert_eq!(key, Some(CacheKey::resource("file:///a", asker)));
///
/// let retry = Raw::new(r#"{"uri":"file:///a","requestState":"s"}"#)?;
/// assert_eq!(CacheKey::of("resources/read", Some(&retry), asker), None, "it depends on more");
/// assert_eq!(CacheKey::of("tools/call", None, asker), None);
/// # Ok::<(), mcp_sansio::json::JsonError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct CacheKey<'a> {
    pub(super) kind: Cacheable,
    /// The cursor or the URI.
    pub(super) param: Option<Cow<'a, str>>,
    pub(super) asker: Asker,
}

impl<'a> CacheKey<'a> {
    /// The key of `server/discover`.
    pub const fn discover(asker: Asker) -> Self {
        Self { kind: Cacheable::Discover, param: None, asker }
    }

    /// The key of `tools/list`, at a cursor or from the beginning.
    pub const fn tools(cursor: Option<&'a str>, asker: Asker) -> Self {
        Self::page(Cacheable::Tools, cursor, asker)
    }

    /// The key of `prompts/list`, at a cursor or from the beginning.
    pub const fn prompts(cursor: Option<&'a str>, asker: Asker) -> Self {
        Self::page(Cacheable::Prompts, cursor, asker)
    }

    /// The key of `resources/list`, at a cursor or from the beginning.
    pub const fn resources(cursor: Option<&'a str>, asker: Asker) -> Self {
        Self::page(Cacheable::Resources, cursor, asker)
    }

    /// The key of `resources/templates/list`, at a cursor or from the beginning.
    pub const fn resource_templates(cursor: Option<&'a str>, asker: Asker) -> Self {
        Self::page(Cacheable::ResourceTemplates, cursor, asker)
    }

    /// The key of `resources/read`. URIs are compared as text and never normalised.
    pub const fn resource(uri: &'a str, asker: Asker) -> Self {
        Self { kind: Cacheable::Resource, param: Some(Cow::Borrowed(uri)), asker }
    }

    /// The key of a method of the application, with the value of its [`PARAM`](CacheableMethod::PARAM).
    ///
    /// ```
    /// use mcp_sansio::cache::{Asker, CacheKey};
    /// use mcp_sansio::json::Raw;
    /// use mcp_sansio::model::method::{CacheableMethod, Method};
    /// use mcp_sansio::{Principal, Revision};
    ///
    /// enum Forecast {}
    ///
    /// impl Method for Forecast {
    ///     const NAME: &'static str = "com.example/forecast";
    ///     type Params<'a> = Raw<'a>;
    ///     type Result<'a> = Raw<'a>;
    /// }
    ///
    /// impl CacheableMethod for Forecast {
    ///     const PARAM: Option<&'static str> = Some("uri");
    /// }
    ///
    /// let asker = Asker::new(Principal::new(7), Revision::V2026_07_28);
    /// let params = Raw::new(r#"{"uri":"city:paris"}"#)?;
    /// let key = CacheKey::of_params::<Forecast>(Some(&params), asker);
    /// assert_eq!(key, Some(CacheKey::of_method::<Forecast>(Some("city:paris"), asker)));
    /// # Ok::<(), mcp_sansio::json::JsonError>(())
    /// ```
    pub const fn of_method<M: CacheableMethod>(param: Option<&'a str>, asker: Asker) -> Self {
        Self { kind: Cacheable::Method(M::NAME, M::PARAM), param: borrowed(param), asker }
    }

    /// Returns the key of a request of a method of the application, or `None` if its params have further members: see
    /// [`of`](Self::of).
    pub fn of_params<M: CacheableMethod>(
        params: Option<&'a Raw<'_>>,
        asker: Asker,
    ) -> Option<Self> {
        Self::from_params(Cacheable::Method(M::NAME, M::PARAM), params, asker)
    }

    const fn page(kind: Cacheable, cursor: Option<&'a str>, asker: Asker) -> Self {
        Self { kind, param: borrowed(cursor), asker }
    }

    /// Returns the key of any request, or `None` if its result must not be cached.
    ///
    /// `None` for every other method, and for params with a member besides `_meta` and the one param of the method:
    /// such a member may affect the result. So a request that carries `inputResponses` or `requestState` has no key
    /// ([cache key](https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching)).
    pub fn of(method: &str, params: Option<&'a Raw<'_>>, asker: Asker) -> Option<Self> {
        let kind = RequestKind::named(method).and_then(Cacheable::of)?;
        Self::from_params(kind, params, asker)
    }

    fn from_params(kind: Cacheable, params: Option<&'a Raw<'_>>, asker: Asker) -> Option<Self> {
        let (mut param, mut is_there) = (None, false);
        if let Some(params) = params {
            if params.kind() != Kind::Object {
                return None;
            }
            for (name, value) in MemberTexts::of(params.as_json()) {
                if name == "_meta" {
                    continue;
                }
                // Of duplicate members, some servers read the first and some the last.
                if kind.param().is_none_or(|param| name != param) || is_there {
                    return None;
                }
                is_there = true;
                if value != "null" {
                    param = Some(text(value)?);
                }
            }
        }
        if kind == Cacheable::Resource && param.is_none() {
            return None;
        }
        Some(Self { kind, param, asker })
    }

    /// The principal and the revision.
    pub const fn asker(&self) -> Asker {
        self.asker
    }

    /// Returns an owned copy.
    pub fn into_owned(self) -> CacheKey<'static> {
        let param = self.param.map(|param| Cow::Owned(param.into_owned()));
        CacheKey { kind: self.kind, param, asker: self.asker }
    }

    /// The place of the result that belongs to this principal, or of the public result.
    pub(super) fn place(&self, owner: Option<Principal>) -> EntryKey<'_> {
        let param = borrowed(self.param.as_deref());
        EntryKey { kind: self.kind, param, revision: self.asker.revision, owner }
    }

    /// Whether the request asks for a page of a list other than the first.
    pub(super) fn has_cursor(&self) -> bool {
        self.kind.param() == Some(CURSOR) && self.param.is_some()
    }
}

impl fmt::Debug for CacheKey<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "CacheKey({:?}", self.kind)?;
        if let Some(param) = &self.param {
            write!(formatter, ", {} bytes", param.len())?;
        }
        write!(formatter, ", {:?})", self.asker)
    }
}

/// Returns the text of a JSON string literal. `None` if it is not a string or contains a lone surrogate: two such
/// strings could convert to the same text.
pub(super) fn text(literal: &str) -> Option<Cow<'_, str>> {
    let string = Str::from_literal(literal).filter(|string| !string.has_lone_surrogate())?;
    if string.as_plain().is_none() {
        return Some(Cow::Owned(string.to_str().into_owned()));
    }
    literal.strip_prefix('"')?.strip_suffix('"').map(Cow::Borrowed)
}
