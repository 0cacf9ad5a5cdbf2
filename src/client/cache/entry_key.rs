//! `EntryKey`: the key of a stored result, and `Cacheable`: the requests whose results can be cached.

use alloc::borrow::Cow;

use crate::dialect::methods::RequestKind;
use crate::handle::Principal;
use crate::version::Revision;

/// The requests whose results carry cache hints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Cacheable {
    Discover,
    Tools,
    Prompts,
    Resources,
    ResourceTemplates,
    Resource,
    /// A method of the application, with the param that affects its result.
    Method(&'static str, Option<&'static str>),
}

impl Cacheable {
    pub(super) const fn of(kind: RequestKind) -> Option<Self> {
        match kind {
            RequestKind::Discover => Some(Self::Discover),
            RequestKind::ListTools => Some(Self::Tools),
            RequestKind::ListPrompts => Some(Self::Prompts),
            RequestKind::ListResources => Some(Self::Resources),
            RequestKind::ListResourceTemplates => Some(Self::ResourceTemplates),
            RequestKind::ReadResource => Some(Self::Resource),
            _ => None,
        }
    }

    /// The param that affects the result.
    pub(super) const fn param(self) -> Option<&'static str> {
        match self {
            Self::Discover => None,
            Self::Resource => Some("uri"),
            Self::Method(_, param) => param,
            _ => Some(CURSOR),
        }
    }
}

/// The key of a stored result: the request, and the owner of the result.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct EntryKey<'a> {
    pub(super) kind: Cacheable,
    pub(super) param: Option<Cow<'a, str>>,
    pub(super) revision: Revision,
    /// The only principal that may read the result. `None` if the result is public.
    pub(super) owner: Option<Principal>,
}

impl<'a> EntryKey<'a> {
    /// Returns a lower bound of all places with this kind and param.
    pub(super) const fn first(kind: Cacheable, param: Option<&'a str>) -> Self {
        Self { kind, param: borrowed(param), revision: Revision::ALL[0], owner: None }
    }

    /// The bytes of text in the place.
    pub(super) fn bytes(&self) -> usize {
        self.param.as_ref().map_or(0, |param| param.len())
    }

    pub(super) fn into_owned(self) -> EntryKey<'static> {
        let param = self.param.map(|param| Cow::Owned(param.into_owned()));
        EntryKey { kind: self.kind, param, revision: self.revision, owner: self.owner }
    }
}

/// The param of a list.
pub(super) const CURSOR: &str = "cursor";

pub(super) const fn borrowed(param: Option<&str>) -> Option<Cow<'_, str>> {
    match param {
        Some(param) => Some(Cow::Borrowed(param)),
        None => None,
    }
}
