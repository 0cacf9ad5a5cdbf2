//! The changes that make cached results stale, and the time of each change.

use alloc::borrow::Cow;
use alloc::collections::{BTreeMap, VecDeque};
use core::fmt;

use super::entry_key::Cacheable;
use super::key::{CacheKey, text};
use crate::dialect::methods::NotificationKind;
use crate::json::{Raw, member};
use crate::model::method::CacheableMethod;

/// A change on the server, certain or possible.
///
/// `Debug` shows the length of a URI only.
#[derive(Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Change<'a> {
    /// The tools: all pages of the list.
    Tools,
    /// The prompts: all pages of the list.
    Prompts,
    /// The set of resources: all pages of the resource list and of the template list.
    Resources,
    /// The resource with this URI and all resources below it: their URIs begin with this URI and a `/`, or with this
    /// URI alone if it ends with `/`.
    Resource(Cow<'a, str>),
    /// All results of a method of the application: [`Change::of_method`].
    Method(MethodResults),
    /// An unknown change, which affects all results.
    Everything,
}

/// The results of a method of the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MethodResults(Cacheable);

impl<'a> Change<'a> {
    /// Returns the change of all results of a method.
    pub const fn of_method<M: CacheableMethod>() -> Self {
        Self::Method(MethodResults(Cacheable::Method(M::NAME, M::PARAM)))
    }

    /// Returns the change that a notification reports, by its method and params. `None` if it concerns no cached
    /// result.
    ///
    /// `notifications/resources/updated` without a readable URI counts as [`Everything`](Self::Everything).
    pub fn of(method: &str, params: Option<&'a Raw<'_>>) -> Option<Self> {
        match NotificationKind::named(method)? {
            NotificationKind::ToolsChanged => Some(Self::Tools),
            NotificationKind::PromptsChanged => Some(Self::Prompts),
            NotificationKind::ResourcesChanged => Some(Self::Resources),
            NotificationKind::ResourceUpdated => {
                let uri = params.and_then(|params| member(params.as_json(), "uri"));
                Some(uri.and_then(text).map_or(Self::Everything, Self::Resource))
            }
            _ => None,
        }
    }

    /// The kinds of results of which every result is stale, unless that is every kind.
    pub(super) fn kinds(&self) -> impl Iterator<Item = Cacheable> {
        let kinds = match self {
            Self::Tools => [Some(Cacheable::Tools), None],
            Self::Prompts => [Some(Cacheable::Prompts), None],
            Self::Resources => [Some(Cacheable::Resources), Some(Cacheable::ResourceTemplates)],
            Self::Method(MethodResults(kind)) => [Some(*kind), None],
            Self::Resource(_) | Self::Everything => [None, None],
        };
        kinds.into_iter().flatten()
    }
}

impl fmt::Debug for Change<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tools => formatter.write_str("Tools"),
            Self::Prompts => formatter.write_str("Prompts"),
            Self::Resources => formatter.write_str("Resources"),
            Self::Resource(uri) => write!(formatter, "Resource({} bytes)", uri.len()),
            Self::Method(MethodResults(kind)) => write!(formatter, "{kind:?}"),
            Self::Everything => formatter.write_str("Everything"),
        }
    }
}

/// Whether `uri` is `changed` or below it. Both are compared as text and never normalised.
pub(super) fn is_at_or_below(uri: &str, changed: &str) -> bool {
    uri.strip_prefix(changed)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || changed.ends_with('/'))
}

/// The number of changed resources that are remembered. A forgotten change counts as a change of every resource:
/// results in flight are not stored, and nothing else is lost.
pub(super) const REMEMBERED: usize = 64;

/// The times of all changes, in ticks of the cache. They alone decide whether a result in flight may be stored.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Changes {
    /// The last change of every kind.
    everything: u64,
    /// The last change of each kind as a whole.
    kinds: BTreeMap<Cacheable, u64>,
    /// The latest changes of single resources, oldest first.
    resources: VecDeque<ChangedResource>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct ChangedResource {
    /// The hash of the URI. After a collision, a result in flight is not stored.
    uri: u64,
    when: u64,
}

impl Changes {
    pub(super) const fn new() -> Self {
        Self { everything: 0, kinds: BTreeMap::new(), resources: VecDeque::new() }
    }

    /// Records a change of every kind. All remembered changes are older, so it covers them.
    pub(super) fn everything(&mut self, when: u64) {
        *self = Self { everything: when, ..Self::new() };
    }

    /// Records a change of a kind as a whole.
    pub(super) fn kind(&mut self, kind: Cacheable, when: u64) {
        self.kinds.insert(kind, when);
        if kind == Cacheable::Resource {
            // All remembered changes are older than this one, so it covers them.
            self.resources.clear();
        }
    }

    /// Records a change of one resource.
    pub(super) fn resource(&mut self, uri: &str, when: u64) {
        // The empty prefix comes first and the whole URI last.
        let Some(uri) = levels(uri).last() else { return };
        // A resource that changes often takes only one entry.
        self.resources.retain(|resource| resource.uri != uri);
        self.resources.push_back(ChangedResource { uri, when });
        if REMEMBERED < self.resources.len()
            && let Some(forgotten) = self.resources.pop_front()
        {
            self.kinds.insert(Cacheable::Resource, forgotten.when);
        }
    }

    /// Whether the result of a request has changed, or may have, since the request was sent.
    pub(super) fn has_changed(&self, key: &CacheKey<'_>, since: u64) -> bool {
        let of_kind = self.kinds.get(&key.kind).is_some_and(|when| since < *when);
        if of_kind || since < self.everything {
            return true;
        }
        let recent = || self.resources.iter().filter(|resource| since < resource.when);
        match &key.param {
            Some(uri) if key.kind == Cacheable::Resource && recent().next().is_some() => {
                levels(uri).any(|level| recent().any(|resource| resource.uri == level))
            }
            _ => false,
        }
    }
}

/// The FNV-1a hashes of all URIs that this URI equals or is below, shortest first.
fn levels(uri: &str) -> impl Iterator<Item = u64> + '_ {
    let bytes = uri.as_bytes();
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    (0..=bytes.len()).filter_map(move |length| {
        let (last, next) = (length.checked_sub(1).and_then(|at| bytes.get(at)), bytes.get(length));
        if let Some(last) = last {
            hash = (hash ^ u64::from(*last)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        let is_level = next.is_none() || next == Some(&b'/') || last == Some(&b'/');
        is_level.then_some(hash)
    })
}
