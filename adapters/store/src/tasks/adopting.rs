//! Takes over the tasks of nodes that have ended.

use std::sync::Arc;

use mcp_sansio::ErrorCode;
use mcp_sansio::task::{RestoreError, TaskKey};
use tokio::time::Instant;

use super::looking::TaskNotFound;
use super::record::{StoredTask, key_of, lifetime};
use super::{Known, NodeTasks, Own, TaskNotStored};
use crate::node::Inner;
use crate::store::{Change, StoreError, Write, Written};

/// The message of a task whose work is lost.
const LOST: &str = "the process that worked on the task has ended";

impl NodeTasks {
    /// Makes a task that this node has taken over its own. A change of the copy that was not sent yet is a change of the task.
    fn own(
        &self,
        stored: StoredTask,
        version: u64,
        began: Instant,
    ) -> Result<TaskKey, RestoreError> {
        let mut table = self.table();
        self.note_changes(&mut table);
        let id = stored.task.id().to_owned();
        let changed = self.find(&id).filter(|key| table.unwritten.contains_key(key));
        let copy = changed.and_then(|key| self.tasks.inspect(|tasks, _| tasks.save(key)));
        let key = self.tasks.refresh(stored.task)?;
        table.known.insert(key, Known::Own(Own { id: id.clone(), version, seen_at: began }));
        if let Some(copy) = copy
            && self.tasks.merge(copy).is_err()
        {
            // It has ended before that.
            self.undo(&mut table, key, &id, TaskNotStored::Outdated);
        }
        // Its changes are not sent any more, but stored.
        self.sent.send_replace(());
        Ok(key)
    }
}

impl Inner {
    /// Takes over a task that no node works on. Returns whether this node has it now; if not, another node has changed its
    /// record. The client may disconnect at any time, which must not interrupt that, so a task does it.
    pub(super) async fn adopt_task(
        self: &Arc<Self>,
        version: u64,
        stored: StoredTask,
    ) -> Result<bool, TaskNotFound> {
        if self.is_leaving() {
            return Err(TaskNotFound::Leaving);
        }
        let inner = Arc::clone(self);
        let adopting = async move { inner.adopt(version, stored).await };
        tokio::spawn(adopting).await.map_err(StoreError::new)?
    }

    async fn adopt(&self, version: u64, stored: StoredTask) -> Result<bool, TaskNotFound> {
        let Some(tasks) = &self.tasks else { return Ok(false) };
        let _adopting = tasks.adopting.lock().await;
        let id = stored.task.id().to_owned();
        let Some(at) = key_of(&id) else { return Ok(false) };
        if tasks.is_own(&id) {
            return Ok(true);
        }
        let began = Instant::now();
        // First a copy: without room for it, another node may have some.
        let key = tasks.copy(version, &stored, began)?;
        let lifetime =
            tasks.tasks.inspect(|tasks, now| tasks.get(key).map(|task| lifetime(&task, now)));
        let Some(lifetime) = lifetime else { return Ok(false) };
        let own = StoredTask { node: self.id.clone(), address: self.address.clone(), ..stored };
        let change = Change::Put { value: own.to_bytes()?, lifetime };
        let write = Write { key: at, expected: Some(version), change };
        // The store may have done it nevertheless: it is looked at again.
        let was_doubtful = !tasks.table().doubtful.insert(id.clone());
        if self.batches.store().write(&[write]).await? != [Written::Done] {
            // A conflict is certain. Only the write of an earlier attempt is still in doubt.
            if !was_doubtful {
                tasks.table().doubtful.remove(&id);
            }
            return Ok(false);
        }
        let key = tasks.own(own, version + 1, began)?;
        tasks.table().doubtful.remove(&id);
        self.continue_task(tasks, key);
        Ok(true)
    }

    /// Continues the work of a task, if the application can, or ends the task.
    fn continue_task(&self, tasks: &NodeTasks, key: TaskKey) {
        let checkpoint = tasks.tasks.inspect(|tasks, _| {
            tasks.get(key).and_then(|task| task.checkpoint().map(str::to_owned))
        });
        // A task that has ended has no handle.
        let Some(handle) = tasks.tasks.resume(key) else { return };
        match (&self.options.resume_task, checkpoint) {
            (Some(resume), Some(checkpoint)) => resume(handle, checkpoint),
            _ => _ = handle.fail(ErrorCode::INTERNAL_ERROR, LOST),
        }
    }
}
