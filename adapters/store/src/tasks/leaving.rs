//! Hands over the tasks of a node that leaves.

use std::time::Duration;

use tokio::time::Instant;

use super::record::{StoredTask, key_of, lifetime};
use super::{Known, NodeTasks, Table, TaskCopy, Wait};
use crate::node::Inner;
use crate::store::{Change, StoreError, Write};

/// The most tasks that are written at once.
const AT_ONCE: usize = 64;

impl NodeTasks {
    /// Returns the number of tasks whose work would be lost if this node ended.
    fn busy(&self, can_resume: bool) -> usize {
        let table = self.table();
        self.tasks.inspect(|tasks, _| {
            let going_on = tasks.iter().filter(|(key, task)| {
                let is_copy = matches!(table.known.get(key), Some(Known::Copy(_)));
                let can_continue = can_resume && task.checkpoint().is_some();
                !is_copy && !task.status().is_final() && !can_continue
            });
            going_on.count()
        })
    }

    /// Ends the work on the tasks of this node, which become copies, and returns the writes that leave them to the other nodes.
    fn leave(&self) -> Result<Vec<Write>, StoreError> {
        let mut writes = Vec::new();
        let mut table = self.table();
        let Table { known, unwritten, .. } = &mut *table;
        let now = Instant::now();
        for (key, known) in known.iter_mut() {
            let Known::Own(own) = known else { continue };
            let (node, address) = (String::new(), String::new());
            self.tasks.revoke(*key);
            let saved = self
                .tasks
                .inspect(|tasks, now| Some((tasks.save(*key)?, lifetime(&tasks.get(*key)?, now))));
            if let (Some((task, lifetime)), Some(at)) = (saved, key_of(&own.id)) {
                let stored = StoredTask { node: node.clone(), address: address.clone(), task };
                let change = Change::Put { value: stored.to_bytes()?, lifetime };
                writes.push(Write { key: at, expected: Some(own.version), change });
            }
            // A task that has just begun is not known yet: its request stores it.
            unwritten.remove(key);
            let (id, version) = (std::mem::take(&mut own.id), own.version + 1);
            let copy = TaskCopy { id, node, address, version, used_at: now, read_at: now };
            *known = Known::Copy(copy);
        }
        Ok(writes)
    }
}

impl Inner {
    /// Returns the number of tasks that a node that leaves waits for.
    pub(crate) fn busy_tasks(&self) -> usize {
        self.tasks.as_ref().map_or(0, |tasks| tasks.busy(self.options.resume_task.is_some()))
    }

    /// Leaves all tasks to the other nodes. The work on them ends here. A task that is not written in time is taken over when
    /// this node gives no sign of life any more, as it was stored last.
    pub(crate) async fn hand_over_tasks(&self, within: Duration) -> Result<(), StoreError> {
        let Some(tasks) = &self.tasks else { return Ok(()) };
        let handing_over = async {
            let wait = Wait { is_any: true, ..Wait::default() };
            let stored = self.store_own_tasks(&wait, tasks.latest_change()).await;
            let _writing = tasks.writing.lock().await;
            for some in tasks.leave()?.chunks(AT_ONCE) {
                // After a conflict another node has the task.
                self.batches.store().write(some).await?;
            }
            stored.map_err(StoreError::new)
        };
        tokio::time::timeout(within, handing_over).await.map_err(StoreError::new)?
    }
}
