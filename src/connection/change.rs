//! `Change`: a change that subscriptions are notified of, and `ListVersions`: how often each list has changed.

use crate::dialect::methods::{Listed, NotificationKind, RequestKind};

/// Something that has changed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Change<'a> {
    /// A list, by its place among those that can be subscribed to.
    List(usize),
    /// A resource, which is the one that was subscribed to or a part of it.
    Resource { subscribed: &'a str, uri: &'a str },
}

impl<'a> Change<'a> {
    /// What a notification says has changed, if it can be subscribed to.
    pub(super) const fn of(kind: NotificationKind) -> Option<Self> {
        match kind {
            NotificationKind::ToolsChanged => Some(Self::List(0)),
            NotificationKind::PromptsChanged => Some(Self::List(1)),
            NotificationKind::ResourcesChanged => Some(Self::List(2)),
            _ => None,
        }
    }

    /// A resource that was subscribed to itself.
    pub(super) const fn of_resource(uri: &'a str) -> Self {
        Self::Resource { subscribed: uri, uri }
    }

    /// How long the notification of it is at least, apart from the id of its subscription.
    pub(super) const fn least_bytes(self) -> usize {
        // A few bytes less than what is written around the URI: a guess that is too high would be told never.
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

/// How often each list of the peer has changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct ListVersions {
    counts: [u32; Listed::COUNT],
}

impl ListVersions {
    /// A list has changed.
    pub(super) fn note(&mut self, list: Listed) {
        if let Some(count) = self.counts.get_mut(list as usize) {
            *count = count.wrapping_add(1);
        }
    }

    /// The version of the list that a request of this kind asks for.
    pub(super) fn for_kind(&self, kind: Option<RequestKind>) -> u32 {
        let list = kind.and_then(RequestKind::asks_for);
        list.and_then(|list| self.counts.get(list as usize)).copied().unwrap_or_default()
    }
}
