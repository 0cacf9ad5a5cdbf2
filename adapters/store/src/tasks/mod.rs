//! [`NodeTasks`]: the tasks that a node works on, and its copies of the tasks of other nodes.
//!
//! The work of a task is done by one node, its owner, which stores the record of the task before it sends anything about the
//! task. Another node that gets a request about the task serves it from a copy of the record. A change that the
//! request makes, such as a cancellation, is sent to the owner before the request is answered. If the owner has ended, the
//! node that gets the request becomes the owner.

mod adopting;
mod copies;
mod leaving;
mod lists;
mod looking;
mod messages;
mod record;
mod sending;
mod storing;
mod wait;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mcp_sansio::request::Requestor;
use mcp_sansio::task::{TaskKey, TaskSharing};
use mcp_sansio_http::SharedTasks;
use tokio::sync::{Semaphore, watch};
use tokio::time::Instant;

use self::record::StoredTask;
use crate::store::StoreError;

pub(crate) use copies::TASK;
pub(crate) use messages::Concerned;
pub(crate) use wait::{Others, TaskNotStored, Wait};

/// The pause after an error of the store, or after a failed write of one task.
const RETRY: Duration = Duration::from_secs(1);

/// The most looks into the store at once: records may be large.
const LOOKS: usize = 64;

/// How many changes that were undone are remembered.
const UNDONE: usize = 1_024;

/// The tasks of a node.
pub(crate) struct NodeTasks {
    pub(crate) tasks: SharedTasks,
    table: Mutex<Table>,
    /// Held by the one write of tasks that is in progress.
    writing: tokio::sync::Mutex<()>,
    /// Held while this node becomes the owner of a task.
    adopting: tokio::sync::Mutex<()>,
    /// Changes when the change of a copy was sent, or could not be.
    sent: watch::Sender<()>,
    /// The looks into the store that may be in progress.
    looks: Semaphore,
}

/// The knowledge of a node about its tasks. The lock of this table is taken before that of the tasks.
#[derive(Default)]
struct Table {
    known: BTreeMap<TaskKey, Known>,
    /// The tasks with changes that are not stored yet.
    unwritten: BTreeMap<TaskKey, Unwritten>,
    /// The number of the latest change.
    changes: u64,
    /// The number of failures so far, of the store and of single tasks.
    failures: u64,
    /// The latest failure of the store.
    store_failure: Option<Failure>,
    /// The latest changes that were undone.
    undone: VecDeque<Undone>,
    /// The ids of the latest copies that were forgotten because their tasks do not exist any more.
    gone: VecDeque<String>,
    /// The copies whose changes are being sent.
    sending: BTreeSet<TaskKey>,
    /// The tasks that may have been taken over, although the store has reported a failure.
    doubtful: BTreeSet<String>,
    /// The number of the latest change that was undone and is not remembered any more.
    forgotten: u64,
    /// Whether the node leaves: its tasks are written without a node.
    is_leaving: bool,
}

/// Changes of a task that were undone: its requests must not be acknowledged.
struct Undone {
    id: String,
    owner: Option<Requestor>,
    /// The number of the latest of them.
    latest: u64,
    error: TaskNotStored,
}

/// A failed write.
struct Failure {
    /// Its number among all failures of the node.
    number: u64,
    at: Instant,
    error: StoreError,
}

/// The changes of a task that are not stored yet.
struct Unwritten {
    /// The numbers of the first and of the latest of them.
    first: u64,
    latest: u64,
    /// How often they could not be written.
    failures: u32,
    /// The latest failure that concerned this task alone.
    failure: Option<Failure>,
}

impl Unwritten {
    const fn new(change: u64) -> Self {
        Self { first: change, latest: change, failures: 0, failure: None }
    }

    /// Whether a write of this task alone has failed a short time ago.
    fn has_just_failed(&self) -> bool {
        self.failure.as_ref().is_some_and(|failure| failure.at.elapsed() < RETRY)
    }
}

enum Known {
    Own(Own),
    Copy(TaskCopy),
}

/// A task that this node works on.
struct Own {
    id: String,
    /// The version of the record in the store; 0 before the first.
    version: u64,
    /// When the store was last known to name this node.
    seen_at: Instant,
}

/// A copy of a task that another node works on.
#[derive(Clone)]
struct TaskCopy {
    id: String,
    node: String,
    address: String,
    version: u64,
    used_at: Instant,
    /// When the store was last read for it.
    read_at: Instant,
}

impl TaskCopy {
    /// The copy of a record that was read at this time, or later.
    fn of(stored: &StoredTask, version: u64, began: Instant) -> Self {
        Self {
            id: stored.task.id().to_owned(),
            node: stored.node.clone(),
            address: stored.address.clone(),
            version,
            used_at: began,
            read_at: began,
        }
    }
}

impl NodeTasks {
    pub(crate) fn new(tasks: SharedTasks) -> Self {
        tasks.inspect(|tasks, _| TaskSharing::of(tasks).begin());
        Self {
            tasks,
            table: Mutex::default(),
            writing: tokio::sync::Mutex::default(),
            adopting: tokio::sync::Mutex::default(),
            sent: watch::Sender::default(),
            looks: Semaphore::new(LOOKS),
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of the tasks that have changed.
    fn note_changes(&self, table: &mut Table) {
        self.tasks.inspect(|tasks, _| {
            while let Some(key) = TaskSharing::of(tasks).next_changed() {
                table.changes += 1;
                let latest = table.changes;
                let unwritten = table.unwritten.entry(key);
                unwritten.or_insert_with(|| Unwritten::new(latest)).latest = latest;
            }
        });
    }

    fn find(&self, id: &str) -> Option<TaskKey> {
        self.tasks.inspect(|tasks, _| tasks.find(id))
    }

    /// Forgets copies that no request uses.
    fn forget_copies(&self, table: &mut Table, keys: &[TaskKey]) {
        for key in keys {
            table.known.remove(key);
            self.tasks.remove(*key);
        }
        // Their removal is no change of the tasks.
        self.note_changes(table);
        for key in keys {
            table.unwritten.remove(key);
        }
        self.sent.send_replace(());
    }

    /// Gives up a task that another node works on now. What has changed here is undone.
    fn give_up(&self, key: TaskKey, version: u64, stored: &StoredTask) {
        let mut table = self.table();
        if !matches!(table.known.get(&key), Some(Known::Own(_))) {
            return;
        }
        self.tasks.revoke(key);
        self.undo(&mut table, key, stored.task.id(), TaskNotStored::TakenOver);
        let copy = TaskCopy::of(stored, version, Instant::now());
        table.known.insert(key, Known::Copy(copy));
        if self.tasks.refresh(stored.task.clone()).is_err() {
            self.forget_copies(&mut table, &[key]);
        }
    }

    /// Notes that the changes of a task are undone.
    fn undo(&self, table: &mut Table, key: TaskKey, id: &str, error: TaskNotStored) {
        self.note_changes(table);
        let latest = table.unwritten.remove(&key).map_or(table.changes, |undone| undone.latest);
        if UNDONE <= table.undone.len()
            && let Some(oldest) = table.undone.pop_front()
        {
            table.forgotten = table.forgotten.max(oldest.latest);
        }
        let owner = self.tasks.inspect(|tasks, _| tasks.get(key).map(|task| task.owner()));
        table.undone.push_back(Undone { id: id.to_owned(), owner, latest, error });
    }
}
