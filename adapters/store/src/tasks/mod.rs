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
mod storing;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use mcp_sansio::task::TaskKey;
use mcp_sansio_http::SharedTasks;
use tokio::time::Instant;

use crate::store::StoreError;

pub(crate) use copies::TASK;
pub(crate) use messages::Concerned;
pub(crate) use storing::TaskNotStored;

/// The tasks of a node.
pub(crate) struct NodeTasks {
    pub(crate) tasks: SharedTasks,
    table: Mutex<Table>,
    /// Held by the one write of tasks that is in progress: who waits for it knows that earlier changes are stored.
    writing: tokio::sync::Mutex<()>,
    /// Held by the one change of copies that is being sent: a change is sent once.
    sending: tokio::sync::Mutex<()>,
    /// Held while this node becomes the owner of a task.
    adopting: tokio::sync::Mutex<()>,
}

/// The knowledge of a node about its tasks. The lock of this table is taken before that of the tasks.
#[derive(Default)]
struct Table {
    known: BTreeMap<TaskKey, Known>,
    /// The tasks with changes that are not stored yet.
    unwritten: BTreeMap<TaskKey, Unwritten>,
    /// The number of the latest change.
    changes: u64,
    /// The number of writes that failed, and the error of the latest.
    failures: (u64, Option<StoreError>),
}

/// The numbers of the changes of a task that are not stored yet.
#[derive(Clone, Copy)]
struct Unwritten {
    first: u64,
    latest: u64,
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

impl NodeTasks {
    pub(crate) fn new(tasks: SharedTasks) -> Self {
        tasks.inspect(|tasks, _| tasks.share());
        Self {
            tasks,
            table: Mutex::default(),
            writing: tokio::sync::Mutex::default(),
            sending: tokio::sync::Mutex::default(),
            adopting: tokio::sync::Mutex::default(),
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of the tasks that have changed.
    fn note_changes(&self, table: &mut Table) {
        self.tasks.inspect(|tasks, _| {
            while let Some(key) = tasks.next_changed() {
                table.changes += 1;
                let latest = table.changes;
                let unwritten = table.unwritten.entry(key);
                unwritten.or_insert(Unwritten { first: latest, latest }).latest = latest;
            }
        });
    }

    fn find(&self, id: &str) -> Option<TaskKey> {
        self.tasks.inspect(|tasks, _| tasks.find(id))
    }

    /// Forgets a task here. It goes on at its owner.
    fn forget(&self, key: TaskKey) {
        let mut table = self.table();
        table.known.remove(&key);
        table.unwritten.remove(&key);
        drop(table);
        self.tasks.remove(key);
    }
}
