//! The outcomes of calls, until their callers take them.

use std::collections::{BTreeMap, VecDeque};
use std::task::{Poll, Waker};

use mcp_sansio::json::Raw;
use mcp_sansio::progress::ProgressUpdate;
use mcp_sansio::{CallId, Outcome};

/// How many steps of a call are kept for somebody who does not ask. Then the latest replaces the one before.
const KEPT_STEPS: usize = 64;

/// How many bytes their messages have together, unless a single one has more.
const KEPT_BYTES: usize = 1 << 20;

/// The calls that somebody will ask about.
#[derive(Default)]
pub(crate) struct Calls {
    calls: BTreeMap<CallId, Entry>,
}

#[derive(Default)]
pub(crate) struct Entry {
    steps: VecDeque<ProgressUpdate<'static>>,
    bytes: usize,
    pages: Vec<Raw<'static>>,
    end: Option<End>,
    waker: Option<Waker>,
}

/// How a call has ended.
pub(crate) enum End {
    /// With this outcome, the pages in front of it, and whether the list that was asked for has changed
    /// meanwhile.
    Outcome { outcome: Outcome<'static>, pages: Vec<Raw<'static>>, stale: bool },
    /// Cancelled here: by its number, or with the request that it was made because of.
    Cancelled,
}

impl Calls {
    pub(crate) fn insert(&mut self, call: CallId) {
        self.calls.insert(call, Entry::default());
    }

    /// Nobody will ask about it any more. What is left of it is to be dropped without the lock: a waker can be
    /// the last of a task, which can have calls of its own.
    #[must_use]
    pub(crate) fn forget(&mut self, call: CallId) -> Option<Entry> {
        self.calls.remove(&call)
    }

    /// It goes on. Gives whoever waits for that.
    #[must_use]
    pub(crate) fn step(&mut self, update: ProgressUpdate<'static>) -> Option<Waker> {
        let entry = self.calls.get_mut(&update.call)?;
        let is_full = |entry: &Entry| {
            let together = entry.bytes.saturating_add(length(&update));
            KEPT_STEPS <= entry.steps.len() || KEPT_BYTES < together
        };
        while is_full(entry)
            && let Some(older) = entry.steps.pop_back()
        {
            entry.bytes -= length(&older);
        }
        entry.bytes += length(&update);
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

    /// It has been cancelled by somebody else than who waits for it, who is given.
    #[must_use]
    pub(crate) fn cancelled(&mut self, call: CallId) -> Option<Waker> {
        let entry = self.calls.get_mut(&call)?;
        entry.end = Some(End::Cancelled);
        entry.waker.take()
    }

    /// The next step of a call; `None` if there will be no more. If there is none yet, the waker is kept, and the
    /// one from before given for it, to be dropped without the lock.
    pub(crate) fn poll_step(
        &mut self,
        call: CallId,
        waker: &mut Option<Waker>,
    ) -> Poll<Option<ProgressUpdate<'static>>> {
        let Some(entry) = self.calls.get_mut(&call) else { return Poll::Ready(None) };
        if let Some(step) = entry.steps.pop_front() {
            entry.bytes -= length(&step);
            return Poll::Ready(Some(step));
        }
        if entry.end.is_some() {
            return Poll::Ready(None);
        }
        std::mem::swap(&mut entry.waker, waker);
        Poll::Pending
    }

    /// How a call has ended, told once; `None` if that has been told. The waker is as for
    /// [`poll_step`](Self::poll_step).
    pub(crate) fn poll_end(
        &mut self,
        call: CallId,
        waker: &mut Option<Waker>,
    ) -> Poll<Option<End>> {
        let Some(entry) = self.calls.get_mut(&call) else { return Poll::Ready(None) };
        if entry.end.is_none() {
            std::mem::swap(&mut entry.waker, waker);
            return Poll::Pending;
        }
        let entry = self.calls.remove(&call);
        Poll::Ready(entry.and_then(|entry| {
            *waker = entry.waker;
            entry.end
        }))
    }
}

/// How many bytes the message of a step has.
fn length(update: &ProgressUpdate<'_>) -> usize {
    update.message.as_ref().map_or(0, |message| message.to_str().len())
}
