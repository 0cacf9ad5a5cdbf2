//! Looks for the tasks that a request is about, and keeps copies of those of other nodes.

use std::sync::Arc;
use std::time::Duration;

use mcp_sansio::request::Requestor;
use mcp_sansio::task::{RestoreError, TaskKey, TaskSharing};
use tokio::task::{JoinError, JoinSet};
use tokio::time::Instant;

use super::messages::Found;
use super::record::{StoredTask, key_of};
use super::{Known, NodeTasks, Table, TaskCopy};
use crate::node::Inner;
use crate::store::StoreError;

/// How often a task is looked for, if its record changes meanwhile.
const ATTEMPTS: usize = 8;

/// How many tasks are looked for at once.
pub(super) const AT_ONCE: usize = 64;

/// How many copies are remembered whose tasks have gone.
const GONE: usize = 1_024;

/// How long a copy that was used makes no room for others: a list uses many.
const IN_USE: Duration = Duration::from_secs(1);

/// The reason why it is unknown whether there is a task.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TaskNotFound {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("there is no room for a task of another node: {0}")]
    Restore(#[from] RestoreError),
    /// The next node that gets a request takes the task over.
    #[error("this node is leaving")]
    Leaving,
    #[error("the task moves too often")]
    MovesTooOften,
}

/// The knowledge of this node about a task, before it looks into the store.
enum Local {
    Unknown,
    /// This node works on the task. Whether it still does was confirmed a moment ago.
    Own {
        is_recent: bool,
    },
    Copy,
}

impl NodeTasks {
    fn local(&self, id: &str, now: Instant, recent: Duration) -> (Option<TaskKey>, Local) {
        let mut table = self.table();
        let Some(key) = self.find(id) else { return (None, Local::Unknown) };
        let local = match table.known.get_mut(&key) {
            Some(Known::Own(own)) => Local::Own { is_recent: now < own.seen_at + recent },
            Some(Known::Copy(copy)) => {
                copy.used_at = now;
                Local::Copy
            }
            // It has just begun.
            None => Local::Own { is_recent: true },
        };
        (Some(key), local)
    }

    /// Whether this node works on a task.
    pub(super) fn is_own(&self, id: &str) -> bool {
        let table = self.table();
        let key = self.find(id);
        key.is_some_and(|key| matches!(table.known.get(&key), Some(Known::Own(_))))
    }

    /// Whether a task needs no look into the store for a list: it has ended, so it does not change, or it was read a moment ago.
    fn is_fresh(&self, id: &str, recent: Duration) -> bool {
        let table = self.table();
        self.tasks.inspect(|tasks, _| {
            let Some(key) = tasks.find(id) else { return false };
            let is_final = tasks.get(key).is_some_and(|task| task.status().is_final());
            match table.known.get(&key) {
                // Its change was undone.
                Some(Known::Copy(copy)) if copy.version == 0 => false,
                Some(Known::Copy(copy)) => is_final || copy.read_at.elapsed() < recent,
                _ => is_final,
            }
        })
    }

    /// Whether a task of this node was forgotten, and its record is still to be removed.
    fn is_removing(&self, id: &str) -> bool {
        let table = self.table();
        table.known.values().any(|known| matches!(known, Known::Own(own) if own.id == id))
    }

    /// Returns the copies that no request or subscription waits for, and that have no change to be sent.
    fn unused_copies(&self, table: &Table) -> Vec<TaskKey> {
        self.tasks.inspect(|tasks, _| {
            let unused = table.known.iter().filter(|(key, known)| {
                let is_old = matches!(known, Known::Copy(copy) if IN_USE <= copy.used_at.elapsed());
                is_old
                    && !table.unwritten.contains_key(key)
                    && !TaskSharing::of(tasks).is_awaited(**key)
            });
            unused.map(|(key, _)| *key).collect()
        })
    }

    /// Forgets a copy, because its task does not exist any more.
    fn forget_copy(&self, key: TaskKey) {
        let mut table = self.table();
        if let Some(Known::Copy(copy)) = table.known.get(&key) {
            let id = copy.id.clone();
            if GONE <= table.gone.len() {
                table.gone.pop_front();
            }
            table.gone.push_back(id);
            self.forget_copies(&mut table, &[key]);
        }
    }

    /// Whether a task that was found, and that this node does not have any more, does not exist at any node: its owner has
    /// removed it, or has shortened its time to live.
    pub(super) fn is_gone(&self, found: &Found) -> bool {
        let table = self.table();
        // A task of this node that another node has taken over is among those with undone changes.
        let is_removed = found.is_own && table.undone.iter().all(|undone| undone.id != found.id);
        is_removed || table.gone.contains(&found.id)
    }

    /// Notes that the store names this node. Returns whether it still works on the task.
    fn confirm_own(&self, key: TaskKey, began: Instant) -> bool {
        match self.table().known.get_mut(&key) {
            Some(Known::Own(own)) => {
                own.seen_at = began;
                true
            }
            _ => false,
        }
    }

    /// Returns those of some tasks that this node works on, or has a copy of.
    pub(super) fn present(&self, ids: &[String]) -> Vec<Found> {
        let table = self.table();
        self.tasks.inspect(|tasks, _| {
            let found = |id: &String| {
                let key = tasks.find(id)?;
                let task = tasks.get(key)?;
                let end = task.ttl().map(|ttl| task.created() + ttl);
                let is_own = !matches!(table.known.get(&key), Some(Known::Copy(_)));
                Some(Found { id: id.clone(), key, end, is_own })
            };
            ids.iter().filter_map(found).collect()
        })
    }

    /// Keeps a copy of a task of another node, or brings it up to date.
    pub(super) fn copy(
        &self,
        version: u64,
        stored: &StoredTask,
        began: Instant,
    ) -> Result<TaskKey, RestoreError> {
        let mut table = self.table();
        self.note_changes(&mut table);
        if let Some(key) = self.find(stored.task.id()) {
            let has_changed = table.unwritten.contains_key(&key);
            match table.known.get(&key) {
                // A change that is not sent yet would be lost, and so would one that was sent after this record was read.
                Some(Known::Copy(copy))
                    if copy.version != version && copy.read_at <= began && !has_changed => {}
                _ => return Ok(key),
            }
        }
        // A half of the room is for the tasks of this node.
        let is_full = self.tasks.inspect(|tasks, _| {
            let config = tasks.config();
            config.bytes / 2 < tasks.bytes() || config.tasks as usize / 2 < tasks.len()
        });
        if is_full {
            let unused = self.unused_copies(&table);
            self.forget_copies(&mut table, &unused);
        }
        let key = self.tasks.refresh(stored.task.clone())?;
        let copy = TaskCopy::of(stored, version, began);
        table.known.insert(key, Known::Copy(copy));
        Ok(key)
    }
}

impl Inner {
    /// Looks for tasks by their ids, so that a request about them can be served here. Returns the ids of those that exist.
    pub(super) async fn look_for_tasks(
        self: &Arc<Self>,
        ids: Vec<String>,
    ) -> Result<Vec<String>, TaskNotFound> {
        if let [id] = &*ids {
            return Ok(if self.look_for_task(id).await? { ids } else { Vec::new() });
        }
        let (mut looks, mut found, mut result) = (JoinSet::new(), Vec::new(), Ok(()));
        let mut note = |done: Result<Result<Option<String>, TaskNotFound>, JoinError>| match done {
            Ok(Ok(id)) => found.extend(id),
            Ok(Err(error)) => result = Err(error),
            Err(error) => result = Err(StoreError::new(error).into()),
        };
        for id in ids {
            if AT_ONCE <= looks.len()
                && let Some(done) = looks.join_next().await
            {
                note(done);
            }
            let inner = Arc::clone(self);
            looks.spawn(async move {
                match inner.look_for_task(&id).await {
                    Ok(exists) => Ok(exists.then_some(id)),
                    // The node of another release has written it, or there is no room for all tasks.
                    Err(error @ TaskNotFound::Restore(_)) => {
                        (inner.options.on_error)(&error);
                        Ok(None)
                    }
                    Err(error) => Err(error),
                }
            });
        }
        while let Some(done) = looks.join_next().await {
            note(done);
        }
        result.map(|()| found)
    }

    /// Looks for all tasks of a requestor, and returns the ids of those that exist.
    pub(super) async fn look_for_tasks_of(
        self: &Arc<Self>,
        requestor: Requestor,
    ) -> Result<Vec<String>, TaskNotFound> {
        self.look_for_changed(self.listed_tasks(requestor).await?).await
    }

    /// Looks for those of some tasks that are not fresh, and returns the ids of those that exist. A task that this node cannot
    /// read is left out.
    pub(super) async fn look_for_changed(
        self: &Arc<Self>,
        mut ids: Vec<String>,
    ) -> Result<Vec<String>, TaskNotFound> {
        let Some(tasks) = &self.tasks else { return Ok(Vec::new()) };
        ids.sort_unstable();
        ids.dedup();
        let (mut found, others): (Vec<_>, Vec<_>) =
            ids.into_iter().partition(|id| tasks.is_fresh(id, self.options.task_refresh));
        found.extend(self.look_for_tasks(others).await?);
        Ok(found)
    }

    async fn read_task(
        &self,
        tasks: &NodeTasks,
        at: &str,
    ) -> Result<Option<(u64, StoredTask)>, StoreError> {
        // The semaphore is never closed.
        let _look = tasks.looks.acquire().await.map_err(StoreError::new)?;
        let Some(stored) = self.batches.store().read(at).await? else { return Ok(None) };
        Ok(Some((stored.version, StoredTask::parse(&stored.value)?)))
    }

    /// Looks for a task, and returns whether it exists. If so, this node has it now, or an up-to-date copy.
    pub(super) async fn look_for_task(self: &Arc<Self>, id: &str) -> Result<bool, TaskNotFound> {
        let (Some(tasks), Some(at)) = (&self.tasks, key_of(id)) else { return Ok(false) };
        for _ in 0..ATTEMPTS {
            let began = Instant::now();
            let (key, local) = tasks.local(id, began, self.options.silence);
            if matches!(local, Local::Own { is_recent: true }) {
                return Ok(true);
            }
            // The store removes a record some time after its task has expired.
            let is_current = |stored: &StoredTask| {
                stored.task.expires_at().is_none_or(|end| tasks.tasks.now() < end)
            };
            let read = self.read_task(tasks, &at).await?;
            let Some((version, stored)) = read.filter(|(_, stored)| is_current(stored)) else {
                if let (Some(key), Local::Copy) = (key, local) {
                    tasks.forget_copy(key);
                }
                return Ok(false);
            };
            if key.is_none() && stored.node == self.id && tasks.is_removing(id) {
                return Ok(false);
            }
            if let (Some(key), Local::Own { .. }) = (key, local) {
                if stored.node == self.id && tasks.confirm_own(key, began) {
                    return Ok(true);
                }
                // Another node has taken the task over.
                tasks.give_up(key, version, &stored);
            }
            // A process that has started again has the address of the earlier one.
            let is_own = stored.node == self.id || stored.address == self.address;
            let is_gone = stored.node.is_empty() || is_own;
            if !is_gone && self.is_alive(&stored.node).await? {
                tasks.copy(version, &stored, began)?;
                return Ok(true);
            }
            if self.adopt_task(version, stored).await? {
                return Ok(true);
            }
            // Another node was faster.
        }
        Err(TaskNotFound::MovesTooOften)
    }
}
