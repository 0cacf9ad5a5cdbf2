//! What has come of calls, until those who made them take it.

use std::collections::{HashMap, VecDeque};
use std::task::{Context, Poll, Waker};

use mcp_sansio::json::Raw;
use mcp_sansio::{CallId, Outcome, ProgressUpdate};

/// How many steps of a call are kept for somebody who does not ask. Then the latest replaces the one before.
const KEPT_STEPS: usize = 64;

/// The calls that somebody will ask about.
#[derive(Default)]
pub(crate) struct Calls {
    calls: HashMap<CallId, Entry>,
}

#[derive(Default)]
struct Entry {
    steps: VecDeque<ProgressUpdate<'static>>,
    pages: Vec<Raw<'static>>,
    end: Option<End>,
    waker: Option<Waker>,
}

/// How a call has ended.
pub(crate) enum End {
    /// With this outcome, the pages in front of it, and whether the list that was asked for has changed
    /// meanwhile.
    Outcome { outcome: Outcome<'static>, pages: Vec<Raw<'static>>, stale: bool },
    /// With the request that it was made because of.
    Cancelled,
}

impl Calls {
    pub(crate) fn insert(&mut self, call: CallId) {
        self.calls.insert(call, Entry::default());
    }

    /// Nobody will ask about it any more.
    pub(crate) fn forget(&mut self, call: CallId) {
        self.calls.remove(&call);
    }

    /// It goes on. Gives whoever waits for that.
    #[must_use]
    pub(crate) fn step(&mut self, update: ProgressUpdate<'static>) -> Option<Waker> {
        let entry = self.calls.get_mut(&update.call)?;
        if KEPT_STEPS <= entry.steps.len() {
            entry.steps.pop_back();
        }
        entry.steps.push_back(update);
        entry.waker.take()
    }

    pub(crate) fn page(&mut self, call: CallId, page: Raw<'static>) {
        if let Some(entry) = self.calls.get_mut(&call) {
            entry.pages.push(page);
        }
    }

    /// The pages so far do not count.
    pub(crate) fn restart(&mut self, call: CallId) {
        if let Some(entry) = self.calls.get_mut(&call) {
            entry.pages.clear();
        }
    }

    /// It has ended. Gives whoever waits for that.
    #[must_use]
    pub(crate) fn end(
        &mut self,
        call: CallId,
        outcome: Outcome<'static>,
        stale: bool,
    ) -> Option<Waker> {
        let entry = self.calls.get_mut(&call)?;
        let pages = std::mem::take(&mut entry.pages);
        entry.end = Some(End::Outcome { outcome, pages, stale });
        entry.waker.take()
    }

    /// It has been cancelled with the request that it was made because of. Gives whoever waits for it.
    #[must_use]
    pub(crate) fn cancelled(&mut self, call: CallId) -> Option<Waker> {
        let entry = self.calls.get_mut(&call)?;
        entry.end = Some(End::Cancelled);
        entry.waker.take()
    }

    /// The next step of a call; `None` if there will be no more.
    pub(crate) fn poll_step(
        &mut self,
        call: CallId,
        context: &Context<'_>,
    ) -> Poll<Option<ProgressUpdate<'static>>> {
        let Some(entry) = self.calls.get_mut(&call) else { return Poll::Ready(None) };
        match entry.steps.pop_front() {
            Some(step) => Poll::Ready(Some(step)),
            None if entry.end.is_some() => Poll::Ready(None),
            None => {
                entry.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }

    /// How a call has ended, told once; `None` if that has been told.
    pub(crate) fn poll_end(&mut self, call: CallId, context: &Context<'_>) -> Poll<Option<End>> {
        let Some(entry) = self.calls.get_mut(&call) else { return Poll::Ready(None) };
        if entry.end.is_none() {
            entry.waker = Some(context.waker().clone());
            return Poll::Pending;
        }
        let entry = self.calls.remove(&call);
        Poll::Ready(entry.and_then(|entry| entry.end))
    }
}
