//! Stores the tasks that have changed.

use mcp_sansio::request::Requestor;
use mcp_sansio::task::{TaskKey, TaskRecord};
use tokio::time::Instant;

use super::record::{StoredTask, key_of, lifetime, list_key};
use super::{Known, NodeTasks, Own, TaskCopy};
use crate::node::Inner;
use crate::store::{Change, StoreError, Write, Written};

/// The most tasks that are written at once.
const AT_ONCE: usize = 64;

/// How often a write is tried whose version is not that of the record.
const ATTEMPTS: usize = 4;

/// The reason why the changes of a task were not stored.
#[derive(Debug, thiserror::Error)]
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
    /// Write the record over that of this version. The task is to be added to the list of its requestor first, if it is in
    /// none.
    Put {
        version: u64,
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
        // A task that changes all the time delays no other one.
        unwritten.sort_unstable_by_key(|(_, unwritten)| unwritten.first);
        let unwritten = unwritten.into_iter().take(AT_ONCE);
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
                Ok(Changed { key, number, id, action: Action::Put { version, list, write } })
            });
            changed.collect()
        })
    }

    /// Returns the copies that have changed.
    fn changed_copies(&self) -> Vec<ChangedCopy> {
        let mut table = self.table();
        self.note_changes(&mut table);
        let copies =
            table.unwritten.iter().filter_map(|(key, changes)| match table.known.get(key) {
                Some(Known::Copy(copy)) => Some((*key, changes.latest, copy.clone())),
                _ => None,
            });
        let copies: Vec<_> = copies.collect();
        let (mut changed, mut gone) = (Vec::new(), Vec::new());
        self.tasks.inspect(|tasks, _| {
            for (key, number, copy) in copies {
                match tasks.save(key) {
                    Some(record) => changed.push(ChangedCopy { key, number, copy, record }),
                    None => gone.push(key),
                }
            }
        });
        for key in gone {
            // It has expired, or its requestor has ended. Its node notices that by itself.
            table.known.remove(&key);
            table.unwritten.remove(&key);
        }
        changed
    }

    /// Returns the number of the latest change, and that of the failures.
    fn latest_change(&self) -> (u64, u64) {
        let mut table = self.table();
        self.note_changes(&mut table);
        (table.changes, table.failures.0)
    }

    /// Whether a task of this node has a change up to this one that is not stored.
    fn has_unwritten(&self, latest: u64) -> bool {
        let table = self.table();
        let is_own = |key| !matches!(table.known.get(key), Some(Known::Copy(_)));
        table.unwritten.iter().any(|(key, unwritten)| unwritten.first <= latest && is_own(key))
    }

    /// Returns the error of the latest failure, if there were more than these.
    fn failure_since(&self, failures: u64) -> Option<StoreError> {
        let (count, error) = &self.table().failures;
        error.clone().filter(|_| failures < *count)
    }

    /// Notes that a change is stored. The task may have changed again.
    fn done(&self, key: TaskKey, number: u64) {
        let mut table = self.table();
        match table.unwritten.get_mut(&key) {
            Some(unwritten) if number < unwritten.latest => unwritten.first = number + 1,
            _ => _ = table.unwritten.remove(&key),
        }
    }

    /// Notes that a task of this node is stored.
    fn stored(&self, changed: &Changed, version: u64, began: Instant) {
        let own = Own { id: changed.id.clone(), version, seen_at: began };
        self.table().known.insert(changed.key, Known::Own(own));
        self.done(changed.key, changed.number);
    }
}

impl Inner {
    /// Stores all tasks that have changed. Messages about them may be sent after that. The changes of several requests are
    /// written together, and fail together.
    ///
    /// It may be dropped at any time: the next call does what is left.
    pub(crate) async fn store_tasks(&self) -> Result<(), TaskNotStored> {
        let Some(tasks) = &self.tasks else { return Ok(()) };
        let (latest, failures) = tasks.latest_change();
        let mut result = Ok(());
        {
            let _writing = tasks.writing.lock().await;
            while tasks.has_unwritten(latest) {
                // The store has failed while this request waited.
                if let Some(error) = tasks.failure_since(failures) {
                    return Err(error.into());
                }
                let changed = tasks.changed(&self.id, &self.address)?;
                let written = self.write_tasks(tasks, changed).await;
                if let Err(error) = &written {
                    let failures = &mut tasks.table().failures;
                    *failures = (failures.0 + 1, Some(error.clone()));
                }
                for stored in written? {
                    result = result.and(stored);
                }
            }
            // Another node may take long.
        }
        result.and(self.send_copies(tasks).await)
    }

    /// Sends the copies that have changed to the nodes of their tasks.
    async fn send_copies(&self, tasks: &NodeTasks) -> Result<(), TaskNotStored> {
        if tasks.table().unwritten.is_empty() {
            return Ok(());
        }
        let _sending = tasks.sending.lock().await;
        let mut result = Ok(());
        for ChangedCopy { key, number, copy, record } in tasks.changed_copies() {
            match self.send_copy(&copy, &record).await {
                Ok(()) => tasks.done(key, number),
                Err(error) => {
                    // The change is undone.
                    tasks.forget(key);
                    result = result.and(Err(error));
                }
            }
        }
        result
    }

    /// Writes some tasks. Returns a result for each of them.
    async fn write_tasks(
        &self,
        tasks: &NodeTasks,
        changed: Vec<Changed>,
    ) -> Result<Vec<Result<(), TaskNotStored>>, StoreError> {
        let (mut writes, mut written, mut results) = (Vec::new(), Vec::new(), Vec::new());
        let began = Instant::now();
        for one in changed {
            match &one.action {
                Action::Put { list, write, .. } => {
                    if let Some(requestor) = list {
                        self.list_task(*requestor, &one.id).await?;
                    }
                    writes.push(write.clone());
                    written.push(one);
                }
                Action::Remove(write) => {
                    writes.push(write.clone());
                    written.push(one);
                }
                Action::Refuse => {
                    tasks.forget(one.key);
                    results.push(Err(TaskNotStored::BadId));
                }
                Action::Nothing => tasks.done(one.key, one.number),
            }
        }
        if writes.is_empty() {
            return Ok(results);
        }
        let done = self.batches.store().write(&writes).await?;
        for ((one, write), done) in written.iter().zip(writes).zip(done) {
            results.push(match (&one.action, done) {
                (Action::Put { version, .. }, Written::Done) => {
                    tasks.stored(one, version + 1, began);
                    Ok(())
                }
                (Action::Put { .. }, Written::Conflict) => {
                    self.write_again(tasks, one, write).await?
                }
                // A record of another version belongs to another node.
                _ => {
                    tasks.table().known.remove(&one.key);
                    tasks.done(one.key, one.number);
                    Ok(())
                }
            });
        }
        Ok(results)
    }

    /// Writes a task whose version was not that of the record: an earlier write of this node may have failed for it, and was
    /// done by the store.
    async fn write_again(
        &self,
        tasks: &NodeTasks,
        changed: &Changed,
        mut write: Write,
    ) -> Result<Result<(), TaskNotStored>, StoreError> {
        for _ in 0..ATTEMPTS {
            let began = Instant::now();
            let version = match self.batches.store().read(&write.key).await? {
                // The record has expired: the task continues under a new one.
                None => 0,
                Some(found) if StoredTask::parse(&found.value)?.node == self.id => found.version,
                Some(_) => {
                    tasks.forget(changed.key);
                    return Ok(Err(TaskNotStored::TakenOver));
                }
            };
            write.expected = Some(version);
            if self.batches.store().write(std::slice::from_ref(&write)).await? == [Written::Done] {
                tasks.stored(changed, version + 1, began);
                return Ok(Ok(()));
            }
        }
        Err(StoreError::new("the versions of the record of a task do not agree"))
    }
}
