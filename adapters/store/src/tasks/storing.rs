//! Stores the tasks that have changed.

use std::sync::Arc;

use mcp_sansio::request::Requestor;
use mcp_sansio::task::{TaskKey, TaskRecord};
use tokio::time::Instant;

use super::record::{StoredTask, key_of, lifetime, list_key};
use super::{Known, NodeTasks, Own, Table, TaskCopy, Undone};
use crate::node::Inner;
use crate::store::{Change, StoreError, Write, Written};

/// The most tasks that are written at once.
const AT_ONCE: usize = 64;

/// A batch of writes ends with the one that exceeds this number of bytes.
const BYTES_AT_ONCE: usize = 1 << 20;

/// How often a write is tried whose version is not that of the record.
const ATTEMPTS: usize = 4;

/// The reason why the changes of a task were not stored.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum TaskNotStored {
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Another node has taken the task over, or another task has its id.
    #[error("another node works on the task")]
    TakenOver,
    #[error("the id of a task is empty, or longer than 256 bytes")]
    BadId,
    #[error("the node that works on the task cannot be reached")]
    NotSent,
    /// The task has ended at its node meanwhile.
    #[error("the task has changed at its node")]
    Outdated,
}

/// The changes that a response waits for.
#[derive(Default)]
pub(crate) struct Wait {
    /// The number of the latest change before the request.
    pub(crate) since: u64,
    /// The ids of tasks all of whose changes are to be stored.
    pub(crate) ids: Vec<String>,
    /// Whether all changes since the request are to be stored, because it is not known which task they concern.
    pub(crate) is_any: bool,
}

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
    /// Write the record. The task is to be added to the list of its requestor first, if it is in
    /// none.
    Put {
        list: Option<Requestor>,
        write: Write,
    },
    Remove(Write),
    /// The task cannot be stored.
    Refuse,
    /// It was forgotten before it was stored.
    Nothing,
}

/// A copy that has changed.
struct ChangedCopy {
    key: TaskKey,
    number: u64,
    copy: TaskCopy,
    record: TaskRecord,
}

impl NodeTasks {
    /// Returns tasks of this node that have changed. Each is returned again until it is [done](Self::done).
    fn changed(&self, node: &str, address: &str) -> Result<Vec<Changed>, StoreError> {
        let mut table = self.table();
        self.note_changes(&mut table);
        let is_own = |key| !matches!(table.known.get(key), Some(Known::Copy(_)));
        let unwritten = table.unwritten.iter().filter(|(key, _)| is_own(key));
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
                let list =
                    Some(task.owner()).filter(|owner| own.is_none() && list_key(*owner).is_some());
                let (node, address) = (node.to_owned(), address.to_owned());
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

    /// Returns the copies that have changed, unless their changes are being sent, and notes that they are.
    fn begin_sending(&self) -> Vec<TaskKey> {
        let mut table = self.table();
        self.note_changes(&mut table);
        let Table { known, unwritten, sending, .. } = &mut *table;
        let mut copies: Vec<_> = unwritten.keys().copied().collect();
        copies.retain(|key| matches!(known.get(key), Some(Known::Copy(_))) && sending.insert(*key));
        copies
    }

    /// Returns the changes of a copy. `None` if all are sent, and then they are not being sent any more.
    fn changed_copy(&self, key: TaskKey) -> Option<ChangedCopy> {
        let mut table = self.table();
        self.note_changes(&mut table);
        let copy = match table.known.get(&key) {
            Some(Known::Copy(copy)) => Some(copy.clone()),
            _ => None,
        };
        let number = table.unwritten.get(&key).map(|unwritten| unwritten.latest);
        let record = self.tasks.inspect(|tasks, _| tasks.save(key));
        if let (Some(copy), Some(number), Some(record)) = (copy, number, record) {
            return Some(ChangedCopy { key, number, copy, record });
        }
        table.sending.remove(&key);
        if let Some(Known::Copy(_)) = table.known.get(&key) {
            let is_gone = self.tasks.inspect(|tasks, _| tasks.get(key).is_none());
            if is_gone {
                // It has expired, or its requestor has ended. Its node notices that by itself.
                table.known.remove(&key);
                table.unwritten.remove(&key);
            }
        }
        None
    }

    /// Undoes the changes of a copy that could not be sent: it is read again.
    fn undo_copy(&self, changed: &ChangedCopy, error: TaskNotStored) {
        let mut table = self.table();
        match table.known.get_mut(&changed.key) {
            Some(Known::Copy(copy)) if copy.node == changed.copy.node => {
                // Any record is another one than this.
                copy.version = 0;
                let id = copy.id.clone();
                self.undo(&mut table, changed.key, &id, error);
            }
            // This node has taken the task over, and stores the changes itself.
            _ => {}
        }
    }

    /// Returns the number of the latest change.
    pub(crate) fn latest_change(&self) -> u64 {
        let mut table = self.table();
        self.note_changes(&mut table);
        table.changes
    }

    /// Whether a change up to the latest, that a response waits for, is not stored yet: of a copy, or of a task of this node.
    fn is_due(&self, wait: &Wait, latest: u64, of_copies: bool) -> bool {
        let table = self.table();
        if table.unwritten.is_empty() {
            return false;
        }
        let named: Vec<TaskKey> = self
            .tasks
            .inspect(|tasks, _| wait.ids.iter().filter_map(|id| tasks.find(id)).collect());
        table.unwritten.iter().any(|(key, unwritten)| {
            let is_copy = matches!(table.known.get(key), Some(Known::Copy(_)));
            let is_in_time = wait.since < unwritten.latest && unwritten.first <= latest;
            is_copy == of_copies
                && unwritten.first <= latest
                && (wait.is_any && is_in_time || named.contains(key))
        })
    }

    /// Returns the error of a change that was undone since the request.
    fn undone(&self, wait: &Wait) -> Result<(), TaskNotStored> {
        let table = self.table();
        let mut undone = table.undone.iter().filter(|undone| wait.since < undone.latest);
        let is_it = |undone: &&Undone| wait.is_any || wait.ids.contains(&undone.id);
        undone.find(is_it).map_or(Ok(()), |undone| Err(undone.error.clone()))
    }

    fn failures(&self) -> u64 {
        self.table().failures.0
    }

    /// Returns the error of the latest failure, if there were more than these.
    fn failure_since(&self, failures: u64) -> Option<StoreError> {
        let (count, error) = &self.table().failures;
        error.clone().filter(|_| failures < *count)
    }

    /// Notes that a change is stored. The task may have changed again.
    fn done(&self, key: TaskKey, number: u64) {
        let mut table = self.table();
        if let Some(Known::Copy(copy)) = table.known.get_mut(&key) {
            // A look that was begun before that has read an earlier record.
            copy.read_at = Instant::now();
        }
        match table.unwritten.get_mut(&key) {
            Some(unwritten) if number < unwritten.latest => {
                (unwritten.first, unwritten.failures) = (number + 1, 0);
            }
            _ => _ = table.unwritten.remove(&key),
        }
    }

    /// Notes that a change of a task of this node is written, as this version of its record.
    fn written(&self, changed: &Changed, version: u64, began: Instant) {
        let mut table = self.table();
        // A node that leaves has given its tasks up.
        let is_copy = matches!(table.known.get(&changed.key), Some(Known::Copy(_)));
        match &changed.action {
            _ if is_copy => {}
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

    /// Notes that a task could not be written. It is written after the others the next time.
    fn failed(&self, key: TaskKey) {
        if let Some(unwritten) = self.table().unwritten.get_mut(&key) {
            unwritten.failures += 1;
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
        self.store_own_tasks(wait, latest).await?;
        self.send_copies();
        let mut sent = tasks.sent.subscribe();
        while tasks.is_due(wait, latest, true) {
            // The sender is part of this node.
            _ = sent.changed().await;
        }
        tasks.undone(wait)
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
            if let Some(error) = tasks.failure_since(failures) {
                return Err(error.into());
            }
            let changed = tasks.changed(&self.id, &self.address)?;
            if let Err(error) = self.write_tasks(tasks, changed).await {
                let failures = &mut tasks.table().failures;
                *failures = (failures.0 + 1, Some(error));
            }
        }
        tasks.undone(wait)
    }

    /// Sends the copies that have changed to the nodes of their tasks. Each is sent by itself, because a node may take long.
    pub(super) fn send_copies(self: &Arc<Self>) {
        let Some(tasks) = &self.tasks else { return };
        for key in tasks.begin_sending() {
            let inner = Arc::clone(self);
            tokio::spawn(async move { inner.send_changes(key).await });
        }
    }

    async fn send_changes(self: Arc<Self>, key: TaskKey) {
        let Some(tasks) = &self.tasks else { return };
        while let Some(changed) = tasks.changed_copy(key) {
            match self.send_copy(&changed.copy, &changed.record).await {
                Ok(()) => tasks.done(key, changed.number),
                Err(error) => {
                    (self.options.on_error)(&error);
                    tasks.undo_copy(&changed, error);
                    // The next request does it otherwise.
                    _ = self.look_for_task(&changed.copy.id).await;
                }
            }
            tasks.sent.send_replace(());
        }
        tasks.sent.send_replace(());
    }

    /// Writes some tasks. An error is that of the store; if only some tasks cannot be written, the others are.
    async fn write_tasks(
        &self,
        tasks: &NodeTasks,
        changed: Vec<Changed>,
    ) -> Result<(), StoreError> {
        let mut puts = Vec::new();
        let began = Instant::now();
        for one in changed {
            match &one.action {
                Action::Put { list: Some(requestor), .. } => {
                    if let Err(error) = self.list_task(*requestor, &one.id).await {
                        tasks.failed(one.key);
                        return Err(error);
                    }
                }
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
        let writes: Vec<Write> = puts.iter().filter_map(Changed::write).cloned().collect();
        if writes.is_empty() {
            return Ok(());
        }
        let written = match self.batches.store().write(&writes).await {
            Ok(written) => written,
            Err(error) => {
                puts.iter().for_each(|one| tasks.failed(one.key));
                return Err(error);
            }
        };
        let mut result = Ok(());
        for ((one, write), written) in puts.iter().zip(writes).zip(written) {
            if written == Written::Done {
                tasks.written(one, one.version() + 1, began);
            } else if let Err(error) = self.write_again(tasks, one, write).await {
                tasks.failed(one.key);
                result = Err(error);
            }
        }
        result
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
