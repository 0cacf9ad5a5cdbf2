//! `Filter`: the lists, resources and tasks of a subscription.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Bound;

use crate::capability::{Capability, CapabilitySet};
use crate::json::{Elements, Str, member};
use crate::model::SubscriptionFilter;
use crate::ordered::Ordered;

/// The lists whose changes can be subscribed to.
pub(crate) const LISTS: [(&str, Capability); 3] = [
    ("toolsListChanged", Capability::ToolsListChanged),
    ("promptsListChanged", Capability::PromptsListChanged),
    ("resourcesListChanged", Capability::ResourcesListChanged),
];

/// The lists, resources and tasks that a subscription covers, with a value of type `T` for each list and resource
/// ([filter](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions)).
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Filter<T> {
    /// The lists, in the order of [`LISTS`].
    pub(crate) lists: [Option<T>; 3],
    /// The resources, by URI. URIs are compared as text and never normalised.
    pub(crate) resources: Ordered<String, T>,
    /// The ids of the tasks, sorted and without duplicates.
    pub(crate) tasks: Vec<String>,
}

impl Filter<()> {
    /// Reads the part of an acknowledgement that is in the requested filter `whole`. The acknowledgement can have any
    /// number of other entries.
    pub(crate) fn read_part_of(whole: &Self, notifications: &str) -> Self {
        let mut part = Self { lists: read_lists(notifications), ..Self::default() };
        for uri in uris_of(member(notifications, "resourceSubscriptions").unwrap_or_default()) {
            let uri = uri.to_str();
            if whole.resources.contains_key(&*uri) && !part.resources.contains_key(&*uri) {
                part.resources.insert(uri.into_owned(), ());
            }
        }
        let mut is_granted = vec![false; whole.tasks.len()];
        for id in uris_of(member(notifications, "taskIds").unwrap_or_default()) {
            let id = id.to_str();
            let at = whole.tasks.binary_search_by(|task| (**task).cmp(&*id));
            if let Some(is_granted) = at.ok().and_then(|at| is_granted.get_mut(at)) {
                *is_granted = true;
            }
        }
        let tasks = whole.tasks.iter().zip(is_granted).filter(|(_, is_granted)| *is_granted);
        part.tasks = tasks.map(|(id, _)| id.clone()).collect();
        part
    }

    /// Returns the filter in its wire form.
    pub(crate) fn as_sent(&self) -> SubscriptionFilter<'static> {
        let mut sent = SubscriptionFilter::new();
        for (list, (name, _)) in self.lists.iter().zip(LISTS) {
            if list.is_some() {
                match name {
                    "toolsListChanged" => sent.tools_list_changed = Some(true),
                    "promptsListChanged" => sent.prompts_list_changed = Some(true),
                    _ => sent.resources_list_changed = Some(true),
                }
            }
        }
        let sent = self.resources.keys().fold(sent, |sent, uri| sent.with_resource(uri.clone()));
        self.tasks.iter().fold(sent, |sent, id| sent.with_task(id.clone()))
    }
}

/// Omits the ids of the tasks, which are secret.
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
    /// Reads the `notifications` of a request or of its acknowledgement, an object whose shape has been checked.
    /// Members that are `false`, `null` or unknown are skipped.
    pub(crate) fn read(notifications: &str) -> Self {
        let uris = member(notifications, "resourceSubscriptions").unwrap_or_default();
        let tasks = member(notifications, "taskIds").unwrap_or_default();
        let mut tasks: Vec<String> = uris_of(tasks).map(|id| id.to_str().into_owned()).collect();
        tasks.sort_unstable();
        tasks.dedup();
        Self {
            lists: read_lists(notifications),
            resources: uris_of(uris).map(|uri| (uri.to_str().into_owned(), T::default())).collect(),
            tasks,
        }
    }

    /// Whether the filter covers tasks.
    pub(crate) const fn has_tasks(&self) -> bool {
        !self.tasks.is_empty()
    }

    /// Keeps only the entries that are in `other`, too.
    pub(crate) fn intersect<U>(&mut self, other: &Filter<U>) {
        for (list, others) in self.lists.iter_mut().zip(&other.lists) {
            if others.is_none() {
                *list = None;
            }
        }
        self.resources.retain(|uri| other.resources.contains_key(uri));
        self.tasks.retain(|id| other.tasks.binary_search(id).is_ok());
    }

    /// Keeps only the lists and resources that the declared capabilities of a server cover.
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

    /// Whether a URI is that of a resource or of a part of one, that is, whether one of the resources is a prefix of
    /// it.
    ///
    /// All texts that sort between a prefix of the URI and the URI itself begin with that prefix. So a prefix of the
    /// URI among the resources is also a prefix of the last resource before the URI, and of the common prefix of the
    /// two.
    pub(crate) fn has_prefix_of(&self, uri: &str) -> bool {
        let mut prefix = uri;
        loop {
            work!(1);
            let up_to = (Bound::Unbounded, Bound::Included(prefix));
            let Some((last, _)) = self.resources.range::<str>(up_to).next_back() else {
                return false;
            };
            if prefix.starts_with(last.as_str()) {
                return true;
            }
            let pairs = prefix.char_indices().zip(last.chars());
            let differs = { pairs }.find(|((_, one), other)| one != other);
            let common = differs.map_or(0, |((at, _), _)| at);
            prefix = prefix.get(..common).unwrap_or_default();
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lists.iter().all(Option::is_none) && self.resources.is_empty() && self.tasks.is_empty()
    }
}

/// Reads the lists that a filter covers.
fn read_lists<T: Default>(notifications: &str) -> [Option<T>; 3] {
    let is_true = |name: &str| member(notifications, name) == Some("true");
    LISTS.map(|(name, _)| is_true(name).then(T::default))
}

/// The strings of a list of a filter, in their wire form.
pub(crate) fn uris_of(list: &str) -> impl Iterator<Item = Str<'_>> {
    Elements::of(list).filter_map(|uri| uri.borrowed().and_then(Str::from_literal))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A part of a filter is the intersection of the filter and of all that is granted.
    #[test]
    fn a_part_is_what_was_requested_and_granted() {
        let requested = r#"{"toolsListChanged":true,"promptsListChanged":true,"resourceSubscriptions":["a:b","a:c","é"],"taskIds":["1","2","3"]}"#;
        let granted = r#"{"toolsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["\u00e9","a:d","a:b","a:b"],"taskIds":["3","0","\u0031","3"]}"#;
        let requested = Filter::<()>::read(requested);
        let part = Filter::read_part_of(&requested, granted);
        let resources: Vec<&str> = part.resources.keys().map(String::as_str).collect();
        assert_eq!((resources, &*part.tasks), (vec!["a:b", "é"], &["1".into(), "3".into()][..]));
        let mut same = Filter::<()>::read(granted);
        assert_eq!(part.lists, same.lists);
        same.intersect(&requested);
        assert_eq!((part.resources, part.tasks), (same.resources, same.tasks));
        let nothing = Filter::read_part_of(&requested, "{}");
        assert!(nothing.is_empty());
    }

    /// The search gives the same answer as a scan of all resources.
    #[test]
    fn a_part_of_a_resource_is_found() {
        let texts =
            ["", "a", "a:", "a:b", "a:b/", "a:b/c", "a:b0", "a:c", "ab", "b", "é", "éa", "z"];
        for chosen in 0..1_u32 << texts.len() {
            let is_in = |at: usize| chosen & 1 << at != 0;
            let resources = texts.iter().enumerate().filter(|(at, _)| is_in(*at));
            let mut filter = Filter::<()>::default();
            filter.resources = resources.map(|(_, text)| (String::from(*text), ())).collect();
            for uri in texts {
                let seen = filter.resources.keys().any(|whole| uri.starts_with(whole.as_str()));
                assert_eq!(filter.has_prefix_of(uri), seen, "{uri} {filter:?}");
            }
        }
    }
}
