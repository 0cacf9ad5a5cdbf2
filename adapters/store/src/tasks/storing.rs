//! Stores the tasks that have changed.

use std::collections::BTreeMap;
use std::sync::Arc;

use mcp_sansio::task::TaskKey;
use tokio::time::Instant;

use super::lists::Listed;
use super::record::{StoredTask, key_of, lifetime, list_key};
use super::{Known, NodeTasks, Own, TaskCopy, TaskNotStored, Unwritten, Wait};
use crate::node::Inner;
use crate::store::{Change, StoreError, Write, Written};

/// The most tasks that are written at once.
const AT_ONCE: usize = 64;

/// A batch of writes ends with the one that exceeds this number of bytes.
const BYTES_AT_ONCE: usize = 1 << 20;

/// How often a write is tried whose version is not that of the record.
const ATTEMPTS: usize = 4;

/// A task that has changed.
struct Changed {
    key: TaskKey,
    /// The number of the change.
    number: u64,
    id: String,
    action: Action,
}

/// The action for a task that has changed.
enum Action {
    /// Write the record. The task is to be added to the list with this key first, if it is in
    /// none.
    Put {
        list: Option<(String, Listed)>,
        write: Write,
    },
    Remove(Write),
    /// The task cannot be stored.
    Refuse,
    /// It was forgotten before it was stored.
    Nothing,
}

impl NodeTasks {
    /// Returns tasks of this node that have changed. Each is returned again until it is [done](Self::done).
    fn changed(&self, node: &str, address: &str) -> Result<Vec<Changed>, StoreError> {
        let mut table = self.table();
        self.note_changes(&mut table);
        let is_own = |key| !matches!(table.known.get(key), Some(Known::Copy(_)));
        let unwritten = table.unwritten.iter();
        let unwritten =
            unwritten.filter(|(key, unwritten)| is_own(key) && !unwritten.has_just_failed());
        let mut unwritten: Vec<_> = unwritten.collect();
        // A task that changes all the time, or cannot be written, delays no other one.
        unwritten.sort_unstable_by_key(|(_, unwritten)| (unwritten.failures, unwritten.first));
        // Those whose write has failed are written one by one.
        let count = unwritten.iter().take_while(|(_, unwritten)| unwritten.failures == 0).count();
        let unwritten = unwritten.into_iter().take(count.clamp(1, AT_ONCE));
        self.tasks.inspect(|tasks, now| {
            let changed = unwritten.map(|(key, unwritten)| {
                let (key, number) = (*key, unwritten.latest);
                let own = match table.known.get(&key) {
                    Some(Known::Own(own)) => Some(own),
                    _ => None,
                };
                let (Some(task), Some(record)) = (tasks.get(key), tasks.save(key)) else {
                    let (id, action) = match own.map(|own| (own, key_of(&own.id))) {
                        Some((own, Some(at))) => {
                            let (expected, change) = (Some(own.version), Change::Remove);
                            (own.id.clone(), Action::Remove(Write { key: at, expected, change }))
                        }
                        _ => (String::new(), Action::Nothing),
                    };
                    return Ok(Changed { key, number, id, action });
                };
                let id = task.id().to_owned();
                let Some(at) = key_of(&id) else {
                    return Ok(Changed { key, number, id, action: Action::Refuse });
                };
                let version = own.map_or(0, |own| own.version);
                let list = list_key(task.owner()).filter(|_| own.is_none());
                let list = list.map(|key| (key, Listed::of(&task)));
                let (node, address) = match table.is_leaving {
                    true => (String::new(), String::new()),
                    false => (node.to_owned(), address.to_owned()),
                };
                let value = StoredTask { node, address, task: record }.to_bytes()?;
                let change = Change::Put { value, lifetime: lifetime(&task, now) };
                let write = Write { key: at, expected: Some(version), change };
                Ok(Changed { key, number, id, action: Action::Put { list, write } })
            });
            let mut bytes = 0;
            let fits = |changed: &Result<Changed, _>| {
                let before = bytes;
                bytes += changed.as_ref().map_or(0, Changed::bytes);
                before < BYTES_AT_ONCE
            };
            changed.take_while(fits).collect()
        })
    }

    /// Returns the number of failures so far.
    pub(super) fn failures(&self) -> u64 {
        self.table().failures
    }

    /// Whether the store has failed after these failures.
    pub(super) fn has_failed_since(&self, failures: u64) -> bool {
        let table = self.table();
        table.store_failure.as_ref().is_some_and(|failure| failures < failure.number)
    }

    /// Returns the latest failure of a task alone after these failures.
    pub(super) fn task_failure_since(&self, failures: u64) -> Option<StoreError> {
        let table = self.table();
        let failed = table.unwritten.values().filter_map(|unwritten| unwritten.failure.as_ref());
        let failed = failed.filter(|failure| failures < failure.number);
        failed.max_by_key(|failure| failure.number).map(|failure| failure.error.clone())
    }

    /// Notes that the store has failed.
    fn note_failure(&self, error: StoreError) {
        let mut table = self.table();
        let failure = table.next_failure(error);
        table.store_failure = Some(failure);
    }

    /// Returns the failure after which a response cannot wait for its changes any longer: of the store after these
    /// failures, or of a task that the response waits for.
    fn failure_since(&self, failures: u64, wait: &Wait, latest: u64) -> Option<StoreError> {
        let table = self.table();
        let of_store = table.store_failure.as_ref().filter(|failure| failures < failure.number);
        let of_task = || {
            self.tasks.inspect(|tasks, _| {
                let due = table.due(tasks, wait, latest, false);
                let failed = due.filter_map(|unwritten| {
                    let failure = unwritten.failure.as_ref()?;
                    let is_new = failures < failure.number || unwritten.has_just_failed();
                    is_new.then_some(failure)
                });
                failed.max_by_key(|failure| failure.number).map(|failure| failure.error.clone())
            })
        };
        of_store.map(|failure| failure.error.clone()).or_else(of_task)
    }

    /// Notes that a change is stored. The task may have changed again.
    pub(super) fn done(&self, key: TaskKey, number: u64) {
        let mut table = self.table();
        if let Some(Known::Copy(copy)) = table.known.get_mut(&key) {
            // A look that was begun before that has read an earlier record.
            copy.read_at = Instant::now();
        }
        match table.unwritten.get_mut(&key) {
            Some(unwritten) if number < unwritten.latest => {
                *unwritten = Unwritten { latest: unwritten.latest, ..Unwritten::new(number + 1) };
            }
            _ => _ = table.unwritten.remove(&key),
        }
    }

    /// Notes that a change of a task of this node is written, as this version of its record.
    fn written(&self, changed: &Changed, version: u64, began: Instant) {
        let mut table = self.table();
        self.note_changes(&mut table);
        let unwritten = table.unwritten.get(&changed.key);
        let has_changed = unwritten.is_some_and(|unwritten| changed.number < unwritten.latest);
        match &changed.action {
            // Another node has taken the task over meanwhile.
            _ if matches!(table.known.get(&changed.key), Some(Known::Copy(_))) => {}
            // A task that has changed again is written once more.
            Action::Put { .. } if table.is_leaving && !has_changed => {
                self.tasks.revoke(changed.key);
                let (node, address) = (String::new(), String::new());
                let id = changed.id.clone();
                let copy = TaskCopy { id, node, address, version, used_at: began, read_at: began };
                table.known.insert(changed.key, Known::Copy(copy));
            }
            Action::Put { .. } => {
                let own = Own { id: changed.id.clone(), version, seen_at: began };
                table.known.insert(changed.key, Known::Own(own));
            }
            _ => _ = table.known.remove(&changed.key),
        }
        drop(table);
        self.done(changed.key, changed.number);
    }

    /// Notes that another node has the record of a task.
    fn superseded(&self, changed: &Changed, version: u64, stored: &StoredTask) {
        let is_known = self.table().known.contains_key(&changed.key);
        match &changed.action {
            Action::Put { .. } if is_known => self.give_up(changed.key, version, stored),
            // Another task has its id.
            Action::Put { .. } => self.refuse(changed, TaskNotStored::TakenOver),
            _ => {
                self.table().known.remove(&changed.key);
                self.done(changed.key, changed.number);
            }
        }
    }

    /// Notes that tasks could not be written because the store has failed. They are written after the others the next
    /// time.
    fn not_written(&self, changed: &[Changed]) {
        let mut table = self.table();
        for one in changed {
            if let Some(unwritten) = table.unwritten.get_mut(&one.key) {
                unwritten.failures += 1;
            }
        }
    }

    /// Notes that a task alone could not be written. It is left alone for a while.
    fn failed(&self, key: TaskKey, error: &StoreError) {
        let mut table = self.table();
        let failure = table.next_failure(error.clone());
        if let Some(unwritten) = table.unwritten.get_mut(&key) {
            unwritten.failures += 1;
            unwritten.failure = Some(failure);
        }
    }

    /// Refuses a task that cannot be stored, before anything was sent about it.
    fn refuse(&self, changed: &Changed, error: TaskNotStored) {
        let mut table = self.table();
        self.undo(&mut table, changed.key, &changed.id, error);
        self.forget_copies(&mut table, &[changed.key]);
    }
}

impl Inner {
    /// Stores the changes of tasks that a response waits for, and others with them. It may be dropped at any time: the next call
    /// does what is left.
    pub(crate) async fn store_tasks(self: &Arc<Self>, wait: &Wait) -> Result<(), TaskNotStored> {
        let Some(tasks) = &self.tasks else { return Ok(()) };
        let latest = tasks.latest_change();
        let mut sent = tasks.sent.subscribe();
        loop {
            self.store_own_tasks(wait, latest).await?;
            self.send_copies();
            if !tasks.is_due(wait, latest, true) {
                // This node may have taken over the task of a copy meanwhile.
                if !tasks.is_due(wait, latest, false) {
                    return tasks.undone(wait);
                }
                continue;
            }
            // The sender is part of this node.
            _ = sent.changed().await;
        }
    }

    /// Stores the changes of the tasks of this node, as [`store_tasks`](Self::store_tasks) does. The changes of several requests
    /// are written together.
    pub(super) async fn store_own_tasks(
        &self,
        wait: &Wait,
        latest: u64,
    ) -> Result<(), TaskNotStored> {
        let Some(tasks) = &self.tasks else { return Ok(()) };
        let failures = tasks.failures();
        while tasks.is_due(wait, latest, false) {
            let _writing = tasks.writing.lock().await;
            if !tasks.is_due(wait, latest, false) {
                break;
            }
            // The store has failed while this request waited.
            if let Some(error) = tasks.failure_since(failures, wait, latest) {
                return Err(error.into());
            }
            let changed = tasks.changed(&self.id, &self.address)?;
            if let Err(error) = self.write_tasks(tasks, changed).await {
                tasks.note_failure(error);
            }
        }
        tasks.undone(wait)
    }

    /// Writes some tasks. An error is that of the store. If only some tasks cannot be written, the others are.
    async fn write_tasks(
        &self,
        tasks: &NodeTasks,
        changed: Vec<Changed>,
    ) -> Result<(), StoreError> {
        let mut puts = Vec::new();
        let began = Instant::now();
        for one in changed {
            match &one.action {
                Action::Put { .. } | Action::Remove(_) => {}
                Action::Refuse => {
                    tasks.refuse(&one, TaskNotStored::BadId);
                    continue;
                }
                Action::Nothing => {
                    tasks.done(one.key, one.number);
                    continue;
                }
            }
            puts.push(one);
        }
        self.list_changed(tasks, &mut puts).await;
        let writes: Vec<Write> = puts.iter().filter_map(Changed::write).cloned().collect();
        if writes.is_empty() {
            return Ok(());
        }
        let written = match self.batches.store().write(&writes).await {
            Ok(written) => written,
            Err(error) => {
                tasks.not_written(&puts);
                return Err(error);
            }
        };
        if written.len() < writes.len() {
            tasks.not_written(&puts);
            return Err(StoreError::new("the store has returned too few results"));
        }
        for ((one, write), written) in puts.iter().zip(writes).zip(written) {
            if written == Written::Done {
                tasks.written(one, one.version() + 1, began);
            } else if let Err(error) = self.write_again(tasks, one, write).await {
                tasks.failed(one.key, &error);
            }
        }
        Ok(())
    }

    /// Adds new tasks to the lists of their requestors, and drops those for which that fails.
    async fn list_changed(&self, tasks: &NodeTasks, changed: &mut Vec<Changed>) {
        let mut lists = BTreeMap::<_, Vec<_>>::new();
        for (list, listed) in changed.iter().filter_map(Changed::list) {
            lists.entry(list.clone()).or_default().push(listed.clone());
        }
        let failed = self.list_tasks(lists, tasks.tasks.now()).await;
        changed.retain(|one| {
            let error = one.list().and_then(|(list, _)| failed.get(list));
            error.into_iter().for_each(|error| tasks.failed(one.key, error));
            error.is_none()
        });
    }

    /// Writes a task whose version was not that of the record: an earlier write of this node may have failed for it, and was
    /// done by the store.
    async fn write_again(
        &self,
        tasks: &NodeTasks,
        changed: &Changed,
        mut write: Write,
    ) -> Result<(), StoreError> {
        for _ in 0..ATTEMPTS {
            let began = Instant::now();
            let version = match self.batches.store().read(&write.key).await? {
                // The record has expired: the task continues under a new one.
                None => 0,
                Some(found) => {
                    let stored = StoredTask::parse(&found.value)?;
                    if stored.node != self.id {
                        tasks.superseded(changed, found.version, &stored);
                        return Ok(());
                    }
                    found.version
                }
            };
            write.expected = Some(version);
            if self.batches.store().write(std::slice::from_ref(&write)).await? == [Written::Done] {
                tasks.written(changed, version + 1, began);
                return Ok(());
            }
        }
        Err(StoreError::new("the versions of the record of a task do not agree"))
    }
}

impl Changed {
    /// The version that the record must have.
    fn version(&self) -> u64 {
        self.write().and_then(|write| write.expected).unwrap_or_default()
    }

    /// The list that the task is to be added to.
    const fn list(&self) -> Option<&(String, Listed)> {
        match &self.action {
            Action::Put { list, .. } => list.as_ref(),
            _ => None,
        }
    }

    const fn bytes(&self) -> usize {
        match self.write() {
            Some(Write { change: Change::Put { value, .. }, .. }) => value.len(),
            _ => 0,
        }
    }

    const fn write(&self) -> Option<&Write> {
        match &self.action {
            Action::Put { write, .. } | Action::Remove(write) => Some(write),
            Action::Refuse | Action::Nothing => None,
        }
    }
}
