//! Sends the changes of copies to the nodes of their tasks.

use std::sync::Arc;

use mcp_sansio::task::{TaskKey, TaskRecord};

use super::{Known, NodeTasks, Table, TaskCopy, TaskNotStored};
use crate::node::Inner;

/// A copy that has changed.
struct ChangedCopy {
    key: TaskKey,
    number: u64,
    copy: TaskCopy,
    record: TaskRecord,
}

impl NodeTasks {
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
                // It has expired, which its node notices by itself, or its session has ended here. In the latter case its
                // node goes on with work that no request can reach any more, until the end of its time to live.
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
}

impl Inner {
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
        while let Some(changed) = tasks.changed_copy(key).map(Arc::new) {
            // In tasks of their own: if the network or the store panics, the copy must not stay marked as being sent.
            let (inner, sent) = (Arc::clone(&self), Arc::clone(&changed));
            let sending = async move { inner.send_copy(&sent.copy, &sent.record).await };
            match tokio::spawn(sending).await.unwrap_or(Err(TaskNotStored::NotSent)) {
                Ok(()) => tasks.done(key, changed.number),
                Err(error) => {
                    (self.options.on_error)(&error);
                    tasks.undo_copy(&changed, error);
                    tasks.sent.send_replace(());
                    // The next request does it otherwise.
                    let inner = Arc::clone(&self);
                    let looking = async move { inner.look_for_task(&changed.copy.id).await };
                    _ = tokio::spawn(looking).await;
                }
            }
            tasks.sent.send_replace(());
        }
        tasks.sent.send_replace(());
    }
}
