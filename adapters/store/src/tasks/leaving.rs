//! Hands over the tasks of a node that leaves.

use std::time::Duration;

use super::{Known, NodeTasks, Table, Unwritten};
use crate::node::Inner;
use crate::store::StoreError;

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

    /// Ends the work on the tasks of this node. Their records are to be written without a node, and then they are copies.
    fn leave(&self) {
        let mut table = self.table();
        self.note_changes(&mut table);
        table.is_leaving = true;
        let Table { known, unwritten, changes, .. } = &mut *table;
        for key in
            known.iter().filter(|(_, known)| matches!(known, Known::Own(_))).map(|(key, _)| *key)
        {
            self.tasks.revoke(key);
            *changes += 1;
            let latest = *changes;
            let one = unwritten.entry(key);
            let one = one.or_insert_with(|| Unwritten::new(latest));
            // A write that has just failed is tried once more.
            (one.latest, one.failure) = (latest, None);
        }
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
        tasks.leave();
        tokio::time::timeout(within, self.store_changes()).await.map_err(StoreError::new)?
    }
}
