//! The lists of the tasks of a requestor, of all nodes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use mcp_sansio::Instant;
use mcp_sansio::request::Requestor;
use mcp_sansio::task::TaskView;
use serde::{Deserialize, Serialize};

use super::record::{MARGIN, list_key};
use crate::node::Inner;
use crate::store::{Change, StoreError, Write, Written};
use crate::storing::LONGEST_LIFETIME;

/// How often an update of lists is tried, if other nodes change them meanwhile.
const ATTEMPTS: usize = 16;

/// The most tasks of a list. With more, the earliest ones are not listed any more.
const LONGEST: usize = 10_000;

/// The ids of the tasks of a requestor. Tasks that have expired may be among them until the next task begins.
#[derive(Default, Serialize, Deserialize)]
struct List {
    tasks: Vec<Listed>,
}

/// A task in a list.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Listed {
    id: String,
    /// The milliseconds since the Unix epoch at which the task expires; `None` for never.
    until: Option<u64>,
}

impl Listed {
    pub(super) fn of(task: &TaskView<'_>) -> Self {
        let until = task.ttl().map(|ttl| millis((task.created() + ttl).since_epoch()));
        Self { id: task.id().to_owned(), until }
    }

    fn is_current(&self, now: u64) -> bool {
        self.until.is_none_or(|until| now < until)
    }
}

impl List {
    /// Adds tasks, and removes those that have expired.
    fn add(&mut self, new: &[Listed], now: u64) {
        let ids: BTreeSet<&str> = new.iter().map(|one| &*one.id).collect();
        self.tasks.retain(|one| one.is_current(now) && !ids.contains(&*one.id));
        self.tasks.extend_from_slice(new);
        self.tasks.drain(..self.tasks.len().saturating_sub(LONGEST));
    }

    /// Returns how long the list is stored: until its last task expires, as the clocks of nodes see it.
    fn lifetime(&self, now: u64) -> Option<Duration> {
        let mut untils = self.tasks.iter().map(|one| one.until);
        let latest = untils.try_fold(now, |most, until| Some(most.max(until?)))?;
        Some(Duration::from_millis(latest - now).saturating_add(MARGIN).min(LONGEST_LIFETIME))
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

impl Inner {
    /// Adds new tasks to the lists of their requestors, which are given by their keys. Returns the lists that could not be
    /// read or written.
    pub(super) async fn list_tasks(
        &self,
        mut new: BTreeMap<String, Vec<Listed>>,
        now: Instant,
    ) -> BTreeMap<String, StoreError> {
        let mut failed = BTreeMap::new();
        for _ in 0..ATTEMPTS {
            let mut writes = Vec::new();
            for (key, new) in &new {
                match self.with_listed(key, new, now).await {
                    Ok(write) => writes.push(write),
                    Err(error) => _ = failed.insert(key.clone(), error),
                }
            }
            new.retain(|key, _| !failed.contains_key(key));
            if new.is_empty() {
                return failed;
            }
            match self.batches.store().write(&writes).await {
                Ok(written) => {
                    let done = writes.iter().zip(written).filter(|(_, one)| *one == Written::Done);
                    done.for_each(|(write, _)| _ = new.remove(&write.key));
                }
                Err(error) => {
                    failed.extend(new.into_keys().map(|key| (key, error.clone())));
                    return failed;
                }
            }
        }
        let error = StoreError::new("the list of the tasks of a requestor changes too often");
        failed.extend(new.into_keys().map(|key| (key, error.clone())));
        failed
    }

    /// Returns the write that adds tasks to a list.
    async fn with_listed(
        &self,
        key: &str,
        new: &[Listed],
        now: Instant,
    ) -> Result<Write, StoreError> {
        let now = millis(now.since_epoch());
        let (version, mut list) = self.read_list(key).await?;
        list.add(new, now);
        let value = serde_json::to_vec(&list).map_err(StoreError::new)?;
        let change = Change::Put { value, lifetime: list.lifetime(now) };
        Ok(Write { key: key.to_owned(), expected: Some(version), change })
    }

    /// Returns the ids of the tasks of a requestor, of all nodes.
    pub(super) async fn listed_tasks(
        self: &Arc<Self>,
        requestor: Requestor,
    ) -> Result<Vec<String>, StoreError> {
        let (Some(tasks), Some(key)) = (&self.tasks, list_key(requestor)) else {
            return Ok(Vec::new());
        };
        let (_, list) = self.read_list(&key).await?;
        let now = millis(tasks.tasks.now().since_epoch());
        let current = list.tasks.into_iter().filter(|one| one.is_current(now));
        Ok(current.map(|one| one.id).collect())
    }

    async fn read_list(&self, key: &str) -> Result<(u64, List), StoreError> {
        let Some(stored) = self.batches.store().read(key).await? else {
            return Ok((0, List::default()));
        };
        Ok((stored.version, serde_json::from_slice(&stored.value).map_err(StoreError::new)?))
    }
}
