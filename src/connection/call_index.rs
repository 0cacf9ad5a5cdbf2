//! `CallIndex`: what has to be known of all calls of the application together.

use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::call_options::CallError;
use crate::codes::ErrorCode;
use crate::handle::CallId;
use crate::interests::Filter;
use crate::lazy_box::Empty;
use crate::ordered::Ordered;
use crate::rpc::GivenUp;

/// What has to be known of all calls together, kept up to date with each one that comes and goes. Most connections never
/// have any of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct CallIndex {
    /// The calls that have become tasks of the peer, by the ids of those.
    pub(super) by_task: TaskIds,
    /// Subscriptions, in the order they were made.
    pub(super) subscriptions: VecDeque<CallId>,
    /// Calls that were given up and could still become tasks, by their ids, and why they were given up.
    pub(super) abandoned: Ordered<u64, (CallId, GivenUp)>,
    /// Calls that cannot go on, whose end has not been handed out.
    pub(super) stuck: VecDeque<(CallId, Stuck)>,
    /// Subscriptions that have something to report: that they are open, or what came too early.
    pub(super) early: VecDeque<CallId>,
    /// Resources that no subscription of a session wants any more.
    pub(super) unwanted: VecDeque<String>,
    /// Requests about resources for subscriptions that have ended, with those resources.
    pub(super) orphaned: Vec<(CallId, String)>,
    /// What subscriptions asked for that were lost with the connection.
    pub(super) lost: Vec<Filter<()>>,
}

/// Calls by the ids of the tasks that they have become.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct TaskIds(pub(super) Ordered<String, CallId>);

/// Without the ids.
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
        orphaned: Vec::new(),
        lost: Vec::new(),
    };
}

impl CallIndex {
    /// Whether there is something to hand out, or to do before that.
    pub(super) fn has_news(&self) -> bool {
        !(self.stuck.is_empty() && self.early.is_empty() && self.unwanted.is_empty())
    }

    /// The call that has become this task.
    pub(super) fn call_of_task(&self, id: &str) -> Option<CallId> {
        self.by_task.0.get(id).copied()
    }

    /// A call stands for no task any more.
    pub(super) fn forget_task(&mut self, id: &str, call: CallId) {
        if self.by_task.0.get(id) == Some(&call) {
            self.by_task.0.remove(id);
        }
    }

    /// A call stands for no subscription any more.
    pub(super) fn forget_subscription(&mut self, call: CallId) {
        work!(self.subscriptions.len());
        // At the end of a connection that is the first one.
        let at = self.subscriptions.iter().position(|known| *known == call);
        self.subscriptions.remove(at.unwrap_or(usize::MAX));
    }

    /// Of the calls that were given up and could still become tasks, the one that was asked first.
    pub(super) fn first_abandoned(&self) -> Option<CallId> {
        self.abandoned.first().map(|(_, (call, _))| *call)
    }
}

/// Why a call cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Stuck {
    /// The application refused what it needed.
    Refused(ErrorCode),
    /// Its request cannot be sent again.
    CallError(CallError),
}
