//! [`Lists`]: the lists of a server, as they were read last, and what clients know of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mcp_sansio::event::Expiry;
use mcp_sansio::subscription::ChangedList;
use mcp_sansio_tokio::CallFailure;
use tokio::sync::watch;
use tokio::time::Instant;

use super::list_items::{Items, Source};
use super::list_kind::{ListKind, Pages};

/// The four lists of a server.
pub(crate) struct Lists {
    lists: [watch::Sender<List>; 4],
    age: Duration,
    /// Whether a subscription to changes is open.
    is_announced: AtomicBool,
}

#[derive(Default)]
struct List {
    items: Option<Arc<Items>>,
    /// The time after which the items are read again; `None` if they have to be read now.
    fresh_until: Option<Freshness>,
    is_being_read: bool,
    /// Whether a reading has failed, and is tried again after a pause.
    is_retried: bool,
    /// The number of changes, each of which makes a reading in progress obsolete.
    changes: u64,
    /// The number of requests that wait for the list.
    waiting: usize,
    /// Whether a request has waited for the items for too long, since they were read last.
    is_slow: bool,
    /// Whether a client has received the list, with or without these items.
    is_shown: bool,
    /// Whether the next reading needs no notification: clients were notified of the last change, and no client has received
    /// an older list since then.
    is_notified: bool,
    /// Whether it was reported that a client has received the list without these items.
    is_reported: bool,
}

#[derive(Clone, Copy)]
enum Freshness {
    /// As long as changes are announced; otherwise until then.
    Announced(Instant),
    Until(Instant),
}

impl List {
    /// Makes the next request read the list again. A reading in progress is obsolete.
    fn expire(&mut self, is_notified: bool) {
        self.fresh_until = None;
        self.changes += 1;
        self.is_notified = is_notified;
    }

    /// Whether clients need the current items, because they have received others or wait for them.
    const fn is_wanted(&self) -> bool {
        self.is_shown || 0 < self.waiting
    }

    fn begin(&mut self, is_needed: bool) -> bool {
        let begins = is_needed && !self.is_being_read;
        self.is_being_read |= begins;
        begins
    }

    /// Begins a pause before the next reading, unless one has begun before.
    fn retry(&mut self) -> Next {
        if std::mem::replace(&mut self.is_retried, true) { Next::Done } else { Next::Later }
    }

    fn is_fresh(&self, is_announced: bool) -> bool {
        self.fresh_until.is_some_and(|until| match until {
            Freshness::Announced(_) if is_announced => true,
            Freshness::Announced(time) | Freshness::Until(time) => Instant::now() < time,
        })
    }
}

impl Lists {
    pub(super) fn new(age: Duration) -> Self {
        let lists = std::array::from_fn(|_| watch::Sender::new(List::default()));
        Self { lists, age, is_announced: AtomicBool::new(false) }
    }

    fn of(&self, kind: ListKind) -> &watch::Sender<List> {
        let [tools, prompts, resources, templates] = &self.lists;
        match kind {
            ListKind::Tools => tools,
            ListKind::Prompts => prompts,
            ListKind::Resources => resources,
            ListKind::Templates => templates,
        }
    }

    /// Whether the caller has to [read](Reading::read) the list.
    pub(super) fn begin(&self, kind: ListKind) -> bool {
        let is_announced = self.is_announced.load(Ordering::Relaxed);
        self.of(kind).send_if_modified(|list| list.begin(!list.is_fresh(is_announced)))
    }

    /// As [`begin`](Self::begin), after a pause that followed a failure.
    pub(super) fn begin_again(&self, kind: ListKind) -> bool {
        self.of(kind).send_if_modified(|list| {
            list.is_retried = false;
            false
        });
        self.begin(kind)
    }

    /// Notes whether changes are announced. Without announcements, lists get old.
    pub(super) fn set_announced(&self, is_announced: bool) {
        self.is_announced.store(is_announced, Ordering::Relaxed);
    }

    /// Returns the duty to [read](Reading::read) a list, after [`begin`](Self::begin).
    pub(super) fn reading(&self, kind: ListKind) -> Reading<'_> {
        Reading { lists: self, kind, is_done: false }
    }

    /// Waits for a list that is being read, until `deadline`. Returns its newest items, for a client that has asked for it.
    ///
    /// Without items, the second value tells whether this is the first client that gets none.
    pub(super) async fn show(
        &self,
        kind: ListKind,
        deadline: Instant,
    ) -> (Option<Arc<Items>>, bool) {
        self.wait(kind, deadline).await;
        let is_announced = self.is_announced.load(Ordering::Relaxed);
        let (mut items, mut is_first) = (None, false);
        self.of(kind).send_if_modified(|list| {
            items.clone_from(&list.items);
            is_first = items.is_none() && !std::mem::replace(&mut list.is_reported, true);
            list.is_shown = true;
            // A client with other items has to know when they have been read.
            list.is_notified &= list.is_fresh(is_announced);
            false
        });
        (items, is_first)
    }

    /// Waits for a list that is being read, until `deadline`. A list that has taken too long is not waited for again, until
    /// it has been read.
    pub(super) async fn wait_unless_slow(&self, kind: ListKind, deadline: Instant) {
        if self.of(kind).borrow().is_slow {
            return;
        }
        let is_slow = !self.wait(kind, deadline).await;
        self.of(kind).send_if_modified(|list| {
            list.is_slow |= is_slow;
            false
        });
    }

    /// Waits for a list that is being read. Returns whether that has ended before `deadline`.
    async fn wait(&self, kind: ListKind, deadline: Instant) -> bool {
        let _waiting = Waiting::new(self.of(kind));
        let mut changes = self.of(kind).subscribe();
        let is_announced = self.is_announced.load(Ordering::Relaxed);
        let is_done = |list: &List| list.is_fresh(is_announced) || !list.is_being_read;
        tokio::time::timeout_at(deadline, changes.wait_for(is_done)).await.is_ok()
    }

    /// Returns the newest items, without waiting.
    pub(super) fn known(&self, kind: ListKind) -> Option<Arc<Items>> {
        self.of(kind).borrow().items.clone()
    }

    /// Notes that a list has changed, and that clients are notified of it.
    pub(super) fn changed(&self, list: ChangedList) {
        for kind in ListKind::ALL.into_iter().filter(|kind| kind.changed() == list) {
            self.of(kind).send_modify(|list| list.expire(true));
        }
    }

    /// Makes the next request read each list again, without notifying clients.
    pub(super) fn expire(&self) {
        ListKind::ALL
            .into_iter()
            .for_each(|kind| self.of(kind).send_modify(|list| list.expire(false)));
    }

    /// Makes a list be read again, if clients need that: they have to know if it is another one now. Returns whether the
    /// caller has to [read](Reading::read) it.
    pub(super) fn check(&self, kind: ListKind) -> bool {
        self.of(kind).send_if_modified(|list| {
            list.expire(false);
            list.begin(list.is_wanted())
        })
    }
}

/// A request that waits for a list.
struct Waiting<'l>(&'l watch::Sender<List>);

impl<'l> Waiting<'l> {
    fn new(list: &'l watch::Sender<List>) -> Self {
        list.send_if_modified(|list| {
            list.waiting += 1;
            false
        });
        Self(list)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.send_if_modified(|list| {
            list.waiting -= 1;
            false
        });
    }
}

/// What has to be done after a reading.
pub(super) struct AfterReading {
    /// Whether clients are to be notified, because some of them have received other items.
    pub(super) notifies: bool,
    pub(super) next: Next,
}

/// Whether a list has to be read again.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// No, or the next connection or the next request decides.
    Done,
    /// At once, because it has changed in the meantime.
    Again,
    /// After a pause.
    Later,
}

/// A reading in progress. If it is given up, the next request reads the list.
pub(super) struct Reading<'l> {
    lists: &'l Lists,
    kind: ListKind,
    is_done: bool,
}

impl Reading<'_> {
    /// Reads the list. Returns the problem with it, if there is one.
    pub(super) async fn read(
        mut self,
        source: &Source<'_>,
        within: Duration,
    ) -> (Option<String>, AfterReading) {
        let server = source.server;
        let changes = self.list().borrow().changes;
        let has = |capability| server.peer_capabilities().contains(capability);
        let read = match has(self.kind.capability()) {
            // The timers of the machine stand still while a client is asked for input.
            true => match tokio::time::timeout(within, self.kind.read(server)).await {
                Ok(read) => read,
                Err(_) => Err(CallFailure::TimedOut(Expiry::Total)),
            },
            false => Ok(Pages::default()),
        };
        self.is_done = true;
        match read {
            Ok(pages) => {
                let items = Arc::new(Items::new(self.kind, source, &pages.pages));
                let is_announced = has(self.kind.announced_by());
                let after = self.finish(items, changes, pages.is_stale, is_announced);
                (pages.cut.map(|cut| format!("the list is not complete: {cut}")), after)
            }
            Err(failure) => {
                let is_over = matches!(failure, CallFailure::Closed(_) | CallFailure::NotSent);
                (Some(failure.to_string()), self.fail(is_over))
            }
        }
    }

    /// Keeps the items that were read. `changes` is the number of changes before the reading.
    fn finish(
        &self,
        items: Arc<Items>,
        changes: u64,
        is_stale: bool,
        is_announced: bool,
    ) -> AfterReading {
        let until = Instant::now() + self.lists.age;
        let fresh = match is_announced && self.lists.is_announced.load(Ordering::Relaxed) {
            true => Freshness::Announced(until),
            false => Freshness::Until(until),
        };
        let mut after = AfterReading { notifies: false, next: Next::Done };
        self.list().send_modify(|list| {
            let are_new = match &list.items {
                Some(old) => old.items != items.items,
                None => !items.items.is_empty(),
            };
            after.notifies = are_new && list.is_shown && !list.is_notified;
            // A change in the meantime makes the items old at once.
            let is_current = list.changes == changes && !is_stale;
            list.fresh_until = is_current.then_some(fresh);
            list.is_notified &= !is_current;
            list.items = Some(items);
            (list.is_being_read, list.is_slow, list.is_reported) = (false, false, false);
            if is_current || !list.is_wanted() {
                return;
            }
            if is_stale {
                after.next = list.retry();
            } else {
                list.is_being_read = true;
                after.next = Next::Again;
            }
        });
        after
    }

    /// Ends a reading that has failed. If the connection `is_over`, the lists of the next one are checked.
    fn fail(&self, is_over: bool) -> AfterReading {
        let mut next = Next::Done;
        self.list().send_modify(|list| {
            list.is_being_read = false;
            if !is_over && list.is_wanted() {
                next = list.retry();
            }
        });
        AfterReading { notifies: false, next }
    }

    fn list(&self) -> &watch::Sender<List> {
        self.lists.of(self.kind)
    }
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        if !self.is_done {
            self.list().send_modify(|list| list.is_being_read = false);
        }
    }
}
