//! What a subscription is about.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::capability::{Capability, CapabilitySet};
use crate::json::{Elements, Str, member};

/// The lists whose changes can be subscribed to.
pub(crate) const LISTS: [(&str, Capability); 3] = [
    ("toolsListChanged", Capability::ToolsListChanged),
    ("promptsListChanged", Capability::PromptsListChanged),
    ("resourcesListChanged", Capability::ResourcesListChanged),
];

/// What somebody wants to be told, with something kept for each of it
/// ([filter](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions)).
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Filter<T> {
    /// The lists, in the order of [`LISTS`].
    pub(crate) lists: [Option<T>; 3],
    /// The resources, by URI. URIs are compared as text and never normalised.
    pub(crate) resources: BTreeMap<String, T>,
    /// The tasks, by their ids, each once, in order.
    pub(crate) tasks: Vec<String>,
}

/// Without the ids of tasks.
impl<T: fmt::Debug> fmt::Debug for Filter<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Filter")
            .field("lists", &self.lists)
            .field("resources", &self.resources)
            .field("tasks", &self.tasks.len())
            .finish()
    }
}

impl<T: Default> Filter<T> {
    /// Reads the `notifications` of a request or of its acknowledgement, an object whose shape is
    /// right. What is `false`, `null` or unknown is not in it.
    pub(crate) fn read(notifications: &str) -> Self {
        let is_true = |name: &str| member(notifications, name) == Some("true");
        let uris = member(notifications, "resourceSubscriptions").unwrap_or_default();
        let tasks = member(notifications, "taskIds").unwrap_or_default();
        let mut tasks: Vec<String> = uris_of(tasks).map(|id| id.to_str().into_owned()).collect();
        tasks.sort_unstable();
        tasks.dedup();
        Self {
            lists: LISTS.map(|(name, _)| is_true(name).then(T::default)),
            resources: uris_of(uris).map(|uri| (uri.to_str().into_owned(), T::default())).collect(),
            tasks,
        }
    }

    /// The same, of the params of a request for a subscription.
    pub(crate) fn read_params(params: &str) -> Self {
        Self::read(member(params, "notifications").unwrap_or_default())
    }

    /// Whether it is about tasks.
    pub(crate) const fn has_tasks(&self) -> bool {
        !self.tasks.is_empty()
    }

    /// Leaves what is in another filter, too.
    pub(crate) fn intersect<U>(&mut self, other: &Filter<U>) {
        for (list, others) in self.lists.iter_mut().zip(&other.lists) {
            if others.is_none() {
                *list = None;
            }
        }
        self.resources.retain(|uri, _| other.resources.contains_key(uri));
        self.tasks.retain(|id| other.tasks.binary_search(id).is_ok());
    }

    /// Leaves what somebody who has declared these capabilities tells.
    pub(crate) fn limit(&mut self, declared: CapabilitySet) {
        for (list, (_, capability)) in self.lists.iter_mut().zip(LISTS) {
            if !declared.contains(capability) {
                *list = None;
            }
        }
        if !declared.contains(Capability::ResourcesSubscribe) {
            self.resources.clear();
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lists.iter().all(Option::is_none) && self.resources.is_empty() && self.tasks.is_empty()
    }
}

/// The URIs of a filter, as they stand on the wire.
pub(crate) fn uris_of(list: &str) -> impl Iterator<Item = Str<'_>> {
    Elements::of(list).filter_map(|uri| uri.borrowed().and_then(Str::from_literal))
}
