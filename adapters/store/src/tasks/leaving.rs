//! Hands over the tasks of a node that leaves.

use std::time::Duration;

use super::record::{StoredTask, key_of, lifetime};
use super::{Known, NodeTasks};
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

    /// Forgets the tasks that this node works on, and returns the writes that leave them to the other nodes.
    fn leave(&self) -> Result<Vec<Write>, StoreError> {
        let mut writes = Vec::new();
        let mut table = self.table();
        let known = std::mem::take(&mut table.known);
        // A task that has just begun is not known yet: its request stores it.
        table.unwritten.retain(|key, _| !known.contains_key(key));
        self.tasks.with(|tasks, now| {
            for (key, known) in known {
                if let (Known::Own(own), Some(task)) = (known, tasks.get(key))
                    && let (Some(record), Some(at)) = (tasks.save(key), key_of(&own.id))
                {
                    let (node, address) = (String::new(), String::new());
                    let value = StoredTask { node, address, task: record }.to_bytes()?;
                    let change = Change::Put { value, lifetime: lifetime(&task, now) };
                    writes.push(Write { key: at, expected: Some(own.version), change });
                }
                tasks.remove(key);
            }
            Ok(writes)
        })
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
            let stored = self.store_tasks().await;
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
