//! The key of a cached result: method, params, principal.

use alloc::borrow::Cow;
use core::fmt;

use super::place::{CURSOR, Cacheable, Place, borrowed};
use crate::dialect::methods::RequestKind;
use crate::handle::Principal;
use crate::json::{Kind, MemberTexts, Raw, Str};
use crate::version::Revision;

/// Who asks, and in which revision of the protocol.
///
/// A principal is an authorization context: whoever has another access token is another one, and so is
/// the same user with a new token, unless the host knows that both may see the same
/// ([cache scope](https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Asker {
    principal: Principal,
    revision: Revision,
}

impl Asker {
    /// This principal, in this revision.
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

/// A request whose result can be kept: its method, the one param that affects the result, and who asks.
///
/// Equal keys have equal results. `_meta` is no part of it. `Debug` shows the length of the param
/// only.
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
    /// `server/discover`
    pub const fn discover(asker: Asker) -> Self {
        Self { kind: Cacheable::Discover, param: None, asker }
    }

    /// `tools/list`, at a cursor or from the beginning.
    pub const fn tools(cursor: Option<&'a str>, asker: Asker) -> Self {
        Self::page(Cacheable::Tools, cursor, asker)
    }

    /// `prompts/list`, at a cursor or from the beginning.
    pub const fn prompts(cursor: Option<&'a str>, asker: Asker) -> Self {
        Self::page(Cacheable::Prompts, cursor, asker)
    }

    /// `resources/list`, at a cursor or from the beginning.
    pub const fn resources(cursor: Option<&'a str>, asker: Asker) -> Self {
        Self::page(Cacheable::Resources, cursor, asker)
    }

    /// `resources/templates/list`, at a cursor or from the beginning.
    pub const fn resource_templates(cursor: Option<&'a str>, asker: Asker) -> Self {
        Self::page(Cacheable::ResourceTemplates, cursor, asker)
    }

    /// `resources/read`. URIs are compared as text and never normalised.
    pub const fn resource(uri: &'a str, asker: Asker) -> Self {
        Self { kind: Cacheable::Resource, param: Some(Cow::Borrowed(uri)), asker }
    }

    const fn page(kind: Cacheable, cursor: Option<&'a str>, asker: Asker) -> Self {
        Self { kind, param: borrowed(cursor), asker }
    }

    /// The key of any request, `None` if its result must not be kept.
    ///
    /// That is so for every other method, and for params with any member besides `_meta` and the one
    /// that the method has: nobody knows whether it affects the result. So there is no key for a
    /// request that carries `inputResponses` or `requestState`
    /// ([cache key](https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching)).
    pub fn of(method: &str, params: Option<&'a Raw<'_>>, asker: Asker) -> Option<Self> {
        let kind = RequestKind::named(method).and_then(Cacheable::of)?;
        let (mut param, mut is_there) = (None, false);
        if let Some(params) = params {
            if params.kind() != Kind::Object {
                return None;
            }
            for (name, value) in MemberTexts::of(params.as_json()) {
                if name == "_meta" {
                    continue;
                }
                // Of two members of one name some servers take the first one and some the last.
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

    /// Who asks.
    pub const fn asker(&self) -> Asker {
        self.asker
    }

    /// The same with its own copy of the text.
    pub fn into_owned(self) -> CacheKey<'static> {
        let param = self.param.map(|param| Cow::Owned(param.into_owned()));
        CacheKey { kind: self.kind, param, asker: self.asker }
    }

    /// Where the answer lies that this principal owns, or the public one.
    pub(super) fn place(&self, owner: Option<Principal>) -> Place<'_> {
        let param = borrowed(self.param.as_deref());
        Place { kind: self.kind, param, revision: self.asker.revision, owner }
    }

    /// Whether it asks for a page of a list that is not the first one.
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

/// The text of a JSON string literal, `None` if it is no string or stands for no exact text: two of
/// those could look the same.
pub(super) fn text(literal: &str) -> Option<Cow<'_, str>> {
    let string = Str::from_literal(literal).filter(|string| !string.has_lone_surrogate())?;
    if string.as_plain().is_none() {
        return Some(Cow::Owned(string.to_str().into_owned()));
    }
    literal.strip_prefix('"')?.strip_suffix('"').map(Cow::Borrowed)
}
