//! The outcomes of calls, until their callers take them.

use std::collections::{BTreeMap, VecDeque};
use std::task::{Poll, Waker};

use mcp_sansio::json::Raw;
use mcp_sansio::progress::ProgressUpdate;
use mcp_sansio::{CallId, Outcome};

/// The most progress updates that are kept for a call whose caller does not read them. Then the newest replaces the
/// one before it.
const KEPT_STEPS: usize = 64;

/// The most bytes of the messages of these updates together, unless a single message is longer.
const KEPT_BYTES: usize = 1 << 20;

/// The calls whose callers have not taken the outcome yet.
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

/// The end of a call.
pub(crate) enum End {
    /// An outcome, with the pages before it, whether the list has changed in the meantime, and the HTTP status of a
    /// refusal.
    Outcome {
        outcome: Outcome<'static>,
        pages: Vec<Raw<'static>>,
        stale: bool,
        status: Option<u16>,
    },
    /// Cancelled on this side: by its id, or together with its parent request.
    Cancelled,
}

impl Calls {
    pub(crate) fn insert(&mut self, call: CallId) {
        self.calls.insert(call, Entry::default());
    }

    /// Removes a call whose caller has gone. The caller drops the entry without the lock: its waker can be the last
    /// reference to a task that owns calls itself.
    #[must_use]
    pub(crate) fn forget(&mut self, call: CallId) -> Option<Entry> {
        self.calls.remove(&call)
    }

    /// Adds a progress update. Returns the waker of the caller.
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

    /// Discards the pages so far.
    pub(crate) fn restart(&mut self, call: CallId) {
        if let Some(entry) = self.calls.get_mut(&call) {
            entry.pages.clear();
        }
    }

    /// Ends a call. Returns the waker of the caller.
    #[must_use]
    pub(crate) fn end(
        &mut self,
        call: CallId,
        outcome: Outcome<'static>,
        (stale, status): (bool, Option<u16>),
    ) -> Option<Waker> {
        let entry = self.calls.get_mut(&call)?;
        let pages = std::mem::take(&mut entry.pages);
        entry.end = Some(End::Outcome { outcome, pages, stale, status });
        entry.waker.take()
    }

    /// Ends a call that was cancelled by other code than its caller. Returns the waker of the caller.
    #[must_use]
    pub(crate) fn cancelled(&mut self, call: CallId) -> Option<Waker> {
        let entry = self.calls.get_mut(&call)?;
        entry.end = Some(End::Cancelled);
        entry.waker.take()
    }

    /// Returns the next progress update of a call; `None` if there will be no more. While there is none, `waker` is
    /// stored and exchanged for the previous one, to be dropped without the lock.
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

    /// Returns the end of a call once; `None` if it was returned before. `waker` is as for
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

/// Returns the size of the message of an update in bytes.
fn length(update: &ProgressUpdate<'_>) -> usize {
    update.message.as_ref().map_or(0, |message| message.to_str().len())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use std::sync::Arc;

    use mcp_sansio::{
        CallOptions, Client, ClientConfig, ClientEvent, Framing, Instant, Limits, Outbox,
        RevisionSet,
    };

    use super::*;

    /// A modern client with a call, and this number of updates for the call.
    fn updates(count: usize) -> (CallId, Vec<ProgressUpdate<'static>>) {
        let mut config = ClientConfig::new("client", "1");
        (config.revisions, config.probe) = (RevisionSet::MODERN, false);
        let mut client = Client::new(Arc::new(config));
        let (now, mut out) = (Instant::EPOCH, Outbox::new(Framing::Lines, &Limits::default()));
        client.connect(now, &mut out).unwrap();
        let options = CallOptions::new().progress();
        let call = client.call_method("x/y", &(), options, now, &mut out).unwrap();
        let sent = String::from_utf8(out.unsent().to_vec()).unwrap();
        let token = sent.split(r#""progressToken":"#).nth(1).unwrap();
        let token = token.split([',', '}']).next().unwrap();
        let updates = (1..=count).map(|progress| {
            let message = format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":{progress}}}}}"#
            );
            match client.receive(message.as_str(), now, &mut out) {
                Some(ClientEvent::Progress(update)) => update.into_owned(),
                other => panic!("{other:?}"),
            }
        });
        (call, updates.collect())
    }

    /// The latest updates are kept, and the newest replaces the one before it.
    #[test]
    fn updates_that_are_not_read_have_a_bound() {
        let (call, updates) = updates(KEPT_STEPS + 10);
        let mut calls = Calls::default();
        calls.insert(call);
        for update in updates {
            assert!(calls.step(update).is_none());
        }
        let steps = std::iter::from_fn(|| match calls.poll_step(call, &mut None) {
            Poll::Ready(step) => step,
            Poll::Pending => None,
        });
        let steps: Vec<_> = steps.map(|step| step.progress.as_f64()).collect();
        assert_eq!(steps.len(), KEPT_STEPS);
        assert_eq!(steps.last(), Some(&((KEPT_STEPS + 10) as f64)));
    }

    #[test]
    fn a_list_that_begins_again_has_only_its_own_pages() {
        let (call, _) = updates(0);
        let page = |text: &str| Raw::new(text).unwrap().into_owned();
        let mut calls = Calls::default();
        calls.insert(call);
        calls.page(call, page("1"));
        calls.restart(call);
        calls.page(call, page("2"));
        calls.page(call, page("3"));
        assert!(calls.end(call, Outcome::NotSent, (true, None)).is_none());
        let Poll::Ready(Some(End::Outcome { pages, stale, .. })) = calls.poll_end(call, &mut None)
        else {
            panic!("the call has ended")
        };
        assert_eq!((pages, stale), (vec![page("2"), page("3")], true));
    }
}
