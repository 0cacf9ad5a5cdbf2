//! `Subscription`: the state of a subscription of ours, and the events that it gives.

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

/// What is known of a subscription.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Subscription {
    /// What was asked for.
    pub(super) requested: Filter<()>,
    pub(super) acknowledged: bool,
    /// What a session knows of it, if there is one.
    pub(super) in_session: Option<InSession>,
    /// What came before it was acknowledged, or together with something else.
    pub(super) early: VecDeque<Early>,
    /// How much came that was not kept.
    pub(super) lost: u32,
    /// The machine made it by itself.
    pub(super) is_automatic: bool,
}

/// A notification that was kept because its subscription was not open.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Early {
    pub(super) kind: NotificationKind,
    pub(super) params: Option<String>,
}

/// What a notification that is kept takes beside its params.
const EARLY_BYTES: usize = 64;

impl Early {
    /// How many bytes it takes.
    pub(super) fn bytes(&self) -> usize {
        EARLY_BYTES + self.params.as_ref().map_or(0, String::len)
    }
}

impl Subscription {
    /// Whether a notification can be reported at once: the subscription is open, and no earlier one waits.
    pub(super) fn is_ready(&self) -> bool {
        self.acknowledged && self.early.is_empty() && self.lost == 0
    }

    /// How many bytes the notifications take that are kept.
    pub(super) fn early_bytes(&self) -> usize {
        self.early.iter().map(Early::bytes).sum()
    }

    /// Keeps a notification that cannot be reported at once, unless it takes more than `room` bytes or too much is
    /// kept already. Returns how many bytes more are kept now.
    pub(super) fn keep(
        &mut self,
        (limits, room): (&Limits, usize),
        kind: NotificationKind,
        params: Option<&str>,
    ) -> usize {
        let most = limits.early_notifications as usize;
        let added = EARLY_BYTES + params.map_or(0, str::len);
        // Each says little more than a URI.
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

/// News of a subscription.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct SubscriptionUpdate<'a> {
    /// The call that keeps it open.
    pub call: CallId,
    /// What there is to say.
    pub news: SubscriptionNews<'a>,
}

/// What there is to say of a subscription.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SubscriptionNews<'a> {
    /// It is open.
    Granted {
        /// What the server will tell of, a [`SubscriptionFilter`](crate::model::SubscriptionFilter).
        granted: Raw<'a>,
        /// What it will not tell of although it was asked to: another one, with nothing in it if that is
        /// nothing.
        refused: Raw<'static>,
    },
    /// Something has changed: one of the notifications that were asked for.
    Changed(Notification<'a>),
    /// So many notifications came before it was open that some were not kept. Ask again for everything
    /// that it is about.
    Lagged {
        /// How many were not kept.
        lost: u32,
    },
    /// It is over, and its handle is dead.
    Ended(SubscriptionEnd<'a>),
}

/// How a subscription ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SubscriptionEnd<'a> {
    /// The server says that nothing more will come.
    Finished,
    /// The server gave it up.
    Cancelled {
        /// Why, in its words.
        reason: Option<Str<'a>>,
    },
    /// The server did not open it.
    Rejected(ErrorObject<'a>),
    /// The server could not go on with it.
    Failed(ErrorObject<'a>),
    /// The server answered with something that is no answer.
    Malformed(ViolationKind),
    /// The server did not say within [`Timeouts::acknowledgement`](crate::config::Timeouts::acknowledgement)
    /// that it is open.
    TimedOut,
    /// Its transport has failed: the stream broke off, for example. What it announced is stale; subscribe again.
    TransportFailed(TransportFailure<'a>),
    /// It was asked for before it was known whether the server has subscriptions, and it has none.
    CallError(CallError),
    /// The connection ended. Only this is a reason to ask for it again on the next one:
    /// [`Client::reconnect`](crate::Client::reconnect) does.
    Lost(Cause),
}

impl SubscriptionUpdate<'_> {
    /// The same with its own copy of the text.
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
    /// The same with its own copy of the text.
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

/// What is known of a subscription that a session stands for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct InSession {
    /// What the server tells of, as far as it has said.
    pub(super) granted: Filter<()>,
    /// The requests that have not been answered, and the resources that they are about.
    pub(super) asked: Vec<(CallId, String)>,
    /// It has been said to be open.
    pub(super) told: bool,
}

impl InSession {
    pub(super) fn wants(&self, list: Option<usize>, uri: Option<&str>) -> bool {
        let of_list =
            list.and_then(|list| self.granted.lists.get(list)).is_some_and(Option::is_some);
        of_list || uri.is_some_and(|uri| self.granted.has_prefix_of(uri))
    }
}

/// What is in one filter and not in another one, as it is sent.
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
