//! `Subscription`: the state of a subscription of this side, and its events.

use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;

use super::call_options::CallError;
use super::event::{Cause, Notification};
use super::transport_failure::TransportFailure;
use crate::codes::ViolationKind;
use crate::dialect::methods::NotificationKind;
use crate::handle::CallId;
use crate::interests::Filter;
use crate::json::{Raw, Str};
use crate::limits::Limits;
use crate::model::SubscriptionFilter;
use crate::rpc::ErrorObject;

/// The state of a subscription.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Subscription {
    /// The requested filter.
    pub(super) requested: Filter<()>,
    pub(super) acknowledged: bool,
    /// The state of a subscription that a session emulates.
    pub(super) in_session: Option<InSession>,
    /// The notifications that arrived before the acknowledgement, or while others were waiting.
    pub(super) early: VecDeque<Early>,
    /// The number of notifications that were dropped.
    pub(super) lost: u32,
    pub(super) origin: SubscriptionOrigin,
    /// The end of the subscription, while the notifications before it wait to be reported.
    pub(super) end: Option<SubscriptionEnd<'static>>,
}

/// Where a subscription comes from, which decides how it is opened again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum SubscriptionOrigin {
    /// The application, so that a reconnect opens it again.
    #[default]
    Application,
    /// A reconnect, after the application had opened it on an earlier connection.
    Reconnect,
    /// Something that opens it again by itself: the configuration, or another attempt on this connection.
    Elsewhere,
}

/// A notification that waits because its subscription could not report it at once.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Early {
    pub(super) kind: NotificationKind,
    pub(super) params: Option<String>,
}

/// The size of a kept notification without its params.
const EARLY_BYTES: usize = 64;

impl Early {
    /// Returns the size in bytes.
    pub(super) fn bytes(&self) -> usize {
        EARLY_BYTES + self.params.as_ref().map_or(0, String::len)
    }
}

impl Subscription {
    /// Whether a notification can be reported at once: the subscription is open, and no earlier one waits.
    pub(super) fn is_ready(&self) -> bool {
        self.acknowledged && self.early.is_empty() && self.lost == 0
    }

    /// Whether notifications of an open subscription wait to be reported.
    pub(super) fn has_waiting(&self) -> bool {
        self.acknowledged && !self.is_ready()
    }

    /// Returns the size of the kept notifications in bytes.
    pub(super) fn early_bytes(&self) -> usize {
        self.early.iter().map(Early::bytes).sum()
    }

    /// Keeps a notification that cannot be reported at once. Drops and counts it if it exceeds `room` bytes or the
    /// limits. Returns the number of bytes added.
    pub(super) fn keep(
        &mut self,
        (limits, room): (&Limits, usize),
        kind: NotificationKind,
        params: Option<&str>,
    ) -> usize {
        let most = limits.early_notifications as usize;
        let added = EARLY_BYTES + params.map_or(0, str::len);
        // The params contain little more than a URI.
        let longest = most.saturating_mul(limits.uri_bytes.saturating_add(EARLY_BYTES));
        let is_full = most <= self.early.len() || longest < self.early_bytes() + added;
        if is_full || room < added {
            self.lost = self.lost.saturating_add(1);
            return 0;
        }
        self.early.push_back(Early { kind, params: params.map(String::from) });
        added
    }
}

/// An event of a subscription.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct SubscriptionUpdate<'a> {
    /// The call that keeps the subscription open.
    pub call: CallId,
    /// The content of the event.
    pub news: SubscriptionNews<'a>,
}

/// The content of an event of a subscription.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SubscriptionNews<'a> {
    /// The subscription is open.
    Granted {
        /// The part of the filter that the server grants, a [`SubscriptionFilter`](crate::model::SubscriptionFilter).
        granted: Raw<'a>,
        /// The requested part that the server does not grant: another filter, which is empty if everything was
        /// granted.
        refused: Raw<'static>,
    },
    /// A change: one of the requested notifications.
    Changed(Notification<'a>),
    /// Too many notifications arrived before the subscription was open, or while earlier ones waited to be handed out,
    /// and some were dropped. Fetch everything that the subscription covers again.
    Lagged {
        /// The number of dropped notifications.
        lost: u32,
    },
    /// The subscription has ended, and its handle is no longer valid.
    Ended(SubscriptionEnd<'a>),
}

/// Why a subscription ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SubscriptionEnd<'a> {
    /// The server has finished the subscription: no more notifications follow.
    Finished,
    /// The server has cancelled the subscription.
    Cancelled {
        /// The reason in the words of the server.
        reason: Option<Str<'a>>,
    },
    /// The server did not open the subscription.
    Rejected(ErrorObject<'a>),
    /// The server could not continue the subscription.
    Failed(ErrorObject<'a>),
    /// The server sent an invalid response.
    Malformed(ViolationKind),
    /// The server did not acknowledge the subscription within
    /// [`Timeouts::acknowledgement`](crate::config::Timeouts::acknowledgement).
    TimedOut,
    /// The transport of the subscription failed: for example, the stream broke off. Cached data that it covers may be
    /// stale; subscribe again.
    TransportFailed(TransportFailure<'a>),
    /// The subscription was requested before negotiation, and the server turned out not to have subscriptions.
    CallError(CallError),
    /// The connection ended. Only this end is a reason to subscribe again on the next connection, as
    /// [`Client::reconnect`](crate::Client::reconnect) does.
    Lost(Cause),
}

impl SubscriptionUpdate<'_> {
    /// Converts into an event that owns its text.
    pub fn into_owned(self) -> SubscriptionUpdate<'static> {
        let news = match self.news {
            SubscriptionNews::Granted { granted, refused } => {
                SubscriptionNews::Granted { granted: granted.into_owned(), refused }
            }
            SubscriptionNews::Changed(change) => SubscriptionNews::Changed(change.into_owned()),
            SubscriptionNews::Lagged { lost } => SubscriptionNews::Lagged { lost },
            SubscriptionNews::Ended(end) => SubscriptionNews::Ended(end.into_owned()),
        };
        SubscriptionUpdate { call: self.call, news }
    }
}

impl SubscriptionEnd<'_> {
    /// Converts into a value that owns its text.
    pub fn into_owned(self) -> SubscriptionEnd<'static> {
        match self {
            Self::Finished => SubscriptionEnd::Finished,
            Self::Cancelled { reason } => {
                SubscriptionEnd::Cancelled { reason: reason.map(Str::into_owned) }
            }
            Self::Rejected(error) => SubscriptionEnd::Rejected(error.into_owned()),
            Self::Failed(error) => SubscriptionEnd::Failed(error.into_owned()),
            Self::Malformed(kind) => SubscriptionEnd::Malformed(kind),
            Self::TimedOut => SubscriptionEnd::TimedOut,
            Self::TransportFailed(failure) => {
                SubscriptionEnd::TransportFailed(failure.into_owned())
            }
            Self::CallError(error) => SubscriptionEnd::CallError(error),
            Self::Lost(cause) => SubscriptionEnd::Lost(cause),
        }
    }
}

/// The state of a subscription that a session emulates.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct InSession {
    /// The part of the filter that the server has granted so far.
    pub(super) granted: Filter<()>,
    /// The pending requests for resources.
    pub(super) asked: Vec<AskedResource>,
    /// Whether the event that the subscription is open has been returned.
    pub(super) is_reported: bool,
}

/// A pending request of this side to subscribe to a resource.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct AskedResource {
    /// `None` while a request to unsubscribe from the resource is pending, which a server may handle later than the next
    /// request.
    pub(super) call: Option<CallId>,
    pub(super) uri: String,
    /// Whether the server is subscribed already, because of a subscription that has ended since. Then also a request
    /// that is refused leaves something to undo.
    pub(super) is_subscribed: bool,
}

impl InSession {
    pub(super) fn wants(&self, list: Option<usize>, uri: Option<&str>) -> bool {
        let of_list =
            list.and_then(|list| self.granted.lists.get(list)).is_some_and(Option::is_some);
        of_list || uri.is_some_and(|uri| self.granted.has_prefix_of(uri))
    }
}

/// Returns the part of `all` that is not in `granted`, in its wire form.
pub(super) fn without(all: &Filter<()>, granted: &Filter<()>) -> SubscriptionFilter<'static> {
    let mut refused = all.clone();
    for (list, granted) in refused.lists.iter_mut().zip(&granted.lists) {
        if granted.is_some() {
            *list = None;
        }
    }
    refused.resources.retain(|uri| !granted.resources.contains_key(uri));
    refused.tasks.retain(|id| granted.tasks.binary_search(id).is_err());
    refused.as_sent()
}
