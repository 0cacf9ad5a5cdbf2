//! `Change`: a change that subscriptions are notified of, and `ListVersions`: the number of changes of each list.

use crate::dialect::methods::{Listed, NotificationKind, RequestKind};

/// A change that subscriptions are notified of.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Change<'a> {
    /// A list, by its index among the lists that can be subscribed to.
    List(usize),
    /// A resource: the subscribed one itself, or a part of it.
    Resource { subscribed: &'a str, uri: &'a str },
}

impl<'a> Change<'a> {
    /// Returns the change that a notification reports, if it can be subscribed to.
    pub(super) const fn of(kind: NotificationKind) -> Option<Self> {
        match kind {
            NotificationKind::ToolsChanged => Some(Self::List(0)),
            NotificationKind::PromptsChanged => Some(Self::List(1)),
            NotificationKind::ResourcesChanged => Some(Self::List(2)),
            _ => None,
        }
    }

    /// Returns the change of a resource that is itself subscribed to.
    pub(super) const fn of_resource(uri: &'a str) -> Self {
        Self::Resource { subscribed: uri, uri }
    }

    /// Returns a lower bound for the length of the notification, without the id of its subscription.
    pub(super) const fn least_bytes(self) -> usize {
        // A few bytes less than the text around the URI: with an estimate that is too high, the notification would
        // never be sent.
        const AROUND: usize = 120;
        match self {
            Self::List(_) => AROUND,
            Self::Resource { uri, .. } => AROUND + uri.len(),
        }
    }

    pub(super) const fn kind(self) -> NotificationKind {
        match self {
            Self::List(0) => NotificationKind::ToolsChanged,
            Self::List(1) => NotificationKind::PromptsChanged,
            Self::List(_) => NotificationKind::ResourcesChanged,
            Self::Resource { .. } => NotificationKind::ResourceUpdated,
        }
    }
}

/// The number of changes of each list of the peer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct ListVersions {
    counts: [u32; Listed::COUNT],
}

impl ListVersions {
    /// Counts a change of a list.
    pub(super) fn note(&mut self, list: Listed) {
        if let Some(count) = self.counts.get_mut(list as usize) {
            *count = count.wrapping_add(1);
        }
    }

    /// Returns the version of the list that a request of this kind asks for.
    pub(super) fn for_kind(&self, kind: Option<RequestKind>) -> u32 {
        let list = kind.and_then(RequestKind::asks_for);
        list.and_then(|list| self.counts.get(list as usize)).copied().unwrap_or_default()
    }
}
