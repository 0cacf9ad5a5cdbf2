//! The changes that make cached results stale, and the time of each.

use alloc::borrow::Cow;
use alloc::collections::{BTreeMap, VecDeque};
use core::fmt;

use super::key::{CacheKey, text};
use super::place::Cacheable;
use crate::dialect::methods::NotificationKind;
use crate::json::{Raw, member};

/// Something that has changed, or may have.
///
/// `Debug` shows the length of a URI only.
#[derive(Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Change<'a> {
    /// The tools: all pages of that list.
    Tools,
    /// The prompts: all pages of that list.
    Prompts,
    /// Which resources there are: all pages of that list and of the list of templates.
    Resources,
    /// A resource, by its URI, and with it everything below it: what its URI and a `/` begin with.
    Resource(Cow<'a, str>),
    /// Nobody knows what, so everything.
    Everything,
}

impl<'a> Change<'a> {
    /// What a notification says has changed, by its method and params. `None` if it is about nothing
    /// that is kept here.
    ///
    /// `notifications/resources/updated` without a URI that can be read is about
    /// [`Everything`](Self::Everything).
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

    /// The kinds of results that are stale as a whole.
    pub(super) const fn kinds(&self) -> &'static [Cacheable] {
        match self {
            Self::Tools => &[Cacheable::Tools],
            Self::Prompts => &[Cacheable::Prompts],
            Self::Resources => &[Cacheable::Resources, Cacheable::ResourceTemplates],
            Self::Resource(_) => &[],
            Self::Everything => &Cacheable::ALL,
        }
    }
}

impl fmt::Debug for Change<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tools => formatter.write_str("Tools"),
            Self::Prompts => formatter.write_str("Prompts"),
            Self::Resources => formatter.write_str("Resources"),
            Self::Resource(uri) => write!(formatter, "Resource({} bytes)", uri.len()),
            Self::Everything => formatter.write_str("Everything"),
        }
    }
}

/// Whether `uri` is at `changed` or below it. They are compared as text and never normalised.
pub(super) fn is_at_or_below(uri: &str, changed: &str) -> bool {
    uri.strip_prefix(changed)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || changed.ends_with('/'))
}

/// How many resources are remembered that have changed. A change that is forgotten counts as one of
/// every resource, which costs the results in flight their place and nothing else.
pub(super) const REMEMBERED: usize = 64;

/// What has changed when, in the count of the cache. Whether a result in flight may be kept depends on
/// nothing else.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Changes {
    /// When each kind last changed as a whole.
    kinds: BTreeMap<Cacheable, u64>,
    /// The resources that have changed by themselves, the latest ones, oldest first.
    resources: VecDeque<ChangedResource>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct ChangedResource {
    /// The hash of its URI. Two that collide cost a result in flight its place.
    uri: u64,
    when: u64,
}

impl Changes {
    pub(super) const fn new() -> Self {
        Self { kinds: BTreeMap::new(), resources: VecDeque::new() }
    }

    /// Everything of a kind has changed.
    pub(super) fn kind(&mut self, kind: Cacheable, when: u64) {
        self.kinds.insert(kind, when);
        if kind == Cacheable::Resource {
            // What is remembered is later than this, and so is what is forgotten next.
            self.resources.clear();
        }
    }

    /// A resource has changed.
    pub(super) fn resource(&mut self, uri: &str, when: u64) {
        // The empty prefix comes first and the whole URI last.
        let Some(uri) = levels(uri).last() else { return };
        // One that changes all the time takes one place.
        self.resources.retain(|resource| resource.uri != uri);
        self.resources.push_back(ChangedResource { uri, when });
        if REMEMBERED < self.resources.len()
            && let Some(forgotten) = self.resources.pop_front()
        {
            self.kinds.insert(Cacheable::Resource, forgotten.when);
        }
    }

    /// Whether the result of a request has changed, or may have, since it went out.
    pub(super) fn has_changed(&self, key: &CacheKey<'_>, since: u64) -> bool {
        if self.kinds.get(&key.kind).is_some_and(|when| since < *when) {
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

/// The hashes (FNV-1a) of all URIs that this one is at or below, shortest first.
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
