//! `CallIndex`: the indexes and queues over all calls of the application.

use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::call_options::CallError;
use super::subscription::AskedResource;
use crate::codes::ErrorCode;
use crate::handle::CallId;
use crate::interests::Filter;
use crate::lazy_box::Empty;
use crate::ordered::Ordered;
use crate::rpc::GivenUp;

/// The indexes and queues over all calls of the application, updated whenever a call begins or ends. Empty on most
/// connections.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct CallIndex {
    /// The calls that have become tasks of the peer, by task id.
    pub(super) by_task: TaskIds,
    /// The subscriptions, in the order they were made.
    pub(super) subscriptions: VecDeque<CallId>,
    /// The calls that were given up and could still become tasks, by request id, with the reason.
    pub(super) abandoned: Ordered<u64, (CallId, GivenUp)>,
    /// The calls that cannot continue and whose end has not been handed out.
    pub(super) stuck: VecDeque<(CallId, Stuck)>,
    /// The subscriptions with events to hand out: that the subscription is open, or notifications that came too
    /// early.
    pub(super) early: VecDeque<CallId>,
    /// The resources that no subscription of the session covers any more, or from which this side has unsubscribed.
    pub(super) unwanted: VecDeque<String>,
    /// The pending requests to unsubscribe from resources.
    pub(super) leaving: Vec<(CallId, String)>,
    /// The pending requests for resources of subscriptions that have ended.
    pub(super) orphaned: Vec<AskedResource>,
    /// The filters of subscriptions that were lost with the connection.
    pub(super) lost: Vec<Filter<()>>,
}

/// The calls that have become tasks, by task id.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct TaskIds(pub(super) Ordered<String, CallId>);

/// Omits the ids.
impl fmt::Debug for TaskIds {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.0.iter().map(|(_, call)| call)).finish()
    }
}

impl Empty for CallIndex {
    const EMPTY: &'static Self = &Self {
        by_task: TaskIds(Ordered::new()),
        subscriptions: VecDeque::new(),
        abandoned: Ordered::new(),
        stuck: VecDeque::new(),
        early: VecDeque::new(),
        unwanted: VecDeque::new(),
        leaving: Vec::new(),
        orphaned: Vec::new(),
        lost: Vec::new(),
    };
}

impl CallIndex {
    /// Whether there are events to hand out, or work to do before that.
    pub(super) fn has_news(&self) -> bool {
        !(self.stuck.is_empty() && self.early.is_empty() && self.unwanted.is_empty())
    }

    /// Whether resources of ended subscriptions are left.
    pub(super) fn has_resources(&self) -> bool {
        !(self.unwanted.is_empty() && self.leaving.is_empty() && self.orphaned.is_empty())
    }

    /// Removes the resources of ended subscriptions, because the connection has ended.
    pub(super) fn forget_resources(&mut self) {
        (self.unwanted, self.leaving) = (VecDeque::new(), Vec::new());
        self.orphaned = Vec::new();
    }

    /// Whether a request to unsubscribe from this resource is pending.
    pub(super) fn leaves(&self, uri: &str) -> bool {
        work!(self.leaving.len());
        self.leaving.iter().any(|(_, left)| left == uri)
    }

    /// Returns the call that has become this task.
    pub(super) fn call_of_task(&self, id: &str) -> Option<CallId> {
        self.by_task.0.get(id).copied()
    }

    /// Removes a task from the index because its call has ended.
    pub(super) fn forget_task(&mut self, id: &str, call: CallId) {
        if self.by_task.0.get(id) == Some(&call) {
            self.by_task.0.remove(id);
        }
    }

    /// Removes a subscription from the index because it has ended.
    pub(super) fn forget_subscription(&mut self, call: CallId) {
        work!(self.subscriptions.len());
        // At the end of a connection, the match is the first element.
        let at = self.subscriptions.iter().position(|known| *known == call);
        self.subscriptions.remove(at.unwrap_or(usize::MAX));
    }

    /// Returns the oldest of the calls that were given up and could still become tasks.
    pub(super) fn first_abandoned(&self) -> Option<CallId> {
        self.abandoned.first().map(|(_, (call, _))| *call)
    }
}

/// The reason why a call cannot continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Stuck {
    /// The application refused an input that the call needs.
    Refused(ErrorCode),
    /// The request of the call cannot be sent again.
    CallError(CallError),
}
