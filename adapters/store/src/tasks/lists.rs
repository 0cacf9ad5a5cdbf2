//! The lists of the tasks of a requestor, of all nodes.

use std::sync::Arc;

use mcp_sansio::request::Requestor;
use serde::{Deserialize, Serialize};

use super::record::{lifetime, list_key};
use crate::node::Inner;
use crate::store::{Change, StoreError, Write, Written};

/// How often an update of a list is tried, if other nodes change it meanwhile.
const ATTEMPTS: usize = 16;

/// The ids of the tasks of a requestor. Tasks that have been forgotten may be among them for a while.
#[derive(Default, Serialize, Deserialize)]
struct List {
    tasks: Vec<Listed>,
}

#[derive(Serialize, Deserialize)]
struct Listed {
    id: String,
    /// The milliseconds since the Unix epoch at which the task is forgotten; `None` for never.
    until: Option<u64>,
}

impl Inner {
    /// Adds a task to the list of its requestor.
    pub(super) async fn list_task(&self, requestor: Requestor, id: &str) -> Result<(), StoreError> {
        let (Some(tasks), Some(key)) = (&self.tasks, list_key(requestor)) else { return Ok(()) };
        for _ in 0..ATTEMPTS {
            let (version, mut list) = self.read_list(&key).await?;
            let added = tasks.tasks.inspect(|tasks, now| {
                let task = tasks.get(tasks.find(id)?)?;
                let lifetime = lifetime(&task, now);
                let now = u64::try_from(now.since_epoch().as_millis()).unwrap_or(u64::MAX);
                let until = lifetime.map(|time| {
                    now.saturating_add(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
                });
                Some((now, until))
            });
            let Some((now, until)) = added else { return Ok(()) };
            list.tasks.retain(|one| one.id != id && one.until.is_none_or(|until| now < until));
            list.tasks.push(Listed { id: id.to_owned(), until });
            let latest = list
                .tasks
                .iter()
                .map(|one| one.until)
                .try_fold(now, |most, until| Some(most.max(until?)));
            let lifetime = latest.map(|latest| std::time::Duration::from_millis(latest - now));
            let value = serde_json::to_vec(&list).map_err(StoreError::new)?;
            let change = Change::Put { value, lifetime };
            let write = Write { key: key.clone(), expected: Some(version), change };
            if self.batches.store().write(&[write]).await? == [Written::Done] {
                return Ok(());
            }
        }
        Err(StoreError::new("the list of the tasks of a requestor changes too often"))
    }

    /// Returns the ids of the tasks of a requestor, of all nodes.
    pub(super) async fn listed_tasks(
        self: &Arc<Self>,
        requestor: Requestor,
    ) -> Result<Vec<String>, StoreError> {
        let Some(key) = list_key(requestor) else { return Ok(Vec::new()) };
        let (_, list) = self.read_list(&key).await?;
        Ok(list.tasks.into_iter().map(|one| one.id).collect())
    }

    async fn read_list(&self, key: &str) -> Result<(u64, List), StoreError> {
        let Some(stored) = self.batches.store().read(key).await? else {
            return Ok((0, List::default()));
        };
        Ok((stored.version, serde_json::from_slice(&stored.value).map_err(StoreError::new)?))
    }
}
